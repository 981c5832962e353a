//! Whether git is changing the files of a directory right now: it holds `index.lock` while it
//! checks out, merges or resets.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::GitLock;

/// A lock older than this was left behind by a git that died.
const ABANDONED: Duration = Duration::from_secs(600);

/// Whether git holds the lock of the repository that a directory belongs to.
pub(super) fn is_held(directory: &Path) -> bool {
    find(directory).is_some_and(|lock| !lock.is_abandoned)
}

/// The lock of the repository that a directory belongs to, if it exists.
pub(super) fn find(directory: &Path) -> Option<GitLock> {
    let absolute = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let file = absolute
        .ancestors()
        .find_map(repository)?
        .join("index.lock");
    let age = fs::metadata(&file).ok()?.modified().ok()?.elapsed();
    // A lock from the future, after a clock went back, is as good as a new one.
    let is_abandoned = age.is_ok_and(|age| age >= ABANDONED);
    Some(GitLock { file, is_abandoned })
}

/// Where git keeps its data for this working tree: `.git`, or what the file `.git` of a linked
/// working tree names.
fn repository(directory: &Path) -> Option<PathBuf> {
    let git = directory.join(".git");
    let metadata = fs::metadata(&git).ok()?;
    if metadata.is_dir() {
        return Some(git);
    }
    if !metadata.is_file() {
        return None;
    }
    let text = fs::read_to_string(&git).ok()?;
    let named = text.strip_prefix("gitdir:")?.trim();
    Some(directory.join(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_of_the_repository_above_is_found() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let skills = directory.path().join("repository/a/skills");
        fs::create_dir_all(&skills).expect("writable");
        assert!(!is_held(&skills), "no repository");
        let git = directory.path().join("repository/.git");
        fs::create_dir(&git).expect("writable");
        assert!(!is_held(&skills), "no lock");
        fs::write(git.join("index.lock"), "").expect("writable");
        assert!(is_held(&skills));
        let lock = fs::File::open(git.join("index.lock")).expect("there");
        let old = std::time::SystemTime::now() - 2 * ABANDONED;
        lock.set_modified(old).expect("ours");
        assert!(!is_held(&skills), "abandoned");
    }

    #[test]
    fn a_linked_working_tree_has_its_own_lock() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (tree, git) = (
            directory.path().join("tree"),
            directory.path().join("git/worktrees/tree"),
        );
        fs::create_dir_all(&tree).expect("writable");
        fs::create_dir_all(&git).expect("writable");
        fs::write(tree.join(".git"), "gitdir: ../git/worktrees/tree\n").expect("writable");
        assert!(!is_held(&tree));
        fs::write(git.join("index.lock"), "").expect("writable");
        assert!(is_held(&tree));
    }
}
