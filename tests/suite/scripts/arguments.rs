//! Arguments: whatever a client passes reaches the script byte for byte in a variable, or is refused
//! with a reason. Nothing of it becomes a command, a path or another variable.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{call, levels, ran, refused, serve, skill, with_script};
use crate::project::Project;

/// Prints the environment, each variable ended by NUL.
const ENVIRONMENT: &str = "env -0\n";

fn variables(result: &Value) -> BTreeMap<String, String> {
    let printed = result["stdout"].as_str().expect("text");
    let all = printed.split_terminator('\0');
    let all = all.filter_map(|it| it.split_once('='));
    all.map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// What the shell of the script sets itself.
const OF_BASH: [&str; 3] = ["PWD", "SHLVL", "_"];

#[test]
fn hostile_values_reach_the_script_as_they_are() {
    let project = with_script(ENVIRONMENT);
    let long = "x".repeat(32 * 1024);
    for level in levels() {
        let set = format!("scripts.isolation={level}");
        let mut session = serve(&project, &["--set", &set]);
        for value in [
            "$(touch /tmp/x)",
            "`id`",
            "; id",
            "&& id || id",
            "a\nb\n",
            "\r\n\t\u{1b}[31m",
            "a=b=c",
            "--help",
            "-c id",
            "../../etc/passwd",
            "\"'\\",
            "() { :; }; id",
            "${IFS}",
            "*",
            " leading and trailing ",
            "grün 🦀 \u{202e}",
            "",
            &long,
        ] {
            let result = ran(&mut session, &call("it", &json!({ "value": value })));
            let variables = variables(&result);
            assert_eq!(
                variables.get("SKILL_ARG_VALUE").map(String::as_str),
                Some(value),
                "{level}: {result}"
            );
        }
        session.finish();
    }
}

#[test]
fn names_of_other_variables_are_arguments_like_any_other() {
    let project = with_script(ENVIRONMENT);
    let mut session = serve(&project, &[]);
    let plain = variables(&ran(&mut session, &call("it", &json!({}))));
    let own = plain.keys().filter(|it| !OF_BASH.contains(&it.as_str()));
    assert_eq!(
        own.collect::<Vec<_>>(),
        [
            "HOME",
            "LANG",
            "PATH",
            "SKILLBUNDLE_RUN",
            "SKILL_DIR",
            "TMPDIR"
        ],
        "nothing of the server's environment"
    );
    for name in [
        "PATH",
        "LD_PRELOAD",
        "BASH_ENV",
        "IFS",
        "skill-dir",
        "_",
        "1",
    ] {
        let result = ran(&mut session, &call("it", &json!({ name: "/evil" })));
        let mut found = variables(&result);
        let variable = format!("SKILL_ARG_{}", name.to_ascii_uppercase().replace('-', "_"));
        assert_eq!(
            found.remove(&variable).as_deref(),
            Some("/evil"),
            "{name}: {result}"
        );
        assert_eq!(
            found.keys().collect::<Vec<_>>(),
            plain.keys().collect::<Vec<_>>(),
            "{name}"
        );
        assert_eq!(found["PATH"], plain["PATH"], "{name}");
    }
    session.finish();
}

#[test]
fn arguments_that_cannot_be_passed_are_refused() {
    let project = with_script(ENVIRONMENT);
    let mut session = serve(&project, &[]);
    let large = "x".repeat(33 * 1024);
    let many: BTreeMap<String, String> = (0..10)
        .map(|n| (format!("n{n}"), "x".repeat(30 * 1024)))
        .collect();
    for (args, words) in [
        (
            json!({ "a=b": "1" }),
            "ASCII letters, digits, `-` and `_` only",
        ),
        (json!({ "": "1" }), "ASCII letters"),
        (json!({ "a b": "1" }), "ASCII letters"),
        (json!({ "a\u{0}": "1" }), "ASCII letters"),
        (json!({ "a\nPATH": "1" }), "ASCII letters"),
        (json!({ "größe": "1" }), "ASCII letters"),
        (
            json!({ "a": "1\u{0}2" }),
            "no value can have a NUL character",
        ),
        (
            json!({ "foo": "1", "FOO": "2" }),
            "the same variable, SKILL_ARG_FOO",
        ),
        (
            json!({ "a-b": "1", "a_b": "2" }),
            "the same variable, SKILL_ARG_A_B",
        ),
        (json!({ "large": large }), "32768 bytes"),
        (json!(many), "all together 262144"),
        (json!({ "a": ["1"] }), "an object of strings"),
        (json!({ "a": { "b": 1 } }), "an object of strings"),
    ] {
        refused(&mut session, &call("it", &args), "invalid_argument", words);
    }
    let most: BTreeMap<String, String> = (0..8)
        .map(|n| (format!("n{n}"), "x".repeat(32 * 1024)))
        .collect();
    let result = ran(&mut session, &call("it", &json!(most)));
    let passed = variables(&result);
    let passed = passed.iter().filter(|it| it.0.starts_with("SKILL_ARG_N"));
    assert_eq!(passed.map(|it| it.1.len()).sum::<usize>(), 256 * 1024);
    session.finish();
}

/// Models often pass numbers and booleans as such.
#[test]
fn scalars_become_text_and_null_is_no_argument() {
    let project = with_script(ENVIRONMENT);
    let mut session = serve(&project, &[]);
    let args = json!({ "a": 3, "b": true, "c": 1.5, "d": null, "e": -0.0, "f": 12_345_678_901_234_567_890_u64 });
    let found = variables(&ran(&mut session, &call("it", &args)));
    let found: Vec<_> = found
        .iter()
        .filter(|it| it.0.starts_with("SKILL_ARG_"))
        .collect();
    let text: Vec<String> = found
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(
        text,
        [
            "SKILL_ARG_A=3",
            "SKILL_ARG_B=true",
            "SKILL_ARG_C=1.5",
            "SKILL_ARG_E=-0.0",
            "SKILL_ARG_F=12345678901234567890"
        ]
    );
    session.finish();
}

#[test]
fn declared_arguments_have_defaults_and_no_others_are_taken() {
    const DECLARED: &str = "    args:\n      - name: target\n        required: true\n      - name: depth\n        default: 3\n      - name: dry-run\n        required: false\n      - name: mode\n        required: true\n        default: fast\n";
    let project = Project::new();
    skill(
        &project,
        "content",
        "it",
        DECLARED,
        "env -0 | grep -z ^SKILL_ARG_ | sort -z\n",
    );
    let mut session = serve(&project, &[]);
    for (args, expected) in [
        (
            json!({ "target": "x" }),
            "SKILL_ARG_DEPTH=3 SKILL_ARG_MODE=fast SKILL_ARG_TARGET=x",
        ),
        (
            json!({ "target": "", "depth": "", "mode": "slow" }),
            "SKILL_ARG_DEPTH= SKILL_ARG_MODE=slow SKILL_ARG_TARGET=",
        ),
        (
            json!({ "target": "x", "depth": null, "dry-run": "1" }),
            "SKILL_ARG_DEPTH=3 SKILL_ARG_DRY_RUN=1 SKILL_ARG_MODE=fast SKILL_ARG_TARGET=x",
        ),
    ] {
        let result = ran(&mut session, &call("it", &args));
        let printed = result["stdout"].as_str().expect("text");
        assert_eq!(
            printed.trim_end_matches('\0').replace('\0', " "),
            expected,
            "{args}"
        );
    }
    for (args, code, words) in [
        (json!({}), "missing_arguments", "target"),
        (json!({ "target": null }), "missing_arguments", "target"),
        (
            json!({ "Target": "x" }),
            "invalid_argument",
            "did you mean `target`?",
        ),
        (
            json!({ "target": "x", "dry_run": "1" }),
            "invalid_argument",
            "did you mean `dry-run`?",
        ),
        (
            json!({ "target": "x", "elephant": "1" }),
            "invalid_argument",
            "it has target, depth, dry-run, mode",
        ),
    ] {
        refused(&mut session, &call("it", &args), code, words);
    }
    session.finish();
}
