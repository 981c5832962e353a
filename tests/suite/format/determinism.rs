//! The same input gives the same bytes: whatever the order in which files were
//! made, their times and modes that do not matter, and the folder they lie in.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::project::{Project, bytes_of, finish, fixture};

/// The fixture's files with their bytes, sorted.
fn files() -> Vec<(String, Vec<u8>)> {
    fn walk(dir: &Path, prefix: &str, out: &mut Vec<(String, Vec<u8>)>) {
        for entry in fs::read_dir(dir).expect("the fixture can be read") {
            let entry = entry.expect("an entry");
            let name = format!("{prefix}{}", entry.file_name().display());
            if entry.path().is_dir() {
                walk(&entry.path(), &format!("{name}/"), out);
            } else {
                out.push((name, fs::read(entry.path()).expect("a file")));
            }
        }
    }
    let mut out = Vec::new();
    walk(&fixture("tree"), "", &mut out);
    out.sort();
    out
}

/// Writes the files in the given order and compiles them.
fn compiled(folder: &str, order: impl Iterator<Item = usize>) -> Vec<u8> {
    let project = Project::new();
    let files = files();
    for at in order {
        let (path, bytes) = &files[at];
        project.file(&format!("{folder}/{path}"), bytes);
        project.mode(&format!("{folder}/{path}"), 0o644);
    }
    bytes_of(&project.compile(&[folder]))
}

#[test]
fn compiling_twice_gives_the_same_bytes() {
    let project = Project::from_fixture("tree");
    assert_eq!(
        bytes_of(&project.compile(&["."])),
        bytes_of(&project.compile(&["."]))
    );
}

#[test]
fn order_of_creation_does_not_matter() {
    let count = files().len();
    let forwards = compiled("skills", 0..count);
    for shift in 1..count {
        let shuffled = (0..count).map(|n| (n * 7 + shift * 3) % count);
        let mut seen: Vec<usize> = shuffled.clone().collect();
        seen.sort_unstable();
        if seen.windows(2).all(|w| w[0] != w[1]) {
            assert!(
                compiled("skills", shuffled) == forwards,
                "order {shift} changes the bytes"
            );
        }
    }
    assert!(
        compiled("skills", (0..count).rev()) == forwards,
        "reversed order changes the bytes"
    );
}

#[test]
fn the_folder_does_not_matter() {
    let count = files().len();
    assert!(compiled("skills", 0..count) == compiled("some/other place/with spaces", 0..count));
}

#[test]
fn times_and_irrelevant_modes_do_not_matter() {
    let project = Project::from_fixture("tree");
    let before = bytes_of(&project.compile(&["."]));
    for (path, _) in files() {
        let file = fs::File::options()
            .append(true)
            .open(project.path(&path))
            .expect("a file");
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(86_400 * 365);
        file.set_times(fs::FileTimes::new().set_modified(time).set_accessed(time))
            .expect("times can be set");
        let executable = Path::new(&path).extension().is_some_and(|e| e == "sh");
        project.mode(&path, if executable { 0o700 } else { 0o600 });
    }
    assert!(
        bytes_of(&project.compile(&["."])) == before,
        "times or modes change the bytes"
    );
}

#[test]
fn umask_environment_and_working_folder_do_not_matter() {
    let mut outputs = Vec::new();
    for (umask, language, zone) in [("022", "C", "UTC"), ("077", "de_DE.UTF-8", "Asia/Tokyo")] {
        let project = Project::from_fixture("tree");
        let script = format!("umask {umask}; exec \"$0\" compile . -o out.skb");
        let mut shell = std::process::Command::new("/bin/sh");
        shell
            .args(["-c", &script, env!("CARGO_BIN_EXE_skillbundle")])
            .current_dir(project.dir())
            .env_clear()
            .env("LC_ALL", language)
            .env("TZ", zone)
            .env("HOME", project.dir());
        let ran = finish(&mut shell);
        assert!(matches!(ran.code, Some(0 | 1)), "{ran:?}");
        outputs.push(fs::read(project.path("out.skb")).expect("a bundle was written"));
    }
    assert!(
        outputs[0] == outputs[1],
        "the surroundings change the bytes"
    );
}

#[test]
fn a_changed_byte_changes_the_address() {
    let project = Project::from_fixture("tree");
    let before = project.bundle(&["."]).content_address();
    project.file(
        "ui/react/auth/assets/AuthProvider.tsx.template",
        "export {};\n",
    );
    let asset = project.bundle(&["."]).content_address();
    project.file(
        "no-inherit.md",
        "---\ndescription: x\nkeywords: [y]\n---\nother\n",
    );
    let body = project.bundle(&["."]).content_address();
    assert_ne!(before, asset);
    assert_ne!(asset, body);
}
