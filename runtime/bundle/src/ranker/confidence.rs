//! How sure it is that a request means the skill that scores best. The score
//! alone does not tell: a long request of another domain holds some words of
//! every bundle. So what counts is also where the skill holds them, whether they
//! stand together as they do in some skill, and what chance would have brought.

use super::parameters::{CHANCE, Field, SCORE_SHARE};
use super::query::{Asked, Reasons};
use super::{ABSENT, FRACTION, RankTable, Scored, WHAT, near};
use crate::error::{Error, corrupt};

impl RankTable<'_> {
    /// How sure it is that a request means its best document, whose reasons
    /// these are, where these neighbours stand [near](Self::near) each other; 0
    /// at least. See the formula at the head of [`super`].
    pub(crate) fn confidence(
        &self,
        asked: &Asked,
        best: &Scored,
        reasons: &Reasons,
        near: &[(usize, usize)],
    ) -> f64 {
        let score = self.to_weight(best.score + reasons.described());
        let told = SCORE_SHARE * score + nearness(asked, near) - CHANCE * by_chance(asked);
        let information = asked.information().max(self.least_information);
        (told / (f64::from(information) / FRACTION).sqrt()).max(0.0)
    }

    /// The neighbours in a request that stand near each other in some document,
    /// in either order, by their places in [`Asked::terms`]; each two once.
    pub(crate) fn near(&self, asked: &Asked) -> Result<Vec<(usize, usize)>, Error> {
        let mut near = Vec::new();
        for (first, second) in &asked.pairs {
            let terms = [first, second].map(|place| asked.terms[*place].term);
            if !near.contains(&(*second, *first))
                && self.may_be_near(terms[0], terms[1]).ok_or(corrupt(WHAT))?
            {
                near.push((*first, *second));
            }
        }
        Ok(near)
    }

    /// Whether two terms may stand near each other in some document: mostly no
    /// where they do not.
    pub(super) fn may_be_near(&self, first: u32, second: u32) -> Option<bool> {
        if first == second || [first, second].contains(&ABSENT) {
            return Some(false);
        }
        near::holds(self.near, first, second)
    }
}

impl Reasons {
    /// What the terms add that the document holds outside its body, in impacts.
    fn described(&self) -> u32 {
        let described = self.terms.iter().filter(|it| it.2 != Field::Body.bit());
        described.map(|(_, impact, _)| u32::from(*impact)).sum()
    }
}

/// What neighbours tell that stand near each other: of each two the less rare one.
fn nearness(asked: &Asked, near: &[(usize, usize)]) -> f64 {
    let rarity = |place: usize| asked.terms[place].rarity;
    let lesser = near
        .iter()
        .map(|(one, other)| rarity(*one).min(rarity(*other)));
    f64::from(lesser.map(u32::from).sum::<u32>()) / FRACTION
}

/// What the terms of a request tell by chance: of each its information, as often
/// as a skill holds it that the request does not mean.
fn by_chance(asked: &Asked) -> f64 {
    let information = asked.terms.iter().map(|term| term.information);
    information
        .map(|it| f64::from(it) / FRACTION)
        .map(|it| it * libm::exp(-it))
        .sum()
}
