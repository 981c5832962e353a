//! Evaluation: do requests find the skills that their authors mean? Replays requests
//! from evaluation files and from `triggers` in frontmatter through the routing of
//! the compiled bundle. `files.rs` collects requests, `shapes.rs` parses them,
//! `replay.rs` routes them and counts, `reasons.rs` says why one failed.

mod files;
mod reasons;
mod replay;
mod shapes;

use std::collections::BTreeMap;

use skillbundle_format::{Bundle, Catalog, Dialect, Error, SkillSet};

use crate::diagnostic::Diagnostic;
use crate::report::Report;

pub use files::Requests;
pub(crate) use reasons::{Reasons, cut, listed};
pub(crate) use replay::{EvalCase, found};

/// Most diagnostics about the requests of one file that are reported one by one.
const MOST_REPORTED: usize = 50;

/// A description with fewer terms than this is thin: 35 of 710 public ones in 16
/// trees are, most of them mere titles. Above it, length does not predict how often
/// the skill is found: 53 to 86 % in every band of five.
const THIN: usize = 8;

/// The result of replaying all requests.
#[derive(Debug, Clone, Default)]
pub struct Evaluation {
    /// The diagnostics about the evaluation files themselves.
    pub report: Report,
    /// A diagnostic for each failed request, and why it failed; at most 50 for each file.
    pub failed: Report,
    /// The files that requests were read from, as the user would type them, sorted.
    pub files: Vec<String>,
    /// All requests together. A request counts at most once as a positive and once
    /// as a negative, however many skills it names.
    pub totals: Tally,
    /// By path, for every skill that a request names or that won one.
    pub skills: BTreeMap<String, Tally>,
    /// Positives that another skill won, most frequent first.
    pub confusions: Vec<Confusion>,
    /// Every failed request, in reading order.
    pub failures: Vec<Failure>,
    /// By path, folder-dialect skills whose description has too few distinct terms
    /// to match requests in other words, with the number of terms.
    pub thin: BTreeMap<String, usize>,
}

/// Counts of outcomes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Requests that should find the skill: the sum of the next three.
    pub positives: u32,
    /// It alone was found.
    pub hits: u32,
    /// It was one of the candidates of an ambiguous answer.
    pub offered: u32,
    /// It was not found.
    pub misses: u32,
    /// Requests that should not find the skill. For one skill, this includes the
    /// requests for no skill at all that it won.
    pub negatives: u32,
    /// Negatives that found it alone.
    pub false_triggers: u32,
}

/// A skill whose requests another skill wins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confusion {
    /// Path of the expected skill.
    pub expected: String,
    /// Path of the skill that won.
    pub won: String,
    /// Number of requests.
    pub count: u32,
    /// The first of them.
    pub example: String,
}

/// How a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The right skill was one of several candidates.
    Offered,
    /// The right skill was not found.
    Missed,
    /// A skill was found that should not have been.
    FalseTrigger,
}

/// A failed request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The request.
    pub request: String,
    /// Its file.
    pub file: String,
    /// Its line, counted from 1.
    pub line: Option<usize>,
    /// How it failed.
    pub outcome: Outcome,
    /// Paths of skills, one of which should have been found; empty if none should.
    pub expected: Vec<String>,
    /// Paths of the skills in the answer: the winner, or all candidates.
    pub answered: Vec<String>,
}

impl Tally {
    /// Hits per positive, 0 to 1; `None` without positives.
    pub fn hit_rate(&self) -> Option<f64> {
        share(self.hits, self.positives)
    }

    /// False triggers per negative, 0 to 1; `None` without negatives.
    pub fn false_rate(&self) -> Option<f64> {
        share(self.false_triggers, self.negatives)
    }
}

fn share(part: u32, whole: u32) -> Option<f64> {
    (whole > 0).then(|| f64::from(part) / f64::from(whole))
}

impl Outcome {
    /// The word used in every output: `offered`, `missed` or `false-trigger`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Offered => "offered",
            Self::Missed => "missed",
            Self::FalseTrigger => "false-trigger",
        }
    }
}

impl Requests {
    /// Replays the requests against `bundle`, which was written from `set`. Fails only if the
    /// bundle is damaged; problems of files are diagnostics.
    pub fn replay(&self, set: &SkillSet, bundle: &Bundle) -> Result<Evaluation, Error> {
        let catalog = bundle.catalog()?;
        let collected = self.collect(set, &catalog)?;
        let (evaluation, failed) = replay::replay(&catalog, &collected.cases)?;
        Ok(Evaluation {
            report: self.report(collected.diagnostics, set),
            failed: self.report(failed, set),
            files: collected.files,
            thin: thin(&catalog)?,
            ..evaluation
        })
    }
}

/// The first diagnostics of one file, and one for the others, whose message `more` makes.
pub(crate) fn capped(
    mut found: Vec<Diagnostic>,
    more: impl Fn(usize) -> String,
) -> Vec<Diagnostic> {
    if let Some(first) = found.get(MOST_REPORTED) {
        let message = more(found.len() - MOST_REPORTED);
        let last = Diagnostic::new(first.code, first.file.as_str(), message);
        found.truncate(MOST_REPORTED);
        found.push(last.severity(found[0].severity));
    }
    found
}

/// Skills with a thin description. Pages are found by keywords, so theirs do not
/// matter.
fn thin(catalog: &Catalog<'_>) -> Result<BTreeMap<String, usize>, Error> {
    let mut thin = BTreeMap::new();
    for skill in catalog.skills() {
        let skill = skill?;
        if skill.dialect == Dialect::Folder {
            let terms = catalog.route(skill.description, 1)?.terms.len();
            if terms < THIN {
                thin.insert(skill.path.to_owned(), terms);
            }
        }
    }
    Ok(thin)
}
