//! Several processes on one file.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Barrier;
use std::thread;

use skillbundle_journal::{Claim, Event, Filter, Invocation, Reader, Recorded, Uuid};

use crate::child;
use crate::common::{claim, invocation, now, record, sqlite, success};

const IDS: u128 = 200;

/// All begin with a file that does not exist.
#[test]
fn of_all_processes_exactly_one_gets_each_id() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new/journal.db");
    let processes: Vec<_> = (0..3)
        .map(|_| {
            let mut process = child::command("claim", &path).spawn().unwrap();
            let stdout = child::stdout(&mut process);
            let listener = thread::spawn(move || child::told(stdout).collect::<Vec<String>>());
            (process, listener)
        })
        .collect();
    let mut owners: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (number, (mut process, listener)) in processes.into_iter().enumerate() {
        for id in listener.join().unwrap() {
            owners.entry(id).or_default().push(number);
        }
        assert!(process.wait().unwrap().success());
    }
    let shared: Vec<_> = owners.iter().filter(|(_, them)| them.len() != 1).collect();
    assert_eq!(shared, []);
    let expected: Vec<String> = (0..IDS).map(|id| Uuid::from_u128(id).to_string()).collect();
    assert_eq!(owners.into_keys().collect::<Vec<_>>(), expected);
    let recorded = Reader::open(&path).unwrap().list(&Filter::default());
    assert_eq!(recorded.unwrap().len(), expected.len());
}

/// Claims the same ids as all others, from two threads, and tells which it got.
pub(crate) fn claim_all(path: &Path) {
    let journal = sqlite(path);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for id in (0..IDS).map(Uuid::from_u128) {
                    let wanted = Invocation {
                        id,
                        ..invocation("claimed")
                    };
                    match claim(&journal, wanted).expect("the file works") {
                        Claim::New => child::tell(&id.to_string()),
                        Claim::Existing(record) => assert_eq!(record.invocation.id, id),
                    }
                }
            });
        }
    });
}

/// Two journals of one process are as two processes.
#[test]
fn one_reads_and_claims_what_another_wrote() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal.db");
    let (first, second) = (sqlite(&path), sqlite(&path));
    let one = invocation("one");
    assert_eq!(claim(&first, one.clone()), Ok(Claim::New));
    let Ok(Claim::Existing(found)) = claim(&second, one.clone()) else {
        panic!("it is claimed twice");
    };
    assert_eq!(found.invocation, one);
}

/// The moments at which a file is made, and switched to its log, are the dangerous ones.
#[test]
fn many_that_make_one_file_at_the_same_time_lose_nothing() {
    for round in 0..25 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state/journal.db");
        let start = Barrier::new(8);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let journal = sqlite(&path);
                    let invocation = invocation("s");
                    let id = invocation.id;
                    start.wait();
                    let events = [
                        Event::Created(invocation),
                        Event::Running { id, at: now() },
                        Event::Ended(success(id)),
                    ];
                    for event in events {
                        let recorded = record(&journal, event);
                        let error = journal.status().last_error;
                        assert_eq!(recorded, Recorded::Committed, "round {round}: {error:?}");
                    }
                });
            }
        });
    }
}
