//! One root: every name below it, with size and times. Links are collected
//! first and followed afterwards, in order, as far as `links` allows.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use walkdir::{DirEntry, WalkDir};

use super::ignore::{is_junk, is_never_read};
use super::links::{Frame, Link, Target};
use super::{Entry, Fault, Limits, Trouble, links, platform};

/// Walks a root whose real path is given. Neither result is sorted.
pub(super) fn root(real: &Path, limits: Limits) -> (Vec<Entry>, Vec<Trouble>) {
    let mut walker = Walker {
        limits,
        seen: 0,
        entries: Vec::new(),
        troubles: Vec::new(),
        links: Vec::new(),
    };
    let frame = Arc::new(Frame::root(real));
    if walker.directory("", real, &frame).is_err() {
        // Which entries were seen before the limit depends on the disk's order,
        // so none is kept: the same tree gives the same result.
        let fault = Fault::TooMany(limits.entries);
        return (Vec::new(), vec![Trouble::directory(String::new(), fault)]);
    }
    walker.follow_links();
    (walker.entries, walker.troubles)
}

struct Walker {
    limits: Limits,
    /// Names seen so far, kept or not.
    seen: usize,
    entries: Vec<Entry>,
    troubles: Vec<Trouble>,
    /// Links of the directories walked last, not judged yet.
    links: Vec<Link>,
}

/// The limit of entries was reached.
struct TooMany;

impl Walker {
    /// Collects what lies below `real`, which has the path `prefix` in the tree.
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

    /// Keeps one entry; says whether a directory is to be entered.
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
                self.trouble(shown, kind.is_dir(), Fault::Name(why));
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
            self.trouble(path, false, Fault::NotAFile(platform::describe(kind)));
        }
        false
    }

    fn enter(&mut self, path: String, entry: &DirEntry, frame: &Arc<Frame>, deepest: bool) -> bool {
        let name = entry.file_name().to_str().unwrap_or_default();
        if is_never_read(name) {
            let holds_skill = entry.path().join("SKILL.md").is_file();
            self.trouble(path, true, Fault::Ignored(holds_skill));
            return false;
        }
        let real = entry.path().to_owned();
        if deepest {
            self.trouble(path.clone(), true, Fault::TooDeep(self.limits.depth));
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
            // Deleted since its directory was listed: as if it had never been there.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.trouble(path, false, Fault::unreadable(&error)),
        }
    }

    fn trouble(&mut self, path: String, is_directory: bool, fault: Fault) {
        self.troubles.push(Trouble {
            path,
            is_directory,
            fault,
        });
    }

    fn unreadable(&mut self, prefix: &str, base: &Path, error: &walkdir::Error) {
        let Some(io) = error.io_error() else { return };
        if io.kind() == io::ErrorKind::NotFound {
            return;
        }
        let path = tree_path(prefix, base, error.path().unwrap_or(base));
        let path = path.unwrap_or_else(|(shown, _)| shown);
        self.trouble(path, true, Fault::unreadable(io));
    }

    /// Follows links until no new ones turn up. They are taken in order of
    /// their paths, so that what a link reaches does not depend on the disk.
    fn follow_links(&mut self) {
        loop {
            let mut round = std::mem::take(&mut self.links);
            if round.is_empty() {
                return;
            }
            round.sort_by(|a, b| a.path.cmp(&b.path));
            let skills = links::skill_directories(&self.entries);
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
                    return self.trouble(link.path, true, Fault::TooDeep(self.limits.depth));
                }
                let (entries, links) = (self.entries.len(), self.links.len());
                let inner = Arc::new(frame.inner(&link, &real));
                self.entries
                    .push(new_entry(link.path.clone(), real.clone(), true, &metadata));
                if self.directory(&link.path, &real, &inner).is_err() {
                    self.entries.truncate(entries);
                    self.links.truncate(links);
                    self.trouble(link.path, true, Fault::TooMany(self.limits.entries));
                }
            }
            Err((is_directory, fault)) => self.trouble(link.path, is_directory, fault),
        }
    }
}

fn new_entry(path: String, real: PathBuf, by_link: bool, metadata: &Metadata) -> Entry {
    Entry {
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

/// The path in the tree of something that was found below `base`. A name that
/// cannot be a key of a bundle gives a form of it that can be shown, and why.
fn tree_path(prefix: &str, base: &Path, found: &Path) -> Result<String, (String, &'static str)> {
    let below = found.strip_prefix(base).unwrap_or(found);
    let mut path = prefix.to_owned();
    let mut fault = None;
    for name in below {
        if !path.is_empty() {
            path.push('/');
        }
        match name.to_str() {
            Some(name) if !name.contains(|it: char| it == '\\' || it.is_control()) => {
                path.push_str(name);
            }
            Some(name) => {
                let backslash = "the name has a backslash, which other systems read as a separator";
                let control = "the name has a control character";
                fault = Some(if name.contains('\\') {
                    backslash
                } else {
                    control
                });
                path.push_str(&escaped(name.as_bytes()));
            }
            None => {
                fault = Some("the name is not UTF-8");
                path.push_str(&escaped(name.as_encoded_bytes()));
            }
        }
    }
    match fault {
        None => Ok(path),
        Some(why) => Err((path, why)),
    }
}

/// Bytes as text: what is no character that can be shown is escaped.
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
