//! Labelled requests to real trees, where they are at hand: the figures of
//! `docs/routing.md`. All trees are asked with the same parameters; a figure is
//! the average over trees, so that no large tree speaks for the others.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use skillbundle_compiler::{Options, Root, compile};
use skillbundle_format::{Bundle, Decision, Route, write};

const SMALL_TALK: &str = include_str!("../../fixtures/small-talk.txt");

/// A labelled request.
#[derive(Debug, serde::Deserialize)]
struct Pair {
    q: String,
    label: String,
    repo: String,
    #[serde(default)]
    expect: Vec<String>,
    #[serde(default)]
    not: Vec<String>,
}

/// Counts of one tree.
#[derive(Debug, Default, Clone)]
struct Tally {
    asked: u32,
    first: u32,
    among_five: u32,
    reciprocal: f64,
    matched: u32,
    ambiguous: u32,
    decisive: u32,
    offered: u32,
    negatives: u32,
    false_triggers: u32,
    small_talk: u32,
    skills: usize,
}

/// A figure of a tree.
type Figure = (&'static str, fn(&Tally) -> Option<f64>, Goal);

enum Goal {
    None,
    AtLeast(f64),
    AtMost(f64),
}

/// Averaged over trees that have the figure.
const FIGURES: &[Figure] = &[
    ("acc@1", |it| share(it.first, it.asked), Goal::AtLeast(0.80)),
    (
        "R@5",
        |it| share(it.among_five, it.asked),
        Goal::AtLeast(0.96),
    ),
    (
        "MRR",
        |it| (it.asked > 0).then(|| it.reciprocal / f64::from(it.asked)),
        Goal::None,
    ),
    ("match", |it| share(it.matched, it.asked), Goal::None),
    (
        "ambiguous",
        |it| share(it.ambiguous, it.asked),
        Goal::AtMost(0.20),
    ),
    (
        "right and decisive",
        |it| share(it.decisive, it.asked),
        Goal::AtLeast(0.68),
    ),
    (
        "precision",
        |it| share(it.decisive, it.matched),
        Goal::AtLeast(0.88),
    ),
    (
        "right one offered",
        |it| share(it.offered, it.asked),
        Goal::None,
    ),
];

/// Prints the table; whether every goal is met. Without data: says so.
pub(crate) fn measure() -> bool {
    let Some(dir) = std::env::var_os("SKILLBUNDLE_ROUTING").map(PathBuf::from) else {
        println!("labelled requests: skipped; SKILLBUNDLE_ROUTING names no folder with them");
        return true;
    };
    let pairs = read_pairs(&dir);
    let mut tallies = BTreeMap::new();
    for tree in trees(&dir) {
        let name = tree
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let own: Vec<&Pair> = pairs.iter().filter(|pair| pair.repo == name).collect();
        tallies.insert(name, tally(&tree, &own));
    }
    print_trees(&tallies);
    let figures = print_figures(&tallies);
    figures & print_false(&tallies)
}

fn read_pairs(dir: &Path) -> Vec<Pair> {
    let text = std::fs::read_to_string(dir.join("dev-pairs.jsonl")).expect("requests can be read");
    let pair = |line: &str| serde_json::from_str(line).expect("a labelled request");
    text.lines().map(pair).collect()
}

fn trees(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir.join("trees")).expect("trees can be listed");
    let mut trees: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a tree can be listed").path())
        .collect();
    trees.sort();
    trees
}

fn tally(tree: &Path, pairs: &[&Pair]) -> Tally {
    let compiled = compile(&[Root::project(tree)], &Options::default()).expect("trees can be read");
    let bundle = Bundle::from_bytes(&write(&compiled.set).expect("consistent")).expect("intact");
    let catalog = bundle.catalog().expect("intact");
    let route = |request: &str| catalog.route(request, 5).expect("intact");
    let mut tally = Tally {
        skills: catalog.len(),
        ..Tally::default()
    };
    let tree = tree.file_name().unwrap_or_default().to_string_lossy();
    for pair in pairs {
        let route = route(&pair.q);
        let is = |paths: &[String], at: usize| {
            let file = route
                .candidates
                .get(at)
                .map(|it| format!("{tree}/{}", it.skill.file_path));
            file.is_some_and(|file| paths.contains(&file))
        };
        if pair.label == "pos" {
            let rank = (0..route.candidates.len()).find(|at| is(&pair.expect, *at));
            tally.positive(&route, rank);
        } else {
            tally.negatives += 1;
            let wrong = pair.label == "none" || is(&pair.not, 0);
            tally.false_triggers += u32::from(wrong && route.decision == Decision::Match);
        }
    }
    let matches = |line: &&str| route(line).decision == Decision::Match;
    tally.small_talk = count(SMALL_TALK.lines().filter(matches).count());
    tally
}

impl Tally {
    fn positive(&mut self, route: &Route<'_>, rank: Option<usize>) {
        self.asked += 1;
        self.first += u32::from(rank == Some(0));
        self.among_five += u32::from(rank.is_some_and(|rank| rank < 5));
        self.reciprocal += rank.map_or(0.0, |rank| 1.0 / f64::from(count(rank + 1)));
        let named = match route.decision {
            Decision::NoMatch => 0,
            Decision::Match => 1,
            Decision::Ambiguous(named) => named,
        };
        self.matched += u32::from(named == 1);
        self.ambiguous += u32::from(named > 1);
        self.decisive += u32::from(named == 1 && rank == Some(0));
        self.offered += u32::from(rank.is_some_and(|rank| rank < named));
    }
}

fn print_trees(tallies: &BTreeMap<String, Tally>) {
    println!(
        "{:46}{:>7}{:>7}{:>7}{:>7}{:>10}{:>11}",
        "tree", "skills", "asked", "acc@1", "R@5", "decisive", "small talk"
    );
    for (name, it) in tallies {
        let shown =
            |figure: Option<f64>| figure.map_or("-".to_owned(), |figure| format!("{figure:.2}"));
        println!(
            "{name:46}{:>7}{:>7}{:>7}{:>7}{:>10}{:>11}",
            it.skills,
            it.asked,
            shown(share(it.first, it.asked)),
            shown(share(it.among_five, it.asked)),
            shown(share(it.decisive, it.asked)),
            shown(share(it.small_talk, count(SMALL_TALK.lines().count()))),
        );
    }
}

fn print_figures(tallies: &BTreeMap<String, Tally>) -> bool {
    let mut met = true;
    for (name, figure, goal) in FIGURES {
        let values: Vec<f64> = tallies.values().filter_map(figure).collect();
        let average = values.iter().sum::<f64>() / f64::from(count(values.len()).max(1));
        met &= print_goal(name, average, goal);
    }
    met
}

fn print_false(tallies: &BTreeMap<String, Tally>) -> bool {
    let sum = |of: fn(&Tally) -> u32| tallies.values().map(of).sum::<u32>();
    let share_of_negatives = share(sum(|it| it.false_triggers), sum(|it| it.negatives));
    let worst = tallies
        .values()
        .map(|it| it.small_talk)
        .max()
        .unwrap_or_default();
    let talk = share(worst, count(SMALL_TALK.lines().count()));
    print_goal(
        "false triggers",
        share_of_negatives.unwrap_or_default(),
        &Goal::AtMost(0.15),
    ) & print_goal(
        "small talk, worst tree",
        talk.unwrap_or_default(),
        &Goal::AtMost(0.05),
    )
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
    println!("  {name:24}{found:7.3}   {goal}{verdict}");
    met
}

fn share(part: u32, whole: u32) -> Option<f64> {
    (whole > 0).then(|| f64::from(part) / f64::from(whole))
}

fn count(number: usize) -> u32 {
    u32::try_from(number).expect("a small number")
}
