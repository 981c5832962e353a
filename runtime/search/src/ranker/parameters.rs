//! Every parameter of the ranker `bm25f/1`. They were chosen on labelled requests to real trees;
//! `docs/routing.md` has the figures, and `docs/notes/routing-experiments.md` lists other values
//! and methods that were tried.

/// The name of the ranker in answers. It must change with every change of a rule or parameter.
pub const NAME: &str = "bm25f/1";

/// A field of a skill, with its own weight: an index of [`FIELDS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    /// The name.
    Name,
    /// Declared keywords, tags and triggers.
    Keywords,
    /// The description, without its negative clauses.
    Description,
    /// Phrases that the description quotes: mostly examples of requests.
    Quoted,
    /// Negative clauses of the description: what the skill is not for.
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

/// Whether a skill's description says that it is not for a term: the term occurs in negative clauses,
/// and nowhere else but in the body.
pub(crate) const fn is_excluded(mask: u8) -> bool {
    mask & !Field::Body.bit() == Field::Negative.bit()
}

/// The parameters of a field.
pub(crate) struct FieldRule {
    /// The name of the field in explanations.
    pub(crate) name: &'static str,
    /// The weight of an occurrence.
    pub(crate) weight: f64,
    /// The strength of length normalisation: 0 for none, 1 for proportional (b of BM25).
    pub(crate) length: f64,
}

/// Indexed by [`Field`], and by the bits of a mask.
pub(crate) const FIELDS: [FieldRule; 6] = [
    rule("name", 5.0, 0.0),
    rule("keywords", 2.0, 0.7),
    rule("description", 1.5, 0.2),
    rule("quoted", 2.0, 0.3),
    rule("negative", 0.5, 0.4),
    rule("body", 0.2, 0.75),
];

const fn rule(name: &'static str, weight: f64, length: f64) -> FieldRule {
    FieldRule {
        name,
        weight,
        length,
    }
}

/// Term frequency saturation (k₁ of BM25).
pub(crate) const SATURATION: f64 = 1.2;

/// The weight of a skill that contains a term only in its body, in the document frequency of the
/// term. Other skills with the term have weight 1.
pub(crate) const BODY_SHARE: f64 = 0.5;

/// The weight of the background corpus, as a number of skills (κ).
pub(crate) const BACKGROUND_SKILLS: f64 = 50.0;

/// The share of the score that is added if the request contains a skill's whole name.
pub(crate) const NAME_SHARE: f64 = 0.6;

/// The weight of a pair of neighbours in a request that are neighbours in a skill, multiplied by
/// the rarity of the pair.
pub(crate) const PAIR: f64 = 1.5;

/// The minimum information of a request in the confidence formula: a single rare word is not
/// reliable evidence.
pub(crate) const LEAST_INFORMATION: f64 = 14.0;

/// The weight in a confidence of the score, and of the part of the score outside the body.
/// Neighbours that co-occur in some skill have weight 1: a request of another domain shares words
/// with a skill, but seldom phrases with the bundle.
pub(crate) const SCORE_SHARE: f64 = 0.5;

/// The weight of the score expected by chance, which is subtracted from a confidence: the longer a
/// request of another domain is, the more common words it contains. Values 0, 1 and 4 separate the
/// requests of small trees from others less well.
pub(crate) const CHANCE: f64 = 2.0;

/// The minimum confidence of a match in a bundle of one skill.
const MIN_CONFIDENCE: f64 = 1.0;

/// The growth of the minimum confidence for each factor e in the number of skills: with more
/// skills, the best chance match is better.
const CONFIDENCE_GROWTH: f64 = 0.35;

/// The default minimum confidence of a match, for this number of documents.
pub fn min_confidence(documents: u32) -> f64 {
    MIN_CONFIDENCE + CONFIDENCE_GROWTH * libm::log(f64::from(documents.max(1)))
}

/// The minimum lead of the best document, as a share of its score.
pub const MIN_MARGIN: f64 = 0.12;

/// The maximum number of distinct terms and neighbours of a request; the rest is ignored. Sums of
/// their impacts fit 16 bits, and a pasted book costs no more than a page.
pub(crate) const MAX_PARTS: usize = 257;

/// The number of terms of greatest impact that are kept per skill. More change nothing on real
/// trees and make the tables longer.
pub(crate) const MAX_POSTINGS: usize = 512;
