//! Compares the keyword index with a naive implementation, and tests damaged columns.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::table::tests::damaged;
use crate::text::{lower, tokenize};

/// A literal implementation of spec 3 §5.2, with our decision on short words.
fn naive_matches(token: &str, keyword: &str) -> bool {
    let is_short = |word: &str| word.chars().count() < SHORT;
    if is_short(token) || (is_short(keyword) && keyword.is_ascii()) {
        token == keyword
    } else {
        token.contains(keyword) || keyword.contains(token)
    }
}

fn naive(skills: &[Vec<String>], tokens: &[String]) -> Vec<KeywordMatch> {
    let is_matched = |keyword: &String| {
        tokens
            .iter()
            .any(|token| naive_matches(token, &lower(keyword)))
    };
    let matched = |keywords: &Vec<String>| -> Vec<u32> {
        (0..)
            .zip(keywords)
            .filter(|(_, keyword)| is_matched(keyword))
            .map(|(position, _)| position)
            .collect()
    };
    (0..)
        .zip(skills)
        .map(|(skill, list)| KeywordMatch {
            skill,
            matched: matched(list),
            total: u32::try_from(list.len()).expect("few"),
        })
        .filter(|found| !found.matched.is_empty())
        .collect()
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn query(skills: &[Vec<String>], tokens: &[String]) -> Vec<KeywordMatch> {
    let columns = build(skills).expect("small");
    KeywordIndex::open(columns.each_ref().map(Vec::as_slice))
        .and_then(|table| table.query(tokens))
        .expect("just built")
}

/// Context token, keyword, whether they match: the table of spec 3 §5.2, and our own cases.
const PAIRS: &[(&str, &str, bool)] = &[
    ("react", "react", true),
    ("authentication", "auth", true),
    ("auth", "authentication", true),
    ("react", "reactjs", true),
    ("go", "golang", false),
    ("ts", "ts", true),
    // The reason that the spec states, in both directions.
    ("js", "json", false),
    ("json", "js", false),
    ("golang", "go", false),
    // Short words are counted in characters.
    ("组件", "组件库", false),
    ("组件库", "组件", true),
    ("请审查这份合同", "合同", true),
    ("请审查这份合同", "同合", false),
    ("请审查这份合同", "份", true),
    ("合同", "合同审查", false),
    ("合", "合同", false),
    ("useé", "é", true),
    ("usee", "us", false),
    ("组件库", "前端组件库", true),
    ("éé", "ééé", false),
    ("ééé", "éééé", true),
    // Case, spaces and punctuation of keywords.
    ("react", "ReactJS", true),
    ("pull", "Pull Request", true),
    ("c", "c++", false),
    ("node", "Node.js", true),
    ("pdf", " pdf ", true),
    ("pdf", "", false),
    // Partial equality is not enough.
    ("ract", "react", false),
    ("test", "testing-library", true),
    ("contest", "test", true),
    ("attest", "tests", false),
];

#[test]
fn pairs_match_as_the_spec_says() {
    for (token, keyword, expected) in PAIRS {
        let found = query(&[strings(&[keyword])], &strings(&[token]));
        assert_eq!(!found.is_empty(), *expected, "{token:?} and {keyword:?}");
    }
}

#[test]
fn repeated_keywords_count_as_often_as_they_are_declared() {
    let skills = [
        strings(&["React", "form", "react"]),
        strings(&[]),
        strings(&["vue"]),
    ];
    let found = query(&skills, &strings(&["react", "react"]));
    assert_eq!(
        found,
        [KeywordMatch {
            skill: 0,
            matched: vec![0, 2],
            total: 3
        }]
    );
}

#[test]
fn a_request_goes_from_text_to_skills() {
    let skills = [
        strings(&["react", "auth", "component", "login"]),
        strings(&["api", "auth", "jwt"]),
        strings(&["golang"]),
    ];
    let found = query(
        &skills,
        &tokenize("Create a React component for the authentication in Go"),
    );
    let expected =
        [(0, vec![0, 1, 2], 4), (1, vec![1], 3)].map(|(skill, matched, total)| KeywordMatch {
            skill,
            matched,
            total,
        });
    assert_eq!(found, expected);
}

#[test]
fn nothing_matches_in_nothing() {
    assert_eq!(query(&[], &strings(&["react"])), []);
    assert_eq!(query(&[vec![], vec![]], &strings(&["react", "", "a"])), []);
    assert_eq!(query(&[strings(&["react"])], &[]), []);
}

#[test]
fn keywords_too_long_to_be_indexed_match_all_the_same() {
    let long = format!("start{}end", "x".repeat(INDEXED_MAX));
    let longer = format!("before-{long}-after");
    let skills = [
        vec![long.clone()],
        strings(&["xxx", "start"]),
        vec![longer.clone()],
    ];
    for token in [
        "start",
        "xend",
        "xxx",
        "sta",
        "st",
        "nowhere",
        &long,
        &longer,
        &long[1..],
        &longer[1..],
    ] {
        let tokens = strings(&[token]);
        assert_eq!(
            query(&skills, &tokens),
            naive(&skills, &tokens),
            "{} bytes",
            token.len()
        );
    }
}

#[test]
fn one_word_of_a_megabyte_is_answered() {
    let skills = [
        strings(&["aaa", "aaaa", "needle", "baa"]),
        strings(&["unrelated"]),
    ];
    let token = "a".repeat(1 << 19) + "needle" + &"b".repeat(1 << 19);
    let found = query(&skills, &[token]);
    assert_eq!(
        found,
        [KeywordMatch {
            skill: 0,
            matched: vec![0, 1, 2],
            total: 4
        }]
    );
}

/// The columns of a small index, to detect changes of the layout. A change requires a new version
/// of the bundle format.
#[test]
fn columns_of_a_small_index_stay_as_they_are() {
    let columns =
        build(&[strings(&["React", "go"]), strings(&["reactjs", "é", "go"])]).expect("small");
    let [numbers @ .., text] = &columns;
    for ((name, expected), column) in COLUMNS_OF_A_SMALL_INDEX.iter().zip(numbers) {
        let found: Vec<i64> = column
            .as_chunks()
            .0
            .iter()
            .map(|number| i64::from(i32::from_le_bytes(*number)))
            .collect();
        assert_eq!(found, *expected, "{name}");
    }
    assert_eq!(str::from_utf8(text), Ok("goreactreactjsé"));
}

/// Numbers by column; -1 means none.
#[rustfmt::skip]
const COLUMNS_OF_A_SMALL_INDEX: &[(&str, &[i64])] = &[
    ("totals", &[2, 3]),
    ("posting ends", &[0, 2, 3, 4, 5]),
    ("postings", &[0, 1, 1, 2, 0, 0, 1, 0, 1, 1]),
    ("text ends", &[0, 2, 7, 14, 16]),
    ("parents", &[-1, -1, 1, -1]),
    ("group ends", &[0, 1, 3, 4]),
    ("slots", &[0, -1, -1, 2, -1, -1, 1, -1]),
    ("suffixes", &[1, 2, 2, 2, 2, 3, 1, 1, 2, 1, 1, 0, 2, 0, 2, 4]),
];

/// Words over a small alphabet, so that they often contain each other.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[abAé组]{0,7}",
        2 => "(ab|ba|aab|éa|组a){1,4}",
        1 => "[a-c -]{1,6}",
        1 => Just("İΣςẞ".to_owned()),
        1 => "\\PC{0,4}",
    ]
}

proptest! {
    #[test]
    fn the_table_finds_what_comparing_everything_finds(
        skills in vec(vec(word(), 0..6), 0..12),
        tokens in vec(word().prop_map(|word| lower(&word)), 0..6),
    ) {
        prop_assert_eq!(query(&skills, &tokens), naive(&skills, &tokens));
    }

    #[test]
    fn damaged_indexes_never_panic(
        columns in vec(vec(word(), 0..6), 0..8).prop_map(|skills| build(&skills).expect("small")).prop_flat_map(damaged),
        tokens in vec(word(), 0..6),
    ) {
        let columns = columns.each_ref().map(Vec::as_slice);
        let _ = KeywordIndex::open(columns).and_then(|index| index.query(&tokens));
    }

    #[test]
    fn equal_keywords_give_equal_columns(skills in vec(vec(word(), 0..6), 0..8)) {
        prop_assert_eq!(build(&skills), build(&skills));
    }
}
