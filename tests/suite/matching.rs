//! Declared keywords, asked through the compiler and the bundle: the points that
//! specification 3 leaves open.

use skillbundle_format::Bundle;

use crate::project::Project;

/// A tree of these skills (path, keywords, priority) with this `config.yaml`.
fn tree_bundle(config: &str, skills: &[(&str, &str, f64)]) -> Bundle {
    let project = Project::new();
    project.file("config.yaml", config).file(
        "_root.md",
        "---\ndescription: Root\nkeywords: [zzzzzzzz]\n---\nroot\n",
    );
    for (path, keywords, priority) in skills {
        project.file(
            &format!("{path}.md"),
            format!("---\ndescription: {path}\nkeywords: [{keywords}]\npriority: {priority}\n---\ntext\n"),
        );
    }
    project.bundle(&["."])
}

/// The skills that match, best first, with their scores.
fn answer(bundle: &Bundle, request: &str) -> Vec<(String, f64)> {
    let catalog = bundle.catalog().expect("a catalog");
    let found = catalog.match_keywords(request).expect("an answer");
    found
        .iter()
        .map(|it| (it.skill.path.to_owned(), it.score))
        .collect()
}

fn assert_answer(bundle: &Bundle, request: &str, wanted: &[(&str, f64)]) {
    let found = answer(bundle, request);
    let same = found.len() == wanted.len()
        && found
            .iter()
            .zip(wanted)
            .all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-9);
    assert!(same, "{request:?}: wanted {wanted:?}, found {found:?}");
}

/// What section 5 of specification 3 leaves open. Request, keywords, which of them match.
const OPEN_POINTS: [(&str, &str, &[&str]); 17] = [
    // Short tokens and keywords match by equality alone.
    ("use js here", "js, json, node.js", &["js"]),
    ("a C program", "c, css, csharp", &["c"]),
    ("the ui kit", "ui, ui-kit, kit", &["ui", "ui-kit", "kit"]),
    ("json", "js, so, jso", &["jso"]),
    // Apostrophes part; the short piece of an elision or contraction goes.
    ("l'API d'auth", "l, d, api, auth", &["api", "auth"]),
    ("l’API", "l, api", &["api"]),
    ("the user's files", "s, user, files", &["user", "files"]),
    ("don't deploy", "don, t, deploy", &["deploy"]),
    ("the C's", "c, s", &["c"]),
    // Accents are kept, whatever the case; without them it is another word.
    (
        "Déployer À ZÜRICH",
        "déployer, deployer, zürich, zurich",
        &["déployer", "zürich"],
    ),
    ("cafe", "café, cafe", &["cafe"]),
    ("ΟΔΟΣ", "οδος, οδοσ", &["οδος", "οδοσ"]),
    // A run of Chinese or Japanese is one token, and a keyword of two characters is a word of it.
    (
        "创建组件",
        "组件, 创建组件, 建组件",
        &["组件", "创建组件", "建组件"],
    ),
    ("创建 组件。", "组件, 组件库", &["组件"]),
    ("请审查这份合同", "合同, 合同审查, 份", &["合同", "份"]),
    (
        "認証・コンポーネント",
        "認証, コンポーネント, ポーネ",
        &["認証", "コンポーネント", "ポーネ"],
    ),
    // Other punctuation parts, that of the keyword counts.
    (
        "node.js,(react)",
        "node.js, react, \".js\"",
        &["node.js", "react"],
    ),
];

#[test]
fn open_points_of_matching_are_decided() {
    for (request, keywords, wanted) in OPEN_POINTS {
        // A score of 0.2 must not hide what matches.
        let bundle = tree_bundle("matching: {min_score: 0}\n", &[("one", keywords, 0.0)]);
        let catalog = bundle.catalog().expect("a catalog");
        let found = catalog.match_keywords(request).expect("an answer");
        let matched = found.first().map_or(&[][..], |it| &it.matched_keywords);
        assert_eq!(matched, wanted, "{request:?}");
    }
}

#[test]
fn a_priority_weighs_among_matches_and_never_makes_one() {
    let skills = [
        ("half", "alpha, beta", 0.0),
        ("loud", "gamma, delta", 100_000.0),
        ("tenth", "alpha, k2, k3, k4, k5, k6, k7, k8, k9, k10", 500.0),
        ("timid", "alpha, beta", -400.0),
    ];
    for (config, wanted) in [
        ("", &[("tenth", 0.6), ("half", 0.5)][..]),
        // 1/2 − 0.4 is below the default 0.2, and above 0.05.
        (
            "matching: {min_score: 0.05}\n",
            &[("tenth", 0.6), ("half", 0.5), ("timid", 0.1)],
        ),
        (
            "matching: {min_score: 0}\n",
            &[("tenth", 0.6), ("half", 0.5), ("timid", 0.1)],
        ),
    ] {
        assert_answer(&tree_bundle(config, &skills), "alpha", wanted);
    }
}

#[test]
fn equal_scores_are_ordered_by_path() {
    let skills = ["c/z", "c-b", "b", "a", "B"].map(|path| (path, "alpha, other", 0.0));
    let bundle = tree_bundle("", &skills);
    let paths: Vec<_> = answer(&bundle, "alpha beta")
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    assert_eq!(paths, ["B", "a", "b", "c-b", "c/z"]);
}
