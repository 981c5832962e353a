//! Names from a request never become file paths: spellings of files outside the
//! roots, in every argument of every tool, return nothing.

use serde_json::json;

use crate::project::{LEGACY, Project};

/// Content of files that no request may reach.
pub(crate) const CANARY: &str = "canary-5c41e0";

/// Ways up from a skill's folder to the files beside the root, and to others.
const STEPS: [&str; 24] = [
    "../../",
    "./../../",
    "x/../../../",
    "..//..//",
    "..\\..\\",
    "../..\\",
    "%2e%2e/%2e%2e/",
    "..%2f..%2f",
    "%2e%2e%2f%2e%2e%2f",
    "%252e%252e%252f",
    "..%5c..%5c",
    "..%c0%af..%c0%af",
    "....//....//",
    "..;/..;/",
    ".. /.. /",
    "../.../../",
    "\u{2025}/\u{2025}/",
    "\u{ff0e}\u{ff0e}/\u{ff0e}\u{ff0e}/",
    "..\u{2215}..\u{2215}",
    "..\0/../",
    "../../skills/../",
    "../../skills-evil/",
    "~/",
    "$HOME/",
];

/// Files with the canary, seen from beside the root.
const TARGETS: [&str; 5] = [
    "canary.txt",
    "skills-evil/canary.txt",
    "outside/SKILL.md",
    "canary.txt\0.md",
    "canary.txt%00",
];

/// Files outside that are named without `..`.
const ABSOLUTE: [&str; 16] = [
    "{dir}/canary.txt",
    "//{dir}/canary.txt",
    "/{dir}/skills/../canary.txt",
    "file://{dir}/canary.txt",
    "file:{dir}/canary.txt",
    "skill://a/../../canary.txt",
    "/proc/self/cwd/canary.txt",
    "/proc/self/root/{dir}/canary.txt",
    "/dev/fd/0",
    "C:\\canary.txt",
    "C:/canary.txt",
    "\\\\?\\C:\\canary.txt",
    "\\\\host\\share\\canary.txt",
    "//host/share/canary.txt",
    "a/notes.txt/../../../canary.txt",
    "linked.txt",
];

/// What is inside the root, but names no skill.
const INSIDE: [&str; 4] = ["a/SKILL.md", "skills/a", "a/../a/notes.txt", "a\0"];

/// Spellings of a real file that are not its name.
const NOT_QUITE: [&str; 10] = [
    "notes.txt/",
    "notes.txt.",
    "notes.txt ",
    " notes.txt",
    "sub/../notes.txt",
    "NOTES.TXT",
    "notes.txt::$DATA",
    "notes.txt\n",
    "cafe.txt",
    "café.txt ",
];

pub(crate) fn canary_project() -> Project {
    let project = Project::new();
    project.skill("skills/a", "a", "The only one");
    project
        .file("skills/a/notes.txt", "own notes\n")
        .file("skills/a/café.txt", "own menu\n")
        .file("canary.txt", CANARY)
        .file("skills-evil/canary.txt", CANARY)
        .file(
            "outside/SKILL.md",
            format!("---\nname: o\ndescription: {CANARY}\n---\n"),
        )
        .link("skills/a/linked.txt", "../../canary.txt");
    project.bundle_file(&["skills"], "skills.skb");
    project
}

pub(crate) fn spellings(project: &Project) -> Vec<String> {
    let dir = project.dir().display().to_string();
    let mut all: Vec<String> = Vec::new();
    for step in STEPS {
        all.extend(TARGETS.map(|target| format!("{step}{target}")));
    }
    all.extend(ABSOLUTE.map(|place| place.replace("{dir}", &dir)));
    all.extend(NOT_QUITE.map(str::to_owned));
    all.push("x".repeat(4096));
    all.push("../".repeat(1365));
    all.push(".".to_owned());
    all.push("..".to_owned());
    all.push("/".to_owned());
    all
}

#[test]
fn no_spelling_reaches_a_file_outside() {
    let project = canary_project();
    let mut session = project.serve(&["--dir", "skills"]);
    session.initialize(LEGACY);
    let spellings = spellings(&project);
    assert!(spellings.len() >= 120, "{} spellings", spellings.len());
    for spelling in &spellings {
        // The argument names a skill or a file, so these must fail.
        for (tool, arguments) in [
            ("skill", json!({ "name": spelling })),
            ("get_asset", json!({ "skill_path": "a", "file": spelling })),
            (
                "get_asset",
                json!({ "skill_path": spelling, "file": "notes.txt" }),
            ),
        ] {
            let text = session.tool_error(tool, &arguments);
            assert!(!text.contains(CANARY), "{tool} {arguments}: {text}");
            assert!(!text.contains("own notes"), "{tool} {arguments}: {text}");
        }
        // These take any text, and search only what was compiled.
        for (tool, arguments) in [
            ("get_skill", json!({ "context": spelling })),
            ("skills_search", json!({ "query": spelling })),
            ("skills_list", json!({ "query": spelling })),
            ("list_skills", json!({ "path": spelling })),
        ] {
            let reply = session.tool(tool, &arguments).to_string();
            assert!(!reply.contains(CANARY), "{tool} {arguments}: {reply}");
        }
    }
    for name in INSIDE {
        let text = session.tool_error("skill", &json!({ "name": name }));
        assert!(text.contains("not found."), "{name:?}: {text}");
    }
    let ask = json!({ "skill_path": "a", "file": "notes.txt" });
    assert_eq!(
        session.tool_json("get_asset", &ask)["content"],
        "own notes\n"
    );
    let ended = session.finish();
    assert_eq!(ended.code, Some(0));
    assert!(!ended.stderr.contains(CANARY), "{}", ended.stderr);
}

#[test]
fn the_file_of_another_skill_is_not_found() {
    let project = Project::new();
    project
        .skill("skills/a", "a", "A")
        .skill("skills/b", "b", "B");
    project.file("skills/b/creds.json", "{\"canary\":1}");
    let mut session = project.serve(&["--dir", "skills"]);
    session.initialize(LEGACY);
    for file in [
        "../b/creds.json",
        "..\\b\\creds.json",
        "b/creds.json",
        "/b/creds.json",
        "./../b/creds.json",
        "%2e%2e/b/creds.json",
        "C:\\creds.json",
        "\\\\host\\share",
        "creds.json",
        "creds.json\0",
    ] {
        let text = session.tool_error("get_asset", &json!({ "skill_path": "a", "file": file }));
        assert!(!text.contains("canary"), "{file:?}: {text}");
    }
    let ask = json!({ "skill_path": "b", "file": "creds.json" });
    assert_eq!(
        session.tool_json("get_asset", &ask)["content"],
        "{\"canary\":1}"
    );
}
