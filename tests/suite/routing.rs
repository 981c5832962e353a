//! From a request to a skill, through the compiler and the bundle: the decision,
//! the ranker that made it, and what the content may tune.

use skillbundle_format::{Bundle, Candidate, Decision, Route};

use crate::project::Project;

/// Folder-dialect skills: name, description.
const FOLDERS: &[(&str, &str)] = &[
    (
        "pdf-forms",
        "Fill and flatten PDF forms. Use when asked to \"complete this application form\". Do not use for spreadsheets.",
    ),
    (
        "spreadsheets",
        "Read, clean and chart Excel spreadsheets and CSV files",
    ),
    (
        "git-history",
        "Rewrite git history: rebase, squash and reorder commits",
    ),
    ("c++", "Review C++ code for undefined behaviour"),
    (
        "déploiement",
        "Déployer le service en production avec Kubernetes",
    ),
    ("合同审查", "审查合同条款并标出风险"),
];

fn folder(project: &Project, name: &str, description: &str) {
    let description = format!("{description:?}");
    project.file(
        &format!("skills/{name}/SKILL.md"),
        format!("---\nname: {name:?}\ndescription: {description}\n---\nText.\n"),
    );
}

fn folders() -> Project {
    let project = Project::new();
    for (name, description) in FOLDERS {
        folder(&project, name, description);
    }
    project
}

fn route<'a>(bundle: &'a Bundle, request: &str) -> Route<'a> {
    let catalog = bundle.catalog().expect("a catalog");
    catalog.route(request, 5).expect("an answer")
}

/// `match pdf-forms`, `no match`, or `ambiguous a, b`.
fn answer(bundle: &Bundle, request: &str) -> String {
    let route = route(bundle, request);
    let path = |at: usize| route.candidates[at].skill.path;
    match route.decision {
        Decision::NoMatch => "no match".to_owned(),
        Decision::Match => format!("match {}", path(0)),
        Decision::Ambiguous(count) => {
            let paths: Vec<&str> = (0..count).map(path).collect();
            format!("ambiguous {}", paths.join(", "))
        }
    }
}

#[test]
fn requests_find_skills_of_the_folder_dialect() {
    let bundle = folders().bundle(&["skills"]);
    for (request, expected) in [
        ("Please fill in these forms in the PDF", "match pdf-forms"),
        ("complete this application form for me", "match pdf-forms"),
        ("chart the csv file", "match spreadsheets"),
        ("squash my last three commits", "match git-history"),
        ("is there undefined behaviour in this C++?", "match c++"),
        (
            "il faut que je déploie en PRODUCTION sur kubernetes",
            "match déploiement",
        ),
        ("帮我审查一下这份合同的条款", "match 合同审查"),
        ("", "no match"),
        ("the of and", "no match"),
        ("what's the weather like tomorrow?", "no match"),
        ("thanks, that was great", "no match"),
    ] {
        assert_eq!(answer(&bundle, request), expected, "{request:?}");
        assert_eq!(route(&bundle, request).ranker, "bm25f/1");
    }
}

/// Words in common are not enough, since every long request has some. Both
/// requests of a pair have the same words and get the same score.
#[test]
fn the_same_words_match_only_if_they_stand_together_as_in_the_skill() {
    let project = folders();
    for (name, description, body) in [
        (
            "expiry",
            "Let things expire",
            "Old session documents stay in the collection until a background thread deletes stale entries.",
        ),
        (
            "upkeep",
            "Check project files. Update tests. Report users",
            "Code review finds wrong data. Team members change output.",
        ),
    ] {
        project.file(
            &format!("skills/{name}/SKILL.md"),
            format!("---\nname: {name}\ndescription: {description}\n---\n{body}\n"),
        );
    }
    let bundle = project.bundle(&["skills"]);
    for (meant, near, apart) in [
        (
            "expiry",
            "expire old session documents in the collection: a background thread deletes stale entries",
            "session thread, collection stale, documents expire: background entries, old deletes",
        ),
        (
            "upkeep",
            "code review of wrong data, and team members change the output of files for tests",
            "a team for the data: code output, tests, wrong members, files review, change",
        ),
    ] {
        assert_eq!(answer(&bundle, near), format!("match {meant}"));
        assert_eq!(answer(&bundle, apart), "no match", "{apart}");
        let best = |request| {
            let found = route(&bundle, request);
            (found.candidates[0].skill.path, found.candidates[0].score)
        };
        assert_eq!(best(near), best(apart), "the order does not change");
    }
    let of_another_domain = "the project of a cook: code for ovens, tests with rice, users of wrong \
        spoons, a review of menus, files of knives, and a report on data of farms";
    let found = route(&bundle, of_another_domain);
    assert!(found.candidates[0].why.terms.len() > 7, "{found:?}");
    assert_eq!(found.decision, Decision::NoMatch, "{found:?}");
}

#[test]
fn an_explicitly_named_skill_matches() {
    let bundle = folders().bundle(&["skills"]);
    for request in [
        "/git-history",
        "use the git-history skill on my spreadsheets and PDF forms",
        "run `git-history` please",
        "/team:git-history now",
    ] {
        let route = route(&bundle, request);
        assert_eq!(route.decision, Decision::Match, "{request}");
        let best = &route.candidates[0];
        assert_eq!(
            (best.skill.path, best.why.named),
            ("git-history", true),
            "{request}"
        );
    }
}

#[test]
fn equal_candidates_are_ambiguous_in_order_of_path() {
    let project = folders();
    for name in ["slides-b", "slides-a", "slides-d", "slides-e"] {
        folder(&project, name, "Make slides for a talk with speaker notes");
    }
    let request = "make slides with speaker notes";
    assert_eq!(
        answer(&project.bundle(&["skills"]), request),
        "ambiguous slides-a, slides-b, slides-d"
    );
    project.file("skills/config.yaml", "matching:\n  max_results: 2\n");
    assert_eq!(
        answer(&project.bundle(&["skills"]), request),
        "ambiguous slides-a, slides-b"
    );
    project.file("skills/config.yaml", "matching:\n  max_results: 1\n");
    assert_eq!(
        answer(&project.bundle(&["skills"]), request),
        "ambiguous slides-a"
    );
    project.file("skills/config.yaml", "matching:\n  min_margin: 0\n");
    assert_eq!(
        answer(&project.bundle(&["skills"]), request),
        "match slides-a"
    );
    project.file("skills/config.yaml", "matching:\n  min_confidence: 100\n");
    assert_eq!(answer(&project.bundle(&["skills"]), request), "no match");
}

/// A bundle with both dialects: `ui/login` is of the tree dialect.
fn mixed(login: &str) -> Bundle {
    let project = folders();
    project.file(
        "tree/_root.md",
        "---\ndescription: Root\nkeywords: [zzzz]\n---\nroot\n",
    );
    project.file(
        "tree/login.md",
        format!("---\ndescription: Sign-in pages\nkeywords: [{login}]\n---\nText about sign-in.\n"),
    );
    project.bundle(&["tree", "skills"])
}

#[test]
fn a_mixed_bundle_uses_the_ranker_with_hits() {
    let bundle = mixed("login, signin");
    for (request, expected, ranker) in [
        ("make a login page", "match login", "keywords"),
        (
            "squash my last three commits",
            "match git-history",
            "bm25f/1",
        ),
        ("what a lovely day", "no match", "keywords+bm25f/1"),
    ] {
        assert_eq!(answer(&bundle, request), expected, "{request}");
        assert_eq!(route(&bundle, request).ranker, ranker, "{request}");
    }
}

#[test]
fn if_both_rankers_have_hits_the_common_score_decides() {
    // A broad keyword matches by itself, but the request is about history.
    let bundle = mixed("commits");
    let request = "rewrite the git history: rebase and reorder commits";
    assert_eq!(answer(&bundle, request), "match git-history");
    assert_eq!(route(&bundle, request).ranker, "bm25f/1");
    // And vice versa.
    let bundle = mixed("login, page");
    let request = "a sign-in login page, pages for sign-in, and csv";
    let found = route(&bundle, request);
    assert_eq!(found.candidates[0].skill.path, "login", "{found:?}");
}

#[test]
fn keywords_below_the_minimum_score_are_reported_and_decide_nothing() {
    let project = folders();
    for (path, keywords) in [
        ("_root", "zzzz"),
        ("login", "login, page"),
        ("broad", "k1, k2, k3, k4, k5, k6, k7, k8, k9, Login"),
        ("wide", "page, login, k3, k4, k5, k6, k7, k8, k9, k10, k11"),
    ] {
        project.file(
            &format!("tree/{path}.md"),
            format!("---\ndescription: Text\nkeywords: [{keywords}]\n---\nText.\n"),
        );
    }
    let bundle = project.bundle(&["tree", "skills"]);
    let catalog = bundle.catalog().expect("a catalog");
    for (request, limit, decision, weak) in [
        ("a login page", 0, Decision::Match, &[][..]),
        ("a login page", 1, Decision::Match, &["wide: page, login"]),
        (
            "a login page",
            9,
            Decision::Match,
            &["wide: page, login", "broad: Login"],
        ),
        ("k9", 9, Decision::NoMatch, &["broad: k9", "wide: k9"]),
        ("elephants", 9, Decision::NoMatch, &[]),
    ] {
        let route = catalog.route(request, limit).expect("an answer");
        let shown = |it| {
            let keywords = route.matched_keywords(it).expect("an answer");
            format!("{}: {}", it.skill.path, keywords.join(", "))
        };
        let found: Vec<String> = route.weak.iter().map(shown).collect();
        assert_eq!(
            (route.decision, found),
            (decision, weak.iter().map(ToString::to_string).collect()),
            "{request:?}, {limit}"
        );
        let is_weak = |it: &Candidate<'_>| ["wide", "broad"].contains(&it.skill.path);
        assert!(
            !route.candidates.iter().any(is_weak),
            "{request:?}, {limit}"
        );
    }
}

#[test]
fn keywords_of_the_folder_dialect_need_all_their_words() {
    let project = folders();
    project.file(
        "skills/invoices/SKILL.md",
        "---\nname: invoices\ndescription: Bills for customers\nkeywords: [Unpaid Invoices, reminders]\n\
         tags: Billing, dunning letters\ntriggers:\n  positive: [who owes us money]\n  negative: [refund]\n---\nText.\n",
    );
    let bundle = project.bundle(&["skills"]);
    for (request, expected) in [
        (
            "send a reminder for each unpaid invoice",
            &["Unpaid Invoices", "reminders"][..],
        ),
        ("billing: invoice or refund?", &["Billing"]),
        ("a letter for dunning", &["dunning letters"]),
        (
            "tell me who still owes the customers money",
            &["who owes us money"],
        ),
        ("something for customers", &[]),
    ] {
        let route = route(&bundle, request);
        let best = &route.candidates[0];
        assert_eq!(best.skill.path, "invoices", "{request}");
        let matched = route.matched_keywords(best).expect("an answer");
        assert_eq!(matched, expected, "{request}");
    }
    let route = route(&bundle, "rebase commits");
    let matched = route.matched_keywords(&route.candidates[0]);
    assert!(matched.expect("an answer").is_empty(), "it declares none");
}

#[test]
fn a_forbidden_skill_is_no_candidate_of_either_ranker() {
    let bundle = mixed("login, signin");
    for (request, expected) in [
        (
            "do not use the pdf-forms skill, complete this application form",
            "no match",
        ),
        (
            "chart the csv file without git-history",
            "match spreadsheets",
        ),
        ("make a login page, but never use login", "no match"),
        ("审查合同的条款，不要用合同审查", "no match"),
    ] {
        let found = route(&bundle, request);
        assert_eq!(answer(&bundle, request), expected, "{request}");
        let [forbidden] = &*found.forbidden else {
            panic!("{request}: {:?}", found.forbidden);
        };
        let listed = [&found.candidates, &found.closest, &found.weak];
        let mut listed = listed.into_iter().flatten();
        let is_forbidden = |it: &Candidate<'_>| it.skill.path == forbidden.path;
        assert!(!listed.any(is_forbidden), "{request}: {found:?}");
    }
}

#[test]
fn nothing_matches_but_the_closest_are_named() {
    let project = folders();
    project.file(
        "tree/_root.md",
        "---\ndescription: Root\nkeywords: [k1, k2, k3, k4, k5, k6, k7, k8, k9, commits]\n---\nroot\n",
    );
    let bundle = project.bundle(&["tree", "skills"]);
    for (request, closest) in [
        ("what is in these commits?", &["git-history", "_root"][..]),
        ("条款", &["合同审查"]),
        ("elephants", &[]),
        ("", &[]),
    ] {
        let found = route(&bundle, request);
        assert_eq!(found.decision, Decision::NoMatch, "{request}: {found:?}");
        let paths: Vec<&str> = found.closest.iter().map(|it| it.skill.path).collect();
        assert_eq!(paths, closest, "{request}");
        let mut all = found.closest.iter().chain(&found.candidates);
        assert!(all.all(|it| it.below_threshold && it.score > 0.0));
    }
    project.file("tree/config.yaml", "matching:\n  max_results: 1\n");
    let bundle = project.bundle(&["tree", "skills"]);
    let found = route(&bundle, "what is in these commits?");
    assert_eq!(found.closest.len(), 1);
}

#[test]
fn candidates_beyond_the_decision_follow_it() {
    let bundle = folders().bundle(&["skills"]);
    let found = route(
        &bundle,
        "fill PDF forms and chart a spreadsheet of git commits",
    );
    let scores: Vec<f64> = found.candidates.iter().map(|it| it.score).collect();
    assert!(
        scores.len() >= 3 && scores.is_sorted_by(|a, b| a >= b),
        "{scores:?}"
    );
    assert!(found.candidates.iter().all(|it| it.ranker == "bm25f/1"));
}

#[test]
fn concurrent_requests_get_the_same_answers() {
    let bundle = folders().bundle(&["skills"]);
    let requests = [
        "fill PDF forms",
        "chart a csv",
        "squash commits",
        "审查合同",
        "nothing",
    ];
    let ask = || -> Vec<String> {
        let answers = requests.iter().cycle().take(500);
        answers
            .map(|request| format!("{:?}", route(&bundle, request)))
            .collect()
    };
    let alone = ask();
    let (one, other) = std::thread::scope(|scope| {
        let (one, other) = (scope.spawn(ask), scope.spawn(ask));
        (
            one.join().expect("no panic"),
            other.join().expect("no panic"),
        )
    });
    assert_eq!((&one, &other), (&alone, &alone));
}
