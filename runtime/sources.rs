//! Which skills a command is about: a bundle, directories, or those baked
//! into this binary. It turns what was typed into a bundle to ask, and knows
//! the standard roots; how directories become a bundle is in `directories.rs`.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use skillbundle_format::{Bundle, Catalog, Error, Scope, Skill, include_bundle};
use skillbundle_server::{Archive, Source};

use crate::directories::{self, Directories};

/// The skills that `build.rs` compiled.
pub(crate) static EMBEDDED: &[u8] = include_bundle!(concat!(env!("OUT_DIR"), "/skills.skb"));

/// Spec 2's roots in its order: under the working directory and under home.
/// The labels are what people and `list` call them.
const STANDARD: [(&str, Scope); 4] = [
    ("./.agent/skills", Scope::Project),
    ("~/.agent/skills", Scope::Global),
    ("./.claude/skills", Scope::Project),
    ("~/.claude/skills", Scope::Global),
];

/// How alike a path must be to be offered for a mistyped one (1 is equal): a
/// slip in three letters, two in six.
const ALIKE: f64 = 0.6;

// Where the skills come from, as typed. (A doc comment would describe the command.)
#[derive(clap::Args, Debug, Clone, Default)]
pub(crate) struct Sources {
    /// Take the skills from this bundle
    #[arg(long, value_name = "FILE", conflicts_with = "dir")]
    pub(crate) bundle: Option<PathBuf>,
    /// Take the skills from this directory; repeat it for more, the first wins
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Vec<PathBuf>,
}

/// A directory to read skills from.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// The directory.
    pub(crate) dir: PathBuf,
    /// What it is called in listings.
    pub(crate) label: String,
    /// Whose it is.
    pub(crate) scope: Scope,
}

/// A bundle, and where it came from.
pub(crate) struct Opened {
    /// The bundle.
    pub(crate) bundle: Bundle,
    /// Where it came from, in words.
    pub(crate) origin: String,
    /// The options that led to it, for hints.
    options: String,
}

impl Sources {
    /// Whether neither a bundle nor a directory was named.
    pub(crate) fn is_empty(&self) -> bool {
        self.bundle.is_none() && self.dir.is_empty()
    }

    /// The source that `serve` would read these from.
    pub(crate) fn source(&self) -> Result<Box<dyn Source>> {
        Ok(match &self.bundle {
            Some(file) => {
                check_file(file)?;
                Box::new(Archive::new(file)?)
            }
            None if self.dir.is_empty() => Box::new(directories::over_embedded(standard())),
            None => Box::new(Directories::new(places(&self.dir))?),
        })
    }

    /// The options as they are typed, each after a space.
    pub(crate) fn options(&self) -> String {
        let bundle = self
            .bundle
            .iter()
            .map(|file| format!(" --bundle {}", file.display()));
        let dirs = self
            .dir
            .iter()
            .map(|dir| format!(" --dir {}", dir.display()));
        bundle.chain(dirs).collect()
    }

    /// Opens or compiles what was named, else what is baked in.
    pub(crate) fn open(&self) -> Result<Opened> {
        let (bundle, origin) = match &self.bundle {
            Some(file) => (open_file(file)?, file.display().to_string()),
            None if self.dir.is_empty() => (embedded()?, "this binary".to_owned()),
            None => {
                let places = places(&self.dir);
                (directories::compile_once(&places)?, names(&places))
            }
        };
        Ok(Opened {
            bundle,
            origin,
            options: self.options(),
        })
    }
}

impl Opened {
    /// The skill with this path, else with this name.
    pub(crate) fn skill(&self, typed: &str) -> Result<Skill<'_>> {
        let catalog = self.bundle.catalog()?;
        let found = match catalog.by_path(typed.trim_matches('/'))? {
            None => catalog.by_name(typed)?,
            found => found,
        };
        if let Some(skill) = found {
            return Ok(skill);
        }
        let hint = match nearest(&catalog, typed)? {
            Some(path) => format!("did you mean `{path}`?"),
            None => format!("`skillbundle list{}` shows what there is", self.options),
        };
        bail!("no skill `{typed}` in {}; {hint}", self.origin)
    }
}

/// The path that was probably meant.
fn nearest<'a>(catalog: &Catalog<'a>, typed: &str) -> Result<Option<&'a str>> {
    let typed = typed.to_lowercase();
    let alike = |name: &str| {
        let name = name.to_lowercase();
        let part = if name.contains(&typed) { ALIKE } else { 0.0 };
        strsim::normalized_damerau_levenshtein(&name, &typed).max(part)
    };
    let mut best = (ALIKE, None);
    for skill in catalog.skills() {
        let skill = skill?;
        let score = [skill.path, skill.install_name(), skill.name]
            .into_iter()
            .map(alike)
            .fold(0.0, f64::max);
        if score > best.0 || (score >= ALIKE && best.1.is_none()) {
            best = (score, Some(skill.path));
        }
    }
    Ok(best.1)
}

/// Opens a bundle file; every fault names it.
fn open_file(file: &Path) -> Result<Bundle> {
    Bundle::open(file).map_err(|error| match error {
        Error::Read { .. } => error.into(),
        error => anyhow!("{}: {error}", file.display()),
    })
}

/// The skills baked into this binary.
pub(crate) fn embedded() -> Result<Bundle> {
    Bundle::from_static(EMBEDDED).context("the skills baked into this binary")
}

/// The standard roots, whether they exist or not. Where the working directory
/// is the home directory, each directory is named once.
pub(crate) fn standard() -> Vec<Place> {
    let here = PathBuf::from(".");
    let home = env::home_dir().filter(|home| home.is_absolute());
    let same = home
        .as_deref()
        .is_some_and(|home| env::current_dir().is_ok_and(|dir| dir == home));
    let place = |(label, scope): (&str, Scope)| {
        let (base, rest) = label.split_once('/')?;
        let base = if base == "." {
            &here
        } else {
            home.as_ref().filter(|_| !same)?
        };
        Some(Place {
            dir: base.join(rest),
            label: label.to_owned(),
            scope,
        })
    };
    STANDARD.into_iter().filter_map(place).collect()
}

/// Directories that a person named, the most important first. A single one is
/// called `project`, so that its bundle does not depend on where it lies; of
/// several each is called as it was typed.
pub(crate) fn places(dirs: &[PathBuf]) -> Vec<Place> {
    let label = |dir: &Path| match dirs {
        [_] => "project".to_owned(),
        _ => dir.to_string_lossy().replace('\\', "/"),
    };
    dirs.iter()
        .map(|dir| Place {
            label: label(dir),
            dir: dir.clone(),
            scope: Scope::Project,
        })
        .collect()
}

/// The directories in one line: `skills, vendor/skills`.
pub(crate) fn names(places: &[Place]) -> String {
    places
        .iter()
        .map(|place| place.dir.display().to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

/// Fails with one line where a file cannot be read as a bundle's.
pub(crate) fn check_file(file: &Path) -> Result<()> {
    match std::fs::metadata(file) {
        Ok(found) if found.is_dir() => bail!(
            "{} is a directory; directories of skills are named with --dir",
            file.display()
        ),
        Ok(_) => Ok(()),
        Err(error) => bail!("cannot read {}: {error}", file.display()),
    }
}
