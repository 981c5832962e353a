//! Finds the documents that contain all words of a query (spec 4), with a dictionary of distinct
//! words built when compiling. The result is the same as searching the text of every document.
//! There is no ranking, and excerpts are made elsewhere.
//!
//! A query word contains no ASCII white space, so each occurrence in a text lies inside one word of
//! that text. It is therefore enough to search each distinct word once.

use memchr::memmem;

use crate::error::Error;
use crate::table::{Numbers, partition_point};
use crate::text::lower;

mod build;
mod postings;
#[cfg(test)]
mod tests;

pub use build::{DocText, build};
use postings::Documents;

/// The number of columns of a text index.
pub const COLUMNS: usize = 4;

const DAMAGED: Error = Error::Corrupt("the text index contradicts itself");

/// Ends each word of the dictionary, so that a match cannot span two words.
const SEPARATOR: u8 = b'\n';

/// The distinct words of all documents, in the columns that [`build`] made.
///
/// Words that occur in exactly the same documents form a *group*: their text is contiguous and they
/// share one document list. Half of all words occur in only one document, so this is far smaller
/// than a list per word, and a search needs only the group of a hit, not the word. Groups with more
/// documents come first, so a search for a frequent part of a word finds every document after a few
/// hits.
#[derive(Debug, Clone, Copy)]
pub struct TextIndex<'a> {
    documents: u32,
    /// Ends in `text`, per group.
    text_ends: Numbers<'a>,
    /// Ends in `postings`, per group.
    posting_ends: Numbers<'a>,
    /// The lower-cased words, each followed by [`SEPARATOR`].
    text: &'a [u8],
    /// Document lists, see [`postings`].
    postings: &'a [u8],
}

/// The words of a query: lower-cased and split at ASCII white space (spec 4). No word is empty;
/// duplicates are kept.
pub fn query_words(query: &str) -> Vec<String> {
    lower(query)
        .split_ascii_whitespace()
        .map(str::to_owned)
        .collect()
}

impl<'a> TextIndex<'a> {
    /// Opens the columns that [`build`] made. Their contents are checked when used.
    ///
    /// The caller passes the number of documents, because no column has one row per document and
    /// sets are allocated by that number.
    pub fn open(columns: [&'a [u8]; COLUMNS], documents: u32) -> Result<Self, Error> {
        let [text_ends, posting_ends, text, postings] = columns;
        let numbers = |column| Numbers::read(column, "the text index contradicts itself");
        Ok(Self {
            documents,
            text_ends: numbers(text_ends)?,
            posting_ends: numbers(posting_ends)?,
            text,
            postings,
        })
    }

    /// The documents, in ascending order, that contain each of the words. `words` comes from
    /// [`query_words`]; if it is empty, all documents are returned.
    pub fn documents_with_all(&self, words: &[&str]) -> Result<Vec<u32>, Error> {
        self.find(words).ok_or(DAMAGED)
    }

    fn find(&self, words: &[&str]) -> Option<Vec<u32>> {
        let mut words = words.to_vec();
        // Long words are mostly rare, so searching them first leaves few candidates for the others.
        words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        words.dedup();
        let mut candidates = Documents::all(self.documents);
        for word in words.into_iter().filter(|word| !word.is_empty()) {
            if candidates.is_empty() {
                break;
            }
            candidates = self.containing(word, &candidates)?;
        }
        Some(candidates.into_ids())
    }

    /// The candidates that contain the word.
    fn containing(&self, word: &str, candidates: &Documents) -> Option<Documents> {
        let finder = memmem::Finder::new(word);
        let mut found = Documents::none(self.documents);
        let mut group = 0;
        let mut at = 0;
        while let Some(hit) = finder.find(self.text.get(at..)?) {
            group = self.group_of(at + hit, group)?;
            let list = self.postings.get(self.posting_ends.range(group)?)?;
            found.add_list(list)?;
            if found.contains_all(candidates) {
                break;
            }
            // The group's other words occur in the same documents.
            at = self.text_ends.range(group)?.end;
            group += 1;
        }
        found.keep(candidates);
        Some(found)
    }

    /// The group that contains byte `at` of the text; its number is at least `first`. Hits come in
    /// order and often close together, so this is an exponential search from `first`.
    fn group_of(&self, at: usize, first: usize) -> Option<usize> {
        let ends_before = |group: usize| Some(self.text_ends.range(group)?.end <= at);
        let groups = self.text_ends.len().checked_sub(1)?;
        let mut step = 1;
        let mut low = first;
        while low + step < groups && ends_before(low + step - 1)? {
            low += step;
            step *= 2;
        }
        partition_point(low..groups.min(low + step), ends_before)
    }
}
