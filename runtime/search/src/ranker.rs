//! `bm25f/1`: ranks skills for a request in plain words, from tables built when compiling. A
//! lexical ranker based on Robertson and Zaragoza's BM25F ("The Probabilistic Relevance
//! Framework", 2009), with three additions for short documents about tools: rarity in a background
//! corpus of public skills, the share of the name, and neighbouring words.
//!
//! ```text
//! terms    see crate::text::Tokenizer; each term of the request once
//! tf~(t,d) = Σ_f weight_f · tf_f / (1 − length_f + length_f · len_f / avglen_f)
//! df~(t)   = skills with t outside the body + BODY_SHARE · skills with t in the body only
//! I(t)     = ln(1 + (N − df~ + κ(1−p) + ½) / (df~ + κ·p + ½)), p: share in the background
//! W(t,d)   = I(t) · tf~ · (k₁+1) / (k₁ + tf~)               stored as 1 to 255; pairs too
//! U(q,d)   = Σ_t W(t,d)
//! P(q,d)   = PAIR · Σ over neighbours in q that are neighbours in d:
//!            ln(1 + (N − df₂ + ½) / (df₂ + ½))
//! S(q,d)   = (U + P) · (1 + NAME_SHARE · share of the name's information in q)
//!            + the greatest S of all documents, if q names d explicitly
//! B(t)     = −ln p
//! M(q,d)   = Σ_t W(t,d) over the terms that occur in d outside the body
//! E(q)     = Σ_t I(t) · e^−I(t)                             the score expected by chance
//!            E and the Σ_t I(t) of conf leave out bigrams of scripts without spaces that no
//!            document contains: the bundle does not speak the language, and its words in the
//!            request, which are terms too, tell what the request is about
//! near(q)  = Σ over neighbours in q, with or without a clause break between them, that occur at
//!            most two terms apart in some skill, in either order: the smaller B of the two
//! conf(q)  = (SCORE_SHARE · (S₁ + M₁) + near − CHANCE · E) / √max(Σ_t I(t), LEAST_INFORMATION)
//!            at least 0
//! ```
//! Neighbours in q have no negation between them, and those in d are not in what its description says
//! the skill is not for. The decision is between the documents that *support* the request: terms that
//! a description excludes, which occur in its negative clauses and nowhere else but in the body, add
//! to S alone, and a document is set aside if their information exceeds that of the terms that it
//! describes.
//!
//! Scores are sums of integers, so they are identical on every machine. Equal scores are ordered by
//! path. The caller decides what to do with a confidence and a lead. Every parameter is in
//! `parameters.rs`.
//!
//! Requests are evaluated term at a time: posting lists are added up in one accumulator per
//! document, and a heap keeps the top k.

use xxhash_rust::xxh3::xxh3_64;

use crate::error::Error;
use crate::table::{Numbers, arrays, read_varint};
use crate::text::corpus_frequencies::share;

mod build;
mod confidence;
mod cooccurrence;
mod dictionary;
mod parameters;
mod postings;
mod query;
mod scoring;
#[cfg(test)]
mod tests;
mod weigh;

pub use build::build;
pub use parameters::{MIN_MARGIN, NAME, min_confidence};
pub use query::{Query, ScoreParts, field_names};
pub use scoring::{Accumulators, Scored};
pub use weigh::Document;

use dictionary::Dictionary;
use parameters::{BACKGROUND_SKILLS, Field};
use postings::{Impacts, Postings, read_sized};

/// The number of columns of a rank table.
pub const COLUMNS: usize = 9;

const WHAT: &str = "the rank table contradicts itself";
const DAMAGED: Error = Error::Corrupt(WHAT);

/// The maximum number of documents. More would not fit the lengths of lists.
const MAX_DOCUMENTS: usize = 1 << 24;

/// Flag in an entry of `orders`: the document is of the tree dialect.
const TREE: u32 = 1 << 31;

/// The sum of the shares of a whole name, apart from rounding.
const SHARES: u32 = 255;

/// Fixed point: stored weights are in units of 1/1024.
const FRACTION: f64 = 1024.0;

/// The postings of all documents, in the columns that [`build()`] made.
#[derive(Debug, Clone, Copy)]
pub struct RankTable<'a> {
    /// The weight of an impact of 255, in units of 1/[`FRACTION`].
    greatest: u32,
    /// Per document: its position in path order, and the flag [`TREE`].
    orders: Numbers<'a>,
    /// Terms by hash; an entry is a [`Term`]. The number of a term is its position here.
    terms: Dictionary<'a>,
    /// Neighbouring terms by [`pair_key`]; an entry is their postings.
    pairs: Dictionary<'a>,
    /// The Bloom filter of terms that co-occur.
    cooccurrence: &'a [cooccurrence::WordBytes],
}

/// A term, decoded from a table.
struct Term<'a> {
    /// The information of the term, in units of 1/[`FRACTION`].
    information: u32,
    /// Its rarity in the background corpus, see [`rarity`], in the same units.
    rarity: u32,
    impacts: Impacts<'a>,
    /// The documents whose names contain it, with its shares of those names.
    names: Postings<'a>,
    /// The documents that contain it outside the body, with masks of the fields.
    fields: Postings<'a>,
}

impl<'a> Term<'a> {
    fn read(mut entry: &'a [u8], documents: usize) -> Option<Self> {
        let entry = &mut entry;
        Some(Self {
            information: read_varint(entry)?,
            rarity: read_varint(entry)?,
            impacts: Impacts::new(read_sized(entry)?, documents),
            names: Postings::new(read_sized(entry)?),
            fields: Postings::new(entry),
        })
    }

    /// Its impact in a document and the mask of fields that contain it; zeros if none does.
    fn posting(&self, document: u32) -> (u8, u8) {
        match (self.impacts.get(document), self.fields.get(document)) {
            (0, _) => (0, 0),
            (impact, 0) => (impact, Field::Body.bit()),
            found => found,
        }
    }
}

impl<'a> RankTable<'a> {
    /// Opens the columns that [`build()`] made. Their contents are checked when used.
    ///
    /// The caller passes the number of documents, so that a forged table cannot request more memory
    /// than the skills need.
    pub fn open(columns: [&'a [u8]; COLUMNS], documents: u32) -> Result<Self, Error> {
        let [
            greatest,
            orders,
            cooccurrence,
            terms @ ..,
            pair_keys,
            pair_ends,
            pair_entries,
        ] = columns;
        let greatest = Numbers::read(greatest, WHAT)?;
        let opened = Self {
            greatest: greatest.get(0).ok_or(DAMAGED)?,
            orders: Numbers::read(orders, WHAT)?,
            cooccurrence: arrays(cooccurrence, WHAT)?,
            terms: Dictionary::read(terms)?,
            pairs: Dictionary::read([pair_keys, pair_ends, pair_entries])?,
        };
        if opened.len() == documents as usize {
            Ok(opened)
        } else {
            Err(DAMAGED)
        }
    }

    /// The number of documents.
    fn len(&self) -> usize {
        self.orders.len()
    }

    /// Whether the document is of the tree dialect.
    pub fn is_tree(&self, document: u32) -> bool {
        let order = self.orders.get(document as usize);
        order.is_some_and(|order| order & TREE != 0)
    }

    /// The number of documents of the tree dialect.
    pub fn trees(&self) -> usize {
        let orders = (0..self.len()).filter_map(|document| self.orders.get(document));
        orders.filter(|order| order & TREE != 0).count()
    }

    /// Converts a score to natural units.
    pub fn weight(&self, score: u32) -> f64 {
        f64::from(score) * f64::from(self.greatest) / (255.0 * FRACTION)
    }

    /// The term with this number.
    fn term(&self, number: u32) -> Option<Term<'a>> {
        Term::read(self.terms.entry(number)?, self.len())
    }

    /// The documents in which two terms are neighbours, with the impact of the pair.
    fn pair(&self, terms: (u32, u32)) -> Option<Impacts<'a>> {
        let entry = match self.pairs.find(pair_key(terms)) {
            Some(place) => self.pairs.entry(place)?,
            None => &[],
        };
        Some(Impacts::new(entry, self.len()))
    }
}

/// The information of a term that `holding` of `skills` skills contain: its smoothed inverse
/// document frequency.
fn information(term: &str, holding: f64, skills: usize) -> f64 {
    let p = share(term);
    let kappa = BACKGROUND_SKILLS;
    let without = count(skills) - holding + kappa * (1.0 - p) + 0.5;
    libm::log(1.0 + without / (holding + kappa * p + 0.5))
}

/// How rare a term is in public skills.
fn rarity(term: &str) -> f64 {
    -libm::log(share(term))
}

/// The hash that identifies a term. Requests cannot tell two terms of equal hash apart; with a
/// million terms, that happens in one of about thirty million bundles.
fn hash(term: &str) -> u64 {
    xxh3_64(term.as_bytes())
}

/// The key of two neighbouring terms, by their numbers.
fn pair_key((first, second): (u32, u32)) -> u64 {
    u64::from(first) << 32 | u64::from(second)
}

/// Converts a positive number to units of 1/[`FRACTION`].
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "natural units of rarity are below 100"
)]
fn fixed(number: f64) -> u32 {
    (number * FRACTION).round() as u32
}

#[expect(clippy::cast_precision_loss, reason = "at most 2²⁴ documents")]
fn count(documents: usize) -> f64 {
    documents as f64
}
