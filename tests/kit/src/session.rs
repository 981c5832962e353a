//! One MCP session over lines, in either era of the protocol. Strict about what the server writes: a
//! line that is not JSON-RPC fails the test.

use std::ops::{Deref, DerefMut};
use std::process::Command;

use serde_json::{Value, json};

use crate::client::Client;

/// The stateless revision of the protocol.
const MODERN: &str = "2026-07-28";
/// The newest revision that opens with `initialize`.
pub const LEGACY: &str = "2025-11-25";

/// A server that takes bytes and gives lines: a program, or a thread of the test itself.
pub trait Peer {
    /// Sends bytes as they are; the caller ends the line.
    fn send_raw(&mut self, bytes: &[u8]);

    /// The next line from the server, or `None` at the end.
    fn line(&mut self) -> Option<Vec<u8>>;

    /// What the server has logged until now, for messages about failures.
    fn log(&self) -> String {
        String::new()
    }
}

impl Peer for Client {
    fn send_raw(&mut self, bytes: &[u8]) {
        self.send_raw(bytes);
    }

    fn line(&mut self) -> Option<Vec<u8>> {
        self.line()
    }

    fn log(&self) -> String {
        self.stderr_so_far()
    }
}

/// A session with a running server, and what else the peer can do.
pub struct Session<P = Client> {
    peer: P,
    next_id: u64,
    modern: bool,
    /// Messages without an id that came between replies, oldest first.
    pub notifications: Vec<Value>,
}

/// How a session ended.
#[derive(Debug)]
pub struct Ended {
    /// The exit code; `None` if a signal ended the process.
    pub code: Option<i32>,
    /// Everything on standard error.
    pub stderr: String,
}

impl Session {
    /// Starts a server.
    pub fn start(command: Command) -> Self {
        Self::over(Client::start(command))
    }

    /// Closes stdin, checks what is still on stdout, waits for the end.
    pub fn finish(mut self) -> Ended {
        self.close();
        while let Some(message) = self.message() {
            self.notifications.push(message);
        }
        self.wait()
    }

    /// Waits for the process to end.
    pub fn wait(&mut self) -> Ended {
        Ended {
            code: self.peer.wait().code(),
            stderr: self.stderr_so_far(),
        }
    }
}

impl<P: Peer> Session<P> {
    /// Talks to a server that was started otherwise.
    pub fn over(peer: P) -> Self {
        Self {
            peer,
            next_id: 0,
            modern: false,
            notifications: Vec::new(),
        }
    }

    /// The handshake of the older era; returns the result of `initialize`.
    pub fn initialize(&mut self, version: &str) -> Value {
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

    /// The opening of the stateless era; every later request carries its `_meta`.
    pub fn discover(&mut self) -> Value {
        self.modern = true;
        self.result("server/discover", json!({}))
    }

    /// Sends one message.
    pub fn send(&mut self, message: &Value) {
        self.send_line(message.to_string());
    }

    /// Sends one line as it is.
    pub fn send_line(&mut self, line: impl AsRef<[u8]>) {
        self.peer.send_raw(&[line.as_ref(), b"\n"].concat());
    }

    /// Sends a request, without params if they are null, and returns the whole
    /// reply to it.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        let params = if self.modern {
            with_meta(params)
        } else {
            params
        };
        self.send(&request(id, method, params));
        loop {
            let message = self.message().unwrap_or_else(|| {
                panic!(
                    "the server ended before it answered {method}\n{}",
                    self.peer.log()
                )
            });
            if message.get("method").is_some() {
                self.notifications.push(message);
            } else if message["id"] == id {
                return message;
            } else {
                panic!("a reply with an unexpected id: {message}");
            }
        }
    }

    /// Sends a request that must succeed and returns its result.
    pub fn result(&mut self, method: &str, params: Value) -> Value {
        let mut reply = self.request(method, params);
        assert!(reply.get("error").is_none(), "{method} failed: {reply}");
        reply["result"].take()
    }

    /// Calls a tool and returns the result, with `isError` or without.
    pub fn tool(&mut self, name: &str, arguments: &Value) -> Value {
        let params = json!({ "name": name, "arguments": arguments });
        self.result("tools/call", params)
    }

    /// Calls a tool that must succeed and returns its text.
    pub fn tool_text(&mut self, name: &str, arguments: &Value) -> String {
        let result = self.tool(name, arguments);
        assert!(
            result["isError"] != true,
            "{name} {arguments} failed: {result}"
        );
        text_of(&result)
    }

    /// Calls a tool that must answer with JSON in its text; returns that JSON.
    pub fn tool_json(&mut self, name: &str, arguments: &Value) -> Value {
        let text = self.tool_text(name, arguments);
        serde_json::from_str(&text)
            .unwrap_or_else(|e| panic!("{name} {arguments} gave no JSON: {e}\n{text}"))
    }

    /// Calls a tool that must fail with `isError`; returns its text.
    pub fn tool_error(&mut self, name: &str, arguments: &Value) -> String {
        let result = self.tool(name, arguments);
        assert!(
            result["isError"] == true,
            "{name} {arguments} did not fail: {result}"
        );
        text_of(&result)
    }

    /// The next message on stdout, or `None` at its end. Panics on a line that is
    /// not JSON-RPC.
    pub fn message(&mut self) -> Option<Value> {
        let line = self.peer.line()?;
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

    /// The next message, which must come.
    pub fn reply(&mut self) -> Value {
        self.message().expect("the server is still there")
    }

    /// The next notifications, oldest first: those that came before replies, then
    /// those that are still to come.
    pub fn take_notifications(&mut self, count: usize) -> Vec<Value> {
        while self.notifications.len() < count {
            let message = self.reply();
            assert!(message.get("id").is_none(), "a reply came: {message}");
            self.notifications.push(message);
        }
        self.notifications.drain(..count).collect()
    }

    /// The server, for what comes after the last message.
    pub fn into_peer(self) -> P {
        self.peer
    }
}

impl<P> Deref for Session<P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.peer
    }
}

impl<P> DerefMut for Session<P> {
    fn deref_mut(&mut self) -> &mut P {
        &mut self.peer
    }
}

/// A request, without params if they are null.
pub fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    let mut request = json!({ "jsonrpc": "2.0", "id": id.into(), "method": method });
    if !params.is_null() {
        request["params"] = params;
    }
    request
}

/// Adds the `_meta` that a stateless request must carry.
pub fn with_meta(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "suite", "version": "0" }
    });
    params
}

/// The text blocks of a tool result, one below the other.
pub fn text_of(result: &Value) -> String {
    let blocks = result["content"].as_array().map_or(&[][..], Vec::as_slice);
    let texts: Vec<&str> = blocks.iter().filter_map(|b| b["text"].as_str()).collect();
    texts.join("\n")
}
