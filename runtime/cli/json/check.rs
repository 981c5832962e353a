//! What `check --json` and `explain --json` print.

use serde::Serialize;
use serde_json::Value;
use skillbundle_compiler::Code;

use super::Comparison;

/// What does not count in a check, and by which settings.
#[derive(Default, Serialize)]
pub(crate) struct CheckPolicy {
    pub(crate) settings_files: Vec<String>,
    pub(crate) unchecked_count: usize,
    pub(crate) suppressed_count: usize,
    pub(crate) baseline_count: usize,
    pub(crate) baseline_gone_count: usize,
    pub(crate) unchanged_count: usize,
}

/// The body of `check`.
#[derive(Serialize)]
pub(crate) struct Check<'a> {
    pub(crate) findings: Value,
    pub(crate) error_count: usize,
    pub(crate) warning_count: usize,
    pub(crate) info_count: usize,
    pub(crate) skill_count: usize,
    pub(crate) file_count: u64,
    pub(crate) profile: String,
    pub(crate) failure: Option<&'a str>,
    #[serde(flatten)]
    pub(crate) policy: CheckPolicy,
    pub(crate) fixed_count: usize,
    pub(crate) not_fixed: Vec<NotFixed<'a>>,
    pub(crate) fixable_count: usize,
    pub(crate) unsafe_fixable_count: usize,
    pub(crate) comparison: Option<Comparison<'a>>,
}

/// Something that was not fixed.
#[derive(Serialize)]
pub(crate) struct NotFixed<'a> {
    pub(crate) place: &'a str,
    pub(crate) reason: &'a str,
}

/// The body of `explain`.
#[derive(Serialize)]
pub(crate) struct Explanation {
    pub(crate) rules: Vec<Rule>,
}

/// A row of the table of rules.
#[derive(Serialize)]
pub(crate) struct Rule {
    code: &'static str,
    severity: &'static str,
    elsewhere: Vec<RuleSeverity>,
    meaning: &'static str,
    reason: &'static str,
    bad_example: &'static str,
    good_example: &'static str,
    based_on: &'static str,
}

/// How a profile judges.
#[derive(Serialize)]
struct RuleSeverity {
    profile: &'static str,
    severity: &'static str,
}

impl Rule {
    /// The row of this rule.
    pub(crate) fn new(code: Code) -> Self {
        let elsewhere = code.elsewhere().iter();
        let elsewhere = elsewhere.map(|(profile, severity)| RuleSeverity {
            profile: profile.as_str(),
            severity: severity.as_str(),
        });
        let guide = code.guide();
        Self {
            code: code.as_str(),
            severity: code.severity().as_str(),
            elsewhere: elsewhere.collect(),
            meaning: code.meaning(),
            reason: guide.why,
            bad_example: guide.bad,
            good_example: guide.good,
            based_on: guide.source,
        }
    }
}
