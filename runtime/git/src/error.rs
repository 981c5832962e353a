//! Why a repository could not be synchronised, and what to do about it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

/// Why a repository could not be synchronised. No message holds the token.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GitError {
    /// There is no git.
    #[error("git is not installed: no directory of PATH has it")]
    NoGit,
    /// It is too old.
    #[error("git 2.31 or later is needed, found `{found}`")]
    OldGit {
        /// What it says of itself.
        found: String,
    },
    /// This system has no process groups, so a git that hangs could not be stopped.
    #[error("git sources need a Unix system")]
    Unsupported,
    /// It could not be run.
    #[error("cannot run git: {0}")]
    Run(#[source] io::Error),
    /// It took too long.
    #[error("not done after {} s", .0.as_secs_f64())]
    TimeOut(Duration),
    /// The repository is too large.
    #[error("more than {most} bytes")]
    TooLarge {
        /// The most bytes that are allowed.
        most: u64,
    },
    /// The commit has too many files.
    #[error("more than {most} files")]
    TooManyFiles {
        /// The most files that are allowed.
        most: usize,
    },
    /// Git says more than any repository needs.
    #[error("git {what} answers with more than {most} bytes")]
    TooMuch {
        /// Git's command.
        what: String,
        /// The most bytes that are read.
        most: u64,
    },
    /// The process ends.
    #[error("stopped, since the program ends")]
    Ending,
    /// Git failed.
    #[error("git {what}: {}", reason(.stderr, *.code))]
    Failed {
        /// Git's command.
        what: String,
        /// Its exit code; `None` after a signal.
        code: Option<i32>,
        /// What it said, without the token.
        stderr: String,
    },
    /// Git answered something that it never should.
    #[error("git {what} answered in a form that is not known")]
    Answer {
        /// Git's command.
        what: &'static str,
    },
    /// The repository has no commits.
    #[error("the repository is empty")]
    Empty,
    /// There is no such branch.
    #[error("no branch or tag `{wanted}`{}", others(.found))]
    NoBranch {
        /// What was asked for.
        wanted: String,
        /// Branches that there are.
        found: Vec<String>,
    },
    /// There is no such commit in the repository that a directory is in.
    #[error("no commit is called `{}`", shown(.wanted))]
    NoRevision {
        /// What was asked for.
        wanted: String,
    },
    /// The directory is in no repository.
    #[error("{} is in no git repository", shown(&.0.display().to_string()))]
    NoRepository(PathBuf),
    /// The checked out commit and a revision have no commit in common, as far as is known here.
    #[error("`{}` and the checked out commit have no common commit{}", shown(.wanted), if *.is_shallow {
        " in this clone, which is shallow"
    } else {
        ""
    })]
    NoMergeBase {
        /// What was asked for.
        wanted: String,
        /// Whether the history was cut when it was cloned.
        is_shallow: bool,
    },
    /// There is no such directory in the commit.
    #[error("no directory `{wanted}` in commit {commit}")]
    NoDirectory {
        /// What was asked for.
        wanted: String,
        /// Where it was looked for.
        commit: String,
    },
    /// A path in the commit is none that can be written.
    #[error(
        "the commit has the path `{0}`; expected plain names of at most 255 bytes, at most 64 of them"
    )]
    Path(String),
    /// The private directory cannot be used.
    #[error("{}: {source}", shown(&.path.display().to_string()))]
    Directory {
        /// The directory or file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Others could change the private directory.
    #[error("{} belongs to another user, or other users may write to it", .0.display())]
    NotPrivate(PathBuf),
    /// Other processes keep reading the files.
    #[error("its files are being read, and were not free to be replaced after {} s", .0.as_secs_f64())]
    InUse(Duration),
    /// Another process synchronises the same repository.
    #[error("another process is synchronising it, and was not done after {} s", .0.as_secs_f64())]
    Locked(Duration),
}

/// Most characters of a text of others that are shown: more than the longest path of most systems
/// needs, and less than fills the context of a model.
const MOST_SHOWN: usize = 600;

/// What to do if a repository wants a user or a password.
const PRIVATE: &str =
    "it is private or does not exist: set GITHUB_TOKEN, or let git's credential helper know it";

/// What to do if a repository is elsewhere, as after it was renamed.
const REDIRECTED: &str = "it has another URL now, which a browser shows: name that one \
    (redirections are not followed, since a token would go along)";

/// Parts of what git says, and what to do about them.
const HELP: &[(&str, &str)] = &[
    ("could not read Username", PRIVATE),
    ("could not read Password", PRIVATE),
    ("unable to get password", PRIVATE),
    (
        "Authentication failed",
        "the token or the stored credentials are refused: check that they are valid and may read it",
    ),
    (
        "returned error: 401",
        "set GITHUB_TOKEN, or let git's credential helper know it",
    ),
    (
        "returned error: 403",
        "the token may not read this repository",
    ),
    (
        "not found",
        "check the URL; a private repository needs a token",
    ),
    (
        "Permission denied (publickey)",
        "ssh has no key for it: `ssh -T HOST` shows why",
    ),
    (
        "Host key verification failed",
        "connect once by hand, so that ssh knows the host",
    ),
    ("redirect", REDIRECTED),
    ("returned error: 301", REDIRECTED),
    ("returned error: 302", REDIRECTED),
    ("returned error: 307", REDIRECTED),
    ("returned error: 308", REDIRECTED),
    (
        "transport 'file' not allowed",
        "add `file` to the setting git.protocols",
    ),
    (
        "mismatched algorithms",
        "the commit's hash has another length than the hashes of the repository",
    ),
    (
        "not our ref",
        "it has no such commit, or gives branches and tags only: name one of those",
    ),
    (
        "unadvertised object",
        "it gives branches and tags only: name one of those",
    ),
    (
        "expected commit type",
        "what was named is no commit: name a branch, or a tag of a commit",
    ),
    (
        "uses plaintext credentials",
        "your configuration of git puts a password into the URL (url.….insteadOf): \
            use a credential helper or GITHUB_TOKEN",
    ),
    (
        "not a git repository",
        "the directory is in no repository: name a directory that is",
    ),
    (
        "dubious ownership",
        "the repository belongs to another user of this machine",
    ),
];

impl GitError {
    /// Whether a file of the private directory is missing, or was removed while it was looked at:
    /// `create_dir_all` reports that as existing.
    pub(crate) fn is_missing(&self) -> bool {
        use io::ErrorKind::{AlreadyExists, NotFound};
        let is_missing = |it: &io::Error| matches!(it.kind(), AlreadyExists | NotFound);
        matches!(self, Self::Directory { source, .. } if is_missing(source))
    }

    /// What to do about it, if that is known.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::NoGit => Some("install git, or check the repository out and name its directory"),
            Self::OldGit { .. } => Some("install a newer git"),
            Self::TimeOut(_) => {
                Some("the setting git.timeout_seconds allows more; its host may be unreachable")
            }
            Self::TooLarge { .. } => Some("the setting git.max_bytes allows more"),
            Self::TooManyFiles { .. } | Self::TooMuch { .. } => {
                Some("name a directory of it: URL#BRANCH:DIRECTORY")
            }
            Self::NoRepository(_) => Some("name a directory in a git repository"),
            Self::NoMergeBase {
                is_shallow: true, ..
            } => Some(
                "fetch the history: `git fetch --unshallow`, or `fetch-depth: 0` in the checkout of CI",
            ),
            Self::NoRevision { .. } => Some(
                "name a branch, a tag or a hash; where only the newest commit was fetched, as in \
                    CI, `git fetch origin BRANCH` brings `origin/BRANCH`",
            ),
            Self::NoBranch { .. } => Some("name the branch as URL#BRANCH or in SKILLS_BRANCH"),
            Self::InUse(_) => Some("end the command that reads them, such as one in a pager"),
            Self::NotPrivate(_) => Some("remove it, or name another cache in SKILLBUNDLE_CACHE"),
            Self::Failed { stderr, .. } => {
                let known = HELP.iter().find(|(part, _)| stderr.contains(part));
                known.map(|(_, help)| *help)
            }
            _ => None,
        }
    }
}

/// The reason in what git says: its first `error:` or `fatal:`, since the others follow from it, or
/// else its last line.
fn reason(stderr: &str, code: Option<i32>) -> String {
    let lines = || stderr.lines().map(str::trim).filter(|it| !it.is_empty());
    let told = |line: &'_ str| -> Option<String> {
        let marks = ["fatal: ", "error: "];
        let rest = marks.into_iter().find_map(|mark| line.strip_prefix(mark));
        rest.map(str::to_owned)
    };
    let last = || lines().next_back().map(str::to_owned);
    let reason = lines().find_map(told).or_else(last);
    match (reason, code) {
        (Some(reason), _) => {
            let reason = reason.trim_end_matches([' ', ':', '.']);
            shown(reason)
        }
        (None, Some(code)) => format!("it failed with code {code} and said nothing"),
        (None, None) => "a signal ended it".to_owned(),
    }
}

fn others(found: &[String]) -> String {
    match found {
        [] => String::new(),
        found => format!("; it has {}", found.join(", ")),
    }
}

/// A text that others have chosen, for messages: nothing in it moves a cursor, turns text around or is
/// invisible, and it is not longer than people read.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::new();
    for (at, it) in text.chars().enumerate() {
        if at == MOST_SHOWN {
            shown.push('…');
            break;
        }
        match it {
            '\'' | '"' | '\\' => shown.push(it),
            it => shown.extend(it.escape_debug()),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_first_that_git_gives() {
        for (stderr, code, expected) in [
            ("fatal: a\n", Some(128), "a"),
            ("error: b:\nfatal: a\nPlease make sure\n", Some(128), "b"),
            ("remote: x\nerror: b\n", Some(1), "b"),
            ("x\ny\u{1b}[31m\n\n", Some(1), "y\\u{1b}[31m"),
            (
                "ERR \u{202e}a\u{200b} 'b'\\",
                Some(1),
                "ERR \\u{202e}a\\u{200b} 'b'\\",
            ),
            ("", Some(3), "it failed with code 3 and said nothing"),
            ("", None, "a signal ended it"),
        ] {
            assert_eq!(reason(stderr, code), expected, "{stderr}");
        }
        assert_eq!(
            reason(&"x".repeat(9000), None).chars().count(),
            MOST_SHOWN + 1
        );
    }
}
