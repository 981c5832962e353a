//! Matching and search answer as the specifications' formulas do, computed here
//! the slow and obvious way over random sets.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;
use skillbundle_format::{
    Bundle, Catalog, Decision, Dialect, Hits, Matched, Score, Search, SkillEntry, SkillSet, write,
};

use unicode_normalization::UnicodeNormalization;

use super::random::skill_set;

/// Words that contain, equal and miss each other, short ones among them.
const WORDS: [&str; 30] = [
    "react",
    "reactjs",
    "React",
    "auth",
    "authentication",
    "oauth2",
    "go",
    "golang",
    "js",
    "json",
    "ts",
    "x",
    "ui",
    "api",
    "form",
    "platform",
    "sign-in",
    "deploy",
    "déjà",
    "cœur",
    "日本語",
    "日",
    "GO",
    "k8s",
    "合同",
    "请审查这份合同",
    "né",
    "née",
    "日本語の合同",
    "C++",
];
/// Words that the specification drops from a query.
const STOP_WORDS: [&str; 12] = [
    "a", "an", "the", "is", "of", "to", "for", "with", "le", "une", "du", "et",
];

/// Sorted, with some that only look as if they lay below others.
const PLACES: [&str; 16] = [
    "_root",
    "a",
    "a/b",
    "a/b/c",
    "ab",
    "api",
    "api/_index",
    "api/auth",
    "apiary",
    "ui",
    "ui/_index",
    "ui/a",
    "ui/react/_index",
    "ui/react/auth",
    "ui/reactive",
    "uix/ui",
];
const TAGS: [&str; 4] = ["web", "Front End", "PDF", "été"];

fn vocabulary(longest: usize) -> impl Strategy<Value = Vec<String>> {
    vec(
        prop::sample::select(WORDS.to_vec()).prop_map(str::to_owned),
        0..longest,
    )
}

/// A set whose keywords, names and texts speak the vocabulary.
fn speaking_set() -> impl Strategy<Value = SkillSet> {
    let phrases = vec((vocabulary(6), vocabulary(4), vocabulary(12)), 10);
    (skill_set(10), phrases).prop_map(|(mut set, phrases)| {
        for (skill, (keywords, description, body)) in set.skills.iter_mut().zip(phrases) {
            skill.keywords = keywords;
            skill.description = description.join(" ");
            let text = format!("---\n---\n{}\n", body.join(" "));
            skill.text_start = 0;
            skill.body = 8..text.len();
            skill.source = Arc::from(text.into_bytes());
            skill.priority = skill.priority.clamp(-300.0, 300.0);
        }
        set
    })
}

/// The same with paths, dialects and tags that can be told apart.
fn tagged_set() -> impl Strategy<Value = SkillSet> {
    let places = prop::sample::subsequence(PLACES.to_vec(), PLACES.len() / 2);
    let tags = vec(vec(prop::sample::select(TAGS.to_vec()), 0..3), 10);
    (speaking_set(), places, tags).prop_map(|(mut set, places, tags)| {
        set.skills.truncate(places.len());
        for (at, skill) in set.skills.iter_mut().enumerate() {
            places[at].clone_into(&mut skill.path);
            (skill.parent, skill.files) = (None, Vec::new());
            let tags = &tags[at];
            let frontmatter = match at % 3 {
                0 => json!({ "tags": tags }),
                1 => json!({ "keywords": tags.join(", ") }),
                _ => json!({ "metadata": { "tags": tags } }),
            };
            skill.frontmatter_json = frontmatter.to_string();
        }
        set
    })
}

type Filter = (Option<String>, Option<Dialect>, Option<String>);

fn filter() -> impl Strategy<Value = Filter> {
    let text = |texts: &[&'static str]| {
        prop::option::of(prop::sample::select(texts.to_vec()).prop_map(str::to_owned))
    };
    let branches = ["ui", "ui/", "ui/react", "a", "api", "uix", "nowhere", ""];
    let tags = ["web", "WEB", "Front End", "none", ""];
    (
        text(&branches),
        prop::option::of(prop::sample::select(Dialect::ALL.to_vec())),
        text(&tags),
    )
}

fn lets_in((path, dialect, tag): &Filter, skill: &SkillEntry) -> bool {
    let path = path.as_deref().unwrap_or_default().trim_matches('/');
    let tag = tag.as_deref().unwrap_or_default().to_lowercase();
    // Tags stand in quotes or between commas, and no tag is part of another.
    let tags = skill.frontmatter_json.to_lowercase();
    format!("{}/", skill.path).starts_with(&format!("{path}/")[usize::from(path.is_empty())..])
        && dialect.is_none_or(|dialect| skill.dialect == dialect)
        && tags.contains(&tag)
}

/// What a search without pages and filters finds of the skills that are let in.
fn whole_list(
    set: &SkillSet,
    catalog: &Catalog<'_>,
    (query, ranked): (&str, bool),
    lets_in: impl Fn(&SkillEntry) -> bool,
) -> (Matched, Vec<(String, u32)>) {
    let is_meant = |path: &str| set.skills.iter().any(|s| s.path == path && lets_in(s));
    let mut all = if ranked {
        let best = catalog.best(query, set.skills.len()).expect("an answer");
        let path = |id| catalog.skill(id).expect("a skill").path.to_owned();
        let best = best.into_iter();
        best.map(|(id, score)| (path(id), thousandths(score)))
            .collect()
    } else {
        found_by_all(catalog, query, usize::MAX)
    };
    all.retain(|(path, _)| is_meant(path));
    let matched = match ranked {
        _ if all.is_empty() => Matched::None,
        true => Matched::Ranked,
        false => Matched::All,
    };
    (matched, all)
}

fn found_by_all(catalog: &Catalog<'_>, query: &str, limit: usize) -> Vec<(String, u32)> {
    let search = Search {
        query,
        limit,
        ..Search::default()
    };
    scored(&catalog.search(&search).expect("an answer"))
}

/// Paths and scores, those of the ranker in thousandths.
fn scored(found: &Hits<'_>) -> Vec<(String, u32)> {
    let score = |score| match score {
        Score::Tokens(count) => count,
        Score::Weight(weight) => thousandths(weight),
    };
    found
        .hits
        .iter()
        .map(|hit| (hit.skill.path.to_owned(), score(hit.score)))
        .collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "scores are small and positive"
)]
fn thousandths(score: f64) -> u32 {
    (score * 1000.0).round() as u32
}

fn context() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        5 => prop::sample::select(WORDS.to_vec()),
        2 => prop::sample::select(STOP_WORDS.to_vec()),
        1 => prop::sample::select(vec!["the react", " ", "\t", "Auth!", "(json)", "go,", "«api»"]),
    ];
    vec(word, 0..7).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn keyword_matching_is_the_formula(set in speaking_set(), contexts in vec(context(), 4)) {
        let bundle = Bundle::from_bytes(&write(&set).expect("writes")).expect("opens");
        let catalog = bundle.catalog().expect("a catalog");
        for context in contexts {
            let found: Vec<(String, f64, Vec<String>)> = catalog
                .match_keywords(&context)
                .expect("an answer")
                .into_iter()
                .map(|m| {
                    let matched = m.matched_keywords.iter().map(|&k| k.to_owned()).collect();
                    (m.skill.path.to_owned(), m.score, matched)
                })
                .collect();
            prop_assert_eq!(found, matches(&set, &context), "context {:?}", context);
        }
    }

    /// Section 5.3 of specification 3: the decision, and the candidates that it names.
    #[test]
    fn routing_of_trees_is_the_formula(mut set in speaking_set(), contexts in vec(context(), 4)) {
        set.skills.iter_mut().for_each(|skill| skill.dialect = Dialect::Tree);
        let bundle = Bundle::from_bytes(&write(&set).expect("writes")).expect("opens");
        let catalog = bundle.catalog().expect("a catalog");
        for context in contexts {
            let matches = matches(&set, &context);
            let is_close = |gap: f64| gap + 1e-9 < set.settings.ambiguity_threshold;
            let expected = match matches.as_slice() {
                [] => Decision::NoMatch,
                [best, second, ..] if is_close(best.1 - second.1) => {
                    let most = set.settings.max_results.max(1) as usize;
                    Decision::Ambiguous(matches.len().min(most))
                }
                _ => Decision::Match,
            };
            let route = catalog.route(&context, 0).expect("an answer");
            prop_assert_eq!(route.decision, expected, "{:?}", context);
            let decided = match expected {
                Decision::NoMatch => 0,
                Decision::Match => 1,
                Decision::Ambiguous(count) => count,
            };
            for (found, wanted) in route.candidates.iter().zip(&matches).take(decided) {
                let keywords = route.matched_keywords(found).expect("an answer");
                let keywords: Vec<String> = keywords.into_iter().map(str::to_owned).collect();
                let found = (found.skill.path.to_owned(), found.score, keywords);
                prop_assert_eq!(&found, wanted, "{:?}", context);
            }
            prop_assert!(route.closest.len() <= set.settings.max_results.max(1) as usize);
            prop_assert!(route.closest.iter().all(|it| it.below_threshold && it.score > 0.0));
        }
    }

    #[test]
    fn search_is_the_formula(
        set in speaking_set(),
        queries in vec(vocabulary(4), 4),
        limit in 1_usize..6,
    ) {
        let bundle = Bundle::from_bytes(&write(&set).expect("writes")).expect("opens");
        let catalog = bundle.catalog().expect("a catalog");
        for query in queries {
            let query = query.join("\t ");
            let search = Search { query: &query, limit, ..Search::default() };
            let found = catalog.search(&search).expect("an answer");
            let hits = hits(&set, &query);
            prop_assert_eq!(found.matched == Matched::All, !hits.is_empty(), "query {:?}", query);
            prop_assert_eq!(found.total, hits.len(), "query {:?}", query);
            let mut all = found_by_all(&catalog, &query, usize::MAX);
            prop_assert_eq!(scored(&found), &all[..limit.min(all.len())], "query {:?}", query);
            all.sort();
            prop_assert_eq!(all, hits, "query {:?}", query);
        }
    }

    #[test]
    fn filters_and_pages_are_cuts_from_the_whole_list(
        set in tagged_set(),
        queries in vec(vocabulary(4), 3),
        filters in vec(filter(), 3),
        (page, ranked) in (1_usize..4, any::<bool>()),
    ) {
        let bundle = Bundle::from_bytes(&write(&set).expect("writes")).expect("opens");
        let catalog = bundle.catalog().expect("a catalog");
        for (query, filter) in queries.iter().map(|query| query.join(" ")).zip(&filters) {
            let (path, dialect, tag) = filter;
            let search = Search {
                query: &query,
                ranked,
                path: path.as_deref(),
                dialect: *dialect,
                tag: tag.as_deref(),
                for_model: false,
                skip: 0,
                limit: page,
            };
            let (matched, whole) = whole_list(&set, &catalog, (&query, ranked), |skill| lets_in(filter, skill));
            let mut found = Vec::new();
            for skip in (0..=whole.len()).step_by(page) {
                let hits = catalog.search(&Search { skip, ..search }).expect("an answer");
                prop_assert_eq!((hits.matched, hits.total), (matched, whole.len()), "{:?}", search);
                prop_assert!(hits.hits.len() == page.min(whole.len() - skip), "{:?}", search);
                found.extend(scored(&hits));
            }
            prop_assert_eq!(found, whole, "{:?}", search);
        }
    }

    #[test]
    fn names_are_found_in_order(set in skill_set(10)) {
        let bundle = Bundle::from_bytes(&write(&set).expect("writes")).expect("opens");
        let catalog = bundle.catalog().expect("a catalog");
        for skill in &set.skills {
            let wanted = set.skills.iter().find(|s| folded(&s.name) == folded(&skill.name));
            for typed in [skill.name.clone(), format!(" {}\n", skill.name.to_lowercase())] {
                let found = catalog.by_name(&typed).expect("an answer");
                prop_assert_eq!(found.map(|s| s.path), wanted.map(|s| s.path.as_str()));
            }
            let by_path = catalog.by_path(&skill.path).expect("an answer");
            prop_assert_eq!(by_path.map(|s| s.path), Some(skill.path.as_str()));
            let found = catalog.by_path(&skill.path).expect("an answer").expect("a skill");
            let callable = found.callable_name().expect("a name");
            let called = catalog.by_name(callable).expect("an answer").expect("a skill");
            prop_assert_eq!(called.path, skill.path.as_str(), "called by {:?}", callable);
        }
    }
}

fn folded(name: &str) -> String {
    let lower = name.trim().to_lowercase().replace('ς', "σ");
    lower.nfc().collect()
}

/// Specification 3, section 5.1.
fn tokens(context: &str) -> Vec<String> {
    let kept: String = context
        .to_lowercase()
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || c == '-' || c == '_' {
                c
            } else {
                ' '
            }
        })
        .collect();
    let mut tokens: Vec<String> = Vec::new();
    for word in kept.split_whitespace() {
        if !STOP_WORDS.contains(&word) && !tokens.iter().any(|t| t == word) {
            tokens.push(word.to_owned());
        }
    }
    tokens
}

/// Specification 3, sections 5.2 and 5.3, with the short-token rule of the design.
fn matches(set: &SkillSet, context: &str) -> Vec<(String, f64, Vec<String>)> {
    let tokens = tokens(context);
    let mut matches: Vec<(String, f64, Vec<String>)> = Vec::new();
    let trees = set.skills.iter().filter(|it| it.dialect == Dialect::Tree);
    for skill in trees {
        let keywords: Vec<String> = skill
            .keywords
            .iter()
            .filter(|k| tokens.iter().any(|t| alike(t, k)))
            .cloned()
            .collect();
        if keywords.is_empty() {
            continue;
        }
        let score = ratio(keywords.len(), skill.keywords.len()) + skill.priority * 0.001;
        if score >= set.settings.min_score {
            matches.push((skill.path.clone(), score, keywords));
        }
    }
    matches.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    matches
}

fn ratio(part: usize, whole: usize) -> f64 {
    let as_f64 = |n: usize| f64::from(u32::try_from(n).expect("a few keywords"));
    as_f64(part) / as_f64(whole)
}

fn alike(token: &str, keyword: &str) -> bool {
    let keyword = keyword.to_lowercase();
    // Decided where the specification's rule and table differ: a short token matches by equality
    // only, a short keyword too if it is ASCII.
    let is_short = |word: &str| word.chars().count() < 3;
    if is_short(token) || (is_short(&keyword) && keyword.is_ascii()) {
        return token == keyword;
    }
    token.contains(&keyword) || keyword.contains(token)
}

/// Specification 4: every token must occur in install name, name, description or body.
fn hits(set: &SkillSet, query: &str) -> Vec<(String, u32)> {
    let query = query.to_lowercase();
    let tokens: Vec<&str> = query.split_ascii_whitespace().collect();
    let score = u32::try_from(tokens.len()).expect("a few words");
    let holds = |skill: &&SkillEntry| {
        !tokens.is_empty() && tokens.iter().all(|t| haystack(skill).contains(t))
    };
    let found = set.skills.iter().filter(holds);
    let mut hits: Vec<(String, u32)> = found.map(|s| (s.path.clone(), score)).collect();
    hits.sort();
    hits
}

fn haystack(skill: &SkillEntry) -> String {
    let body = std::str::from_utf8(&skill.source[skill.body.clone()]).expect("text");
    let install_name = skill.path.rsplit('/').next().unwrap_or_default();
    [install_name, &skill.name, &skill.description, body]
        .join("\n")
        .to_lowercase()
}
