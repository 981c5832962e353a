//! What the desk answers is what rmcp would have answered, to the letter.

use tokio::sync::watch;

use super::*;
use crate::library::Library;
use crate::mcp::{FrontDesk, Server};
use crate::platform::{Input, Output};
use crate::testing::file;
use crate::transport::{Outbox, Transport};
use skillbundle_format::Role;
use std::io::{Read, Write, pipe};
use std::os::fd::AsFd;
use std::sync::Arc;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#;

/// Requests by which skills are found and read, good ones and bad ones.
const REQUESTS: &[(&str, &str)] = &[
    ("tools/list", ""),
    ("tools/list", r#""cursor":"x""#),
    ("tools/call", r#""name":"skill","arguments":{"name":"git"}"#),
    ("tools/call", r#""name":"skill","arguments":{"name":"gti"}"#),
    ("tools/call", r#""name":"skill","arguments":{"nome":"git"}"#),
    ("tools/call", r#""name":"skill""#),
    (
        "tools/call",
        r#""name":"get_skill","arguments":{"context":"deploy with git"}"#,
    ),
    (
        "tools/call",
        r#""name":"skills.search","arguments":{"query":"git"}"#,
    ),
    ("tools/call", r#""name":"list_skills","arguments":{}"#),
    ("tools/call", r#""name":"panics""#),
    ("tools/call", r#""name":"no_such_tool""#),
    ("skills/list", ""),
    ("skills/list", r#""cursor":"x""#),
    ("skills/get", r#""uri":"skill://git/SKILL.md""#),
    ("skills/get", r#""uri":"skill://no/SKILL.md""#),
    ("skills/get", r#""uri":"skill://git""#),
    ("resources/read", r#""uri":"skill://git/SKILL.md""#),
    ("resources/read", r#""uri":"skill://git/notes.txt""#),
    ("resources/read", r#""uri":"skill://git/logo.png""#),
    ("resources/read", r#""uri":"skill://git/nul.txt""#),
    ("resources/read", r#""uri":"skill://git""#),
    ("resources/read", r#""uri":"file:///etc/passwd""#),
    ("ping", ""),
];

fn skills() -> SkillSet {
    let mut skills = spec_folders();
    skills.skills[0].files = vec![
        file("logo.png", Role::Asset, Some(b"\x89PNG\xff\x00")),
        file(
            "notes.txt",
            Role::Asset,
            Some(b"\xef\xbb\xbfone\r\n\"two\"\n"),
        ),
        file("nul.txt", Role::Asset, Some(b"a\0b")),
    ];
    skills
}

/// More skills than one page holds.
fn many() -> SkillSet {
    set((0..250)
        .map(|number| folder(&format!("skill-{number:03}"), "One of many", "\nText.\n"))
        .collect())
}

/// The answers to these requests, line by line.
fn answers(source: Fake, requests: &[(&str, String)], opening: Option<&str>) -> Vec<Value> {
    let mut client = Client::start(source, Options::default());
    if let Some(opening) = opening {
        client.send(opening);
        client.reply();
    }
    let ask = |(number, (method, params)): (usize, &(&str, String))| {
        client.send(format!(
            r#"{{"jsonrpc":"2.0","id":{number},"method":"{method}","params":{{{params}}}}}"#
        ));
        client.reply()
    };
    requests.iter().enumerate().map(ask).collect()
}

/// A source that can be slow is never answered for at the desk.
fn assert_alike(skills: fn() -> SkillSet, requests: &[(&str, String)], opening: Option<&str>) {
    let at_desk = answers(Fake::new(skills()), requests, opening);
    let by_rmcp = answers(Fake::slow(skills()), requests, opening);
    for ((request, desk), rmcp) in requests.iter().zip(at_desk).zip(by_rmcp) {
        // `to_string` keeps the order of members.
        assert_eq!(desk.to_string(), rmcp.to_string(), "{request:?}");
    }
}

#[test]
fn clients_of_either_era_cannot_tell_who_answered() {
    let joined = |params: &str, meta: &str| match (params, meta) {
        ("", meta) => meta.to_owned(),
        (params, "") => params.to_owned(),
        (params, meta) => format!("{params},{meta}"),
    };
    for (meta, opening) in [("", Some(INITIALIZE)), (META, None)] {
        let requests: Vec<_> = REQUESTS
            .iter()
            .map(|(method, params)| (*method, joined(params, meta)))
            .collect();
        assert_alike(skills, &requests, opening);
    }
}

#[test]
fn pages_of_skills_are_the_same_to_the_last_one() {
    let mut client = Client::start(Fake::new(many()), Options::default());
    let (mut requests, mut seen) = (vec![("skills/list", META.to_owned())], 0);
    loop {
        let (method, params) = requests.last().expect("one").clone();
        client.send(format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}}}}}"#
        ));
        let result = client.reply()["result"].clone();
        seen += result["skills"].as_array().expect("a page").len();
        let Some(next) = result["nextCursor"].as_str() else {
            break;
        };
        requests.push(("skills/list", format!(r#""cursor":"{next}",{META}"#)));
    }
    assert_eq!((seen, requests.len()), (250, 3));
    assert_alike(many, &requests, None);
}

/// Whether rmcp is needed for a session of these lines, and how many are answered without it.
fn served_at_desk(lines: &[&str]) -> (bool, usize) {
    let (requests, mut stdin) = pipe().expect("a pipe");
    let (mut stdout, replies) = pipe().expect("a pipe");
    for line in lines {
        writeln!(stdin, "{line}").expect("room");
    }
    drop(stdin);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let needed = runtime.block_on(async {
        let outbox = Arc::new(Outbox::new(Output::new(replies.as_fd()).expect("a pipe")));
        let (at_end, ended) = watch::channel(false);
        let server = Server::new(Library::new(Fake::new(skills())), Options::default());
        let desk = FrontDesk::new(server.with_notices(ended), Arc::clone(&outbox));
        let input = Input::new(requests.into()).expect("a pipe");
        let mut transport = Transport::new(input, outbox, Box::new(desk), at_end);
        transport.needs_rmcp().await
    });
    drop((runtime, replies));
    let mut answered = String::new();
    stdout.read_to_string(&mut answered).expect("UTF-8");
    (needed, answered.lines().count())
}

#[test]
fn a_session_that_only_reads_skills_never_wakes_rmcp() {
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"skill","arguments":{"name":"git"}}}"#;
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let list = r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#;
    let modern = |method: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":4,"method":"{method}","params":{{{META}}}}}"#)
    };
    let (discover, skills, resources) = (
        modern("server/discover"),
        modern("skills/list"),
        modern("resources/list"),
    );
    for (lines, expected) in [
        (&[INITIALIZE, initialized, list, call][..], (false, 3)),
        (&[&discover, &skills], (false, 2)),
        // A probe, and a client that turns out to be an older one.
        (&[&discover, INITIALIZE, call], (false, 3)),
        (&["garbage", INITIALIZE, call], (false, 3)),
        (&[], (false, 0)),
        // What the desk does not know, and what has a fault.
        (&[&skills, &resources], (true, 1)),
        (&[INITIALIZE, &skills], (true, 1)),
        (&[call], (true, 0)),
        (&[INITIALIZE, INITIALIZE], (true, 1)),
    ] {
        assert_eq!(served_at_desk(lines), expected, "{lines:?}");
    }
}
