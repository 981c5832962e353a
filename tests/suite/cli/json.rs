//! `--json` of every command against `docs/json.md`: each field has the type
//! that the tables give it, and each field of the tables occurs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use super::journal::write_journal;
use super::office;
use crate::project::{LEGACY, Project, workspace};

/// Field names and types: the first two columns of the tables of three.
fn documented() -> BTreeMap<String, String> {
    let page = fs::read_to_string(workspace().join("docs/json.md")).expect("the page is there");
    let mut fields = BTreeMap::new();
    for line in page.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, kind, _] = cells[..] else { continue };
        if let Some(name) = name.strip_prefix('`').and_then(|it| it.strip_suffix('`')) {
            let before = fields.insert(name.to_owned(), kind.to_owned());
            assert_eq!(before, None, "`{name}` is documented twice");
        }
    }
    fields
}

fn has_type(value: &Value, kind: &str) -> bool {
    if let Some(kind) = kind.strip_suffix(" or null") {
        return value.is_null() || has_type(value, kind);
    }
    let all = |kind: &str| {
        let items = value.as_array();
        items.is_some_and(|items| items.iter().all(|item| has_type(item, kind)))
    };
    match kind {
        "any" => true,
        "string" => value.is_string(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "object" | "open object" => value.is_object(),
        "list of strings" => all("string"),
        "list of objects" => all("object"),
        "list of lists of strings" => all("list of strings"),
        other => panic!("docs/json.md uses an unknown type: {other}"),
    }
}

/// Checks every field below a value, and notes the names.
fn check(value: &Value, fields: &BTreeMap<String, String>, seen: &mut BTreeSet<String>, of: &str) {
    match value {
        Value::Array(items) => items.iter().for_each(|it| check(it, fields, seen, of)),
        Value::Object(entries) => {
            for (name, value) in entries {
                let kind = fields.get(name);
                let kind = kind.unwrap_or_else(|| panic!("{of}: `{name}` is not documented"));
                assert!(
                    has_type(value, kind),
                    "{of}: `{name}` is no {kind}: {value}"
                );
                seen.insert(name.clone());
                if !kind.starts_with("open object") && kind != "any" {
                    check(value, fields, seen, of);
                }
            }
        }
        _ => {}
    }
}

/// A skill with two scripts for the server.
const SCRIPTED: &str = "---\ndescription: It\nkeywords: [it]\nscripts:\n  - file: fine.sh\n    execution: server\n  - file: ends.sh\n    execution: server\n---\nText\n";

/// A skill with a contract.
const TYPED: &str = "---\nname: it\ndescription: It\nkeywords: [it]\nscripts:\n  - file: it.sh\n    execution: server\ncontract:\n  category: execution\n  assigned_to: [A]\n  input_schema: {type: object}\n  output_schema: {type: object}\n  handler: it.sh\n---\nText\n";

/// Skills with findings that have fixes and related places, and requests.
fn faulty(project: &Project) {
    let mut bytes = fs::read(project.path("team.skb")).expect("the bundle is there");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    project
        .file("damaged.skb", &bytes)
        .skill("faulty/one/git", "git", "Commits with care")
        .skill("faulty/two/git", "git", "Commits with more care")
        .file("faulty/colon/SKILL.md", "---\nname: colon\ndescription:No space after the colon\n---\nText\n")
        .skill("asked/forms", "forms", "Fill in the fields of a PDF form and check them")
        .skill("asked/deploy", "deploy", "Helps with releases")
        .skill("asked-before/forms", "forms", "Fill in the fields of forms")
        .file("scripted/it.md", SCRIPTED)
        .file("typed/it.md", TYPED)
        .file("typed/it/it.sh", "echo '{\"a\":1}'\n")
        .file("scripted/it/fine.sh", "echo $SKILL_ARG_A\n")
        .file("scripted/it/ends.sh", "printf '\\377'; kill -SEGV $$\n")
        .file(
            "asked/routing.json",
            "[{\"request\": \"fill in the release form\", \"expect\": \"deploy\"}, {\"request\": \"deploy\", \"expect\": null}]",
        );
}

#[test]
fn every_field_has_its_documented_type_in_every_command() {
    let project = office();
    faulty(&project);
    write_journal(&project.path("journal.db"));
    #[cfg(all(unix, feature = "sqlite"))]
    crate::stats::write_week(&project.path("week.db"));
    // Leaves a bundle in the cache.
    let mut session = project.serve(&["team"]);
    session.initialize(LEGACY);
    session.tool_text("skills_list", &serde_json::json!({}));
    session.finish();
    // And a mirror.
    let origin = skillbundle_testkit::Origin::new();
    origin.commit_files(&[(
        "a/SKILL.md",
        "---\nname: a\ndescription: Does a\n---\nText\n",
    )]);
    let url = format!("--repo=file://{}", origin.bare().display());
    let listed = project.run(&["list", "--set", "git.protocols=file", &url]);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    let fields = documented();
    let mut seen = BTreeSet::new();
    for (line, code, command) in [
        ("list team", 0, Some("list")),
        ("roots", 0, Some("roots")),
        ("roots team.skb", 0, Some("roots")),
        ("config show team", 0, Some("config")),
        ("config show nowhere", 0, Some("config")),
        ("config show --analytics", 0, Some("config")),
        ("config schema --analytics", 2, Some("config")),
        ("journal --journal journal.db", 0, Some("journal")),
        ("journal events --journal journal.db", 0, Some("journal")),
        (
            "journal show 0198c1d2-7d3e-7000-8000-000000000002 --journal journal.db",
            0,
            Some("journal"),
        ),
        ("journal stats --journal journal.db", 0, Some("journal")),
        (
            "journal prune --journal journal.db --until 2026-01-12",
            0,
            Some("journal"),
        ),
        ("journal --journal nowhere.db", 2, Some("journal")),
        ("stats team --journal week.db", 0, Some("stats")),
        (
            "stats --journal week.db --since 2026-01-13",
            0,
            Some("stats"),
        ),
        ("stats", 0, Some("stats")),
        ("stats --journal nowhere.db", 2, Some("stats")),
        ("cache", 0, Some("cache")),
        ("cache clean --all", 0, Some("cache")),
        ("doctor team", 0, Some("doctor")),
        ("doctor team.skb", 0, Some("doctor")),
        ("doctor broken", 1, Some("doctor")),
        ("show ui/react/auth tree", 0, Some("show")),
        ("run it fine.sh a=1 scripted", 0, Some("run")),
        ("run it ends.sh scripted", 1, Some("run")),
        ("run it fine.sh a=1 scripted --dry-run", 0, Some("run")),
        ("run it gone.sh scripted", 2, Some("run")),
        ("invoke it typed --agent A --input {}", 0, Some("invoke")),
        ("invoke it typed --agent B --input {}", 1, Some("invoke")),
        ("invoke it typed --agent A --input []", 2, Some("invoke")),
        ("show it typed", 0, Some("show")),
        ("search form team", 0, Some("search")),
        ("search forms,filled team", 0, Some("search")),
        ("search elephants team", 0, Some("search")),
        ("route PDF-form team", 0, Some("route")),
        ("route react tree", 1, Some("route")),
        ("route elephants team", 1, Some("route")),
        ("inspect team.skb", 0, Some("inspect")),
        ("inspect tree --skill ui/react/auth", 0, Some("inspect")),
        ("inspect team.skb --host claude", 0, Some("inspect")),
        (
            "inspect odd --host cursor --dotted-names",
            1,
            Some("inspect"),
        ),
        ("verify team.skb", 0, Some("verify")),
        ("verify", 0, Some("verify")),
        ("verify damaged.skb", 1, Some("verify")),
        ("compile --check faulty", 1, Some("check")),
        ("check faulty", 1, Some("check")),
        ("explain", 0, Some("explain")),
        ("explain name-mismatch", 0, Some("explain")),
        ("explain nothing", 2, Some("explain")),
        ("compile team -o new.skb", 0, Some("compile")),
        ("compile broken -o new.skb", 1, Some("compile")),
        ("compile team -o -", 2, Some("compile")),
        ("new made --description Makes --dir made", 0, Some("new")),
        ("new made --description Makes --dir made", 2, Some("new")),
        ("new", 2, Some("new")),
        ("check asked --against asked-before", 0, Some("check")),
        ("check asked --against faulty", 0, Some("check")),
        ("eval asked", 0, Some("eval")),
        ("eval asked --min-hits 1", 1, Some("eval")),
        ("list nowhere", 2, Some("list")),
        ("show gti team", 2, Some("show")),
        ("search two words", 2, Some("search")),
        ("verify team", 2, Some("verify")),
        ("eval team.skb", 2, Some("eval")),
        ("inspect --unknown", 2, Some("inspect")),
        ("frobnicate", 2, None),
        ("--version", 0, None),
    ] {
        let mut words: Vec<&str> = line.split(' ').collect();
        words.push("--json");
        let ran = project.run(&words);
        assert_eq!(ran.code, Some(code), "{line}: {}{}", ran.stdout, ran.stderr);
        let printed: Value = serde_json::from_str(&ran.stdout)
            .unwrap_or_else(|error| panic!("{line}: {error}: {}", ran.stdout));
        assert_eq!(printed["version"], 1, "{line}");
        assert_eq!(printed["command"].as_str(), command, "{line}");
        let has_error = code == 2 || line == "verify damaged.skb";
        assert_eq!(
            printed.get("error").is_some(),
            has_error,
            "{line}: {printed}"
        );
        if code == 2 {
            assert_eq!(ran.stderr, "", "{line}");
        }
        check(&printed, &fields, &mut seen, line);
    }
    let never: Vec<&String> = fields.keys().filter(|it| !seen.contains(*it)).collect();
    assert!(
        never.is_empty(),
        "documented, but no command printed it: {never:?}"
    );
}
