//! Whole sessions over pipes, as a client sees them: what a hostile or hasty
//! one sends, both eras, back-pressure, and every way to end.

mod bare;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::thread;

use serde_json::{Value, json};

use super::session::IN_FLIGHT;
use crate::Options;
use crate::testing::{Fake, META, connected, end, spec_folders, start, unopened};
use skillbundle_testkit::{PATIENCE, error_code as code};

fn folders() -> Fake {
    Fake::new(spec_folders())
}

/// Lines that get an error, with the id in the answer.
const HOSTILE: &[(&[u8], Value, i64)] = &[
    (b"garbage", Value::Null, -32700),
    (b"\0\0\0", Value::Null, -32700),
    (b"\xff\xfe", Value::Null, -32700),
    (b"{}", Value::Null, -32600),
    (b"[1,2]", Value::Null, -32600),
];

#[test]
fn broken_lines_are_answered_and_the_session_goes_on() {
    let mut client = connected(folders());
    for round in 0..3 {
        for (line, id, expected) in HOSTILE {
            client.send_line(line);
            let reply = client.reply();
            assert_eq!(
                (&reply["id"], code(&reply), &reply["jsonrpc"]),
                (id, *expected, &json!("2.0")),
                "{reply}"
            );
        }
        for (line, id, expected) in [
            (r#"{"jsonrpc":"2.0","id":"half","method":"tools/call","params":{"name":"\ud800"}}"#.to_owned(), json!("half"), -32700),
            (r#"{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"#.to_owned(), json!(77), -32700),
            (r#"{"id":78,"method":"ping"}"#.to_owned(), json!(78), -32600),
            (r#"{"jsonrpc":"2.0","id":79,"method":"tools/call","params":{}}"#.to_owned(), json!(79), -32602),
            (r#"{"jsonrpc":"2.0","id":80,"method":"made/up"}"#.to_owned(), json!(80), -32601),
            (r#"{"jsonrpc":"2.0","id":81,"method":"logging/setLevel"}"#.to_owned(), json!(81), -32601),
            (r#"{"jsonrpc":"2.0","id":82,"method":"tools/call","params":{"name":"no_such_tool"}}"#.to_owned(), json!(82), -32602),
            (r#"{"jsonrpc":"2.0","id":83,"method":"tools/list","params":{"cursor":"x"}}"#.to_owned(), json!(83), -32602),
            (format!(r#"{{"params":{{"a":{}1{}}},"jsonrpc":"2.0","id":84,"method":"tools/call"}}"#, "[".repeat(100_000), "]".repeat(100_000)), json!(84), -32700),
        ] {
            client.send_line(&line);
            let reply = client.reply();
            assert_eq!((&reply["id"], code(&reply)), (&id, expected), "round {round}: {reply}");
        }
        assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    }
    let (ended, rest) = end(client);
    assert!(ended.is_ok() && rest.is_empty(), "{ended:?} {rest:?}");
}

#[test]
fn an_unknown_method_has_no_wrong_parameters() {
    let mut client = connected(folders());
    for params in ["[]", "7", "null", r#""x""#, r#"{"_meta":7}"#] {
        client.send_line(format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"made/up","params":{params}}}"#
        ));
        assert_eq!(code(&client.reply()), -32601, "{params}");
    }
}

/// Parameters that a known method cannot read, and the code in the answer.
#[test]
fn wrong_parameters_of_a_known_method_have_their_code() {
    let mut client = connected(folders());
    let deep = format!(
        r#"{{"name":"skill","arguments":{{"a":{}1{}}}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    for (method, params, expected) in [
        ("ping", "[]", -32602),
        ("tools/call", "null", -32602),
        ("tools/call", "{}", -32602),
        ("tools/call", r#"[null,"skill"]"#, -32602),
        ("tools/call", r#"{"name":1}"#, -32602),
        ("tools/call", r#"{"name":"skill","arguments":"x"}"#, -32602),
        ("tools/call", r#"{"name":"skill","_meta":1}"#, -32602),
        ("tools/call", r#"{"name":"\ud800"}"#, -32700),
        ("tools/call", deep.as_str(), -32700),
        ("tools/list", r#"{"cursor":1}"#, -32602),
        ("made/up", r#"{"_meta":{"\ud800":1}}"#, -32700),
        ("initialize", r#"{"protocolVersion":"2025-11-25"}"#, -32602),
    ] {
        client.send_line(format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#
        ));
        let reply = client.reply();
        assert_eq!(
            (code(&reply), &reply["id"]),
            (expected, &json!(1)),
            "{method} {reply}"
        );
    }
}

#[test]
fn an_over_long_line_is_answered_with_its_id() {
    let mut client = connected(folders());
    let long = format!(
        r#"{{"method":"tools/call","params":{{"name":"{}"}},"jsonrpc":"2.0","id":5}}"#,
        "x".repeat(5 << 20)
    );
    client.send_line(long);
    let reply = client.reply();
    assert_eq!((&reply["id"], code(&reply)), (&json!(5), -32600));
    let large = json!({ "jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": { "name": "skill", "arguments": { "name": "x".repeat(3 << 20) } } });
    client.send_line(large.to_string());
    let reply = client.reply();
    assert_eq!(
        (&reply["id"], &reply["result"]["isError"]),
        (&json!(6), &json!(true)),
        "below the limit it is served"
    );
    assert!(
        reply.to_string().len() < 10_000,
        "without giving back what was sent"
    );
}

#[test]
fn what_comes_before_initialize_does_not_end_the_session() {
    let mut client = unopened(folders(), Options::default());
    for line in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/made/up"}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"x"}}"#,
        "",
    ] {
        client.send_line(line);
    }
    client.send_line("nonsense");
    assert_eq!(code(&client.reply()), -32700);
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    assert_eq!(
        code(&client.request("tools/call", json!({ "name": "skill" }))),
        -32602,
        "no era is chosen yet"
    );
    assert!(client.initialize("2025-06-18")["serverInfo"].is_object());
    assert!(client.tool("skill", &json!({ "name": "git" }))["content"].is_array());
}

#[test]
fn a_probe_may_be_cancelled_and_followed_by_initialize() {
    let mut client = unopened(folders(), Options::default());
    client.send_line(format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{{{META}}}}}"#
    ));
    let probe = client.reply();
    assert!(
        probe["result"]["supportedVersions"]
            .as_array()
            .unwrap()
            .contains(&json!("2026-07-28")),
        "{probe}"
    );
    client.send_line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0,"reason":"legacy"}}"#);
    let reply = client.initialize("2025-11-25");
    assert_eq!(reply["protocolVersion"], "2025-11-25");
    assert!(
        reply.get("resultType").is_none() && reply.get("ttlMs").is_none(),
        "{reply}"
    );
    let tools = client.request("tools/list", json!({}));
    assert!(
        tools["result"].get("resultType").is_none()
            && tools["result"].get("ttlMs").is_none()
            && tools["result"].get("cacheScope").is_none()
    );
}

#[test]
fn versions_are_echoed_or_answered_with_the_newest_that_has_a_handshake() {
    for (asked, expected) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let mut client = unopened(folders(), Options::default());
        let result = client.initialize(asked);
        assert_eq!(result["protocolVersion"], expected, "{asked}");
        assert_eq!(result["serverInfo"]["name"], "skillbundle");
        assert_eq!(
            result["capabilities"],
            json!({
                "extensions": { "io.modelcontextprotocol/skills": { "directoryRead": true } },
                "completions": {},
                "prompts": { "listChanged": true },
                "resources": { "subscribe": true, "listChanged": true },
                "tools": { "listChanged": true },
            }),
            "what is not sent is not declared"
        );
        assert!(result["instructions"].as_str().unwrap().len() <= 2048);
    }
}

#[test]
fn the_modern_era_needs_no_handshake() {
    let mut client = unopened(folders(), Options::default());
    client.send_line(format!(r#"{{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{{"name":"skill","arguments":{{"name":"git"}},{META}}}}}"#));
    let reply = client.reply();
    let result = &reply["result"];
    assert_eq!(result["resultType"], "complete", "{reply}");
    assert_eq!(
        result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "skillbundle"
    );
    client.send_line(format!(
        r#"{{"jsonrpc":"2.0","id":"b","method":"tools/list","params":{{{META}}}}}"#
    ));
    let reply = client.reply();
    assert_eq!(
        (&reply["result"]["ttlMs"], &reply["result"]["cacheScope"]),
        (&json!(0), &json!("private")),
        "a file may change at any time"
    );
    client.send_line(r#"{"jsonrpc":"2.0","id":"c","method":"tools/list"}"#);
    assert_eq!(
        code(&client.reply()),
        -32602,
        "each request must name its version"
    );
    client.send_line(format!(
        r#"{{"jsonrpc":"2.0","id":"d","method":"tools/list","params":{{{}}}}}"#,
        META.replace("2026-07-28", "2031-01-01")
    ));
    let reply = client.reply();
    assert_eq!(code(&reply), -32022);
    assert!(reply["error"]["data"]["supported"].is_array(), "{reply}");
}

#[test]
fn clients_that_do_not_wait_for_replies_are_served() {
    let mut client = unopened(folders(), Options::default());
    // Calls right behind initialize, CRLF, a byte order mark, odd ids.
    client.send_line("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"0\"}}}\r");
    client.send_line(r#"{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/list"}"#);
    client.send_line(r#"{"jsonrpc":"2.0","id":-1,"method":"ping"}"#);
    let ids: BTreeSet<String> = (0..3).map(|_| client.reply()["id"].to_string()).collect();
    assert_eq!(
        ids,
        ["\"\"", "-1", "9007199254740993"].map(str::to_owned).into()
    );
    let again = client.initialize("2025-06-18");
    assert_eq!(
        again["protocolVersion"], "2025-06-18",
        "a second handshake is answered"
    );
}

#[test]
fn an_id_in_use_is_refused_and_the_first_request_still_answered() {
    let source = Fake::slow(spec_folders());
    source.close_gate();
    let mut client = connected(source.clone());
    client.send_line(r#"{"jsonrpc":"2.0","id":"same","method":"tools/call","params":{"name":"skill","arguments":{"name":"git"}}}"#);
    client.send_line(r#"{"jsonrpc":"2.0","id":"same","method":"ping"}"#);
    assert_eq!(code(&client.reply()), -32600);
    source.open_gate();
    assert!(client.reply()["result"]["content"].is_array());
}

#[test]
fn a_cancelled_request_gets_no_reply() {
    let source = Fake::slow(spec_folders());
    source.close_gate();
    let mut client = connected(source.clone());
    client.send_line(r#"{"jsonrpc":"2.0","id":"gone","method":"tools/call","params":{"name":"skill","arguments":{"name":"git"}}}"#);
    client.send_line(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"gone"}}"#,
    );
    assert_eq!(
        client.request("ping", json!({}))["result"],
        json!({}),
        "the load does not hold up others"
    );
    source.open_gate();
    let (ended, rest) = end(client);
    assert!(ended.is_ok() && rest.is_empty(), "{rest:?}");
}

/// A client cannot have more handlers run than requests by cancelling these.
#[test]
fn cancelled_requests_count_until_their_handlers_have_ended() {
    const PAIRS: usize = 5000;
    let source = Fake::slow(spec_folders());
    source.close_gate();
    let mut session = start(source.clone(), Options::default());
    let mut lines = br#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#.to_vec();
    for id in 0..PAIRS {
        lines.extend(format!("\n{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"skill\",\"arguments\":{{\"name\":\"git\"}}}}}}").bytes());
        lines.extend(format!("\n{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{id}}}}}").bytes());
    }
    lines.extend_from_slice(b"\n{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"ping\"}\n");
    let writer = thread::spawn(move || {
        session.stdin.write_all(&lines).unwrap();
        session.stdin
    });
    while source.loads() == 0 {
        thread::yield_now();
    }
    thread::sleep(std::time::Duration::from_millis(300));
    let tasks = session.runtime.metrics().num_alive_tasks();
    // A handler counts from when it is first run: what was read at once may
    // come on top.
    assert!(tasks < PAIRS / 10, "{tasks} tasks");
    source.open_gate();
    let ids: Vec<Value> = BufReader::new(session.stdout)
        .lines()
        .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap()["id"].take())
        .take_while(|id| *id != "last")
        .collect();
    assert_eq!(ids[0], "i");
    drop(writer.join().unwrap());
    assert!(session.ended.recv_timeout(PATIENCE).unwrap().is_ok());
}

#[test]
fn requests_in_flight_at_the_end_of_input_are_answered() {
    let source = Fake::slow(spec_folders());
    source.close_gate();
    let mut client = connected(source.clone());
    for id in 1..IN_FLIGHT {
        client.send_line(format!(r#"{{"jsonrpc":"2.0","id":"q{id}","method":"tools/call","params":{{"name":"skill","arguments":{{"name":"git"}}}}}}"#));
    }
    thread::spawn(move || {
        while source.loads() == 0 {
            thread::yield_now();
        }
        source.open_gate();
    });
    let (ended, rest) = end(client);
    assert!(ended.is_ok(), "{ended:?}");
    assert_eq!(rest.len(), IN_FLIGHT - 1, "{rest:?}");
}

#[test]
fn a_last_line_without_an_end_counts() {
    let mut session = start(folders(), Options::default());
    session
        .stdin
        .write_all(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
        .unwrap();
    drop(session.stdin);
    let mut said = String::new();
    session.stdout.read_to_string(&mut said).unwrap();
    assert_eq!(said, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    assert!(session.ended.recv_timeout(PATIENCE).unwrap().is_ok());
}

#[test]
fn the_end_of_input_is_never_an_error() {
    for lines in [
        "",
        "\n",
        "garbage\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n",
    ] {
        let mut session = start(folders(), Options::default());
        session.stdin.write_all(lines.as_bytes()).unwrap();
        drop(session.stdin);
        assert!(
            session.ended.recv_timeout(PATIENCE).unwrap().is_ok(),
            "{lines:?}"
        );
    }
}

#[test]
fn a_reader_that_leaves_ends_the_session() {
    // Before a word was said, and with a reply on its way.
    for lines in [
        &b""[..],
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n",
    ] {
        let mut session = start(folders(), Options::default());
        drop(session.stdout);
        session.stdin.write_all(lines).unwrap();
        assert!(
            session
                .ended
                .recv_timeout(PATIENCE)
                .expect("it ends while stdin is open")
                .is_ok()
        );
    }
    let client = connected(folders());
    assert!(end(client).0.is_ok());
}

#[test]
fn nothing_is_read_while_replies_do_not_leave() {
    const CALLS: usize = 1000;
    let mut session = start(folders(), Options::default());
    let mut lines = br#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#.to_vec();
    for id in 0..CALLS {
        let padding = " ".repeat(300);
        lines.extend(format!("\n{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",{padding}\"params\":{{\"name\":\"skill\",\"arguments\":{{\"name\":\"git\"}}}}}}").bytes());
    }
    lines.push(b'\n');
    // A pipe holds 64 KiB of requests and as much of replies; the writer
    // can only get to its end if the server goes on reading.
    let (sent, done) = std::sync::mpsc::channel();
    let writer = thread::spawn(move || {
        session.stdin.write_all(&lines).unwrap();
        sent.send(()).unwrap();
        session.stdin
    });
    thread::sleep(std::time::Duration::from_millis(300));
    assert!(
        done.try_recv().is_err(),
        "the server reads on although no reply leaves"
    );
    let mut ids = BTreeSet::new();
    let mut replies = BufReader::new(session.stdout).lines();
    for _ in 0..=CALLS {
        let reply: Value = serde_json::from_str(&replies.next().unwrap().unwrap()).unwrap();
        assert!(reply["result"].is_object());
        ids.insert(reply["id"].to_string());
    }
    assert_eq!(ids.len(), CALLS + 1, "every request is answered once");
    drop(writer.join().unwrap());
    assert!(session.ended.recv_timeout(PATIENCE).unwrap().is_ok());
}

#[test]
fn requests_in_flight_are_limited() {
    let source = Fake::slow(spec_folders());
    source.close_gate();
    let mut client = connected(source.clone());
    for id in 0..IN_FLIGHT {
        client.send_line(format!(r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"skill","arguments":{{"name":"git"}}}}}}"#, 1000 + id));
    }
    client.send_line(r#"{"jsonrpc":"2.0","id":"late","method":"ping"}"#);
    while source.loads() == 0 {
        thread::yield_now();
    }
    source.open_gate();
    let order: Vec<Value> = (0..=IN_FLIGHT)
        .map(|_| client.reply()["id"].clone())
        .collect();
    assert_ne!(
        order[0], "late",
        "it waits until a request before it has its reply"
    );
    assert!(order.contains(&json!("late")));
}

#[test]
fn a_fault_in_a_tool_is_answered_and_the_next_call_works() {
    let mut client = connected(folders());
    let reply = client.request("tools/call", json!({ "name": "panics", "arguments": {} }));
    assert_eq!(code(&reply), -32603);
    assert!(
        !reply["error"]["message"]
            .as_str()
            .unwrap()
            .contains("a fault in a tool"),
        "its text is not for the client"
    );
    assert!(client.tool("skill", &json!({ "name": "git" }))["content"].is_array());
}
