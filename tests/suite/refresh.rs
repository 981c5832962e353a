//! A running server and changes on disk. Each test edits files and calls again;
//! `refresh_skills` stands for the timer, so that no test has to wait for it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::project::{LEGACY, Project, Session, copy_tree, finish, text_of};

fn serve(project: &Project, arguments: &[&str]) -> Session {
    let mut session = project.serve(arguments);
    session.initialize(LEGACY);
    session
}

fn refresh(session: &mut Session) {
    session.tool_json("refresh_skills", &json!({}));
}

#[test]
fn an_edit_of_equal_size_and_time_is_seen() {
    let project = Project::new();
    let set_time = || {
        let file = fs::File::options()
            .append(true)
            .open(project.path("skills/quick/SKILL.md"))
            .expect("the file is there");
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        file.set_times(fs::FileTimes::new().set_modified(time))
            .expect("times can be set");
    };
    project.skill("skills/quick", "quick", "aaaa");
    set_time();
    let mut session = serve(&project, &["--dir", "skills"]);
    assert!(
        session
            .tool_text("skill", &json!({ "name": "quick" }))
            .contains("aaaa")
    );
    project.skill("skills/quick", "quick", "bbbb");
    set_time();
    refresh(&mut session);
    assert!(
        session
            .tool_text("skill", &json!({ "name": "quick" }))
            .contains("bbbb")
    );
}

/// Spec 4 reads the folders at each call, so no tool needs a refresh first.
#[test]
fn every_call_sees_the_latest_files() {
    let project = Project::new();
    project.skill("skills/stays", "stays", "Needs water").skill(
        "skills/goes",
        "goes",
        "Needs water too",
    );
    let mut session = serve(&project, &["--dir", "skills"]);
    let mut found = |wanted: &[&str]| {
        let listed = session.tool("skills_list", &json!({}));
        let searched = session.tool("skills_search", &json!({ "query": "water" }));
        for skills in [
            &listed["structuredContent"]["skills"],
            &searched["structuredContent"]["results"],
        ] {
            let skills = skills.as_array().expect("a list of skills");
            let names = skills.iter().filter_map(|s| s["installName"].as_str());
            // A search orders by relevance.
            assert_eq!(
                names.collect::<BTreeSet<_>>(),
                wanted.iter().copied().collect()
            );
        }
        let loaded = session.tool("skill", &json!({ "name": "goes" }));
        assert_eq!(loaded["isError"] != true, wanted.contains(&"goes"));
    };
    found(&["goes", "stays"]);
    project.skill("skills/late", "late", "Came late, needs water");
    found(&["goes", "late", "stays"]);
    fs::remove_dir_all(project.path("skills/goes")).expect("it was there");
    found(&["late", "stays"]);
}

/// The text of a skill that declares files which ignore rules hide.
fn declaring(files: &[&str]) -> String {
    let files: Vec<_> = files.iter().map(|it| format!("  - file: {it}")).collect();
    let files = files.join("\n");
    format!("---\nname: crate\ndescription: A skill\nassets:\n{files}\n---\nbody\n")
}

/// With a watch from the third call on, and by times and sizes before.
#[test]
fn every_call_sees_the_latest_declared_files_whatever_they_are_called() {
    let project = Project::new();
    project
        .file(
            "skills/crate/SKILL.md",
            declaring(&[".gitignore", "target/d/x"]),
        )
        .file("skills/crate/.gitignore", "first");
    let cache = project.path("cache");
    let start = || {
        let mut command = project.command();
        command
            .args(["serve", "--dir", "skills"])
            .env("SKILLBUNDLE_CACHE", &cache);
        let mut session = Session::start(command);
        session.initialize(LEGACY);
        session
    };
    let read = |session: &mut Session, file: &str| {
        let arguments = json!({ "skill_path": "crate", "file": file });
        let result = session.tool("get_asset", &arguments);
        let text = result["content"][0]["text"].as_str();
        let data: Value = serde_json::from_str(text.expect("a text")).expect("JSON");
        data["content"].as_str().unwrap_or("-").to_owned()
    };
    let mut session = start();
    for _ in 0..6 {
        assert_eq!(read(&mut session, ".gitignore"), "first");
        assert_eq!(read(&mut session, "target/d/x"), "-");
    }
    // Each step is seen by the first call after it, and by the first call of a new process that has
    // looked at the files once.
    for round in 0..3 {
        let text = format!("round {round}");
        project.file("skills/crate/.gitignore", &text);
        assert_eq!(read(&mut session, ".gitignore"), text);
        project.file("skills/crate/target/d/x", &text);
        assert_eq!(read(&mut session, "target/d/x"), text);
        fs::write(project.path("skills/crate/target/d/x"), "edited").expect("it is there");
        assert_eq!(read(&mut session, "target/d/x"), "edited");
        session.finish();
        project.file("skills/crate/.gitignore", "while nobody looked");
        session = start();
        refresh(&mut session);
        assert_eq!(read(&mut session, ".gitignore"), "while nobody looked");
        fs::remove_dir_all(project.path("skills/crate/target")).expect("it was there");
        thread::sleep(Duration::from_millis(60));
        assert_eq!(read(&mut session, "target/d/x"), "-");
    }
    project
        .file("skills/crate/SKILL.md", declaring(&["c~"]))
        .file("skills/crate/c~", "new");
    assert_eq!(read(&mut session, "c~"), "new");
    project.file("skills/crate/c~", "newer");
    assert_eq!(read(&mut session, "c~"), "newer");
    assert_eq!(read(&mut session, ".gitignore"), "-");
    // In a directory that was there, and not watched, before the file was declared.
    project.file("skills/crate/venv/y", "old");
    assert_eq!(read(&mut session, "venv/y"), "-");
    project.file("skills/crate/SKILL.md", declaring(&["venv/y"]));
    for text in ["old", "new", "newer"] {
        project.file("skills/crate/venv/y", text);
        assert_eq!(read(&mut session, "venv/y"), text);
    }
}

/// A directory that a build fills becomes a skill, and is none any more.
#[test]
fn a_skill_called_target_comes_and_goes() {
    let project = Project::new();
    project
        .skill("skills/other", "other", "Other")
        .file("skills/target/debug/x", "");
    let mut session = serve(&project, &["--dir", "skills"]);
    let mut is_served = || session.tool("skill", &json!({ "name": "target" }))["isError"] != true;
    for _ in 0..6 {
        assert!(!is_served());
    }
    project.skill("skills/target", "target", "Aims");
    assert!(is_served());
    fs::remove_file(project.path("skills/target/SKILL.md")).expect("it was there");
    thread::sleep(Duration::from_millis(60));
    assert!(!is_served());
}

/// The last good version of a skill is served while its file does not parse.
#[test]
fn a_half_written_file_keeps_its_last_good_version() {
    let project = Project::new();
    project
        .skill("skills/edit", "edit", "the good text")
        .skill("skills/other", "other", "Other");
    let mut session = serve(&project, &["--dir", "skills"]);
    session.tool_text("skill", &json!({ "name": "edit" }));
    project.file("skills/edit/SKILL.md", "---\nname: edit\ndescription: brok");
    refresh(&mut session);
    let text = session.tool_text("skill", &json!({ "name": "edit" }));
    assert!(text.contains("the good text"), "{text}");
    assert!(text.contains("This is the last good version"), "{text}");
    assert!(text.contains("skills/edit/SKILL.md:"), "{text}");
    session.tool_text("skill", &json!({ "name": "other" }));
    project.skill("skills/edit", "edit", "the better text");
    refresh(&mut session);
    let text = session.tool_text("skill", &json!({ "name": "edit" }));
    assert!(text.contains("the better text"), "{text}");
    assert!(!text.contains("last good version"), "{text}");
}

/// The one error is in the last file; sixty warnings come before it in the order of files.
#[test]
fn a_load_reports_all_its_findings_and_errors_first() {
    let project = Project::new();
    for number in 10..70 {
        let text =
            format!("---\nname: s{number}\ndescription: Does one thing\nversion: 1\n---\nText\n");
        project.file(&format!("skills/s{number}/SKILL.md"), &text);
    }
    project.file("skills/z/SKILL.md", "---\nname: z\n---\nNo description\n");
    let mut session = serve(&project, &["--dir", "skills"]);
    session.tool_text("skill", &json!({ "name": "s10" }));
    let log = session.finish().stderr;
    let findings: Vec<_> = log
        .lines()
        .filter(|line| line.contains("/SKILL.md:"))
        .collect();
    assert!(findings[0].contains("z/SKILL.md"), "{}", findings[0]);
    assert_eq!(findings.len(), 61, "{log}");
}

/// No watch has seen when the file was opened, and there is no earlier version to answer from.
#[test]
fn a_first_load_waits_for_a_file_that_is_being_written() {
    let project = Project::new();
    project.skill("skills/other", "other", "Other");
    project.file("skills/slow/SKILL.md", "---\nname: slow\n");
    let writer = thread::spawn({
        let path = project.path("skills/slow/SKILL.md");
        move || {
            thread::sleep(Duration::from_millis(150));
            fs::write(path, "---\nname: slow\ndescription: Complete\n---\nText\n")
        }
    });
    let mut session = serve(&project, &["--dir", "skills"]);
    let text = session.tool_text("skill", &json!({ "name": "slow" }));
    assert!(text.contains("Complete"), "{text}");
    writer.join().expect("no panic").expect("writable");
}

/// The author of a skill that is missing asks for it, or for the list, and learns what is wrong.
#[test]
fn a_skill_that_never_loaded_is_reported_wherever_it_is_missing() {
    /// Directory, text, what is asked for, and what is said of the file.
    const BROKEN: [(&str, &str, &str, &str); 4] = [
        (
            "plain",
            "---\nname: plain\n---\nText\n",
            " PLAIN ",
            "skills/plain/SKILL.md:1: this skill is not served: `description` is missing",
        ),
        (
            "group/deep",
            "---\nname: deep\ndescription: Never ends\n\nText\n",
            "deep",
            "skills/group/deep/SKILL.md:1: the frontmatter has no closing `---`",
        ),
        (
            "group/list",
            "---\nname: [\n---\nText\n",
            "group/list",
            "skills/group/list/SKILL.md:",
        ),
        (
            "absent",
            "No frontmatter at all\n",
            "skill://absent",
            "skills/absent/SKILL.md",
        ),
    ];
    let project = Project::new();
    project.skill("skills/good", "good", "Good");
    for (directory, text, ..) in BROKEN {
        project.file(&format!("skills/{directory}/SKILL.md"), text);
    }
    // The second server answers from what the first has stored.
    for _ in 0..2 {
        let mut session = serve(&project, &["--dir", "skills"]);
        let listed = session.tool("skills_list", &json!({}));
        let tree = session.tool_json("list_skills", &json!({}));
        let refreshed = session.tool_json("refresh_skills", &json!({}));
        let lists = [&listed["structuredContent"], &tree, &refreshed];
        for (directory, _, asked, reason) in BROKEN {
            let missing = session.tool("skill", &json!({ "name": asked }));
            assert_eq!(missing["isError"], true);
            let texts = [text_of(&missing), text_of(&listed)];
            assert!(
                texts.iter().all(|it| it.contains(reason)),
                "{asked}: {texts:?}"
            );
            for list in lists {
                let entries = list["not_served"].as_array().expect("a list");
                let entry = entries.iter().find(|it| it["path"] == directory);
                let said = entry.map(|it| it["reason"].as_str().unwrap_or_default());
                assert!(said.is_some_and(|it| it.contains(reason)), "{list}");
            }
        }
        let other = session.tool("skill", &json!({ "name": "unknown" }));
        assert!(!text_of(&other).contains("has not loaded"), "{other}");
        assert!(other["structuredContent"].get("not_served").is_none());
    }
    let mut session = serve(&project, &["--dir", "skills"]);
    refresh(&mut session);
    for (directory, ..) in BROKEN {
        let name = directory.rsplit('/').next().expect("a name");
        project.skill(&format!("skills/{directory}"), name, "Fixed");
        let text = session.tool_text("skill", &json!({ "name": name }));
        assert!(text.contains("Fixed"), "{text}");
    }
    let tree = session.tool_json("list_skills", &json!({}));
    assert!(tree.get("not_served").is_none(), "{tree}");
}

#[test]
fn a_replaced_bundle_is_loaded() {
    let project = Project::new();
    project.skill("one/first", "first", "First");
    project.skill("two/second", "second", "Second");
    project.bundle_file(&["one"], "live.skb");
    let mut session = serve(&project, &["--bundle", "live.skb"]);
    session.tool_text("skill", &json!({ "name": "first" }));
    project.bundle_file(&["two"], "next.skb");
    fs::rename(project.path("next.skb"), project.path("live.skb")).expect("same folder");
    refresh(&mut session);
    session.tool_text("skill", &json!({ "name": "second" }));
    session.tool_error("skill", &json!({ "name": "first" }));
}

/// Truncated, flipped, foreign or removed: the previous generation stays current.
#[test]
fn a_damaged_bundle_is_not_loaded() {
    let project = Project::new();
    project.skill("one/first", "first", "First");
    let path = project.bundle_file(&["one"], "live.skb");
    let mut session = serve(&project, &["--bundle", "live.skb"]);
    session.tool_text("skill", &json!({ "name": "first" }));
    let good = fs::read(&path).expect("a bundle");
    let mut flipped = good.clone();
    flipped[40] ^= 1;
    for bad in [
        &b""[..],
        &good[..good.len() / 2],
        b"no bundle at all",
        &flipped,
    ] {
        project.file("next.skb", bad);
        fs::rename(project.path("next.skb"), &path).expect("same folder");
        let _ = session.tool("refresh_skills", &json!({}));
        let text = session.tool_text("skill", &json!({ "name": "first" }));
        assert!(text.contains("description: First\n"), "{text}");
    }
    fs::remove_file(&path).expect("it is there");
    let _ = session.tool("refresh_skills", &json!({}));
    session.tool_text("skill", &json!({ "name": "first" }));
}

/// A folder and a file without read permission: each is reported with the
/// message of the system, and the rest is served.
#[test]
fn unreadable_files_are_reported_and_the_rest_is_served() {
    /// `nobody`, since the superuser can read everything.
    const USER: u32 = 65_534;
    let project = Project::new();
    for name in ["good", "half", "locked"] {
        project.skill(&format!("skills/{name}"), name, "Somebody wrote it");
    }
    let copy = tempfile::Builder::new()
        .prefix("suite-")
        .tempdir()
        .expect("a folder");
    copy_tree(project.dir(), copy.path());
    let binary = copy.path().join("skillbundle");
    // By another process: one that a test starts meanwhile would inherit a file that this one holds
    // open for writing, and nothing can run such a file ("Text file busy").
    let mut copied = Command::new("cp");
    copied.arg(env!("CARGO_BIN_EXE_skillbundle")).arg(&binary);
    assert!(copied.status().expect("cp runs").success());
    let open = |path: &str, mode: u32| {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(copy.path().join(path), fs::Permissions::from_mode(mode))
            .expect("modes can be set");
    };
    open("", 0o755);
    open("skillbundle", 0o755);
    open("skills/half/SKILL.md", 0o000);
    open("skills/locked", 0o000);
    let superuser = fs::read(copy.path().join("skills/half/SKILL.md")).is_ok();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&binary);
        command.current_dir(copy.path()).args(arguments);
        if superuser {
            command.uid(USER).gid(USER);
        }
        finish(&mut command)
    };
    let (listed, checked) = (
        run(&["list", "--dir", "skills", "--json"]),
        run(&["compile", "--check", "skills", "--json"]),
    );
    open("skills/locked", 0o755);
    let names = |text: &str, key: &str, field: &str| -> Vec<String> {
        let all: Value = serde_json::from_str(text).expect("--json prints JSON");
        let rows = all[key].as_array().expect("a list");
        rows.iter()
            .map(|row| row[field].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(names(&listed.stdout, "skills", "name"), ["good"]);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    let files = names(&checked.stdout, "findings", "file");
    assert_eq!(files, ["skills/half/SKILL.md", "skills/locked"]);
    for message in names(&checked.stdout, "findings", "message") {
        assert!(message.contains("Permission denied"), "{message}");
    }
}
