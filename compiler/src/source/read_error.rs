//! What could not be read, or must not be, and what the report says about it. How
//! bad that is depends on the place: an error if it costs a skill something, less
//! if no skill is known there.

use std::io;
use std::path::PathBuf;

use super::{Tree, TreeRoot};
use crate::diagnostic::{Code, Diagnostic, Severity};

/// One path below a root that is not read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ReadError {
    /// Relative to the root; empty for the root itself. Unprintable characters
    /// are escaped, so it may no longer be a path.
    pub(crate) path: String,
    /// Whether it is a directory, or a link to one.
    pub(crate) is_directory: bool,
    /// Why it is not read.
    pub(crate) cause: Cause,
}

/// Why something is not read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Cause {
    /// It does not exist. Only for roots.
    Missing,
    /// The operating system's own words.
    Unreadable(String),
    /// It was replaced by something else between the walk and the read.
    Changed,
    /// A pipe, a socket, a device.
    NotAFile(&'static str),
    /// The name cannot be a key of a bundle.
    Name(&'static str),
    /// Size and limit in bytes.
    TooLarge(u64, u64),
    /// The limit in bytes of all files together.
    TooMuch(u64),
    /// The limit of directory levels.
    TooDeep(usize),
    /// The limit of entries.
    TooMany(usize),
    /// A directory with an ignored name; whether it directly holds a `SKILL.md`.
    Ignored(bool),
    /// A link with its target as written, and why it is not followed.
    Link(PathBuf, LinkCause),
}

/// Why a link is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum LinkCause {
    /// The target does not exist.
    Broken,
    /// It leads to a directory that contains it.
    Cycle,
    /// It leads outside the directories that may be read.
    Escapes,
    /// It leads into a directory that is never read.
    Hidden,
}

/// What a path has to do with skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relevance {
    /// It would be a skill's own file.
    Skill,
    /// It belongs to a skill, which works without it.
    File,
    /// The compiler itself needs it: settings, requests to replay.
    Input,
    /// No skill is known there.
    None,
}

impl ReadError {
    /// For a root that cannot be opened.
    pub(super) fn root(error: &io::Error) -> Self {
        let cause = match error.kind() {
            io::ErrorKind::NotFound => Cause::Missing,
            _ => Cause::unreadable(error),
        };
        Self::new(String::new(), true, cause)
    }

    pub(super) const fn new(path: String, is_directory: bool, cause: Cause) -> Self {
        Self {
            path,
            is_directory,
            cause,
        }
    }

    fn diagnostic(&self, root: &TreeRoot, relevance: Relevance) -> Diagnostic {
        let (code, reason, help) = self.cause.explain();
        let consequence = match (relevance, self.is_directory) {
            _ if self.path.is_empty() => "nothing of this root is served",
            (Relevance::Skill, _) => "this skill is not served",
            (Relevance::File, false) if self.is_too_large() => {
                "this file is listed but cannot be read"
            }
            (_, true) => "this directory is not searched",
            (_, false) => "this file is left out",
        };
        let message = match &self.cause {
            Cause::Missing | Cause::Ignored(false) => reason,
            Cause::Ignored(true) => "the skill in this directory is not served".to_owned(),
            _ => format!("{consequence}: {reason}"),
        };
        let diagnostic = Diagnostic::new(code, root.shown(&self.path), message);
        let diagnostic = diagnostic.severity(self.severity(code, relevance));
        match help {
            "" => diagnostic,
            help => diagnostic.help(help),
        }
    }

    fn is_too_large(&self) -> bool {
        matches!(self.cause, Cause::TooLarge(..) | Cause::TooMuch(_))
    }

    /// An error if a skill or one of its files is lost, a warning if a directory
    /// could have held one, information otherwise.
    fn severity(&self, code: Code, relevance: Relevance) -> Severity {
        let default = code.severity();
        match (&self.cause, relevance) {
            // Somebody probably wrote it as a skill.
            (Cause::Ignored(true), _) => Severity::Warning,
            (Cause::Ignored(false) | Cause::Missing | Cause::TooMany(_), _) => default,
            _ if self.path.is_empty() => default,
            (_, Relevance::Skill) => Severity::Error,
            // A broken link may have been meant as a skill.
            (Cause::Link(_, LinkCause::Broken | LinkCause::Cycle), _)
            | (Cause::Link(..) | Cause::TooDeep(_), Relevance::File | Relevance::Input) => default,
            (Cause::Link(..), Relevance::None) if self.is_directory => default,
            // The skill works without it, and whoever reads it is told its size.
            (_, Relevance::File) if self.is_too_large() => Severity::Warning,
            (_, Relevance::File | Relevance::Input) => Severity::Error,
            (_, Relevance::None) if self.is_directory => Severity::Warning,
            (_, Relevance::None) => Severity::Info,
        }
    }
}

impl Cause {
    pub(super) fn unreadable(error: &io::Error) -> Self {
        Self::Unreadable(error.to_string())
    }

    /// The code, the reason in words, and what to do about it; empty if nothing.
    pub(super) fn explain(&self) -> (Code, String, &'static str) {
        const SPLIT: &str = "keep large data elsewhere and tell in the skill where";
        match self {
            Self::Missing => (
                Code::RootMissing,
                "this directory does not exist".to_owned(),
                "create the directory or fix the path",
            ),
            Self::Unreadable(error) => (
                Code::Unreadable,
                format!("it cannot be read: {error}"),
                "allow the user that compiles to read it",
            ),
            Self::Changed => (
                Code::ChangedWhileRead,
                "it was replaced while it was being read".to_owned(),
                "compile again when nothing writes to it",
            ),
            Self::NotAFile(what) => (
                Code::NotAFile,
                format!("it is {what}"),
                "replace it by a file or remove it",
            ),
            Self::Name(why) => (Code::UnusableName, (*why).to_owned(), "rename it"),
            Self::TooLarge(size, limit) => (
                Code::FileTooLarge,
                format!("it has {size} bytes, the limit is {limit}"),
                SPLIT,
            ),
            Self::TooMuch(limit) => (
                Code::FileTooLarge,
                format!("all files together have more than {limit} bytes"),
                "keep large data elsewhere; `--max-files N` raises the limit to 4 KiB times N",
            ),
            Self::TooDeep(levels) => (
                Code::DirectoryTooDeep,
                format!("it is more than {levels} levels deep"),
                "name a directory further down as a root of its own",
            ),
            Self::TooMany(limit) => (
                Code::TooManyFiles,
                format!("it has more than {limit} files and directories"),
                "name the directory that holds the skills; `--max-files N` raises the limit",
            ),
            Self::Ignored(holds_skill) => (
                Code::IgnoredDirectory,
                "directories of this name are never read".to_owned(),
                if *holds_skill {
                    "rename the directory, since this name is never read, or name it as a root"
                } else {
                    ""
                },
            ),
            Self::Link(target, cause) => cause.explain(&target.display().to_string()),
        }
    }
}

impl LinkCause {
    fn explain(self, target: &str) -> (Code, String, &'static str) {
        let (code, what, help) = match self {
            Self::Broken => (
                Code::BrokenLink,
                "which does not exist",
                "fix the link or remove it",
            ),
            Self::Cycle => (
                Code::LinkCycle,
                "a directory that contains the link",
                "remove the link",
            ),
            Self::Escapes => (
                Code::LinkEscapes,
                "which is outside the root",
                "replace the link by a copy, or name the target's directory as a root",
            ),
            Self::Hidden => (
                Code::LinkEscapes,
                "in a directory that is never read",
                "replace the link by a copy",
            ),
        };
        (code, format!("it links to `{target}`, {what}"), help)
    }
}

/// One diagnostic for every read error. `relevance` says what a path of a root
/// has to do with skills; `optional` roots need not exist.
pub(crate) fn diagnostics(
    tree: &Tree,
    optional: bool,
    relevance: impl Fn(usize, &str) -> Relevance,
) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    for (index, root) in tree.roots.iter().enumerate() {
        for error in &root.read_errors {
            let diagnostic = error.diagnostic(root, relevance(index, &error.path));
            let expected = optional && error.cause == Cause::Missing;
            out.push(if expected {
                diagnostic.severity(Severity::Info)
            } else {
                diagnostic
            });
        }
    }
    out
}
