//! A process that is killed loses nothing that it was told is committed.

use std::collections::BTreeSet;
use std::path::Path;
use std::thread;
use std::time::Duration;

use skillbundle_journal::{Event, InvocationStatus, Reader, Recorded, Uuid};

use crate::child;
use crate::common::{invocation, record, sqlite, success};

const KILLS: u64 = 20;

#[test]
fn nothing_committed_is_lost_when_the_process_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let mut committed: Vec<(bool, Uuid)> = Vec::new();
    for kill in 0..KILLS {
        let mut process = child::command("record until killed", &path)
            .spawn()
            .unwrap();
        let stdout = child::stdout(&mut process);
        let listener = thread::spawn(move || child::told(stdout).collect::<Vec<String>>());
        // Different moments: from the first table to thousands of events.
        thread::sleep(Duration::from_millis(15 + kill * 17));
        process.kill().unwrap();
        process.wait().unwrap();
        for line in listener.join().unwrap() {
            let (what, id) = line.split_once(' ').unwrap();
            committed.push((what == "ended", id.parse().unwrap()));
        }
    }
    assert!(
        committed.len() > 200,
        "only {} were committed",
        committed.len()
    );
    let reader = Reader::open(&path).unwrap();
    for (has_ended, id) in &committed {
        let found = reader.show(*id).unwrap();
        let found = found.unwrap_or_else(|| panic!("{id} is lost"));
        if *has_ended {
            assert_eq!(found.status, InvocationStatus::Completed, "{id}");
        }
    }
    let ids: BTreeSet<_> = committed.iter().collect();
    assert_eq!(ids.len(), committed.len());
}

/// Invocations from several threads, each reported as soon as it is committed.
pub(crate) fn record_until_killed(path: &Path) {
    let journal = sqlite(path);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let invocation = invocation("killed");
                    let id = invocation.id;
                    assert_eq!(
                        record(&journal, Event::Created(invocation)),
                        Recorded::Committed
                    );
                    child::tell(&format!("created {id}"));
                    let ended = Event::Ended(success(id));
                    assert_eq!(record(&journal, ended), Recorded::Committed);
                    child::tell(&format!("ended {id}"));
                }
            });
        }
    });
}
