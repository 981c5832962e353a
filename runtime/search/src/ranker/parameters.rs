//! Every number of the ranker `bm25f/1`, in one place. They were chosen on
//! labelled requests to real trees; `docs/routing.md` has the figures and
//! `docs/notes/routing-experiments.md` what else was tried.

/// The name that answers carry. A change of rule or number is a new name.
pub const NAME: &str = "bm25f/1";

/// A part of a skill that is weighed on its own: a place in [`FIELDS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    /// The name.
    Name,
    /// Declared keywords, tags and triggers.
    Keywords,
    /// The description, except what it says the skill is not for.
    Description,
    /// Phrases that the description quotes: mostly examples of requests.
    Quoted,
    /// What the description says the skill is not for.
    Negative,
    /// The text after the frontmatter.
    Body,
}

impl Field {
    /// Its bit in a mask of fields.
    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// How a field counts.
pub(crate) struct FieldRule {
    /// The word in explanations.
    pub(crate) name: &'static str,
    /// How much an occurrence counts.
    pub(crate) weight: f64,
    /// How far the field's length reduces that: 0 not at all, 1 in proportion
    /// (b of BM25).
    pub(crate) length: f64,
}

/// By [`Field`], and by the bits of a mask.
pub(crate) const FIELDS: [FieldRule; 6] = [
    rule("name", 5.0, 0.0),
    rule("keywords", 2.0, 0.7),
    rule("description", 1.5, 0.2),
    rule("quoted", 2.0, 0.3),
    rule("negative", 0.3, 0.4),
    rule("body", 0.2, 0.75),
];

const fn rule(name: &'static str, weight: f64, length: f64) -> FieldRule {
    FieldRule {
        name,
        weight,
        length,
    }
}

/// How soon more occurrences stop counting more (k₁ of BM25).
pub(crate) const SATURATION: f64 = 1.2;

/// What a skill that holds a term only in its body counts as, instead of 1, in
/// the number of skills that hold the term.
pub(crate) const BODY_SHARE: f64 = 0.5;

/// The number of skills that the background counts as, beside the bundle's own (κ).
pub(crate) const BACKGROUND_SKILLS: f64 = 50.0;

/// The share that is added to the score if the request holds a skill's whole name.
pub(crate) const NAME_SHARE: f64 = 0.6;

/// What two neighbours of a request that are neighbours in a skill add, times
/// how rare that is.
pub(crate) const PAIR: f64 = 1.5;

/// Requests that hold less information than this are judged as if they held it:
/// one rare word alone is no sure sign.
pub(crate) const LEAST_INFORMATION: f64 = 14.0;

/// What the score, and once more its part outside the body, count in a
/// confidence. Neighbours that co-occur in some skill count 1: a request of
/// another domain shares words with a skill, but seldom phrases with the bundle.
pub(crate) const SCORE_SHARE: f64 = 0.5;

/// How often the score expected by chance is subtracted from a confidence: a
/// request of another domain holds more common words the longer it is. 0, 1 and
/// 4 separate the requests of small trees from others less well.
pub(crate) const CHANCE: f64 = 2.0;

/// The confidence below which nothing matches in a bundle of one skill ...
const MIN_CONFIDENCE: f64 = 1.0;

/// ... and what is added to it whenever there are e times as many skills: among
/// more skills chance finds a better one.
const CONFIDENCE_GROWTH: f64 = 0.35;

/// The confidence below which nothing matches among so many documents, unless
/// the caller sets another one.
pub fn min_confidence(documents: u32) -> f64 {
    MIN_CONFIDENCE + CONFIDENCE_GROWTH * libm::log(f64::from(documents.max(1)))
}

/// The share of its score by which the best must lead.
pub const MIN_MARGIN: f64 = 0.12;

/// A request is read until its distinct terms and neighbours are this many:
/// their impacts then fit 16 bits, and a pasted book costs what a page costs.
pub(crate) const MAX_PARTS: usize = 257;

/// The terms of greatest impact that are kept of a skill. More change nothing on
/// real trees and make the tables longer.
pub(crate) const MAX_POSTINGS: usize = 512;
