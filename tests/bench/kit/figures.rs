//! The figures of `docs/routing.md`: the systems side by side, and what ours
//! must reach. All trees are asked with the same parameters.

use std::fmt::Display;

use crate::apart;
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

pub(crate) enum Goal {
    None,
    AtLeast(f64),
    AtMost(f64),
}

/// What our system is measured by.
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

/// Prints the tables; whether every goal is met. Without data: says so.
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
    print_goals(&ours) & print_false(&ours) & apart::measure(&trees)
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

pub(crate) fn print_goal(name: &str, found: f64, goal: &Goal) -> bool {
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
