//! Lines of JSON in files and pipes.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;
use skillbundle_journal::{
    Claim, Destination, Event, InvocationStatus, Journal, Options, Record, Recorded, Uuid,
};

use crate::common::{
    PATIENCE, analytics, claim, failure, hold, invocation, last_error, now, record,
};

fn jsonl(path: &Path) -> Journal {
    Journal::new(Options::new(Destination::Jsonl(path.to_owned())))
}

fn fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

/// The events of lines.
fn kinds(text: &str) -> Vec<String> {
    let lines = text.lines();
    lines
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            line["event"].as_str().unwrap().to_owned()
        })
        .collect()
}

#[test]
fn every_event_is_a_line_that_only_the_owner_can_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state/journal.jsonl");
    let journal = jsonl(&path);
    let made = invocation("x");
    let id = made.id;
    for event in [
        Event::Created(made),
        Event::Running { id, at: now() },
        Event::Ended(failure(id, "NOT_FOUND")),
        analytics("y"),
    ] {
        assert_eq!(record(&journal, event), Recorded::Committed);
    }
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(kinds(&text), ["created", "running", "ended", "analytics"]);
    assert!(
        text.contains(r#""input_payload":{"title":"Buy groceries"}"#),
        "{text}"
    );
    let permissions = fs::metadata(&path).unwrap().permissions();
    assert_eq!(permissions.mode() & 0o777, 0o600);
}

#[test]
fn a_line_that_a_dead_process_left_unfinished_harms_only_itself() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.jsonl");
    fs::write(&path, "{\"event\":\"crea").unwrap();
    let journal = jsonl(&path);
    assert_eq!(record(&journal, analytics("x")), Recorded::Committed);
    let text = fs::read_to_string(&path).unwrap();
    let (half, rest) = text.split_once('\n').unwrap();
    assert_eq!(half, "{\"event\":\"crea");
    assert_eq!(kinds(rest), ["analytics"]);
}

#[test]
fn a_file_that_was_moved_away_is_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.jsonl");
    let journal = jsonl(&path);
    assert_eq!(record(&journal, analytics("x")), Recorded::Committed);
    let moved = directory.path().join("journal.jsonl.1");
    fs::rename(&path, &moved).unwrap();
    assert_eq!(record(&journal, analytics("y")), Recorded::Committed);
    for (path, name) in [(&moved, "x"), (&path, "y")] {
        let text = fs::read_to_string(path).unwrap();
        let line: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["name"], name);
    }
}

#[test]
fn a_claimed_id_has_one_owner_in_a_process() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.jsonl");
    let journal = jsonl(&path);
    let made = invocation("x");
    assert_eq!(claim(&journal, made.clone()), Ok(Claim::New));
    let result = failure(made.id, "NOT_FOUND");
    record(
        &journal,
        Event::Running {
            id: made.id,
            at: now(),
        },
    );
    record(&journal, Event::Ended(result.clone()));
    let existing = Claim::Existing(Box::new(Record {
        invocation: made.clone(),
        status: InvocationStatus::Failed,
        result: Some(result),
    }));
    assert_eq!(claim(&journal, made.clone()), Ok(existing));
    assert_eq!(
        record(&journal, Event::Created(made.clone())),
        Recorded::Lost
    );
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(kinds(&text), ["created", "running", "ended"]);
    // Another process does not know.
    assert_eq!(claim(&jsonl(&path), made), Ok(Claim::New));
}

/// An id whose line could not be written is free again.
#[test]
fn a_claim_that_was_not_written_is_no_claim() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("place");
    fs::write(&place, "").unwrap();
    let journal = jsonl(&place.join("journal.jsonl"));
    let made = invocation("x");
    assert!(claim(&journal, made.clone()).is_err());
    fs::remove_file(&place).unwrap();
    assert_eq!(claim(&journal, made), Ok(Claim::New));
}

#[test]
fn links_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let victim = directory.path().join("victim");
    fs::write(&victim, "").unwrap();
    let (soft, hard) = (directory.path().join("soft"), directory.path().join("hard"));
    symlink(&victim, &soft).unwrap();
    fs::hard_link(&victim, &hard).unwrap();
    for (path, problem) in [(soft, "it is a symbolic link"), (hard, "second name")] {
        let journal = jsonl(&path);
        assert_eq!(record(&journal, analytics("x")), Recorded::Lost);
        let error = last_error(&journal);
        assert!(error.contains(problem), "{error}");
    }
    assert_eq!(fs::read(&victim).unwrap(), b"");
}

/// The pipe holds 64 KiB; the reader takes nothing before 1 MB is recorded. Callers do not wait.
#[test]
fn a_slow_reader_holds_up_nobody_and_gets_everything() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    fifo(&path);
    let journal = jsonl(&path);
    let reader = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    let large = |number: u128| Event::Analytics {
        id: Uuid::from_u128(number),
        name: "large".to_owned(),
        skill: None,
        correlation_id: None,
        body: format!("\"{}\"", "x".repeat(10_000)),
        at: now(),
    };
    (0..100).for_each(|number| journal.note(large(number)));
    let mut lines = BufReader::new(reader).lines();
    for number in 0..100 {
        let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(line["id"], Uuid::from_u128(number).to_string());
    }
    journal.close(PATIENCE);
    let status = journal.status();
    assert_eq!((status.lost, status.dropped, status.queued), (0, 0, 0));
}

/// What waited for the next reader is there for it, from a whole line on.
#[test]
fn a_reader_that_goes_is_replaced_by_the_next() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    fifo(&path);
    let journal = jsonl(&path);
    let first = read(&path);
    assert_eq!(record(&journal, analytics("one")), Recorded::Committed);
    drop(first.join().unwrap());
    let release = hold_for_later(&journal, &path);
    journal.note(analytics("two"));
    let second = read(&path);
    drop(release);
    let (line, _open) = second.join().unwrap();
    assert!(
        line.contains("\"held\"") || line.contains("\"two\""),
        "{line}"
    );
    journal.close(PATIENCE);
    assert_eq!(journal.status().lost, 0);
}

/// The writer waits, with a reader that takes what it waits for.
fn hold_for_later(journal: &Journal, path: &Path) -> std::sync::mpsc::Sender<()> {
    let reader = read(path);
    let release = hold(journal);
    drop(reader.join().unwrap());
    release
}

/// Opens the pipe, and returns its first line with what keeps it open.
fn read(path: &Path) -> thread::JoinHandle<(String, BufReader<File>)> {
    let path = path.to_owned();
    thread::spawn(move || {
        let mut reader = BufReader::new(File::open(path).unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        (line, reader)
    })
}

/// Callers who wait for `done` must not wait for a reader that never comes.
#[test]
fn without_a_reader_events_are_lost_after_a_while() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    fifo(&path);
    let journal = jsonl(&path);
    assert_eq!(
        record(&journal, Event::Created(invocation("x"))),
        Recorded::Lost
    );
    let error = last_error(&journal);
    assert!(error.contains("nobody reads the pipe"), "{error}");
    let reader = read(&path);
    assert_eq!(record(&journal, analytics("after")), Recorded::Committed);
    assert!(reader.join().unwrap().0.contains("after"));
}

/// A reader that stops in the middle of a line gets the rest of that line before the next.
#[test]
fn a_reader_that_stops_and_goes_on_sees_whole_lines() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    fifo(&path);
    let journal = jsonl(&path);
    let reader = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    let mut large = invocation("large");
    large.input = format!("\"{}\"", "x".repeat(200_000));
    assert_eq!(record(&journal, Event::Created(large)), Recorded::Lost);
    let error = last_error(&journal);
    assert!(error.contains("does not read"), "{error}");
    journal.note(analytics("after"));
    let mut lines = BufReader::new(reader).lines();
    for event in ["created", "analytics"] {
        let line = lines.next().unwrap().unwrap();
        assert_eq!(kinds(&line), [event]);
    }
}

/// A closed journal does not wait for a reader that never comes.
#[test]
fn closing_does_not_wait_for_a_reader() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("pipe");
    fifo(&path);
    let journal = jsonl(&path);
    let (sender, receiver) = std::sync::mpsc::channel();
    for _ in 0..10 {
        let sender = sender.clone();
        journal.record(analytics("x"), move |it| sender.send(it).unwrap());
    }
    journal.close(Duration::from_millis(100));
    drop(sender);
    let told: Vec<Recorded> = receiver.iter().collect();
    assert_eq!(told, [Recorded::Lost; 10]);
}
