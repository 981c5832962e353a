//! What the command line asks of a journal: lists, counts, exports, removal.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use skillbundle_journal::{
    Destination, Event, Filter, Invocation, InvocationResult, InvocationStatus, Journal, Options,
    Pruned, Reader, Recorded, Retention, SkillStats, Uuid, rfc3339,
};

use InvocationStatus::{Completed, Failed, Timeout};

use crate::common::{PATIENCE, analytics, failure, invocation, now, record, success};

/// A journal that removes nothing, since the times here are long past.
fn keeping(path: &Path) -> Journal {
    let retention = Retention {
        max_age: None,
        max_rows: None,
    };
    Journal::new(Options {
        retention,
        ..Options::new(Destination::Sqlite(path.to_owned()))
    })
}

/// Seconds after 2026-01-12T10:00:00Z.
fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_768_212_000 + seconds)
}

/// Records an invocation that ends after `ms`.
fn run(journal: &Journal, invocation: Invocation, end: Option<(InvocationStatus, &str, u32)>) {
    let id = invocation.id;
    assert_eq!(
        record(journal, Event::Created(invocation)),
        Recorded::Committed
    );
    let Some((status, code, duration_ms)) = end else {
        return;
    };
    let result = match status {
        Completed => success(id),
        _ => failure(id, code),
    };
    let ended = Event::Ended(InvocationResult {
        duration_ms,
        status,
        ..result
    });
    assert_eq!(record(journal, ended), Recorded::Committed);
}

#[test]
fn filters_combine() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = keeping(&path);
    let correlation_id = Uuid::now_v7();
    let made = |number: u64, skill: &str, agent: &str| Invocation {
        id: Uuid::from_u128(number.into()),
        agent: agent.to_owned(),
        created_at: at(number),
        ..invocation(skill)
    };
    run(&journal, made(1, "a", "x"), Some((Completed, "", 1)));
    run(&journal, made(2, "a", "y"), Some((Failed, "NOT_FOUND", 2)));
    let third = Invocation {
        correlation_id,
        ..made(3, "b", "x")
    };
    run(&journal, third, Some((Timeout, "TIMEOUT", 3)));
    run(&journal, made(4, "b", "y"), None);

    let reader = Reader::open(&path).unwrap();
    let all = Filter::default;
    let text = |it: &str| Some(it.to_owned());
    for (filter, expected) in [
        (all(), &[4, 3, 2, 1][..]),
        (
            Filter {
                skill: text("a"),
                ..all()
            },
            &[2, 1],
        ),
        (
            Filter {
                agent: text("x"),
                ..all()
            },
            &[3, 1],
        ),
        (
            Filter {
                skill: text("a"),
                agent: text("x"),
                ..all()
            },
            &[1],
        ),
        (
            Filter {
                skill: text("c"),
                ..all()
            },
            &[],
        ),
        (
            Filter {
                skill: text("a' OR 1=1 --"),
                ..all()
            },
            &[],
        ),
        (
            Filter {
                status: Some(Failed),
                ..all()
            },
            &[2],
        ),
        (
            Filter {
                status: Some(InvocationStatus::Pending),
                ..all()
            },
            &[4],
        ),
        (
            Filter {
                since: Some(at(2)),
                ..all()
            },
            &[4, 3, 2],
        ),
        (
            Filter {
                until: Some(at(2)),
                ..all()
            },
            &[1],
        ),
        (
            Filter {
                since: Some(at(2)),
                until: Some(at(4)),
                ..all()
            },
            &[3, 2],
        ),
        (
            Filter {
                correlation_id: Some(correlation_id),
                ..all()
            },
            &[3],
        ),
        (
            Filter {
                limit: Some(2),
                ..all()
            },
            &[4, 3],
        ),
        (
            Filter {
                limit: Some(0),
                ..all()
            },
            &[],
        ),
    ] {
        let found = reader.list(&filter).unwrap();
        let found: Vec<u128> = found.iter().map(|it| it.invocation.id.as_u128()).collect();
        assert_eq!(found, expected, "{filter:?}");
        let mut exported = Vec::new();
        let export = reader.export(&filter, |line| {
            let line: Value = serde_json::from_str(line).unwrap();
            exported.push(
                line["id"]
                    .as_str()
                    .unwrap()
                    .parse::<Uuid>()
                    .unwrap()
                    .as_u128(),
            );
            Ok::<(), Infallible>(())
        });
        export.unwrap().unwrap();
        exported.reverse();
        assert_eq!(exported, expected, "{filter:?}");
    }
}

#[test]
fn stats_count_each_skill() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = keeping(&path);
    for duration in 1..=20 {
        run(
            &journal,
            invocation("busy"),
            Some((Completed, "", duration)),
        );
    }
    run(
        &journal,
        invocation("busy"),
        Some((Failed, "NOT_FOUND", 500)),
    );
    run(
        &journal,
        invocation("busy"),
        Some((Failed, "NOT_FOUND", 30)),
    );
    run(
        &journal,
        invocation("busy"),
        Some((Timeout, "TIMEOUT", 9000)),
    );
    run(&journal, invocation("waiting"), None);
    let stats = Reader::open(&path).unwrap().stats(&Filter::default());
    let busy = SkillStats {
        skill: "busy".to_owned(),
        invocations: 23,
        completed: 20,
        failed: 2,
        timed_out: 1,
        unfinished: 0,
        failures: BTreeMap::from([("NOT_FOUND".to_owned(), 2), ("TIMEOUT".to_owned(), 1)]),
        p50_ms: Some(12),
        p95_ms: Some(500),
        max_ms: Some(9000),
    };
    let waiting = SkillStats {
        skill: "waiting".to_owned(),
        invocations: 1,
        unfinished: 1,
        ..SkillStats::default()
    };
    assert_eq!(stats.unwrap(), [busy, waiting]);
}

#[test]
fn an_export_has_everything_and_can_be_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = keeping(&path);
    let made = Invocation {
        created_at: at(0),
        ..invocation("task_creation")
    };
    let (id, correlation_id) = (made.id, made.correlation_id);
    run(&journal, made, Some((Failed, "NOT_FOUND", 45)));
    record(&journal, analytics("skill_loaded"));
    let reader = Reader::open(&path).unwrap();
    let mut lines = Vec::new();
    let export = reader.export(&Filter::default(), |line| {
        lines.push(serde_json::from_str::<Value>(line).unwrap());
        Ok::<(), Infallible>(())
    });
    export.unwrap().unwrap();
    let result = reader.show(id).unwrap().unwrap().result.unwrap();
    let expected = json!({
        "event": "invocation",
        "id": id,
        "skill_name": "task_creation",
        "invoking_agent": "TestAgent",
        "correlation_id": correlation_id,
        "input_payload": { "title": "Buy groceries" },
        "input_digest": "07".repeat(32),
        "created_at": "2026-01-12T10:00:00.000000Z",
        "status": "failed",
        "result": {
            "invocation_id": id,
            "status": "failed",
            "success": false,
            "output_payload": null,
            "failure_code": "NOT_FOUND",
            "failure_message": "it failed",
            "failure_details": { "why": "test" },
            "internal_detail": "line 7",
            "duration_ms": 45,
            "created_at": rfc3339(result.created_at),
        },
    });
    assert_eq!(lines[0], expected);
    assert_eq!(lines[1]["event"], "analytics");
    assert_eq!(lines.len(), 2);
    let mut seen = 0;
    let export = reader.export(&Filter::default(), |_| {
        seen += 1;
        Err("the pipe is closed")
    });
    assert_eq!((export.unwrap(), seen), (Err("the pipe is closed"), 1));
}

#[test]
fn what_is_old_is_removed_by_hand() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = keeping(&path);
    for number in 0..1200 {
        let made = Invocation {
            created_at: at(number),
            ..invocation(if number % 2 == 0 { "even" } else { "odd" })
        };
        let id = made.id;
        journal.note(Event::Created(made));
        journal.note(Event::Ended(success(id)));
        let Event::Analytics { id, name, body, .. } = analytics("old") else {
            unreachable!("it makes analytics events");
        };
        journal.note(Event::Analytics {
            id,
            name,
            skill: None,
            correlation_id: None,
            body,
            at: at(number),
        });
    }
    // A result of the last one has been recorded when this has.
    record(&journal, analytics("new"));
    let reader = Reader::open(&path).unwrap();
    let pruned = |invocations, events| {
        Ok(Pruned {
            invocations,
            events,
            undelivered: 0,
        })
    };
    assert_eq!(reader.prune(at(0), None), pruned(0, 0));
    assert_eq!(reader.prune(at(100), Some("odd")), pruned(50, 0));
    assert_eq!(reader.prune(at(1000), None), pruned(950, 1000));
    let left = reader.list(&Filter::default()).unwrap();
    assert_eq!(left.len(), 200);
    assert!(
        left.iter()
            .all(|it| it.result.is_some() && it.invocation.created_at >= at(1000))
    );
    assert_eq!(reader.events(&Filter::default()).unwrap().len(), 201);
    // Whoever writes does not notice.
    assert_eq!(record(&journal, analytics("after")), Recorded::Committed);
}

#[test]
fn the_writer_removes_what_is_old_or_too_much() {
    let directory = tempfile::tempdir().unwrap();
    let age = Duration::from_secs(3600);
    for (name, retention, left) in [
        (
            "age",
            Retention {
                max_age: Some(age),
                max_rows: None,
            },
            301,
        ),
        (
            "rows",
            Retention {
                max_age: None,
                max_rows: Some(100),
            },
            100,
        ),
        (
            "nothing",
            Retention {
                max_age: None,
                max_rows: None,
            },
            901,
        ),
    ] {
        let path = directory.path().join(name);
        let options = Options {
            retention: Retention {
                max_age: None,
                max_rows: None,
            },
            ..Options::new(Destination::Sqlite(path.clone()))
        };
        let journal = Journal::new(options.clone());
        for number in 0..900 {
            let created_at = if number < 600 { at(number) } else { now() };
            journal.note(Event::Created(Invocation {
                created_at,
                ..invocation("x")
            }));
        }
        journal.close(PATIENCE);
        assert_eq!(journal.status().lost, 0);
        let reader = Reader::open(&path).unwrap();
        let count = || reader.list(&Filter::default()).unwrap().len();
        assert_eq!(count(), 900);
        let journal = Journal::new(Options {
            retention,
            ..options
        });
        let last = invocation("last");
        let id = last.id;
        assert_eq!(record(&journal, Event::Created(last)), Recorded::Committed);
        // It does so after it has told its callers.
        let started = std::time::Instant::now();
        while count() != left && started.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(count(), left, "{name}");
        assert!(reader.show(id).unwrap().is_some(), "{name}");
    }
}
