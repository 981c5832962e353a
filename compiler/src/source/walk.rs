//! Walks one root: every name below it, with size and times. Links are collected
//! first and followed afterwards, in order, as far as `links` allows.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use walkdir::{DirEntry, WalkDir};

use super::ignore::{is_junk, is_never_read};
use super::links::{Frame, Link, Target};
use super::{Cause, Limits, ReadError, TreeEntry, links, platform};

/// Walks a root whose real path is given. Neither result is sorted.
pub(super) fn root(real: &Path, limits: Limits) -> (Vec<TreeEntry>, Vec<ReadError>) {
    let mut walker = Walker {
        limits,
        seen: 0,
        entries: Vec::new(),
        read_errors: Vec::new(),
        links: Vec::new(),
    };
    let frame = Arc::new(Frame::root(real));
    if walker.directory("", real, &frame).is_err() {
        // Which entries come before the limit depends on the disk's order, so none
        // is kept: the same tree gives the same result.
        let cause = Cause::TooMany(limits.entries);
        return (Vec::new(), vec![ReadError::new(String::new(), true, cause)]);
    }
    walker.follow_links();
    (walker.entries, walker.read_errors)
}

struct Walker {
    limits: Limits,
    /// Names seen so far, kept or not.
    seen: usize,
    entries: Vec<TreeEntry>,
    read_errors: Vec<ReadError>,
    /// Links of the directories walked last, not followed yet.
    links: Vec<Link>,
}

/// The limit of entries was reached.
struct TooMany;

impl Walker {
    /// Collects what is below `real`, which has the path `prefix` in the tree.
    fn directory(&mut self, prefix: &str, real: &Path, frame: &Arc<Frame>) -> Result<(), TooMany> {
        let level = if prefix.is_empty() {
            0
        } else {
            prefix.split('/').count()
        };
        let deepest = self.limits.depth.saturating_sub(level);
        let mut walk = WalkDir::new(real)
            .follow_links(false)
            .follow_root_links(false)
            .min_depth(1)
            .max_depth(deepest)
            .into_iter();
        while let Some(next) = walk.next() {
            self.seen += 1;
            if self.seen > self.limits.entries {
                return Err(TooMany);
            }
            let entry = match next {
                Ok(entry) => entry,
                Err(error) => {
                    self.unreadable(prefix, real, &error);
                    continue;
                }
            };
            let enter = self.entry(prefix, real, &entry, frame, entry.depth() == deepest);
            if !enter && entry.file_type().is_dir() {
                walk.skip_current_dir();
            }
        }
        Ok(())
    }

    /// Keeps one entry. Returns whether to enter it, if it is a directory.
    fn entry(
        &mut self,
        prefix: &str,
        base: &Path,
        entry: &DirEntry,
        frame: &Arc<Frame>,
        deepest: bool,
    ) -> bool {
        let kind = entry.file_type();
        let path = match tree_path(prefix, base, entry.path()) {
            Ok(path) => path,
            Err((shown, why)) => {
                self.read_error(shown, kind.is_dir(), Cause::Name(why));
                return false;
            }
        };
        let name = entry.file_name().to_str().unwrap_or_default();
        if kind.is_dir() {
            return self.enter(path, entry, frame, deepest);
        }
        if is_junk(name) {
            return false;
        }
        if kind.is_symlink() {
            self.links.push(Link {
                path,
                location: entry.path().to_owned(),
                frame: Arc::clone(frame),
            });
        } else if kind.is_file() {
            self.keep(
                path,
                entry.path().to_owned(),
                frame.by_link,
                fs::symlink_metadata(entry.path()),
            );
        } else {
            self.read_error(path, false, Cause::NotAFile(platform::describe(kind)));
        }
        false
    }

    fn enter(&mut self, path: String, entry: &DirEntry, frame: &Arc<Frame>, deepest: bool) -> bool {
        let name = entry.file_name().to_str().unwrap_or_default();
        if is_never_read(name) {
            let holds_skill = entry.path().join("SKILL.md").is_file();
            self.read_error(path, true, Cause::Ignored(holds_skill));
            return false;
        }
        let real = entry.path().to_owned();
        if deepest {
            self.read_error(path.clone(), true, Cause::TooDeep(self.limits.depth));
        }
        self.keep(
            path,
            real,
            frame.by_link,
            fs::symlink_metadata(entry.path()),
        );
        !deepest
    }

    fn keep(&mut self, path: String, real: PathBuf, by_link: bool, metadata: io::Result<Metadata>) {
        match metadata {
            Ok(metadata) => self.entries.push(new_entry(path, real, by_link, &metadata)),
            // Deleted since its directory was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.read_error(path, false, Cause::unreadable(&error)),
        }
    }

    fn read_error(&mut self, path: String, is_directory: bool, cause: Cause) {
        self.read_errors
            .push(ReadError::new(path, is_directory, cause));
    }

    fn unreadable(&mut self, prefix: &str, base: &Path, error: &walkdir::Error) {
        let Some(io) = error.io_error() else { return };
        if io.kind() == io::ErrorKind::NotFound {
            return;
        }
        let path = tree_path(prefix, base, error.path().unwrap_or(base));
        let path = path.unwrap_or_else(|(shown, _)| shown);
        self.read_error(path, true, Cause::unreadable(io));
    }

    /// Follows links until no new ones appear, in the order of their paths, so that
    /// the result does not depend on the disk.
    fn follow_links(&mut self) {
        loop {
            let mut round = std::mem::take(&mut self.links);
            if round.is_empty() {
                return;
            }
            round.sort_by(|a, b| a.path.cmp(&b.path));
            let skills = links::SkillDirectories::of(&self.entries);
            for link in round {
                self.follow(link, &skills);
            }
        }
    }

    fn follow(&mut self, link: Link, skills: &links::SkillDirectories) {
        let frame = Arc::clone(&link.frame);
        match links::judge(&link, skills) {
            Ok(Target::File(real, metadata)) => {
                self.keep(link.path, real, true, Ok(metadata));
            }
            Ok(Target::Directory(real, metadata)) => {
                let level = link.path.split('/').count();
                if level >= self.limits.depth {
                    return self.read_error(link.path, true, Cause::TooDeep(self.limits.depth));
                }
                let (entries, links) = (self.entries.len(), self.links.len());
                let inner = Arc::new(frame.inner(&link, &real));
                self.entries
                    .push(new_entry(link.path.clone(), real.clone(), true, &metadata));
                if self.directory(&link.path, &real, &inner).is_err() {
                    self.entries.truncate(entries);
                    self.links.truncate(links);
                    self.read_error(link.path, true, Cause::TooMany(self.limits.entries));
                }
            }
            Err((is_directory, cause)) => self.read_error(link.path, is_directory, cause),
        }
    }
}

fn new_entry(path: String, real: PathBuf, by_link: bool, metadata: &Metadata) -> TreeEntry {
    TreeEntry {
        path,
        real,
        by_link,
        is_directory: metadata.is_dir(),
        size: metadata.len(),
        executable: platform::is_executable(metadata),
        hard_links: platform::hard_links(metadata),
        bytes: None,
        stamp: platform::stamp(metadata),
        mode: platform::mode(metadata),
    }
}

/// The path in the tree of something found below `base`. If a name cannot be a key
/// of a bundle, the error is a printable form of the path and the reason.
fn tree_path(prefix: &str, base: &Path, found: &Path) -> Result<String, (String, &'static str)> {
    let below = found.strip_prefix(base).unwrap_or(found);
    let mut path = prefix.to_owned();
    let mut cause = None;
    for name in below {
        if !path.is_empty() {
            path.push('/');
        }
        match name.to_str() {
            Some(name) if !name.contains(|it: char| it == '\\' || it.is_control()) => {
                path.push_str(name);
            }
            Some(name) => {
                let backslash = "its name has a backslash, a separator on Windows";
                let control = "its name has a control character";
                cause = Some(if name.contains('\\') {
                    backslash
                } else {
                    control
                });
                path.push_str(&escaped(name.as_bytes()));
            }
            None => {
                cause = Some("its name is not UTF-8");
                path.push_str(&escaped(name.as_encoded_bytes()));
            }
        }
    }
    match cause {
        None => Ok(path),
        Some(why) => Err((path, why)),
    }
}

/// Bytes as text, with invalid UTF-8 and control characters escaped.
fn escaped(bytes: &[u8]) -> String {
    let mut shown = String::new();
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            if letter.is_control() {
                shown.extend(letter.escape_default());
            } else {
                shown.push(letter);
            }
        }
        shown.extend(
            chunk
                .invalid()
                .iter()
                .flat_map(|byte| byte.escape_ascii())
                .map(char::from),
        );
    }
    shown
}
