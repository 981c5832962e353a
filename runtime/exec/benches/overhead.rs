//! What isolation costs: a bash script that does nothing, started by a plain fork and exec, and as a
//! run at each level. One of each in turn, so that whatever else the machine does hits all of them.
//!
//! `cargo bench -p skillbundle-exec --bench overhead -- [LEVEL]...`
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for people who measure"
)]

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    if let Some(code) = skillbundle_exec::supervise_if_asked() {
        return code;
    }
    measure::all();
    std::process::ExitCode::SUCCESS
}

#[cfg(unix)]
mod measure {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use skillbundle_exec::{Executor, Isolation, Limits, Program, ProgramFile, Runner};

    const ROUNDS: usize = 100;

    const SCRIPT: &str = "/bin/true\n";

    pub(crate) fn all() {
        // `cargo bench` adds an option of its own.
        let asked: Vec<String> = std::env::args()
            .skip(1)
            .filter(|it| !it.starts_with('-'))
            .collect();
        let levels: Vec<Isolation> = Executor::survey()
            .unwrap()
            .into_iter()
            .filter(|it| it.missing.is_none())
            .map(|it| it.isolation)
            .filter(|it| asked.is_empty() || asked.contains(&it.to_string()))
            .collect();
        let executors: Vec<_> = levels.iter().map(|it| Executor::new(*it, *it)).collect();
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("run.sh");
        std::fs::write(&file, SCRIPT).unwrap();
        let mut times = vec![Vec::new(); 1 + levels.len()];
        for _ in 0..ROUNDS {
            let begin = Instant::now();
            let mut bare = Command::new("/bin/bash");
            let bare = bare.arg(&file).stdin(Stdio::null()).output().unwrap();
            times[0].push(begin.elapsed());
            assert!(bare.status.success());
            for (executor, times) in executors.iter().zip(&mut times[1..]) {
                let program = program();
                let begin = Instant::now();
                let outcome = executor.start(program).unwrap().wait(|_| ()).unwrap();
                times.push(begin.elapsed());
                assert_eq!(outcome.exit_code, Some(0));
            }
        }
        let medians: Vec<Duration> = times.into_iter().map(median).collect();
        println!("{:<12} {:>9} {:>12}", "", "median", "above bare");
        println!("{:<12} {:>6.2} ms", "bare", millis(medians[0]));
        for (level, time) in levels.iter().zip(&medians[1..]) {
            let above = millis(*time) - millis(medians[0]);
            println!(
                "{:<12} {:>6.2} ms {above:>9.2} ms",
                level.as_str(),
                millis(*time)
            );
        }
    }

    fn median(mut times: Vec<Duration>) -> Duration {
        times.sort_unstable();
        times[times.len() / 2]
    }

    fn millis(time: Duration) -> f64 {
        time.as_secs_f64() * 1000.0
    }

    fn program() -> Program {
        Program {
            runner: Runner::find("/bin/bash").unwrap(),
            files: vec![ProgramFile {
                path: "run.sh".to_owned(),
                bytes: SCRIPT.as_bytes().to_vec(),
            }],
            script: "run.sh".to_owned(),
            environment: Vec::new(),
            stdin: None,
            readable: Vec::new(),
            writable: Vec::new(),
            directory: None,
            network: false,
            limits: Limits::default(),
            streams: false,
        }
    }
}
