//! Runs real scripts at every level that this machine offers. The test program is its own
//! supervisor.
#![cfg(unix)]

use std::process::ExitCode;
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use skillbundle_exec::{
    Executor, Isolation, Limits, Outcome, Program, ProgramFile, Runner, supervise_if_asked,
};

fn main() -> ExitCode {
    if let Some(code) = supervise_if_asked() {
        return code;
    }
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for found in Executor::survey().expect("the supervisor answers") {
        if let Some(reason) = found.missing {
            eprintln!("skipped: {}: {reason}", found.isolation);
            continue;
        }
        let level = found.isolation;
        trials.push(Trial::test(format!("{level}::hello"), move || hello(level)));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn script(text: &str) -> Program {
    Program {
        runner: Runner::find("bash").unwrap(),
        files: vec![ProgramFile {
            path: "scripts/run.sh".to_owned(),
            bytes: text.as_bytes().to_vec(),
        }],
        script: "scripts/run.sh".to_owned(),
        environment: vec![("SKILL_ARG_A".to_owned(), "1".to_owned())],
        stdin: None,
        readable: Vec::new(),
        directory: None,
        network: false,
        limits: Limits {
            time: Duration::from_secs(10),
            ..Limits::default()
        },
        streams: false,
    }
}

fn run(level: Isolation, program: Program) -> Outcome {
    let run = Executor::new(level, level).start(program).unwrap();
    run.wait(|_| ()).unwrap()
}

fn hello(level: Isolation) -> Result<(), Failed> {
    let out = run(
        level,
        script(
            "echo hello $SKILL_ARG_A; env >&2; id >&2; pwd >&2; ls -la / . $SKILL_DIR /tmp>&2; cat /proc/self/status | head -12 >&2; exit 3",
        ),
    );
    println!("{}", String::from_utf8_lossy(&out.stderr.head));
    assert_eq!(out.stdout.head, b"hello 1\n");
    assert_eq!(out.exit_code, Some(3));
    Ok(())
}
