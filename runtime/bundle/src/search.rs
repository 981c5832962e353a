//! Finding skills: spec 3's keyword matching and spec 4's search over the precomputed tables,
//! returned as skills, scores and excerpts, or, if asked for, the skills that the ranker finds
//! closest.

use std::fmt;

use serde_json::Value;
use skillbundle_search::excerpt::{excerpt, passage};
use skillbundle_search::keywords::{self, KeywordMatch};
use skillbundle_search::text::{fold, lower, tokenize};
use skillbundle_search::text_index::query_words;

use crate::catalog::Catalog;
use crate::error::{Error, corrupt};
use crate::model::{Audience, Dialect};
use crate::names::branch;
use crate::route::rounded;
use crate::settings::Settings;
use crate::skill::Skill;

/// A skill that matches a request by its declared keywords.
#[derive(Debug, Clone)]
pub struct Match<'a> {
    /// The skill.
    pub skill: Skill<'a>,
    /// Matched keywords divided by declared keywords, plus a thousandth of the
    /// priority.
    pub score: f64,
    /// The keywords that matched, in the author's order and case.
    pub matched_keywords: Vec<&'a str>,
}

/// A skill with a matched keyword.
pub(crate) struct Rated<'a> {
    pub(crate) skill: Skill<'a>,
    /// See [`Match::score`].
    pub(crate) score: f64,
    /// Whether the score reaches the content's `min_score`.
    pub(crate) counts: bool,
    found: KeywordMatch,
}

impl<'a> Rated<'a> {
    /// With the matched keywords as their author wrote them.
    pub(crate) fn into_match(self) -> Result<Match<'a>, Error> {
        Ok(Match {
            matched_keywords: declared(&self.skill, &self.found)?,
            skill: self.skill,
            score: self.score,
        })
    }
}

/// A skill that has something in common with a request.
pub(crate) struct Related {
    /// The skill's number.
    pub(crate) id: u32,
    /// As in [`crate::Candidate::score`].
    pub(crate) score: f64,
    /// The terms that they share, with the score of each.
    pub(crate) terms: Vec<(String, u32)>,
}

/// A search query and its filters. By default nothing but the query restricts the result.
#[derive(Debug, Clone, Copy, Default)]
pub struct Search<'q> {
    /// The query text.
    pub query: &'q str,
    /// Rank the skills that share a word with the query, instead of requiring every word.
    pub ranked: bool,
    /// Only skills in this branch, see [`crate::branch`].
    pub path: Option<&'q str>,
    /// Only skills of this dialect.
    pub dialect: Option<Dialect>,
    /// Only skills with this tag or keyword in their frontmatter, at the top level or under
    /// `metadata`. Compared in the same way as names.
    pub tag: Option<&'q str>,
    /// Only skills that models are shown. Otherwise those for people too.
    pub for_model: bool,
    /// The number of hits to skip.
    pub skip: usize,
    /// The maximum number of hits to return after the skipped ones.
    pub limit: usize,
}

/// The result of a search.
#[derive(Debug, Clone)]
pub struct Hits<'a> {
    /// The rule that produced the hits.
    pub matched: Matched,
    /// The total number of skills that match by this rule, including those not returned.
    pub total: usize,
    /// The requested page of hits.
    pub hits: Vec<Hit<'a>>,
}

/// The rule that produced the hits of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matched {
    /// Every hit contains every token (spec 4). Skills whose names contain them come first, then
    /// those whose descriptions do; within each, the order is that of `bm25f/1`, then of paths.
    All,
    /// The hits share a term with the query or are named in it, and are in the order of `bm25f/1`,
    /// best first.
    Ranked,
    /// Nothing was found.
    None,
}

impl Matched {
    /// The rules that a caller can choose between.
    pub const CHOICES: [Self; 2] = [Self::All, Self::Ranked];

    /// The word used on the wire: `all`, `ranked` or `none`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Ranked => "ranked",
            Self::None => "none",
        }
    }
}

/// A skill that a search found.
#[derive(Debug, Clone)]
pub struct Hit<'a> {
    /// The skill.
    pub skill: Skill<'a>,
    /// Its relevance.
    pub score: Score,
    /// About 160 characters. For a match of all tokens: the text around the first match. For a
    /// ranked skill: the passage of its body that shares most with the query, or the description if
    /// the body shares nothing.
    pub excerpt: String,
}

/// The relevance of a hit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Score {
    /// The number of tokens that matched: all of them (spec 4).
    Tokens(u32),
    /// The score of `bm25f/1`, in nats of inverse document frequency.
    Weight(f64),
}

impl Score {
    /// The value in tool results and `--json`: a count, or a weight that is [`rounded`].
    pub fn to_json(self) -> Value {
        match self {
            Self::Tokens(count) => count.into(),
            Self::Weight(weight) => rounded(weight).into(),
        }
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tokens(count) => count.fmt(f),
            Self::Weight(weight) => write!(f, "{weight:.2}"),
        }
    }
}

/// The filter of a search.
struct Among<'q> {
    branch: &'q str,
    dialect: Option<Dialect>,
    tag: String,
    /// The last audience that is found.
    audience: Audience,
}

impl<'q> Among<'q> {
    fn new(search: &Search<'q>) -> Self {
        Self {
            branch: search.path.map(branch).unwrap_or_default(),
            dialect: search.dialect,
            tag: search.tag.map(fold).unwrap_or_default(),
            audience: if search.for_model {
                Audience::Everyone
            } else {
                Audience::People
            },
        }
    }

    fn is_everything(&self) -> bool {
        self.branch.is_empty() && self.dialect.is_none() && self.tag.is_empty()
    }

    fn holds(&self, skill: &Skill<'_>) -> Result<bool, Error> {
        Ok(skill.lies_in(self.branch)
            && self.dialect.is_none_or(|dialect| skill.dialect == dialect)
            && skill.audience() <= self.audience
            && (self.tag.is_empty() || skill.labels()?.contains(&self.tag.as_str())))
    }
}

impl<'a> Catalog<'a> {
    /// Skills whose declared keywords match `context` (spec 3 §5), best first, ties by path. Skills
    /// below the content's `min_score` are left out, and priority alone never includes a skill.
    pub fn match_keywords(&self, context: &str) -> Result<Vec<Match<'a>>, Error> {
        let rated = self.rate_keywords(context, &self.settings()?, false)?;
        rated.into_iter().map(Rated::into_match).collect()
    }

    /// The matches of [`Self::match_keywords`] before the matched keywords are looked up. With
    /// `weak`, matches below the minimum score are included too.
    pub(crate) fn rate_keywords(
        &self,
        context: &str,
        settings: &Settings,
        weak: bool,
    ) -> Result<Vec<Rated<'a>>, Error> {
        let found = self.keyword_index()?.query(&tokenize(context))?;
        let mut rated = Vec::new();
        for found in found {
            let skill = self.skill(found.skill)?;
            let score = keywords::score(found.matched.len(), found.total, skill.priority);
            let counts = keywords::passes(score, settings.min_score);
            if counts || weak {
                rated.push(Rated {
                    skill,
                    score,
                    counts,
                    found,
                });
            }
        }
        rated.sort_by(|a, b| {
            b.score
                .total_cmp(&a.score)
                .then_with(|| a.skill.path.cmp(b.skill.path))
        });
        Ok(rated)
    }

    /// Skills whose install name, name, description and body together contain every
    /// white-space-separated token of the query, ignoring case (spec 4), best first; or, if asked
    /// for, [`Search::ranked`]. A query without tokens finds nothing.
    pub fn search(&self, search: &Search<'_>) -> Result<Hits<'a>, Error> {
        let among = Among::new(search);
        if search.ranked {
            return self.closest(search, &among);
        }
        let tokens = query_words(search.query);
        let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
        let found = self.holding(&tokens, &among)?;
        let end = search.skip.saturating_add(search.limit).min(found.len());
        let best = self.by_relevance(search.query, &found, end, |id| {
            Ok(tier(&self.skill(id)?, &tokens))
        })?;
        let page = best.iter().skip(search.skip);
        Ok(Hits {
            matched: if found.is_empty() {
                Matched::None
            } else {
                Matched::All
            },
            total: found.len(),
            hits: page
                .map(|id| self.hit(*id, &tokens))
                .collect::<Result<_, _>>()?,
        })
    }

    /// The skills that contain all tokens, ascending.
    fn holding(&self, tokens: &[&str], among: &Among<'_>) -> Result<Vec<u32>, Error> {
        if tokens.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.text_index()?.documents_with_all(tokens)?;
        let mut kept = Vec::with_capacity(found.len());
        for id in found {
            // A skill that everybody is shown need not be read.
            let is_sure = among.is_everything() && self.is_listed(id);
            if is_sure || among.holds(&self.skill(id)?)? {
                kept.push(id);
            }
        }
        Ok(kept)
    }

    fn hit(&self, id: u32, tokens: &[&str]) -> Result<Hit<'a>, Error> {
        let skill = self.skill(id)?;
        let count = u32::try_from(tokens.len()).unwrap_or(u32::MAX);
        Ok(Hit {
            skill,
            score: Score::Tokens(count),
            excerpt: excerpt(&skill.body()?, tokens),
        })
    }

    fn closest(&self, search: &Search<'_>, among: &Among<'_>) -> Result<Hits<'a>, Error> {
        let page = (search.skip, search.limit);
        let (total, related) = self.related(search.query, page, |id| {
            Ok(among.is_everything() || among.holds(&self.skill(id)?)?)
        })?;
        Ok(Hits {
            matched: if total > 0 {
                Matched::Ranked
            } else {
                Matched::None
            },
            total,
            hits: related
                .into_iter()
                .map(|found| self.related_hit(&found))
                .collect::<Result<_, _>>()?,
        })
    }

    fn related_hit(&self, found: &Related) -> Result<Hit<'a>, Error> {
        let skill = self.skill(found.id)?;
        let best = passage(&skill.body()?, &found.terms)
            .or_else(|| passage(skill.description, &found.terms));
        Ok(Hit {
            skill,
            score: Score::Weight(found.score),
            excerpt: best.unwrap_or_else(|| excerpt(skill.description, &[])),
        })
    }
}

/// 2 if the names of a skill contain every token, 1 if they and its description do, else 0.
fn tier(skill: &Skill<'_>, tokens: &[&str]) -> u8 {
    let names = lower(&format!("{}\n{}", skill.install_name(), skill.name));
    let description = lower(skill.description);
    let is_named = |token: &str| names.contains(token);
    let is_described = |token: &str| is_named(token) || description.contains(token);
    u8::from(tokens.iter().all(|it| is_named(it)))
        + u8::from(tokens.iter().all(|it| is_described(it)))
}

/// The matched keywords as the author wrote them.
fn declared<'a>(skill: &Skill<'a>, found: &KeywordMatch) -> Result<Vec<&'a str>, Error> {
    const WHERE: Error = corrupt("keyword index out of range");
    let keywords = skill.keywords()?;
    let word = |at: &u32| keywords.get(*at as usize).copied().ok_or(WHERE);
    found.matched.iter().map(word).collect()
}
