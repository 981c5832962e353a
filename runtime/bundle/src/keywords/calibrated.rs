//! Which skills a request matches by their declared keywords in the calibrated
//! profile, from tables made when compiling.
//!
//! The rule: request and keywords are cut into terms ([`crate::text::terms`]),
//! so that `forms` is `form` and `contest` is not `test`. A keyword matches
//! where the request holds all of its terms, in whatever order. One without
//! terms, a stop word say, never matches, and is counted among the declared ones.

use super::{Declarations, KeywordMatch, NONE, slot};
use crate::error::{Error, corrupt};
use crate::flat::{Magic, Numbers, TableReader};
use crate::text::terms::{Cut, Cutter};

mod build;
#[cfg(test)]
mod tests;

pub(crate) use build::build;

const MAGIC: Magic = *b"kwc1";
const WHAT: &str = "the calibrated keyword table does not hold together";

/// The keywords of all skills as sets of terms, lying in the bytes that
/// [`build`] made.
///
/// Each distinct set is found by one of its terms, the one that the fewest
/// sets hold: a request that speaks of `api` a lot need not look at every
/// keyword with an `api` in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CalibratedTable<'a> {
    declarations: Declarations<'a>,
    /// Ends in `text`, per term; terms are in byte order.
    text_ends: Numbers<'a>,
    /// Ends in the keywords, per term: those that are found by it.
    keyword_ends: Numbers<'a>,
    /// Open addressing over the terms; a power of two of them.
    slots: Numbers<'a>,
    /// Ends in `others`, per keyword.
    other_ends: Numbers<'a>,
    /// The terms of a keyword beside the one that it is found by.
    others: Numbers<'a>,
    text: &'a [u8],
}

impl<'a> CalibratedTable<'a> {
    /// Checks that the arrays fit the bytes; what they hold is checked when used.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut table = TableReader::new(bytes, MAGIC, WHAT)?;
        let [skills, terms, slots, keywords, others, postings, text] = table.counts()?;
        let after = |n: usize| n.checked_add(1).ok_or(corrupt(WHAT));
        let pairs = |n: usize| n.checked_mul(2).ok_or(corrupt(WHAT));
        let totals = table.numbers(skills)?;
        let posting_ends = table.numbers(after(keywords)?)?;
        let opened = Self {
            text_ends: table.numbers(after(terms)?)?,
            keyword_ends: table.numbers(after(terms)?)?,
            slots: table.numbers(slots)?,
            other_ends: table.numbers(after(keywords)?)?,
            others: table.numbers(others)?,
            declarations: Declarations {
                totals,
                posting_ends,
                postings: table.numbers(pairs(postings)?)?,
            },
            text: table.bytes(text)?,
        };
        table.finish()?;
        if slots.is_power_of_two() {
            Ok(opened)
        } else {
            Err(corrupt(WHAT))
        }
    }

    /// The skills that the request matches, by skill. What a skill's matched
    /// keywords are a share of is the number that it declares, or that of the
    /// request's distinct terms where those are fewer.
    pub(crate) fn query(&self, request: &str) -> Result<Vec<KeywordMatch>, Error> {
        self.find(request).ok_or(corrupt(WHAT))
    }

    fn find(&self, request: &str) -> Option<Vec<KeywordMatch>> {
        let terms = terms(&mut Cutter::default(), request);
        let mut held = Vec::new();
        for term in &terms {
            self.look_up(term, &mut held)?;
        }
        held.sort_unstable();
        let most = u32::try_from(terms.len()).unwrap_or(u32::MAX);
        let mut matches = self.declarations.collect(&self.keywords(&held)?)?;
        for found in &mut matches {
            found.total = found.total.min(most);
        }
        Some(matches)
    }

    /// The keywords all of whose terms are held. `held` is sorted.
    fn keywords(&self, held: &[u32]) -> Option<Vec<usize>> {
        let mut found = Vec::new();
        // A keyword is found by one term, and a list of others belongs to one
        // keyword; a table that says otherwise could cost their product.
        let mut keywords_left = self.other_ends.len() - 1;
        let mut others_left = self.others.len();
        for term in held {
            let keywords = self.keyword_ends.range(*term as usize)?;
            keywords_left = keywords_left.checked_sub(keywords.len())?;
            for keyword in keywords {
                let others = self.others.slice(self.other_ends.range(keyword)?)?;
                others_left = others_left.checked_sub(others.len())?;
                let is_held = |term: &[u8; 4]| held.binary_search(&u32::from_le_bytes(*term));
                if others.iter().all(|term| is_held(term).is_ok()) {
                    found.push(keyword);
                }
            }
        }
        Some(found)
    }

    /// Adds the term's number, if any keyword holds it.
    fn look_up(&self, text: &str, held: &mut Vec<u32>) -> Option<()> {
        let mask = self.slots.len() - 1;
        let start = slot(text.as_bytes(), mask);
        for step in 0..self.slots.len() {
            let term = self.slots.get((start + step) & mask)?;
            if term == NONE {
                break;
            }
            if self.text.get(self.text_ends.range(term as usize)?)? == text.as_bytes() {
                held.push(term);
                break;
            }
        }
        Some(())
    }
}

/// The distinct terms of a text, in byte order.
fn terms(cutter: &mut Cutter, text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    cutter.cut(text, |cut| {
        if let Cut::Term(term) = cut {
            terms.push(term.to_owned());
        }
    });
    terms.sort_unstable();
    terms.dedup();
    terms
}
