//! Makes the bytes of a [`super::CalibratedTable`]. Same keywords, same bytes.

use std::collections::BTreeMap;

use super::super::build::slots;
use super::{MAGIC, terms};
use crate::error::Error;
use crate::flat::TableWriter;
use crate::text::terms::Cutter;

/// The terms of a keyword, and where it is declared: skill, position in its list.
type Declared = BTreeMap<Vec<String>, Vec<(u32, u32)>>;

/// A keyword: the term that it is found by, its others, where it is declared.
type Found<'a> = (u32, Vec<u32>, &'a [(u32, u32)]);

/// Builds the table of each skill's declared keywords, in the order of skills.
pub(crate) fn build(keywords_per_skill: &[Vec<String>]) -> Result<Vec<u8>, Error> {
    let declared = declared(keywords_per_skill);
    let holders = holders(&declared);
    let texts: Vec<&str> = holders.keys().copied().collect();
    let keywords = found(&declared, &holders);
    let slots = slots(texts.iter().copied());
    let sum = |lengths: &mut dyn Iterator<Item = usize>| lengths.sum::<usize>();

    let mut table = TableWriter::new(MAGIC, "keyword table");
    let counts = [
        keywords_per_skill.len(),
        texts.len(),
        slots.len(),
        keywords.len(),
        sum(&mut keywords.iter().map(|(_, others, _)| others.len())),
        sum(&mut keywords.iter().map(|(.., places)| places.len())),
        sum(&mut texts.iter().map(|text| text.len())),
    ];
    counts.into_iter().try_for_each(|count| table.put(count))?;
    keywords_per_skill
        .iter()
        .try_for_each(|list| table.put(list.len()))?;
    table.put_ends(keywords.iter().map(|(.., places)| places.len()))?;
    table.put_ends(texts.iter().map(|text| text.len()))?;
    table.put_ends(runs(&keywords, texts.len()))?;
    table.put_all(slots);
    table.put_ends(keywords.iter().map(|(_, others, _)| others.len()))?;
    table.put_all(keywords.iter().flat_map(|(_, others, _)| others).copied());
    let places = keywords.iter().flat_map(|(.., places)| *places);
    table.put_all(places.flat_map(|&place| <[u32; 2]>::from(place)));
    for text in texts {
        table.put_bytes(text.as_bytes());
    }
    table.finish()
}

/// The distinct sets of terms. A keyword without terms is in none of them.
fn declared(keywords_per_skill: &[Vec<String>]) -> Declared {
    let mut cutter = Cutter::default();
    let mut declared = Declared::new();
    for (skill, keywords) in (0..).zip(keywords_per_skill) {
        for (position, keyword) in (0..).zip(keywords) {
            let terms = terms(&mut cutter, keyword);
            if !terms.is_empty() {
                let places = declared.entry(terms).or_default();
                places.push((skill, position));
            }
        }
    }
    declared
}

/// Every term in byte order: its number, and how many keywords hold it.
fn holders(declared: &Declared) -> BTreeMap<&str, (u32, usize)> {
    let mut holders: BTreeMap<&str, (u32, usize)> = BTreeMap::new();
    for term in declared.keys().flatten() {
        holders.entry(term).or_default().1 += 1;
    }
    for (number, (place, _)) in (0..).zip(holders.values_mut()) {
        *place = number;
    }
    holders
}

/// The keywords in the order of the terms that they are found by.
fn found<'a>(declared: &'a Declared, holders: &BTreeMap<&str, (u32, usize)>) -> Vec<Found<'a>> {
    let find = |(terms, places): (&Vec<String>, &'a Vec<(u32, u32)>)| {
        let held = terms.iter().map(|term| holders[term.as_str()]);
        let (rarest, _) = held
            .clone()
            .min_by_key(|(number, count)| (*count, *number))?;
        let others = held.map(|(number, _)| number).filter(|it| *it != rarest);
        Some((rarest, others.collect(), places.as_slice()))
    };
    let mut keywords: Vec<Found<'a>> = declared.iter().filter_map(find).collect();
    keywords.sort_unstable();
    keywords
}

/// How many keywords each of so many terms finds.
fn runs(keywords: &[Found<'_>], terms: usize) -> Vec<usize> {
    let mut runs = vec![0; terms];
    for (term, ..) in keywords {
        runs[*term as usize] += 1;
    }
    runs
}
