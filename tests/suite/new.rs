//! `skillbundle new`: what it makes has no problem for anybody, and it never touches what was there.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use serde_json::{Value, json};

use crate::project::{Output, Project, finish, material, test_with};

/// A description that YAML would read in its own way without quotes.
const DESCRIPTION: &str =
    "Fills in \"forms\": all of C:\\forms, it's 100% done. Use when someone asks for #1.";

/// Every combination of options, and the dialect of what they make.
const OPTIONS: [(&[&str], &str); 8] = [
    (&[], "folder"),
    (&["--with-script"], "folder"),
    (&["--tree"], "tree"),
    (&["--tree", "--with-script"], "tree"),
    (&["--contract"], "tree"),
    (&["--contract", "--with-script"], "tree"),
    (&["--tree", "--contract"], "tree"),
    (&["--tree", "--contract", "--with-script"], "tree"),
];

/// Runs `new` with a description.
fn new(project: &Project, arguments: &[&str]) -> Output {
    let described = ["new", "--description", DESCRIPTION];
    project.run(&[&described[..], arguments].concat())
}

/// Every profile that `check` knows.
fn profiles(project: &Project) -> Vec<String> {
    let refused = project.run(&["check", ".", "--profile", "nobody"]);
    let (_, names) = refused.stderr.split_once("profiles are ").expect("a list");
    names.trim_end().split(", ").map(str::to_owned).collect()
}

/// Everything below a directory: for files their text, for links their target.
fn listing(dir: &Path) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(dir).expect("readable") {
        let path = entry.expect("an entry").path();
        let name = path.display().to_string();
        if path.is_symlink() {
            let target = fs::read_link(&path).expect("a link");
            all.insert(name, target.display().to_string());
        } else if path.is_dir() {
            all.insert(name, "directory".to_owned());
            all.extend(listing(&path));
        } else {
            let bytes = fs::read(&path).expect("readable");
            all.insert(name, String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    all
}

#[test]
fn what_is_made_has_no_problem_and_is_served() {
    let longest = "x".repeat(64);
    for (options, dialect) in OPTIONS {
        let project = Project::new();
        let names = [
            "pdf-forms",
            "a",
            "null",
            "yes",
            "e1-2",
            "readme",
            "agents",
            &longest,
        ];
        for name in names {
            let ran = new(&project, &[&[name][..], options].concat());
            assert_eq!(ran.code, Some(0), "{name} {options:?}: {}", ran.stderr);
        }
        for profile in profiles(&project) {
            let words = ["check", ".", "--strict", "--format", "short", "--profile"];
            let checked = project.run(&[&words[..], &[&profile]].concat());
            let lines = checked.stdout.lines().count();
            let found = (checked.code, lines, &*checked.stderr);
            assert_eq!(
                found,
                (Some(0), 2, ""),
                "{profile} {options:?}: {}",
                checked.stdout
            );
        }
        let listed = project.run(&["list", ".", "--json"]);
        let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
        let skills = listed["skills"].as_array().expect("a list");
        assert_eq!(skills.len(), names.len(), "{options:?}");
        for skill in skills {
            assert_eq!(skill["dialect"], dialect, "{options:?}");
            assert_eq!(skill["description"], DESCRIPTION, "{options:?}");
        }
    }
}

#[test]
fn unlikely_names_stay_names() {
    let project = Project::new();
    for name in ["007", "1e3", "2026-01-12", "0", "target"] {
        assert_eq!(new(&project, &[name]).code, Some(0), "{name}");
        let shown = project.run(&["show", name, ".", "--json"]);
        let shown: Value = serde_json::from_str(&shown.stdout).expect("JSON");
        assert_eq!(shown["name"], name);
    }
    let checked = project.run(&["check", ".", "--strict", "--format", "short"]);
    assert_eq!(checked.code, Some(0), "{}", checked.stdout);
}

#[test]
fn a_script_works_from_anywhere_and_is_served() {
    for (options, page) in [(&[][..], "a/SKILL.md"), (&["--tree"], "a.md")] {
        let project = Project::new();
        let ran = new(&project, &[&["a", "--with-script"], options].concat());
        let paths = format!("{page}\na/scripts/count.sh\n");
        assert_eq!(ran.stdout, paths, "{}", ran.stderr);
        let script = project.path("a/scripts/count.sh");
        let mode = fs::metadata(&script).expect("made").permissions().mode();
        assert_eq!(mode & 0o100, 0o100);
        assert_eq!(
            mode & 0o111,
            (mode & 0o444) >> 2,
            "who may read it may run it"
        );
        let text = fs::read_to_string(project.path(page)).expect("made");
        assert!(text.contains("`scripts/count.sh FILE...`"), "{text}");
        project
            .file("b/two.txt", "1\n2\n")
            .file("b/last = x", "no end");
        for (arguments, code, stdout) in [
            (&["two.txt", "last = x"][..], 0, "2\ttwo.txt\n1\tlast = x\n"),
            (&["none", "two.txt"], 1, "2\ttwo.txt\n"),
            (&[], 2, ""),
        ] {
            let ran = finish(
                Command::new(&script)
                    .args(arguments)
                    .current_dir(project.path("b")),
            );
            assert_eq!((ran.code, &*ran.stdout), (Some(code), stdout));
            assert_eq!(ran.stderr.is_empty(), code == 0, "{}", ran.stderr);
        }
        let shown = project.run(&["show", "a", ".", "--file", "scripts/count.sh"]);
        assert_eq!(shown.stdout, fs::read_to_string(&script).expect("made"));
    }
}

#[test_with(python3)]
fn a_contract_is_carried_out_and_fails_as_it_says() {
    let project = Project::new();
    assert_eq!(new(&project, &["find-item", "--contract"]).code, Some(0));
    let python = material("python3");
    let runner = json!({".py": python.to_str()});
    let runner = format!("scripts.runners={runner}");
    for (wanted, code, key, value) in [
        ("b", 0, "output_payload", json!({"position": 1})),
        ("c", 1, "failure_code", json!("NOT_FOUND")),
    ] {
        let input = json!({"items": ["a", "b"], "wanted": wanted}).to_string();
        let ran = project.run(&[
            "invoke",
            "find_item",
            ".",
            "--allow-project-scripts",
            "--agent",
            "me",
            "--json",
            "--set",
            &runner,
            "--input",
            &input,
        ]);
        assert_eq!(ran.code, Some(code), "{}{}", ran.stdout, ran.stderr);
        let printed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!(printed["skill_result"][key], value, "{printed}");
    }
}

#[test]
fn what_it_says_to_do_next_works() {
    for (options, _) in OPTIONS {
        let project = Project::new();
        let dir = ["--dir", "my 'skills'", "--json", "it"];
        let ran = new(&project, &[&dir, options].concat());
        let printed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        let next = printed["next_commands"].as_array().expect("a list");
        assert_eq!(next.len(), 2);
        for command in next.iter().filter_map(Value::as_str) {
            if command.contains(" invoke ") {
                continue;
            }
            let arguments = command
                .strip_prefix("skillbundle ")
                .expect("a command of ours");
            let script = format!("exec \"$0\" {arguments}");
            let ran = finish(
                Command::new("sh")
                    .args(["-c", &script, env!("CARGO_BIN_EXE_skillbundle")])
                    .current_dir(project.dir()),
            );
            assert_eq!(ran.code, Some(0), "{command}: {}", ran.stderr);
        }
        for file in printed["made_files"].as_array().expect("a list") {
            let file = file.as_str().expect("a path");
            assert!(project.path(file).is_file(), "{file}");
        }
    }
}

/// Names and places that are refused, each with the end of its error. Nothing changes.
#[test]
fn nothing_is_overwritten_and_no_name_leads_elsewhere() {
    let project = Project::new();
    let outside = Project::new();
    project
        .skill("there", "there", "It is there")
        .file("page.md", "A note\n")
        .file("file", "A file\n")
        .file("tree/page/data.txt", "Data\n")
        .link("link", outside.dir())
        .link("gone", "nowhere")
        .link("loop", "loop")
        .link("linked.md", "page.md");
    fs::create_dir(project.path("empty")).expect("writable");
    let long = "x".repeat(300);
    for options in [&[][..], &["--tree", "--with-script"], &["--contract"]] {
        for (arguments, error) in [
            (&["../x"][..], "try `x`; --dir names the folder"),
            (&["/etc"], "try `etc`; --dir names the folder"),
            (&["a/b"], "try `a-b`; --dir names the folder"),
            (&["."], "try `pdf-forms`"),
            (&[".."], "try `pdf-forms`"),
            (&[""], "try `pdf-forms`"),
            (&["x\u{1b}[31my"], "try `x-31my`"),
            (&["x\ny"], "try `x-y`"),
            (&["x\u{202e}y"], "try `x-y`"),
            (&["-"], "try `pdf-forms`"),
            (&["pdf--forms"], "try `pdf-forms`"),
            (&["PDF"], "try `pdf`"),
            (&[&long], &format!("try `{}`", &long[..64])),
            (&["con"], "nobody can clone or unpack the skill there"),
            (&["there"], "remove it first"),
            (&["page"], "remove it first"),
            (&["file"], "remove it first"),
            (&["empty"], "remove it first"),
            (&["link"], "remove it first"),
            (&["gone"], "remove it first"),
            (&["loop"], "remove it first"),
            (&["linked"], "remove it first"),
            (&["page", "--dir", "tree"], "remove it first"),
            (&["x", "--dir", "file"], "name a directory with --dir"),
            (
                &["x", "--dir", "file/below"],
                "Not a directory (os error 20)",
            ),
            (&["x", "--dir", "gone"], "File exists (os error 17)"),
            (
                &["x", "--dir", "there"],
                "name a directory beside it with --dir",
            ),
            (
                &["x", "--dir", "there/deep/er"],
                "name a directory beside it with --dir",
            ),
        ] {
            let before = [listing(project.dir()), listing(outside.dir())];
            let ran = new(&project, &[arguments, options].concat());
            assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{arguments:?}");
            let said = ran.stderr.trim_end();
            assert!(said.ends_with(error), "{arguments:?}: {said}");
            let obeyed = said.chars().find(|it| it.is_control() && *it != '\n');
            assert_eq!(obeyed, None, "{arguments:?}: {said}");
            let after = [listing(project.dir()), listing(outside.dir())];
            assert_eq!(after, before, "{arguments:?} {options:?}");
        }
    }
}

#[test]
fn descriptions_that_hosts_refuse_are_refused() {
    let project = Project::new();
    let (most, contract) = ("é".repeat(1024), "é".repeat(500));
    let (long, longer) = (format!("{most}x"), format!("{contract}x"));
    for (description, options, error) in [
        ("", &[][..], "is empty"),
        (" \t ", &[], "is empty"),
        ("a\nb", &[], "has a line break"),
        (
            "a\u{7}b",
            &[],
            "has a line break or another control character",
        ),
        ("use <this>", &[], "has `<` or `>`"),
        (
            "a\u{202e}b",
            &[],
            "has a line break or another control character",
        ),
        (&long, &[], "has 1025 characters, more than 1024"),
        (
            &longer,
            &["--contract"],
            "has 501 characters, more than 500",
        ),
    ] {
        let words = ["new", "x", "--description", description];
        let ran = project.run(&[&words[..], options].concat());
        assert!(
            ran.stderr.contains(error),
            "{description:?}: {}",
            ran.stderr
        );
        assert_eq!(ran.code, Some(2), "{description:?}");
        assert_eq!(listing(project.dir()).len(), 0, "{description:?}");
    }
    for (name, description, options) in [("a", &most, &[][..]), ("b", &contract, &["--contract"])] {
        let words = ["new", name, "--description", description];
        let ran = project.run(&[&words[..], options].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
}

/// What is on stdin is meant for somebody else.
#[test]
fn nothing_is_asked_in_a_pipe() {
    let project = Project::new();
    for arguments in [&["new"][..], &["new", "x"], &["new", "--description", "It"]] {
        project.file("answers", "pdf-forms\nFills in forms\n");
        let answers = fs::File::open(project.path("answers")).expect("readable");
        let mut command = project.command();
        let output = command.args(arguments).stdin(answers).output();
        let output = output.expect("it runs");
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.starts_with("error: the skill has no "), "{said}");
        assert_eq!(listing(project.dir()).len(), 1, "{arguments:?}");
    }
}

/// Where a skill is made, by the directories that exist.
#[test]
fn a_skill_goes_to_the_nearest_root_of_the_project() {
    for (existing, here, made) in [
        (&[][..], "", "x/SKILL.md"),
        (&["skills"], "", "skills/x/SKILL.md"),
        (&[".claude/skills"], "", ".claude/skills/x/SKILL.md"),
        (&[".agents/skills"], "", ".agents/skills/x/SKILL.md"),
        (
            &[".claude/skills", ".agents/skills"],
            "",
            ".claude/skills/x/SKILL.md",
        ),
        (&[".claude/skills", "skills"], "", "skills/x/SKILL.md"),
        (&[".git", "skills", "a/b"], "a/b", "../../skills/x/SKILL.md"),
        (
            &[".git", "skills", "a/.agents/skills"],
            "a",
            ".agents/skills/x/SKILL.md",
        ),
        (&[".git", "skills/ui"], "skills", "x/SKILL.md"),
        (&[".git", "skills/ui"], "skills/ui", "x/SKILL.md"),
        // Outside of a repository, the working directory is the project.
        (&["skills", "a"], "a", "x/SKILL.md"),
        // The home directory belongs to nobody's project.
        (&[".claude"], "", "x/SKILL.md"),
    ] {
        let project = Project::new();
        for dir in existing {
            fs::create_dir_all(project.path(dir)).expect("writable");
        }
        let mut command = project.command();
        command
            .args(["new", "x", "--description", "It"])
            .current_dir(project.path(here))
            .env("HOME", "/");
        let ran = finish(&mut command);
        assert_eq!(
            ran.stdout,
            format!("{made}\n"),
            "{existing:?} {here}: {}",
            ran.stderr
        );
        assert!(
            project.path(here).join(made).is_file(),
            "{existing:?} {here}"
        );
    }
}

#[test]
fn a_root_that_leads_out_of_the_project_is_not_followed() {
    let (project, outside) = (Project::new(), Project::new());
    project.link(".claude/skills", outside.dir());
    let ran = new(&project, &["x"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr
            .starts_with("error: .claude/skills leads out of the project\n"),
        "{}",
        ran.stderr
    );
    assert_eq!(listing(outside.dir()).len(), 0);
    let named = new(&project, &["x", "--dir", ".claude/skills"]);
    assert_eq!(named.code, Some(0), "{}", named.stderr);
    assert!(outside.path("x/SKILL.md").is_file(), "it was named");
    // A link within the project is one of its roots.
    project.link(".agents/skills", "../shared");
    fs::create_dir(project.path("shared")).expect("writable");
    fs::remove_file(project.path(".claude/skills")).expect("a link");
    assert_eq!(new(&project, &["x"]).code, Some(0));
    assert!(project.path("shared/x/SKILL.md").is_file());
}

/// A full disk, which a limit on the size of files stands in for, leaves nothing.
#[test]
fn a_failure_leaves_nothing() {
    for (options, _) in OPTIONS {
        let project = Project::new();
        let mut command = Command::new("sh");
        command
            .args(["-c", "ulimit -f 0; exec \"$0\" \"$@\""])
            .arg(env!("CARGO_BIN_EXE_skillbundle"))
            .args(["new", "x", "--description", "It", "--dir", "a/b"])
            .args(options)
            .current_dir(project.dir());
        let ran = finish(&mut command);
        assert_eq!(ran.code, Some(2), "{options:?}: {}", ran.stdout);
        assert!(
            ran.stderr.starts_with("error: cannot write to a/b: "),
            "{options:?}: {}",
            ran.stderr
        );
        assert_eq!(listing(project.dir()), BTreeMap::new(), "{options:?}");
    }
}

#[test]
fn of_several_at_once_one_makes_the_skill() {
    let project = Project::new();
    for round in 0..5 {
        let name = format!("x{round}");
        let children: Vec<_> = (0..4)
            .map(|number| {
                let text = format!("It is number {number}");
                let mut command = project.command();
                command.args([
                    "new",
                    &name,
                    "--with-script",
                    "--tree",
                    "--description",
                    &text,
                ]);
                let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
                quiet.stderr(Stdio::null()).spawn().expect("it starts")
            })
            .collect();
        let ended: Vec<_> = children
            .into_iter()
            .map(|mut child| thread::spawn(move || child.wait().expect("it ends").success()))
            .collect();
        let made = ended.into_iter().map(|it| it.join().expect("no panic"));
        assert_eq!(made.filter(|it| *it).count(), 1, "{name}");
    }
    let checked = project.run(&["check", "."]);
    assert!(
        checked.stdout.starts_with("5 skills with 5 files "),
        "{}",
        checked.stdout
    );
    let entries = listing(project.dir()).into_keys();
    let stages = entries.filter(|path| path.contains(".new-skill-"));
    assert_eq!(stages.count(), 0, "no stage is left");
}
