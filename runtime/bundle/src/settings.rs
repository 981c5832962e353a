//! The settings of spec 3's `config.yaml`: the values that a bundle carries, and the table of all
//! settings with their names. A bundle carries only what content may change (matching) or restrict
//! (limits, scripts, refresh); runners and endpoints are set by the operator.

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
}

/// One setting: how it is written, and what it means.
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
    /// No effect in content, and not stored: the default, as JSON. Content may repeat it, because
    /// people copy the whole example of the specification.
    Operator(&'static str),
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
    }
}

/// Spec 3 §11.2, and the keys that tune the ranker.
#[rustfmt::skip]
pub static SETTINGS: &[Setting] = &[
    setting("matching", "min_score", SettingKind::Fraction(|it| &mut it.min_score), "", "skills below this score are left out"),
    setting("matching", "max_results", SettingKind::Count(|it| &mut it.max_results), "skills", "how many candidates an ambiguous answer names"),
    setting("matching", "ambiguity_threshold", SettingKind::Fraction(|it| &mut it.ambiguity_threshold), "", "two best scores closer than this are ambiguous"),
    setting("matching", "min_confidence", SettingKind::Positive(|it| &mut it.min_confidence), "", "skills of the folder dialect below this confidence are left out"),
    setting("matching", "min_margin", SettingKind::Fraction(|it| &mut it.min_margin), "", "share of its score by which the best skill of the folder dialect must lead"),
    setting("refresh", "enabled", SettingKind::Switch(|it| &mut it.refresh_enabled), "", "whether the skills are refreshed periodically"),
    setting("refresh", "interval_minutes", SettingKind::Count(|it| &mut it.refresh_interval_minutes), "minutes", "time between two refreshes"),
    setting("scripts", "enabled", SettingKind::Switch(|it| &mut it.scripts_enabled), "", "whether a server may run scripts"),
    setting("scripts", "timeout_seconds", SettingKind::Lower(|it| &mut it.script_timeout_seconds), "seconds", "time after which a script is stopped"),
    setting("scripts", "max_output_bytes", SettingKind::LowerBytes(|it| &mut it.script_max_output_bytes), "bytes", "how much of each output stream of a script is kept"),
    setting("scripts", "allowed_extensions", SettingKind::Subset(|it| &mut it.script_extensions), "", "extensions of files that may be run"),
    setting("scripts", "runners", SettingKind::Operator(r#"{".sh":"bash",".ts":"npx tsx",".js":"node",".py":"python3"}"#), "", "the program for each extension"),
    setting("assets", "max_size_bytes", SettingKind::LowerBytes(|it| &mut it.asset_max_bytes), "bytes", "size of the largest file that is served"),
    setting("assets", "inline_text_max_bytes", SettingKind::LowerBytes(|it| &mut it.asset_inline_max_bytes), "bytes", "size of the largest text that is shown inline"),
    setting("analytics", "enabled", SettingKind::Operator("false"), "", "whether events are recorded"),
    setting("analytics", "endpoint", SettingKind::Operator("\"\""), "", "where events are sent"),
];

impl Setting {
    /// Its name: section and key.
    pub fn name(&self) -> String {
        format!("{}.{}", self.section, self.key)
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
            SettingKind::Subset(slot) => std::mem::take(slot(it)).into(),
            SettingKind::Operator(_) => return None,
        })
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
            12
        ]);
        assert_eq!(Value::from(values), expected);
    }
}
