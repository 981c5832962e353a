//! Programs for tests, how to run them, and a look at the processes of this machine from outside.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use skillbundle_exec::{
    Captured, Error, Executor, Isolation, Limits, Outcome, Program, ProgramFile, Run, Runner,
};

/// How long to wait for what must come. Only a failure takes as long.
const PATIENCE: Duration = Duration::from_secs(30);

/// The argument that makes this program a caller.
const CALL: &str = "--call";

/// A program of one file.
pub(crate) fn program(runner: &str, name: &str, text: &str) -> Program {
    Program {
        runner: Runner::find(runner).unwrap(),
        files: vec![ProgramFile {
            path: name.to_owned(),
            bytes: text.as_bytes().to_vec(),
        }],
        script: name.to_owned(),
        environment: Vec::new(),
        stdin: None,
        readable: Vec::new(),
        writable: Vec::new(),
        directory: None,
        network: false,
        limits: Limits {
            time: Duration::from_secs(60),
            grace: Duration::from_millis(300),
            ..Limits::default()
        },
        streams: false,
    }
}

pub(crate) fn bash(text: &str) -> Program {
    program("bash", "scripts/run.sh", text)
}

/// Perl is part of every Debian, and can make any system call.
pub(crate) fn perl(text: &str) -> Program {
    program("perl", "scripts/run.pl", text)
}

pub(crate) fn with(program: Program, variables: &[(&str, &str)]) -> Program {
    let mut program = program;
    for (name, value) in variables {
        let variable = ((*name).to_owned(), (*value).to_owned());
        program.environment.push(variable);
    }
    program
}

pub(crate) fn start(level: Isolation, program: Program) -> Run {
    Executor::new(level, level).start(program).unwrap()
}

pub(crate) fn run(level: Isolation, program: Program) -> Outcome {
    start(level, program).wait(|_| ()).unwrap()
}

/// What a program wrote that must succeed.
pub(crate) fn output(level: Isolation, program: Program) -> String {
    let outcome = run(level, program);
    assert_eq!(
        (outcome.exit_code, outcome.stopped),
        (Some(0), None),
        "{}",
        text(&outcome.stderr)
    );
    text(&outcome.stdout)
}

/// Why a program cannot be started.
pub(crate) fn refusal(level: Isolation, program: Program) -> String {
    match start(level, program).wait(|_| ()) {
        Err(Error::Start(reason)) => reason,
        other => panic!("it must not start: {other:?}"),
    }
}

pub(crate) fn text(captured: &Captured) -> String {
    String::from_utf8_lossy(&captured.head).into_owned()
}

/// A number of seconds that no other process on this machine sleeps for.
pub(crate) fn marker() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("4321.{:07}{next:04}", std::process::id())
}

/// Processes with this text in their arguments or their environment, with their arguments.
pub(crate) fn marked(marker: &str) -> Vec<(i32, String)> {
    let own = i32::try_from(std::process::id()).unwrap();
    let has = |bytes: &[u8]| {
        let mut windows = bytes.windows(marker.len());
        windows.any(|it| it == marker.as_bytes())
    };
    let mut found = Vec::new();
    for pid in processes().into_iter().filter(|it| *it != own) {
        let read = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let arguments = read("cmdline");
        if has(&arguments) || has(&read("environ")) {
            let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
            found.push((pid, arguments));
        }
    }
    found
}

pub(crate) fn processes() -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap().map_while(Result::ok);
    let pids = entries.filter_map(|it| it.file_name().to_str()?.parse().ok());
    pids.collect()
}

/// Children of a process, as the kernel lists them.
pub(crate) fn children(pid: i32) -> Vec<i32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let list = list.unwrap_or_default();
    list.split_whitespace()
        .map(|it| it.parse().unwrap())
        .collect()
}

/// The keeper and the supervisor above the processes that sleep for this marker.
pub(crate) fn above(marker: &str) -> (i32, i32) {
    let mut found = None;
    until("its keeper is found", || {
        let sleepers = marked(&format!("sleep\0{marker}"));
        found = sleepers.into_iter().find_map(|it| keeper_above(it.0));
        found.is_some()
    });
    found.unwrap()
}

/// `None` if one of the line has ended meanwhile.
fn keeper_above(pid: i32) -> Option<(i32, i32)> {
    let mut line = vec![pid];
    loop {
        let last = *line.last()?;
        let stat = fs::read_to_string(format!("/proc/{last}/stat")).ok()?;
        let (name, rest) = stat.rsplit_once(')')?;
        if name.ends_with("skill-keeper") {
            return Some((last, *line.get(line.len().checked_sub(2)?)?));
        }
        line.push(rest.split_whitespace().nth(1)?.parse().ok()?);
    }
}

/// Waits until something holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < PATIENCE, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Fails if a process with this marker lives, or comes to live in a moment.
pub(crate) fn assert_none_alive(marker: &str, what: &str) {
    for _ in 0..3 {
        let alive = marked(marker);
        for (pid, _) in &alive {
            signal("KILL", *pid);
        }
        assert!(alive.is_empty(), "alive after {what}: {alive:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The id of the run that one of the processes with this marker belongs to.
pub(crate) fn run_of(marker: &str) -> String {
    let read = |pid| fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let id = |pid| {
        let environment = String::from_utf8_lossy(&read(pid)).into_owned();
        let mut entries = environment.split('\0');
        let id = entries.find_map(|it| it.strip_prefix("SKILLBUNDLE_RUN="));
        id.map(str::to_owned)
    };
    let mut found = None;
    until("its id is found", || {
        found = marked(marker).into_iter().find_map(|it| id(it.0));
        found.is_some()
    });
    found.unwrap()
}

/// Waits until no directory of a run is left, neither of files nor of processes.
pub(crate) fn until_removed(id: &str) {
    let name = format!("skillbundle-run-{id}");
    let places = [
        std::env::temp_dir().join(&name),
        PathBuf::from("/sys/fs/cgroup").join(&name),
        PathBuf::from("/sys/fs/cgroup/unified").join(&name),
    ];
    until(&format!("{name} is removed"), || {
        !places.iter().any(|it| it.exists())
    });
}

/// Sends a signal, by its name without `SIG`.
pub(crate) fn signal(name: &str, pid: i32) {
    let status = Command::new("kill")
        .args([format!("-{name}"), pid.to_string()])
        .stderr(Stdio::null())
        .status();
    status.unwrap();
}

/// This program again, as a caller that runs a bash script and may be killed.
pub(crate) struct Caller {
    pub(crate) process: Child,
}

impl Caller {
    /// Starts it. `mode` is `wait`; or `deaf` if it shall not read what its supervisor says; or
    /// `many` if it shall run many and look at itself.
    pub(crate) fn start(
        level: Isolation,
        mode: &str,
        script: &str,
        variables: &[(&str, &str)],
    ) -> Self {
        let mut command = Command::new("/proc/self/exe");
        command.env("TEST_VARIABLES", serde_json::to_string(variables).unwrap());
        Self::spawn(command.args([CALL, level.as_str(), mode]), script, || ())
    }

    /// With this directory for temporary files.
    pub(crate) fn with_temporary(level: Isolation, directory: &Path) -> Self {
        let mut command = Command::new("/proc/self/exe");
        command.env("TEST_VARIABLES", "[]").env("TMPDIR", directory);
        Self::spawn(
            command.args([CALL, level.as_str(), "wait"]),
            "echo fine",
            || (),
        )
    }

    /// From this copy of the program, which is replaced before it starts a supervisor.
    pub(crate) fn replaced(level: Isolation, program: &Path) -> Self {
        let mut command = Command::new(program);
        command.env("TEST_VARIABLES", "[]");
        Self::spawn(
            command.args([CALL, level.as_str(), "wait"]),
            "echo fine",
            || {
                let other = program.with_extension("new");
                fs::write(&other, "#!/bin/false").unwrap();
                fs::rename(&other, program).unwrap();
            },
        )
    }

    fn spawn(command: &mut Command, script: &str, before_it_goes_on: impl FnOnce()) -> Self {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        before_it_goes_on();
        let mut input = process.stdin.take().unwrap();
        input.write_all(script.as_bytes()).unwrap();
        drop(input);
        Self { process }
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.process.id()).unwrap()
    }

    /// Waits for its own end, and returns what it says about the outcome.
    pub(crate) fn result(&mut self) -> String {
        let output = self.process.stdout.take().unwrap();
        let line = BufReader::new(output).lines().next();
        self.process.wait().unwrap();
        line.map_or_else(String::new, Result::unwrap)
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What a [`Caller`] does.
pub(crate) fn call_if_asked() -> Option<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [call, level, mode] = words.as_slice() else {
        return None;
    };
    if call != CALL {
        return None;
    }
    let mut script = String::new();
    std::io::stdin().read_to_string(&mut script).unwrap();
    let mut program = bash(&script);
    program.environment = serde_json::from_str(&std::env::var("TEST_VARIABLES").unwrap()).unwrap();
    program.limits.processes = 100;
    let own = std::process::id().to_string();
    program.environment.push(("CALLER".to_owned(), own));
    if mode == "many" {
        let said = if crate::load::is_flat(level.parse().unwrap()) {
            "flat"
        } else {
            "grown"
        };
        println!("{said}");
        return Some(ExitCode::SUCCESS);
    }
    if mode == "deaf" {
        program.limits.time = Duration::from_millis(500);
        program.streams = true;
    }
    let run = start(level.parse().unwrap(), program);
    if mode == "deaf" {
        std::thread::sleep(Duration::from_secs(600));
    }
    let said = match run.wait(|_| ()) {
        Ok(outcome) => format!("{:?} {:?}", outcome.exit_code, text(&outcome.stdout)),
        Err(error) => error.to_string(),
    };
    println!("{said}");
    Some(ExitCode::SUCCESS)
}
