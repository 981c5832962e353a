//! Scripts that try to leave something running, and everything that may end them. Nothing is alive
//! afterwards. Each trigger runs a third of the scripts at each level; with `SKILLBUNDLE_SURVIVORS=all`
//! it runs all, which takes four minutes more.

use std::time::Duration;

use skillbundle_exec::{Error, Isolation, Program};

use crate::Case;
use crate::kit::{
    Caller, above, assert_none_alive, bash, marked, marker, run_of, signal, start, until,
    until_removed, with,
};

pub(crate) const CASES: &[Case] = &[
    ("own_end", own_end),
    ("time_out", time_out),
    ("cancel", cancel),
    ("kill", kill),
    ("drop", dropped),
    ("supervisor_killed", supervisor_killed),
    ("keeper_killed", keeper_killed),
    ("caller_killed", caller_killed),
    ("caller_aborted", caller_aborted),
    ("both_killed", both_killed),
];

/// Name and script. `$MARK` marks all processes; those that begin with `env -i` do not even have it
/// in their environment.
const SCRIPTS: [(&str, &str); 8] = [
    ("child", "sleep $MARK & wait"),
    (
        "ignores TERM",
        "trap '' TERM; env -i sleep $MARK & while :; do sleep $MARK; done",
    ),
    (
        "sessions",
        "trap '' TERM; setsid env -i sleep $MARK & setsid setsid sleep $MARK & wait",
    ),
    ("daemon", DAEMON),
    ("daemon that holds the streams", HOLDER),
    (
        "storm",
        "for i in {1..50}; do (trap '' TERM; setsid env -i sleep $MARK &) & done; wait; sleep $MARK",
    ),
    (
        "bomb",
        "sleep $MARK & trap '' TERM; bomb() { bomb | bomb & }; bomb; while :; do sleep $MARK; done",
    ),
    (
        "stopped",
        "sleep $MARK & kill -STOP $!; (kill -STOP $BASHPID) & sleep $MARK",
    ),
];

const DAEMON: &str = r#"
    exec perl -e 'use POSIX; if (!fork) { setsid; if (!fork) {
        close $_ for *STDIN, *STDOUT, *STDERR; $SIG{TERM} = "IGNORE"; %ENV = (); exec "sleep", $ARGV[0] } exit }
        wait; exec "sleep", $ARGV[0]' $MARK"#;

const HOLDER: &str = r#"
    perl -e 'use POSIX; if (!fork) { setsid; if (!fork) { $SIG{TERM} = "IGNORE"; exec "sleep", $ARGV[0] } exit } wait' $MARK
    trap '' TERM; sleep $MARK"#;

fn programs(marker: &str, script: &str) -> Program {
    let mut program = with(bash(script), &[("MARK", marker)]);
    program.limits.processes = 100;
    program
}

fn sleepers(marker: &str) -> usize {
    marked(&format!("sleep\0{marker}")).len()
}

/// Runs every script of a trigger and a level with all, or every third: the others are run at other
/// levels and with other triggers.
const ALL: &str = "SKILLBUNDLE_SURVIVORS";

fn scripts(trigger: &str, level: Isolation) -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = std::env::var_os(ALL).is_some();
    let first = trigger.len() + level as usize;
    let numbered = (first..).zip(SCRIPTS);
    numbered.filter_map(move |(number, script)| (all || number % 3 == 0).then_some(script))
}

/// Runs scripts until all of their processes are there, and lets `end` end them.
fn each(what: &str, level: Isolation, end: impl Fn(&str, Program)) {
    for (name, script) in scripts(what, level) {
        let marker = marker();
        end(&marker, programs(&marker, script));
        assert_none_alive(&marker, &format!("{what}: {name}"));
    }
}

fn wait_for(marker: &str) {
    until("it runs", || sleepers(marker) > 0);
    // Most of the others.
    std::thread::sleep(Duration::from_millis(80));
}

fn own_end(level: Isolation) {
    let marker = marker();
    for (_, script) in scripts("own end", level) {
        let script = format!("({script}) & while (( SECONDS < 1 )); do :; done; exit 5");
        let outcome = start(level, programs(&marker, &script))
            .wait(|_| ())
            .unwrap();
        assert_eq!(outcome.exit_code, Some(5), "{script}");
        assert!(
            outcome.killed > 0 || level == Isolation::Bubblewrap,
            "{script}"
        );
        assert_none_alive(&marker, &script);
    }
}

fn time_out(level: Isolation) {
    each("time-out", level, |_, mut program| {
        program.limits.time = Duration::from_millis(400);
        let outcome = start(level, program).wait(|_| ()).unwrap();
        assert!(outcome.stopped.is_some());
    });
}

fn cancel(level: Isolation) {
    each("cancel", level, |marker, program| {
        let run = start(level, program);
        let canceller = run.canceller();
        let waiting = std::thread::spawn(move || run.wait(|_| ()));
        wait_for(marker);
        canceller.cancel();
        assert!(waiting.join().unwrap().unwrap().stopped.is_some());
    });
}

fn kill(level: Isolation) {
    each("kill", level, |marker, program| {
        let run = start(level, program);
        wait_for(marker);
        run.canceller().kill();
        assert!(run.wait(|_| ()).unwrap().stopped.is_some());
    });
}

fn dropped(level: Isolation) {
    each("drop", level, |marker, program| {
        let run = start(level, program);
        wait_for(marker);
        drop(run);
    });
}

fn supervisor_killed(level: Isolation) {
    each("kill of the supervisor", level, |marker, program| {
        let run = start(level, program);
        wait_for(marker);
        let id = run_of(marker);
        signal("KILL", above(marker).1);
        assert!(matches!(run.wait(|_| ()), Err(Error::SupervisorLost)));
        until_removed(&id);
    });
}

fn keeper_killed(level: Isolation) {
    each("kill of the keeper", level, |marker, program| {
        let run = start(level, program);
        wait_for(marker);
        let id = run_of(marker);
        signal("KILL", above(marker).0);
        // The supervisor ends it and says so, or has no time to.
        let _ = run.wait(|_| ());
        until_removed(&id);
        until("the supervisor has ended it", || marked(marker).is_empty());
    });
}

/// Whoever kills both at once leaves to the caller what it can find by its environment.
fn both_killed(level: Isolation) {
    for (name, script) in scripts("both killed", level) {
        let marker = marker();
        let marks_all = script.replace("env -i", "").replace("%ENV = ();", "");
        let run = start(level, programs(&marker, &marks_all));
        wait_for(&marker);
        let id = run_of(&marker);
        let (keeper, supervisor) = above(&marker);
        signal("STOP", keeper);
        signal("KILL", supervisor);
        signal("KILL", keeper);
        assert!(matches!(run.wait(|_| ()), Err(Error::SupervisorLost)));
        assert_none_alive(&marker, name);
        until_removed(&id);
    }
}

fn caller_killed(level: Isolation) {
    caller_gets("KILL", level);
}

fn caller_aborted(level: Isolation) {
    caller_gets("ABRT", level);
}

fn caller_gets(name: &str, level: Isolation) {
    for (script_name, script) in scripts(name, level) {
        let marker = marker();
        let mut caller = Caller::start(level, "wait", script, &[("MARK", &marker)]);
        wait_for(&marker);
        let id = run_of(&marker);
        signal(name, caller.pid());
        caller.process.wait().unwrap();
        until(script_name, || marked(&marker).is_empty());
        assert_none_alive(&marker, script_name);
        until_removed(&id);
    }
}
