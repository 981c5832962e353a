//! Builds a [`super::TextIndex`]. The result is deterministic: the same documents give the same
//! bytes.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::postings::compact;
use super::{COLUMNS, SEPARATOR};
use crate::error::Error;
use crate::table::{ends, fit, write_varint};
use crate::text::lower_into;

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

type Dictionary = HashMap<Box<str>, Occurrences, Hashing>;

type Hashing = BuildHasherDefault<WordHasher>;

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
    for (word, found) in dictionary {
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
    let mut dictionary = Dictionary::default();
    let mut lowered = String::new();
    for (id, document) in (0..).zip(documents) {
        for part in document.parts() {
            lowered.clear();
            lower_into(part, &mut lowered);
            for word in lowered.split_ascii_whitespace() {
                note(&mut dictionary, word, id);
            }
        }
    }
    dictionary
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
            word.into(),
            Occurrences {
                count: 1,
                last: id,
                gaps,
            },
        );
    }
}

/// xxh3, because looking up every word of every document takes most of the time. The order of the
/// map does not affect the result.
#[derive(Default)]
struct WordHasher(u64);

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
