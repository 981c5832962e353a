//! What the process does at its ends: floods that nobody reads the answers of,
//! signals, a reader that leaves, and things printed that are no message.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::SOURCES;
use super::frames::request;
use crate::paths::house;
use crate::project::{LEGACY, Project, say};

/// Calls of a flood. Without optimisation 50,000 take a minute, and the pipes
/// hold some hundred.
#[cfg(target_os = "linux")]
const CALLS: usize = if cfg!(debug_assertions) {
    5_000
} else {
    50_000
};

/// What a server may take meanwhile.
#[cfg(target_os = "linux")]
const MOST_KIB: u64 = 64 * 1024;

/// Ends a hang; nothing here asserts that anything is faster.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server whose pipes are read and written by the test alone.
struct Bare {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<BufReader<ChildStdout>>,
    stderr: ChildStderr,
}

impl Bare {
    fn start(project: &Project, source: &[&str]) -> Self {
        let mut command = project.command();
        command.arg("serve").args(source);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        Self {
            stdin: child.stdin.take(),
            stdout: child.stdout.take().map(BufReader::new),
            stderr: child.stderr.take().expect("stderr is piped"),
            child,
        }
    }

    fn send(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        writeln!(stdin, "{line}").expect("the server reads");
    }

    fn reply(&mut self) -> Value {
        let mut line = String::new();
        let stdout = self.stdout.as_mut().expect("stdout is open");
        stdout.read_line(&mut line).expect("stdout is text");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn initialize(&mut self) {
        self.send(&initialize());
        assert!(self.reply()["result"].is_object());
    }

    /// Its exit code; a server that does not end fails the test.
    fn code(&mut self) -> Option<i32> {
        let begun = std::time::Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().expect("a child can be waited for") {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        panic!("it does not end");
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).expect("an id");
        kill_process(Pid::from_raw(id).expect("an id"), signal).expect("it runs");
    }

    /// What is left on stdout and stderr.
    fn rest(&mut self) -> (String, String) {
        let (mut said, mut errors) = (String::new(), String::new());
        if let Some(stdout) = &mut self.stdout {
            stdout.read_to_string(&mut said).expect("text");
        }
        self.stderr.read_to_string(&mut errors).expect("text");
        (said, errors)
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        // Only this child, by its own handle; an error means that it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn initialize() -> String {
    let params = format!(
        r#"{{"protocolVersion":"{LEGACY}","capabilities":{{}},"clientInfo":{{"name":"h","version":"0"}}}}"#
    );
    request("\"hello\"", "initialize", Some(&params))
}

fn call(id: usize) -> String {
    let params = r#"{"name":"skill","arguments":{"name":"a"}}"#;
    request(&id.to_string(), "tools/call", Some(params))
}

/// Calls that are sent without reading any reply wait in their pipe and not in
/// the server, and every one is answered once somebody reads.
#[cfg(target_os = "linux")]
#[test]
fn a_flood_of_calls_that_nobody_reads_costs_little_memory() {
    let project = house();
    for source in SOURCES {
        flood(Bare::start(&project, source));
    }
}

#[cfg(target_os = "linux")]
fn flood(mut server: Bare) {
    server.initialize();
    let mut stdin = server.stdin.take().expect("stdin is open");
    let writer = std::thread::spawn(move || {
        let lines: String = (0..CALLS).map(|id| call(id) + "\n").collect();
        stdin.write_all(lines.as_bytes()).expect("the server reads");
        stdin
    });
    // As long as it takes to fill the pipes; a server that reads on would need
    // less than that for all of them.
    std::thread::sleep(Duration::from_secs(2));
    assert!(!writer.is_finished(), "it reads on although nobody reads");
    let unread = memory(&server, "VmRSS");
    let mut seen = vec![false; CALLS];
    for _ in 0..CALLS {
        let reply = server.reply();
        let id = reply["id"].as_u64().and_then(|id| usize::try_from(id).ok());
        let id = id.expect("our ids are numbers");
        assert!(reply["result"]["content"].is_array(), "{reply}");
        assert!(!std::mem::replace(&mut seen[id], true), "twice: {reply}");
    }
    let peak = memory(&server, "VmHWM");
    drop(writer.join().expect("all calls were taken"));
    assert_eq!(server.code(), Some(0));
    say(&format!(
        "{CALLS} calls with unread stdout: {unread} KiB resident, {peak} KiB at most, all answered"
    ));
    assert!(peak <= MOST_KIB, "{peak} KiB");
}

/// A figure of the process in KiB.
#[cfg(target_os = "linux")]
fn memory(server: &Bare, what: &str) -> u64 {
    let status = format!("/proc/{}/status", server.child.id());
    let status = std::fs::read_to_string(status).expect("the state of a process");
    let line = status.lines().find_map(|line| line.strip_prefix(what));
    let kib = line.and_then(|line| line.trim_start_matches(':').split_whitespace().next());
    kib.and_then(|kib| kib.parse().ok()).expect("a number")
}

/// Whatever prints to file descriptor 1 of the server writes to stderr.
#[cfg(target_os = "linux")]
#[test]
fn what_is_printed_inside_the_process_is_no_message() {
    let project = house();
    let mut server = Bare::start(&project, SOURCES[0]);
    server.initialize();
    let inside = format!("/proc/{}/fd/1", server.child.id());
    let inside = std::fs::OpenOptions::new().write(true).open(inside);
    let mut inside = inside.expect("its descriptor 1 can be opened");
    writeln!(inside, "printed by a dependency").expect("somebody reads it");
    drop(inside);
    server.send(&call(1));
    assert_eq!(server.reply()["id"], 1, "the next line is the reply");
    drop(server.stdin.take());
    let (said, errors) = server.rest();
    assert_eq!(said, "");
    assert!(errors.contains("printed by a dependency"), "{errors}");
    assert_eq!(server.code(), Some(0));
}

/// At any time, also with a call under way or unread replies.
#[test]
fn a_signal_is_a_good_end() {
    let project = house();
    for (signal, source) in [Signal::TERM, Signal::INT].into_iter().zip(SOURCES) {
        for calls in [None, Some(0), Some(1), Some(2000)] {
            let mut server = Bare::start(&project, source);
            // Signals are listened to from the first message on.
            server.send(r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#);
            assert!(server.reply()["result"].is_object());
            if let Some(calls) = calls {
                server.initialize();
                let mut stdin = server.stdin.take().expect("stdin is open");
                let writer = std::thread::spawn(move || {
                    // It may end before it has taken all.
                    let _ = (0..calls).try_for_each(|id| writeln!(stdin, "{}", call(id)));
                    stdin
                });
                if calls > 0 {
                    assert!(server.reply()["result"].is_object());
                }
                server.signal(signal);
                assert_eq!(server.code(), Some(0), "{signal:?} with {calls} calls");
                drop(writer.join());
            } else {
                server.signal(signal);
                assert_eq!(server.code(), Some(0), "{signal:?} before a session");
            }
            let (said, errors) = server.rest();
            let cut = said.lines().filter(|line| !line.ends_with('}'));
            assert!(cut.count() <= 1, "lines are whole but for the last: {said}");
            assert!(!errors.contains("panicked"), "{errors}");
        }
    }
}

/// The reader leaves and stdin stays open: before a word was said, after the
/// handshake, and with replies that never left.
#[test]
fn a_reader_that_leaves_ends_the_process() {
    let project = house();
    for (calls, source) in [None, Some(0), Some(500)]
        .into_iter()
        .zip(SOURCES.iter().cycle())
    {
        let mut server = Bare::start(&project, source);
        if let Some(calls) = calls {
            server.initialize();
            let mut stdin = server.stdin.take().expect("stdin is open");
            let writer = std::thread::spawn(move || {
                let _ = (0..calls).try_for_each(|id| writeln!(stdin, "{}", call(id)));
                stdin
            });
            drop(server.stdout.take());
            assert_eq!(server.code(), Some(0), "with {calls} calls");
            drop(writer.join().expect("the writer ends"));
        } else {
            drop(server.stdout.take());
            assert_eq!(server.code(), Some(0), "before a word was said");
        }
    }
}
