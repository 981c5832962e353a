//! Skills from git repositories, through the shipped binary: what a server does while its repository
//! moves, is rewritten, is away or refuses, and where the token is meanwhile. How a repository is
//! mirrored is tested beside that code.

mod leaks;
mod load;
mod tls;

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::project::{LEGACY, Project, Session, bytes_of, finish};
use skillbundle_testkit::{GitServer, Origin, Serve};

/// What allows the repositories of tests.
const ALLOW: [&str; 2] = ["--set", "git.protocols=file,http"];

/// The text of a skill.
fn skill(name: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name} for people who need it.\n---\n{body}\n")
}

/// A repository with one skill, `pdf`, and its URL.
fn one_skill() -> (Origin, String) {
    let origin = Origin::new();
    origin.commit_files(&[("skills/pdf/SKILL.md", &skill("pdf", "first"))]);
    let url = format!("file://{}", origin.bare().display());
    (origin, url)
}

fn command(project: &Project, words: &[&str], url: &str) -> Command {
    let mut command = project.command();
    command.args(words).args(ALLOW).args(["--repo", url]);
    command
}

fn serve(project: &Project, url: &str) -> Session {
    let mut session = Session::start(command(project, &["serve"], url));
    session.initialize(LEGACY);
    session
}

/// Refreshes, once the refresh at the start has ended.
fn refresh(session: &mut Session) -> Value {
    loop {
        let answer = session.tool("refresh_skills", &json!({}));
        let answer = answer["structuredContent"].clone();
        if answer["message"] != "Another refresh is under way." {
            return answer;
        }
    }
}

fn text(session: &mut Session) -> String {
    session.tool_text("skill", &json!({ "name": "pdf" }))
}

#[test]
fn a_server_follows_its_repository() {
    let (origin, url) = one_skill();
    let project = Project::new();
    let mut session = serve(&project, &url);
    assert!(text(&mut session).contains("first"));
    assert_eq!(refresh(&mut session)["files_changed"], 0);

    let second = origin.commit_files(&[
        ("skills/pdf/SKILL.md", &skill("pdf", "second")),
        ("skills/new/SKILL.md", &skill("new", "new")),
        ("README.md", "elsewhere"),
    ]);
    let answer = refresh(&mut session);
    let last_sync = answer["last_sync"].clone();
    assert!(
        last_sync.as_str().is_some_and(|it| it.ends_with('Z')),
        "{answer}"
    );
    assert_eq!(
        answer,
        json!({
            "success": true,
            "mode": "git",
            "files_changed": 2,
            "commit_hash": second,
            "last_sync": last_sync,
            "repositories": [{
                "repository": url,
                "branch": "main",
                "commit_hash": second,
                "last_sync": last_sync,
                "error": null,
            }],
            "skills_reindexed": 2,
            "message": format!("Synchronised with {url}."),
        })
    );
    assert!(text(&mut session).contains("second"));

    origin.git(&["checkout", "--quiet", "--orphan", "rewritten"]);
    fs::remove_dir_all(origin.work().join("skills/new")).expect("it is there");
    let third = origin.commit_files(&[("skills/pdf/SKILL.md", &skill("pdf", "third"))]);
    let answer = refresh(&mut session);
    assert_eq!(
        (
            &answer["commit_hash"],
            &answer["files_changed"],
            &answer["skills_reindexed"]
        ),
        (&third.into(), &2.into(), &1.into())
    );
    assert!(text(&mut session).contains("third"));
}

#[test]
fn a_repository_that_is_away_is_served_from_its_copy() {
    let (origin, url) = one_skill();
    let project = Project::new();
    assert_eq!(
        finish(&mut command(&project, &["list"], &url)).code,
        Some(0)
    );
    fs::rename(origin.bare(), origin.room().join("away")).expect("it is there");
    let mut session = serve(&project, &url);
    assert!(text(&mut session).contains("first"));
    let answer = refresh(&mut session);
    assert_eq!(
        (&answer["success"], &answer["mode"]),
        (&false.into(), &"git".into())
    );
    let message = answer["message"].as_str().expect("a text");
    assert!(message.contains("git ls-remote"), "{message}");
    assert!(message.contains("still served"), "{message}");
    assert!(answer["commit_hash"].is_string(), "{answer}");
    assert_eq!(
        answer["repositories"][0]["error"]
            .as_str()
            .map(|it| message.contains(it)),
        Some(true)
    );
    assert!(text(&mut session).contains("first"));

    fs::rename(origin.room().join("away"), origin.bare()).expect("it is there");
    origin.commit_files(&[("skills/pdf/SKILL.md", &skill("pdf", "second"))]);
    assert_eq!(refresh(&mut session)["success"], true);
    assert!(text(&mut session).contains("second"));
}

#[test]
fn where_there_never_was_a_copy_the_skills_of_the_program_are_served_and_it_is_said() {
    let (origin, url) = one_skill();
    let away = origin.room().join("away");
    fs::rename(origin.bare(), &away).expect("it is there");
    let project = Project::new();
    let mut session = serve(&project, &url);
    let listed = session.tool("skills_list", &json!({}));
    let skills = listed["structuredContent"]["skills"]
        .as_array()
        .map_or(0, Vec::len);
    assert!(skills > 0, "{listed}");
    fs::rename(&away, origin.bare()).expect("it is there");
    assert_eq!(refresh(&mut session)["skills_reindexed"], 1);
    assert!(text(&mut session).contains("first"));
    let ended = session.finish();
    for part in [
        "does not appear to be a git repository",
        "are served instead",
    ] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }

    fs::rename(origin.bare(), &away).expect("it is there");
    let project = Project::new();
    let failed = finish(&mut command(&project, &["list"], &url));
    assert_eq!(
        (failed.code, &*failed.stdout),
        (Some(2), ""),
        "{}",
        failed.stderr
    );
}

#[test]
fn what_is_not_served_of_a_repository_is_said() {
    let (origin, url) = one_skill();
    std::os::unix::fs::symlink("../pdf", origin.work().join("skills/linked")).expect("writable");
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n";
    origin.commit_files(&[("skills/large/SKILL.md", pointer)]);
    let project = Project::new();
    let listed = finish(&mut command(&project, &["list"], &url));
    assert_eq!(listed.stdout.lines().count(), 1, "{}", listed.stdout);
    for part in [
        "linked (a symbolic link)",
        "large/SKILL.md (a pointer of Git LFS, not the file)",
    ] {
        assert!(listed.stderr.contains(part), "{part}: {}", listed.stderr);
    }
}

#[test]
fn several_repositories_are_one_library() {
    let (first, first_url) = one_skill();
    let (second, second_url) = one_skill();
    let other = skill("other", "other");
    second.commit_files(&[("skills/other/SKILL.md", &other)]);
    let project = Project::new();
    let mut list = command(&project, &["list", "--json"], &first_url);
    let listed = finish(list.args(["--repo", &second_url]));
    let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    let paths: Vec<_> = listed["skills"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| &it["path"])
        .collect();
    assert_eq!(paths, ["pdf", "other"]);
    let commits: Vec<_> = listed["roots"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| it["commit"].clone())
        .collect();
    let heads = [&first, &second].map(|it| Value::from(it.git(&["rev-parse", "HEAD"])));
    assert_eq!(commits, heads);
}

#[test]
fn a_doctor_looks_at_the_copy_and_leaves_the_repository_alone() {
    let (_origin, url) = one_skill();
    let project = Project::new();
    let missing = finish(&mut command(&project, &["doctor"], &url));
    assert_eq!(missing.code, Some(1), "{}", missing.stdout);
    assert!(
        missing.stdout.contains("no copy of it on this machine yet"),
        "{}",
        missing.stdout
    );
    finish(&mut command(&project, &["list"], &url));
    for by_variable in [false, true] {
        let mut doctor = project.command();
        doctor.arg("doctor").args(ALLOW);
        if by_variable {
            doctor.env("SKILLS_REPO", &url);
        } else {
            doctor.args(["--repo", &url]);
        }
        let ran = finish(&mut doctor);
        assert_eq!(ran.code, Some(0), "{by_variable}: {}", ran.stdout);
        assert!(
            ran.stdout.contains("it would synchronise"),
            "{}",
            ran.stdout
        );
    }
}

/// One of them was never there, at this start and at the next.
#[test]
fn a_repository_that_is_missing_does_not_hold_back_the_others() {
    let (_first, url) = one_skill();
    let (second, missing) = one_skill();
    fs::rename(second.bare(), second.room().join("away")).expect("it is there");
    let project = Project::new();
    for start in 1..=3 {
        let mut command = command(&project, &["serve", "--repo", &missing], &url);
        command.args(["--set", "log.level=info"]);
        let mut session = Session::start(command);
        session.initialize(LEGACY);
        let answer = refresh(&mut session);
        assert_eq!(answer["success"], false, "{start}: {answer}");
        assert!(text(&mut session).contains("first"), "{start}");
        let ended = session.finish();
        assert!(
            !ended.stderr.contains("was removed"),
            "{start}: {}",
            ended.stderr
        );
    }
}

#[test]
fn a_bundle_of_a_repository_has_its_commit_and_nothing_else_of_it() {
    let (origin, url) = one_skill();
    let head = origin.git(&["rev-parse", "HEAD"]);
    let project = Project::new();
    let work = origin.work().join("skills").display().to_string();
    let compile = |extra: &[&str], to: &str| {
        let mut command = project.command();
        finish(command.args(["compile", "-o", to]).args(extra))
    };
    let compiled = compile(&[ALLOW[0], ALLOW[1], "--repo", &url], "a.skb");
    assert_eq!(compiled.code, Some(0), "{}", compiled.stderr);
    assert_eq!(compile(&[&work, "--commit"], "b.skb").code, Some(0));
    assert_eq!(compile(&[&work], "c.skb").code, Some(0));
    for (file, expected) in [
        ("a.skb", Value::from(&*head)),
        ("b.skb", head.into()),
        ("c.skb", Value::Null),
    ] {
        let inspected = project.run(&["inspect", "--json", file]);
        let inspected: Value = serde_json::from_str(&inspected.stdout).expect("JSON");
        assert_eq!(inspected["roots"][0]["commit"], expected, "{file}");
    }
    // Without it, the commit makes no difference.
    let compiled = skillbundle_compiler::compile(
        &[skillbundle_compiler::Root::project(&work)],
        &skillbundle_compiler::Options::default(),
    );
    let bytes = bytes_of(&compiled.expect("readable"));
    assert_eq!(fs::read(project.path("c.skb")).expect("written"), bytes);
}

#[test]
fn a_commit_is_noted_only_if_nothing_differs_from_it() {
    let check = |origin: &Origin| {
        let project = Project::new();
        let work = origin.work().join("skills").display().to_string();
        project.run(&["compile", "--check", "--commit", &work])
    };
    let (origin, _) = one_skill();
    let file = origin.work().join("skills/pdf/SKILL.md");
    let committed = fs::read(&file).expect("it is there");
    let refused = |origin: &Origin, named: &str| {
        let checked = check(origin);
        assert_eq!(checked.code, Some(2), "{named}: {}", checked.stderr);
        assert!(
            checked.stderr.contains(named),
            "{named}: {}",
            checked.stderr
        );
    };
    assert_eq!(check(&origin).code, Some(0));
    fs::write(&file, skill("pdf", "edited")).expect("writable");
    refused(&origin, "`pdf` differ");
    fs::write(
        &file,
        String::from_utf8_lossy(&committed).replace('\n', "\r\n"),
    )
    .expect("writable");
    refused(&origin, "`pdf` differ");
    fs::write(&file, &committed).expect("writable");
    // Also what git ignores.
    origin.write(&[
        (".gitignore", "extra\n"),
        ("skills/extra/SKILL.md", &skill("extra", "x")),
    ]);
    refused(&origin, "`extra` differ");
    fs::remove_dir_all(origin.work().join("skills/extra")).expect("it is there");
    origin.write(&[("skills/config.yaml", "matching: {min_score: 0.9}\n")]);
    refused(&origin, "config.yaml");
    fs::remove_file(origin.work().join("skills/config.yaml")).expect("it is there");
    assert_eq!(check(&origin).code, Some(0));
    fs::remove_dir_all(origin.work().join(".git")).expect("it is there");
    refused(&origin, "not a git repository");
}

#[test]
fn what_names_no_repository_is_an_error_that_repeats_no_password() {
    let project = Project::new();
    let token = "secret0123";
    for (url, parts) in [
        (
            "https://me:secret0123@h.example/r",
            &["holds a user name or a password", "GITHUB_TOKEN"][..],
        ),
        ("https://h.example/r?token=secret0123", &["parameters"]),
        (
            "http://h.example/r#--upload-pack=touch",
            &["no branch, tag or full hash"],
        ),
        ("--upload-pack=touch x", &["expected URL"]),
        ("ext::sh -c touch", &["expected URL"]),
        (
            "skills",
            &["expected URL", "a directory is named without --repo"],
        ),
    ] {
        let mut command = project.command();
        command.args(["list", &format!("--repo={url}")]);
        let ran = finish(&mut command);
        assert_eq!(
            (ran.code, &*ran.stdout),
            (Some(2), ""),
            "{url}: {}",
            ran.stderr
        );
        assert!(!ran.stderr.contains(token), "{}", ran.stderr);
        for part in parts {
            assert!(ran.stderr.contains(part), "{url}: {}", ran.stderr);
        }
    }
    for (url, part) in [
        ("file:///srv/r.git", "file is not allowed"),
        ("http://h.example/r", "http is not allowed"),
    ] {
        let ran = project.run(&["list", "--repo", url]);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
        assert!(ran.stderr.contains("git.protocols="), "{}", ran.stderr);
    }
    assert!(!project.path("touch").exists());
}

#[test]
fn the_environment_names_a_repository_and_its_branch() {
    let (origin, url) = one_skill();
    origin.git(&["checkout", "--quiet", "-b", "dev"]);
    origin.commit_files(&[("skills/pdf/SKILL.md", &skill("pdf", "of dev"))]);
    origin.git(&[
        "push",
        "--quiet",
        "origin",
        "HEAD~1:refs/heads/main",
        "HEAD:refs/heads/dev",
        "--force",
    ]);
    let project = Project::new();
    for (branch, expected) in [("", "first"), ("main", "first"), ("dev", "of dev")] {
        let mut show = project.command();
        show.args(["show", "pdf"]).args(ALLOW);
        show.env("SKILLS_REPO", &url).env("SKILLS_BRANCH", branch);
        let shown = finish(&mut show);
        assert!(
            shown.stdout.contains(expected),
            "{branch}: {}{}",
            shown.stdout,
            shown.stderr
        );
    }
    // SKILLS_DIR comes first, as spec 3 has it.
    project.skill("skills/own", "own", "x");
    let mut list = project.command();
    list.arg("list")
        .env("SKILLS_REPO", &url)
        .env("SKILLS_DIR", "skills");
    assert!(finish(&mut list).stdout.starts_with("own"));
}

/// The token goes to the host of `SKILLS_REPO`, to those of the setting, and to no other.
#[test]
fn the_token_goes_to_its_hosts_alone() {
    let (origin, _) = one_skill();
    let server = GitServer::start(origin.room(), Serve::WithToken("canary".to_owned()));
    let url = server.url("origin.git");
    let project = Project::new();
    let list = |variable: bool, more: &[&str]| {
        let mut command = project.command();
        command
            .arg("list")
            .args(ALLOW)
            .args(more)
            .env("GITHUB_TOKEN", "canary");
        if variable {
            command.env("SKILLS_REPO", &url);
        } else {
            command.args(["--repo", &url]);
        }
        finish(&mut command)
    };
    let refused = list(false, &[]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("git.token_hosts="),
        "{}",
        refused.stderr
    );
    let sent = server
        .heads()
        .into_iter()
        .filter(|it| it.to_lowercase().contains("authorization"));
    assert_eq!(sent.count(), 0);
    let host = format!("git.token_hosts={}", server.host());
    assert_eq!(list(false, &["--set", &host]).code, Some(0));
    assert_eq!(list(true, &[]).code, Some(0));
}

#[test]
fn the_cache_lists_mirrors_and_removes_those_that_nobody_uses() {
    let (_origin, url) = one_skill();
    let project = Project::new();
    let cache = |action: &str, more: &[&str]| {
        let mut command = project.command();
        let ran = finish(command.args(["cache", action, "--json"]).args(more));
        serde_json::from_str::<Value>(&ran.stdout).expect("JSON")
    };
    let mut session = serve(&project, &url);
    refresh(&mut session);
    let listed = cache("list", &[]);
    assert_eq!(listed["mirrors"][0]["repository"], url, "{listed}");
    assert_eq!(cache("clean", &[])["removed_mirror_count"], 0);
    assert_eq!(cache("clean", &["--all"])["removed_mirror_count"], 1);
    assert_eq!(cache("list", &[])["mirrors"], json!([]));
    // The server has what it had, and makes a new one.
    assert!(text(&mut session).contains("first"));
    assert_eq!(refresh(&mut session)["success"], true);
    assert_eq!(
        cache("list", &[])["mirrors"].as_array().map(Vec::len),
        Some(1)
    );
}
