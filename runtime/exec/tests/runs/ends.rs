//! How programs are ended: by time, by the caller, by its end; and what is kept of them.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use skillbundle_exec::{Error, Isolation, Stopped};

use crate::Case;
use crate::kit::{
    Caller, above, assert_none_alive, bash, marked, marker, run, signal, start, text, until, with,
};

pub(crate) const CASES: &[Case] = &[
    ("watchers_that_are_stopped", watchers_that_are_stopped),
    ("time_is_up", time_is_up),
    ("the_grace_is_used", the_grace_is_used),
    ("cancelled", cancelled),
    ("killed_without_grace", killed_without_grace),
    (
        "dropped_with_output_that_nobody_has_read",
        dropped_with_output_that_nobody_has_read,
    ),
    ("dropped_by_a_panic", dropped_by_a_panic),
    ("a_caller_that_never_reads", a_caller_that_never_reads),
    ("a_caller_that_is_stopped", a_caller_that_is_stopped),
    (
        "signals_for_the_caller_do_not_end_the_supervisor",
        signals_for_the_caller_do_not_end_the_supervisor,
    ),
    ("garbage_is_refused", garbage_is_refused),
    ("extreme_limits", extreme_limits),
];

fn time_is_up(level: Isolation) {
    let mut program = bash("echo part; echo of it >&2; trap '' TERM; while :; do sleep 60; done");
    program.limits.time = Duration::from_millis(300);
    let outcome = run(level, program);
    assert_eq!(outcome.stopped, Some(Stopped::TimedOut));
    assert_eq!((outcome.exit_code, outcome.signal), (None, Some(9)));
    assert_eq!(
        (text(&outcome.stdout), text(&outcome.stderr)),
        ("part\n".to_owned(), "of it\n".to_owned())
    );
    assert!(outcome.killed >= 1, "{}", outcome.killed);
    assert!(outcome.duration >= program_time(), "{:?}", outcome.duration);
}

fn program_time() -> Duration {
    Duration::from_millis(600)
}

fn the_grace_is_used(level: Isolation) {
    let mut program = bash("trap 'echo asked; exit 3' TERM; echo ready; sleep 60 & wait");
    program.limits.time = Duration::from_millis(300);
    program.limits.grace = Duration::from_secs(30);
    let outcome = run(level, program);
    assert_eq!(outcome.stopped, Some(Stopped::TimedOut));
    assert_eq!(text(&outcome.stdout), "ready\nasked\n");
    assert_eq!((outcome.exit_code, outcome.signal), (Some(3), None));
}

fn cancelled(level: Isolation) {
    let marker = marker();
    let mut program = with(bash("echo begun; sleep $MARK & wait"), &[("MARK", &marker)]);
    program.limits.grace = Duration::from_secs(30);
    let run = start(level, program);
    let canceller = run.canceller();
    let waiting = std::thread::spawn(move || run.wait(|_| ()).unwrap());
    until("it runs", || {
        !marked(&format!("sleep\0{marker}")).is_empty()
    });
    canceller.cancel();
    canceller.cancel();
    let outcome = waiting.join().unwrap();
    assert_eq!(outcome.stopped, Some(Stopped::Cancelled));
    assert_eq!(text(&outcome.stdout), "begun\n");
    canceller.cancel();
    canceller.kill();
    assert_none_alive(&marker, "cancel");
}

fn killed_without_grace(level: Isolation) {
    let marker = marker();
    let script = "trap 'echo asked' TERM; echo begun; while :; do sleep $MARK; done";
    let mut program = with(bash(script), &[("MARK", &marker)]);
    program.limits.grace = Duration::from_secs(3600);
    let run = start(level, program);
    let canceller = run.canceller();
    let waiting = std::thread::spawn(move || run.wait(|_| ()).unwrap());
    until("it runs", || {
        !marked(&format!("sleep\0{marker}")).is_empty()
    });
    canceller.kill();
    let outcome = waiting.join().unwrap();
    assert_eq!(
        (outcome.stopped, outcome.signal),
        (Some(Stopped::Cancelled), Some(9))
    );
    assert!(text(&outcome.stdout).starts_with("begun\n"));
    assert_none_alive(&marker, "kill");
}

fn dropped_with_output_that_nobody_has_read(level: Isolation) {
    let marker = marker();
    for streams in [false, true] {
        let script = "head -c 900000 /dev/zero; head -c 900000 /dev/zero >&2; sleep $MARK & wait";
        let mut program = with(bash(script), &[("MARK", &marker)]);
        program.streams = streams;
        let run = start(level, program);
        until("it runs", || !marked(&marker).is_empty());
        drop(run);
        assert_none_alive(&marker, "drop");
    }
    // It has ended, and its supervisor waits for a reader.
    let run = start(level, bash("head -c 900000 /dev/zero"));
    std::thread::sleep(Duration::from_millis(300));
    drop(run);
}

fn dropped_by_a_panic(level: Isolation) {
    let marker = marker();
    let program = with(
        bash("setsid sleep $MARK & echo x; sleep $MARK"),
        &[("MARK", &marker)],
    );
    let mut program = program;
    program.streams = true;
    let run = start(level, program);
    let panicked = std::thread::spawn(move || {
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            run.wait(|_| std::panic::resume_unwind(Box::new("on purpose")))
        }));
        panic.is_err()
    });
    assert!(panicked.join().unwrap());
    assert_none_alive(&marker, "a panic");
}

/// The time of the program is up although its output goes nowhere.
fn a_caller_that_never_reads(level: Isolation) {
    let marker = marker();
    let caller = Caller::start(
        level,
        "deaf",
        "yes $MARK & yes $MARK >&2 & wait",
        &[("MARK", &marker)],
    );
    until("it runs", || marked(&marker).len() > 1);
    // What is left is the caller itself, which has the marker in its environment.
    let own = caller.pid();
    until("it has ended", || {
        marked(&marker).iter().all(|it| it.0 == own)
    });
}

fn a_caller_that_is_stopped(level: Isolation) {
    let marker = marker();
    let caller = Caller::start(
        level,
        "deaf",
        "sleep $MARK & setsid sleep $MARK",
        &[("MARK", &marker)],
    );
    let own = caller.pid();
    until("it runs", || marked(&format!("sleep\0{marker}")).len() > 1);
    signal("STOP", own);
    until("it has ended", || {
        marked(&marker).iter().all(|it| it.0 == own)
    });
    signal("CONT", own);
}

/// A terminal and a service manager send them to every process of the caller.
fn signals_for_the_caller_do_not_end_the_supervisor(level: Isolation) {
    let marker = marker();
    let script = "echo begun; sleep $MARK & sleep 1; kill $!; echo done";
    let program = with(bash(script), &[("MARK", &marker)]);
    let run = start(level, program);
    until("it runs", || {
        !marked(&format!("sleep\0{marker}")).is_empty()
    });
    let (keeper, supervisor) = above(&marker);
    for name in ["INT", "TERM", "HUP", "QUIT", "TSTP"] {
        signal(name, keeper);
        signal(name, supervisor);
    }
    let outcome = run.wait(|_| ()).unwrap();
    assert_eq!((outcome.exit_code, outcome.stopped), (Some(0), None));
    assert_eq!(text(&outcome.stdout), "begun\ndone\n");
}

/// The supervisor of no level: whoever starts the program by hand with its argument.
fn garbage_is_refused(_: Isolation) {
    let long = b"{".repeat(100_000);
    let inputs: [&[u8]; 7] = [
        b"",
        b"x",
        b"\xff\xff\xff\xff",
        b"\x05\0\0\0{\"Ru",
        b"\x02\0\0\0{}",
        b"\x0c\0\0\0{\"Run\": null}",
        &long,
    ];
    for input in inputs {
        let mut process = Command::new("/proc/self/exe")
            .arg("__supervise")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It may end before it has read all.
        let _ = process.stdin.take().unwrap().write_all(input);
        let mut said = String::new();
        process
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        assert_eq!(process.wait().unwrap().code(), Some(1), "{input:?}: {said}");
        assert!(!said.contains("panicked"), "{said}");
        assert!(
            said.starts_with("the supervisor of a script failed"),
            "{said}"
        );
    }
}

fn extreme_limits(level: Isolation) {
    let mut program = bash("echo fine");
    program.limits.time = Duration::MAX;
    program.limits.grace = Duration::MAX;
    program.limits.output_bytes = usize::MAX;
    program.limits.memory_bytes = u64::MAX;
    program.limits.processes = u64::MAX;
    program.limits.open_files = u64::MAX;
    program.limits.file_bytes = u64::MAX;
    let outcome = run(level, program);
    assert_eq!(text(&outcome.stdout), "fine\n");
    let mut program = bash("echo fine");
    program.limits.time = Duration::ZERO;
    program.limits.grace = Duration::ZERO;
    // It may be over before it has begun.
    match start(level, program).wait(|_| ()) {
        Ok(outcome) => assert_eq!(outcome.stopped, Some(Stopped::TimedOut)),
        Err(error) => assert!(matches!(error, Error::Start(_)), "{error}"),
    }
}

/// Without isolation a script of the same user can stop those that watch it. The caller does not wait
/// for them forever.
fn watchers_that_are_stopped(level: Isolation) {
    let marker = marker();
    let script = "
        keeper=$(ps -o ppid= -p $PPID 2>/dev/null)
        [ ${keeper:-0} -gt 1 ] && kill -STOP $keeper
        kill -STOP $PPID
        sleep $MARK";
    let mut program = with(bash(script), &[("MARK", &marker)]);
    program.limits.time = Duration::from_millis(300);
    program.limits.grace = Duration::from_millis(100);
    match start(level, program).wait(|_| ()) {
        Ok(outcome) => assert!(outcome.stopped.is_some()),
        Err(error) => assert!(matches!(error, Error::SupervisorLost), "{error}"),
    }
    assert_none_alive(&marker, "a stop of those that watch");
}
