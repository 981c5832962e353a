//! Directories of skills through the compiler: again and again as a source for the server. A skill that no longer compiles keeps its last good version, which the compiler
//! takes from the previous bundle.

mod examine;
mod notices;
mod once;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use skillbundle_compiler::{Compiled, Failed, FileStates, Options, Previous, Report, Root};
use skillbundle_format::{Bundle, SkillSet};
use skillbundle_server::{BrokenSkill, Error, Loaded, LoadedRoot, Source, WatchPaths};

pub(crate) use examine::examine;
use notices::{findings, first_error, hidden_skills, summary};
use once::check_directory;
pub(crate) use once::{
    bundle_of, check, compile, compile_once, compile_over_embedded, compile_with_requests,
    evaluate, existing,
};

use super::generations::{DeclaredFiles, Generations, Note};
use super::git_lock;
use super::single_files::{prefix, select};
use crate::embedded;
use crate::project::Project;
use crate::repositories::Mirrors;
use crate::roots::{self, State};
use crate::sources::SkillRoot;

/// A file that was written this long ago is complete.
const QUIET: Duration = Duration::from_millis(500);

/// How long the first load waits before it reads again.
const NEXT_ATTEMPT: Duration = Duration::from_millis(20);

/// Directories that are compiled whenever they have changed.
pub(crate) struct Directories {
    roots: Vec<Root>,
    /// For each root the only skill file to take from it, if not all.
    only: Vec<Option<String>>,
    /// A bundle whose skills come after those of the directories. With it, a root that does not
    /// exist is simply empty.
    beneath: Option<&'static [u8]>,
    /// The mirrors that the roots are, if they are mirrors. A root that does not exist is then empty,
    /// too.
    mirrors: Option<Arc<Mirrors>>,
    /// The project that some of the roots may belong to.
    project: Project,
    /// The findings of the last load, so that each is reported once.
    reported: Mutex<HashSet<String>>,
    /// The cache, opened when it is first needed.
    generations: OnceLock<Option<Generations>>,
    /// The states of the files of the last load.
    states: Mutex<Option<FileStates>>,
    /// The skills that did not load the last time, so that it is known since when.
    broken: Mutex<Vec<BrokenSkill>>,
    /// The files of each directory that its skills declare although their names hide them.
    declared: Mutex<DeclaredFiles>,
    /// Whether the roots were logged.
    is_logged: AtomicBool,
    /// The last warning about hidden skills.
    hidden: Mutex<Option<String>>,
    /// Reports once that the cache cannot be written to.
    not_stored: Once,
}

impl Directories {
    /// A source of directories that must exist.
    pub(crate) fn new(roots: &[SkillRoot]) -> Result<Self> {
        roots
            .iter()
            .try_for_each(|root| check_directory(&root.dir))?;
        Ok(Self::over(roots, None))
    }

    /// A source of the files of mirrors, as they are whenever they are read.
    #[expect(
        clippy::unnecessary_wraps,
        reason = "a build without the compiler fails"
    )]
    pub(crate) fn mirrored(mirrors: Arc<Mirrors>) -> Result<Self> {
        let directories = Self::over(&mirrors.roots(), None);
        Ok(Self {
            mirrors: Some(mirrors),
            ..directories
        })
    }

    fn over(roots: &[SkillRoot], beneath: Option<&'static [u8]>) -> Self {
        Self {
            roots: compiler_roots(roots),
            only: roots.iter().map(|root| root.only.clone()).collect(),
            beneath,
            mirrors: None,
            project: Project::current(),
            reported: Mutex::default(),
            generations: OnceLock::new(),
            states: Mutex::default(),
            broken: Mutex::default(),
            declared: Mutex::default(),
            is_logged: AtomicBool::default(),
            hidden: Mutex::default(),
            not_stored: Once::new(),
        }
    }

    /// What becomes of each root now.
    fn states_of_roots(&self) -> Result<Vec<State>, Error> {
        if !self.are_optional() {
            // A root that went away must not empty the library.
            let mut roots = self.roots.iter();
            let checked = roots.try_for_each(|root| check_directory(&root.dir));
            checked.map_err(|error| Error::Source(error.to_string()))?;
        }
        Ok(states(&self.roots, &self.only))
    }

    /// Whether a root may be missing.
    fn are_optional(&self) -> bool {
        self.beneath.is_some() || self.mirrors.is_some()
    }

    /// The roots whose state is accepted.
    fn roots_with(&self, states: &[State], accept: impl Fn(State) -> bool) -> Vec<Root> {
        let roots = self.roots.iter().zip(states);
        let accepted = roots.filter(|(_, state)| accept(**state));
        let accepted = accepted.map(|(root, _)| root.clone()).collect();
        self.with_declared(accepted)
    }

    /// The roots with the files that their skills declare, as far as they are known.
    fn with_declared(&self, mut roots: Vec<Root>) -> Vec<Root> {
        let declared = self.declared.lock().unwrap_or_else(PoisonError::into_inner);
        for root in &mut roots {
            root.declared = declared.get(&root.dir).cloned().unwrap_or_default();
            if let Some(mirrors) = &self.mirrors {
                root.commit = mirrors.commit_in(&root.dir);
            }
        }
        roots
    }

    /// Notes the files that skills declare. Returns whether they differ from those known before.
    fn note_declared(&self, now: DeclaredFiles) -> bool {
        let mut declared = self.declared.lock().unwrap_or_else(PoisonError::into_inner);
        let differs = *declared != now;
        *declared = now;
        differs
    }

    /// Logs once which roots were looked at, and what each gave.
    fn log_roots(&self, bundle: &Bundle) {
        if !tracing::enabled!(tracing::Level::INFO) || self.is_logged.swap(true, Relaxed) {
            return;
        }
        let labels: Vec<_> = self.roots.iter().map(|root| root.label.as_str()).collect();
        match summary(&labels, &states(&self.roots, &self.only), bundle) {
            Ok(summary) => tracing::info!("roots: {summary}"),
            Err(error) => tracing::warn!("roots: {error}"),
        }
    }

    /// What the server is to know of these roots.
    fn loaded_roots(&self, present: &[usize]) -> Vec<LoadedRoot> {
        if self.mirrors.is_some() {
            // Their files come and go, so nobody is sent there.
            return Vec::new();
        }
        let loaded = |&at: &usize| {
            let dir = self.roots.get(at).map(|root| root.dir.as_path());
            LoadedRoot {
                base: dir.and_then(|dir| std::path::absolute(dir).ok()),
                is_of_project: dir.is_none_or(|dir| self.project.contains(dir)),
            }
        };
        present.iter().map(loaded).collect()
    }

    fn generations(&self) -> Option<&Generations> {
        let open = || Generations::open(&self.roots, &self.only, self.beneath);
        self.generations.get_or_init(open).as_ref()
    }

    /// Takes over which skills were broken when an earlier process stored the others, and which
    /// files they declared.
    fn remembered(&self, note: &Note) -> Vec<BrokenSkill> {
        self.note_declared(note.declared.clone());
        let broken: Vec<_> = note.broken.iter().map(BrokenSkill::from).collect();
        let mut known = self.broken.lock().unwrap_or_else(PoisonError::into_inner);
        known.clone_from(&broken);
        broken
    }

    /// The states of the files that a bundle was compiled from, if they are known.
    fn states_of(&self, bundle: &Bundle) -> FileStates {
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let stored = || self.generations()?.states(bundle);
        states.clone().or_else(stored).unwrap_or_default()
    }

    /// Stores what was compiled. Without a cache, or if it is full, it stays in memory.
    fn keep(
        &self,
        set: &SkillSet,
        fingerprint: u64,
        present: Vec<usize>,
        states: FileStates,
    ) -> Result<Bundle, Error> {
        let image = skillbundle_format::lay_out(set)?;
        let stored = states.to_bytes();
        *self.states.lock().unwrap_or_else(PoisonError::into_inner) = Some(states);
        let Some(generations) = self.generations() else {
            return Ok(image.to_bundle()?);
        };
        match generations.put(&image) {
            Ok(bundle) => {
                let broken = self.broken.lock().unwrap_or_else(PoisonError::into_inner);
                let declared = self.declared.lock().unwrap_or_else(PoisonError::into_inner);
                let note = generations.note(fingerprint, present, &broken, declared.clone());
                drop(declared);
                generations.refer(&bundle, &note, stored);
                Ok(bundle)
            }
            Err(error) => {
                self.not_stored
                    .call_once(|| tracing::warn!("{error}; the skills are kept in memory"));
                Ok(image.to_bundle()?)
            }
        }
    }

    fn compile(
        &self,
        roots: &[Root],
        previous: Option<&Bundle>,
        unsettled: &dyn Fn() -> Option<Vec<PathBuf>>,
    ) -> Result<Option<Compiled>, Error> {
        let options = Options {
            optional_roots: self.are_optional(),
            check: false,
        };
        let mut left = Previous::default();
        if let Some(previous) = previous {
            // What cannot be read is compiled anew.
            if left.set.extend_from(previous).is_ok() {
                left.states = self.states_of(previous);
            } else {
                left = Previous::default();
            }
        }
        let mut compiled = skillbundle_compiler::recompile(roots, &options, &left, unsettled)?;
        drop(left);
        if let Some(compiled) = &mut compiled
            && self.only.iter().any(Option::is_some)
        {
            let parts = (
                &mut compiled.set,
                &mut compiled.report,
                &mut compiled.failed,
            );
            select(parts, roots, &self.only);
        }
        Ok(compiled)
    }

    /// The findings that have not been reported before.
    fn new_findings(&self, report: Report) -> Vec<String> {
        let lines = findings(report);
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let new = lines.iter().filter(|line| !reported.contains(*line));
        let new = new.cloned().collect();
        *reported = lines.into_iter().collect();
        new
    }

    /// The skills whose files failed now, with the first error of each file.
    fn broken(&self, roots: &[Root], compiled: &Compiled) -> Vec<BrokenSkill> {
        let mut known = self.broken.lock().unwrap_or_else(PoisonError::into_inner);
        let skill_of = |failed: &Failed| {
            let mut skills = compiled.set.skills.iter();
            skills.find(|it| (it.root, &it.file_path) == (failed.root, &failed.file_path))
        };
        let broken = compiled.failed.iter().filter_map(|failed| {
            let root = roots.get(failed.root as usize)?;
            let file = prefix(root) + &failed.file_path;
            let served = skill_of(failed).map(|skill| skill.path.clone());
            let is_served = served.is_some();
            let path = served.unwrap_or_else(|| path_of(failed, root));
            let since = known.iter().find(|it| it.path == path).map(|it| it.since);
            Some(BrokenSkill {
                path,
                reason: first_error(&compiled.report, &file),
                since: since.unwrap_or_else(SystemTime::now),
                is_served,
            })
        });
        let broken: Vec<_> = broken.collect();
        known.clone_from(&broken);
        broken
    }

    /// A warning if a skill of the project hides one of the user, since a repository that was just
    /// cloned may do so.
    fn hidden_skills(&self, bundle: &Bundle) -> Option<String> {
        let catalog = bundle.catalog().ok()?;
        let hidden = catalog.hidden().ok()?;
        let warning = hidden_skills(&catalog, &hidden);
        let mut last = self.hidden.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = *last != warning;
        last.clone_from(&warning);
        warning.filter(|_| is_new)
    }
}

impl Source for Directories {
    fn fingerprint(&self) -> io::Result<u64> {
        let states = states(&self.roots, &self.only);
        let distinct = self.roots_with(&states, |it| !matches!(it, State::SameAs(_)));
        Ok(combined(&skillbundle_compiler::fingerprints(&distinct)?))
    }

    /// If none of the roots exists, only the baked-in skills are served. One stat a root shows
    /// whether that is so; a sweep of a tree takes milliseconds.
    fn fingerprint_now(&self) -> Option<io::Result<u64>> {
        self.beneath?;
        let absent = self.roots.iter().all(|root| !root.dir.is_dir());
        absent.then_some(Ok(0))
    }

    fn load(&self, previous: Option<&Bundle>) -> Result<Loaded, Error> {
        let loaded = self.load_whole(previous, &|| None)?;
        Ok(loaded.expect("nothing is in the middle of a change"))
    }

    fn load_whole(
        &self,
        previous: Option<&Bundle>,
        unsettled: &dyn Fn() -> Option<Vec<PathBuf>>,
    ) -> Result<Option<Loaded>, Error> {
        let mirrors = self.mirrors.as_deref();
        let reading = mirrors.map(Mirrors::read_to_load).transpose();
        let _reading = reading.map_err(|error| Error::Source(error.to_string()))?;
        let mirrored = mirrors.map(Mirrors::fingerprint);
        let beneath = self.beneath.map(Bundle::from_static).transpose()?;
        let states = self.states_of_roots()?;
        let present = read(&states);
        let beneath = match beneath {
            // Nothing to compile: the baked-in bytes are served as they are.
            Some(bundle) if present.is_empty() => {
                self.log_roots(&bundle);
                return Ok(Some(bundle.into()));
            }
            beneath => beneath,
        };
        let roots = self.roots_with(&states, |it| it == State::Read);
        let absent = self.roots_with(&states, |it| it == State::Missing);
        let unsettled = || Some(with_replaced(unsettled()?, &absent));
        let Some(mut compiled) = self.compile(&roots, previous, &unsettled)? else {
            return Ok(None);
        };
        // No earlier version stands in for a file that is being written, and no watch has seen when
        // that began.
        while previous.is_none() && is_being_written(&roots, &compiled.failed) {
            sleep(NEXT_ATTEMPT);
            let Some(again) = self.compile(&roots, previous, &unsettled)? else {
                return Ok(None);
            };
            compiled = again;
        }
        let is_partial = compiled.is_partial;
        let dirs = roots.iter().map(|root| root.dir.clone());
        let declared = dirs.zip(std::mem::take(&mut compiled.declared));
        let must_rewatch = self.note_declared(declared.filter(|it| !it.1.is_empty()).collect());
        let broken = self.broken(&roots, &compiled);
        // What is missing in a part may be there in the whole, which is loaded next.
        let mut notices = if is_partial {
            Vec::new()
        } else {
            self.new_findings(compiled.report)
        };
        let mut set = compiled.set;
        if let Some(beneath) = &beneath {
            lay_over(&mut set, beneath)?;
        }
        let mut fingerprints = skillbundle_compiler::fingerprints(&absent)?;
        fingerprints.extend(compiled.fingerprints);
        // No look finds the opposite, so the whole is loaded next.
        let swept = combined(&fingerprints) ^ if is_partial { u64::MAX } else { 0 };
        let state = mirrored.unwrap_or(swept);
        let loaded_roots = self.loaded_roots(&present);
        let bundle = self.keep(&set, state, present, compiled.states)?;
        self.log_roots(&bundle);
        notices.extend(self.hidden_skills(&bundle));
        Ok(Some(Loaded {
            roots: loaded_roots,
            bundle,
            notices,
            broken,
            state: Some(state),
            must_rewatch,
        }))
    }

    fn stored(&self) -> Option<Loaded> {
        let (bundle, note) = self.generations()?.latest()?;
        self.log_roots(&bundle);
        Some(Loaded {
            roots: self.loaded_roots(&note.present),
            notices: self.hidden_skills(&bundle).into_iter().collect(),
            bundle,
            broken: self.remembered(&note),
            state: Some(note.fingerprint),
            must_rewatch: false,
        })
    }

    fn stand_in(&self) -> Option<Loaded> {
        Some(Bundle::from_static(self.beneath?).ok()?.into())
    }

    fn discard(&self, damaged: &Bundle) {
        if let Some(generations) = self.generations() {
            generations.discard(damaged);
        }
    }

    fn watch_paths(&self) -> Option<WatchPaths> {
        let walked = skillbundle_compiler::walked_paths(&self.with_declared(self.roots.clone()));
        Some(WatchPaths {
            directories: walked.directories,
            entries: walked.entries,
            files: walked.files,
        })
    }

    fn is_being_changed(&self) -> bool {
        self.roots.iter().any(|root| git_lock::is_held(&root.dir))
    }

    fn describe(&self) -> String {
        let states = states(&self.roots, &self.only);
        let is_shown = |state| self.beneath.is_none() || state == State::Read;
        let roots = self.roots_with(&states, is_shown);
        let dirs = roots.iter().map(|root| root.dir.display().to_string());
        dirs.chain(self.beneath.map(|_| "this binary".to_owned()))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// Paths in the middle of a change: all there are if an absent root is among them, since it is being
/// replaced rather than gone.
fn with_replaced(paths: Vec<PathBuf>, absent: &[Root]) -> Vec<PathBuf> {
    let mut dirs = absent
        .iter()
        .filter_map(|it| std::path::absolute(&it.dir).ok());
    let is_replaced = dirs.any(|dir| paths.iter().any(|path| dir.starts_with(path)));
    if is_replaced { vec!["/".into()] } else { paths }
}

/// One hash for the roots' own, in any order.
fn combined(fingerprints: &[u64]) -> u64 {
    let mut sorted = fingerprints.to_vec();
    sorted.sort_unstable();
    let mut hash = DefaultHasher::new();
    sorted.hash(&mut hash);
    hash.finish()
}

/// The roots that exist, over the skills baked into this binary.
pub(crate) fn over_embedded(roots: &[SkillRoot]) -> impl Source {
    Directories::over(roots, Some(embedded::bytes()))
}

/// Adds the skills baked into this binary below others. Its handbook is found by name only once
/// there are any.
fn lay_over(set: &mut SkillSet, embedded: &Bundle) -> Result<(), skillbundle_format::Error> {
    if embedded::IS_HANDBOOK {
        set.extend_from_handbook(embedded)
    } else {
        set.extend_from(embedded)
    }
}

/// What becomes of roots, each with the only file to take from it.
fn states(roots: &[Root], only: &[Option<String>]) -> Vec<State> {
    let only = only.iter().map(Option::as_deref);
    let dirs = roots.iter().map(|root| root.dir.as_path());
    roots::states(dirs.zip(only.chain(std::iter::repeat(None))))
}

/// The indices of the roots that are read.
fn read(states: &[State]) -> Vec<usize> {
    let states = states.iter().enumerate();
    let read = states.filter(|(_, state)| **state == State::Read);
    read.map(|(at, _)| at).collect()
}

/// What a check of these roots reads, given the declared files that the last one found.
pub(crate) fn watched(roots: &[SkillRoot], declared: &[Vec<String>]) -> WatchPaths {
    let mut roots = compiler_roots(roots);
    for (root, declared) in roots.iter_mut().zip(declared) {
        root.declared.clone_from(declared);
    }
    let walked = skillbundle_compiler::walked_paths(&roots);
    WatchPaths {
        directories: walked.directories,
        entries: walked.entries,
        files: walked.files,
    }
}

fn compiler_roots(roots: &[SkillRoot]) -> Vec<Root> {
    let root = |root: &SkillRoot| Root {
        dir: root.dir.clone(),
        label: root.label.clone(),
        scope: root.scope,
        commit: root.commit.clone(),
        max_files: root.max_files,
        declared: Vec::new(),
    };
    roots.iter().map(root).collect()
}

fn bundle(set: &SkillSet) -> Result<Bundle, skillbundle_format::Error> {
    skillbundle_format::lay_out(set)?.to_bundle()
}

/// Whether a file did not load that was written a moment ago.
fn is_being_written(roots: &[Root], failed: &[Failed]) -> bool {
    let age = |failed: &Failed| {
        let path = roots.get(failed.root as usize)?.dir.join(&failed.file_path);
        std::fs::metadata(path)
            .ok()?
            .modified()
            .ok()?
            .elapsed()
            .ok()
    };
    failed
        .iter()
        .any(|failed| age(failed).is_some_and(|age| age < QUIET))
}

/// What a skill is called that has never loaded. One that is the whole root has the root's name.
fn path_of(failed: &Failed, root: &Root) -> String {
    let name = || root.dir.file_name().unwrap_or_default().to_string_lossy();
    if failed.path.is_empty() {
        name().into_owned()
    } else {
        failed.path.clone()
    }
}
