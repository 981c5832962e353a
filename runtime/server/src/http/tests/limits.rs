//! Limits, so that no client can take much from the others: sizes, times and numbers.

use std::io::Read;
use std::thread;
use std::time::Duration;

use serde_json::json;
use skillbundle_testkit::HttpClient;

use super::super::Limits;
use super::kit::{Running, call, legacy, settings, skills};
use crate::jsonrpc::LONGEST;
use crate::testing::{Fake, folder, set};

const SOON: Duration = Duration::from_millis(300);

fn start(limits: Limits) -> Running {
    Running::start_with(skills(), settings(), limits)
}

/// A call whose arguments fill the message up to this many bytes.
fn message_of(bytes: usize) -> String {
    let empty = legacy(
        "tools/call",
        json!({ "name": "skill", "arguments": { "name": "" } }),
    );
    let rest = "x".repeat(bytes - empty.to_string().len());
    legacy(
        "tools/call",
        json!({ "name": "skill", "arguments": { "name": rest } }),
    )
    .to_string()
}

#[test]
fn a_body_may_be_four_mebibytes_long() {
    let server = start(Limits::default());
    assert_eq!(
        server.ask("POST /mcp", &[], &message_of(LONGEST)).status,
        200
    );

    let declared = format!("Content-Length: {}", LONGEST + 1);
    let reply = server.ask("POST /mcp", &[&declared], "");
    assert_eq!((reply.status, reply.code()), (413, -32600), "{reply:?}");

    let mut client = server.connect();
    client.send(
        "POST /mcp",
        &["Content-Length:", "Transfer-Encoding: chunked"],
        "",
    );
    let chunk = [b"10000\r\n".as_slice(), &b" ".repeat(0x10000), b"\r\n"].concat();
    for _ in 0..=LONGEST / 0x10000 {
        client.write(&chunk);
    }
    assert_eq!(client.response().expect("a reply").status, 413);
}

#[test]
fn a_head_may_be_sixteen_kibibytes_long() {
    let server = start(Limits::default());
    let padding = |bytes: usize| format!("X-Padding: {}", "x".repeat(bytes));
    assert_eq!(
        server.ask("GET /healthz", &[&padding(15_000)], "").status,
        200
    );
    assert_eq!(
        server.ask("GET /healthz", &[&padding(17_000)], "").status,
        431
    );
    assert_eq!(
        server.ask("GET /healthz", &[&padding(200_000)], "").status,
        431
    );
}

#[test]
fn a_head_that_trickles_in_is_cut_off() {
    let server = start(Limits {
        head: SOON,
        ..Limits::default()
    });
    let mut client = server.connect();
    client.write(b"POST /mcp HTTP/1.1\r\n");
    let mut trickle = client.0.try_clone().unwrap();
    thread::spawn(move || {
        use std::io::Write;
        while trickle.write_all(b"X: y\r\n").is_ok() {
            thread::sleep(Duration::from_millis(20));
        }
    });
    assert!(client.is_closed());
    assert_eq!(server.ask("GET /healthz", &[], "").status, 200);
}

#[test]
fn a_body_that_trickles_in_is_cut_off() {
    let server = start(Limits {
        request: SOON,
        ..Limits::default()
    });
    let mut client = server.connect();
    client.send("POST /mcp", &["Content-Length: 100"], "{");
    let reply = client.response().expect("a reply");
    assert_eq!((reply.status, reply.code()), (408, -32600), "{reply:?}");
    assert!(client.is_closed());
}

#[test]
fn an_idle_connection_is_closed() {
    let server = start(Limits {
        head: SOON,
        idle: SOON,
        ..Limits::default()
    });
    assert!(server.connect().is_closed(), "one that never asked");
    let mut client = server.connect();
    assert_eq!(client.ask("GET /healthz", &[], "").status, 200);
    assert!(client.is_closed(), "one that asks no more");
}

#[test]
fn a_response_that_is_not_read_is_dropped_and_its_turn_is_free() {
    let big = "x".repeat(12 * 1024 * 1024);
    let source = Fake::new(set(vec![folder("git", "Git workflow", &big)]));
    let limits = Limits {
        response: SOON,
        requests: 1,
        ..Limits::default()
    };
    let server = Running::start_with(source, settings(), limits);
    let mut client = server.connect();
    client.send("POST /mcp", &[], call("skill").to_string());
    let next = server.post(&legacy("ping", json!({})));
    assert_eq!(next.status, 200, "it waited for its turn: {next:?}");
    let mut taken = Vec::new();
    // Cut off: by an end, or by a reset.
    let _ = client.0.read_to_end(&mut taken);
    assert!(taken.len() < big.len(), "{} bytes were taken", taken.len());
}

#[test]
fn requests_wait_for_their_turn_but_not_forever() {
    let source = Fake::slow(set(vec![folder("git", "Git workflow", "\n# Git\n")]));
    source.close_gate();
    let limits = Limits {
        requests: 1,
        request: SOON,
        ..Limits::default()
    };
    let server = Running::start_with(source.clone(), settings(), limits);
    let mut first = server.connect();
    first.send("POST /mcp", &[], call("skill").to_string());
    thread::sleep(SOON / 3);
    let mut second = server.connect();
    second.send("POST /mcp", &[], call("skill").to_string());
    assert_eq!(
        server.ask("GET /healthz", &[], "").status,
        200,
        "probes need no turn"
    );

    let reply = first.response().expect("a reply");
    assert_eq!((reply.status, reply.code()), (504, -32603), "{reply:?}");
    let reply = second.response().expect("a reply");
    assert!(matches!(reply.status, 503 | 504), "{reply:?}");
    source.open_gate();
    assert!(server.post(&call("skill")).body.contains("# Git"));
}

#[test]
fn more_requests_than_turns_are_all_answered() {
    let server = start(Limits {
        requests: 2,
        connections: 8,
        ..Limits::default()
    });
    thread::scope(|scope| {
        for _ in 0..32 {
            let mut client = server.connect();
            scope.spawn(move || {
                let reply = client.ask("POST /mcp", &[], &call("skill").to_string());
                assert_eq!(reply.status, 200);
            });
        }
    });
}

#[test]
fn idle_connections_make_room_for_new_ones() {
    let server = start(Limits {
        connections: 2,
        ..Limits::default()
    });
    let mut idle = [server.connect(), server.connect()];
    for client in &mut idle {
        assert_eq!(client.ask("GET /healthz", &[], "").status, 200);
    }
    assert_eq!(server.post(&call("skill")).status, 200);
    assert!(idle.iter_mut().any(HttpClient::is_closed));
}

/// Long enough that a test which waits for it fails.
const NEVER: Duration = Duration::from_secs(3600);

#[test]
fn slow_heads_and_bodies_make_room_for_new_connections() {
    let server = start(Limits {
        connections: 8,
        head: NEVER,
        request: NEVER,
        ..Limits::default()
    });
    let slow = |number: usize| {
        let mut client = server.connect();
        match number % 3 {
            0 => {}
            1 => client.write(b"POST /mcp HTTP/1.1\r\nX: "),
            _ => client.send("POST /mcp", &["Content-Length: 100"], "{"),
        }
        client
    };
    let mut slow: Vec<_> = (0..20).map(slow).collect();
    assert_eq!(server.ask("GET /healthz", &[], "").status, 200);
    assert_eq!(server.post(&call("skill")).status, 200);
    assert!(slow[0].is_closed(), "the oldest is closed first");
    slow.truncate(19);
}

#[test]
fn a_request_under_way_keeps_its_connection() {
    let source = Fake::slow(set(vec![folder("git", "Git workflow", "\n# Git\n")]));
    source.close_gate();
    let limits = Limits {
        connections: 4,
        head: NEVER,
        ..Limits::default()
    };
    let server = Running::start_with(source.clone(), settings(), limits);
    let mut busy = server.connect();
    busy.send("POST /mcp", &[], call("skill").to_string());
    let _slow: Vec<_> = (0..12)
        .map(|_| {
            let mut client = server.connect();
            client.write(b"POST /mcp HTTP/1.1\r\n");
            client
        })
        .collect();
    assert_eq!(server.ask("GET /healthz", &[], "").status, 200);
    source.open_gate();
    assert!(busy.response().expect("a reply").body.contains("# Git"));
}
