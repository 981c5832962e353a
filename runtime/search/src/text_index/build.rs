//! Builds a [`super::TextIndex`]. The result is deterministic: the same documents give the same
//! bytes.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::postings::compact;
use super::{COLUMNS, SEPARATOR};
use crate::error::Error;
use crate::hashing::Hashing;
use crate::parallel::map_chunks;
use crate::table::{ends, fit, read_varint, write_varint};
use crate::text::lower_into;
use crate::word_map::WordMap;

/// The searchable text of one skill. No match spans two of its parts.
#[derive(Debug, Clone, Copy)]
pub struct DocText<'a> {
    /// The last segment of its path.
    pub install_name: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its whole description.
    pub description: &'a str,
    /// Its text after the frontmatter.
    pub body: &'a str,
}

impl<'a> DocText<'a> {
    fn parts(&self) -> [&'a str; 4] {
        [self.install_name, self.name, self.description, self.body]
    }
}

/// The documents that contain a word, collected while documents are read.
struct Occurrences {
    /// The number of documents.
    count: u32,
    last: u32,
    /// Their ids, delta encoded as in [`super::postings`].
    gaps: Vec<u8>,
}

type Dictionary = WordMap<Occurrences>;

/// Fewer documents are read faster than a thread starts.
const LEAST: usize = 32;

/// A group: the words that occur in exactly the same documents.
struct Group<'a> {
    count: u32,
    gaps: &'a [u8],
    words: Vec<&'a str>,
}

impl Group<'_> {
    fn text_len(&self) -> usize {
        self.words.iter().map(|word| word.len() + 1).sum()
    }
}

/// Builds the index of the documents; their numbers are their positions.
pub fn build(documents: &[DocText<'_>]) -> Result<[Vec<u8>; COLUMNS], Error> {
    let count = fit(documents.len())?;
    let dictionary = read(documents);
    let groups = grouped(&dictionary);
    let lists: Vec<Vec<u8>> = groups
        .iter()
        .map(|group| compact(group.gaps, count))
        .collect();
    let mut text = Vec::new();
    for word in groups.iter().flat_map(|group| &group.words) {
        text.extend_from_slice(word.as_bytes());
        text.push(SEPARATOR);
    }
    Ok([
        ends(groups.iter().map(Group::text_len))?,
        ends(lists.iter().map(Vec::len))?,
        text,
        lists.concat(),
    ])
}

/// The groups in descending order of document count, each with its words in byte order.
fn grouped(dictionary: &Dictionary) -> Vec<Group<'_>> {
    let mut words: HashMap<&[u8], Group<'_>, Hashing> = HashMap::default();
    for (word, found) in dictionary.iter() {
        let empty = Group {
            count: found.count,
            gaps: &found.gaps,
            words: Vec::new(),
        };
        words.entry(&found.gaps).or_insert(empty).words.push(word);
    }
    let mut groups: Vec<Group<'_>> = words.into_values().collect();
    groups.sort_unstable_by_key(|group| (Reverse(group.count), group.gaps));
    for group in &mut groups {
        group.words.sort_unstable();
    }
    groups
}

/// Every distinct word, with the documents that contain it.
fn read(documents: &[DocText<'_>]) -> Dictionary {
    let numbered: Vec<(u32, &DocText<'_>)> = (0..).zip(documents).collect();
    let mut chunks = map_chunks(&numbered, LEAST, read_chunk).into_iter();
    let mut dictionary = chunks.next().unwrap_or_default();
    for chunk in chunks {
        dictionary.absorb(chunk, |found, later| found.append(&later));
    }
    dictionary
}

fn read_chunk(documents: &[(u32, &DocText<'_>)]) -> Dictionary {
    let mut dictionary = Dictionary::default();
    let mut lowered = String::new();
    for (id, document) in documents {
        for part in document.parts() {
            lowered.clear();
            lower_into(part, &mut lowered);
            for word in lowered.split_ascii_whitespace() {
                note(&mut dictionary, word, *id);
            }
        }
    }
    dictionary
}

impl Occurrences {
    /// Adds the occurrences in later documents.
    fn append(&mut self, later: &Self) {
        let mut rest = later.gaps.as_slice();
        let first = read_varint(&mut rest).expect("a word occurs in a document");
        write_varint(first - self.last, &mut self.gaps);
        self.gaps.extend_from_slice(rest);
        self.count += later.count;
        self.last = later.last;
    }
}

fn note(dictionary: &mut Dictionary, word: &str, id: u32) {
    if let Some(found) = dictionary.get_mut(word) {
        if found.last != id {
            write_varint(id - found.last, &mut found.gaps);
            found.count += 1;
            found.last = id;
        }
    } else {
        let mut gaps = Vec::new();
        write_varint(id, &mut gaps);
        dictionary.insert(
            word,
            Occurrences {
                count: 1,
                last: id,
                gaps,
            },
        );
    }
}
