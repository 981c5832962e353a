//! The tables answer as the formula at the head of `ranker.rs` does, computed
//! here document by document with floating point up to the rounding.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;

use super::parameters::{
    BACKGROUND_SKILLS, BODY_SHARE, FIELDS, Field, LEAST_INFORMATION, NAME_SHARE, PAIR, SATURATION,
};
use super::*;
use crate::flat::tests::damaged;
use crate::text::clauses::{clauses, is_negative, quoted};
use crate::text::terms::{Cut, Cutter};

fn terms(text: &str) -> Vec<String> {
    runs(text).concat()
}

/// The terms of a text between its breaks.
fn runs(text: &str) -> Vec<Vec<String>> {
    let mut runs = vec![Vec::new()];
    Cutter::default().cut(text, |cut| match cut {
        Cut::Term(term) => runs.last_mut().expect("never empty").push(term.to_owned()),
        Cut::Break => runs.push(Vec::new()),
    });
    runs
}

fn field(document: &Document, field: Field) -> Vec<String> {
    let described = |negative: bool| {
        let clauses = clauses(&document.description).filter(|it| is_negative(it) == negative);
        clauses.flat_map(terms).collect()
    };
    match field {
        Field::Name => terms(&document.name),
        Field::Keywords => document.keywords.iter().flat_map(|it| terms(it)).collect(),
        Field::Description => described(false),
        Field::Quoted => quoted(&document.description)
            .into_iter()
            .flat_map(terms)
            .collect(),
        Field::Negative => described(true),
        Field::Body => terms(&document.body),
    }
}

/// The formula, without tables.
struct Naive<'a> {
    documents: &'a [Document],
    fields: Vec<[Vec<String>; FIELDS.len()]>,
}

impl<'a> Naive<'a> {
    fn new(documents: &'a [Document]) -> Self {
        let read = |document| Field::ALL.map(|it| field(document, it));
        Self {
            documents,
            fields: documents.iter().map(read).collect(),
        }
    }

    fn holds(&self, document: usize, fields: Range<usize>, term: &str) -> bool {
        self.fields[document][fields]
            .iter()
            .any(|it| it.iter().any(|it| it == term))
    }

    fn information(&self, term: &str) -> f64 {
        let all = self.documents.len();
        let meta = (0..all).filter(|it| self.holds(*it, 0..5, term)).count();
        let any = (0..all).filter(|it| self.holds(*it, 0..6, term)).count();
        let holding = count(meta) + BODY_SHARE * (count(any) - count(meta));
        let p = share(term);
        let without = count(all) - holding + BACKGROUND_SKILLS * (1.0 - p) + 0.5;
        libm::log(1.0 + without / (holding + BACKGROUND_SKILLS * p + 0.5))
    }

    fn weight(&self, document: usize, term: &str) -> f64 {
        let mut frequency = 0.0;
        for at in 0..FIELDS.len() {
            let occurrences = self.fields[document][at]
                .iter()
                .filter(|it| *it == term)
                .count();
            if occurrences > 0 {
                let total: usize = self.fields.iter().map(|it| it[at].len()).sum();
                let average = count(total) / count(self.documents.len());
                let ratio = count(self.fields[document][at].len()) / average;
                let tempered = 1.0 - FIELDS[at].length + FIELDS[at].length * ratio;
                frequency += FIELDS[at].weight * count(occurrences) / tempered;
            }
        }
        self.information(term) * frequency * (SATURATION + 1.0) / (SATURATION + frequency)
    }

    fn greatest(&self) -> f64 {
        let mut greatest = 0.0_f64;
        for document in 0..self.documents.len() {
            for term in self.fields[document].iter().flatten() {
                greatest = greatest.max(self.weight(document, term));
            }
        }
        greatest
    }

    fn neighbours(&self, document: usize, pair: &[String]) -> bool {
        let document = &self.documents[document];
        let texts = [&document.name, &document.description];
        texts
            .into_iter()
            .chain(&document.keywords)
            .flat_map(|text| runs(text))
            .any(|run| run.windows(2).any(|it| it == pair))
    }

    fn scores(&self, request: &str) -> Vec<u32> {
        let asked = terms(request);
        let distinct: BTreeSet<&String> = asked.iter().collect();
        let pairs: BTreeSet<&[String]> = asked.windows(2).collect();
        let all = self.documents.len();
        let greatest = self.greatest();
        (0..all)
            .map(|document| {
                let sum: f64 = distinct
                    .iter()
                    .map(|term| self.weight(document, term))
                    .filter(|weight| *weight > 0.0)
                    .map(|weight| (weight / greatest * 255.0).round().clamp(1.0, 255.0))
                    .sum();
                let name: BTreeSet<&String> = self.fields[document][0].iter().collect();
                let of_name: f64 = name.iter().map(|term| self.information(term)).sum();
                let share: f64 = name
                    .iter()
                    .filter(|term| distinct.contains(*term))
                    .map(|term| (self.information(term) / of_name * 255.0).floor())
                    .sum();
                let factor = (NAME_SHARE * 65_536.0 / 255.0).floor();
                let by_pairs: f64 = pairs
                    .iter()
                    .filter(|pair| self.neighbours(document, pair))
                    .map(|pair| {
                        let holding =
                            count((0..all).filter(|it| self.neighbours(*it, pair)).count());
                        let rarity =
                            libm::log(1.0 + (count(all) - holding + 0.5) / (holding + 0.5));
                        (PAIR * rarity / greatest * 255.0).round().clamp(1.0, 255.0)
                    })
                    .sum();
                let by_name = ((sum + by_pairs) * share * factor / 65_536.0).floor();
                let score = sum + by_pairs + by_name;
                format!("{score}").parse().expect("a whole number")
            })
            .collect()
    }
}

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
    bytes: &[u8],
    documents: usize,
    request: &str,
    named: &[u32],
    limit: usize,
) -> Vec<(u32, u32)> {
    let documents = u32::try_from(documents).expect("few");
    let table = RankTable::open(bytes, documents).expect("just written");
    let (mut scratch, mut asked) = (Scratch::default(), Asked::default());
    table
        .ask(request, &mut scratch, &mut asked)
        .expect("intact");
    let best = table
        .best(&asked, named, limit, |_| true, &mut scratch)
        .expect("intact");
    for scored in best.iter().filter(|scored| !scored.named) {
        let reasons = table.reasons(&asked, scored.document).expect("intact");
        assert_eq!(reasons.score(), scored.score, "reasons add up to the score");
    }
    best.iter().map(|it| (it.document, it.score)).collect()
}

fn naive(documents: &[Document], request: &str, named: &[u32], limit: usize) -> Vec<(u32, u32)> {
    let scores = Naive::new(documents).scores(request);
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
    ranked.sort_by_key(|(it, score)| (Reverse(*score), &documents[*it as usize].path));
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
        let named: Vec<u32> = named.into_iter().filter(|it| (*it as usize) < documents.len()).collect();
        for request in &requests {
            prop_assert_eq!(
                fast(&bytes, documents.len(), request, &named, limit),
                naive(&documents, request, &named, limit),
                "{:?}", request
            );
        }
    }

    #[test]
    fn damaged_tables_are_refused_or_answer_something(
        bytes in documents().prop_flat_map(|it| damaged(build(&it).expect("small"))),
        documents in 0..40_u32,
        request in text(9),
    ) {
        if let Ok(table) = RankTable::open(&bytes, documents) {
            let (mut scratch, mut asked) = (Scratch::default(), Asked::default());
            if table.ask(&request, &mut scratch, &mut asked).is_ok()
                && let Ok(best) = table.best(&asked, &[0], 5, |_| true, &mut scratch)
            {
                prop_assert!(best.len() <= 5);
                for scored in best {
                    prop_assert!(scored.document < documents);
                    let _ = table.reasons(&asked, scored.document);
                    prop_assert!(table.confidence(&asked, scored.score).is_finite());
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
            naive(&documents, request, &[], 100),
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
    let table = RankTable::open(&bytes, 700).expect("just written");
    let (mut scratch, mut asked) = (Scratch::default(), Asked::default());
    for request in [
        "word0 word3 word60",
        "word1 word2 word40 word41",
        "word64",
        "word0",
    ] {
        table
            .ask(request, &mut scratch, &mut asked)
            .expect("intact");
        let scores: Vec<(u32, u32)> = (0..700)
            .map(|it| (it, table.reasons(&asked, it).expect("intact").score()))
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

#[test]
fn confidence_asks_a_short_request_for_as_much_as_a_longer_one() {
    let documents = [
        document("pdf", "Fill forms"),
        document("git", "Write commits"),
    ];
    let bytes = build(&documents).expect("small");
    let table = RankTable::open(&bytes, 2).expect("just written");
    let (mut scratch, mut asked) = (Scratch::default(), Asked::default());
    table.ask("pdf", &mut scratch, &mut asked).expect("intact");
    let best = table
        .best(&asked, &[], 1, |_| true, &mut scratch)
        .expect("intact");
    let expected = table.weight(best[0].score) / LEAST_INFORMATION.sqrt();
    let found = table.confidence(&asked, best[0].score);
    assert!((found - expected).abs() < 1e-3, "{found} {expected}");
}
