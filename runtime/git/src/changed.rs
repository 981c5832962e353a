//! The files of a working tree that differ from where its branch began: for callers that want to look at
//! nothing else. Nothing that the repository configures is run, so files that a filter changes on their
//! way into a commit, such as those of Git LFS, may count as changed although they are not.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::checkout::{Repository, check_revision};
use crate::error::GitError;

/// What has changed in a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// The top of its working tree.
    pub top: PathBuf,
    /// The files that were changed, added or removed, relative to the top. A directory stands for a
    /// submodule at another commit, or for a repository in this one that is not known to it.
    pub files: BTreeSet<PathBuf>,
}

/// The files around `directory` that differ from the merge base of the checked out commit and a revision:
/// in commits, in the index, in the working tree, or unknown to git and not ignored.
///
/// # Errors
///
/// The directory is in no repository, the revision names no commit or has none in common with the checked
/// out one, git fails, or it takes longer than `timeout`.
pub fn changed_since(
    directory: &Path,
    revision: &str,
    timeout: Duration,
) -> Result<Changes, GitError> {
    check_revision(revision)?;
    let mut repository = Repository::around(directory, timeout).map_err(|error| match error {
        GitError::Failed { ref stderr, .. } if stderr.contains("not a git repository") => {
            GitError::NoRepository(directory.to_owned())
        }
        error => error,
    })?;
    let commit = repository.commit(revision)?;
    let head = repository.commit("HEAD").map_err(|error| match error {
        GitError::NoRevision { .. } => GitError::Empty,
        error => error,
    })?;
    let base = merge_base(&repository, &commit, &head, revision)?;
    let top = PathBuf::from(repository.git(&["rev-parse", "--show-toplevel"])?);
    // `ls-files` lists what is below its directory.
    repository.program = repository.program.at(top.clone());
    let filters = disabled_filters(&repository)?;
    let differing = [
        "diff",
        "--name-only",
        "-z",
        "--no-renames",
        "--no-relative",
        "--no-ext-diff",
        "--no-textconv",
        // Another commit counts. What is not committed in them is for their own git to tell, which
        // would obey their configuration.
        "--ignore-submodules=dirty",
        &base,
        "--",
    ];
    let unknown = ["ls-files", "--others", "--exclude-standard", "-z"];
    let mut files = BTreeSet::new();
    for arguments in [&differing[..], &unknown] {
        let call = repository.program.call(arguments).configured(&filters);
        let names = call.output(&repository.limits)?;
        files.extend(names.split(|it| *it == 0).filter_map(path));
    }
    Ok(Changes { top, files })
}

/// The files of git that change when `revision` names another commit, or another one is checked out, in
/// the repository around `directory`: for callers that look again then. Some of them may not exist.
///
/// # Errors
///
/// The directory is in no repository, git fails, or it takes longer than `timeout`.
pub fn reference_files(
    directory: &Path,
    revision: &str,
    timeout: Duration,
) -> Result<Vec<PathBuf>, GitError> {
    let repository = Repository::around(directory, timeout)?;
    let mut names: Vec<String> = ["HEAD", "logs/HEAD", "FETCH_HEAD", "packed-refs"]
        .map(str::to_owned)
        .into();
    // `main` of `main~2`, `main@{1}` and `main^{commit}`.
    let branch = revision.split(['~', '^', '@', ':']).next();
    let branch = branch.filter(|it| !it.is_empty() && check_revision(it).is_ok());
    let kinds = ["heads", "remotes", "tags"];
    names.extend(
        kinds
            .iter()
            .filter_map(|kind| Some(format!("refs/{kind}/{}", branch?))),
    );
    let mut arguments = vec!["rev-parse", "--path-format=absolute"];
    for name in &names {
        arguments.extend(["--git-path", name]);
    }
    let files = repository.git(&arguments)?;
    Ok(files.lines().map(PathBuf::from).collect())
}

fn merge_base(
    repository: &Repository,
    commit: &str,
    head: &str,
    revision: &str,
) -> Result<String, GitError> {
    let found = repository.git(&["merge-base", commit, head]);
    found.or_else(|error| match error {
        GitError::Failed { code: Some(1), .. } => {
            let is_shallow = repository.git(&["rev-parse", "--is-shallow-repository"])?;
            Err(GitError::NoMergeBase {
                wanted: revision.to_owned(),
                is_shallow: is_shallow == "true",
            })
        }
        error => Err(error),
    })
}

/// Configuration that turns off the filters which the repository, or the user, has configured: to compare
/// a file with the index, git would run them.
fn disabled_filters(repository: &Repository) -> Result<Vec<(String, String)>, GitError> {
    let list = ["config", "--name-only", "-z", "--get-regexp", r"^filter\."];
    let names = match repository.program.call(&list).output(&repository.limits) {
        Err(GitError::Failed { code: Some(1), .. }) => Vec::new(),
        names => names?,
    };
    let names = names.split(|it| *it == 0).map(String::from_utf8_lossy);
    let off = names.filter_map(|name| {
        let key = name.rsplit_once('.')?.1;
        let value = match key {
            "clean" | "smudge" | "process" => "",
            "required" => "false",
            _ => return None,
        };
        Some((name.into_owned(), value.to_owned()))
    });
    Ok(off.collect())
}

#[cfg(unix)]
fn path(name: &[u8]) -> Option<PathBuf> {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    // Without the slash after a directory.
    let name = name.strip_suffix(b"/").unwrap_or(name);
    (!name.is_empty()).then(|| OsStr::from_bytes(name).into())
}

#[cfg(not(unix))]
fn path(name: &[u8]) -> Option<PathBuf> {
    let name = str::from_utf8(name).ok()?.trim_end_matches('/');
    (!name.is_empty()).then(|| name.into())
}
