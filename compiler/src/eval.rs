//! Do requests find the skills that their authors mean? Replays the requests
//! that lie in a tree as evaluation files, or stand in frontmatter as
//! `triggers`, through the routing of the compiled bundle. Where requests come
//! from is in `eval/files.rs`, how they are written in `eval/shapes.rs`, what
//! an answer counts for in `eval/replay.rs`.

mod files;
mod replay;
mod shapes;

use std::collections::BTreeMap;

use skillbundle_format::{Bundle, Catalog, Dialect, Error};

use crate::diagnostic::Report;
use crate::source::{self, Limits};
use crate::{Compiled, Root};

/// A description with fewer terms than this is thin: 35 of 710 public ones in
/// 16 trees are, most of them a title. Above it the length of a description
/// does not tell how often its skill is found: 53 to 86 % in every band of five.
const THIN: usize = 8;

/// What the replay of all requests showed.
#[derive(Debug, Clone, Default)]
pub struct Evaluation {
    /// What is wrong with the evaluation files themselves.
    pub report: Report,
    /// The files and pages that requests were read from, as the user would
    /// type them, sorted.
    pub files: Vec<String>,
    /// All requests together. A request counts once as a positive and once as
    /// a negative at most, however many skills it names.
    pub totals: Tally,
    /// By path, for every skill that a request is about or was won by.
    pub skills: BTreeMap<String, Tally>,
    /// Positives that another skill won, the most frequent first.
    pub confusions: Vec<Confusion>,
    /// Every request that did not end as it should, in the order of reading.
    pub failures: Vec<Failure>,
    /// Folder-dialect skills, by path, whose description has so few distinct
    /// terms that requests in other words can hardly match it, with their number.
    pub thin: BTreeMap<String, usize>,
}

/// How often requests ended in which way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Requests that should find the skill: the sum of the next three.
    pub positives: u32,
    /// It was found, and no other with it.
    pub hits: u32,
    /// It was among the candidates of an ambiguous answer.
    pub offered: u32,
    /// Neither.
    pub misses: u32,
    /// Requests that should not find the skill; for one skill, those among the
    /// requests without any skill that it won count too.
    pub negatives: u32,
    /// Negatives that found it all the same, and no other with it.
    pub false_triggers: u32,
}

/// A skill whose requests another one wins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confusion {
    /// Path of the skill that was meant.
    pub expected: String,
    /// Path of the skill that won.
    pub won: String,
    /// How many requests.
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

/// A request that did not end as it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The request.
    pub request: String,
    /// The file that it stands in.
    pub file: String,
    /// Its line there, counted from 1.
    pub line: Option<usize>,
    /// How it failed.
    pub outcome: Outcome,
    /// Paths of the skills of which one should have been found; empty where none should.
    pub expected: Vec<String>,
    /// Paths of the skills that were answered: the winner, or all candidates.
    pub answered: Vec<String>,
}

impl Tally {
    /// Hits by positives, 0 to 1; nothing where there are no positives.
    pub fn hit_rate(&self) -> Option<f64> {
        share(self.hits, self.positives)
    }

    /// False triggers by negatives, 0 to 1; nothing where there are no negatives.
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

/// Asks `bundle` every request that lies in `roots`. Both are what `compiled`
/// was made from and made into. It fails only where the bundle is damaged;
/// whatever is wrong with a file is a finding.
pub fn evaluate(roots: &[Root], compiled: &Compiled, bundle: &Bundle) -> Result<Evaluation, Error> {
    let mut tree = source::walk(roots, Limits::default());
    let catalog = bundle.catalog()?;
    let requests = files::requests(&mut tree, &compiled.set, &catalog)?;
    let mut evaluation = replay::replay(&catalog, &requests.asked)?;
    evaluation.files = requests.files;
    evaluation.thin = thin(&catalog)?;
    evaluation.report = Report::new(requests.findings, |file| {
        tree.source_of(file)
            .or_else(|| files::page(&tree, &compiled.set, file))
    });
    Ok(evaluation)
}

/// Skills that few requests can match. Pages of a tree are found by their
/// keywords, so their descriptions do not matter.
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
