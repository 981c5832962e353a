//! Which documents match a request by their declared keywords (spec 3 §5.2). The result is what
//! comparing every token with every keyword would give, without doing so.
//!
//! The rule: a token and a keyword of at least three characters each match if one contains the
//! other; if either is shorter, they must be equal. (The specification's text says "both shorter",
//! its table "either". With "both", `go` would match `golang`, which the table forbids.)
//!
//! Unlike the text index, which scans its dictionary for each word, this one has a suffix array
//! (Manber and Myers, 1990): requests are long, and a scan per token would let one of a few
//! megabytes take seconds.

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

/// Below this many characters a word is short: it matches by equality alone.
const SHORT: usize = 3;

/// Longer keywords, in bytes, stay out of the suffix array and are compared
/// one by one. Real ones have under 100; a megabyte-long one would otherwise
/// cost minutes when compiling, and every comparison would walk it.
const INDEXED_MAX: usize = 1024;

/// How many columns a keyword index has.
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
    /// Ends in `text`.
    text_ends: Numbers<'a>,
    /// Per indexed keyword: its parent, or [`NONE`].
    parents: Numbers<'a>,
    /// Ends in the indexed keywords.
    group_ends: Numbers<'a>,
    /// Open addressing over the groups' heads; a power of two of them.
    slots: Numbers<'a>,
    /// Pairs of keyword and byte offset in it, in byte order of the suffixes.
    suffixes: Numbers<'a>,
    text: &'a [u8],
}

/// Which skills declare which keywords.
#[derive(Debug, Clone, Copy)]
struct Declarations<'a> {
    /// Per skill: how many keywords it declares, repeated ones included.
    totals: Numbers<'a>,
    /// Ends in `postings`, in pairs, per keyword.
    posting_ends: Numbers<'a>,
    /// Pairs of skill and position in its list, ascending per keyword.
    postings: Numbers<'a>,
}

/// A skill with at least one matched keyword.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeywordMatch {
    /// The skill's index in what was built.
    pub skill: u32,
    /// The matched keywords' positions in the skill's declared list, ascending.
    pub matched: Vec<u32>,
    /// How many keywords the skill declares.
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

    /// The skills that any of the tokens matches, by skill. Tokens are what
    /// [`crate::text::tokenize`] gives; repeated ones change nothing.
    ///
    /// Work grows with the length of the tokens and with the matches, not with
    /// their product, so a request needs no limit of its own: a megabyte of
    /// text costs a fraction of a second.
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

    /// The short keyword that equals the token.
    fn equal(&self, token: &str, found: &mut Found) -> Option<()> {
        self.group(token)?
            .try_for_each(|keyword| found.add(keyword))
    }

    /// Keywords that the token contains: from each of its characters on, the
    /// group that begins there, and in it the chain of keywords that do.
    fn inside(&self, token: &str, found: &mut Found) -> Option<()> {
        for (start, _) in token.char_indices() {
            let rest = &token[start..];
            if is_short(rest) {
                break;
            }
            let group = self.group(head(rest))?;
            let rest = rest.as_bytes();
            // What `rest` begins with sorts before it, and so before or at the
            // last keyword that does; which therefore begins with it too.
            let after = partition_point(group.clone(), |k| Some(self.keyword(k)? <= rest))?;
            if after > group.start {
                self.add_beginnings(after - 1, rest, found)?;
            }
        }
        Some(())
    }

    /// The keyword and its parents, as far as `rest` begins with them.
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
            // Parents sort first; a table that says otherwise could loop.
            next = Some(parent as usize).filter(|parent| *parent < next)?;
        }
    }

    /// Indexed keywords that contain the token: one run of suffixes.
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

    /// The few keywords that are not indexed, one by one.
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

    /// The keywords with this head: an empty range where there are none.
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

    /// A suffix: its keyword, and its bytes.
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
    /// Keywords to skills.
    fn collect(&self, keywords: &[usize]) -> Option<Vec<KeywordMatch>> {
        let mut pairs = Vec::new();
        for &keyword in keywords {
            for posting in self.posting_ends.range(keyword)? {
                pairs.push(self.postings.pair(posting)?);
            }
            // Each belongs to one keyword; a table that says otherwise could grow without end.
            if pairs.len() > self.postings.len() / 2 {
                return None;
            }
        }
        // Stable, since that merges the keywords' own ascending runs.
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

/// The keywords found so far, each once.
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

/// Whether the word matches by equality alone.
fn is_short(word: &str) -> bool {
    word.chars().nth(SHORT - 1).is_none()
}

/// What a word's group is found by: its first characters.
fn head(word: &str) -> &str {
    word.char_indices()
        .nth(SHORT)
        .map_or(word, |(end, _)| &word[..end])
}

/// Where the search for a head or term begins.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the mask keeps the low bits, which is all that is asked"
)]
fn slot(key: &[u8], mask: usize) -> usize {
    xxh3_64(key) as usize & mask
}
