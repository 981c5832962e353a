//! Text beyond ASCII on its way out: lines that stay whole for every reader, names in other
//! scripts, and one name in several Unicode forms.

use serde_json::{Value, json};

use crate::project::{LEGACY, Project, bytes_of, finish};

/// A paragraph separator, a line separator and a next line, as pasted from a word processor.
const PASTED: &str = "one\u{2028}two\u{2029}three\u{85}four “five”";

/// The lines that Python's `str.splitlines` makes of a text.
fn lines(text: &str) -> usize {
    let is_end = |it: char| {
        matches!(
            it,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'
                ..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    text.trim_end_matches('\n').split(is_end).count()
}

fn pasted() -> Project {
    let project = Project::new();
    let skill = format!("---\nname: pasted\ndescription: \"{PASTED}\"\n---\n{PASTED}\n");
    project
        .file("skills/pasted/SKILL.md", skill)
        .file("skills/pasted/references/clip.txt", PASTED);
    project
}

/// Requests that are answered with text of the skill.
fn requests() -> Vec<(&'static str, Value)> {
    let file = "skill://pasted/references/clip.txt";
    let tool = |name: &str, arguments: Value| json!({ "name": name, "arguments": arguments });
    vec![
        ("tools/list", json!({})),
        ("tools/call", tool("skill", json!({ "name": "pasted" }))),
        ("tools/call", tool("skills_list", json!({}))),
        ("tools/call", tool("list_skills", json!({}))),
        (
            "tools/call",
            tool("get_skill", json!({ "context": "pasted two" })),
        ),
        (
            "tools/call",
            tool("skills_search", json!({ "query": "four" })),
        ),
        (
            "tools/call",
            tool(
                "get_asset",
                json!({ "skill_path": "pasted", "file": "references/clip.txt" }),
            ),
        ),
        ("tools/call", tool("skill", json!({ "name": PASTED }))),
        ("prompts/list", json!({})),
        ("prompts/get", json!({ "name": "pasted" })),
        ("resources/list", json!({})),
        (
            "resources/read",
            json!({ "uri": "skill://pasted/SKILL.md" }),
        ),
        ("resources/read", json!({ "uri": file })),
        ("skills/list", json!({})),
        (PASTED, json!({})),
    ]
}

#[test]
fn every_line_of_stdio_is_one_line_for_every_reader() {
    let project = pasted();
    let mut session = project.serve(&["--dir", "skills", "--tools", "all"]);
    session.initialize(LEGACY);
    let mut seen = String::new();
    for (id, (method, params)) in requests().into_iter().enumerate() {
        session.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let line = session.line().expect("a reply");
        let line = String::from_utf8(line).expect("UTF-8");
        assert_eq!(lines(&line), 1, "{method}: {line:?}");
        let reply: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(reply["id"], id);
        seen.push_str(&reply.to_string());
    }
    assert!(
        seen.contains("one\u{2028}two\u{2029}three\u{85}four"),
        "{seen}"
    );
    // What was escaped is read as what it was.
    let read = session.result(
        "resources/read",
        json!({ "uri": "skill://pasted/references/clip.txt" }),
    );
    assert_eq!(read["contents"][0]["text"], PASTED);
}

#[cfg(feature = "http")]
#[test]
fn every_body_over_http_is_one_line_for_every_reader() {
    use crate::http::{Running, serve};

    let project = pasted();
    let server = Running::start(serve(&project, &[":0", "--tools", "all"]));
    for accept in ["application/json", "text/event-stream"] {
        for (method, params) in requests() {
            let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
            let accept = format!("Accept: {accept}");
            let mut client = server.connect();
            let response = client.ask("POST /mcp", &[&accept], &request.to_string());
            assert!(response.body.contains("jsonrpc"), "{method}: {response:?}");
            assert_eq!(
                lines(&response.body),
                1,
                "{accept}: {method}: {}",
                response.body
            );
        }
    }
}

#[test]
fn every_line_of_json_on_the_command_line_is_one_line() {
    let project = pasted();
    for arguments in [
        &["list", "--dir", "skills", "--json"][..],
        &["show", "pasted", "--dir", "skills", "--json"],
        &["search", "four", "--dir", "skills", "--json"],
        &["inspect", "skills", "--json"],
    ] {
        let ran = finish(project.command().args(arguments));
        assert_eq!(ran.code, Some(0), "{arguments:?}: {ran:?}");
        let text = &ran.stdout;
        assert_eq!(lines(text), text.lines().count(), "{arguments:?}: {text}");
        let value: Value = serde_json::from_str(text).expect("JSON");
        assert!(value.to_string().contains("pasted"), "{value}");
    }
}

#[test]
fn skills_named_in_other_scripts_are_listed_and_their_files_read() {
    let project = Project::new();
    let names = ["数据分析", "мой-навык", "redacteur-français"];
    for name in names {
        project
            .skill(&format!("skills/{name}"), name, "A skill")
            .file(&format!("skills/{name}/note {name}.txt"), name);
    }
    let mut session = project.serve(&["--dir", "skills"]);
    session.initialize(LEGACY);
    let listed = session.result("skills/list", json!({}));
    let skills = listed["skills"].as_array().expect("a list");
    assert_eq!(skills.len(), names.len(), "{listed}");
    for skill in skills {
        let name = skill["frontmatter"]["name"].as_str().expect("a name");
        let uri = skill["uri"].as_str().expect("a URI");
        assert!(names.contains(&name) && uri.is_ascii(), "{skill}");
        let files = skill["resources"].as_array().expect("a manifest");
        assert_eq!(files.len(), 2, "{skill}");
        for file in files {
            let read = session.result("resources/read", json!({ "uri": file["uri"] }));
            let text = read["contents"][0]["text"].as_str().expect("text");
            assert!(text.contains(name), "{read}");
        }
        session.tool_text("skill", &json!({ "name": name }));
        session.result("prompts/get", json!({ "name": name }));
    }
    let ran = finish(project.command().args(["compile", "--check", "skills"]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.stdout.contains("not-published"), "{ran:?}");
}

/// The names on disk are composed, composed and decomposed; each is asked for in three forms.
#[test]
fn a_name_is_one_name_in_every_unicode_form_and_its_bytes_stay() {
    let project = Project::new();
    let cases = [
        ("caf\u{e9}", ["caf\u{e9}", "cafe\u{301}", "CAF\u{c9}"]),
        ("οδος", ["ΟΔΟΣ", "οδοσ", "Οδος"]),
        (
            "re\u{301}sume\u{301}",
            ["r\u{e9}sum\u{e9}", "re\u{301}sum\u{e9}", "R\u{c9}SUM\u{c9}"],
        ),
    ];
    for (name, forms) in cases {
        let text = format!(
            "---\nname: {name}\ndescription: A skill\nassets:\n  - file: a/{}.txt\n---\nbody {name}\n",
            forms[0].to_lowercase()
        );
        project
            .file(&format!("skills/{name}/SKILL.md"), text)
            .file(&format!("skills/{name}/a/{name}.txt"), name);
    }
    let mut session = project.serve(&["--dir", "skills"]);
    session.initialize(LEGACY);
    for (name, forms) in cases {
        for form in forms {
            let text = session.tool_text("skill", &json!({ "name": form }));
            assert!(text.contains(&format!("body {name}")), "{form}: {text}");
            let prompt = session.result("prompts/get", json!({ "name": form }));
            assert!(prompt.to_string().contains(name), "{form}: {prompt}");
            let asset = json!({ "skill_path": form, "file": format!("a/{form}.txt") });
            let asset = session.tool_json("get_asset", &asset);
            assert_eq!(asset["file"], format!("a/{name}.txt"), "the bytes on disk");
            assert_eq!(asset["content"], name);
            for uri in [encoded(form), form.to_owned()] {
                let uri = format!("skill://{uri}/a/{uri}.txt");
                let read = session.result("resources/read", json!({ "uri": uri }));
                assert_eq!(read["contents"][0]["text"], name, "{uri}");
            }
            let ran = finish(project.command().args(["show", form, "--dir", "skills"]));
            assert!(
                ran.stdout.contains(&format!("body {name}")),
                "{form}: {ran:?}"
            );
        }
    }
    let missing = json!({ "skill_path": "cafe", "file": "a/cafe.txt" });
    session.tool_error("get_asset", &missing);
    let ran = finish(project.command().args(["compile", "--check", "skills"]));
    assert!(!ran.stdout.contains("missing-asset"), "{ran:?}");
}

fn encoded(text: &str) -> String {
    let bytes: Vec<_> = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
    bytes.concat()
}

/// Spec 3 §7.2 sends every file as text whose extension is not in its list; text in another
/// encoding would lose its bytes that way.
#[test]
fn text_in_another_encoding_is_sent_with_every_byte() {
    let project = Project::new();
    let latin1 = b"caf\xe9 \xa0 cr\xe8me\n";
    project
        .skill("skills/menu", "menu", "A skill")
        .file("skills/menu/latin1.txt", "");
    std::fs::write(project.path("skills/menu/latin1.txt"), latin1).expect("a file");
    let mut session = project.serve(&["--dir", "skills"]);
    session.initialize(LEGACY);
    let asset = json!({ "skill_path": "menu", "file": "latin1.txt" });
    let asset = session.tool_json("get_asset", &asset);
    let expected = "Y2Fm6SCgIGNy6G1lCg==";
    assert_eq!(asset["content_base64"], expected, "{asset}");
    assert_eq!(asset["size_bytes"], latin1.len());
    let read = session.result(
        "resources/read",
        json!({ "uri": "skill://menu/latin1.txt" }),
    );
    assert_eq!(read["contents"][0]["blob"], expected);
    let bundle = bytes_of(&project.compile(&["skills"]));
    assert!(bundle.windows(latin1.len()).any(|it| it == latin1));
}
