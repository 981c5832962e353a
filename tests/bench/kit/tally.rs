//! Counts of right and wrong answers, and the shares that are made of them.

use crate::labelled::{Request, Tree};
use crate::systems::{Answer, System};

pub(crate) const SMALL_TALK: &str = include_str!("../../fixtures/small-talk.txt");

/// Counts of one tree.
#[derive(Debug, Default, Clone)]
pub(crate) struct Tally {
    /// Requests for which some skill is right.
    pub(crate) asked: u32,
    pub(crate) first: u32,
    pub(crate) among_five: u32,
    reciprocal: f64,
    nothing: u32,
    /// Of `asked`, those to a system that decides; the next four count these.
    decided: u32,
    matched: u32,
    ambiguous: u32,
    pub(crate) decisive: u32,
    offered: u32,
    pub(crate) negatives: u32,
    pub(crate) false_triggers: u32,
    pub(crate) small_talk: u32,
}

/// A share of a tally; `None` if its whole is 0.
pub(crate) type Figure = fn(&Tally) -> Option<f64>;

pub(crate) const FIRST: Figure = |it| share(it.first, it.asked);
pub(crate) const AMONG_FIVE: Figure = |it| share(it.among_five, it.asked);
pub(crate) const RECIPROCAL: Figure =
    |it| (it.asked > 0).then(|| it.reciprocal / f64::from(it.asked));
pub(crate) const MATCHED: Figure = |it| share(it.matched, it.decided);
pub(crate) const AMBIGUOUS: Figure = |it| share(it.ambiguous, it.decided);
pub(crate) const NOTHING: Figure = |it| share(it.nothing, it.asked);
pub(crate) const DECISIVE: Figure = |it| share(it.decisive, it.decided);
pub(crate) const PRECISION: Figure = |it| share(it.decisive, it.matched);
pub(crate) const OFFERED: Figure = |it| share(it.offered, it.decided);

impl Tally {
    /// Counts a system's answers to the wanted requests of a tree.
    pub(crate) fn of(system: &System, tree: &Tree, wanted: impl Fn(&Request) -> bool) -> Self {
        system.with(&tree.skills, |ask| {
            let mut tally = Self::default();
            for request in tree.requests.iter().filter(|it| wanted(it)) {
                tally.answer(&tree.name, request, &ask(&request.text));
            }
            let is_match = |line: &&str| ask(line).meant == Some(1);
            tally.small_talk = count(SMALL_TALK.lines().filter(is_match).count());
            tally
        })
    }

    fn answer(&mut self, tree: &str, request: &Request, answer: &Answer) {
        let is = |paths: &[String], file: &String| paths.contains(&format!("{tree}/{file}"));
        if request.label == "pos" {
            let mut files = answer.files.iter();
            self.positive(answer, files.position(|file| is(&request.expect, file)));
        } else {
            self.negatives += 1;
            let best = answer.files.first();
            let is_wrong = best.is_some_and(|file| is(&request.not, file));
            let triggered = answer.meant == Some(1) && (request.label == "none" || is_wrong);
            self.false_triggers += u32::from(triggered);
        }
    }

    fn positive(&mut self, answer: &Answer, rank: Option<usize>) {
        self.asked += 1;
        self.first += u32::from(rank == Some(0));
        self.among_five += u32::from(rank.is_some_and(|rank| rank < 5));
        self.reciprocal += rank.map_or(0.0, |rank| 1.0 / f64::from(count(rank + 1)));
        let Some(meant) = answer.meant else {
            self.nothing += u32::from(answer.files.is_empty());
            return;
        };
        self.decided += 1;
        self.nothing += u32::from(meant == 0);
        self.matched += u32::from(meant == 1);
        self.ambiguous += u32::from(meant > 1);
        self.decisive += u32::from(meant == 1 && rank == Some(0));
        self.offered += u32::from(rank.is_some_and(|rank| rank < meant));
    }
}

/// The average over the trees that have the figure, so that a large tree does
/// not outweigh the others; `None` if no tree has it.
pub(crate) fn average(tallies: &[Tally], figure: Figure) -> Option<f64> {
    let values: Vec<f64> = tallies.iter().filter_map(figure).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / f64::from(count(values.len())))
}

pub(crate) fn share(part: u32, whole: u32) -> Option<f64> {
    (whole > 0).then(|| f64::from(part) / f64::from(whole))
}

pub(crate) fn count(number: usize) -> u32 {
    u32::try_from(number).expect("a small number")
}
