//! One MCP session with the shipped binary over real pipes: line-based, patient,
//! strict about what may stand on stdout. Ends only the child it started.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long a reply may take before the test gives up. It only ends a hang:
/// no test asserts how long anything takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// The stateless revision of the protocol.
const MODERN: &str = "2026-07-28";
/// The newest revision that opens with `initialize`.
pub(crate) const LEGACY: &str = "2025-11-25";

/// A running server and the pipes to it.
pub(crate) struct Session {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    stderr: Arc<Mutex<Vec<u8>>>,
    stderr_reader: Option<JoinHandle<()>>,
    next_id: u64,
    modern: bool,
    /// What a reply is awaited for, where more should be said than that none came.
    pub(crate) waits_for: String,
    /// Messages without an id that came between replies, oldest first.
    pub(crate) notices: Vec<Value>,
}

/// How a session ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stderr: String,
}

impl Session {
    /// Starts the command with pipes on all three ends.
    pub(crate) fn start(command: Command) -> Self {
        Self::start_reading(command, Duration::ZERO)
    }

    /// The same, with a client that waits before each of its reads, so that the
    /// pipe fills up and the server has to wait for room.
    pub(crate) fn start_slow(command: Command) -> Self {
        Self::start_reading(command, Duration::from_millis(20))
    }

    fn start_reading(mut command: Command, pause: Duration) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("start {}: {e}", command.get_program().display()));
        let stdout = child.stdout.take().expect("stdout is piped");
        let mut errors = child.stderr.take().expect("stderr is piped");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::with_capacity(
                1 << 20,
                Unhurried {
                    from: stdout,
                    pause,
                },
            );
            loop {
                let mut line = Vec::new();
                match reader.read_until(b'\n', &mut line) {
                    Ok(1..) if sender.send(line).is_ok() => {}
                    _ => return,
                }
            }
        });
        let stderr = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&stderr);
        let stderr_reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = errors.read(&mut buffer) {
                sink.lock()
                    .expect("no reader panics")
                    .extend_from_slice(&buffer[..n]);
            }
        });
        Self {
            stdin: child.stdin.take(),
            child,
            lines,
            stderr,
            stderr_reader: Some(stderr_reader),
            next_id: 0,
            modern: false,
            waits_for: String::new(),
            notices: Vec::new(),
        }
    }

    /// The older handshake; gives the `initialize` result.
    pub(crate) fn initialize(&mut self, version: &str) -> Value {
        let result = self.result(
            "initialize",
            json!({
                "protocolVersion": version,
                "capabilities": {},
                "clientInfo": { "name": "suite", "version": "0" }
            }),
        );
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        result
    }

    /// The stateless opening; every later request carries its `_meta`.
    pub(crate) fn discover(&mut self) -> Value {
        self.modern = true;
        self.result("server/discover", json!({}))
    }

    /// Sends one message.
    pub(crate) fn send(&mut self, message: &Value) {
        let mut line = message.to_string();
        line.push('\n');
        self.send_raw(line.as_bytes());
    }

    /// Sends bytes as they are; the caller ends the line.
    pub(crate) fn send_raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("stdin is still open");
        if let Err(e) = stdin.write_all(bytes).and_then(|()| stdin.flush()) {
            panic!("the server does not read: {e}\n{}", self.stderr_so_far());
        }
    }

    /// Sends text from a thread of its own, by a second handle on stdin.
    pub(crate) fn send_aside(&mut self, text: impl Into<Vec<u8>>) -> JoinHandle<()> {
        let bytes = text.into();
        let mut stdin = self
            .stdin
            .as_ref()
            .expect("stdin is still open")
            .as_fd()
            .try_clone_to_owned()
            .map(File::from)
            .expect("a pipe can be had twice");
        std::thread::spawn(move || {
            stdin.write_all(&bytes).expect("the server reads");
        })
    }

    /// Sends a request and gives the whole reply to it.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        let params = if self.modern {
            with_meta(params)
        } else {
            params
        };
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.message().unwrap_or_else(|| {
                panic!(
                    "the server ended before it answered {method}\n{}",
                    self.stderr_so_far()
                )
            });
            if message.get("method").is_some() {
                self.notices.push(message);
            } else if message["id"] == id {
                return message;
            } else {
                panic!("a reply nobody waits for: {message}");
            }
        }
    }

    /// Sends a request that must succeed and gives its result.
    pub(crate) fn result(&mut self, method: &str, params: Value) -> Value {
        let mut reply = self.request(method, params);
        assert!(reply.get("error").is_none(), "{method} failed: {reply}");
        reply["result"].take()
    }

    /// Calls a tool; gives the result, whether it says `isError` or not.
    pub(crate) fn tool(&mut self, name: &str, arguments: &Value) -> Value {
        self.result(
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
        )
    }

    /// Calls a tool that must answer without `isError`; gives its text.
    pub(crate) fn tool_text(&mut self, name: &str, arguments: &Value) -> String {
        let result = self.tool(name, arguments);
        assert!(
            result["isError"] != true,
            "{name} {arguments} failed: {result}"
        );
        text_of(&result)
    }

    /// Calls a tool that must answer with JSON in its text; gives that JSON.
    pub(crate) fn tool_json(&mut self, name: &str, arguments: &Value) -> Value {
        let text = self.tool_text(name, arguments);
        serde_json::from_str(&text)
            .unwrap_or_else(|e| panic!("{name} {arguments} gave no JSON: {e}\n{text}"))
    }

    /// Calls a tool that must refuse with `isError`; gives its text.
    pub(crate) fn tool_error(&mut self, name: &str, arguments: &Value) -> String {
        let result = self.tool(name, arguments);
        assert!(
            result["isError"] == true,
            "{name} {arguments} did not fail: {result}"
        );
        text_of(&result)
    }

    /// The next message on stdout, or nothing at its end. Panics on any line that
    /// is not JSON-RPC: stdout is the wire.
    pub(crate) fn message(&mut self) -> Option<Value> {
        let line = self.line()?;
        let message: Value = serde_json::from_slice(&line).unwrap_or_else(|e| {
            panic!(
                "stdout holds a line that is not JSON ({e}): {}",
                line.escape_ascii()
            )
        });
        assert_eq!(
            message["jsonrpc"], "2.0",
            "stdout holds a line that is not JSON-RPC: {message}"
        );
        Some(message)
    }

    /// The next raw line of stdout, or nothing at its end.
    pub(crate) fn line(&mut self) -> Option<Vec<u8>> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                panic!(
                    "no answer in {PATIENCE:?} {}\n{}",
                    self.waits_for,
                    self.stderr_so_far()
                )
            }
        }
    }

    /// Closes stdin, checks what is still on stdout, waits for the end.
    pub(crate) fn finish(mut self) -> Ended {
        self.close();
        while let Some(message) = self.message() {
            self.notices.push(message);
        }
        self.wait()
    }

    /// Closes stdin: the client is gone.
    pub(crate) fn close(&mut self) {
        drop(self.stdin.take());
    }

    /// Waits for the process to end.
    pub(crate) fn wait(&mut self) -> Ended {
        let start = Instant::now();
        let status = loop {
            match self.child.try_wait().expect("a child can be waited for") {
                Some(status) => break status,
                None if start.elapsed() > PATIENCE => {
                    panic!("the server does not end\n{}", self.stderr_so_far())
                }
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        if let Some(reader) = self.stderr_reader.take() {
            reader
                .join()
                .expect("the reader of stderr ends with the process");
        }
        Ended {
            code: status.code(),
            stderr: self.stderr_so_far(),
        }
    }

    /// What the server has said on stderr until now.
    pub(crate) fn stderr_so_far(&self) -> String {
        String::from_utf8_lossy(&self.stderr.lock().expect("no reader panics")).into_owned()
    }
}

/// A reader that takes its time.
struct Unhurried<R> {
    from: R,
    pause: Duration,
}

impl<R: Read> Read for Unhurried<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        std::thread::sleep(self.pause);
        self.from.read(into)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Only this child, by its own handle; an error means that it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The `_meta` that a stateless request must carry.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "suite", "version": "0" }
    })
}

pub(crate) fn with_meta(mut params: Value) -> Value {
    params["_meta"] = meta();
    params
}

/// The text blocks of a tool result.
pub(crate) fn text_of(result: &Value) -> String {
    let blocks = result["content"].as_array().map_or(&[][..], Vec::as_slice);
    let texts: Vec<&str> = blocks.iter().filter_map(|b| b["text"].as_str()).collect();
    texts.join("\n")
}
