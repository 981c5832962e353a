//! The files of a commit, read from git's objects and written by us. Nothing is checked out, so no
//! filter, attribute, hook or link of the repository has an effect.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;

use serde::{Deserialize, Serialize};

use crate::error::{GitError, shown};
use crate::program::{Limits, Program};

/// Most files of a commit. The compiler has a limit of its own for each directory.
pub(crate) const MAX_FILES: usize = 200_000;

/// Deepest path, in parts.
const MAX_DEPTH: usize = 64;

/// Longest name, in bytes: what the file systems of Unix allow.
const MAX_NAME: usize = 255;

/// What every pointer of Git LFS begins with.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1\n";

/// Largest pointer of Git LFS, in bytes, as its specification has it.
const MAX_LFS_POINTER: u64 = 1024;

/// A file of a commit that is left out, since what git has of it is not the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its path in the directory that is mirrored.
    pub path: String,
    /// Why.
    pub reason: Reason,
}

/// Why a file is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// It is a symbolic link, and could lead anywhere.
    Link,
    /// It is a submodule: another repository.
    Submodule,
    /// It is a pointer of Git LFS; the file is elsewhere.
    LfsPointer,
}

impl Reason {
    /// What it is, for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Link => "a symbolic link",
            Self::Submodule => "a submodule",
            Self::LfsPointer => "a pointer of Git LFS, not the file",
        }
    }
}

/// A file of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    path: Vec<u8>,
    object: String,
    size: u64,
    is_executable: bool,
}

/// What a commit has.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    files: Vec<Entry>,
    left_out: Vec<LeftOut>,
}

impl Listing {
    /// Reads what `git ls-tree -r -z -l` writes, as far as the paths are wanted. Fails if one of these
    /// would leave its directory, or if there is too much.
    pub(crate) fn read(
        output: &[u8],
        most_bytes: u64,
        is_wanted: impl Fn(&[u8]) -> bool,
    ) -> Result<Self, GitError> {
        let mut listing = Self::default();
        let mut bytes = 0u64;
        for line in output.split(|it| *it == 0).filter(|it| !it.is_empty()) {
            listing.add(line, &is_wanted)?;
            if listing.files.len() + listing.left_out.len() > MAX_FILES {
                return Err(GitError::TooManyFiles { most: MAX_FILES });
            }
        }
        for file in &listing.files {
            bytes = bytes.saturating_add(file.size);
        }
        if bytes > most_bytes {
            return Err(GitError::TooLarge { most: most_bytes });
        }
        Ok(listing)
    }

    /// `100644 blob HASH      123<TAB>path`
    fn add(&mut self, line: &[u8], is_wanted: impl Fn(&[u8]) -> bool) -> Result<(), GitError> {
        const UNKNOWN: GitError = GitError::Answer { what: "ls-tree" };
        let tab = line.iter().position(|it| *it == b'\t').ok_or(UNKNOWN)?;
        let (fields, path) = (&line[..tab], &line[tab + 1..]);
        if !is_wanted(path) {
            return Ok(());
        }
        check_path(path)?;
        let fields = std::str::from_utf8(fields).map_err(|_| UNKNOWN)?;
        let mut fields = fields.split_ascii_whitespace();
        let (Some(mode), Some(_), Some(object), Some(size)) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            return Err(UNKNOWN);
        };
        let reason = match mode {
            "120000" => Some(Reason::Link),
            "160000" => Some(Reason::Submodule),
            _ => None,
        };
        match reason {
            Some(reason) => self.left_out.push(LeftOut {
                path: String::from_utf8_lossy(path).into_owned(),
                reason,
            }),
            None => self.files.push(Entry {
                path: path.to_owned(),
                object: object.to_owned(),
                size: size.parse().map_err(|_| UNKNOWN)?,
                is_executable: mode == "100755",
            }),
        }
        Ok(())
    }

    /// Writes the files into a directory that is empty and ours. Returns their number, and what was
    /// left out.
    pub(crate) fn write(
        mut self,
        program: &Program,
        git_dir: &Path,
        directory: &Path,
        limits: &Limits,
    ) -> Result<(usize, Vec<LeftOut>), GitError> {
        if self.files.is_empty() {
            return Ok((0, self.left_out));
        }
        let call = program
            .call(&["cat-file", "--batch"])
            .in_repository(git_dir);
        let (running, stdin, stdout) = call.start(limits, true)?;
        let objects: Vec<String> = self.files.iter().map(|it| it.object.clone()).collect();
        // On a thread, since git answers before it has read everything.
        let asker = stdin.map(|stdin| {
            thread::spawn(move || {
                let mut stdin = BufWriter::new(stdin);
                objects.iter().try_for_each(|it| writeln!(stdin, "{it}"))
            })
        });
        let mut stdout = BufReader::with_capacity(1 << 16, stdout);
        let mut written = 0;
        let mut outcome = Ok(());
        let mut directories = HashMap::new();
        for file in &self.files {
            match write_file(&mut stdout, file, directory, &mut directories) {
                Ok(None) => written += 1,
                Ok(Some(reason)) => self.left_out.push(LeftOut {
                    path: String::from_utf8_lossy(&file.path).into_owned(),
                    reason,
                }),
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        // Whatever git still wanted to write has no reader.
        drop(stdout);
        let ended = running.finish();
        if let Some(asker) = asker {
            // It fails if git has ended, which is told by `finish`.
            let _ = asker.join();
        }
        // What stopped git is the reason for whatever was missing.
        match (ended, outcome) {
            (Err(error), _) | (Ok(_), Err(error)) => Err(error),
            (Ok(_), Ok(())) => Ok((written, self.left_out)),
        }
    }
}

/// Takes one object from `git cat-file --batch` and writes its file, unless it is not the file.
fn write_file(
    stdout: &mut impl BufRead,
    file: &Entry,
    directory: &Path,
    directories: &mut HashMap<Vec<u8>, PathBuf>,
) -> Result<Option<Reason>, GitError> {
    const UNKNOWN: GitError = GitError::Answer { what: "cat-file" };
    let mut head = Vec::new();
    let mut limited = stdout.by_ref().take(256);
    limited
        .read_until(b'\n', &mut head)
        .map_err(GitError::Run)?;
    let head = std::str::from_utf8(&head).map_err(|_| UNKNOWN)?;
    let expected = format!("{} blob {}\n", file.object, file.size);
    if head != expected {
        return Err(UNKNOWN);
    }
    let mut content = stdout.by_ref().take(file.size);
    let mut reason = None;
    if file.size <= MAX_LFS_POINTER {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes).map_err(GitError::Run)?;
        if bytes.starts_with(LFS_POINTER) {
            reason = Some(Reason::LfsPointer);
        } else {
            copy(&mut bytes.as_slice(), file, directory, directories)?;
        }
    } else {
        copy(&mut content, file, directory, directories)?;
    }
    let mut end = [0];
    stdout.read_exact(&mut end).map_err(GitError::Run)?;
    if end == *b"\n" {
        Ok(reason)
    } else {
        Err(UNKNOWN)
    }
}

/// Writes a new file. Whatever is there already is not followed and not replaced.
fn copy(
    content: &mut impl Read,
    file: &Entry,
    directory: &Path,
    directories: &mut HashMap<Vec<u8>, PathBuf>,
) -> Result<(), GitError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| GitError::Directory { path, source }
    };
    let slash = file.path.iter().rposition(|it| *it == b'/');
    let (parent, name) = match slash {
        Some(slash) => (&file.path[..slash], &file.path[slash + 1..]),
        None => (&[][..], &file.path[..]),
    };
    if !directories.contains_key(parent) {
        let path = directory.join(os_string(parent)?);
        fs::create_dir_all(&path).map_err(at(&path))?;
        directories.insert(parent.to_owned(), path);
    }
    let path = directories[parent].join(os_string(name)?);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(if file.is_executable { 0o700 } else { 0o600 });
    }
    let mut to: File = options.open(&path).map_err(at(&path))?;
    let copied = io::copy(content, &mut to).map_err(at(&path))?;
    if copied == file.size {
        return Ok(());
    }
    Err(GitError::Run(io::ErrorKind::UnexpectedEof.into()))
}

/// Fails unless every part of a path is a plain name. Git refuses such trees too, where it checks.
fn check_path(path: &[u8]) -> Result<(), GitError> {
    let is_name = |part: &[u8]| {
        part.len() <= MAX_NAME
            && !matches!(part, b"" | b"." | b"..")
            && !part.eq_ignore_ascii_case(b".git")
            && !part.eq_ignore_ascii_case(b"git~1")
    };
    let parts = path.split(|it| *it == b'/');
    if parts.clone().all(is_name) && parts.count() <= MAX_DEPTH {
        return Ok(());
    }
    let path = String::from_utf8_lossy(path);
    Err(GitError::Path(shown(&path)))
}

#[cfg(unix)]
#[expect(
    clippy::unnecessary_wraps,
    reason = "other systems have names of text only"
)]
fn os_string(name: &[u8]) -> Result<OsString, GitError> {
    use std::os::unix::ffi::OsStringExt;
    Ok(OsString::from_vec(name.to_owned()))
}

#[cfg(not(unix))]
fn os_string(name: &[u8]) -> Result<OsString, GitError> {
    let name = std::str::from_utf8(name);
    let wrong = |_| GitError::Path("a name that is not UTF-8".to_owned());
    name.map(OsString::from).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(mode: &str, size: &str, path: &str) -> String {
        let kind = if mode == "160000" { "commit" } else { "blob" };
        format!("{mode} {kind} 0123456789abcdef0123456789abcdef01234567 {size:>7}\t{path}\0")
    }

    #[test]
    fn what_is_not_the_file_is_left_out() {
        let output = [
            line("100644", "3", "a/SKILL.md"),
            line("100755", "5", "a/tabs\tand\nlines.sh"),
            line("120000", "11", "link"),
            line("160000", "-", "vendor"),
        ];
        let listing = Listing::read(output.concat().as_bytes(), 8, |_| true).unwrap();
        let files: Vec<_> = listing
            .files
            .iter()
            .map(|it| (it.size, it.is_executable))
            .collect();
        assert_eq!(files, [(3, false), (5, true)]);
        let left_out: Vec<_> = listing
            .left_out
            .iter()
            .map(|it| (&*it.path, it.reason))
            .collect();
        assert_eq!(
            left_out,
            [("link", Reason::Link), ("vendor", Reason::Submodule)]
        );
    }

    #[test]
    fn what_is_too_much_is_refused() {
        let output = line("100644", "3", "a") + &line("100644", "6", "b");
        assert!(Listing::read(output.as_bytes(), 9, |_| true).is_ok());
        let error = Listing::read(output.as_bytes(), 8, |_| true).unwrap_err();
        assert_eq!(error.to_string(), "more than 8 bytes");
        let many = line("100644", "0", "a").repeat(MAX_FILES + 1);
        let error = Listing::read(many.as_bytes(), 8, |_| true).unwrap_err();
        assert_eq!(error.to_string(), "more than 200000 files");
    }

    #[test]
    fn no_path_leaves_its_directory() {
        let deep = vec!["a"; MAX_DEPTH + 1].join("/");
        let long = "a".repeat(256);
        for path in [
            "../a",
            "a/../b",
            "/a",
            "a//b",
            "./a",
            "a/.git/config",
            ".GIT/x",
            "git~1/x",
            "",
            "a/",
            &deep,
            &long,
        ] {
            let output = line("100644", "3", path);
            let error = Listing::read(output.as_bytes(), 8, |_| true).unwrap_err();
            assert!(
                error.to_string().contains("expected plain names"),
                "{path}: {error}"
            );
        }
        for output in ["x", "100644 blob\ta\0", "100644 blob h x\ta\0"] {
            let error = Listing::read(output.as_bytes(), 8, |_| true).unwrap_err();
            assert!(
                error.to_string().contains("git ls-tree"),
                "{output}: {error}"
            );
        }
    }
}
