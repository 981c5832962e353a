//! The forms of the report of `skillbundle check`: what they look like, that they keep to their schemas,
//! and that no text of a skill becomes more than text.

use std::fs;

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::cli::transcript;
use crate::project::{Project, copy_tree, material, say, test_with, workspace};

/// Skills with findings of every shape: with related places, fixes of both kinds, without a place.
fn team() -> Project {
    let project = Project::new();
    project
        .file("team/colon/SKILL.md", "---\nname: colon\ndescription: Sorts mail: reads, files. Use it for mail.\nlicense: MIT\nlicense: Apache\n---\nRead the mail.\n")
        .file("team/日本 語/SKILL.md", "\u{feff}---\nname: 日本\ndescription: 整理日志。触发: '/log'\n---\nBody \u{1b}[2J\n")
        .skill("team/fine", "fine", "Works as it should. Use it for tests.")
        .file("team/fine-2/SKILL.md", "---\nname: fine\ndescription: Works as it should. Use it for tests.\n---\nRead [this](missing.md).\n");
    project
}

#[test]
fn each_form_looks_as_a_person_or_a_program_expects() {
    let version = format!("\"semanticVersion\": \"{}\"", env!("CARGO_PKG_VERSION"));
    transcript::check(&team(), "check-formats", |said| {
        said.replace(&version, "\"semanticVersion\": \"<version>\"")
    });
}

/// The schema of the JSON form. A strict one knows every field, so that none is missing from it.
fn json_schema() -> Validator {
    let text = fs::read_to_string(workspace().join("docs/check.schema.json")).expect("a schema");
    let mut schema: Value = serde_json::from_str(&text).expect("JSON");
    for part in [
        "report",
        "failure",
        "not_fixed",
        "finding",
        "related",
        "fix",
        "edit",
    ] {
        schema["$defs"][part]["additionalProperties"] = json!(false);
    }
    jsonschema::validator_for(&schema).expect("a schema")
}

fn sarif_schema() -> Validator {
    let path = workspace().join("tests/fixtures/sarif/sarif-schema-2.1.0.json");
    let mut schema: Value =
        serde_json::from_str(&fs::read_to_string(path).expect("a schema")).expect("JSON");
    // The pattern of this field, which no log of ours has, is no regular expression: a bracket is left over.
    for part in ["run", "toolComponent"] {
        let language = &mut schema["definitions"][part]["properties"]["language"];
        let pattern = language.as_object_mut().and_then(|it| it.remove("pattern"));
        assert!(pattern.is_some(), "the schema has changed");
    }
    let options = jsonschema::options().should_validate_formats(true);
    options.build(&schema).expect("a schema")
}

fn assert_valid(schema: &Validator, document: &Value, of: &str) {
    let errors: Vec<String> = schema
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{of}: {errors:#?}");
}

/// Runs a check and parses what it prints.
fn printed(project: &Project, words: &[&str]) -> Value {
    let ran = project.run(words);
    assert_eq!(ran.stderr, "", "{words:?}");
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{words:?}: {error}: {ran:?}"))
}

#[test]
fn json_and_sarif_keep_to_their_schemas() {
    let (project, json, sarif) = (team(), json_schema(), sarif_schema());
    for words in [
        &["team"][..],
        &["team/fine"],
        &["team/colon/SKILL.md"],
        &["nowhere"],
        &["team", "--profile", "nobody"],
        &["team", "--frobnicate"],
    ] {
        let check = [&["check"], words].concat();
        let as_json = printed(&project, &[&check[..], &["--json"]].concat());
        assert_valid(&json, &as_json, &format!("{words:?}"));
        let same = printed(&project, &[&check[..], &["--format", "json"]].concat());
        assert_eq!(as_json, same, "{words:?}");
        let log = printed(&project, &[&check[..], &["--format", "sarif"]].concat());
        assert_valid(&sarif, &log, &format!("{words:?}"));
        let invocation = &log["runs"][0]["invocations"][0];
        let failed = as_json.get("error").is_some();
        assert_eq!(invocation["executionSuccessful"], !failed, "{log}");
        let found = as_json["findings"].as_array().map_or(0, Vec::len);
        let results = log["runs"][0]["results"].as_array().map(Vec::len);
        assert_eq!(results, Some(found));
    }
    assert!(!json.is_valid(&json!({ "version": 1, "command": "check" })));
    assert!(!sarif.is_valid(&json!({ "version": "2.1.0", "runs": [{}] })));
}

#[test_with(public_cases)]
fn findings_of_public_cases_keep_to_the_schemas() {
    let (json, sarif) = (json_schema(), sarif_schema());
    let mut count = 0;
    for entry in fs::read_dir(material("public_cases")).expect("the cases can be read") {
        let input = entry.expect("an entry").path().join("in");
        if !input.is_dir() {
            continue;
        }
        let project = Project::new();
        copy_tree(&input, &project.path("in"));
        let of = input.display().to_string();
        let words = ["check", "in", "--profile", "portable", "--format"];
        assert_valid(
            &json,
            &printed(&project, &[&words[..], &["json"]].concat()),
            &of,
        );
        assert_valid(
            &sarif,
            &printed(&project, &[&words[..], &["sarif"]].concat()),
            &of,
        );
        count += 1;
    }
    say(&format!("{count} public cases checked against the schemas"));
}

/// The text that a region of a log names, by its character offsets.
fn text_of<'a>(source: &'a str, region: &Value) -> Option<&'a str> {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let offset = usize::try_from(region["charOffset"].as_u64()?).ok()?;
    let length = usize::try_from(region["charLength"].as_u64()?).ok()?;
    let at = |character: usize| {
        source
            .char_indices()
            .nth(character)
            .map_or(source.len(), |it| it.0)
    };
    Some(&source[at(offset)..at(offset + length)])
}

#[test]
fn places_of_a_log_agree_with_each_other() {
    let project = team();
    let log = printed(&project, &["check", "team", "--format", "sarif"]);
    let mut checked = 0;
    for result in log["runs"][0]["results"].as_array().expect("results") {
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().expect("a URI");
        let region = &place["region"];
        if region.is_null() {
            continue;
        }
        let file = uri.replace("%E6%97%A5%E6%9C%AC%20%E8%AA%9E", "日本 語");
        let source = fs::read_to_string(project.path(&file)).expect("the file is there");
        let number = |key: &str| usize::try_from(region[key].as_u64().expect("a number")).unwrap();
        let bytes = number("byteOffset")..number("byteOffset") + number("byteLength");
        if source[bytes.clone()].starts_with('\u{feff}') {
            assert_eq!(region["charLength"], 0, "a byte order mark is no character");
            continue;
        }
        assert_eq!(text_of(&source, region), Some(&source[bytes]), "{result}");
        let line = source
            .split('\n')
            .nth(number("startLine") - 1)
            .expect("a line");
        let line = line.strip_prefix('\u{feff}').unwrap_or(line);
        let rest: String = line.chars().skip(number("startColumn") - 1).collect();
        let first = text_of(&source, region)
            .expect("text")
            .split('\n')
            .next()
            .expect("a line");
        assert!(rest.starts_with(first), "{result}");
        checked += 1;
    }
    assert!(checked > 4, "only {checked} places");
}

#[test]
fn a_fingerprint_survives_a_shift_of_lines() {
    let project = team();
    let prints = |project: &Project| {
        let log = printed(project, &["check", "team/colon", "--format", "sarif"]);
        let results = log["runs"][0]["results"]
            .as_array()
            .expect("results")
            .clone();
        let print = |it: &Value| {
            let line = it["locations"][0]["physicalLocation"]["region"]["startLine"].clone();
            (it["partialFingerprints"]["skillFinding/v1"].clone(), line)
        };
        results.iter().map(print).unzip::<_, _, Vec<_>, Vec<_>>()
    };
    let (before, lines) = prints(&project);
    let path = project.path("team/colon/SKILL.md");
    let source = fs::read_to_string(&path).expect("the file is there");
    let shifted = source.replacen("name: colon\n", "\n\n# A comment.\nname: colon\n", 1);
    fs::write(&path, shifted).expect("it can be written");
    let (after, moved) = prints(&project);
    assert_eq!(before, after);
    assert_ne!(lines, moved);
    let distinct: std::collections::BTreeSet<String> =
        before.iter().map(Value::to_string).collect();
    assert_eq!(distinct.len(), before.len(), "equal findings are numbered");
}

/// What a skill's author could try to make a runner, a reader or a browser do.
const ATTACKS: [&str; 8] = [
    "x\\n::error::injected",
    "x\\r\\n::set-output name=a::b",
    "%0A::warning file=a::b",
    "##[command]echo owned",
    "a,line=1,title=owned::x",
    "@everyone <img src=x onerror=alert(1)> ![x](https://example.com/x.png)",
    "``` [x](javascript:alert(1)) https://example.com #1 GH-1 www.example.com",
    "\\u2028::error::x `` `<b>` \\u202e",
];

fn attacked() -> Project {
    let project = Project::new();
    for (number, attack) in ATTACKS.iter().enumerate() {
        let text = format!(
            "---\nname: \"{attack}\"\ndescription: \"{attack}\"\n\"{attack}\": 1\nlicense: [\"{attack}\"]\n---\nRead [it]({number}.md).\n"
        );
        project.file(&format!("team/{number}/SKILL.md"), text);
    }
    project
        .file(
            "team/a,b:c%0A ::error::x/SKILL.md",
            "---\nname: x\n---\nText\n",
        )
        .file(
            "team/`@me` <b> [x](y)/SKILL.md",
            "---\nname: x\n---\nText\n",
        )
        .file("team/n\n::error::x/SKILL.md", "---\nname: x\n---\nText\n");
    project
}

#[test]
fn text_of_a_skill_never_becomes_a_workflow_command() {
    let ran = attacked().run(&["check", "team", "--format", "github", "-v"]);
    assert_eq!((ran.code, &*ran.stderr), (Some(1), ""));
    let lines: Vec<&str> = ran.stdout.split(['\n', '\r']).collect();
    let mut commands = 0;
    for line in &lines {
        let Some(command) = line.trim_start().strip_prefix("::") else {
            // The summary, which quotes no skill.
            assert!(!line.contains("##[") && !line.contains("owned"), "{line}");
            continue;
        };
        commands += 1;
        let (head, data) = command.split_once("::").expect("a message");
        let (name, properties) = head.split_once(' ').expect("properties");
        assert!(["error", "warning", "notice"].contains(&name), "{line}");
        let keys: Vec<&str> = properties
            .split(',')
            .map(|it| it.split_once('=').expect("a value").0)
            .collect();
        let placed = ["file", "line", "endLine", "col", "endColumn", "title"];
        let known = [
            &placed[..],
            &["file", "title"],
            &["file", "line", "endLine", "title"],
        ];
        assert!(known.contains(&&keys[..]), "{line}");
        assert!(!properties.contains(": "), "{line}");
        // Of a message only the line before its help ends.
        assert!(data.matches("%0A").count() <= 1, "{line}");
    }
    assert!(commands > 30, "only {commands} commands");
}

/// A root whose name would be two commands, with settings that fail it and are quoted for it, and a fix
/// with a remark.
#[cfg(unix)]
fn attacked_root() -> (Project, &'static str) {
    let root = "n\n::error::owned ##[error]owned @me";
    let project = Project::new();
    project
        .file(
            &format!("{root}/pdf/SKILL.md"),
            "---\nname: pdf\ndescription: Fills forms: all. Use it for forms.\n---\nRead [it](no.md).\n",
        )
        .file(
            &format!("{root}/skillbundle.toml"),
            "[check]\nmax-warnings = 0\n",
        );
    let file = project.path(&format!("{root}/pdf/SKILL.md"));
    fs::hard_link(file, project.path("other.md")).expect("a hard link");
    (project, root)
}

#[cfg(unix)]
#[test]
fn names_of_roots_and_settings_never_become_commands() {
    let (project, root) = attacked_root();
    for options in [&[][..], &["--fix"], &["--write-baseline", "b.json"]] {
        let words = [&["check", root, "--format", "github"], options].concat();
        let ran = project.run(&words);
        assert_eq!(ran.stderr, "", "{words:?}");
        for line in ran.stdout.lines() {
            let is_command =
                line.starts_with("::error file=") || line.starts_with("::warning file=");
            assert!(is_command || !line.contains("##["), "{line}");
            assert!(is_command || !line.trim_start().starts_with("::"), "{line}");
        }
        assert!(
            ran.stdout.contains("settings: n\\u{a}::error"),
            "{}",
            ran.stdout
        );
    }
    let ran = project.run(&["check", root, "--format", "markdown"]);
    let bare = without_code(&ran.stdout);
    assert!(!bare.contains("::") && !bare.contains('@'), "{bare}");
    assert!(ran.stdout.contains("- settings: ") || ran.stdout.contains("- `settings: "));
}

#[cfg(unix)]
#[test]
fn a_check_that_cannot_run_says_so_in_the_form_that_was_asked_for() {
    let project = team();
    for toml in [
        "[check.rules]\n\"a\\n::error::owned ##[error]x\" = \"off\"\n",
        "[check]\nprofile = \"a\\r\\n::error::owned\"\n",
        "[check]\nfail-on = \"a\\u001b[2J\\n::error::owned\"\n",
        "[check]\nignore = [\"[\\n::error::owned\"]\n",
    ] {
        project.file("team/skillbundle.toml", toml);
        let ran = project.run(&["check", "team", "--format", "github"]);
        assert_eq!((ran.code, &*ran.stderr), (Some(2), ""), "{toml}");
        let line = ran.stdout.strip_suffix('\n').expect("a line");
        assert!(
            line.starts_with("::error title=skillbundle::team/skillbundle.toml:2:"),
            "{line}"
        );
        assert!(
            line.contains("%0Ahelp: ") && !line.contains(char::is_control),
            "{line}"
        );
        let ran = project.run(&["check", "team"]);
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{toml}");
        let lines: Vec<&str> = ran.stderr.lines().collect();
        let [error, help] = lines[..] else {
            panic!("{toml}: {lines:#?}");
        };
        assert!(
            error.starts_with("error: ") && help.starts_with("help: "),
            "{lines:#?}"
        );
        assert!(!ran.stderr.contains('\u{1b}'));
    }
}

#[test]
fn a_comment_is_never_longer_than_a_comment_can_be() {
    let project = Project::new();
    let long = "x".repeat(110);
    for skill in 0..20 {
        let name = format!("skill-{skill}");
        for (tree, text) in [("old", "old"), ("new", "newer")] {
            project.skill(
                &format!("{tree}/{name}"),
                &name,
                "Does what it does. Use it for tests.",
            );
            for file in 0..30 {
                project.file(&format!("{tree}/{name}/{long}{file}.txt"), text);
            }
        }
    }
    let ran = project.run(&["check", "new", "--against", "old", "--format", "markdown"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        (60_000..=65_536).contains(&ran.stdout.len()),
        "{}",
        ran.stdout.len()
    );
    assert!(
        ran.stdout
            .ends_with("\nThe rest is left out, since a comment has an end.\n")
    );
    without_code(&ran.stdout);
}

#[test]
fn a_reader_that_leaves_early_does_not_change_the_exit_code() {
    use std::process::Stdio;

    let project = team();
    for options in [&[][..], &["--json"], &["--format", "github"], &["--diff"]] {
        let mut command = project.command();
        command.args(["check", "team"]).args(options);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        drop(child.stdout.take());
        let ended = child.wait().expect("it ends");
        assert_eq!(ended.code(), Some(1), "{options:?}");
    }
}

/// A page without its code spans, by the rule of `CommonMark`: a run of backticks ends at the next
/// run of the same length.
fn without_code(page: &str) -> String {
    let mut out = String::new();
    let mut rest = page;
    while let Some(at) = rest.find('`') {
        out.push_str(&rest[..at]);
        let fence = rest[at..].len() - rest[at..].trim_start_matches('`').len();
        let inner = &rest[at + fence..];
        let mut from = 0;
        let end = loop {
            let Some(next) = inner[from..].find('`').map(|it| from + it) else {
                panic!("a code span is open: {rest}");
            };
            let run = inner[next..].len() - inner[next..].trim_start_matches('`').len();
            if run == fence {
                break next + run;
            }
            from = next + run;
        };
        assert!(
            !inner[..end].contains('\n'),
            "a code span of two lines: {rest}"
        );
        rest = &inner[end..];
    }
    out + rest
}

#[test]
fn text_of_a_skill_is_only_text_in_a_comment() {
    let ran = attacked().run(&["check", "team", "--format", "markdown", "-v"]);
    assert_eq!((ran.code, &*ran.stderr), (Some(1), ""));
    let bare = without_code(&ran.stdout);
    for line in bare.lines() {
        let text = line.trim_start_matches("#### ").trim_start_matches("### ");
        let bad = [
            '@', '<', '>', '[', ']', '!', '#', '_', '|', '\\', '&', '/', '~',
        ];
        assert!(!text.contains(bad), "{line}");
        assert!(!text.contains("://") && !text.contains("www."), "{line}");
    }
    assert!(ran.stdout.chars().all(|it| it == '\n' || !it.is_control()));
    assert!(ran.stdout.contains("and ") && ran.stdout.len() < 65_536);
}

#[cfg(unix)]
#[test]
fn a_report_fits_the_terminal() {
    use crate::cli::terminal::on_terminal;

    let project = team();
    let long = "word ".repeat(60);
    let text = format!("---\nname: long\ndescription: {long}: {long}日本語\n---\nText\n");
    project.file("team/long/SKILL.md", text);
    for columns in [40, 80, 200] {
        let mut command = project.command();
        let words = ["check", "team", "-v"];
        let shown = on_terminal(command.env("NO_COLOR", "1").args(words), columns);
        assert!(!shown.contains('\u{1b}'), "{shown}");
        let findings = shown
            .lines()
            .take_while(|line| !line.contains(" checked for "));
        let mut count = 0;
        for line in findings {
            // Names of files and single words are not broken.
            let is_place = line.trim_start().starts_with("-->");
            let longest = line.split(' ').map(|it| it.chars().count()).max();
            let most = usize::from(columns).max(longest.unwrap_or(0) + 12);
            assert!(
                is_place || line.chars().count() <= most,
                "{columns}: {line}"
            );
            count += 1;
        }
        assert!(count > 30, "{shown}");
    }
    let mut command = project.command();
    let colored = on_terminal(command.args(["check", "team"]), 80);
    assert!(colored.contains("\u{1b}[") && !colored.contains("\u{1b}[2J"));
}

#[test]
fn an_error_of_several_lines_keeps_them_and_none_is_a_command() {
    let project = team();
    project.file("config.yaml", "- not a mapping\n");
    let ran = project.run(&["serve", "--config", "config.yaml"]);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert!(
        lines.len() > 3 && lines[1].starts_with("error["),
        "{lines:#?}"
    );
    for name in [
        "n\n::error::owned",
        "n\n \t::error::owned",
        "n ##[error]owned",
    ] {
        let ran = project.run(&["check", name]);
        assert_eq!(ran.code, Some(2), "{name}: {}", ran.stderr);
        for line in ran.stderr.lines() {
            assert!(!line.trim_start().starts_with("::"), "{line}");
            assert!(!line.contains("##["), "{line}");
        }
    }
}
