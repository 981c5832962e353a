//! Disks that are full, files that are locked, replaced, foreign or a trap: what could not be written
//! is lost and said so, the writer goes on, and what was committed stays.

use std::fs;
use std::path::Path;
use std::process::Command;

use rusqlite::Connection;
use skillbundle_journal::{
    Destination, Event, Filter, Journal, JournalError, Options, Reader, Recorded, Uuid,
};

use crate::child;
use crate::common::{PATIENCE, analytics, invocation, last_error, record, sqlite};

#[test]
fn a_locked_file_loses_events_after_a_while_and_works_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = sqlite(&path);
    assert_eq!(record(&journal, analytics("before")), Recorded::Committed);
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(record(&journal, analytics("meanwhile")), Recorded::Lost);
    let status = journal.status();
    assert_eq!((status.lost, status.queued), (1, 0));
    let error = last_error(&journal);
    assert!(
        error.contains("another process has had the file locked"),
        "{error}"
    );
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(record(&journal, analytics("after")), Recorded::Committed);
    assert_eq!(names(&path), ["after", "before"]);
}

#[test]
fn a_file_that_is_replaced_while_it_is_open_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = sqlite(&path);
    let remove = || {
        for suffix in ["", "-wal", "-shm"] {
            let path = directory.path().join(format!("journal.db{suffix}"));
            fs::remove_file(path).unwrap_or_default();
        }
    };
    assert_eq!(record(&journal, analytics("first")), Recorded::Committed);
    // Removed: a new one is made.
    remove();
    assert_eq!(record(&journal, analytics("second")), Recorded::Committed);
    assert_eq!(names(&path), ["second"]);
    // Replaced by garbage: no event is called committed that nobody can read.
    remove();
    fs::write(&path, "no database ".repeat(1000)).unwrap();
    for _ in 0..2 {
        assert_eq!(record(&journal, analytics("third")), Recorded::Lost);
    }
    let error = last_error(&journal);
    assert!(error.contains("expected a journal, found"), "{error}");
    assert_eq!(journal.status().lost, 2);
    // Taken away again.
    remove();
    assert_eq!(record(&journal, analytics("fourth")), Recorded::Committed);
    assert_eq!(names(&path), ["fourth"]);
    // Replaced by another journal.
    let other = sqlite(&directory.path().join("other.db"));
    assert_eq!(record(&other, analytics("other")), Recorded::Committed);
    other.close(PATIENCE);
    remove();
    fs::rename(directory.path().join("other.db"), &path).unwrap();
    assert_eq!(record(&journal, analytics("fifth")), Recorded::Committed);
    assert_eq!(names(&path), ["fifth", "other"]);
}

#[test]
fn a_file_that_is_overwritten_in_place_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = sqlite(&path);
    assert_eq!(record(&journal, analytics("first")), Recorded::Committed);
    // While all pages are in the write-ahead log, the file itself does not matter.
    fs::write(&path, "no database ".repeat(1000)).unwrap();
    assert_eq!(record(&journal, analytics("second")), Recorded::Committed);
    assert_eq!(names(&path), ["second", "first"]);
    let other = Connection::open(&path).unwrap();
    let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
    other.query_row(checkpoint, [], |_| Ok(())).unwrap();
    drop(other);
    assert_eq!(record(&journal, analytics("third")), Recorded::Committed);
    assert_eq!(names(&path), ["third", "second", "first"]);
    let other = Connection::open(&path).unwrap();
    other.query_row(checkpoint, [], |_| Ok(())).unwrap();
    drop(other);
    fs::write(&path, "no database ".repeat(1000)).unwrap();
    assert_eq!(record(&journal, analytics("fourth")), Recorded::Lost);
    let error = last_error(&journal);
    assert!(error.contains("expected a journal, found"), "{error}");
}

#[test]
fn files_of_others_are_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("garbage"), "no database ".repeat(1000)).unwrap();
    let foreign = Connection::open(path("foreign")).unwrap();
    foreign.execute_batch("CREATE TABLE t (a)").unwrap();
    let marked = Connection::open(path("marked")).unwrap();
    marked
        .execute_batch("PRAGMA application_id = 7; CREATE TABLE t (a)")
        .unwrap();
    drop((foreign, marked));
    for (name, found) in [
        ("garbage", "found a damaged or other file"),
        ("foreign", "found a database of another program"),
        ("marked", "found a database of another program"),
    ] {
        let before = fs::read(path(name)).unwrap();
        let journal = sqlite(&path(name));
        assert_eq!(record(&journal, analytics("x")), Recorded::Lost, "{name}");
        let error = last_error(&journal);
        assert!(error.contains(found), "{name}: {error}");
        journal.close(PATIENCE);
        assert_eq!(fs::read(path(name)).unwrap(), before, "{name}");
        let error = Reader::open(&path(name)).unwrap_err().to_string();
        assert!(error.contains(found), "{name}: {error}");
    }
}

#[test]
fn a_newer_file_is_refused_with_both_versions() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    sqlite(&path).close(PATIENCE);
    let journal = sqlite(&path);
    assert_eq!(record(&journal, analytics("x")), Recorded::Committed);
    journal.close(PATIENCE);
    let newer = Connection::open(&path).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    drop(newer);
    let journal = sqlite(&path);
    assert_eq!(record(&journal, analytics("y")), Recorded::Lost);
    let expected = JournalError::NewerSchema {
        path: path.canonicalize().unwrap(),
        found: 99,
        known: 2,
    };
    let help = expected.help().unwrap();
    assert_eq!(last_error(&journal), format!("{expected}; {help}"));
    assert!(
        expected
            .to_string()
            .contains("version 99, this program knows 2")
    );
    assert_eq!(Reader::open(&path).unwrap_err(), expected);
}

#[test]
fn a_reader_says_what_is_not_there() {
    let directory = tempfile::tempdir().unwrap();
    let error = Reader::open(&directory.path().join("journal.db")).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("expected a journal, found no file"),
        "{error}"
    );
    let empty = directory.path().join("empty");
    fs::write(&empty, "").unwrap();
    let error = Reader::open(&empty).unwrap_err();
    assert!(error.to_string().contains("found an empty file"), "{error}");
    let error = Reader::open(directory.path()).unwrap_err();
    assert!(matches!(error, JournalError::Storage { .. }), "{error}");
}

#[cfg(unix)]
mod links_and_rights {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn only_the_owner_can_read_what_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let state = directory.path().join("a/b");
        let path = state.join("journal.db");
        let journal = sqlite(&path);
        assert_eq!(record(&journal, analytics("x")), Recorded::Committed);
        assert_eq!(mode(&state), 0o700);
        assert_eq!(mode(&directory.path().join("a")), 0o700);
        for suffix in ["", "-wal", "-shm"] {
            let file = state.join(format!("journal.db{suffix}"));
            assert_eq!(mode(&file), 0o600, "{}", file.display());
        }
    }

    /// A file that an umask or a person has opened to others is closed again.
    #[test]
    fn rights_of_others_are_taken_away() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal.db");
        fs::write(&path, "").unwrap();
        set_mode(&path, 0o644);
        let journal = sqlite(&path);
        assert_eq!(record(&journal, analytics("x")), Recorded::Committed);
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn links_and_special_files_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let victim = path("victim");
        fs::write(&victim, "").unwrap();
        symlink(&victim, path("symlink")).unwrap();
        symlink(path("missing"), path("dangling")).unwrap();
        fs::hard_link(&victim, path("hard")).unwrap();
        fs::create_dir(path("directory")).unwrap();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, path("fifo"), fifo, mode, 0).unwrap();
        symlink(&victim, path("wal-wal")).unwrap();
        symlink(&victim, path("shm-shm")).unwrap();
        symlink(&victim, path("rollback-journal")).unwrap();
        for (name, problem) in [
            ("symlink", "it is a symbolic link"),
            ("dangling", "it is a symbolic link"),
            ("hard", "it has a second name"),
            ("directory", "it is not a regular file"),
            ("fifo", "it is not a regular file"),
            ("wal", "wal-wal: it is a symbolic link"),
            ("shm", "shm-shm: it is a symbolic link"),
            ("rollback", "rollback-journal: it is a symbolic link"),
        ] {
            let journal = sqlite(&path(name));
            assert_eq!(record(&journal, analytics("x")), Recorded::Lost, "{name}");
            let error = last_error(&journal);
            assert!(error.contains(problem), "{name}: {error}");
        }
        assert_eq!(fs::read(&victim).unwrap(), b"");
        assert!(!path("missing").exists());
    }

    /// Somebody else could exchange the file there.
    #[test]
    fn a_directory_that_everyone_can_write_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let open = directory.path().join("open");
        fs::create_dir(&open).unwrap();
        let journal = sqlite(&open.join("journal.db"));
        for (mode, recorded) in [
            (0o777, Recorded::Lost),
            (0o1777, Recorded::Committed),
            (0o755, Recorded::Committed),
        ] {
            set_mode(&open, mode);
            assert_eq!(record(&journal, analytics("x")), recorded, "{mode:o}");
        }
        assert!(last_error(&journal).contains("everyone may replace files there"));
    }

    /// A link further up is the user's own affair, such as a home directory on another disk.
    #[test]
    fn a_link_to_the_directory_is_followed() {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().join("real");
        fs::create_dir(&real).unwrap();
        let link = directory.path().join("link");
        symlink(&real, &link).unwrap();
        let journal = sqlite(&link.join("journal.db"));
        assert_eq!(record(&journal, analytics("x")), Recorded::Committed);
        assert_eq!(names(&link.join("journal.db")), ["x"]);
        assert!(real.join("journal.db").exists());
    }

    #[test]
    fn a_directory_that_is_gone_loses_events_and_works_again() {
        let directory = tempfile::tempdir().unwrap();
        let state = directory.path().join("state");
        let path = state.join("journal.db");
        let journal = sqlite(&path);
        assert_eq!(record(&journal, analytics("before")), Recorded::Committed);
        // The place of the directory is taken by a file.
        let moved = directory.path().join("moved");
        fs::rename(&state, &moved).unwrap();
        fs::write(&state, "").unwrap();
        for _ in 0..3 {
            assert_eq!(record(&journal, analytics("meanwhile")), Recorded::Lost);
        }
        assert!(last_error(&journal).contains("state"));
        fs::remove_file(&state).unwrap();
        fs::rename(&moved, &state).unwrap();
        assert_eq!(record(&journal, analytics("after")), Recorded::Committed);
        assert_eq!(names(&path), ["after", "before"]);
    }
}

/// In a file system of 1 MB if a user namespace may mount one, else with a limit on the size of
/// files.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_loses_no_committed_event_and_works_again() {
    // The limits are in blocks of 512 bytes, or of 1024 in some shells.
    for (role, file, limit) in [
        ("fill the disk", "journal.db", 1000),
        ("fill the disk with lines", "journal.jsonl", 1000),
        #[cfg(feature = "http")]
        ("fill the disk with a buffer", "analytics-buffer.jsonl", 100),
    ] {
        fill(role, file, limit);
    }
}

#[cfg(target_os = "linux")]
fn fill(role: &str, file: &str, limit: u32) {
    let directory = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let mount = "mount -t tmpfs -o size=1m,mode=700 journal \"$0\"";
    let mounts = Command::new("unshare")
        .args(["-rm", "sh", "-c", mount])
        .arg(directory.path())
        .output()
        .is_ok_and(|it| it.status.success());
    let run = "exec \"$1\" --exact child::child_process --nocapture";
    let mut command = if mounts {
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", &format!("{mount} && {run}")]);
        command
    } else {
        let mut command = Command::new("sh");
        let limit = format!("trap '' XFSZ; ulimit -f {limit}");
        command.args(["-c", &format!("{limit}; {run}")]);
        command
    };
    command.arg(directory.path()).arg(program);
    child::set_role(&mut command, role, &directory.path().join(file));
    command.env("JOURNAL_TEST_MOUNTED", if mounts { "1" } else { "" });
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{problem}");
    assert!(text.contains("> the disk was full"), "{text}");
}

/// Root may write every file, so the file system itself is read-only, in a mount namespace.
#[test]
#[cfg(target_os = "linux")]
fn a_file_that_cannot_be_written_loses_events() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = sqlite(&path);
    assert_eq!(record(&journal, analytics("before")), Recorded::Committed);
    journal.close(PATIENCE);
    let mount = "mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\"";
    let run = "exec \"$1\" --exact child::child_process --nocapture";
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", &format!("{mount} || exit 77; {run}")]);
    command
        .arg(directory.path())
        .arg(std::env::current_exe().unwrap());
    child::set_role(&mut command, "read only", &path);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let problem = String::from_utf8_lossy(&output.stderr);
    // 1 is `unshare`, which may not make namespaces, 77 `mount`; a failed test ends with 101.
    if matches!(output.status.code(), Some(1 | 77)) {
        let line = format!("SKIPPED: no read-only file system: {problem}");
        std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes()).unwrap();
        return;
    }
    assert!(output.status.success(), "{text}{problem}");
    assert!(text.contains("> it was read-only"), "{text}");
    assert_eq!(names(&path), ["before"]);
}

/// Records where nothing can be written.
pub(crate) fn find_it_read_only(path: &Path) {
    let journal = sqlite(path);
    for _ in 0..2 {
        assert_eq!(record(&journal, analytics("meanwhile")), Recorded::Lost);
    }
    let error = last_error(&journal);
    assert!(error.contains("cannot be"), "{error}");
    assert_eq!(names(path), ["before"]);
    child::tell("it was read-only");
}

/// Fills the disk with an SQLite journal.
pub(crate) fn fill_the_disk(path: &Path) {
    let committed = fill_and_make_room(&sqlite(path), path, "the disk is full", large);
    let mut found = Reader::open(path)
        .unwrap()
        .list(&Filter::default())
        .unwrap();
    found.reverse();
    let found: Vec<Uuid> = found.iter().map(|it| it.invocation.id).collect();
    assert_eq!(found, committed);
    child::tell("the disk was full");
}

/// The same with lines. What is not a line was not called committed.
pub(crate) fn fill_the_disk_with_lines(path: &Path) {
    let options = Options::new(Destination::Jsonl(path.to_owned()));
    let committed = fill_and_make_room(&Journal::new(options), path, "No space left", large);
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().filter_map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(line["id"].as_str()?.parse::<Uuid>().unwrap())
    });
    assert_eq!(lines.collect::<Vec<_>>(), committed);
    child::tell("the disk was full");
}

/// An invocation with much in it.
fn large() -> Event {
    let mut large = invocation("large");
    large.input = format!("\"{}\"", "x".repeat(10_000));
    Event::Created(large)
}

fn id_of(event: &Event) -> Uuid {
    match event {
        Event::Created(invocation) => invocation.id,
        Event::Analytics { id, .. } => *id,
        other => panic!("{other:?}"),
    }
}

/// Records until events are lost, makes room if it can, and records again. Returns what was called
/// committed.
pub(crate) fn fill_and_make_room(
    journal: &Journal,
    path: &Path,
    problem: &str,
    event: impl Fn() -> Event,
) -> Vec<Uuid> {
    let is_mounted = std::env::var("JOURNAL_TEST_MOUNTED").is_ok_and(|it| !it.is_empty());
    let filler = path.with_file_name("filler");
    if is_mounted {
        fs::write(&filler, vec![0; 300_000]).unwrap();
    }
    let mut committed = Vec::new();
    let mut lost = Vec::new();
    while lost.len() < 3 {
        let event = event();
        let id = id_of(&event);
        match record(journal, event) {
            Recorded::Committed => committed.push(id),
            Recorded::Lost => lost.push(id),
            other => panic!("{other:?}"),
        }
        assert!(committed.len() < 1000, "the disk is not full");
    }
    let error = last_error(journal);
    if is_mounted {
        assert!(error.contains(problem), "{error}");
        fs::remove_file(filler).unwrap();
        let after = event();
        committed.push(id_of(&after));
        assert_eq!(record(journal, after), Recorded::Committed);
    }
    assert_eq!(journal.status().lost, lost.len() as u64);
    committed
}

/// The names of the analytics events in a file, the latest first.
fn names(path: &Path) -> Vec<String> {
    let events = Reader::open(path).unwrap().events(&Filter::default());
    let name = |event| match event {
        Event::Analytics { name, .. } => name,
        other => panic!("{other:?}"),
    };
    events.unwrap().into_iter().map(name).collect()
}
