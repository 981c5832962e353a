//! Settings: who may set what, in which order, that it takes effect, and that content which asks for
//! more than it may have gets nothing. Wrong files and variables are in `mistakes`, and what is counted
//! and sent in `analytics`.

mod analytics;
mod mistakes;

use std::fs;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use skillbundle_format::{SETTINGS, ValueType};

use crate::project::{LEGACY, Output, Project, Session, finish, updating, workspace};

/// A tree with a large file, and with a page for each of two close requests.
fn content(project: &Project, config: &str) {
    project
        .file(
            "content/skills/_root.md",
            "---\ndescription: Root\nkeywords: [root]\nassets:\n  - file: big.txt\n---\nroot\n",
        )
        .file("content/skills/_root/big.txt", "x".repeat(2_000_000))
        .file("content/skills/config.yaml", config);
}

/// Runs the program with these variables.
fn run_with(project: &Project, variables: &[(&str, &str)], arguments: &[&str]) -> Output {
    let mut command = project.command();
    command.envs(variables.iter().copied()).args(arguments);
    finish(&mut command)
}

/// `config show --json`, by name of the setting: value and origin.
fn shown(ran: &Output, name: &str) -> (Value, String) {
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let printed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let rows = printed["values"].as_array().expect("a list");
    let row = rows.iter().find(|row| row["name"] == name);
    let row = row.unwrap_or_else(|| panic!("no {name}"));
    let origin = row["origin"].as_str().expect("text");
    (row["value"].clone(), origin.to_owned())
}

fn start(mut command: Command, arguments: &[&str]) -> Session {
    command.arg("serve").args(arguments);
    let mut session = Session::start(command);
    session.initialize(LEGACY);
    session
}

/// Whether `get_asset` serves the large file.
fn serves_large_file(mut session: Session) -> bool {
    let asked = json!({ "skill_path": "_root", "file": "big.txt" });
    let answer = session.tool("get_asset", &asked);
    session.finish();
    answer["isError"] != true
}

#[test]
fn an_option_comes_before_a_variable_before_the_file_before_content() {
    const NAME: &str = "refresh.interval_minutes";
    let project = Project::new();
    content(&project, "refresh:\n  interval_minutes: 2\n");
    project.bundle_file(&["content/skills"], "content.skb");
    let file = project.operator("refresh:\n  # hourly\n  interval_minutes: 60\n");
    let variable = [("REFRESH_INTERVAL_MINUTES", "5")];
    for place in ["content/skills", "content.skb"] {
        let show = ["config", "show", place, "--json"];
        let option = [&show[..], &["--set", "refresh.interval_minutes=7"]].concat();
        let by_option = run_with(&project, &variable, &option);
        assert_eq!(shown(&by_option, NAME), (7.into(), "--set".to_owned()));
        let by_variable = run_with(&project, &variable, &show);
        assert_eq!(
            shown(&by_variable, NAME),
            (5.into(), "REFRESH_INTERVAL_MINUTES".to_owned())
        );
        assert_eq!(
            shown(&by_variable, "refresh.enabled"),
            (true.into(), "REFRESH_INTERVAL_MINUTES".to_owned())
        );
        let by_file = project.run(&show);
        let origin = format!("{}:3", file.display());
        assert_eq!(shown(&by_file, NAME), (60.into(), origin));
        let elsewhere = [("XDG_CONFIG_HOME", "/nonexistent")];
        let by_content = run_with(&project, &elsewhere, &show);
        assert_eq!(shown(&by_content, NAME), (2.into(), "content".to_owned()));
        assert_eq!(
            shown(&by_content, "matching.max_results"),
            (3.into(), "default".to_owned())
        );
    }
}

#[test]
fn content_never_widens_a_limit_unless_it_is_trusted() {
    let wide = "assets:\n  max_size_bytes: 9000000\n";
    let project = Project::new();
    content(&project, wide);
    let bundle = project.bundle_file(&["content/skills"], "content.skb");
    for place in ["content/skills", "content.skb"] {
        let session =
            |arguments: &[&str]| start(project.command(), &[&[place], arguments].concat());
        assert!(!serves_large_file(session(&[])), "{place}");
        assert!(
            serves_large_file(session(&["--trust-content-config"])),
            "{place}"
        );
        assert!(
            serves_large_file(session(&["--set", "assets.max_size_bytes=9000000"])),
            "{place}"
        );
        project.operator(wide);
        assert!(
            serves_large_file(session(&[])),
            "{place}: the operator's file"
        );
        project.operator("content:\n  trust_config: true\n");
        assert!(
            serves_large_file(session(&[])),
            "{place}: trusted by the file"
        );
        project.operator("");
        // A note of what content asks for is not its having an effect.
        let show = project.run(&["config", "show", place, "--json"]);
        let (value, origin) = shown(&show, "assets.max_size_bytes");
        assert_eq!((value, &*origin), (1_048_576.into(), "default"), "{place}");
        assert!(
            show.stdout.contains("skills ask for 9000000"),
            "{}",
            show.stdout
        );
    }
    // A bundle that no compiler of ours has checked.
    let forged = skillbundle_format::Bundle::open(&bundle).expect("a bundle");
    let mut set = skillbundle_format::SkillSet::default();
    set.extend_from(&forged).expect("readable");
    set.settings.script_extensions.push(".exe".to_owned());
    set.settings.script_timeout_seconds = u32::MAX;
    set.settings.script_max_output_bytes = u64::MAX;
    set.settings.asset_inline_max_bytes = u64::MAX;
    project.file(
        "forged.skb",
        skillbundle_format::write(&set).expect("a bundle"),
    );
    let show = project.run(&["config", "show", "forged.skb", "--json"]);
    for setting in SETTINGS.iter().filter(|it| it.is_of_content()) {
        let (value, origin) = shown(&show, &setting.name());
        assert_eq!((value, &*origin), (setting.default_value(), "default"));
    }
}

#[test]
fn the_operators_limit_may_be_lower_than_contents_and_has_the_last_word() {
    let project = Project::new();
    content(
        &project,
        "assets:\n  max_size_bytes: 1000\nscripts:\n  enabled: false\n",
    );
    let show = |arguments: &[&str]| {
        let all = [&["config", "show", "content/skills", "--json"], arguments].concat();
        shown(&project.run(&all), "assets.max_size_bytes").0
    };
    assert_eq!(show(&[]), 1000);
    assert_eq!(show(&["--set", "assets.max_size_bytes=10"]), 10);
    assert_eq!(show(&["--set", "assets.max_size_bytes=5000000"]), 5_000_000);
}

#[test]
fn matching_obeys_the_operator_in_every_command() {
    let project = Project::new();
    project
        .file(
            "tree/_root.md",
            "---\ndescription: Root\nkeywords: [zzzz]\n---\nroot\n",
        )
        .file(
            "tree/a.md",
            "---\ndescription: A\nkeywords: [forms, paper, ink, pens]\n---\na\n",
        )
        .file(
            "tree/routing.json",
            "[{\"request\": \"forms\", \"expect\": \"a\"}]",
        );
    let strict = ["--set", "matching.min_score=0.9"];
    let route =
        |arguments: &[&str]| project.run(&[&["route", "forms", "tree"], arguments].concat());
    assert_eq!(route(&[]).code, Some(0));
    assert_eq!(route(&strict).code, Some(1));
    let eval = ["eval", "tree", "--min-hits", "1"];
    assert_eq!(project.run(&eval).code, Some(0));
    assert_eq!(project.run(&[&eval[..], &strict].concat()).code, Some(1));
    for (arguments, found) in [(&[][..], true), (&strict, false)] {
        let mut session = start(project.command(), &[&["tree"], arguments].concat());
        let answer = session.tool_json("get_skill", &json!({ "context": "forms" }));
        assert_eq!(answer["no_match"] != true, found, "{answer}");
        session.finish();
    }
}

#[test]
fn every_command_means_the_skills_that_the_settings_name() {
    let project = Project::new();
    project
        .skill("named/mine", "mine", "Does what is mine")
        .file(
            "named/routing.json",
            "[{\"request\": \"mine\", \"expect\": \"mine\"}]",
        );
    let operator = |project: &Project| project.operator("skills:\n  paths: [~/named]\n");
    for by_file in [false, true] {
        let variables: &[_] = if by_file {
            &[]
        } else {
            &[("SKILLS_DIR", "named")]
        };
        if by_file {
            operator(&project);
        }
        for (line, code) in [
            ("list", 0),
            ("show mine", 0),
            ("search mine", 0),
            ("route mine", 0),
            ("inspect --skill mine", 0),
            ("inspect --host claude", 0),
            ("eval", 0),
            ("compile --check", 0),
            ("roots", 0),
            ("config show", 0),
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            let ran = run_with(&project, variables, &words);
            assert_eq!(ran.code, Some(code), "{line}: {}{}", ran.stdout, ran.stderr);
            let all = ran.stdout + &ran.stderr;
            let is_meant = ["mine", "named", "1 skill", "1 of 1"];
            assert!(is_meant.iter().any(|it| all.contains(it)), "{line}: {all}");
            assert!(!all.contains("writing-skills"), "{line}: {all}");
        }
        let mut command = project.command();
        command.envs(variables.iter().copied());
        let mut session = start(command, &[]);
        let listed = session.tool_text("skills_list", &json!({}));
        assert!(
            listed.contains("mine") && !listed.contains("writing-skills"),
            "{listed}"
        );
        session.finish();
        // What is typed comes first.
        let typed = run_with(&project, variables, &["list", "--bundle", "nowhere.skb"]);
        assert_eq!(typed.code, Some(2));
        assert!(typed.stderr.contains("nowhere.skb"), "{}", typed.stderr);
    }
    // `verify` is about files of the archive format, so it verifies the embedded ones.
    let verified = run_with(&project, &[("SKILLS_DIR", "named")], &["verify"]);
    assert_eq!(verified.code, Some(0), "{}", verified.stderr);
    let missing = run_with(&project, &[("SKILLS_DIR", "nowhere")], &["list"]);
    assert_eq!(missing.code, Some(2));
    assert!(
        missing.stderr.starts_with("error: SKILLS_DIR: "),
        "{}",
        missing.stderr
    );
}

#[test]
fn the_operators_file_sets_what_options_set() {
    let project = Project::new();
    project
        .skill(".github/skills/mine", "mine", "Of the project")
        .skill("skills/deep/one", "one", "One")
        .skill("skills/deep/two", "two", "Two");
    let listed = |yaml: &str, arguments: &[&str]| {
        project.operator(yaml);
        let ran = project.run(arguments);
        format!("{}{}", ran.stdout, ran.stderr)
    };
    assert!(listed("", &["list"]).contains("mine\t"));
    let without = listed("skills:\n  project_roots: false\n", &["list"]);
    assert!(!without.contains("mine\t"), "{without}");
    let limited = listed("skills: {max_files: 2}\n", &["list", "skills"]);
    assert!(limited.contains("error"), "{limited}");
    let cache = listed("cache:\n  directory: kept\n", &["cache", "path"]);
    let expected = project.operator("").with_file_name("kept");
    assert_eq!(cache.trim_end(), expected.display().to_string());
    assert!(listed("cache: {directory: off}", &["cache"]).contains("no cache"));
    project.operator("serve:\n  tools: catalog\n  dotted_names: true\nlog:\n  level: info\n");
    let mut session = start(project.command(), &["skills"]);
    let tools = session.result("tools/list", json!({}));
    let tools = tools["tools"].as_array().expect("a list").iter();
    let names: Vec<_> = tools
        .map(|it| it["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["skills.search", "skills.list"]);
    let _ = session.tool("skills_list", &json!({}));
    assert!(session.finish().stderr.contains("INFO"));
    project.file("other.yaml", "skills:\n  project_roots: false\n");
    let ran = project.run(&["list", "--config", "other.yaml"]);
    assert!(!ran.stdout.contains("mine\t"), "{}", ran.stdout);
}

#[test]
fn runners_of_the_operator_go_over_the_default_ones() {
    let project = Project::new();
    project.operator("scripts:\n  runners: {.rb: ruby, .ts: \"\"}\n");
    let show = |arguments: &[&str]| {
        let all = [&["config", "show", "--json"], arguments].concat();
        shown(&project.run(&all), "scripts.runners").0
    };
    assert_eq!(
        show(&[]),
        json!({ ".sh": "bash", ".js": "node", ".py": "python3", ".rb": "ruby" })
    );
    assert_eq!(
        show(&["--set", "scripts.runners=.py=python3 -I,.sh="]),
        json!({ ".ts": "npx tsx", ".js": "node", ".py": "python3 -I" })
    );
}

#[test]
fn what_scripts_may_reach_is_the_operators_alone() {
    let project = Project::new();
    let wide = "scripts:\n  allow_project: true\n  network: true\n  directories: [work]\n  data_directory: kept\n";
    content(&project, wide);
    let show = |arguments: &[&str], name: &str| {
        let all = [&["config", "show", "content/skills", "--json"], arguments].concat();
        shown(&project.run(&all), name)
    };
    let trusting = ["--trust-content-config"];
    for (name, default) in [
        ("scripts.allow_project", json!(false)),
        ("scripts.network", json!(false)),
        ("scripts.directories", json!([])),
        ("scripts.data_directory", Value::Null),
    ] {
        let expected = (default, "default".to_owned());
        assert_eq!(show(&[], name), expected);
        assert_eq!(show(&trusting, name), expected);
    }
    let checked = project.run(&["compile", "--check", "content/skills"]);
    let reported = checked.stderr.matches("config-needs-operator").count()
        + checked.stdout.matches("config-needs-operator").count();
    assert_eq!(reported, 4, "{}{}", checked.stdout, checked.stderr);
    let allowed = show(&["--allow-project-scripts"], "scripts.allow_project");
    assert_eq!(allowed, (true.into(), "--allow-project-scripts".to_owned()));
    let file = project.operator(wide);
    let (directories, origin) = show(&[], "scripts.directories");
    assert_eq!(directories, json!([file.with_file_name("work")]));
    assert_eq!(origin, format!("{}:4", file.display()));
    for set in ["scripts.isolation=none", "scripts.memory_bytes=0"] {
        let ran = project.run(&["config", "show", "--set", set]);
        assert_eq!(ran.code, Some(2), "{set}");
    }
}

#[test]
fn a_config_beside_the_skills_counts_and_its_edits_are_seen() {
    let project = Project::new();
    let page =
        |keywords: &str| format!("---\ndescription: A page\nkeywords: [{keywords}]\n---\nx\n");
    project
        .file("content/skills/_root.md", page("zzzz"))
        .file("content/skills/a.md", page("forms, paper, ink, pens"));
    let mut session = start(project.command(), &["content/skills"]);
    let mut finds = || {
        let answer = session.tool_json("get_skill", &json!({ "context": "forms" }));
        answer["no_match"] != true
    };
    // Enough calls for a watch to be in place.
    for _ in 0..6 {
        assert!(finds());
    }
    std::thread::sleep(Duration::from_millis(100));
    let write = |score: &str| {
        // In place, as some editors save.
        let text = format!("matching:\n  min_score: {score}\n");
        fs::write(project.path("content/config.yaml"), text).expect("writable");
        std::thread::sleep(Duration::from_millis(700));
    };
    for (score, found) in [("0.9", false), ("0.1", true), ("0.8", false)] {
        write(score);
        assert_eq!(finds(), found, "{score}");
    }
    fs::remove_file(project.path("content/config.yaml")).expect("it is there");
    std::thread::sleep(Duration::from_millis(700));
    assert!(finds());
    // A file in the root itself comes first.
    write("0.9");
    project.file(
        "content/skills/config.yaml",
        "matching:\n  min_score: 0.1\n",
    );
    std::thread::sleep(Duration::from_millis(700));
    assert!(finds());
    session.finish();
}

/// Docs are checked against the table, so that no setting is without them.
#[test]
fn every_setting_is_documented_and_in_the_schema() {
    let path = workspace().join("docs/configuration.md");
    let page = fs::read_to_string(&path).expect("the page is there");
    let (before, rest) = page
        .split_once("## Every setting\n\n")
        .expect("the heading");
    let (_, after) = rest.split_once("\n\n").expect("text after the table");
    let mut rows = String::from(
        "| setting | value | default | content may | set by | meaning |\n|---|---|---|---|---|---|\n",
    );
    for setting in SETTINGS {
        use skillbundle_format::SettingKind::{
            Count, Fraction, Names, Operator, Positive, Program,
        };
        let default = match setting.default_value() {
            Value::Null => String::new(),
            Value::String(text) if text.is_empty() => String::new(),
            Value::Array(items) if items.is_empty() => String::new(),
            value => format!("`{value}`"),
        };
        let may = match setting.kind {
            Fraction(_) | Positive(_) | Count(_) | Names(_) => "tune",
            Operator(..) | Program(..) => "",
            _ => "narrow",
        };
        let ways = [setting.variable, setting.enabled_by, setting.option];
        let ways: Vec<_> = ways.into_iter().filter(|it| !it.is_empty()).collect();
        let ways = ways
            .iter()
            .map(|it| format!("`{it}`"))
            .collect::<Vec<_>>()
            .join(", ");
        let effect = if setting.has_effect {
            ""
        } else {
            " (no effect yet)"
        };
        let (name, value, meaning) = (
            setting.name(),
            setting.value_type().describe(),
            setting.meaning,
        );
        let row = [
            &*value,
            &default,
            may,
            &ways,
            &(meaning.to_owned() + effect),
        ];
        rows.extend([format!("| `{name}` | {} |\n", row.join(" | "))]);
    }
    let expected = format!("{before}## Every setting\n\n{rows}\n{after}");
    if updating() {
        fs::write(&path, &expected).expect("writable");
    }
    assert!(
        updating() || expected == page,
        "UPDATE_GOLDEN=1 writes the table of docs/configuration.md"
    );

    let project = Project::new();
    let schema: Value =
        serde_json::from_str(&project.run(&["config", "schema"]).stdout).expect("JSON");
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    let mut full = serde_json::Map::new();
    for setting in SETTINGS {
        let of_key = &schema["properties"][setting.section]["properties"][setting.key];
        let is_secret = setting.value_type() == ValueType::Secret;
        assert_eq!(of_key.is_null(), is_secret, "{}", setting.name());
        let default = setting.default_value();
        let is_set = !is_secret && !default.is_null();
        assert_eq!(
            of_key.get("default"),
            is_set.then_some(&default),
            "{}",
            setting.name()
        );
        if is_set {
            full.entry(setting.section).or_insert_with(|| json!({}))[setting.key] = default;
        }
    }
    // A file with every default, which is YAML since JSON is, changes nothing but who has set it.
    project.operator(Value::from(full).to_string());
    let ran = project.run(&["config", "show", "--json"]);
    for setting in SETTINGS.iter().filter(|it| !it.default_value().is_null()) {
        let (value, origin) = shown(&ran, &setting.name());
        assert_eq!(value, setting.default_value());
        assert!(origin.ends_with("config.yaml:1"), "{origin}");
    }
}
