//! What a program may use.

use std::fs;
use std::time::Duration;

use skillbundle_exec::{Isolation, Stopped};

use crate::Case;
use crate::kit::{
    above, assert_none_alive, bash, marked, marker, output, perl, run, start, text, until, with,
};

pub(crate) const CASES: &[Case] = &[
    ("files", files),
    ("open_files", open_files),
    ("processes", processes),
    ("memory", memory),
    ("processor_time", processor_time),
    ("a_flood_costs_no_memory", a_flood_costs_no_memory),
    ("scratch_space", scratch_space),
];

fn files(level: Isolation) {
    let mut program = bash("trap '' XFSZ; head -c 3000000 /dev/zero > big; stat -c %s big");
    program.limits.file_bytes = 1 << 20;
    let outcome = run(level, program);
    assert_eq!(
        text(&outcome.stdout),
        "1048576\n",
        "{}",
        text(&outcome.stderr)
    );
}

fn open_files(level: Isolation) {
    let script =
        "my @held; while (open my $f, '<', '/dev/null') { push @held, $f } print scalar @held";
    let mut program = perl(script);
    program.limits.open_files = 50;
    let opened: usize = output(level, program).parse().unwrap();
    assert!((40..50).contains(&opened), "{opened}");
}

/// A bomb that forks as fast as it can, and a count of what it came to.
fn processes(level: Isolation) {
    let marker = marker();
    let script = "
        my $failed = 0;
        my ($in, $out); pipe $in, $out;
        for (1 .. 400) {
            my $child = fork;
            if (!defined $child) { $failed++; next }
            if (!$child) { close $out; sysread $in, my $byte, 1; exit }
        }
        print $failed >= 300 && $failed < 400 ? 'bounded' : \"failed $failed\";";
    let mut program = with(perl(script), &[("MARK", &marker)]);
    program.limits.processes = 60;
    assert_eq!(output(level, program), "bounded");
    assert_none_alive(&marker, "its end");

    let mut program = with(
        bash("bomb() { bomb | bomb & }; bomb; sleep 60"),
        &[("MARK", &marker)],
    );
    program.limits.processes = 60;
    program.limits.time = Duration::from_millis(500);
    let outcome = run(level, program);
    assert!(outcome.stopped.is_some() || outcome.exit_code.is_some());
    assert_none_alive(&marker, "a fork bomb");
}

fn memory(level: Isolation) {
    let script = "my $x = 'x' x (600 << 20); print 'had'";
    let outcome = run(level, perl(script));
    assert_eq!(text(&outcome.stdout), "had", "{}", text(&outcome.stderr));
    let mut program = perl(script);
    program.limits.memory_bytes = 256 << 20;
    let outcome = run(level, program);
    assert_eq!(text(&outcome.stdout), "");
    assert_ne!(outcome.exit_code, Some(0));
    assert!(
        text(&outcome.stderr).contains("Out of memory"),
        "{}",
        text(&outcome.stderr)
    );
}

/// The limit of the kernel holds if the clock of the supervisor does not.
fn processor_time(level: Isolation) {
    let mut program = bash("ulimit -t");
    program.limits.time = Duration::from_secs(7);
    program.limits.grace = Duration::from_secs(2);
    assert_eq!(output(level, program), "14\n");
    let outcome = run(level, perl("1 while times < 0.3"));
    assert!(
        outcome.cpu >= Duration::from_millis(300),
        "{:?}",
        outcome.cpu
    );
}

fn a_flood_costs_no_memory(level: Isolation) {
    let marker = marker();
    let script =
        "yes $MARK | head -c 100000000 & yes $MARK | head -c 100000000 >&2 & wait; sleep $MARK";
    let run = start(level, with(bash(script), &[("MARK", &marker)]));
    until("all is written", || {
        !marked(&format!("sleep\0{marker}")).is_empty()
    });
    let (keeper, supervisor) = above(&marker);
    for pid in [keeper, supervisor] {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let most = status
            .lines()
            .find_map(|it| it.strip_prefix("VmHWM:"))
            .unwrap();
        let most: u64 = most.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(most < 24 * 1024, "{most} kB");
    }
    let canceller = run.canceller();
    canceller.cancel();
    let outcome = run.wait(|_| ()).unwrap();
    assert_eq!(outcome.stopped, Some(Stopped::Cancelled));
    assert_eq!(
        (outcome.stdout.total, outcome.stderr.total),
        (100_000_000, 100_000_000)
    );
    assert_eq!(outcome.stdout.head.len(), 1 << 20);
}

fn scratch_space(level: Isolation) {
    if level != Isolation::Namespaces {
        // The others lie on the disk of the system.
        return;
    }
    let script = "head -c 3000000 /dev/zero > a; head -c 3000000 /dev/zero > $TMPDIR/b; cat a $TMPDIR/b | wc -c";
    let mut program = bash(script);
    program.limits.scratch_bytes = 4 << 20;
    let outcome = run(level, program);
    let written: u64 = text(&outcome.stdout).trim().parse().unwrap();
    assert!((3_000_000..=4 << 20).contains(&written), "{written}");
    assert!(
        text(&outcome.stderr).contains("No space left"),
        "{}",
        text(&outcome.stderr)
    );
}
