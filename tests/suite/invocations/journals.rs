//! A journal that cannot be written costs no caller its result, and none is made before there is
//! something to record.

use std::fs;

use serde_json::{Value, json};

use super::{arguments, invoke, invoked, journal_file, records, refused, serve, with, with_skill};
use crate::project::Project;

const ID: &str = "550e8400-e29b-41d4-a716-446655440000";

/// Puts something in the way of the journal.
struct Fault {
    what: &'static str,
    make: fn(&Project),
}

const FAULTS: &[Fault] = &[
    Fault {
        what: "garbage",
        make: |project| {
            fs::create_dir_all(project.state().join("skillbundle")).expect("made");
            fs::write(
                journal_file(project),
                "no database at all, but long enough to be one",
            )
            .expect("written");
        },
    },
    Fault {
        what: "a directory in its place",
        make: |project| fs::create_dir_all(journal_file(project)).expect("made"),
    },
    Fault {
        what: "a file in place of its directory",
        make: |project| {
            project.file(".local/state/skillbundle", "");
        },
    },
    Fault {
        what: "a link in its place",
        make: |project| {
            fs::create_dir_all(project.state().join("skillbundle")).expect("made");
            project.file("elsewhere", "");
            std::os::unix::fs::symlink(project.path("elsewhere"), journal_file(project))
                .expect("linked");
        },
    },
];

#[test]
fn a_call_succeeds_without_its_journal_and_the_operator_is_told() {
    for fault in FAULTS {
        let project = with_skill(&json!({}), "echo '{\"n\": 1}'");
        (fault.make)(&project);
        let mut session = serve(&project, &[]);
        for _ in 0..2 {
            let told = invoke(&mut session, "it", &json!({}));
            assert_eq!(told["output_payload"]["n"], 1, "{}: {told}", fault.what);
        }
        // Nobody could tell whether an id was used, so it is not.
        let named = with(
            &arguments("it", &json!({})),
            &json!({ "invocation_id": ID }),
        );
        for _ in 0..2 {
            refused(
                &mut session,
                &named,
                "journal_unavailable",
                "leave `invocation_id` out",
            );
        }
        let ended = session.finish();
        assert_eq!(ended.code, Some(0), "{}: {}", fault.what, ended.stderr);
        let told = ended.stderr.matches("invocations are not recorded").count();
        assert_eq!(told, 1, "{}: {}", fault.what, ended.stderr);
        let done = project.run(&["invoke", "it", "content", "--input", "{}"]);
        assert_eq!(done.code, Some(0), "{}: {done:?}", fault.what);
        assert!(done.stdout.contains("\"n\": 1"), "{done:?}");
        assert!(done.stderr.contains("journal"), "{}: {done:?}", fault.what);
    }
}

/// A journal that breaks and comes back in the middle of a session.
#[test]
fn a_journal_that_comes_back_is_written_again() {
    let project = with_skill(&json!({}), "echo '{}'");
    let mut session = serve(&project, &[]);
    assert_eq!(invoke(&mut session, "it", &json!({}))["success"], true);
    assert_eq!(records(&project).len(), 1);
    fs::remove_dir_all(project.state().join("skillbundle")).expect("removed");
    project.file(".local/state/skillbundle", "");
    assert_eq!(invoke(&mut session, "it", &json!({}))["success"], true);
    fs::remove_file(project.state().join("skillbundle")).expect("removed");
    let told = invoke(&mut session, "it", &json!({}));
    assert_eq!(told["success"], true);
    super::assert_recorded(&project, &told);
    session.finish();
}

#[test]
fn no_journal_is_made_without_an_invocation_or_against_the_operators_word() {
    let project = with_skill(&json!({}), "echo '{}'");
    let mut session = serve(&project, &[]);
    session.tool("get_skill", &json!({ "context": "does it" }));
    session.tool("skill", &json!({ "name": "it" }));
    session.tool(
        "run_script",
        &json!({ "skill_path": "it", "file": "run.sh" }),
    );
    session.finish();
    let empty = |project: &Project| !project.path(".local").exists();
    assert!(empty(&project));
    let mut session = serve(&project, &["--set", "journal.destination=off"]);
    assert_eq!(invoke(&mut session, "it", &json!({}))["success"], true);
    session.finish();
    project.run(&[
        "invoke",
        "it",
        "content",
        "--input",
        "{}",
        "--set",
        "journal.destination=off",
    ]);
    project.run(&["journal", "list"]);
    assert!(empty(&project));
    let elsewhere = project.path("own.db");
    let set = format!("journal.destination={}", elsewhere.display());
    let mut session = serve(&project, &["--set", &set]);
    let told = invoked(&mut session, &arguments("it", &json!({})));
    session.finish();
    assert!(empty(&project));
    let listed = project.run(&["journal", "list", "--json", "--journal", "own.db"]);
    let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    assert_eq!(listed["invocations"][0]["id"], told["invocation_id"]);
}

/// A disk that is full: `/dev/full` takes lines of JSON as little as anything else.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_costs_no_caller_its_result() {
    let project = with_skill(&json!({}), "echo '{}'");
    let mut session = serve(&project, &["--set", "journal.destination=jsonl:/dev/full"]);
    assert_eq!(invoke(&mut session, "it", &json!({}))["success"], true);
    assert_eq!(session.finish().code, Some(0));
}
