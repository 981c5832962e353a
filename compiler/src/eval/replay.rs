//! Routes requests through a catalog and compares the answers with what was expected.

use std::collections::BTreeMap;

use skillbundle_format::{Catalog, Decision, Error};

use super::{Confusion, Evaluation, Failure, Outcome, Tally};

/// A request with the skills that it should and should not find.
#[derive(Debug, Clone)]
pub(super) struct EvalCase {
    pub(super) text: String,
    pub(super) file: String,
    pub(super) line: Option<usize>,
    /// Paths, one of which should be found; empty if none should. `None` if only
    /// `not` is given.
    pub(super) expected: Option<Vec<String>>,
    /// Paths that should not be found.
    pub(super) not: Vec<String>,
}

/// Routes all requests.
pub(super) fn replay(catalog: &Catalog<'_>, cases: &[EvalCase]) -> Result<Evaluation, Error> {
    let mut count = Count::default();
    for case in cases {
        let route = catalog.route(&case.text, 1)?;
        let decided = match route.decision {
            Decision::NoMatch => 0,
            Decision::Match => 1,
            Decision::Ambiguous(several) => several,
        };
        let found = route.candidates.iter().take(decided);
        let found: Vec<&str> = found.map(|candidate| candidate.skill.path).collect();
        let winner = (route.decision == Decision::Match).then(|| found.first().copied());
        count.request(case, &found, winner.flatten());
    }
    Ok(count.finish())
}

#[derive(Default)]
struct Count {
    evaluation: Evaluation,
    /// By expected skill and winner: the count and the first request.
    confused: BTreeMap<(String, String), (u32, String)>,
}

impl Count {
    /// Counts one answer: the skills found, and the winner if it was unambiguous.
    fn request(&mut self, case: &EvalCase, found: &[&str], winner: Option<&str>) {
        let positive = self.positive(case, found, winner);
        let negative = self.negative(case, winner);
        if let Some(outcome) = positive.or(negative) {
            self.evaluation.failures.push(Failure {
                request: case.text.clone(),
                file: case.file.clone(),
                line: case.line,
                outcome,
                expected: case.expected.clone().unwrap_or_default(),
                answered: found.iter().map(|&path| path.to_owned()).collect(),
            });
        }
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
