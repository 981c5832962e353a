//! `skillbundle doctor`: what it says of healthy and of broken machines (goldens in `tests/cli`),
//! that it writes nothing, and that nothing in a host's configuration hurts it or is let out.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use crate::project::{LEGACY, Output, Project, Session, assert_golden, finish, workspace};

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_skillbundle");

/// What must never be printed.
const SECRET: &str = "hunter2";

/// A machine: the home directory `home` with an empty repository `home/work`, in which the program
/// runs, and `bin` as the only directory in `PATH`.
struct Machine(Project);

impl Machine {
    fn new() -> Self {
        let machine = Self(Project::new());
        machine
            .0
            .file("home/work/.git/HEAD", "ref: refs/heads/main\n");
        machine
            .0
            .file("bin/other.sh", "#!/bin/sh\n")
            .mode("bin/other.sh", 0o755);
        machine
    }

    /// A machine with this program in `PATH`.
    fn installed() -> Self {
        let machine = Self::new();
        machine.0.link("bin/skillbundle", PROGRAM);
        // The runner of a script that is built in.
        machine.0.link("bin/bash", "/bin/bash");
        machine
    }

    fn command(&self) -> Command {
        let mut command = self.0.command();
        command
            .current_dir(self.0.path("home/work"))
            .env("HOME", self.0.path("home"))
            .env("PATH", self.0.path("bin"))
            .env("XDG_CACHE_HOME", self.0.path("home/.cache"))
            .env("XDG_CONFIG_HOME", self.0.path("home/.config"));
        command
    }

    fn doctor(&self, arguments: &[&str]) -> Output {
        finish(self.command().arg("doctor").args(arguments))
    }

    /// The findings of one check: level, place, message and help.
    fn findings(&self, check: &str) -> Vec<[String; 4]> {
        findings(&self.doctor(&["--json"]), check)
    }

    fn serve(&self) -> Session {
        let mut command = self.command();
        command.arg("serve");
        Session::start(command)
    }

    /// Takes out what differs between machines and builds.
    fn masked(&self, said: &str) -> String {
        let dir = fs::canonicalize(self.0.dir()).expect("it exists");
        let said = said
            .replace(&*dir.to_string_lossy(), "<dir>")
            .replace(&*self.0.dir().to_string_lossy(), "<dir>")
            .replace(PROGRAM, "<program>")
            .replace(env!("CARGO_PKG_VERSION"), "<version>");
        let depends_on_isolation = |line: &&str| OF_ISOLATION.iter().any(|it| line.contains(it));
        let lines = said.lines().filter(|line| !depends_on_isolation(line));
        lines.map(|line| mask_line(line) + "\n").collect()
    }
}

/// What is in lines of the report that only some levels of isolation have.
const OF_ISOLATION: [&str; 3] = ["a script can ", "no isolation by ", "docs/scripts.md says"];

fn mask_line(line: &str) -> String {
    if line.contains("isolation of scripts: ") {
        return "  <level>  isolation of scripts: <isolation>".to_owned();
    }
    let starts = [
        ("features ", "features <features>"),
        (" linux ", " linux <release>"),
        ("standard output in ", "standard output in <n> ms"),
        ("open files: ", "open files: <n>"),
        (
            "limits for all your programs: ",
            "limits for all your programs: <n>",
        ),
        ("embedded: ", "embedded: <n>"),
    ];
    for (start, masked) in starts {
        if let Some(at) = line.find(start) {
            return line[..at].to_owned() + masked;
        }
    }
    let counted = [" MiB free", " places can be watched", " skills offered"];
    for end in counted {
        if let Some(at) = line.find(end) {
            let digits = |c: char| c.is_ascii_digit() || c == ',';
            return format!("{}<n>{}", line[..at].trim_end_matches(digits), &line[at..]);
        }
    }
    line.to_owned()
}

fn findings(ran: &Output, check: &str) -> Vec<[String; 4]> {
    let printed: Value = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", ran.stdout, ran.stderr));
    let all = printed["checks"].as_array().expect("a list").iter();
    let fields = ["level", "place", "message", "help"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    all.filter(|it| it["check"] == check)
        .map(|it| fields.map(|field| text(&it[field])))
        .collect()
}

/// Asserts that there is a finding of this level whose message, place or help has each of these.
fn assert_found(findings: &[[String; 4]], level: &str, parts: &[&str]) {
    let has = |it: &[String; 4]| {
        let text = it[1..].join("\n");
        it[0] == level && parts.iter().all(|part| text.contains(part))
    };
    assert!(
        findings.iter().any(has),
        "no {level} with {parts:?}: {findings:#?}"
    );
}

/// Every file below a directory with what identifies its state.
fn snapshot(dir: &Path) -> BTreeMap<String, (u64, SystemTime, Vec<u8>)> {
    let mut all = BTreeMap::new();
    let mut left = vec![dir.to_owned()];
    while let Some(path) = left.pop() {
        let metadata = fs::symlink_metadata(&path).expect("it is there");
        let modified = metadata.modified().expect("a time");
        let bytes = if metadata.is_file() {
            fs::read(&path).expect("readable")
        } else {
            Vec::new()
        };
        if metadata.is_dir() {
            let entries = fs::read_dir(&path).expect("readable");
            left.extend(entries.map(|entry| entry.expect("an entry").path()));
        }
        let name = path.display().to_string();
        all.insert(name, (metadata.len(), modified, bytes));
    }
    all
}

#[test]
fn the_report_of_a_healthy_and_of_a_broken_machine() {
    let healthy = Machine::installed();
    healthy
        .0
        .skill("home/.claude/skills/git", "git", "Commit with care")
        .file(
            "home/.claude.json",
            json!({"mcpServers": {"skills": {"command": PROGRAM, "args": ["serve"]}}}).to_string(),
        );
    let ran = healthy.doctor(&[]);
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{}", ran.stdout);
    let mut report = format!("# Healthy.\n{}", healthy.masked(&ran.stdout));

    let broken = Machine::new();
    broken
        .0
        .skill("home/.claude/skills/git", "git", "Commit with care")
        .skill("home/work/.claude/skills/git", "git", "Commit without care")
        .file("home/work/.claude/skills/bad/SKILL.md", "---\nname: bad\n---\n")
        .link("home/work/.claude/skills/gone", "nowhere")
        .link("home/work/.agents/skills", "../.claude/skills")
        .file("bin/skillbundle", "#!/bin/sh\n")
        .mode("bin/skillbundle", 0o755)
        .file("home/.cache/skillbundle/planted", "")
        .mode("home/.cache/skillbundle", 0o777)
        .file(
            "home/.codex/config.toml",
            "[mcp_servers.skills]\ncommand = \"/opt/skillbundle\"\nargs = [\"serve\", \"--dir\", \"/skills\"]\n",
        );
    let ran = finish(
        broken
            .command()
            .args(["doctor"])
            .env("SKILLBUNDLE_LOG", "loud")
            .env("SKILLBUNDLE_CAHCE", "off"),
    );
    assert_eq!((ran.code, &*ran.stderr), (Some(1), ""), "{}", ran.stdout);
    let _ = write!(report, "\n# Broken.\n{}", broken.masked(&ran.stdout));
    assert_golden(&workspace().join("tests/cli/doctor.txt"), &report);
}

/// `tests/cli/doctor-hosts.txt`: after `# ` the name of a case, after `$ ` a file of a host, after
/// `| ` its lines, in which `{program}` and `{dir}` are replaced, then what is said of it.
#[test]
fn every_configuration_of_a_host_gets_its_findings() {
    let path = workspace().join("tests/cli/doctor-hosts.txt");
    let cases = fs::read_to_string(&path).expect("the cases are there");
    let mut report = String::new();
    for case in cases.split("\n# ") {
        let case = case.trim_start_matches("# ");
        let (name, rest) = case.split_once("\n$ ~/").expect("a file");
        let (file, rest) = rest.split_once('\n').expect("lines");
        let lines = rest.lines().filter_map(|line| line.strip_prefix('|'));
        let lines: Vec<_> = lines
            .map(|line| line.strip_prefix(' ').unwrap_or(line))
            .collect();
        let _ = write!(report, "# {name}\n$ ~/{file}\n");
        for line in &lines {
            let _ = writeln!(report, "{}", format!("| {line}").trim_end());
        }
        let machine = Machine::new();
        let dir = machine.0.dir().to_str().expect("UTF-8");
        let text = lines.join("\n");
        let text = text.replace("{program}", PROGRAM).replace("{dir}", dir);
        machine.0.file(&format!("home/{file}"), text);
        machine.0.file("lib/x", "");
        let ran = machine.doctor(&["--json"]);
        let found = findings(&ran, "hosts");
        let has_problem = found.iter().any(|it| it[0] == "problem");
        let code = Some(i32::from(has_problem));
        assert_eq!(ran.code, code, "{name}: {}", ran.stdout);
        let printed = machine.doctor(&[]);
        for said in [&ran.stdout, &ran.stderr, &printed.stdout, &printed.stderr] {
            assert!(!said.contains(SECRET), "{name}: {said}");
        }
        let lines = printed.stdout.split_once("Agent hosts\n");
        let lines = lines.expect("the check").1.split("\n\n").next();
        let lines = lines.unwrap_or_default();
        let is_control = |c: char| c.is_control() && c != '\n';
        assert!(!lines.contains(is_control), "{lines:?}");
        let _ = writeln!(report, "{}", machine.masked(lines));
    }
    assert_golden(&path, &(report.trim_end_matches('\n').to_owned() + "\n"));
}

#[test]
fn a_hostile_file_in_place_of_a_configuration_is_a_finding() {
    const FILE: &str = "home/.gemini/settings.json";
    type Make = fn(&Project);
    let cases: [(&str, Make, &str); 8] = [
        (
            "a pipe",
            |it| make_pipe(&it.path(FILE)),
            "not a regular file",
        ),
        (
            "a terminal or device",
            |it| {
                it.link(FILE, "/dev/zero");
            },
            "not a regular file",
        ),
        (
            "a directory",
            |it| fs::create_dir(it.path(FILE)).unwrap(),
            "not a regular file",
        ),
        (
            "a link to itself",
            |it| {
                it.link(FILE, "settings.json");
            },
            "symbolic links",
        ),
        (
            "one gigabyte",
            |it| {
                it.file(FILE, "{");
                let file = fs::File::options().write(true).open(it.path(FILE));
                file.unwrap().set_len(1 << 30).unwrap();
            },
            "larger than 32 MiB",
        ),
        (
            "deep",
            |it| {
                it.file(FILE, "[".repeat(1_000_000));
            },
            "not valid JSON",
        ),
        (
            "binary",
            |it| {
                it.file(FILE, [0xff, 0xfe, 0, 1]);
            },
            "not UTF-8",
        ),
        (
            "zeros",
            |it| {
                it.file(FILE, vec![0; 1 << 20]);
            },
            "not valid JSON",
        ),
    ];
    for (name, make, reason) in cases {
        let machine = Machine::new();
        fs::create_dir(machine.0.path("home/.gemini")).unwrap();
        make(&machine.0);
        let start = Instant::now();
        let found = machine.findings("hosts");
        assert!(start.elapsed() < Duration::from_secs(20), "{name}");
        assert_found(
            &found,
            "warning",
            &["settings.json", "Gemini CLI cannot use this file", reason],
        );
    }
}

fn make_pipe(path: &Path) {
    let made = Command::new("mkfifo")
        .arg(path)
        .status()
        .expect("mkfifo runs");
    assert!(made.success());
}

#[test]
fn nothing_on_disk_changes() {
    for is_cached in [false, true] {
        let machine = Machine::installed();
        machine
            .0
            .skill("home/.claude/skills/git", "git", "Commit with care");
        if is_cached {
            let mut session = machine.serve();
            session.initialize(LEGACY);
            session.tool_text("skills_list", &json!({}));
            session.finish();
        }
        let before = snapshot(machine.0.dir());
        let ran = machine.doctor(&["--json"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stdout);
        assert_eq!(snapshot(machine.0.dir()), before);
        let bundle = machine.0.bundle_file(&["home/.claude/skills"], "team.skb");
        let before = snapshot(machine.0.dir());
        let ran = machine.doctor(&[bundle.to_str().unwrap()]);
        assert_eq!(ran.code, Some(0), "{}", ran.stdout);
        assert_eq!(snapshot(machine.0.dir()), before);
    }
}

#[test]
fn the_cache_says_what_the_next_start_does() {
    let machine = Machine::new();
    machine
        .0
        .skill("home/.claude/skills/git", "git", "Commit with care")
        .skill("home/.claude/skills/pdf", "pdf", "Fill forms");
    assert_found(&machine.findings("cache"), "ok", &["does not exist yet"]);
    let mut session = machine.serve();
    session.initialize(LEGACY);
    session.tool_text("skill", &json!({"name": "git"}));
    session.finish();
    assert_found(&machine.findings("cache"), "ok", &["1 bundle"]);
    assert_found(&machine.findings("cache"), "ok", &["compiles nothing"]);
    machine
        .0
        .file("home/.claude/skills/git/SKILL.md", "---\nname: git\n");
    let found = machine.findings("cache");
    assert_found(&found, "ok", &["compiles what has changed"]);
    // The next server still has the good version, and so does `doctor`.
    let found = machine.findings("skills");
    assert_found(
        &found,
        "warning",
        &[
            "git",
            "last good version is served",
            "less than a minute ago",
        ],
    );
    assert_found(&found, "problem", &["git/SKILL.md"]);
}

#[test]
fn a_cache_that_is_not_used_is_reported() {
    type Make = fn(&Project);
    let cases: [(&str, Make, &str, &str); 5] = [
        (
            "planted",
            |it| {
                it.file("home/.cache/skillbundle/x", "")
                    .mode("home/.cache/skillbundle", 0o777);
            },
            "problem",
            "other users could put files there",
        ),
        (
            "a file",
            |it| {
                it.file("home/.cache/skillbundle", "");
            },
            "problem",
            "not a directory",
        ),
        (
            "a link",
            |it| {
                it.link("home/.cache/skillbundle", "/tmp");
            },
            "problem",
            "not a directory",
        ),
        (
            "replaceable",
            |it| {
                it.file("home/.cache/x", "").mode("home/.cache", 0o777);
            },
            "problem",
            "every user can write to this directory",
        ),
        (
            "sticky",
            |it| {
                it.file("home/.cache/x", "").mode("home/.cache", 0o1777);
            },
            "ok",
            "does not exist yet",
        ),
    ];
    for (name, make, level, message) in cases {
        let machine = Machine::new();
        make(&machine.0);
        let ran = machine.doctor(&["--json"]);
        assert_found(&findings(&ran, "cache"), level, &[message]);
        assert_eq!(
            ran.code,
            Some(i32::from(level == "problem")),
            "{name}: {}",
            ran.stdout
        );
    }
    let machine = Machine::new();
    machine
        .0
        .skill("home/.claude/skills/git", "git", "Commit with care");
    for (value, level, message) in [
        ("off", "info", "turned off"),
        ("../.claude/skills/cache", "warning", "lies in the root"),
    ] {
        let ran = finish(
            machine
                .command()
                .args(["doctor", "--json"])
                .env("SKILLBUNDLE_CACHE", value),
        );
        assert_found(&findings(&ran, "cache"), level, &[message]);
    }
}

#[test]
fn a_lock_of_git_is_reported() {
    let machine = Machine::new();
    machine
        .0
        .skill("home/work/.claude/skills/git", "git", "Commit with care");
    machine.0.file("home/work/.git/index.lock", "");
    assert_found(
        &machine.findings("roots"),
        "info",
        &["index.lock", "git is changing files"],
    );
    let lock = fs::File::open(machine.0.path("home/work/.git/index.lock")).unwrap();
    lock.set_modified(SystemTime::now() - Duration::from_secs(3600))
        .unwrap();
    assert_found(
        &machine.findings("roots"),
        "warning",
        &["index.lock", "git that died"],
    );
}

#[test]
fn what_was_named_and_is_of_no_use_is_a_problem() {
    let machine = Machine::new();
    machine
        .0
        .skill("skills/git", "git", "Commit with care")
        .file("home/work/notes.txt", "notes");
    let bundle = machine.0.bundle_file(&["skills"], "home/work/team.skb");
    let mut bytes = fs::read(&bundle).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    machine.0.file("home/work/damaged.skb", bytes);
    for (arguments, code, message) in [
        (&["team.skb"][..], 0, "1 skill"),
        (&["damaged.skb"], 1, "damaged.skb"),
        (&["nowhere"], 1, "nowhere"),
        (&["notes.txt"], 1, "holds no skills"),
        (&["--dir", "notes.txt"], 1, "holds no skills"),
    ] {
        let ran = machine.doctor(&[arguments, &["--json"]].concat());
        assert_eq!(ran.code, Some(code), "{arguments:?}: {}", ran.stdout);
        let level = if code == 0 { "ok" } else { "problem" };
        assert_found(&findings(&ran, "roots"), level, &[message]);
    }
    assert_eq!(machine.doctor(&["--unknown"]).code, Some(2));
}

#[test]
fn other_programs_in_path_and_wrong_variables_are_reported() {
    let machine = Machine::new();
    assert_found(&machine.findings("program"), "info", &["not in PATH"]);
    machine
        .0
        .file("bin/skillbundle", "#!/bin/sh\n")
        .mode("bin/skillbundle", 0o755);
    assert_found(
        &machine.findings("program"),
        "warning",
        &["bin/skillbundle"],
    );
    machine.0.link("first/skillbundle", PROGRAM);
    let path = format!(
        "{}:{}",
        machine.0.path("first").display(),
        machine.0.path("bin").display()
    );
    let ran = finish(
        machine
            .command()
            .args(["doctor", "--json"])
            .env("PATH", path),
    );
    assert_found(
        &findings(&ran, "program"),
        "info",
        &["bin/skillbundle", "later in PATH"],
    );
    for (name, value, part) in [
        ("SKILLS_REPO", "x", "expected URL"),
        ("SKILLS_DIR", "/gone", "/gone"),
    ] {
        let ran = finish(
            machine
                .command()
                .args(["doctor", "--json"])
                .env(name, value),
        );
        assert_found(&findings(&ran, "roots"), "problem", &[part]);
    }
    for (name, value, level, part) in [
        (
            "SKILLBUNDLE_LOG",
            "loud",
            "problem",
            "expected one of off, error",
        ),
        (
            "SKILLBUNDLE_LGO",
            "info",
            "warning",
            "did you mean SKILLBUNDLE_LOG?",
        ),
        ("SKILLBUNDLE_TOKEN", SECRET, "ok", "set"),
        ("XDG_CACHE_HOME", "cache", "warning", "absolute"),
        ("HOME", "home", "warning", "home directory"),
    ] {
        let ran = finish(
            machine
                .command()
                .args(["doctor", "--json"])
                .env(name, value),
        );
        assert_found(&findings(&ran, "environment"), level, &[name, part]);
        assert!(!ran.stdout.contains(SECRET), "{}", ran.stdout);
    }
    let file = "home/.config/skillbundle/config.yaml";
    machine.0.file(file, "log:\n  levl: info\n");
    let found = machine.findings("environment");
    assert_found(&found, "problem", &["config.yaml", "levl"]);
    let found = machine.findings("program");
    assert_found(
        &found,
        "problem",
        &["`serve` does not answer", "the configuration has 1 error"],
    );
    machine.0.file(file, "log:\n  level: info\n");
    let found = machine.findings("environment");
    assert_found(&found, "ok", &["config.yaml", "the settings in it apply"]);
}
