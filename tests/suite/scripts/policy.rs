//! Who decides: the operator over content, and nobody for the skills of a project that was just
//! cloned. `run_script` is offered only if a script of theirs may run.

use std::process::Command;

use serde_json::{Value, json};

use super::{call, is_alive, own_time, ran, refused, run, skill, start, with_script};
use crate::project::{Project, Session, finish};

/// A folder skill with a script for the server.
fn folder_skill(project: &Project, root: &str, name: &str) {
    project
        .file(
            &format!("{root}/{name}/SKILL.md"),
            format!("---\nname: {name}\ndescription: Says {name}\nscripts:\n  - file: run.sh\n    execution: server\n---\nText\n"),
        )
        .file(&format!("{root}/{name}/run.sh"), format!("echo {name}\n"));
}

/// A home directory with a repository in it; both have skills in a standard root.
fn machine() -> Project {
    let project = Project::new();
    project.file("home/work/.git/HEAD", "ref: refs/heads/main\n");
    folder_skill(&project, "home/.claude/skills", "mine");
    folder_skill(&project, "home/work/.claude/skills", "cloned");
    folder_skill(&project, "home/work/packages/skills", "named");
    folder_skill(&project, "elsewhere", "far");
    project.bundle_file(&["elsewhere"], "home/work/team.skb");
    project
}

fn in_work(project: &Project) -> Command {
    let mut command = project.command();
    command
        .current_dir(project.path("home/work"))
        .env("HOME", project.path("home"));
    command
}

fn offers_run_script(session: &mut Session) -> bool {
    let tools = session.result("tools/list", json!({}));
    let tools = tools["tools"].as_array().expect("a list");
    tools.iter().any(|tool| tool["name"] == "run_script")
}

/// Arguments of `serve`, a skill, whether its script runs, and whether any does.
const ROOTS: &[(&[&str], &str, bool, bool)] = &[
    (&[], "mine", true, true),
    (&[], "cloned", false, true),
    (&["--allow-project-scripts"], "cloned", true, true),
    (
        &["--set", "scripts.allow_project=true"],
        "cloned",
        true,
        true,
    ),
    (&["packages/skills"], "named", false, false),
    (&["--dir", "packages/skills"], "named", false, false),
    (&["../work/packages/skills"], "named", false, false),
    (
        &["packages/skills", "--allow-project-scripts"],
        "named",
        true,
        true,
    ),
    (&["../../elsewhere"], "far", true, true),
    (&["team.skb"], "far", true, true),
    (&["linked"], "far", false, false),
];

#[test]
fn scripts_of_the_project_run_only_if_the_operator_says_so() {
    let project = machine();
    // The project chose what its link leads to.
    project.link("home/work/linked", project.path("elsewhere"));
    // The second start reads what the first one has stored.
    for _ in 0..2 {
        for (arguments, skill, runs, any) in ROOTS {
            let mut session = start(in_work(&project), arguments);
            let call = call(skill, &json!({}));
            if *runs {
                let result = ran(&mut session, &call);
                assert_eq!(result["stdout"], format!("{skill}\n"), "{arguments:?}");
            } else {
                refused(
                    &mut session,
                    &call,
                    "script_of_project",
                    "--allow-project-scripts",
                );
            }
            assert_eq!(offers_run_script(&mut session), *any, "{arguments:?}");
            session.finish();
        }
    }
}

/// One of them declares a script for the server.
#[test]
fn scripts_of_skills_that_are_built_in_run_in_any_project() {
    let project = machine();
    let mut session = start(in_work(&project), &["--no-project-roots"]);
    let arguments = json!({
        "skill_path": "naming-skills",
        "file": "scripts/check-name.sh",
        "args": { "name": "Bad_Name" }
    });
    let result = ran(&mut session, &arguments);
    assert_eq!(result["exit_code"], 1, "{result}");
    let stdout = result["stdout"].as_str().expect("text");
    assert!(
        stdout.contains("other than a-z, 0-9 and hyphens"),
        "{stdout}"
    );
    session.finish();
}

#[test]
fn in_the_home_directory_the_own_roots_are_no_project() {
    let project = machine();
    let mut command = in_work(&project);
    command.current_dir(project.path("home"));
    let mut session = start(command, &[]);
    assert_eq!(
        ran(&mut session, &call("mine", &json!({})))["stdout"],
        "mine\n"
    );
    session.finish();
}

#[test]
fn run_script_is_offered_only_if_a_script_may_run() {
    let project = with_script("true");
    skill(&project, "agent", "other", "", "true");
    project.file("agent/other.md", "---\ndescription: Other\nkeywords: [other]\nscripts:\n  - file: run.sh\n    execution: claude\n---\nText\n");
    for (arguments, offered) in [
        (&["content"][..], true),
        (&["agent"], false),
        (&["agent", "content"], true),
        (&["content", "--set", "scripts.enabled=false"], false),
        (&["agent", "--tools", "router"], true),
        (&["content", "--tools", "loader"], false),
    ] {
        let mut session = start(project.command(), arguments);
        assert_eq!(offers_run_script(&mut session), offered, "{arguments:?}");
        session.finish();
    }
    let mut session = start(project.command(), &["content"]);
    let tools = session.result("tools/list", json!({}));
    let tools = tools["tools"].as_array().expect("a list");
    let tool = tools
        .iter()
        .find(|tool| tool["name"] == "run_script")
        .expect("offered");
    assert_eq!(tool["annotations"]["readOnlyHint"], false, "{tool}");
    assert_eq!(tool["annotations"]["idempotentHint"], false, "{tool}");
    for property in ["skill_path", "file", "args", "cwd"] {
        assert!(
            tool["inputSchema"]["properties"][property].is_object(),
            "{tool}"
        );
    }
    session.finish();
}

#[test]
fn a_tool_that_the_operator_left_out_runs_nothing() {
    let project = with_script("true");
    let mut session = start(project.command(), &["content", "--tools", "loader"]);
    let params = json!({ "name": "run_script", "arguments": call("it", &json!({})) });
    let reply = session.request("tools/call", params);
    assert_eq!(reply["error"]["code"], -32602, "{reply}");
    session.finish();
}

/// What would run, by `run --dry-run`, or the message of the error.
fn planned(project: &Project, options: &[&str]) -> Result<Value, String> {
    let mut command = project.command();
    command.args(["run", "it", "run.sh", "content", "--dry-run", "--json"]);
    let ran = finish(command.args(options));
    let printed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    match ran.code {
        Some(0) => Ok(printed["plan"].clone()),
        _ => Err(printed["error"]["message"]
            .as_str()
            .expect("a message")
            .to_owned()),
    }
}

/// A member of a plan and its value, or words of a refusal.
type Applies = Result<(&'static str, &'static str), &'static str>;

/// The content's `config.yaml`, the operator's options, and what applies.
const CONFIGS: &[(&str, &[&str], Applies)] = &[
    ("enabled: false", &[], Err("scripts are disabled")),
    (
        "enabled: true",
        &["--set", "scripts.enabled=false"],
        Err("scripts are disabled"),
    ),
    (
        "enabled: false",
        &["--set", "scripts.enabled=true"],
        Ok(("network", "false")),
    ),
    ("timeout_seconds: 7", &[], Ok(("timeout_seconds", "7"))),
    ("timeout_seconds: 7000", &[], Ok(("timeout_seconds", "60"))),
    (
        "timeout_seconds: 7000",
        &["--trust-content-config"],
        Ok(("timeout_seconds", "7000")),
    ),
    (
        "timeout_seconds: 7000",
        &["--set", "scripts.timeout_seconds=90"],
        Ok(("timeout_seconds", "90")),
    ),
    (
        "max_output_bytes: 100",
        &[],
        Ok(("max_output_bytes", "100")),
    ),
    (
        "max_output_bytes: 100000000",
        &[],
        Ok(("max_output_bytes", "1048576")),
    ),
    (
        "allowed_extensions: [.py]",
        &[],
        Err("its extension is not among those allowed, .py"),
    ),
    (
        "allowed_extensions: [.rb, .py]",
        &["--set", "scripts.allowed_extensions=[\".sh\"]"],
        Ok(("network", "false")),
    ),
    ("runners: {.sh: /bin/echo}", &[], Ok(("runner", "bash"))),
    (
        "runners: {.sh: /bin/echo}",
        &["--trust-content-config"],
        Ok(("runner", "bash")),
    ),
    (
        "runners: {.sh: bash}",
        &["--set", "scripts.runners={\".sh\":\"\"}"],
        Err("no runner for .sh"),
    ),
    (
        "network: true",
        &["--trust-content-config"],
        Ok(("network", "false")),
    ),
    (
        "network: false",
        &["--set", "scripts.network=true"],
        Ok(("network", "true")),
    ),
    (
        "directories: [/etc]",
        &["--trust-content-config"],
        Ok(("readable", "[]")),
    ),
    (
        "allow_project: true",
        &["--trust-content-config"],
        Ok(("network", "false")),
    ),
    (
        "memory_bytes: 99",
        &["--trust-content-config"],
        Ok(("memory_bytes", "2147483648")),
    ),
];

#[test]
fn content_can_narrow_what_the_operator_allows_and_never_widen_it() {
    for (config, options, expected) in CONFIGS {
        let project = with_script("true");
        project.file("content/config.yaml", format!("scripts: {{{config}}}\n"));
        let plan = planned(&project, options);
        match (plan, expected) {
            (Ok(plan), Ok((name, value))) => {
                let found = plan[name].to_string();
                let same = match plan[name].as_str() {
                    Some(path) => path.ends_with(value),
                    None => found == *value,
                };
                assert!(same, "{config} {options:?}: {name} is {found}");
            }
            (Err(message), Err(words)) => {
                assert!(message.contains(words), "{config} {options:?}: {message}");
            }
            (found, _) => panic!("{config} {options:?}: {found:?}"),
        }
    }
}

#[test]
fn content_cannot_allow_the_scripts_of_a_project() {
    let project = machine();
    project.file(
        "home/work/packages/skills/config.yaml",
        "scripts: {enabled: true, allow_project: true, isolation: weak, require_isolation: weak}\n",
    );
    for options in [
        &["packages/skills"][..],
        &["packages/skills", "--trust-content-config"],
    ] {
        let mut session = start(in_work(&project), options);
        refused(
            &mut session,
            &call("named", &json!({})),
            "script_of_project",
            "the operator",
        );
        session.finish();
    }
}

#[test]
fn less_isolation_than_required_runs_nothing() {
    let time = own_time();
    let project = with_script(&format!("sleep {time}"));
    let options = [
        "content",
        "--set",
        "scripts.isolation=weak",
        "--set",
        "scripts.require_isolation=namespaces",
    ];
    let mut session = start(project.command(), &options);
    let (result, is_error) = run(&mut session, &call("it", &json!({})));
    assert!(
        is_error && result["code"] == "isolation_too_weak",
        "{result}"
    );
    let message = result["error"].as_str().expect("a message");
    assert!(message.contains("`namespaces` is required"), "{message}");
    if cfg!(target_os = "linux") {
        assert!(!is_alive(&time));
    }
    session.finish();
}
