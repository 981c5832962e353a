//! Finds the documents whose declared keywords match a request (spec 3 §5.2). The result is the
//! same as comparing every token with every keyword.
//!
//! The rule: a token and a keyword of at least three characters each match if one contains the
//! other. A shorter token matches by equality only. A shorter keyword matches by equality if it is
//! ASCII, and else also if the token contains it: in scripts without spaces a token is a phrase, and
//! two characters are a word. (The specification's text says "both shorter", its table "either".
//! With "both", `go` would match `golang`, which the table forbids.)
//!
//! The text index scans its dictionary for each word. This index has a suffix array instead (Manber
//! and Myers, 1990), because a scan per token takes 6 times as long on usual requests to 10,000
//! skills, and half a minute for 4 MiB (`docs/notes/keyword-matching.md`).

use std::ops::Range;

use memchr::memmem;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::Error;
use crate::table::{Numbers, partition_point};

mod build;
mod decision;
#[cfg(test)]
mod tests;

pub use build::build;
pub use decision::{Decision, decide, passes, score};

/// Words with fewer characters are short: see the rule at the top of this file.
const SHORT: usize = 3;

/// Keywords of more bytes than this are not in the suffix array and are compared one by one. Real
/// keywords have under 100 bytes; indexing one of a megabyte would take minutes, because every
/// comparison of its suffixes would read it.
const INDEXED_MAX: usize = 1024;

/// The number of columns of a keyword index.
pub const COLUMNS: usize = 9;

const DAMAGED: Error = Error::Corrupt("the keyword index contradicts itself");

/// "No such keyword" in a `u32` reference, and a free slot.
const NONE: u32 = u32::MAX;

/// The keywords of all documents, in the columns that [`build`] made.
// Keywords are lower-cased and distinct: first those of at most `INDEXED_MAX` bytes in byte order,
// then the longer ones. A *group* is the run of keywords that share their first `SHORT` characters
// (their `head`), found by its hash. A *parent* is the longest other keyword of the group that a
// keyword begins with. A *suffix* is the rest of an indexed keyword from one of its characters on,
// if it is not short.
#[derive(Debug, Clone, Copy)]
pub struct KeywordIndex<'a> {
    declarations: Declarations<'a>,
    /// End offsets in `text`, per keyword.
    text_ends: Numbers<'a>,
    /// Per indexed keyword: its parent, or [`NONE`].
    parents: Numbers<'a>,
    /// End positions in the indexed keywords, per group.
    group_ends: Numbers<'a>,
    /// Open-addressing hash table of groups by their heads; its size is a power of two.
    slots: Numbers<'a>,
    /// Suffix array: pairs of keyword and byte offset in it, in byte order of the suffixes.
    suffixes: Numbers<'a>,
    text: &'a [u8],
}

/// The skills that declare each keyword.
#[derive(Debug, Clone, Copy)]
struct Declarations<'a> {
    /// Per skill: the number of keywords it declares, including duplicates.
    totals: Numbers<'a>,
    /// End positions in `postings`, counted in pairs, per keyword.
    posting_ends: Numbers<'a>,
    /// Pairs of skill and position in the skill's list, ascending for each keyword.
    postings: Numbers<'a>,
}

/// A skill with at least one matched keyword.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeywordMatch {
    /// The skill's index in the list that the index was built from.
    pub skill: u32,
    /// The matched keywords' positions in the skill's declared list, ascending.
    pub matched: Vec<u32>,
    /// The number of keywords that the skill declares.
    pub total: u32,
}

impl<'a> KeywordIndex<'a> {
    /// Opens the columns that [`build`] made. Their contents are checked when used.
    pub fn open(columns: [&'a [u8]; COLUMNS]) -> Result<Self, Error> {
        let [numbers @ .., text] = columns;
        let read = |column| Numbers::read(column, "the keyword index contradicts itself");
        let [
            totals,
            posting_ends,
            postings,
            text_ends,
            parents,
            group_ends,
            slots,
            suffixes,
        ] = numbers.map(read);
        let opened = Self {
            declarations: Declarations {
                totals: totals?,
                posting_ends: posting_ends?,
                postings: postings?,
            },
            text_ends: text_ends?,
            parents: parents?,
            group_ends: group_ends?,
            slots: slots?,
            suffixes: suffixes?,
            text,
        };
        let fits =
            opened.text_ends.len() > opened.parents.len() && opened.slots.len().is_power_of_two();
        if fits { Ok(opened) } else { Err(DAMAGED) }
    }

    /// The skills with a keyword that matches one of the tokens, in ascending order. `tokens` comes
    /// from [`crate::text::tokenize`]; duplicates change nothing.
    ///
    /// Time grows with the length of the tokens plus the number of matches, not with their product,
    /// so requests need no length limit: a megabyte of text takes a fraction of a second.
    pub fn query(&self, tokens: &[String]) -> Result<Vec<KeywordMatch>, Error> {
        self.find(tokens).ok_or(DAMAGED)
    }

    fn find(&self, tokens: &[String]) -> Option<Vec<KeywordMatch>> {
        let mut found = Found::new(self.len());
        for token in tokens {
            if is_short(token) {
                self.equal(token, &mut found)?;
            } else {
                self.inside(token, &mut found)?;
                self.around(token, &mut found)?;
                self.compare_long(token, &mut found)?;
            }
        }
        self.declarations.collect(&found.keywords)
    }

    /// Adds the keyword that equals a short word.
    fn equal(&self, token: &str, found: &mut Found) -> Option<()> {
        self.group(token)?
            .try_for_each(|keyword| found.add(keyword))
    }

    /// Adds the keywords that the token contains: for each start in the token, finds the group of
    /// keywords with that head, and in it the chain of keywords that are prefixes of the rest.
    fn inside(&self, token: &str, found: &mut Found) -> Option<()> {
        for (start, _) in token.char_indices() {
            let rest = &token[start..];
            self.short_inside(rest, found)?;
            if is_short(rest) {
                continue;
            }
            let group = self.group(head(rest))?;
            let rest = rest.as_bytes();
            // Every prefix of `rest` sorts before `rest`. The last keyword that sorts at or before
            // `rest` therefore begins with every keyword that is a prefix of `rest`.
            let after = partition_point(group.clone(), |k| Some(self.keyword(k)? <= rest))?;
            if after > group.start {
                self.add_beginnings(after - 1, rest, found)?;
            }
        }
        Some(())
    }

    /// Adds the short keywords that `rest` begins with and that are not ASCII.
    fn short_inside(&self, rest: &str, found: &mut Found) -> Option<()> {
        let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8());
        for end in ends.take(SHORT - 1) {
            let beginning = &rest[..end];
            if !beginning.is_ascii() {
                self.equal(beginning, found)?;
            }
        }
        Some(())
    }

    /// Adds those of the keyword and its ancestors that are prefixes of `rest`.
    fn add_beginnings(&self, keyword: usize, rest: &[u8], found: &mut Found) -> Option<()> {
        let common = self
            .keyword(keyword)?
            .iter()
            .zip(rest)
            .take_while(|(a, b)| a == b)
            .count();
        let mut next = keyword;
        loop {
            if self.keyword(next)?.len() <= common {
                found.add(next)?;
            }
            let parent = self.parents.get(next)?;
            if parent == NONE {
                return Some(());
            }
            // Parents sort before their children. A damaged table could loop, so check that.
            next = Some(parent as usize).filter(|parent| *parent < next)?;
        }
    }

    /// Adds the indexed keywords that contain the token: one range of the suffix array.
    fn around(&self, token: &str, found: &mut Found) -> Option<()> {
        let token = token.as_bytes();
        if token.len() > INDEXED_MAX {
            return Some(());
        }
        let count = self.suffixes.len() / 2;
        let first = partition_point(0..count, |s| Some(self.suffix(s)?.1 < token))?;
        let end = partition_point(first..count, |s| Some(self.suffix(s)?.1.starts_with(token)))?;
        (first..end).try_for_each(|s| found.add(self.suffix(s)?.0))
    }

    /// Compares the token with the few keywords that are not indexed, one by one.
    fn compare_long(&self, token: &str, found: &mut Found) -> Option<()> {
        let token = token.as_bytes();
        for long in self.parents.len()..self.len() {
            let keyword = self.keyword(long)?;
            let (outer, inner) = if keyword.len() < token.len() {
                (token, keyword)
            } else {
                (keyword, token)
            };
            if memmem::find(outer, inner).is_some() {
                found.add(long)?;
            }
        }
        Some(())
    }

    /// The keywords with this head; an empty range if there are none.
    fn group(&self, head: &str) -> Option<Range<usize>> {
        let mask = self.slots.len() - 1;
        let start = slot(head.as_bytes(), mask);
        for step in 0..self.slots.len() {
            let group = self.slots.get((start + step) & mask)?;
            if group == NONE {
                break;
            }
            let members = self.group_ends.range(group as usize)?;
            let keyword = self.keyword(members.start)?;
            if keyword.starts_with(head.as_bytes())
                && (keyword.len() == head.len() || !is_short(head))
            {
                return Some(members);
            }
        }
        Some(0..0)
    }

    /// A suffix: its keyword and its bytes.
    fn suffix(&self, index: usize) -> Option<(usize, &'a [u8])> {
        let (keyword, offset) = self.suffixes.pair(index)?;
        let (keyword, offset) = (keyword as usize, offset as usize);
        Some((keyword, self.keyword(keyword)?.get(offset..)?))
    }

    fn keyword(&self, index: usize) -> Option<&'a [u8]> {
        self.text.get(self.text_ends.range(index)?)
    }

    fn len(&self) -> usize {
        self.text_ends.len() - 1
    }
}

impl Declarations<'_> {
    /// Turns matched keywords into matched skills.
    fn collect(&self, keywords: &[usize]) -> Option<Vec<KeywordMatch>> {
        let mut pairs = Vec::new();
        for &keyword in keywords {
            for posting in self.posting_ends.range(keyword)? {
                pairs.push(self.postings.pair(posting)?);
            }
            // Each posting belongs to one keyword. A damaged table could grow the list without
            // limit.
            if pairs.len() > self.postings.len() / 2 {
                return None;
            }
        }
        // A stable sort is fast here, because it merges the ascending runs of the keywords.
        pairs.sort_by_key(|&(skill, position)| u64::from(skill) << 32 | u64::from(position));
        pairs
            .chunk_by(|a, b| a.0 == b.0)
            .map(|run| self.matched(run))
            .collect()
    }

    fn matched(&self, run: &[(u32, u32)]) -> Option<KeywordMatch> {
        let skill = run.first()?.0;
        let total = self.totals.get(skill as usize)?;
        let matched: Vec<u32> = run.iter().map(|(_, position)| *position).collect();
        let fits =
            matched.is_sorted_by(|a, b| a < b) && matched.last().is_some_and(|last| *last < total);
        fits.then_some(KeywordMatch {
            skill,
            matched,
            total,
        })
    }
}

/// The set of keywords found so far, in the order found.
struct Found {
    keywords: Vec<usize>,
    bits: Vec<u64>,
}

impl Found {
    fn new(keywords: usize) -> Self {
        Self {
            keywords: Vec::new(),
            bits: vec![0; keywords.div_ceil(64)],
        }
    }

    fn add(&mut self, keyword: usize) -> Option<()> {
        let word = self.bits.get_mut(keyword / 64)?;
        let bit = 1 << (keyword % 64);
        if *word & bit == 0 {
            *word |= bit;
            self.keywords.push(keyword);
        }
        Some(())
    }
}

/// Whether the word has fewer than [`SHORT`] characters.
fn is_short(word: &str) -> bool {
    word.chars().nth(SHORT - 1).is_none()
}

/// The key of a word's group: its first [`SHORT`] characters.
fn head(word: &str) -> &str {
    word.char_indices()
        .nth(SHORT)
        .map_or(word, |(end, _)| &word[..end])
}

/// The first slot to probe for a head.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the mask keeps the low bits, which is all that is asked"
)]
fn slot(key: &[u8], mask: usize) -> usize {
    xxh3_64(key) as usize & mask
}
