//! Matching and search answer as the specifications' formulas do, computed here
//! the slow and obvious way over random sets.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use skillbundle_format::{Bundle, Dialect, Profile, SkillEntry, SkillSet, write};

use super::random::skill_set;

/// Words that contain, equal and miss each other, short ones among them.
const WORDS: [&str; 24] = [
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
];
/// Words that the specification drops from a query.
const STOP_WORDS: [&str; 12] = [
    "a", "an", "the", "is", "of", "to", "for", "with", "le", "une", "du", "et",
];

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
        // The calibrated profile is held to its formula beside its tables.
        set.settings.profile = Profile::Spec;
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
            let found = catalog.search(&query, limit).expect("an answer");
            let (total, hits) = hits(&set, &query, limit);
            prop_assert_eq!(found.total, total, "query {:?}", query);
            let found: Vec<(String, u32)> =
                found.hits.iter().map(|h| (h.skill.path.to_owned(), h.score)).collect();
            prop_assert_eq!(found, hits, "query {:?}", query);
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
    name.trim().to_lowercase()
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
    if token.chars().count() < 3 || keyword.chars().count() < 3 {
        return token == keyword;
    }
    token.contains(&keyword) || keyword.contains(token)
}

/// Specification 4: every token must occur in install name, name, description or body.
fn hits(set: &SkillSet, query: &str, limit: usize) -> (usize, Vec<(String, u32)>) {
    let query = query.to_lowercase();
    let tokens: Vec<&str> = query.split_ascii_whitespace().collect();
    let found: Vec<&SkillEntry> = set
        .skills
        .iter()
        .filter(|skill| !tokens.is_empty() && tokens.iter().all(|t| haystack(skill).contains(t)))
        .collect();
    let score = u32::try_from(tokens.len()).expect("a few words");
    let hits = found
        .iter()
        .take(limit)
        .map(|s| (s.path.clone(), score))
        .collect();
    (found.len(), hits)
}

fn haystack(skill: &SkillEntry) -> String {
    let body = std::str::from_utf8(&skill.source[skill.body.clone()]).expect("text");
    let install_name = skill.path.rsplit('/').next().unwrap_or_default();
    [install_name, &skill.name, &skill.description, body]
        .join("\n")
        .to_lowercase()
}
