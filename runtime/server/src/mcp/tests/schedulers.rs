//! A request that is answered as it is read gets the same response as one that becomes a task.

use skillbundle_format::Role;

use super::*;
use crate::testing::file;

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
    ("resources/list", ""),
    ("resources/templates/list", ""),
    ("resources/directory/read", r#""uri":"skill://git""#),
    ("prompts/list", ""),
    ("prompts/get", r#""name":"git""#),
    (
        "completion/complete",
        r#""ref":{"type":"ref/prompt","name":"git"},"argument":{"name":"x","value":""}"#,
    ),
    ("subscriptions/listen", ""),
    ("made/up", ""),
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
    let mut client = unopened(source, Options::default());
    if let Some(opening) = opening {
        client.send_line(opening);
        client.reply();
    }
    let ask = |(number, (method, params)): (usize, &(&str, String))| {
        client.send_line(format!(
            r#"{{"jsonrpc":"2.0","id":{number},"method":"{method}","params":{{{params}}}}}"#
        ));
        client.reply()
    };
    requests.iter().enumerate().map(ask).collect()
}

/// A source that may block makes every request for skills a task.
fn assert_alike(skills: fn() -> SkillSet, requests: &[(&str, String)], opening: Option<&str>) {
    let at_once = answers(Fake::new(skills()), requests, opening);
    let by_task = answers(Fake::slow(skills()), requests, opening);
    for ((request, at_once), by_task) in requests.iter().zip(at_once).zip(by_task) {
        // `to_string` keeps the order of members.
        assert_eq!(at_once.to_string(), by_task.to_string(), "{request:?}");
    }
}

#[test]
fn both_schedulers_give_the_same_response_in_either_era() {
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
fn all_pages_of_skills_are_the_same() {
    let mut client = unopened(Fake::new(many()), Options::default());
    let (mut requests, mut seen) = (vec![("skills/list", META.to_owned())], 0);
    loop {
        let (method, params) = requests.last().expect("one").clone();
        client.send_line(format!(
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
