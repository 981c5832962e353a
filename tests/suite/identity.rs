//! Skills of the same name or folder in several roots: which one is offered, how the other one is
//! found, and what people are told.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::project::{LEGACY, Project, Session};

/// Two roots that overlap in names and in folders.
fn rivals() -> Project {
    let project = Project::new();
    project
        .skill("one/pdf", "pdf", "The first pdf")
        .skill("one/notes", "Meeting notes", "The first notes")
        .skill("two/pdf", "pdf", "The second pdf")
        .skill("two/notes", "release-notes", "The second notes")
        .skill("two/portable", " PDF ", "The third pdf, in another folder")
        .file("two/pdf/form.txt", "form\n");
    project
}

const DIRS: [&str; 4] = ["--dir", "one", "--dir", "spare=two"];

fn serve(project: &Project, arguments: &[&str]) -> Session {
    let mut session = project.serve(arguments);
    session.initialize(LEGACY);
    session
}

fn texts(values: &Value, at: &str) -> Vec<String> {
    let values = values.as_array().expect("a list").iter();
    let text = |value: &Value| value.pointer(at).and_then(Value::as_str).map(str::to_owned);
    values.filter_map(text).collect()
}

fn listed(session: &mut Session) -> Vec<String> {
    let listed = session.tool("skills_list", &json!({}));
    texts(&listed["structuredContent"]["skills"], "/meta/description")
}

fn load(session: &mut Session, name: &str) -> String {
    session.tool_text("skill", &json!({ "name": name }))
}

fn check_answers(session: &mut Session) {
    let offered = ["The first notes", "The first pdf", "The second notes"];
    assert_eq!(listed(session), offered);
    for (name, expected) in [
        ("pdf", "The first pdf"),
        ("meeting notes", "The first notes"),
        ("release-notes", "The second notes"),
        ("skill://notes", "The first notes"),
        ("skill://spare/notes", "The second notes"),
        ("skill://spare/pdf", "The second pdf"),
        ("skill://portable", "The third pdf"),
    ] {
        let text = load(session, name);
        assert!(text.contains(expected), "{name}: {text}");
    }
    for name in ["portable", "spare/pdf"] {
        session.tool_error("skill", &json!({ "name": name }));
    }
    let asked = json!({ "skill_path": "spare/pdf", "file": "form.txt" });
    assert_eq!(session.tool_json("get_asset", &asked)["content"], "form\n");
    check_resources(session);
    let found = session.tool("skills_search", &json!({ "query": "pdf" }));
    let results = &found["structuredContent"]["results"];
    assert_eq!(texts(results, "/meta/description"), ["The first pdf"]);
    let prompts = session.result("prompts/list", json!({}));
    assert_eq!(texts(&prompts["prompts"], "/name").len(), offered.len());
}

/// The files of a shadowed skill are in no list, and are read by its address.
fn check_resources(session: &mut Session) {
    for (uri, expected) in [
        ("skill://spare/pdf/SKILL.md", Some("The second pdf")),
        ("skill://spare/pdf/form.txt", Some("form\n")),
        ("skill://portable/SKILL.md", Some("The third pdf")),
        ("skill://pdf/SKILL.md", Some("The first pdf")),
        ("skill://spare/pdf/nothing.txt", None),
        ("skill://spare/pdf/../pdf/form.txt", None),
        ("skill://spare/pdf", None),
        ("skill://nowhere/SKILL.md", None),
    ] {
        let reply = session.request("resources/read", json!({ "uri": uri }));
        let content = &reply["result"]["contents"][0];
        let text = content["text"].as_str();
        assert_eq!(text.is_some(), expected.is_some(), "{uri}: {reply}");
        if let (Some(text), Some(expected)) = (text, expected) {
            assert!(text.contains(expected), "{uri}: {text}");
            assert_eq!(content["uri"], uri);
        }
    }
    let listed = session.result("resources/list", json!({}));
    let uris = texts(&listed["resources"], "/uri");
    let is_shadowed = |uri: &String| uri.contains("spare/pdf") || uri.contains("portable");
    assert!(!uris.iter().any(is_shadowed), "{uris:?}");
}

#[test]
fn the_first_skill_of_a_name_is_offered_and_the_others_have_an_address() {
    let project = rivals();
    check_answers(&mut serve(&project, &DIRS));
    // A start from the cache, and a bundle.
    check_answers(&mut serve(&project, &DIRS));
    let words = [&["compile", "-o", "both.skb"][..], &DIRS].concat();
    let compiled = project.run(&words);
    assert!(
        compiled.stderr.contains(": 3 skills, "),
        "{}",
        compiled.stderr
    );
    assert_eq!(project.run(&["verify", "both.skb"]).code, Some(0));
    check_answers(&mut serve(&project, &["both.skb"]));
}

#[test]
fn a_skill_is_offered_when_the_one_before_it_goes() {
    let project = rivals();
    let mut session = serve(&project, &DIRS);
    check_answers(&mut session);
    fs::remove_dir_all(project.path("one/pdf")).expect("it was there");
    fs::remove_dir_all(project.path("one/notes")).expect("it was there");
    session.tool_json("refresh_skills", &json!({}));
    // The paths are free again, and of one root both skills of a name are offered.
    let left = [
        "The second notes",
        "The second pdf",
        "The third pdf, in another folder",
    ];
    assert_eq!(listed(&mut session), left);
    for (name, expected) in [
        ("pdf", "The second pdf"),
        ("notes", "The second notes"),
        ("portable", "The third pdf"),
    ] {
        assert!(load(&mut session, name).contains(expected), "{name}");
    }
    project.skill("one/pdf", "pdf", "The first pdf");
    project.skill("one/notes", "Meeting notes", "The first notes");
    session.tool_json("refresh_skills", &json!({}));
    check_answers(&mut session);
}

#[test]
fn list_all_shows_shadowed_skills_with_both_places() {
    let project = rivals();
    let run = |words: &[&str]| {
        let ran = project.run(&[words, &DIRS].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran.stdout
    };
    assert_eq!(run(&["list"]).lines().count(), 3);
    let all = run(&["list", "--all"]);
    let lines: Vec<Vec<&str>> = all.lines().map(|line| line.split('\t').collect()).collect();
    let line = |path: &str| lines.iter().find(|line| line[0] == path).expect("a line");
    assert_eq!(lines.len(), 5, "{all}");
    assert_eq!(line("pdf")[5..], ["one/pdf/SKILL.md", ""]);
    let expected = ["two/pdf/SKILL.md", "shadowed by pdf of one"];
    assert_eq!(line("spare/pdf")[5..], expected);
    assert_eq!(line("portable")[3], "spare");
    let printed: Value = serde_json::from_str(&run(&["list", "--all", "--json"])).expect("JSON");
    let skill = &printed["skills"][3];
    assert_eq!(
        (&skill["path"], &skill["shadowed_by"], &skill["location"]),
        (
            &json!("spare/pdf"),
            &json!("pdf"),
            &json!("two/pdf/SKILL.md")
        )
    );
}

#[test]
fn pages_are_told_apart_by_their_paths() {
    let project = Project::new();
    let page = |description: &str| {
        format!(
            "---\ndescription: {description}\nkeywords: [{description}]\n---\nText of {description}\n"
        )
    };
    project
        .file("one/_root.md", page("first-root"))
        .file("one/ui/auth.md", page("first-auth"))
        .file("two/_root.md", page("second-root"))
        .file("two/api/auth.md", page("second-auth"));
    let mut session = serve(&project, &["--dir", "one", "--dir", "two"]);
    assert_eq!(
        listed(&mut session),
        ["first-root", "first-auth", "second-auth"]
    );
    let inherited = load(&mut session, "api/auth");
    assert!(inherited.contains("Text of first-root"), "{inherited}");
    assert!(load(&mut session, "skill://two/_root").contains("Text of second-root"));
    let asked = json!({ "uri": "skill://two/_root/SKILL.md" });
    let read = session.result("resources/read", asked);
    let text = read["contents"][0]["text"].as_str().expect("text");
    assert!(text.contains("Text of second-root"), "{text}");
}

/// A path that a label was put in front of may be the own path of another skill, and a page may be
/// called like a folder skill.
#[test]
fn what_shadows_a_skill_is_named_even_if_another_one_has_its_path_or_name() {
    let page = |name: &str| format!("---\ndescription: {name}\nkeywords: [{name}]\n---\nText\n");
    let project = Project::new();
    project
        .skill("zero/auth", "x", "Takes the path auth")
        .skill("one/auth", "y", "Becomes one/auth")
        .file("two/one/auth.md", page("winner"))
        .file("three/one/auth.md", page("loser"))
        .file("pages/login.md", page("page"))
        .skill("middle/enter", "login", "winner")
        .skill("last/go", "login", "loser");
    for (roots, loser, winner) in [
        (
            &["zero", "one", "two", "three"][..],
            "three/one/auth",
            "two/one/auth",
        ),
        (&["pages", "middle", "last"], "go", "enter"),
    ] {
        let dirs = roots.iter().flat_map(|root| ["--dir", root]);
        let words: Vec<_> = ["list", "--all", "--json"]
            .into_iter()
            .chain(dirs)
            .collect();
        let ran = project.run(&words);
        let printed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        let skills = printed["skills"].as_array().expect("a list").iter();
        let pairs =
            skills.filter_map(|it| Some((it["path"].as_str()?, it["shadowed_by"].as_str()?)));
        assert_eq!(pairs.collect::<Vec<_>>(), [(loser, winner)], "{printed:#}");
    }
}

#[test]
fn a_name_of_a_built_in_skill_is_taken_from_any_folder() {
    let project = Project::new();
    project.skill(".claude/skills/ours", "Writing-Skills", "Ours");
    let mut session = serve(&project, &[]);
    assert!(load(&mut session, "writing-skills").contains("Ours"));
    let described = listed(&mut session);
    let about_writing = described
        .iter()
        .filter(|it| it.starts_with("Write or improve"));
    assert_eq!(about_writing.count(), 0, "{described:?}");
}

/// A freshly cloned repository with a skill of the same name as one of the user.
#[test]
fn a_project_that_hides_a_skill_of_the_user_does_not_do_so_silently() {
    let project = Project::new();
    project
        .skill(
            "work/.claude/skills/deploy",
            "deploy",
            "From the repository",
        )
        .skill("work/.claude/skills/other", "other", "From the repository")
        .skill(".agent/skills/other", "another", "Of the user")
        .skill(".claude/skills/deploy", "deploy", "Of the user");
    let start = |arguments: &[&str]| {
        let mut command = project.command();
        command.current_dir(project.path("work")).args(arguments);
        command
    };
    let warning = "`deploy` of ./.claude/skills hides that of ~/.claude/skills";
    // The second start answers from the cache.
    for _ in 0..2 {
        let mut session = Session::start(start(&["serve"]));
        session.initialize(LEGACY);
        assert!(load(&mut session, "deploy").contains("From the repository"));
        session.tool_json("refresh_skills", &json!({}));
        let listed = session.tool("skills_list", &json!({ "query": "deploy" }));
        let hides = &listed["structuredContent"]["skills"][0]["hides"];
        assert_eq!(*hides, json!(["skill://~/.claude/skills/deploy"]));
        let said = session.finish().stderr;
        assert_eq!(said.matches(warning).count(), 1, "{said}");
    }
    for words in [&["list"][..], &["list", "--all"]] {
        let ran = crate::project::finish(&mut start(words));
        let line = ran.stdout.lines().find(|line| line.starts_with("deploy\t"));
        let note = line.and_then(|line| line.rsplit('\t').next());
        assert_eq!(
            note,
            Some("hides that of ~/.claude/skills"),
            "{}",
            ran.stdout
        );
    }
    let mut session = Session::start(start(&["serve", "--no-project-roots"]));
    session.initialize(LEGACY);
    assert!(load(&mut session, "deploy").contains("Of the user"));
    let said = session.finish().stderr;
    assert!(!said.contains("hides"), "{said}");
}

#[test]
fn listed_paths_open_from_the_working_directory() {
    let project = Project::new();
    project
        .skill("work/skills/near", "near", "Near")
        .skill("elsewhere/far", "far", "Far");
    let far = project.path("elsewhere");
    let mut command = project.command();
    command.current_dir(project.path("work")).arg("serve");
    command.args(["--dir", "./skills", "--dir"]).arg(&far);
    let mut session = Session::start(command);
    session.initialize(LEGACY);
    for (tool, list, query) in [
        ("skills_list", "skills", ""),
        ("skills_search", "results", "text"),
    ] {
        let answer = session.tool(tool, &json!({ "query": query }));
        for skill in answer["structuredContent"][list]
            .as_array()
            .expect("a list")
        {
            let path = |key: &str| skill[key].as_str().expect("text").to_owned();
            let file = project.path("work").join(path("skillFile"));
            let text =
                fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            assert!(
                text.contains(&format!("name: {}", path("installName"))),
                "{text}"
            );
            let directory = path("skillPath");
            assert_eq!(
                Path::new(&path("skillFile")).parent(),
                Some(Path::new(&directory))
            );
            let expected = match path("installName").as_str() {
                "near" => "skills/near".to_owned(),
                _ => far.join("far").display().to_string(),
            };
            assert_eq!(directory, expected, "{tool}");
        }
    }
}
