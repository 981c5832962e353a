//! A client that speaks the protocol over pipes, a request at a time.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A server started for one measurement. Dropped, it is told to end by the end
/// of its input, and waited for.
pub(crate) struct Client {
    started: Instant,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    line: String,
    id: u64,
}

impl Client {
    /// Starts a server; the clock runs from here.
    pub(crate) fn start(program: &std::path::Path, arguments: &[&str]) -> Self {
        let started = Instant::now();
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let input = child.stdin.take();
        let output =
            BufReader::with_capacity(64 * 1024, child.stdout.take().expect("stdout is a pipe"));
        Self {
            started,
            child,
            input,
            output,
            line: String::new(),
            id: 0,
        }
    }

    /// The handshake of the 2025-11-25 protocol.
    pub(crate) fn initialize(&mut self) {
        self.send(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"0"}}}"#);
        self.receive();
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    }

    /// Calls the `skill` tool and returns the reply's line.
    pub(crate) fn load(&mut self, name: &str) -> &str {
        self.ask(
            "tools/call",
            &format!(r#""name":"skill","arguments":{{"name":"{name}"}}"#),
        )
    }

    /// Any request, with the inside of its parameters; the reply's line.
    pub(crate) fn ask(&mut self, method: &str, params: &str) -> &str {
        self.id += 1;
        let id = self.id;
        self.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}}}}}"#
        ));
        self.receive()
    }

    /// Time since the start of the process.
    pub(crate) fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// Resident memory in KiB: all of it, and the part no file backs (Linux).
    pub(crate) fn resident(&self) -> Option<(u64, u64)> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let field = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name))?;
            line.split_whitespace().nth(1)?.parse().ok()
        };
        Some((field("VmRSS:")?, field("RssAnon:")?))
    }

    fn send(&mut self, line: &str) {
        let input = self.input.as_mut().expect("open until dropped");
        input
            .write_all(format!("{line}\n").as_bytes())
            .expect("the server reads its input");
    }

    fn receive(&mut self) -> &str {
        self.line.clear();
        let read = self
            .output
            .read_line(&mut self.line)
            .expect("the server writes lines");
        assert!(read > 0, "the server ended without an answer");
        &self.line
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.input = None;
        self.child.wait().expect("the server ends with its input");
    }
}
