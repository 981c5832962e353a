//! Directories as they were in other commits.

use std::collections::BTreeMap;
use std::time::Duration;

use skillbundle_git::{GitError, Reason, Revision, write_revision};

use crate::kit::{Origin, expected, files};

const LIMITS: (Duration, u64) = (Duration::from_secs(60), 64 << 20);

/// What a directory of the working tree has in a revision, and the files that were written.
fn written(
    origin: &Origin,
    directory: &str,
    revision: &str,
) -> Result<(Revision, BTreeMap<String, String>), GitError> {
    let into = tempfile::tempdir().unwrap();
    let directory = origin.work().join(directory);
    let found = write_revision(&directory, revision, &["config.yaml"], into.path(), LIMITS)?;
    Ok((found, files(into.path())))
}

#[test]
fn a_directory_is_written_as_it_was() {
    let origin = Origin::new();
    let first = origin.commit_files(&[
        ("config.yaml", "top"),
        ("README.md", "read"),
        ("a/config.yaml", "above"),
        ("a/skills/one/SKILL.md", "one"),
        ("a/skillset/two/SKILL.md", "two"),
        ("b/skills/config.yaml", "elsewhere"),
    ]);
    origin.git(&["tag", "v1"]);
    origin.git(&["branch", "--quiet", "old"]);
    origin.commit_files(&[("a/skills/one/SKILL.md", "changed"), ("a/new/x", "x")]);
    let old = expected(&[
        ("a/config.yaml", "above"),
        ("a/skills/one/SKILL.md", "one"),
        ("config.yaml", "top"),
    ]);
    for revision in ["HEAD~1", "v1", "old", &first, &first[..12], "HEAD^{/x}~1"] {
        let (found, files) = written(&origin, "a/skills", revision).unwrap();
        assert_eq!((&found.commit, &files), (&first, &old), "{revision}");
        assert_eq!(found.prefix.to_str(), Some("a/skills/"), "{revision}");
    }
    // What the commit does not have is not there.
    let (found, files) = written(&origin, "a/new", "v1").unwrap();
    assert_eq!(found.commit, first);
    assert_eq!(
        files,
        expected(&[("a/config.yaml", "above"), ("config.yaml", "top")])
    );
    // The working tree does not matter.
    let (_, all) = written(&origin, "", "v1").unwrap();
    assert_eq!(all.len(), 6, "{all:?}");
}

#[test]
fn links_are_left_out_and_told() {
    let origin = Origin::new();
    origin.write(&[("skills/a", "a")]);
    std::os::unix::fs::symlink("/etc/passwd", origin.work().join("skills/link")).unwrap();
    std::os::unix::fs::symlink("skills", origin.work().join("other")).unwrap();
    origin.commit();
    let (found, files) = written(&origin, "skills", "HEAD").unwrap();
    assert_eq!(files, expected(&[("skills/a", "a")]));
    let left_out: Vec<_> = found
        .left_out
        .iter()
        .map(|it| (&*it.path, it.reason))
        .collect();
    assert_eq!(left_out, [("skills/link", Reason::Link)]);
}

/// Nothing that is typed becomes an option of git, or reaches another thing than a commit.
#[test]
fn what_names_no_commit_is_refused() {
    let origin = Origin::new();
    origin.commit_files(&[("skills/a", "a")]);
    for revision in [
        "",
        "gone",
        "origin/gone",
        "-h",
        "--help",
        "--upload-pack=touch x",
        "--end-of-options",
        "HEAD:skills",
        "HEAD..HEAD",
        "HEAD HEAD",
        "HEAD\n",
        "a\0b",
        "^HEAD",
    ] {
        let error = written(&origin, "skills", revision).unwrap_err();
        assert!(
            matches!(&error, GitError::NoRevision { wanted } if wanted == revision),
            "{revision:?}: {error}"
        );
        assert!(error.help().is_some_and(|it| it.contains("git fetch")));
    }
    let outside = tempfile::tempdir().unwrap();
    let into = tempfile::tempdir().unwrap();
    let error = write_revision(outside.path(), "HEAD", &[], into.path(), LIMITS).unwrap_err();
    assert!(
        error.to_string().contains("not a git repository"),
        "{error}"
    );
}
