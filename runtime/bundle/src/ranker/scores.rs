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
use super::lanes::{Bound, CHUNK, GROUP, Lanes, Parts};
use super::lists::SLACK;
use super::query::Asked;
use super::record::Impacts;
use super::{RankTable, WHAT};
use crate::error::{Error, corrupt};
use crate::text::terms::Cutter;

/// Whoever wants more documents gets them without [`RankTable::least`].
const MAX_LOOKS: usize = 16;

/// That looks at so many chunks more than documents are wanted.
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
    /// Per chunk: what no document in it scores more than.
    bounds: Vec<Bound>,
    /// The chunks whose bounds reach what is wanted.
    promising: Vec<usize>,
}

impl Scratch {
    fn clear(&mut self, documents: usize) {
        self.rows.clear();
        self.sums.clear();
        self.shares.clear();
        self.shares
            .resize(documents.next_multiple_of(CHUNK) + SLACK, 0);
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
            best.want(self.least(best.missing(), &accept, scratch)?);
        }
        self.find_promising(best.wanted(), scratch)?;
        for at in &scratch.promising {
            self.offer(*at, &mut best, &accept, scratch)?;
        }
        Some(best.finish())
    }

    /// Finds the chunks in which a document may score so much, and looks at
    /// their rows.
    fn find_promising(&self, least: u16, scratch: &mut Scratch) -> Option<()> {
        let bounds = scratch.bounds.iter().enumerate();
        let promising = bounds.filter(|(_, bound)| bound.reaches(least));
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
        scratch: &mut Scratch,
    ) -> Option<u32> {
        let mut promising = [(0_u16, 0_usize); MAX_LOOKS + MORE_LOOKS];
        let promising = promising.get_mut(..documents + MORE_LOOKS)?;
        for (at, bound) in scratch.bounds.iter().enumerate() {
            let [.., last] = promising else { break };
            if last.0 < u16::MAX && bound.reaches(last.0 + 1) {
                let bound = bound.greatest();
                let place = promising.partition_point(|(it, _)| *it >= bound);
                promising.copy_within(place..promising.len() - 1, place + 1);
                promising[place] = (bound, at);
            }
        }
        scratch.promising.clear();
        let chunks = promising.iter().take_while(|(bound, _)| *bound > 0);
        scratch.promising.extend(chunks.map(|(_, at)| *at));
        self.look_at_rows(scratch)?;
        let mut scores = [0; MAX_LOOKS + MORE_LOOKS];
        for (best, at) in scores.iter_mut().zip(&scratch.promising) {
            let chunk = self.chunk(*at, scratch)?;
            let greatest = chunk.bound().greatest();
            let (place, _) = chunk.at_least(greatest).next()?;
            if accept(u32::try_from(at * CHUNK + place).ok()?) {
                *best = greatest;
            }
        }
        scores.sort_unstable_by_key(|score| Reverse(*score));
        scores.get(documents.checked_sub(1)?).map(|it| (*it).into())
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
                let bound = rows.with(scratch.chunk(at)?);
                scratch.bounds.push(bound);
            }
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
        for (first, second) in &asked.pairs {
            if let Some(pair) = self.neighbours(asked, *first, *second)? {
                black_box(self.pair_list(pair)?);
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
