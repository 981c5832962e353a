//! Makes the bytes of a [`super::RankTable`] from what was weighed.

use std::collections::BTreeMap;

use super::lanes::{CHUNK, GROUP, WIDTH};
use super::lists::{self, Unit};
use super::parameters::{Field, LEAST_INFORMATION, PAIR};
use super::record::{Impacts, Record, RecordBytes};
use super::weigh::{Document, Term, rounded, weigh};
use super::{
    MAGIC, MAX_DOCUMENTS, ROW_SHARE, SHARES, TREE, bucket, count, filter, fixed, hash, rarity,
};
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
    let pairs = pairs_by_place(&weighed.pairs, &places);
    let (records, lists) = records(&terms, &pairs, documents.len())?;
    let (pair_places, pair_lists) = pair_lists(&pairs, documents.len(), weighed.greatest)?;
    let filter = filter::build(pairs.iter().map(|(pair, _)| *pair));
    let number = |term: u32| places[weighed.places[term as usize] as usize];
    let near = weighed.near.finish(number);
    let rows: Vec<Vec<u8>> = terms
        .iter()
        .filter(|term| has_row(term, documents.len()))
        .map(|term| row(term, documents.len()))
        .collect();
    let mut table = TableWriter::new(MAGIC, "rank table");
    let counts = [
        documents.len(),
        terms.len(),
        lists.len(),
        filter.len(),
        pairs.len(),
        pair_lists.len(),
        rows.len(),
        near.len(),
    ];
    counts.into_iter().try_for_each(|count| table.put(count))?;
    table.put_all([fixed(weighed.greatest), fixed(LEAST_INFORMATION)]);
    let records: Vec<RecordBytes> = records.into_iter().map(Record::to_bytes).collect();
    table.put_arrays(&records);
    let crests: Vec<Vec<u8>> = rows.iter().map(|row| crests(row)).collect();
    table.put_arrays(rows.concat().as_chunks::<CHUNK>().0);
    table.put_arrays(crests.concat().as_chunks::<CHUNK>().0);
    table.put_all(orders(documents));
    table.put_ends(terms_by_bucket(&terms))?;
    table.put_arrays(&lists);
    table.put_all(filter);
    table.put_all(pairs.iter().map(|((_, second), _)| *second));
    table.put_all(pair_places);
    table.put_arrays(&pair_lists);
    table.put_arrays(&near);
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

fn pairs_by_place<'a>(weighed: &'a BTreeMap<(u32, u32), Vec<u32>>, places: &[u32]) -> Pairs<'a> {
    let place = |term: u32| places[term as usize];
    let mut pairs: Pairs<'_> = weighed
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

/// The records, and the lists that they tell of.
fn records(
    terms: &[&Term],
    pairs: &Pairs<'_>,
    documents: usize,
) -> Result<(Vec<Record>, Vec<Unit>), Error> {
    let mut counts = vec![0_usize; terms.len()];
    for ((first, _), _) in pairs {
        counts[*first as usize] += 1;
    }
    let (mut row, mut first_pair, mut units) = (0, 0, Vec::new());
    let mut records = Vec::with_capacity(terms.len());
    for (term, pairs) in terms.iter().zip(counts) {
        let lists = narrow(units.len())?;
        let impacts = if has_row(term, documents) {
            row += 1;
            Impacts::Row(row - 1)
        } else {
            let impacts = term.postings.iter().map(|it| (it.document, it.impact));
            Impacts::List(lists::put(impacts, &mut units))
        };
        let shares = term.names.iter().map(|(it, share)| (*it, share_of(*share)));
        let names = lists::put(shares, &mut units);
        put_fields(term, &mut units);
        records.push(Record {
            hash: hash(&term.text),
            lists,
            impacts,
            names,
            first_pair: narrow(first_pair)?,
            pairs: narrow(pairs)?,
            information: narrow(fixed(term.information))?,
            rarity: narrow(fixed(rarity(&term.text)))?,
        });
        first_pair += pairs;
    }
    Ok((records, units))
}

/// Appends the list of the documents that hold a term outside the body, behind
/// its shape.
fn put_fields(term: &Term, units: &mut Vec<Unit>) {
    let fields = term.postings.iter().map(|it| (it.document, it.fields));
    let described = fields.filter(|(_, fields)| *fields != Field::Body.bit());
    let at = units.len();
    units.extend([Unit::default(); 2]);
    let shape = lists::put(described, units).to_number().to_le_bytes();
    units[at..at + 2].copy_from_slice(shape.as_chunks().0);
}

/// Where the list of each pair begins and, last, ends; and the lists. What
/// neighbours are worth is the same in all documents.
fn pair_lists(
    pairs: &Pairs<'_>,
    documents: usize,
    greatest: f64,
) -> Result<(Vec<u32>, Vec<Unit>), Error> {
    let mut units = Vec::new();
    let mut places = Vec::with_capacity(pairs.len() + 1);
    for (_, holding) in pairs {
        let impact = rounded(pair_weight(documents, holding.len()) / greatest * 255.0);
        let start = units.len();
        let shape = lists::put(holding.iter().map(|it| (*it, impact)), &mut units);
        places.push(narrow(start * 2 + usize::from(shape.is_far()))?);
    }
    places.push(narrow(units.len() * 2)?);
    Ok((places, units))
}

/// What neighbours in `holding` of so many documents add to a score.
fn pair_weight(documents: usize, holding: usize) -> f64 {
    let (all, holding) = (count(documents), count(holding));
    PAIR * libm::log(1.0 + (all - holding + 0.5) / (holding + 0.5))
}

fn narrow<N, T: TryFrom<N>>(number: N) -> Result<T, Error> {
    T::try_from(number).map_err(|_| Error::Invalid("a list of the rank table is too long".into()))
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

/// A share of one, in [`SHARES`]ths: rounded down, so that those of one name
/// never add up to more than all.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share lies between 0 and 1"
)]
fn share_of(share: f64) -> u8 {
    (share * f64::from(SHARES)) as u8
}
