//! Two versions of a set of skills: what changed about them, and which requests find another skill.

use proptest::prelude::*;
use skillbundle_compiler::{
    Comparison, Compiled, Effect, Options, Origin, Requests, Rerouted, Version, compare,
    compile_with_requests,
};
use skillbundle_format::{Bundle, write};

use crate::kit::{CompileTree, Tree, page, skill, tree};

/// One version, compiled.
struct Compiling {
    compiled: Compiled,
    requests: Requests,
    bundle: Bundle,
}

impl Compiling {
    fn of(tree: &Tree) -> Self {
        let (compiled, requests) = compile_with_requests(&tree.roots(&["s"]), &Options::default())
            .expect("the roots can be read");
        let bytes = write(&compiled.set).expect("the set can be written");
        Self {
            compiled,
            requests,
            bundle: Bundle::from_bytes(&bytes).expect("the bundle opens"),
        }
    }

    fn version(&self) -> Version<'_> {
        Version {
            bundle: &self.bundle,
            sources: Some((&self.compiled.set, &self.requests)),
        }
    }
}

fn compared(old: &Tree, new: &Tree) -> Comparison {
    let (old, new) = (Compiling::of(old), Compiling::of(new));
    compare(old.version(), new.version()).expect("both are whole")
}

const PDF: &str = "Merge, split and fill in PDF documents. Use when asked to \"sign a contract\".";
const GIT: &str = "Commit, rebase and push branches with version control.";
const CSV: &str = "Clean columns and rows of spreadsheets and tables.";

fn base() -> Tree {
    tree(&[
        ("s/pdf/SKILL.md", &skill("pdf", PDF)),
        ("s/pdf/forms.md", "# Forms\n"),
        ("s/git/SKILL.md", &skill("git", GIT)),
        ("s/csv/SKILL.md", &skill("csv", CSV)),
    ])
}

/// `lost "request": old -> new` of every request that is answered differently.
fn rerouted(comparison: &Comparison) -> Vec<String> {
    let line = |it: &Rerouted| {
        let [old, new] = [&it.old, &it.new].map(|paths| match paths.as_slice() {
            [] => "nothing".to_owned(),
            paths => paths.join(", "),
        });
        format!("{} {:?}: {old} -> {new}", it.effect.as_str(), it.request)
    };
    comparison.rerouted.iter().map(line).collect()
}

#[test]
fn skills_that_came_went_and_changed_are_listed() {
    let new = base();
    std::fs::remove_file(new.path("s/git/SKILL.md")).expect("it exists");
    new.file("s/svg/SKILL.md", skill("svg", "Draw vector images"))
        .file("s/svg/logo.svg", "<svg/>")
        .file(
            "s/pdf/SKILL.md",
            "---\nname: pdf\ndescription: Merge PDF documents\nlicense: MIT\n---\n# New body\n",
        )
        .file("s/pdf/forms.md", "# More forms\n")
        .file("s/pdf/pages.md", "# Pages\n");
    let found = compared(&base(), &new);
    let added: Vec<_> = (found.added.iter())
        .map(|it| (&*it.path, &*it.summary, it.files))
        .collect();
    assert_eq!(added, [("svg", "Draw vector images", 1)]);
    let removed: Vec<_> = found.removed.iter().map(|it| &*it.path).collect();
    assert_eq!(removed, ["git"]);
    let [pdf] = &found.changed[..] else {
        panic!("{:?}", found.changed)
    };
    assert_eq!((&*pdf.path, &pdf.old_path), ("pdf", &None));
    let fields: Vec<_> = (pdf.fields.iter())
        .map(|it| (&*it.field, it.old.as_deref(), it.new.as_deref()))
        .collect();
    assert_eq!(
        fields,
        [
            ("description", Some(PDF), Some("Merge PDF documents")),
            ("license", None, Some("MIT")),
            ("text", None, None),
        ]
    );
    let files: Vec<_> = (pdf.files.iter())
        .map(|it| (&*it.path, it.old, it.new))
        .collect();
    let sizes = [skill("pdf", PDF).len() as u64, 75];
    assert_eq!(
        files,
        [
            ("SKILL.md", Some(sizes[0]), Some(sizes[1])),
            ("forms.md", Some(8), Some(13)),
            ("pages.md", None, Some(8)),
        ]
    );
    assert_eq!((found.old.skills, found.old.files), (3, 1));
    assert_eq!((found.new.skills, found.new.files), (3, 3));
    assert!(!found.settings_changed && found.collisions.is_empty());
}

/// The point of it all: nobody has written a request down, and still it is seen that a new skill
/// takes what others say of themselves.
#[test]
fn a_greedy_new_skill_takes_what_others_say_of_themselves() {
    let new = base();
    let greedy = "Sign a contract, sign contracts, sign documents. Use to \"sign a contract\"";
    new.file("s/sign/SKILL.md", skill("sign-contract", greedy));
    let found = compared(&base(), &new);
    assert_eq!(rerouted(&found), ["lost \"sign a contract\": pdf -> sign"]);
    let first = &found.rerouted[0];
    assert_eq!(first.origin, Origin::Own("description"));
    assert_eq!(first.expected, ["pdf"]);
    let findings = found.report.render_plain();
    let finding = findings.lines().find(|it| it.contains("`sign a contract`"));
    let finding = finding.expect("a finding");
    assert!(
        finding.contains("s/pdf/SKILL.md:3:73: warning[request-rerouted]: `sign a contract` found `pdf` and is routed to `sign` now; "),
        "{finding}"
    );
    assert!(
        finding.ends_with("say in the description of `sign` what it is not for"),
        "{finding}"
    );
    // Who takes the skill away again gives the requests back.
    let back = compared(&new, &base());
    assert!(back.rerouted.iter().all(|it| it.effect == Effect::Found));
    assert!(back.report.diagnostics().is_empty());
}

#[test]
fn requests_of_both_versions_are_asked() {
    let (old, new) = (base(), base());
    old.file("s/git/evals.json", "[\"push my branches\"]");
    new.file("s/git/SKILL.md", skill("git", "Commit with version control."))
        .file("s/push/SKILL.md", skill("push", "Push my branches."))
        .file(
            "s/routing.json",
            "[{\"q\": \"commit with version control\", \"expect\": \"git\"},\n {\"q\": \"good morning\", \"expect\": null}]",
        );
    let found = compared(&old, &new);
    assert_eq!(found.request_count, 3);
    let of_files = |it: &&Rerouted| matches!(it.origin, Origin::File { .. } | Origin::OldFile);
    let of_files: Vec<_> = found.rerouted.iter().filter(of_files).collect();
    let [push] = of_files[..] else {
        panic!("{:?}", rerouted(&found))
    };
    assert_eq!(
        (push.effect, &push.origin),
        (Effect::Lost, &Origin::OldFile)
    );
    assert_eq!(
        (&*push.old, &*push.new),
        (&["git".to_owned()][..], &["push".to_owned()][..])
    );
    let findings = found.report.render_plain();
    assert!(
        findings.contains("s/git/SKILL.md: warning[request-rerouted]: `push my branches`"),
        "{findings}"
    );
}

#[test]
fn a_request_for_no_skill_that_finds_one_is_lost() {
    let (old, new) = (base(), base());
    for tree in [&old, &new] {
        tree.file(
            "s/routing.json",
            "[\n{\"q\": \"what is for dinner tonight\", \"expect\": null}]",
        );
    }
    new.file(
        "s/cook/SKILL.md",
        skill("cook", "Suggest a dinner for tonight."),
    );
    let found = compared(&old, &new);
    let findings = found.report.render_plain();
    assert!(
        findings.contains("s/routing.json:2:7: warning[request-rerouted]: `what is for dinner tonight` found no skill and is routed to `cook` now"),
        "{findings}"
    );
}

#[test]
fn what_a_skill_does_not_say_any_more_is_listed_and_no_finding() {
    let new = base();
    new.file(
        "s/pdf/SKILL.md",
        skill("pdf", "Merge and split PDF documents."),
    );
    let found = compared(&base(), &new);
    assert!(
        rerouted(&found).contains(&"lost \"sign a contract\": pdf -> nothing".to_owned()),
        "{:?}",
        rerouted(&found)
    );
    assert!(found.report.diagnostics().is_empty());
}

#[test]
fn a_moved_skill_is_the_same_skill() {
    let new = base();
    std::fs::remove_file(new.path("s/pdf/SKILL.md")).expect("it exists");
    std::fs::remove_file(new.path("s/pdf/forms.md")).expect("it exists");
    new.file("s/docs/pdf/SKILL.md", skill("pdf", PDF))
        .file("s/docs/pdf/forms.md", "# Forms\n");
    let found = compared(&base(), &new);
    let [pdf] = &found.changed[..] else {
        panic!("{found:?}")
    };
    assert_eq!(
        (&*pdf.path, pdf.old_path.as_deref()),
        ("docs/pdf", Some("pdf"))
    );
    assert!(pdf.fields.is_empty() && pdf.files.is_empty());
    assert!(found.added.is_empty() && found.removed.is_empty());
    assert_eq!(rerouted(&found), Vec::<String>::new());
}

#[test]
fn names_that_collide_now_are_told() {
    let new = base();
    new.file("s/old/pdf/SKILL.md", skill("PDF", "Print documents"));
    let found = compared(&base(), &new);
    let [collision] = &found.collisions[..] else {
        panic!("{found:?}")
    };
    assert_eq!(
        (&*collision.name, &*collision.paths),
        ("pdf", &["old/pdf".to_owned(), "pdf".to_owned()][..])
    );
    assert_eq!(compared(&new, &base()).resolved, found.collisions);
    assert!(compared(&new, &new).collisions.is_empty());
}

#[test]
fn pages_ask_for_themselves_by_their_keywords() {
    let old = tree(&[
        ("s/_root.md", &page("house")),
        ("s/auth.md", &page("login")),
    ]);
    let new = tree(&[
        ("s/_root.md", &page("house")),
        ("s/auth.md", &page("login")),
        ("s/sso.md", &page("login")),
        ("config.yaml", "matching:\n  max_results: 2\n"),
    ]);
    new.file("s/config.yaml", "matching:\n  max_results: 2\n");
    let found = compared(&old, &new);
    assert_eq!(rerouted(&found), ["lost \"login\": auth -> auth, sso"]);
    assert_eq!(found.rerouted[0].origin, Origin::Own("keywords"));
    assert!(found.settings_changed);
}

/// Nobody's text becomes markup in the comment on a pull request.
#[test]
fn markdown_has_what_differs_in_code_spans() {
    let (old, new) = (base(), base());
    old.file(
        "s/routing.json",
        "[{\"q\": \"sign <b>my</b> contract\", \"expect\": \"pdf\"}]",
    );
    let text = "Sign a contract, sign contracts. @org/team `x` [a](b) <i>c</i>";
    new.file(
        "s/routing.json",
        "[{\"q\": \"sign <b>my</b> contract\", \"expect\": \"pdf\"}]",
    )
    .file("s/sign/SKILL.md", skill("sign", text));
    let found = compared(&old, &new).to_markdown("origin/main");
    for part in [
        "### Compared with `origin/main`\n",
        "**Skills:** 1 added, 0 removed, 0 changed.",
        "- **lost** `sign <b>my</b> contract` (in `",
        "`pdf` → `sign`; `` `sign` has `sign` and `contract`, ",
        "- added `sign`: `` Sign a contract, sign contracts. @org/team `x` [a](b) <i>c</i> `` (",
        "#### Size\n\n- skills: 3 → 4\n",
    ] {
        assert!(found.contains(part), "{part}: {found}");
    }
    let same = compared(&new, &new).to_markdown("x");
    assert!(same.contains("No skill differs"), "{same}");
}

/// A threshold moves with the number of skills, which says nothing about any of them.
#[test]
fn what_skills_say_of_themselves_counts_if_a_skill_differs_that_has_to_do_with_it() {
    let new = base();
    for at in 0..40 {
        let text = format!("Water the plants of garden {at} in the morning.");
        new.file(
            &format!("s/garden-{at}/SKILL.md"),
            skill(&format!("garden-{at}"), &text),
        );
    }
    let found = compared(&base(), &new);
    for it in &found.rerouted {
        let answered = it.new.iter().chain(&it.old);
        assert!(
            answered.clone().any(|path| path.starts_with("garden")),
            "{it:?}"
        );
    }
}

#[test]
fn a_bundle_alone_is_a_version() {
    let new = base();
    new.file("s/git/SKILL.md", skill("git", "Commit changes."));
    let (old, new) = (Compiling::of(&base()), Compiling::of(&new));
    let old = Version {
        sources: None,
        ..old.version()
    };
    let found = compare(old, new.version()).expect("both are whole");
    assert_eq!(found.changed.len(), 1);
}

/// What differs, without which version is which.
fn mirrored(it: &Comparison) -> Comparison {
    let mut it = it.clone();
    std::mem::swap(&mut it.old, &mut it.new);
    std::mem::swap(&mut it.added, &mut it.removed);
    std::mem::swap(&mut it.collisions, &mut it.resolved);
    for skill in &mut it.changed {
        for field in &mut skill.fields {
            std::mem::swap(&mut field.old, &mut field.new);
        }
        skill.fields.sort_by(|a, b| a.field.cmp(&b.field));
        for file in &mut skill.files {
            std::mem::swap(&mut file.old, &mut file.new);
        }
    }
    for rerouted in &mut it.rerouted {
        std::mem::swap(&mut rerouted.old, &mut rerouted.new);
        rerouted.effect = match rerouted.effect {
            Effect::Lost => Effect::Found,
            Effect::Found => Effect::Lost,
            Effect::Moved => Effect::Moved,
        };
        rerouted.origin = match rerouted.origin.clone() {
            Origin::Own(key) | Origin::OldOwn(key) => Origin::Own(key),
            Origin::File { .. } | Origin::OldFile => Origin::OldFile,
        };
        rerouted.why.clear();
    }
    it.rerouted
        .sort_by_cached_key(|it| (it.effect, it.expected.clone(), it.request.clone()));
    it
}

/// The same in the form of the mirrored one.
fn plain(it: &Comparison) -> Comparison {
    mirrored(&mirrored(it))
}

/// A version of a few skills, each of which may be missing or say one of several things.
fn versions() -> impl Strategy<Value = Vec<Option<(usize, bool)>>> {
    let skill = proptest::option::weighted(0.8, (0..DESCRIPTIONS.len(), any::<bool>()));
    proptest::collection::vec(skill, 4)
}

const DESCRIPTIONS: &[&str] = &[
    PDF,
    GIT,
    CSV,
    "Sign a contract with a certificate. Use for \"sign a contract\"",
    "Use for documents, branches, columns and rows",
];

fn grown(skills: &[Option<(usize, bool)>]) -> Tree {
    let tree = tree(&[("s/keep/SKILL.md", &skill("keep", "Keep bees in a garden."))]);
    for (at, it) in skills.iter().enumerate() {
        if let Some((description, has_file)) = it {
            let name = format!("skill-{at}");
            let text = skill(&name, DESCRIPTIONS[*description]);
            tree.file(&format!("s/{name}/SKILL.md"), text);
            if *has_file {
                tree.file(&format!("s/{name}/extra.md"), "# Extra\n");
                tree.file(
                    &format!("s/{name}/evals.json"),
                    "[\"sign the pdf contract\"]",
                );
            }
        }
    }
    tree
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_set_does_not_differ_from_itself(skills in versions()) {
        let tree = grown(&skills);
        let found = compared(&tree, &tree);
        prop_assert!(found.is_empty(), "{found:?}");
        prop_assert_eq!(found.old, found.new);
    }

    #[test]
    fn there_and_back_are_mirror_images(one in versions(), other in versions()) {
        let (one, other) = (grown(&one), grown(&other));
        let (there, back) = (compared(&one, &other), compared(&other, &one));
        let (there, back) = (plain(&there), mirrored(&back));
        prop_assert_eq!(there.rerouted, back.rerouted);
        prop_assert_eq!(there.changed, back.changed);
        prop_assert_eq!(there.added, back.added);
        prop_assert_eq!(there.removed, back.removed);
        prop_assert_eq!((there.old, there.new), (back.old, back.new));
        prop_assert_eq!(there.request_count, back.request_count);
        prop_assert_eq!(there.own_request_count, back.own_request_count);
    }
}
