//! What is recorded is what is read, and what contradicts it is refused.

use std::sync::mpsc;
use std::time::Duration;

use skillbundle_journal::{
    Claim, Event, Filter, Invocation, InvocationResult, InvocationStatus, Journal, JournalError,
    Options, Reader, Record, Recorded, RoutingDecision, ScriptRun, Uuid,
};

use crate::common::{
    PATIENCE, analytics, claim, failure, hold, invocation, last_error, now, record, sqlite, success,
};

#[test]
fn what_is_recorded_is_what_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state/journal.db");
    let journal = sqlite(&path);
    let invocation = invocation("task_creation");
    let id = invocation.id;
    let read = || Reader::open(&path).unwrap().show(id).unwrap().unwrap();
    let mut expected = Record {
        invocation: invocation.clone(),
        status: InvocationStatus::Pending,
        result: None,
    };
    let committed = |event| assert_eq!(record(&journal, event), Recorded::Committed);

    committed(Event::Created(invocation));
    assert_eq!(read(), expected);

    committed(Event::Running { id, at: now() });
    expected.status = InvocationStatus::Running;
    assert_eq!(read(), expected);

    let result = failure(id, "NOT_FOUND");
    committed(Event::Ended(result.clone()));
    expected.status = InvocationStatus::Failed;
    expected.result = Some(result);
    assert_eq!(read(), expected);
    assert_eq!(Reader::open(&path).unwrap().show(Uuid::now_v7()), Ok(None));
}

#[test]
fn other_events_are_read_as_they_were() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = sqlite(&path);
    let correlation_id = Some(Uuid::now_v7());
    let script = Event::Script(ScriptRun {
        id: Uuid::now_v7(),
        skill: "pdf".to_owned(),
        script: "scripts/fill.py".to_owned(),
        correlation_id,
        exit_code: None,
        signal: Some(9),
        duration_ms: 60_000,
        isolation: "full".to_owned(),
        timed_out: true,
        at: now(),
    });
    let routing = Event::Routing(RoutingDecision {
        id: Uuid::now_v7(),
        request: "fill in this form".to_owned(),
        chosen: Some("pdf".to_owned()),
        outcome: "matched".to_owned(),
        candidates: vec![("pdf".to_owned(), 0.75), ("forms".to_owned(), 0.25)],
        correlation_id: None,
        at: now(),
    });
    let analytics = analytics("skill_loaded");
    let recorded = [script, routing, analytics];
    for event in &recorded {
        assert_eq!(record(&journal, event.clone()), Recorded::Committed);
        // The same id again is the same event.
        assert_eq!(record(&journal, event.clone()), Recorded::Committed);
    }
    let reader = Reader::open(&path).unwrap();
    let mut read = reader.events(&Filter::default()).unwrap();
    read.reverse();
    assert_eq!(read, recorded);
    let filter = Filter {
        skill: Some("pdf".to_owned()),
        correlation_id,
        ..Filter::default()
    };
    assert_eq!(reader.events(&filter).unwrap(), recorded[..1]);
}

#[test]
fn contradictions_are_refused_and_harm_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = sqlite(&path);
    let ended = invocation("ended");
    let open = invocation("open");
    for event in [
        Event::Created(ended.clone()),
        Event::Created(open.clone()),
        Event::Ended(success(ended.id)),
    ] {
        assert_eq!(record(&journal, event), Recorded::Committed);
    }
    let (id, unknown) = (open.id, Uuid::now_v7());
    let mut count = 0;
    for (event, why) in [
        (Event::Created(ended.clone()), "UNIQUE"),
        (Event::Ended(failure(ended.id, "X")), "UNIQUE"),
        (Event::Ended(success(unknown)), "no invocation"),
        (
            Event::Running {
                id: unknown,
                at: now(),
            },
            "no invocation",
        ),
        (
            Event::Ended(InvocationResult {
                output: None,
                ..success(id)
            }),
            "success_has_output",
        ),
        (
            Event::Ended(InvocationResult {
                failure_code: Some("X".to_owned()),
                ..success(id)
            }),
            "success_has_output",
        ),
        (
            Event::Ended(InvocationResult {
                failure_message: None,
                ..failure(id, "X")
            }),
            "failure_has_code_and_message",
        ),
        (
            Event::Ended(InvocationResult {
                status: InvocationStatus::Completed,
                ..failure(id, "X")
            }),
            "success = false and status completed",
        ),
        (
            Event::Ended(InvocationResult {
                status: InvocationStatus::Running,
                ..success(id)
            }),
            "status running",
        ),
    ] {
        let also = analytics("in the same transaction");
        let (sender, receiver) = mpsc::channel();
        journal.record(event.clone(), move |it| sender.send(it).unwrap());
        assert_eq!(record(&journal, also), Recorded::Committed);
        assert_eq!(
            receiver.recv_timeout(PATIENCE),
            Ok(Recorded::Lost),
            "{event:?}"
        );
        count += 1;
        assert_eq!(journal.status().lost, count);
        let error = last_error(&journal);
        assert!(error.contains(why), "{event:?}: {error}");
    }
    // A late `Running` changes nothing.
    let late = Event::Running {
        id: ended.id,
        at: now(),
    };
    assert_eq!(record(&journal, late), Recorded::Committed);
    let reader = Reader::open(&path).unwrap();
    let status = |id| reader.show(id).unwrap().unwrap().status;
    assert_eq!(status(ended.id), InvocationStatus::Completed);
    assert_eq!(status(open.id), InvocationStatus::Pending);
    assert_eq!(reader.events(&Filter::default()).unwrap().len(), 9);
}

#[test]
fn a_claimed_id_has_one_owner_and_the_others_see_what_became_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let journal = sqlite(&directory.path().join("journal.db"));
    let first = invocation("task_creation");
    assert_eq!(claim(&journal, first.clone()), Ok(Claim::New));
    let mut expected = Record {
        invocation: first.clone(),
        status: InvocationStatus::Pending,
        result: None,
    };
    let again = || Invocation {
        input_digest: [8; 32],
        ..first.clone()
    };
    let existing = |record: &Record| Ok(Claim::Existing(Box::new(record.clone())));
    assert_eq!(claim(&journal, again()), existing(&expected));
    let result = success(first.id);
    record(&journal, Event::Ended(result.clone()));
    expected.status = InvocationStatus::Completed;
    expected.result = Some(result);
    assert_eq!(claim(&journal, again()), existing(&expected));
}

#[test]
fn names_and_codes_are_cut_and_bad_json_becomes_a_string() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = sqlite(&path);
    let long = "ä".repeat(100);
    let long_skill = Invocation {
        skill: long.clone(),
        agent: long.clone(),
        input: "not json".to_owned(),
        ..invocation("x")
    };
    let id = long_skill.id;
    record(&journal, Event::Created(long_skill));
    record(&journal, Event::Ended(failure(id, &long)));
    let filter = Filter {
        skill: Some(long.clone()),
        agent: Some(long),
        ..Filter::default()
    };
    let found = Reader::open(&path).unwrap().list(&filter).unwrap();
    let [found] = found.as_slice() else {
        panic!("{found:?}");
    };
    assert_eq!(found.invocation.skill, "ä".repeat(64));
    assert_eq!(found.invocation.input, "\"not json\"");
    let result = found.result.as_ref().unwrap();
    assert_eq!(result.failure_code, Some("ä".repeat(50)));
}

#[test]
fn a_journal_that_is_off_says_so_at_once() {
    for (journal, close) in [
        (Journal::off(), false),
        (Journal::new(Options::default()), false),
        (sqlite("/nonexistent/journal.db".as_ref()), true),
    ] {
        if close {
            journal.close(Duration::ZERO);
        }
        let id = Uuid::now_v7();
        assert_eq!(
            record(&journal, Event::Running { id, at: now() }),
            Recorded::Off
        );
        assert_eq!(claim(&journal, invocation("x")), Err(JournalError::Off));
        journal.note(analytics("x"));
        assert_eq!(journal.status(), skillbundle_journal::Status::default());
    }
}

#[test]
fn a_journal_without_events_touches_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let journal = sqlite(&directory.path().join("state/journal.db"));
    drop(journal.clone());
    journal.close(PATIENCE);
    assert_eq!(directory.path().read_dir().unwrap().count(), 0);
}

#[test]
fn closing_writes_what_waits() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = sqlite(&path);
    for _ in 0..2000 {
        journal.note(analytics("x"));
    }
    journal.close(PATIENCE);
    let status = journal.status();
    assert_eq!((status.queued, status.lost, status.dropped), (0, 0, 0));
    let reader = Reader::open(&path).unwrap();
    assert_eq!(reader.events(&Filter::default()).unwrap().len(), 2000);
}

/// The last clone may go while events wait, also on the writer's own thread.
#[test]
fn dropping_writes_what_waits() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = sqlite(&path);
    let (sender, receiver) = mpsc::channel();
    for _ in 0..100 {
        let (sender, clone) = (sender.clone(), journal.clone());
        journal.record(analytics("x"), move |it| {
            drop(clone);
            sender.send(it).unwrap();
        });
    }
    drop((journal, sender));
    let told: Vec<Recorded> = receiver.iter().collect();
    assert_eq!(told, vec![Recorded::Committed; 100]);
}

#[test]
fn a_panic_of_a_caller_does_not_end_the_writer() {
    let directory = tempfile::tempdir().unwrap();
    let journal = sqlite(&directory.path().join("journal.db"));
    journal.record(analytics("x"), |_| panic!("a caller's fault"));
    assert_eq!(record(&journal, analytics("y")), Recorded::Committed);
}

/// While the writer is busy, events of invocations wait and the others are dropped.
#[test]
fn only_other_events_are_dropped_if_too_much_waits() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let journal = sqlite(&path);
    let hold = hold(&journal);
    let (sender, receiver) = mpsc::channel();
    let mut sent = 0;
    while journal.status().dropped == 0 {
        journal.note(analytics("x"));
        sent += 1;
        assert!(sent < 10_000, "nothing is dropped");
    }
    let told = sender.clone();
    journal.record(analytics("y"), move |it| told.send(it).unwrap());
    assert_eq!(receiver.try_recv(), Ok(Recorded::Dropped));
    for _ in 0..10 {
        let told = sender.clone();
        journal.record(Event::Created(invocation("z")), move |it| {
            told.send(it).unwrap();
        });
    }
    let status = journal.status();
    assert_eq!((status.dropped, status.lost), (2, 0));
    assert_eq!(status.queued, 4096 + 10);
    drop(hold);
    journal.close(PATIENCE);
    drop(sender);
    assert_eq!(
        receiver.iter().collect::<Vec<_>>(),
        [Recorded::Committed; 10]
    );
    let reader = Reader::open(&path).unwrap();
    assert_eq!(reader.list(&Filter::default()).unwrap().len(), 10);
    assert_eq!(reader.events(&Filter::default()).unwrap().len(), 4097);
}

/// Few large events fill the queue, too.
#[test]
fn waiting_events_have_a_limit_in_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let journal = sqlite(&directory.path().join("journal.db"));
    let hold = hold(&journal);
    let large = |_| Event::Analytics {
        id: Uuid::now_v7(),
        name: "large".to_owned(),
        skill: None,
        correlation_id: None,
        body: format!("\"{}\"", "x".repeat(1 << 20)),
        at: now(),
    };
    (0..40).map(large).for_each(|it| journal.note(it));
    let dropped = journal.status().dropped;
    assert!((8..=9).contains(&dropped), "{dropped} were dropped");
    drop(hold);
}
