//! The keyword table against the rule itself, and against damage.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::flat::tests::damaged;
use crate::text::{lower, tokenize};

/// Spec 3 §5.2 word by word, with the decision on short words.
fn naive_matches(token: &str, keyword: &str) -> bool {
    if token.chars().count() < SHORT || keyword.chars().count() < SHORT {
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
    let bytes = build(skills).expect("small");
    KeywordTable::open(&bytes)
        .and_then(|table| table.query(tokens))
        .expect("just built")
}

/// Context token, keyword, whether they match: spec 3 §5.2, and rows of our own.
const PAIRS: &[(&str, &str, bool)] = &[
    ("react", "react", true),
    ("authentication", "auth", true),
    ("auth", "authentication", true),
    ("react", "reactjs", true),
    ("go", "golang", false),
    ("ts", "ts", true),
    // The stated reason, from both sides.
    ("js", "json", false),
    ("json", "js", false),
    ("golang", "go", false),
    // Short is counted in characters.
    ("组件", "组件库", false),
    ("组件库", "组件", false),
    ("组件库", "前端组件库", true),
    ("éé", "ééé", false),
    ("ééé", "éééé", true),
    // Case, blanks and punctuation of keywords.
    ("react", "ReactJS", true),
    ("pull", "Pull Request", true),
    ("c", "c++", false),
    ("node", "Node.js", true),
    ("pdf", " pdf ", true),
    ("pdf", "", false),
    // Equal in part is not enough.
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

/// The bytes of a small table, so that the layout cannot change unnoticed:
/// whoever changes it must give it a new magic.
#[test]
fn bytes_of_a_small_table_stay_as_they_are() {
    let bytes =
        build(&[strings(&["React", "go"]), strings(&["reactjs", "é", "go"])]).expect("small");
    // As the numbers read in memory: first byte first.
    let (numbers, _) = bytes.as_chunks();
    let hex: Vec<String> = numbers
        .iter()
        .map(|number| format!("{:08x}", u32::from_be_bytes(*number)))
        .collect();
    let golden: Vec<&str> = GOLDEN
        .iter()
        .flat_map(|(_, array)| array.split(' '))
        .collect();
    assert_eq!(hex, golden);
}

/// Each array in the order it lies in the bytes.
#[rustfmt::skip]
const GOLDEN: &[(&str, &str)] = &[
    ("magic, length", "6b776431 10010000"),
    ("counts", "02000000 04000000 04000000 03000000 08000000 08000000 05000000 10000000"),
    ("totals", "02000000 03000000"),
    ("text ends", "00000000 02000000 07000000 0e000000 10000000"),
    ("posting ends", "00000000 02000000 03000000 04000000 05000000"),
    ("parents", "ffffffff ffffffff 01000000 ffffffff"),
    ("group ends", "00000000 01000000 03000000 04000000"),
    ("slots", "00000000 ffffffff ffffffff 02000000 ffffffff ffffffff 01000000 ffffffff"),
    ("suffixes", "01000000 02000000 02000000 02000000 02000000 03000000 01000000 01000000 02000000 01000000 01000000 00000000 02000000 00000000 02000000 04000000"),
    ("postings", "00000000 01000000 01000000 02000000 00000000 00000000 01000000 00000000 01000000 01000000"),
    ("text", "676f7265 61637472 65616374 6a73c3a9"),
];

/// Words over a small alphabet, so that they often contain one another.
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
    fn damaged_tables_never_panic(
        bytes in vec(vec(word(), 0..6), 0..8).prop_map(|skills| build(&skills).expect("small")).prop_flat_map(damaged),
        tokens in vec(word(), 0..6),
    ) {
        let _ = KeywordTable::open(&bytes).and_then(|table| table.query(&tokens));
    }

    #[test]
    fn tables_open_as_built_and_not_otherwise(skills in vec(vec(word(), 0..6), 0..8), cut: Index) {
        let mut bytes = build(&skills).expect("small");
        prop_assert_eq!(bytes.len() % 16, 0);
        prop_assert_eq!(&bytes, &build(&skills).expect("small"));
        prop_assert!(KeywordTable::open(&bytes).is_ok());
        prop_assert!(KeywordTable::open(&bytes[..cut.index(bytes.len())]).is_err());
        bytes.push(0);
        prop_assert!(KeywordTable::open(&bytes).is_err());
    }
}
