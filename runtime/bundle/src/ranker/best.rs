//! The best documents so far.

use std::cmp::Reverse;

use super::{RankTable, TREE};

/// A document and what it scored, in impacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scored {
    pub(crate) document: u32,
    pub(crate) score: u32,
    /// The request names it outright.
    pub(crate) named: bool,
    /// Its place by path.
    order: u32,
}

/// The best so far. Twice as many as asked for are collected before the worse
/// half goes, so that ranking every skill does not shift them about one by one.
pub(super) struct Best<'t> {
    scored: Vec<Scored>,
    limit: usize,
    /// What a document must score to be looked at.
    least: u32,
    table: &'t RankTable<'t>,
}

impl<'t> Best<'t> {
    pub(super) fn new(limit: usize, table: &'t RankTable<'t>) -> Self {
        Self {
            scored: Vec::with_capacity(limit * 2),
            limit,
            least: 0,
            table,
        }
    }

    /// How many are missing of those asked for.
    pub(super) fn missing(&self) -> usize {
        self.limit.saturating_sub(self.scored.len())
    }

    /// Tells that those still missing will score this at least.
    pub(super) fn want(&mut self, least: u32) {
        self.least = least;
    }

    /// What a document that is not named must score to be looked at. What named
    /// ones score is beyond any other; so is this then.
    pub(super) fn wanted(&self) -> u16 {
        u16::try_from(self.least.max(1)).unwrap_or(u16::MAX)
    }

    pub(super) fn offer(&mut self, document: u32, score: u32, named: bool) -> Option<()> {
        if score < self.least || self.limit == 0 {
            return Some(());
        }
        let order = self.table.orders.get(document as usize)?;
        if self.scored.len() == self.limit * 2 {
            self.keep();
        }
        self.scored.push(Scored {
            document,
            score,
            named,
            order: order & !TREE,
        });
        Some(())
    }

    fn keep(&mut self) {
        let best_first = |scored: &Scored| (Reverse(scored.score), scored.order);
        self.scored.sort_unstable_by_key(best_first);
        self.scored.truncate(self.limit);
        if let Some(last) = self.scored.last()
            && self.scored.len() == self.limit
        {
            self.least = last.score;
        }
    }

    pub(super) fn finish(mut self) -> Vec<Scored> {
        self.keep();
        self.scored
    }
}
