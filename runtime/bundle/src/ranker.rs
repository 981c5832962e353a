//! `bm25f/1`: which skills a request in plain words means, from tables made
//! when compiling. A lexical ranker after Robertson and Zaragoza's BM25F ("The
//! Probabilistic Relevance Framework", 2009), with what short documents about
//! tools need beside it: rarity against a background of public skills, the
//! name's share, and neighbouring words.
//!
//! ```text
//! terms    see crate::text::terms; those of the request each once
//! tf~(t,d) = Σ_f weight_f · tf_f / (1 − length_f + length_f · len_f / avglen_f)
//! df~(t)   = skills that hold t outside the body + BODY_SHARE · the others that hold it
//! I(t)     = ln(1 + (N − df~ + κ(1−p) + ½) / (df~ + κ·p + ½)), p: share in the background
//! W(t,d)   = I(t) · tf~ · (k₁+1) / (k₁ + tf~)               kept as 1 to 255
//! U(q,d)   = Σ_t W(t,d)
//! S(q,d)   = U · (1 + NAME_SHARE · share of the name's information in q)
//!            + PAIR · Σ over neighbours in q that are neighbours in d: ln(1 + (N − df₂ + ½)/(df₂ + ½))
//!            + the greatest S there is, where q names d outright
//! conf(q)  = S₁ / √max(Σ_t I(t), LEAST_INFORMATION)
//! ```
//! Scores are sums of integers: the same bits on every machine. Equal scores
//! are ordered by path. What follows from a confidence and a lead is decided in
//! [`crate::route`]; every number is in [`parameters`].

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, corrupt};
use crate::flat::{Magic, Numbers, TableReader, partition_point};
use crate::text::background::share;

mod build;
mod lanes;
pub(crate) mod parameters;
mod query;
#[cfg(test)]
mod tests;
mod weigh;

pub(crate) use build::build;
pub(crate) use query::{Asked, Scored, Scratch, field_names};
pub(crate) use weigh::Document;

use parameters::{BACKGROUND_SKILLS, Field, PAIR};

const MAGIC: Magic = *b"rnk1";
const WHAT: &str = "the rank table does not hold together";

/// Documents are numbered in 24 bits, so that an impact fits beside the number.
const MAX_DOCUMENTS: usize = 1 << 24;

/// A term that more than one document in so many holds has a row of impacts.
/// The tables then are as long as without rows, within a twentieth.
const ROW_SHARE: usize = 8;

/// In an order: the document is of the tree dialect.
const TREE: u32 = 1 << 31;

/// "No such term".
const ABSENT: u32 = u32::MAX;

/// What the shares of a whole name add up to, but for rounding.
const SHARES: u32 = 255;

/// Fractions of a natural unit in stored numbers.
const FRACTION: f64 = 1024.0;

/// Fields of a term's record. Lists end where the next term's begin.
mod record {
    /// [`super::hash`] of the text.
    pub(super) const HASH: usize = 0;
    /// Where its text begins in `text`.
    pub(super) const TEXT: usize = 1;
    /// What a request tells by it, in [`super::FRACTION`]s.
    pub(super) const INFORMATION: usize = 2;
    /// 0, or its number among the rows of `impacts`, plus one.
    pub(super) const ROW: usize = 3;
    /// Where its lists begin in `postings`, `names` and `seconds`.
    pub(super) const POSTINGS: usize = 4;
    pub(super) const NAMES: usize = 5;
    pub(super) const PAIRS: usize = 6;
    /// Numbers in a record; one of them is free.
    pub(super) const LEN: usize = 8;
}

/// The postings of all skills, lying in the bytes that [`build`] made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RankTable<'a> {
    /// The weight that an impact of 255 stands for, and
    /// [`parameters::LEAST_INFORMATION`], in [`FRACTION`]s.
    greatest: u32,
    least_information: u32,
    /// Per document: place by path, and [`TREE`].
    orders: Numbers<'a>,
    /// Open addressing over the terms; a power of two of them.
    slots: Numbers<'a>,
    /// Per term, and once behind the last: see [`record`]. What a request asks of
    /// a term lies in one cache line or two.
    records: Numbers<'a>,
    /// Document and impact, ascending per term. Of a term with a row, only the
    /// documents that hold it outside the body: where it stands is known of them.
    postings: Numbers<'a>,
    /// Document and share, ascending per term.
    names: Numbers<'a>,
    /// The second terms of pairs, ascending per first term.
    seconds: Numbers<'a>,
    /// Ends in `pair_documents`, per pair.
    document_ends: Numbers<'a>,
    pair_documents: Numbers<'a>,
    /// Bits of fields, per posting.
    fields: &'a [u8],
    /// Rows of impacts, one for each document, of terms that many hold: adding
    /// a row up is several times faster than following as many postings.
    impacts: &'a [u8],
    text: &'a [u8],
}

impl<'a> RankTable<'a> {
    /// Checks that the arrays fit the bytes; what they hold is checked when used.
    ///
    /// The caller says how many documents there are, so that a made-up table
    /// cannot ask for more memory than the skills would need.
    pub(crate) fn open(bytes: &'a [u8], documents: u32) -> Result<Self, Error> {
        let mut table = TableReader::new(bytes, MAGIC, WHAT)?;
        let [count, terms, slots, rows, postings] = table.counts()?;
        let [names, pairs, pair_documents, text] = table.counts()?;
        let [greatest, least_information] = table.counts()?;
        let after = |n: usize| n.checked_add(1).ok_or(corrupt(WHAT));
        let narrow = |n: usize| u32::try_from(n).map_err(|_| corrupt(WHAT));
        let opened = Self {
            greatest: narrow(greatest)?,
            least_information: narrow(least_information)?,
            orders: table.numbers(count)?,
            slots: table.numbers(slots)?,
            records: table.numbers(
                after(terms)?
                    .checked_mul(record::LEN)
                    .ok_or(corrupt(WHAT))?,
            )?,
            postings: table.numbers(postings)?,
            names: table.numbers(names)?,
            seconds: table.numbers(pairs)?,
            document_ends: table.numbers(after(pairs)?)?,
            pair_documents: table.numbers(pair_documents)?,
            fields: table.bytes(postings)?,
            impacts: table.bytes(rows.checked_mul(count).ok_or(corrupt(WHAT))?)?,
            text: table.bytes(text)?,
        };
        table.finish()?;
        if count == documents as usize && slots.is_power_of_two() {
            Ok(opened)
        } else {
            Err(corrupt(WHAT))
        }
    }

    /// How many documents there are.
    fn len(&self) -> usize {
        self.orders.len()
    }

    /// The term's place, or [`ABSENT`] where no document holds it.
    fn term(&self, text: &str) -> Option<u32> {
        let hash = hash(text);
        let mask = self.slots.len() - 1;
        for step in 0..self.slots.len() {
            let found = self.slots.get(((hash as usize) + step) & mask)?;
            let Some(term) = found.checked_sub(1) else {
                break;
            };
            let is_it = self.field(term, record::HASH)? == hash
                && self.text.get(self.range(term, record::TEXT)?)? == text.as_bytes();
            if is_it {
                return Some(term);
            }
        }
        Some(ABSENT)
    }

    fn field(&self, term: u32, field: usize) -> Option<u32> {
        self.records.get(
            (term as usize)
                .checked_mul(record::LEN)?
                .checked_add(field)?,
        )
    }

    /// From a term's start to that of the next.
    fn range(&self, term: u32, field: usize) -> Option<Range<usize>> {
        let start = self.field(term, field)? as usize;
        let end = self.field(term.checked_add(1)?, field)? as usize;
        (start <= end).then_some(start..end)
    }

    /// What a request tells by the term, in [`FRACTION`]s.
    fn information(&self, term: u32) -> Option<u32> {
        self.field(term, record::INFORMATION)
    }

    fn name_range(&self, term: u32) -> Option<Range<usize>> {
        self.range(term, record::NAMES)
    }

    /// The postings of a term: documents and impacts.
    fn postings(&self, term: u32) -> Option<&'a [[u8; 4]]> {
        self.postings.slice(self.range(term, record::POSTINGS)?)
    }

    /// The impact of a term in a document and the fields that hold it; zeros
    /// where it does not.
    fn posting(&self, term: u32, document: u32) -> Option<(u8, u8)> {
        let range = self.range(term, record::POSTINGS)?;
        if let Some(at) = find(&self.postings, range, document)?.next() {
            let [impact, ..] = self.postings.get(at)?.to_le_bytes();
            return Some((impact, *self.fields.get(at)?));
        }
        let impact = match self.field(term, record::ROW)?.checked_sub(1) {
            Some(row) => {
                let start = (row as usize).checked_mul(self.len())?;
                *self.impacts.get(start.checked_add(document as usize)?)?
            }
            None => 0,
        };
        Some((impact, if impact == 0 { 0 } else { Field::Body.bit() }))
    }

    /// The documents in which the two terms are neighbours.
    fn pair(&self, first: u32, second: u32) -> Option<&'a [[u8; 4]]> {
        let range = self.range(first, record::PAIRS)?;
        let at = partition_point(range.clone(), |at| Some(self.seconds.get(at)? < second))?;
        if at == range.end || self.seconds.get(at)? != second {
            return Some(&[]);
        }
        self.pair_documents.slice(self.document_ends.range(at)?)
    }

    /// What neighbours in so many documents add to a score, as an impact.
    fn pair_impact(&self, documents: usize) -> u16 {
        let (all, holding) = (count(self.len()), count(documents));
        let rarity = libm::log(1.0 + (all - holding + 0.5).max(0.0) / (holding + 0.5));
        u16::try_from(self.to_impact(PAIR * rarity)).unwrap_or(u16::MAX)
    }

    /// Natural units to impacts.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the conversion saturates, which serves a damaged table"
    )]
    fn to_impact(self, weight: f64) -> u32 {
        (weight * 255.0 * FRACTION / f64::from(self.greatest.max(1))).round() as u32
    }

    /// Impacts to natural units.
    fn to_weight(self, impact: u32) -> f64 {
        f64::from(impact) * f64::from(self.greatest) / (255.0 * FRACTION)
    }
}

/// How much a request tells by a term that `holding` of `skills` hold.
fn information(term: &str, holding: f64, skills: usize) -> f64 {
    let p = share(term);
    let kappa = BACKGROUND_SKILLS;
    let without = count(skills) - holding + kappa * (1.0 - p) + 0.5;
    libm::log(1.0 + without / (holding + kappa * p + 0.5))
}

/// Where a list of documents in the upper 24 bits holds this one: one place, or
/// an empty range.
fn find(list: &Numbers<'_>, range: Range<usize>, document: u32) -> Option<Range<usize>> {
    let at = partition_point(range.clone(), |at| Some(list.get(at)? >> 8 < document))?;
    let found = at < range.end && list.get(at)? >> 8 == document;
    Some(at..at + usize::from(found))
}

/// A term's hash: the slot where the search for it begins, and a first check.
#[expect(
    clippy::cast_possible_truncation,
    reason = "half of the hash is enough to tell terms apart"
)]
fn hash(term: &str) -> u32 {
    xxh3_64(term.as_bytes()) as u32
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
