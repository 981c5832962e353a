//! The one table of settings: names, types, defaults, and who may set each. A bundle carries what
//! its `config.yaml` (spec 3 §11.2) says about matching and limits; [`Overrides`] decides how much
//! of that applies. Runners, endpoints and the settings of the program are the operator's alone.

use serde_json::Value;
use skillbundle_search::ranker::MIN_MARGIN;

/// Settings compiled into a bundle. [`Default`] is spec 3 §11.2.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Matches below this score are left out (0.0 to 1.0).
    pub min_score: f64,
    /// Maximum number of candidates listed when a match is ambiguous.
    pub max_results: u32,
    /// If the two best scores are closer than this, the match is ambiguous (0.0 to 1.0).
    pub ambiguity_threshold: f64,
    /// Confidence below which the ranker of the folder dialect finds nothing. The default depends
    /// on the number of skills.
    pub min_confidence: Option<f64>,
    /// The minimum relative lead of that ranker's best skill; below it the match is ambiguous (0.0
    /// to 1.0).
    pub min_margin: f64,
    /// Whether the content requests periodic refresh.
    pub refresh_enabled: bool,
    /// The refresh interval, in minutes.
    pub refresh_interval_minutes: u32,
    /// False forbids every script of this bundle.
    pub scripts_enabled: bool,
    /// Maximum run time of a script, in seconds.
    pub script_timeout_seconds: u32,
    /// Maximum bytes kept of a script's stdout and of its stderr.
    pub script_max_output_bytes: u64,
    /// Allowed extensions of scripts, with the dot.
    pub script_extensions: Vec<String>,
    /// Maximum size of a file served by `get_asset`, in bytes.
    pub asset_max_bytes: u64,
    /// Maximum size of a text file shown inline, in bytes.
    pub asset_inline_max_bytes: u64,
    /// The agents that contracts may name; empty if they may name any.
    pub agents: Vec<String>,
}

/// One setting: how it is written, who may set it, and what it means.
#[derive(Debug)]
#[non_exhaustive]
pub struct Setting {
    /// The section of `config.yaml` that it is in.
    pub section: &'static str,
    /// Its key in the section.
    pub key: &'static str,
    /// Its type, where [`Settings`] stores it, and what content may do with it.
    pub kind: SettingKind,
    /// The unit of its number; empty if it has none.
    pub unit: &'static str,
    /// What it means, as a phrase.
    pub meaning: &'static str,
    /// The environment variable that sets it; empty if there is none.
    pub variable: &'static str,
    /// The environment variable that sets it to true if it is set at all; empty if there is none.
    pub enabled_by: &'static str,
    /// The option of the command line that sets it, beside `--set`; empty if there is none.
    pub option: &'static str,
    /// False if nothing in this version obeys it yet.
    pub has_effect: bool,
}

/// The type of a setting, where it is stored, and what content may do with it.
#[derive(Debug, Clone, Copy)]
pub enum SettingKind {
    /// Tune: a number from 0 to 1.
    Fraction(fn(&mut Settings) -> &mut f64),
    /// Tune: a number from 0 up; the default depends on the skills.
    Positive(fn(&mut Settings) -> &mut Option<f64>),
    /// Tune: a whole number from 1 up.
    Count(fn(&mut Settings) -> &mut u32),
    /// Narrow: a whole number from 1 up to the default.
    Lower(fn(&mut Settings) -> &mut u32),
    /// Narrow: a number of bytes up to the default.
    LowerBytes(fn(&mut Settings) -> &mut u64),
    /// Narrow: on by default, can be turned off.
    Switch(fn(&mut Settings) -> &mut bool),
    /// Narrow: a subset of the default's items.
    Subset(fn(&mut Settings) -> &mut Vec<String>),
    /// Tune: a list of names.
    Names(fn(&mut Settings) -> &mut Vec<String>),
    /// No effect in content, and not stored; the default is JSON. Content may repeat it, because
    /// people copy the whole example of the specification.
    Operator(ValueType, &'static str),
    /// A setting of the program, which content does not know; the default is JSON.
    Program(ValueType, &'static str),
}

/// What the value of a setting must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueType {
    /// A number from 0 to 1.
    Fraction,
    /// A number from 0 up.
    Positive,
    /// A whole number in this range.
    Whole(u64, u64),
    /// `true` or `false`.
    Boolean,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Text.
    Text,
    /// A list of text.
    Texts,
    /// Text for each key.
    TextMap,
    /// The address of an HTTP server, or empty.
    Url,
    /// A file or directory.
    Path,
    /// A list of files or directories.
    Paths,
    /// Where a journal is kept: `off`, `on`, a file, `jsonl:` and a file, or the address of a
    /// PostgreSQL server, whose password only the environment may hold.
    Destination,
    /// Text that only the environment may hold, since files and command lines are read by others.
    Secret,
}

const fn setting(
    section: &'static str,
    key: &'static str,
    kind: SettingKind,
    unit: &'static str,
    meaning: &'static str,
) -> Setting {
    Setting {
        section,
        key,
        kind,
        unit,
        meaning,
        variable: "",
        enabled_by: "",
        option: "",
        has_effect: true,
    }
}

/// A setting that only the operator has.
const fn program(
    section: &'static str,
    key: &'static str,
    value: ValueType,
    default: &'static str,
    meaning: &'static str,
) -> Setting {
    setting(
        section,
        key,
        SettingKind::Program(value, default),
        "",
        meaning,
    )
}

/// Every setting of spec 3 §11.2, the keys that tune the ranker, and those of the program.
#[rustfmt::skip]
pub static SETTINGS: &[Setting] = &[
    setting("matching", "min_score", SettingKind::Fraction(|it| &mut it.min_score), "", "skills below this score are left out"),
    setting("matching", "max_results", SettingKind::Count(|it| &mut it.max_results), "skills", "how many candidates an ambiguous answer names"),
    setting("matching", "ambiguity_threshold", SettingKind::Fraction(|it| &mut it.ambiguity_threshold), "", "two best scores closer than this are ambiguous"),
    setting("matching", "min_confidence", SettingKind::Positive(|it| &mut it.min_confidence), "", "skills of the folder dialect below this confidence are left out"),
    setting("matching", "min_margin", SettingKind::Fraction(|it| &mut it.min_margin), "", "share of its score by which the best skill of the folder dialect must lead"),
    setting("refresh", "enabled", SettingKind::Switch(|it| &mut it.refresh_enabled), "", "whether the skills are refreshed periodically").enabled_by("REFRESH_INTERVAL_MINUTES"),
    setting("refresh", "interval_minutes", SettingKind::Count(|it| &mut it.refresh_interval_minutes), "minutes", "time between two refreshes; files every 5 seconds if not set").variable("REFRESH_INTERVAL_MINUTES"),
    setting("scripts", "enabled", SettingKind::Switch(|it| &mut it.scripts_enabled), "", "whether a server may run scripts"),
    setting("scripts", "timeout_seconds", SettingKind::Lower(|it| &mut it.script_timeout_seconds), "seconds", "time after which a script is stopped"),
    setting("scripts", "max_output_bytes", SettingKind::LowerBytes(|it| &mut it.script_max_output_bytes), "bytes", "how much of each output stream of a script is kept"),
    setting("scripts", "allowed_extensions", SettingKind::Subset(|it| &mut it.script_extensions), "", "extensions of files that may be run"),
    setting("scripts", "runners", SettingKind::Operator(ValueType::TextMap, r#"{".sh":"bash",".ts":"npx tsx",".js":"node",".py":"python3"}"#), "", "the program for each extension, over the default ones; an empty text removes one"),
    program("scripts", "allow_project", ValueType::Boolean, "false", "whether scripts of skills inside the project may be run").option("--allow-project-scripts"),
    program("scripts", "isolation", ValueType::Choice(ISOLATIONS), "\"namespaces\"", "the strongest isolation that is tried"),
    program("scripts", "require_isolation", ValueType::Choice(ISOLATIONS), "\"weak\"", "the weakest isolation with which scripts are run"),
    program("scripts", "network", ValueType::Boolean, "false", "whether scripts may use the network"),
    program("scripts", "directories", ValueType::Paths, "[]", "directories that scripts may read and work in"),
    program("scripts", "data_directory", ValueType::Path, "null", "directory that scripts may change and find again, as SKILL_DATA; else they keep nothing").option("--script-data"),
    program("scripts", "memory_bytes", ValueType::Whole(1, MOST), "2147483648", "most memory of a script"),
    setting("assets", "max_size_bytes", SettingKind::LowerBytes(|it| &mut it.asset_max_bytes), "bytes", "size of the largest file that is served"),
    setting("assets", "inline_text_max_bytes", SettingKind::LowerBytes(|it| &mut it.asset_inline_max_bytes), "bytes", "size of the largest text that is shown inline").without_effect(),
    setting("contracts", "agents", SettingKind::Names(|it| &mut it.agents), "", "agents that contracts may name; any if the list is empty"),
    setting("analytics", "enabled", SettingKind::Operator(ValueType::Boolean, "false"), "", "whether analytics events are recorded, and sent if there is an endpoint").enabled_by("ANALYTICS_ENDPOINT"),
    setting("analytics", "endpoint", SettingKind::Operator(ValueType::Url, "\"\""), "", "where analytics events are sent: https, or http to this machine").variable("ANALYTICS_ENDPOINT"),
    program("analytics", "texts", ValueType::Boolean, "false", "whether what is sent holds what people and agents have written"),
    program("analytics", "server_id", ValueType::Text, "null", "where analytics events say they are from; else dev- and the user's name"),
    program("content", "trust_config", ValueType::Boolean, "false", "whether content may also raise limits").option("--trust-content-config"),
    program("skills", "paths", ValueType::Paths, "[]", "where to look if the command line names nothing; else the standard roots").variable("SKILLS_DIR").option("PATH, --dir, --bundle"),
    program("skills", "project_roots", ValueType::Boolean, "true", "whether the standard roots of the project are read").option("--no-project-roots"),
    program("skills", "embedded", ValueType::Boolean, "true", "whether the skills baked into the program are served where nothing is named").option("--no-embedded"),
    program("skills", "max_files", ValueType::Whole(1, MOST), "1000000", "most files and directories below each directory that is named").option("--max-files"),
    program("git", "repository", ValueType::Text, "\"\"", "git repository that the skills are in, as URL#BRANCH:DIRECTORY").variable("SKILLS_REPO").option("--repo"),
    program("git", "branch", ValueType::Text, "\"main\"", "branch where the URL names none; without it, the repository's own").variable("SKILLS_BRANCH"),
    program("git", "token", ValueType::Secret, "null", "token for private repositories").variable("GITHUB_TOKEN"),
    program("git", "token_hosts", ValueType::Texts, "[\"github.com\"]", "hosts that get the token; that of SKILLS_REPO gets it, too"),
    program("git", "protocols", ValueType::Texts, "[\"https\",\"ssh\"]", "how repositories may be reached: https, ssh, http, file"),
    program("git", "timeout_seconds", ValueType::Whole(1, 86_400), "60", "seconds that one synchronisation may take"),
    program("git", "max_bytes", ValueType::Whole(1, MOST), "1073741824", "most bytes of what is received, and of the files of a commit"),
    program("serve", "tools", ValueType::Text, "null", "tools and presets to offer, separated by commas; else those that find, load and read skills").option("--tools"),
    program("serve", "dotted_names", ValueType::Boolean, "false", "whether tools have dotted names").option("--dotted-names"),
    program("serve", "description_bytes", ValueType::Whole(0, MOST), "null", "most bytes of the description that lists the skills; else 2048, or what the client keeps").option("--description-bytes"),
    program("serve", "typed_tools", ValueType::Boolean, "false", "whether each skill with a contract is a tool of its own").option("--typed-tools"),
    program("serve", "agent", ValueType::Text, "null", "the agent that clients are; else they say which one they are").option("--agent"),
    program("http", "token", ValueType::Secret, "null", "token that clients of --http must have").variable("SKILLBUNDLE_TOKEN").option("--token-file"),
    program("cache", "directory", ValueType::Path, "null", "where compiled skills are kept, or `off`; else in the user's cache").variable("SKILLBUNDLE_CACHE"),
    program("journal", "destination", ValueType::Destination, "\"on\"", "where invocations are recorded; `on` is a file in the user's state").variable("SKILLBUNDLE_JOURNAL").option("--journal"),
    program("journal", "calls", ValueType::Boolean, "false", "whether every use of a skill is recorded, too: what was asked and found, read, run and searched"),
    program("journal", "retention_days", ValueType::Whole(0, 36_500), "30", "days after which an SQLite journal removes what it holds; 0 keeps it"),
    program("log", "level", ValueType::Choice(&["off", "error", "warn", "info", "debug", "trace"]), "\"warn\"", "what `serve` logs on stderr; with info each request of --http").variable("SKILLBUNDLE_LOG"),
];

/// How scripts are kept from the rest of the machine, the strongest first.
const ISOLATIONS: &[&str] = &["namespaces", "bubblewrap", "landlock", "weak"];

/// The largest whole number: doubles are exact up to it.
const MOST: u64 = 9_000_000_000_000_000;

impl Setting {
    const fn variable(self, variable: &'static str) -> Self {
        Self { variable, ..self }
    }

    const fn enabled_by(self, enabled_by: &'static str) -> Self {
        Self { enabled_by, ..self }
    }

    const fn option(self, option: &'static str) -> Self {
        Self { option, ..self }
    }

    const fn without_effect(self) -> Self {
        Self {
            has_effect: false,
            ..self
        }
    }

    /// The setting with this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        let (section, key) = name.split_once('.')?;
        let mut settings = SETTINGS.iter();
        settings.find(|it| it.section == section && it.key == key)
    }

    /// Its name: section and key.
    pub fn name(&self) -> String {
        format!("{}.{}", self.section, self.key)
    }

    /// Whether content may name it.
    pub const fn is_of_content(&self) -> bool {
        !matches!(self.kind, SettingKind::Program(..))
    }

    /// What its value must be.
    pub const fn value_type(&self) -> ValueType {
        match self.kind {
            SettingKind::Fraction(_) => ValueType::Fraction,
            SettingKind::Positive(_) => ValueType::Positive,
            SettingKind::Count(_) | SettingKind::Lower(_) => ValueType::Whole(1, u32::MAX as u64),
            SettingKind::LowerBytes(_) => ValueType::Whole(0, MOST),
            SettingKind::Switch(_) => ValueType::Boolean,
            SettingKind::Subset(_) | SettingKind::Names(_) => ValueType::Texts,
            SettingKind::Operator(value_type, _) | SettingKind::Program(value_type, _) => {
                value_type
            }
        }
    }

    /// Its default as JSON; null if there is none, or if it depends on the skills.
    pub fn default_value(&self) -> Value {
        match self.kind {
            SettingKind::Operator(_, default) | SettingKind::Program(_, default) => {
                serde_json::from_str(default).expect("the table has valid JSON")
            }
            _ => self.value(&Settings::default()).unwrap_or_default(),
        }
    }

    /// The value that applies if the operator sets this one. A text for each key adds to the default
    /// or replaces it key by key, and an empty text removes a key.
    pub fn over_default(&self, value: Value) -> Value {
        match (self.value_type(), self.default_value(), value) {
            (ValueType::TextMap, Value::Object(mut texts), Value::Object(set)) => {
                texts.extend(set);
                texts.retain(|_, text| *text != "");
                texts.into()
            }
            (_, _, value) => value,
        }
    }

    /// Its value as JSON, null if it depends on the skills; `None` if bundles do not carry it.
    pub fn value(&self, settings: &Settings) -> Option<Value> {
        let mut settings = settings.clone();
        let it = &mut settings;
        Some(match self.kind {
            SettingKind::Fraction(slot) => (*slot(it)).into(),
            SettingKind::Positive(slot) => (*slot(it)).into(),
            SettingKind::Count(slot) | SettingKind::Lower(slot) => (*slot(it)).into(),
            SettingKind::LowerBytes(slot) => (*slot(it)).into(),
            SettingKind::Switch(slot) => (*slot(it)).into(),
            SettingKind::Subset(slot) | SettingKind::Names(slot) => std::mem::take(slot(it)).into(),
            SettingKind::Operator(..) | SettingKind::Program(..) => return None,
        })
    }

    /// Stores a value that its type accepts, if bundles carry it.
    fn set(&self, settings: &mut Settings, value: &Value) {
        match self.kind {
            SettingKind::Fraction(slot) => *slot(settings) = value.as_f64().unwrap_or_default(),
            SettingKind::Positive(slot) => *slot(settings) = value.as_f64(),
            SettingKind::Count(slot) | SettingKind::Lower(slot) => {
                let value = value.as_u64().and_then(|it| u32::try_from(it).ok());
                *slot(settings) = value.unwrap_or(u32::MAX);
            }
            SettingKind::LowerBytes(slot) => *slot(settings) = value.as_u64().unwrap_or_default(),
            SettingKind::Switch(slot) => *slot(settings) = value.as_bool().unwrap_or_default(),
            SettingKind::Subset(slot) | SettingKind::Names(slot) => {
                *slot(settings) = texts(value).collect();
            }
            SettingKind::Operator(..) | SettingKind::Program(..) => {}
        }
    }
}

impl PartialEq for Setting {
    fn eq(&self, other: &Self) -> bool {
        (self.section, self.key) == (other.section, other.key)
    }
}

impl ValueType {
    /// The type in words, such as `a number from 0 to 1`.
    pub fn describe(self) -> String {
        match self {
            Self::Fraction => "a number from 0 to 1".to_owned(),
            Self::Positive => "a number from 0 up".to_owned(),
            Self::Whole(least, _) => format!("a whole number from {least} up"),
            Self::Boolean => "true or false".to_owned(),
            Self::Choice(words) => format!("one of {}", words.join(", ")),
            Self::Text => "text".to_owned(),
            Self::Texts => "a list of text".to_owned(),
            Self::TextMap => "a text for each key".to_owned(),
            Self::Url => "a URL".to_owned(),
            Self::Path => "a path".to_owned(),
            Self::Paths => "a list of paths".to_owned(),
            Self::Destination => "off, on, a path, jsonl:PATH or postgres://…".to_owned(),
            Self::Secret => "a secret".to_owned(),
        }
    }

    /// Whether a value is of this type.
    pub fn accepts(self, value: &Value) -> bool {
        match self {
            Self::Fraction => value.as_f64().is_some_and(|it| (0.0..=1.0).contains(&it)),
            Self::Positive => value.as_f64().is_some_and(|it| it.is_finite() && it >= 0.0),
            Self::Whole(least, most) => value
                .as_u64()
                .is_some_and(|it| (least..=most).contains(&it)),
            Self::Boolean => value.is_boolean(),
            Self::Choice(words) => value.as_str().is_some_and(|it| words.contains(&it)),
            Self::Text | Self::Secret => value.is_string(),
            Self::Path | Self::Destination => value.as_str().is_some_and(|it| !it.is_empty()),
            Self::Texts | Self::Paths => {
                let items = value.as_array();
                items.is_some_and(|items| items.iter().all(Value::is_string))
            }
            Self::TextMap => {
                let entries = value.as_object();
                entries.is_some_and(|entries| entries.values().all(Value::is_string))
            }
            Self::Url => value.as_str().is_some_and(is_url),
        }
    }

    /// The value of this type that a variable or an option says; `None` if it says none. Lists and
    /// maps are JSON, or items between commas, of maps `KEY=TEXT`; a list of paths that is no JSON is
    /// a single one, which may hold a comma. Of a secret only that it is set.
    pub fn parse(self, text: &str) -> Option<Value> {
        let items = || {
            text.split(',')
                .map(str::trim)
                .filter(|item| !item.is_empty())
        };
        let json = || serde_json::from_str(text).ok();
        let is_json = text.trim_start().starts_with(['[', '{']);
        let value = match self {
            Self::Fraction | Self::Positive | Self::Whole(..) | Self::Boolean => {
                serde_json::from_str(text.trim()).ok()?
            }
            Self::Choice(_) => text.trim().to_lowercase().into(),
            Self::Text | Self::Url => text.trim().into(),
            Self::Path | Self::Destination => text.into(),
            Self::Paths => json()
                .filter(|it| self.accepts(it))
                .unwrap_or_else(|| [text].as_slice().into()),
            Self::Texts | Self::TextMap if is_json => json()?,
            Self::Texts => items().collect(),
            Self::TextMap => {
                let pairs = items().map(|item| item.split_once('='));
                pairs.collect::<Option<Vec<_>>>()?.into_iter().collect()
            }
            Self::Secret => "set".into(),
        };
        self.accepts(&value).then_some(value)
    }
}

fn texts(value: &Value) -> impl Iterator<Item = String> {
    let items = value.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned)
}

/// Whether it is empty, or an address with a host and without a user and a password, which would
/// show up in logs.
fn is_url(text: &str) -> bool {
    let rest = ["https://", "http://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    let is_plain = |text: &str| !text.contains(|it: char| it.is_whitespace() || it.is_control());
    text.is_empty()
        || rest.is_some_and(|rest| {
            let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
            !host.is_empty() && !host.contains('@') && is_plain(rest)
        })
}

/// What the operator has decided about the settings, over what content says. Without a decision,
/// content may tune and narrow: its limits apply as far as they are below the defaults.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    /// Whether content may also raise limits.
    pub trusts_content: bool,
    /// The settings that the operator has set, each with a value that its type accepts.
    pub values: Vec<(&'static Setting, Value)>,
}

impl Overrides {
    /// The settings that apply to content that carries these.
    pub fn apply(&self, content: Settings) -> Settings {
        let mut settings = content;
        if !self.trusts_content {
            settings.narrow_to(&Settings::default());
        }
        for (setting, value) in &self.values {
            setting.set(&mut settings, value);
        }
        settings
    }

    /// The value that the operator has given to the setting with this name.
    pub fn value(&self, name: &str) -> Option<&Value> {
        let setting = Setting::find(name)?;
        let mut values = self.values.iter();
        values
            .find(|(it, _)| *it == setting)
            .map(|(_, value)| value)
    }
}

impl Settings {
    /// Takes every limit of `other` that is narrower. Matching settings are unchanged.
    pub(crate) fn narrow_to(&mut self, other: &Self) {
        self.scripts_enabled &= other.scripts_enabled;
        self.script_timeout_seconds = self
            .script_timeout_seconds
            .min(other.script_timeout_seconds);
        self.script_max_output_bytes = self
            .script_max_output_bytes
            .min(other.script_max_output_bytes);
        self.script_extensions
            .retain(|extension| other.script_extensions.contains(extension));
        self.asset_max_bytes = self.asset_max_bytes.min(other.asset_max_bytes);
        self.asset_inline_max_bytes = self
            .asset_inline_max_bytes
            .min(other.asset_inline_max_bytes);
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            min_score: 0.2,
            max_results: 3,
            ambiguity_threshold: 0.1,
            min_confidence: None,
            min_margin: MIN_MARGIN,
            refresh_enabled: true,
            refresh_interval_minutes: 15,
            scripts_enabled: true,
            script_timeout_seconds: 60,
            script_max_output_bytes: 1_048_576,
            script_extensions: [".sh", ".ts", ".js", ".py"].map(str::to_owned).to_vec(),
            asset_max_bytes: 1_048_576,
            asset_inline_max_bytes: 10_240,
            agents: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_text_for_each_key_goes_over_the_default_key_by_key() {
        let runners = Setting::find("scripts.runners").expect("in the table");
        for (set, changed) in [
            (json!({}), json!({})),
            (json!({ ".rb": "ruby" }), json!({ ".rb": "ruby" })),
            (
                json!({ ".py": "python3 -I" }),
                json!({ ".py": "python3 -I" }),
            ),
            (json!({ ".ts": "", ".rb": "" }), json!({ ".ts": null })),
        ] {
            let mut expected = runners.default_value();
            let texts = expected.as_object_mut().expect("texts");
            for (key, text) in changed.as_object().expect("texts") {
                match text {
                    Value::Null => drop(texts.remove(key)),
                    text => drop(texts.insert(key.clone(), text.clone())),
                }
            }
            assert_eq!(runners.over_default(set.clone()), expected, "{set}");
        }
        let extensions = Setting::find("scripts.allowed_extensions").expect("in the table");
        assert_eq!(extensions.over_default(json!([".rb"])), json!([".rb"]));
    }

    #[test]
    fn lists_and_maps_are_typed_as_json_or_with_commas() {
        for (value_type, text, expected) in [
            (ValueType::Texts, ".sh, .py", json!([".sh", ".py"])),
            (
                ValueType::Texts,
                "[\".sh\", \"a,b\"]",
                json!([".sh", "a,b"]),
            ),
            (ValueType::Texts, "[]", json!([])),
            (ValueType::Texts, "[.sh]", Value::Null),
            (ValueType::Texts, "[1]", Value::Null),
            (
                ValueType::TextMap,
                ".rb=ruby,.ts=",
                json!({ ".rb": "ruby", ".ts": "" }),
            ),
            (
                ValueType::TextMap,
                "{\".rb\": \"ruby -w\"}",
                json!({ ".rb": "ruby -w" }),
            ),
            (ValueType::TextMap, "{.rb: ruby}", Value::Null),
            (ValueType::TextMap, "ruby", Value::Null),
            (ValueType::Paths, "a,b", json!(["a,b"])),
            (ValueType::Paths, "[a]", json!(["[a]"])),
            (ValueType::Paths, "[\"a\", \"b\"]", json!(["a", "b"])),
        ] {
            let found = value_type.parse(text).unwrap_or_default();
            assert_eq!(found, expected, "{value_type:?} {text}");
        }
    }

    #[test]
    fn every_name_is_unique_and_reads_its_own_field() {
        let mut names: Vec<String> = SETTINGS.iter().map(Setting::name).collect();
        names.sort();
        assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
        let settings = Settings {
            min_score: 0.3,
            max_results: 7,
            ambiguity_threshold: 0.4,
            min_confidence: Some(2.5),
            min_margin: 0.5,
            refresh_enabled: false,
            refresh_interval_minutes: 8,
            scripts_enabled: false,
            script_timeout_seconds: 9,
            script_max_output_bytes: 10,
            script_extensions: vec![".py".to_owned()],
            asset_max_bytes: 11,
            asset_inline_max_bytes: 12,
            agents: vec!["A".to_owned()],
        };
        let values = SETTINGS.iter().filter_map(|it| it.value(&settings));
        let values: Vec<Value> = values.collect();
        let expected = json!([
            0.3,
            7,
            0.4,
            2.5,
            0.5,
            false,
            8,
            false,
            9,
            10,
            [".py"],
            11,
            12,
            ["A"]
        ]);
        assert_eq!(Value::from(values), expected);
    }
}
