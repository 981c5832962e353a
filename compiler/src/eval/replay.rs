//! Routes requests through a catalog and compares the answers with what was expected.

use std::collections::BTreeMap;

use skillbundle_format::{Catalog, Decision, Error, Route};

use super::reasons::Reasons;
use super::{Confusion, Evaluation, Failure, Outcome, Tally, capped};
use crate::diagnostic::{Diagnostic, Span};

/// A request with the skills that it should and should not find.
#[derive(Debug, Clone)]
pub(crate) struct EvalCase {
    pub(crate) text: String,
    pub(crate) file: String,
    pub(crate) span: Option<Span>,
    pub(crate) line: Option<usize>,
    /// Paths, one of which should be found; empty if none should. `None` if only
    /// `not` is given.
    pub(crate) expected: Option<Vec<String>>,
    /// Paths that should not be found.
    pub(crate) not: Vec<String>,
}

/// Routes all requests. Returns what failed as diagnostics, too.
pub(super) fn replay(
    catalog: &Catalog<'_>,
    cases: &[EvalCase],
) -> Result<(Evaluation, Vec<Diagnostic>), Error> {
    let mut count = Count::default();
    let mut failed: Vec<Vec<Diagnostic>> = Vec::new();
    for case in cases {
        let route = catalog.route(&case.text, 1)?;
        let found = found(&route);
        let winner = (route.decision == Decision::Match).then(|| found.first().copied());
        let Some(outcome) = count.request(case, &found, winner.flatten()) else {
            continue;
        };
        let diagnostic = Reasons::new(catalog, case, &route)?.diagnostic(outcome)?;
        match failed.last_mut() {
            Some(of_file) if of_file[0].file == case.file => of_file.push(diagnostic),
            _ => failed.push(vec![diagnostic]),
        }
    }
    let more = |more| format!("{more} more requests of this file fail");
    let failed = failed.into_iter().flat_map(|it| capped(it, more));
    Ok((count.finish(), failed.collect()))
}

/// The paths of the skills in an answer: the winner, or all candidates.
pub(crate) fn found<'a>(route: &Route<'a>) -> Vec<&'a str> {
    let decided = match route.decision {
        Decision::NoMatch => 0,
        Decision::Match => 1,
        Decision::Ambiguous(several) => several,
    };
    let found = route.candidates.iter().take(decided);
    found.map(|candidate| candidate.skill.path).collect()
}

#[derive(Default)]
struct Count {
    evaluation: Evaluation,
    /// By expected skill and winner: the count and the first request.
    confused: BTreeMap<(String, String), (u32, String)>,
}

impl Count {
    /// Counts one answer: the skills found, and the winner if it was unambiguous. Returns how the
    /// request failed, if it did.
    fn request(
        &mut self,
        case: &EvalCase,
        found: &[&str],
        winner: Option<&str>,
    ) -> Option<Outcome> {
        let positive = self.positive(case, found, winner);
        let negative = self.negative(case, winner);
        let outcome = positive.or(negative);
        if let Some(outcome) = outcome {
            self.evaluation.failures.push(Failure {
                request: case.text.clone(),
                file: case.file.clone(),
                line: case.line,
                outcome,
                expected: case.expected.clone().unwrap_or_default(),
                answered: found.iter().map(|&path| path.to_owned()).collect(),
            });
        }
        outcome
    }

    /// Counts a request that should find one of several skills: for the one that was
    /// found, otherwise for the first.
    fn positive(
        &mut self,
        case: &EvalCase,
        found: &[&str],
        winner: Option<&str>,
    ) -> Option<Outcome> {
        let expected = case.expected.as_deref().unwrap_or_default();
        let right = expected.iter().find(|path| found.contains(&path.as_str()));
        let skill = right.or(expected.first())?;
        let outcome = match right {
            Some(_) if winner.is_some() => None,
            Some(_) => Some(Outcome::Offered),
            None => Some(Outcome::Missed),
        };
        for tally in self.tallies(skill) {
            tally.positives += 1;
            match outcome {
                None => tally.hits += 1,
                Some(Outcome::Offered) => tally.offered += 1,
                Some(_) => tally.misses += 1,
            }
        }
        if let (Some(Outcome::Missed), Some(winner)) = (outcome, winner) {
            let key = (skill.clone(), winner.to_owned());
            let first = || (0, case.text.clone());
            self.confused.entry(key).or_insert_with(first).0 += 1;
        }
        outcome
    }

    /// Counts a request that some skill, or any skill, should not win.
    fn negative(&mut self, case: &EvalCase, winner: Option<&str>) -> Option<Outcome> {
        let no_skill = case.expected.as_ref().is_some_and(Vec::is_empty);
        if case.not.is_empty() && !no_skill {
            return None;
        }
        let mut concerned = case.not.clone();
        if let Some(winner) = winner.filter(|_| no_skill)
            && !case.not.iter().any(|path| path == winner)
        {
            concerned.push(winner.to_owned());
        }
        for path in &concerned {
            let tally = self.skill(path);
            tally.negatives += 1;
            tally.false_triggers += u32::from(winner == Some(path));
        }
        let wrong = winner.is_some_and(|winner| concerned.iter().any(|path| path == winner));
        self.evaluation.totals.negatives += 1;
        self.evaluation.totals.false_triggers += u32::from(wrong);
        wrong.then_some(Outcome::FalseTrigger)
    }

    fn skill(&mut self, path: &str) -> &mut Tally {
        self.evaluation.skills.entry(path.to_owned()).or_default()
    }

    /// The tallies of a skill and of all skills.
    fn tallies(&mut self, path: &str) -> [&mut Tally; 2] {
        let Evaluation { totals, skills, .. } = &mut self.evaluation;
        [totals, skills.entry(path.to_owned()).or_default()]
    }

    fn finish(mut self) -> Evaluation {
        let confusions = self.confused.into_iter();
        let confusion = |((expected, won), (count, example))| Confusion {
            expected,
            won,
            count,
            example,
        };
        self.evaluation.confusions = confusions.map(confusion).collect();
        // A stable sort keeps equal counts in the order of paths.
        let by_count = |a: &Confusion, b: &Confusion| b.count.cmp(&a.count);
        self.evaluation.confusions.sort_by(by_count);
        self.evaluation
    }
}
