//! Directories of skills through the compiler: once for a command, and again and again as a source
//! for the server. A skill that no longer compiles keeps its last good version, which the compiler
//! takes from the previous bundle.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, anyhow, bail};
use skillbundle_compiler::{Compiled, Evaluation, Options, Report, Root, Severity};
use skillbundle_format::{Bundle, SkillSet};
use skillbundle_server::{Error, Loaded, Source};

use crate::cli::output::note;
use crate::cli::text::counted;
use crate::sources::{self, Place};

/// Findings that a log shows at most; `compile --check` shows all.
const MOST_NOTICES: usize = 20;

/// Directories that are compiled whenever they have changed.
pub(crate) struct Directories {
    roots: Vec<Root>,
    /// A bundle whose skills come after those of the directories. With it, a root that does not
    /// exist is simply empty.
    beneath: Option<&'static [u8]>,
    /// The findings of the last load, so that each is reported once.
    reported: Mutex<HashSet<String>>,
}

impl Directories {
    /// A source of directories that must exist.
    pub(crate) fn new(places: Vec<Place>) -> Result<Self> {
        places
            .iter()
            .try_for_each(|place| check_directory(&place.dir))?;
        Ok(Self {
            roots: roots(places),
            beneath: None,
            reported: Mutex::default(),
        })
    }

    /// The roots to read now.
    fn present(&self) -> Result<Vec<Root>, Error> {
        if self.beneath.is_some() {
            return Ok(self
                .roots
                .iter()
                .filter(|root| root.dir.is_dir())
                .cloned()
                .collect());
        }
        // A root that went away must not empty the library.
        let checked = self
            .roots
            .iter()
            .try_for_each(|root| check_directory(&root.dir));
        checked.map_err(|error| Error::Source(error.to_string()))?;
        Ok(self.roots.clone())
    }

    /// Compiles roots. Also returns the findings that have not been reported before.
    fn compile(
        &self,
        roots: &[Root],
        previous: Option<&Bundle>,
    ) -> Result<(SkillSet, Vec<String>), Error> {
        let options = Options {
            optional_roots: self.beneath.is_some(),
        };
        let mut last_good = SkillSet::default();
        if let Some(previous) = previous {
            last_good.extend_from(previous)?;
        }
        let Compiled { set, report, .. } =
            skillbundle_compiler::recompile(roots, &options, &last_good)?;
        let lines = findings(report);
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let new = lines.iter().filter(|line| !reported.contains(*line));
        let new = new.cloned().collect();
        *reported = lines.into_iter().collect();
        Ok((set, new))
    }
}

impl Source for Directories {
    fn fingerprint(&self) -> io::Result<u64> {
        skillbundle_compiler::fingerprint(&self.roots)
    }

    /// If none of the roots exists, only the baked-in skills are served. One stat a root shows
    /// whether that is so; a sweep of a tree takes milliseconds.
    fn fingerprint_now(&self) -> Option<io::Result<u64>> {
        self.beneath?;
        let absent = self.roots.iter().all(|root| !root.dir.is_dir());
        absent.then_some(Ok(0))
    }

    fn load(&self, previous: Option<&Bundle>) -> Result<Loaded, Error> {
        let beneath = self.beneath.map(Bundle::from_static).transpose()?;
        let present = self.present()?;
        let beneath = match beneath {
            // Nothing to compile: the baked-in bytes are served as they are.
            Some(bundle) if present.is_empty() => return Ok(bundle.into()),
            beneath => beneath,
        };
        let (mut set, notices) = self.compile(&present, previous)?;
        if let Some(beneath) = &beneath {
            set.extend_from(beneath)?;
        }
        let bases = present
            .iter()
            .map(|root| std::path::absolute(&root.dir).ok())
            .collect();
        Ok(Loaded {
            bundle: bundle(&set)?,
            bases,
            notices,
        })
    }

    fn describe(&self) -> String {
        let dirs = self
            .roots
            .iter()
            .map(|root| &root.dir)
            .filter(|dir| self.beneath.is_none() || dir.is_dir());
        let dirs = dirs.map(|dir| dir.display().to_string());
        dirs.chain(self.beneath.map(|_| "this binary".to_owned()))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// The roots that exist, over the skills baked into this binary.
pub(crate) fn over_embedded(places: Vec<Place>) -> impl Source {
    Directories {
        roots: roots(places),
        beneath: Some(sources::EMBEDDED),
        reported: Mutex::default(),
    }
}

/// Compiles directories that must exist.
pub(crate) fn compile(places: &[Place]) -> Result<Compiled> {
    places
        .iter()
        .try_for_each(|place| check_directory(&place.dir))?;
    let compiled = skillbundle_compiler::compile(&roots(places.to_vec()), &Options::default());
    compiled.with_context(|| format!("cannot read {}", sources::names(places)))
}

/// Compiles directories to be asked, and says in one line if there are errors:
/// what is asked for may be missing for one of them.
pub(crate) fn compile_once(places: &[Place]) -> Result<Bundle> {
    Ok(bundle(&compile_noting(places)?.set)?)
}

/// Asks directories every request that lies in them.
pub(crate) fn evaluate(places: &[Place]) -> Result<Evaluation> {
    let compiled = compile_noting(places)?;
    let bundle = bundle(&compiled.set)?;
    let roots = roots(places.to_vec());
    Ok(skillbundle_compiler::evaluate(&roots, &compiled, &bundle)?)
}

fn compile_noting(places: &[Place]) -> Result<Compiled> {
    let compiled = compile(places)?;
    let errors = compiled.report.count(Severity::Error);
    if errors > 0 {
        let names = sources::names(places);
        let found = counted(errors as u64, "error");
        note(&format!(
            "{found} in {names}; `skillbundle compile --check {}` shows more",
            names.replace(", ", " ")
        ));
    }
    Ok(compiled)
}

/// Fails with one line where a directory cannot be read as one.
fn check_directory(dir: &Path) -> Result<()> {
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

fn roots(places: Vec<Place>) -> Vec<Root> {
    places
        .into_iter()
        .map(|Place { dir, label, scope }| Root { dir, label, scope })
        .collect()
}

fn bundle(set: &SkillSet) -> Result<Bundle, skillbundle_format::Error> {
    Bundle::from_bytes(&skillbundle_format::write(set)?)
}

/// One line for each finding that is more than worth knowing.
fn findings(report: Report) -> Vec<String> {
    let report = report.at_least(Severity::Warning);
    let mut lines: Vec<String> = report.render_plain().lines().map(str::to_owned).collect();
    if lines.len() > MOST_NOTICES {
        let more = lines.len() - MOST_NOTICES;
        lines.truncate(MOST_NOTICES);
        lines.push(format!(
            "and {more} findings more; `skillbundle compile --check` shows all"
        ));
    }
    lines
}
