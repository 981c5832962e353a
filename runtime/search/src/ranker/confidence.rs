//! Estimates how likely it is that the request means the best-scoring skill. The score alone is not
//! enough, because a long request of another domain contains some words of every bundle. The
//! confidence also depends on which fields of the skill contain the words, on whether they co-occur
//! in some skill, and on the score expected by chance.

use super::parameters::{CHANCE, Field, LEAST_INFORMATION, SCORE_SHARE, is_excluded};
use super::query::{Query, ScoreParts};
use super::{DAMAGED, FRACTION, RankTable, Scored, cooccurrence, fixed};
use crate::error::Error;

impl RankTable<'_> {
    /// The confidence that a request means its best document, given that document's
    /// [supported](Self::supported) score, its explanation and the [co-occurring](Self::cooccurring)
    /// neighbours of the query; at least 0. See the formula in the documentation of [`super`].
    pub fn confidence(
        &self,
        query: &Query,
        best: &Scored,
        explanation: &ScoreParts,
        cooccurring: &[(usize, usize)],
    ) -> f64 {
        let score = self.weight(best.score + described(explanation));
        let sum = SCORE_SHARE * score + nearness(query, cooccurring) - CHANCE * by_chance(query);
        let terms = query.terms.iter().filter(|term| term.counts());
        let information = terms.map(|term| term.information).sum::<u32>();
        let information = information.max(fixed(LEAST_INFORMATION));
        (sum / (f64::from(information) / FRACTION).sqrt()).max(0.0)
    }

    /// The neighbouring terms of a request that occur near each other in some document, in either
    /// order, as positions in the query; each pair once.
    pub fn cooccurring(&self, query: &Query) -> Result<Vec<(usize, usize)>, Error> {
        let mut found = Vec::new();
        for ((first, second), numbers) in query.known_pairs() {
            if !found.contains(&(second, first)) && self.may_cooccur(numbers).ok_or(DAMAGED)? {
                found.push((first, second));
            }
        }
        Ok(found)
    }

    /// Whether two terms may occur near each other in some document. This is a Bloom filter: false
    /// positives are rare, and there are no false negatives.
    pub(super) fn may_cooccur(&self, (first, second): (u32, u32)) -> Option<bool> {
        if first == second {
            return Some(false);
        }
        cooccurrence::holds(self.cooccurrence, first, second)
    }
}

/// The sum of the impacts of terms that the document contains outside its body and does not exclude.
fn described(explanation: &ScoreParts) -> u32 {
    let terms = explanation.terms.iter();
    let described =
        terms.filter(|(.., fields)| *fields != Field::Body.bit() && !is_excluded(*fields));
    described.map(|(_, impact, _)| u32::from(*impact)).sum()
}

/// The contribution of co-occurring neighbours: for each pair, the rarity of the less rare term.
fn nearness(query: &Query, cooccurring: &[(usize, usize)]) -> f64 {
    let rarity = |place: usize| query.terms[place].rarity;
    let pairs = cooccurring.iter();
    let lesser = pairs.map(|(one, other)| rarity(*one).min(rarity(*other)));
    f64::from(lesser.sum::<u32>()) / FRACTION
}

/// The score expected by chance: the information of each term, times the probability that a skill
/// contains it by chance.
fn by_chance(query: &Query) -> f64 {
    let terms = query.terms.iter().filter(|term| term.counts());
    let information = terms.map(|term| f64::from(term.information) / FRACTION);
    information.map(|it| it * libm::exp(-it)).sum()
}
