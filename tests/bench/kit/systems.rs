//! The rankers that are compared, all with this project's own code: the present
//! one, the present one without bodies, and the rules of the specifications.

use std::collections::BTreeSet;

use skillbundle_format::{
    Bundle, Catalog, Decision, Dialect, Matched, Search, SkillEntry, SkillSet, write,
};

/// Skills ranked after this many count as not found.
const DEPTH: usize = 25;

/// Keywords of a skill: a list of the usual length. With 8, 10, 14 or all words,
/// 0.27, 0.32, 0.24 or 0.10 of the answers are right and decisive.
const KEYWORDS: usize = 12;

/// A way to find a skill.
pub(crate) struct System {
    pub(crate) name: &'static str,
    /// Changes the skills of a tree before they are written.
    prepare: fn(&SkillSet) -> SkillSet,
    ask: fn(&Catalog<'_>, &str) -> Answer,
}

/// A system's answer to a request.
pub(crate) struct Answer {
    /// The skills' files, best first.
    pub(crate) files: Vec<String>,
    /// How many of the first the decision is about, if the system decides.
    pub(crate) meant: Option<usize>,
    /// How sure it is of the best; 0 if it does not say.
    pub(crate) confidence: f64,
}

/// What `get_skill` does.
pub(crate) const OURS: System = System {
    name: "bm25f/1",
    prepare: SkillSet::clone,
    ask: route,
};

/// The others.
pub(crate) const RIVALS: &[System] = &[
    System {
        name: "keywords of spec 3, derived",
        prepare: with_keywords,
        ask: route,
    },
    System {
        name: "all words, spec 4",
        prepare: SkillSet::clone,
        ask: search,
    },
    System {
        name: "bm25f/1 without bodies",
        prepare: without_bodies,
        ask: route,
    },
];

impl System {
    /// Writes a tree for it, and passes a function that answers to `use_it`.
    pub(crate) fn with<T>(
        &self,
        skills: &SkillSet,
        use_it: impl FnOnce(&dyn Fn(&str) -> Answer) -> T,
    ) -> T {
        let bundle = bundle(&(self.prepare)(skills));
        let catalog = bundle.catalog().expect("intact");
        use_it(&|request| (self.ask)(&catalog, request))
    }
}

fn bundle(skills: &SkillSet) -> Bundle {
    Bundle::from_bytes(&write(skills).expect("consistent")).expect("intact")
}

fn route(catalog: &Catalog<'_>, request: &str) -> Answer {
    let route = catalog.route(request, DEPTH).expect("intact");
    let ranked = route.candidates.iter().chain(&route.weak);
    Answer {
        files: ranked.map(|it| it.skill.file_path.to_owned()).collect(),
        meant: Some(match route.decision {
            Decision::NoMatch => 0,
            Decision::Match => 1,
            Decision::Ambiguous(count) => count,
        }),
        confidence: route.confidence,
    }
}

/// Spec 4 finds only skills that hold every word.
fn search(catalog: &Catalog<'_>, request: &str) -> Answer {
    let search = Search {
        query: request,
        limit: DEPTH,
        ..Search::default()
    };
    let found = catalog.search(&search).expect("intact");
    let hits = found.hits.iter().filter(|_| found.matched == Matched::All);
    Answer {
        files: hits.map(|it| it.skill.file_path.to_owned()).collect(),
        meant: None,
        confidence: 0.0,
    }
}

fn without_bodies(skills: &SkillSet) -> SkillSet {
    each(skills, |skill| skill.body.start = skill.body.end)
}

/// As skills of the tree dialect, which are found by keywords: the first
/// distinct words of name and description.
fn with_keywords(skills: &SkillSet) -> SkillSet {
    let bundle = bundle(skills);
    let catalog = bundle.catalog().expect("intact");
    each(skills, |skill| {
        skill.dialect = Dialect::Tree;
        skill.keywords = words(&catalog, &format!("{} {}", skill.name, skill.description));
    })
}

fn each(skills: &SkillSet, change: impl FnMut(&mut SkillEntry)) -> SkillSet {
    let mut skills = skills.clone();
    skills.skills.iter_mut().for_each(change);
    skills
}

fn words(catalog: &Catalog<'_>, text: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    text.to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| has_subject(catalog, word) && seen.insert((*word).to_owned()))
        .take(KEYWORDS)
        .map(str::to_owned)
        .collect()
}

/// Whether it is not a stop word.
fn has_subject(catalog: &Catalog<'_>, word: &str) -> bool {
    !catalog.route(word, 0).expect("intact").terms.is_empty()
}
