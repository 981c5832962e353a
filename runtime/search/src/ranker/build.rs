//! Encodes a [`super::RankTable`]: weights rounded to integers, in posting lists.

use super::dictionary::DictionaryBuilder;
use super::parameters::{Field, PAIR};
use super::postings::{write_impacts, write_postings, write_sized};
use super::weigh::{Document, Posting, Term, Weighed, rounded, weigh};
use super::{COLUMNS, MAX_DOCUMENTS, SHARES, TREE, count, fixed, hash, pair_key, rarity};
use crate::error::Error;
use crate::table::{numbers, write_varint};

/// Builds the table of the documents. The number of a document is its index.
pub fn build(documents: &[Document<'_>]) -> Result<[Vec<u8>; COLUMNS], Error> {
    let all = documents.len();
    if all > MAX_DOCUMENTS {
        return Err(Error::TooLarge(format!(
            "{all} skills are more than the {MAX_DOCUMENTS} that can be ranked; split them into several bundles"
        )));
    }
    let weighed = weigh(documents);
    let [term_keys, term_ends, term_entries] = terms(&weighed, all).finish()?;
    let [pair_keys, pair_ends, pair_entries] = pairs(&weighed, all).finish()?;
    Ok([
        numbers([fixed(weighed.greatest)]),
        numbers(orders(documents)),
        weighed.cooccurrence.into_flattened(),
        term_keys,
        term_ends,
        term_entries,
        pair_keys,
        pair_ends,
        pair_entries,
    ])
}

/// The entries of terms, in the format that [`super::Term::read`] reads.
fn terms(weighed: &Weighed, documents: usize) -> DictionaryBuilder {
    let mut dictionary = DictionaryBuilder::default();
    let impact = |it: &Posting| (it.document, it.impact);
    for term in &weighed.terms {
        let impacts = term.postings.iter().map(impact);
        let names = term.names.iter().map(|(it, share)| (*it, share_of(*share)));
        dictionary.push(hash(&term.text), |out| {
            write_varint(fixed(term.information), out);
            write_varint(fixed(rarity(&term.text)), out);
            write_sized(out, |out| write_impacts(impacts, documents, out));
            write_sized(out, |out| write_postings(names, out));
            write_postings(described(term), out);
        });
    }
    dictionary
}

/// The documents that contain a term outside the body, with masks of their fields.
fn described(term: &Term) -> impl Iterator<Item = (u32, u8)> {
    let fields = term.postings.iter().map(|it| (it.document, it.fields));
    fields.filter(|(_, fields)| *fields != Field::Body.bit())
}

/// The documents of each pair of neighbours. A pair has the same impact in each of them.
fn pairs(weighed: &Weighed, documents: usize) -> DictionaryBuilder {
    let mut dictionary = DictionaryBuilder::default();
    for holding in weighed.pairs.chunk_by(|(a, _), (b, _)| a == b) {
        let weight = pair_weight(documents, holding.len());
        let impact = rounded(weight / weighed.greatest * 255.0);
        let postings = holding.iter().map(|(_, document)| (*document, impact));
        dictionary.push(pair_key(holding[0].0), |out| {
            write_impacts(postings, documents, out);
        });
    }
    dictionary
}

/// The weight of a pair of neighbours that occurs in `holding` documents.
fn pair_weight(documents: usize, holding: usize) -> f64 {
    let (all, holding) = (count(documents), count(holding));
    PAIR * libm::log(1.0 + (all - holding + 0.5) / (holding + 0.5))
}

/// Per document: its position in path order, and its dialect.
fn orders(documents: &[Document<'_>]) -> Vec<u32> {
    let mut by_path: Vec<(&str, usize)> = documents
        .iter()
        .enumerate()
        .map(|(number, document)| (&*document.path, number))
        .collect();
    by_path.sort_unstable();
    let mut orders = vec![0; documents.len()];
    for (order, (_, number)) in (0_u32..).zip(by_path) {
        orders[number] = order | if documents[number].is_tree { TREE } else { 0 };
    }
    orders
}

/// A share in units of 1/[`SHARES`], rounded down so that the shares of one name never add up to
/// more than [`SHARES`].
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share lies between 0 and 1"
)]
fn share_of(share: f64) -> u8 {
    (share * f64::from(SHARES)) as u8
}
