//! Proves which findings of `skillbundle check` count: settings of the tree, comments, baselines, changes
//! since a revision; and that none of their files can do harm. The file is long because it is one
//! table after the other.
#![cfg(unix)]

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;

use serde_json::Value;
use skillbundle_testkit::git_in;

use crate::project::{Output, PATIENCE, Project, finish};

/// A skill with one warning in line 5: a reference to a file that does not exist.
const BROKEN: &str = "---\nname: a\ndescription: Fills PDF forms. Use it for forms.\n---\nRead [it](references/no.md).\n";

const RULE: &str = "broken-reference";

fn broken(body: &str) -> String {
    format!("---\nname: a\ndescription: Fills PDF forms. Use it for forms.\n---\n{body}")
}

/// A tree of its own with one warning.
fn tree() -> Project {
    let project = Project::new();
    project
        .file(".git/HEAD", "x")
        .file("skills/a/SKILL.md", BROKEN);
    project
}

fn json(ran: &Output) -> Value {
    serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}{}", ran.stdout, ran.stderr))
}

/// The counts of a check: errors, warnings, notes.
fn counts(project: &Project, arguments: &[&str]) -> (Option<i32>, [u64; 3]) {
    let ran = project.run(&[&["check", "skills", "--json"], arguments].concat());
    let printed = json(&ran);
    let count = |key: &str| printed[key].as_u64().unwrap_or_else(|| panic!("{printed}"));
    let counts = ["error_count", "warning_count", "info_count"].map(count);
    (ran.code, counts)
}

#[test]
fn settings_of_the_tree_apply_and_the_command_line_beats_them() {
    for (toml, arguments, expected) in [
        ("", &[][..], (0, [0, 1, 0])),
        ("[check]\nstrict = true\n", &[], (1, [0, 1, 0])),
        (
            "[check]\nstrict = true\n",
            &["--no-settings"],
            (0, [0, 1, 0]),
        ),
        (
            "[check]\nstrict = true\n",
            &["--fail-on", "error"],
            (0, [0, 1, 0]),
        ),
        ("[check]\nfail-on = \"warning\"\n", &[], (1, [0, 1, 0])),
        ("[check]\nmax-warnings = 0\n", &[], (1, [0, 1, 0])),
        (
            "[check]\nmax-warnings = 0x0\n",
            &["--max-warnings", "1"],
            (0, [0, 1, 0]),
        ),
        (
            "[check]\nmax-warnings = 0\n",
            &["--fail-on", "never"],
            (0, [0, 1, 0]),
        ),
        (
            "",
            &["--fail-on", "never", "--max-warnings", "0"],
            (1, [0, 1, 0]),
        ),
        (
            "[check.rules]\nbroken-reference = \"off\"\n",
            &[],
            (0, [0, 0, 0]),
        ),
        (
            "[check.rules]\nbroken-reference = \"info\"\n",
            &[],
            (0, [0, 0, 1]),
        ),
        (
            "[check.rules]\nbroken-reference = \"error\"\n",
            &[],
            (1, [1, 0, 0]),
        ),
        (
            "[check]\nignore = [\"skills/a\"]\n",
            &["--strict"],
            (0, [0, 0, 0]),
        ),
        ("[check]\nignore = [\"a\"]\n", &["--strict"], (1, [0, 1, 0])),
        (
            "[[check.overrides]]\nfiles = \"skills/**\"\nrules = { broken-reference = \"error\" }\n\
             [[check.overrides]]\nfiles = [\"x\", \"*/a\"]\nrules = { broken-reference = \"off\" }\n",
            &[],
            (0, [0, 0, 0]),
        ),
        (
            "[check]\nrules.broken-reference = \"off\"\n[[check.overrides]]\nfiles = \"skills\"\n\
             rules.broken-reference = \"error\"\n",
            &["--fail-on", "never"],
            (0, [1, 0, 0]),
        ),
    ] {
        let project = tree();
        project.file("skillbundle.toml", toml);
        let (code, found) = counts(&project, arguments);
        assert_eq!(
            (code, found),
            (Some(expected.0), expected.1),
            "{toml}{arguments:?}"
        );
    }
}

#[test]
fn the_profile_of_the_settings_is_that_of_their_root() {
    let project = tree();
    project
        .file("skills/a/SKILL.md", BROKEN.replace("name: a", "name: b"))
        .file("skillbundle.toml", "[check]\nprofile = \"claude\"\n");
    assert_eq!(counts(&project, &[]), (Some(0), [0, 1, 1]));
    assert_eq!(counts(&project, &["--profile", "spec"]).1[0], 1);
    project.file(
        "skillbundle.toml",
        "[check]\nprofile = [\"claude\", \"spec\"]\n",
    );
    assert_eq!(counts(&project, &[]).1[0], 1);
    // The report says for whom: by the settings, unless the command line does.
    project
        .file("skills/skillbundle.toml", "[check]\nprofile = \"claude\"\n")
        .file("other/b/SKILL.md", BROKEN.replace("name: a", "name: b"))
        .file("other/skillbundle.toml", "");
    for (words, expected) in [
        (&["skills"][..], "claude"),
        (&["other"], "portable"),
        (&["skills", "other"], "claude, portable"),
        (
            &["skills", "other", "--profile", "codex,spec"],
            "codex+spec",
        ),
        (&["skills", "--no-settings"], "portable"),
    ] {
        let words = [&["check"], words].concat();
        let printed = json(&project.run(&[&words[..], &["--json"]].concat()));
        assert_eq!(printed["profile"], expected, "{words:?}");
        let said = project.run(&words).stdout;
        assert!(
            said.contains(&format!(" checked for {expected}: ")),
            "{said}"
        );
    }
}

#[test]
fn settings_are_found_up_to_the_top_of_the_repository() {
    let strict = "[check]\nstrict = true\n";
    for (file, applies) in [
        ("skills/skillbundle.toml", true),
        ("skillbundle.toml", true),
        ("skills/a/skillbundle.toml", false),
        ("../skillbundle.toml", false),
    ] {
        let project = Project::new();
        project
            .file("top/.git/HEAD", "x")
            .file("top/skills/a/SKILL.md", BROKEN)
            .file(&format!("top/{file}"), strict);
        let ran = project.run(&["check", "top/skills"]);
        assert_eq!(ran.code, Some(i32::from(applies)), "{file}: {}", ran.stdout);
        assert_eq!(ran.stdout.contains("settings: top/"), applies, "{file}");
    }
    // The closer one is the only one.
    let project = tree();
    project
        .file("skillbundle.toml", strict)
        .file("skills/skillbundle.toml", "");
    assert_eq!(counts(&project, &[]), (Some(0), [0, 1, 0]));
}

#[test]
fn each_root_has_its_own_settings() {
    let project = Project::new();
    project
        .file("one/a/SKILL.md", BROKEN)
        .file("one/skillbundle.toml", "[check]\nstrict = true\n")
        .file("two/b/SKILL.md", BROKEN.replace("name: a", "name: b"))
        .file(
            "two/skillbundle.toml",
            "[check.rules]\nbroken-reference = \"off\"\n",
        );
    let ran = project.run(&["check", "one", "two", "--json"]);
    let printed = json(&ran);
    assert_eq!(
        (ran.code, &printed["failure"]),
        (Some(1), &"1 warning".into())
    );
    let files = &printed["settings_files"];
    assert_eq!(
        *files,
        serde_json::json!(["one/skillbundle.toml", "two/skillbundle.toml"])
    );
}

#[test]
fn mistakes_in_settings_are_errors_with_their_position() {
    for (toml, expected) in [
        (
            "[chekc]\n",
            "skillbundle.toml:1:2: no key is called `chekc`\nhelp: did you mean `check`?",
        ),
        (
            "[check]\nstrikt = true\n",
            "2:1: no key is called `strikt`\nhelp: did you mean `strict`?",
        ),
        (
            "[check]\nstrict = 1\n",
            "2:10: expected `true` or `false`, found a value of type integer",
        ),
        (
            "[check]\nprofile = [\"claud\"]\n",
            "2:12: no profile is called `claud`\nhelp: did you mean `claude`?",
        ),
        ("[check]\nprofile = []\n", "2:11: no profile is named"),
        (
            "[check]\nfail-on = \"warn\"\n",
            "2:11: no value is called `warn`",
        ),
        (
            "[check]\nstrict = true\nfail-on = \"error\"\n",
            "2:1: `strict` and `fail-on` say the same",
        ),
        (
            "[check]\nmax-warnings = -1\n",
            "2:16: expected a number that is not negative, found `-1`",
        ),
        (
            "[check]\nmax-warnings = 99999999999999999999\n",
            "found `99999999999999999999`: number too large",
        ),
        (
            "[check.rules]\nname-mismach = \"off\"\n",
            "2:1: no rule is called `name-mismach`\nhelp: did you mean `name-mismatch`?",
        ),
        (
            "[check.rules]\nname-mismatch = \"of\"\n",
            "2:17: no value is called `of`\nhelp: did you mean `off`?",
        ),
        (
            "[check]\nignore = [\"ok\", \"[\"]\n",
            "2:17: no pattern of files",
        ),
        (
            "[check]\nignore = [\"../x\"]\n",
            "2:11: no pattern of files",
        ),
        (
            "[check]\nbaseline = \"/etc/passwd\"\n",
            "2:12: the path leads out",
        ),
        (
            "[check]\nbaseline = \"a/../../x\"\n",
            "2:12: the path leads out",
        ),
        (
            "[[check.overrides]]\nfiles = \"a\"\n",
            "an override needs `files` and `rules`",
        ),
        ("[check]\n\u{e9} = 1\n", "2:1: "),
        ("[check\n", "1:"),
        ("x = \u{1b}[31m\n", "1:"),
    ] {
        let project = tree();
        project.file("skillbundle.toml", toml);
        let ran = project.run(&["check", "skills"]);
        assert_eq!(ran.code, Some(2), "{toml}: {}", ran.stdout);
        assert!(ran.stderr.contains(expected), "{toml}: {}", ran.stderr);
        assert!(!ran.stderr.contains('\u{1b}'), "{toml}: {}", ran.stderr);
    }
}

/// What `make` puts at `skillbundle.toml` is refused with these words, and does not matter if the settings
/// are left out.
fn refused(expected: &str, make: impl Fn(&Project)) {
    let project = tree();
    make(&project);
    let ran = project.run(&["check", "skills"]);
    assert_eq!(ran.code, Some(2), "{expected}: {}", ran.stdout);
    assert!(ran.stderr.contains(expected), "{expected}: {}", ran.stderr);
    let ran = project.run(&["check", "skills", "--no-settings"]);
    assert_eq!(ran.code, Some(0), "{expected}: {}", ran.stderr);
}

#[test]
fn hostile_settings_are_refused() {
    let toml = "skillbundle.toml";
    refused("is a directory", |it| {
        it.file("skillbundle.toml/x", "");
    });
    refused("is a link", |it| {
        it.file("outside", "[check]\n").link(toml, "outside");
    });
    refused("is a link", |it| {
        it.link(toml, "/dev/zero");
    });
    refused("is a pipe", |it| {
        let made = Command::new("mkfifo").arg(it.path(toml)).status();
        assert!(made.expect("mkfifo runs").success());
    });
    refused("is larger than", |it| {
        it.file(toml, "#".repeat(10 << 20));
    });
    refused("is not UTF-8", |it| {
        it.file(toml, b"\xff\xfe");
    });
    let bomb = "{".repeat(100_000) + &"}".repeat(100_000);
    refused("no pattern of files", |it| {
        it.file(toml, format!("[check]\nignore = [\"{bomb}\"]\n"));
    });
    refused("no pattern of files", |it| {
        let nested = "{a,".repeat(300) + &"}".repeat(300);
        it.file(toml, format!("[check]\nignore = [\"{nested}\"]\n"));
    });
    refused("no pattern of files", |it| {
        it.file(
            toml,
            format!("[check]\nignore = [{}]\n", "\"*\",".repeat(100_000)),
        );
    });
    refused("more than 200 overrides", |it| {
        let one = "[[check.overrides]]\nfiles=\"a\"\nrules={}\n";
        it.file(toml, one.repeat(20_000));
    });
    refused("skillbundle.toml:1:", |it| {
        it.file(toml, "[".repeat(500_000));
    });
}

#[test]
fn patterns_that_backtrack_elsewhere_are_no_matter() {
    let project = tree();
    let pattern = "*a".repeat(500) + "b";
    let name = "a".repeat(200);
    project
        .file(&format!("skills/{name}/SKILL.md"), BROKEN)
        .file(
            "skillbundle.toml",
            format!("[check]\nignore = [\"{pattern}\", \"skills/{pattern}\"]\n"),
        );
    let ran = project.run(&["check", "skills"]);
    assert!(ran.code.is_some_and(|it| it < 2), "{}", ran.stderr);
}

#[test]
fn comments_allow_findings_with_a_reason() {
    let allow = "<!-- skillbundle: allow broken-reference: the build writes it -->";
    let link = "Read [it](references/no.md).";
    // Body, findings that count, findings that are allowed.
    for (body, expected, suppressed) in [
        (format!("{allow}\n{link}\n"), vec![], 1),
        (format!("{allow}\n\n  \n{link}\n"), vec![], 1),
        (format!("{link} {allow}\n"), vec![], 1),
        (
            format!("{allow}\nText.\n{link}\n"),
            vec![RULE, "unused-suppression"],
            0,
        ),
        (
            format!("{link}\n{allow}\n"),
            vec![RULE, "unused-suppression"],
            0,
        ),
        (format!("{allow}\r\n{link}\r\n"), vec!["mixed-line-ends"], 1),
        (
            format!(
                "{}\nText.\n{link}\n",
                allow.replace("allow ", "allow-file ")
            ),
            vec![],
            1,
        ),
        (
            format!("{}\n{link}\n", allow.replace(": the build writes it", "")),
            vec![RULE, "suppression-reason"],
            0,
        ),
        (
            format!("{}\n{link}\n", allow.replace(" the build writes it", "  ")),
            vec![RULE, "suppression-reason"],
            0,
        ),
        (
            format!("{}\n{link}\n", allow.replace("broken-", "brokn-")),
            vec![RULE, "unknown-suppression"],
            0,
        ),
        (
            format!("{}\n{link}\n", allow.replace("allow ", "disable ")),
            vec![RULE, "unknown-suppression"],
            0,
        ),
        (
            format!(
                "{}\n{link}\n",
                allow.replace("broken", "empty-body , broken")
            ),
            vec!["unused-suppression"],
            1,
        ),
        (
            format!("<!-- skillbundle: allow empty-body: x -->\n{allow}\n{link}\n"),
            vec!["unused-suppression"],
            1,
        ),
        // Examples, and comments about the program.
        (format!("```\n{allow}\n```\n{link}\n"), vec![RULE], 0),
        (format!("`{allow}`\n{link}\n"), vec![RULE], 0),
        (
            format!("# skillbundle: allow broken-reference: a heading\n{link}\n"),
            vec![RULE],
            0,
        ),
        (
            format!("<!-- skillbundle: the program -->\n{link}\n"),
            vec![RULE],
            0,
        ),
        // Nothing allows a finding about a comment.
        (
            format!("<!-- skillbundle: allow-file unused-suppression: x -->\n{allow}\nText.\n"),
            vec!["unused-suppression"; 2],
            0,
        ),
    ] {
        let project = Project::new();
        project.file("skills/a/SKILL.md", broken(&body));
        let ran = project.run(&["check", "skills", "--profile", "skillbundle", "--json"]);
        let printed = json(&ran);
        let findings = printed["findings"].as_array().expect("a list").iter();
        let mut codes: Vec<_> = findings
            .map(|it| it["code"].as_str().expect("a code"))
            .collect();
        codes.sort_unstable();
        assert_eq!(codes, expected, "{body}");
        assert_eq!(printed["suppressed_count"], suppressed, "{body}");
    }
}

#[test]
fn comments_in_frontmatter_and_scripts_allow_findings() {
    let project = Project::new();
    let script = "#!/bin/sh\n# skillbundle: allow-file secret-file: an example without secrets\n";
    project
        .file(
            "skills/a/SKILL.md",
            "---\nname: b # skillbundle: allow name-mismatch: hosts know it by this name\n\
             description: Fills PDF forms. Use it for forms.\n---\nText.\n",
        )
        .file("skills/a/.env", script);
    let ran = project.run(&["check", "skills", "--strict"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("not counted: 2 allowed by comments"),
        "{}",
        ran.stdout
    );
    // A file that is no text has no comments.
    project.file("skills/a/.env", format!("\0{script}"));
    let ran = project.run(&["check", "skills", "--strict"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
}

#[test]
fn a_single_file_is_not_blamed_for_comments_elsewhere() {
    let project = Project::new();
    let comment = "<!-- skillbundle: allow empty-body: x -->\n";
    project.file("skills/a/SKILL.md", broken("Text.\n")).file(
        "skills/b/SKILL.md",
        broken(comment).replace("name: a", "name: b") + "Text.\n",
    );
    let ran = project.run(&["check", "skills/a/SKILL.md", "--strict"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    let ran = project.run(&["check", "skills/b/SKILL.md", "--strict"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
}

#[test]
fn many_comments_are_reported_in_few_findings() {
    let project = Project::new();
    let comment = "<!-- skillbundle: allow empty-body: x -->\n";
    project.file("skills/a/SKILL.md", broken(&comment.repeat(50_000)));
    let (_, [_, warnings, _]) = counts(&project, &[]);
    assert!((50..60).contains(&warnings), "{warnings}");
    // One line of them, too.
    project.file(
        "skills/a/SKILL.md",
        broken(&"skillbundle: ".repeat(200_000)),
    );
    counts(&project, &[]);
}

const BASELINE: &str = "baseline.json";

#[test]
fn findings_in_the_baseline_do_not_count_wherever_they_move() {
    let project = tree();
    let written = project.run(&["check", "skills", "--strict", "--write-baseline", BASELINE]);
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    let first = fs::read_to_string(project.path(BASELINE)).expect("it was written");
    assert!(
        first.contains("{\"file\":\"skills/a/SKILL.md\",\"code\":\"broken-reference\","),
        "{first}"
    );
    let again = project.run(&["check", "skills", "--write-baseline", BASELINE]);
    assert_eq!(again.code, Some(0));
    let second = fs::read_to_string(project.path(BASELINE)).expect("it was written");
    assert_eq!(first, second, "the same input gives the same bytes");

    let link = "Read [it](references/no.md).\n";
    for (body, code, gone) in [
        (link.to_owned(), 0, 0),
        (format!("Other text.\n\n  {link}"), 0, 0),
        ("Read [it](references/other.md).\n".to_owned(), 1, 1),
        ("Text.\n".to_owned(), 0, 1),
    ] {
        project.file("skills/a/SKILL.md", broken(&body));
        let ran = project.run(&[
            "check",
            "skills",
            "--strict",
            "--baseline",
            BASELINE,
            "--json",
        ]);
        assert_eq!(ran.code, Some(code), "{body}: {}", ran.stdout);
        assert_eq!(json(&ran)["baseline_gone_count"], gone, "{body}");
    }
    let ran = project.run(&["check", "skills", "--baseline", BASELINE]);
    assert!(
        ran.stdout
            .contains("1 entry of the baseline is gone; write it anew"),
        "{}",
        ran.stdout
    );
}

#[test]
fn an_equal_finding_more_than_in_the_baseline_counts() {
    let project = tree();
    let comment = "<!-- skillbundle: allow empty-body: x -->\nText.\n";
    for (times, code) in [(1, 0), (2, 1)] {
        project.file("skills/a/SKILL.md", broken(&comment.repeat(times)));
        if times == 1 {
            project.run(&["check", "skills", "--write-baseline", BASELINE]);
        }
        let ran = project.run(&["check", "skills", "--strict", "--baseline", BASELINE]);
        assert_eq!(ran.code, Some(code), "{times}: {}", ran.stdout);
    }
}

#[test]
fn entries_about_what_was_not_checked_are_not_gone() {
    let project = tree();
    project.file("skills/b/SKILL.md", BROKEN.replace("name: a", "name: b"));
    project.file(
        "skillbundle.toml",
        "[check]\nbaseline = \"baseline.json\"\n",
    );
    let written = project.run(&["check", "skills", "--write-baseline", BASELINE]);
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    for place in ["skills", "skills/a", "skills/a/SKILL.md"] {
        let ran = project.run(&["check", place, "--strict", "--json"]);
        assert_eq!(ran.code, Some(0), "{place}: {}", ran.stdout);
        assert_eq!(json(&ran)["baseline_gone_count"], 0, "{place}");
    }
    let moved = project.path("ci");
    fs::create_dir(&moved).expect("a folder");
    let ran = project.run(&[
        "check",
        "skills",
        "--strict",
        "--write-baseline",
        "ci/b.json",
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let ran = project.run(&[
        "check",
        "skills",
        "--strict",
        "--no-settings",
        "--baseline",
        "ci/b.json",
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
}

#[test]
fn what_is_no_baseline_is_refused() {
    let project = tree();
    project
        .file("empty", "")
        .file("other", "{\"version\": 1, \"findings\": [{\"file\": 1}]}")
        .file("newer", "{\"version\": 2, \"findings\": [], \"more\": 1}")
        .file("deep", "[".repeat(1_000_000))
        .file("secret", "root:x:0:0")
        .file("directory/x", "");
    let made = Command::new("mkfifo").arg(project.path("pipe")).status();
    assert!(made.expect("mkfifo runs").success());
    for (file, expected) in [
        ("missing", "there is no baseline missing"),
        ("empty", "this is no baseline"),
        ("other", "this is no baseline"),
        ("newer", "version 2"),
        ("deep", "this is no baseline"),
        ("secret", "secret:1:1: this is no baseline"),
        ("directory", "is a directory"),
        ("pipe", "is a pipe"),
    ] {
        let ran = project.run(&["check", "skills", "--baseline", file]);
        assert_eq!(ran.code, Some(2), "{file}: {}", ran.stdout);
        assert!(ran.stderr.contains(expected), "{file}: {}", ran.stderr);
        assert!(!ran.stderr.contains("root:x"), "{}", ran.stderr);
    }
    let ran = project.run(&["check", "skills", "--write-baseline", "no/such/b.json"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    // The settings of a stranger do not lead out by a link either.
    project
        .file("b.json", "{\"version\": 1, \"findings\": []}")
        .link("link.json", "b.json")
        .link("out", "/");
    for path in ["link.json", "out/etc/passwd"] {
        project.file(
            "skillbundle.toml",
            format!("[check]\nbaseline = \"{path}\"\n"),
        );
        let ran = project.run(&["check", "skills"]);
        assert_eq!(ran.code, Some(2), "{path}: {}", ran.stdout);
    }
}

#[test]
fn nothing_but_a_baseline_is_replaced_by_one() {
    let stored = "{\n  \"version\": 1,\n  \"findings\": [";
    for (text, is_replaced) in [
        ("", true),
        ("{\"version\": 1, \"findings\": []}", true),
        ("{\"version\": 7, \"findings\": {}, \"more\": []}", true),
        ("{\"version\": 1}", false),
        ("{\"version\": 1, \"findings\": [", false),
        ("[]", false),
        (BROKEN, false),
        ("caf\u{e9}", false),
    ] {
        let project = tree();
        project.file("kept", text).mode("kept", 0o640);
        let write = ["check", "skills", "--write-baseline", "kept"];
        let ran = project.run(&write);
        let found = fs::read_to_string(project.path("kept")).expect("it is there");
        if is_replaced {
            assert_eq!(ran.code, Some(0), "{text}: {}", ran.stderr);
            assert!(found.starts_with(stored), "{text}: {found}");
            let mode = fs::metadata(project.path("kept")).expect("it is there");
            assert_eq!(mode.permissions().mode() & 0o777, 0o640);
        } else {
            assert_eq!(ran.code, Some(2), "{text}: {}", ran.stdout);
            assert!(ran.stderr.contains("kept is not a baseline"), "{text}");
            assert_eq!(found, text);
        }
    }
    let project = tree();
    project
        .file("old.json", "")
        .link("link.json", "old.json")
        .link("nothing.json", "missing.json")
        .file("directory/x", "");
    let made = Command::new("mkfifo").arg(project.path("pipe")).status();
    assert!(made.expect("mkfifo runs").success());
    for (file, code) in [
        ("link.json", 0),
        ("nothing.json", 2),
        ("directory", 2),
        ("pipe", 2),
        ("/dev/null", 2),
    ] {
        let ran = project.run(&["check", "skills", "--write-baseline", file]);
        assert_eq!(ran.code, Some(code), "{file}: {}{}", ran.stdout, ran.stderr);
    }
    let is_link =
        |file: &str| fs::symlink_metadata(project.path(file)).is_ok_and(|it| it.is_symlink());
    assert!(is_link("link.json") && is_link("nothing.json"));
    let written = fs::read_to_string(project.path("old.json")).expect("it is there");
    assert!(written.starts_with(stored), "{written}");
    let pipe = fs::metadata(project.path("pipe")).expect("it is there");
    assert!(!pipe.is_file(), "it is still a pipe");
}

/// A repository whose first commit has the skills `a` and `b`, and `c` in a submodule, each with one
/// warning.
fn repository() -> Project {
    let project = Project::new();
    let git = |arguments: &[&str]| git_in(project.dir(), arguments);
    git(&["init", "--quiet", "--initial-branch=main"]);
    project
        .file("skills/a/SKILL.md", BROKEN)
        .file("skills/a/extra.txt", "x")
        .file("skills/b/SKILL.md", BROKEN.replace("name: a", "name: b"))
        .file("skills/c/SKILL.md", BROKEN.replace("name: a", "name: c"));
    let module = project.path("skills/c");
    for arguments in [
        &["init", "--quiet"][..],
        &["add", "-A"],
        &["commit", "--quiet", "--message=x"],
    ] {
        git_in(&module, arguments);
    }
    commit(&project);
    git(&["checkout", "--quiet", "-b", "work"]);
    project
}

fn commit(project: &Project) {
    git_in(project.dir(), &["add", "-A"]);
    git_in(project.dir(), &["commit", "--quiet", "--message=x"]);
}

/// The files of the findings that count.
fn files(ran: &Output) -> Vec<String> {
    let printed = json(ran);
    let findings = printed["findings"]
        .as_array()
        .unwrap_or_else(|| panic!("{printed}"));
    let file = |it: &Value| it["file"].as_str().expect("a file").to_owned();
    findings.iter().map(file).collect()
}

#[test]
fn only_what_has_changed_since_a_revision_counts() {
    type Change = (&'static str, fn(&Project), &'static [&'static str]);
    let since = ["check", "skills", "--changed-since", "main", "--json"];
    let changes: &[Change] = &[
        ("nothing", |_| {}, &[]),
        (
            "unstaged",
            |it| {
                it.file("skills/a/SKILL.md", BROKEN.to_owned() + "More.\n");
            },
            &["skills/a/SKILL.md"],
        ),
        (
            "another file of the skill, committed",
            |it| {
                it.file("skills/b/extra.txt", "x");
                commit(it);
            },
            &["skills/b/SKILL.md"],
        ),
        (
            "a file that is gone",
            |it| fs::remove_file(it.path("skills/a/extra.txt")).expect("it was there"),
            &["skills/a/SKILL.md"],
        ),
        (
            "staged",
            |it| {
                it.file(
                    "skills/b/SKILL.md",
                    BROKEN.replace("name: a", "name: b") + "More.\n",
                );
                git_in(it.dir(), &["add", "-A"]);
            },
            &["skills/b/SKILL.md"],
        ),
        (
            "untracked",
            |it| {
                it.file("skills/d/SKILL.md", BROKEN.replace("name: a", "name: d"));
            },
            &["skills/d/SKILL.md"],
        ),
        (
            "only on the other branch",
            |it| {
                git_in(it.dir(), &["checkout", "--quiet", "main"]);
                it.file("skills/a/SKILL.md", BROKEN.to_owned() + "More.\n");
                commit(it);
                git_in(it.dir(), &["checkout", "--quiet", "work"]);
            },
            &[],
        ),
        (
            "another commit of a submodule",
            |it| {
                let module = it.path("skills/c");
                git_in(
                    &module,
                    &["commit", "--quiet", "--allow-empty", "--message=x"],
                );
                commit(it);
            },
            &["skills/c/.git", "skills/c/SKILL.md"],
        ),
        (
            "outside of the skills",
            |it| {
                it.file("README.md", "x");
            },
            &[],
        ),
    ];
    for (what, change, expected) in changes {
        let project = repository();
        change(&project);
        let ran = project.run(&since);
        let mut found = files(&ran);
        found.dedup();
        assert_eq!(found, *expected, "{what}: {}", ran.stdout);
    }
}

#[test]
fn a_repository_may_have_any_path() {
    let project = Project::new();
    let top = project.dir().join(OsStr::from_bytes(b"caf\xe9 \n"));
    let skill = top.join("skills/a");
    fs::create_dir_all(&skill).expect("a folder can be made");
    fs::write(skill.join("SKILL.md"), BROKEN).expect("writable");
    git_in(&top, &["init", "--quiet", "--initial-branch=main"]);
    git_in(&top, &["add", "-A"]);
    git_in(&top, &["commit", "--quiet", "--message=x"]);
    for (text, code) in [(BROKEN.to_owned(), 0), (format!("{BROKEN}More.\n"), 1)] {
        fs::write(skill.join("SKILL.md"), text).expect("writable");
        for options in [
            &["--changed-since", "main"][..],
            &["--against", "main", "--changed-since=main"],
        ] {
            let mut command = project.command();
            command
                .args(["check", "skills", "--max-warnings=0"])
                .args(options);
            let ran = finish(command.current_dir(&top));
            assert_eq!(
                ran.code,
                Some(code),
                "{options:?}: {}{}",
                ran.stdout,
                ran.stderr
            );
        }
    }
}

#[test]
fn revisions_that_cannot_be_used_say_why() {
    let project = repository();
    let bare = Project::new();
    bare.file("skills/a/SKILL.md", BROKEN);
    let caught = project.path("caught");
    let output = format!("--output={}", caught.display());
    for (project, revision, expected) in [
        (&project, output.as_str(), "no commit is called `--output="),
        (&project, "-", "no commit is called `-`"),
        (&project, "", "no commit is called ``"),
        (&project, "nobody", "no commit is called `nobody`"),
        (&project, "main..work", "no commit is called"),
        (&project, "x\ny", "no commit is called `x\\ny`"),
        (&bare, "main", "is in no git repository"),
    ] {
        let ran = project.run(&["check", "skills", "--changed-since", revision]);
        assert_eq!(ran.code, Some(2), "{revision}: {}", ran.stdout);
        assert!(ran.stderr.contains(expected), "{revision}: {}", ran.stderr);
    }
    assert!(!caught.exists(), "an option was obeyed");
}

#[test]
fn a_shallow_clone_says_that_it_is_one() {
    let project = repository();
    project.file("skills/a/extra.txt", "y");
    commit(&project);
    git_in(project.dir(), &["checkout", "--quiet", "main"]);
    project.file("skills/a/extra.txt", "z");
    commit(&project);
    let clone = Project::new();
    let url = format!("file://{}", project.dir().display());
    git_in(
        clone.dir(),
        &[
            "clone",
            "--quiet",
            "--depth=1",
            "--branch=work",
            "--no-single-branch",
            &url,
            "c",
        ],
    );
    let ran = clone.run(&["check", "c/skills", "--changed-since", "origin/main"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    assert!(
        ran.stderr.contains("shallow") && ran.stderr.contains("fetch-depth: 0"),
        "{}",
        ran.stderr
    );
}

#[test]
fn looking_for_changes_runs_nothing_that_the_repository_configures() {
    let project = repository();
    let caught = project.path("caught");
    let trap = format!("touch {}; cat", caught.display());
    for key in [
        "filter.x.clean",
        "filter.x.process",
        "diff.external",
        "diff.x.textconv",
        "diff.x.command",
        "core.fsmonitor",
    ] {
        git_in(project.dir(), &["config", key, &trap]);
    }
    git_in(project.dir(), &["config", "filter.x.required", "true"]);
    project
        .file(".gitattributes", "* filter=x diff=x\n")
        .file("skills/a/extra.txt", "a longer text");
    let ran = project.run(&["check", "skills", "--changed-since", "main", "--json"]);
    assert_eq!(files(&ran), ["skills/a/SKILL.md"], "{}", ran.stderr);
    assert!(!caught.exists(), "a program of the repository was run");
}

/// A check that watches, and what it says line by line.
struct Watching {
    child: std::process::Child,
    lines: mpsc::Receiver<String>,
}

impl Watching {
    fn start(project: &Project, arguments: &[&str]) -> Self {
        let mut command = project.command();
        command.args([
            "check", "skills", "--watch", "--strict", "--format", "short",
        ]);
        command.args(arguments);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let (send, lines) = mpsc::channel();
        let pipes: [Box<dyn std::io::Read + Send>; 2] = [
            Box::new(child.stdout.take().expect("a pipe")),
            Box::new(child.stderr.take().expect("a pipe")),
        ];
        for pipe in pipes {
            let send = send.clone();
            thread::spawn(move || {
                for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                    let _ = send.send(line);
                }
            });
        }
        Self { child, lines }
    }

    /// Waits for a line with these words.
    fn wait_for(&self, words: &str) {
        let mut seen = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            assert!(!line.contains('\u{1b}'), "a pipe is no terminal: {line}");
            let is_it = line.contains(words);
            seen.push(line);
            if is_it {
                return;
            }
        }
        panic!("no `{words}` in {seen:#?}");
    }

    fn stop(mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &id]).status();
        assert!(sent.expect("kill runs").success());
        self.child.wait().expect("it ends").code()
    }
}

#[test]
fn a_check_that_watches_goes_on_until_it_is_stopped() {
    let project = tree();
    let watching = Watching::start(&project, &[]);
    watching.wait_for("---");
    watching.wait_for("exit code 1");
    project.file("skills/a/references/no.md", "x");
    watching.wait_for("exit code 0");
    // Settings that do not load, and a root that is gone, end nothing.
    project.file("skillbundle.toml", "[chekc]\n");
    watching.wait_for("no key is called `chekc`");
    project.file("skillbundle.toml", "[check]\n");
    watching.wait_for("exit code 0");
    fs::rename(project.path("skills"), project.path("gone")).expect("it can be moved");
    watching.wait_for("error:");
    fs::rename(project.path("gone"), project.path("skills")).expect("it can be moved");
    watching.wait_for("exit code 0");
    assert_eq!(watching.stop(), Some(130));
}

#[test]
fn a_check_that_watches_sees_that_a_revision_is_another_commit() {
    let project = repository();
    project.file("skills/a/extra.txt", "y");
    commit(&project);
    let watching = Watching::start(&project, &["--changed-since", "main"]);
    watching.wait_for("exit code 1");
    // No file of the working tree changes.
    git_in(
        project.dir(),
        &["branch", "--quiet", "--force", "main", "work"],
    );
    watching.wait_for("exit code 0");
    git_in(
        project.dir(),
        &["branch", "--quiet", "--force", "main", "work~1"],
    );
    watching.wait_for("exit code 1");
    git_in(project.dir(), &["pack-refs", "--all"]);
    watching.wait_for("exit code 1");
    git_in(project.dir(), &["reset", "--quiet", "--soft", "main"]);
    watching.wait_for("exit code 1");
    assert_eq!(watching.stop(), Some(130));
}

#[test]
fn what_watches_cannot_write_a_baseline() {
    let project = tree();
    for other in ["--watch", "--changed-since=main", "--baseline=x"] {
        let ran = project.run(&["check", "skills", "--write-baseline", BASELINE, other]);
        assert_eq!(ran.code, Some(2), "{other}: {}", ran.stdout);
        assert!(!Path::new(&project.path(BASELINE)).exists(), "{other}");
    }
}
