//! One HTTP/1.1 connection that writes requests as bytes and reads responses strictly.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};

use serde_json::Value;

use crate::client::PATIENCE;

/// A connection to a server.
pub struct HttpClient(pub TcpStream);

/// A response.
#[derive(Debug)]
pub struct HttpResponse {
    /// The status code.
    pub status: u16,
    /// The status line and the headers.
    pub head: String,
    /// The body, without the framing of chunks.
    pub body: String,
}

impl HttpClient {
    /// Connects to a server that listens.
    pub fn connect(address: impl ToSocketAddrs) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        stream.set_write_timeout(Some(PATIENCE)).expect("a time");
        Self(stream)
    }

    /// Sends a request and reads its response.
    pub fn ask(&mut self, line: &str, headers: &[&str], body: &str) -> HttpResponse {
        self.send(line, headers, body.as_bytes());
        self.response().expect("a response")
    }

    /// Sends a request with the headers that every host sends, unless `headers` has them. A name
    /// without a value leaves such a header out.
    pub fn send(&mut self, line: &str, headers: &[&str], body: impl AsRef<[u8]>) {
        let body = body.as_ref();
        let host = format!("Host: {}", self.0.peer_addr().expect("a connection"));
        let length = format!("Content-Length: {}", body.len());
        let usual = [
            host.as_str(),
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            length.as_str(),
        ];
        let name = |header: &str| header.split(':').next().map(str::to_ascii_lowercase);
        let usual = usual
            .iter()
            .filter(|usual| !headers.iter().any(|header| name(header) == name(usual)));
        let mut head = format!("{line} HTTP/1.1\r\n");
        for header in usual.chain(headers).filter(|header| !header.ends_with(':')) {
            head.push_str(header);
            head.push_str("\r\n");
        }
        head.push_str("\r\n");
        self.write(head.as_bytes());
        self.write(body);
    }

    /// Writes bytes; the server may have closed the connection.
    pub fn write(&mut self, bytes: &[u8]) {
        let _ = self.0.write_all(bytes);
    }

    /// The next response. `None` if the server has closed the connection.
    pub fn response(&mut self) -> Option<HttpResponse> {
        self.read_response(true)
    }

    /// The next response, to a request with the method `HEAD`.
    pub fn response_to_head(&mut self) -> Option<HttpResponse> {
        self.read_response(false)
    }

    fn read_response(&mut self, with_body: bool) -> Option<HttpResponse> {
        let head = self.head()?;
        let status = head.strip_prefix("HTTP/1.1 ").and_then(|it| it.get(..3));
        let status = status.and_then(|status| status.parse().ok());
        let mut response = HttpResponse {
            status: status.unwrap_or_else(|| panic!("not a response: {head:?}")),
            head,
            body: String::new(),
        };
        let length = response.header("content-length");
        let body = match length.map(|text| text.parse().expect("a number")) {
            _ if !with_body => Vec::new(),
            Some(length) => self.read(length),
            None if response.header("transfer-encoding") == Some("chunked") => self.chunks(),
            None => Vec::new(),
        };
        response.body = String::from_utf8(body).expect("bodies are text");
        Some(response)
    }

    /// Reads byte by byte, since what follows may belong to another response.
    fn head(&mut self) -> Option<String> {
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            match self.0.read(&mut byte) {
                Ok(1) => head.push(byte[0]),
                // With a limit of time, a signal interrupts it.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    panic!("no response and no end after {}", head.escape_ascii())
                }
                _ if head.is_empty() => return None,
                other => panic!("{other:?} after {}", head.escape_ascii()),
            }
        }
        Some(String::from_utf8(head).expect("heads are text"))
    }

    /// The next chunk of a stream; empty after the last one.
    pub fn chunk(&mut self) -> Vec<u8> {
        let mut size = Vec::new();
        while !size.ends_with(b"\r\n") {
            size.extend(self.read(1));
        }
        let size = std::str::from_utf8(&size).expect("sizes are text").trim();
        let chunk = self.read(usize::from_str_radix(size, 16).expect("a hexadecimal size"));
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
        self.0.read_exact(&mut read).expect("the whole response");
        read
    }

    /// Waits until the server closes the connection, which it may do with a reset.
    pub fn is_closed(&mut self) -> bool {
        match self.0.read(&mut [0]) {
            Ok(read) => read == 0,
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        }
    }
}

impl HttpResponse {
    /// The value of the first header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    /// The body, which must be JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The code of the JSON-RPC error in the body.
    pub fn code(&self) -> i64 {
        error_code(&self.json())
    }
}

/// The code of a JSON-RPC error.
pub fn error_code(response: &Value) -> i64 {
    let code = response["error"]["code"].as_i64();
    code.unwrap_or_else(|| panic!("no error: {response}"))
}
