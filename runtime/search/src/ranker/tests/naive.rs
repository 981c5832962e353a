//! The formula in the documentation of `ranker.rs`, computed document by document, in floating
//! point until it is rounded.

use std::collections::BTreeSet;
use std::ops::Range;

use super::super::parameters::{
    BACKGROUND_SKILLS, BODY_SHARE, CHANCE, FIELDS, Field, LEAST_INFORMATION, NAME_SHARE, PAIR,
    SATURATION, SCORE_SHARE,
};
use super::super::{Document, FRACTION, count, fixed, share};
use crate::text::clauses::{Run, is_inside, quoted, runs as split};
use crate::text::{Token, Tokenizer, fold, is_unspaced};

fn terms(text: &str) -> Vec<String> {
    runs(text).concat()
}

/// The terms of a text between its breaks.
fn runs(text: &str) -> Vec<Vec<String>> {
    let mut runs = vec![Vec::new()];
    Tokenizer::default().tokens(text, |token| match token {
        Token::Term(term) => runs.last_mut().expect("never empty").push(term.to_owned()),
        Token::Break | Token::Negation => runs.push(Vec::new()),
    });
    runs
}

/// Adds the terms of a text; a negation begins a new stretch.
fn stretch(text: &str, stretches: &mut Vec<Vec<String>>) {
    Tokenizer::default().tokens(text, |token| match token {
        Token::Term(term) => stretches
            .last_mut()
            .expect("never empty")
            .push(term.to_owned()),
        Token::Negation => stretches.push(Vec::new()),
        Token::Break => {}
    });
}

/// The terms of a text between its negations.
fn stretches(text: &str) -> Vec<Vec<String>> {
    let mut stretches = vec![Vec::new()];
    stretch(text, &mut stretches);
    stretches
}

/// In the order of [`FIELDS`].
const ALL: [Field; FIELDS.len()] = [
    Field::Name,
    Field::Keywords,
    Field::Description,
    Field::Quoted,
    Field::Negative,
    Field::Body,
];

/// The parts of a document's description.
fn parts<'t>(documents: &[Document<'_>], document: &'t Document<'_>) -> Vec<Run<'t>> {
    let is_name = |name: &str, it: &Document<'_>| fold(&it.name) == fold(name);
    split(&document.description, |name| {
        !is_name(name, document) && documents.iter().any(|it| is_name(name, it))
    })
}

fn field(documents: &[Document<'_>], document: &Document<'_>, field: Field) -> Vec<String> {
    let described = |negative: bool| {
        let parts = parts(documents, document).into_iter();
        let parts = parts.filter(|it| it.is_negative == negative);
        parts.flat_map(|it| terms(it.text)).collect()
    };
    match field {
        Field::Name => terms(&document.name),
        Field::Keywords => document.keywords.iter().flat_map(|it| terms(it)).collect(),
        Field::Description => described(false),
        Field::Quoted => {
            let parts = parts(documents, document);
            let is_negative = |phrase: &str| {
                let mut parts = parts.iter().filter(|it| it.is_negative);
                parts.any(|part| is_inside(&[part.text], phrase))
            };
            let phrases = quoted(&document.description).into_iter();
            let phrases = phrases.filter(|phrase| !is_negative(phrase));
            phrases.flat_map(terms).collect()
        }
        Field::Negative => described(true),
        Field::Body => terms(&document.body),
    }
}

/// The formula, computed without tables.
pub(super) struct Naive<'a> {
    pub(super) documents: &'a [Document<'a>],
    fields: Vec<[Vec<String>; FIELDS.len()]>,
    /// The greatest weight of any term in any document.
    greatest: f64,
}

impl<'a> Naive<'a> {
    pub(super) fn new(documents: &'a [Document<'a>]) -> Self {
        let read = |document| ALL.map(|it| field(documents, document, it));
        let mut naive = Self {
            documents,
            fields: documents.iter().map(read).collect(),
            greatest: 0.0,
        };
        naive.greatest = naive.greatest();
        naive
    }

    fn holds(&self, document: usize, fields: Range<usize>, term: &str) -> bool {
        self.fields[document][fields]
            .iter()
            .any(|it| it.iter().any(|it| it == term))
    }

    fn information(&self, term: &str) -> f64 {
        let all = self.documents.len();
        let meta = (0..all).filter(|it| self.holds(*it, 0..5, term)).count();
        let any = (0..all).filter(|it| self.holds(*it, 0..6, term)).count();
        let holding = count(meta) + BODY_SHARE * (count(any) - count(meta));
        let p = share(term);
        let without = count(all) - holding + BACKGROUND_SKILLS * (1.0 - p) + 0.5;
        libm::log(1.0 + without / (holding + BACKGROUND_SKILLS * p + 0.5))
    }

    fn weight(&self, document: usize, term: &str) -> f64 {
        let mut frequency = 0.0;
        for at in 0..FIELDS.len() {
            let occurrences = self.fields[document][at]
                .iter()
                .filter(|it| *it == term)
                .count();
            if occurrences > 0 {
                let total: usize = self.fields.iter().map(|it| it[at].len()).sum();
                let average = count(total) / count(self.documents.len());
                let ratio = count(self.fields[document][at].len()) / average;
                let length_factor = 1.0 - FIELDS[at].length + FIELDS[at].length * ratio;
                frequency += FIELDS[at].weight * count(occurrences) / length_factor;
            }
        }
        self.information(term) * frequency * (SATURATION + 1.0) / (SATURATION + frequency)
    }

    fn greatest(&self) -> f64 {
        let mut greatest = 0.0_f64;
        for document in 0..self.documents.len() {
            for term in self.fields[document].iter().flatten() {
                greatest = greatest.max(self.weight(document, term));
            }
        }
        greatest
    }

    /// The contribution of a term to a score, in impacts.
    fn impact(&self, document: usize, term: &str) -> f64 {
        let weight = self.weight(document, term);
        let rounded = (weight / self.greatest * 255.0).round();
        if weight > 0.0 {
            rounded.clamp(1.0, 255.0)
        } else {
            0.0
        }
    }

    /// The confidence that the request means its best document. `passes` returns whether the filter
    /// of the table contains a pair of terms.
    pub(super) fn confidence(
        &self,
        request: &str,
        (best, score): (u32, u32),
        passes: impl Fn(&str, &str) -> bool,
    ) -> f64 {
        let asked = terms(request);
        let distinct: BTreeSet<&String> = asked.iter().collect();
        let best = best as usize;
        let described: f64 = distinct
            .iter()
            .filter(|term| self.holds(best, 0..4, term))
            .map(|term| self.impact(best, term))
            .sum();
        let score = f64::from(score) + described;
        let score = score * stored(self.greatest) / 255.0;
        let stretches = stretches(request);
        let pairs: BTreeSet<(&String, &String)> = stretches
            .iter()
            .flat_map(|it| it.windows(2))
            .map(|it| ((&it[0]).min(&it[1]), (&it[0]).max(&it[1])))
            .filter(|(one, other)| one != other)
            .collect();
        let cooccurring: f64 = pairs
            .iter()
            .filter(|(one, other)| self.cooccur(one, other) || passes(one, other))
            .map(|(one, other)| stored(-libm::log(share(one).max(share(other)))))
            .sum();
        let documents = self.documents.len();
        let is_known = |term: &str| (0..documents).any(|it| self.holds(it, 0..6, term));
        let counts = |term: &&&String| is_known(term) || !term.starts_with(is_unspaced);
        let information = |term: &&String| stored(self.information(term));
        let all: f64 = distinct.iter().filter(counts).map(information).sum();
        let by_chance: f64 = distinct
            .iter()
            .filter(counts)
            .map(information)
            .map(|it| it * libm::exp(-it))
            .sum();
        let sum = SCORE_SHARE * score + cooccurring - CHANCE * by_chance;
        (sum / all.max(LEAST_INFORMATION).sqrt()).max(0.0)
    }

    /// Whether the terms occur at most two apart in a text of some document.
    fn cooccur(&self, one: &str, other: &str) -> bool {
        let described = |it: &Document<'_>| {
            let mut found = stretches(&it.name);
            for part in parts(self.documents, it) {
                if part.is_negative {
                    found.push(Vec::new());
                } else {
                    stretch(part.text, &mut found);
                }
            }
            it.keywords.iter().for_each(|it| stretch(it, &mut found));
            found
        };
        let documents = self.documents.iter();
        let mut texts = documents.flat_map(|it| [described(it), stretches(&it.body)].concat());
        texts.any(|text| {
            text.iter().enumerate().any(|(at, term)| {
                let around = &text[at.saturating_sub(2)..text.len().min(at + 3)];
                term == one && around.iter().any(|it| it == other)
            })
        })
    }

    fn neighbours(&self, document: usize, pair: &[String]) -> bool {
        let document = &self.documents[document];
        let parts = parts(self.documents, document).into_iter();
        let parts = parts.filter(|it| !it.is_negative).map(|it| it.text);
        let texts = std::iter::once(&*document.name).chain(parts);
        texts
            .chain(document.keywords.iter().map(String::as_str))
            .flat_map(runs)
            .any(|run| run.windows(2).any(|it| it == pair))
    }

    pub(super) fn scores(&self, request: &str) -> Vec<u32> {
        let asked = terms(request);
        let distinct: BTreeSet<&String> = asked.iter().collect();
        let stretches = stretches(request);
        let pairs: BTreeSet<&[String]> = stretches.iter().flat_map(|it| it.windows(2)).collect();
        let all = self.documents.len();
        (0..all)
            .map(|document| {
                let sum: f64 = distinct
                    .iter()
                    .map(|term| self.impact(document, term))
                    .sum();
                let name: BTreeSet<&String> = self.fields[document][0].iter().collect();
                let of_name: f64 = name.iter().map(|term| self.information(term)).sum();
                let share: f64 = name
                    .iter()
                    .filter(|term| distinct.contains(*term))
                    .map(|term| (self.information(term) / of_name * 255.0).floor())
                    .sum();
                let factor = (NAME_SHARE * 65_536.0 / 255.0).floor();
                let by_pairs: f64 = pairs
                    .iter()
                    .filter(|pair| self.neighbours(document, pair))
                    .map(|pair| {
                        let holding =
                            count((0..all).filter(|it| self.neighbours(*it, pair)).count());
                        let rarity =
                            libm::log(1.0 + (count(all) - holding + 0.5) / (holding + 0.5));
                        (PAIR * rarity / self.greatest * 255.0)
                            .round()
                            .clamp(1.0, 255.0)
                    })
                    .sum();
                let by_name = ((sum + by_pairs) * share * factor / 65_536.0).floor();
                let score = sum + by_pairs + by_name;
                format!("{score}").parse().expect("a whole number")
            })
            .collect()
    }
}

/// A number of natural units, rounded as in the table.
fn stored(number: f64) -> f64 {
    f64::from(fixed(number)) / FRACTION
}
