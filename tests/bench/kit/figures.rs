//! The figures of `docs/routing.md`: the systems side by side, and the goals of
//! ours. All trees are queried with the same parameters.

use std::fmt::Display;

use crate::labelled::{Request, Tree, languages, trees};
use crate::systems::{OURS, RIVALS, System};
use crate::tally::{
    AMBIGUOUS, AMONG_FIVE, DECISIVE, FIRST, Figure, MATCHED, NOTHING, OFFERED, PRECISION,
    RECIPROCAL, SMALL_TALK, Tally, average, count, share,
};

/// The columns of the table of systems.
const COLUMNS: &[(&str, Figure)] = &[
    ("acc@1", FIRST),
    ("R@5", AMONG_FIVE),
    ("MRR", RECIPROCAL),
    ("match", MATCHED),
    ("ambig.", AMBIGUOUS),
    ("none", NOTHING),
    ("right", DECISIVE),
    ("prec.", PRECISION),
];

enum Goal {
    None,
    AtLeast(f64),
    AtMost(f64),
}

/// The goals of our system.
const GOALS: &[(&str, Figure, Goal)] = &[
    ("acc@1", FIRST, Goal::AtLeast(0.80)),
    ("R@5", AMONG_FIVE, Goal::AtLeast(0.96)),
    ("MRR", RECIPROCAL, Goal::None),
    ("match", MATCHED, Goal::None),
    ("ambiguous", AMBIGUOUS, Goal::AtMost(0.20)),
    ("right and decisive", DECISIVE, Goal::AtLeast(0.68)),
    ("precision", PRECISION, Goal::AtLeast(0.88)),
    ("right one offered", OFFERED, Goal::None),
];

/// Trees with fewer skills are small. In them every word is rare, so that
/// confidence is least certain.
const SMALL: usize = 10;

/// Prints the tables, or that there is no data; returns whether every goal is met.
pub(crate) fn measure() -> bool {
    let Some(trees) = trees() else {
        println!("labelled requests: skipped; SKILLBUNDLE_ROUTING names no folder with them");
        return true;
    };
    let ours = tallies(&OURS, &trees, |_| true);
    print_trees(&trees, &ours);
    println!();
    print_systems(&trees, &ours);
    println!();
    print_goals(&ours) & print_false(&ours) & print_small(&trees)
}

fn tallies(system: &System, trees: &[Tree], wanted: impl Fn(&Request) -> bool) -> Vec<Tally> {
    let tally = |tree| Tally::of(system, tree, &wanted);
    trees.iter().map(tally).collect()
}

fn print_trees(trees: &[Tree], tallies: &[Tally]) {
    println!(
        "{:46}{:>7}{:>7}{:>7}{:>7}{:>10}{:>11}",
        "tree", "skills", "asked", "acc@1", "R@5", "decisive", "small talk"
    );
    let lines = count(SMALL_TALK.lines().count());
    for (tree, it) in trees.iter().zip(tallies) {
        println!(
            "{:46}{:>7}{:>7}{:>7}{:>7}{:>10}{:>11}",
            tree.name,
            tree.skills.skills.len(),
            it.asked,
            shown(FIRST(it), 2),
            shown(AMONG_FIVE(it), 2),
            shown(DECISIVE(it), 2),
            shown(share(it.small_talk, lines), 2),
        );
    }
}

/// Every system on all requests, then ours on those of each language.
fn print_systems(trees: &[Tree], ours: &[Tally]) {
    let names: Vec<_> = COLUMNS.iter().map(|(name, _)| name).collect();
    print_row("system, averaged over trees", "asked", &names);
    for system in RIVALS {
        print_system(system.name, &tallies(system, trees, |_| true));
    }
    print_system(OURS.name, ours);
    for language in languages(trees) {
        let tallies = tallies(&OURS, trees, |request| request.lang == language);
        print_system(&format!("{}, only {language}", OURS.name), &tallies);
    }
}

fn print_system(name: &str, tallies: &[Tally]) {
    let asked: u32 = tallies.iter().map(|it| it.asked).sum();
    let figures: Vec<_> = COLUMNS
        .iter()
        .map(|(_, figure)| shown(average(tallies, *figure), 3))
        .collect();
    print_row(name, &asked.to_string(), &figures);
}

fn print_row(name: &str, asked: &str, cells: &[impl Display]) {
    print!("{name:30}{asked:>7}");
    for cell in cells {
        print!("{cell:>8}");
    }
    println!();
}

/// Prints how well confidence separates the requests of each small tree from
/// those of other trees: how often one of its own gets more confidence than one
/// that another tree's skills are right for (AUC; a tie counts half).
fn print_small(trees: &[Tree]) -> bool {
    let mut met = true;
    for tree in trees.iter().filter(|it| it.skills.skills.len() < SMALL) {
        let (own, others): (Vec<_>, Vec<_>) = OURS.with(&tree.skills, |ask| {
            let requests = trees
                .iter()
                .flat_map(|of| of.requests.iter().map(move |it| (of, it)));
            requests
                .filter(|(_, request)| request.label == "pos")
                .map(|(of, request)| (of.name == tree.name, ask(&request.text).confidence))
                .partition(|(is_own, _)| *is_own)
        });
        let confidences = |all: Vec<(bool, f64)>| all.into_iter().map(|it| it.1).collect();
        if let Some(found) = area(confidences(own), confidences(others)) {
            let name = format!("AUC of {}", tree.name);
            met &= print_goal(&name, found, &Goal::AtLeast(0.98));
        }
    }
    met
}

/// The share of pairs of both in which the one is greater.
fn area(ones: Vec<f64>, mut others: Vec<f64>) -> Option<f64> {
    others.sort_by(f64::total_cmp);
    let (mut halves, pairs) = (0, ones.len() * others.len());
    for one in ones {
        halves += others.partition_point(|other| *other < one);
        halves += others.partition_point(|other| *other <= one);
    }
    #[expect(clippy::cast_precision_loss, reason = "some thousand requests")]
    (pairs > 0).then(|| halves as f64 / (2 * pairs) as f64)
}

fn print_goals(tallies: &[Tally]) -> bool {
    let mut met = true;
    for (name, figure, goal) in GOALS {
        let found = average(tallies, *figure).unwrap_or_default();
        met &= print_goal(name, found, goal);
    }
    met
}

fn print_false(tallies: &[Tally]) -> bool {
    let sum = |of: fn(&Tally) -> u32| tallies.iter().map(of).sum::<u32>();
    let triggers = share(sum(|it| it.false_triggers), sum(|it| it.negatives)).unwrap_or_default();
    let worst = tallies.iter().map(|it| it.small_talk).max();
    let lines = count(SMALL_TALK.lines().count());
    let talk = share(worst.unwrap_or_default(), lines).unwrap_or_default();
    print_goal("false triggers", triggers, &Goal::AtMost(0.15))
        & print_goal("small talk, worst tree", talk, &Goal::AtMost(0.05))
}

fn print_goal(name: &str, found: f64, goal: &Goal) -> bool {
    let (met, goal) = match goal {
        Goal::None => (true, String::new()),
        Goal::AtLeast(least) => (found >= *least, format!("goal at least {least:.2}")),
        Goal::AtMost(most) => (found <= *most, format!("goal at most {most:.2}")),
    };
    let verdict = match (goal.is_empty(), met) {
        (true, _) => "",
        (_, true) => ": met",
        (_, false) => ": MISSED",
    };
    println!("  {name:30}{found:7.3}   {goal}{verdict}");
    met
}

fn shown(figure: Option<f64>, decimals: usize) -> String {
    figure.map_or("-".to_owned(), |figure| format!("{figure:.decimals$}"))
}
