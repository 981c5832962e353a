//! Reads a request into terms and neighbours that a [`RankTable`] knows, and
//! explains a score by them.

use super::parameters::{FIELDS, MAX_PARTS};
use super::scoring::name_impact;
use super::{DAMAGED, RankTable, SHARES, fixed, hash, information};
use crate::error::Error;
use crate::text::{Token, Tokenizer};

/// A request as it was understood; a buffer that may be used again.
#[derive(Debug, Default)]
pub struct Query {
    tokenizer: Tokenizer,
    /// The texts of the terms, one after the other.
    text: String,
    /// Each once, in order.
    pub(super) terms: Vec<QueryTerm>,
    /// Neighbours, by their places in `terms`; each two once.
    pub(super) pairs: Vec<(usize, usize)>,
}

/// A term of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QueryTerm {
    hash: u64,
    /// Where its text ends in [`Query::text`].
    end: usize,
    /// Its number in the table, if some document holds it.
    pub(super) number: Option<u32>,
    /// What the request tells by it, in [`super::FRACTION`]s.
    pub(super) information: u32,
    /// How rare it is among public skills, in the same; 0 if no document holds it.
    pub(super) rarity: u32,
}

/// Why a document scored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// Terms by their places in the query: impact, mask of fields.
    pub terms: Vec<(usize, u8, u8)>,
    /// What the share of the name added, in impacts.
    pub name: u32,
    /// The share of the name that the request holds, in 255ths.
    pub name_share: u8,
    /// Neighbours by their places, and what they added.
    pub pairs: Vec<(usize, usize, u8)>,
}

impl Explanation {
    /// The score, less what naming the document adds.
    pub fn score(&self) -> u32 {
        let terms = self.terms.iter().map(|(_, impact, _)| u32::from(*impact));
        let pairs = self.pairs.iter().map(|(.., impact)| u32::from(*impact));
        let score = terms.chain(pairs).sum::<u32>() + self.name;
        score.min(u16::MAX.into())
    }

    /// The share of the name, 0 to 1.
    pub fn share(&self) -> f64 {
        f64::from(self.name_share) / f64::from(SHARES)
    }
}

impl Query {
    /// The terms' texts.
    pub fn terms(&self) -> impl Iterator<Item = &str> {
        (0..self.terms.len()).map(|place| self.term(place))
    }

    /// The text of a term.
    pub fn term(&self, place: usize) -> &str {
        let before = place.checked_sub(1).map(|before| self.terms[before].end);
        &self.text[before.unwrap_or(0)..self.terms[place].end]
    }

    /// The numbers of the terms that some document holds.
    pub(super) fn known_terms(&self) -> impl Iterator<Item = u32> {
        self.terms.iter().filter_map(|term| term.number)
    }

    /// The neighbours that are both known: their places and their numbers.
    pub(super) fn known_pairs(&self) -> impl Iterator<Item = ((usize, usize), (u32, u32))> {
        self.pairs.iter().filter_map(|(first, second)| {
            let numbers = (self.terms[*first].number?, self.terms[*second].number?);
            Some(((*first, *second), numbers))
        })
    }

    /// Reads the text of a request.
    fn read(&mut self, request: &str) {
        self.text.clear();
        self.terms.clear();
        self.pairs.clear();
        let mut tokenizer = std::mem::take(&mut self.tokenizer);
        let mut before = None;
        tokenizer.tokens(request, |token| {
            let Token::Term(text) = token else { return };
            let place = self.add(text);
            let pair = before.zip(place);
            if let Some(pair) = pair.filter(|pair| !self.pairs.contains(pair) && self.has_room()) {
                self.pairs.push(pair);
            }
            before = place;
        });
        self.tokenizer = tokenizer;
    }

    /// The place of a term; a new one if it is new and there is room.
    fn add(&mut self, text: &str) -> Option<usize> {
        let hash = hash(text);
        let known = self.terms.iter().position(|term| term.hash == hash);
        known.or_else(|| {
            self.has_room().then(|| {
                self.text.push_str(text);
                self.terms.push(QueryTerm {
                    hash,
                    end: self.text.len(),
                    number: None,
                    information: 0,
                    rarity: 0,
                });
                self.terms.len() - 1
            })
        })
    }

    fn has_room(&self) -> bool {
        self.terms.len() + self.pairs.len() < MAX_PARTS
    }
}

impl RankTable<'_> {
    /// Reads a request.
    pub fn read(&self, request: &str, query: &mut Query) -> Result<(), Error> {
        query.read(request);
        self.look_up(query).ok_or(DAMAGED)
    }

    fn look_up(&self, query: &mut Query) -> Option<()> {
        for place in 0..query.terms.len() {
            let number = self.terms.find(query.terms[place].hash);
            let (information, rarity) = match number {
                None => (fixed(information(query.term(place), 0.0, self.len())), 0),
                Some(number) => {
                    let term = self.term(number)?;
                    (term.information, term.rarity)
                }
            };
            query.terms[place] = QueryTerm {
                number,
                information,
                rarity,
                ..query.terms[place]
            };
        }
        Some(())
    }

    /// What made the document's score.
    pub fn explain(&self, query: &Query, document: u32) -> Result<Explanation, Error> {
        self.find_explanation(query, document).ok_or(DAMAGED)
    }

    fn find_explanation(&self, query: &Query, document: u32) -> Option<Explanation> {
        let (mut terms, mut share) = (Vec::new(), 0_u8);
        for (place, term) in query.terms.iter().enumerate() {
            let Some(number) = term.number else { continue };
            let term = self.term(number)?;
            let (impact, fields) = term.posting(document);
            if impact > 0 {
                terms.push((place, impact, fields));
            }
            share = share.wrapping_add(term.names.get(document));
        }
        let mut pairs = Vec::new();
        for ((first, second), numbers) in query.known_pairs() {
            let impact = self.pair(numbers)?.get(document);
            if impact > 0 {
                pairs.push((first, second, impact));
            }
        }
        let of_terms = terms.iter().map(|(_, impact, _)| u16::from(*impact));
        let of_pairs = pairs.iter().map(|(.., impact)| u16::from(*impact));
        let sum: u16 = of_terms.chain(of_pairs).sum();
        Some(Explanation {
            terms,
            name: name_impact(sum, share).into(),
            name_share: share,
            pairs,
        })
    }
}

/// The words of a mask of fields.
pub fn field_names(mask: u8) -> Vec<&'static str> {
    let fields = FIELDS.iter().enumerate();
    let held = fields.filter(|(field, _)| mask >> field & 1 == 1);
    held.map(|(_, rule)| rule.name).collect()
}
