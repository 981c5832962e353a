//! The tables answer as the formula at the head of `ranker.rs` does, as
//! [`naive`] computes it.

use std::cmp::Reverse;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::table::tests::damaged;

mod naive;

use naive::Naive;

/// Words that share stems, names and neighbours, and some of the background.
const WORDS: &[&str] = &[
    "deploy",
    "deploying",
    "deployment",
    "canary",
    "the",
    "file",
    "files",
    "code",
    "review",
    "fill",
    "pdf",
    "forms",
    "React",
    "组件",
    "测试组件",
    "c++",
    "l'API",
    "getUser",
    "user",
    "qqqq",
    "Do not use for",
    "\"merge files\"",
    ".",
    ",",
    "—",
];

fn text(longest: usize) -> impl Strategy<Value = String> {
    vec(prop::sample::select(WORDS), 0..longest).prop_map(|words| words.join(" "))
}

fn documents() -> impl Strategy<Value = Vec<Document>> {
    let document = (
        text(4),
        vec(text(3), 0..3),
        text(12),
        text(20),
        any::<bool>(),
    )
        .prop_map(|(name, keywords, description, body, is_tree)| Document {
            path: String::new(),
            name,
            keywords,
            description,
            body,
            is_tree,
        });
    vec(document, 1..40).prop_map(|mut documents| {
        let count = documents.len();
        for (at, document) in documents.iter_mut().enumerate() {
            // Not in the order of their numbers.
            document.path = format!("{:02}", (at * 7 + 3) % count.max(1) * 40 + at);
        }
        documents
    })
}

/// The documents and scores that the tables give, best first.
fn fast(
    bytes: &[Vec<u8>; COLUMNS],
    documents: usize,
    request: &str,
    named: &[u32],
    limit: usize,
) -> Vec<(u32, u32)> {
    let documents = u32::try_from(documents).expect("few");
    let table =
        RankTable::open(bytes.each_ref().map(Vec::as_slice), documents).expect("just written");
    let (mut scratch, mut asked) = (Accumulators::default(), Query::default());
    table.read(request, &mut asked).expect("intact");
    let best = table
        .best(&asked, named, limit, |_| true, &mut scratch)
        .expect("intact");
    for scored in best.iter().filter(|scored| !scored.named) {
        let reasons = table.explain(&asked, scored.document).expect("intact");
        assert_eq!(reasons.score(), scored.score, "reasons add up to the score");
    }
    best.iter().map(|it| (it.document, it.score)).collect()
}

/// How sure the tables are that a request means the document it scores best.
fn confidence(
    bytes: &[Vec<u8>; COLUMNS],
    documents: &[Document],
    request: &str,
    named: &[u32],
) -> f64 {
    let count = u32::try_from(documents.len()).expect("few");
    let table = RankTable::open(bytes.each_ref().map(Vec::as_slice), count).expect("just written");
    let (mut scratch, mut asked) = (Accumulators::default(), Query::default());
    table.read(request, &mut asked).expect("intact");
    let best = table
        .best(&asked, named, 1, |_| true, &mut scratch)
        .expect("intact");
    let Some(best) = best.first() else { return 0.0 };
    let reasons = table.explain(&asked, best.document).expect("intact");
    let near = table.cooccurring(&asked).expect("intact");
    table.confidence(&asked, best, &reasons, &near)
}

/// Whether the filter takes two terms to be near each other, rightly or not.
fn passes(bytes: &[Vec<u8>; COLUMNS], documents: usize, one: &str, other: &str) -> bool {
    let documents = u32::try_from(documents).expect("few");
    let table =
        RankTable::open(bytes.each_ref().map(Vec::as_slice), documents).expect("just written");
    let number = |term| table.terms.find(hash(term));
    let pair = number(one).zip(number(other));
    pair.is_some_and(|pair| table.may_cooccur(pair).expect("intact"))
}

fn naive(formula: &Naive<'_>, request: &str, named: &[u32], limit: usize) -> Vec<(u32, u32)> {
    let scores = formula.scores(request);
    let greatest = scores.iter().copied().max().unwrap_or_default().max(1);
    let mut ranked: Vec<(u32, u32)> = (0..)
        .zip(scores)
        .map(|(it, score)| {
            (
                it,
                if named.contains(&it) {
                    score + greatest
                } else {
                    score
                },
            )
        })
        .filter(|(_, score)| *score > 0)
        .collect();
    ranked.sort_by_key(|(it, score)| (Reverse(*score), &formula.documents[*it as usize].path));
    ranked.truncate(limit);
    ranked
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(400), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tables_answer_as_the_formula_does(
        documents in documents(),
        requests in vec(text(9), 4),
        limit in 1..50_usize,
        named in vec(0..40_u32, 0..2),
    ) {
        let bytes = build(&documents).expect("small");
        let formula = Naive::new(&documents);
        let named: Vec<u32> = named.into_iter().filter(|it| (*it as usize) < documents.len()).collect();
        for request in &requests {
            prop_assert_eq!(
                fast(&bytes, documents.len(), request, &named, limit),
                naive(&formula, request, &named, limit),
                "{:?}", request
            );
            let expected = naive(&formula, request, &named, 1).first().map_or(0.0, |best| {
                let passes = |one: &str, other: &str| passes(&bytes, documents.len(), one, other);
                formula.confidence(request, *best, passes)
            });
            let found = confidence(&bytes, &documents, request, &named);
            prop_assert!((found - expected).abs() < 1e-9, "{:?}: {} {}", request, found, expected);
        }
    }

    #[test]
    fn damaged_tables_are_refused_or_answer_something(
        bytes in documents().prop_flat_map(|it| damaged(build(&it).expect("small"))),
        documents in 0..40_u32,
        request in text(9),
    ) {
        if let Ok(table) = RankTable::open(bytes.each_ref().map(Vec::as_slice), documents) {
            let (mut scratch, mut asked) = (Accumulators::default(), Query::default());
            if table.read(&request, &mut asked).is_ok()
                && let Ok(best) = table.best(&asked, &[0], 5, |_| true, &mut scratch)
            {
                prop_assert!(best.len() <= 5);
                for scored in best {
                    prop_assert!(scored.document < documents);
                    if let Ok(reasons) = table.explain(&asked, scored.document)
                        && let Ok(near) = table.cooccurring(&asked)
                    {
                        let confidence = table.confidence(&asked, &scored, &reasons, &near);
                        prop_assert!(confidence.is_finite());
                    }
                }
            }
        }
    }
}

fn document(name: &str, description: &str) -> Document {
    Document {
        path: name.to_owned(),
        name: name.to_owned(),
        description: description.to_owned(),
        ..Document::default()
    }
}

#[test]
fn terms_that_many_documents_hold_are_found_like_others() {
    // Some terms are in every document, some in one: rows and lists.
    let documents: Vec<Document> = (0..100)
        .map(|it| Document {
            body: format!("common word{it} {}", if it % 3 == 0 { "third" } else { "" }),
            ..document(&format!("skill-{it:02}"), "A thing about deploying")
        })
        .collect();
    let bytes = build(&documents).expect("small");
    for request in ["deploy the third word42", "common", "third", "word7 word8"] {
        assert_eq!(
            fast(&bytes, 100, request, &[], 100),
            naive(&Naive::new(&documents), request, &[], 100),
            "{request}"
        );
    }
}

/// Documents of words of which the first are in most and the last in few, so
/// that chunks differ in what they may score.
fn many(count: usize) -> Vec<Document> {
    let mut state = 7_usize;
    let mut word = || {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345) % (1 << 31);
        let place = state >> 8 & 0xff;
        format!("word{}", place * place / 1_000)
    };
    (0..count)
        .map(|at| Document {
            description: [(); 6].map(|()| word()).join(" "),
            body: [(); 10].map(|()| word()).join(" "),
            ..document(&format!("{}-{at:03}", word()), "")
        })
        .collect()
}

#[test]
fn the_few_best_are_those_of_all_scores_in_order() {
    let documents = many(700);
    let bytes = build(&documents).expect("small");
    let table = RankTable::open(bytes.each_ref().map(Vec::as_slice), 700).expect("just written");
    let (mut scratch, mut asked) = (Accumulators::default(), Query::default());
    for request in [
        "word0 word3 word60",
        "word1 word2 word40 word41",
        "word64",
        "word0",
    ] {
        table.read(request, &mut asked).expect("intact");
        let scores: Vec<(u32, u32)> = (0..700)
            .map(|it| (it, table.explain(&asked, it).expect("intact").score()))
            .filter(|(_, score)| *score > 0)
            .collect();
        for step in [1, 3, 50] {
            let accept = |it: u32| it.is_multiple_of(step);
            let mut expected = scores.clone();
            expected.retain(|(it, _)| accept(*it));
            expected.sort_by_key(|(it, score)| (Reverse(*score), &documents[*it as usize].path));
            for limit in [1, 3, 16, 17, 700] {
                let best = table.best(&asked, &[], limit, accept, &mut scratch);
                let found: Vec<_> = best
                    .expect("intact")
                    .iter()
                    .map(|it| (it.document, it.score))
                    .collect();
                let expected = &expected[..limit.min(expected.len())];
                assert_eq!(found, expected, "{request}, every {step}, {limit} of them");
            }
            let best = table.best(&asked, &[650], 3, |_| true, &mut scratch);
            let first = best.expect("intact")[0];
            let lifted = scores
                .iter()
                .map(|(_, score)| *score)
                .max()
                .unwrap_or_default();
            let own = scores
                .iter()
                .find(|(it, _)| *it == 650)
                .map_or(0, |it| it.1);
            assert_eq!(
                (first.document, first.score),
                (650, lifted + own),
                "{request}"
            );
        }
    }
}

#[test]
fn long_requests_are_read_up_to_the_limit() {
    let documents = [
        document("late", "words come late"),
        document("early", "words come early"),
    ];
    let bytes = build(&documents).expect("small");
    let filler: Vec<String> = (0..300).map(|it| format!("filler{it}")).collect();
    let request = format!("early {} late", filler.join(" "));
    let found: Vec<u32> = fast(&bytes, 2, &request, &[], 5)
        .iter()
        .map(|it| it.0)
        .collect();
    assert_eq!(found, [1]);
}

#[test]
fn a_skill_that_holds_a_long_request_word_for_word_scores_highest() {
    let words: Vec<String> = (0..400).map(|it| format!("word{it}")).collect();
    let documents = [
        document("few", "word1 word2"),
        document("all", &words.join(" ")),
    ];
    let bytes = build(&documents).expect("small");
    let found = fast(&bytes, 2, &words.join(" "), &[], 2);
    assert_eq!(found[0].0, 1);
    assert!(found[0].1 > 10 * found[1].1, "no sum wraps: {found:?}");
}

#[test]
fn no_documents_and_no_terms_are_no_trouble() {
    assert_eq!(fast(&build(&[]).expect("small"), 0, "anything", &[], 5), []);
    let bytes = build(&[document("", ""), document("a", "")]).expect("small");
    assert_eq!(fast(&bytes, 2, "anything at all", &[], 5), []);
    assert_eq!(fast(&bytes, 2, "", &[1], 5), [(1, 1)]);
}

#[test]
fn equal_scores_are_ordered_by_path() {
    let paths = ["b", "a/z", "a", "ab", "c"];
    let documents: Vec<Document> = paths
        .iter()
        .map(|path| Document {
            path: (*path).to_owned(),
            ..document("same", "fill the forms")
        })
        .collect();
    let bytes = build(&documents).expect("small");
    let order: Vec<&str> = fast(&bytes, 5, "fill a form", &[], 5)
        .iter()
        .map(|(it, _)| paths[*it as usize])
        .collect();
    assert_eq!(order, ["a", "a/z", "ab", "b", "c"]);
}
