//! Says why a request failed and what to do about it, in the words of the request, from what the
//! ranker says about its own decision.

use std::collections::HashMap;

use skillbundle_format::{Audience, Candidate, Catalog, Decision, Dialect, Error, Route, Skill};
use skillbundle_search::text::Tokenizer;

use super::{EvalCase, Outcome, found};
use crate::diagnostic::{Code, Diagnostic};

/// Most words that a message lists.
const MOST_WORDS: usize = 3;

/// Most skills that a message lists.
const MOST_SKILLS: usize = 3;

/// Most characters of a request that a message quotes.
const MOST_QUOTED: usize = 48;

/// The field of text that describes nothing: it is long, and says little about when a skill is
/// meant.
const BODY: &str = "body";

/// The ranker of declared keywords.
const KEYWORDS: &str = "keywords";

/// One answer, and what is needed to explain it.
pub(crate) struct Reasons<'r, 'a> {
    catalog: &'r Catalog<'a>,
    case: &'r EvalCase,
    route: &'r Route<'a>,
    /// The skill that should have been found, if one should.
    expected: Option<Skill<'a>>,
    /// The first word of the request for each term.
    words: HashMap<String, &'r str>,
}

impl<'r, 'a> Reasons<'r, 'a> {
    /// Reads what the answer to a request is about.
    pub(crate) fn new(
        catalog: &'r Catalog<'a>,
        case: &'r EvalCase,
        route: &'r Route<'a>,
    ) -> Result<Self, Error> {
        let answered = found(route);
        let expected = case.expected.as_deref().unwrap_or_default();
        let right = expected.iter().find(|it| answered.contains(&it.as_str()));
        let expected = right.or(expected.first());
        let expected = expected.map(|path| catalog.by_path(path)).transpose()?;
        let mut words = HashMap::new();
        Tokenizer::default().positions(&case.text, |term, range| {
            let word = &case.text[range];
            words.entry(term.to_owned()).or_insert(word);
        });
        Ok(Self {
            catalog,
            case,
            route,
            expected: expected.flatten(),
            words,
        })
    }

    /// The diagnostic about a request that failed.
    pub(super) fn diagnostic(&self, outcome: Outcome) -> Result<Diagnostic, Error> {
        let request = cut(&self.case.text);
        let answered = found(self.route);
        let answer = match (self.route.decision, answered.as_slice()) {
            (Decision::Match, [won, ..]) => format!("is routed to `{won}`"),
            (_, []) => "finds no skill".to_owned(),
            (_, several) => format!("finds {}", listed(several, MOST_SKILLS)),
        };
        let is_won = self.route.decision == Decision::Match;
        let code = match outcome {
            Outcome::Offered => Code::RequestAmbiguous,
            Outcome::Missed if is_won => Code::RequestMisrouted,
            Outcome::Missed => Code::RequestMissed,
            Outcome::FalseTrigger => Code::RequestFalseTrigger,
        };
        let expected = self.expected.as_ref().map_or("", |skill| skill.path);
        let wanted = match outcome {
            Outcome::Offered => format!("; expected `{expected}` alone"),
            Outcome::Missed => format!("; expected `{expected}`"),
            Outcome::FalseTrigger if self.case.not.is_empty() => "; expected no skill".to_owned(),
            Outcome::FalseTrigger => ", which it is not for".to_owned(),
        };
        let message = format!("`{request}` {answer}{wanted}");
        let diagnostic = Diagnostic::new(code, self.case.file.as_str(), message);
        let help = format!("{}; {}", self.why()?, self.advice(outcome)?);
        Ok(diagnostic.at(self.case.span).help(help))
    }

    /// Why the answer is what it is, in one line.
    pub(crate) fn why(&self) -> Result<String, Error> {
        if let Some(skill) = self.expected.filter(is_not_ranked) {
            return Ok(format!("models are not shown `{}`", skill.path));
        }
        let (best, second) = match self.route.candidates.as_slice() {
            [best, rest @ ..] => (best, rest.first()),
            [] if self.words.is_empty() => {
                return Ok("the request has no words that count".to_owned());
            }
            [] => return Ok("no skill has a word of the request".to_owned()),
        };
        let of_expected = self.expected.map(|it| self.of(&it)).transpose()?;
        Ok(match self.route.decision {
            Decision::NoMatch => format!("{}, {}", self.of(&best.skill)?, self.confidence(best)),
            Decision::Match if best.why.named => {
                format!("the request names `{}`", best.skill.path)
            }
            Decision::Match => match of_expected {
                Some(expected) if !self.is_expected(&best.skill) => {
                    format!("{}, {expected}", self.of_candidate(best)?)
                }
                _ => format!("{}, {}", self.of_candidate(best)?, self.confidence(best)),
            },
            Decision::Ambiguous(_) => {
                let second = second.map(|it| self.of_candidate(it)).transpose()?;
                let second = second.map(|it| format!(", {it}")).unwrap_or_default();
                format!("{}{second}{}", self.of_candidate(best)?, self.lead())
            }
        })
    }

    /// What to do, in one line.
    fn advice(&self, outcome: Outcome) -> Result<String, Error> {
        let answered = found(self.route);
        let Some(expected) = &self.expected else {
            let won = answered.first().unwrap_or(&"");
            return Ok(format!(
                "say in the description of `{won}` what it is not for"
            ));
        };
        if is_not_ranked(expected) {
            return Ok("let models start it, or remove the request".to_owned());
        }
        let place = match expected.dialect {
            Dialect::Folder => "description",
            Dialect::Tree => "keywords",
        };
        if self.words.is_empty() {
            return Ok("word it as a user would".to_owned());
        }
        let lacking = self.lacking(expected)?;
        let path = expected.path;
        if !lacking.is_empty() {
            let lacking = listed(&lacking, MOST_WORDS);
            return Ok(format!("add {lacking} to the {place} of `{path}`"));
        }
        let other = answered.iter().find(|it| **it != path);
        Ok(match (outcome, other) {
            (Outcome::Offered | Outcome::Missed, Some(other)) => {
                format!("say in the description of `{other}` what it is not for")
            }
            _ => format!("say more in the {place} of `{path}` about when to use it"),
        })
    }

    fn is_expected(&self, skill: &Skill<'_>) -> bool {
        self.expected.is_some_and(|it| it.id == skill.id)
    }

    /// `` `pdf` has `merge` and `page` ``, for a skill of the answer.
    fn of_candidate(&self, candidate: &Candidate<'a>) -> Result<String, Error> {
        if candidate.ranker != KEYWORDS {
            return self.of(&candidate.skill);
        }
        let matched = self.route.matched_keywords(candidate)?;
        let keywords = listed(&matched, MOST_WORDS);
        Ok(format!(
            "`{}` has the keywords {keywords}",
            candidate.skill.path
        ))
    }

    /// `` `pdf` has `merge` and `page` ``: words of the request that describe the skill.
    fn of(&self, skill: &Skill<'a>) -> Result<String, Error> {
        let matched = self.matched(skill)?;
        let words: Vec<&str> = matched.iter().map(|(_, word)| *word).collect();
        let path = skill.path;
        Ok(match words.as_slice() {
            [] => format!("`{path}` has none of its words"),
            words => format!("`{path}` has {}", listed(words, MOST_WORDS)),
        })
    }

    /// The terms and words of the request that occur in a skill outside its body, the most
    /// telling first.
    fn matched(&self, skill: &Skill<'a>) -> Result<Vec<(String, &'r str)>, Error> {
        let mut terms = self.catalog.explain(&self.case.text, skill.id)?.terms;
        terms.retain(|it| it.fields.iter().any(|field| *field != BODY));
        // A stable sort keeps equal terms in the order of the request.
        terms.sort_by(|a, b| b.score.total_cmp(&a.score));
        let word = |term: String| {
            let word = self.words.get(&term).copied()?;
            Some((term, word))
        };
        Ok(terms.into_iter().filter_map(|it| word(it.term)).collect())
    }

    /// Words of the request that do not describe a skill: first those that describe the best one.
    fn lacking(&self, skill: &Skill<'a>) -> Result<Vec<&'r str>, Error> {
        let has = self.matched(skill)?;
        let is_lacking = |term: &str| !has.iter().any(|(known, _)| known == term);
        let mut terms = Vec::new();
        if let Some(best) = self.route.candidates.first() {
            let matched = self.matched(&best.skill)?.into_iter();
            terms.extend(matched.map(|(term, _)| term));
        }
        terms.extend(self.route.terms.iter().cloned());
        let mut lacking: Vec<&str> = Vec::new();
        for term in terms.iter().filter(|it| is_lacking(it)) {
            let word = self.words.get(term).copied();
            lacking.extend(word.filter(|word| !lacking.contains(word)));
        }
        lacking.truncate(MOST_WORDS);
        Ok(lacking)
    }

    /// What a match needs, and what the answer has.
    fn confidence(&self, best: &Candidate<'_>) -> String {
        if best.ranker == KEYWORDS {
            return format!("with a score of {:.2}", best.score);
        }
        let (has, least) = (self.route.confidence, self.route.min_confidence);
        if self.route.decision == Decision::NoMatch {
            format!("confidence {has:.2} of the {least:.2} that a match needs")
        } else {
            format!("confidence {has:.2}, and {least:.2} is enough")
        }
    }

    fn lead(&self) -> String {
        if self.route.ranker == KEYWORDS {
            return " and scores alike".to_owned();
        }
        format!(
            ": a lead of {:.0} % of the {:.0} % that a match needs",
            self.route.margin * 100.0,
            self.route.min_margin * 100.0
        )
    }
}

/// Whether no request of a model can find the skill.
fn is_not_ranked(skill: &Skill<'_>) -> bool {
    skill.is_shadowed() || skill.audience() != Audience::Everyone
}

/// Names in backticks: `` `a`, `b` and 3 more ``.
pub(crate) fn listed(names: &[&str], most: usize) -> String {
    let shown = &names[..names.len().min(most)];
    let shown: Vec<String> = shown.iter().map(|name| format!("`{name}`")).collect();
    match (names.len() - shown.len(), shown.as_slice()) {
        (0, [all @ .., last]) if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        (0, shown) => shown.join(", "),
        (more, shown) => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The beginning of a request, on one line.
pub(crate) fn cut(request: &str) -> String {
    let words: Vec<&str> = request.split_whitespace().collect();
    let line = words.join(" ");
    let mut shown: String = line.chars().take(MOST_QUOTED).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    shown
}
