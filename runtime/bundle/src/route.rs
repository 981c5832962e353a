//! Routing: which skill a request means. Tree-dialect skills are ranked by their declared keywords,
//! as in spec 3; folder-dialect skills by [`skillbundle_search::ranker`]. This module turns the
//! scores of each ranker into a decision and, if a bundle has both dialects, combines the two
//! decisions.
//!
//! The rule for both: each ranker decides about its own skills. If one finds nothing, the decision
//! of the other applies. If both find something, the `bm25f/1` scores of the best skill of each are
//! compared on one scale: with a clear lead, the leader's decision applies; without one, the
//! request is ambiguous, and the candidates of both rankers are listed in the order of those
//! scores.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;

use skillbundle_search::keywords::{Decision, decide};
use skillbundle_search::ranker::{
    Accumulators, NAME, Query, RankTable, ScoreParts, Scored, min_confidence,
};
use skillbundle_search::text::{Mentions, mentions};

use crate::catalog::Catalog;
use crate::error::Error;
use crate::frontmatter_terms::held;
use crate::search::{Match, Rated, Related};
use crate::settings::Settings;
use crate::skill::Skill;

mod explanation;

pub use explanation::{Explanation, PairScore, TermScore, rounded};

/// The answer to a request, with its explanation.
#[derive(Debug, Clone)]
pub struct Route<'a> {
    /// Whether the first candidate is the match, nothing matches, or several are too close to
    /// choose.
    pub decision: Decision,
    /// The ranker that decided: `keywords`, `bm25f/1`, or both joined by `+`.
    pub ranker: &'static str,
    /// Best first: the candidates of the decision, then others with a score.
    pub candidates: Vec<Candidate<'a>>,
    /// If nothing matches: what comes closest, best first, as many as an ambiguous answer names. All
    /// of them score below what a match needs. No skill is among them whose description excludes
    /// what the request is about.
    pub closest: Vec<Candidate<'a>>,
    /// The skills that the request forbids by name. They are no candidates.
    pub forbidden: Vec<Skill<'a>>,
    /// Skills with a matched keyword whose score is below the content's `min_score`, best first.
    /// They are reported, but do not affect the decision.
    pub weak: Vec<Candidate<'a>>,
    /// The request as `bm25f/1` reads it: stems, without duplicates.
    pub terms: Vec<String>,
    /// Adjacent terms of the request that occur near each other in some skill, which raises the
    /// confidence that the request means one of these skills.
    pub near: Vec<[String; 2]>,
    /// The confidence of `bm25f/1` that its best skill is the match; 0 if it has none.
    pub confidence: f64,
    /// Below this confidence nothing matches, unless the request names a skill explicitly.
    pub min_confidence: f64,
    /// The relative lead of the best skill, as a share of its score; 1 if it has no competitor.
    pub margin: f64,
    /// Leads below this are ambiguous.
    pub min_margin: f64,
}

/// A skill that a request may mean.
#[derive(Debug, Clone)]
pub struct Candidate<'a> {
    /// The skill.
    pub skill: Skill<'a>,
    /// The ranker that scored it: `keywords` or `bm25f/1`.
    pub ranker: &'static str,
    /// For `keywords`: see [`Match::score`]. For `bm25f/1`: nats of inverse document frequency.
    pub score: f64,
    /// Whether the score is too low for an answer: nothing matches, or the keywords of this skill
    /// score below the content's `min_score`.
    pub below_threshold: bool,
    /// The keywords that [`Match::matched_keywords`] returns.
    matched: Vec<&'a str>,
    /// The explanation of `bm25f/1`; empty if `keywords` ranked it.
    pub why: Explanation,
}

impl<'a> Route<'a> {
    /// The declared keywords of a candidate that matched, as the author wrote them. For a candidate
    /// of `keywords`: those that produced the score. For a candidate of `bm25f/1`: the keywords,
    /// tags and triggers of its frontmatter whose terms are all in the request; they contribute to
    /// the score.
    ///
    /// The latter are looked up here and not during ranking, because most callers show only some of
    /// the candidates.
    pub fn matched_keywords(&self, of: &Candidate<'a>) -> Result<Vec<&'a str>, Error> {
        if of.ranker == KEYWORDS {
            return Ok(of.matched.clone());
        }
        let holds = |term: &str| self.terms.iter().any(|it| it == term);
        Ok(held(&of.skill.phrases()?, holds))
    }
}

impl<'a> Candidate<'a> {
    fn by_keywords(found: Match<'a>, below_threshold: bool) -> Self {
        Self {
            ranker: KEYWORDS,
            below_threshold,
            skill: found.skill,
            score: found.score,
            matched: found.matched_keywords,
            why: Explanation::default(),
        }
    }
}

thread_local! {
    /// Reused between requests, so that later requests do not allocate.
    static BUFFERS: RefCell<(Accumulators, Query)> = RefCell::default();
}

impl<'a> Catalog<'a> {
    /// The skill that `request` means. Returns at most `limit` candidates, but always those of the
    /// decision, and at most `limit` weak matches.
    pub fn route(&self, request: &str, limit: usize) -> Result<Route<'a>, Error> {
        BUFFERS.with_borrow_mut(|(accumulators, query)| {
            let router = Router::new(*self, request, query)?;
            router.route(request, limit, accumulators)
        })
    }

    /// The skills that `bm25f/1` ranks for a request, regardless of dialect and confidence, best
    /// first, at most `limit`, with their scores.
    pub fn best(&self, request: &str, limit: usize) -> Result<Vec<(u32, f64)>, Error> {
        BUFFERS.with_borrow_mut(|(accumulators, query)| {
            let router = Router::new(*self, request, query)?;
            let best = router.best(limit, |_| true, accumulators)?;
            let weighed = |scored: &Scored| (scored.document, router.table.weight(scored.score));
            Ok(best.iter().map(weighed).collect())
        })
    }

    /// What `bm25f/1` finds in common between a request and one skill, regardless of the decision.
    /// Empty for a skill that models are not shown, since it is not ranked.
    pub fn explain(&self, request: &str, skill: u32) -> Result<Explanation, Error> {
        if !self.is_listed(skill) {
            return Ok(Explanation::default());
        }
        BUFFERS.with_borrow_mut(|(_, query)| {
            let router = Router::new(*self, request, query)?;
            let parts = router.table.explain(router.query, skill)?;
            Ok(Explanation::of(router.table, router.query, &parts))
        })
    }

    /// The accepted skills that share a term with a request or are named in it, regardless of
    /// dialect: their total number, and at most `limit` of them after the first `skip`, in the
    /// order of `bm25f/1`.
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
            // All of them, because they are counted.
            let best = router.best(self.listed_len(), accept, accumulators)?;
            if let Some(error) = failed.take() {
                return Err(error);
            }
            let page = best.iter().skip(skip).take(limit);
            let related: Result<_, Error> = page.map(|scored| router.related(scored)).collect();
            Ok((best.len(), related?))
        })
    }

    /// The best of these skills for a query, at most `limit`. `tier` returns how prominently a skill
    /// contains the query, which the terms of the query cannot tell if it is made of parts of words.
    pub(crate) fn by_relevance(
        &self,
        query: &str,
        skills: &[u32],
        limit: usize,
        tier: impl Fn(u32) -> Result<u8, Error>,
    ) -> Result<Vec<u32>, Error> {
        if skills.is_empty() {
            return Ok(Vec::new());
        }
        BUFFERS.with_borrow_mut(|(accumulators, buffer)| {
            let table = self.rank_table()?;
            table.read(query, buffer)?;
            let tiers = table.tiers(buffer)?;
            let tier = |id: u32| match &tiers {
                Some(tiers) => Ok(tiers.get(id as usize).copied().unwrap_or(0)),
                None => tier(id),
            };
            // The ranker has the skills that models are shown; the others come last.
            let (ranked, others) =
                skills.split_at(skills.partition_point(|id| self.is_listed(*id)));
            let found = ranked.iter().map(|id| Ok((*id, tier(*id)?)));
            let found = found.collect::<Result<Vec<_>, Error>>()?;
            let mut order = table.order(buffer, found.into_iter(), limit, accumulators)?;
            order.extend(others.iter().take(limit - order.len().min(limit)));
            Ok(order)
        })
    }

    /// The skills that the request names explicitly, and those that it forbids.
    fn mentions<'r>(&self, request: &'r str) -> Result<Mentions<'r, u32>, Error> {
        let mut failed = None;
        let found = mentions(request, |name| match self.by_name(name) {
            Ok(skill) => skill.map(|it| it.id).filter(|id| self.is_listed(*id)),
            Err(error) => {
                failed = Some(error);
                None
            }
        });
        failed.map_or(Ok(found), Err)
    }
}

/// One request to one bundle.
struct Router<'a, 's> {
    catalog: Catalog<'a>,
    table: RankTable<'a>,
    settings: Settings,
    query: &'s Query,
    /// The skills that the request names explicitly.
    named: Vec<u32>,
    /// The skills that the request forbids by name.
    forbidden: Vec<u32>,
}

/// The result of one ranker, best first, and its decision.
struct Found<'a> {
    decision: Decision,
    candidates: Vec<Candidate<'a>>,
}

impl Found<'_> {
    /// The number of candidates in the decision.
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
        let mentions = catalog.mentions(request)?;
        table.read(&mentions.text, query)?;
        Ok(Self {
            catalog,
            table,
            settings: catalog.settings()?,
            query,
            named: mentions.named,
            forbidden: mentions.forbidden,
        })
    }

    /// Whether the request may be answered with a skill.
    fn is_eligible(&self, skill: u32) -> bool {
        !self.forbidden.contains(&skill)
    }

    /// The best eligible skills that `accept` returns true for.
    fn best(
        &self,
        limit: usize,
        accept: impl Fn(u32) -> bool,
        accumulators: &mut Accumulators,
    ) -> Result<Vec<Scored>, Error> {
        let accept = |skill| self.is_eligible(skill) && accept(skill);
        let best = self
            .table
            .best(self.query, &self.named, limit, accept, accumulators);
        Ok(best?)
    }

    fn route(
        &self,
        request: &str,
        limit: usize,
        accumulators: &mut Accumulators,
    ) -> Result<Route<'a>, Error> {
        let (keywords, weak) = self.by_keywords(request, limit)?;
        let limit = limit.max(self.max_candidates() + 1);
        let is_folder = |skill| !self.table.is_tree(skill);
        let best = self.best(limit, is_folder, accumulators)?;
        let explain = |it: &Scored| self.table.explain(self.query, it.document);
        let explanations = best.iter().map(explain).collect::<Result<Vec<_>, _>>()?;
        let explained: Vec<(Scored, ScoreParts)> = best.into_iter().zip(explanations).collect();
        let contenders = self.contenders(&explained);
        let mut near = self.table.cooccurring(self.query)?;
        let confidence = contenders.first().map_or(0.0, |(best, place)| {
            let explanation = &explained[*place].1;
            if *place > 0 || !self.forbidden.is_empty() {
                // The request may be in the domain of a skill that was set aside.
                near.retain(|(one, other)| explanation.holds(*one) || explanation.holds(*other));
            }
            self.table.confidence(self.query, best, explanation, &near)
        });
        let margin = margin(&contenders);
        let terms = self.by_terms(&explained, &contenders, confidence, margin)?;
        let (decision, ranker, mut candidates) = self.merge(keywords, terms)?;
        candidates.truncate(limit);
        let mut closest = Vec::new();
        if decision == Decision::NoMatch {
            closest = self.closest(request, &explained, &contenders)?;
            let all = candidates.iter_mut().chain(&mut closest);
            all.for_each(|candidate| candidate.below_threshold = true);
        }
        let forbidden = self.forbidden.iter().map(|id| self.catalog.skill(*id));
        let term = |place| self.query.term(place).to_owned();
        Ok(Route {
            decision,
            ranker,
            candidates,
            closest,
            forbidden: forbidden.collect::<Result<_, _>>()?,
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

    /// The number of candidates that an answer names.
    fn max_candidates(&self) -> usize {
        usize::try_from(self.settings.max_results)
            .unwrap_or(usize::MAX)
            .max(1)
    }

    fn min_confidence(&self) -> f64 {
        let set = self.settings.min_confidence;
        set.unwrap_or_else(|| min_confidence(self.catalog.count()))
    }

    /// The matches of spec 3's rule, and the best of those below its threshold.
    fn by_keywords(
        &self,
        request: &str,
        most_weak: usize,
    ) -> Result<(Found<'a>, Vec<Candidate<'a>>), Error> {
        let rated = self
            .catalog
            .rate_keywords(request, &self.settings, most_weak > 0)?;
        let rated = rated.into_iter().filter(|it| self.is_eligible(it.skill.id));
        let (rated, weak): (Vec<_>, Vec<_>) = rated.partition(|it| it.counts);
        let scores: Vec<f64> = rated.iter().map(|rated| rated.score).collect();
        let decision = decide(
            &scores,
            self.settings.ambiguity_threshold,
            self.settings.max_results,
        );
        let into_match = |rated: Rated<'a>| {
            let below = !rated.counts;
            Ok::<_, Error>(Candidate::by_keywords(rated.into_match()?, below))
        };
        let weak = weak.into_iter().take(most_weak).map(into_match);
        let weak = weak.collect::<Result<_, _>>()?;
        let candidates = rated
            .into_iter()
            .map(into_match)
            .collect::<Result<_, _>>()?;
        Ok((
            Found {
                decision,
                candidates,
            },
            weak,
        ))
    }

    /// The skills that the decision of `bm25f/1` is between, best first: those that the request is
    /// not only about what they are not for, with their [supported](RankTable::supported) scores and
    /// their places among the ranked ones.
    fn contenders(&self, explained: &[(Scored, ScoreParts)]) -> Vec<(Scored, usize)> {
        let contender = |(place, (scored, explanation)): (usize, &(Scored, ScoreParts))| {
            let supported = self.table.supported(self.query, explanation);
            let score = if scored.named {
                scored.score
            } else {
                supported.filter(|score| *score > 0)?
            };
            Some((Scored { score, ..*scored }, place))
        };
        let explained = explained.iter().enumerate();
        let mut contenders: Vec<_> = explained.filter_map(contender).collect();
        // A stable sort keeps equal scores in the order of the ranking.
        contenders.sort_by_key(|(scored, _)| Reverse(scored.score));
        contenders
    }

    fn by_terms(
        &self,
        explained: &[(Scored, ScoreParts)],
        contenders: &[(Scored, usize)],
        confidence: f64,
        margin: f64,
    ) -> Result<Found<'a>, Error> {
        let is_named = contenders.first().is_some_and(|(best, _)| best.named);
        let sure = confidence >= self.min_confidence() || is_named;
        let decision = if contenders.is_empty() || !sure {
            Decision::NoMatch
        } else if margin < self.settings.min_margin {
            Decision::Ambiguous(contenders.len().min(self.max_candidates()))
        } else {
            Decision::Match
        };
        // What is decided comes first.
        let decided = match decision {
            Decision::NoMatch => 0,
            Decision::Match => 1,
            Decision::Ambiguous(count) => count,
        };
        let first = contenders.iter().take(decided).map(|(_, place)| *place);
        let mut places: Vec<usize> = first.collect();
        let rest = (0..explained.len()).filter(|place| !places.contains(place));
        places.extend(rest.collect::<Vec<_>>());
        let candidates = places
            .into_iter()
            .map(|place| self.candidate(&explained[place]));
        Ok(Found {
            decision,
            candidates: candidates.collect::<Result<_, _>>()?,
        })
    }

    fn candidate(
        &self,
        (scored, explanation): &(Scored, ScoreParts),
    ) -> Result<Candidate<'a>, Error> {
        Ok(Candidate {
            matched: Vec::new(),
            below_threshold: false,
            ranker: NAME,
            score: self.table.weight(scored.score),
            skill: self.catalog.skill(scored.document)?,
            why: Explanation {
                named: scored.named,
                ..Explanation::of(self.table, self.query, explanation)
            },
        })
    }

    /// See [`Route::closest`]. Each ranker's skills keep their order; both are merged by the common
    /// score.
    fn closest(
        &self,
        request: &str,
        explained: &[(Scored, ScoreParts)],
        contenders: &[(Scored, usize)],
    ) -> Result<Vec<Candidate<'a>>, Error> {
        let most = self.max_candidates();
        let weak = self.by_keywords(request, most)?.1.into_iter();
        let mut weak = weak.filter(|it| it.score > 0.0).peekable();
        let mut terms = contenders.iter().peekable();
        let mut closest = Vec::new();
        while closest.len() < most {
            let by_terms = terms.peek().map(|(scored, _)| scored.score);
            let by_keywords = weak.peek().map(|it| self.common_score(it)).transpose()?;
            let next = if by_keywords > by_terms {
                weak.next()
            } else {
                let place = terms.next().map(|(_, place)| *place);
                place.map(|it| self.candidate(&explained[it])).transpose()?
            };
            let Some(next) = next else { break };
            closest.push(next);
        }
        Ok(closest)
    }

    /// See the rule at the top of this file.
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

    /// The contenders of both rankers, in the order of the scores on their common scale.
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

    /// The `bm25f/1` score of a skill, regardless of the ranker that found it.
    fn common_score(&self, candidate: &Candidate<'_>) -> Result<u32, Error> {
        Ok(self.table.explain(self.query, candidate.skill.id)?.score())
    }

    /// The rankers for the dialects in the bundle.
    fn rankers(&self) -> &'static str {
        match (self.table.trees(), self.catalog.listed_len()) {
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
}

/// The name of spec 3's ranker in answers.
const KEYWORDS: &str = "keywords";

/// The name of both rankers in answers.
const BOTH: &str = "keywords+bm25f/1";

/// The relative lead of the best score.
fn margin(contenders: &[(Scored, usize)]) -> f64 {
    match contenders {
        [] => 0.0,
        [_] => 1.0,
        [(first, _), (second, _), ..] => {
            f64::from(first.score - second.score) / f64::from(first.score.max(1))
        }
    }
}
