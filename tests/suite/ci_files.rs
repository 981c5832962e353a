//! The files with which others adopt the program work as they stand: each step of the workflow in
//! `skills/checking-in-ci`, of the action and of the hooks is run by a shell, as the runner would.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use skillbundle_testkit::{Tree, git_in};

use crate::project::{Output, Project, finish, workspace};

const WORKFLOW: &str = "skills/checking-in-ci/assets/skills.yml";
const ACTION: &str = "action.yml";
const HOOKS: &str = ".pre-commit-hooks.yaml";
const DOCS: &str = "docs/ci.md";

/// How GitHub runs a script of a workflow, and one of an action with `shell: bash`.
const PLAIN_BASH: &[&str] = &["-e"];
const ACTION_BASH: &[&str] = &["--noprofile", "--norc", "-eo", "pipefail"];

/// Stands in for cargo: puts the program under test where a build would put it. Fails if it is not
/// called as it must be.
const CARGO: &str = r#"#!/bin/sh
case "$*" in
    "install --locked --path "*) ;;
    "install --locked --git https://git.example/skillbundle --rev 0123abc --root "*" skillbundle") ;;
    "install --locked --git https://git.example/skillbundle --rev 0123abc skillbundle") ;;
    *) echo "unknown: cargo $*" >&2; exit 101 ;;
esac
root=$HOME/.cargo
while [ "$#" -gt 0 ]; do
    if [ "$1" = --root ]; then root=$2; fi
    shift
done
mkdir -p "$root/bin"
ln -s "$PROGRAM" "$root/bin/skillbundle"
"#;

/// Stands in for curl: the program under test is what every URL has.
const CURL: &str = r#"#!/bin/sh
case "$*" in
    *" --proto =https "*" https://files.example/skillbundle") ;;
    *) echo "unknown: curl $*" >&2; exit 2 ;;
esac
while [ "$1" != --output ]; do shift; done
cp "$PROGRAM" "$2"
"#;

fn text(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn yaml(path: &str) -> Value {
    serde_yaml::from_str(&text(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The steps of the only job of the workflow, or of the action.
fn steps(file: &Value) -> &[Value] {
    let steps = if file["runs"].is_object() {
        &file["runs"]["steps"]
    } else {
        &file["jobs"]["check"]["steps"]
    };
    steps.as_array().expect("a list of steps")
}

/// A runner with a checkout.
struct Runner {
    checkout: Project,
    temp: Tree,
    /// What expressions such as `vars.SKILLBUNDLE_URL` stand for; all others are empty.
    values: BTreeMap<String, String>,
    /// More directories of PATH, the first one first.
    path: Vec<PathBuf>,
    env: Vec<(&'static str, String)>,
}

impl Runner {
    /// A runner without the program, whose checkout has a skill.
    fn new() -> Self {
        let temp = Tree::new();
        for (name, script) in [("cargo", CARGO), ("curl", CURL)] {
            temp.file(&format!("stand-ins/{name}"), script)
                .mode(&format!("stand-ins/{name}"), 0o755);
        }
        let checkout = Project::new();
        checkout.file(
            "skills/pdf-forms/SKILL.md",
            "---\nname: pdf-forms\ndescription: Fills in PDF forms with pdftk. Use when someone asks to fill in a form.\n---\n# Forms\n\n1. Run `pdftk`.\n",
        );
        Self {
            path: vec![temp.path("stand-ins")],
            values: BTreeMap::new(),
            env: Vec::new(),
            checkout,
            temp,
        }
    }

    /// The same with a skill that no host can read.
    fn broken() -> Self {
        let runner = Self::new();
        runner
            .checkout
            .file("skills/bad/SKILL.md", "---\nname: bad\n---\n# Bad\n");
        runner
    }

    fn with(mut self, values: &[(&str, &str)]) -> Self {
        let values = values.iter();
        self.values
            .extend(values.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        self
    }

    /// Puts the program on PATH.
    fn installed(mut self) -> Self {
        let dir = self.temp.path("installed");
        fs::create_dir(&dir).expect("writable");
        let link = dir.join("skillbundle");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_skillbundle"), link).expect("writable");
        self.path.push(dir);
        self
    }

    /// Runs the steps that are scripts, until one fails. The name of the last one, and what it said.
    fn run(&mut self, file: &Value) -> (String, Output) {
        let is_action = file["runs"].is_object();
        let mut last = None;
        for step in steps(file) {
            let Some(script) = step["run"].as_str() else {
                continue;
            };
            let name = step["name"].as_str().expect("each script has a name");
            assert_eq!(is_action, step["shell"] == "bash", "{name}");
            let env = [&file["env"], &step["env"]].map(|env| self.env_of(env));
            let ended = self.script(script, is_action, &env.concat());
            self.take_outputs(step["id"].as_str());
            let failed = ended.code != Some(0);
            last = Some((name.to_owned(), ended));
            if failed {
                break;
            }
        }
        last.expect("a step is a script")
    }

    fn env_of(&self, env: &Value) -> Vec<(String, String)> {
        let entries = env.as_object().into_iter().flatten();
        let filled = |(name, value): (&String, &Value)| {
            let value = value
                .as_str()
                .unwrap_or_else(|| panic!("{name} is no text"));
            (name.clone(), self.filled(value))
        };
        entries.map(filled).collect()
    }

    /// A text with its expressions replaced by their values.
    fn filled(&self, text: &str) -> String {
        let Some((before, rest)) = text.split_once("${{ ") else {
            return text.to_owned();
        };
        let (name, after) = rest.split_once(" }}").expect("an expression ends");
        let value = self.values.get(name).map_or("", String::as_str);
        format!("{before}{value}{}", self.filled(after))
    }

    fn script(&self, script: &str, is_action: bool, env: &[(String, String)]) -> Output {
        self.temp.file("script", script);
        let installed = self.path.iter().map(|dir| dir.display().to_string());
        let path: Vec<String> = installed.chain(["/usr/bin:/bin".to_owned()]).collect();
        let mut command = Command::new("bash");
        command
            .args(if is_action { ACTION_BASH } else { PLAIN_BASH })
            .arg(self.temp.path("script"))
            .current_dir(self.checkout.dir())
            .env_clear()
            .env("PATH", path.join(":"))
            .env("HOME", self.temp.dir())
            .env("PROGRAM", env!("CARGO_BIN_EXE_skillbundle"))
            .env("RUNNER_TEMP", self.temp.dir())
            .env("GITHUB_WORKSPACE", self.checkout.dir())
            .env("GITHUB_ACTION_PATH", workspace())
            .env("GITHUB_OUTPUT", self.temp.path("output"))
            .env("GITHUB_PATH", self.temp.path("path"))
            .env("GITHUB_BASE_REF", "")
            .envs(env.iter().cloned())
            .envs(self.env.iter().cloned());
        finish(&mut command)
    }

    /// Takes what a step has written for the next ones.
    fn take_outputs(&mut self, id: Option<&str>) {
        let take = |name: &str| {
            let written = fs::read_to_string(self.temp.path(name)).unwrap_or_default();
            self.temp.file(name, "");
            written
        };
        let (added, outputs) = (take("path"), take("output"));
        for dir in added.lines() {
            self.path.insert(0, PathBuf::from(dir));
        }
        for output in outputs.lines() {
            let (name, value) = output.split_once('=').expect("name=value");
            let id = id.expect("a step with outputs has an id");
            self.values
                .insert(format!("steps.{id}.outputs.{name}"), value.to_owned());
        }
    }
}

/// SHA-256 of the program under test.
fn digest() -> String {
    let bytes = fs::read(env!("CARGO_BIN_EXE_skillbundle")).expect("readable");
    let digest = skillbundle_format::sha256(&bytes);
    skillbundle_format::hex(&digest)
}

const URL: (&str, &str) = ("vars.SKILLBUNDLE_URL", "https://files.example/skillbundle");
const GIT: (&str, &str) = ("vars.SKILLBUNDLE_GIT", "https://git.example/skillbundle");
const REV: (&str, &str) = ("vars.SKILLBUNDLE_REV", "0123abc");

#[test]
fn the_workflow_gets_the_program_checks_and_builds() {
    let workflow = yaml(WORKFLOW);
    let digest = digest();
    let sha = ("vars.SKILLBUNDLE_SHA256", &*digest);
    for mut runner in [
        Runner::new().installed(),
        Runner::new().with(&[URL, sha]),
        Runner::new().with(&[GIT, REV]),
    ] {
        let (step, ended) = runner.run(&workflow);
        assert_eq!(
            ended.code,
            Some(0),
            "{step}: {}{}",
            ended.stdout,
            ended.stderr
        );
        assert_eq!(step, "Build and verify the bundle");
        assert!(runner.checkout.path("skills.skb").is_file());
    }
}

#[test]
fn the_workflow_fails_if_a_skill_has_an_error() {
    let mut runner = Runner::broken().installed();
    let (step, ended) = runner.run(&yaml(WORKFLOW));
    assert_eq!((&*step, ended.code), ("Check", Some(1)), "{}", ended.stderr);
    assert!(
        ended.stdout.contains("::error file=skills/bad/SKILL.md,"),
        "{}",
        ended.stdout
    );
    assert!(!runner.checkout.path("skills.skb").exists());
}

#[test]
fn the_workflow_says_what_it_needs() {
    let zeros = "0".repeat(64);
    for (values, message) in [
        (
            &[][..],
            "set the variable SKILLBUNDLE_URL or SKILLBUNDLE_GIT",
        ),
        (
            &[URL],
            "SKILLBUNDLE_URL is set and SKILLBUNDLE_SHA256 is not",
        ),
        (
            &[URL, ("vars.SKILLBUNDLE_SHA256", &*zeros)],
            "the file at SKILLBUNDLE_URL has another digest",
        ),
        (&[GIT], "SKILLBUNDLE_GIT is set and SKILLBUNDLE_REV is not"),
    ] {
        let mut runner = Runner::new().with(values);
        let before = runner.path.clone();
        let (step, ended) = runner.run(&yaml(WORKFLOW));
        assert_eq!(
            (&*step, ended.code),
            ("Install skillbundle", Some(1)),
            "{message}"
        );
        let lines = ended.stdout.lines().filter(|it| it.starts_with("::error "));
        let lines: Vec<&str> = lines.collect();
        assert!(
            lines.len() == 1 && lines[0].contains(message),
            "{}",
            ended.stdout
        );
        assert_eq!(runner.path, before, "nothing is installed");
    }
}

/// With the branch that it shall go to, also if that has no skills yet.
#[test]
fn the_workflow_compares_a_pull_request() {
    for (old, expected) in [("skills", 0), ("README.md", 0)] {
        let mut runner = Runner::new().installed();
        runner.env = vec![("GITHUB_BASE_REF", "main".to_owned())];
        runner.checkout.file("README.md", "Read me.\n");
        let git = |arguments: &[&str]| git_in(runner.checkout.dir(), arguments);
        git(&["init", "-q"]);
        git(&["add", old]);
        git(&["commit", "-qm", "old"]);
        git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
        let (step, ended) = runner.run(&yaml(WORKFLOW));
        assert_eq!(
            ended.code,
            Some(expected),
            "{old} {step}: {}{}",
            ended.stdout,
            ended.stderr
        );
    }
}

/// The inputs of the action as they are if nobody sets them, and these.
fn inputs(action: &Value, set: &[(&str, &str)]) -> Vec<(String, String)> {
    let declared = action["inputs"].as_object().expect("inputs");
    for (name, _) in set {
        assert!(declared.contains_key(*name), "no input {name}");
    }
    let value = |(name, input): (&String, &Value)| {
        let set = set.iter().find(|it| it.0 == name);
        let default = input["default"].as_str().expect("a default");
        (
            format!("inputs.{name}"),
            set.map_or(default, |it| it.1).to_owned(),
        )
    };
    declared.iter().map(value).collect()
}

/// A checkout, the inputs, the last step that runs, and its exit code.
type ActionCase = (
    Runner,
    &'static [(&'static str, &'static str)],
    &'static str,
    i32,
);

#[test]
fn the_action_builds_its_own_source_and_checks() {
    let action = yaml(ACTION);
    let last = "Check the skills";
    let cases: [ActionCase; 11] = [
        (Runner::new(), &[], last, 0),
        (Runner::broken(), &[], last, 1),
        (
            Runner::broken(),
            &[("paths", "skills/pdf-forms\n")],
            last,
            0,
        ),
        (
            Runner::broken(),
            &[("paths", "skills/pdf-forms\nskills/bad")],
            last,
            1,
        ),
        (
            Runner::new(),
            &[("profile", "spec,claude"), ("strict", "true")],
            last,
            0,
        ),
        (Runner::new(), &[("profile", "nobody")], last, 2),
        (Runner::new(), &[("against", "skills")], last, 0),
        (
            Runner::new(),
            &[("sarif", "true"), ("strict", "true")],
            last,
            0,
        ),
        (Runner::broken(), &[("sarif", "true")], last, 1),
        (
            Runner::new(),
            &[("version", env!("CARGO_PKG_VERSION"))],
            last,
            0,
        ),
        (
            Runner::new(),
            &[("version", "999.0.0")],
            "Find the source of skillbundle",
            1,
        ),
    ];
    for (mut runner, set, at, code) in cases {
        runner.values.extend(inputs(&action, set));
        let (step, ended) = runner.run(&action);
        let said = format!("{set:?} {step}: {}{}", ended.stdout, ended.stderr);
        assert_eq!((&*step, ended.code), (at, Some(code)), "{said}");
        if at == last {
            let program = &runner.values["steps.source.outputs.program"];
            assert!(Path::new(program).exists(), "{program}");
            let log = fs::read(runner.temp.path("skillbundle.sarif"));
            assert_eq!(log.is_ok(), set.contains(&("sarif", "true")), "{said}");
            if let Ok(log) = log {
                let log: Value = serde_json::from_slice(&log).expect("JSON");
                assert_eq!(log["version"], "2.1.0", "{said}");
            }
            let on_path = runner.script("command -v skillbundle", true, &[]);
            assert_eq!(on_path.stdout.trim_end(), program, "later steps find it");
        }
    }
}

#[test]
fn the_action_leaves_the_profile_to_the_settings_and_says_why_it_cannot_run() {
    let action = yaml(ACTION);
    let settings = "[check]\nprofile = [\"claude\", \"codex\"]\n";
    for (toml, set, code, expected) in [
        (settings, &[][..], 0, "checked for claude+codex"),
        (settings, &[("profile", "spec")], 0, "checked for spec"),
        ("", &[], 0, "checked for portable"),
        (
            "[chekc]\n",
            &[("sarif", "true")],
            2,
            "no key is called `chekc`",
        ),
    ] {
        let mut runner = Runner::new();
        runner.checkout.file("skillbundle.toml", toml);
        runner.values.extend(inputs(&action, set));
        let (_, ended) = runner.run(&action);
        assert_eq!(ended.code, Some(code), "{}{}", ended.stdout, ended.stderr);
        assert!(ended.stdout.contains(expected), "{}", ended.stdout);
    }
}

/// A path is one argument, whatever is in it, and no command.
#[test]
fn the_action_runs_nothing_that_its_inputs_say() {
    let action = yaml(ACTION);
    let mut runner = Runner::new();
    let trap = "skills; touch trapped\n$(touch trapped)\n`touch trapped`";
    let set = [
        ("paths", trap),
        ("profile", "$(touch trapped)"),
        ("against", "$(touch trapped)"),
    ];
    runner.values.extend(inputs(&action, &set));
    let (step, ended) = runner.run(&action);
    assert_eq!((&*step, ended.code), ("Check the skills", Some(2)));
    assert!(
        !runner.checkout.path("trapped").exists(),
        "{}",
        ended.stderr
    );
}

/// Texts from outside reach scripts through variables alone, and what is used has a version.
#[test]
fn no_script_has_an_expression_in_it() {
    for path in [WORKFLOW, ACTION] {
        for step in steps(&yaml(path)) {
            let script = step["run"].as_str().unwrap_or_default();
            assert!(!script.contains("${{"), "{path}: {script}");
            if let Some(used) = step["uses"].as_str() {
                let (_, version) = used.split_once('@').expect("a version");
                assert!(version.starts_with('v'), "{path}: {used}");
            }
            assert!(
                script.is_empty() != step["uses"].is_null(),
                "{path}: {step}"
            );
        }
    }
    assert_eq!(yaml(WORKFLOW)["permissions"]["contents"], "read");
}

#[test]
fn the_hooks_check_whole_directories() {
    let hooks = yaml(HOOKS);
    let hooks = hooks.as_array().expect("a list");
    assert_eq!(hooks[0]["id"], "skillbundle-check");
    for hook in hooks {
        assert_eq!(hook["pass_filenames"], false, "{hook}");
        let entry = hook["entry"].as_str().expect("a command");
        let arguments = hook["args"].as_array().expect("a list").iter();
        let arguments: Vec<&str> = arguments.filter_map(Value::as_str).collect();
        for arguments in [&arguments[..], &["skills"]] {
            let command = [&[entry], arguments].concat().join(" ");
            for (runner, code) in [(Runner::new(), 0), (Runner::broken(), 1)] {
                let ended = runner.installed().script(&command, false, &[]);
                assert_eq!(ended.code, Some(code), "{command}: {}", ended.stdout);
            }
        }
        let files = hook["files"].as_str().expect("a pattern");
        for (file, is_skill) in [
            ("SKILL.md", true),
            ("team/pdf/SKILL.md", true),
            ("skills/pdf/scripts/fill.py", true),
            (".claude/skills/pdf/references/forms.md", true),
            ("rules/_root.md", true),
            ("rules/ui/_index.md", true),
            ("README.md", false),
            ("src/skills.rs", false),
            ("MYSKILL.md", false),
        ] {
            let mut grep = Command::new("sh");
            grep.args([
                "-c",
                "printf '%s\\n' \"$1\" | grep -qE \"$2\"",
                "sh",
                file,
                files,
            ]);
            let found = finish(&mut grep).code == Some(0);
            assert_eq!(found, is_skill, "{file}");
        }
    }
}

/// The blocks of a Markdown text in this language.
fn blocks(language: &str) -> Vec<String> {
    let text = text(DOCS);
    let fence = format!("\n```{language}\n");
    let blocks = text.split(&fence).skip(1);
    blocks
        .map(|rest| rest.split("\n```\n").next().unwrap_or(rest).to_owned())
        .collect()
}

#[test]
fn the_commands_of_the_docs_work() {
    let scripts = blocks("sh");
    assert!(scripts.len() > 1, "{scripts:?}");
    let script = scripts.join("\n");
    for (runner, code) in [(Runner::new(), 0), (Runner::broken(), 1)] {
        let runner = runner.installed();
        git_in(runner.checkout.dir(), &["init", "-q"]);
        let ended = runner.script(&script, false, &[]);
        assert_eq!(ended.code, Some(code), "{}{}", ended.stdout, ended.stderr);
    }
}

#[test]
fn the_examples_of_the_docs_name_what_there_is() {
    let examples = blocks("yaml");
    let examples = examples.iter().map(|example| {
        let example: Value = serde_yaml::from_str(example).expect("YAML");
        example
    });
    let (action, hooks) = (yaml(ACTION), yaml(HOOKS));
    let mut seen = Vec::new();
    for example in examples {
        if let Some(steps) = example["steps"].as_array() {
            let step = steps.iter().find(|it| {
                let used = it["uses"].as_str();
                used.is_some_and(|it| it.contains("/skillbundle@"))
            });
            let with = step.expect("the action")["with"].as_object();
            for name in with.expect("inputs").keys() {
                assert!(action["inputs"][name].is_object(), "no input {name}");
            }
            seen.push("action");
        }
        if let Some(repositories) = example["repos"].as_array() {
            let id = &repositories[0]["hooks"][0]["id"];
            let hooks = hooks.as_array().expect("a list");
            assert!(hooks.iter().any(|hook| hook["id"] == *id), "no hook {id}");
            seen.push("pre-commit");
        }
        if let Some(lines) = example["skills"]["script"].as_array() {
            let before = example["skills"]["before_script"].as_array();
            let lines = before.into_iter().flatten().chain(lines);
            let lines: Vec<&str> = lines.filter_map(Value::as_str).collect();
            for (runner, code) in [(Runner::new(), 0), (Runner::broken(), 1)] {
                let mut runner = runner;
                runner.path.push(runner.temp.path(".cargo/bin"));
                let env = [GIT, REV].map(|(name, value)| {
                    let name = name.strip_prefix("vars.").expect("a variable");
                    (name.to_owned(), value.to_owned())
                });
                let ended = runner.script(&lines.join("\n"), false, &env);
                assert_eq!(ended.code, Some(code), "{}{}", ended.stdout, ended.stderr);
            }
            seen.push("GitLab");
        }
    }
    assert_eq!(seen, ["action", "GitLab", "pre-commit"]);
    let docs = text(DOCS);
    for name in action["inputs"].as_object().expect("inputs").keys() {
        assert!(
            docs.contains(&format!("| `{name}` |")),
            "{DOCS} lacks {name}"
        );
    }
}
