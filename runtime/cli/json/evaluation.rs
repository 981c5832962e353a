//! What `eval --json` prints.

use serde::Serialize;
use serde_json::Value;

/// The body of `eval`.
#[derive(Serialize)]
pub(crate) struct Evaluation<'a> {
    pub(crate) totals: Tally,
    pub(crate) tallies: Vec<SkillTally<'a>>,
    pub(crate) confusions: Vec<Confusion<'a>>,
    pub(crate) failures: Vec<FailedRequest<'a>>,
    pub(crate) thin: Vec<Thin<'a>>,
    pub(crate) request_files: &'a [String],
    pub(crate) findings: Value,
    pub(crate) unmet: &'a [String],
}

#[derive(Serialize)]
pub(crate) struct Tally {
    positives: u32,
    hits: u32,
    offered: u32,
    misses: u32,
    hit_rate: Option<f64>,
    negatives: u32,
    false_triggers: u32,
    false_rate: Option<f64>,
}

#[derive(Serialize)]
pub(crate) struct SkillTally<'a> {
    pub(crate) path: &'a str,
    #[serde(flatten)]
    pub(crate) tally: Tally,
}

#[derive(Serialize)]
pub(crate) struct Confusion<'a> {
    pub(crate) path: &'a str,
    pub(crate) won: &'a str,
    pub(crate) count: u32,
    pub(crate) example: &'a str,
}

#[derive(Serialize)]
pub(crate) struct FailedRequest<'a> {
    pub(crate) request: &'a str,
    pub(crate) outcome: &'static str,
    pub(crate) expected: &'a [String],
    pub(crate) answered: &'a [String],
    pub(crate) file: &'a str,
    pub(crate) line: Option<usize>,
}

#[derive(Serialize)]
pub(crate) struct Thin<'a> {
    pub(crate) path: &'a str,
    pub(crate) term_count: usize,
}

impl From<&skillbundle_compiler::Tally> for Tally {
    fn from(tally: &skillbundle_compiler::Tally) -> Self {
        Self {
            positives: tally.positives,
            hits: tally.hits,
            offered: tally.offered,
            misses: tally.misses,
            hit_rate: tally.hit_rate(),
            negatives: tally.negatives,
            false_triggers: tally.false_triggers,
            false_rate: tally.false_rate(),
        }
    }
}
