//! Counts the terms of skills and computes their weights: the first half of building a
//! [`super::RankTable`], with all of its floating-point arithmetic. The result is deterministic on
//! every machine: logarithms come from a library instead of the system, sums run in a fixed order,
//! and the results are rounded to integers.

use std::borrow::Cow;
use std::collections::HashSet;

use super::cooccurrence::{self, WordBytes};
use super::parameters::{BODY_SHARE, FIELDS, Field, MAX_POSTINGS, SATURATION};
use super::{hash, information};
use crate::parallel::{map, map_chunks};
use crate::text::clauses::{is_inside, quoted, runs};
use crate::text::numbering::Numbering;
use crate::text::{Token, fold};
use crate::word_map::WordMap;

/// Fewer documents, or a hundred times as many terms, are counted faster than a thread starts.
const LEAST: usize = 32;

/// The parts of a skill that the ranker reads.
#[derive(Debug, Clone, Default)]
pub struct Document<'a> {
    /// Its path, which orders equal scores.
    pub path: Cow<'a, str>,
    /// Its name.
    pub name: Cow<'a, str>,
    /// Declared keywords, tags and triggers.
    pub keywords: Cow<'a, [String]>,
    /// The description, and other text that says when the skill is useful.
    pub description: Cow<'a, str>,
    /// The text after the frontmatter.
    pub body: Cow<'a, str>,
    /// Whether it is of the tree dialect, which has its own ranker.
    pub is_tree: bool,
}

/// The contents of the table.
pub(super) struct Weighed {
    /// The greatest weight of any term in any document.
    pub(super) greatest: f64,
    /// In ascending order of hash. The number of a term is its position here.
    pub(super) terms: Vec<Term>,
    /// Neighbouring terms, by their numbers, each with a document. Ascending.
    pub(super) pairs: Vec<((u32, u32), u32)>,
    /// The Bloom filter of terms that co-occur.
    pub(super) cooccurrence: Vec<WordBytes>,
}

/// A term and its postings. Lists are in ascending order of document.
pub(super) struct Term {
    pub(super) text: Box<str>,
    /// The information of the term, in natural units.
    pub(super) information: f64,
    pub(super) postings: Vec<Posting>,
    /// Documents whose names contain it, with its share of the name's information.
    pub(super) names: Vec<(u32, f64)>,
}

/// A term in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Posting {
    pub(super) document: u32,
    /// Its weight as a share of the greatest one, from 1 to 255.
    pub(super) impact: u8,
    /// Mask of [`Field`] bits.
    pub(super) fields: u8,
}

/// Counts the terms of the documents and computes their weights.
pub(super) fn weigh(documents: &[Document<'_>]) -> Weighed {
    let names = names(documents);
    Counted::join(map_chunks(documents, LEAST, |chunk| count(chunk, &names))).weigh()
}

/// The names that a description can send the reader to, in lower case.
pub(super) fn names(documents: &[Document<'_>]) -> HashSet<String> {
    documents.iter().map(|it| fold(&it.name)).collect()
}

fn count(documents: &[Document<'_>], names: &HashSet<String>) -> Counted {
    let mut counter = Counter::default();
    for document in documents {
        counter.read(document, names);
    }
    counter.finish()
}

/// Occurrences of a term in each field.
type Occurrences = [u32; FIELDS.len()];

/// Counts the terms of documents. Terms are numbered in the order in which they are first seen.
#[derive(Default)]
struct Counter {
    numbering: Numbering,
    documents: Vec<Counts>,
    cooccurrence: cooccurrence::Pairs,
    current: Current,
}

/// The document that is being counted.
#[derive(Default)]
struct Current {
    /// By term; all zero between two documents.
    occurrences: Vec<Occurrences>,
    /// The terms with occurrences.
    terms: Vec<u32>,
    lengths: Occurrences,
    pairs: Vec<(u32, u32)>,
}

/// The counts of one document.
struct Counts {
    /// The terms that occur in the body only, and how often.
    body: Box<[(u32, u32)]>,
    /// The other terms.
    described: Box<[(u32, Occurrences)]>,
    lengths: Occurrences,
    /// Neighbours, without duplicates.
    pairs: Box<[(u32, u32)]>,
}

impl Counter {
    fn read(&mut self, document: &Document<'_>, names: &HashSet<String>) {
        self.field(Field::Name, &document.name);
        for keyword in &*document.keywords {
            self.field(Field::Keywords, keyword);
        }
        let own = fold(&document.name);
        let is_other = |name: &str| {
            let name = fold(name);
            name != own && names.contains(&name)
        };
        let runs = runs(&document.description, is_other);
        for run in &runs {
            let of = [Field::Description, Field::Negative][usize::from(run.is_negative)];
            self.field(of, run.text);
        }
        let negative = runs.iter().filter(|run| run.is_negative);
        let negative: Vec<&str> = negative.map(|run| run.text).collect();
        for phrase in quoted(&document.description) {
            if !is_inside(&negative, phrase) {
                self.field(Field::Quoted, phrase);
            }
        }
        self.cooccurrence.begin();
        self.field(Field::Body, &document.body);
        self.cooccurrence.begin();
        self.neighbours(&document.name);
        for run in &runs {
            if run.is_negative {
                self.cooccurrence.begin();
            } else {
                self.neighbours(run.text);
            }
        }
        for keyword in &*document.keywords {
            self.neighbours(keyword);
        }
        self.documents.push(self.current.finish());
    }

    /// Counts pairs of neighbouring terms.
    fn neighbours(&mut self, text: &str) {
        let mut before = None;
        self.numbering.tokens(text, |token| {
            if token == Token::Negation {
                self.cooccurrence.begin();
            }
            let Token::Term(term) = token else {
                before = None;
                return;
            };
            self.cooccurrence.push(term);
            self.current
                .pairs
                .extend(before.map(|before| (before, term)));
            before = Some(term);
        });
    }

    fn field(&mut self, field: Field, text: &str) {
        self.numbering.tokens(text, |token| {
            let is_body = field == Field::Body;
            if is_body && token == Token::Negation {
                self.cooccurrence.begin();
            }
            let Token::Term(term) = token else { return };
            self.current.add(term, field);
            if is_body {
                self.cooccurrence.push(term);
            }
        });
    }

    fn finish(self) -> Counted {
        Counted {
            terms: self.numbering.into_terms(),
            documents: self.documents,
            cooccurrence: self.cooccurrence,
        }
    }
}

impl Current {
    fn add(&mut self, term: u32, field: Field) {
        let at = term as usize;
        if self.occurrences.len() <= at {
            self.occurrences.resize(at + 1, Occurrences::default());
        }
        let occurrences = &mut self.occurrences[at];
        if *occurrences == Occurrences::default() {
            self.terms.push(term);
        }
        occurrences[field as usize] += 1;
        self.lengths[field as usize] += 1;
    }

    fn finish(&mut self) -> Counts {
        let (mut body, mut described) = (Vec::with_capacity(self.terms.len()), Vec::new());
        for term in self.terms.drain(..) {
            let occurrences = std::mem::take(&mut self.occurrences[term as usize]);
            if is_described(&occurrences) {
                described.push((term, occurrences));
            } else {
                body.push((term, occurrences[Field::Body as usize]));
            }
        }
        self.pairs.sort_unstable();
        self.pairs.dedup();
        let counts = Counts {
            body: body.into(),
            described: described.into(),
            lengths: std::mem::take(&mut self.lengths),
            pairs: self.pairs.as_slice().into(),
        };
        self.pairs.clear();
        counts
    }
}

/// Whether a term occurs outside the body.
fn is_described(occurrences: &Occurrences) -> bool {
    occurrences[..Field::Body as usize]
        .iter()
        .any(|count| *count > 0)
}

impl Counts {
    /// The terms of the name.
    fn name(&self) -> impl Iterator<Item = usize> {
        let in_name = self
            .described
            .iter()
            .filter(|(_, it)| it[Field::Name as usize] > 0);
        in_name.map(|(term, _)| *term as usize)
    }

    fn renumber(&mut self, number: impl Fn(u32) -> u32) {
        self.body
            .iter_mut()
            .for_each(|(term, _)| *term = number(*term));
        self.described
            .iter_mut()
            .for_each(|(term, _)| *term = number(*term));
        for (first, second) in &mut self.pairs {
            (*first, *second) = (number(*first), number(*second));
        }
    }
}

/// The counts of all documents.
#[derive(Default)]
struct Counted {
    /// By number.
    terms: Vec<Box<str>>,
    documents: Vec<Counts>,
    cooccurrence: cooccurrence::Pairs,
}

impl Counted {
    /// Joins the counts of consecutive chunks. The terms have the numbers that they would have if
    /// all documents had been counted in one go.
    fn join(chunks: Vec<Self>) -> Self {
        let mut chunks = chunks.into_iter();
        let mut joined = chunks.next().unwrap_or_default();
        let mut numbers = WordMap::default();
        if chunks.len() > 0 {
            let terms = joined.terms.iter().zip(0..);
            terms.for_each(|(term, number)| numbers.insert(term, number));
        }
        for chunk in chunks {
            let number = |term: Box<str>| {
                if let Some(number) = numbers.get(&term) {
                    return *number;
                }
                let number = u32::try_from(joined.terms.len())
                    .expect("a bundle holds fewer than 2³² bytes of terms");
                numbers.insert(&term, number);
                joined.terms.push(term);
                number
            };
            let numbers: Vec<u32> = chunk.terms.into_iter().map(number).collect();
            let number = |term: u32| numbers[term as usize];
            joined.cooccurrence.absorb(chunk.cooccurrence, number);
            joined
                .documents
                .extend(chunk.documents.into_iter().map(|mut counts| {
                    counts.renumber(number);
                    counts
                }));
        }
        joined
    }

    fn weigh(mut self) -> Weighed {
        let averages = self.average_lengths();
        let mut terms = self.terms();
        let greatest = map_chunks(&self.documents, LEAST, |documents| {
            let weights = documents
                .iter()
                .flat_map(|it| weights(it, &averages, &terms));
            weights.map(|(_, weight, _)| weight).fold(0.0, f64::max)
        });
        let greatest = greatest.into_iter().fold(0.0, f64::max);
        for (document, counts) in (0..).zip(&self.documents) {
            for (term, weight, fields) in heaviest(counts, &averages, &terms) {
                terms[term].postings.push(Posting {
                    document,
                    impact: rounded(weight / greatest * 255.0),
                    fields,
                });
            }
            // A floating-point sum depends on its order, so sort by text.
            let mut name: Vec<usize> = counts.name().collect();
            name.sort_unstable_by(|a, b| terms[*a].text.cmp(&terms[*b].text));
            let all: f64 = name.iter().map(|term| terms[*term].information).sum();
            for term in name {
                let share = terms[term].information / all;
                terms[term].names.push((document, share));
            }
        }
        let numbers = sort_by_hash(&mut terms);
        let number = |term: u32| numbers[term as usize];
        let mut pairs: Vec<((u32, u32), u32)> = Vec::new();
        for (document, counts) in (0..).zip(self.documents) {
            let numbered = |pair: &(u32, u32)| ((number(pair.0), number(pair.1)), document);
            pairs.extend(counts.pairs.iter().map(numbered));
        }
        pairs.sort_unstable();
        Weighed {
            greatest,
            terms,
            pairs,
            cooccurrence: self.cooccurrence.finish(number),
        }
    }

    /// The terms by number, without postings.
    fn terms(&mut self) -> Vec<Term> {
        let mut frequencies = vec![(0_u32, 0_u32); self.terms.len()];
        for counts in &self.documents {
            for (term, _) in &counts.body {
                frequencies[*term as usize].1 += 1;
            }
            for (term, _) in &counts.described {
                frequencies[*term as usize].0 += 1;
            }
        }
        let texts: Vec<_> = std::mem::take(&mut self.terms)
            .into_iter()
            .zip(frequencies)
            .collect();
        let documents = self.documents.len();
        let informations = map(&texts, 1 << 12, |(text, (described, in_body))| {
            let frequency = f64::from(*described) + BODY_SHARE * f64::from(*in_body);
            information(text, frequency, documents)
        });
        let term =
            |((text, (described, in_body)), information): ((Box<str>, (u32, u32)), f64)| Term {
                text,
                information,
                postings: Vec::with_capacity((described + in_body) as usize),
                names: Vec::new(),
            };
        texts.into_iter().zip(informations).map(term).collect()
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

/// The weights of the terms of a document: term, weight, fields.
fn weights<'a>(
    counts: &'a Counts,
    averages: &[f64; FIELDS.len()],
    terms: &'a [Term],
) -> impl Iterator<Item = (usize, f64, u8)> + use<'a> {
    let lengths: [f64; FIELDS.len()] = std::array::from_fn(|field| {
        let ratio = f64::from(counts.lengths[field]) / averages[field];
        1.0 - FIELDS[field].length + FIELDS[field].length * ratio
    });
    let weight = |term: u32, frequency: f64| {
        terms[term as usize].information * frequency * (SATURATION + 1.0) / (SATURATION + frequency)
    };
    let in_body = counts.body.iter().map(move |(term, count)| {
        let body = Field::Body as usize;
        let frequency = FIELDS[body].weight * f64::from(*count) / lengths[body];
        (*term as usize, weight(*term, frequency), Field::Body.bit())
    });
    let described = counts.described.iter().map(move |(term, occurrences)| {
        let (mut frequency, mut fields) = (0.0, 0);
        for (field, count) in occurrences
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
        {
            frequency += FIELDS[field].weight * f64::from(*count) / lengths[field];
            fields |= 1 << field;
        }
        (*term as usize, weight(*term, frequency), fields)
    });
    in_body.chain(described)
}

/// The terms with the greatest weights in a document: term, weight, fields. In any order.
fn heaviest(
    counts: &Counts,
    averages: &[f64; FIELDS.len()],
    terms: &[Term],
) -> Vec<(usize, f64, u8)> {
    let mut weights: Vec<(usize, f64, u8)> = weights(counts, averages, terms).collect();
    if weights.len() > MAX_POSTINGS {
        let text = |term: usize| &terms[term].text;
        weights.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then_with(|| text(a.0).cmp(text(b.0))));
        weights.truncate(MAX_POSTINGS);
    }
    weights
}

/// An impact from 1 to 255: a term that occurs has an impact of at least 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to the range of the type"
)]
pub(super) fn rounded(impact: f64) -> u8 {
    impact.round().clamp(1.0, 255.0) as u8
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_does_not_depend_on_the_chunks() {
        let documents: Vec<Document<'_>> = (0..50_usize)
            .map(|at| Document {
                name: format!("deploy-{}", at % 7).into(),
                keywords: vec![format!("word{}", at * 3 % 11)].into(),
                description: format!("Fills form{} and word{at}. Not for files", at % 5).into(),
                body: format!("common word{} only{at} text{}", at % 13, at * 5 % 17).into(),
                ..Document::default()
            })
            .collect();
        let weighed = |size: usize| {
            let weighed = Counted::join(
                documents
                    .chunks(size)
                    .map(|it| count(it, &names(&documents)))
                    .collect(),
            )
            .weigh();
            let term = |it: Term| (it.text, it.information.to_bits(), it.postings, it.names);
            let terms: Vec<_> = weighed.terms.into_iter().map(term).collect();
            (terms, weighed.pairs, weighed.cooccurrence)
        };
        let whole = weighed(documents.len());
        for size in [1, 7, 49] {
            assert_eq!(weighed(size), whole, "chunks of {size}");
        }
    }
}
