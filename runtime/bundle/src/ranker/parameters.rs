//! Every number of the ranker `bm25f/1`, in one place. They were chosen on
//! labelled requests to real trees; `docs/routing.md` has the figures, and
//! what else was tried.

/// The name that answers carry. A change of rule or number is a new name.
pub(crate) const NAME: &str = "bm25f/1";

/// A part of a skill that is read with a weight of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    /// The name.
    Name,
    /// Declared keywords, tags and triggers.
    Keywords,
    /// The description, less what it says the skill is not for.
    Description,
    /// Phrases that the description quotes: examples of requests, mostly.
    Quoted,
    /// What the description says the skill is not for.
    Negative,
    /// The text after the frontmatter.
    Body,
}

impl Field {
    /// Every field, in the order of [`FIELDS`] and of the bits of a mask.
    pub(crate) const ALL: [Self; 6] = [
        Self::Name,
        Self::Keywords,
        Self::Description,
        Self::Quoted,
        Self::Negative,
        Self::Body,
    ];

    /// The word in explanations.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Keywords => "keywords",
            Self::Description => "description",
            Self::Quoted => "quoted",
            Self::Negative => "negative",
            Self::Body => "body",
        }
    }

    /// Its bit in a mask of fields.
    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// How much an occurrence in a field counts, and how far the field's length
/// tempers that (0: not at all; 1: in proportion).
pub(crate) struct Weight {
    pub(crate) weight: f64,
    pub(crate) length: f64,
}

/// By [`Field`].
pub(crate) const FIELDS: [Weight; 6] = [
    Weight {
        weight: 5.0,
        length: 0.0,
    },
    Weight {
        weight: 2.0,
        length: 0.7,
    },
    Weight {
        weight: 1.5,
        length: 0.2,
    },
    Weight {
        weight: 2.0,
        length: 0.3,
    },
    Weight {
        weight: 0.3,
        length: 0.4,
    },
    Weight {
        weight: 0.2,
        length: 0.75,
    },
];

/// How soon more occurrences stop to count more (k₁ of BM25).
pub(crate) const SATURATION: f64 = 1.2;

/// How many of 1 skill that holds a term in its body alone counts as, when it
/// is asked how rare the term is.
pub(crate) const BODY_SHARE: f64 = 0.5;

/// As how many skills the background counts beside the bundle's own (κ).
pub(crate) const BACKGROUND_SKILLS: f64 = 50.0;

/// What a request that names all of a skill's name adds to its score.
pub(crate) const NAME_SHARE: f64 = 0.6;

/// What two neighbours of a request that are neighbours in a skill add, times
/// how rare that is.
pub(crate) const PAIR: f64 = 1.5;

/// Requests that hold less than this much information are judged as if they
/// held it: one rare word alone is no sure sign.
pub(crate) const LEAST_INFORMATION: f64 = 14.0;

/// What the score, and once more its part outside the body, count in a
/// confidence. Neighbours that stand near each other in some skill count 1: a
/// request of another domain shares words with a skill, but seldom phrases with
/// the bundle.
pub(crate) const SCORE_SHARE: f64 = 0.5;

/// How often what chance brings is taken off a confidence: a request of another
/// domain holds as many common words as it is long. 0, 1 and 4 times part small
/// trees' requests from others' less well.
pub(crate) const CHANCE: f64 = 2.0;

/// Below this confidence nothing matches, in a bundle of one skill ...
pub(crate) const MIN_CONFIDENCE: f64 = 1.0;

/// ... and so much more is asked for each time there are e times as many: among
/// more skills chance finds a better one.
pub(crate) const CONFIDENCE_GROWTH: f64 = 0.35;

/// The share of its score by which the best must lead.
pub(crate) const MIN_MARGIN: f64 = 0.12;

/// A request is read until its distinct terms and neighbours are so many: their
/// impacts then add up to 16 bits, and a pasted book costs what a page costs.
pub(crate) const MAX_PARTS: usize = 257;

/// At most this many terms are kept of a skill, those of the greatest impact.
/// More change nothing on real trees, and make the tables longer.
pub(crate) const MAX_POSTINGS: usize = 512;
