//! Compares the text index with a search of every text, and tests damaged columns.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::table::tests::damaged;

type Texts = [String; 4];

fn documents(texts: &[Texts]) -> Vec<DocText<'_>> {
    texts
        .iter()
        .map(|[install_name, name, description, body]| DocText {
            install_name,
            name,
            description,
            body,
        })
        .collect()
}

fn built(texts: &[Texts]) -> [Vec<u8>; COLUMNS] {
    build(&documents(texts)).expect("small")
}

/// A literal implementation of spec 4.
fn naive(texts: &[Texts], words: &[String]) -> Vec<u32> {
    let holds_all = |text: &Texts| {
        let text = lower(&text.join("\n"));
        words.iter().all(|word| text.contains(word.as_str()))
    };
    (0..)
        .zip(texts)
        .filter(|(_, text)| holds_all(text))
        .map(|(id, _)| id)
        .collect()
}

fn search(texts: &[Texts], query: &str) -> Vec<u32> {
    search_in(&built(texts), texts.len(), query).expect("just built")
}

fn search_in(
    columns: &[Vec<u8>; COLUMNS],
    documents: usize,
    query: &str,
) -> Result<Vec<u32>, Error> {
    let words = query_words(query);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let documents = u32::try_from(documents).expect("few");
    TextIndex::open(columns.each_ref().map(Vec::as_slice), documents)?.documents_with_all(&words)
}

fn texts(rows: &[[&str; 4]]) -> Vec<Texts> {
    rows.iter().map(|row| row.map(str::to_owned)).collect()
}

/// Install name, name, description, body.
const SHELF: &[[&str; 4]] = &[
    [
        "pdf-tools",
        "PDF tools",
        "Fill forms.",
        "# Steps\n\n1. Open `form.pdf`\r\n\x0c2. bd ready\n",
    ],
    [
        "deploy",
        "deploy",
        "Deploy to Kubernetes",
        "kubectl apply -f form.yaml; bd\u{a0}ready",
    ],
    ["greek", "ΟΔΟΣ", "Ο δρόμος", "İstanbul Straße ẞ"],
    ["empty", "", "", ""],
];

/// Query, and the documents of the shelf that it finds.
const QUERIES: &[(&str, &[u32])] = &[
    ("pdf", &[0]),
    ("PDF", &[0]),
    ("form", &[0, 1]),
    ("form pdf", &[0]),
    ("form pdf kube", &[]),
    ("form.pdf", &[0]),
    ("orm", &[0, 1]),
    // White space separates words, on every line and in every part.
    ("bd ready", &[0, 1]),
    ("bd\u{a0}ready", &[1]),
    ("toolsfill", &[]),
    ("pdf-toolspdf", &[]),
    ("steps1.", &[]),
    // Texts and queries are lower-cased in the same way.
    ("οδος", &[2]),
    ("ΟΔΟΣ δρόμοσ", &[2]),
    ("İstanbul", &[2]),
    ("straße ß", &[2]),
    // All documents, no documents, and letters that many words contain.
    ("", &[0, 1, 2, 3]),
    (" \t\r\n\x0c", &[0, 1, 2, 3]),
    ("e", &[0, 1, 2, 3]),
    ("nowhere", &[]),
    ("form form", &[0, 1]),
];

#[test]
fn queries_find_the_documents_that_hold_all_their_words() {
    let shelf = texts(SHELF);
    for (query, expected) in QUERIES {
        assert_eq!(search(&shelf, query), *expected, "{query:?}");
        assert_eq!(
            naive(&shelf, &query_words(query)),
            *expected,
            "{query:?} without a table"
        );
    }
}

#[test]
fn no_documents_give_none() {
    assert!(search(&[], "pdf").is_empty());
    assert!(search(&[], "").is_empty());
}

#[test]
fn words_of_any_length_are_exact() {
    let long = "QUJD".repeat(20_000);
    let shelf = [
        ["a", "b", "c", &format!("data:{long}= x")].map(str::to_owned),
        ["d", "e", "f", "QUJ"].map(str::to_owned),
    ];
    assert_eq!(search(&shelf, &long), [0]);
    assert!(search(&shelf, &format!("{long}Q")).is_empty());
    assert_eq!(search(&shelf, "quj"), [0, 1]);
}

#[test]
fn hundreds_of_documents_are_told_apart() {
    let shelf: Vec<Texts> = (0..300)
        .map(|i| {
            [
                format!("skill-{i}"),
                "all".to_owned(),
                format!("mod{} common", i % 7),
                "once".repeat(i % 3),
            ]
        })
        .collect();
    for query in [
        "skill-29",
        "mod3",
        "common",
        "all mod3 once",
        "onceonce mod6",
        "skill-1 mod1",
        "7",
    ] {
        assert_eq!(
            search(&shelf, query),
            naive(&shelf, &query_words(query)),
            "{query:?}"
        );
    }
}

/// The columns of a small index, to detect changes of the layout. A change requires a new version
/// of the bundle format.
#[test]
fn columns_of_a_small_index_stay_as_they_are() {
    let columns = built(&texts(&[["a", "A b", "", "c"], ["d", "b", "", ""]]));
    let expected = [
        crate::table::numbers([0, 2, 6, 8]),
        crate::table::numbers([0, 1, 2, 3]),
        b"b\na\nc\nd\n".to_vec(),
        vec![3, 1, 2],
    ];
    assert_eq!(columns, expected);
}

/// Short texts over a small alphabet, so that words often contain each other.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => select(&["foo", "bar", "oof", "a", "b", "é", "-"][..]).prop_map(str::to_owned),
        4 => select(&[" ", "\n", "\t", "\u{a0}", "Ο", "Σ", "ς", "İ"][..]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    vec(piece, 0..7).prop_map(|pieces| pieces.concat())
}

/// Sometimes more than eight documents: up to eight always result in bitmaps.
fn shelf() -> impl Strategy<Value = Vec<Texts>> {
    let name = select(&["", "foo", "Bar", "oo"][..]).prop_map(str::to_owned);
    vec(
        [
            name.clone().boxed(),
            name.boxed(),
            text().boxed(),
            text().boxed(),
        ],
        0..20,
    )
}

fn query() -> impl Strategy<Value = String> {
    prop_oneof![
        "[abAé]{1,3}( [abé]{1,2})?",
        "(foo|oo|b|-|Σ|ς|İ| |\u{a0}){1,4}",
        "\\PC{0,3}"
    ]
}

proptest! {
    #[test]
    fn the_table_finds_what_searching_everything_finds(shelf in shelf(), query in query()) {
        prop_assert_eq!(search(&shelf, &query), naive(&shelf, &query_words(&query)));
    }

    #[test]
    fn damaged_indexes_never_panic(
        (documents, columns) in shelf().prop_flat_map(|shelf| (Just(shelf.len()), damaged(built(&shelf)))),
        query in query(),
    ) {
        let _ = search_in(&columns, documents, &query);
    }

    #[test]
    fn equal_documents_give_equal_columns(shelf in shelf()) {
        prop_assert_eq!(built(&shelf), built(&shelf));
    }
}
