//! Where `compile` writes to: a file that may be replaced, or standard output. What is at that place
//! is looked at before anything is compiled.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, FileType};
use std::io::{ErrorKind, Read};
use std::path::Path;

use anyhow::{Context, Result};
use skillbundle_format::{Bundle, Image, SkillSet, is_bundle};

use crate::cli::output::{Output, with_help};

/// The name that stands for standard output.
const STDOUT: &str = "-";

/// Bytes of another file that an error quotes.
const QUOTED_BYTES: u64 = 8;

/// Where the bundle goes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Destination<'a> {
    /// Standard output.
    Stdout,
    /// This file, which is a bundle, is empty, or does not exist.
    File(&'a Path),
}

impl<'a> Destination<'a> {
    /// What `-o` means.
    ///
    /// # Errors
    ///
    /// Something is there that is no bundle, or a terminal would get one.
    pub(super) fn new(path: &'a Path, json: bool) -> Result<Self> {
        if path.as_os_str() == OsStr::new(STDOUT) {
            refuse_stdout(json)?;
            return Ok(Self::Stdout);
        }
        refuse_other(path)?;
        Ok(Self::File(path))
    }

    /// The name of what is written, for a summary.
    pub(super) fn name(self) -> String {
        match self {
            Self::Stdout => "standard output".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// The file, if it is one.
    pub(super) fn file(self) -> Option<&'a Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Stdout => None,
        }
    }

    /// The paths of the skills that are there and not in `set`. None if what is there is no bundle
    /// that this program can read: a damaged one is there to be replaced.
    pub(super) fn removed(self, set: &SkillSet) -> Vec<String> {
        let removed = self.file().map(|path| removed_from(path, set));
        removed.and_then(Result::ok).unwrap_or_default()
    }

    /// Writes the bundle.
    pub(super) fn write(self, image: &Image<'_>) -> Result<()> {
        match self {
            Self::Stdout => {
                let mut out = Output::new();
                out.bytes(&image.to_vec())?;
                Ok(out.finish()?)
            }
            Self::File(path) => image
                .publish(path)
                .with_context(|| format!("cannot write {}", path.display())),
        }
    }
}

fn removed_from(path: &Path, set: &SkillSet) -> Result<Vec<String>, skillbundle_format::Error> {
    let old = Bundle::open(path)?;
    let new: BTreeSet<&str> = set.skills.iter().map(|skill| &*skill.path).collect();
    let mut removed = Vec::new();
    for skill in old.catalog()?.skills() {
        let path = skill?.path;
        if !new.contains(path) {
            removed.push(path.to_owned());
        }
    }
    Ok(removed)
}

fn refuse_stdout(json: bool) -> Result<()> {
    if json {
        return Err(with_help(
            "`-o -` and --json would both write to standard output",
            "leave out one of them; `./-` is a file of that name",
        ));
    }
    if Output::new().is_terminal() {
        return Err(with_help(
            "a bundle is not for a terminal",
            "redirect it, such as `> skills.skb`, or name a file",
        ));
    }
    Ok(())
}

/// Fails unless the path is free or has a bundle of any version, or an empty file, as `mktemp` makes
/// one.
fn refuse_other(path: &Path) -> Result<()> {
    let shown = path.display();
    let refuse = |what: &str, help: &str| Err(with_help(&format!("{shown} {what}"), help));
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return match fs::symlink_metadata(path) {
                Ok(_) => refuse("is a link to nothing", "remove it, or name another file"),
                Err(_) => Ok(()),
            };
        }
        Err(error) => return Err(error).with_context(|| format!("cannot write {shown}")),
    };
    if metadata.is_dir() {
        let inside = path.join("skills.skb");
        let help = format!("name a file in it, such as `-o {}`", inside.display());
        return refuse("is a directory", &help);
    }
    if !metadata.is_file() {
        let what = format!("is {}, not a file", special(metadata.file_type()));
        return refuse(&what, "name a file; `-o -` writes to standard output");
    }
    if metadata.len() == 0 {
        return Ok(());
    }
    let mut start = Vec::new();
    File::open(path)
        .and_then(|file| file.take(QUOTED_BYTES).read_to_end(&mut start))
        .with_context(|| format!("cannot tell whether {shown} is a bundle, and may be replaced"))?;
    if is_bundle(&start) {
        return Ok(());
    }
    let what = format!(
        "is not a bundle: it begins with \"{}\"",
        start.escape_ascii()
    );
    refuse(
        &what,
        "it was left as it is; remove it, or name another file",
    )
}

/// What something is that is neither a file nor a directory.
#[cfg(unix)]
fn special(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match () {
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    }
}

#[cfg(not(unix))]
fn special(_: FileType) -> &'static str {
    "a device"
}
