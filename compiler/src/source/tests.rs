//! Real disks and hostile ones.

#![cfg(unix)]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tempfile::TempDir;

use super::read_error::LinkCause;
use super::*;
use crate::Root;

const CANARY: &str = "not for serving";

/// A folder with a project in it: what a test makes and looks at.
struct Disk(TempDir);

impl Disk {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn dir(&self, path: &str) -> &Self {
        fs::create_dir_all(self.path(path)).expect("a directory");
        self
    }

    fn file(&self, path: &str, text: &str) -> &Self {
        self.dir(crate::paths::directory(path));
        fs::write(self.path(path), text).expect("a file");
        self
    }

    fn link(&self, path: &str, target: &str) -> &Self {
        self.dir(crate::paths::directory(path));
        symlink(target, self.path(path)).expect("a link");
        self
    }

    fn fifo(&self, path: &str) -> &Self {
        self.dir(crate::paths::directory(path));
        let made = Command::new("mkfifo")
            .arg(self.path(path))
            .status()
            .expect("mkfifo runs");
        assert!(made.success());
        self
    }

    fn roots(&self, dir: &str) -> [Root; 1] {
        [Root::project(self.path(dir))]
    }

    fn walk(&self, dir: &str) -> Tree {
        walk(&self.roots(dir), Limits::default())
    }

    fn fingerprint(&self, dir: &str) -> u64 {
        self.walk(dir).fingerprints()[0]
    }
}

fn paths(tree: &Tree) -> Vec<&str> {
    tree.roots[0]
        .entries
        .iter()
        .map(|entry| entry.path.as_str())
        .collect()
}

fn read_errors(tree: &Tree) -> Vec<(&str, &Cause)> {
    tree.roots[0]
        .read_errors
        .iter()
        .map(|it| (it.path.as_str(), &it.cause))
        .collect()
}

fn files(tree: &Tree) -> Vec<FileId> {
    (0..tree.roots[0].entries.len())
        .map(|entry| FileId { root: 0, entry })
        .collect()
}

/// Everything that was read, as text.
fn content(tree: &Tree) -> String {
    let bytes = tree.roots[0]
        .entries
        .iter()
        .filter_map(|entry| entry.bytes.as_ref());
    bytes
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        .collect()
}

#[expect(clippy::print_stdout, reason = "a test that does not run says so")]
fn skipped(why: &str) {
    println!("skipped: {why}");
}

#[test]
fn entries_are_sorted() {
    let disk = Disk::new();
    for path in ["r/b/x", "r/a/y", "r/a.md", "r/a-b/z", "r/ä", "r/Z"] {
        disk.file(path, path);
    }
    let mut tree = disk.walk("r");
    assert_eq!(
        paths(&tree),
        ["Z", "a", "a-b", "a-b/z", "a.md", "a/y", "b", "b/x", "ä"]
    );
    let wanted = files(&tree);
    tree.read(wanted, u64::MAX);
    assert_eq!(content(&tree), "r/Zr/a-b/zr/a.mdr/a/yr/b/xr/ä");
    let root = &tree.roots[0];
    assert_eq!(
        root.below("a")
            .map(|at| &*root.entries[at].path)
            .collect::<Vec<_>>(),
        ["a/y"]
    );
    assert_eq!(root.below("nothing").count(), 0);
    assert!(root.has_directory("a") && !root.has_directory("a.md") && root.has(""));
}

/// What becomes of a link: the paths it brings, or why it is not followed.
#[derive(Debug, PartialEq)]
enum Outcome {
    Followed(&'static [&'static str]),
    Refused(LinkCause),
}

#[test]
fn links_are_followed_only_where_the_rules_allow() {
    use LinkCause::{Broken, Cycle, Escapes, Hidden};
    use Outcome::{Followed, Refused};

    // link, what is written in it, what becomes of it
    let cases = [
        // Files stay in the root.
        ("one/alias.txt", "data.txt", Followed(&["one/alias.txt"])),
        (
            "one/alias.txt",
            "../two/data.txt",
            Followed(&["one/alias.txt"]),
        ),
        (
            "one/secret.txt",
            "../../outside/secret.txt",
            Refused(Escapes),
        ),
        ("one/secret.txt", "/etc/hostname", Refused(Escapes)),
        ("one/twice.txt", "../chain.txt", Refused(Escapes)),
        ("secret.txt", "../outside/secret.txt", Refused(Escapes)),
        // A root's name is no prefix of its neighbour's.
        (
            "one/near.txt",
            "../../skills-evil/near.txt",
            Refused(Escapes),
        ),
        // What the walk does not enter is no target.
        ("one/config", "../.git/config", Refused(Hidden)),
        ("one/env", "../.hidden/env", Refused(Hidden)),
        ("one/env", "../two/.env", Refused(Hidden)),
        ("one/module", "../node_modules/x.js", Refused(Hidden)),
        ("one/env", ".env", Followed(&["one/env"])),
        // Directories too, unless they are skills.
        (
            "one/docs",
            "../two/docs",
            Followed(&["one/docs", "one/docs/page.md"]),
        ),
        ("one/docs", "../../outside", Refused(Escapes)),
        ("docs", "../outside", Refused(Escapes)),
        ("etc", "/etc", Refused(Escapes)),
        ("store", "../store", Refused(Escapes)),
        (
            "linked",
            "../store/linked",
            Followed(&["linked", "linked/SKILL.md", "linked/a.txt"]),
        ),
        (
            "team/linked",
            "../../store/linked",
            Followed(&["team/linked", "team/linked/SKILL.md", "team/linked/a.txt"]),
        ),
        // Not below another skill, and not out of the project.
        ("one/linked", "../../store/linked", Refused(Escapes)),
        ("far", "../../far/skill", Refused(Escapes)),
        // The same for a link to the file itself.
        (
            "three/SKILL.md",
            "../../store/linked/SKILL.md",
            Followed(&["three/SKILL.md"]),
        ),
        (
            "three/SKILL.md",
            "../../store/linked/a.txt",
            Refused(Escapes),
        ),
        (
            "three/SKILL.md",
            "../../outside/secret.txt",
            Refused(Escapes),
        ),
        (
            "three/notes.md",
            "../../store/linked/SKILL.md",
            Refused(Escapes),
        ),
        // Links that lead nowhere, or home.
        ("gone", "../nowhere", Refused(Broken)),
        ("one/gone.txt", "/nowhere/at/all", Refused(Broken)),
        ("one/up", "..", Refused(Cycle)),
        ("one/self", ".", Refused(Cycle)),
        ("all", "..", Refused(Cycle)),
    ];
    for (link, target, expected) in cases {
        let disk = Disk::new();
        disk.file("outside/secret.txt", CANARY)
            .file("project/outside/secret.txt", CANARY)
            .file("project/skills-evil/near.txt", CANARY)
            .file("project/store/linked/SKILL.md", "s")
            .file("project/store/linked/a.txt", "a")
            .file("far/skill/SKILL.md", "f")
            .file("project/skills/one/SKILL.md", "1")
            .file("project/skills/one/data.txt", "d")
            .file("project/skills/one/.env", "e")
            .file("project/skills/two/data.txt", "d")
            .file("project/skills/two/.env", CANARY)
            .file("project/skills/two/docs/page.md", "p")
            .file("project/skills/.git/config", CANARY)
            .file("project/skills/.hidden/env", CANARY)
            .file("project/skills/node_modules/x.js", CANARY)
            .link("project/skills/chain.txt", "../outside/secret.txt");
        let before: Vec<String> = paths(&disk.walk("project/skills"))
            .iter()
            .map(|&it| it.to_owned())
            .collect();
        disk.link(&format!("project/skills/{link}"), target);

        let mut tree = disk.walk("project/skills");
        let brought: Vec<&str> = paths(&tree)
            .into_iter()
            .filter(|path| path.starts_with(link))
            .collect();
        let cause = read_errors(&tree)
            .into_iter()
            .find(|(path, _)| *path == link)
            .map(|it| it.1);
        match (&expected, cause) {
            (Followed(paths), None) => assert_eq!(&brought, paths, "{link} -> {target}"),
            (Refused(expected), Some(Cause::Link(written, cause))) => {
                assert_eq!(
                    (cause, written),
                    (expected, &PathBuf::from(target)),
                    "{link} -> {target}"
                );
                assert_eq!(brought, [""; 0], "{link} -> {target}");
                assert!(
                    paths(&tree)
                        .iter()
                        .all(|it| before.iter().any(|old| old == it) || link.starts_with(it))
                );
            }
            (expected, cause) => {
                panic!("{link} -> {target}: {expected:?} was expected, found {cause:?}")
            }
        }
        // What a skill could be made of: no dot folders, and no file of `two`,
        // which is no skill.
        let is_served = |id: &FileId| {
            let entry = tree.entry(*id);
            !is_below_hidden(&entry.path) && entry.path != "two/.env"
        };
        let wanted: Vec<FileId> = files(&tree).into_iter().filter(is_served).collect();
        tree.read(wanted, u64::MAX);
        assert!(!content(&tree).contains(CANARY), "{link} -> {target}");
    }
}

#[test]
fn a_project_contains_the_root_or_the_hosts_home() {
    // root, link, target, whether it is followed
    let cases = [
        ("repo/skills", "a", "../../repo/store/s", true),
        ("repo/.claude/skills", "a", "../../.agents/skills/s", true),
        ("repo/.claude/skills", "a", "../../../other/s", false),
        ("repo/.other/skills", "a", "../../store/s", false),
        ("repo", "a", "../other/s", true),
    ];
    for (root, link, target, followed) in cases {
        let disk = Disk::new();
        for skill in ["repo/store/s", "repo/.agents/skills/s", "other/s"] {
            disk.file(&format!("{skill}/SKILL.md"), "s");
        }
        disk.link(&format!("{root}/{link}"), target);
        let found = disk.walk(root).roots[0].has(&format!("{link}/SKILL.md"));
        assert_eq!(found, followed, "{root}/{link} -> {target}");
    }
}

#[test]
fn links_in_a_linked_skill_stay_in_it() {
    let disk = Disk::new();
    disk.file("store/skill/SKILL.md", "s")
        .file("store/skill/real.txt", "r")
        .file("store/other/secret.txt", CANARY)
        .link("store/skill/alias.txt", "real.txt")
        .link("store/skill/leak.txt", "../other/secret.txt")
        .link("skills/skill", "../store/skill");
    let tree = disk.walk("skills");
    assert_eq!(
        paths(&tree),
        [
            "skill",
            "skill/SKILL.md",
            "skill/alias.txt",
            "skill/real.txt"
        ]
    );
    let leak = Cause::Link("../other/secret.txt".into(), LinkCause::Escapes);
    assert_eq!(read_errors(&tree), [("skill/leak.txt", &leak)]);
}

#[test]
fn cycles_of_links_end() {
    let disk = Disk::new();
    disk.link("r/a/to-b", "../b")
        .link("r/b/to-a", "../a")
        .link("r/x", "y")
        .link("r/y", "x");
    let tree = disk.walk("r");
    assert_eq!(paths(&tree), ["a", "a/to-b", "b", "b/to-a"]);
    let cycle = |target: &str| Cause::Link(target.into(), LinkCause::Cycle);
    let (to_a, to_b) = (cycle("../a"), cycle("../b"));
    assert_eq!(
        read_errors(&tree)[..2],
        [("a/to-b/to-a", &to_a), ("b/to-a/to-b", &to_b)]
    );
    let (x, y) = (cycle("y"), cycle("x"));
    assert_eq!(read_errors(&tree)[2..], [("x", &x), ("y", &y)]);
}

#[test]
fn links_that_double_the_tree_end_at_the_limit() {
    let disk = Disk::new();
    for level in 0..12 {
        let next = level + 1;
        for name in ["left", "right"] {
            disk.link(&format!("r/d{level:02}/{name}"), &format!("../d{next:02}"));
        }
    }
    disk.file("r/d12/file", "x");
    let limits = Limits {
        entries: 500,
        ..Limits::default()
    };
    let tree = walk(&disk.roots("r"), limits);
    assert!(tree.roots[0].entries.len() <= 500);
    assert!(
        read_errors(&tree)
            .iter()
            .any(|(_, cause)| **cause == Cause::TooMany(500))
    );
    assert_eq!(paths(&tree), paths(&walk(&disk.roots("r"), limits)));
}

#[test]
fn pipes_sockets_and_devices_are_never_opened() {
    let disk = Disk::new();
    disk.fifo("r/pipe/SKILL.md")
        .dir("r/s")
        .link("r/null", "/dev/null")
        .link("r/alias", "pipe/SKILL.md");
    let _listener = UnixListener::bind(disk.path("r/s/socket")).expect("a socket");
    let mut tree = disk.walk("r");
    assert_eq!(paths(&tree), ["pipe", "s"]);
    assert!(matches!(
        read_errors(&tree)[..],
        [
            ("alias", Cause::NotAFile("a named pipe")),
            ("null", Cause::Link(_, LinkCause::Escapes)),
            ("pipe/SKILL.md", Cause::NotAFile("a named pipe")),
            ("s/socket", Cause::NotAFile("a socket")),
        ]
    ));
    let wanted = files(&tree);
    tree.read(wanted, u64::MAX);
    assert_eq!(content(&tree), "");
}

#[test]
fn a_file_that_was_replaced_is_not_read() {
    type Swap = fn(&Disk);
    let swaps: [(&str, Swap); 4] = [
        ("a pipe", |disk| {
            disk.fifo("r/a/file.txt");
        }),
        ("a link", |disk| {
            disk.link("r/a/file.txt", "../../secret.txt");
        }),
        ("a directory", |disk| {
            disk.dir("r/a/file.txt");
        }),
        ("a linked parent", |disk| {
            fs::remove_dir(disk.path("r/a")).expect("it is empty");
            disk.file("outside/file.txt", CANARY)
                .link("r/a", "../outside");
        }),
    ];
    for (what, swap) in swaps {
        let disk = Disk::new();
        disk.file("r/a/file.txt", "mine").file("secret.txt", CANARY);
        let mut tree = disk.walk("r");
        fs::remove_file(disk.path("r/a/file.txt")).expect("it is there");
        swap(&disk);
        let wanted = files(&tree);
        tree.read(wanted, u64::MAX);
        assert_eq!(content(&tree), "", "{what}");
        assert_eq!(
            read_errors(&tree),
            [("a/file.txt", &Cause::Changed)],
            "{what}"
        );
    }
}

#[test]
fn a_file_is_opened_at_exactly_its_path() {
    let disk = Disk::new();
    disk.file("a/file.txt", "mine")
        .link("a/link.txt", "file.txt")
        .link("linked", "a");
    let root = fs::canonicalize(disk.path("")).expect("it is there");
    for open in [platform::open, platform::open_and_compare] {
        for (path, is_opened) in [
            ("a/file.txt", true),
            ("a/link.txt", false),
            ("linked/file.txt", false),
        ] {
            let opened = open(&root.join(path)).expect("all of them can be opened");
            assert_eq!(opened.is_some(), is_opened, "{path}");
        }
        assert!(open(&root.join("a/none.txt")).is_err());
    }
}

#[test]
fn swapping_files_and_directories_for_links_leaks_nothing() {
    let disk = Disk::new();
    disk.file("outside/file.txt", CANARY);
    disk.file("r/a/SKILL.md", "mine")
        .file("r/a/file.txt", "mine");
    let done = AtomicBool::new(false);
    let mut read = 0;
    thread::scope(|scope| {
        scope.spawn(|| {
            let outside = disk.path("outside");
            let (dir, file) = (disk.path("r/a"), disk.path("r/a/file.txt"));
            let (kept_dir, kept_file) = (disk.path("kept"), disk.path("kept.txt"));
            while !done.load(Ordering::Relaxed) {
                // A failed step is made good by the next round.
                let _ = fs::rename(&file, &kept_file);
                let _ = symlink(outside.join("file.txt"), &file);
                let _ = fs::remove_file(&file);
                let _ = fs::rename(&kept_file, &file);
                let _ = fs::rename(&dir, &kept_dir);
                let _ = symlink(&outside, &dir);
                let _ = fs::remove_file(&dir);
                let _ = fs::rename(&kept_dir, &dir);
            }
        });
        for _ in 0..2_000 {
            let mut tree = disk.walk("r");
            let wanted = files(&tree);
            tree.read(wanted, u64::MAX);
            let content = content(&tree);
            read += usize::from(content.contains("mine"));
            if content.contains(CANARY) {
                done.store(true, Ordering::Relaxed);
                panic!("the canary was read");
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(read > 0, "the tree could be read now and then");
}

#[test]
fn names_that_cannot_be_keys_are_refused_and_shown_escaped() {
    let disk = Disk::new();
    disk.dir("r");
    let names: [(&[u8], &str, &str); 4] = [
        (b"caf\xE9.md", "caf\\xe9.md", "not UTF-8"),
        (b"back\\slash.txt", "back\\slash.txt", "backslash"),
        (b"new\nline", "new\\nline", "control character"),
        (b"esc\x1b[31m", "esc\\u{1b}[31m", "control character"),
    ];
    for (name, _, _) in names {
        let path = disk.path("r").join(OsStr::from_bytes(name));
        if fs::write(path, "x").is_err() {
            return skipped("this file system refuses such names");
        }
    }
    fs::create_dir(disk.path("r").join(OsStr::from_bytes(b"dir\xFF"))).expect("a directory");
    fs::write(
        disk.path("r").join(OsStr::from_bytes(b"dir\xFF/SKILL.md")),
        "x",
    )
    .expect("a file");
    let tree = disk.walk("r");
    assert_eq!(paths(&tree), [""; 0]);
    let found = read_errors(&tree);
    assert_eq!(found.len(), 5, "{found:?}");
    for (_, shown, why) in names {
        let said =
            |(path, cause): &&(&str, &Cause)| *path == shown && cause.explain().1.contains(why);
        assert!(found.iter().any(|it| said(&it)), "{shown}: {found:?}");
    }
    assert!(found.iter().any(|(path, _)| *path == "dir\\xff"));
}

#[test]
fn both_normal_forms_of_a_name_are_kept_as_stored() {
    let disk = Disk::new();
    disk.file("r/caf\u{e9}.md", "composed")
        .file("r/cafe\u{301}.md", "decomposed");
    let count = fs::read_dir(disk.path("r")).expect("a directory").count();
    assert_eq!(paths(&disk.walk("r")).len(), count);
}

#[test]
fn directories_deeper_than_the_limit_are_not_entered() {
    let disk = Disk::new();
    disk.file("r/1/2/3/file", "x").file("r/1/2/3/4/file", "x");
    let limits = Limits {
        depth: 4,
        ..Limits::default()
    };
    let tree = walk(&disk.roots("r"), limits);
    assert_eq!(paths(&tree), ["1", "1/2", "1/2/3", "1/2/3/4", "1/2/3/file"]);
    assert_eq!(read_errors(&tree), [("1/2/3/4", &Cause::TooDeep(4))]);

    disk.dir(&format!("deep{}", "/d".repeat(1_000)));
    let tree = disk.walk("deep");
    assert_eq!(tree.roots[0].entries.len(), Limits::default().depth);
    assert_eq!(tree.roots[0].read_errors.len(), 1);
}

#[test]
fn a_root_with_too_many_entries_is_refused() {
    let disk = Disk::new();
    for name in 0..10 {
        disk.file(&format!("r/{name}"), "x");
    }
    for (entries, kept) in [(9, 0), (10, 10), (11, 10)] {
        let tree = walk(
            &disk.roots("r"),
            Limits {
                entries,
                ..Limits::default()
            },
        );
        assert_eq!(tree.roots[0].entries.len(), kept, "{entries}");
        let cause = (kept == 0).then_some(Cause::TooMany(entries));
        assert_eq!(tree.roots[0].cause(), cause.as_ref(), "{entries}");
    }
}

#[test]
fn files_over_the_limit_are_not_read() {
    let disk = Disk::new();
    disk.file("r/a", "12345")
        .file("r/b", "123456")
        .file("r/c", "123");
    File::create(disk.path("r/sparse"))
        .and_then(|file| file.set_len(10 << 30))
        .expect("a sparse file");
    let limits = Limits {
        file_bytes: 5,
        total_bytes: 7,
        ..Limits::default()
    };
    let mut tree = walk(&disk.roots("r"), limits);
    let wanted = files(&tree);
    tree.read(wanted.clone(), u64::MAX);
    tree.read(wanted, u64::MAX);
    assert_eq!(content(&tree), "12345");
    assert_eq!(
        read_errors(&tree),
        [
            ("b", &Cause::TooLarge(6, 5)),
            ("c", &Cause::TooMuch(7)),
            ("sparse", &Cause::TooLarge(10 << 30, 5)),
        ]
    );
}

#[test]
fn directories_of_certain_names_are_never_entered() {
    let disk = Disk::new();
    disk.file("r/node_modules/a/SKILL.md", "x")
        .file("r/__pycache__/SKILL.md", "x")
        .file("r/target/a/SKILL.md", "x")
        .file("r/ok/.DS_Store", "x");
    let tree = disk.walk("r");
    assert_eq!(paths(&tree), ["ok"]);
    let (without, with) = (Cause::Ignored(false), Cause::Ignored(true));
    assert_eq!(
        read_errors(&tree),
        [
            ("__pycache__", &with),
            ("node_modules", &without),
            ("target", &without)
        ]
    );
}

#[test]
fn unreadable_paths_are_reported_and_the_rest_is_read() {
    let disk = Disk::new();
    disk.file("r/good/file", "g")
        .file("r/locked/file", "l")
        .file("r/half/file", "h");
    for path in ["r/locked", "r/half/file"] {
        fs::set_permissions(disk.path(path), Permissions::from_mode(0o000)).expect("chmod");
    }
    if fs::read_dir(disk.path("r/locked")).is_ok() {
        return skipped("this user may read everything");
    }
    let mut tree = disk.walk("r");
    let wanted = files(&tree);
    tree.read(wanted, u64::MAX);
    assert_eq!(content(&tree), "g");
    let found = read_errors(&tree);
    assert!(
        matches!(
            found[..],
            [
                ("locked", Cause::Unreadable(_)),
                ("half/file", Cause::Unreadable(_))
            ]
        ),
        "{found:?}"
    );
    assert!(
        found[0].1.explain().1.contains("ermission denied"),
        "{found:?}"
    );
    fs::set_permissions(disk.path("r/locked"), Permissions::from_mode(0o755)).expect("chmod");
}

#[test]
fn a_root_may_be_missing_or_a_file() {
    let disk = Disk::new();
    disk.file("file", "x");
    assert_eq!(disk.walk("nowhere").roots[0].cause(), Some(&Cause::Missing));
    assert!(matches!(
        disk.walk("file").roots[0].cause(),
        Some(Cause::Unreadable(_))
    ));
}

#[test]
fn paths_are_shown_as_the_user_would_type_them() {
    let root = |dir: &str| TreeRoot {
        within: None,
        dir: dir.into(),
        real: dir.into(),
        entries: Vec::new(),
        declared: Vec::new(),
        declared_paths: BTreeSet::new(),
        read_errors: Vec::new(),
    };
    let cases = [
        (".", "a/b", "a/b"),
        (".", "", "."),
        ("skills", "a", "skills/a"),
        ("skills/", "a", "skills/a"),
        ("./skills", "a", "./skills/a"),
        ("/", "a", "/a"),
        ("/", "", "/"),
        ("/abs", "", "/abs"),
    ];
    for (dir, path, shown) in cases {
        assert_eq!(root(dir).shown(path), shown, "{dir} {path}");
    }
}

#[test]
fn the_fingerprint_changes_with_everything_relevant() {
    type Change = fn(&Disk);
    let changes: [(&str, bool, Change); 13] = [
        ("nothing", false, |_| {}),
        ("an edit", true, |disk| {
            disk.file("r/a/SKILL.md", "longer than before");
        }),
        ("an edit of equal size, with the old time", true, |disk| {
            let path = disk.path("r/a/SKILL.md");
            let time = fs::metadata(&path)
                .and_then(|it| it.modified())
                .expect("a time");
            fs::write(&path, "bbbb").expect("a file");
            File::options()
                .append(true)
                .open(&path)
                .and_then(|it| it.set_modified(time))
                .expect("a time");
        }),
        ("a replaced file", true, |disk| {
            disk.file("new", "aaaa");
            fs::rename(disk.path("new"), disk.path("r/a/SKILL.md")).expect("a rename");
        }),
        ("a new file", true, |disk| {
            disk.file("r/b/SKILL.md", "b");
        }),
        ("a new empty directory", true, |disk| {
            disk.dir("r/b");
        }),
        ("a deleted file", true, |disk| {
            fs::remove_file(disk.path("r/a/SKILL.md")).expect("a file");
        }),
        ("a renamed directory", true, |disk| {
            fs::rename(disk.path("r/a"), disk.path("r/c")).expect("a rename");
        }),
        ("an executable bit", true, |disk| {
            fs::set_permissions(disk.path("r/a/SKILL.md"), Permissions::from_mode(0o755))
                .expect("chmod");
        }),
        ("a link's target", true, |disk| {
            disk.file("store/s/SKILL.md", "changed");
        }),
        ("a link that leads elsewhere", true, |disk| {
            fs::remove_file(disk.path("r/s")).expect("a link");
            disk.link("r/s", "../store/t");
        }),
        ("junk", false, |disk| {
            disk.file("r/a/.SKILL.md.swp", "x")
                .file("r/a/.DS_Store", "x");
        }),
        ("a directory that is never read", false, |disk| {
            disk.file("r/node_modules/x/SKILL.md", "more");
        }),
    ];
    for (what, moves, change) in changes {
        let disk = Disk::new();
        disk.file("r/a/SKILL.md", "aaaa")
            .file("r/node_modules/x/SKILL.md", "x")
            .file("store/s/SKILL.md", "s")
            .file("store/t/SKILL.md", "s")
            .link("r/s", "../store/s");
        let before = disk.fingerprint("r");
        change(&disk);
        assert_eq!(disk.fingerprint("r") != before, moves, "{what}");
    }
}

#[test]
fn a_root_may_have_its_own_limit_of_files_and_of_bytes_with_it() {
    let disk = Disk::new();
    for name in ["a", "b", "c"] {
        disk.file(&format!("r/{name}"), "12345");
    }
    let limits = Limits {
        entries: 2,
        total_bytes: 7,
        ..Limits::default()
    };
    for (max_files, names, text) in [
        (None, &[][..], ""),
        (Some(2), &[], ""),
        (Some(3), &["a", "b", "c"], "123451234512345"),
    ] {
        let [root] = disk.roots("r");
        let mut tree = walk(&[Root { max_files, ..root }], limits);
        assert_eq!(paths(&tree), names, "{max_files:?}");
        let wanted = files(&tree);
        tree.read(wanted, u64::MAX);
        assert_eq!(content(&tree), text, "{max_files:?}");
    }
}

#[test]
fn a_root_that_appears_or_vanishes_changes_the_fingerprint() {
    let disk = Disk::new();
    let missing = disk.fingerprint("r");
    assert_eq!(disk.fingerprint("r"), missing);
    disk.dir("r");
    let empty = disk.fingerprint("r");
    disk.file("r/late/SKILL.md", "late");
    let full = disk.fingerprint("r");
    fs::remove_dir_all(disk.path("r")).expect("a directory");
    assert!(missing != empty && empty != full && full != missing);
    assert_eq!(disk.fingerprint("r"), missing);
}
