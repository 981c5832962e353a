//! Why a request scores as it does for a skill, in the units of the score.

use serde_json::{Value, json};
use skillbundle_search::ranker::{Query, RankTable, ScoreParts, field_names};

/// What a request and a skill have in common, in the units of the score.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Explanation {
    /// Terms of the request that the skill contains.
    pub terms: Vec<TermScore>,
    /// Adjacent terms of the request that are also adjacent in the skill.
    pub pairs: Vec<PairScore>,
    /// The share of the skill's name that the request contains, by information: 0 to 1.
    pub name_share: f64,
    /// The score added by the name.
    pub name_score: f64,
    /// Whether the request names the skill explicitly.
    pub named: bool,
}

impl Explanation {
    /// The explanation of a skill's score for the request.
    pub(super) fn of(table: RankTable<'_>, query: &Query, explanation: &ScoreParts) -> Self {
        let weight = |impact: u32| table.weight(impact);
        let term = |place: usize| query.term(place).to_owned();
        Self {
            terms: explanation
                .terms
                .iter()
                .map(|(place, impact, fields)| TermScore {
                    term: term(*place),
                    score: weight(u32::from(*impact)),
                    fields: field_names(*fields),
                })
                .collect(),
            pairs: explanation
                .pairs
                .iter()
                .map(|(first, second, impact)| PairScore {
                    terms: [term(*first), term(*second)],
                    score: weight((*impact).into()),
                })
                .collect(),
            name_share: explanation.share(),
            name_score: weight(explanation.name),
            named: false,
        }
    }

    /// The value in tool results and `--json`, with every number [`rounded`].
    pub fn to_json(&self) -> Value {
        let terms = self
            .terms
            .iter()
            .map(|it| json!({ "term": it.term, "score": rounded(it.score), "fields": it.fields }));
        let pairs = self
            .pairs
            .iter()
            .map(|it| json!({ "terms": it.terms, "score": rounded(it.score) }));
        json!({
            "terms": terms.collect::<Vec<_>>(),
            "pairs": pairs.collect::<Vec<_>>(),
            "name_share": rounded(self.name_share),
            "name_score": rounded(self.name_score),
            "named": self.named,
        })
    }
}

/// A score rounded to six decimals: below every meaningful difference (a priority step is a
/// thousandth), above the noise of binary fractions, so that 0.1 + 0.2 prints as 0.3.
pub fn rounded(score: f64) -> f64 {
    (score * 1e6).round() / 1e6
}

/// A term of a request in a skill.
#[derive(Debug, Clone, PartialEq)]
pub struct TermScore {
    /// The stem.
    pub term: String,
    /// The score it added.
    pub score: f64,
    /// The fields that contain it: `name`, `keywords`, `description`, `quoted`, `negative`, `body`.
    pub fields: Vec<&'static str>,
}

/// Adjacent terms of a request in a skill.
#[derive(Debug, Clone, PartialEq)]
pub struct PairScore {
    /// The stems, in order.
    pub terms: [String; 2],
    /// The score they added.
    pub score: f64,
}
