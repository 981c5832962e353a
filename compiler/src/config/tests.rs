//! Key by key: what content may do, and what it may not.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;
use skillbundle_format::Overrides;

use super::*;
use crate::report::Location;
use crate::testing::{self, Row};

#[test]
fn the_documented_settings_are_those_of_the_table() {
    let of_content = SETTINGS.iter().filter(|it| it.is_of_content());
    let rows: Vec<Row> = of_content.map(row).collect();
    let header = ["key", "type", "default", "content may", "meaning"];
    let file = "tree-dialect/references/keys.md";
    testing::check(file, "## config.yaml", &header, &rows);
}

fn row(setting: &Setting) -> Row {
    let may = match setting.kind {
        SettingKind::Fraction(_)
        | SettingKind::Positive(_)
        | SettingKind::Count(_)
        | SettingKind::Names(_) => "tune",
        SettingKind::Lower(_) | SettingKind::LowerBytes(_) => "lower",
        SettingKind::Switch(_) => "turn off",
        SettingKind::Subset(_) => "narrow",
        SettingKind::Operator(..) | SettingKind::Program(..) => "nothing",
    };
    let kind = setting.value_type().describe();
    let default = match setting.value(&Settings::default()) {
        None => String::new(),
        Some(Value::Null) => "by the number of skills".to_owned(),
        Some(Value::Array(items)) => {
            let items: Vec<_> = items.iter().filter_map(Value::as_str).collect();
            items.join(" ")
        }
        Some(value) => format!("{value} {}", setting.unit).trim_end().to_owned(),
    };
    let name = format!("`{}`", setting.name());
    [&name, &kind, &default, may, setting.meaning]
        .map(str::to_owned)
        .to_vec()
}

#[test]
fn another_programs_file_is_not_ours() {
    for (text, ours) in [
        ("matching:\n", true),
        ("a: 1\nscripts : {}", true),
        ("{\"assets\": {}}", true),
        ("matching: [", true),
        ("\u{feff}refresh:", true),
        ("", false),
        ("title: x\nparams:\n  assets: y\n", false),
        ("matchings: 1", false),
        ("# matching: 1", false),
        ("baseURL: /", false),
    ] {
        assert_eq!(is_ours(text.as_bytes()), ours, "{text:?}");
    }
}

fn read(yaml: &str) -> (Settings, Vec<String>) {
    let (settings, found) = parse("config.yaml", yaml.as_bytes());
    let name = |it: &Diagnostic| {
        let at = it.span.map(|span| Location::of(yaml.as_bytes(), span));
        let at = at.map_or(String::new(), |at| format!(" {}:{}", at.line, at.column));
        format!("{}{at}", it.code)
    };
    (settings, found.iter().map(name).collect())
}

/// The example of spec 3 §11.2, in other order and spacing.
const EXAMPLE: &str = "\
assets:
  inline_text_max_bytes: 10240
  max_size_bytes: 1048576
matching: {min_score: 0.2, max_results: 3, ambiguity_threshold: 0.1}
scripts:
  enabled: true
  timeout_seconds: 60
  max_output_bytes: 1048576
  allowed_extensions: [.sh, .ts, .js, .py]
  runners: {\".py\": python3, \".sh\": \"bash\", \".ts\": \"npx tsx\", \".js\": \"node\"}
refresh:
  enabled: true
  interval_minutes: 15
analytics:
  enabled: false
  endpoint: \"\"
";

#[test]
fn spelling_out_the_defaults_reports_nothing() {
    for yaml in [EXAMPLE, "", "# nothing\n", "matching:\nscripts: ~\n"] {
        assert_eq!(read(yaml), (Settings::default(), Vec::new()), "{yaml}");
    }
}

#[test]
fn content_can_tune_and_narrow() {
    let yaml = "\
matching:
  min_score: 0
  max_results: 9
  ambiguity_threshold: 1.0
  min_confidence: 2.5
  min_margin: 0.3
refresh:
  enabled: off
  interval_minutes: 1
scripts:
  enabled: false
  timeout_seconds: 5
  max_output_bytes: 0
  allowed_extensions: [.py]
assets:
  max_size_bytes: 1000
  inline_text_max_bytes: 10
contracts:
  agents: [A, B]
";
    let (settings, found) = read(yaml);
    assert_eq!(found, ["not-a-boolean 8:12"]);
    assert_eq!(
        settings,
        Settings {
            min_score: 0.0,
            max_results: 9,
            ambiguity_threshold: 1.0,
            min_confidence: Some(2.5),
            min_margin: 0.3,
            refresh_enabled: false,
            refresh_interval_minutes: 1,
            scripts_enabled: false,
            script_timeout_seconds: 5,
            script_max_output_bytes: 0,
            script_extensions: vec![".py".to_owned()],
            asset_max_bytes: 1000,
            asset_inline_max_bytes: 10,
            agents: vec!["A".to_owned(), "B".to_owned()],
        }
    );
}

#[test]
fn content_cannot_widen() {
    for (yaml, finding) in [
        (
            "scripts:\n  timeout_seconds: 61\n",
            "config-needs-operator 2:3",
        ),
        (
            "scripts:\n  max_output_bytes: 1048577\n",
            "config-needs-operator 2:3",
        ),
        (
            "scripts:\n  allowed_extensions: [.sh, .ts, .js, .py, .rb]\n",
            "config-needs-operator 2:3",
        ),
        (
            "scripts:\n  runners: {\".sh\": \"sh -c\"}\n",
            "config-needs-operator 2:3",
        ),
        ("scripts:\n  runners: curl\n", "config-needs-operator 2:3"),
        (
            "assets:\n  max_size_bytes: 9000000000\n",
            "config-needs-operator 2:3",
        ),
        (
            "assets:\n  inline_text_max_bytes: 20000\n",
            "config-needs-operator 2:3",
        ),
        ("analytics:\n  enabled: true\n", "config-needs-operator 2:3"),
        (
            "analytics: {endpoint: \"http://127.0.0.1:9\"}\n",
            "config-needs-operator 1:13",
        ),
    ] {
        let (carried, found) = read(yaml);
        let applied = Overrides::default().apply(carried);
        assert_eq!(
            (applied, found),
            (Settings::default(), vec![finding.to_owned()]),
            "{yaml}"
        );
    }
}

#[test]
fn invalid_values_keep_the_default() {
    for (yaml, finding) in [
        ("matching:\n  min_score: 1.5\n", "config-invalid-value 2:14"),
        (
            "matching:\n  min_score: -0.1\n",
            "config-invalid-value 2:14",
        ),
        ("matching:\n  min_score: high\n", "not-a-number 2:14"),
        ("matching:\n  min_score: .nan\n", "not-a-number 2:14"),
        ("matching:\n  max_results: 0\n", "config-invalid-value 2:16"),
        (
            "matching:\n  max_results: 2.5\n",
            "config-invalid-value 2:16",
        ),
        (
            "matching:\n  max_results: 5000000000\n",
            "config-invalid-value 2:16",
        ),
        ("matching:\n  max_results: [3]\n", "not-a-number 2:16"),
        ("matching: 0.3\n", "config-invalid-value 1:11"),
        (
            "refresh:\n  interval_minutes: 0\n",
            "config-invalid-value 2:21",
        ),
        (
            "scripts:\n  timeout_seconds: 0\n",
            "config-invalid-value 2:20",
        ),
        (
            "scripts:\n  max_output_bytes: -1\n",
            "config-invalid-value 2:21",
        ),
        ("matching:\n  min_scores: 0.3\n", "config-unknown-key 2:3"),
        ("matchin:\n  min_score: 0.3\n", "config-unknown-key 1:1"),
        ("extra: 1\n", "config-unknown-key 1:1"),
    ] {
        assert_eq!(
            read(yaml),
            (Settings::default(), vec![finding.to_owned()]),
            "{yaml}"
        );
    }
    let (_, found) = parse("c", b"matching:\n  min-score: 0.3\n");
    assert_eq!(found[0].help.as_deref(), Some("did you mean `min_score`?"));
    assert_eq!(
        found[0].fix.as_ref().unwrap().edits[0].replacement,
        "min_score"
    );
}

#[test]
fn an_unreadable_narrowing_setting_still_narrows() {
    for (yaml, code) in [
        ("scripts:\n  enabled: disabled\n", "not-a-boolean 2:12"),
        ("scripts: none\n", "config-invalid-value 1:10"),
        ("scripts: {enabled: false\n", "unquoted-value 1:10"),
        ("- scripts\n", "not-a-mapping 1:1"),
        (
            "scripts:\n  enabled: true\nscripts:\n  enabled: false\n",
            "duplicate-key 3:1",
        ),
    ] {
        let (settings, found) = read(yaml);
        assert!(!settings.scripts_enabled, "{yaml}");
        assert_eq!(found[0], code, "{yaml}");
    }
    let (settings, found) = read("scripts:\n  allowed_extensions: .sh\n");
    assert_eq!(
        (settings.script_extensions.len(), found),
        (0, vec!["not-a-list 2:23".to_owned()])
    );
    let (settings, found) = parse("c", b"\xFF");
    assert!(!settings.scripts_enabled);
    assert!(found[0].help.as_ref().unwrap().ends_with("scripts are off"));
}

/// Values of every type, right and wrong, and pieces that break a file.
const VALUES: [&str; 24] = [
    "0",
    "1",
    "-1",
    "0.5",
    "1e9",
    "5000000",
    "99999999999999999999",
    "true",
    "false",
    "off",
    "text",
    "\"quoted\"",
    "[]",
    "[.sh, .exe]",
    "[1]",
    "{}",
    "{.sh: sh}",
    "{.sh: 1}",
    "~",
    "",
    "[",
    "&a *a",
    "https://example.com/x",
    "\u{202e}x",
];

proptest! {
    #[test]
    fn no_file_widens_a_limit_or_gives_the_operator_a_wrong_type(
        lines in vec((0..SETTINGS.len(), 0..VALUES.len()), 0..12)
    ) {
        let mut yaml = String::new();
        for (setting, value) in lines {
            let Setting { section, key, .. } = &SETTINGS[setting];
            yaml.extend([section, ":\n  ", key, ": ", VALUES[value], "\n"]);
        }
        let applied = Overrides::default().apply(read(&yaml).0);
        let default = Settings::default();
        prop_assert!(applied.script_timeout_seconds <= default.script_timeout_seconds);
        prop_assert!(applied.script_max_output_bytes <= default.script_max_output_bytes);
        prop_assert!(applied.asset_max_bytes <= default.asset_max_bytes);
        prop_assert!(applied.asset_inline_max_bytes <= default.asset_inline_max_bytes);
        let mut extensions = applied.script_extensions.iter();
        prop_assert!(extensions.all(|it| default.script_extensions.contains(it)));

        let (values, report) = read_config("c", yaml.as_bytes());
        for it in &values {
            prop_assert!(it.setting.value_type().accepts(&it.value), "{it:?}");
            prop_assert!(it.line >= 1 && it.line <= yaml.lines().count());
        }
        let written = yaml.lines().filter(|line| line.starts_with(' ')).count();
        prop_assert!(values.len() <= written, "{}", report.render_plain());
    }
}
