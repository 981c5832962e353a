//! The library in `examples/tasks`: its contracts are those of the specification, and its handler,
//! run by hand as a server runs it, succeeds and fails as they say.

mod attacks;
mod faults;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::project::{Project, material, test_with, workspace};

/// Fields of the inputs and outputs as specification 5 has them. A question mark is after those that
/// may be left out.
const FIELDS: &[(&str, &str, &str)] = &[
    (
        "task_creation",
        "title description? priority? due_date? user_id",
        "task_id title created_at",
    ),
    (
        "task_retrieval",
        "user_id task_id? status_filter? limit? offset?",
        "tasks total_count has_more",
    ),
    (
        "task_update",
        "task_id user_id title? description? status? priority? due_date?",
        "task_id updated_fields updated_at",
    ),
    ("task_deletion", "task_id user_id", "task_id deleted_at"),
    (
        "token_generation",
        "user_id email scopes? expires_in_seconds?",
        "access_token token_type expires_at",
    ),
    (
        "token_validation",
        "token required_scopes?",
        "valid user_id email scopes expires_at",
    ),
    (
        "user_creation",
        "email password display_name?",
        "user_id email created_at",
    ),
    (
        "ownership_validation",
        "user_id resource_type resource_id",
        "is_owner resource_type resource_id",
    ),
    (
        "suggestion_generation",
        "user_id context? count?",
        "suggestions degraded",
    ),
];

/// Defaults and bounds of single fields, as specification 5 has them.
const BOUNDS: &[(&str, &str, &str)] = &[
    (
        "task_creation",
        "title",
        r#"{"minLength":1,"maxLength":200,"pattern":"\\S"}"#,
    ),
    (
        "task_creation",
        "description",
        r#"{"maxLength":2000,"default":null}"#,
    ),
    (
        "task_creation",
        "priority",
        r#"{"minimum":1,"maximum":5,"default":1}"#,
    ),
    ("task_creation", "due_date", r#"{"format":"date-time"}"#),
    (
        "task_creation",
        "user_id",
        r#"{"type":"string","format":"uuid"}"#,
    ),
    (
        "task_retrieval",
        "limit",
        r#"{"minimum":1,"maximum":1000,"default":100}"#,
    ),
    ("task_retrieval", "offset", r#"{"minimum":0,"default":0}"#),
    ("task_update", "title", r#"{"minLength":1,"maxLength":200}"#),
    ("task_update", "priority", r#"{"minimum":1,"maximum":5}"#),
    ("token_generation", "scopes", r#"{"default":[]}"#),
    (
        "token_generation",
        "expires_in_seconds",
        r#"{"minimum":300,"maximum":86400,"default":3600}"#,
    ),
    ("token_validation", "token", r#"{"writeOnly":true}"#),
    (
        "user_creation",
        "email",
        r#"{"pattern":"^[^@]+@[^@]+\\.[^@]+$"}"#,
    ),
    (
        "user_creation",
        "password",
        r#"{"minLength":8,"writeOnly":true}"#,
    ),
    ("user_creation", "display_name", r#"{"maxLength":100}"#),
    (
        "suggestion_generation",
        "count",
        r#"{"minimum":1,"maximum":10,"default":3}"#,
    ),
];

fn library() -> PathBuf {
    workspace().join("examples/tasks")
}

fn handler() -> PathBuf {
    library().join("_root/handler.py")
}

/// The interpreter itself. A launcher in its place would take longer than most handlers.
fn python() -> &'static str {
    static FOUND: LazyLock<String> = LazyLock::new(|| {
        let asked = Command::new(material("python3"))
            .args(["-c", "import sys; print(sys.executable)"])
            .output()
            .expect("it starts");
        let path = String::from_utf8(asked.stdout).expect("UTF-8");
        path.trim().to_owned()
    });
    FOUND.as_str()
}

/// The frontmatter and the text of the page of a skill.
fn page(skill: &str) -> (Value, String) {
    let text = fs::read_to_string(library().join(format!("{skill}.md"))).expect("a page");
    let rest = text.strip_prefix("---\n").expect("a fence");
    let (frontmatter, body) = rest.split_once("\n---\n").expect("a second fence");
    let frontmatter = serde_yaml::from_str(frontmatter).expect("YAML");
    (frontmatter, body.to_owned())
}

fn contract(skill: &str) -> Value {
    page(skill).0["contract"].clone()
}

fn skills() -> impl Iterator<Item = &'static str> {
    FIELDS.iter().map(|it| it.0)
}

fn texts(list: &Value) -> BTreeSet<&str> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).collect()
}

/// How the handler has ended.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    answer: Value,
    stderr: String,
}

impl Ended {
    /// The output of a success.
    fn output(&self) -> &Value {
        assert_eq!(self.code, Some(0), "{self:?}");
        &self.answer
    }

    /// The failure with this code.
    fn failure(&self, code: &str) -> &Value {
        assert_eq!(self.code, Some(1), "{self:?}");
        let failure = &self.answer["failure"];
        assert_eq!(failure["code"], code, "{self:?}");
        failure
    }
}

/// The handler with an environment of its own, as a server sets it.
fn command(skill: &str, data: Option<&Path>) -> Command {
    let mut command = Command::new(python());
    command
        .arg(handler())
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("SKILL_NAME", skill)
        .envs(data.map(|it| ("SKILL_DATA", it)));
    command
}

fn begin(mut command: Command, input: &[u8]) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(input).expect("it reads all");
    child
}

fn end(child: Child) -> Ended {
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let answer = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    Ended {
        code: output.status.code(),
        answer,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn invoke(skill: &str, data: &Path, input: &Value) -> Ended {
    let input = input.to_string();
    end(begin(command(skill, Some(data)), input.as_bytes()))
}

/// Runs Python that knows the modules of the library, with these arguments, and returns what it
/// prints.
fn run_python(script: &str, arguments: &[&str]) -> String {
    let ran = Command::new(python())
        .args(["-B", "-c", script])
        .args(arguments)
        .env("PYTHONPATH", library().join("_root"))
        .output()
        .expect("it starts");
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{stderr}");
    String::from_utf8(ran.stdout).expect("UTF-8")
}

/// A user in a new data directory.
fn with_user() -> (Project, PathBuf, String) {
    let project = Project::new();
    let data = project.path("data");
    fs::create_dir(&data).expect("made");
    let input = json!({ "email": "ada@example.org", "password": "correct horse" });
    let made = invoke("user_creation", &data, &input);
    let user = made.output()["user_id"].as_str().expect("an id").to_owned();
    (project, data, user)
}

#[test]
fn contracts_are_those_of_the_specification() {
    for (skill, input, output) in FIELDS {
        let contract = contract(skill);
        for (schema, fields) in [("input_schema", input), ("output_schema", output)] {
            let schema = &contract[schema];
            assert_eq!(schema["type"], "object", "{skill}");
            assert_eq!(schema["additionalProperties"], false, "{skill}");
            let names = fields.split(' ').map(|it| it.trim_end_matches('?'));
            let properties = schema["properties"].as_object().expect("properties");
            let found: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
            assert_eq!(found, names.collect(), "{skill}");
            let required = fields.split(' ').filter(|it| !it.ends_with('?'));
            assert_eq!(texts(&schema["required"]), required.collect(), "{skill}");
            // What may be left out is null or has a default, which says what it means.
            for optional in fields.split(' ').filter_map(|it| it.strip_suffix('?')) {
                assert!(
                    properties[optional].get("default").is_some(),
                    "{skill}.{optional}"
                );
            }
        }
        assert_eq!(contract["timeout_seconds"], 30);
        assert_eq!(contract["handler"], "handler.py");
        assert!(!texts(&contract["success_criteria"]).is_empty());
        let agent = match contract["category"].as_str() {
            Some("task_management") => "TaskAgent",
            Some("ai") => "AIAgent",
            _ => "AuthAgent",
        };
        assert_eq!(
            texts(&contract["assigned_to"]),
            [agent, "Orchestrator"].into()
        );
    }
    for (skill, field, expected) in BOUNDS {
        let found = &contract(skill)["input_schema"]["properties"][field];
        let expected: Map<String, Value> = serde_json::from_str(expected).expect("JSON");
        for (keyword, value) in expected {
            assert_eq!(found[&keyword], value, "{skill}.{field}: {keyword}");
        }
    }
}

#[test]
fn the_compiler_has_nothing_to_say() {
    let project = Project::new();
    let library = library();
    let checked = project.run(&["compile", "--check", library.to_str().expect("UTF-8")]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(
        checked.stdout.contains("0 errors, 0 warnings"),
        "{checked:?}"
    );
}

/// Examples in the pages have the fields that the schemas have, and the failures are the contract's.
#[test]
fn pages_show_what_their_contracts_say() {
    for skill in skills() {
        let (frontmatter, text) = page(skill);
        assert_eq!(frontmatter["name"], skill);
        let contract = &frontmatter["contract"];
        let blocks = text.split("```json\n").skip(1);
        let examples: Vec<Value> = blocks
            .map(|it| serde_json::from_str(it.split("```").next().unwrap_or_default()))
            .collect::<Result<_, _>>()
            .expect("JSON");
        assert_eq!(examples.len(), 2, "{skill}");
        assert_fits(&examples[0], &contract["input_schema"], skill);
        assert_fits(&examples[1], &contract["output_schema"], skill);
        let rows = text.lines().filter_map(|it| it.strip_prefix("| `"));
        let told: BTreeSet<&str> = rows.filter_map(|it| it.split('`').next()).collect();
        assert_eq!(told, texts(&contract["failure_modes"]), "{skill}");
    }
}

/// Asserts that an object has the fields that its schema asks for, and no others.
fn assert_fits(value: &Value, schema: &Value, what: &str) {
    let value = value.as_object().expect("an object");
    let known = schema["properties"].as_object().expect("properties");
    for name in value.keys() {
        assert!(known.contains_key(name), "{what}: {name}");
    }
    for name in texts(&schema["required"]) {
        assert!(value.contains_key(name), "{what}: no {name}");
    }
    for (name, schema) in known {
        let Some(value) = value.get(name) else {
            continue;
        };
        let kinds = &schema["type"];
        let is_of = |kind: &str| match kind {
            "null" => value.is_null(),
            "string" => value.is_string(),
            "integer" => value.is_i64(),
            "boolean" => value.is_boolean(),
            "array" => value.is_array(),
            _ => false,
        };
        let fits = kinds
            .as_str()
            .map_or_else(|| texts(kinds).into_iter().any(is_of), is_of);
        assert!(fits, "{what}: {name}: {value}");
    }
}

/// Puts what was kept in place of `$name`.
fn filled(value: &Value, kept: &BTreeMap<String, String>) -> Value {
    match value {
        Value::String(text) => {
            let mut text = text.clone();
            // `$of_bob` before `$of`.
            for (name, value) in kept.iter().rev() {
                text = text.replace(&format!("${name}"), value);
            }
            text.into()
        }
        Value::Array(items) => items.iter().map(|it| filled(it, kept)).collect(),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, it)| (name.clone(), filled(it, kept)));
            fields.collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

/// Asserts that a value has everything that is expected of it. Lists have the same length.
fn assert_has(found: &Value, expected: &Value, what: &str) {
    match (found, expected) {
        (Value::Object(_), Value::Object(fields)) => {
            for (name, expected) in fields {
                assert_has(&found[name], expected, &format!("{what}.{name}"));
            }
        }
        (Value::Array(found), Value::Array(expected)) => {
            assert_eq!(found.len(), expected.len(), "{what}: {found:?}");
            for (found, expected) in found.iter().zip(expected) {
                assert_has(found, expected, what);
            }
        }
        _ => assert_eq!(found, expected, "{what}"),
    }
}

#[test_with(python3)]
fn every_success_and_every_failure_of_the_contracts() {
    let cases: Vec<Value> =
        serde_json::from_str(include_str!("examples/cases.json")).expect("JSON");
    let project = Project::new();
    let mut kept: BTreeMap<String, String> = BTreeMap::new();
    kept.insert(
        "nobody".to_owned(),
        "00000000-0000-4000-8000-000000000000".to_owned(),
    );
    let mut seen: BTreeSet<(String, String)> = BTreeSet::new();
    for case in &cases {
        let skill = case["skill"].as_str().expect("a skill");
        let contract = contract(skill);
        let ended = invoke(skill, project.dir(), &filled(&case["input"], &kept));
        let what = format!("{case}: {ended:?}");
        assert_eq!(ended.stderr.replace("ai-command", ""), "", "{what}");
        if let Some(code) = case["failure"].as_str() {
            let failure = ended.failure(code);
            assert!(texts(&contract["failure_modes"]).contains(code), "{what}");
            let message = failure["message"].as_str().expect("a message");
            let expected = filled(&case["message"], &kept);
            let expected = expected.as_str().expect("a text");
            assert!(message.starts_with(expected), "{what}");
            seen.insert((skill.to_owned(), code.to_owned()));
        } else {
            let output = ended.output();
            assert_fits(output, &contract["output_schema"], &what);
            assert_has(output, &filled(&case["output"], &kept), &what);
            for (name, field) in case["keep"].as_object().into_iter().flatten() {
                let value = output[field.as_str().expect("a field")].as_str();
                kept.insert(name.clone(), value.expect("a text").to_owned());
            }
            seen.insert((skill.to_owned(), "success".to_owned()));
        }
    }
    for skill in skills() {
        let contract = contract(skill);
        // Faults of the disk have a test of their own.
        let failures = texts(&contract["failure_modes"]);
        let expected = failures.into_iter().filter(|it| *it != "PERSISTENCE_ERROR");
        for what in expected.chain(["success"]) {
            let pair = (skill.to_owned(), what.to_owned());
            assert!(seen.contains(&pair), "no case for {pair:?}");
        }
    }
}

/// The example input of a page.
fn example(skill: &str) -> Value {
    let (_, text) = page(skill);
    let block = text.split("```json\n").nth(1).expect("an example");
    serde_json::from_str(block.split("```").next().expect("an end")).expect("JSON")
}
