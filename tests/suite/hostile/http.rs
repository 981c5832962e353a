//! The same client over HTTP: hostile bodies, heads and lengths. Each gets the right status or is cut
//! off, none hangs, and the server keeps serving.
#![cfg(feature = "http")]

use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;

use rustix::process::Signal;
use serde_json::Value;

use super::dice::Dice;
use super::frames::{Era, Frame, Ids, Kind, Owed};
use super::heads::{HOSTS, ORIGINS, REQUESTS};
use super::{check, fits, names, tools};
use crate::http::{Running, serve};
use crate::paths::{CANARY, house, spellings};
use crate::project::say;

/// Number of bodies; each takes a connection.
const BODIES: usize = 500;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// A response.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

/// Sends bytes on a connection of their own and reads one response. If `over`, the client closes its
/// side after them, which the server must notice.
fn throw(server: &Running, bytes: &[u8], over: bool) -> Option<Answer> {
    let mut stream = server.connect();
    // The server may have responded and closed before it has read everything.
    let _ = stream.write_all(bytes);
    if over {
        let _ = stream.shutdown(Shutdown::Write);
    }
    answer(&mut BufReader::new(stream), !bytes.starts_with(b"HEAD "))
}

/// Reads one response, with its body if `whole`. Returns `None` if the connection ends instead.
fn answer(from: &mut impl BufRead, whole: bool) -> Option<Answer> {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let at = head.len();
        match from.read_line(&mut head) {
            Ok(1..) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                panic!("no answer and no end: {head:?}")
            }
            _ => return None,
        }
        let line = head[at..].trim().to_ascii_lowercase();
        if let Some(bytes) = line.strip_prefix("content-length: ") {
            length = bytes.parse().expect("a number");
        }
        if line.is_empty() {
            break;
        }
    }
    let status = head
        .strip_prefix("HTTP/1.1 ")
        .and_then(|rest| rest.get(..3));
    let status = status.and_then(|status| status.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no answer of HTTP: {head:?}"));
    let mut body = vec![0; if whole { length } else { 0 }];
    from.read_exact(&mut body).expect("the whole answer");
    let body = String::from_utf8(body).expect("text");
    Some(Answer { status, head, body })
}

/// A POST of this body with more header lines.
fn post(server: &Running, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n",
        server.address,
        body.len()
    );
    [head.as_bytes(), body].concat()
}

fn assert_well(server: &Running) {
    let ask = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
    let health = throw(server, ask.as_bytes(), false).expect("an answer");
    assert_eq!(health.status, 200, "{}", health.head);
    let reply = throw(server, &post(server, "", PING.as_bytes()), false).expect("an answer");
    assert_eq!(reply.status, 200, "{} {}", reply.head, reply.body);
}

/// Stops the server and checks its log.
fn end(server: Running) {
    server.signal(Signal::TERM);
    let (code, said, log) = server.end();
    assert_eq!((code, said.as_str()), (Some(0), ""), "{log}");
    assert!(!log.contains("panicked") && !log.contains(CANARY), "{log}");
}

#[test]
fn every_hostile_body_is_answered_with_its_status() {
    let project = house();
    let tools = tools(&project);
    let server = Running::start(serve(&project, &[":0"]));
    let mut dice = Dice::new(20_251_125);
    let mut frames = super::throw(Era::Legacy, &tools, 300, &mut dice);
    // Over stdin a byte order mark is skipped; in JSON there is none.
    frames.retain(|frame| !frame.line.starts_with(b"\xef\xbb\xbf"));
    // Over HTTP there are no subscriptions.
    frames.retain(|frame| !frame.says("subscribe"));
    frames.truncate(BODIES);
    let spellings = spellings(&project);
    let places = names::places(Era::Legacy, &spellings, &mut Ids::default());
    frames.extend(places.into_iter().step_by(10));
    for (number, frame) in frames.iter().enumerate() {
        let got = throw(&server, &post(&server, "", &frame.line), false);
        let got = got.unwrap_or_else(|| panic!("no answer to {}", frame.shown()));
        judge(frame, &got);
        if number % 50 == 0 {
            assert_well(&server);
        }
    }
    say(&format!(
        "hostile bodies over HTTP: {}, all answered",
        frames.len()
    ));
    end(server);
}

/// Checks that the response is what the frame is owed, with the status that HTTP has for it.
fn judge(frame: &Frame, got: &Answer) {
    let shown = format!("{} {}\nfor {}", got.head, got.body, frame.shown());
    let blank = frame.line.trim_ascii().is_empty();
    match &frame.owed {
        Owed::Nothing if blank => assert_eq!(got.status, 400, "{shown}"),
        // A response gets 400: the server sends no requests.
        Owed::Nothing => assert!([202, 400].contains(&got.status), "{shown}"),
        Owed::AtTheEnd(_) => unreachable!("before 2026-07-28 there is no listen"),
        Owed::Unclear => assert!(got.status < 500, "{shown}"),
        Owed::Reply { ids, kind } => {
            let reply: Value =
                serde_json::from_str(&got.body).unwrap_or_else(|_| panic!("{shown}"));
            check(&reply);
            assert!(ids.contains(&reply["id"]), "{shown}");
            let code = reply["error"]["code"].as_i64();
            assert!(fits(&reply, *kind), "{shown}");
            let right = match (kind, code) {
                (Kind::Any, _) => got.status < 500,
                (_, Some(-32700 | -32600)) => got.status == 400,
                _ => got.status == 200,
            };
            assert!(right, "{shown}");
        }
    }
}

#[test]
fn foreign_hosts_and_origins_are_rejected_in_any_spelling() {
    let project = house();
    let server = Running::start(serve(&project, &[":0"]));
    let (_, port) = server.address.rsplit_once(':').expect("a port");
    let own = format!("Host: {}\r\n", server.address);
    let ask = |lines: &str, statuses: &[u16], shown: &str| {
        let request = format!(
            "POST /mcp HTTP/1.1\r\n{}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{PING}",
            lines.replace("PORT", port),
            PING.len()
        );
        let got = throw(&server, request.as_bytes(), false).expect("an answer");
        assert!(
            statuses.contains(&got.status),
            "{shown}: {} {}",
            got.head,
            got.body
        );
    };
    for (host, statuses) in HOSTS {
        ask(host, statuses, host);
    }
    for (origin, statuses) in ORIGINS {
        ask(&format!("{own}{origin}"), statuses, origin);
    }
    for target in [
        "http://evil.example/mcp",
        "http://localhost:1/mcp",
        "https://evil.example:443/mcp",
    ] {
        let request = format!(
            "POST {target} HTTP/1.1\r\n{own}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}"
        );
        let got = throw(&server, request.as_bytes(), false).expect("an answer");
        assert_eq!(got.status, 403, "{target}: {}", got.head);
    }
    assert_well(&server);
    end(server);
}

#[test]
fn no_head_and_no_length_confuses_the_server() {
    let project = house();
    let server = Running::start(serve(&project, &[":0"]));
    let mut wrong = Vec::new();
    for (request, statuses) in REQUESTS {
        let request = request.replace("HOST", &server.address);
        let got = throw(&server, request.as_bytes(), statuses.contains(&0));
        let status = got.as_ref().map_or(0, |got| got.status);
        if !statuses.contains(&status) {
            wrong.push(format!("{request:?} got {status}, expected {statuses:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for headers in [
        format!("X: {}\r\n", "x".repeat(20_000)),
        "X: y\r\n".repeat(1000),
        format!("{}: y\r\n", "x".repeat(20_000)),
    ] {
        let got = throw(&server, &post(&server, &headers, PING.as_bytes()), false);
        assert_eq!(got.expect("an answer").status, 431);
    }
    assert_well(&server);
    end(server);
}

/// Each chunk is small, all of them together are more than a message may have.
#[test]
fn chunks_do_not_get_around_the_limit() {
    let project = house();
    let server = Running::start(serve(&project, &[":0"]));
    let mut request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        server.address
    );
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    request.push_str(&chunk.repeat(65));
    let got = throw(&server, request.as_bytes(), false);
    assert!(got.is_none_or(|got| got.status == 413));
    assert_well(&server);
    end(server);
}

/// Requests in one write are answered in order, and a broken one ends the connection: what follows it
/// is not taken for a request.
#[test]
fn what_follows_a_broken_request_is_not_read() {
    let project = house();
    let server = Running::start(serve(&project, &[":0"]));
    let ping = |id: u32| post(&server, "", PING.replace('1', &id.to_string()).as_bytes());
    let mut stream = server.connect();
    let broken = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 2\r\nContent-Length: 7\r\n\r\n{{}}",
        server.address
    );
    let all = [ping(3), ping(4), broken.into_bytes(), ping(5)].concat();
    stream.write_all(&all).expect("it reads");
    let mut from = BufReader::new(stream);
    let statuses: Vec<u16> = std::iter::from_fn(|| answer(&mut from, true))
        .map(|answer| answer.status)
        .collect();
    assert_eq!(statuses, [200, 200, 400]);
    assert_well(&server);
    end(server);
}
