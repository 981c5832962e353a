//! Which skills a command reads: a bundle, directories, single files, or those
//! baked into this binary. It recognises what a path is and opens it; how
//! directories become a bundle is in `directories.rs`.

mod opened;

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;
use skillbundle_format::{Bundle, Error, Scope, Skill};
use skillbundle_server::{Archive, Embedded, Source};

use crate::cache;
use crate::cli::output::with_help;
use crate::config::{self, Assignment, ConfigArgs, texts};
use crate::directories::{self, Directories};
use crate::embedded;
use crate::repositories::{GitSource, Repositories};
use crate::roots::{self, State};
pub(crate) use opened::Opened;

/// Bytes of an unknown file that an error message quotes.
const QUOTED_BYTES: usize = 8;

/// What a PATH may be, for messages.
const EXPECTED: &str =
    "expected a directory of skills, a bundle (.skb) or one skill file (SKILL.md or a tree page)";

// Where the skills come from, as typed. (A doc comment would describe the command.)
#[derive(clap::Args, Debug, Clone, Default)]
pub(crate) struct Sources {
    /// Where to look: directories of skills (the first wins), a bundle, or single skill files
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Look in this bundle; the same as PATH, but must be a bundle
    #[arg(long, value_name = "FILE")]
    pub(crate) bundle: Option<PathBuf>,
    /// Look in this directory; the same as PATH, but must be a directory, and can have a label for
    /// listings (repeatable; the first wins)
    #[arg(long, value_name = "[LABEL=]DIR")]
    pub(crate) dir: Vec<PathBuf>,
    /// Look in this git repository: URL, URL#BRANCH or URL#BRANCH:DIRECTORY, by https, ssh or as
    /// git@host:path (repeatable; the first wins)
    #[arg(long, value_name = "URL")]
    pub(crate) repo: Vec<String>,
    /// Read at most this many files and directories below each directory [default: 1000000]
    #[arg(long, value_name = "N")]
    pub(crate) max_files: Option<usize>,
    /// Leave out the standard roots of the project: only your own and this program's skills
    #[arg(long)]
    pub(crate) no_project_roots: bool,
    /// Leave out the skills baked into this program
    #[arg(long)]
    pub(crate) no_embedded: bool,
    /// Look in the examples that are baked into this program, and nowhere else
    #[arg(long)]
    pub(crate) examples: bool,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// A directory to read skills from.
#[derive(Debug, Clone)]
pub(crate) struct SkillRoot {
    /// The directory.
    pub(crate) dir: PathBuf,
    /// What it is called in listings.
    pub(crate) label: String,
    /// Whom it belongs to.
    pub(crate) scope: Scope,
    /// The only skill file to take from it, relative to `dir`; `None` takes all.
    pub(crate) only: Option<String>,
    /// The commit that its files are exactly those of, if that is known.
    #[cfg_attr(
        not(feature = "compile"),
        expect(dead_code, reason = "only the compiler reads directories")
    )]
    pub(crate) commit: Option<String>,
    /// The most files and directories below it; `None` is the compiler's own limit.
    #[cfg_attr(
        not(feature = "compile"),
        expect(dead_code, reason = "only the compiler reads directories")
    )]
    pub(crate) max_files: Option<usize>,
    /// The hosts that read it too; empty for a directory that was named.
    pub(crate) readers: &'static str,
}

/// What the typed paths mean.
#[derive(Debug)]
pub(crate) enum Selection {
    /// Nothing was named: the standard roots over the skills baked into this binary.
    Default(Vec<SkillRoot>),
    /// The examples that are baked into this binary.
    Examples,
    /// One bundle file.
    Bundle(PathBuf),
    /// Directories and single files, the most important first.
    Roots(Vec<SkillRoot>),
    /// Git repositories, the most important first.
    Repositories(Repositories),
}

/// What a path is, by its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathKind {
    Directory,
    Bundle,
    SkillFile,
}

impl SkillRoot {
    /// What becomes of each of these roots.
    pub(crate) fn states(roots: &[Self]) -> Vec<State> {
        let places = roots
            .iter()
            .map(|root| (root.dir.as_path(), root.only.as_deref()));
        roots::states(places)
    }

    /// The file of a skill on disk, if it was read from one of these roots.
    pub(crate) fn location(roots: &[Self], skill: &Skill<'_>) -> Option<PathBuf> {
        let dir = &roots.get(skill.root as usize)?.dir;
        // Drops the `.` of `./.agent/skills`.
        Some(dir.join(skill.file_path).components().collect())
    }

    /// Those that are read.
    pub(crate) fn read(roots: &[Self]) -> Vec<Self> {
        let states = Self::states(roots);
        let read = roots.iter().zip(states);
        let read = read.filter(|(_, state)| *state == State::Read);
        read.map(|(root, _)| root.clone()).collect()
    }
}

impl Selection {
    /// The source that `serve` reads these skills from.
    pub(crate) fn source(&self) -> Result<Box<dyn Source>> {
        Ok(match self {
            Self::Examples => Box::new(Embedded::new(embedded::examples())),
            Self::Bundle(file) => Box::new(Archive::new(file, cache::open(&[]))?),
            Self::Roots(roots) => Box::new(Directories::new(roots)?),
            Self::Repositories(repositories) => Box::new(GitSource::new(repositories)?),
            Self::Default(roots) => Box::new(directories::over_embedded(roots)),
        })
    }
}

impl Sources {
    /// The arguments as they are typed, each after a space.
    pub(crate) fn arguments(&self) -> String {
        let option = |name: &str, path: &PathBuf| format!(" {name}{}", path.display());
        let bundle = self.bundle.iter().map(|it| option("--bundle ", it));
        let dirs = self.dir.iter().map(|it| option("--dir ", it));
        let repositories = self.repo.iter().map(|it| format!(" --repo {it}"));
        let paths = self.paths.iter().map(|it| option("", it));
        let limit = self.max_files.map(|files| format!(" --max-files {files}"));
        let no_project = self
            .no_project_roots
            .then(|| " --no-project-roots".to_owned());
        let no_embedded = self.no_embedded.then(|| " --no-embedded".to_owned());
        let examples = self.examples.then(|| " --examples".to_owned());
        let typed = no_project.into_iter().chain(no_embedded).chain(examples);
        let typed = typed.chain(bundle).chain(dirs).chain(repositories);
        let typed = typed.chain(paths).chain(limit);
        typed.chain([self.config.arguments()]).collect()
    }

    /// What these arguments set.
    pub(crate) fn assignments(&self) -> Vec<Assignment> {
        let list = |paths: &[PathBuf]| -> Value {
            let paths = paths.iter().map(|path| path.to_string_lossy());
            paths.map(Cow::into_owned).collect()
        };
        let places = [
            (list(&self.paths), "PATH"),
            (list(self.bundle.as_slice()), "--bundle"),
            (list(&self.dir), "--dir"),
        ];
        let is_typed = |place: &(Value, _)| place.0 != Value::Array(Vec::new());
        let places = places.into_iter().filter(is_typed);
        let places = places.map(|(paths, by)| Assignment::by_option("skills.paths", paths, by));
        let max_files = self
            .max_files
            .map(|files| Assignment::by_option("skills.max_files", files, "--max-files"));
        let no_project = self
            .no_project_roots
            .then(|| Assignment::by_option("skills.project_roots", false, "--no-project-roots"));
        let no_embedded = self
            .no_embedded
            .then(|| Assignment::by_option("skills.embedded", false, "--no-embedded"));
        let repositories = (!self.repo.is_empty())
            .then(|| Assignment::by_option("git.repository", self.repo.join(", "), "--repo"));
        let switches = no_project.into_iter().chain(no_embedded);
        let switches = switches.chain(repositories);
        places.chain(max_files).chain(switches).collect()
    }

    /// The skills that were named, or else those that the operator's settings name, or else those
    /// of the standard roots. Fails if a path is missing or of no use, and if things are combined
    /// that cannot be.
    pub(crate) fn select(&self) -> Result<Selection> {
        let config = config::current();
        match self.select_named()? {
            Selection::Default(_) => {}
            named => return Ok(named),
        }
        let paths = config.value("skills.paths");
        let paths: Vec<PathBuf> = texts(&paths).map(PathBuf::from).collect();
        if let Some(origin) = config.origin("skills.paths").filter(|_| !paths.is_empty()) {
            let configured = Self {
                paths,
                ..Self::default()
            };
            return configured
                .select_named()
                .with_context(|| origin.to_string());
        }
        if let Some(repositories) = Repositories::configured(config) {
            return repositories.map(Selection::Repositories);
        }
        let with_project = config.is_on("skills.project_roots");
        Ok(Selection::Default(roots::standard(with_project)))
    }

    /// The same without the operator's settings.
    pub(crate) fn select_named(&self) -> Result<Selection> {
        let spellings = [
            !self.paths.is_empty(),
            self.bundle.is_some(),
            !self.dir.is_empty(),
            !self.repo.is_empty(),
        ];
        for (is_used, option, what) in [
            (
                self.no_project_roots,
                "--no-project-roots",
                "standard roots",
            ),
            (
                self.no_embedded,
                "--no-embedded",
                "the skills of this program",
            ),
        ] {
            if is_used && spellings.contains(&true) {
                return Err(with_help(
                    &format!("{option} leaves out {what}, but only what was named is read"),
                    "leave the option out",
                ));
            }
        }
        if self.examples && spellings.contains(&true) {
            return Err(with_help(
                "--examples cannot be combined with other places",
                "leave it out, or name it alone",
            ));
        }
        if self.examples {
            return Ok(Selection::Examples);
        }
        if spellings.into_iter().filter(|used| *used).count() > 1 {
            return Err(with_help(
                "PATH, --bundle, --dir and --repo cannot be combined",
                "name every place in the same way, such as `skills vendor/skills`",
            ));
        }
        if !self.repo.is_empty() {
            let repositories = Repositories::named(&self.repo)?;
            return Ok(Selection::Repositories(repositories));
        }
        if let Some(file) = &self.bundle {
            expect(file, PathKind::Bundle)?;
            return Ok(Selection::Bundle(file.clone()));
        }
        for dir in &self.dir {
            expect(labelled(dir).1, PathKind::Directory)?;
        }
        let kinds = self.paths.iter().map(|path| kind_of(path));
        let kinds = kinds.collect::<Result<Vec<_>>>()?;
        match (self.paths.as_slice(), kinds.as_slice()) {
            ([], _) if self.dir.is_empty() => {
                Ok(Selection::Default(roots::standard(!self.no_project_roots)))
            }
            ([], _) => Ok(Selection::Roots(directory_roots(&self.dir)?)),
            ([file], [PathKind::Bundle]) => Ok(Selection::Bundle(file.clone())),
            (paths, kinds) if kinds.contains(&PathKind::Bundle) => {
                let bundle = paths.iter().zip(kinds).find(|it| *it.1 == PathKind::Bundle);
                let bundle = bundle.map(|it| it.0.display().to_string());
                Err(with_help(
                    &format!(
                        "the bundle {} cannot be combined with other paths",
                        bundle.unwrap_or_default()
                    ),
                    "name the bundle alone, or the directories that it was made of",
                ))
            }
            (paths, kinds) => Ok(Selection::Roots(roots_of(paths, kinds))),
        }
    }

    /// The roots to compile and whether they lie over the skills baked into this binary. Fails if
    /// a bundle was named, or nothing was and no standard root exists.
    #[cfg(feature = "compile")]
    pub(crate) fn roots(&self, command: &str) -> Result<(Vec<SkillRoot>, bool)> {
        match self.select()? {
            Selection::Roots(roots) => Ok((roots, false)),
            Selection::Repositories(repositories) => Ok((repositories.roots(true)?, false)),
            Selection::Default(roots) if roots.iter().any(|root| root.dir.is_dir()) => {
                let present = roots.into_iter().filter(|root| root.dir.is_dir());
                Ok((present.collect(), true))
            }
            Selection::Bundle(file) => Err(with_help(
                &format!("{} is a bundle, which is compiled already", file.display()),
                &format!("name the directory that it was made of: `skillbundle {command} DIR`"),
            )),
            Selection::Examples => Err(with_help(
                "the examples are compiled already",
                "`skillbundle show --examples SKILL` prints one",
            )),
            Selection::Default(_) => Err(with_help(
                "no skills were named, and no standard root exists (`skillbundle roots`)",
                &format!("name a directory of skills, such as `skillbundle {command} skills`"),
            )),
        }
    }

    /// Opens or compiles what was named, or else what is baked in.
    pub(crate) fn open(&self) -> Result<Opened> {
        let (bundle, origin, roots) = match self.select()? {
            Selection::Examples => {
                let bundle = Bundle::from_static(embedded::examples())?;
                (bundle, "the examples of this binary".to_owned(), Vec::new())
            }
            Selection::Bundle(file) => (open_file(&file)?, file.display().to_string(), Vec::new()),
            Selection::Default(roots) => {
                let present = SkillRoot::read(&roots);
                let embedded = if embedded::is_served() {
                    "this binary"
                } else {
                    ""
                };
                let origin = [names(&present), embedded.to_owned()];
                let origin: Vec<_> = origin.into_iter().filter(|it| !it.is_empty()).collect();
                let bundle = directories::compile_over_embedded(&present)?;
                (bundle, origin.join(", "), present)
            }
            Selection::Roots(roots) => {
                let bundle = directories::compile_once(&roots)?;
                (bundle, names(&roots), SkillRoot::read(&roots))
            }
            Selection::Repositories(repositories) => {
                let roots = repositories.roots(false)?;
                let bundle = directories::compile_once(&roots)?;
                // Nobody is sent to files that come and go.
                (bundle, repositories.to_string(), Vec::new())
            }
        };
        Ok(Opened {
            bundle: bundle.overridden(config::current().overrides()),
            origin,
            roots,
            arguments: self.arguments(),
        })
    }

    /// Whether there are skills beside those of this program: some were named, or a standard root
    /// exists.
    #[cfg(feature = "sqlite")]
    pub(crate) fn has_own(&self) -> Result<bool> {
        Ok(match self.select()? {
            Selection::Default(roots) => !SkillRoot::read(&roots).is_empty(),
            _ => true,
        })
    }

    /// As [`Sources::open`], for a command whose first argument is a text of
    /// words: words that were not quoted end up here as paths.
    pub(crate) fn open_for(&self, command: &str, words: &str) -> Result<Opened> {
        self.open().map_err(|error| {
            let missing = |path: &PathBuf| !path.exists();
            let combined = self.bundle.is_some() || !self.dir.is_empty();
            if self.paths.is_empty() || !(combined || self.paths.iter().any(missing)) {
                return error;
            }
            let (wrong, right): (Vec<&PathBuf>, Vec<&PathBuf>) = self
                .paths
                .iter()
                .partition(|path| combined || missing(path));
            let quoted = wrong.iter().fold(words.to_owned(), |all, word| {
                format!("{all} {}", word.display())
            });
            let places = Self {
                paths: right.into_iter().cloned().collect(),
                ..self.clone()
            };
            with_help(
                &error.to_string(),
                &format!(
                    "put the words in quotes: `skillbundle {command} \"{quoted}\"{}`",
                    places.arguments()
                ),
            )
        })
    }
}

/// What this path is: a directory, a bundle by its magic, or a Markdown file.
pub(crate) fn kind_of(path: &Path) -> Result<PathKind> {
    let cannot_read = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    let metadata = fs::metadata(path).map_err(cannot_read)?;
    if metadata.is_dir() {
        return Ok(PathKind::Directory);
    }
    let mut start = Vec::new();
    File::open(path)
        .and_then(|file| file.take(QUOTED_BYTES as u64).read_to_end(&mut start))
        .map_err(cannot_read)?;
    if skillbundle_format::is_bundle(&start) {
        return Ok(PathKind::Bundle);
    }
    let extension = path.extension().and_then(|it| it.to_str());
    match extension.map(str::to_ascii_lowercase).as_deref() {
        Some("md") => Ok(PathKind::SkillFile),
        Some("skb") => Err(with_help(
            &format!(
                "{} is not a bundle: it begins with \"{}\"",
                path.display(),
                start.escape_ascii()
            ),
            "make one with `skillbundle compile DIR -o FILE.skb`",
        )),
        _ => Err(with_help(
            &format!(
                "{} holds no skills: it begins with \"{}\"",
                path.display(),
                start.escape_ascii()
            ),
            EXPECTED,
        )),
    }
}

/// Fails unless the path is what its option says.
fn expect(path: &Path, expected: PathKind) -> Result<()> {
    let shown = path.display();
    let found = kind_of(path)?;
    if found == expected {
        return Ok(());
    }
    let (what, option) = match found {
        PathKind::Directory => ("a directory", "--dir "),
        PathKind::Bundle => ("a bundle", "--bundle "),
        PathKind::SkillFile => ("a Markdown file", ""),
    };
    let wanted = match expected {
        PathKind::Directory => "a directory",
        PathKind::Bundle => "a bundle",
        PathKind::SkillFile => "a Markdown file",
    };
    Err(with_help(
        &format!("{shown} is {what}, not {wanted}"),
        &format!("name it as `{option}{shown}`"),
    ))
}

/// The roots that directories and single files stand for. Only one is called
/// `project`, so that its bundle does not depend on where it lies; of several
/// each is called as it was typed.
fn roots_of(paths: &[PathBuf], kinds: &[PathKind]) -> Vec<SkillRoot> {
    let label = |path: &Path| match paths {
        [_] => "project".to_owned(),
        _ => path.to_string_lossy().replace('\\', "/"),
    };
    let root = |(path, kind): (&PathBuf, &PathKind)| {
        let (dir, only) = match kind {
            PathKind::SkillFile => skill_file(path),
            PathKind::Directory | PathKind::Bundle => (path.clone(), None),
        };
        SkillRoot {
            dir,
            label: label(path),
            scope: Scope::Project,
            only,
            commit: None,
            max_files: config::current().number("skills.max_files"),
            readers: "",
        }
    };
    paths.iter().zip(kinds).map(root).collect()
}

/// The roots for the values of `--dir`. Fails if two have the same label.
fn directory_roots(typed: &[PathBuf]) -> Result<Vec<SkillRoot>> {
    let dirs: Vec<PathBuf> = typed.iter().map(|it| labelled(it).1.to_owned()).collect();
    let mut roots = roots_of(&dirs, &vec![PathKind::Directory; dirs.len()]);
    for (root, typed) in roots.iter_mut().zip(typed) {
        if let Some(label) = labelled(typed).0 {
            label.clone_into(&mut root.label);
        }
    }
    let labels: Vec<&str> = roots.iter().map(|root| root.label.as_str()).collect();
    for (at, typed) in typed.iter().enumerate() {
        if labelled(typed)
            .0
            .is_some_and(|label| labels[..at].contains(&label))
        {
            return Err(with_help(
                &format!("the label of `--dir {}` is taken", typed.display()),
                "give each directory a label of its own",
            ));
        }
    }
    Ok(roots)
}

/// The label and the path of `[LABEL=]PATH`. What exists as it was typed has no label.
pub(crate) fn labelled(typed: &Path) -> (Option<&str>, &Path) {
    let parts = typed.to_str().and_then(|typed| typed.split_once('='));
    match parts {
        Some((label, path))
            if !label.is_empty()
                && !label.contains(['/', '\\'])
                && !path.is_empty()
                && !typed.exists() =>
        {
            (Some(label), Path::new(path))
        }
        _ => (None, typed),
    }
}

/// The directory to compile for one skill file, and the file relative to it.
/// A tree page inherits, so its root is the top of the tree: the directory with
/// `_root.md`, or else the highest one that is linked to it by `_index.md`.
fn skill_file(path: &Path) -> (PathBuf, Option<String>) {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let is_skill_md = absolute
        .file_name()
        .is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
    let mut depth = 1;
    let holds = |depth: usize, name: &str| {
        let dir = absolute.ancestors().nth(depth);
        dir.is_some_and(|dir| dir.join(name).is_file())
    };
    while !is_skill_md
        && !holds(depth, "_root.md")
        && (holds(depth + 1, "_root.md") || holds(depth + 1, "_index.md"))
    {
        depth += 1;
    }
    // As typed, as far as that goes, since findings name files by it.
    let dir = match path.ancestors().nth(depth) {
        Some(dir) if dir.as_os_str().is_empty() => PathBuf::from("."),
        Some(dir) => dir.to_owned(),
        None => absolute
            .ancestors()
            .nth(depth)
            .unwrap_or(&absolute)
            .to_owned(),
    };
    let parts: Vec<_> = absolute.components().collect();
    let below = parts[parts.len().saturating_sub(depth)..].iter();
    let below = below.map(|part| part.as_os_str().to_string_lossy());
    (dir, Some(below.collect::<Vec<_>>().join("/")))
}

/// Opens a bundle file; every error names it.
pub(crate) fn open_file(file: &Path) -> Result<Bundle> {
    Bundle::open(file).map_err(|error| match error {
        Error::Read { .. } => error.into(),
        error => anyhow::Error::new(error).context(file.display().to_string()),
    })
}

/// The directories or files in one line: `skills, vendor/skills`.
pub(crate) fn names(roots: &[SkillRoot]) -> String {
    let name = |root: &SkillRoot| match &root.only {
        Some(file) => root.dir.join(file).display().to_string(),
        None => root.dir.display().to_string(),
    };
    roots.iter().map(name).collect::<Vec<_>>().join(", ")
}
