//! Analytics events on their way to a server: each arrives once, or is still in the buffer, or has been
//! counted as given up; whatever the server, the network, the disk and the process do.

mod processes;
mod server;
mod tls;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};
use skillbundle_journal::{
    Backlog, Destination, Endpoint, Event, HttpOptions, Journal, Options, Recorded, Uuid, rfc3339,
};

use crate::child;
use crate::common::{PATIENCE, analytics, invocation, last_error, record};
use crate::faults::fill_and_make_room;
use server::{Answer, Request, SECRET, Server, endpoint};

pub(crate) use processes::{record_and_leave, record_until_killed};
pub(crate) use tls::send as send_by_tls;

/// A quick pace, so that tests are quick.
const INTERVAL: Duration = Duration::from_millis(20);

/// For servers that do not answer: long enough for a busy machine, short enough to wait for.
const TIMEOUT: Duration = Duration::from_millis(2500);

/// An interval in which nothing is sent during a test, except at the end.
const NEVER: Duration = Duration::from_secs(3600);

fn options(endpoint: Endpoint, directory: &Path, interval: Duration) -> HttpOptions {
    let buffer = directory.join("state/analytics-buffer.jsonl");
    HttpOptions {
        interval,
        timeout: PATIENCE,
        ..HttpOptions::new(endpoint, buffer, "dev-test".to_owned())
    }
}

fn journal(options: HttpOptions) -> Journal {
    Journal::new(Options::new(Destination::Http(options)))
}

/// An event, and its id as text.
fn event(name: &str) -> (Event, String) {
    let event = analytics(name);
    let Event::Analytics { id, .. } = &event else {
        unreachable!("it is an analytics event")
    };
    let id = id.to_string();
    (event, id)
}

/// An event with that many bytes, and its id as text.
fn event_of(bytes: usize) -> (Event, String) {
    let (mut event, id) = event("large");
    if let Event::Analytics { body, .. } = &mut event {
        *body = format!("{{\"text\":\"{}\"}}", "x".repeat(bytes));
    }
    (event, id)
}

/// Records an event that must be committed. Returns its id.
fn commit(journal: &Journal, name: &str) -> String {
    let (event, id) = event(name);
    assert_eq!(record(journal, event), Recorded::Committed);
    id
}

fn wait_until(mut is_so: impl FnMut() -> bool, otherwise: impl Fn() -> String) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "{}", otherwise());
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until nothing waits.
fn wait_for_delivery(journal: &Journal, buffer: &Path) {
    let is_empty = || Backlog::of(buffer).unwrap().events == 0;
    wait_until(is_empty, || format!("{:?}", journal.status()));
}

/// The files beside the buffer, without those that only hold locks.
fn files(buffer: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(buffer.parent().unwrap()).unwrap();
    let paths = entries.map(|it| it.unwrap().path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|it| it.extension().is_some_and(|it| it == "jsonl"))
        .collect();
    paths.sort();
    paths
}

/// The ids of the events in the buffer.
fn buffered(buffer: &Path) -> Vec<String> {
    let texts = files(buffer).into_iter().map(|it| fs::read(it).unwrap());
    let mut ids = Vec::new();
    for text in texts {
        for line in text.split(|it| *it == b'\n') {
            if let Ok(event) = serde_json::from_slice::<Value>(line) {
                ids.push(event["id"].as_str().unwrap().to_owned());
            }
        }
    }
    ids
}

fn sorted(ids: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut ids: Vec<String> = ids.into_iter().collect();
    ids.sort();
    ids
}

/// What holds of any requests: a key belongs to one body, an event to one key, and what was accepted
/// came once.
fn check_requests(requests: &[Request]) {
    let mut bodies: BTreeMap<&str, &str> = BTreeMap::new();
    let mut keys: BTreeMap<String, &str> = BTreeMap::new();
    for request in requests {
        let key = request.header("idempotency-key");
        assert!(Uuid::parse_str(key).is_ok(), "{}", request.head);
        assert_eq!(*bodies.entry(key).or_insert(&request.body), request.body);
        for id in request.ids() {
            assert_eq!(*keys.entry(id).or_insert(key), key);
        }
    }
}

#[test]
fn events_arrive_as_the_specification_has_them() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start([]);
    let options = options(server.endpoint(), directory.path(), INTERVAL);
    let buffer = options.buffer.clone();
    let journal = journal(options);
    let at = SystemTime::UNIX_EPOCH + Duration::from_micros(1_768_212_000_045_001);
    let (mut sent, id) = event("skill_served");
    if let Event::Analytics { body, at: when, .. } = &mut sent {
        *body = "{\n\"skill_path\": \"pdf\", \"score\": 0.5}".to_owned();
        *when = at;
    }
    assert_eq!(record(&journal, sent), Recorded::Committed);
    wait_for_delivery(&journal, &buffer);
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    let expected = json!({ "events": [{
        "id": id,
        "type": "skill_served",
        "timestamp": rfc3339(at),
        "server_id": "dev-test",
        "data": { "skill_path": "pdf", "score": 0.5 },
    }] });
    let body: Value = serde_json::from_str(&requests[0].body).unwrap();
    assert_eq!(body, expected);
    assert!(
        requests[0]
            .head
            .starts_with(&format!("post /{SECRET}?token={SECRET} http/1.1\r\n"))
    );
    for (name, value) in [
        ("content-type", "application/json"),
        ("content-length", &requests[0].body.len().to_string()),
        ("host", &format!("127.0.0.1:{}", server.port())),
    ] {
        assert_eq!(requests[0].header(name), value, "{name}");
    }
    journal.close(PATIENCE);
    assert_eq!(files(&buffer), [] as [PathBuf; 0]);
    let status = journal.status();
    assert_eq!((status.undelivered, status.dropped), (0, 0));
    assert_eq!(status.last_error, None);
}

#[test]
fn only_the_owner_can_read_the_buffer() {
    let directory = tempfile::tempdir().unwrap();
    let options = options(endpoint(9), directory.path(), NEVER);
    let buffer = options.buffer.clone();
    // One that others may read is closed to them.
    let state = buffer.parent().unwrap();
    let journal = journal(options);
    commit(&journal, "first");
    fs::set_permissions(&buffer, fs::Permissions::from_mode(0o644)).unwrap();
    commit(&journal, "second");
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o7777;
    assert_eq!(mode(state), 0o700);
    for entry in fs::read_dir(state).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    assert_eq!(buffered(&buffer).len(), 2);
}

/// Whatever a server does, its events stay until it says that it has them, and are the same request
/// until then.
#[test]
fn a_server_that_fails_gets_every_event_once_when_it_works_again() {
    let other = Server::start([]);
    let elsewhere = format!("Location: {}\r\n", "http://127.0.0.1:");
    let elsewhere = elsewhere.replace("1:\r", &format!("1:{}/\r", other.port()));
    for (answer, problem) in [
        (Answer::status("500 Oh", ""), "to 299, found 500"),
        (
            Answer::status("503 Busy", "Retry-After: 0\r\n"),
            "found 503",
        ),
        (
            Answer::status("503 Busy", "Retry-After: 99999999999999999999\r\n"),
            "found 503",
        ),
        (Answer::status("404 No", ""), "found 404"),
        (Answer::status("413 Large", ""), "found 413"),
        (
            Answer::status("302 Found", &elsewhere),
            "found 302 (a redirection",
        ),
        (Answer::status("307 Elsewhere", &elsewhere), "found 307 (a"),
        (Answer::status("308 Elsewhere", &elsewhere), "found 308 (a"),
        (Answer::Hang, "no answer within 2.5 s"),
        (Answer::DripHead, "no answer within 2.5 s"),
        (Answer::Close, ""),
        (Answer::CloseInHead, ""),
        (Answer::Garbage, "not HTTP"),
        (Answer::EndlessHead, "not HTTP"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let server = Server::start([answer.clone()]);
        let mut options = options(server.endpoint(), directory.path(), INTERVAL);
        if problem.contains("2.5 s") {
            options.timeout = TIMEOUT;
        }
        let buffer = options.buffer.clone();
        let journal = journal(options);
        let mut ids = vec![commit(&journal, "first")];
        let failed = || journal.status().last_error.is_some();
        wait_until(failed, || format!("{answer:?}"));
        let error = last_error(&journal);
        assert!(error.contains(problem), "{answer:?}: {error}");
        assert!(error.contains("http://127.0.0.1:"), "{error}");
        assert!(!error.contains(SECRET), "{error}");
        ids.push(commit(&journal, "second"));
        wait_for_delivery(&journal, &buffer);
        journal.close(PATIENCE);
        assert_eq!(server.accepted(), ids, "{answer:?}");
        let requests = server.requests();
        check_requests(&requests);
        assert_eq!(requests[0].body, requests[1].body, "{answer:?}");
        assert!(!requests[0].accepted, "{answer:?}");
        assert_eq!(journal.status().undelivered, 0);
    }
    assert_eq!(other.requests().len(), 0);
}

/// The status is the answer. What comes after it does not matter, and is not waited for.
#[test]
fn what_comes_after_a_success_does_not_matter() {
    for answer in [
        Answer::DripBody,
        Answer::CloseInBody,
        Answer::status("204 No Content", ""),
        Answer::status("202 Accepted", "Retry-After: 60\r\n"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let server = Server::start([answer.clone()]);
        let options = options(server.endpoint(), directory.path(), INTERVAL);
        let buffer = options.buffer.clone();
        let journal = journal(options);
        let id = commit(&journal, "first");
        wait_for_delivery(&journal, &buffer);
        assert_eq!(server.accepted(), [id], "{answer:?}");
        assert_eq!(journal.status().last_error, None, "{answer:?}");
    }
}

#[test]
fn a_server_that_comes_later_gets_what_waits_in_the_order_in_which_it_was_recorded() {
    let directory = tempfile::tempdir().unwrap();
    // A port at which nobody listens.
    let port = Server::start([]).port();
    let at_first = options(endpoint(port), directory.path(), INTERVAL);
    let buffer = at_first.buffer.clone();
    let mut ids = Vec::new();
    for _ in 0..3 {
        let journal = journal(at_first.clone());
        ids.extend((0..400).map(|_| commit(&journal, "early")));
        let failed = || journal.status().last_error.is_some();
        wait_until(failed, || format!("{:?}", journal.status()));
        let error = last_error(&journal);
        assert!(error.contains("refused"), "{error}");
        assert!(!error.contains(SECRET), "{error}");
        journal.close(PATIENCE);
        assert_eq!(sorted(buffered(&buffer)), sorted(ids.clone()));
        // No heap of small files is left.
        assert!(files(&buffer).len() <= 3, "{:?}", files(&buffer));
    }
    let server = Server::start([]);
    let later = journal(HttpOptions {
        endpoint: server.endpoint(),
        ..at_first
    });
    ids.push(commit(&later, "late"));
    wait_for_delivery(&later, &buffer);
    assert_eq!(server.accepted(), ids);
    check_requests(&server.requests());
}

/// A journal that ends sends what waits if the server takes it in time, and leaves it otherwise.
#[test]
fn the_end_of_a_journal_sends_what_fits_and_leaves_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start([Answer::Hang]);
    let options = options(server.endpoint(), directory.path(), NEVER);
    let buffer = options.buffer.clone();
    let first = journal(options.clone());
    let mut ids = vec![commit(&first, "first")];
    first.close(Duration::from_secs(2));
    assert_eq!(buffered(&buffer), ids);
    wait_until(|| !server.requests().is_empty(), String::new);
    // Without patience there is not even a try.
    let second = journal(options.clone());
    ids.push(commit(&second, "second"));
    second.close(Duration::ZERO);
    let third = journal(options.clone());
    ids.push(commit(&third, "third"));
    drop(third);
    assert_eq!(sorted(buffered(&buffer)), sorted(ids.clone()));
    assert_eq!(server.requests().len(), 1);
    // Nothing of it is lost: another one sends it as soon as the first request has ended.
    drop(server);
    let server = Server::start([]);
    let fourth = journal(HttpOptions {
        endpoint: server.endpoint(),
        interval: INTERVAL,
        ..options
    });
    ids.push(commit(&fourth, "fourth"));
    wait_for_delivery(&fourth, &buffer);
    assert_eq!(server.accepted(), ids);
}

#[test]
fn the_end_of_a_journal_sends_what_waits() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start([]);
    let journal = journal(options(server.endpoint(), directory.path(), NEVER));
    let id = commit(&journal, "first");
    journal.close(PATIENCE);
    assert_eq!(server.accepted(), [id]);
    assert_eq!(journal.status().undelivered, 0);
}

/// The server hangs, and callers do not notice.
#[test]
fn a_server_that_hangs_keeps_no_caller_waiting() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start([Answer::Hang]);
    let options = options(server.endpoint(), directory.path(), INTERVAL);
    let buffer = options.buffer.clone();
    let journal = journal(options);
    let mut ids = vec![commit(&journal, "first")];
    wait_until(|| !server.requests().is_empty(), String::new);
    ids.extend((0..2000).map(|_| commit(&journal, "meanwhile")));
    assert_eq!(server.requests().len(), 1);
    drop(server);
    assert_eq!(sorted(buffered(&buffer)), sorted(ids));
}

#[test]
fn what_is_no_event_of_analytics_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let options = options(endpoint(9), directory.path(), NEVER);
    let buffer = options.buffer.clone();
    let journal = journal(options);
    let refused = record(&journal, Event::Created(invocation("s")));
    assert_eq!(refused, Recorded::Lost);
    let error = last_error(&journal);
    assert!(error.contains("only analytics events"), "{error}");
    let (large, _) = event_of(70_000);
    assert_eq!(record(&journal, large), Recorded::Lost);
    let error = last_error(&journal);
    assert!(error.contains("expected at most 65536 bytes"), "{error}");
    let id = commit(&journal, "after");
    assert_eq!(buffered(&buffer), [id]);
    assert_eq!(journal.status().lost, 2);
}

/// The oldest go, and are counted, by this process and for all.
#[test]
fn a_server_that_is_gone_for_good_costs_ten_megabytes_of_disk() {
    let directory = tempfile::tempdir().unwrap();
    let options = options(endpoint(9), directory.path(), NEVER);
    let buffer = options.buffer.clone();
    let journal = journal(options.clone());
    let mut ids = Vec::new();
    for _ in 0..600 {
        let (event, id) = event_of(20_000);
        ids.push(id);
        assert_eq!(record(&journal, event), Recorded::Committed);
        let bytes: u64 = files(&buffer)
            .iter()
            .map(|it| fs::metadata(it).unwrap().len())
            .sum();
        assert!(bytes <= 10_000_000, "{bytes}");
    }
    let backlog = Backlog::of(&buffer).unwrap();
    assert!(
        backlog.dropped > 0 && backlog.bytes > 9_000_000,
        "{backlog:?}"
    );
    assert_eq!(backlog.dropped + backlog.events, 600);
    assert_eq!(journal.status().dropped, backlog.dropped);
    let gone = usize::try_from(backlog.dropped).unwrap();
    assert_eq!(buffered(&buffer), ids[gone..]);
    // What is left arrives.
    journal.close(PATIENCE);
    let server = Server::start([]);
    let later = self::journal(HttpOptions {
        endpoint: server.endpoint(),
        interval: INTERVAL,
        ..options
    });
    commit(&later, "late");
    wait_for_delivery(&later, &buffer);
    assert_eq!(server.accepted()[..600 - gone], ids[gone..]);
    let largest = server.requests().iter().map(|it| it.body.len()).max();
    assert!(largest.unwrap() < 300_000, "{largest:?}");
    let dropped = Backlog::of(&buffer).unwrap().dropped;
    assert_eq!(dropped, backlog.dropped);
}

/// What is given up while it is on its way, and arrives, has not been given up.
#[test]
fn what_arrives_after_it_was_given_up_is_not_counted() {
    let directory = tempfile::tempdir().unwrap();
    let released = Arc::new(Barrier::new(2));
    let server = Server::start([Answer::After(Arc::clone(&released))]);
    let options = options(server.endpoint(), directory.path(), INTERVAL);
    let buffer = options.buffer.clone();
    let journal = journal(options);
    let mut ids = vec![commit(&journal, "first")];
    wait_until(|| !server.requests().is_empty(), String::new);
    while Backlog::of(&buffer).unwrap().dropped == 0 {
        let (event, id) = event_of(60_000);
        ids.push(id);
        assert_eq!(record(&journal, event), Recorded::Committed);
    }
    assert!(!buffered(&buffer).contains(&ids[0]));
    let dropped = Backlog::of(&buffer).unwrap().dropped;
    released.wait();
    wait_for_delivery(&journal, &buffer);
    let accepted = server.accepted();
    assert_eq!(accepted[0], ids[0]);
    let missing = ids.len() - accepted.len();
    let after = Backlog::of(&buffer).unwrap().dropped;
    assert_eq!((after, after + 1), (missing as u64, dropped));
    check_requests(&server.requests());
}

/// A full segment is sent at once, so that much in a short time is not dropped while the server works.
#[test]
fn much_in_a_short_time_is_sent_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start([]);
    let options = options(server.endpoint(), directory.path(), NEVER);
    let journal = journal(options);
    let ids: Vec<String> = (0..3000).map(|_| commit(&journal, "many")).collect();
    wait_until(
        || !server.requests().is_empty(),
        || format!("{:?}", journal.status()),
    );
    journal.close(PATIENCE);
    assert_eq!(server.accepted(), ids);
}

/// Garbage, and half lines of processes that were killed or lost power, are left out and reported.
#[test]
fn damaged_lines_are_left_out_and_keep_nothing_back() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start([]);
    let options = options(server.endpoint(), directory.path(), INTERVAL);
    let buffer = options.buffer.clone();
    let state = buffer.parent().unwrap();
    fs::create_dir_all(state).unwrap();
    let whole = |id: u128| {
        let id = Uuid::from_u128(id);
        json!({ "id": id, "type": "x", "data": {} }).to_string()
    };
    let segment = |number: u128| {
        let id = Uuid::from_u128(number);
        state.join(format!("analytics-buffer.{id}.jsonl"))
    };
    fs::write(segment(1), "\0\0\0\0garbage\n\n{}\n").unwrap();
    fs::write(segment(2), "").unwrap();
    fs::write(
        segment(3),
        format!("{}\nhalf a l\n{}\n", whole(1), whole(2)),
    )
    .unwrap();
    // A segment that is none of ours keeps nothing back either, and is left alone.
    fs::write(state.join("mine"), "mine").unwrap();
    fs::hard_link(state.join("mine"), segment(4)).unwrap();
    symlink("mine", segment(5)).unwrap();
    fs::write(state.join("analytics-buffer.other.jsonl"), "other").unwrap();
    fs::write(&buffer, format!("{}\n{}", whole(3), &whole(4)[..20])).unwrap();
    fs::write(state.join("analytics-buffer.dropped"), "many").unwrap();
    let journal = journal(options);
    let id = commit(&journal, "after");
    let expected: Vec<String> = (1..=3).map(|it| Uuid::from_u128(it).to_string()).collect();
    let expected: Vec<String> = expected.into_iter().chain([id]).collect();
    wait_until(
        || server.accepted().len() >= 4,
        || format!("{:?}", journal.status()),
    );
    assert_eq!(server.accepted(), expected);
    let reported = || {
        let error = journal.status().last_error.unwrap_or_default();
        error.contains("no events and not sent") || error.contains("second name")
    };
    wait_until(reported, || format!("{:?}", journal.status()));
    journal.close(PATIENCE);
    for number in 1..=3 {
        assert!(!segment(number).exists(), "{number}");
    }
    assert_eq!(fs::read_to_string(segment(4)).unwrap(), "mine");
    check_requests(&server.requests());
}

/// A link in place of a file of ours is a trap, and a pipe would keep us waiting.
#[test]
fn links_and_pipes_in_place_of_the_files_are_refused() {
    for name in ["analytics-buffer.jsonl", "analytics-buffer.lock"] {
        for kind in ["symbolic link", "hard link", "FIFO"] {
            let directory = tempfile::tempdir().unwrap();
            let options = options(endpoint(9), directory.path(), NEVER);
            let state = options.buffer.parent().unwrap().to_owned();
            fs::create_dir(&state).unwrap();
            let mine = directory.path().join("mine");
            fs::write(&mine, "mine").unwrap();
            let trap = state.join(name);
            match kind {
                "symbolic link" => symlink(&mine, &trap).unwrap(),
                "hard link" => fs::hard_link(&mine, &trap).unwrap(),
                _ => {
                    let made = std::process::Command::new("mkfifo").arg(&trap).status();
                    assert!(made.unwrap().success());
                }
            }
            let journal = journal(options);
            let (event, _) = event("x");
            assert_eq!(record(&journal, event), Recorded::Lost, "{name} {kind}");
            let error = last_error(&journal);
            assert!(error.contains(name), "{kind}: {error}");
            fs::remove_file(&trap).unwrap();
            commit(&journal, "after");
            assert_eq!(fs::read_to_string(&mine).unwrap(), "mine");
        }
    }
}

/// As by a process that is stopped in the middle.
#[test]
fn a_locked_buffer_loses_events_after_a_while_and_works_again() {
    let directory = tempfile::tempdir().unwrap();
    let options = options(endpoint(9), directory.path(), NEVER);
    let buffer = options.buffer.clone();
    let journal = journal(options);
    let mut ids = vec![commit(&journal, "before")];
    let lock = fs::File::open(buffer.with_file_name("analytics-buffer.lock")).unwrap();
    lock.lock().unwrap();
    let (event, _) = event("meanwhile");
    assert_eq!(record(&journal, event), Recorded::Lost);
    let error = last_error(&journal);
    assert!(error.contains("locked for 5 s"), "{error}");
    lock.unlock().unwrap();
    ids.push(commit(&journal, "after"));
    assert_eq!(buffered(&buffer), ids);
}

/// Fills a disk with a buffer. What is not an event was not called committed, and no half line is
/// left.
pub(crate) fn fill_the_disk(path: &Path) {
    let options = HttpOptions::new(endpoint(9), path.to_owned(), "dev-test".to_owned());
    let journal = journal(options);
    let large = || event_of(10_000).0;
    let committed = fill_and_make_room(&journal, path, "No space left", large);
    let committed: Vec<String> = committed.iter().map(Uuid::to_string).collect();
    assert_eq!(buffered(path), committed);
    for file in files(path) {
        let text = fs::read_to_string(&file).unwrap();
        for line in text.lines() {
            serde_json::from_str::<Value>(line).unwrap();
        }
    }
    child::tell("the disk was full");
}

/// The directory is removed under a journal that goes on.
#[test]
fn a_buffer_that_is_removed_is_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start([]);
    let options = options(server.endpoint(), directory.path(), INTERVAL);
    let buffer = options.buffer.clone();
    let journal = journal(options);
    let first = commit(&journal, "first");
    wait_for_delivery(&journal, &buffer);
    fs::remove_dir_all(buffer.parent().unwrap()).unwrap();
    let second = commit(&journal, "second");
    wait_for_delivery(&journal, &buffer);
    assert_eq!(server.accepted(), [first, second]);
}

#[test]
fn what_is_shown_of_a_destination_holds_no_secret() {
    let directory = tempfile::tempdir().unwrap();
    let options = options(endpoint(9), directory.path(), NEVER);
    let journal = journal(options);
    let shown = format!("{journal:?}");
    assert!(shown.contains("http://127.0.0.1:9/…"), "{shown}");
    assert!(!shown.contains(SECRET), "{shown}");
}

/// Before the first event nothing is touched.
#[test]
fn a_journal_without_events_makes_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let options = options(endpoint(9), directory.path(), INTERVAL);
    let state = options.buffer.parent().unwrap().to_owned();
    let journal = journal(options.clone());
    assert_eq!(Backlog::of(&options.buffer).unwrap(), Backlog::default());
    journal.close(PATIENCE);
    assert!(!state.exists());
}

/// The ids that occur more than once.
fn repeated(ids: &[String]) -> BTreeSet<&String> {
    let mut seen = BTreeSet::new();
    ids.iter().filter(|it| !seen.insert(*it)).collect()
}
