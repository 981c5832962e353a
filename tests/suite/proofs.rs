//! Routing proofs: `check` replays the requests beside the skills, and `check --against` shows what an
//! old version answered otherwise. The shapes of files and the comparison itself are tested in
//! `compiler/tests`.

use serde_json::Value;

use crate::project::{Output, Project};

/// Skills that no request confuses: folder, description.
const SKILLS: &[(&str, &str)] = &[
    (
        "pdf",
        "Merge, split and fill in PDF documents. Use when asked to \"sign a contract\".",
    ),
    (
        "git",
        "Commit, rebase and push branches with version control.",
    ),
    ("csv", "Clean columns and rows of spreadsheets and tables."),
];

/// A skill that takes what `pdf` says of itself.
const GREEDY: &str = "Sign a contract, sign contracts, sign documents. Use to \"sign a contract\".";

fn project() -> Project {
    let project = Project::new();
    for (name, description) in SKILLS {
        project.skill(&format!("skills/{name}"), name, description);
    }
    project
}

fn check(project: &Project, arguments: &[&str]) -> Output {
    let all = [&["check", "--profile", "skillbundle"], arguments].concat();
    project.run(&all)
}

/// The findings, a line each.
fn short(project: &Project, arguments: &[&str]) -> Vec<String> {
    let ran = check(project, &[&["--format", "short"], arguments].concat());
    let lines = ran.stdout.lines().filter(|it| it.contains("[request-"));
    lines.map(str::to_owned).collect()
}

fn json(project: &Project, arguments: &[&str]) -> Value {
    let ran = check(project, &[&["--json"], arguments].concat());
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr))
}

#[test]
fn a_failed_request_is_a_warning_where_it_is_written() {
    let project = project();
    project.file(
        "skills/routing.json",
        "[{\"request\": \"merge two pdf documents\", \"expect\": \"pdf\"},\n \
          {\"request\": \"push my branches\", \"expect\": \"csv\"}]",
    );
    let found = short(&project, &["skills"]);
    assert_eq!(
        found,
        [
            "skills/routing.json:2:14: warning[request-misrouted]: `push my branches` is routed to `git`; \
            expected `csv`; `git` has `push` and `branches`, `csv` has none of its words; \
            add `push` and `branches` to the description of `csv`"
        ]
    );
    assert_eq!(check(&project, &["skills"]).code, Some(0));
    assert_eq!(check(&project, &["skills", "--strict"]).code, Some(1));
    // One skill is not judged by the requests of all.
    assert_eq!(short(&project, &["skills/git/SKILL.md"]), [""; 0]);
}

#[test]
fn requests_for_a_skill_that_is_not_served_name_it() {
    let project = project();
    for (text, expected) in [
        (
            "{\"skill\": \"gone\", \"queries\": [{\"query\": \"merge\", \"should_trigger\": true}]}",
            "no skill has the path or name `gone`",
        ),
        (
            "[{\"query\": \"merge\", \"should_trigger\": true}]",
            "these requests belong to no skill",
        ),
    ] {
        project.file("skills/trigger-eval.json", text);
        let found = check(&project, &["skills", "--format", "short"]).stdout;
        let expected = format!("skills/trigger-eval.json: error[evaluation-skill]: {expected}");
        assert!(found.starts_with(&expected), "{found}");
    }
}

#[test]
fn a_check_without_requests_has_nothing_to_prove() {
    let project = project();
    let checked = json(&project, &["skills"]);
    assert_eq!(checked["findings"], serde_json::json!([]));
    assert_eq!(checked["comparison"], Value::Null);
}

/// The operator may ask for a greater lead, and the proofs are about what is served.
#[test]
fn requests_are_answered_by_the_settings_of_the_operator() {
    let project = project();
    project.file("skills/git/evals.json", "[\"push my branches\"]");
    assert_eq!(short(&project, &["skills"]), [""; 0]);
    let sure = ["skills", "--set", "matching.min_confidence=50"];
    let found = short(&project, &sure);
    assert!(found[0].contains("request-missed"), "{found:?}");
}

/// What a comparison says, without how the old version was named.
fn compared(project: &Project, old: &str) -> Value {
    let mut found = json(project, &["skills", "--against", old])["comparison"].take();
    found["against"].take();
    found["against_commit"].take();
    found
}

#[test]
fn a_bundle_a_directory_and_a_revision_give_the_same_comparison() {
    let project = project();
    let git = |arguments: &[&str]| skillbundle_testkit::git_in(project.dir(), arguments);
    git(&["init", "--quiet", "--initial-branch=main"]);
    git(&["add", "skills"]);
    git(&["commit", "--quiet", "--message=x"]);
    let head = git(&["rev-parse", "HEAD"]);
    skillbundle_testkit::copy_tree(&project.path("skills"), &project.path("before"));
    let packed = project.run(&["compile", "skills", "-o", "before.skb"]);
    assert_eq!(packed.code, Some(0), "{}", packed.stderr);
    project
        .skill("skills/sign", "sign", GREEDY)
        .file("skills/git/extra.md", "# Extra\n");
    let by_directory = compared(&project, "before");
    let added = &by_directory["added"][0];
    assert_eq!(
        (&added["path"], &added["description"]),
        (&"sign".into(), &GREEDY.into())
    );
    let changed = &by_directory["changed"][0];
    assert_eq!(changed["path"], "git");
    assert_eq!(changed["changed_files"][0]["path"], "extra.md");
    let lost: Vec<&str> = (by_directory["rerouted"].as_array().expect("a list").iter())
        .filter_map(|it| it["request"].as_str())
        .collect();
    assert_eq!(lost, ["sign a contract"]);
    let claude = &by_directory["hosts"][0];
    assert_eq!(claude["host"], "claude");
    assert_eq!(claude["host_before"]["listed_count"], 3);
    assert_eq!(claude["host_after"]["listed_count"], 4);
    for old in ["before.skb", "HEAD", "main", &head] {
        assert_eq!(compared(&project, old), by_directory, "{old}");
    }
    let named = json(&project, &["skills", "--against", "main"]);
    assert_eq!(named["comparison"]["against"], "main");
    assert_eq!(named["comparison"]["against_commit"], head);
    // The lost request is a finding, too.
    let found = short(&project, &["skills", "--against", "main"]);
    let finding = "skills/pdf/SKILL.md:3:73: warning[request-rerouted]: `sign a contract` \
        found `pdf` and is routed to `sign` now";
    assert!(found.iter().any(|it| it.starts_with(finding)), "{found:?}");
    let strict = check(&project, &["skills", "--against", "main", "--strict"]);
    assert_eq!(strict.code, Some(1));
}

#[test]
fn the_report_for_people_is_short_lists() {
    let project = project();
    skillbundle_testkit::copy_tree(&project.path("skills"), &project.path("before"));
    project.skill("skills/sign", "sign", GREEDY).skill(
        "skills/csv",
        "csv",
        "Clean tables.\u{1b}[31m",
    );
    let ran = check(&project, &["skills", "--against", "before"]);
    for line in [
        "Compared with before",
        "skills: 1 added, 0 removed, 1 changed",
        "+  sign   ",
        "~  csv    description; SKILL.md",
        "lost  sign a contract",
        "bytes of the bundle",
        "skills named to models: every host",
    ] {
        assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
    }
    assert!(!ran.stdout.contains('\u{1b}'), "{}", ran.stdout);
    let same = check(&project, &["skills", "--against", "skills"]);
    let nothing = "no skill differs, and every request finds the same skill";
    assert!(same.stdout.contains(nothing), "{}", same.stdout);
    assert_eq!(same.code, Some(0));
}

#[test]
fn a_comment_on_a_pull_request_has_the_comparison() {
    let project = project();
    skillbundle_testkit::copy_tree(&project.path("skills"), &project.path("before"));
    project.skill("skills/sign", "sign", GREEDY);
    let ran = check(
        &project,
        &["skills", "--against", "before", "--format", "markdown"],
    );
    for line in [
        "### Compared with `before`",
        "**Skills:** 1 added, 0 removed, 0 changed.",
        "- **lost** `sign a contract` (in the description of `pdf`): `pdf` → `sign`; ",
        "- skills: 3 → 4",
    ] {
        assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
    }
}

#[test]
fn a_revision_has_the_settings_around_the_skills_and_no_more() {
    let project = project();
    let git = |arguments: &[&str]| skillbundle_testkit::git_in(project.dir(), arguments);
    git(&["init", "--quiet", "--initial-branch=main"]);
    project
        .file("config.yaml", "matching:\n  max_results: 2\n")
        .file("other/big.md", "# Not asked for\n");
    git(&["add", "skills", "config.yaml", "other"]);
    git(&["commit", "--quiet", "--message=x"]);
    let same = compared(&project, "HEAD");
    assert_eq!(same["settings_changed"], false, "{same}");
    project.file("config.yaml", "matching:\n  max_results: 5\n");
    assert_eq!(compared(&project, "HEAD")["settings_changed"], true);
    // A directory that was not there yet had no skills.
    project.skill("more/new", "new", "Water the garden.");
    let found = json(&project, &["more", "--against", "HEAD"])["comparison"].take();
    assert_eq!(found["before"]["skill_count"], 0);
    assert_eq!(found["added"][0]["path"], "new");
    // Neither had a single file that is new.
    let found = json(&project, &["more/new/SKILL.md", "--against", "HEAD"])["comparison"].take();
    assert_eq!(found["added"][0]["path"], "new");
    let found = json(&project, &["skills/pdf/SKILL.md", "--against", "HEAD"])["comparison"].take();
    assert_eq!(found["before"]["skill_count"], 1);
}

#[cfg(unix)]
#[test]
fn links_of_a_revision_are_not_followed() {
    let project = project();
    let git = |arguments: &[&str]| skillbundle_testkit::git_in(project.dir(), arguments);
    git(&["init", "--quiet", "--initial-branch=main"]);
    project.link("skills/pdf/secrets", "/etc/passwd");
    git(&["add", "skills"]);
    git(&["commit", "--quiet", "--message=x"]);
    std::fs::remove_file(project.path("skills/pdf/secrets")).expect("it is there");
    let ran = check(&project, &["skills", "--against", "HEAD"]);
    assert!(
        ran.stderr
            .contains("HEAD: 1 link, submodule or pointer of the old version left out"),
        "{}",
        ran.stderr
    );
    assert!(ran.stdout.contains("no skill differs"), "{}", ran.stdout);
}

#[test]
fn what_is_no_old_version_is_refused_with_what_to_do() {
    let project = project();
    project
        .skill("vendor/a", "a", "Water the garden.")
        .file("notes.md", "# Notes\n")
        .file("broken.skb", "nothing\n");
    let refused = |arguments: &[&str], message: &str, help: &str| {
        let ran = check(&project, arguments);
        assert_eq!(
            ran.code,
            Some(2),
            "{arguments:?}: {}{}",
            ran.stdout,
            ran.stderr
        );
        for text in [message, help] {
            assert!(ran.stderr.contains(text), "{arguments:?}: {}", ran.stderr);
        }
    };
    let forms = "name a bundle (.skb), a directory, or a revision of git";
    refused(
        &["skills", "--against", "main"],
        "not a git repository",
        "in no repository",
    );
    refused(
        &["skills", "--against", "./gone"],
        "there is no such file or directory",
        forms,
    );
    refused(
        &["skills", "--against", "gone.skb"],
        "there is no such file or directory",
        forms,
    );
    refused(
        &["skills", "--against", "notes.md"],
        "notes.md is a file",
        forms,
    );
    refused(
        &["skills", "--against", "broken.skb"],
        "broken.skb is not a bundle",
        "compile DIR",
    );
    let good = project.bundle_file(&["skills"], "damaged.skb");
    let mut bytes = std::fs::read(&good).expect("it was written");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    project.file("damaged.skb", bytes);
    refused(
        &["skills", "--against", "damaged.skb"],
        "--against damaged.skb: bundle is damaged",
        "compile it again",
    );
    refused(
        &["skills", "vendor", "--against", "skills"],
        "2 directories are checked",
        "name one directory",
    );
    let git = |arguments: &[&str]| skillbundle_testkit::git_in(project.dir(), arguments);
    git(&["init", "--quiet", "--initial-branch=main"]);
    git(&["commit", "--quiet", "--allow-empty", "--message=x"]);
    for unknown in [
        "gone",
        "origin/main",
        "main..HEAD",
        "--upload-pack=touch x",
        "-h",
        "",
    ] {
        let old = format!("--against={unknown}");
        let message = format!("no commit is called `{unknown}`");
        refused(&["skills", &old], &message, "git fetch origin BRANCH");
    }
    assert!(!project.path("x").exists());
}
