//! Many runs: nothing of them is left in the caller.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use skillbundle_exec::{Executor, Isolation};

use crate::Case;
use crate::kit::{Caller, bash, text, until_removed, with};

pub(crate) const CASES: &[Case] = &[
    ("many_at_a_time", many_at_a_time),
    (
        "the_callers_own_descriptors_and_children",
        the_callers_own_descriptors_and_children,
    ),
    (
        "no_directory_for_temporary_files",
        no_directory_for_temporary_files,
    ),
    ("a_program_that_was_replaced", a_program_that_was_replaced),
];

const RUNS: usize = 200;

fn many_at_a_time(level: Isolation) {
    let executor = Executor::new(level, level);
    let (next, ids) = (AtomicUsize::new(0), Mutex::new(BTreeSet::new()));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= RUNS {
                        break;
                    }
                    let script = "echo $N; echo $N $N >&2; echo $SKILLBUNDLE_RUN; sleep 60 & exit $((N % 200))";
                    let program = with(bash(script), &[("N", &number.to_string())]);
                    let outcome = executor.start(program).unwrap().wait(|_| ()).unwrap();
                    let stdout = text(&outcome.stdout);
                    let (first, id) = stdout.trim_end().split_once('\n').unwrap();
                    assert_eq!(first, number.to_string());
                    assert_eq!(text(&outcome.stderr), format!("{number} {number}\n"));
                    assert_eq!(outcome.exit_code, Some(i32::try_from(number % 200).unwrap()));
                    assert!(ids.lock().unwrap().insert(id.to_owned()));
                }
            });
        }
    });
    let ids = ids.into_inner().unwrap();
    assert_eq!(ids.len(), RUNS);
    for id in &ids {
        until_removed(id);
    }
}

/// In a process of its own: tests run at the same time.
fn the_callers_own_descriptors_and_children(level: Isolation) {
    let mut caller = Caller::start(level, "many", "echo $N", &[]);
    assert_eq!(caller.result(), "flat");
}

/// For [`Caller`]: runs many, and returns whether its descriptors and children are as before.
pub(crate) fn is_flat(level: Isolation) -> bool {
    let executor = Executor::new(level, level);
    let state = || {
        let fds = fs::read_dir("/proc/self/fd").unwrap().count();
        let own = i32::try_from(std::process::id()).unwrap();
        (fds, crate::kit::children(own))
    };
    executor.isolation().unwrap();
    let before = state();
    for number in 0..30 {
        let run = executor.start(bash("sleep 0.01; echo x")).unwrap();
        match number % 3 {
            0 => drop(run),
            1 => run.canceller().kill(),
            _ => drop(run.wait(|_| ())),
        }
    }
    state() == before
}

fn no_directory_for_temporary_files(level: Isolation) {
    let temporary = tempfile::tempdir().unwrap();
    for place in [
        temporary.path().join("missing"),
        "/proc".into(),
        "/dev/null".into(),
    ] {
        let mut caller = Caller::with_temporary(level, &place);
        let said = caller.result();
        if level == Isolation::Namespaces {
            assert_eq!(said, "Some(0) \"fine\\n\"");
        } else {
            let path = place.display().to_string();
            assert!(
                said.starts_with("cannot start the script") && said.contains(&path),
                "{said}"
            );
        }
    }
}

/// An update while it runs.
fn a_program_that_was_replaced(level: Isolation) {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("caller");
    // In a process of its own: one that another test forks here meanwhile would hold the file open
    // for writing, and it could not be executed.
    let running = std::env::current_exe().unwrap();
    let copied = Command::new("cp").arg(running).arg(&program).status();
    assert!(copied.unwrap().success());
    let mut caller = Caller::replaced(level, &program);
    assert_eq!(caller.result(), "Some(0) \"fine\\n\"");
}
