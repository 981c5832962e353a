//! `bm25f/1`: which skills a request in plain words means, from tables made
//! when compiling. A lexical ranker after Robertson and Zaragoza's BM25F ("The
//! Probabilistic Relevance Framework", 2009), with what short documents about
//! tools need beside it: rarity against a background of public skills, the
//! name's share, and neighbouring words.
//!
//! ```text
//! terms    see crate::text::Tokenizer; those of the request each once
//! tf~(t,d) = Σ_f weight_f · tf_f / (1 − length_f + length_f · len_f / avglen_f)
//! df~(t)   = skills that hold t outside the body + BODY_SHARE · the others that hold it
//! I(t)     = ln(1 + (N − df~ + κ(1−p) + ½) / (df~ + κ·p + ½)), p: share in the background
//! W(t,d)   = I(t) · tf~ · (k₁+1) / (k₁ + tf~)               stored as 1 to 255, as are neighbours
//! U(q,d)   = Σ_t W(t,d)
//! P(q,d)   = PAIR · Σ over neighbours in q that are neighbours in d: ln(1 + (N − df₂ + ½)/(df₂ + ½))
//! S(q,d)   = (U + P) · (1 + NAME_SHARE · share of the name's information in q)
//!            + the greatest S there is, if q names d outright
//! B(t)     = −ln p
//! M(q,d)   = Σ_t W(t,d) over the terms that d holds outside the body
//! E(q)     = Σ_t I(t) · e^−I(t)                             the score expected by chance
//! near(q)  = Σ over neighbours in q, with or without a clause break between them, that occur at
//!            most two terms apart in some skill, in either order: the lesser B of the two
//! conf(q)  = (SCORE_SHARE · (S₁ + M₁) + near − CHANCE · E) / √max(Σ_t I(t), LEAST_INFORMATION)
//!            and 0 at least
//! ```
//! Scores are sums of integers, so they have the same bits on every machine.
//! Equal scores are ordered by path. What follows from a confidence and a lead
//! is the caller's decision; every number is in `parameters.rs`.
//!
//! A request is answered term at a time: posting lists are added up in one
//! accumulator per document, and a heap keeps the best.

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
pub use query::{Explanation, Query, field_names};
pub use scoring::{Accumulators, Scored};
pub use weigh::Document;

use dictionary::Dictionary;
use parameters::{BACKGROUND_SKILLS, Field};
use postings::{Impacts, Postings, read_sized};

/// How many columns a rank table has.
pub const COLUMNS: usize = 9;

const WHAT: &str = "the rank table contradicts itself";
const DAMAGED: Error = Error::Corrupt(WHAT);

/// More documents than this would not fit the lengths of lists.
const MAX_DOCUMENTS: usize = 1 << 24;

/// In an order: the document is of the tree dialect.
const TREE: u32 = 1 << 31;

/// What the shares of a whole name add up to, but for rounding.
const SHARES: u32 = 255;

/// Stored weights are in fractions of a natural unit, this many to one.
const FRACTION: f64 = 1024.0;

/// The postings of all documents, in the columns that [`build()`] made.
#[derive(Debug, Clone, Copy)]
pub struct RankTable<'a> {
    /// The weight that an impact of 255 stands for, in [`FRACTION`]s.
    greatest: u32,
    /// Per document: place by path, and [`TREE`].
    orders: Numbers<'a>,
    /// By hash; an entry is a [`Term`]. A term's number is its place here.
    terms: Dictionary<'a>,
    /// By [`pair_key`]; an entry is the postings of neighbours.
    pairs: Dictionary<'a>,
    /// The filter of terms that co-occur.
    cooccurrence: &'a [cooccurrence::WordBytes],
}

/// A term as it lies in a table.
struct Term<'a> {
    /// What a request tells by it, in [`FRACTION`]s.
    information: u32,
    /// How rare it is in the background, see [`rarity`], in the same.
    rarity: u32,
    impacts: Impacts<'a>,
    /// The documents whose names hold it, and its shares of them.
    names: Postings<'a>,
    /// The documents that hold it outside the body, and in which fields.
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

    /// Its impact in a document and the fields that hold it; zeros if none does.
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
    /// The caller says how many documents there are, so that a made-up table
    /// cannot ask for more memory than the skills would need.
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

    /// How many documents there are.
    fn len(&self) -> usize {
        self.orders.len()
    }

    /// Whether the document is of the tree dialect.
    pub fn is_tree(&self, document: u32) -> bool {
        let order = self.orders.get(document as usize);
        order.is_some_and(|order| order & TREE != 0)
    }

    /// How many documents are of the tree dialect.
    pub fn trees(&self) -> usize {
        let orders = (0..self.len()).filter_map(|document| self.orders.get(document));
        orders.filter(|order| order & TREE != 0).count()
    }

    /// A score in natural units.
    pub fn weight(&self, score: u32) -> f64 {
        f64::from(score) * f64::from(self.greatest) / (255.0 * FRACTION)
    }

    /// The term of a number.
    fn term(&self, number: u32) -> Option<Term<'a>> {
        Term::read(self.terms.entry(number)?, self.len())
    }

    /// The documents in which two terms are neighbours, and what each of them is
    /// given for it.
    fn pair(&self, terms: (u32, u32)) -> Option<Impacts<'a>> {
        let entry = match self.pairs.find(pair_key(terms)) {
            Some(place) => self.pairs.entry(place)?,
            None => &[],
        };
        Some(Impacts::new(entry, self.len()))
    }
}

/// How much a request tells by a term that `holding` of `skills` hold.
fn information(term: &str, holding: f64, skills: usize) -> f64 {
    let p = share(term);
    let kappa = BACKGROUND_SKILLS;
    let without = count(skills) - holding + kappa * (1.0 - p) + 0.5;
    libm::log(1.0 + without / (holding + kappa * p + 0.5))
}

/// How rare a term is among public skills.
fn rarity(term: &str) -> f64 {
    -libm::log(share(term))
}

/// A term's identity. Two terms of one hash would be one to requests; among a
/// million terms that happens in one of some thirty million bundles.
fn hash(term: &str) -> u64 {
    xxh3_64(term.as_bytes())
}

/// The key of two neighbours, by their numbers.
fn pair_key((first, second): (u32, u32)) -> u64 {
    u64::from(first) << 32 | u64::from(second)
}

/// A positive number in [`FRACTION`]s.
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
