//! Which skills a command is about: a bundle, directories, or those baked
//! into this binary. It turns what was typed into a bundle to ask, and knows
//! the standard roots; how directories become a bundle is in `directories.rs`.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use skillbundle_format::{Bundle, Scope, Skill, include_bundle};

use crate::directories;

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

/// How alike a path must be to be offered for a mistyped one (1 is equal).
const ALIKE: f64 = 0.8;

/// Where the skills come from, as typed.
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

/// A bundle, and where it came from in words.
pub(crate) struct Opened {
    pub(crate) bundle: Bundle,
    pub(crate) origin: String,
}

impl Sources {
    /// Whether neither a bundle nor a directory was named.
    pub(crate) fn is_empty(&self) -> bool {
        self.bundle.is_none() && self.dir.is_empty()
    }

    /// Opens or compiles what was named, else what is baked in.
    pub(crate) fn open(&self) -> Result<Opened> {
        if let Some(file) = &self.bundle {
            return Ok(Opened {
                bundle: Bundle::open(file)?,
                origin: file.display().to_string(),
            });
        }
        if self.dir.is_empty() {
            return Ok(Opened {
                bundle: embedded()?,
                origin: "this binary".to_owned(),
            });
        }
        let places = places(&self.dir);
        Ok(Opened {
            bundle: directories::compile_once(&places)?,
            origin: names(&places),
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
        let mut alike = Vec::new();
        for skill in catalog.skills() {
            let skill = skill?;
            let score = [skill.path, skill.install_name(), skill.name]
                .map(|name| strsim::jaro_winkler(name, typed))
                .into_iter()
                .fold(0.0, f64::max);
            if score >= ALIKE {
                alike.push((score, skill.path));
            }
        }
        alike.sort_by(|a, b| b.0.total_cmp(&a.0));
        let hint = match alike.first() {
            Some((_, path)) => format!("did you mean `{path}`?"),
            None => "`skillbundle list` shows what there is".to_owned(),
        };
        bail!("no skill `{typed}` in {}; {hint}", self.origin)
    }
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

/// Fails with one line where a directory cannot be read as one.
pub(crate) fn check_directory(dir: &Path) -> Result<()> {
    let found = std::fs::metadata(dir)
        .map_err(|error| anyhow!("cannot read directory {}: {error}", dir.display()))?;
    if found.is_dir() {
        return Ok(());
    }
    bail!(
        "{} is not a directory; a bundle is named with --bundle",
        dir.display()
    )
}
