//! Adds up the impacts of a request's terms per document and finds the best.
//! Buffers are the caller's, so that asking again allocates nothing.
//!
//! Memory is what takes time here. So lists are looked at before they are
//! walked, and of the rows of frequent terms only those parts are read in which
//! a document can be among the best: what their crests add tells.

use std::cmp::Reverse;
use std::hint::black_box;
use std::ops::Range;

use super::best::{Best, Scored};
use super::lanes::{Bound, CHUNK, GROUP, Lanes};
use super::query::Asked;
use super::{RankTable, WHAT};
use crate::error::{Error, corrupt};
use crate::text::terms::Cutter;

/// Whoever wants more documents gets them without [`RankTable::least`].
const MAX_LOOKS: usize = 16;

/// Lines of each list that are looked at early.
const TOUCHED: usize = 24;

/// Sums, shares and bonuses, if there are any, of a chunk.
type Parts<'a> = (&'a [u16; CHUNK], &'a [u8; CHUNK], Option<&'a [u16; CHUNK]>);

/// Buffers for asking, by document; whole chunks of them.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(super) cutter: Cutter,
    /// Sums of impacts: at most 256 terms of at most 255.
    sums: Vec<u16>,
    /// Shares of names. Those of one name add up to a little over 255 at most.
    shares: Vec<u8>,
    /// What neighbours add.
    bonuses: Vec<u16>,
    /// The terms whose impacts lie in rows, by their rows; `sums` lacks them.
    rows: Vec<u32>,
    /// Where the terms of a request may be among the records.
    pub(super) buckets: Vec<Range<u32>>,
    /// Where the lists of the request's neighbours are.
    pairs: Vec<Range<usize>>,
    /// Per chunk: what no document in it scores more than.
    bounds: Vec<Bound>,
    /// The chunks whose bounds reach what is wanted.
    promising: Vec<usize>,
}

impl Scratch {
    fn clear(&mut self, documents: usize) {
        let padded = documents.next_multiple_of(CHUNK);
        self.rows.clear();
        self.sums.clear();
        self.sums.resize(padded, 0);
        self.shares.clear();
        self.shares.resize(padded, 0);
        // Mostly nothing adds any.
        self.bonuses.clear();
    }

    fn chunk(&self, at: usize) -> Option<Parts<'_>> {
        Some((
            self.sums.as_chunks().0.get(at)?,
            self.shares.as_chunks().0.get(at)?,
            self.bonuses.as_chunks().0.get(at),
        ))
    }
}

impl RankTable<'_> {
    /// The best documents that are accepted, best first, at most `limit`.
    /// `named` are those that the request names outright.
    pub(crate) fn best(
        &self,
        asked: &Asked,
        named: &[u32],
        limit: usize,
        accept: impl Fn(u32) -> bool,
        scratch: &mut Scratch,
    ) -> Result<Vec<Scored>, Error> {
        self.find_best(asked, named, limit, &accept, scratch)
            .ok_or(corrupt(WHAT))
    }

    fn find_best(
        &self,
        asked: &Asked,
        named: &[u32],
        limit: usize,
        accept: &impl Fn(u32) -> bool,
        scratch: &mut Scratch,
    ) -> Option<Vec<Scored>> {
        scratch.clear(self.len());
        self.touch(asked)?;
        self.add_terms(asked, scratch)?;
        self.add_names(asked, scratch)?;
        self.add_pairs(asked, scratch)?;
        self.bound(scratch)?;
        let mut best = Best::new(limit.min(self.len()), self);
        if !named.is_empty() {
            let lifted = self.greatest(scratch)?.max(1);
            for document in named {
                let at = *document as usize;
                let score = self.chunk(at / CHUNK, scratch)?.get(at % CHUNK);
                if accept(*document) {
                    best.offer(*document, u32::from(score) + u32::from(lifted), true)?;
                }
            }
        }
        let accept = |document| !named.contains(&document) && accept(document);
        if (1..=MAX_LOOKS).contains(&best.missing()) {
            best.want(self.least(best.missing(), &accept, scratch)?);
        }
        self.find_promising(best.wanted(), scratch)?;
        for at in &scratch.promising {
            self.offer(*at, &mut best, &accept, scratch)?;
        }
        Some(best.finish())
    }

    /// Finds the chunks in which a document may score so much, and looks at
    /// their rows, so that what follows does not wait for one after the other.
    fn find_promising(&self, least: u16, scratch: &mut Scratch) -> Option<()> {
        let bounds = scratch.bounds.iter().enumerate();
        let promising = bounds.filter(|(_, bound)| bound.reaches(least));
        scratch.promising.clear();
        scratch.promising.extend(promising.map(|(at, _)| at));
        for at in &scratch.promising {
            for row in &scratch.rows {
                black_box(self.row_chunk(*row, *at)?[0]);
            }
        }
        Some(())
    }

    /// Offers the accepted documents of a chunk.
    fn offer(
        &self,
        at: usize,
        best: &mut Best<'_>,
        accept: &impl Fn(u32) -> bool,
        scratch: &Scratch,
    ) -> Option<()> {
        let least = best.wanted();
        if !scratch.bounds.get(at)?.reaches(least) {
            return Some(());
        }
        let scores = self.chunk(at, scratch)?;
        if !scores.bound().reaches(least) {
            return Some(());
        }
        for (place, score) in scores.at_least(least) {
            let document = u32::try_from(at * CHUNK + place).ok()?;
            if accept(document) {
                best.offer(document, score.into(), false)?;
            }
        }
        Some(())
    }

    /// A score that at least so many accepted documents reach, or 0: the best
    /// ones of the most promising chunks do. To begin with it spares a look at
    /// most of the others.
    fn least(
        &self,
        documents: usize,
        accept: &impl Fn(u32) -> bool,
        scratch: &Scratch,
    ) -> Option<u32> {
        let mut promising = [(0_u16, 0_usize); MAX_LOOKS];
        let promising = promising.get_mut(..documents)?;
        for (at, bound) in scratch.bounds.iter().enumerate() {
            let [.., last] = promising else { break };
            if last.0 < u16::MAX && bound.reaches(last.0 + 1) {
                *last = (bound.greatest(), at);
                promising.sort_unstable_by_key(|(bound, _)| Reverse(*bound));
            }
        }
        let mut least = u16::MAX;
        for (_, at) in promising.iter().take_while(|(bound, _)| *bound > 0) {
            let scores = self.chunk(*at, scratch)?;
            let greatest = scores.bound().greatest();
            let (place, _) = scores.at_least(greatest).next()?;
            let document = u32::try_from(at * CHUNK + place).ok()?;
            least = least.min(if accept(document) { greatest } else { 0 });
        }
        let all = promising.last().is_some_and(|(bound, _)| *bound > 0);
        Some(if all { least.into() } else { 0 })
    }

    fn greatest(&self, scratch: &Scratch) -> Option<u16> {
        let mut greatest = 0;
        for at in 0..self.chunks() {
            if scratch.bounds.get(at)?.reaches(greatest) {
                greatest = greatest.max(self.chunk(at, scratch)?.bound().greatest());
            }
        }
        Some(greatest)
    }

    /// Finds what no score of a chunk exceeds.
    fn bound(&self, scratch: &mut Scratch) -> Option<()> {
        scratch.bounds.clear();
        for group in 0..self.chunks().div_ceil(GROUP) {
            let mut rows = Lanes::ZERO;
            for row in &scratch.rows {
                rows.add(self.crests(*row, group)?);
            }
            for (at, rows) in (group * GROUP..self.chunks()).zip(rows.bounds()) {
                let (sums, shares, bonuses) = scratch.chunk(at)?;
                scratch.bounds.push(rows.with(sums, shares, bonuses));
            }
        }
        Some(())
    }

    /// The scores of one chunk of documents, zero behind the last. Rows are
    /// added up here, where the sums stay in registers.
    fn chunk(&self, at: usize, scratch: &Scratch) -> Option<Lanes> {
        let (sums, shares, bonuses) = scratch.chunk(at)?;
        let mut lanes = Lanes::new(sums);
        for row in &scratch.rows {
            lanes.add(self.row_chunk(*row, at)?);
        }
        lanes.score(shares, bonuses);
        Some(lanes)
    }

    /// Looks at the beginning of each list, so that what follows does not wait
    /// for one after the other.
    fn touch(&self, asked: &Asked) -> Option<()> {
        for term in &asked.held {
            let list = match term.row {
                Some(_) => self.names(term)?,
                None => self.postings(term)?,
            };
            for line in list.iter().step_by(16).take(TOUCHED) {
                black_box(line[0]);
            }
        }
        Some(())
    }

    fn add_terms(&self, asked: &Asked, scratch: &mut Scratch) -> Option<()> {
        for term in &asked.held {
            if let Some(row) = term.row {
                scratch.rows.push(row);
                continue;
            }
            for posting in self.postings(term)? {
                let (document, impact) = unpacked(*posting);
                let sum = scratch.sums.get_mut(document)?;
                // Wraps only where a damaged table repeats a document.
                *sum = sum.wrapping_add(u16::from(impact));
            }
        }
        Some(())
    }

    fn add_names(&self, asked: &Asked, scratch: &mut Scratch) -> Option<()> {
        for term in &asked.held {
            for entry in self.names(term)? {
                let (document, share) = unpacked(*entry);
                let sum = scratch.shares.get_mut(document)?;
                *sum = sum.saturating_add(share);
            }
        }
        Some(())
    }

    fn add_pairs(&self, asked: &Asked, scratch: &mut Scratch) -> Option<()> {
        scratch.pairs.clear();
        for (first, second) in &asked.pairs {
            let range = self.neighbours(asked, *first, *second)?;
            if !range.is_empty() {
                black_box(self.pair_documents.get(range.start)?);
                scratch.pairs.push(range);
            }
        }
        if !scratch.pairs.is_empty() {
            scratch.bonuses.resize(scratch.sums.len(), 0);
        }
        for range in &scratch.pairs {
            let impact = self.pair_impact(range.len());
            for document in self.pair_documents.slice(range.clone())? {
                let document = u32::from_le_bytes(*document) as usize;
                let bonus = scratch.bonuses.get_mut(document)?;
                *bonus = bonus.saturating_add(impact);
            }
        }
        Some(())
    }
}

/// A document, and the impact or share beside it.
fn unpacked(entry: [u8; 4]) -> (usize, u8) {
    let [small, ..] = entry;
    ((u32::from_le_bytes(entry) >> 8) as usize, small)
}
