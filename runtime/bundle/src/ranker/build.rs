//! Makes the bytes of a [`super::RankTable`] from what was weighed.

use super::lanes::{CHUNK, GROUP, WIDTH};
use super::parameters::{Field, LEAST_INFORMATION, MAX_POSTINGS};
use super::record::Record;
use super::weigh::{Document, Posting, Term, Weighed, weigh};
use super::{MAGIC, MAX_DOCUMENTS, ROW_SHARE, SHARES, TREE, bucket, filter, fixed, hash};
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
    let places = places_by_hash(&weighed.terms);
    let terms = by_place(&weighed.terms, &places);
    let pairs = pairs_by_place(&weighed, &places);
    let lists: Vec<Vec<&Posting>> = terms
        .iter()
        .map(|term| listed(term, documents.len()))
        .collect();
    let rows = || terms.iter().filter(|term| has_row(term, documents.len()));
    let filter = filter::build(pairs.iter().map(|(pair, _)| *pair));
    let mut table = TableWriter::new(MAGIC, "rank table");
    let counts = [
        documents.len(),
        terms.len(),
        lists.iter().map(Vec::len).sum::<usize>()
            + terms.iter().map(|term| term.names.len()).sum::<usize>(),
        filter.len(),
        pairs.len(),
        pairs.iter().map(|(_, documents)| documents.len()).sum(),
        rows().count(),
    ];
    counts.into_iter().try_for_each(|count| table.put(count))?;
    table.put_all([fixed(weighed.greatest), fixed(LEAST_INFORMATION)]);
    table.put_all(orders(documents));
    table.put_ends(terms_by_bucket(&terms))?;
    for record in records(&terms, &lists, &pairs, documents.len())? {
        table.put_bytes(&record.to_bytes());
    }
    let mut fields = Vec::new();
    for (term, list) in terms.iter().zip(&lists) {
        let packed = |posting: &&Posting| posting.document << 8 | u32::from(posting.impact);
        table.put_all(list.iter().map(packed));
        let packed = |(document, share): &(u32, f64)| document << 8 | share_of(*share);
        table.put_all(term.names.iter().map(packed));
        fields.extend(list.iter().map(|posting| posting.fields));
        fields.resize(fields.len() + term.names.len(), 0);
    }
    table.put_all(filter);
    table.put_all(pairs.iter().map(|((_, second), _)| *second));
    table.put_ends(pairs.iter().map(|(_, documents)| documents.len()))?;
    table.put_all(pairs.iter().flat_map(|(_, documents)| *documents).copied());
    for term in rows() {
        table.put_bytes(&row(term, documents.len()));
    }
    for term in rows() {
        table.put_bytes(&crests(&row(term, documents.len())));
    }
    table.put_bytes(&fields);
    table.finish()
}

/// The impacts of a term, by document.
fn row(term: &Term, documents: usize) -> Vec<u8> {
    let mut row = vec![0; documents.next_multiple_of(CHUNK)];
    for posting in &term.postings {
        row[posting.document as usize] = posting.impact;
    }
    row
}

/// What a row does not exceed: of each chunk, in every eighth document.
fn crests(row: &[u8]) -> Vec<u8> {
    let mut crests = vec![0; (row.len() / GROUP).next_multiple_of(CHUNK)];
    for (at, impact) in row.iter().enumerate() {
        let crest = &mut crests[at / CHUNK * WIDTH + at % WIDTH];
        *crest = (*crest).max(*impact);
    }
    crests
}

/// The place of each term when they are ordered by hash.
fn places_by_hash(terms: &[Term]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..terms.len()).collect();
    order.sort_by_cached_key(|at| hash(&terms[*at].text));
    let mut places = vec![0; terms.len()];
    for (place, at) in (0..).zip(order) {
        places[at] = place;
    }
    places
}

fn by_place<'a>(terms: &'a [Term], places: &[u32]) -> Vec<&'a Term> {
    let mut numbered: Vec<(u32, &Term)> = places.iter().copied().zip(terms).collect();
    numbered.sort_unstable_by_key(|(place, _)| *place);
    numbered.into_iter().map(|(_, term)| term).collect()
}

/// Pairs of places and their documents, ascending.
type Pairs<'a> = Vec<((u32, u32), &'a [u32])>;

fn pairs_by_place<'a>(weighed: &'a Weighed, places: &[u32]) -> Pairs<'a> {
    let place = |term: u32| places[term as usize];
    let mut pairs: Pairs<'_> = weighed
        .pairs
        .iter()
        .map(|((first, second), documents)| ((place(*first), place(*second)), &documents[..]))
        .collect();
    pairs.sort_unstable_by_key(|(pair, _)| *pair);
    pairs
}

/// How many terms there are in each bucket: on average one.
fn terms_by_bucket(terms: &[&Term]) -> Vec<usize> {
    let mut counts = vec![0; terms.len()];
    for term in terms {
        counts[bucket(hash(&term.text), terms.len())] += 1;
    }
    counts
}

fn has_row(term: &Term, documents: usize) -> bool {
    term.postings.len() * ROW_SHARE > documents
}

fn records(
    terms: &[&Term],
    lists: &[Vec<&Posting>],
    pairs: &Pairs<'_>,
    documents: usize,
) -> Result<Vec<Record>, Error> {
    // A record has 16 bits for the number of a row, which a term has for every so many postings.
    const { assert!(MAX_POSTINGS * ROW_SHARE < u16::MAX as usize) };
    let mut counts = vec![0_usize; terms.len()];
    for ((first, _), _) in pairs {
        counts[*first as usize] += 1;
    }
    let (mut row, mut start, mut first_pair) = (0, 0, 0);
    let mut records = Vec::with_capacity(terms.len());
    for ((term, list), pairs) in terms.iter().zip(lists).zip(counts) {
        let has_row = has_row(term, documents);
        records.push(Record {
            hash: hash(&term.text),
            lists: narrow(start)?,
            postings: narrow(list.len())?,
            names: narrow(term.names.len())?,
            first_pair: narrow(first_pair)?,
            pairs: narrow(pairs)?,
            information: narrow(fixed(term.information))?,
            row: has_row.then_some(row),
        });
        row += u32::from(has_row);
        start += list.len() + term.names.len();
        first_pair += pairs;
    }
    Ok(records)
}

fn narrow<N, T: TryFrom<N>>(number: N) -> Result<T, Error> {
    T::try_from(number).map_err(|_| Error::Invalid("a list of the rank table is too long".into()))
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
