//! Which skill a request means. Skills of the tree dialect are ranked by their
//! declared keywords, as spec 3 says; those of the folder dialect by
//! [`skillbundle_search::ranker`]. Here each ranker's scores become a decision, and where a
//! bundle holds both dialects, the two decisions become one.
//!
//! The rule for both: each ranker decides about its own skills. If one finds
//! nothing, the other's decision stands. If both find something, the scores
//! that `bm25f/1` gives to the best of each, on one scale, are compared: with a
//! clear lead the leader's decision stands; without one the request is
//! ambiguous, and both rankers' candidates are named in the order of those scores.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;

use serde_json::{Value, json};
use skillbundle_search::keywords::{Decision, decide};
use skillbundle_search::ranker::{
    Accumulators, Explanation, NAME, Query, RankTable, Scored, field_names, min_confidence,
};
use skillbundle_search::text::explicit_names;

use crate::catalog::Catalog;
use crate::error::Error;
use crate::frontmatter_terms::held;
use crate::search::{Match, Rated};
use crate::settings::Settings;
use crate::skill::Skill;

/// The answer to a request, and why.
#[derive(Debug, Clone)]
pub struct Route<'a> {
    /// Whether the first candidate is meant, or several are too close to choose.
    pub decision: Decision,
    /// Who decided: `keywords`, `bm25f/1`, or both with a `+` between them.
    pub ranker: &'static str,
    /// Best first: those that the decision is about, then others that scored.
    pub candidates: Vec<Candidate<'a>>,
    /// Skills with a matched keyword whose score is below the content's
    /// `min_score`, best first. They are told, and decide nothing.
    pub weak: Vec<Candidate<'a>>,
    /// The request as `bm25f/1` reads it: stems, each once.
    pub terms: Vec<String>,
    /// Neighbours in the request that stand near each other in some skill, which
    /// makes it surer that the request means one of these skills.
    pub near: Vec<[String; 2]>,
    /// How sure `bm25f/1` is that its best skill is meant; 0 where it has none.
    pub confidence: f64,
    /// Below this confidence nothing matches, unless it is named outright.
    pub min_confidence: f64,
    /// The share of its score by which the best skill leads; 1 where it has no rival.
    pub margin: f64,
    /// Leads below this are ambiguous.
    pub min_margin: f64,
}

/// A skill that a request may mean.
#[derive(Debug, Clone)]
pub struct Candidate<'a> {
    /// The skill.
    pub skill: Skill<'a>,
    /// Who ranked it: `keywords` or `bm25f/1`.
    pub ranker: &'static str,
    /// By `keywords`: see [`Match::score`]. By `bm25f/1`: natural units of rarity.
    pub score: f64,
    /// Those that [`Match::matched_keywords`] names.
    matched: Vec<&'a str>,
    /// What `bm25f/1` found in common; empty where `keywords` ranked it.
    pub why: Why,
}

impl<'a> Route<'a> {
    /// The declared keywords of a candidate that matched, as the author wrote
    /// them. Of one that `keywords` ranked: those that made the score. Of one
    /// that `bm25f/1` ranked: the keywords, tags and triggers of its frontmatter
    /// all of whose terms the request holds; they are among what made it.
    ///
    /// The latter are looked up here, not when candidates are found: most
    /// callers show fewer than there are.
    pub fn matched_keywords(&self, of: &Candidate<'a>) -> Result<Vec<&'a str>, Error> {
        if of.ranker == KEYWORDS {
            return Ok(of.matched.clone());
        }
        let holds = |term: &str| self.terms.iter().any(|it| it == term);
        Ok(held(&of.skill.phrases()?, holds))
    }
}

impl<'a> Candidate<'a> {
    fn by_keywords(found: Match<'a>) -> Self {
        Self {
            ranker: KEYWORDS,
            skill: found.skill,
            score: found.score,
            matched: found.matched_keywords,
            why: Why::default(),
        }
    }
}

/// What a request and a skill have in common, in the units of the score.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Why {
    /// Terms of the request that the skill holds.
    pub terms: Vec<WhyTerm>,
    /// Neighbours in the request that are neighbours in the skill.
    pub pairs: Vec<WhyPair>,
    /// How much of the skill's name the request holds, by information: 0 to 1.
    pub name_share: f64,
    /// What that added.
    pub name_score: f64,
    /// Whether the request names the skill outright.
    pub named: bool,
}

impl Why {
    /// As the tools and `--json` give it, every figure [`rounded`].
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

/// A score to six decimals: below every difference that means something (a
/// priority step is a thousandth), above the noise of binary fractions, so that
/// 0.1 + 0.2 reads 0.3.
pub fn rounded(score: f64) -> f64 {
    (score * 1e6).round() / 1e6
}

/// A term of a request in a skill.
#[derive(Debug, Clone, PartialEq)]
pub struct WhyTerm {
    /// The stem.
    pub term: String,
    /// What it added.
    pub score: f64,
    /// Where it stands: `name`, `keywords`, `description`, `quoted`, `negative`, `body`.
    pub fields: Vec<&'static str>,
}

/// Neighbouring terms of a request in a skill.
#[derive(Debug, Clone, PartialEq)]
pub struct WhyPair {
    /// The stems, in order.
    pub terms: [String; 2],
    /// What they added.
    pub score: f64,
}

/// A skill that has something in common with a request.
pub(crate) struct Related {
    /// The skill's number.
    pub(crate) id: u32,
    /// As in [`Candidate::score`].
    pub(crate) score: f64,
    /// The terms that they share, with what each tells.
    pub(crate) terms: Vec<(String, u32)>,
}

thread_local! {
    /// Asking again allocates nothing.
    static BUFFERS: RefCell<(Accumulators, Query)> = RefCell::default();
}

impl<'a> Catalog<'a> {
    /// Which skill `request` means, with at most `limit` candidates, though
    /// never fewer than the decision is about, and at most `limit` weak ones.
    pub fn route(&self, request: &str, limit: usize) -> Result<Route<'a>, Error> {
        BUFFERS.with_borrow_mut(|(accumulators, query)| {
            let router = Router::new(*self, request, query)?;
            router.route(request, limit, accumulators)
        })
    }

    /// The skills that `bm25f/1` ranks for a request, whatever their dialect and
    /// however unsure it is, best first, at most `limit`, with their scores.
    pub fn best(&self, request: &str, limit: usize) -> Result<Vec<(u32, f64)>, Error> {
        BUFFERS.with_borrow_mut(|(accumulators, query)| {
            let table = self.rank_table()?;
            table.read(request, query)?;
            let named = self.named(request)?;
            let best = table.best(query, &named, limit, |_| true, accumulators)?;
            let weighed = |scored: &Scored| (scored.document, table.weight(scored.score));
            Ok(best.iter().map(weighed).collect())
        })
    }

    /// The accepted skills that share a term with a request or are named in it,
    /// whatever their dialect: how many there are, and in the order of
    /// `bm25f/1` at most `limit` after the first `skip`.
    pub(crate) fn related(
        &self,
        request: &str,
        (skip, limit): (usize, usize),
        accept: impl Fn(u32) -> Result<bool, Error>,
    ) -> Result<(usize, Vec<Related>), Error> {
        let failed = Cell::new(None);
        let accept = |id| {
            accept(id).unwrap_or_else(|error| {
                failed.set(Some(error));
                false
            })
        };
        BUFFERS.with_borrow_mut(|(accumulators, query)| {
            let router = Router::new(*self, request, query)?;
            // All of them, since they are counted.
            let (named, all) = (&router.named, self.len());
            let best = router
                .table
                .best(router.query, named, all, accept, accumulators)?;
            if let Some(error) = failed.take() {
                return Err(error);
            }
            let page = best.iter().skip(skip).take(limit);
            let related: Result<_, Error> = page.map(|scored| router.related(scored)).collect();
            Ok((best.len(), related?))
        })
    }

    /// The skills that the request names outright, each once.
    fn named(&self, request: &str) -> Result<Vec<u32>, Error> {
        let (mut named, mut failed) = (Vec::new(), None);
        explicit_names(request, |name| match self.by_name(name) {
            Ok(Some(skill)) if !named.contains(&skill.id) => named.push(skill.id),
            Ok(_) => {}
            Err(error) => failed = Some(error),
        });
        failed.map_or(Ok(named), Err)
    }
}

/// One request to one bundle.
struct Router<'a, 's> {
    catalog: Catalog<'a>,
    table: RankTable<'a>,
    settings: Settings,
    query: &'s Query,
    named: Vec<u32>,
}

/// What one ranker found, best first, and what it decides.
struct Found<'a> {
    decision: Decision,
    candidates: Vec<Candidate<'a>>,
}

impl Found<'_> {
    /// How many candidates the decision is about.
    fn decided(&self) -> usize {
        match self.decision {
            Decision::NoMatch => 0,
            Decision::Match => 1,
            Decision::Ambiguous(count) => count,
        }
    }
}

impl<'a, 's> Router<'a, 's> {
    fn new(catalog: Catalog<'a>, request: &str, query: &'s mut Query) -> Result<Self, Error> {
        let table = catalog.rank_table()?;
        table.read(request, query)?;
        Ok(Self {
            catalog,
            table,
            settings: catalog.settings()?,
            query,
            named: catalog.named(request)?,
        })
    }

    fn route(
        &self,
        request: &str,
        limit: usize,
        accumulators: &mut Accumulators,
    ) -> Result<Route<'a>, Error> {
        let (keywords, weak) = self.by_keywords(request, limit)?;
        let limit = limit.max(self.max_candidates() + 1);
        let best = self.table.best(
            self.query,
            &self.named,
            limit,
            |document| !self.table.is_tree(document),
            accumulators,
        )?;
        let explanations = best
            .iter()
            .map(|it| self.table.explain(self.query, it.document));
        let explanations: Vec<Explanation> = explanations.collect::<Result<_, _>>()?;
        let near = self.table.cooccurring(self.query)?;
        let confidence = match (best.as_slice(), explanations.as_slice()) {
            ([best, ..], [first, ..]) => self.table.confidence(self.query, best, first, &near),
            _ => 0.0,
        };
        let margin = margin(&best);
        let terms = self.by_terms(&best, &explanations, confidence, margin)?;
        let (decision, ranker, mut candidates) = self.merge(keywords, terms)?;
        candidates.truncate(limit);
        let term = |place| self.query.term(place).to_owned();
        Ok(Route {
            decision,
            ranker,
            candidates,
            weak,
            terms: self.query.terms().map(str::to_owned).collect(),
            near: near
                .into_iter()
                .map(|(one, other)| [one, other].map(term))
                .collect(),
            confidence,
            min_confidence: self.min_confidence(),
            margin,
            min_margin: self.settings.min_margin,
        })
    }

    /// Two at least: one alone would be no choice.
    fn max_candidates(&self) -> usize {
        usize::try_from(self.settings.max_results)
            .unwrap_or(usize::MAX)
            .max(2)
    }

    fn min_confidence(&self) -> f64 {
        let set = self.settings.min_confidence;
        set.unwrap_or_else(|| min_confidence(self.catalog.count()))
    }

    /// What spec 3's rule finds, and the best of what is too weak for it.
    fn by_keywords(
        &self,
        request: &str,
        most_weak: usize,
    ) -> Result<(Found<'a>, Vec<Candidate<'a>>), Error> {
        let rated = self
            .catalog
            .rate_keywords(request, &self.settings, most_weak > 0)?;
        let (rated, weak): (Vec<_>, Vec<_>) = rated.into_iter().partition(|it| it.counts);
        let scores: Vec<f64> = rated.iter().map(|rated| rated.score).collect();
        let decision = decide(
            &scores,
            self.settings.ambiguity_threshold,
            self.settings.max_results,
        );
        let told = |rated: Rated<'a>| rated.told().map(Candidate::by_keywords);
        let weak = weak.into_iter().take(most_weak).map(told);
        let weak = weak.collect::<Result<_, _>>()?;
        let candidates = rated.into_iter().map(told).collect::<Result<_, _>>()?;
        Ok((
            Found {
                decision,
                candidates,
            },
            weak,
        ))
    }

    fn by_terms(
        &self,
        best: &[Scored],
        explanations: &[Explanation],
        confidence: f64,
        margin: f64,
    ) -> Result<Found<'a>, Error> {
        let sure =
            confidence >= self.min_confidence() || best.first().is_some_and(|best| best.named);
        let decision = if best.is_empty() || !sure {
            Decision::NoMatch
        } else if margin < self.settings.min_margin {
            Decision::Ambiguous(best.len().min(self.max_candidates()))
        } else {
            Decision::Match
        };
        let candidate = |(scored, explanation): (&Scored, &Explanation)| {
            Ok::<_, Error>(Candidate {
                matched: Vec::new(),
                ranker: NAME,
                score: self.table.weight(scored.score),
                skill: self.catalog.skill(scored.document)?,
                why: Why {
                    named: scored.named,
                    ..self.why(explanation)
                },
            })
        };
        Ok(Found {
            decision,
            candidates: best
                .iter()
                .zip(explanations)
                .map(candidate)
                .collect::<Result<_, _>>()?,
        })
    }

    /// See the rule at the head of this file.
    fn merge(
        &self,
        keywords: Found<'a>,
        terms: Found<'a>,
    ) -> Result<(Decision, &'static str, Vec<Candidate<'a>>), Error> {
        let (ranker, first, second) = match (keywords.decided(), terms.decided()) {
            (0, 0) => (self.rankers(), terms, keywords),
            (0, _) => (NAME, terms, keywords),
            (_, 0) => (KEYWORDS, keywords, terms),
            _ => {
                let best = |found: &Found<'a>| self.common_score(&found.candidates[0]);
                let (by_keywords, by_terms) = (best(&keywords)?, best(&terms)?);
                let greater = by_keywords.max(by_terms);
                let lead = f64::from(by_keywords.abs_diff(by_terms)) / f64::from(greater.max(1));
                if lead < self.settings.min_margin {
                    return self.both(keywords, terms);
                } else if by_keywords > by_terms {
                    (KEYWORDS, keywords, terms)
                } else {
                    (NAME, terms, keywords)
                }
            }
        };
        let decision = first.decision;
        let all = first.candidates.into_iter().chain(second.candidates);
        Ok((decision, ranker, all.collect()))
    }

    /// Both rankers' contenders, in the order of the scores that they share.
    fn both(
        &self,
        keywords: Found<'a>,
        terms: Found<'a>,
    ) -> Result<(Decision, &'static str, Vec<Candidate<'a>>), Error> {
        let (mut contenders, mut rest) = (Vec::new(), Vec::new());
        for found in [keywords, terms] {
            let count = found.decided();
            let mut candidates = found.candidates.into_iter();
            for candidate in candidates.by_ref().take(count) {
                contenders.push((Reverse(self.common_score(&candidate)?), candidate));
            }
            rest.extend(candidates);
        }
        contenders.sort_by_key(|(score, candidate)| (*score, candidate.skill.path));
        let count = contenders.len().min(self.max_candidates());
        let contenders = contenders.into_iter().map(|(_, candidate)| candidate);
        Ok((
            Decision::Ambiguous(count),
            BOTH,
            contenders.chain(rest).collect(),
        ))
    }

    /// What `bm25f/1` scores a skill, whoever ranked it.
    fn common_score(&self, candidate: &Candidate<'_>) -> Result<u32, Error> {
        Ok(self.table.explain(self.query, candidate.skill.id)?.score())
    }

    /// Who ranks the skills that there are.
    fn rankers(&self) -> &'static str {
        match (self.table.trees(), self.catalog.len()) {
            (0, _) => NAME,
            (trees, all) if trees == all => KEYWORDS,
            _ => BOTH,
        }
    }

    fn related(&self, scored: &Scored) -> Result<Related, Error> {
        let explanation = self.table.explain(self.query, scored.document)?;
        let term = |&(place, impact, _): &(usize, u8, u8)| {
            (self.query.term(place).to_owned(), u32::from(impact))
        };
        Ok(Related {
            id: scored.document,
            score: self.table.weight(scored.score),
            terms: explanation.terms.iter().map(term).collect(),
        })
    }

    /// What a skill has in common with the request.
    fn why(&self, explanation: &Explanation) -> Why {
        let weight = |impact: u32| self.table.weight(impact);
        let term = |place: usize| self.query.term(place).to_owned();
        Why {
            terms: explanation
                .terms
                .iter()
                .map(|(place, impact, fields)| WhyTerm {
                    term: term(*place),
                    score: weight(u32::from(*impact)),
                    fields: field_names(*fields),
                })
                .collect(),
            pairs: explanation
                .pairs
                .iter()
                .map(|(first, second, impact)| WhyPair {
                    terms: [term(*first), term(*second)],
                    score: weight((*impact).into()),
                })
                .collect(),
            name_share: explanation.share(),
            name_score: weight(explanation.name),
            named: false,
        }
    }
}

/// The name of spec 3's ranker in answers.
const KEYWORDS: &str = "keywords";

/// Both rankers.
const BOTH: &str = "keywords+bm25f/1";

/// The share of its score by which the best leads.
fn margin(best: &[Scored]) -> f64 {
    match best {
        [] => 0.0,
        [_] => 1.0,
        [first, second, ..] => {
            f64::from(first.score - second.score) / f64::from(first.score.max(1))
        }
    }
}
