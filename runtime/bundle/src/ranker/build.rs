//! Makes the bytes of a [`super::RankTable`] from what was weighed.

use super::parameters::{Field, LEAST_INFORMATION};
use super::weigh::{Document, Posting, Term, Weighed, weigh};
use super::{MAGIC, MAX_DOCUMENTS, ROW_SHARE, SHARES, TREE, fixed, hash, record};
use crate::error::Error;
use crate::flat::TableWriter;

/// Builds the table of the documents, whose numbers are their places.
pub(crate) fn build(documents: &[Document]) -> Result<Vec<u8>, Error> {
    if documents.len() > MAX_DOCUMENTS {
        return Err(Error::Invalid(format!(
            "{} skills are more than the {MAX_DOCUMENTS} that can be ranked; split them into several bundles",
            documents.len()
        )));
    }
    let weighed = weigh(documents);
    let terms = &weighed.terms;
    let slots = slots(terms);
    let rows: Vec<&Term> = terms
        .iter()
        .filter(|term| has_row(term, documents.len()))
        .collect();
    let listed: Vec<Vec<&Posting>> = terms
        .iter()
        .map(|term| listed(term, documents.len()))
        .collect();
    let sum = |length: fn(&Term) -> usize| terms.iter().map(length).sum::<usize>();
    let mut table = TableWriter::new(MAGIC, "rank table");
    let counts = [
        documents.len(),
        terms.len(),
        slots.len(),
        rows.len(),
        listed.iter().map(Vec::len).sum(),
        sum(|term| term.names.len()),
        weighed.pairs.len(),
        weighed.pairs.values().map(Vec::len).sum(),
        sum(|term| term.text.len()),
    ];
    counts.into_iter().try_for_each(|count| table.put(count))?;
    table.put_all([fixed(weighed.greatest), fixed(LEAST_INFORMATION)]);
    table.put_all(orders(documents));
    table.put_all(slots);
    table.put_all(records(&weighed, &listed, documents.len())?);
    let packed = |posting: &&Posting| posting.document << 8 | u32::from(posting.impact);
    table.put_all(listed.iter().flatten().map(packed));
    table.put_all(terms.iter().flat_map(|term| {
        let packed = |(document, share): &(u32, f64)| document << 8 | share_of(*share);
        term.names.iter().map(packed)
    }));
    table.put_all(weighed.pairs.keys().map(|(_, second)| *second));
    table.put_ends(weighed.pairs.values().map(Vec::len))?;
    table.put_all(weighed.pairs.values().flatten().copied());
    let fields: Vec<u8> = listed
        .iter()
        .flatten()
        .map(|posting| posting.fields)
        .collect();
    table.put_bytes(&fields);
    for term in rows {
        let mut row = vec![0; documents.len()];
        for posting in &term.postings {
            row[posting.document as usize] = posting.impact;
        }
        table.put_bytes(&row);
    }
    for term in terms {
        table.put_bytes(term.text.as_bytes());
    }
    table.finish()
}

fn has_row(term: &Term, documents: usize) -> bool {
    term.postings.len() * ROW_SHARE > documents
}

/// One record per term, and one behind the last that only ends its lists.
fn records(
    weighed: &Weighed,
    listed: &[Vec<&Posting>],
    documents: usize,
) -> Result<Vec<u32>, Error> {
    let pairs = pairs_by_first(weighed);
    let mut records = Vec::with_capacity((weighed.terms.len() + 1) * record::LEN);
    let (mut rows, mut next) = (0, [0; record::LEN]);
    for ((term, listed), pairs) in weighed.terms.iter().zip(listed).zip(pairs) {
        let has_row = has_row(term, documents);
        rows += u32::from(has_row);
        let mut this = next;
        this[record::HASH] = hash(&term.text);
        this[record::INFORMATION] = fixed(term.information);
        this[record::ROW] = if has_row { rows } else { 0 };
        records.extend(this);
        next[record::TEXT] += narrow(term.text.len())?;
        next[record::POSTINGS] += narrow(listed.len())?;
        next[record::NAMES] += narrow(term.names.len())?;
        next[record::PAIRS] += narrow(pairs)?;
    }
    records.extend(next);
    Ok(records)
}

fn narrow(length: usize) -> Result<u32, Error> {
    u32::try_from(length).map_err(|_| Error::Invalid("a list of the rank table is too long".into()))
}

/// The postings that are written one by one.
fn listed(term: &Term, documents: usize) -> Vec<&Posting> {
    let everywhere = !has_row(term, documents);
    let described = |posting: &&Posting| posting.fields != Field::Body.bit();
    term.postings
        .iter()
        .filter(|posting| everywhere || described(posting))
        .collect()
}

/// Per document: its place by path, and its dialect.
fn orders(documents: &[Document]) -> Vec<u32> {
    let mut by_path: Vec<(&str, usize)> = documents
        .iter()
        .enumerate()
        .map(|(number, document)| (document.path.as_str(), number))
        .collect();
    by_path.sort_unstable();
    let mut orders = vec![0; documents.len()];
    for (order, (_, number)) in (0_u32..).zip(by_path) {
        orders[number] = order | if documents[number].is_tree { TREE } else { 0 };
    }
    orders
}

/// Open addressing over the terms: 0 is free, else place + 1. At most half full.
fn slots(terms: &[Term]) -> Vec<u32> {
    let mut slots = vec![0; (terms.len() * 2).next_power_of_two().max(2)];
    for (number, term) in (1..).zip(terms) {
        let mut at = hash(&term.text) as usize & (slots.len() - 1);
        while slots[at] != 0 {
            at = (at + 1) & (slots.len() - 1);
        }
        slots[at] = number;
    }
    slots
}

/// How many pairs begin with each term.
fn pairs_by_first(weighed: &Weighed) -> Vec<usize> {
    let mut counts = vec![0; weighed.terms.len()];
    for (first, _) in weighed.pairs.keys() {
        counts[*first as usize] += 1;
    }
    counts
}

/// A share of one, in [`SHARES`]ths. What has a share has at least one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share lies between 0 and 1"
)]
fn share_of(share: f64) -> u32 {
    (share * f64::from(SHARES))
        .round()
        .clamp(1.0, f64::from(SHARES)) as u32
}
