//! Delivery to a PostgreSQL server that is killed, away, full of other tables, or picky; by processes
//! that are killed. Without PostgreSQL each test says that it is skipped.

mod server;
mod tls;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use skillbundle_journal::{
    Destination, Event, Filter, Invocation, InvocationStatus, Journal, Options, Reader, Recorded,
    Retention, RoutingDecision, ScriptRun, Uuid,
};

use crate::child;
use crate::common::{PATIENCE, analytics, failure, invocation, last_error, now, record, success};
use server::Server;

/// How many invocations the kill tests record: as many as the variable says, or enough to see.
fn invocations() -> usize {
    let set = std::env::var("SKILLBUNDLE_JOURNAL_INVOCATIONS").ok();
    set.map_or(10_000, |it| it.parse().expect("a number"))
}

fn postgres(url: &str, spool: &Path) -> Journal {
    Journal::new(Options::new(Destination::Postgres {
        url: url.to_owned(),
        spool: spool.to_owned(),
    }))
}

/// Waits until a server has everything.
fn wait_for_delivery(journal: &Journal) {
    wait_until(
        || journal.status().undelivered == 0,
        || format!("{:?}", journal.status()),
    );
}

fn wait_until(mut is_so: impl FnMut() -> bool, otherwise: impl Fn() -> String) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < PATIENCE, "{}", otherwise());
        thread::sleep(Duration::from_millis(10));
    }
}

/// Records invocations with everything that belongs to them, one after the other, all of one
/// correlation id, at times that only rise.
fn run_invocations(journal: &Journal, count: usize, done: impl Fn(Uuid)) {
    let correlation_id = Uuid::now_v7();
    let mut at = now();
    for _ in 0..count {
        at = now().max(at + Duration::from_micros(1));
        let made = Invocation {
            correlation_id,
            created_at: at,
            ..invocation("delivered")
        };
        let id = made.id;
        let result = skillbundle_journal::InvocationResult {
            created_at: at,
            ..success(id)
        };
        for event in [
            Event::Created(made),
            Event::Running { id, at },
            Event::Ended(result),
        ] {
            assert_eq!(record(journal, event), Recorded::Committed);
        }
        done(id);
    }
}

/// Nothing is lost, nothing doubled (the ids are unique), and the order of each correlation id kept.
fn check_delivered(server: &Server, database: &str, ids: &BTreeSet<Uuid>) {
    for (table, id) in [
        ("skill_invocations", "id"),
        ("skill_results", "invocation_id"),
    ] {
        let found = server.query(database, &format!("SELECT {id} FROM {table}"));
        let found: Vec<Uuid> = found
            .iter()
            .map(|row| row[0].as_ref().unwrap().parse().unwrap())
            .collect();
        assert_eq!(found.len(), ids.len(), "{table}");
        assert_eq!(&found.into_iter().collect::<BTreeSet<_>>(), ids, "{table}");
    }
    let unfinished = "SELECT count(*) FROM skill_invocations WHERE status <> 'completed'";
    assert_eq!(server.value(database, unfinished), "0");
    check_order(server, database);
}

/// The rows of each correlation id came in the order of their times.
fn check_order(server: &Server, database: &str) {
    for (table, joined) in [
        ("skill_invocations", ""),
        (
            "skill_results",
            "JOIN skill_invocations i ON i.id = t.invocation_id",
        ),
    ] {
        let correlation = if joined.is_empty() { "t" } else { "i" };
        let disorder = format!(
            "SELECT count(*) FROM (SELECT t.created_at, lag(t.created_at) OVER (
                PARTITION BY {correlation}.correlation_id ORDER BY t.arrival) AS before
             FROM {table} t {joined}) AS pairs WHERE created_at <= before"
        );
        assert_eq!(server.value(database, &disorder), "0", "{table}");
    }
}

#[test]
fn a_database_that_is_killed_gets_everything_once_and_in_order() {
    let Some(server) = Server::start() else {
        return;
    };
    let url = server.create("killed");
    let directory = tempfile::tempdir().unwrap();
    let spool = directory.path().join("spool.db");
    let journal = postgres(&url, &spool);
    let (count, threads) = (invocations(), 8);
    let recorded = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                run_invocations(&journal, count / threads, |_| {
                    recorded.fetch_add(1, Ordering::Relaxed);
                });
            });
        }
        for part in [1, 2] {
            let enough = || recorded.load(Ordering::Relaxed) >= count * part / 3;
            wait_until(enough, || "nothing is recorded".to_owned());
            server.kill();
            thread::sleep(Duration::from_millis(300));
            server.restart();
        }
    });
    wait_for_delivery(&journal);
    journal.close(PATIENCE);
    let status = journal.status();
    assert_eq!((status.lost, status.dropped, status.undelivered), (0, 0, 0));
    let ids = ids(&spool);
    assert_eq!(ids.len(), count / threads * threads);
    check_delivered(&server, "killed", &ids);
}

#[test]
fn what_a_killed_process_left_is_delivered_by_the_next() {
    let Some(server) = server::shared() else {
        return;
    };
    let url = server.create("orphans");
    let directory = tempfile::tempdir().unwrap();
    let spool = directory.path().join("spool.db");
    let mut committed = BTreeSet::new();
    for round in 0..4 {
        let mut command = child::command("deliver until killed", &spool);
        let mut process = command.env("JOURNAL_TEST_URL", &url).spawn().unwrap();
        let stdout = child::stdout(&mut process);
        let listener = thread::spawn(move || child::told(stdout).collect::<Vec<String>>());
        thread::sleep(Duration::from_millis(300 + 150 * round));
        process.kill().unwrap();
        process.wait().unwrap();
        let told = listener.join().unwrap();
        committed.extend(told.iter().map(|it| it.parse::<Uuid>().unwrap()));
    }
    let journal = postgres(&url, &spool);
    record(&journal, analytics("last"));
    journal.close(PATIENCE);
    assert_eq!(journal.status().undelivered, 0, "{:?}", journal.status());
    let spooled = ids(&spool);
    assert!(
        committed.len() > 100,
        "only {} were committed",
        committed.len()
    );
    assert!(committed.is_subset(&spooled));
    let delivered = server.query("orphans", "SELECT id FROM skill_invocations");
    let delivered: BTreeSet<Uuid> = delivered
        .iter()
        .map(|row| row[0].as_ref().unwrap().parse().unwrap())
        .collect();
    assert_eq!(delivered, spooled);
    check_order(&server, "orphans");
    // The last of each thread did not end.
    let ended = "SELECT count(*) FROM skill_invocations JOIN skill_results \
                 ON invocation_id = skill_invocations.id WHERE status = 'completed'";
    let ended: usize = server.value("orphans", ended).parse().unwrap();
    assert!(
        (committed.len()..=spooled.len()).contains(&ended),
        "{ended}"
    );
}

/// What the killed processes do: tell each invocation that has ended for sure.
pub(crate) fn record_until_killed(spool: &Path) {
    let url = std::env::var("JOURNAL_TEST_URL").unwrap();
    let journal = postgres(&url, spool);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope
                .spawn(|| run_invocations(&journal, usize::MAX, |id| child::tell(&id.to_string())));
        }
    });
}

/// Each has a delivery thread; one at a time delivers.
#[test]
fn two_processes_on_one_spool_neither_double_nor_swap() {
    let Some(server) = server::shared() else {
        return;
    };
    let url = server.create("two");
    let directory = tempfile::tempdir().unwrap();
    let spool = directory.path().join("spool.db");
    let journals = [postgres(&url, &spool), postgres(&url, &spool)];
    thread::scope(|scope| {
        for journal in &journals {
            for _ in 0..3 {
                scope.spawn(|| run_invocations(journal, 150, |_| {}));
            }
        }
    });
    for journal in &journals {
        journal.close(PATIENCE);
        let status = journal.status();
        assert_eq!((status.lost, status.undelivered), (0, 0), "{status:?}");
    }
    let ids = ids(&spool);
    assert_eq!(ids.len(), 900);
    check_delivered(&server, "two", &ids);
}

#[test]
fn every_kind_of_event_arrives_as_it_was() {
    let Some(server) = server::shared() else {
        return;
    };
    let url = server.create("kinds");
    let directory = tempfile::tempdir().unwrap();
    let journal = postgres(&url, &directory.path().join("spool.db"));
    let made = invocation("task_creation");
    let (id, correlation_id) = (made.id, made.correlation_id);
    let at = now();
    let events = [
        Event::Created(made),
        Event::Running { id, at },
        Event::Ended(failure(id, "NOT_FOUND")),
        Event::Script(ScriptRun {
            id: Uuid::now_v7(),
            skill: "pdf".to_owned(),
            script: "fill.py".to_owned(),
            correlation_id: Some(correlation_id),
            exit_code: Some(3),
            signal: None,
            duration_ms: 12,
            isolation: "full".to_owned(),
            timed_out: false,
            at,
        }),
        Event::Routing(RoutingDecision {
            id: Uuid::now_v7(),
            request: "fill".to_owned(),
            chosen: None,
            outcome: "none".to_owned(),
            candidates: vec![("pdf".to_owned(), 0.5)],
            correlation_id: None,
            at,
        }),
        analytics("skill_loaded"),
    ];
    for event in events {
        assert_eq!(record(&journal, event), Recorded::Committed);
    }
    let waiting = invocation("waiting");
    assert_eq!(
        record(&journal, Event::Created(waiting)),
        Recorded::Committed
    );
    journal.close(PATIENCE);
    for (sql, expected) in [
        (
            "SELECT skill_name, invoking_agent, input_payload->>'title', status, \
             length(input_digest)::text FROM skill_invocations ORDER BY arrival",
            &[
                "task_creation|TestAgent|Buy groceries|failed|32",
                "waiting|TestAgent|Buy groceries|pending|32",
            ][..],
        ),
        (
            "SELECT success, output_payload, failure_code, failure_message, \
             failure_details->>'why', internal_detail, duration_ms FROM skill_results",
            &["f|null|NOT_FOUND|it failed|test|line 7|45"],
        ),
        (
            "SELECT kind, name, skill_name, body->>'isolation', body->>'outcome' \
             FROM skill_events ORDER BY arrival",
            &[
                "script|fill.py|pdf|full|null",
                "routing|none|null|null|none",
                "analytics|skill_loaded|null|null|null",
            ],
        ),
    ] {
        let rows = server.query("kinds", sql);
        let rows: Vec<String> = rows
            .into_iter()
            .map(|row| {
                let values = row.into_iter().map(|it| it.unwrap_or("null".to_owned()));
                values.collect::<Vec<_>>().join("|")
            })
            .collect();
        assert_eq!(rows, expected);
    }
    let found = format!(
        "SELECT created_at = to_timestamp({}) FROM skill_events LIMIT 1",
        {
            let since = at.duration_since(SystemTime::UNIX_EPOCH).unwrap();
            format!("{}.{:06}", since.as_secs(), since.subsec_micros())
        }
    );
    assert_eq!(server.value("kinds", &found), "t");
}

/// JSON that PostgreSQL's JSONB does not take, and text that it does not.
#[test]
fn what_a_server_does_not_take_arrives_in_another_form() {
    let Some(server) = server::shared() else {
        return;
    };
    let url = server.create("strange");
    let directory = tempfile::tempdir().unwrap();
    let spool = directory.path().join("spool.db");
    let journal = postgres(&url, &spool);
    let inputs = [
        r#"{"plain":1}"#.to_owned(),
        r#"{"nul":"a\u0000b"}"#.to_owned(),
        format!("{{\"number\":1e{}}}", "9".repeat(9)),
        r#"{"surrogate":"\ud800"}"#.to_owned(),
        r#"{"also plain":2}"#.to_owned(),
    ];
    for (number, input) in inputs.iter().enumerate() {
        let made = Invocation {
            id: Uuid::from_u128(number as u128),
            input: input.clone(),
            agent: "nul\0agent".to_owned(),
            ..invocation("strange")
        };
        let id = made.id;
        assert_eq!(record(&journal, Event::Created(made)), Recorded::Committed);
        let mut result = success(id);
        result.output = Some(input.clone());
        assert_eq!(record(&journal, Event::Ended(result)), Recorded::Committed);
    }
    journal.close(PATIENCE);
    assert_eq!(journal.status().undelivered, 0, "{:?}", journal.status());
    let rows = server.query(
        "strange",
        "SELECT jsonb_typeof(input_payload), jsonb_typeof(output_payload), input_payload #>> '{}', \
         invoking_agent, status FROM skill_invocations i JOIN skill_results r \
         ON r.invocation_id = i.id ORDER BY i.arrival",
    );
    let found: Vec<Vec<String>> = rows
        .into_iter()
        .map(|row| row.into_iter().map(Option::unwrap).collect())
        .collect();
    let types: Vec<&str> = found.iter().map(|row| row[0].as_str()).collect();
    assert_eq!(types, ["object", "string", "string", "string", "object"]);
    for (row, input) in found.iter().zip(&inputs) {
        assert_eq!(row[0], row[1]);
        if row[0] == "string" {
            assert_eq!(&row[2], input);
        }
        assert_eq!(row[3], "nul\u{fffd}agent");
        assert_eq!(row[4], "completed");
    }
}

/// A rule of the server's owner against single rows holds up nothing else, and loses nothing.
#[test]
fn what_a_server_refuses_is_set_aside_and_tried_again_by_the_next_process() {
    let Some(server) = server::shared() else {
        return;
    };
    let url = server.create("picky");
    let directory = tempfile::tempdir().unwrap();
    let spool = directory.path().join("spool.db");
    let journal = postgres(&url, &spool);
    record(&journal, Event::Created(invocation("first")));
    wait_for_delivery(&journal);
    server.query(
        "picky",
        "ALTER TABLE skill_invocations ADD CONSTRAINT picky CHECK (skill_name <> 'bad')",
    );
    for skill in ["good", "bad", "fine"] {
        record(&journal, Event::Created(invocation(skill)));
    }
    journal.close(PATIENCE);
    assert_eq!(journal.status().undelivered, 1);
    let error = last_error(&journal);
    assert!(error.contains("picky"), "{error}");
    let skills = "SELECT string_agg(skill_name, ' ' ORDER BY arrival) FROM skill_invocations";
    assert_eq!(server.value("picky", skills), "first good fine");
    server.query(
        "picky",
        "ALTER TABLE skill_invocations DROP CONSTRAINT picky",
    );
    let journal = postgres(&url, &spool);
    record(&journal, Event::Created(invocation("last")));
    journal.close(PATIENCE);
    assert_eq!(server.value("picky", skills), "first good fine bad last");
    assert_eq!(journal.status().undelivered, 0);
}

/// Spec 5's tables may be there already, with rows of others.
#[test]
fn existing_tables_get_the_missing_columns() {
    let Some(server) = server::shared() else {
        return;
    };
    let url = server.create("existing");
    server.query(
        "existing",
        "CREATE TABLE skill_invocations (
            id UUID PRIMARY KEY DEFAULT gen_random_uuid(),
            skill_name VARCHAR(64) NOT NULL,
            invoking_agent VARCHAR(64) NOT NULL,
            correlation_id UUID NOT NULL,
            input_payload JSONB NOT NULL,
            status VARCHAR(20) NOT NULL DEFAULT 'pending',
            created_at TIMESTAMPTZ NOT NULL DEFAULT NOW()
        );
        INSERT INTO skill_invocations (skill_name, invoking_agent, correlation_id, input_payload)
        VALUES ('theirs', 'x', gen_random_uuid(), '{}')",
    );
    let directory = tempfile::tempdir().unwrap();
    // Two at once, so that the advisory lock has something to do.
    let journals: Vec<Journal> = (0..4)
        .map(|number| postgres(&url, &directory.path().join(format!("{number}.db"))))
        .collect();
    for journal in &journals {
        record(journal, Event::Created(invocation("ours")));
    }
    for journal in journals {
        journal.close(PATIENCE);
        assert_eq!(journal.status().undelivered, 0, "{:?}", journal.status());
        assert_eq!(journal.status().last_error, None);
    }
    let count = "SELECT count(*) FROM skill_invocations WHERE arrival IS NOT NULL";
    assert_eq!(server.value("existing", count), "5");
    let versions = "SELECT string_agg(version::text, ' ') FROM skillbundle_schema";
    assert_eq!(server.value("existing", versions), "1");
}

#[test]
fn a_newer_database_gets_nothing_and_both_versions_are_named() {
    let Some(server) = server::shared() else {
        return;
    };
    let url = server.create("newer");
    server.query(
        "newer",
        "CREATE TABLE skillbundle_schema (version INTEGER PRIMARY KEY);
         INSERT INTO skillbundle_schema VALUES (7)",
    );
    let directory = tempfile::tempdir().unwrap();
    let journal = postgres(&url, &directory.path().join("spool.db"));
    assert_eq!(record(&journal, analytics("x")), Recorded::Committed);
    journal.close(PATIENCE);
    assert_eq!(journal.status().undelivered, 1);
    let error = last_error(&journal);
    assert!(error.contains("version 7, this program knows 1"), "{error}");
}

/// A user who may write rows and make no tables is enough once the tables are there.
#[test]
fn a_user_without_rights_to_make_tables_can_deliver() {
    let Some(server) = server::shared() else {
        return;
    };
    let url = server.create("narrow");
    let directory = tempfile::tempdir().unwrap();
    let journal = postgres(&url, &directory.path().join("first.db"));
    record(&journal, analytics("makes the tables"));
    journal.close(PATIENCE);
    server.query(
        "narrow",
        "CREATE USER narrow; REVOKE CREATE ON SCHEMA public FROM PUBLIC;
         GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public TO narrow;
         GRANT UPDATE (status) ON skill_invocations TO narrow",
    );
    let url = url.replace("postgres@", "narrow@");
    let journal = postgres(&url, &directory.path().join("second.db"));
    run_invocations(&journal, 3, |_| {});
    journal.close(PATIENCE);
    assert_eq!(journal.status().undelivered, 0, "{:?}", journal.status());
    let count = "SELECT count(*) FROM skill_results";
    assert_eq!(server.value("narrow", count), "3");
}

/// Needs no server: there is none.
#[test]
fn without_a_server_everything_stays_in_the_spool() {
    let directory = tempfile::tempdir().unwrap();
    let spool = directory.path().join("spool.db");
    // Nobody listens on the port of a listener that is gone.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let url = format!("postgres://me:hunter2@127.0.0.1:{port}/journal?sslmode=disable");
    let nothing_stays = Retention {
        max_age: Some(Duration::ZERO),
        max_rows: Some(0),
    };
    let options = Options {
        retention: nothing_stays,
        ..Options::new(Destination::Postgres {
            url,
            spool: spool.clone(),
        })
    };
    assert!(!format!("{options:?}").contains("hunter2"), "{options:?}");
    let journal = Journal::new(options);
    run_invocations(&journal, 3, |_| {});
    record(&journal, analytics("x"));
    wait_until(
        || journal.status().last_error.is_some(),
        || "no fault".to_owned(),
    );
    let error = last_error(&journal);
    assert!(
        error.contains(&format!("127.0.0.1:{port}/journal")),
        "{error}"
    );
    assert!(!error.contains("hunter2"), "{error}");
    journal.close(PATIENCE);
    let status = journal.status();
    assert_eq!((status.lost, status.undelivered), (0, 10), "{status:?}");
    let reader = Reader::open(&spool).unwrap();
    let pruned = reader
        .prune(SystemTime::now() + Duration::from_secs(60), None)
        .unwrap();
    assert_eq!(
        (pruned.invocations, pruned.events, pruned.undelivered),
        (0, 0, 4)
    );
    let left = reader.list(&Filter::default()).unwrap();
    assert_eq!(left.len(), 3);
    assert!(
        left.iter()
            .all(|it| it.status == InvocationStatus::Completed)
    );
}

/// An address that is none is a fault of delivery alone.
#[test]
fn with_a_bad_address_events_are_still_recorded() {
    let directory = tempfile::tempdir().unwrap();
    let spool = directory.path().join("spool.db");
    let journal = postgres("postgres://me:hunter2@host?sslmode=perhaps", &spool);
    assert_eq!(record(&journal, analytics("x")), Recorded::Committed);
    let error = last_error(&journal);
    assert!(error.contains("expected sslmode"), "{error}");
    assert!(!error.contains("hunter2"), "{error}");
    journal.close(PATIENCE);
}

/// The invocations in a spool.
fn ids(spool: &Path) -> BTreeSet<Uuid> {
    let records = Reader::open(spool).unwrap().list(&Filter::default());
    records.unwrap().iter().map(|it| it.invocation.id).collect()
}
