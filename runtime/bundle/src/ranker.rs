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
//! W(t,d)   = I(t) · tf~ · (k₁+1) / (k₁ + tf~)               kept as 1 to 255, as are neighbours
//! U(q,d)   = Σ_t W(t,d)
//! P(q,d)   = PAIR · Σ over neighbours in q that are neighbours in d: ln(1 + (N − df₂ + ½)/(df₂ + ½))
//! S(q,d)   = (U + P) · (1 + NAME_SHARE · share of the name's information in q)
//!            + the greatest S there is, where q names d outright
//! B(t)     = −ln p
//! M(q,d)   = Σ_t W(t,d) over the terms that d holds outside the body
//! E(q)     = Σ_t I(t) · e^−I(t)                             what chance brings
//! near(q)  = Σ over neighbours in q, breaks or not, that stand at most two terms apart
//!            in some skill, in either order: the lesser B of the two
//! conf(q)  = (SCORE_SHARE · (S₁ + M₁) + near − CHANCE · E) / √max(Σ_t I(t), LEAST_INFORMATION)
//!            and 0 at least
//! ```
//! Scores are sums of integers: the same bits on every machine. Equal scores
//! are ordered by path. What follows from a confidence and a lead is decided in
//! [`crate::route`]; every number is in [`parameters`].

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, corrupt};
use crate::flat::{Magic, Numbers, TableReader};
use crate::text::background::share;

mod best;
mod build;
mod confidence;
mod filter;
mod lanes;
mod lists;
mod near;
pub(crate) mod parameters;
mod query;
mod record;
mod scores;
#[cfg(test)]
mod tests;
mod weigh;

pub(crate) use best::Scored;
pub(crate) use build::build;
pub(crate) use query::{Asked, Reasons, field_names};
pub(crate) use scores::Scratch;
pub(crate) use weigh::Document;

use lanes::{CHUNK, GROUP};
use lists::{List, Shape, Unit};
use parameters::{BACKGROUND_SKILLS, Field};
use record::{Impacts, Record, RecordBytes};

const MAGIC: Magic = *b"rnk4";
const WHAT: &str = "the rank table does not hold together";

/// Documents are numbered in 24 bits, so that an impact fits beside the number.
const MAX_DOCUMENTS: usize = 1 << 24;

/// A term that more than one document in so many holds has a row of impacts
/// instead of a list.
const ROW_SHARE: usize = 8;

/// In an order: the document is of the tree dialect.
const TREE: u32 = 1 << 31;

/// "No such term".
const ABSENT: u32 = u32::MAX;

/// What the shares of a whole name add up to, but for rounding.
const SHARES: u32 = 255;

/// Fractions of a natural unit in stored numbers.
const FRACTION: f64 = 1024.0;

/// The postings of all skills, lying in the bytes that [`build`] made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RankTable<'a> {
    /// The weight that an impact of 255 stands for, and
    /// [`parameters::LEAST_INFORMATION`], in [`FRACTION`]s.
    greatest: u32,
    least_information: u32,
    /// Per document: place by path, and [`TREE`].
    orders: Numbers<'a>,
    /// Where the terms of each of as many equal parts of all hashes begin.
    directory: Numbers<'a>,
    /// Per term, ascending by hash. What a request asks of a term lies in one
    /// cache line.
    records: &'a [RecordBytes],
    /// Per term: the list of its impacts, unless they are in a row, that of its
    /// shares of names, the shape of the next as a number, and the list of the
    /// documents that hold it outside the body, with masks of fields.
    lists: &'a [Unit],
    /// Which pairs there may be, see [`filter`].
    filter: Numbers<'a>,
    /// The second terms of pairs, ascending per first term.
    seconds: Numbers<'a>,
    /// Per pair, and behind the last: where its list begins, times two; plus
    /// one where it is far.
    pair_places: Numbers<'a>,
    /// Per pair: its documents, with what they are given for it.
    pair_lists: &'a [Unit],
    /// Rows of impacts, one for each document, of terms that many hold: adding
    /// a row up is several times faster than following as many postings.
    rows: &'a [[u8; CHUNK]],
    /// Per row and chunk: what it does not exceed, see [`lanes::Bound`].
    crests: &'a [[u8; CHUNK]],
    /// Which terms may stand near each other in some document, see [`near`].
    near: &'a [near::WordBytes],
}

impl<'a> RankTable<'a> {
    /// Checks that the arrays fit the bytes; what they hold is checked when used.
    ///
    /// The caller says how many documents there are, so that a made-up table
    /// cannot ask for more memory than the skills would need.
    pub(crate) fn open(bytes: &'a [u8], documents: u32) -> Result<Self, Error> {
        let mut table = TableReader::new(bytes, MAGIC, WHAT)?;
        let [count, terms, lists, filter] = table.counts()?;
        let [pairs, pair_lists, rows, near] = table.counts()?;
        let [greatest, least_information] = table.counts()?;
        let after = |n: usize| n.checked_add(1).ok_or(corrupt(WHAT));
        let times = |n: usize, m: usize| n.checked_mul(m).ok_or(corrupt(WHAT));
        let narrow = |n: usize| u32::try_from(n).map_err(|_| corrupt(WHAT));
        let chunks = count.div_ceil(CHUNK);
        let opened = Self {
            greatest: narrow(greatest)?,
            least_information: narrow(least_information)?,
            records: table.arrays(terms)?,
            rows: table.arrays(times(rows, chunks)?)?,
            crests: table.arrays(times(rows, chunks.div_ceil(GROUP))?)?,
            orders: table.numbers(count)?,
            directory: table.numbers(after(terms)?)?,
            lists: table.arrays(lists)?,
            filter: table.numbers(filter)?,
            seconds: table.numbers(pairs)?,
            pair_places: table.numbers(after(pairs)?)?,
            pair_lists: table.arrays(pair_lists)?,
            near: table.arrays(near)?,
        };
        table.finish()?;
        if count == documents as usize {
            Ok(opened)
        } else {
            Err(corrupt(WHAT))
        }
    }

    /// How many documents there are.
    fn len(&self) -> usize {
        self.orders.len()
    }

    /// How many chunks the documents fill.
    fn chunks(&self) -> usize {
        self.len().div_ceil(CHUNK)
    }

    /// Where a term of this hash may be among the records.
    fn bucket(&self, hash: u64) -> Option<Range<u32>> {
        let at = bucket(hash, self.records.len());
        // Without terms there is an end, and no beginning before it.
        let start = self.directory.get(at)?;
        Some(start..self.directory.get(at + 1).unwrap_or(start))
    }

    /// The term of this hash among those of its bucket, or [`ABSENT`] where no
    /// document holds it.
    fn term(&self, hash: u64, bucket: Range<u32>) -> Option<u32> {
        for term in bucket {
            if self.record(term)?.hash == hash {
                return Some(term);
            }
        }
        Some(ABSENT)
    }

    fn record(&self, term: u32) -> Option<Record> {
        self.records.get(term as usize).map(Record::from_bytes)
    }

    /// The documents and impacts of a term that has no row; otherwise nothing.
    fn impacts(&self, term: &Record) -> Option<List<'a>> {
        let units = self.lists.get(term.impacts()?)?;
        Some(term.impacts.shape().list(units))
    }

    /// The documents whose names hold a term, and its shares of them.
    fn names(&self, term: &Record) -> Option<List<'a>> {
        Some(term.names.list(self.lists.get(term.names()?)?))
    }

    /// The documents that hold a term outside the body, and in which fields.
    fn fields(&self, term: &Record) -> Option<List<'a>> {
        let (shape, rest) = self.lists.get(term.names()?.end..)?.split_at_checked(2)?;
        let (number, _) = shape.as_flattened().as_chunks();
        let shape = Shape::from_number(u32::from_le_bytes(*number.first()?));
        Some(shape.list(rest.get(..shape.units())?))
    }

    /// The impact of a term in a document and the fields that hold it; zeros
    /// where it does not.
    fn posting(&self, term: &Record, document: u32) -> Option<(u8, u8)> {
        let impact = match term.impacts {
            Impacts::Row(row) => {
                let at = document as usize;
                self.row_chunk(row, at / CHUNK)?[at % CHUNK]
            }
            Impacts::List(_) => self.impacts(term)?.get(document),
        };
        let fields = match (impact, self.fields(term)?.get(document)) {
            (0, _) => 0,
            (_, 0) => Field::Body.bit(),
            (_, fields) => fields,
        };
        Some((impact, fields))
    }

    /// The impacts of a chunk of documents in a row.
    fn row_chunk(&self, row: u32, chunk: usize) -> Option<&'a [u8; CHUNK]> {
        let start = (row as usize).checked_mul(self.chunks())?;
        self.rows.get(start.checked_add(chunk)?)
    }

    /// The crests of a group of chunks in a row.
    fn crests(&self, row: u32, group: usize) -> Option<&'a [u8; CHUNK]> {
        let start = (row as usize).checked_mul(self.chunks().div_ceil(GROUP))?;
        self.crests.get(start.checked_add(group)?)
    }

    /// Whether the two terms may be neighbours somewhere: mostly no where they
    /// are not, without a search.
    fn may_be_pair(&self, (first, second): (u32, u32)) -> Option<bool> {
        let (word, bits) = filter::place(first, second, self.filter.len());
        Some(self.filter.get(word)? & bits == bits)
    }

    /// Where the pair of two terms is among all: one place, or an empty range if
    /// they are neighbours nowhere.
    fn pair(&self, terms: (u32, u32)) -> Option<Range<usize>> {
        if !self.may_be_pair(terms)? {
            return Some(0..0);
        }
        let (first, second) = terms;
        let range = self.record(first)?.pairs()?;
        let seconds = self.seconds.slice(range.clone())?;
        let place = seconds.partition_point(|it| u32::from_le_bytes(*it) < second);
        let found = seconds.get(place) == Some(&second.to_le_bytes());
        let at = range.start + place;
        Some(at..at + usize::from(found))
    }

    /// The documents in which the terms of a pair are neighbours, and what each
    /// of them is given for it.
    fn pair_list(&self, pair: usize) -> Option<List<'a>> {
        let place = self.pair_places.get(pair)?;
        let end = self.pair_places.get(pair.checked_add(1)?)? >> 1;
        let units = self.pair_lists.get((place >> 1) as usize..end as usize)?;
        Some(lists::list(units, place & 1 == 1))
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

/// How rare a term is among public skills.
fn rarity(term: &str) -> f64 {
    -libm::log(share(term))
}

/// A term's identity. Two terms of one hash would be one to requests; of a
/// million terms that happens once in some ten million bundles.
fn hash(term: &str) -> u64 {
    xxh3_64(term.as_bytes())
}

/// Which of `parts` equal parts of all hashes this one is in; ascending.
#[expect(clippy::cast_possible_truncation, reason = "less than `parts`")]
fn bucket(hash: u64, parts: usize) -> usize {
    ((u128::from(hash) * parts as u128) >> 64) as usize
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
