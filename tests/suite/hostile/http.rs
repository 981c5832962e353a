//! The same client over HTTP: hostile bodies, heads and lengths. Each gets the right status or is cut
//! off, none hangs, and the server keeps serving.
#![cfg(feature = "http")]

use std::net::Shutdown;

use rustix::process::Signal;
use serde_json::Value;

use super::frames::{Era, Expected, Frame, Ids, Kind};
use super::heads::{HOSTS, ORIGINS, REQUESTS};
use super::random::Random;
use super::{check, fits, names, tools};
use crate::http::{Running, serve};
use crate::paths::{CANARY, canary_project, spellings};
use crate::project::say;
use skillbundle_testkit::{HttpClient, HttpResponse};

/// Number of bodies; each takes a connection.
const BODIES: usize = 500;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// Sends bytes on a connection of their own and reads one response. If `over`, the client closes its
/// side after them, which the server must notice.
fn exchange(server: &Running, bytes: &[u8], over: bool) -> Option<HttpResponse> {
    let mut client = server.connect();
    client.write(bytes);
    if over {
        let _ = client.0.shutdown(Shutdown::Write);
    }
    if bytes.starts_with(b"HEAD ") {
        client.response_to_head()
    } else {
        client.response()
    }
}

/// Posts a body on a connection of its own.
fn post(server: &Running, headers: &[&str], body: &[u8]) -> Option<HttpResponse> {
    let mut client = server.connect();
    client.send("POST /mcp", headers, body);
    client.response()
}

fn assert_works(server: &Running) {
    let health = server.connect().ask("GET /healthz", &[], "");
    assert_eq!(health.status, 200, "{health:?}");
    let pinged = server.connect().ask("POST /mcp", &[], PING);
    assert_eq!(pinged.status, 200, "{pinged:?}");
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
    let project = canary_project();
    let tools = tools(&project);
    let server = Running::start(serve(&project, &[":0"]));
    let mut random = Random::new(20_251_125);
    let mut frames = super::all_frames(Era::Legacy, &tools, 300, &mut random);
    // Over stdin a byte order mark is skipped; in JSON there is none.
    frames.retain(|frame| !frame.line.starts_with(b"\xef\xbb\xbf"));
    // Over HTTP there are no subscriptions.
    frames.retain(|frame| !frame.says("subscribe"));
    frames.truncate(BODIES);
    let spellings = spellings(&project);
    let places = names::uris(Era::Legacy, &spellings, &mut Ids::default());
    frames.extend(places.into_iter().step_by(10));
    for (number, frame) in frames.iter().enumerate() {
        let got = post(&server, &[], &frame.line);
        let got = got.unwrap_or_else(|| panic!("no answer to {}", frame.shown()));
        check_response(frame, &got);
        if number % 50 == 0 {
            assert_works(&server);
        }
    }
    say(&format!(
        "hostile bodies over HTTP: {}, all answered",
        frames.len()
    ));
    end(server);
}

/// Checks that the response is the one that the frame expects, with the status that HTTP has for it.
fn check_response(frame: &Frame, got: &HttpResponse) {
    let shown = format!("{} {}\nfor {}", got.head, got.body, frame.shown());
    let blank = frame.line.trim_ascii().is_empty();
    match &frame.expected {
        Expected::Nothing if blank => assert_eq!(got.status, 400, "{shown}"),
        // A response gets 400: the server sends no requests.
        Expected::Nothing => assert!([202, 400].contains(&got.status), "{shown}"),
        Expected::AtTheEnd(_) => unreachable!("before 2026-07-28 there is no listen"),
        Expected::Unclear => assert!(got.status < 500, "{shown}"),
        Expected::Reply { ids, kind } => {
            let reply: Value =
                serde_json::from_str(&got.body).unwrap_or_else(|_| panic!("{shown}"));
            check(&reply);
            assert!(ids.contains(&reply["id"]), "{shown}");
            let code = reply["error"]["code"].as_i64();
            assert!(fits(&reply, *kind), "{shown}");
            let right = match (kind, code) {
                (Kind::Any, _) => got.status < 500,
                (_, Some(-32700 | -32600)) => got.status == 400,
                // A method of 2026-07-28, which wants members that these parameters cannot have.
                (_, Some(-32602)) if frame.says("server/discover") => got.status == 400,
                _ => got.status == 200,
            };
            assert!(right, "{shown}");
        }
    }
}

#[test]
fn foreign_hosts_and_origins_are_rejected_in_any_spelling() {
    let project = canary_project();
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
        let got = exchange(&server, request.as_bytes(), false).expect("an answer");
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
        let got = exchange(&server, request.as_bytes(), false).expect("an answer");
        assert_eq!(got.status, 403, "{target}: {}", got.head);
    }
    assert_works(&server);
    end(server);
}

#[test]
fn malformed_heads_and_lengths_are_rejected() {
    let project = canary_project();
    let server = Running::start(serve(&project, &[":0"]));
    let mut wrong = Vec::new();
    for (request, statuses) in REQUESTS {
        let request = request.replace("HOST", &server.address);
        let got = exchange(&server, request.as_bytes(), statuses.contains(&0));
        let status = got.as_ref().map_or(0, |got| got.status);
        if !statuses.contains(&status) {
            wrong.push(format!("{request:?} got {status}, expected {statuses:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for headers in [
        format!("X: {}", "x".repeat(20_000)),
        "X: y\r\n".repeat(999) + "X: y",
        format!("{}: y", "x".repeat(20_000)),
    ] {
        let got = post(&server, &[&headers], PING.as_bytes());
        assert_eq!(got.expect("an answer").status, 431);
    }
    assert_works(&server);
    end(server);
}

/// Each chunk is small, all of them together are more than a message may have.
#[test]
fn chunks_do_not_get_around_the_limit() {
    let project = canary_project();
    let server = Running::start(serve(&project, &[":0"]));
    let mut request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        server.address
    );
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    request.push_str(&chunk.repeat(65));
    let got = exchange(&server, request.as_bytes(), false);
    assert!(got.is_none_or(|got| got.status == 413));
    assert_works(&server);
    end(server);
}

/// Requests in one write are answered in order, and a broken one ends the connection: what follows it
/// is not taken for a request.
#[test]
fn what_follows_a_broken_request_is_not_read() {
    let project = canary_project();
    let server = Running::start(serve(&project, &[":0"]));
    let mut client = server.connect();
    let ping = |client: &mut HttpClient, id: &str| {
        client.send("POST /mcp", &[], PING.replace('1', id));
    };
    ping(&mut client, "3");
    ping(&mut client, "4");
    client.send(
        "POST /mcp",
        &["Content-Length: 2\r\nContent-Length: 7"],
        "{}",
    );
    ping(&mut client, "5");
    let responses = std::iter::from_fn(|| client.response());
    let statuses: Vec<u16> = responses.map(|response| response.status).collect();
    assert_eq!(statuses, [200, 200, 400]);
    assert_works(&server);
    end(server);
}
