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
use super::lanes::{CHUNK, GROUP, Lanes, Parts};
use super::lists::SLACK;
use super::query::Asked;
use super::record::Impacts;
use super::{RankTable, WHAT};
use crate::error::{Error, corrupt};
use crate::text::terms::Cutter;

/// Whoever wants more documents gets them without a first look at the most
/// promising ones.
const MAX_LOOKS: usize = 16;

/// That look is at so many chunks more than documents are wanted.
const MORE_LOOKS: usize = 5;

/// Lines of each list that are looked at early.
const TOUCHED: usize = 24;

/// Units of a line.
const LINE: usize = 32;

/// Buffers for asking, by document; whole chunks of them, and [`SLACK`].
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(super) cutter: Cutter,
    /// Sums of impacts of terms and neighbours, if there are any; see [`MAX_PARTS`].
    sums: Vec<u16>,
    /// Shares of names. Those of one name add up to 255 at most.
    shares: Vec<u8>,
    /// The terms whose impacts lie in rows, by their rows; `sums` lacks them.
    rows: Vec<u32>,
    /// Where the terms of a request may be among the records.
    pub(super) buckets: Vec<Range<u32>>,
    /// The numbers of the request's neighbours among the pairs.
    pairs: Vec<usize>,
    /// Per chunk, of whole groups: what no document in it scores more than.
    bounds: Vec<u16>,
    /// The chunks that are looked at next.
    promising: Vec<usize>,
    /// The scores of the most promising ones.
    looked: Vec<Lanes>,
}

impl Scratch {
    fn clear(&mut self, documents: usize) {
        self.rows.clear();
        self.sums.clear();
        self.shares.clear();
        self.shares
            .resize(documents.next_multiple_of(CHUNK) + SLACK, 0);
    }

    /// Finds the chunks of the greatest bounds, best first.
    fn find_most_promising(&mut self, chunks: usize) {
        let mut best = [(0, 0); MAX_LOOKS + MORE_LOOKS];
        let best = &mut best[..chunks.min(MAX_LOOKS + MORE_LOOKS)];
        for (at, bound) in self.bounds.iter().enumerate() {
            if best.last().is_some_and(|(least, _)| bound > least) {
                let place = best.partition_point(|(it, _)| it >= bound);
                best.copy_within(place..best.len() - 1, place + 1);
                best[place] = (*bound, at);
            }
        }
        self.promising.clear();
        let chunks = best.iter().take_while(|(bound, _)| *bound > 0);
        self.promising.extend(chunks.map(|(_, at)| *at));
    }

    fn chunk(&self, at: usize) -> Option<Parts<'_>> {
        Some(Parts {
            sums: self.sums.as_chunks().0.get(at),
            shares: self.shares.as_chunks().0.get(at)?,
        })
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
            self.offer_most_promising(&mut best, &accept, scratch)?;
        }
        self.find_promising(best.wanted(), scratch)?;
        for at in &scratch.promising {
            if *scratch.bounds.get(*at)? >= best.wanted() {
                offer(*at, self.chunk(*at, scratch)?, &mut best, &accept)?;
            }
        }
        Some(best.finish())
    }

    /// Finds the chunks in which a document may score so much, and looks at
    /// their rows.
    fn find_promising(&self, least: u16, scratch: &mut Scratch) -> Option<()> {
        let bounds = scratch.bounds.iter().enumerate();
        let promising = bounds.filter(|(_, bound)| **bound >= least);
        scratch.promising.clear();
        scratch.promising.extend(promising.map(|(at, _)| at));
        self.look_at_rows(scratch)
    }

    /// Looks at the rows of the promising chunks, so that what follows does not
    /// wait for one after the other.
    fn look_at_rows(&self, scratch: &Scratch) -> Option<()> {
        for at in &scratch.promising {
            for row in &scratch.rows {
                black_box(self.row_chunk(*row, *at)?[0]);
            }
        }
        Some(())
    }

    /// Offers the documents of the chunks of the greatest bounds, somewhat more
    /// chunks than documents are wanted: with their scores known, most others
    /// need no look.
    fn offer_most_promising(
        &self,
        best: &mut Best<'_>,
        accept: &impl Fn(u32) -> bool,
        scratch: &mut Scratch,
    ) -> Option<()> {
        let missing = best.missing();
        scratch.find_most_promising(missing + MORE_LOOKS);
        self.look_at_rows(scratch)?;
        scratch.looked.clear();
        let mut greatest = [0; MAX_LOOKS + MORE_LOOKS];
        for (greatest, at) in greatest.iter_mut().zip(&scratch.promising) {
            let scores = self.chunk(*at, scratch)?;
            let score = scores.bound().greatest();
            let (place, _) = scores.at_least(score).next()?;
            if accept(document(*at, place)?) {
                *greatest = score;
            }
            scratch.looked.push(scores);
        }
        greatest.sort_unstable_by_key(|score| Reverse(*score));
        // So much the wanted ones score at least: there are as many chunks.
        best.want(u32::from(*greatest.get(missing.checked_sub(1)?)?));
        for (at, scores) in scratch.promising.iter().zip(&scratch.looked) {
            offer(*at, *scores, best, accept)?;
            *scratch.bounds.get_mut(*at)? = 0;
        }
        Some(())
    }

    fn greatest(&self, scratch: &Scratch) -> Option<u16> {
        let mut greatest = 0;
        for at in 0..self.chunks() {
            if *scratch.bounds.get(at)? >= greatest {
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
            let bounds = rows.bounds(|at| scratch.chunk(group * GROUP + at));
            scratch.bounds.extend(bounds);
        }
        Some(())
    }

    /// The scores of one chunk of documents, zero behind the last. Rows are
    /// added up here, where the sums stay in registers.
    fn chunk(&self, at: usize, scratch: &Scratch) -> Option<Lanes> {
        let parts = scratch.chunk(at)?;
        let mut lanes = parts.sums.map_or(Lanes::ZERO, Lanes::new);
        for row in &scratch.rows {
            lanes.add(self.row_chunk(*row, at)?);
        }
        lanes.score(parts);
        Some(lanes)
    }

    /// Looks at the beginning of each list, so that what follows does not wait
    /// for one after the other.
    fn touch(&self, asked: &Asked) -> Option<()> {
        for term in &asked.held {
            let units = self.lists.get(term.lists as usize..term.names()?.end)?;
            for line in units.iter().step_by(LINE).take(TOUCHED) {
                black_box(line[0]);
            }
        }
        for pair in asked.held_pairs() {
            black_box(self.may_be_pair(pair.terms)?);
        }
        Some(())
    }

    fn add_terms(&self, asked: &Asked, scratch: &mut Scratch) -> Option<()> {
        for term in &asked.held {
            if let Impacts::Row(row) = term.impacts {
                scratch.rows.push(row);
                continue;
            }
            scratch.sums.resize(scratch.shares.len(), 0);
            self.impacts(term)?.add_to(&mut scratch.sums)?;
        }
        Some(())
    }

    fn add_names(&self, asked: &Asked, scratch: &mut Scratch) -> Option<()> {
        for term in &asked.held {
            self.names(term)?.add_to(&mut scratch.shares)?;
        }
        Some(())
    }

    fn add_pairs(&self, asked: &Asked, scratch: &mut Scratch) -> Option<()> {
        scratch.pairs.clear();
        for pair in asked.held_pairs() {
            for pair in self.pair(pair.terms)? {
                self.pair_list(pair)?.touch();
                scratch.pairs.push(pair);
            }
        }
        if !scratch.pairs.is_empty() {
            scratch.sums.resize(scratch.shares.len(), 0);
        }
        for pair in &scratch.pairs {
            self.pair_list(*pair)?.add_to(&mut scratch.sums)?;
        }
        Some(())
    }
}

/// Offers the accepted documents of a chunk.
fn offer(
    at: usize,
    scores: Lanes,
    best: &mut Best<'_>,
    accept: &impl Fn(u32) -> bool,
) -> Option<()> {
    let least = best.wanted();
    if scores.bound().reaches(least) {
        for (place, score) in scores.at_least(least) {
            let document = document(at, place)?;
            if accept(document) {
                best.offer(document, score.into(), false)?;
            }
        }
    }
    Some(())
}

/// The document at a place of a chunk.
fn document(chunk: usize, place: usize) -> Option<u32> {
    u32::try_from(chunk * CHUNK + place).ok()
}
