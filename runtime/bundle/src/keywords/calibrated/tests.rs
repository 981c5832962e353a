//! The calibrated table and the answers from it against the rule itself, and
//! against damage.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::container::Bundle;
use crate::flat::tests::damaged;
use crate::model::{Dialect, SkillSet};
use crate::sample;
use crate::settings::{Profile, Settings};
use crate::write;

fn terms_of(text: &str) -> Vec<String> {
    terms(&mut Cutter::default(), text)
}

/// The rule word by word: which keywords of each skill match, by position.
fn naive(skills: &[Vec<String>], request: &str) -> Vec<KeywordMatch> {
    let held = terms_of(request);
    let is_matched = |keyword: &String| {
        let terms = terms_of(keyword);
        !terms.is_empty() && terms.iter().all(|term| held.contains(term))
    };
    let found = |(skill, list): (u32, &Vec<String>)| {
        let matched: Vec<u32> = (0..)
            .zip(list)
            .filter(|(_, keyword)| is_matched(keyword))
            .map(|(position, _)| position)
            .collect();
        let total = u32::try_from(list.len().min(held.len())).expect("few");
        (!matched.is_empty()).then_some(KeywordMatch {
            skill,
            matched,
            total,
        })
    };
    (0..).zip(skills).filter_map(found).collect()
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn query(skills: &[Vec<String>], request: &str) -> Vec<KeywordMatch> {
    let bytes = build(skills).expect("small");
    CalibratedTable::open(&bytes)
        .and_then(|table| table.query(request))
        .expect("just built")
}

/// Request, keyword, whether they match.
const PAIRS: &[(&str, &str, bool)] = &[
    // Stems of whole words, on both sides.
    ("fill in the forms", "form", true),
    ("a form", "Forms", true),
    ("deploying", "deployment", true),
    ("contest", "test", false),
    ("authentication", "auth", false),
    ("react", "reactjs", false),
    // Short words as well as long ones.
    ("go", "golang", false),
    ("golang", "go", false),
    ("in Go, please", "go", true),
    ("C++ and C#", "c++", true),
    ("C++ and C#", "c", false),
    // Every term of a keyword, in any order and place.
    ("review this pull request", "pull request", true),
    ("request a pull", "Pull-Requests", true),
    ("pull the image", "pull request", false),
    ("fetch the user", "fetchUser", true),
    // Accents are folded, scripts without blanks are cut in twos.
    ("déployer", "deployer", true),
    ("创建组件库", "组件", true),
    ("创建组件库", "组库", false),
    // Without terms nothing matches.
    ("the of", "the", false),
    ("the of", "", false),
    ("", "", false),
    ("pdf", "!?", false),
];

#[test]
fn keywords_match_by_the_stems_of_whole_words() {
    for (request, keyword, expected) in PAIRS {
        let found = query(&[strings(&[keyword])], request);
        assert_eq!(!found.is_empty(), *expected, "{request:?} and {keyword:?}");
    }
}

/// Per match: skill, matched positions, what they are a share of.
type Matches<'a> = &'a [(u32, &'a [u32], u32)];

#[test]
fn matched_keywords_are_a_share_of_the_fewer_of_keywords_and_terms() {
    let skills = [
        strings(&["pdf", "form", "the", "Forms", "fill form"]),
        strings(&[]),
        strings(&["form"]),
    ];
    let cases: &[(&str, Matches<'_>)] = &[
        ("form", &[(0, &[1, 3], 1), (2, &[0], 1)]),
        ("fill forms forms", &[(0, &[1, 3, 4], 2), (2, &[0], 1)]),
        ("pdf one two three four five six", &[(0, &[0], 5)]),
        ("the pdf", &[(0, &[0], 1)]),
        ("nothing", &[]),
    ];
    for (request, expected) in cases {
        let found = query(&skills, request);
        let found: Vec<_> = found
            .iter()
            .map(|it| (it.skill, &*it.matched, it.total))
            .collect();
        assert_eq!(found, *expected, "{request:?}");
    }
}

#[test]
fn nothing_matches_in_nothing() {
    assert_eq!(query(&[], "react"), []);
    assert_eq!(query(&[vec![], vec![]], "react"), []);
    assert_eq!(query(&[strings(&["react"])], ""), []);
}

/// The bytes of a small table, so that the layout cannot change unnoticed:
/// whoever changes it must give it a new magic.
#[test]
fn bytes_of_a_small_table_stay_as_they_are() {
    let bytes = build(&[
        strings(&["PDF form", "go"]),
        strings(&["forms", "the", "go"]),
    ])
    .expect("small");
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
    ("magic, length", "6b776331 c0000000"),
    ("counts", "02000000 03000000 08000000 03000000 01000000 04000000 09000000"),
    ("totals", "02000000 03000000"),
    ("posting ends", "00000000 01000000 03000000 04000000"),
    ("text ends", "00000000 04000000 06000000 09000000"),
    ("keyword ends", "00000000 01000000 02000000 03000000"),
    ("slots", "01000000 ffffffff 00000000 02000000 ffffffff ffffffff ffffffff ffffffff"),
    ("other ends", "00000000 00000000 00000000 01000000"),
    ("others", "00000000"),
    ("postings", "01000000 00000000 00000000 01000000 01000000 02000000 00000000 00000000"),
    ("text", "666f726d 676f7064 66000000 00000000"),
];

/// Words of few stems, so that keywords and requests often share them.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "(form|pdf|go|deploy|fill)(s|ing|ed|ment)?",
        2 => prop::sample::select(vec!["the", "C++", "c#", "fillForm", "é", "组件", "组件库", "l'API"])
            .prop_map(str::to_owned),
        1 => "\\PC{0,4}",
    ]
}

fn words(longest: usize) -> impl Strategy<Value = String> {
    vec(word(), 0..longest).prop_map(|words| words.join(" "))
}

fn keyword_lists(most: usize) -> impl Strategy<Value = Vec<Vec<String>>> {
    vec(vec(words(4), 0..6), 0..most)
}

/// A tree in the calibrated profile.
fn tree(skills: &[(Vec<String>, f64)], min_score: f64) -> SkillSet {
    let skill = |(at, (keywords, priority)): (usize, &(Vec<String>, f64))| {
        let mut skill = sample::skill(&format!("skill-{at:02}"), "Text\n");
        skill.dialect = Dialect::Tree;
        skill.keywords.clone_from(keywords);
        skill.priority = *priority;
        skill
    };
    SkillSet {
        settings: Settings {
            profile: Profile::Calibrated,
            min_score,
            ..Settings::default()
        },
        ..sample::set(skills.iter().enumerate().map(skill).collect())
    }
}

/// The answer by the formula: paths with scores, best first, ties by path.
fn naive_answer(set: &SkillSet, request: &str) -> Vec<(String, f64, usize)> {
    let lists: Vec<_> = set.skills.iter().map(|it| it.keywords.clone()).collect();
    let scored = |found: &KeywordMatch| {
        let skill = &set.skills[found.skill as usize];
        let matched = u32::try_from(found.matched.len()).expect("few");
        let score = f64::from(matched) / f64::from(found.total) + skill.priority * 0.001;
        (skill.path.clone(), score, found.matched.len())
    };
    let mut answer: Vec<_> = naive(&lists, request).iter().map(scored).collect();
    answer.retain(|(_, score, _)| score + 1e-9 >= set.settings.min_score);
    answer.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    answer
}

proptest! {
    #[test]
    fn the_table_finds_what_comparing_everything_finds(
        skills in keyword_lists(12),
        request in words(7),
    ) {
        prop_assert_eq!(query(&skills, &request), naive(&skills, &request));
    }

    #[test]
    fn answers_are_the_formula(
        skills in vec((vec(words(3), 0..5), prop_oneof![Just(0.0), -300.0..300.0]), 0..8),
        min_score in prop_oneof![Just(0.0), Just(0.2), 0.0..1.0],
        requests in vec(words(5), 3),
    ) {
        let set = tree(&skills, min_score);
        let bundle = Bundle::from_bytes(&write(&set).expect("consistent")).expect("intact");
        let catalog = bundle.catalog().expect("intact");
        for request in requests {
            let found: Vec<_> = catalog
                .match_keywords(&request)
                .expect("an answer")
                .iter()
                .map(|it| (it.skill.path.to_owned(), it.score, it.matched_keywords.len()))
                .collect();
            prop_assert_eq!(found, naive_answer(&set, &request), "{:?}", request);
        }
        prop_assert!(bundle.verify().is_ok());
    }

    #[test]
    fn damaged_tables_never_panic(
        bytes in keyword_lists(8).prop_map(|skills| build(&skills).expect("small")).prop_flat_map(damaged),
        request in words(7),
    ) {
        let _ = CalibratedTable::open(&bytes).and_then(|table| table.query(&request));
    }

    #[test]
    fn tables_open_as_built_and_not_otherwise(skills in keyword_lists(8), cut: Index) {
        let mut bytes = build(&skills).expect("small");
        prop_assert_eq!(bytes.len() % 16, 0);
        prop_assert_eq!(&bytes, &build(&skills).expect("small"));
        prop_assert!(CalibratedTable::open(&bytes).is_ok());
        prop_assert!(CalibratedTable::open(&bytes[..cut.index(bytes.len())]).is_err());
        bytes.push(0);
        prop_assert!(CalibratedTable::open(&bytes).is_err());
    }
}
