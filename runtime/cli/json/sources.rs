//! The bodies of the commands that read sources: `check`, `explain`, `compile` and `new`.

use serde::Serialize;
use serde_json::Value;

use super::Comparison;

/// The body of `check`.
#[derive(Serialize)]
pub(crate) struct Check<'a> {
    pub(crate) findings: Value,
    pub(crate) error_count: usize,
    pub(crate) warning_count: usize,
    pub(crate) info_count: usize,
    pub(crate) skill_count: usize,
    pub(crate) file_count: u64,
    pub(crate) profile: &'a str,
    pub(crate) failure: Option<&'a str>,
    pub(crate) comparison: Option<Comparison<'a>>,
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
    rationale: &'static str,
    bad_example: &'static str,
    good_example: &'static str,
    rule_source: &'static str,
}

/// How a profile judges.
#[derive(Serialize)]
struct RuleSeverity {
    profile: &'static str,
    severity: &'static str,
}

impl Rule {
    /// The row of this rule.
    pub(crate) fn new(code: skillbundle_compiler::Code) -> Self {
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
            rationale: guide.why,
            bad_example: guide.bad,
            good_example: guide.good,
            rule_source: guide.source,
        }
    }
}

/// The body of `compile`.
#[derive(Serialize)]
pub(crate) struct Compilation<'a> {
    pub(crate) findings: Value,
    pub(crate) error_count: usize,
    pub(crate) warning_count: usize,
    pub(crate) skill_count: usize,
    pub(crate) file_count: u64,
    pub(crate) bytes: u64,
    pub(crate) address: String,
    pub(crate) output: Option<&'a std::path::Path>,
    pub(crate) failed_files: &'a [String],
    pub(crate) removed_skills: &'a [String],
}

/// The body of `new`.
#[derive(Serialize)]
pub(crate) struct NewSkill<'a> {
    pub(crate) name: &'a str,
    pub(crate) description: &'a str,
    pub(crate) dialect: &'static str,
    pub(crate) location: &'a str,
    pub(crate) made_files: &'a [String],
    pub(crate) next_commands: &'a [String],
}
