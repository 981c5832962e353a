//! Evaluation: every shape in which authors write requests down, what an
//! answer counts for, and what is said about files that cannot be read.

use skillbundle_compiler::{Evaluation, Options, Outcome, Tally, compile_with_requests};
use skillbundle_format::{Bundle, write};

use crate::kit::{self, CompileTree, Tree, page};

const PDF: &str =
    "---\nname: pdf\ndescription: Merge, split and fill in PDF documents and forms\n---\n# PDF\n";
const GIT: &str = "---\nname: git\ndescription: Commit, rebase and push branches with version control\n---\n# Git\n";

/// Two skills that no request confuses, and these files.
fn tree(files: &[(&str, &str)]) -> Tree {
    let tree = kit::tree(&[("s/docs/pdf/SKILL.md", PDF), ("s/git/SKILL.md", GIT)]);
    for (path, text) in files {
        tree.file(path, text);
    }
    tree
}

fn evaluated(tree: &Tree) -> Evaluation {
    let read = compile_with_requests(&tree.roots(&["s"]), &Options::default());
    let (compiled, requests) = read.expect("the roots can be read");
    let bytes = write(&compiled.set).expect("the set can be written");
    let bundle = Bundle::from_bytes(&bytes).expect("the bundle opens");
    let found = requests.replay(&compiled.set, &bundle);
    found.expect("the bundle is whole")
}

/// `line severity code` of every diagnostic.
fn findings(evaluation: &Evaluation) -> Vec<String> {
    let findings = evaluation.report.diagnostics().iter();
    let line = |line: Option<usize>| line.map_or_else(|| "-".to_owned(), |it| it.to_string());
    findings
        .map(|it| {
            format!(
                "{} {} {}",
                line(
                    evaluation
                        .report
                        .locate(&it.file, it.span)
                        .map(|at| at.line)
                ),
                it.severity,
                it.code
            )
        })
        .collect()
}

#[test]
fn every_shape_is_read_for_the_skill_that_it_belongs_to() {
    const MERGE: &str = "\"merge two pdf documents\"";
    const REBASE: &str = "\"rebase and push my branches\"";
    let cases: &[(&str, &str, String)] = &[
        ("skill-creator", "s/docs/pdf/evals/evals.json",
            format!("{{\"skill_name\": \"pdf\", \"evals\": [{{\"id\": 1, \"prompt\": {MERGE}, \"files\": []}},
                {{\"prompt\": {REBASE}, \"should_trigger\": false}}]}}")),
        ("by name", "s/evals/evals.json",
            format!("{{\"skill_name\": \"PDF\", \"evals\": [{{\"prompt\": {MERGE}}}, {{\"prompt\": {REBASE}, \"should_trigger\": false}}]}}")),
        ("a bare list", "s/docs/pdf/evals.json",
            format!("[{MERGE}, {{\"query\": {REBASE}, \"should_trigger\": false}}]")),
        ("trigger-eval", "s/docs/pdf/trigger-eval.json",
            format!("[{{\"query\": {MERGE}, \"should_trigger\": true}}, {{\"query\": {REBASE}, \"should_trigger\": false}}]")),
        ("trigger_evals, nested", "s/docs/pdf/a/b/Trigger_Evals.json",
            format!("{{\"queries\": [{{\"q\": {MERGE}, \"should_trigger\": true}}, {{\"q\": {REBASE}, \"should_trigger\": false}}]}}")),
        ("two lists", "s/docs/pdf/trigger-eval.json",
            format!("{{\"should_trigger\": [{MERGE}], \"should_not_trigger\": [{REBASE}]}}")),
        ("routing by path", "s/routing.json",
            format!("[{{\"request\": {MERGE}, \"expect\": \"docs/pdf\"}}, {{\"query\": {REBASE}, \"not\": \"docs/pdf\"}}]")),
        ("routing by name", "s/git/routing.json",
            format!("[{{\"prompt\": {MERGE}, \"skill\": \"pdf\"}}, {{\"q\": {REBASE}, \"not\": [\"pdf\"]}}]")),
        ("routing by file, after a byte order mark", "s/routing.json",
            format!("\u{feff}[{{\"q\": {MERGE}, \"expect\": \"./docs/pdf/SKILL.md\"}}, {{\"q\": {REBASE}, \"not\": [\"pdf\"]}}]")),
        ("routing from its folder", "s/docs/routing.json",
            format!("{{\"requests\": [{{\"q\": {MERGE}, \"expect\": [\"pdf/SKILL.md\"]}}, {{\"q\": {REBASE}, \"not\": \"pdf\"}}]}}")),
        ("trigger-cases with keys in camel case", "s/docs/pdf/evals/trigger-cases.json",
            format!("{{\"shouldTrigger\": [{{\"text\": {MERGE}}}], \"shouldNotTrigger\": [{{\"text\": {REBASE}}}]}}")),
        ("trigger_cases with neighbours", "s/docs/pdf/evals/trigger_cases.json",
            format!("{{\"recommended_threshold\": 0.25, \"should_trigger\": [{MERGE}], \"near_neighbor\": [{REBASE}]}}")),
        ("trigger-cases in words", "s/docs/pdf/trigger-cases.json",
            format!("[{{\"prompt\": {MERGE}, \"expected\": \"trigger\"}}, {{\"prompt\": {REBASE}, \"expected\": \"no_trigger\"}}]")),
        ("trigger-cases by skill", "s/trigger-cases.json",
            format!("[{{\"skill\": \"pdf\", \"queries\": [{MERGE}], \"should_not_trigger\": [{REBASE}]}}]")),
        ("trigger_eval by kind", "s/docs/pdf/trigger_eval.json",
            format!("{{\"skill\": \"pdf\", \"direct\": [{{\"prompt\": {MERGE}, \"expect_trigger\": true}}],
                \"negative\": [{{\"prompt\": {REBASE}, \"expect_trigger\": false}}]}}")),
        ("trigger-queries", "s/docs/pdf/evals/trigger-queries.json",
            format!("[{{\"query\": {MERGE}, \"should_trigger\": true}}, {{\"query\": {REBASE}, \"should_trigger\": false}}]")),
        ("routing with the losers", "s/evals/routing.json",
            format!("{{\"cases\": [{{\"prompt\": {MERGE}, \"expectedSkill\": \"pdf\"}},
                {{\"prompt\": {REBASE}, \"must_not_win\": [\"pdf\"]}}]}}")),
        ("routing with other right ones", "s/evals/routing-cases.json",
            format!("[{{\"prompt\": {MERGE}, \"expected_skill\": \"pdf\", \"acceptable_skills\": [\"git\"]}},
                {{\"prompt\": {REBASE}, \"unexpectedSkills\": [\"pdf\"]}}]")),
        ("triggers", "s/docs/pdf/SKILL.md",
            format!("---\nname: pdf\ndescription: Merge, split and fill in PDF documents and forms\n\
                triggers:\n  positive: [{MERGE}]\n  negative: [{REBASE}]\n---\n# PDF\n")),
    ];
    for (name, path, text) in cases {
        let found = evaluated(&tree(&[(path, text)]));
        assert_eq!(findings(&found), Vec::<String>::new(), "{name}");
        let expected = Tally {
            positives: 1,
            hits: 1,
            negatives: 1,
            ..Tally::default()
        };
        assert_eq!(found.totals, expected, "{name}");
        assert_eq!(found.skills["docs/pdf"].hits, 1, "{name}");
        assert_eq!(found.files.len(), 1, "{name}");
        assert!(found.failures.is_empty(), "{name}: {:?}", found.failures);
    }
}

#[test]
fn a_request_for_no_skill_and_a_list_of_right_skills() {
    let found = evaluated(&tree(&[(
        "s/routing.json",
        "[{\"q\": \"what is for dinner\", \"expect\": null}, {\"q\": \"good morning\", \"expect\": []},
          {\"q\": \"split my pdf\", \"expect\": null},
          {\"q\": \"push my commit\", \"expect\": [\"pdf\", \"git\"]}]",
    )]));
    assert_eq!(
        (found.totals.negatives, found.totals.false_triggers),
        (3, 1)
    );
    assert_eq!(found.skills["docs/pdf"].false_triggers, 1);
    assert_eq!(found.skills["git"].hits, 1, "the one that was found counts");
    let [failure] = &found.failures[..] else {
        panic!("{:?}", found.failures)
    };
    assert_eq!(
        (failure.outcome, failure.line),
        (Outcome::FalseTrigger, Some(2))
    );
    assert_eq!(failure.answered, ["docs/pdf"]);
}

#[test]
fn requests_that_another_skill_wins_are_counted_as_confusions() {
    let found = evaluated(&tree(&[(
        "s/git/evals.json",
        "[\"merge two pdf documents\", \"fill in pdf forms\", \"push my branches\", \"what is for dinner\"]",
    )]));
    let [confusion] = &found.confusions[..] else {
        panic!("{:?}", found.confusions)
    };
    assert_eq!(
        (&*confusion.expected, &*confusion.won, confusion.count),
        ("git", "docs/pdf", 2)
    );
    assert_eq!(confusion.example, "merge two pdf documents");
    let git = found.skills["git"];
    assert_eq!((git.positives, git.hits, git.misses), (4, 1, 3));
    assert_eq!(git.hit_rate(), Some(0.25));
}

#[test]
fn an_ambiguous_answer_offers_the_right_skill() {
    let twin = "Convert spreadsheets between formats and clean their columns";
    let tree = Tree::new();
    for name in ["left", "right"] {
        let text = format!("---\nname: {name}\ndescription: {twin}\n---\n# Body\n");
        tree.file(&format!("s/{name}/SKILL.md"), text);
    }
    tree.file(
        "s/left/evals.json",
        "[\"convert spreadsheets between formats\"]",
    );
    let found = evaluated(&tree);
    assert_eq!((found.totals.hits, found.totals.offered), (0, 1));
    assert_eq!(found.failures[0].outcome, Outcome::Offered);
    assert_eq!(found.failures[0].answered, ["left", "right"]);
}

/// Triggers are words that a skill is found by, but not those that it declines.
#[test]
fn a_negative_trigger_does_not_bring_its_words_to_the_skill() {
    let skill = |key: &str| {
        format!(
            "---\nname: pdf\ndescription: Merge, split and fill in PDF documents and forms\n\
            triggers:\n  {key}: [water the garden plants]\n---\n# PDF\n"
        )
    };
    let asked = |key: &str| evaluated(&tree(&[("s/docs/pdf/SKILL.md", &skill(key))])).totals;
    assert_eq!(asked("positive").hits, 1);
    for key in ["negative", "should_not_trigger"] {
        let totals = asked(key);
        assert_eq!((totals.negatives, totals.false_triggers), (1, 0), "{key}");
    }
}

#[test]
fn a_request_in_two_files_counts_once() {
    let text = "[\"merge two pdf documents\"]";
    let found = evaluated(&tree(&[
        ("s/docs/pdf/evals.json", text),
        ("s/docs/pdf/evals/evals.json", text),
    ]));
    assert_eq!((found.totals.positives, found.files.len()), (1, 2));
}

#[test]
fn a_page_owns_the_files_of_its_resource_directory() {
    let tree = Tree::new();
    tree.file("s/_root.md", page("house"))
        .file("s/auth.md", page("login"))
        .file("s/auth/evals.json", "[\"login\"]");
    let found = evaluated(&tree);
    assert_eq!(found.skills["auth"].hits, 1, "{found:?}");
}

#[test]
fn malformed_requests_are_reported_with_their_line() {
    let cases: &[(&str, &str, &[&str])] = &[
        (
            "s/evals.json",
            "{\"evals\": [\n",
            &["2 error evaluation-shape"],
        ),
        ("s/evals.json", "\u{fffd}", &["1 error evaluation-shape"]),
        (
            "s/evals.json",
            "{\"others\": []}",
            &["- error evaluation-shape"],
        ),
        (
            "s/evals.json",
            "{\"evals\": 3}",
            &["- error evaluation-shape"],
        ),
        (
            "s/evals.json",
            "[\"a\", \"b\"]",
            &["- error evaluation-skill"],
        ),
        (
            "s/evals.json",
            "{\"skill_name\": \"gone\", \"evals\": [\"a\"]}",
            &["- error evaluation-skill"],
        ),
        (
            "s/git/evals.json",
            "[\n{\"prompt\": 3},\n\" \",\n7]",
            &[
                "2 error evaluation-shape",
                "3 error evaluation-shape",
                "4 error evaluation-shape",
            ],
        ),
        (
            "s/git/trigger-eval.json",
            "[{\"query\": \"a\"},\n{\"query\": \"b\", \"should_trigger\": \"yes\"}]",
            &["1 error evaluation-shape", "2 error evaluation-shape"],
        ),
        (
            "s/routing.json",
            "[\"a\",\n{\"q\": \"b\"},\n{\"q\": \"c\", \"expect\": 1},\n{\"q\": \"d\", \"expect\": \"gone\"},\n{\"q\": \"e\", \"expect\": null, \"not\": [\"lost\"]}]",
            &[
                "1 error evaluation-shape",
                "2 error evaluation-shape",
                "3 error evaluation-shape",
                "4 error evaluation-skill",
                "5 error evaluation-skill",
            ],
        ),
        (
            "s/git/SKILL.md",
            "---\nname: git\ndescription: Commit with care\ntriggers: commit\n---\n# Git\n",
            &["4 warning evaluation-shape"],
        ),
    ];
    for (path, text, expected) in cases {
        let found = evaluated(&tree(&[(path, text)]));
        assert_eq!(findings(&found), *expected, "{path}: {text}");
        assert_eq!(found.totals, Tally::default(), "{path}: {text}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_root_is_reported_and_not_followed() {
    let tree = tree(&[("elsewhere.json", "[\"merge two pdf documents\"]")]);
    tree.link("s/git/evals.json", "../../elsewhere.json");
    let found = evaluated(&tree);
    assert_eq!(findings(&found), ["- error link-escapes"]);
    assert_eq!(found.totals, Tally::default());
}

#[test]
fn files_are_read_up_to_the_limit_of_a_text() {
    let tree = tree(&[]);
    tree.file("s/git/evals.json", vec![b' '; (4 << 20) + 1]);
    assert_eq!(findings(&evaluated(&tree)), ["- error file-too-large"]);
}

#[test]
fn thin_descriptions_of_folder_skills_are_reported() {
    let tree = tree(&[(
        "s/thin/SKILL.md",
        "---\nname: thin\ndescription: Helps with the deployment\n---\n# Body\n",
    )]);
    tree.file("s/pages/_root.md", page("house"));
    let thin = evaluated(&tree).thin;
    assert_eq!(thin["thin"], 2, "{thin:?}");
    assert!(
        thin.keys().all(|path| !path.starts_with("pages")),
        "{thin:?}"
    );
}

/// `line:column code: message; help` of every failed request.
fn failed(tree: &Tree) -> Vec<String> {
    let failed = evaluated(tree).failed;
    let line = |it: &skillbundle_compiler::Diagnostic| {
        let at = failed.locate(&it.file, it.span);
        let at = at.map_or_else(|| "-".to_owned(), |at| format!("{}:{}", at.line, at.column));
        let help = it.help.as_deref().unwrap_or("-");
        format!("{at} {}: {}; {help}", it.code, it.message)
    };
    failed.diagnostics().iter().map(line).collect()
}

/// Each failed request is reported where it is written, with what decided and what to change.
#[test]
fn a_failed_request_says_where_why_and_what_to_do() {
    let requests = "[
  {\"request\": \"stamp an invoice\", \"expect\": \"pdf\"},
  {\"request\": \"merge two pdf documents\",
   \"expect\": \"git\"},
  {\"query\": \"split the pdf forms\", \"expect\": null},
  {\"query\": \"rebase and push my branches\", \"not\": [\"git\"]},
  {\"query\": \"the of and\", \"expect\": \"git\"},
  {\"query\": \"commit and push\", \"expect\": \"git\"}
]";
    let found = failed(&tree(&[("s/routing.json", requests)]));
    assert_eq!(
        found,
        [
            "2:15 request-missed: `stamp an invoice` finds no skill; expected `docs/pdf`; \
                no skill has a word of the request; \
                add `stamp` and `invoice` to the description of `docs/pdf`",
            "3:15 request-misrouted: `merge two pdf documents` is routed to `docs/pdf`; expected `git`; \
                `docs/pdf` has `pdf`, `merge` and `documents`, `git` has none of its words; \
                add `pdf`, `merge` and `documents` to the description of `git`",
            "5:13 request-false-trigger: `split the pdf forms` is routed to `docs/pdf`; expected no skill; \
                `docs/pdf` has `pdf`, `split` and `forms`, confidence 5.92, and 1.24 is enough; \
                say in the description of `docs/pdf` what it is not for",
            "6:13 request-false-trigger: `rebase and push my branches` is routed to `git`, which it is not for; \
                `git` has `rebase`, `push` and `branches`, confidence 5.41, and 1.24 is enough; \
                say in the description of `git` what it is not for",
            "7:13 request-missed: `the of and` finds no skill; expected `git`; \
                the request has no words that count; word it as a user would",
        ]
    );
}

#[test]
fn a_trigger_is_reported_at_its_own_line() {
    let text = "---\nname: git\ndescription: Commit and push branches\ntriggers:\n  positive:\n    \
        - push branches\n    - fill in pdf forms\n---\n# Git\n";
    let found = failed(&tree(&[("s/git/SKILL.md", text)]));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("7:7 request-misrouted: `fill in pdf forms`"),
        "{found:?}"
    );
}

#[test]
fn a_skill_that_models_are_not_shown_wins_no_request() {
    let text = "---\nname: git\ndescription: Commit and push branches\n\
        disable-model-invocation: true\n---\n# Git\n";
    let found = failed(&tree(&[
        ("s/git/SKILL.md", text),
        ("s/git/evals.json", "[\"push my branches\"]"),
    ]));
    assert_eq!(
        found,
        [
            "1:2 request-missed: `push my branches` finds no skill; expected `git`; \
            models are not shown `git`; let models start it, or remove the request"
        ]
    );
}

#[test]
fn many_failed_requests_of_a_file_are_counted() {
    let requests: Vec<String> = (0..70).map(|at| format!("\"unheard of {at}\"")).collect();
    let requests = format!("[{}]", requests.join(",\n"));
    let found = failed(&tree(&[("s/git/evals.json", &requests)]));
    assert_eq!(found.len(), 51);
    let last = "- request-missed: 20 more requests of this file fail; -";
    assert!(found.contains(&last.to_owned()), "{found:?}");
}

/// Another program has files of this name, too.
#[test]
fn a_file_of_which_nothing_can_be_read_is_one_warning() {
    let cases = "{\"cases\": [{\"intent\": \"a\"}, {\"intent\": \"b\"}, {\"intent\": \"c\"}, {\"intent\": \"d\"}]}";
    let found = evaluated(&tree(&[("s/evals/routing-cases.json", cases)]));
    assert_eq!(findings(&found), ["- warning evaluation-shape"]);
}

#[test]
fn requests_are_read_from_the_walk_of_the_skills() {
    let tree = tree(&[("s/git/evals.json", "[\"push my branches\"]")]);
    let read = compile_with_requests(&tree.roots(&["s"]), &Options::default());
    let (compiled, mut requests) = read.expect("the roots can be read");
    // What is on disk now does not matter any more.
    tree.file("s/git/evals.json", "[]");
    assert!(!requests.is_empty(&compiled.set));
    let bytes = write(&compiled.set).expect("the set can be written");
    let bundle = Bundle::from_bytes(&bytes).expect("the bundle opens");
    let found = requests.replay(&compiled.set, &bundle);
    assert_eq!(found.expect("the bundle is whole").totals.hits, 1);
    requests.retain_roots(|_| false);
    assert!(requests.is_empty(&compiled.set));
}
