//! What a program gets and how it is reported: arguments, environment, streams, directory,
//! descriptors, privileges.

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, symlink};

use skillbundle_exec::{Event, Isolation, ProgramFile};

use crate::Case;
use crate::kit::{bash, output, perl, refusal, run, start, text, with};

pub(crate) const CASES: &[Case] = &[
    ("exit_codes_and_signals", exit_codes_and_signals),
    (
        "arguments_and_environment_are_exact",
        arguments_and_environment_are_exact,
    ),
    ("stdin_is_empty_or_as_given", stdin_is_empty_or_as_given),
    (
        "streams_are_apart_and_any_bytes",
        streams_are_apart_and_any_bytes,
    ),
    ("a_closed_stdout_is_no_end", a_closed_stdout_is_no_end),
    ("output_is_cut_in_the_middle", output_is_cut_in_the_middle),
    ("output_is_streamed", output_is_streamed),
    ("last_lines_are_reported", last_lines_are_reported),
    ("what_cannot_start_says_why", what_cannot_start_says_why),
    ("directories", directories),
    ("nothing_is_inherited", nothing_is_inherited),
    ("no_privileges", no_privileges),
    ("files_are_as_given", files_are_as_given),
];

fn exit_codes_and_signals(level: Isolation) {
    for code in [0, 1, 2, 126, 127, 255] {
        let outcome = run(level, bash(&format!("exit {code}")));
        assert_eq!((outcome.exit_code, outcome.signal), (Some(code), None));
        assert_eq!((outcome.stopped, outcome.isolation), (None, level));
    }
    for signal in [9, 15, 11, 6, 1, 13] {
        let outcome = run(level, bash(&format!("kill -{signal} $$; sleep 5")));
        // Bubblewrap reports a signal as shells do.
        let expected = match level {
            Isolation::Bubblewrap => (Some(128 + signal), None),
            _ => (None, Some(signal)),
        };
        assert_eq!((outcome.exit_code, outcome.signal), expected, "{signal}");
    }
}

fn arguments_and_environment_are_exact(level: Isolation) {
    let given = with(
        bash("cat /proc/self/environ 2>/dev/null || env -0; printf '%s|' \"$#\" \"$0\" >&2"),
        &[
            ("SKILL_ARG_A", "a b\n'\"$(exit) *"),
            ("SKILL_ARG_EMPTY", ""),
        ],
    );
    let outcome = run(level, given);
    let environment = text(&outcome.stdout);
    let mut names: Vec<&str> = environment
        .split_terminator('\0')
        .map(|it| it.split_once('=').unwrap().0)
        // Bash and what is started by it add these.
        .filter(|it| !["PWD", "SHLVL", "_"].contains(it))
        .collect();
    names.sort_unstable();
    let expected = [
        "HOME",
        "LANG",
        "PATH",
        "SKILLBUNDLE_RUN",
        "SKILL_ARG_A",
        "SKILL_ARG_EMPTY",
        "SKILL_DIR",
        "TMPDIR",
    ];
    assert_eq!(names, expected, "{environment:?}");
    assert!(environment.contains("SKILL_ARG_A=a b\n'\"$(exit) *\0"));
    assert!(environment.contains("SKILL_ARG_EMPTY=\0"));
    let arguments = text(&outcome.stderr);
    assert!(
        arguments.starts_with("0|/") && arguments.ends_with("/scripts/run.sh|"),
        "{arguments}"
    );
}

fn stdin_is_empty_or_as_given(level: Isolation) {
    assert_eq!(
        output(level, bash("wc -c; readlink -f /dev/stdin")),
        "0\n/dev/null\n"
    );
    for len in [0, 1, 65_536, 1 << 20] {
        let bytes: Vec<u8> = (0..len).map(|it: usize| it.to_le_bytes()[0]).collect();
        let mut program = bash("cat");
        program.stdin = Some(bytes.clone());
        program.limits.output_bytes = 2 << 20;
        assert!(run(level, program).stdout.head == bytes, "{len}");
    }
    let mut program = bash("echo done");
    program.stdin = Some(vec![b'x'; 1 << 20]);
    assert_eq!(output(level, program), "done\n");
    let mut program = bash("exec <&-; sleep 0.1; echo done");
    program.stdin = Some(vec![b'x'; 1 << 20]);
    assert_eq!(output(level, program), "done\n");
}

fn streams_are_apart_and_any_bytes(level: Isolation) {
    let outcome = run(
        level,
        perl("binmode STDOUT; print map chr, 0..255; print STDERR qq(\\xff\\0err);"),
    );
    let all: Vec<u8> = (0..=255).collect();
    assert_eq!(outcome.stdout.head, all);
    assert_eq!(outcome.stderr.head, b"\xff\0err");
}

fn a_closed_stdout_is_no_end(level: Isolation) {
    let outcome = run(
        level,
        bash("echo out; exec >&-; sleep 0.2; echo err >&2; exec 2>&-; sleep 0.2; exit 7"),
    );
    assert_eq!(outcome.exit_code, Some(7));
    assert_eq!(
        (text(&outcome.stdout), text(&outcome.stderr)),
        ("out\n".to_owned(), "err\n".to_owned())
    );
}

fn output_is_cut_in_the_middle(level: Isolation) {
    let script = "seq -w 1 100000 & seq -w 200001 300000 >&2; wait";
    for limit in [0, 1000, 1 << 20] {
        let mut program = bash(script);
        program.limits.output_bytes = limit;
        let outcome = run(level, program);
        for (captured, first, last) in [
            (&outcome.stdout, "000001\n", "100000\n"),
            (&outcome.stderr, "200001\n", "300000\n"),
        ] {
            assert_eq!(captured.total, 700_000);
            assert_eq!(captured.head.len(), limit.min(700_000));
            if limit > 0 {
                assert!(captured.head.starts_with(first.as_bytes()));
            }
            let kept = if captured.tail.is_empty() {
                &captured.head
            } else {
                &captured.tail
            };
            assert!(kept.ends_with(last.as_bytes()));
            let left_out = 700_000_usize.saturating_sub(limit).saturating_sub(4096);
            assert_eq!(captured.left_out(), left_out as u64);
        }
    }
}

fn output_is_streamed(level: Isolation) {
    let mut program = bash("seq 1 200000; seq 1 1000 >&2; echo end");
    program.streams = true;
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let outcome = start(level, program).wait(|event| match event {
        Event::Stdout(bytes) => {
            // A reader that is slower than the program.
            std::thread::sleep(std::time::Duration::from_millis(1));
            stdout.extend_from_slice(bytes);
        }
        Event::Stderr(bytes) => stderr.extend_from_slice(bytes),
        Event::LastLine(line) => panic!("{line}"),
    });
    let outcome = outcome.unwrap();
    let expected = (1..=200_000).fold(String::new(), |text, n| text + &n.to_string() + "\n");
    assert!(stdout == (expected + "end\n").as_bytes());
    assert_eq!(outcome.stdout.total, stdout.len() as u64);
    assert_eq!(outcome.stderr.total, stderr.len() as u64);
    assert!(outcome.stdout.head.is_empty() && outcome.stdout.tail.is_empty());
}

fn last_lines_are_reported(level: Isolation) {
    let mut lines = Vec::new();
    let program =
        bash("for i in 1 2 3; do echo step $i; echo; sleep 0.7; done; echo -n 'äö' ; sleep 1.2");
    let outcome = start(level, program).wait(|event| {
        if let Event::LastLine(line) = event {
            lines.push(line.to_owned());
        }
    });
    assert_eq!(outcome.unwrap().exit_code, Some(0));
    assert!(lines.iter().any(|it| it.starts_with("step ")), "{lines:?}");
    assert_eq!(lines.last().map(String::as_str), Some("äö"), "{lines:?}");
}

fn what_cannot_start_says_why(level: Isolation) {
    let mut missing = bash("");
    missing.runner.program = "/usr/bin/no-such-runner".into();
    let reason = refusal(level, missing);
    assert!(reason.contains("no-such-runner"), "{reason}");

    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let file = directory.path().join("runner");
    fs::write(&file, "#!/bin/sh\n").unwrap();
    let mut closed = bash("");
    closed.runner.program.clone_from(&file);
    closed.runner.needs = vec![directory.path().to_owned()];
    let reason = refusal(level, closed);
    assert!(reason.contains(file.to_str().unwrap()), "{reason}");

    let mut lost = bash("");
    "scripts/other.sh".clone_into(&mut lost.script);
    let reason = refusal(level, lost);
    assert!(reason.contains("scripts/other.sh"), "{reason}");

    let mut outside = bash("");
    "../run.sh".clone_into(&mut outside.files[0].path);
    "../run.sh".clone_into(&mut outside.script);
    let reason = refusal(level, outside);
    assert!(reason.contains("../run.sh"), "{reason}");

    let mut gone = bash("");
    gone.readable = vec!["/var/no-such-directory".into()];
    gone.directory = Some("/var/no-such-directory".into());
    let reason = refusal(level, gone);
    assert!(reason.contains("no-such-directory"), "{reason}");

    let mut null = with(bash(""), &[("A", "x\0y")]);
    null.limits.grace = std::time::Duration::ZERO;
    let reason = refusal(level, null);
    assert!(reason.contains("nul byte"), "{reason}");
}

fn directories(level: Isolation) {
    assert_eq!(
        output(
            level,
            bash("[ $PWD = $HOME ] && touch here && ls && touch $TMPDIR/there && echo ok")
        ),
        "here\nok\n"
    );
    let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for directory in [&inside, &outside] {
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::create_dir(inside.path().join("a")).unwrap();
    fs::write(inside.path().join("a/file"), "text").unwrap();
    symlink(outside.path(), inside.path().join("out")).unwrap();
    symlink("a", inside.path().join("in")).unwrap();
    let there = |name: &str| {
        let mut program = bash("cat file; pwd -P");
        program.readable = vec![inside.path().to_owned()];
        program.directory = Some(inside.path().join(name));
        program
    };
    let expected = format!("text{}\n", inside.path().join("a").display());
    assert_eq!(output(level, there("a")), expected);
    assert_eq!(output(level, there("in")), expected);
    for name in ["out", "../..", "a/../../..", "a/file", "none"] {
        let reason = refusal(level, there(name));
        assert!(reason.contains(name), "{name}: {reason}");
    }
    let mut program = bash("pwd");
    program.readable = vec![inside.path().to_owned()];
    program.directory = Some(outside.path().to_owned());
    let reason = refusal(level, program);
    assert!(
        reason.contains("no directory that scripts may read"),
        "{reason}"
    );
}

fn nothing_is_inherited(level: Isolation) {
    // As a caller may have that was careless, or was started by such a one.
    let held: Vec<_> = (0..3)
        .map(|_| fs::File::open("/dev/null").unwrap())
        .collect();
    let held: Vec<_> = held.iter().map(|it| rustix::io::dup(it).unwrap()).collect();
    for fd in &held {
        rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::empty()).unwrap();
        assert!(fd.as_raw_fd() > 2);
    }
    let script =
        "for fd in {3..200}; do { true <&$fd; } 2>/dev/null && [[ $fd != 10 && $fd != 255 ]] && echo fd $fd; done
        read -a stat < /proc/self/stat; IFS=' ' read -r -a s <<< \"$(sed 's/.*) //' /proc/$$/stat)\"
        echo session ${s[3]} tty ${s[4]} umask $(umask) core $(ulimit -c)
        { true < /dev/tty; } 2>/dev/null && echo tty
        trap";
    let mut program = bash(script);
    program.limits.open_files = 256;
    let outcome = run(level, program);
    let got = text(&outcome.stdout);
    if level == Isolation::Landlock {
        // It may not look into /proc.
        assert!(got.starts_with("session"), "{got}");
        assert!(got.ends_with("umask 0077 core 0\n"), "{got}");
    } else {
        let (session, rest) = got.split_once(" tty ").unwrap();
        assert_eq!(
            rest,
            "0 umask 0077 core 0\n",
            "{got}{}",
            text(&outcome.stderr)
        );
        let session: i32 = session.strip_prefix("session ").unwrap().parse().unwrap();
        // Not by `getsid`, which answers 0 if the session began outside of the PID namespace.
        let stat = fs::read_to_string("/proc/self/stat").unwrap();
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        let own: i32 = fields.split(' ').nth(3).unwrap().parse().unwrap();
        assert_ne!(session, own);
    }
}

fn no_privileges(level: Isolation) {
    // By system calls, since not every level shows /proc.
    let script = r#"
        print 'nnp ', syscall(157, 39, 0, 0, 0, 0), "\n";
        my $header = pack 'II', 0x20080522, 0; my $data = "\0" x 24;
        syscall(125, $header, $data); my @caps = unpack 'I6', $data;
        print "caps @caps[0, 1, 3, 4]\n";
        print 'root ', ($< == 0 || $> == 0 || $( =~ /\b0\b/ ? 1 : 0), "\n";
    "#;
    if cfg!(target_arch = "x86_64") {
        assert_eq!(output(level, perl(script)), "nnp 1\ncaps 0 0 0 0\nroot 0\n");
    }
}

fn files_are_as_given(level: Isolation) {
    let mut program = bash(
        "cd $SKILL_DIR; . lib/a.sh; cat 'data/ö x'; lib/tool
        for change in 'echo >> lib/a.sh' 'rm lib/a.sh' 'touch new' 'mv lib lob' 'ln -s / root'; do
            (eval $change) 2>/dev/null && echo changed: $change
        done; true",
    );
    for (path, bytes) in [
        ("lib/a.sh", &b"echo sourced"[..]),
        ("data/\u{f6} x", b"data\n"),
        ("lib/tool", b"#!/bin/sh\necho tool\n"),
    ] {
        program.files.push(ProgramFile {
            path: path.to_owned(),
            bytes: bytes.to_vec(),
        });
    }
    assert_eq!(output(level, program), "sourced\ndata\ntool\n");
}
