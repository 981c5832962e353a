//! `--watch`: checks again whenever files change, and goes on whatever a check runs into.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use skillbundle_journal::rfc3339;
use skillbundle_server::{WatchPaths, Watcher};

use super::enabled::Made;
use super::{Args, settings};
use crate::Exit;
use crate::cli::output::{self, info, with_help};
use crate::directories;
use crate::repositories;
use crate::sources::SkillRoot;

/// How often it is looked whether something has changed: one system call.
const LOOK: Duration = Duration::from_millis(50);

/// Clears a terminal, and what has scrolled out of it stays.
const CLEAR: &str = "\u{1b}[H\u{1b}[2J";

/// Checks, and again after each change, until the process is asked to stop.
pub(super) fn run(
    args: &Args,
    roots: &[SkillRoot],
    check: impl Fn() -> Result<Made>,
) -> Result<Exit> {
    let stop = stop_flag()?;
    let mut declared = Vec::new();
    loop {
        let changes = Watcher::new(|| places(args, roots, &declared)).map_err(|error| {
            let help = "leave --watch out, or check in another way whenever a file changes";
            with_help(&format!("cannot watch for changes: {error}"), help)
        })?;
        begin();
        match check() {
            Ok(made) if !made.is_read => return Ok(Exit::Success),
            Ok(made) => declared = made.declared,
            // A file that is half written, or a root that is gone for a moment: it is fixed by a change.
            Err(error) => {
                let (message, help) = output::describe(&error);
                output::error(&message, help);
            }
        }
        while !changes.have_settled() {
            if stop.load(Ordering::Relaxed) {
                return Ok(Exit::Interrupted);
            }
            thread::sleep(LOOK);
        }
    }
}

/// Set once the process is asked to stop; if it is asked again, it ends at once.
fn stop_flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    #[cfg(unix)]
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let code = Exit::Interrupted as i32;
        let again = Arc::clone(&stop);
        signal_hook::flag::register_conditional_shutdown(signal, code, again)
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .context("cannot wait for Ctrl-C")?;
    }
    Ok(stop)
}

/// A line before the findings: on stderr, so that what a program reads is findings alone.
fn begin() {
    let now = rfc3339(SystemTime::now());
    let second = now.split_once('.').map_or(now.as_str(), |it| it.0);
    let time = second.trim_end_matches('Z').replace('T', " ");
    let clear = if io::stdout().is_terminal() && io::stderr().is_terminal() {
        CLEAR
    } else {
        ""
    };
    info(&format!("{clear}--- {time} UTC ---"));
}

/// The files of git that decide what a revision is, as far as their directories are there. None if it is
/// no revision, or a root is in no repository: the check says so.
fn references(roots: &[SkillRoot], revision: &str) -> Vec<PathBuf> {
    let (timeout, _) = repositories::limits();
    let of_root = |root: &SkillRoot| {
        skillbundle_git::reference_files(&root.dir, revision, timeout).unwrap_or_default()
    };
    let mut files: Vec<PathBuf> = roots.iter().flat_map(of_root).collect();
    files.retain(|file| file.parent().is_some_and(Path::is_dir));
    files.sort();
    files.dedup();
    files
}

/// What a check reads.
fn places(args: &Args, roots: &[SkillRoot], declared: &[Vec<String>]) -> WatchPaths {
    let mut places = directories::watched(roots, declared);
    if !args.policy.no_settings {
        let settings = roots.iter().flat_map(|root| settings::places(&root.dir));
        places.files.extend(settings);
        let found = settings::find(roots).unwrap_or_default();
        let baselines = found.iter().flatten().filter_map(|it| it.baseline.clone());
        places.files.extend(baselines);
    }
    let revisions = [&args.policy.changed_since, &args.against];
    for revision in revisions.into_iter().flatten() {
        places.files.extend(references(roots, revision));
    }
    let typed: Option<PathBuf> = args.policy.baseline.clone();
    let typed = typed.and_then(|it| std::path::absolute(it).ok());
    places.files.extend(typed);
    places
}
