//! The skills extension, resources and completion: what a host does that
//! checks every digest.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use skillbundle_format::Role;

use super::*;
use crate::testing::file;

const META: &str = "io.modelcontextprotocol/";

/// Skills with files of every kind.
fn skills() -> SkillSet {
    let mut pdf = folder("team/pdf", "Reads PDF files", "\n# PDF\r\n");
    pdf.files = vec![
        file("assets/logo.png", Role::File, Some(b"\x89PNG\0\xff")),
        file(
            "references/forms.md",
            Role::File,
            Some(b"\xef\xbb\xbfForms\r\n"),
        ),
        file("references/more/fields.md", Role::File, Some(b"")),
        file("zero.txt", Role::File, Some(b"a\0b")),
    ];
    let mut skills = spec_folders();
    skills.skills.push(pdf);
    skills
}

fn read(client: &mut Client, uri: &Value) -> Vec<u8> {
    let reply = client.request("resources/read", json!({ "uri": uri }));
    let [contents] = reply["result"]["contents"]
        .as_array()
        .expect("contents")
        .as_slice()
    else {
        panic!("not one: {reply}");
    };
    assert_eq!(&contents["uri"], uri);
    match contents["blob"].as_str() {
        Some(blob) => STANDARD.decode(blob).expect("base64"),
        None => contents["text"]
            .as_str()
            .expect("a text")
            .as_bytes()
            .to_vec(),
    }
}

fn error(reply: &Value, code: i64) -> &Value {
    assert_eq!(reply["error"]["code"], code, "{reply}");
    &reply["error"]
}

#[test]
fn every_file_of_every_skill_hashes_to_its_digest() {
    let mut client = client(skills());
    let listed = client.request("skills/list", json!({}));
    let entries = listed["result"]["skills"].as_array().expect("skills");
    assert_eq!(entries.len(), 4, "{listed}");
    let mut read_so_far = 0;
    for entry in entries {
        let got = client.request("skills/get", json!({ "uri": entry["uri"] }));
        assert_eq!(&got["result"]["skill"], entry);
        for resource in entry["resources"].as_array().expect("a manifest") {
            let bytes = read(&mut client, &resource["uri"]);
            assert_eq!(resource["size"], bytes.len());
            assert_eq!(resource["digest"], digest(sha256(&bytes)), "{resource}");
            read_so_far += 1;
        }
    }
    assert_eq!(read_so_far, 8);
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

#[test]
fn directories_lead_to_every_file_and_no_further() {
    let mut client = client(skills());
    let mut open = vec!["skill://team/pdf".to_owned()];
    let mut found = Vec::new();
    while let Some(uri) = open.pop() {
        let reply = client.request("resources/directory/read", json!({ "uri": uri }));
        for child in reply["result"]["resources"].as_array().expect("children") {
            let uri = child["uri"].as_str().expect("a URI").to_owned();
            if child["mimeType"] == "inode/directory" {
                open.push(uri);
            } else {
                found.push(uri);
            }
        }
    }
    found.sort();
    let inside = |path: &str| format!("skill://team/pdf/{path}");
    let expected = [
        "SKILL.md",
        "assets/logo.png",
        "references/forms.md",
        "references/more/fields.md",
        "zero.txt",
    ];
    assert_eq!(found, expected.map(inside));
}

/// Method, parameters, and a word of the message: what is not there is -32602
/// and says which URI.
#[test]
fn missing_things_are_named_in_the_error() {
    let mut client = client(skills());
    for (method, uri, word) in [
        ("resources/read", "skill://team/pdf/none", "skills/list"),
        (
            "resources/read",
            "skill://team/pdf/references",
            "resources/directory/read",
        ),
        (
            "resources/read",
            "skill://team/pdf/../../git/SKILL.md",
            "not found",
        ),
        ("resources/read", "file:///etc/passwd", "not found"),
        (
            "resources/directory/read",
            "skill://team/pdf/SKILL.md",
            "directory",
        ),
        ("resources/directory/read", "skill://", "directory"),
        ("skills/get", "skill://none/SKILL.md", "skills/list"),
        ("resources/subscribe", "skill://none/SKILL.md", "not found"),
    ] {
        let reply = client.request(method, json!({ "uri": uri }));
        let error = error(&reply, -32602);
        assert_eq!(error["data"]["uri"], uri, "{method} {uri}");
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains(word), "{method} {uri}: {message}");
    }
}

#[test]
fn lists_come_in_pages_and_a_cursor_ends_with_its_generation() {
    let many = |prefix: &str| {
        set((0..250)
            .map(|n| folder(&format!("{prefix}-{n:03}"), "About tea", "\nTea.\n"))
            .collect())
    };
    let source = Fake::new(many("tea"));
    let mut client = connected(source.clone());
    let first = client.request("skills/list", json!({}));
    assert_eq!(
        first["result"]["skills"].as_array().map(Vec::len),
        Some(100)
    );
    let mut names = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let params = if cursor.is_null() {
            json!({})
        } else {
            json!({ "cursor": cursor })
        };
        let page = client.request("skills/list", params);
        let skills = page["result"]["skills"].as_array().expect("skills").clone();
        names.extend(
            skills
                .iter()
                .map(|skill| skill["frontmatter"]["name"].clone()),
        );
        match page["result"].get("nextCursor") {
            Some(next) => cursor = next.clone(),
            None => break,
        }
    }
    let expected: Vec<_> = (0..250).map(|n| json!(format!("tea-{n:03}"))).collect();
    assert_eq!(names, expected);

    let next = first["result"]["nextCursor"].clone();
    for (method, cursor, word) in [
        ("resources/list", &next, "unknown cursor"),
        ("skills/list", &json!("x"), "unknown cursor"),
    ] {
        let reply = client.request(method, json!({ "cursor": cursor }));
        assert!(
            error(&reply, -32602)["message"]
                .as_str()
                .unwrap()
                .contains(word)
        );
    }
    source.edit(many("green"));
    let reply = client.request("skills/list", json!({ "cursor": next }));
    assert!(
        error(&reply, -32602)["message"]
            .as_str()
            .unwrap()
            .contains("stale cursor")
    );
}

#[test]
fn resources_are_listed_by_their_skills_and_completed_by_path_and_name() {
    let mut client = client(skills());
    let listed = client.request("resources/list", json!({}));
    let pdf = &listed["result"]["resources"][3];
    assert_eq!(
        (
            &pdf["uri"],
            &pdf["name"],
            &pdf["description"],
            &pdf["mimeType"]
        ),
        (
            &json!("skill://team/pdf/SKILL.md"),
            &json!("pdf"),
            &json!("Reads PDF files"),
            &json!("text/markdown")
        )
    );
    let templates = client.request("resources/templates/list", json!({}));
    assert_eq!(
        templates["result"]["resourceTemplates"][0]["uriTemplate"],
        "skill://{+path}"
    );
    for (typed, expected) in [
        (
            "team/pdf/ref",
            json!([
                "team/pdf/references/forms.md",
                "team/pdf/references/more/fields.md"
            ]),
        ),
        ("pd", json!(["team/pdf/SKILL.md"])),
        ("nothing", json!([])),
    ] {
        let params = json!({
            "ref": { "type": "ref/resource", "uri": "skill://{+path}" },
            "argument": { "name": "path", "value": typed },
        });
        let reply = client.request("completion/complete", params);
        assert_eq!(reply["result"]["completion"]["values"], expected, "{typed}");
    }
    for (reference, argument) in [
        (
            json!({ "type": "ref/resource", "uri": "skill://{path}" }),
            "path",
        ),
        (
            json!({ "type": "ref/resource", "uri": "skill://{+path}" }),
            "name",
        ),
        (json!({ "type": "ref/prompt", "name": "none" }), "x"),
    ] {
        let params = json!({ "ref": reference, "argument": { "name": argument, "value": "" } });
        error(&client.request("completion/complete", params), -32602);
    }
}

#[test]
fn newer_clients_get_the_lifetime_of_results() {
    let mut client = unopened(Fake::new(skills()), Options::default());
    let meta = json!({
        format!("{META}protocolVersion"): "2026-07-28",
        format!("{META}clientCapabilities"): {},
        format!("{META}clientInfo"): { "name": "test", "version": "0" },
    });
    for (method, params) in [
        ("server/discover", json!({})),
        ("skills/list", json!({})),
        ("skills/get", json!({ "uri": "skill://git/SKILL.md" })),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({ "uri": "skill://git/SKILL.md" })),
        ("prompts/list", json!({})),
        ("tools/list", json!({})),
    ] {
        let mut params = params;
        params["_meta"] = meta.clone();
        let result = client.request(method, params)["result"].clone();
        assert_eq!(
            (
                &result["resultType"],
                &result["ttlMs"],
                &result["cacheScope"]
            ),
            (&json!("complete"), &json!(0), &json!("private")),
            "{method}: {result}"
        );
    }
    // Others were never told of these fields.
    let mut client = connected(Fake::new(skills()));
    let result = client.request("skills/list", json!({}))["result"].clone();
    assert_eq!(keys(&result), ["skills"]);
}

#[test]
fn prompts_are_the_skills_that_people_may_call() {
    let mut hidden = folder("hidden", "Only for models", "\nHidden.\n");
    hidden.frontmatter_json =
        json!({ "name": "hidden", "description": "x", "user-invocable": false }).to_string();
    let mut review = folder("review", "Reviews a change", "\nReview $ARGUMENTS now.\n");
    review.frontmatter_json =
        json!({ "name": "review", "description": "x", "argument-hint": "[branch]" }).to_string();
    let api = tree("api", "Calls it", &["api"], "Call it.\n");
    let mut client = client(set(vec![api, hidden, review]));
    let listed = client.request("prompts/list", json!({}));
    assert_eq!(
        listed["result"]["prompts"],
        json!([
            { "name": "api", "description": "Calls it" },
            { "name": "review", "description": "Reviews a change", "arguments": [{ "name": "arguments", "description": "[branch]" }] },
        ])
    );
    let got = client.request(
        "prompts/get",
        json!({ "name": "review", "arguments": { "arguments": "main $ARGUMENTS" } }),
    );
    assert_eq!(
        got["result"]["messages"],
        json!([{ "role": "user", "content": { "type": "text", "text": "\nReview main $ARGUMENTS now.\n" } }])
    );
    for name in ["hidden", "none"] {
        error(
            &client.request("prompts/get", json!({ "name": name })),
            -32602,
        );
    }
    let wrong = json!({ "name": "review", "arguments": { "brunch": "x" } });
    error(&client.request("prompts/get", wrong), -32602);
}
