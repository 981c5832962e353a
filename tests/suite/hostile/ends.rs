//! The ends of the process: floods of calls whose replies are not read, signals,
//! a client that closes stdout, and output that is not a message.

use std::io::Write;
use std::thread::JoinHandle;
#[cfg(target_os = "linux")]
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::SOURCES;
use super::frames::request;
use crate::paths::canary_project;
use crate::project::{Client, LEGACY, Project, say};

/// Calls of a flood. In an unoptimised build 50,000 take a minute; the pipes hold
/// some hundred.
#[cfg(target_os = "linux")]
const CALLS: usize = if cfg!(debug_assertions) {
    5_000
} else {
    50_000
};

/// How much memory the server may use meanwhile.
#[cfg(target_os = "linux")]
const MAX_KIB: u64 = 64 * 1024;

/// A server whose pipes only the test reads and writes.
struct RawServer(Client);

impl RawServer {
    fn start(project: &Project, source: &[&str]) -> Self {
        let mut command = project.command();
        command.arg("serve").args(source);
        Self(Client::start_inline(command))
    }

    fn send(&mut self, line: &str) {
        self.0.send_raw(format!("{line}\n").as_bytes());
    }

    fn reply(&mut self) -> Value {
        let line = self.0.line().expect("the server answers");
        serde_json::from_slice(&line)
            .unwrap_or_else(|error| panic!("{error}: {}", line.escape_ascii()))
    }

    fn initialize(&mut self) {
        self.send(&initialize());
        assert!(self.reply()["result"].is_object());
    }

    /// Writes calls from a thread of its own. The server may end before it has
    /// read them all.
    fn flood(&self, calls: usize) -> JoinHandle<()> {
        let mut stdin = self.0.second_stdin();
        std::thread::spawn(move || {
            let _ = (0..calls).try_for_each(|id| writeln!(stdin, "{}", call(id)));
        })
    }

    /// The exit code; a server that does not end fails the test.
    fn code(&mut self) -> Option<i32> {
        self.0.wait().code()
    }

    fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.0.id()).expect("an id");
        kill_process(Pid::from_raw(id).expect("an id"), signal).expect("it runs");
    }

    /// What is left on stdout.
    fn rest(&mut self) -> String {
        let lines: Vec<Vec<u8>> = std::iter::from_fn(|| self.0.line()).collect();
        String::from_utf8(lines.concat()).expect("stdout is text")
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

/// Back-pressure: while replies are not read, calls wait in the pipe and not in
/// the server. Once the client reads, each is answered.
#[cfg(target_os = "linux")]
#[test]
fn a_flood_of_calls_that_nobody_reads_costs_little_memory() {
    let project = canary_project();
    for source in SOURCES {
        flood(RawServer::start(&project, source));
    }
}

#[cfg(target_os = "linux")]
fn flood(mut server: RawServer) {
    server.initialize();
    let writer = server.flood(CALLS);
    // Long enough to fill the pipes; a server that kept reading would have read
    // all calls by then.
    std::thread::sleep(Duration::from_secs(2));
    assert!(
        !writer.is_finished(),
        "the server keeps reading although its replies are not read"
    );
    let unread = server.0.memory("VmRSS");
    let mut seen = vec![false; CALLS];
    for _ in 0..CALLS {
        let reply = server.reply();
        let id = reply["id"].as_u64().and_then(|id| usize::try_from(id).ok());
        let id = id.expect("our ids are numbers");
        assert!(reply["result"]["content"].is_array(), "{reply}");
        assert!(!std::mem::replace(&mut seen[id], true), "twice: {reply}");
    }
    let peak = server.0.memory("VmHWM");
    writer.join().expect("all calls were read");
    server.0.close();
    assert_eq!(server.code(), Some(0));
    say(&format!(
        "{CALLS} calls with unread stdout: {unread} KiB resident, {peak} KiB at most, all answered"
    ));
    assert!(peak <= MAX_KIB, "{peak} KiB");
}

/// Whatever prints to file descriptor 1 inside the server reaches stderr.
#[cfg(target_os = "linux")]
#[test]
fn output_printed_inside_the_process_goes_to_stderr() {
    let project = canary_project();
    let mut server = RawServer::start(&project, SOURCES[0]);
    server.initialize();
    let inside = format!("/proc/{}/fd/1", server.0.id());
    let inside = std::fs::OpenOptions::new().write(true).open(inside);
    let mut inside = inside.expect("file descriptor 1 can be opened");
    writeln!(inside, "printed by a dependency").expect("the server reads it");
    drop(inside);
    server.send(&call(1));
    assert_eq!(server.reply()["id"], 1, "the next line is the reply");
    server.0.close();
    assert_eq!(server.rest(), "");
    assert_eq!(server.code(), Some(0));
    let errors = server.0.stderr_so_far();
    assert!(errors.contains("printed by a dependency"), "{errors}");
}

/// A signal ends the server with 0 at any time: before the first message, with a
/// call under way, with unread replies.
#[test]
fn a_signal_ends_the_process_with_0() {
    let project = canary_project();
    for (signal, source) in [Signal::TERM, Signal::INT].into_iter().zip(SOURCES) {
        for calls in [None, Some(0), Some(1), Some(2000)] {
            let mut server = RawServer::start(&project, source);
            // Signals are handled from the first message on.
            server.send(r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#);
            assert!(server.reply()["result"].is_object());
            if let Some(calls) = calls {
                server.initialize();
                let writer = server.flood(calls);
                if calls > 0 {
                    assert!(server.reply()["result"].is_object());
                }
                server.signal(signal);
                assert_eq!(server.code(), Some(0), "{signal:?} with {calls} calls");
                writer.join().expect("the writer ends");
            } else {
                server.signal(signal);
                assert_eq!(server.code(), Some(0), "{signal:?} before a session");
            }
            let (said, errors) = (server.rest(), server.0.stderr_so_far());
            let cut = said.lines().filter(|line| !line.ends_with('}'));
            assert!(cut.count() <= 1, "only the last line may be cut: {said}");
            assert!(!errors.contains("panicked"), "{errors}");
        }
    }
}

/// The client closes stdout and stdin stays open: before the first message, after
/// the handshake, and with replies that were never read.
#[test]
fn a_reader_that_leaves_ends_the_process() {
    let project = canary_project();
    for (calls, source) in [None, Some(0), Some(500)]
        .into_iter()
        .zip(SOURCES.iter().cycle())
    {
        let mut server = RawServer::start(&project, source);
        if let Some(calls) = calls {
            server.initialize();
            let writer = server.flood(calls);
            server.0.close_stdout();
            assert_eq!(server.code(), Some(0), "with {calls} calls");
            writer.join().expect("the writer ends");
        } else {
            server.0.close_stdout();
            assert_eq!(server.code(), Some(0), "before the first message");
        }
    }
}
