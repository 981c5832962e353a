//! Repositories that want more than to be read. Each would leave a file behind if it got it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use skillbundle_git::GitError;

use crate::kit::{Origin, expected, files, git_in, mirrored, sync};

fn program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A configuration that runs a program wherever git would run one.
fn hostile_configuration(trap: &Path) -> String {
    let trap = trap.display();
    format!(
        "[core]\n\tfsmonitor = {trap}\n\thooksPath = {hooks}\n\tsshCommand = {trap}\n\taskPass = {trap}\n\
         \tpager = {trap}\n\talternateRefsCommand = {trap}\n\tgitProxy = {trap}\n\
         [filter \"evil\"]\n\tsmudge = {trap}\n\tclean = {trap}\n\tprocess = {trap}\n\trequired = true\n\
         [diff \"evil\"]\n\ttextconv = {trap}\n\tcommand = {trap}\n[diff]\n\texternal = {trap}\n\
         [uploadpack]\n\tpackObjectsHook = {trap}\n[gc]\n\tauto = 1\n[credential]\n\thelper = !{trap}\n\
         [submodule]\n\trecurse = true\n[protocol \"ext\"]\n\tallow = always\n",
        hooks = Path::new(&trap.to_string()).parent().unwrap().display(),
    )
}

#[test]
fn nothing_that_a_repository_brings_along_is_run() {
    let origin = Origin::new();
    let caught = origin.room().join("caught");
    let trap = origin.room().join("traps/trap");
    let text = format!("#!/bin/sh\ntouch {}\ncat\n", caught.display());
    program(&trap, &text);
    let configuration = hostile_configuration(&trap);
    origin.commit_files(&[
        ("SKILL.md", "x"),
        (".gitattributes", "* filter=evil diff=evil\n"),
        (".gitconfig", &configuration),
        (".lfsconfig", "[lfs]\n\turl = ext::sh\n"),
    ]);
    // The served repository is a stranger's, too. (A push to it would run its hooks.)
    let served = origin.bare().join("hooks");
    for hook in [
        "post-checkout",
        "post-merge",
        "reference-transaction",
        "pre-auto-gc",
        "fsmonitor-watchman",
        "upload-pack",
        "post-index-change",
    ] {
        program(&origin.room().join("traps").join(hook), &text);
        program(&served.join(hook), &text);
    }
    let config = origin.bare().join("config");
    let before = fs::read_to_string(&config).unwrap();
    fs::write(
        &config,
        before.clone() + &configuration.replace("sshCommand", "xCommand"),
    )
    .unwrap();
    let mirror = mirrored(&origin, "");
    sync(&mirror).unwrap();
    assert!(!caught.exists(), "by the first synchronisation");
    // What an earlier call, or somebody else, has left in our own repository has no effect either.
    let ours = origin.room().join("mirror/objects.git/config");
    let text = fs::read_to_string(&ours).unwrap();
    fs::write(&ours, text + &configuration).unwrap();
    fs::write(&config, before).unwrap();
    fs::remove_dir_all(&served).unwrap();
    for round in 0..10 {
        origin.commit_files(&[("SKILL.md", &format!("{round}"))]);
        sync(&mirror).unwrap();
    }
    assert!(!caught.exists(), "by a later one");
}

#[test]
fn a_submodule_that_would_run_something_is_refused_by_git_itself() {
    let origin = Origin::new();
    origin.commit_files(&[
        (".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = ext::sh -c touch% caught\n\tupdate = !touch caught\n"),
    ]);
    let error = sync(&mirrored(&origin, "")).unwrap_err().to_string();
    assert!(
        error.contains("disallowed submodule update setting"),
        "{error}"
    );
    assert!(!origin.room().join("caught").exists());
}

#[test]
fn a_replacement_of_objects_has_no_effect() {
    let origin = Origin::new();
    origin.commit_files(&[("a.md", "good")]);
    let good = origin.git(&["rev-parse", "HEAD:a.md"]);
    fs::write(origin.work().join("evil"), "evil").unwrap();
    let evil = origin.git(&["hash-object", "-w", "evil"]);
    origin.git(&["replace", &good, &evil]);
    origin.git(&["push", "--quiet", "origin", "refs/replace/*"]);
    fs::remove_file(origin.work().join("evil")).unwrap();
    let mirror = mirrored(&origin, "");
    sync(&mirror).unwrap();
    assert_eq!(files(&mirror.tree()), expected(&[("a.md", "good")]));
}

/// Trees that no honest git makes: names that leave the directory, or that collide.
#[test]
fn trees_with_names_of_directories_are_refused() {
    for path in ["..", ".git", ".", "a/../../b"] {
        let origin = Origin::new();
        origin.commit_files(&[("a.md", "1")]);
        let blob = origin.git(&["rev-parse", "HEAD:a.md"]);
        let name = path.rsplit('/').next().unwrap();
        let entry = format!("100644 blob {blob}\t{name}\n");
        let tree = raw_tree(&origin, &entry, path);
        let commit = origin.git(&["commit-tree", &tree, "-m", "x"]);
        git_in(
            &origin.work(),
            &[
                "push",
                "--quiet",
                "--force",
                "origin",
                &format!("{commit}:refs/heads/main"),
            ],
        );
        let mirror = mirrored(&origin, "");
        let error = sync(&mirror).unwrap_err();
        assert_eq!(mirror.state(), None, "{path}: {error}");
        assert!(!origin.room().join("mirror/trees/a.md").exists());
    }
}

/// Ten small trees, each of which has ten times the one before: ten billion files.
#[test]
fn a_tree_that_unfolds_to_billions_of_files_is_refused() {
    let origin = Origin::new();
    origin.commit_files(&[("a.md", "1")]);
    let bytes_of = |hash: &str| -> Vec<u8> {
        let digits = (0..40).step_by(2).map(|at| &hash[at..at + 2]);
        digits
            .map(|it| u8::from_str_radix(it, 16).unwrap())
            .collect()
    };
    let mut tree = origin.git(&["rev-parse", "HEAD^{tree}"]);
    for _ in 0..10 {
        let entries = (0..10).map(|it| named(b"40000", &it.to_string(), &bytes_of(&tree)));
        tree = write_object(&origin, "tree", &entries.collect::<Vec<_>>().concat());
    }
    let commit = origin.git(&["commit-tree", &tree, "-m", "x"]);
    let to = format!("{commit}:refs/heads/main");
    origin.git(&["push", "--quiet", "--force", "origin", &to]);
    let error = sync(&mirrored(&origin, "")).unwrap_err();
    assert!(matches!(error, GitError::TooMuch { .. }), "{error}");
}

/// A tree whose bytes are written by hand, since `git mktree` refuses such names.
fn raw_tree(origin: &Origin, entry: &str, path: &str) -> String {
    let blob = entry.split([' ', '\t']).nth(2).unwrap();
    let bytes: Vec<u8> = (0..40)
        .step_by(2)
        .map(|at| u8::from_str_radix(&blob[at..at + 2], 16).unwrap())
        .collect();
    let mut tree = write_object(
        origin,
        "tree",
        &named(b"100644", path.rsplit('/').next().unwrap(), &bytes),
    );
    for name in path.rsplit('/').skip(1) {
        let bytes: Vec<u8> = (0..40)
            .step_by(2)
            .map(|at| u8::from_str_radix(&tree[at..at + 2], 16).unwrap())
            .collect();
        tree = write_object(origin, "tree", &named(b"40000", name, &bytes));
    }
    tree
}

fn named(mode: &[u8], name: &str, hash: &[u8]) -> Vec<u8> {
    [mode, b" ", name.as_bytes(), b"\0", hash].concat()
}

fn write_object(origin: &Origin, kind: &str, bytes: &[u8]) -> String {
    let file = origin.room().join("object");
    fs::write(&file, bytes).unwrap();
    let file = file.display().to_string();
    origin.git(&["hash-object", "-t", kind, "-w", "--literally", &file])
}

#[test]
fn a_link_planted_where_files_are_written_is_not_followed() {
    let origin = Origin::new();
    origin.commit_files(&[("a.md", "1")]);
    let mirror = mirrored(&origin, "");
    sync(&mirror).unwrap();
    let victim = origin.room().join("victim");
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("kept"), "x").unwrap();
    symlink(&victim, origin.room().join("mirror/trees/new")).unwrap();
    origin.commit_files(&[("a.md", "2")]);
    // Whether it is removed or refused, the victim stays.
    let synced = sync(&mirror);
    assert_eq!(files(&victim), expected(&[("kept", "x")]), "{synced:?}");
}

/// Other users can see the arguments of every program.
#[cfg(target_os = "linux")]
#[test]
fn the_token_is_in_no_argument() {
    use crate::kit::{GitServer, Serve, options_with_token};
    use skillbundle_git::{Location, Mirror};
    const CANARY: &str = "ghp_canary_in_arguments";
    let origin = Origin::new();
    origin.commit_files(&[("a.md", "1")]);
    let server = GitServer::start(origin.room(), Serve::Nothing);
    let location = Location::parse(&server.url("origin.git"), "main").unwrap();
    let options = skillbundle_git::Options {
        timeout: std::time::Duration::from_secs(2),
        ..options_with_token(CANARY, &server.host())
    };
    let mirror = Mirror::new(location, origin.room().join("mirror"), options);
    let seen = std::thread::scope(|scope| {
        let syncing = scope.spawn(|| sync(&mirror));
        let mut seen = Vec::new();
        while !syncing.is_finished() {
            seen.extend(arguments_with(&server.host()));
        }
        syncing.join().unwrap().unwrap_err();
        seen
    });
    let gits = seen
        .iter()
        .filter(|it| it.contains("ls-remote") || it.contains("remote-http"));
    assert!(gits.count() > 0, "{seen:?}");
    let leaks: Vec<_> = seen.iter().filter(|it| it.contains(CANARY)).collect();
    assert_eq!(leaks, Vec::<&String>::new());
    assert_eq!(
        arguments_with(&server.host()),
        Vec::<String>::new(),
        "nothing is left"
    );
}

/// The arguments of every process that names this host.
#[cfg(target_os = "linux")]
fn arguments_with(host: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = processes.filter_map(|it| {
        let line = fs::read(it.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    });
    lines.filter(|it| it.contains(host)).collect()
}
