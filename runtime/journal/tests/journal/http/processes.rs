//! Several processes on one buffer, and processes that are killed: what was called committed arrives,
//! by a process that comes later if need be.

use std::collections::BTreeSet;
use std::env;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use skillbundle_journal::{Backlog, HttpOptions};

use super::server::{Answer, Request, Server, endpoint};
use super::{INTERVAL, check_requests, commit, journal, options, repeated, wait_for_delivery};
use crate::child;
use crate::common::PATIENCE;

/// The port of the server.
const PORT: &str = "JOURNAL_TEST_PORT";

const KILLS: u64 = 15;

fn child_command(role: &str, directory: &Path, server: &Server) -> Command {
    let mut command = child::command(role, directory);
    command.env(PORT, server.port().to_string());
    command
}

/// What a child process records to.
fn of_child(directory: &Path) -> HttpOptions {
    let port = env::var(PORT).unwrap().parse().unwrap();
    options(endpoint(port), directory, INTERVAL)
}

/// Faults of the server, so that processes are also killed between them.
fn faults() -> impl Iterator<Item = Answer> {
    let kinds = [
        Answer::status("200 OK", ""),
        Answer::status("500 Oh", ""),
        Answer::status("200 OK", ""),
        Answer::Close,
        Answer::CloseInBody,
    ];
    kinds.into_iter().cycle().take(100)
}

/// An event arrives once, unless nobody was left to hear that it has arrived: then its whole request
/// comes again, under the same key.
#[test]
fn nothing_committed_is_lost_when_processes_are_killed() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(faults());
    let mut committed = Vec::new();
    for kill in 0..KILLS {
        let mut process = child_command("send until killed", directory.path(), &server)
            .spawn()
            .unwrap();
        let stdout = child::stdout(&mut process);
        let listener = thread::spawn(move || child::told(stdout).collect::<Vec<String>>());
        thread::sleep(Duration::from_millis(20 + kill * 13));
        process.kill().unwrap();
        process.wait().unwrap();
        committed.extend(listener.join().unwrap());
    }
    assert!(committed.len() > 200, "only {}", committed.len());
    let last = options(server.endpoint(), directory.path(), INTERVAL);
    let buffer = last.buffer.clone();
    let last = journal(last);
    committed.push(commit(&last, "last"));
    wait_for_delivery(&last, &buffer);
    last.close(PATIENCE);
    let requests = server.requests();
    check_requests(&requests);
    let arrived: BTreeSet<String> = server.accepted().into_iter().collect();
    let missing: Vec<_> = committed
        .iter()
        .filter(|it| !arrived.contains(*it))
        .collect();
    assert_eq!(missing, [] as [&String; 0]);
    // Each kill may have come between an answer and the removal of what it accepted.
    let accepted: Vec<String> = requests
        .iter()
        .filter(|it| it.accepted)
        .map(|it| it.header("idempotency-key").to_owned())
        .collect();
    let again = repeated(&accepted).len() as u64;
    assert!(again <= KILLS, "{again}");
    assert_eq!(Backlog::of(&buffer).unwrap().dropped, 0);
}

/// Events from several threads, each reported as soon as it is committed.
pub(crate) fn record_until_killed(directory: &Path) {
    let journal = journal(of_child(directory));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    child::tell(&commit(&journal, "killed"));
                }
            });
        }
    });
}

#[test]
fn several_processes_share_a_buffer_and_one_publishes() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(faults());
    let processes: Vec<_> = (0..4)
        .map(|_| {
            let mut process = child_command("send and leave", directory.path(), &server)
                .spawn()
                .unwrap();
            let stdout = child::stdout(&mut process);
            let listener = thread::spawn(move || child::told(stdout).collect::<Vec<String>>());
            (process, listener)
        })
        .collect();
    let mut committed = Vec::new();
    for (mut process, listener) in processes {
        committed.extend(listener.join().unwrap());
        assert!(process.wait().unwrap().success());
    }
    let last = options(server.endpoint(), directory.path(), INTERVAL);
    let buffer = last.buffer.clone();
    let last = journal(last);
    committed.push(commit(&last, "last"));
    wait_for_delivery(&last, &buffer);
    let requests = server.requests();
    check_requests(&requests);
    assert_eq!(committed.len(), 4 * 300 + 1);
    let accepted = server.accepted();
    assert_eq!(repeated(&accepted), BTreeSet::new());
    let arrived: BTreeSet<&String> = accepted.iter().collect();
    let missing: Vec<_> = committed
        .iter()
        .filter(|it| !arrived.contains(it))
        .collect();
    assert_eq!((missing, accepted.len()), (Vec::new(), committed.len()));
}

/// Records for a while, and leaves at once.
pub(crate) fn record_and_leave(directory: &Path) {
    let journal = journal(of_child(directory));
    for number in 0..300 {
        child::tell(&commit(&journal, "shared"));
        if number % 50 == 0 {
            thread::sleep(INTERVAL);
        }
    }
    // With time for a request that is under way, so that nothing arrives twice.
    journal.close(PATIENCE);
}

/// Of two journals one publishes for both; when it ends the other does.
#[test]
fn another_takes_over_when_the_publisher_ends() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start([]);
    let options = options(server.endpoint(), directory.path(), INTERVAL);
    let buffer = options.buffer.clone();
    let (first, second) = (journal(options.clone()), journal(options));
    let mut ids = vec![commit(&first, "first")];
    wait_for_delivery(&first, &buffer);
    ids.push(commit(&second, "second"));
    wait_for_delivery(&second, &buffer);
    first.close(PATIENCE);
    ids.push(commit(&second, "third"));
    wait_for_delivery(&second, &buffer);
    assert_eq!(server.accepted(), ids);
    let requests: Vec<Request> = server.requests();
    assert_eq!(requests.len(), 3);
}
