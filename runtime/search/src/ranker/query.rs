//! Parses a request into terms and neighbours that a [`RankTable`] knows, and explains scores by
//! them.

use super::parameters::{FIELDS, Field, MAX_PARTS, is_excluded};
use super::scoring::name_impact;
use super::{DAMAGED, RankTable, SHARES, fixed, hash, information};
use crate::error::Error;
use crate::text::{Token, Tokenizer, is_unspaced};

/// A parsed request. Reusing it saves allocations.
#[derive(Debug, Default)]
pub struct Query {
    tokenizer: Tokenizer,
    /// The concatenated texts of the terms.
    text: String,
    /// Distinct terms, in order.
    pub(super) terms: Vec<QueryTerm>,
    /// Pairs of neighbouring terms, as positions in `terms`; each pair once.
    pub(super) pairs: Vec<(usize, usize)>,
}

/// A term of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QueryTerm {
    hash: u64,
    /// The end of its text in [`Query::text`].
    end: usize,
    /// Its number in the table, if some document contains it.
    pub(super) number: Option<u32>,
    /// The information of the term, in units of 1/[`super::FRACTION`].
    pub(super) information: u32,
    /// Its rarity in public skills, in the same units; 0 if no document contains it.
    pub(super) rarity: u32,
    /// Whether it is of a script without spaces.
    is_unspaced: bool,
}

impl QueryTerm {
    /// Whether it counts in the confidence, which bigrams of a language that the bundle does not
    /// speak do not.
    pub(super) fn counts(&self) -> bool {
        self.number.is_some() || !self.is_unspaced
    }
}

/// How a document got its score.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoreParts {
    /// Terms as positions in the query, with impact and mask of fields.
    pub terms: Vec<(usize, u8, u8)>,
    /// The contribution of the name's share, in impacts.
    pub name: u32,
    /// The share of the name that the request contains, in 255ths.
    pub name_share: u8,
    /// Neighbouring terms as positions in the query, with their impact.
    pub pairs: Vec<(usize, usize, u8)>,
}

impl ScoreParts {
    /// The score, without the bonus for an explicitly named document.
    pub fn score(&self) -> u32 {
        let terms = self.terms.iter().map(|(_, impact, _)| u32::from(*impact));
        let pairs = self.pairs.iter().map(|(.., impact)| u32::from(*impact));
        let score = terms.chain(pairs).sum::<u32>() + self.name;
        score.min(u16::MAX.into())
    }

    /// Whether the document contains the term at this position in the query, and does not exclude it.
    pub fn holds(&self, place: usize) -> bool {
        let mut terms = self.terms.iter();
        terms.any(|(term, _, fields)| *term == place && !is_excluded(*fields))
    }

    /// The share of the name that the request contains, from 0 to 1.
    pub fn share(&self) -> f64 {
        f64::from(self.name_share) / f64::from(SHARES)
    }
}

impl Query {
    /// The texts of the terms.
    pub fn terms(&self) -> impl Iterator<Item = &str> {
        (0..self.terms.len()).map(|place| self.term(place))
    }

    /// The text of a term.
    pub fn term(&self, place: usize) -> &str {
        let before = place.checked_sub(1).map(|before| self.terms[before].end);
        &self.text[before.unwrap_or(0)..self.terms[place].end]
    }

    /// The numbers of the terms that some document contains.
    pub(super) fn known_terms(&self) -> impl Iterator<Item = u32> {
        self.terms.iter().filter_map(|term| term.number)
    }

    /// The pairs of neighbours of which both terms are known: their positions and their numbers.
    pub(super) fn known_pairs(&self) -> impl Iterator<Item = ((usize, usize), (u32, u32))> {
        self.pairs.iter().filter_map(|(first, second)| {
            let numbers = (self.terms[*first].number?, self.terms[*second].number?);
            Some(((*first, *second), numbers))
        })
    }

    /// Parses the text of a request.
    fn read(&mut self, request: &str) {
        self.text.clear();
        self.terms.clear();
        self.pairs.clear();
        let mut tokenizer = std::mem::take(&mut self.tokenizer);
        let mut before = None;
        tokenizer.tokens(request, |token| {
            if token == Token::Negation {
                before = None;
            }
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

    /// The position of a term. Adds the term if it is new. Returns `None` if there is no room.
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
                    is_unspaced: text.starts_with(is_unspaced),
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
    /// Parses a request and looks up its terms.
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

    /// The score of a document that counts for a decision: without the terms that its description
    /// excludes. `None` if these are worth more than those that it describes, so that the request is
    /// about something that the skill is not for.
    pub fn supported(&self, query: &Query, explanation: &ScoreParts) -> Option<u32> {
        let information = |place: usize| u64::from(query.terms[place].information);
        let (mut excluded, mut described, mut sum) = (0, 0, 0_u16);
        for (place, impact, fields) in &explanation.terms {
            if is_excluded(*fields) {
                excluded += information(*place);
                continue;
            }
            sum = sum.saturating_add((*impact).into());
            if *fields != Field::Body.bit() {
                described += information(*place);
            }
        }
        for (.., impact) in &explanation.pairs {
            sum = sum.saturating_add((*impact).into());
        }
        let name = name_impact(sum, explanation.name_share);
        (excluded <= described).then_some(u32::from(sum.saturating_add(name)))
    }

    /// Explains the document's score.
    pub fn explain(&self, query: &Query, document: u32) -> Result<ScoreParts, Error> {
        self.find_explanation(query, document).ok_or(DAMAGED)
    }

    fn find_explanation(&self, query: &Query, document: u32) -> Option<ScoreParts> {
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
        Some(ScoreParts {
            terms,
            name: name_impact(sum, share).into(),
            name_share: share,
            pairs,
        })
    }
}

/// The names of the fields in a mask.
pub fn field_names(mask: u8) -> Vec<&'static str> {
    let fields = FIELDS.iter().enumerate();
    let held = fields.filter(|(field, _)| mask >> field & 1 == 1);
    held.map(|(_, rule)| rule.name).collect()
}
