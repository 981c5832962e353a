//! How sure it is that a request means the skill that scores best. The score
//! alone does not tell: a long request of another domain holds some words of
//! every bundle. So it also counts where the skill holds them, whether they
//! co-occur in some skill, and what score chance would bring.

use super::parameters::{CHANCE, Field, LEAST_INFORMATION, SCORE_SHARE};
use super::query::{Explanation, Query};
use super::{DAMAGED, FRACTION, RankTable, Scored, cooccurrence, fixed};
use crate::error::Error;

impl RankTable<'_> {
    /// How sure it is that a request means its best document, given that
    /// document's explanation and the query's [co-occurring](Self::cooccurring)
    /// neighbours; at least 0. See the formula at the head of [`super`].
    pub fn confidence(
        &self,
        query: &Query,
        best: &Scored,
        explanation: &Explanation,
        cooccurring: &[(usize, usize)],
    ) -> f64 {
        let score = self.weight(best.score + described(explanation));
        let sum = SCORE_SHARE * score + nearness(query, cooccurring) - CHANCE * by_chance(query);
        let information = query.terms.iter().map(|term| term.information).sum::<u32>();
        let information = information.max(fixed(LEAST_INFORMATION));
        (sum / (f64::from(information) / FRACTION).sqrt()).max(0.0)
    }

    /// The neighbours in a request that occur near each other in some document,
    /// in either order, by their places in the query; each two once.
    pub fn cooccurring(&self, query: &Query) -> Result<Vec<(usize, usize)>, Error> {
        let mut found = Vec::new();
        for ((first, second), numbers) in query.known_pairs() {
            if !found.contains(&(second, first)) && self.may_cooccur(numbers).ok_or(DAMAGED)? {
                found.push((first, second));
            }
        }
        Ok(found)
    }

    /// Whether two terms may occur near each other in some document: mostly not
    /// if they do not.
    pub(super) fn may_cooccur(&self, (first, second): (u32, u32)) -> Option<bool> {
        if first == second {
            return Some(false);
        }
        cooccurrence::holds(self.cooccurrence, first, second)
    }
}

/// What the terms add that the document holds outside its body, in impacts.
fn described(explanation: &Explanation) -> u32 {
    let terms = explanation.terms.iter();
    let described = terms.filter(|(.., fields)| *fields != Field::Body.bit());
    described.map(|(_, impact, _)| u32::from(*impact)).sum()
}

/// What co-occurring neighbours tell: of each two the less rare one.
fn nearness(query: &Query, cooccurring: &[(usize, usize)]) -> f64 {
    let rarity = |place: usize| query.terms[place].rarity;
    let pairs = cooccurring.iter();
    let lesser = pairs.map(|(one, other)| rarity(*one).min(rarity(*other)));
    f64::from(lesser.sum::<u32>()) / FRACTION
}

/// The score expected by chance: of each term its information, as often as a
/// skill holds it that the request does not mean.
fn by_chance(query: &Query) -> f64 {
    let terms = query.terms.iter();
    let information = terms.map(|term| f64::from(term.information) / FRACTION);
    information.map(|it| it * libm::exp(-it)).sum()
}
