//! Events to record, and waiting for what became of them.

use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use skillbundle_journal::{
    Claim, Destination, Event, Invocation, InvocationResult, InvocationStatus, Journal,
    JournalError, Options, Recorded, Uuid,
};

/// Longer than anything here takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn sqlite(path: &Path) -> Journal {
    Journal::new(Options::new(Destination::Sqlite(path.to_owned())))
}

pub(crate) fn invocation(skill: &str) -> Invocation {
    Invocation {
        id: Uuid::now_v7(),
        skill: skill.to_owned(),
        agent: "TestAgent".to_owned(),
        correlation_id: Uuid::now_v7(),
        input: r#"{"title":"Buy groceries"}"#.to_owned(),
        input_digest: [7; 32],
        created_at: now(),
    }
}

pub(crate) fn success(id: Uuid) -> InvocationResult {
    InvocationResult {
        invocation_id: id,
        success: true,
        output: Some(r#"{"task_id":1}"#.to_owned()),
        failure_code: None,
        failure_message: None,
        failure_details: None,
        internal_detail: None,
        duration_ms: 45,
        created_at: now(),
        status: InvocationStatus::Completed,
    }
}

pub(crate) fn failure(id: Uuid, code: &str) -> InvocationResult {
    InvocationResult {
        success: false,
        output: None,
        failure_code: Some(code.to_owned()),
        failure_message: Some("it failed".to_owned()),
        failure_details: Some(r#"{"why":"test"}"#.to_owned()),
        internal_detail: Some("line 7".to_owned()),
        status: InvocationStatus::Failed,
        ..success(id)
    }
}

pub(crate) fn analytics(name: &str) -> Event {
    Event::Analytics {
        id: Uuid::now_v7(),
        name: name.to_owned(),
        skill: None,
        correlation_id: None,
        body: "{}".to_owned(),
        at: now(),
    }
}

/// Now, to the microsecond, as it is kept.
pub(crate) fn now() -> SystemTime {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let microseconds = now.expect("after 1970").as_micros();
    SystemTime::UNIX_EPOCH + Duration::from_micros(u64::try_from(microseconds).expect("in range"))
}

/// Records an event and waits for what became of it.
pub(crate) fn record(journal: &Journal, event: Event) -> Recorded {
    let (sender, receiver) = mpsc::channel();
    journal.record(event, move |it| sender.send(it).unwrap());
    receiver
        .recv_timeout(PATIENCE)
        .expect("the journal answers")
}

/// Claims an id and waits for the answer.
pub(crate) fn claim(journal: &Journal, invocation: Invocation) -> Result<Claim, JournalError> {
    let (sender, receiver) = mpsc::channel();
    journal.claim(invocation, move |it| sender.send(it).unwrap());
    receiver
        .recv_timeout(PATIENCE)
        .expect("the journal answers")
}

/// The last fault of a journal.
pub(crate) fn last_error(journal: &Journal) -> String {
    journal.status().last_error.expect("there was a fault")
}

/// Has the writer wait until what is returned is dropped. What is recorded meanwhile is queued.
pub(crate) fn hold(journal: &Journal) -> mpsc::Sender<()> {
    let (release, released) = mpsc::channel();
    let (sender, receiver) = mpsc::channel();
    journal.record(analytics("held"), move |it| {
        sender.send(it).unwrap();
        // An error is what it waits for: the other end is gone.
        released.recv().unwrap_err();
    });
    let recorded = receiver.recv_timeout(PATIENCE);
    assert_eq!(recorded, Ok(Recorded::Committed));
    release
}
