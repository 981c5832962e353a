//! The checks before a script runs (spec 3 §8.4), in their order: a call that two of them would
//! refuse gets the answer of the first, and nothing runs.

use serde_json::{Value, json};

use super::{call, ran, refused, run, serve, skill, start, wait_until};
use crate::project::{Project, Session};

/// Where each script leaves a file if it runs.
const CANARY: &str = "canary";

/// A tree in which every check can fail. Its scripts need no isolation to leave a file.
fn tree(project: &Project, folder: &str) {
    let canary = project.path(CANARY);
    let script = format!("touch {}; exit 1\n", canary.display());
    project
        .file(
            &format!("{folder}/all.md"),
            "---\ndescription: All\nkeywords: [all]\nassets:\n  - file: data.sh\nscripts:\n  \
             - file: fine.sh\n    execution: server\n  \
             - file: agent.sh\n    execution: claude\n    args:\n      - name: needed\n        required: true\n  \
             - file: needs.sh\n    execution: server\n    args:\n      - name: needed\n        description: What it needs\n        required: true\n  \
             - file: needs.pl\n    execution: server\n    args:\n      - name: needed\n        required: true\n  \
             - file: gone.pl\n    execution: server\n  \
             - file: gone.rb\n    execution: server\n  \
             - file: there.rb\n    execution: server\n  \
             - file: there.xx\n    execution: server\n---\nText\n",
        );
    for file in [
        "data.sh", "fine.sh", "agent.sh", "needs.sh", "needs.pl", "there.rb", "there.xx",
        "other.sh",
    ] {
        project.file(&format!("{folder}/all/{file}"), &script);
    }
}

/// Options of `serve` under which everything else is the default.
const WEAK: [&str; 2] = ["--set", "scripts.isolation=weak"];

const DISABLED: [&str; 2] = ["--set", "scripts.enabled=false"];

/// `.rb` has no runner, and `.xx` one that is not installed.
const RUBY: [&str; 4] = [
    "--set",
    "scripts.allowed_extensions=[\".sh\",\".rb\",\".xx\"]",
    "--set",
    "scripts.runners={\".xx\":\"no-such-program-anywhere\"}",
];

/// Whether the tree is a part of the project.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Elsewhere,
    InProject,
}
use Place::{Elsewhere, InProject};

/// Options of `serve`, skill, script and further arguments, the code, and words of the message that
/// say what to do.
type Row = (
    Place,
    &'static [&'static str],
    &'static str,
    &'static str,
    fn() -> Value,
    &'static str,
    &'static str,
);

fn none() -> Value {
    json!({})
}

fn nowhere() -> Value {
    json!({ "cwd": "/nowhere" })
}

fn unknown_argument() -> Value {
    json!({ "args": { "needed": "1", "neded": "2" } })
}

/// Each row breaks one check, and in most rows the next one, too.
const ROWS: &[Row] = &[
    (
        Elsewhere,
        &DISABLED,
        "all",
        "fine.sh",
        none,
        "scripts_disabled",
        "`scripts.enabled`",
    ),
    (
        Elsewhere,
        &DISABLED,
        "no-such",
        "fine.sh",
        none,
        "scripts_disabled",
        "the operator",
    ),
    (
        Elsewhere,
        &[],
        "no-such",
        "../fine.sh",
        none,
        "skill_not_found",
        "no-such",
    ),
    (
        Elsewhere,
        &[],
        "all",
        "../fine.sh",
        none,
        "path_traversal",
        "such as scripts/check.sh",
    ),
    (
        Elsewhere,
        &[],
        "all",
        "/bin/sh",
        none,
        "path_traversal",
        "relative to the skill",
    ),
    (
        Elsewhere,
        &[],
        "all",
        "a/../../x",
        none,
        "path_traversal",
        "relative to the skill",
    ),
    (
        Elsewhere,
        &[],
        "all",
        "other.sh",
        none,
        "script_not_declared",
        "which are agent.sh, fine.sh, gone.pl",
    ),
    (
        Elsewhere,
        &[],
        "all",
        "data.sh",
        none,
        "script_not_declared",
        "which are agent.sh, fine.sh, gone.pl",
    ),
    (
        InProject,
        &[],
        "all",
        "agent.sh",
        none,
        "script_for_agent",
        "`get_asset`",
    ),
    (
        InProject,
        &[],
        "all",
        "fine.sh",
        none,
        "script_of_project",
        "--allow-project-scripts",
    ),
    (
        InProject,
        &[],
        "all",
        "needs.sh",
        none,
        "script_of_project",
        "`get_asset`",
    ),
    (
        Elsewhere,
        &[],
        "all",
        "needs.sh",
        none,
        "missing_arguments",
        "needed (What it needs)",
    ),
    (
        Elsewhere,
        &[],
        "all",
        "needs.pl",
        none,
        "missing_arguments",
        "needed",
    ),
    (
        Elsewhere,
        &[],
        "all",
        "needs.pl",
        unknown_argument,
        "invalid_argument",
        "did you mean `needed`?",
    ),
    (
        Elsewhere,
        &[],
        "all",
        "gone.pl",
        none,
        "extension_not_allowed",
        ".sh, .ts, .js, .py (`scripts.allowed_extensions`)",
    ),
    (
        Elsewhere,
        &RUBY,
        "all",
        "gone.rb",
        none,
        "script_missing",
        "was missing when the skills were read",
    ),
    (
        Elsewhere,
        &RUBY,
        "all",
        "there.rb",
        nowhere,
        "no_runner",
        "`scripts.runners`",
    ),
    (
        Elsewhere,
        &RUBY,
        "all",
        "there.xx",
        nowhere,
        "runner_missing",
        "no-such-program-anywhere",
    ),
    (
        Elsewhere,
        &[],
        "all",
        "fine.sh",
        nowhere,
        "directory_not_allowed",
        "leave `cwd` out",
    ),
];

/// A session whose skills are inside the project or not.
fn session(project: &Project, place: Place, options: &[&str]) -> Session {
    let mut command = project.command();
    command.current_dir(project.path("work"));
    let content = match place {
        InProject => "content",
        Elsewhere => "../elsewhere",
    };
    start(command, &[&[content], &WEAK[..], options].concat())
}

fn machine() -> Project {
    let project = Project::new();
    // Of a server that runs as root, scripts are somebody else.
    project
        .mode("", 0o777)
        .file("work/.git/HEAD", "ref: refs/heads/main\n");
    tree(&project, "work/content");
    tree(&project, "elsewhere");
    project
}

#[test]
fn the_first_check_that_fails_answers_and_nothing_runs() {
    let project = machine();
    for (place, options, skill, file, more, code, words) in ROWS {
        let mut session = session(&project, *place, options);
        let mut arguments = json!({ "skill_path": skill, "file": file });
        let more = more();
        let more = more.as_object().expect("an object").clone();
        arguments.as_object_mut().expect("an object").extend(more);
        refused(&mut session, &arguments, code, words);
        session.finish();
    }
    assert!(!project.path(CANARY).exists(), "a refused script has run");
    let mut session = session(&project, Elsewhere, &[]);
    let fine = json!({ "skill_path": "all", "file": "fine.sh" });
    assert_eq!(ran(&mut session, &fine)["exit_code"], 1);
    assert!(project.path(CANARY).exists(), "one that runs leaves a file");
    session.finish();
}

#[test]
fn isolation_is_the_last_check() {
    let project = machine();
    let strict = ["--set", "scripts.require_isolation=namespaces"];
    let mut session = session(&project, Elsewhere, &strict);
    for (file, more, code) in [
        ("fine.sh", json!("/nowhere"), "directory_not_allowed"),
        ("fine.sh", Value::Null, "isolation_too_weak"),
    ] {
        let mut arguments = json!({ "skill_path": "all", "file": file });
        if !more.is_null() {
            arguments["cwd"] = more;
        }
        refused(&mut session, &arguments, code, "");
    }
    session.finish();
    assert!(!project.path(CANARY).exists());
}

#[test]
fn arguments_of_a_wrong_shape_are_refused_before_anything_else() {
    let project = machine();
    let mut session = session(&project, Elsewhere, &DISABLED);
    for arguments in [
        json!({}),
        json!({ "skill_path": "all" }),
        json!({ "file": "fine.sh" }),
        json!({ "skill_path": 1, "file": "fine.sh" }),
        json!({ "skill_path": "all", "file": ["fine.sh"] }),
        json!({ "skill_path": "all", "file": "fine.sh", "args": "x" }),
        json!({ "skill_path": "all", "file": "fine.sh", "args": ["x"] }),
        json!({ "skill_path": "all", "file": "fine.sh", "args": { "a": {} } }),
        json!({ "skill_path": "all", "file": "fine.sh", "args": { "a": ["x"] } }),
        json!({ "skill_path": "all", "file": "fine.sh", "cwd": 7 }),
        json!({ "skill_path": "all", "file": "fine.sh", "stdin": "x" }),
    ] {
        refused(&mut session, &arguments, "invalid_argument", "expected");
    }
    session.finish();
}

/// Beyond those that run and those that wait, calls are refused at once, and other tools answer.
/// A call that fails an earlier check gets that answer all the same.
#[test]
fn too_many_scripts_are_refused_while_other_tools_answer() {
    const WAITING: usize = 16;
    const BEYOND: usize = 3;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let room = (2 * processors).min(WAITING - 1) + WAITING;
    let project = Project::new();
    skill(&project, "content", "it", "", "sleep 1000\n");
    skill(&project, "content", "quick", "", "true\n");
    let mut session = serve(&project, &[]);
    let params = json!({ "name": "run_script", "arguments": call("it", &json!({})) });
    for id in 0..room + BEYOND {
        session.send(&json!({ "jsonrpc": "2.0", "id": format!("script {id}"), "method": "tools/call", "params": params }));
    }
    for _ in 0..BEYOND {
        let reply = session.reply();
        let result = &reply["result"]["structuredContent"];
        assert_eq!(result["code"], "RATE_EXCEEDED", "{reply}");
        let message = result["error"].as_str().expect("a message");
        assert!(
            message.contains("call again when one has ended"),
            "{message}"
        );
    }
    let text = session.tool_text("get_skill", &json!({ "context": "zebrait" }));
    assert!(text.contains("Text of it"), "{text}");
    let nowhere = json!({ "skill_path": "it", "file": "run.sh", "cwd": "/nowhere" });
    refused(&mut session, &nowhere, "directory_not_allowed", "");
    for id in 0..room + BEYOND {
        session.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": format!("script {id}") } }));
    }
    // Each one that is cancelled frees its turn.
    wait_until("a script can run again", || {
        let (result, is_error) = run(&mut session, &call("quick", &json!({})));
        assert!(!is_error || result["code"] == "RATE_EXCEEDED", "{result}");
        !is_error
    });
    session.finish();
}
