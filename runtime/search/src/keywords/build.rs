//! Builds a [`super::KeywordIndex`]. The result is deterministic: the same keywords give the same
//! bytes.

use std::collections::BTreeMap;

use super::{COLUMNS, INDEXED_MAX, NONE, SHORT, head, is_short, slot};
use crate::error::Error;
use crate::table::{ends, fit, numbers};
use crate::text::lower;

/// A keyword and its declarations: pairs of skill and position in the skill's list.
type Declared = (String, Vec<(u32, u32)>);

/// Builds the index from the declared keywords of each skill, in the order of skills. Keywords are
/// lower-cased and otherwise unchanged, including their spaces.
pub fn build(keywords_per_skill: &[Vec<String>]) -> Result<[Vec<u8>; COLUMNS], Error> {
    let (keywords, indexed) = distinct(keywords_per_skill);
    let indexed: Vec<&str> = keywords[..indexed]
        .iter()
        .map(|(keyword, _)| keyword.as_str())
        .collect();
    let groups: Vec<&[&str]> = indexed.chunk_by(|a, b| head(a) == head(b)).collect();
    let slots = slots(groups.iter().map(|group| head(group[0])));
    let suffixes = suffixes(&indexed);
    let postings = || keywords.iter().flat_map(|(_, postings)| postings);
    let totals: Vec<u32> = keywords_per_skill
        .iter()
        .map(|list| fit(list.len()))
        .collect::<Result<_, _>>()?;
    fit(suffixes.len() * 2)?;
    Ok([
        numbers(totals),
        ends(keywords.iter().map(|(_, postings)| postings.len()))?,
        numbers(postings().flat_map(|&pair| <[u32; 2]>::from(pair))),
        ends(keywords.iter().map(|(keyword, _)| keyword.len()))?,
        numbers(parents(&indexed)),
        ends(groups.iter().map(|group| group.len()))?,
        numbers(slots),
        numbers(suffixes.into_iter().flat_map(<[u32; 2]>::from)),
        keywords
            .iter()
            .flat_map(|(keyword, _)| keyword.bytes())
            .collect(),
    ])
}

/// The distinct keywords, indexed ones first, and the number of indexed ones.
fn distinct(keywords_per_skill: &[Vec<String>]) -> (Vec<Declared>, usize) {
    let mut declared: BTreeMap<String, Vec<(u32, u32)>> = BTreeMap::new();
    for (skill, keywords) in (0..).zip(keywords_per_skill) {
        for (position, keyword) in (0..).zip(keywords) {
            declared
                .entry(lower(keyword))
                .or_default()
                .push((skill, position));
        }
    }
    let (mut keywords, long): (Vec<Declared>, Vec<Declared>) = declared
        .into_iter()
        .partition(|(keyword, _)| keyword.len() <= INDEXED_MAX);
    let indexed = keywords.len();
    keywords.extend(long);
    (keywords, indexed)
}

/// For each keyword: the longest other keyword that is a prefix of it, ignoring short ones. In byte
/// order, the candidates form a stack.
fn parents(keywords: &[&str]) -> Vec<u32> {
    let mut open: Vec<(u32, &str)> = Vec::new();
    let mut parents = Vec::with_capacity(keywords.len());
    for (id, &keyword) in (0..).zip(keywords) {
        while open
            .last()
            .is_some_and(|(_, parent)| !keyword.starts_with(parent))
        {
            open.pop();
        }
        parents.push(open.last().map_or(NONE, |(parent, _)| *parent));
        if !is_short(keyword) {
            open.push((id, keyword));
        }
    }
    parents
}

/// An open-addressing hash table of the keys' numbers with linear probing. At most half of the
/// slots are used.
pub(super) fn slots<'k>(keys: impl ExactSizeIterator<Item = &'k str>) -> Vec<u32> {
    let len = (2 * keys.len()).next_power_of_two();
    let mut slots = vec![NONE; len];
    for (number, key) in (0..).zip(keys) {
        let mut at = slot(key.as_bytes(), len - 1);
        while slots[at] != NONE {
            at = (at + 1) % len;
        }
        slots[at] = number;
    }
    slots
}

/// The suffix array: keyword and byte offset of every suffix that is not short, in byte order.
fn suffixes(keywords: &[&str]) -> Vec<(u32, u32)> {
    let mut suffixes = Vec::new();
    for (id, keyword) in (0..).zip(keywords) {
        // The starts of all suffixes of at least `SHORT` characters, last one first.
        let starts = keyword.char_indices().rev().skip(SHORT - 1);
        for (start, _) in starts {
            let offset = u32::try_from(start).expect("indexed keywords are short");
            suffixes.push((beginning(&keyword[start..]), &keyword[start..], id, offset));
        }
    }
    suffixes.sort_unstable();
    let places = suffixes.into_iter().map(|(_, _, id, offset)| (id, offset));
    places.collect()
}

/// The first eight bytes as a big-endian number, which sorts like the bytes. It settles most
/// comparisons without reading the text.
fn beginning(suffix: &str) -> u64 {
    let mut bytes = [0; 8];
    for (byte, kept) in suffix.bytes().zip(&mut bytes) {
        *kept = byte;
    }
    u64::from_be_bytes(bytes)
}
