//! The roots that skills are read from: the standard ones, named ones,
//! roots that are empty and roots that appear later.

use std::fs;

use serde_json::{Value, json};

use crate::project::{LEGACY, Output, Project, Session, finish, workspace};

fn serve(project: &Project, arguments: &[&str]) -> Session {
    let mut session = project.serve(arguments);
    session.initialize(LEGACY);
    session
}

#[test]
fn the_four_standard_roots_are_searched_in_order() {
    let project = Project::new();
    let roots = [
        ("work/.agent/skills", "project universal"),
        (".agent/skills", "global universal"),
        ("work/.claude/skills", "project claude"),
        (".claude/skills", "global claude"),
    ];
    for (at, (root, origin)) in roots.iter().enumerate() {
        // `shared-N` is in the roots from N on: the first of them must win.
        for shared in 0..=at {
            project.skill(
                &format!("{root}/shared-{shared}"),
                &format!("shared-{shared}"),
                &format!("From {origin}"),
            );
        }
    }
    let mut command = project.command();
    command.current_dir(project.path("work")).arg("serve");
    let mut session = Session::start(command);
    session.initialize(LEGACY);
    for (at, (_, origin)) in roots.iter().enumerate() {
        let text = session.tool_text("skill", &json!({ "name": format!("shared-{at}") }));
        assert!(
            text.contains(&format!("From {origin}\n")),
            "shared-{at}: {text}"
        );
    }
}

#[test]
fn every_root_lists_and_reads() {
    let project = Project::new();
    project.skill("main/one", "one", "In the first root");
    project.skill("extra/root/here", "here", "In the second root");
    project.file("extra/root/here/data.txt", "data\n");
    let mut session = serve(&project, &["--dir", "main", "--dir", "extra/root"]);
    for name in ["one", "here"] {
        session.tool_text("skill", &json!({ "name": name }));
    }
    let ask = json!({ "skill_path": "here", "file": "data.txt" });
    assert_eq!(session.tool_json("get_asset", &ask)["content"], "data\n");
}

#[test]
fn a_root_that_appears_later_is_found() {
    let project = Project::new();
    // The standard roots of specification 2 may all be missing at the start. A
    // named directory that does not exist is an error.
    let mut session = serve(&project, &[]);
    session.tool_error("skill", &json!({ "name": "late" }));
    project.skill(".agent/skills/late", "late", "Came late");
    session.tool_json("refresh_skills", &json!({}));
    let text = session.tool_text("skill", &json!({ "name": "late" }));
    assert!(text.contains("description: Came late\n"), "{text}");
}

#[test]
fn a_root_that_appears_above_the_working_directory_is_found() {
    let project = Project::new();
    project.file("repository/.git/HEAD", "ref: refs/heads/main\n");
    fs::create_dir_all(project.path("repository/packages/web")).expect("folders can be made");
    let mut command = project.command();
    command.current_dir(project.path("repository/packages/web"));
    command.arg("serve");
    let mut session = Session::start(command);
    session.initialize(LEGACY);
    session.tool_error("skill", &json!({ "name": "late" }));
    project.skill("repository/.agents/skills/late", "late", "Came late");
    session.tool_json("refresh_skills", &json!({}));
    session.tool_text("skill", &json!({ "name": "late" }));
}

#[test]
fn an_empty_folder_serves_no_skills() {
    let project = Project::new();
    fs::create_dir(project.path("empty")).expect("a folder can be made");
    let mut session = serve(&project, &["--dir", "empty"]);
    session.tool_error("skill", &json!({ "name": "git" }));
    let reply = session.tool_json("get_skill", &json!({ "context": "anything at all" }));
    assert_eq!(reply["no_match"], true);
    assert_eq!(session.finish().code, Some(0));
}

/// A working directory two levels below the root of a repository, with one skill in each root.
const OFFICE: [(&str, &str); 13] = [
    ("repository/packages/web/.agent/skills", "./"),
    ("repository/.agent/skills", "../../"),
    (".agent/skills", "~/"),
    ("repository/packages/web/.claude/skills", "./"),
    (".claude/skills", "~/"),
    ("repository/.agents/skills", "../../"),
    (".agents/skills", "~/"),
    ("repository/packages/.github/skills", "../"),
    (".copilot/skills", "~/"),
    ("repository/packages/web/.gemini/skills", "./"),
    (".gemini/skills", "~/"),
    ("repository/packages/web/.opencode/skills", "./"),
    ("repository/.cursor/skills", "../../"),
];

fn office() -> Project {
    let project = Project::new();
    for (at, (root, _)) in OFFICE.iter().enumerate() {
        let name = format!("skill-{at}");
        project.skill(&format!("{root}/{name}"), &name, &format!("Lies in {root}"));
        // Each root also has the skills of those before it; the first one must win.
        project.skill(
            &format!("{root}/shared"),
            "shared",
            &format!("Lies in {root}"),
        );
    }
    project.file("repository/.git/HEAD", "ref: refs/heads/main\n");
    project.skill(
        "above/.agent/skills/stranger",
        "stranger",
        "Lies outside of the repository",
    );
    project
}

fn run_below(project: &Project, words: &[&str]) -> Output {
    let mut command = project.command();
    command.current_dir(project.path("repository/packages/web"));
    finish(command.args(words))
}

fn json_of(ran: &Output) -> Value {
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    serde_json::from_str(&ran.stdout).expect("JSON")
}

#[test]
fn skills_of_the_project_are_told_from_others() {
    let project = office();
    let check = |name: &str, place: &[&str], expected: bool| {
        let words = [&["show", name], place, &["--json"]].concat();
        let shown = json_of(&run_below(&project, &words));
        assert_eq!(shown["is_of_project"], expected, "{words:?}");
    };
    for (at, (_, label)) in OFFICE.iter().enumerate() {
        check(&format!("skill-{at}"), &[], *label != "~/");
    }
    check("writing-skills", &[], false);
    let bundle = project.bundle_file(&["repository/.agents/skills"], "repository/team.skb");
    let bundle = bundle.to_str().expect("text");
    check("shared", &[bundle], false);
    for (place, expected) in [
        (".agent/skills", true),
        ("../../.agents/skills", true),
        ("../../../.agents/skills", false),
    ] {
        check("shared", &[place], expected);
        check("shared", &["--dir", place], expected);
        check("shared", &[&format!("{place}/shared/SKILL.md")], expected);
    }
    check("stranger", &["../../../above/.agent/skills"], false);
}

#[test]
fn project_roots_are_found_up_to_the_root_of_the_repository() {
    let project = office();
    let printed = json_of(&run_below(&project, &["roots", "--json"]));
    let places = printed["roots"].as_array().expect("a list");
    let read: Vec<(String, u64)> = places
        .iter()
        .filter(|place| place["state"] == "read" && place["label"] != "embedded")
        .map(|place| {
            let label = place["label"].as_str().expect("text").to_owned();
            (label, place["skill_count"].as_u64().expect("a number"))
        })
        .collect();
    let expected: Vec<(String, u64)> = OFFICE
        .iter()
        .enumerate()
        .map(|(at, (root, above))| {
            let dir = &root[root.find("/.").map_or(0, |slash| slash + 1)..];
            (format!("{above}{dir}"), if at == 0 { 2 } else { 1 })
        })
        .collect();
    assert_eq!(read, expected);
    let missing = places.iter().filter(|place| place["state"] == "missing");
    assert!(missing.count() > 5, "{printed}");
    let embedded = places.last().expect("the last root");
    assert_eq!(embedded["label"], "embedded");
    assert!(embedded["skill_count"].as_u64() > Some(0), "{printed}");
}

#[test]
fn every_command_means_the_same_skills_when_nothing_is_named() {
    let project = office();
    let mut command = project.command();
    command
        .current_dir(project.path("repository/packages/web"))
        .arg("serve");
    let mut session = Session::start(command);
    session.initialize(LEGACY);
    let served = session.tool("skills_list", &json!({}));
    let names = |skills: &Value| -> Vec<String> {
        let skills = skills.as_array().expect("a list").iter();
        let name = |skill: &Value| {
            skill["name"]
                .as_str()
                .or(skill["meta"]["name"].as_str())
                .map(str::to_owned)
        };
        skills.filter_map(name).collect()
    };
    let served = names(&served["structuredContent"]["skills"]);
    assert!(served.len() >= OFFICE.len(), "{served:?}");
    for line in ["list --json", "inspect --json"] {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(
            names(&json_of(&run_below(&project, &words))["skills"]),
            served,
            "{line}"
        );
    }
    for line in [
        "show --raw skill-5",
        "search skill-5",
        "route skill-5",
        "show --raw shared",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let ran = run_below(&project, &words);
        assert_eq!(ran.code, Some(0), "{line}: {}", ran.stderr);
        let root = if line.ends_with('5') {
            OFFICE[5].0
        } else {
            OFFICE[0].0
        };
        assert!(
            !line.starts_with("show") || ran.stdout.contains(root),
            "{line}: {}",
            ran.stdout
        );
    }
    let checked = run_below(&project, &["compile", "--check"]);
    assert!(
        checked.stdout.contains("14 skills with "),
        "{}",
        checked.stdout
    );
    let refused = run_below(&project, &["compile", "-o", "all.skb"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    project.file(
        "repository/.agents/skills/routing.json",
        r#"[{"request": "use skill-5", "expect": "skill-5"}]"#,
    );
    let replayed = json_of(&run_below(&project, &["eval", "--json"]));
    assert_eq!(replayed["totals"]["positives"], 1, "{replayed}");
}

#[test]
fn project_roots_can_be_left_out() {
    let project = office();
    let listed = run_below(&project, &["list", "--no-project-roots"]);
    let has = |name: &str| {
        listed
            .stdout
            .lines()
            .any(|line| line.starts_with(&format!("{name}\t")))
    };
    assert!(
        has("skill-2") && !has("skill-0") && !has("skill-1"),
        "{}",
        listed.stdout
    );
    let shown = run_below(&project, &["show", "shared", "--raw", "--no-project-roots"]);
    assert!(
        shown.stdout.contains("Lies in .agent/skills\n"),
        "{}",
        shown.stdout
    );
    let mut command = project.command();
    command.current_dir(project.path("repository/packages/web"));
    command.args(["serve", "--no-project-roots"]);
    let mut session = Session::start(command);
    session.initialize(LEGACY);
    session.tool_text("skill", &json!({ "name": "skill-2" }));
    session.tool_error("skill", &json!({ "name": "skill-0" }));
    let refused = run_below(&project, &["list", ".claude/skills", "--no-project-roots"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
}

#[test]
fn named_directories_can_have_labels() {
    let project = Project::new();
    project.skill("one/a", "a", "First");
    project.skill("two=three/b", "b", "Second");
    let listed = project.run(&["list", "--dir", "team=one", "--dir", "two=three"]);
    let roots: Vec<&str> = listed
        .stdout
        .lines()
        .filter_map(|line| line.split('\t').nth(3))
        .collect();
    assert_eq!(
        roots,
        ["team", "two=three"],
        "{}{}",
        listed.stdout,
        listed.stderr
    );
    for wrong in [["team=one", "team=two=three"], ["team=one", "team=nowhere"]] {
        let refused = project.run(&["list", "--dir", wrong[0], "--dir", wrong[1]]);
        assert_eq!(refused.code, Some(2), "{wrong:?}: {}", refused.stdout);
    }
}

#[cfg(unix)]
#[test]
fn a_directory_that_two_roots_lead_to_is_read_once() {
    let project = Project::new();
    project.skill(".agent/skills/a", "a", "Once");
    fs::create_dir(project.path(".claude")).expect("a folder can be made");
    std::os::unix::fs::symlink("../.agent/skills", project.path(".claude/skills")).expect("a link");
    let printed = json_of(&project.run(&["roots", "--json"]));
    let of = |label: &str| {
        let mut places = printed["roots"].as_array().expect("a list").iter();
        places
            .find(|place| place["label"] == label)
            .expect("the root")
            .clone()
    };
    assert_eq!(of("./.agent/skills")["skill_count"], 1);
    assert_eq!(of("./.claude/skills")["state"], "duplicate");
    let checked = project.run(&[
        "compile",
        "--check",
        ".agent/skills",
        ".claude/skills",
        "-v",
    ]);
    assert!(
        checked.stdout.contains("1 skill with "),
        "{}",
        checked.stdout
    );
    assert!(!checked.stdout.contains("shadow"), "{}", checked.stdout);
    let mut session = serve(&project, &[]);
    project.skill(".agent/skills/b", "b", "Later");
    session.tool_json("refresh_skills", &json!({}));
    session.tool_text("skill", &json!({ "name": "b" }));
}

#[test]
fn serve_logs_which_roots_it_read() {
    let project = office();
    let mut logged = Vec::new();
    // The second start answers from the cache.
    for _ in 0..2 {
        let mut command = project.command();
        command.current_dir(project.path("repository/packages/web"));
        command.arg("serve").env("SKILLBUNDLE_LOG", "info");
        let mut session = Session::start(command);
        session.initialize(LEGACY);
        session.tool_text("skill", &json!({ "name": "shared" }));
        let said = session.finish().stderr;
        let mut lines = said.lines().filter(|line| line.contains("roots: "));
        logged.push(lines.next().expect("a line about the roots").to_owned());
        assert_eq!(lines.next(), None, "{said}");
    }
    for line in logged {
        for part in [
            "./.agent/skills: 2, ../.agent/skills: missing, ../../.agent/skills: 1, ~/.agent/skills: 1, ",
            ", this binary: ",
        ] {
            assert!(line.contains(part), "{line}");
        }
    }
}

#[test]
fn the_standard_roots_are_documented_in_their_order() {
    let page = fs::read_to_string(workspace().join("docs/roots.md")).expect("the page is there");
    let rows = page.lines().filter(|line| line.starts_with("| `./"));
    let documented: Vec<&str> = rows
        .flat_map(|row| row.split('`').filter(|cell| cell.starts_with(['.', '~'])))
        .collect();
    let project = Project::new();
    fs::create_dir(project.path("work")).expect("a folder can be made");
    let mut command = project.command();
    command.current_dir(project.path("work"));
    let printed = json_of(&finish(command.args(["roots", "--json"])));
    let labels: Vec<&str> = printed["roots"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|place| place["label"].as_str())
        .filter(|label| *label != "embedded")
        .collect();
    assert_eq!(labels, documented);
}
