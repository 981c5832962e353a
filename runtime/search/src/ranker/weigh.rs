//! Counts the terms of skills and computes their weights: the first half of building a
//! [`super::RankTable`], with all of its floating-point arithmetic. The result is deterministic on
//! every machine: logarithms come from a library instead of the system, sums run in a fixed order,
//! and the results are rounded to integers.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::cooccurrence::{self, WordBytes};
use super::parameters::{BODY_SHARE, FIELDS, Field, MAX_POSTINGS, SATURATION};
use super::{hash, information};
use crate::text::clauses::{clauses, is_negative, quoted};
use crate::text::{Token, Tokenizer};

/// The parts of a skill that the ranker reads.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// Its path, which orders equal scores.
    pub path: String,
    /// Its name.
    pub name: String,
    /// Declared keywords, tags and triggers.
    pub keywords: Vec<String>,
    /// The description, and other text that says when the skill is useful.
    pub description: String,
    /// The text after the frontmatter.
    pub body: String,
    /// Whether it is of the tree dialect, which has its own ranker.
    pub is_tree: bool,
}

/// The contents of the table.
pub(super) struct Weighed {
    /// The greatest weight of any term in any document.
    pub(super) greatest: f64,
    /// In ascending order of hash. The number of a term is its position here.
    pub(super) terms: Vec<Term>,
    /// The documents in which two terms are neighbours, by the terms' numbers.
    pub(super) pairs: BTreeMap<(u32, u32), Vec<u32>>,
    /// The Bloom filter of terms that co-occur.
    pub(super) cooccurrence: Vec<WordBytes>,
}

/// A term and its postings. Lists are in ascending order of document.
pub(super) struct Term {
    pub(super) text: String,
    /// The information of the term, in natural units.
    pub(super) information: f64,
    pub(super) postings: Vec<Posting>,
    /// Documents whose names contain it, with its share of the name's information.
    pub(super) names: Vec<(u32, f64)>,
}

/// A term in a document.
pub(super) struct Posting {
    pub(super) document: u32,
    pub(super) weight: f64,
    /// Mask of [`Field`] bits.
    pub(super) fields: u8,
}

/// Counts the terms of the documents and computes their weights.
pub(super) fn weigh(documents: &[Document]) -> Weighed {
    let mut counter = Counter::default();
    let mut tokenizer = Tokenizer::default();
    for document in documents {
        counter.read(document, &mut tokenizer);
    }
    counter.weigh()
}

/// Counts of all documents. Terms are numbered in the order in which they are first seen.
#[derive(Default)]
struct Counter {
    numbers: HashMap<String, u32>,
    documents: Vec<Counts>,
    cooccurrence: cooccurrence::Pairs,
}

/// The counts of one document.
#[derive(Default)]
struct Counts {
    /// Per term: the number of its occurrences in each field.
    terms: BTreeMap<u32, [u32; FIELDS.len()]>,
    lengths: [u32; FIELDS.len()],
    name: BTreeSet<u32>,
    pairs: BTreeSet<(u32, u32)>,
}

impl Counter {
    fn read(&mut self, document: &Document, tokenizer: &mut Tokenizer) {
        let mut counts = Counts::default();
        let mut field = |field, text: &str| self.field(field, text, tokenizer, &mut counts);
        field(Field::Name, &document.name);
        for keyword in &document.keywords {
            field(Field::Keywords, keyword);
        }
        for clause in clauses(&document.description) {
            let is_negative = is_negative(clause);
            let of = [Field::Description, Field::Negative][usize::from(is_negative)];
            field(of, clause);
        }
        for phrase in quoted(&document.description) {
            field(Field::Quoted, phrase);
        }
        self.cooccurrence.begin();
        self.field(Field::Body, &document.body, tokenizer, &mut counts);
        self.cooccurrence.begin();
        let texts = [&document.name, &document.description];
        for text in texts.into_iter().chain(&document.keywords) {
            self.neighbours(text, tokenizer, &mut counts);
        }
        self.documents.push(counts);
    }

    /// Counts pairs of neighbouring terms. Fields are also split at dashes, which separate what a
    /// skill is for from what it is not for; neighbours are not.
    fn neighbours(&mut self, text: &str, tokenizer: &mut Tokenizer, counts: &mut Counts) {
        let mut before = None;
        tokenizer.tokens(text, |token| {
            let term = match token {
                Token::Term(term) => Some(self.number(term)),
                Token::Break => None,
            };
            if let Some(term) = term {
                self.cooccurrence.push(term);
            }
            counts.pairs.extend(before.zip(term));
            before = term;
        });
    }

    fn field(&mut self, field: Field, text: &str, tokenizer: &mut Tokenizer, counts: &mut Counts) {
        tokenizer.tokens(text, |token| {
            let Token::Term(term) = token else { return };
            let term = self.number(term);
            counts.terms.entry(term).or_default()[field as usize] += 1;
            counts.lengths[field as usize] += 1;
            match field {
                Field::Name => _ = counts.name.insert(term),
                Field::Body => self.cooccurrence.push(term),
                _ => {}
            }
        });
    }

    fn number(&mut self, term: &str) -> u32 {
        if let Some(number) = self.numbers.get(term) {
            return *number;
        }
        let number = self.numbers.len();
        let number = u32::try_from(number).expect("a bundle holds fewer than 2³² bytes of terms");
        self.numbers.insert(term.to_owned(), number);
        number
    }

    fn weigh(mut self) -> Weighed {
        let mut terms = self.terms();
        let averages = self.average_lengths();
        let mut greatest = 0.0_f64;
        for (document, counts) in (0..).zip(&self.documents) {
            for (term, weight, fields) in heaviest(counts, &averages, &terms) {
                greatest = greatest.max(weight);
                terms[term].postings.push(Posting {
                    document,
                    weight,
                    fields,
                });
            }
            // A floating-point sum depends on its order, so sort by text.
            let mut name: Vec<usize> = counts.name.iter().map(|term| *term as usize).collect();
            name.sort_unstable_by(|a, b| terms[*a].text.cmp(&terms[*b].text));
            let all: f64 = name.iter().map(|term| terms[*term].information).sum();
            for term in name {
                let share = terms[term].information / all;
                terms[term].names.push((document, share));
            }
        }
        let numbers = sort_by_hash(&mut terms);
        let number = |term: u32| numbers[term as usize];
        let mut pairs: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        for (document, counts) in (0..).zip(&self.documents) {
            for (first, second) in &counts.pairs {
                let pair = (number(*first), number(*second));
                pairs.entry(pair).or_default().push(document);
            }
        }
        Weighed {
            greatest,
            terms,
            pairs,
            cooccurrence: self.cooccurrence.finish(number),
        }
    }

    /// The terms in the order in which they were first seen, without postings.
    fn terms(&mut self) -> Vec<Term> {
        let (mut described, mut holding) = (
            vec![0_u32; self.numbers.len()],
            vec![0_u32; self.numbers.len()],
        );
        for (term, fields) in self.documents.iter().flat_map(|counts| &counts.terms) {
            let is_described = fields[..Field::Body as usize]
                .iter()
                .any(|count| *count > 0);
            described[*term as usize] += u32::from(is_described);
            holding[*term as usize] += 1;
        }
        let mut texts = vec![String::new(); self.numbers.len()];
        for (text, number) in self.numbers.drain() {
            texts[number as usize] = text;
        }
        let counts = described.into_iter().zip(holding);
        let term = |(text, (described, holding)): (String, (u32, u32))| {
            let (described, holding) = (f64::from(described), f64::from(holding));
            let frequency = described + BODY_SHARE * (holding - described);
            Term {
                information: information(&text, frequency, self.documents.len()),
                text,
                postings: Vec::new(),
                names: Vec::new(),
            }
        };
        texts.into_iter().zip(counts).map(term).collect()
    }

    fn average_lengths(&self) -> [f64; FIELDS.len()] {
        std::array::from_fn(|field| {
            let lengths = self
                .documents
                .iter()
                .map(|counts| u64::from(counts.lengths[field]));
            to_f64(lengths.sum()) / to_f64(self.documents.len().max(1) as u64)
        })
    }
}

/// The terms with the greatest weights in a document: term, weight, fields.
fn heaviest(
    counts: &Counts,
    averages: &[f64; FIELDS.len()],
    terms: &[Term],
) -> Vec<(usize, f64, u8)> {
    let lengths: [f64; FIELDS.len()] = std::array::from_fn(|field| {
        let ratio = f64::from(counts.lengths[field]) / averages[field];
        1.0 - FIELDS[field].length + FIELDS[field].length * ratio
    });
    let weigh = |(term, occurrences): (&u32, &[u32; FIELDS.len()])| {
        let (mut frequency, mut fields) = (0.0, 0);
        for (field, count) in occurrences
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
        {
            frequency += FIELDS[field].weight * f64::from(*count) / lengths[field];
            fields |= 1 << field;
        }
        let term = *term as usize;
        let weight =
            terms[term].information * frequency * (SATURATION + 1.0) / (SATURATION + frequency);
        (term, weight, fields)
    };
    let mut weights: Vec<(usize, f64, u8)> = counts.terms.iter().map(weigh).collect();
    let text = |term: usize| &terms[term].text;
    weights.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then_with(|| text(a.0).cmp(text(b.0))));
    weights.truncate(MAX_POSTINGS);
    weights
}

/// Sorts the terms by hash. Returns the new number of each term by its old one.
fn sort_by_hash(terms: &mut Vec<Term>) -> Vec<u32> {
    let mut sorted: Vec<(u64, usize, Term)> = terms
        .drain(..)
        .enumerate()
        .map(|(place, term)| (hash(&term.text), place, term))
        .collect();
    sorted.sort_unstable_by_key(|(hash, place, _)| (*hash, *place));
    let mut numbers = vec![0; sorted.len()];
    for (number, (_, place, term)) in (0..).zip(sorted) {
        numbers[place] = number;
        terms.push(term);
    }
    numbers
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2⁵³")]
fn to_f64(count: u64) -> f64 {
    count as f64
}
