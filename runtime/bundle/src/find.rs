//! Finding skills: spec 3's keyword matching and spec 4's search over the
//! prepared tables, turned into skills, scores and excerpts.

use crate::catalog::Catalog;
use crate::error::{Error, corrupt};
use crate::excerpt::{excerpt, passage};
use crate::keywords::{self, CalibratedTable, KeywordMatch, KeywordTable};
use crate::route::Why;
use crate::settings::{Profile, Settings};
use crate::skill::Skill;
use crate::text::tokenize;
use crate::words::{WordTable, query_words};

/// A skill that matches a request by its declared keywords.
#[derive(Debug, Clone)]
pub struct Match<'a> {
    /// The skill.
    pub skill: Skill<'a>,
    /// Matched keywords divided by declared keywords, in the calibrated profile
    /// by the request's distinct terms where those are fewer; plus a thousandth
    /// of the priority.
    pub score: f64,
    /// The keywords that matched, in the author's order and case.
    pub matched_keywords: Vec<&'a str>,
}

/// What a search found.
#[derive(Debug, Clone)]
pub struct Hits<'a> {
    /// How many skills hold every token.
    pub total: usize,
    /// The first of them.
    pub hits: Vec<Hit<'a>>,
}

/// A skill that holds every token of a query.
#[derive(Debug, Clone)]
pub struct Hit<'a> {
    /// The skill.
    pub skill: Skill<'a>,
    /// The number of tokens that matched: all of them (spec 4).
    pub score: u32,
    /// About 160 characters around the first match.
    pub excerpt: String,
}

/// A skill that comes close to a query of which no skill holds every word.
#[derive(Debug, Clone)]
pub struct Close<'a> {
    /// The skill.
    pub skill: Skill<'a>,
    /// What `bm25f/1` scores it, in natural units of rarity.
    pub score: f64,
    /// About 160 characters of the passage that holds the most of the query.
    pub excerpt: String,
}

impl<'a> Catalog<'a> {
    /// Skills that share terms with `query`, whatever their dialect, in the
    /// order of `bm25f/1`; at most `limit` of them, with excerpts. For queries
    /// that [`Self::search`] finds nothing for.
    pub fn closest(&self, query: &str, limit: usize) -> Result<Vec<Close<'a>>, Error> {
        let close = |(skill, score, why): (u32, f64, Why)| {
            let skill = self.skill(skill)?;
            let weight = |term: &str| {
                let held = why.terms.iter().find(|held| held.term == term);
                held.map_or(0.0, |held| held.score)
            };
            let excerpt = passage(&skill.body()?, weight)
                .or_else(|| passage(skill.description, weight))
                .unwrap_or_else(|| excerpt(skill.description, &[]));
            Ok(Close {
                skill,
                score,
                excerpt,
            })
        };
        let best = self.best_and_why(query, limit)?;
        best.into_iter().map(close).collect()
    }

    /// Skills whose declared keywords match `context` (spec 3 §5), best first,
    /// ties by path; those below the content's `min_score` are left out, and
    /// priority alone never lets a skill in. Which keywords match is for the
    /// content's [`Profile`] to say.
    pub fn match_keywords(&self, context: &str) -> Result<Vec<Match<'a>>, Error> {
        let Settings {
            min_score, profile, ..
        } = self.settings()?;
        let section = self.bundle.keyword_section()?;
        let found = match profile {
            Profile::Spec => KeywordTable::open(section)?.query(&tokenize(context))?,
            Profile::Calibrated => CalibratedTable::open(section)?.query(context)?,
        };
        let mut matches = Vec::new();
        for found in found {
            let skill = self.skill(found.skill)?;
            let score = keywords::score(found.matched.len(), found.total, skill.priority);
            if keywords::passes(score, min_score) {
                let matched_keywords = declared(&skill, &found)?;
                matches.push(Match {
                    skill,
                    score,
                    matched_keywords,
                });
            }
        }
        matches.sort_by(|a, b| {
            b.score
                .total_cmp(&a.score)
                .then_with(|| a.skill.path.cmp(b.skill.path))
        });
        Ok(matches)
    }

    /// Skills whose install name, name, description and body together hold
    /// every white-space-separated token of `query`, whatever its case
    /// (spec 4), in listing order; at most `limit` of them, with excerpts.
    /// A query without tokens finds nothing.
    pub fn search(&self, query: &str, limit: usize) -> Result<Hits<'a>, Error> {
        let words = query_words(query);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if words.is_empty() {
            return Ok(Hits {
                total: 0,
                hits: Vec::new(),
            });
        }
        let table = WordTable::open(self.bundle.word_section()?, self.count())?;
        let found = table.documents_with_all(&words)?;
        let hits = found
            .iter()
            .take(limit)
            .map(|id| self.hit(*id, &words))
            .collect::<Result<_, _>>()?;
        Ok(Hits {
            total: found.len(),
            hits,
        })
    }

    fn hit(&self, id: u32, words: &[&str]) -> Result<Hit<'a>, Error> {
        let skill = self.skill(id)?;
        let score = u32::try_from(words.len()).unwrap_or(u32::MAX);
        Ok(Hit {
            skill,
            score,
            excerpt: excerpt(&skill.body()?, words),
        })
    }
}

/// The matched keywords as their author wrote them.
fn declared<'a>(skill: &Skill<'a>, found: &KeywordMatch) -> Result<Vec<&'a str>, Error> {
    const WHERE: Error = corrupt("a keyword points behind its skill's list");
    let keywords = skill.keywords()?;
    let word = |at: &u32| keywords.get(*at as usize).copied().ok_or(WHERE);
    found.matched.iter().map(word).collect()
}
