//! Counts the terms of skills and weighs them: the first half of making a
//! [`super::RankTable`], and all of its floating point. Same documents, same
//! numbers, on every machine: logarithms come from a library, not from the
//! system, sums run in a fixed order, and what leaves is rounded to integers.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::information;
use super::near::Pairs;
use super::parameters::{BODY_SHARE, FIELDS, Field, MAX_POSTINGS, SATURATION};
use crate::text::clauses::{clauses, is_negative, quoted};
use crate::text::terms::{Cut, Cutter};

/// What the ranker reads of one skill.
#[derive(Debug, Clone, Default)]
pub(crate) struct Document {
    /// Its identity, which orders equals.
    pub(crate) path: String,
    /// Its name.
    pub(crate) name: String,
    /// Declared keywords, tags and triggers.
    pub(crate) keywords: Vec<String>,
    /// The description, and what else says when the skill is of use.
    pub(crate) description: String,
    /// The text after the frontmatter.
    pub(crate) body: String,
    /// Whether it is of the tree dialect, which has a ranker of its own.
    pub(crate) is_tree: bool,
}

/// Everything that the table holds, in its order.
pub(super) struct Weighed {
    /// The greatest weight there is, which an impact of 255 stands for.
    pub(super) greatest: f64,
    /// By the bytes of their text.
    pub(super) terms: Vec<Term>,
    /// Documents by their neighbouring terms (places in `terms`).
    pub(super) pairs: BTreeMap<(u32, u32), Vec<u32>>,
    /// Terms near each other, by the numbers that [`Self::places`] tells of.
    pub(super) near: Pairs,
    /// Per number: the place in `terms`.
    pub(super) places: Vec<u32>,
}

/// A term, and where it stands. Lists ascend by document.
#[derive(Default)]
pub(super) struct Term {
    pub(super) text: String,
    /// How much a request tells by it, in natural units.
    pub(super) information: f64,
    pub(super) postings: Vec<Posting>,
    /// Documents whose names hold it, and its share of the name's information.
    pub(super) names: Vec<(u32, f64)>,
}

/// A term in a document.
pub(super) struct Posting {
    pub(super) document: u32,
    /// 1 to 255.
    pub(super) impact: u8,
    /// Bits of [`Field`].
    pub(super) fields: u8,
}

/// Counts and weighs.
pub(super) fn weigh(documents: &[Document]) -> Weighed {
    let mut counted = Counted::default();
    let mut cutter = Cutter::default();
    for document in documents {
        counted.read(document, &mut cutter);
    }
    counted.weigh()
}

/// What documents hold. Terms are numbered as they are first seen.
#[derive(Default)]
struct Counted {
    terms: HashMap<String, u32>,
    documents: Vec<Counts>,
    /// Of all documents, since nothing asks which.
    near: Pairs,
}

/// One document.
#[derive(Default)]
struct Counts {
    /// Per term: its occurrences by field.
    terms: BTreeMap<u32, [u32; FIELDS.len()]>,
    lengths: [u32; FIELDS.len()],
    name: BTreeSet<u32>,
    pairs: BTreeSet<(u32, u32)>,
}

impl Counted {
    fn read(&mut self, document: &Document, cutter: &mut Cutter) {
        let mut counts = Counts::default();
        let mut field = |field, text: &str| self.field(field, text, cutter, &mut counts);
        field(Field::Name, &document.name);
        for keyword in &document.keywords {
            field(Field::Keywords, keyword);
        }
        for clause in clauses(&document.description) {
            let negative = is_negative(clause);
            field(
                if negative {
                    Field::Negative
                } else {
                    Field::Description
                },
                clause,
            );
        }
        for phrase in quoted(&document.description) {
            field(Field::Quoted, phrase);
        }
        self.near.begin();
        self.field(Field::Body, &document.body, cutter, &mut counts);
        self.near.begin();
        let texts = [&document.name, &document.description];
        for text in texts.into_iter().chain(&document.keywords) {
            self.neighbours(text, cutter, &mut counts);
        }
        self.documents.push(counts);
    }

    /// Terms that follow one another in a clause. Dashes do not part them, as
    /// they do what a skill is for from what it is not for. What stands near is
    /// read here too.
    fn neighbours(&mut self, text: &str, cutter: &mut Cutter, counts: &mut Counts) {
        let mut before = None;
        cutter.cut(text, |cut| {
            let term = match cut {
                Cut::Term(term) => Some(self.number(term)),
                Cut::Break => None,
            };
            if let Some(term) = term {
                self.near.push(term);
            }
            counts.pairs.extend(before.zip(term));
            before = term;
        });
    }

    fn field(&mut self, field: Field, text: &str, cutter: &mut Cutter, counts: &mut Counts) {
        cutter.cut(text, |cut| {
            let Cut::Term(term) = cut else { return };
            let term = self.number(term);
            counts.terms.entry(term).or_default()[field as usize] += 1;
            counts.lengths[field as usize] += 1;
            match field {
                Field::Name => _ = counts.name.insert(term),
                Field::Body => self.near.push(term),
                _ => {}
            }
        });
    }

    fn number(&mut self, term: &str) -> u32 {
        if let Some(number) = self.terms.get(term) {
            return *number;
        }
        let number =
            u32::try_from(self.terms.len()).expect("a bundle holds fewer than 2³² bytes of terms");
        self.terms.insert(term.to_owned(), number);
        number
    }

    fn weigh(self) -> Weighed {
        let (mut terms, places) = self.sorted();
        let averages = self.average_lengths();
        let weights: Vec<Vec<(u32, f64, u8)>> = self
            .documents
            .iter()
            .map(|counts| heaviest(counts, &averages, &places, &terms))
            .collect();
        let greatest = weights
            .iter()
            .flatten()
            .map(|weight| weight.1)
            .fold(0.0, f64::max);
        for (document, weights) in (0..).zip(&weights) {
            for (term, weight, fields) in weights {
                terms[*term as usize].postings.push(Posting {
                    document,
                    impact: rounded(weight / greatest * 255.0),
                    fields: *fields,
                });
            }
        }
        let mut pairs: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        for (document, counts) in (0..).zip(&self.documents) {
            let place = |term: &u32| places[*term as usize];
            let all: f64 = in_order(counts.name.iter().map(place))
                .map(|term| terms[term].information)
                .sum();
            for term in in_order(counts.name.iter().map(place)) {
                let term = &mut terms[term];
                term.names.push((document, term.information / all));
            }
            for (first, second) in &counts.pairs {
                pairs
                    .entry((place(first), place(second)))
                    .or_default()
                    .push(document);
            }
        }
        Weighed {
            greatest,
            terms,
            pairs,
            near: self.near,
            places,
        }
    }

    /// The terms by their bytes, and the place of each number among them.
    fn sorted(&self) -> (Vec<Term>, Vec<u32>) {
        let (mut meta, mut any) = (vec![0_u32; self.terms.len()], vec![0_u32; self.terms.len()]);
        for counts in &self.documents {
            for (term, fields) in &counts.terms {
                let described = fields[..Field::Body as usize]
                    .iter()
                    .any(|count| *count > 0);
                meta[*term as usize] += u32::from(described);
                any[*term as usize] += 1;
            }
        }
        let mut sorted: Vec<(&String, &u32)> = self.terms.iter().collect();
        sorted.sort_unstable();
        let mut places = vec![0; sorted.len()];
        let mut terms = Vec::with_capacity(sorted.len());
        for (place, (text, number)) in (0..).zip(sorted) {
            let number = *number as usize;
            places[number] = place;
            let (meta, any) = (f64::from(meta[number]), f64::from(any[number]));
            terms.push(Term {
                text: text.clone(),
                information: information(
                    text,
                    meta + BODY_SHARE * (any - meta),
                    self.documents.len(),
                ),
                ..Term::default()
            });
        }
        (terms, places)
    }

    fn average_lengths(&self) -> [f64; FIELDS.len()] {
        std::array::from_fn(|field| {
            let total: u64 = self
                .documents
                .iter()
                .map(|counts| u64::from(counts.lengths[field]))
                .sum();
            to_f64(total) / to_f64(self.documents.len().max(1) as u64)
        })
    }
}

/// The terms of greatest weight in a document: place, weight, fields.
fn heaviest(
    counts: &Counts,
    averages: &[f64; FIELDS.len()],
    places: &[u32],
    terms: &[Term],
) -> Vec<(u32, f64, u8)> {
    let lengths: [f64; FIELDS.len()] = std::array::from_fn(|field| {
        let ratio = f64::from(counts.lengths[field]) / averages[field];
        1.0 - FIELDS[field].length + FIELDS[field].length * ratio
    });
    let mut weights: Vec<(u32, f64, u8)> = counts
        .terms
        .iter()
        .map(|(term, occurrences)| {
            let (mut frequency, mut fields) = (0.0, 0);
            for field in Field::ALL {
                let count = occurrences[field as usize];
                if count > 0 {
                    frequency +=
                        FIELDS[field as usize].weight * f64::from(count) / lengths[field as usize];
                    fields |= field.bit();
                }
            }
            let place = places[*term as usize];
            let weight = terms[place as usize].information * frequency * (SATURATION + 1.0)
                / (SATURATION + frequency);
            (place, weight, fields)
        })
        .collect();
    weights.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    weights.truncate(MAX_POSTINGS);
    weights
}

/// Sums of floats depend on their order; numbers of first sight do too.
fn in_order(places: impl Iterator<Item = u32>) -> impl Iterator<Item = usize> {
    let mut places: Vec<u32> = places.collect();
    places.sort_unstable();
    places.into_iter().map(|place| place as usize)
}

/// To an impact; what counts at all counts one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to the range of the type"
)]
pub(super) fn rounded(impact: f64) -> u8 {
    impact.round().clamp(1.0, 255.0) as u8
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2⁵³")]
fn to_f64(count: u64) -> f64 {
    count as f64
}
