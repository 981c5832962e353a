//! Reads a request and looks its terms up in a [`RankTable`]; tells what made a
//! score of it.

use super::lanes::name_impact;
use super::parameters::{Field, MAX_PARTS};
use super::{ABSENT, RankTable, Record, SHARES, Scratch, TREE, WHAT, fixed, hash, information};
use crate::error::{Error, corrupt};
use crate::text::terms::Cut;

/// Why a document scored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reasons {
    /// Terms of the request, by their places in [`Asked::terms`]: impact, fields.
    pub(crate) terms: Vec<(usize, u8, u8)>,
    /// What the share of the name added, in impacts, and the share in 255ths.
    pub(crate) name: u32,
    pub(crate) name_share: u8,
    /// Neighbours by their places, and what they added.
    pub(crate) pairs: Vec<(usize, usize, u8)>,
}

/// A term of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AskedTerm {
    hash: u64,
    /// Its place in the table, or [`ABSENT`].
    pub(super) term: u32,
    /// Where its text ends in [`Asked::text`].
    end: usize,
    /// What the request tells by it, in [`super::FRACTION`]s.
    pub(super) information: u32,
    /// How rare it is among public skills, in the same; 0 where it is absent.
    pub(super) rarity: u16,
}

/// A request as it was understood.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    text: String,
    /// Each once, in order.
    pub(super) terms: Vec<AskedTerm>,
    /// What the table holds of those that some document holds.
    pub(super) held: Vec<Record>,
    /// Neighbours, by their places in `terms`; each once.
    pub(super) pairs: Vec<(usize, usize)>,
}

/// Neighbours in a request.
pub(super) struct AskedPair {
    /// Their places in [`Asked::terms`].
    places: (usize, usize),
    /// Their places in the table.
    pub(super) terms: (u32, u32),
}

impl Reasons {
    /// The score they make, less what naming the document adds.
    pub(crate) fn score(&self) -> u32 {
        let terms = self.terms.iter().map(|(_, impact, _)| u32::from(*impact));
        let pairs = self.pairs.iter().map(|(.., impact)| u32::from(*impact));
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

    /// What the terms tell, in [`super::FRACTION`]s.
    pub(super) fn information(&self) -> u32 {
        self.terms.iter().map(|term| term.information).sum()
    }

    /// The neighbours each of which some document holds.
    pub(super) fn held_pairs(&self) -> impl Iterator<Item = AskedPair> {
        let pairs = self.pairs.iter().map(|(first, second)| AskedPair {
            places: (*first, *second),
            terms: (self.terms[*first].term, self.terms[*second].term),
        });
        pairs.filter(|AskedPair { terms, .. }| terms.0 != ABSENT && terms.1 != ABSENT)
    }

    /// The place of a term, a new one if need be and there is room.
    fn add(&mut self, text: &str) -> Option<usize> {
        let hash = hash(text);
        if let Some(place) = self.terms.iter().position(|term| term.hash == hash) {
            return Some(place);
        }
        self.has_room().then(|| {
            self.text.push_str(text);
            self.terms.push(AskedTerm {
                hash,
                term: ABSENT,
                end: self.text.len(),
                information: 0,
                rarity: 0,
            });
            self.terms.len() - 1
        })
    }

    fn has_room(&self) -> bool {
        self.terms.len() + self.pairs.len() < MAX_PARTS
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
        scratch.cutter.cut(request, |cut| {
            let Cut::Term(text) = cut else { return };
            let place = asked.add(text);
            if let (Some(before), Some(place)) = (before, place)
                && !asked.pairs.contains(&(before, place))
                && asked.has_room()
            {
                asked.pairs.push((before, place));
            }
            before = place;
        });
        self.look_up(asked, scratch).ok_or(corrupt(WHAT))
    }

    /// Finds the terms in the table: step by step for all of them, since what a
    /// step waits for is memory, and the waits of different terms overlap.
    fn look_up(&self, asked: &mut Asked, scratch: &mut Scratch) -> Option<()> {
        scratch.buckets.clear();
        for asked in &asked.terms {
            scratch.buckets.push(self.bucket(asked.hash)?);
        }
        for (asked, bucket) in asked.terms.iter_mut().zip(scratch.buckets.drain(..)) {
            asked.term = self.term(asked.hash, bucket)?;
        }
        asked.held.clear();
        for place in 0..asked.terms.len() {
            let (information, rarity) = match asked.terms[place].term {
                ABSENT => (fixed(information(asked.term(place), 0.0, self.len())), 0),
                term => {
                    let record = self.record(term)?;
                    asked.held.push(record);
                    (record.information.into(), record.rarity)
                }
            };
            asked.terms[place].information = information;
            asked.terms[place].rarity = rarity;
        }
        Some(())
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
            let term = self.record(term.term)?;
            let (impact, fields) = self.posting(&term, document)?;
            if impact > 0 {
                terms.push((place, impact, fields));
            }
            share = share.wrapping_add(self.names(&term)?.get(document));
        }
        let mut pairs = Vec::new();
        for AskedPair { places, terms } in asked.held_pairs() {
            for pair in self.pair(terms)? {
                let impact = self.pair_list(pair)?.get(document);
                if impact > 0 {
                    pairs.push((places.0, places.1, impact));
                }
            }
        }
        let of_terms = terms.iter().map(|(_, impact, _)| u16::from(*impact));
        let of_pairs = pairs.iter().map(|(.., impact)| u16::from(*impact));
        let sum: u16 = of_terms.chain(of_pairs).sum();
        Some(Reasons {
            terms,
            name: name_impact(sum, share).into(),
            name_share: share,
            pairs,
        })
    }
}

/// The words of a mask of fields.
pub(crate) fn field_names(mask: u8) -> Vec<&'static str> {
    Field::ALL
        .into_iter()
        .filter(|field| mask & field.bit() != 0)
        .map(Field::as_str)
        .collect()
}
