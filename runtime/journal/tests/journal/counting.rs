//! What is counted over days: groups, sums, bodies, files of an older version.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rusqlite::Connection;
use skillbundle_journal::{
    Destination, Event, EventCount, Invocation, InvocationCount, Journal, Options, Reader,
    Retention, RoutingDecision, ScriptRun, Uuid,
};

use crate::common::{invocation, record};

/// 2026-01-12T00:00:00Z.
const MIDNIGHT: u64 = 1_768_176_000;
const DAY: u64 = 86_400;

fn at(day: u64, second: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(MIDNIGHT + day * DAY + second)
}

fn loaded(skill: &str, at: SystemTime) -> Event {
    Event::Analytics {
        id: Uuid::now_v7(),
        name: "skill_loaded".to_owned(),
        skill: Some(skill.to_owned()),
        correlation_id: None,
        body: format!("{{\"skill_path\":\"{skill}\"}}"),
        at,
    }
}

fn routed(outcome: &str, chosen: Option<&str>, at: SystemTime) -> Event {
    Event::Routing(RoutingDecision {
        id: Uuid::now_v7(),
        request: "fill in a form".to_owned(),
        chosen: chosen.map(str::to_owned),
        outcome: outcome.to_owned(),
        candidates: Vec::new(),
        correlation_id: None,
        at,
    })
}

fn ran(skill: &str, correlation_id: Option<Uuid>, at: SystemTime) -> Event {
    Event::Script(ScriptRun {
        id: Uuid::now_v7(),
        skill: skill.to_owned(),
        script: "run.sh".to_owned(),
        correlation_id,
        exit_code: Some(0),
        signal: None,
        duration_ms: 1,
        isolation: "weak".to_owned(),
        timed_out: false,
        at,
    })
}

fn invoked(skill: &str, at: SystemTime) -> Event {
    Event::Created(Invocation {
        created_at: at,
        ..invocation(skill)
    })
}

/// Three days of use.
fn write(path: &Path) {
    let retention = Retention {
        max_age: None,
        max_rows: None,
    };
    let journal = Journal::new(Options {
        retention,
        ..Options::new(Destination::Sqlite(path.to_owned()))
    });
    for event in [
        loaded("pdf", at(0, 0)),
        loaded("pdf", at(0, DAY - 1)),
        loaded("pdf", at(1, 0)),
        loaded("git", at(2, 5)),
        routed("match", Some("pdf"), at(0, 7)),
        routed("no_match", None, at(1, 8)),
        ran("pdf", None, at(1, 9)),
        ran("pdf", Some(Uuid::now_v7()), at(1, 10)),
        invoked("task", at(0, 11)),
        invoked("task", at(0, 12)),
        invoked("task", at(2, 13)),
    ] {
        record(&journal, event);
    }
}

type Row = (String, String, Option<String>, bool, SystemTime, u64);

fn row(it: EventCount<'_>) -> Row {
    (
        it.kind.to_owned(),
        it.name.to_owned(),
        it.skill.map(str::to_owned),
        it.is_correlated,
        it.day,
        it.count,
    )
}

fn expected() -> Vec<Row> {
    let row = |kind: &str, name: &str, skill: Option<&str>, is_correlated, day, count| {
        let skill = skill.map(str::to_owned);
        let (kind, name) = (kind.to_owned(), name.to_owned());
        (kind, name, skill, is_correlated, at(day, 0), count)
    };
    vec![
        row("analytics", "skill_loaded", Some("git"), false, 2, 1),
        row("analytics", "skill_loaded", Some("pdf"), false, 0, 2),
        row("analytics", "skill_loaded", Some("pdf"), false, 1, 1),
        row("routing", "match", Some("pdf"), false, 0, 1),
        row("routing", "no_match", None, false, 1, 1),
        row("script", "run.sh", Some("pdf"), false, 1, 1),
        row("script", "run.sh", Some("pdf"), true, 1, 1),
    ]
}

fn counted(reader: &Reader) -> Vec<Row> {
    let mut rows = counted_since(reader, None);
    rows.sort();
    rows
}

fn counted_since(reader: &Reader, since: Option<SystemTime>) -> Vec<Row> {
    let mut rows = Vec::new();
    let read = reader.count_events(since, |it| rows.push(row(it)));
    read.unwrap();
    rows
}

#[test]
fn events_are_counted_by_kind_name_skill_and_day() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    write(&path);
    let reader = Reader::open(&path).unwrap();
    assert_eq!(counted(&reader), expected());
    // A time within a day counts what came after it alone.
    for (since, expected) in [
        (None, Some((2, at(0, DAY - 1)))),
        (Some(at(0, 1)), Some((1, at(0, DAY - 1)))),
        (Some(at(1, 0)), None),
    ] {
        let mut found = None;
        let read = reader.count_events(since, |it| {
            if (it.name, it.skill, it.day) == ("skill_loaded", Some("pdf"), at(0, 0)) {
                found = Some((it.count, it.last));
            }
        });
        read.unwrap();
        assert_eq!(found, expected, "{since:?}");
    }
    assert_eq!(counted_since(&reader, Some(at(3, 0))), []);
}

#[test]
fn invocations_are_counted_by_skill_and_day() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    write(&path);
    let reader = Reader::open(&path).unwrap();
    let count = |day, count, last| InvocationCount {
        skill: "task",
        day: at(day, 0),
        count,
        last: at(day, last),
    };
    let mut expected = [count(0, 2, 12), count(2, 1, 13)].into_iter();
    let read = reader.count_invocations(None, |it| assert_eq!(Some(it), expected.next()));
    read.unwrap();
    assert_eq!(expected.next(), None);
}

#[test]
fn bodies_are_those_of_one_kind_and_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    write(&path);
    let reader = Reader::open(&path).unwrap();
    let mut found = BTreeMap::new();
    let read = reader.each_body("analytics", "skill_loaded", Some(at(1, 0)), |it| {
        found.insert(it.at, (it.row, it.body.to_owned()));
    });
    read.unwrap();
    let bodies: Vec<_> = found.values().map(|(_, body)| body.as_str()).collect();
    assert_eq!(
        bodies,
        ["{\"skill_path\":\"pdf\"}", "{\"skill_path\":\"git\"}"]
    );
    for (row, body) in found.values() {
        let mut again = String::new();
        reader
            .body(*row, |it| it.body.clone_into(&mut again))
            .unwrap();
        assert_eq!(again, *body);
    }
    let none = reader.body(i64::MAX, |it| panic!("found {it:?}"));
    assert_eq!(none, Ok(()));
}

/// What is recorded meanwhile is not seen, so that all counts are of one moment.
#[test]
fn reads_are_of_one_moment() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    write(&path);
    let reader = Reader::open(&path).unwrap();
    let writer = Journal::new(Options::new(Destination::Sqlite(path.clone())));
    let seen = reader.at_one_moment(|reader| {
        let before = counted(reader);
        record(&writer, loaded("new", SystemTime::now()));
        Ok(before == counted(reader))
    });
    assert_eq!(seen, Ok(true));
    assert_eq!(counted(&reader).len(), expected().len() + 1);
}

/// A file of version 1 has no index for the counts, and may be read before somebody writes it.
#[test]
fn an_older_file_is_counted_too_and_brought_up_to_date_when_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    write(&path);
    let older = Connection::open(&path).unwrap();
    let to_version_1 = "DROP INDEX idx_events_counts;
        DROP INDEX idx_skill_invocations_skill_name;
        CREATE INDEX idx_skill_invocations_skill_name ON skill_invocations (skill_name);
        PRAGMA user_version = 1;";
    older.execute_batch(to_version_1).unwrap();
    assert_eq!(counted(&Reader::open(&path).unwrap()), expected());
    let writer = Journal::new(Options::new(Destination::Sqlite(path.clone())));
    record(&writer, loaded("new", SystemTime::now()));
    let indices = "SELECT count(*) FROM sqlite_schema WHERE name = 'idx_events_counts'";
    let count = older.query_row(indices, [], |row| row.get::<_, i64>(0));
    assert_eq!(count, Ok(1));
}
