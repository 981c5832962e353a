//! A server on a thread, and a client that writes requests as bytes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::super::{Bound, Limits, Settings, Token, bind_within};
use crate::source::Source;
use crate::testing::{Fake, PATIENCE, folder, set};
use crate::{Error, Options};

pub(super) const TOKEN: &str = "a-token-of-good-length";

/// A server that answers until it is dropped or stopped.
pub(super) struct Running {
    pub(super) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    ended: Receiver<Result<(), Error>>,
}

/// A response.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    head: String,
    pub(super) body: String,
}

/// One connection.
pub(super) struct Client(pub(super) TcpStream);

pub(super) fn skills() -> Fake {
    Fake::new(set(vec![folder("git", "Git workflow", "\n# Git\n")]))
}

pub(super) fn settings() -> Settings {
    Settings {
        address: ([127, 0, 0, 1], 0).into(),
        hosts: Vec::new(),
        origins: Vec::new(),
        token: None,
    }
}

pub(super) fn with_token() -> Settings {
    Settings {
        token: Some(Token::new(TOKEN).unwrap()),
        ..settings()
    }
}

impl Running {
    pub(super) fn start(source: impl Source) -> Self {
        Self::start_with(source, settings(), Limits::default())
    }

    pub(super) fn start_with(source: impl Source, settings: Settings, limits: Limits) -> Self {
        Self::of(bind_within(source, Options::default(), settings, limits).unwrap())
    }

    pub(super) fn of(bound: Bound) -> Self {
        let address = bound.address();
        let (stop, stopped) = oneshot::channel::<()>();
        let (done, ended) = channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            let result = runtime.block_on(bound.until(async {
                let _ = stopped.await;
                Ok(())
            }));
            runtime.shutdown_background();
            let _ = done.send(result);
        });
        Self {
            address,
            stop: Some(stop),
            ended,
        }
    }

    pub(super) fn connect(&self) -> Client {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Client(stream)
    }

    /// One request on a connection of its own.
    pub(super) fn ask(&self, line: &str, headers: &[&str], body: &str) -> Reply {
        self.connect().ask(line, headers, body)
    }

    /// A message as a client of the older revisions posts it.
    pub(super) fn post(&self, message: &Value) -> Reply {
        self.ask("POST /mcp", &[], &message.to_string())
    }

    /// A request as a client of 2026-07-28 posts it.
    pub(super) fn post_modern(&self, method: &str, name: Option<&str>, params: Value) -> Reply {
        let message = modern(method, params);
        let mut headers = vec![
            "MCP-Protocol-Version: 2026-07-28".to_owned(),
            format!("Mcp-Method: {method}"),
        ];
        headers.extend(name.map(|name| format!("Mcp-Name: {name}")));
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        self.ask("POST /mcp", &headers, &message.to_string())
    }

    /// Tells it to stop.
    pub(super) fn stop(&mut self) {
        drop(self.stop.take());
    }

    /// How it ended.
    pub(super) fn ended(&self) -> Result<(), Error> {
        self.ended.recv_timeout(PATIENCE).expect("the server ends")
    }
}

impl Client {
    /// Sends a request with what every host sends, unless `headers` has it.
    pub(super) fn ask(&mut self, line: &str, headers: &[&str], body: &str) -> Reply {
        self.send(line, headers, body);
        self.reply().expect("a reply")
    }

    pub(super) fn send(&mut self, line: &str, headers: &[&str], body: &str) {
        let host = format!("Host: {}", self.0.peer_addr().unwrap());
        let length = format!("Content-Length: {}", body.len());
        let usual = [
            host.as_str(),
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            length.as_str(),
        ];
        let mut head = format!("{line} HTTP/1.1\r\n");
        let name = |header: &str| header.split(':').next().unwrap().to_ascii_lowercase();
        let usual = usual
            .iter()
            .filter(|usual| !headers.iter().any(|header| name(header) == name(usual)));
        for header in usual.chain(headers) {
            // A name without a value leaves the usual header out.
            if !header.ends_with(':') {
                head.push_str(header);
                head.push_str("\r\n");
            }
        }
        head.push_str("\r\n");
        self.write(head.as_bytes());
        self.write(body.as_bytes());
    }

    /// Writes bytes; the server may have closed the connection.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        let _ = self.0.write_all(bytes);
    }

    /// The next response. `None` if the server has closed the connection.
    pub(super) fn reply(&mut self) -> Option<Reply> {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            match self.0.read(&mut byte) {
                Ok(1) => head.push(byte[0]),
                _ if head.is_empty() => return None,
                other => panic!("{other:?} after {}", String::from_utf8_lossy(&head)),
            }
        }
        let head = String::from_utf8(head).unwrap();
        let mut reply = Reply {
            status: head[9..12].parse().unwrap(),
            head,
            body: String::new(),
        };
        let length = reply.header("content-length");
        let body = match length.map(|text| text.parse().unwrap()) {
            Some(length) => self.read(length),
            None if reply.header("transfer-encoding") == Some("chunked") => self.chunks(),
            None => Vec::new(),
        };
        reply.body = String::from_utf8(body).unwrap();
        Some(reply)
    }

    /// The next chunk of a stream; empty after the last one.
    pub(super) fn chunk(&mut self) -> Vec<u8> {
        let mut size = Vec::new();
        while !size.ends_with(b"\r\n") {
            size.extend(self.read(1));
        }
        let size = std::str::from_utf8(&size).unwrap().trim();
        let chunk = self.read(usize::from_str_radix(size, 16).unwrap());
        self.read(2);
        chunk
    }

    fn chunks(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let chunk = self.chunk();
            if chunk.is_empty() {
                return body;
            }
            body.extend(chunk);
        }
    }

    fn read(&mut self, bytes: usize) -> Vec<u8> {
        let mut read = vec![0; bytes];
        self.0.read_exact(&mut read).unwrap();
        read
    }

    /// Waits until the server closes the connection, which it may do with a reset.
    pub(super) fn is_closed(&mut self) -> bool {
        match self.0.read(&mut [0]) {
            Ok(read) => read == 0,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

impl Reply {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The JSON-RPC code of an error.
    pub(super) fn code(&self) -> i64 {
        self.json()["error"]["code"]
            .as_i64()
            .unwrap_or_else(|| panic!("no error: {self:?}"))
    }
}

pub(super) fn modern(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "0" }
    });
    legacy(method, params)
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "so that json! can stand in the call"
)]
pub(super) fn legacy(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

pub(super) fn call(tool: &str) -> Value {
    legacy(
        "tools/call",
        json!({ "name": tool, "arguments": { "name": "git" } }),
    )
}
