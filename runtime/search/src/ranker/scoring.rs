//! Scores all documents for a query, term at a time: posting lists are added up in accumulators,
//! one per document, and a heap keeps the top k. The caller owns the buffers, so that the next
//! query allocates only its result.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use wide::{u8x16, u16x8};

use super::parameters::{Field, NAME_SHARE, is_excluded};
use super::postings::{BLOCK, Impacts};
use super::query::Query;
use super::{DAMAGED, RankTable, TREE};
use crate::error::Error;

/// The contribution of a 255th of a name to a score, in 65,536ths of the sum.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a small positive constant"
)]
const NAME_FACTOR: u16 = (NAME_SHARE * 65_536.0 / 255.0) as u16;

/// A document and its score, in impacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scored {
    /// Its number.
    pub document: u32,
    /// Its score.
    pub score: u32,
    /// The request names it explicitly.
    pub named: bool,
}

/// Buffers with an entry per document, in whole blocks. Sums wrap only if a table is damaged.
#[derive(Debug, Default)]
pub struct Accumulators {
    /// Sums of the impacts of terms and neighbours, see [`super::parameters::MAX_PARTS`]; finally,
    /// the scores.
    sums: Vec<u16>,
    /// Shares of names. The shares of one name add up to at most 255.
    shares: Vec<u8>,
    /// Block-max: the greatest score of each block.
    block_max: Vec<u16>,
}

/// The best documents so far. Of equal scores, the first in path order is better.
struct TopK {
    /// A heap with the worst document on top.
    heap: BinaryHeap<(Reverse<u32>, u32, u32, bool)>,
    limit: usize,
}

impl TopK {
    fn new(limit: usize) -> Self {
        Self {
            heap: BinaryHeap::with_capacity(limit),
            limit,
        }
    }

    /// The score that a document needs to be among the best.
    fn threshold(&self) -> u32 {
        match self.heap.peek() {
            Some((Reverse(worst), ..)) if self.heap.len() == self.limit => *worst,
            _ => 1,
        }
    }

    fn offer(&mut self, score: u32, order: u32, document: u32, named: bool) {
        let offered = (Reverse(score), order, document, named);
        if self.heap.len() < self.limit {
            self.heap.push(offered);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && offered < *worst
        {
            *worst = offered;
        }
    }

    /// The documents, best first.
    fn finish(self) -> Vec<Scored> {
        let sorted = self.heap.into_sorted_vec().into_iter();
        let scored = |(Reverse(score), _, document, named)| Scored {
            document,
            score,
            named,
        };
        sorted.map(scored).collect()
    }
}

impl RankTable<'_> {
    /// The best documents that `accept` returns true for, best first, at most `limit`. `named` are
    /// the documents that the request names explicitly.
    pub fn best(
        &self,
        query: &Query,
        named: &[u32],
        limit: usize,
        accept: impl Fn(u32) -> bool,
        accumulators: &mut Accumulators,
    ) -> Result<Vec<Scored>, Error> {
        self.accumulate(query, accumulators).ok_or(DAMAGED)?;
        self.top(named, limit, accept, accumulators).ok_or(DAMAGED)
    }

    /// The best of the documents, each with its tier, at most `limit`: those of the highest tier
    /// first, of one tier those with the greatest score, and of one score the first in path order.
    pub fn order(
        &self,
        query: &Query,
        documents: impl Iterator<Item = (u32, u8)>,
        limit: usize,
        accumulators: &mut Accumulators,
    ) -> Result<Vec<u32>, Error> {
        self.accumulate(query, accumulators).ok_or(DAMAGED)?;
        let key = |(document, tier): (u32, u8)| {
            let at = document as usize;
            let (score, order) = (accumulators.sums.get(at)?, self.orders.get(at)?);
            Some((Reverse((tier, *score)), order & !TREE, document))
        };
        let keys: Option<Vec<_>> = documents.map(key).collect();
        let mut keys = keys.ok_or(DAMAGED)?;
        if limit < keys.len() {
            keys.select_nth_unstable(limit);
            keys.truncate(limit);
        }
        keys.sort_unstable();
        Ok(keys.into_iter().map(|(.., document)| document).collect())
    }

    /// For each document 2 if its name contains all terms of the query, 1 if its name, keywords and
    /// description together do, else 0. `None` if the query has no terms, or one that no document
    /// contains.
    pub fn tiers(&self, query: &Query) -> Result<Option<Vec<u8>>, Error> {
        if query.terms.is_empty() || query.terms.iter().any(|term| term.number.is_none()) {
            return Ok(None);
        }
        let mut counts = vec![(0_u16, 0_u16); self.len()];
        for number in query.known_terms() {
            for (document, fields) in self.term(number).ok_or(DAMAGED)?.fields {
                let (named, described) = counts.get_mut(document as usize).ok_or(DAMAGED)?;
                *named += u16::from(fields & Field::Name.bit() != 0);
                *described += u16::from(!is_excluded(fields));
            }
        }
        let all = query.terms.len();
        let tier = |(named, described): (u16, u16)| {
            let is_all = |count: u16| usize::from(count) == all;
            u8::from(is_all(named)) + u8::from(is_all(described))
        };
        Ok(Some(counts.into_iter().map(tier).collect()))
    }

    fn accumulate(&self, query: &Query, into: &mut Accumulators) -> Option<()> {
        let len = self.len().next_multiple_of(BLOCK);
        into.sums.clear();
        into.sums.resize(len, 0);
        into.shares.clear();
        into.shares.resize(len, 0);
        for number in query.known_terms() {
            let term = self.term(number)?;
            add(&mut into.sums, term.impacts)?;
            for (document, share) in term.names {
                let shares = into.shares.get_mut(document as usize)?;
                *shares = shares.wrapping_add(share);
            }
        }
        for (_, terms) in query.known_pairs() {
            add(&mut into.sums, self.pair(terms)?)?;
        }
        let sums = into.sums.as_chunks_mut().0.iter_mut();
        let scores = sums.zip(into.shares.as_chunks().0);
        into.block_max.clear();
        into.block_max
            .extend(scores.map(|(sums, shares)| score(sums, shares)));
        Some(())
    }

    fn top(
        &self,
        named: &[u32],
        limit: usize,
        accept: impl Fn(u32) -> bool,
        scores: &Accumulators,
    ) -> Option<Vec<Scored>> {
        let mut top = TopK::new(limit.min(self.len()));
        if top.limit == 0 {
            return Some(Vec::new());
        }
        let order = |document: usize| Some(self.orders.get(document)? & !TREE);
        let greatest = scores.block_max.iter().copied().max().unwrap_or(0).max(1);
        for document in named.iter().filter(|document| accept(**document)) {
            let at = *document as usize;
            let score = u32::from(*scores.sums.get(at)?) + u32::from(greatest);
            top.offer(score, order(at)?, *document, true);
        }
        let blocks = scores.sums.as_chunks::<BLOCK>().0.iter();
        for (block, (sums, max)) in blocks.zip(&scores.block_max).enumerate() {
            if u32::from(*max) < top.threshold() {
                continue;
            }
            for (place, score) in sums.iter().enumerate() {
                let (at, score) = (block * BLOCK + place, u32::from(*score));
                let document = u32::try_from(at).ok()?;
                if score >= top.threshold() && !named.contains(&document) && accept(document) {
                    top.offer(score, order(at)?, document, false);
                }
            }
        }
        Some(top.finish())
    }
}

/// Adds each impact to the sum of its document.
fn add(sums: &mut [u16], impacts: Impacts<'_>) -> Option<()> {
    match impacts {
        Impacts::List(postings) => {
            for (document, impact) in postings {
                let sum = sums.get_mut(document as usize)?;
                *sum = sum.wrapping_add(impact.into());
            }
        }
        Impacts::Row(row) => {
            for (sums, impacts) in sums.as_chunks_mut().0.iter_mut().zip(row) {
                change(sums, impacts, |sums, impacts| sums + impacts);
            }
        }
    }
    Some(())
}

/// Turns sums into scores and returns the greatest. Scores saturate at 16 bits.
fn score(sums: &mut [u16; BLOCK], shares: &[u8; BLOCK]) -> u16 {
    let mut max = u16x8::ZERO;
    change(sums, shares, |sums, shares| {
        let names = sums.mul_keep_high(shares * u16x8::splat(NAME_FACTOR));
        let scores = sums.saturating_add(names);
        // Baseline x86-64 has no maximum of unsigned 16-bit numbers.
        max = scores + max.saturating_sub(scores);
        scores
    });
    max.to_array().into_iter().fold(0, u16::max)
}

/// Changes each sum by the byte of its document, eight at a time. The SIMD vectors are explicit,
/// because the release profile, which optimises for size when linking, does not vectorise loops.
fn change(
    sums: &mut [u16; BLOCK],
    bytes: &[u8; BLOCK],
    mut change: impl FnMut(u16x8, u16x8) -> u16x8,
) {
    let (eights, _) = sums.as_chunks_mut::<8>();
    let (sixteens, _) = eights.as_chunks_mut();
    for ([low, high], bytes) in sixteens.iter_mut().zip(bytes.as_chunks().0) {
        let bytes = u8x16::from(*bytes);
        *low = change(u16x8::from(*low), u16x8::from_u8x16_low(bytes)).to_array();
        *high = change(u16x8::from(*high), u16x8::from_u8x16_high(bytes)).to_array();
    }
}

/// The contribution of the name to a score: [`NAME_SHARE`] of the sum for the whole name.
pub(super) fn name_impact(sum: u16, share: u8) -> u16 {
    let factor = u16::from(share).wrapping_mul(NAME_FACTOR);
    ((u32::from(sum) * u32::from(factor)) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn vectors_add_and_score_as_plain_arithmetic_does(
            sums in vec(0_u16..65_280, BLOCK),
            impacts in vec(any::<u8>(), BLOCK),
            shares in vec(any::<u8>(), BLOCK),
        ) {
            let expected: Vec<u16> = (0..BLOCK)
                .map(|at| sums[at] + u16::from(impacts[at]))
                .zip(&shares)
                .map(|(sum, share)| sum.saturating_add(name_impact(sum, *share)))
                .collect();
            let mut found = sums;
            add(&mut found, Impacts::Row(impacts.as_chunks().0));
            let shares = shares.first_chunk().expect("a block");
            let max = score(found.first_chunk_mut().expect("a block"), shares);
            prop_assert_eq!(&found, &expected);
            prop_assert_eq!(Some(max), expected.into_iter().max());
        }
    }
}
