//! Asks a [`RankTable`]: adds up the impacts of a request's terms per document
//! and keeps the best. Buffers are the caller's, so that asking again
//! allocates nothing.

use std::cmp::Reverse;

use super::lanes::{CHUNK, Lanes, name_impact};
use super::parameters::{Field, MAX_TERMS};
use super::{ABSENT, RankTable, SHARES, TREE, WHAT, fixed, information, record};
use crate::error::{Error, corrupt};
use crate::text::terms::{Cut, Cutter};

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

/// Why a document scored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reasons {
    /// Terms of the request, by their places in [`Asked::terms`]: impact, fields.
    pub(crate) terms: Vec<(usize, u8, u8)>,
    /// What the share of the name added, in impacts, and the share in 255ths.
    pub(crate) name: u32,
    pub(crate) name_share: u8,
    /// Neighbours by their places, and what they added.
    pub(crate) pairs: Vec<(usize, usize, u32)>,
}

/// A term of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AskedTerm {
    /// Its place in the table, or [`ABSENT`].
    term: u32,
    /// Where its text ends in [`Asked::text`].
    end: usize,
    information: u32,
}

/// A request as it was understood.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    text: String,
    /// Each once, in order.
    terms: Vec<AskedTerm>,
    /// Neighbours, by their places in `terms`; each once.
    pairs: Vec<(usize, usize)>,
}

/// Buffers for asking, by document; whole chunks of them.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    cutter: Cutter,
    /// Sums of impacts: at most 256 terms of at most 255.
    sums: Vec<u16>,
    /// Shares of names. Those of one name add up to a little over 255 at most.
    shares: Vec<u8>,
    /// What neighbours add.
    bonuses: Vec<u16>,
    /// The terms whose impacts lie in rows, by their rows; `sums` lacks them.
    rows: Vec<u32>,
}

impl Scratch {
    fn clear(&mut self, documents: usize) {
        let padded = documents.next_multiple_of(CHUNK);
        self.rows.clear();
        self.sums.clear();
        self.sums.resize(padded, 0);
        self.shares.clear();
        self.shares.resize(padded, 0);
        self.bonuses.clear();
        self.bonuses.resize(padded, 0);
    }
}

impl Reasons {
    /// The score they make, less what naming the document adds.
    pub(crate) fn score(&self) -> u32 {
        let terms = self.terms.iter().map(|(_, impact, _)| u32::from(*impact));
        let pairs = self.pairs.iter().map(|(.., impact)| *impact);
        let score = terms.chain(pairs).sum::<u32>() + self.name;
        score.min(u16::MAX.into())
    }

    /// The share of the name, 0 to 1.
    pub(crate) fn share(&self) -> f64 {
        f64::from(self.name_share) / f64::from(SHARES)
    }
}

impl Asked {
    /// The terms' texts.
    pub(crate) fn terms(&self) -> impl Iterator<Item = &str> {
        (0..self.terms.len()).map(|place| self.term(place))
    }

    /// The text of a term.
    pub(crate) fn term(&self, place: usize) -> &str {
        let start = place
            .checked_sub(1)
            .map_or(0, |before| self.terms[before].end);
        &self.text[start..self.terms[place].end]
    }

    /// The places of those that some document holds.
    fn held(&self) -> impl Iterator<Item = u32> {
        self.terms
            .iter()
            .map(|asked| asked.term)
            .filter(|term| *term != ABSENT)
    }

    /// What the terms tell, in [`super::FRACTION`]s.
    fn information(&self) -> u32 {
        self.terms.iter().map(|term| term.information).sum()
    }

    fn place(&self, text: &str) -> Option<usize> {
        (0..self.terms.len()).find(|place| self.term(*place) == text)
    }
}

impl RankTable<'_> {
    /// Whether the document is of the tree dialect.
    pub(crate) fn is_tree(&self, document: u32) -> bool {
        self.orders
            .get(document as usize)
            .is_some_and(|order| order & TREE != 0)
    }

    /// How many documents are of the tree dialect.
    pub(crate) fn trees(&self) -> usize {
        (0..self.len())
            .filter_map(|document| self.orders.get(document))
            .filter(|order| order & TREE != 0)
            .count()
    }

    /// Reads a request, into a buffer that may be used again.
    pub(crate) fn ask(
        &self,
        request: &str,
        scratch: &mut Scratch,
        asked: &mut Asked,
    ) -> Result<(), Error> {
        asked.text.clear();
        asked.terms.clear();
        asked.pairs.clear();
        let mut before = None;
        let mut damaged = false;
        scratch.cutter.cut(request, |cut| {
            let Cut::Term(text) = cut else { return };
            let place = asked.place(text).or_else(|| {
                let full = asked.terms.len() == MAX_TERMS;
                (!full).then(|| {
                    damaged |= self.add(text, asked).is_none();
                    asked.terms.len() - 1
                })
            });
            if let (Some(before), Some(place)) = (before, place)
                && !asked.pairs.contains(&(before, place))
                && asked.pairs.len() < MAX_TERMS
            {
                asked.pairs.push((before, place));
            }
            before = place;
        });
        if damaged { Err(corrupt(WHAT)) } else { Ok(()) }
    }

    fn add(&self, text: &str, asked: &mut Asked) -> Option<()> {
        asked.text.push_str(text);
        let term = self.term(text);
        let information = match term {
            Some(ABSENT) => Some(fixed(information(text, 0.0, self.len()))),
            Some(term) => self.information(term),
            None => None,
        };
        asked.terms.push(AskedTerm {
            term: term.unwrap_or(ABSENT),
            end: asked.text.len(),
            // A table that lies must not overflow the sum.
            information: information.unwrap_or_default().min(1 << 20),
        });
        information.map(|_| ())
    }

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
        self.add_terms(asked, scratch)?;
        self.add_names(asked, scratch)?;
        self.add_pairs(asked, scratch)?;
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
        for at in 0..self.chunks() {
            let scores = self.chunk(at, scratch)?;
            // What named documents score is beyond any other; so is this then.
            let least = u16::try_from(best.least.max(1)).unwrap_or(u16::MAX);
            if scores.greatest() < least {
                continue;
            }
            for (place, score) in scores.at_least(least) {
                let document = u32::try_from(at * CHUNK + place).ok()?;
                if !named.contains(&document) && accept(document) {
                    best.offer(document, score.into(), false)?;
                }
            }
        }
        Some(best.finish())
    }

    /// How many chunks the documents fill.
    fn chunks(&self) -> usize {
        self.len().div_ceil(CHUNK)
    }

    fn greatest(&self, scratch: &Scratch) -> Option<u16> {
        let mut greatest = 0;
        for at in 0..self.chunks() {
            greatest = greatest.max(self.chunk(at, scratch)?.greatest());
        }
        Some(greatest)
    }

    /// The scores of one chunk of documents, zero behind the last. Rows are
    /// added up here, where the sums stay in registers.
    fn chunk(&self, at: usize, scratch: &Scratch) -> Option<Lanes> {
        let mut lanes = Lanes::new(scratch.sums.as_chunks().0.get(at)?);
        for row in &scratch.rows {
            let start = (*row as usize)
                .checked_mul(self.len())?
                .checked_add(at * CHUNK)?;
            let rest = self.impacts.get(start..)?;
            match rest.first_chunk() {
                Some(impacts) if (at + 1) * CHUNK <= self.len() => lanes.add(impacts),
                _ => lanes.add(&padded(rest.get(..self.len() - at * CHUNK)?)),
            }
        }
        lanes.score(
            scratch.shares.as_chunks().0.get(at)?,
            scratch.bonuses.as_chunks().0.get(at)?,
        );
        Some(lanes)
    }

    fn add_terms(&self, asked: &Asked, scratch: &mut Scratch) -> Option<()> {
        for term in asked.held() {
            if let Some(row) = self.field(term, record::ROW)?.checked_sub(1) {
                scratch.rows.push(row);
                continue;
            }
            for posting in self.postings(term)? {
                let [impact, document @ ..] = *posting;
                let sum = scratch.sums.get_mut(number(document))?;
                // Wraps only where a damaged table repeats a document.
                *sum = sum.wrapping_add(u16::from(impact));
            }
        }
        Some(())
    }

    fn add_names(&self, asked: &Asked, scratch: &mut Scratch) -> Option<()> {
        for term in asked.held() {
            for entry in self.names.slice(self.name_range(term)?)? {
                let [share, document @ ..] = *entry;
                let sum = scratch.shares.get_mut(number(document))?;
                *sum = sum.saturating_add(share);
            }
        }
        Some(())
    }

    fn add_pairs(&self, asked: &Asked, scratch: &mut Scratch) -> Option<()> {
        for (first, second) in &asked.pairs {
            let documents = self.neighbours(asked, *first, *second)?;
            if documents.is_empty() {
                continue;
            }
            let impact = self.pair_impact(documents.len());
            for document in documents {
                let document = u32::from_le_bytes(*document) as usize;
                let bonus = scratch.bonuses.get_mut(document)?;
                *bonus = bonus.saturating_add(impact);
            }
        }
        Some(())
    }

    fn neighbours(&self, asked: &Asked, first: usize, second: usize) -> Option<&[[u8; 4]]> {
        match (asked.terms[first].term, asked.terms[second].term) {
            (ABSENT, _) | (_, ABSENT) => Some(&[]),
            (first, second) => self.pair(first, second),
        }
    }

    /// How sure it is that a request with this best score means the document.
    pub(crate) fn confidence(&self, asked: &Asked, score: u32) -> f64 {
        let information = asked.information().max(self.least_information);
        self.to_weight(score) / (f64::from(information) / super::FRACTION).sqrt()
    }

    /// A score in natural units.
    pub(crate) fn weight(&self, score: u32) -> f64 {
        self.to_weight(score)
    }

    /// What made the document's score.
    pub(crate) fn reasons(&self, asked: &Asked, document: u32) -> Result<Reasons, Error> {
        self.find_reasons(asked, document).ok_or(corrupt(WHAT))
    }

    fn find_reasons(&self, asked: &Asked, document: u32) -> Option<Reasons> {
        let (mut terms, mut share) = (Vec::new(), 0_u8);
        for (place, term) in asked.terms.iter().enumerate() {
            if term.term == ABSENT {
                continue;
            }
            let (impact, fields) = self.posting(term.term, document)?;
            if impact > 0 {
                terms.push((place, impact, fields));
            }
            let range = self.name_range(term.term)?;
            for at in super::find(&self.names, range, document)? {
                let [added, ..] = self.names.get(at)?.to_le_bytes();
                share = share.saturating_add(added);
            }
        }
        let sum = terms.iter().map(|(_, impact, _)| u16::from(*impact)).sum();
        let mut pairs = Vec::new();
        for (first, second) in &asked.pairs {
            let documents = self.neighbours(asked, *first, *second)?;
            let wanted = document.to_le_bytes();
            if documents.contains(&wanted) {
                let impact = self.pair_impact(documents.len());
                pairs.push((*first, *second, u32::from(impact)));
            }
        }
        Some(Reasons {
            terms,
            name: name_impact(sum, share).into(),
            name_share: share,
            pairs,
        })
    }
}

/// The last chunk, with zeros behind it.
fn padded(impacts: &[u8]) -> [u8; CHUNK] {
    let mut full = [0; CHUNK];
    full[..impacts.len()].copy_from_slice(impacts);
    full
}

/// A document's number in three bytes.
fn number([low, middle, high]: [u8; 3]) -> usize {
    u32::from_le_bytes([low, middle, high, 0]) as usize
}

/// The words of a mask of fields.
pub(crate) fn field_names(mask: u8) -> Vec<&'static str> {
    Field::ALL
        .into_iter()
        .filter(|field| mask & field.bit() != 0)
        .map(Field::as_str)
        .collect()
}

/// The best so far. Twice as many as asked for are collected before the worse
/// half goes, so that ranking every skill does not shift them about one by one.
struct Best<'t> {
    scored: Vec<Scored>,
    limit: usize,
    /// What a document must score to be looked at.
    least: u32,
    table: &'t RankTable<'t>,
}

impl<'t> Best<'t> {
    fn new(limit: usize, table: &'t RankTable<'t>) -> Self {
        Self {
            scored: Vec::with_capacity(limit * 2),
            limit,
            least: 0,
            table,
        }
    }

    fn offer(&mut self, document: u32, score: u32, named: bool) -> Option<()> {
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

    fn finish(mut self) -> Vec<Scored> {
        self.keep();
        self.scored
    }
}
