//! What recording costs: the caller's path of `record` (the event is queued) and the time until it is
//! committed, against a floor: the same statements by rusqlite alone, in one thread.
//!
//! `cargo bench -p skillbundle-journal` prints microseconds: half of the calls took no longer than the
//! first number, 99 of 100 no longer than the second.
#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::hint::black_box;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rusqlite::{Connection, params};
use skillbundle_journal::{Destination, Event, Invocation, Journal, Options, Recorded, Uuid};

const EVENTS: usize = 5_000;
const THREADS: usize = 8;

fn main() {
    let directory = tempfile::tempdir().expect("a directory");
    println!("{EVENTS} invocations each, in µs           p50        p99       mean");
    let path = |name: &str| directory.path().join(name);
    floor(&path("floor.db"), 1);
    floor(&path("floor-group.db"), 64);
    for (name, destination) in [
        ("SQLite", Destination::Sqlite(path("journal.db"))),
        ("JSONL", Destination::Jsonl(path("journal.jsonl"))),
        ("off", Destination::Off),
    ] {
        let journal = Journal::new(Options::new(destination));
        // The first event starts the writer and makes the file.
        until_done(&journal, invocation());
        queueing(name, &journal);
        waiting(name, &journal, 1);
        waiting(name, &journal, THREADS);
        let status = journal.status();
        assert_eq!((status.lost, status.dropped), (0, 0));
        journal.close(Duration::from_secs(60));
    }
}

fn invocation() -> Invocation {
    Invocation {
        id: Uuid::now_v7(),
        skill: "task_creation".to_owned(),
        agent: "TaskAgent".to_owned(),
        correlation_id: Uuid::now_v7(),
        input: format!("{{\"title\":\"{}\"}}", "Buy groceries ".repeat(20)),
        input_digest: [7; 32],
        created_at: SystemTime::now(),
    }
}

/// The same row into the same table, without this crate.
fn floor(path: &Path, per_transaction: usize) {
    // The journal makes the table, so that it is the same.
    let journal = Journal::new(Options::new(Destination::Sqlite(path.to_owned())));
    until_done(&journal, invocation());
    journal.close(Duration::from_secs(60));
    let connection = Connection::open(path).expect("the file is there");
    let settings = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;";
    connection.execute_batch(settings).expect("settings");
    let mut times = Vec::with_capacity(EVENTS);
    let started = Instant::now();
    for _ in 0..EVENTS / per_transaction {
        let rows: Vec<Invocation> = (0..per_transaction).map(|_| invocation()).collect();
        let begun = Instant::now();
        connection.execute_batch("BEGIN IMMEDIATE").expect("begin");
        for row in rows {
            insert(&connection, &row);
        }
        connection.execute_batch("COMMIT").expect("commit");
        times.push(begun.elapsed());
    }
    let mean = started.elapsed() / u32::try_from(EVENTS).expect("small");
    report(
        &format!("floor: {per_transaction} per transaction"),
        times,
        mean,
    );
}

fn insert(connection: &Connection, row: &Invocation) {
    let sql = "INSERT INTO skill_invocations (id, skill_name, invoking_agent, correlation_id, \
               input_payload, input_digest, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let mut statement = connection.prepare_cached(sql).expect("a statement");
    let values = params![
        row.id.to_string(),
        row.skill,
        row.agent,
        row.correlation_id.to_string(),
        row.input,
        row.input_digest,
        1_768_212_000_000_000_i64,
    ];
    statement.execute(values).expect("a row");
}

/// The caller's path alone: what a server's thread loses.
fn queueing(name: &str, journal: &Journal) {
    let (sender, receiver) = mpsc::channel::<()>();
    let mut times = Vec::with_capacity(EVENTS);
    for _ in 0..EVENTS {
        let (event, sender) = (Event::Created(invocation()), sender.clone());
        let begun = Instant::now();
        journal.record(event, move |it| {
            black_box(it);
            drop(sender);
        });
        times.push(begun.elapsed());
    }
    let mean = times.iter().sum::<Duration>() / u32::try_from(EVENTS).expect("small");
    drop(sender);
    // All are done when the last sender is gone.
    receiver.recv().expect_err("nobody sends");
    report(&format!("{name}: record"), times, mean);
}

/// From the call until `done`, by several callers at once.
fn waiting(name: &str, journal: &Journal, threads: usize) {
    let started = Instant::now();
    let times: Vec<Duration> = thread::scope(|scope| {
        let callers: Vec<_> = (0..threads)
            .map(|_| {
                let one = || until_done(journal, invocation());
                scope.spawn(move || (0..EVENTS / threads).map(|_| one()).collect::<Vec<_>>())
            })
            .collect();
        let times = callers.into_iter().map(|it| it.join().expect("no panic"));
        times.flatten().collect()
    });
    let mean = started.elapsed() / u32::try_from(EVENTS).expect("small");
    report(
        &format!("{name}: until done, {threads} callers"),
        times,
        mean,
    );
}

fn until_done(journal: &Journal, invocation: Invocation) -> Duration {
    let (sender, receiver) = mpsc::channel();
    let begun = Instant::now();
    journal.record(Event::Created(invocation), move |it| {
        sender.send(it).expect("the caller waits");
    });
    let recorded = receiver.recv().expect("the journal answers");
    assert!(matches!(recorded, Recorded::Committed | Recorded::Off));
    begun.elapsed()
}

fn report(name: &str, mut times: Vec<Duration>, mean: Duration) {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    let micros = |it: Duration| it.as_secs_f64() * 1e6;
    let (half, most, mean) = (micros(at(50)), micros(at(99)), micros(mean));
    println!("{name:<34}{half:>10.1}{most:>11.1}{mean:>11.1}");
}
