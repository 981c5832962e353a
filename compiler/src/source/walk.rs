//! Walks one root: every name below it, with size and times. Links are collected
//! first and followed afterwards, in order, as far as `links` allows.

use std::ffi::OsStr;
use std::fs::{self, DirEntry, FileType, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use skillbundle_search::parallel::map_chunks;

use super::ignore::{is_junk, is_never_read, may_be_skill};
use super::links::{Frame, Link, Target};
use super::{Cause, Limits, ReadError, TreeEntry, links, platform};
use crate::paths::join;

/// Fewer directories are listed faster than a thread starts.
const LEAST: usize = 16;

/// Walks a root whose real path is given. Neither result is sorted.
pub(super) fn root(real: &Path, limits: Limits) -> (Vec<TreeEntry>, Vec<ReadError>) {
    let mut walker = Walker {
        limits,
        seen: AtomicUsize::new(0),
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
    /// Names seen so far, kept or not. Directories are listed on several threads.
    seen: AtomicUsize,
    entries: Vec<TreeEntry>,
    read_errors: Vec<ReadError>,
    /// Links of the directories walked last, not followed yet.
    links: Vec<Link>,
}

/// The limit of entries was reached.
struct TooMany;

/// A directory to list.
struct Directory {
    /// Its path in the tree.
    path: String,
    real: PathBuf,
}

/// What is directly in some directories.
#[derive(Default)]
struct Listing {
    entries: Vec<TreeEntry>,
    read_errors: Vec<ReadError>,
    links: Vec<Link>,
    /// The directories to enter.
    inner: Vec<Directory>,
}

impl Walker {
    /// Collects what is below `real`, which has the path `prefix` in the tree, level by level: the
    /// directories of a level are independent, so they are listed on all cores.
    fn directory(&mut self, prefix: &str, real: &Path, frame: &Arc<Frame>) -> Result<(), TooMany> {
        let above = if prefix.is_empty() {
            0
        } else {
            prefix.split('/').count()
        };
        let mut level = vec![Directory {
            path: prefix.to_owned(),
            real: real.to_owned(),
        }];
        for depth in above + 1.. {
            if level.is_empty() || depth > self.limits.depth {
                break;
            }
            let deepest = depth == self.limits.depth;
            let listings = map_chunks(&level, LEAST, |directories| {
                let mut listing = Listing::default();
                for directory in directories {
                    listing.read(directory, frame, deepest.then_some(depth), self);
                }
                listing
            });
            if self.seen.load(Ordering::Relaxed) > self.limits.entries {
                return Err(TooMany);
            }
            level.clear();
            for listing in listings {
                self.entries.extend(listing.entries);
                self.read_errors.extend(listing.read_errors);
                self.links.extend(listing.links);
                level.extend(listing.inner);
            }
        }
        Ok(())
    }

    /// Counts a name. Returns whether the limit is passed.
    fn count(&self) -> bool {
        self.seen.fetch_add(1, Ordering::Relaxed) >= self.limits.entries
    }

    fn read_error(&mut self, path: String, is_directory: bool, cause: Cause) {
        self.read_errors
            .push(ReadError::new(path, is_directory, cause));
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
                self.entries
                    .push(new_entry(link.path, real, true, &metadata));
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

impl Listing {
    /// Adds what is directly in a directory. `deepest` is the limit of levels, if the directory is
    /// at that limit. Stops early if there are too many names.
    fn read(
        &mut self,
        directory: &Directory,
        frame: &Arc<Frame>,
        deepest: Option<usize>,
        walker: &Walker,
    ) {
        let names = match fs::read_dir(&directory.real) {
            Ok(names) => names,
            Err(error) => {
                walker.count();
                return self.unreadable(directory, &error);
            }
        };
        for entry in names {
            if walker.count() {
                return;
            }
            let found = entry.and_then(|entry| Ok((entry.file_type()?, entry)));
            match found {
                Ok((kind, entry)) => self.entry(directory, kind, &entry, frame, deepest),
                Err(error) => self.unreadable(directory, &error),
            }
        }
    }

    fn entry(
        &mut self,
        directory: &Directory,
        kind: FileType,
        entry: &DirEntry,
        frame: &Arc<Frame>,
        deepest: Option<usize>,
    ) {
        let name = entry.file_name();
        let path = match tree_path(&directory.path, &name) {
            Ok(path) => path,
            Err((shown, why)) => {
                return self.read_error(shown, kind.is_dir(), Cause::Name(why));
            }
        };
        let name = name.to_str().unwrap_or_default();
        let real = directory.real.join(name);
        if kind.is_dir() {
            let is_ignored = is_never_read(name);
            let holds_skill = is_ignored && links::is_skill_directory(&real);
            if is_ignored && !(holds_skill && may_be_skill(name)) {
                return self.read_error(path, true, Cause::Ignored(holds_skill));
            }
            match deepest {
                Some(limit) => self.read_error(path.clone(), true, Cause::TooDeep(limit)),
                None => self.inner.push(Directory {
                    path: path.clone(),
                    real: real.clone(),
                }),
            }
            self.keep(path, real, frame.by_link, entry.metadata());
        } else if is_junk(name) {
        } else if kind.is_symlink() {
            self.links.push(Link {
                path,
                location: real,
                frame: Arc::clone(frame),
            });
        } else if kind.is_file() {
            self.keep(path, real, frame.by_link, entry.metadata());
        } else {
            self.read_error(path, false, Cause::NotAFile(platform::describe(kind)));
        }
    }

    fn keep(&mut self, path: String, real: PathBuf, by_link: bool, metadata: io::Result<Metadata>) {
        match metadata {
            Ok(metadata) => self.entries.push(new_entry(path, real, by_link, &metadata)),
            // Deleted since its directory was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.read_error(path, false, Cause::unreadable(&error)),
        }
    }

    fn unreadable(&mut self, directory: &Directory, error: &io::Error) {
        // Deleted since the directory above was listed.
        if error.kind() != io::ErrorKind::NotFound {
            self.read_error(directory.path.clone(), true, Cause::unreadable(error));
        }
    }

    fn read_error(&mut self, path: String, is_directory: bool, cause: Cause) {
        self.read_errors
            .push(ReadError::new(path, is_directory, cause));
    }
}

pub(super) fn new_entry(
    path: String,
    real: PathBuf,
    by_link: bool,
    metadata: &Metadata,
) -> TreeEntry {
    TreeEntry {
        path,
        real,
        by_link,
        is_directory: metadata.is_dir(),
        size: metadata.len(),
        executable: platform::is_executable(metadata),
        hard_links: platform::hard_links(metadata),
        bytes: None,
        unread: None,
        stamp: platform::stamp(metadata),
        mode: platform::mode(metadata),
    }
}

/// The path in the tree of a name in the directory `above`. If the name cannot be part of a key of
/// a bundle, the error is a printable form of the path and the reason.
fn tree_path(above: &str, name: &OsStr) -> Result<String, (String, &'static str)> {
    match name.to_str() {
        Some(name) if !name.contains(|it: char| it == '\\' || it.is_control()) => {
            Ok(join(above, name))
        }
        Some(name) => {
            let why = if name.contains('\\') {
                "its name has a backslash, a separator on Windows"
            } else {
                "its name has a control character"
            };
            Err((join(above, &escaped(name.as_bytes())), why))
        }
        None => {
            let shown = escaped(name.as_encoded_bytes());
            Err((join(above, &shown), "its name is not UTF-8"))
        }
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
