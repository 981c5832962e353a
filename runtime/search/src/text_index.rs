//! Which documents hold all words of a query (spec 4), from a dictionary made
//! when compiling. Exactly what searching every document's text would find,
//! without doing so. It ranks nothing and cuts no excerpts.
//!
//! A query word has no ASCII white space, so where it occurs in a text it lies
//! inside one of the text's own words. It is enough to search each distinct
//! word once.

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

/// How many columns a text index has.
pub const COLUMNS: usize = 4;

const DAMAGED: Error = Error::Corrupt("the text index contradicts itself");

/// Stands after each word of the dictionary, so that no match crosses words.
const SEPARATOR: u8 = b'\n';

/// The distinct words of all documents, in the columns that [`build`] made.
///
/// Words that occur in exactly the same documents form a *group*: their text
/// lies together, and their documents are written down once. Half of all words
/// occur in one document only, so this is far smaller than a list per word, and
/// a hit need not know its word. Groups of more documents come first: a
/// frequent word part has found every document after the first few of them.
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

/// The words of a query: lower-cased, split at ASCII white space, as spec 4
/// says. None of them is empty; repeated ones are kept.
pub fn query_words(query: &str) -> Vec<String> {
    lower(query)
        .split_ascii_whitespace()
        .map(str::to_owned)
        .collect()
}

impl<'a> TextIndex<'a> {
    /// Opens the columns that [`build`] made. Their contents are checked when used.
    ///
    /// The caller says how many documents there are: no column has a row for
    /// each, and sets are allocated by their number.
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

    /// The documents, ascending, that contain each of the words somewhere. The
    /// words are what [`query_words`] gives; all documents where there is none.
    pub fn documents_with_all(&self, words: &[&str]) -> Result<Vec<u32>, Error> {
        self.find(words).ok_or(DAMAGED)
    }

    fn find(&self, words: &[&str]) -> Option<Vec<u32>> {
        let mut words = words.to_vec();
        // Long words are rare ones: they leave the others little to confirm.
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

    /// Which of the candidates contain the word.
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

    /// The group that holds a byte of the text, at or after `first`. Hits come
    /// in order and often close together, so the steps from `first` on double.
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
