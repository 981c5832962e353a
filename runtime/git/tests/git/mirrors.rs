//! What a mirror has after each thing that can happen to a repository.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use skillbundle_git::{GitError, Reason};

use crate::kit::{Origin, expected, files, git_in, mirror_of, mirrored, sync};

#[test]
fn it_follows_the_branch() {
    let origin = Origin::new();
    let first = origin.commit_files(&[("a.md", "1"), ("b/c.md", "2")]);
    let mirror = mirrored(&origin, "");
    assert_eq!(mirror.state(), None);
    let synced = sync(&mirror).unwrap();
    assert_eq!(synced.files_changed, 2);
    assert_eq!(
        (&*synced.state.commit, &*synced.state.branch),
        (&*first, "main")
    );
    assert_eq!(
        files(&mirror.tree()),
        expected(&[("a.md", "1"), ("b/c.md", "2")])
    );

    let again = sync(&mirror).unwrap();
    assert_eq!(again.files_changed, 0);
    assert!(again.state.last_sync() > synced.state.last_sync());

    fs::remove_file(origin.work().join("a.md")).unwrap();
    let second = origin.commit_files(&[("b/c.md", "3"), ("d.md", "4")]);
    let synced = sync(&mirror).unwrap();
    assert_eq!((synced.files_changed, &synced.state.commit), (3, &second));
    assert_eq!(
        files(&mirror.tree()),
        expected(&[("b/c.md", "3"), ("d.md", "4")])
    );
    assert_eq!(mirror.state(), Some(synced.state));
}

#[test]
fn a_branch_that_was_rewritten_is_followed_and_what_lies_around_is_gone() {
    let origin = Origin::new();
    origin.commit_files(&[("a.md", "1")]);
    origin.commit_files(&[("a.md", "2"), ("b.md", "2")]);
    let mirror = mirrored(&origin, "");
    sync(&mirror).unwrap();
    fs::write(mirror.tree().join("stray.md"), "x").unwrap();
    fs::write(mirror.tree().join("a.md"), "edited").unwrap();
    origin.git(&["checkout", "--quiet", "--orphan", "rewritten"]);
    let head = origin.commit_files(&[("a.md", "3")]);
    let synced = sync(&mirror).unwrap();
    assert_eq!((synced.files_changed, synced.state.commit), (1, head));
    assert_eq!(
        files(&mirror.tree()),
        expected(&[("a.md", "3"), ("b.md", "2")])
    );
}

#[test]
fn many_commits_between_two_syncs_count_as_the_files_that_differ() {
    let origin = Origin::new();
    origin.commit_files(&[("a.md", "1"), ("b.md", "1")]);
    let mirror = mirrored(&origin, "");
    sync(&mirror).unwrap();
    for text in ["2", "3", "4"] {
        origin.commit_files(&[("a.md", text)]);
    }
    assert_eq!(sync(&mirror).unwrap().files_changed, 1);
    // There and back again.
    origin.commit_files(&[("a.md", "5")]);
    let back = origin.commit_files(&[("a.md", "4")]);
    let synced = sync(&mirror).unwrap();
    assert_eq!((synced.files_changed, synced.state.commit), (0, back));
}

#[test]
fn branches_tags_and_hashes_are_found() {
    let origin = Origin::new();
    let first = origin.commit_files(&[("a.md", "1")]);
    origin.git(&["tag", "plain"]);
    origin.git(&["tag", "--annotate", "--message=x", "annotated"]);
    origin.git(&["tag", "both"]);
    let second = origin.commit_files(&[("a.md", "2")]);
    origin.git(&["branch", "both"]);
    origin.git(&[
        "push",
        "--quiet",
        "origin",
        "refs/tags/*",
        "refs/heads/both",
    ]);
    for (rest, commit, branch) in [
        ("", &second, "main"),
        ("#main", &second, "main"),
        ("#plain", &first, "plain"),
        ("#annotated", &first, "annotated"),
        // A branch comes before a tag of the same name.
        ("#both", &second, "both"),
        (&format!("#{first}"), &first, &*first),
    ] {
        let mirror = mirrored(&origin, rest);
        let state = sync(&mirror).unwrap().state;
        assert_eq!((&state.commit, &*state.branch), (commit, branch), "{rest}");
        assert!(sync(&mirror).unwrap().state.last_sync() > state.last_sync());
    }
}

#[test]
fn the_branch_of_the_repository_is_taken_if_nobody_named_one_and_the_usual_is_missing() {
    let origin = Origin::new();
    let head = origin.commit_files(&[("a.md", "1")]);
    origin.git(&["push", "--quiet", "origin", "HEAD:refs/heads/trunk"]);
    git_in(&origin.bare(), &["branch", "--delete", "--force", "main"]);
    git_in(
        &origin.bare(),
        &["symbolic-ref", "HEAD", "refs/heads/trunk"],
    );
    let state = sync(&mirrored(&origin, "")).unwrap().state;
    assert_eq!((state.commit, &*state.branch), (head, "trunk"));
    let error = sync(&mirrored(&origin, "#main")).unwrap_err();
    assert_eq!(error.to_string(), "no branch or tag `main`; it has trunk");
}

#[test]
fn only_the_directory_that_was_asked_for_is_mirrored() {
    let origin = Origin::new();
    origin.commit_files(&[
        ("README.md", "x"),
        ("skills/a.md", "1"),
        ("other/deep/b.md", "2"),
    ]);
    for (rest, directory, there) in [
        ("", "skills", ("a.md", "1")),
        ("#:skills", "skills", ("a.md", "1")),
        ("#main:other", "other", ("deep/b.md", "2")),
        ("#main:other/deep/", "other/deep", ("b.md", "2")),
    ] {
        let mirror = mirrored(&origin, rest);
        assert_eq!(sync(&mirror).unwrap().state.directory, directory, "{rest}");
        assert_eq!(files(&mirror.tree()), expected(&[there]), "{rest}");
    }
    for rest in ["#main:missing", "#main:README.md"] {
        let error = sync(&mirrored(&origin, rest)).unwrap_err();
        assert!(
            matches!(error, GitError::NoDirectory { .. }),
            "{rest}: {error}"
        );
    }
    // A change elsewhere changes no file.
    let mirror = mirrored(&origin, "");
    sync(&mirror).unwrap();
    origin.commit_files(&[("README.md", "y")]);
    assert_eq!(sync(&mirror).unwrap().files_changed, 0);
}

#[test]
fn a_repository_without_commits_says_so() {
    let origin = Origin::new();
    for rest in ["", "#main", "#dev"] {
        let error = sync(&mirrored(&origin, rest)).unwrap_err();
        assert_eq!(error.to_string(), "the repository is empty", "{rest}");
    }
}

#[test]
fn a_shallow_repository_and_one_of_sha256_can_be_mirrored() {
    let origin = Origin::new();
    origin.commit_files(&[("a.md", "1")]);
    let head = origin.commit_files(&[("a.md", "2")]);
    let (bare, shallow) = (origin.bare(), origin.room().join("shallow.git"));
    let url = format!("file://{}", bare.display());
    let to = shallow.display().to_string();
    git_in(
        origin.room(),
        &["clone", "--quiet", "--bare", "--depth=1", &url, &to],
    );
    let location = skillbundle_git::Location::parse(&to, "main").unwrap();
    assert_eq!(
        sync(&mirror_of(&origin, location)).unwrap().state.commit,
        head
    );

    let origin = Origin::with_options(&["--object-format=sha256"]);
    let head = origin.commit_files(&[("a.md", "1")]);
    assert_eq!(head.len(), 64);
    let mirror = mirrored(&origin, "");
    assert_eq!(sync(&mirror).unwrap().state.commit, head);
    origin.commit_files(&[("a.md", "2")]);
    assert_eq!(sync(&mirror).unwrap().files_changed, 1);
}

#[test]
fn what_is_not_the_file_is_left_out_and_told() {
    let origin = Origin::new();
    let other = Origin::new();
    other.commit_files(&[("SKILL.md", "x")]);
    symlink("/etc/passwd", origin.work().join("passwd")).unwrap();
    symlink("a", origin.work().join("folder")).unwrap();
    let url = other.bare().display().to_string();
    origin.git(&["submodule", "--quiet", "add", &url, "vendor"]);
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n";
    let attributes = "*.bin filter=lfs diff=lfs merge=lfs -text\n*.md filter=evil ident\n";
    origin.commit_files(&[
        ("a/large.bin", pointer),
        ("a/b.md", "$Id$"),
        (".gitattributes", attributes),
    ]);
    let mirror = mirrored(&origin, "");
    let state = sync(&mirror).unwrap().state;
    let left_out: Vec<_> = state
        .left_out
        .iter()
        .map(|it| (&*it.path, it.reason))
        .collect();
    assert_eq!(
        left_out,
        [
            ("folder", Reason::Link),
            ("passwd", Reason::Link),
            ("vendor", Reason::Submodule),
            ("a/large.bin", Reason::LfsPointer),
        ]
    );
    let there = files(&mirror.tree());
    let names: Vec<_> = there.keys().map(String::as_str).collect();
    assert_eq!(names, [".gitattributes", ".gitmodules", "a/b.md"]);
    assert_eq!(there["a/b.md"], "$Id$", "no attribute has an effect");
}

#[test]
fn programs_stay_programs() {
    let origin = Origin::new();
    origin.write(&[("run.sh", "#!/bin/sh\n"), ("text.md", "x")]);
    let script = origin.work().join("run.sh");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    origin.commit();
    let mirror = mirrored(&origin, "");
    sync(&mirror).unwrap();
    let mode = |name: &str| {
        fs::metadata(mirror.tree().join(name))
            .unwrap()
            .permissions()
            .mode()
    };
    assert_eq!(
        (mode("run.sh") & 0o777, mode("text.md") & 0o777),
        (0o700, 0o600)
    );
}

#[test]
fn what_fails_leaves_what_there_was() {
    let origin = Origin::new();
    origin.commit_files(&[("a.md", "1")]);
    let mirror = mirrored(&origin, "");
    let before = sync(&mirror).unwrap().state;
    fs::rename(origin.bare(), origin.room().join("away.git")).unwrap();
    let error = sync(&mirror).unwrap_err();
    assert!(matches!(error, GitError::Failed { .. }), "{error}");
    assert_eq!(mirror.state(), Some(before));
    assert_eq!(files(&mirror.tree()), expected(&[("a.md", "1")]));
    fs::rename(origin.room().join("away.git"), origin.bare()).unwrap();
    origin.commit_files(&[("a.md", "2")]);
    assert_eq!(sync(&mirror).unwrap().files_changed, 1);
}

#[test]
fn what_a_killed_process_has_left_is_no_obstacle() {
    let origin = Origin::new();
    origin.commit_files(&[("a.md", "1")]);
    let mirror = mirrored(&origin, "");
    sync(&mirror).unwrap();
    origin.commit_files(&[("a.md", "2")]);
    let directory = origin.room().join("mirror");
    for lock in [
        "shallow.lock",
        "refs/mirror/incoming.lock",
        "config.lock",
        "objects/pack/tmp_pack_x",
    ] {
        fs::write(directory.join("objects.git").join(lock), "").unwrap();
    }
    fs::create_dir(directory.join("trees/new")).unwrap();
    fs::write(directory.join("trees/new/half.md"), "x").unwrap();
    symlink("nowhere", directory.join("tree.new")).unwrap();
    fs::write(directory.join("state.new"), "{").unwrap();
    assert_eq!(sync(&mirror).unwrap().files_changed, 1);
    assert_eq!(files(&mirror.tree()), expected(&[("a.md", "2")]));
}

/// A process can be killed between any two steps. Whatever state and link say then, the next
/// synchronisation gives the files of the commit, and nobody reads others meanwhile.
#[test]
fn a_state_that_does_not_fit_the_files_is_none() {
    let origin = Origin::new();
    let first = origin.commit_files(&[("a.md", "1")]);
    let mirror = mirrored(&origin, "");
    sync(&mirror).unwrap();
    let state = origin.room().join("mirror/state.json");
    let noted = fs::read_to_string(&state).unwrap();
    origin.commit_files(&[("a.md", "2")]);
    sync(&mirror).unwrap();
    // The link is ahead of the state, the state is gone, and the state is no JSON.
    for text in [Some(noted.as_str()), None, Some("{")] {
        match text {
            Some(text) => fs::write(&state, text).unwrap(),
            None => fs::remove_file(&state).unwrap(),
        }
        assert_eq!(mirror.state(), None);
        fs::write(mirror.tree().join("stray.md"), "x").unwrap();
        assert_ne!(sync(&mirror).unwrap().state.commit, first);
        assert_eq!(
            files(&mirror.tree()),
            expected(&[("a.md", "2")]),
            "{text:?}"
        );
    }
    // The link is gone or leads nowhere.
    for target in [None, Some("trees/nowhere")] {
        fs::remove_file(mirror.tree()).unwrap();
        if let Some(target) = target {
            symlink(target, mirror.tree()).unwrap();
        }
        assert_eq!(mirror.state(), None);
        sync(&mirror).unwrap();
        assert_eq!(
            files(&mirror.tree()),
            expected(&[("a.md", "2")]),
            "{target:?}"
        );
    }
}

#[test]
fn a_damaged_repository_of_its_own_is_made_anew() {
    let origin = Origin::new();
    origin.commit_files(&[("a.md", "1")]);
    let mirror = mirrored(&origin, "");
    sync(&mirror).unwrap();
    let packs = origin.room().join("mirror/objects.git/objects/pack");
    for entry in fs::read_dir(packs).unwrap() {
        let path = entry.unwrap().path();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(path, "garbage").unwrap();
    }
    let head = origin.commit_files(&[("a.md", "2")]);
    assert_eq!(sync(&mirror).unwrap().state.commit, head);
    assert_eq!(files(&mirror.tree()), expected(&[("a.md", "2")]));
}

#[test]
fn a_mirror_of_something_else_is_none() {
    let origin = Origin::new();
    origin.commit_files(&[("a.md", "1"), ("b/c.md", "2")]);
    sync(&mirrored(&origin, "")).unwrap();
    let mirror = mirrored(&origin, "#main:b");
    assert_eq!(mirror.state(), None);
    sync(&mirror).unwrap();
    assert_eq!(files(&mirror.tree()), expected(&[("c.md", "2")]));
}

#[test]
fn what_was_just_synchronised_is_not_asked_for_again() {
    let origin = Origin::new();
    origin.commit_files(&[("a.md", "1")]);
    let mirror = mirrored(&origin, "");
    let state = sync(&mirror).unwrap().state;
    origin.commit_files(&[("a.md", "2")]);
    let kept = mirror.sync(Duration::from_secs(3600)).unwrap();
    assert_eq!((kept.files_changed, kept.state), (0, state));
}

#[test]
fn a_directory_that_others_can_change_is_refused() {
    let origin = Origin::new();
    origin.commit_files(&[("a.md", "1")]);
    let mirror = mirrored(&origin, "");
    let directory = origin.room().join("mirror");
    fs::create_dir(&directory).unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o777)).unwrap();
    let error = sync(&mirror).unwrap_err();
    assert!(matches!(error, GitError::NotPrivate(_)), "{error}");
    assert!(matches!(
        mirror.read().unwrap_err(),
        GitError::NotPrivate(_)
    ));
    fs::remove_dir_all(&directory).unwrap();
    let elsewhere = origin.room().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, &directory).unwrap();
    let error = sync(&mirror).unwrap_err();
    assert!(matches!(error, GitError::NotPrivate(_)), "{error}");
}

#[test]
fn a_repository_that_was_made_anew_with_other_hashes_is_followed() {
    let origin = Origin::new();
    origin.commit_files(&[("a.md", "1")]);
    let mirror = mirrored(&origin, "");
    sync(&mirror).unwrap();
    let other = Origin::with_options(&["--object-format=sha256"]);
    other.commit_files(&[("a.md", "2")]);
    fs::remove_dir_all(origin.bare()).unwrap();
    fs::rename(other.bare(), origin.bare()).unwrap();
    assert_eq!(sync(&mirror).unwrap().state.commit.len(), 64);
    assert_eq!(files(&mirror.tree()), expected(&[("a.md", "2")]));
}

#[test]
fn what_is_no_commit_is_an_error_that_says_what_to_do() {
    let origin = Origin::new();
    origin.commit_files(&[("a.md", "1")]);
    origin.git(&["tag", "of-a-tree", "HEAD^{tree}"]);
    origin.git(&["push", "--quiet", "origin", "of-a-tree"]);
    let unknown = format!("#{}", "b".repeat(40));
    for (rest, part) in [
        ("#of-a-tree", "a tag of a commit"),
        (&*unknown, "no such commit"),
    ] {
        let error = sync(&mirrored(&origin, rest)).unwrap_err();
        let help = error.help().unwrap_or_default();
        assert!(help.contains(part), "{rest}: {error}; {help}");
    }
}

#[test]
fn the_disk_stays_as_full_as_it_is() {
    let origin = Origin::new();
    let mirror = mirrored(&origin, "");
    let count = || {
        let all = files(&origin.room().join("mirror/objects.git"));
        assert_eq!(files(&origin.room().join("mirror/trees")).len(), 1);
        all.len()
    };
    let mut most = 0;
    for round in 0..30 {
        origin.commit_files(&[("a.md", &format!("{round}"))]);
        assert_eq!(sync(&mirror).unwrap().files_changed, 1);
        most = most.max(count());
    }
    // Eight packs with an index and a reverse index each, and git's own files.
    assert!(most < 60, "{most} files");
}
