//! Files that the walk leaves out by their names and that a skill declares: `.gitignore`,
//! `target/schema.json`. Each is looked at by itself, so no ignored directory is listed.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::{fs, io};

use super::ignore::{is_junk, is_never_read, is_version_control};
use super::read_error::LinkCause;
use super::walk::new_entry;
use super::{Cause, Limits, ReadError, TreeEntry, TreeRoot, platform};
use crate::paths::{ancestors, file_name};

/// Whether the walk leaves a file with this path out by its name or by that of a directory, and it
/// may be read if it is declared.
pub(crate) fn is_left_out(path: &str) -> bool {
    let mut above = ancestors(path).map(file_name);
    let is_left_out = is_junk(file_name(path)) || above.any(is_never_read);
    is_left_out && !is_version_control(path)
}

impl TreeRoot {
    /// Looks at exactly these declared files that the walk has left out, and drops all others. What
    /// must not be read is reported if `reports` is true.
    pub(super) fn look_at(&mut self, paths: BTreeSet<String>, limits: Limits, reports: bool) {
        let mut known = std::mem::take(&mut self.declared);
        for path in &paths {
            if self.find(path).is_some() {
                continue;
            }
            if let Ok(at) = known.binary_search_by(|it| it.path.as_str().cmp(path)) {
                self.declared.push(known.remove(at));
                continue;
            }
            match self.look(path, limits) {
                None => {}
                Some(Ok(entry)) => self.declared.push(entry),
                Some(Err(cause)) => {
                    let error = ReadError::new(path.clone(), false, cause);
                    if reports && !self.read_errors.contains(&error) {
                        self.read_errors.push(error);
                    }
                }
            }
        }
        self.declared_paths = paths;
    }

    /// The real path of a file that the walk has left out, if no link is below the directories that
    /// were walked, and whether a link led to those.
    pub(super) fn location(&self, path: &str) -> (PathBuf, bool) {
        for above in ancestors(path) {
            let walked = self.find(above).map(|at| &self.entries[at]);
            if let Some(entry) = walked.filter(|it| it.is_directory) {
                return (entry.real.join(&path[above.len() + 1..]), entry.by_link);
            }
        }
        (self.real.join(path), false)
    }

    /// `None` if there is nothing with this path. Links are never followed here: the walk follows
    /// none to files that it leaves out either.
    fn look(&self, path: &str, limits: Limits) -> Option<Result<TreeEntry, Cause>> {
        if path.split('/').count() > limits.depth {
            return Some(Err(Cause::TooDeep(limits.depth)));
        }
        let (real, by_link) = self.location(path);
        let resolved = match fs::canonicalize(&real) {
            Ok(resolved) => resolved,
            Err(error) => return refused(&error).map(Err),
        };
        if resolved != real {
            let target = fs::read_link(&real).unwrap_or_else(|_| resolved.clone());
            let is_inside = resolved.starts_with(&self.real);
            let cause = if is_inside {
                LinkCause::Hidden
            } else {
                LinkCause::Escapes
            };
            return Some(Err(Cause::Link(target, cause)));
        }
        let metadata = match fs::symlink_metadata(&real) {
            Ok(metadata) => metadata,
            Err(error) => return refused(&error).map(Err),
        };
        let kind = metadata.file_type();
        if !kind.is_file() && !kind.is_dir() {
            return Some(Err(Cause::NotAFile(platform::describe(kind))));
        }
        Some(Ok(new_entry(path.to_owned(), real, by_link, &metadata)))
    }
}

/// Why something cannot be looked at; `None` if it does not exist.
fn refused(error: &io::Error) -> Option<Cause> {
    let is_missing = matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    );
    (!is_missing).then(|| Cause::unreadable(error))
}
