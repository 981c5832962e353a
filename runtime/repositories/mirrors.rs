//! The mirrors of the repositories that a command means, in the cache.

use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};
use skillbundle_format::{Scope, hex, sha256};
use skillbundle_git::{
    GitError, LeftOut, Location, Mirror, Options, Protocol, Reading, Reason, Token,
};
use skillbundle_server::Checkout;

use super::{Repositories, TOKEN, limits};
use crate::cache;
use crate::cli::output::with_help;
use crate::config;
use crate::sources::SkillRoot;

/// Files that a notice names.
const MOST_NAMED: usize = 5;

/// How many bytes of a digest name the directory of a mirror.
const NAME_BYTES: usize = 8;

/// The mirrors of some repositories, the most important first.
#[derive(Debug)]
pub(crate) struct Mirrors {
    all: Vec<Mirror>,
    /// Why the last attempt failed, for each of them.
    errors: Mutex<Vec<Option<String>>>,
    token: Option<Token>,
    /// How many of them had files when their skills were loaded last.
    loaded: AtomicUsize,
}

impl Mirrors {
    /// Names them. Nothing is read or written yet.
    pub(super) fn open(repositories: &Repositories) -> Result<Self> {
        let directory = cache::mirrors().ok_or_else(|| {
            with_help(
                "there is no cache directory to keep the files of a repository in",
                &format!("name one in {}", cache::VARIABLE),
            )
        })?;
        let (timeout, max_bytes) = limits();
        let options = Options {
            token: repositories.token.clone(),
            timeout,
            max_bytes,
        };
        let mirror = |location: &Location| {
            let name = hex(&sha256(format!("{location:?}").as_bytes())[..NAME_BYTES]);
            let directory = directory.join(name);
            Mirror::new(location.clone(), directory, options.clone())
        };
        let all: Vec<_> = repositories.locations.iter().map(mirror).collect();
        Ok(Self {
            errors: Mutex::new(vec![None; all.len()]),
            all,
            token: repositories.token.clone(),
            loaded: AtomicUsize::new(0),
        })
    }

    /// Whether every one of them has files.
    pub(crate) fn are_there(&self) -> bool {
        self.all.iter().all(|it| it.state().is_some())
    }

    /// How many of them have files.
    pub(crate) fn count(&self) -> usize {
        self.all.iter().filter(|it| it.commit().is_some()).count()
    }

    /// Tells one state of all of them from another, by two system calls each.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hash = DefaultHasher::new();
        for mirror in &self.all {
            mirror.commit().hash(&mut hash);
        }
        hash.finish()
    }

    /// Keeps the files as they are, of all that have any.
    pub(crate) fn read(&self) -> Result<Vec<Reading>, GitError> {
        let read = self.all.iter().map(Mirror::read);
        read.filter_map(Result::transpose).collect()
    }

    /// The same for skills that are to be loaded.
    ///
    /// # Errors
    ///
    /// Fewer of them have files than before, or none has: the cache was cleaned. Skills do
    /// not go away by that.
    #[cfg_attr(
        not(feature = "compile"),
        expect(dead_code, reason = "only the compiler reads directories")
    )]
    pub(crate) fn read_to_load(&self) -> Result<Vec<Reading>> {
        let reading = self.read()?;
        if reading.len() < self.loaded.load(Ordering::Relaxed).max(1) {
            bail!("the copy on this machine was removed; the next synchronisation makes a new one");
        }
        Ok(reading)
    }

    /// Whether skills of them were loaded before.
    pub(super) fn were_loaded(&self) -> bool {
        self.loaded.load(Ordering::Relaxed) > 0
    }

    /// Notes how many of them had files when their skills were loaded.
    pub(super) fn note_loaded(&self, count: usize) {
        self.loaded.store(count, Ordering::Relaxed);
    }

    /// Brings all of them up to date, at the same time. Returns the number of files that changed.
    ///
    /// # Errors
    ///
    /// All reasons, with what to do; those that worked are up to date.
    pub(crate) fn sync(&self, fresh: Duration) -> Result<usize> {
        let outcomes: Vec<_> = thread::scope(|scope| {
            let run = |mirror| scope.spawn(move || Mirror::sync(mirror, fresh));
            let running: Vec<_> = self.all.iter().map(run).collect();
            running
                .into_iter()
                .map(thread::ScopedJoinHandle::join)
                .collect()
        });
        let mut files_changed = 0;
        let mut reasons = Vec::new();
        for (mirror, outcome) in self.all.iter().zip(outcomes) {
            reasons.push(match outcome {
                Ok(Ok(synced)) => {
                    files_changed += synced.files_changed;
                    None
                }
                Ok(Err(error)) => Some(self.blame(mirror, &error)),
                // The panic is in the log.
                Err(_) => Some(format!("{}: failed unexpectedly", mirror.location())),
            });
        }
        let failed: Vec<_> = reasons.iter().flatten().cloned().collect();
        *self.errors.lock().unwrap_or_else(PoisonError::into_inner) = reasons;
        if failed.is_empty() {
            return Ok(files_changed);
        }
        Err(anyhow::Error::msg(failed.join("\n")))
    }

    /// What went wrong, and what to do.
    fn blame(&self, mirror: &Mirror, error: &GitError) -> String {
        let location = mirror.location();
        let mut text = format!("{location}: {error}");
        if let Some(help) = error.help() {
            // A string takes it always.
            let _ = write!(text, "; {help}");
        }
        let is_http = matches!(location.protocol(), Protocol::Https | Protocol::Http);
        let is_kept = self.token.as_ref().is_some_and(|it| !it.is_for(location));
        if is_http && is_kept && matches!(error, GitError::Failed { .. }) {
            let host = location.host();
            let _ = write!(
                text,
                " ({TOKEN} was not sent to {host}: `--set git.token_hosts={host}` allows it)"
            );
        }
        text
    }

    /// What there is of each of them.
    pub(crate) fn checkouts(&self) -> Vec<Checkout> {
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = self.all.iter().zip(&*errors).map(|(mirror, error)| {
            let state = mirror.state();
            Checkout {
                repository: mirror.location().url().to_owned(),
                branch: state.as_ref().map(|it| it.branch.clone()),
                commit: state.as_ref().map(|it| it.commit.clone()),
                last_sync: state.as_ref().map(skillbundle_git::State::last_sync),
                last_error: error.clone(),
            }
        });
        rows.collect()
    }

    /// What people should know of the files that are there.
    pub(crate) fn notices(&self) -> Vec<String> {
        let notice = |mirror: &Mirror| {
            let state = mirror.state()?;
            let left_out = left_out(&state.left_out)?;
            let (location, commit) = (mirror.location(), &state.commit);
            Some(format!("{location}: not served from {commit}: {left_out}"))
        };
        self.all.iter().filter_map(notice).collect()
    }

    /// Their directories, as roots of skills.
    pub(crate) fn roots(&self) -> Vec<SkillRoot> {
        let labels: Vec<_> = self.all.iter().map(|it| label(it.location())).collect();
        let root = |(mirror, label): (&Mirror, &String)| {
            let is_taken = labels.iter().filter(|it| *it == label).count() > 1;
            let location = mirror.location();
            SkillRoot {
                dir: mirror.tree(),
                label: if is_taken {
                    location.to_string()
                } else {
                    label.clone()
                },
                scope: Scope::Global,
                only: None,
                commit: mirror.commit(),
                max_files: config::current().number("skills.max_files"),
                readers: "",
            }
        };
        self.all.iter().zip(&labels).map(root).collect()
    }

    /// The commit that the files in a directory are of, if it is one of these.
    #[cfg_attr(
        not(feature = "compile"),
        expect(dead_code, reason = "only the compiler reads directories")
    )]
    pub(crate) fn commit_in(&self, directory: &Path) -> Option<String> {
        let mirror = self.all.iter().find(|it| it.tree() == directory);
        mirror.and_then(Mirror::commit)
    }

    /// In one line.
    pub(crate) fn describe(&self) -> String {
        let locations = self.all.iter().map(|it| it.location().to_string());
        locations.collect::<Vec<_>>().join(", ")
    }
}

/// `github.com/org/repo`
fn label(location: &Location) -> String {
    let url = location.url();
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split_once('@').map_or(rest, |(_, rest)| rest);
    let rest = rest.trim_end_matches('/');
    rest.strip_suffix(".git").unwrap_or(rest).replace(':', "/")
}

/// `2 files: a/b.md (a symbolic link), vendor (a submodule)`; `None` if nothing is missing.
fn left_out(files: &[LeftOut]) -> Option<String> {
    let named = files.iter().take(MOST_NAMED);
    let named =
        named.map(|it| format!("{} ({})", it.path.escape_debug(), Reason::as_str(it.reason)));
    let named: Vec<_> = named.collect();
    let more = match files.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    (!named.is_empty()).then(|| named.join(", ") + &more)
}
