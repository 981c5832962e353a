//! Finding skills: spec 3's keyword matching and spec 4's search over the
//! prepared tables, turned into skills, scores and excerpts.

use crate::catalog::Catalog;
use crate::error::{Error, corrupt};
use crate::excerpt::excerpt;
use crate::keywords::{self, KeywordMatch, KeywordTable};
use crate::skill::Skill;
use crate::tokens::tokenize;
use crate::words::{WordTable, query_words};

/// A skill that matches a request by its declared keywords.
#[derive(Debug, Clone)]
pub struct Match<'a> {
    /// The skill.
    pub skill: Skill<'a>,
    /// Matched keywords divided by declared keywords, plus a thousandth of the priority.
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

impl<'a> Catalog<'a> {
    /// Skills whose declared keywords match `context` (spec 3 §5), best first,
    /// ties by path; those below the content's `min_score` are left out, and
    /// priority alone never lets a skill in.
    pub fn match_keywords(&self, context: &str) -> Result<Vec<Match<'a>>, Error> {
        let min_score = self.settings()?.min_score;
        let table = KeywordTable::open(self.bundle.keyword_section()?)?;
        let mut matches = Vec::new();
        for found in table.query(&tokenize(context))? {
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
