//! What a running server makes of changes on disk. Each test edits files and
//! asks again; `refresh_skills` stands for the timer, so that nothing waits.

use std::fs;
use std::os::unix::process::CommandExt;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::project::{LEGACY, Project, Session, copy_tree, finish};

fn serve(project: &Project, arguments: &[&str]) -> Session {
    let mut session = project.serve(arguments);
    session.initialize(LEGACY);
    session
}

fn refresh(session: &mut Session) {
    session.tool_json("refresh_skills", &json!({}));
}

#[test]
fn a_root_that_comes_later_is_found() {
    let project = Project::new();
    // The standard roots of specification 2 may all be missing at the start; a
    // directory that was named and is not there is a mistake, and said so.
    let mut session = serve(&project, &[]);
    session.tool_error("skill", &json!({ "name": "late" }));
    project.skill(".agent/skills/late", "late", "Came late");
    refresh(&mut session);
    let text = session.tool_text("skill", &json!({ "name": "late" }));
    assert!(text.contains("description: Came late\n"), "{text}");
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

#[test]
fn a_removed_skill_is_gone() {
    let project = Project::new();
    project
        .skill("skills/stays", "stays", "Stays")
        .skill("skills/goes", "goes", "Goes");
    let mut session = serve(&project, &["--dir", "skills"]);
    session.tool_text("skill", &json!({ "name": "goes" }));
    fs::remove_dir_all(project.path("skills/goes")).expect("it was there");
    refresh(&mut session);
    session.tool_error("skill", &json!({ "name": "goes" }));
    session.tool_text("skill", &json!({ "name": "stays" }));
}

/// The last good text of a skill serves while its new text does not parse.
#[test]
fn a_half_written_file_does_not_take_its_skill_away() {
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
    session.tool_text("skill", &json!({ "name": "other" }));
    project.skill("skills/edit", "edit", "the better text");
    refresh(&mut session);
    let text = session.tool_text("skill", &json!({ "name": "edit" }));
    assert!(text.contains("the better text"), "{text}");
}

#[test]
fn a_replaced_bundle_is_taken_up() {
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

/// A bundle that is cut short or overwritten with other bytes: the old one serves.
#[test]
fn a_damaged_bundle_is_not_taken_up() {
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

#[test]
fn a_change_of_the_list_is_told_once_and_only_if_it_was_promised() {
    let project = Project::new();
    project.skill("skills/any", "any", "Any");
    let mut session = project.serve(&["--dir", "skills"]);
    let promised = session.initialize(LEGACY)["capabilities"]["tools"]["listChanged"] == true;
    for _ in 0..3 {
        session.tool_text("skill", &json!({ "name": "any" }));
        refresh(&mut session);
    }
    let told = |session: &mut Session| {
        let notifications = std::mem::take(&mut session.notifications);
        notifications
            .iter()
            .filter(|n| n["method"] == "notifications/tools/list_changed")
            .count()
    };
    assert_eq!(told(&mut session), 0, "told without a change");
    project.skill("skills/more", "more", "More");
    refresh(&mut session);
    // It is told when nothing moves any more; one more exchange brings it here.
    std::thread::sleep(Duration::from_millis(1500));
    session.tool_text("skill", &json!({ "name": "more" }));
    assert_eq!(
        told(&mut session),
        usize::from(promised),
        "promised: {promised}"
    );
    assert_eq!(session.finish().code, Some(0));
}

/// A refresh that comes while one runs is told so; it neither waits nor runs.
#[test]
fn refreshes_at_the_same_time_do_not_pile_up() {
    let project = Project::new();
    for n in 0..300 {
        project.skill(&format!("skills/s{n}"), &format!("s{n}"), "One of many");
    }
    let mut session = serve(&project, &["--dir", "skills"]);
    session.tool_text("skill", &json!({ "name": "s0" }));
    let mut calls = String::new();
    for id in 100..110 {
        calls += &json!({
            "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": { "name": "refresh_skills", "arguments": {} }
        })
        .to_string();
        calls.push('\n');
    }
    session.send_raw(calls.as_bytes());
    let mut done = 0;
    for _ in 100..110 {
        let reply = session.message().expect("each call is answered");
        let answer = &reply["result"]["structuredContent"];
        if answer["success"] == true {
            assert_eq!(answer["skills_reindexed"], 300, "{reply}");
            done += 1;
        } else {
            assert_eq!(answer["success"], false, "{reply}");
            assert!(answer["message"].is_string(), "{reply}");
        }
    }
    assert!(done >= 1, "none of ten refreshes was done");
    session.tool_text("skill", &json!({ "name": "s299" }));
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
fn a_neighbours_file_is_out_of_reach() {
    let project = Project::new();
    project
        .skill("skills/a", "a", "A")
        .skill("skills/b", "b", "B");
    project.file("skills/b/creds.json", "{\"canary\":1}");
    let mut session = serve(&project, &["--dir", "skills"]);
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

#[test]
fn text_is_utf8_whatever_the_locale_says() {
    let project = Project::new();
    let description = "Größe — für „alle“ ✓ 日本";
    project.skill("skills/local", "local", description);
    for language in ["C", "POSIX", "de_DE.ISO-8859-1", "ja_JP.SJIS"] {
        let mut command = project.command();
        command
            .env("LC_ALL", language)
            .env("LANG", language)
            .args(["serve", "--dir", "skills"]);
        let mut session = Session::start(command);
        session.initialize(LEGACY);
        let text = session.tool_text("skill", &json!({ "name": "local" }));
        assert!(
            text.contains(&format!("description: {description}\n")),
            "{language}: {text}"
        );
    }
}

/// A folder and a file that nobody may read end nothing: they are named with
/// what the system said, and the rest is served.
#[test]
fn what_cannot_be_read_is_named() {
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
    fs::copy(env!("CARGO_BIN_EXE_skillbundle"), &binary).expect("the binary can be copied");
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
        let mut command = std::process::Command::new(&binary);
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
