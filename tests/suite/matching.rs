//! Declared keywords, asked through the compiler and the bundle: the points that
//! specification 3 leaves open, and the calibrated profile beside the spec's.

use skillbundle_format::{Bundle, Decision, Profile};

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
const OPEN_POINTS: [(&str, &str, &[&str]); 16] = [
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
    // A run of Chinese or Japanese is one token; so two characters are short.
    (
        "创建组件",
        "组件, 创建组件, 建组件",
        &["创建组件", "建组件"],
    ),
    ("创建 组件。", "组件, 组件库", &["组件"]),
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
    for profile in ["spec", "calibrated"] {
        let bundle = tree_bundle(&format!("matching: {{profile: {profile}}}\n"), &skills);
        let paths: Vec<_> = answer(&bundle, "alpha beta")
            .into_iter()
            .map(|(path, _)| path)
            .collect();
        assert_eq!(paths, ["B", "a", "b", "c-b", "c/z"], "{profile}");
    }
}

/// The skills that both profiles are asked about: path, keywords, priority.
const PROFILED: [(&str, &str, f64); 5] = [
    ("docs/pdf", "pdf, pdf forms, fill form, acrobat", 0.0),
    ("loud", "unrelated", 900.0),
    ("odd", "the, of, zebra, été", 0.0),
    ("ops/deploy", "deployment, release, rollback", 5.0),
    ("ui/forms", "form, react, validation, input", 0.0),
];

/// Request; what the spec's profile answers; what the calibrated one does.
type Answers = &'static [(&'static str, f64)];
const PROFILES: [(&str, Answers, Answers); 9] = [
    // Whole keywords: both words of `fill form`; the fewer terms divide.
    (
        "fill in a PDF form",
        &[("docs/pdf", 0.75), ("ui/forms", 0.25)],
        &[("docs/pdf", 1.0), ("ui/forms", 1.0 / 3.0)],
    ),
    // Stems: not what contains a word, but what is the same word.
    ("deploying", &[], &[("ops/deploy", 1.005)]),
    ("reformat the platform", &[("ui/forms", 0.25)], &[]),
    (
        "validate inputs",
        &[("ui/forms", 0.25)],
        &[("ui/forms", 1.0)],
    ),
    (
        "forms",
        &[("docs/pdf", 0.25), ("ui/forms", 0.25)],
        &[("ui/forms", 1.0)],
    ),
    // No more than the keywords there are divides either.
    (
        "react once twice thrice and again and again",
        &[("ui/forms", 0.25)],
        &[("ui/forms", 0.25)],
    ),
    // Keywords without terms count, and never match.
    (
        "the zebra stripes in the noon sun",
        &[("odd", 0.25)],
        &[("odd", 0.25)],
    ),
    ("the of été", &[], &[]),
    ("elephants", &[], &[]),
];

#[test]
fn the_profile_in_config_yaml_decides_how_keywords_match() {
    let bundle = |profile| tree_bundle(&format!("matching: {{profile: {profile}}}\n"), &PROFILED);
    let (spec, calibrated) = (bundle("spec"), bundle("calibrated"));
    let settings = calibrated
        .catalog()
        .and_then(|catalog| catalog.settings())
        .expect("settings");
    assert_eq!(settings.profile, Profile::Calibrated);
    for (request, by_spec, by_calibrated) in PROFILES {
        assert_answer(&spec, request, by_spec);
        assert_answer(&calibrated, request, by_calibrated);
    }
    calibrated.verify().expect("a whole bundle");
}

/// Thresholds mean the same in both profiles.
#[test]
fn least_scores_and_leads_decide_in_the_calibrated_profile_too() {
    use Decision::{Ambiguous, Match, NoMatch};
    let skills = [
        ("a", "form, react, input", 0.0),
        ("b", "form, vue, input", 0.0),
    ];
    let cases = [
        ("", "react form", Match),
        ("", "input form", Ambiguous(2)),
        (
            "",
            "form with many more words that nobody declared",
            Ambiguous(2),
        ),
        (
            ", min_score: 0.5",
            "form with many more words that nobody declared",
            NoMatch,
        ),
        (", ambiguity_threshold: 0.6", "react form", Ambiguous(2)),
        ("", "elephants", NoMatch),
    ];
    for (tuned, request, wanted) in cases {
        let bundle = tree_bundle(
            &format!("matching: {{profile: calibrated{tuned}}}\n"),
            &skills,
        );
        let catalog = bundle.catalog().expect("a catalog");
        let route = catalog.route(request, 0).expect("an answer");
        assert_eq!(route.decision, wanted, "{request:?} with {tuned:?}");
    }
}
