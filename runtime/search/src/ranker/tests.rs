//! Compares the tables with the formula in the documentation of `ranker.rs`, as computed by
//! [`naive`].

use std::cmp::Reverse;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::table::tests::damaged;

mod naive;

use naive::Naive;

/// Words that share stems, names and neighbours, some of them in the background corpus.
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
    "not",
    "instead.",
    "use code-review skill",
    "\"merge files\"",
    ".",
    ",",
    "—",
];

fn text(longest: usize) -> impl Strategy<Value = String> {
    vec(prop::sample::select(WORDS), 0..longest).prop_map(|words| words.join(" "))
}

fn documents() -> impl Strategy<Value = Vec<Document<'static>>> {
    let document = (
        text(4),
        vec(text(3), 0..3),
        text(12),
        text(20),
        any::<bool>(),
    )
        .prop_map(|(name, keywords, description, body, is_tree)| Document {
            path: "".into(),
            name: name.into(),
            keywords: keywords.into(),
            description: description.into(),
            body: body.into(),
            is_tree,
        });
    vec(document, 1..40).prop_map(|mut documents| {
        let count = documents.len();
        for (at, document) in documents.iter_mut().enumerate() {
            // In a different order than their numbers.
            document.path = format!("{:02}", (at * 7 + 3) % count.max(1) * 40 + at).into();
        }
        documents
    })
}

/// A table, and the documents that it was built from.
struct Built<'a> {
    documents: &'a [Document<'a>],
    columns: [Vec<u8>; COLUMNS],
}

impl<'a> Built<'a> {
    fn new(documents: &'a [Document<'a>]) -> Self {
        let columns = build(documents).expect("small");
        Self { documents, columns }
    }

    fn table(&self) -> RankTable<'_> {
        let count = u32::try_from(self.documents.len()).expect("few");
        RankTable::open(self.columns.each_ref().map(Vec::as_slice), count).expect("just built")
    }

    fn query(&self, request: &str) -> Query {
        let mut query = Query::default();
        self.table().read(request, &mut query).expect("intact");
        query
    }

    /// The best documents; checks that their explanations add up to their scores.
    fn best(&self, request: &str, named: &[u32], limit: usize) -> Vec<Scored> {
        let (table, query) = (self.table(), self.query(request));
        let best = table.best(&query, named, limit, |_| true, &mut Accumulators::default());
        let best = best.expect("intact");
        for scored in best.iter().filter(|scored| !scored.named) {
            let explanation = table.explain(&query, scored.document).expect("intact");
            assert_eq!(explanation.score(), scored.score, "{request:?}");
        }
        best
    }

    /// The numbers and scores of the best documents.
    fn scores(&self, request: &str, named: &[u32], limit: usize) -> Vec<(u32, u32)> {
        let best = self.best(request, named, limit);
        best.iter().map(|it| (it.document, it.score)).collect()
    }

    fn confidence(&self, request: &str, named: &[u32]) -> f64 {
        let (table, query) = (self.table(), self.query(request));
        let best = self.best(request, named, 1);
        let Some(best) = best.first() else { return 0.0 };
        let explanation = table.explain(&query, best.document).expect("intact");
        let cooccurring = table.cooccurring(&query).expect("intact");
        table.confidence(&query, best, &explanation, &cooccurring)
    }

    /// Whether the filter contains two terms, including false positives.
    fn passes(&self, one: &str, other: &str) -> bool {
        let table = self.table();
        let number = |term| table.terms.find(hash(term));
        let pair = number(one).zip(number(other));
        pair.is_some_and(|pair| table.may_cooccur(pair).expect("intact"))
    }
}

/// The expected result of [`Built::scores`].
fn expected(formula: &Naive<'_>, request: &str, named: &[u32], limit: usize) -> Vec<(u32, u32)> {
    let scores = formula.scores(request);
    let greatest = scores.iter().copied().max().unwrap_or_default().max(1);
    let lifted = |(it, score)| {
        (
            it,
            if named.contains(&it) {
                score + greatest
            } else {
                score
            },
        )
    };
    let mut ranked: Vec<(u32, u32)> = (0..).zip(scores).map(lifted).collect();
    ranked.retain(|(_, score)| *score > 0);
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
        let (built, formula) = (Built::new(&documents), Naive::new(&documents));
        let named: Vec<u32> = named.into_iter().filter(|it| (*it as usize) < documents.len()).collect();
        for request in &requests {
            prop_assert_eq!(
                built.scores(request, &named, limit),
                expected(&formula, request, &named, limit),
                "{:?}", request
            );
            let best = expected(&formula, request, &named, 1);
            let confidence = best.first().map_or(0.0, |best| {
                formula.confidence(request, *best, |one, other| built.passes(one, other))
            });
            let found = built.confidence(request, &named);
            prop_assert!((found - confidence).abs() < 1e-9, "{:?}: {} {}", request, found, confidence);
        }
    }

    #[test]
    fn damaged_tables_are_refused_or_answer_something(
        columns in documents().prop_flat_map(|it| damaged(build(&it).expect("small"))),
        documents in 0..40_u32,
        request in text(9),
    ) {
        if let Ok(table) = RankTable::open(columns.each_ref().map(Vec::as_slice), documents) {
            let mut query = Query::default();
            if table.read(&request, &mut query).is_ok()
                && let Ok(best) = table.best(&query, &[0], 5, |_| true, &mut Accumulators::default())
            {
                prop_assert!(best.len() <= 5);
                for scored in best {
                    prop_assert!(scored.document < documents);
                    if let Ok(explanation) = table.explain(&query, scored.document)
                        && let Ok(cooccurring) = table.cooccurring(&query)
                    {
                        let confidence = table.confidence(&query, &scored, &explanation, &cooccurring);
                        prop_assert!(confidence.is_finite());
                    }
                }
            }
        }
    }
}

fn document(name: &str, description: &str) -> Document<'static> {
    Document {
        path: name.to_owned().into(),
        name: name.to_owned().into(),
        description: description.to_owned().into(),
        ..Document::default()
    }
}

#[test]
fn terms_that_many_documents_hold_are_found_like_others() {
    // Some terms are in every document and some in only one: rows and lists.
    let documents: Vec<Document<'static>> = (0..100)
        .map(|it| Document {
            body: format!("common word{it} {}", if it % 3 == 0 { "third" } else { "" }).into(),
            ..document(&format!("skill-{it:02}"), "A thing about deploying")
        })
        .collect();
    let (built, formula) = (Built::new(&documents), Naive::new(&documents));
    for request in ["deploy the third word42", "common", "third", "word7 word8"] {
        let expected = expected(&formula, request, &[], 100);
        assert_eq!(built.scores(request, &[], 100), expected, "{request}");
    }
}

/// Documents of words: the first words are in most of them, the last words in few.
fn many(count: usize) -> Vec<Document<'static>> {
    let mut state = 7_usize;
    let mut word = || {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345) % (1 << 31);
        let place = state >> 8 & 0xff;
        format!("word{}", place * place / 1_000)
    };
    (0..count)
        .map(|at| Document {
            description: [(); 6].map(|()| word()).join(" ").into(),
            body: [(); 10].map(|()| word()).join(" ").into(),
            ..document(&format!("{}-{at:03}", word()), "")
        })
        .collect()
}

#[test]
fn the_few_best_are_those_of_all_scores_in_order() {
    let documents = many(700);
    let built = Built::new(&documents);
    let (table, mut accumulators) = (built.table(), Accumulators::default());
    for request in [
        "word0 word3 word60",
        "word1 word2 word40 word41",
        "word64",
        "word0",
    ] {
        let query = built.query(request);
        let score = |it: u32| table.explain(&query, it).expect("intact").score();
        let mut scores: Vec<(u32, u32)> = (0..700).map(|it| (it, score(it))).collect();
        scores.retain(|(_, score)| *score > 0);
        scores.sort_by_key(|(it, score)| (Reverse(*score), &documents[*it as usize].path));
        for (step, limit) in [1, 3, 50]
            .into_iter()
            .flat_map(|step| [1, 3, 16, 700].map(|limit| (step, limit)))
        {
            let accept = |it: u32| it.is_multiple_of(step);
            let best = table.best(&query, &[], limit, accept, &mut accumulators);
            let found = best
                .expect("intact")
                .into_iter()
                .map(|it| (it.document, it.score));
            let expected = scores.iter().filter(|(it, _)| accept(*it)).take(limit);
            assert!(
                found.eq(expected.copied()),
                "{request}, every {step}, {limit} of them"
            );
        }
        let first = built.best(request, &[650], 3)[0];
        let expected = (650, scores[0].1 + score(650));
        assert_eq!((first.document, first.score), expected, "{request}");
    }
}

#[test]
fn long_requests_are_read_up_to_the_limit() {
    let documents = [
        document("late", "words come late"),
        document("early", "words come early"),
    ];
    let filler: Vec<String> = (0..300).map(|it| format!("filler{it}")).collect();
    let request = format!("early {} late", filler.join(" "));
    let found = Built::new(&documents).best(&request, &[], 5);
    assert_eq!(found.iter().map(|it| it.document).collect::<Vec<_>>(), [1]);
}

#[test]
fn a_skill_that_holds_a_long_request_word_for_word_scores_highest() {
    let words: Vec<String> = (0..400).map(|it| format!("word{it}")).collect();
    let documents = [
        document("few", "word1 word2"),
        document("all", &words.join(" ")),
    ];
    let found = Built::new(&documents).best(&words.join(" "), &[], 2);
    assert_eq!(found[0].document, 1);
    assert!(
        found[0].score > 10 * found[1].score,
        "no sum wraps: {found:?}"
    );
}

#[test]
fn no_documents_and_no_terms_give_no_scores() {
    assert_eq!(Built::new(&[]).scores("anything", &[], 5), []);
    let documents = [document("", ""), document("a", "")];
    let built = Built::new(&documents);
    assert_eq!(built.scores("anything at all", &[], 5), []);
    assert_eq!(built.scores("anything at all", &[1], 0), []);
    assert_eq!(built.scores("", &[1], 5), [(1, 1)]);
}

#[test]
fn equal_scores_are_ordered_by_path() {
    let paths = ["b", "a/z", "a", "ab", "c"];
    let documents = paths.map(|path| Document {
        path: path.into(),
        ..document("same", "fill the forms")
    });
    let best = Built::new(&documents).best("fill a form", &[], 5);
    let order: Vec<&str> = best.iter().map(|it| paths[it.document as usize]).collect();
    assert_eq!(order, ["a", "a/z", "ab", "b", "c"]);
}

#[test]
fn what_a_description_excludes_supports_nothing() {
    let documents = [
        document("forms", "Fills in forms. Not for merging files or archives"),
        document("merge", "Merges files"),
    ];
    let built = Built::new(&documents);
    let supported = |request: &str, of: u32| {
        let (table, query) = (built.table(), built.query(request));
        let explanation = table.explain(&query, of).expect("intact");
        (explanation.score(), table.supported(&query, &explanation))
    };
    let (score, excluded) = supported("merge the archives", 0);
    assert!(score > 0 && excluded.is_none(), "{score}, {excluded:?}");
    let (score, rest) = supported("fill in the forms in these files", 0);
    assert!(
        rest.is_some_and(|rest| 0 < rest && rest < score),
        "{score}, {rest:?}"
    );
    let (score, all) = supported("merge the files", 1);
    assert_eq!(all, Some(score));
}
