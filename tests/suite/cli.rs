//! What a person sees who types commands: transcripts under `tests/cli`, run
//! against the shipped binary, and what transcripts cannot show: terminals,
//! closed pipes, files that appear. It is long because each command has its row here.

mod doctor;
mod journal;
mod json;
pub(crate) mod terminal;
pub(crate) mod transcript;

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::project::{LEGACY, Project, Session, bytes_of, finish, workspace};
use transcript::{check, without_layout};

/// Marks what a build without the feature `http` lacks.
const WITHOUT_HTTP: &str = " (not in this build; needs feature `http`)";

/// Bytes of the first line of an error, with the mark of a transcript: 80
/// characters of message at most.
const LONGEST_ERROR: usize = "! error: ".len() + 80;

/// The folder that the transcripts work in.
///
/// `empty` is a folder, `one` holds one skill. `team` holds two good folder-dialect skills, `tree` a good tree; `odd` a
/// skill whose words a terminal must not obey; `rules` a page with many keywords; `bills`
/// a folder-dialect skill with keywords, tags and triggers; `broken` one skill without a
/// description and one that is fine. `team.skb` is made of `team`.
fn office() -> Project {
    let project = Project::from_fixture("tree");
    fs::create_dir(project.path("tree")).expect("a folder can be made");
    for entry in ["_root", "_root.md", "api", "no-inherit.md", "ui"] {
        fs::rename(project.path(entry), project.path(&format!("tree/{entry}")))
            .expect("a file can be moved");
    }
    project
        .file("team/git/SKILL.md", "---\nname: git\ndescription: Commit and push with care\n---\n# Git\n\nWrite the message first.\n")
        .file("team/docs/pdf/SKILL.md", "---\nname: PDF forms\ndescription: Fill in the fields of a PDF form and check\n  that each one took its value\n---\n# PDF\n\nRun scripts/fill.py.\n")
        .file("team/docs/pdf/scripts/fill.py", "print('filled')\n")
        .file("team/docs/pdf/logo.png", b"\x89PNG\r\n\x1a\n\0\0")
        .mode("team/docs/pdf/scripts/fill.py", 0o755)
        .file("odd/red/SKILL.md", "---\nname: red\ndescription: \"\\e[31mred\\e[0m\\a 日本語\"\n---\nBody \u{1b}[2Jcleared\n")
        .file("rules/_root.md", "---\ndescription: How we write\nkeywords: [style, wording, tone, spelling, commit, titles]\n---\nBe brief.\n")
        .file("bills/invoices/SKILL.md", "---\nname: invoices\ndescription: Bills and what becomes of them\nkeywords: [Refund, credit note]\ntags: late payments, EU\ntriggers: [a refund for a payment]\n---\n# Bills\n")
        .file("broken/bad/SKILL.md", "---\nname: bad\n---\n# Bad\n")
        .skill("broken/fine", "fine", "Works as it should")
        .skill("one/only", "only", "Stands alone");
    fs::create_dir(project.path("empty")).expect("a folder can be made");
    project.bundle_file(&["team"], "team.skb");
    let bytes = fs::read(project.path("team.skb")).expect("the bundle is there");
    project
        .file("renamed.bin", bytes)
        .file("notes.txt", "just notes\n");
    // What others may write to is not mapped, whatever the tester's umask.
    project.mode("team.skb", 0o444);
    project
}

#[test]
fn help_shows_every_command_with_examples() {
    check(&office(), "help", |page| page.replace(WITHOUT_HTTP, ""));
}

#[test]
fn help_marks_what_the_build_lacks() {
    let page = Project::new().run(&["serve", "--help"]).stdout;
    assert_eq!(
        page.contains(WITHOUT_HTTP),
        !cfg!(feature = "http"),
        "{page}"
    );
}

#[test]
fn list_show_and_search_answer_from_a_bundle_and_from_directories() {
    check(&office(), "ask", without_layout);
}

#[test]
fn route_says_which_skill_is_meant_and_why() {
    check(&office(), "route", without_layout);
}

#[test]
fn a_route_in_json_tells_what_the_lines_of_a_pipe_tell() {
    let project = office();
    let sources = ["--dir", "team", "--dir", "tree"];
    for request in [
        "push the PDF form",
        "react login",
        "react",
        "elephants",
        "push react",
    ] {
        let lines = project.run(&[&["route", request, "--all"], &sources[..]].concat());
        let json = project.run(&[&["route", request, "--all", "--json"], &sources[..]].concat());
        let printed: Value = serde_json::from_str(&json.stdout).expect("JSON");
        let decided = printed["decided"].as_u64().expect("a number");
        assert_eq!(lines.code, Some(i32::from(decided != 1)), "{request}");
        assert_eq!(json.code, lines.code, "{request}");
        let skills = printed["skills"].as_array().expect("a list");
        let expected: Vec<[&str; 3]> = (0..)
            .zip(skills)
            .map(|(place, skill)| {
                let decision = if place < decided {
                    &printed["decision"]
                } else {
                    &Value::Null
                };
                let text = |value: &'static str| skill[value].as_str().expect("text");
                [
                    text("path"),
                    decision.as_str().unwrap_or("other"),
                    text("ranker"),
                ]
            })
            .collect();
        let found: Vec<[&str; 3]> = lines
            .stdout
            .lines()
            .map(|line| {
                let fields: Vec<&str> = line.split('\t').collect();
                [fields[0], fields[2], fields[4]]
            })
            .collect();
        assert_eq!(found, expected, "{request}");
    }
}

#[test]
fn inspect_and_verify_tell_what_a_bundle_holds() {
    let project = office();
    let mut bytes = fs::read(project.path("team.skb")).expect("the bundle is there");
    project.file("cut.skb", &bytes[..bytes.len() - 5]);
    // The first byte of the version, of the features and of the table layout.
    for (name, at) in [("newer.skb", 8), ("features.skb", 12), ("layout.skb", 16)] {
        let mut changed = bytes.clone();
        changed[at] ^= 0xF0;
        project.file(name, changed);
    }
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    project.file("damaged.skb", &bytes);
    check(&project, "inspect", without_layout);
}

#[test]
fn config_shows_what_applies_and_where_it_was_set() {
    check(&office(), "config", str::to_owned);
}

#[test]
fn inspect_tells_what_a_host_will_see() {
    check(&office(), "host", without_layout);
}

#[test]
fn a_host_that_cuts_keeps_the_most_important_skills() {
    let project = Project::new();
    for number in 0..120 {
        project.skill(
            &format!("skills/s{number:03}"),
            &format!("s{number:03}"),
            "Does one thing in a hundred and twenty",
        );
    }
    project.file(
        "skills/urgent/SKILL.md",
        "---\nname: urgent\ndescription: First of all\npriority: 9\n---\nNow.\n",
    );
    let ran = project.run(&["inspect", "--dir", "skills", "--host", "claude", "--json"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let printed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let skill = &printed["tools"][0];
    assert_eq!(skill["seen_as"], "mcp__skills__skill");
    let (named, kept) = (&skill["skills_named"], &skill["skills_kept"]);
    assert!(named == kept && kept.as_u64() < Some(121), "{skill}");
    let skills = &printed["listing"];
    let lengths = ["kept", "dropped"].map(|part| skills[part].as_array().map_or(0, Vec::len));
    assert_eq!(lengths, [100, 21]);
    assert_eq!(skills["kept"][0], "urgent");
    assert_eq!(skills["dropped"][20], "s119");
    assert_eq!(printed["not_offered"][0]["name"], "get_asset");
}

#[test]
fn compile_says_what_is_wrong_and_replaces_no_bundle_by_a_worse_one() {
    let project = office();
    check(&project, "compile", without_layout);
    assert!(project.path("out.skb").is_file(), "the bundle was written");
    assert!(
        !project.path("nothing.skb").exists(),
        "a check writes nothing"
    );
    let written = fs::read(project.path("out.skb")).expect("the bundle is there");
    let again = fs::read(project.path("again.skb")).expect("the bundle is there");
    assert_eq!(
        written, again,
        "the same skills by another path give the same bytes"
    );
}

#[test]
fn a_bundle_on_standard_output_is_the_one_in_a_file() {
    let project = office();
    let mut command = project.command();
    let output = command.args(["compile", "team", "-o", "-"]).output();
    let output = output.expect("it runs");
    let bundle = fs::read(project.path("team.skb")).expect("the bundle is there");
    assert_eq!((output.status.code(), output.stdout), (Some(0), bundle));
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(said.contains("\nstandard output: 2 skills, "), "{said}");
    assert!(!project.path("-").exists(), "no file of that name");

    let refused = project.run(&["compile", "broken", "-o", "-"]);
    assert_eq!((refused.code, &*refused.stdout), (Some(1), ""));
    assert!(
        refused.stderr.ends_with(
            "nothing was written because of the errors; \
             --allow-errors writes the bundle without broken/bad/SKILL.md\n"
        ),
        "{}",
        refused.stderr
    );
    let mut command = project.command();
    command.args(["compile", "broken", "-o", "-", "--allow-errors"]);
    let output = command.output().expect("it runs");
    let expected = bytes_of(&project.compile(&["broken"]));
    assert_eq!((output.status.code(), output.stdout), (Some(1), expected));
}

/// Only what lies at its place decides whether a bundle may go there, and not its name.
#[test]
#[cfg(unix)]
fn a_bundle_replaces_nothing_but_bundles() {
    let project = office();
    let bundle = fs::read(project.path("team.skb")).expect("the bundle is there");
    let mut other_version = bundle.clone();
    other_version[8] ^= 0xF0;
    let mut damaged = bundle.clone();
    damaged[400..600].fill(0xA5);
    project
        .file("notes.skb", "notes\n")
        .file("almost.skb", &bundle[1..])
        .link("gone.skb", "nowhere")
        .link("to-notes.skb", "notes.txt")
        .file("bundle.txt", &bundle)
        .file("old.skb", other_version)
        .file("damaged.skb", damaged)
        .file("cut.skb", &bundle[..100])
        .file("empty.skb", "");
    let pipe = finish(Command::new("mkfifo").arg(project.path("pipe.skb")));
    assert_eq!(pipe.code, Some(0), "{}", pipe.stderr);
    for (place, error) in [
        (
            "notes.skb",
            "notes.skb is not a bundle: it begins with \"notes\\n\"",
        ),
        (
            "almost.skb",
            "almost.skb is not a bundle: it begins with \"SKB",
        ),
        (
            "to-notes.skb",
            "to-notes.skb is not a bundle: it begins with \"just not\"",
        ),
        ("gone.skb", "gone.skb is a link to nothing"),
        ("team", "team is a directory"),
        ("pipe.skb", "pipe.skb is a pipe, not a file"),
        ("/dev/full", "/dev/full is a device, not a file"),
        (
            "notes.txt/team.skb",
            "cannot write notes.txt/team.skb: Not a directory",
        ),
        (
            "nowhere/team.skb",
            "cannot write nowhere/team.skb: No such file",
        ),
    ] {
        let kind = |path: &str| fs::symlink_metadata(project.path(path)).map(|it| it.file_type());
        let before = kind(place).ok();
        let ran = project.run(&["compile", "one", "-o", place]);
        assert!(
            ran.stderr.starts_with(&format!("error: {error}")),
            "{place}: {}",
            ran.stderr
        );
        assert_eq!((ran.code, kind(place).ok()), (Some(2), before), "{place}");
    }
    let notes = fs::read_to_string(project.path("notes.txt")).expect("it is there");
    assert_eq!(notes, "just notes\n");
    for place in [
        "bundle.txt",
        "old.skb",
        "damaged.skb",
        "cut.skb",
        "empty.skb",
        "new.skb",
    ] {
        let ran = project.run(&["compile", "one", "-o", place]);
        assert_eq!(ran.code, Some(0), "{place}: {}", ran.stderr);
        let removed = ran.stderr.contains("no longer in it: docs/pdf, git\n");
        assert_eq!(removed, place == "bundle.txt", "{place}: {}", ran.stderr);
        assert_eq!(
            project.run(&["verify", "--bundle", place]).code,
            Some(0),
            "{place}"
        );
    }
}

#[test]
fn eval_replays_requests_and_holds_them_against_bounds() {
    let project = office();
    project
        .skill("asked/forms", "forms", "Fill in the fields of a PDF form and check them")
        .skill("asked/deploy", "deploy", "Helps with releases")
        .file("asked/forms/evals/evals.json", "{\"skill_name\": \"forms\", \"evals\": [{\"prompt\": \"fill in this form\"}, {\"prompt\": \"help me release it\"}]}")
        .file("asked/deploy/trigger-eval.json", "[{\"query\": \"a new release\", \"should_trigger\": true},\n {\"query\": \"bring it to production\", \"should_trigger\": true},\n {\"query\": \"fill in the release form\", \"should_trigger\": true},\n {\"query\": \"check the PDF form\", \"should_trigger\": false}]")
        .file("asked/routing.json", "[{\"request\": \"fields of a form\", \"expect\": \"forms\"},\n {\"request\": \"release the hounds\", \"expect\": null}]")
        .skill("unread/one", "one", "Says something of its own")
        .file("unread/routing.json", "[{\"request\": \"something\", \"expect\": \"two\"},\n {\"request\": \"something\"}]");
    check(&project, "eval", str::to_owned);
}

#[test]
fn a_failure_is_one_line_with_at_most_one_line_of_help() {
    let project = office();
    check(&project, "errors", str::to_owned);
    let said = fs::read_to_string(workspace().join("tests/cli/errors.txt"))
        .expect("the transcript is there");
    for answer in said.split("$ ").skip(1) {
        let lines: Vec<&str> = answer
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with("# "))
            .collect();
        let (first, last) = (lines[1], lines[lines.len() - 1]);
        assert!(first.starts_with("! error: "), "{lines:?}");
        assert!(
            first.len() <= LONGEST_ERROR || first.contains("invalid value"),
            "{first}"
        );
        assert!(
            lines.len() == 3 || lines[2].starts_with("! help: "),
            "{lines:?}"
        );
        assert_eq!((lines.len() <= 4, last), (true, "[exit 2]"), "{lines:?}");
    }
}

#[test]
fn without_a_source_the_embedded_skills_answer() {
    let project = Project::new();
    let listed = project.run(&["list"]);
    assert_eq!((listed.code, &*listed.stderr), (Some(0), ""));
    assert!(
        listed
            .stdout
            .lines()
            .any(|line| line.starts_with("writing-skills\t")),
        "{}",
        listed.stdout
    );
    let as_json: Value =
        serde_json::from_str(&project.run(&["list", "--json"]).stdout).expect("JSON");
    let paths: Vec<&str> = as_json["skills"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|it| it["path"].as_str())
        .collect();
    let lines: Vec<&str> = listed
        .stdout
        .lines()
        .filter_map(|line| line.split('\t').next())
        .collect();
    assert_eq!(paths, lines);
    let shown = project.run(&["show", "writing-skills", "--raw"]);
    let source = fs::read_to_string(workspace().join("skills/writing-skills/SKILL.md"))
        .expect("the handbook is there");
    assert_eq!(shown.stdout, source);
}

#[test]
fn a_file_of_a_skill_comes_byte_for_byte() {
    let project = office();
    let mut command = project.command();
    let output = command
        .args([
            "show", "docs/pdf", "--file", "logo.png", "--bundle", "team.skb",
        ])
        .output()
        .expect("it runs");
    assert_eq!(output.stdout, b"\x89PNG\r\n\x1a\n\0\0");
}

#[test]
fn a_reader_that_stops_early_is_no_failure() {
    let project = Project::new();
    for number in 0..2_000 {
        project.skill(
            &format!("many/skill-{number}"),
            &format!("skill-{number}"),
            &"long ".repeat(20),
        );
    }
    let mut command = project.command();
    let mut child = command
        .args(["list", "--dir", "many"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut first = [0; 10];
    let mut stdout = child.stdout.take().expect("stdout is a pipe");
    stdout.read_exact(&mut first).expect("something comes");
    drop(stdout);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn manual_pages_cover_every_command() {
    let project = Project::new();
    let one = project.run(&["man"]);
    assert!(
        one.stdout.contains(".TH skillbundle 1") && one.stdout.contains("skillbundle\\-compile(1)"),
        "{}",
        one.stdout
    );
    assert_eq!(project.run(&["man", "pages"]).code, Some(0));
    for command in [
        "",
        "-serve",
        "-new",
        "-compile",
        "-eval",
        "-list",
        "-show",
        "-search",
        "-route",
        "-inspect",
        "-verify",
        "-completions",
        "-man",
    ] {
        let page = fs::read_to_string(project.path(&format!("pages/skillbundle{command}.1")))
            .expect("a page per command");
        let examples = page.split_once("\nExamples:\n").expect("examples").1;
        assert!(
            examples.starts_with("  skillbundle") && page.contains("\n.nf\n"),
            "skillbundle{command}.1 keeps the lines of its examples: {examples}"
        );
    }
}

#[test]
fn completions_know_commands_and_options() {
    let project = Project::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = project.run(&["completions", shell]).stdout;
        assert!(
            script.contains("inspect") && script.contains("description-bytes"),
            "{shell}: {script}"
        );
    }
}

#[test]
fn serve_says_nothing_to_a_host_that_closes_stdin() {
    let project = office();
    for arguments in [
        &["serve"][..],
        &["serve", "--dir", "team"],
        &["serve", "--bundle", "team.skb"],
    ] {
        let ran = project.run(arguments);
        assert_eq!(
            (ran.code, &*ran.stdout, &*ran.stderr),
            (Some(0), "", ""),
            "{arguments:?}"
        );
    }
}

/// The names of the skills that a server started like this offers, in order.
fn served(mut command: Command) -> Vec<String> {
    command.arg("serve");
    let mut session = Session::start(command);
    session.initialize(LEGACY);
    let listed = session.tool("skills_list", &json!({}));
    assert_eq!(session.finish().code, Some(0));
    let skills = listed["structuredContent"]["skills"]
        .as_array()
        .expect("a list");
    skills
        .iter()
        .filter_map(|skill| skill["meta"]["name"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn a_variable_names_the_directory_where_no_option_does() {
    let project = office();
    let mut command = project.command();
    command
        .env("SKILLS_DIR", "team")
        .env("SKILLS_REPO", "https://example.com/skills.git");
    assert_eq!(served(command), ["PDF forms", "git"]);

    let ran = finish(
        project
            .command()
            .env("SKILLS_REPO", "x")
            .args(["serve", "--bundle", "team.skb"]),
    );
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
}

#[test]
fn standard_roots_come_before_the_embedded_skills_and_may_appear_later() {
    let project = Project::new();
    let embedded = served(project.command());
    assert!(
        embedded.iter().any(|path| path == "writing-skills"),
        "{embedded:?}"
    );

    project.skill(".claude/skills/writing-skills", "writing-skills", "Ours");
    project.skill(".claude/skills/zebra", "zebra", "Ours");
    let overlaid = served(project.command());
    assert_eq!(overlaid, ["writing-skills", "zebra"]);

    let project = Project::new();
    let mut session = project.serve(&[]);
    session.initialize(LEGACY);
    session.tool_text("skill", &json!({"name": "writing-skills"}));
    project.skill(".agent/skills/late", "late", "Came later");
    let text = session.tool_text("skill", &json!({"name": "late"}));
    let base = fs::canonicalize(project.path(".agent/skills/late")).expect("the folder is there");
    assert!(
        text.contains(&format!("Base directory: {}", base.display())),
        "{text}"
    );
    session.finish();
}

#[test]
fn the_cache_is_listed_and_cleaned() {
    let project = Project::new();
    project.skill("skills/git", "git", "Commit with care");
    let empty = project.run(&["cache"]);
    assert_eq!((empty.code, &*empty.stdout), (Some(0), ""));
    assert!(
        empty.stderr.starts_with("nothing is kept in "),
        "{}",
        empty.stderr
    );
    let mut session = project.serve(&["--dir", "skills"]);
    session.initialize(LEGACY);
    session.tool_text("skill", &json!({"name": "git"}));
    session.finish();
    let listed = project.run(&["cache"]).stdout;
    assert!(
        listed.lines().count() == 1 && listed.contains("for directories"),
        "{listed}"
    );
    let unused = project.run(&["cache", "clean"]).stdout;
    assert_eq!(unused, "removed 0 bundles of 0 bytes\n");
    let all = project.run(&["cache", "clean", "--all"]).stdout;
    assert!(all.starts_with("removed 1 bundle of "), "{all}");
    assert_eq!(project.run(&["cache", "list"]).stdout, "");
    let place = project.run(&["cache", "path"]).stdout;
    assert!(place.trim_end().ends_with("/skillbundle"), "{place}");
    let off = finish(
        project
            .command()
            .env("SKILLBUNDLE_CACHE", "off")
            .arg("cache"),
    );
    assert_eq!(off.code, Some(2), "{}", off.stderr);
}

#[test]
fn a_skill_that_breaks_while_served_is_told_once() {
    let project = Project::new();
    project
        .skill("skills/git", "git", "Commit with care")
        .skill("skills/pdf", "pdf", "Fill forms");
    let mut session = project.serve(&["--dir", "skills"]);
    session.initialize(LEGACY);
    session.tool_text("skill", &json!({"name": "git"}));
    project.file("skills/git/SKILL.md", "---\nname: git\n");
    let text = session.tool_text("skill", &json!({"name": "git"}));
    assert!(text.contains("description: Commit with care"), "{text}");
    session.tool_text("skill", &json!({"name": "pdf"}));
    let stderr = session.finish().stderr;
    assert_eq!(stderr.matches("last-good-kept").count(), 1, "{stderr}");
}
