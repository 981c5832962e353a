//! The `config.yaml` around a root called `skills`: when it counts, and when it is left alone.

use skillbundle_compiler::{Options, Previous, compile, fingerprints, recompile, walked_paths};

use crate::kit::{CompileTree, Tree, skill};

const CONFIG: &str = "matching:\n  min_score: 0.9\n";

/// A tree with a skill in the directory.
fn with_skill(dir: &str) -> Tree {
    let tree = Tree::new();
    tree.file(&format!("{dir}/a/SKILL.md"), skill("a", "A skill"));
    tree
}

fn min_score(tree: &Tree, dirs: &[&str]) -> f64 {
    tree.compile(dirs).set.settings.min_score
}

#[test]
fn it_counts_only_if_it_plainly_belongs_to_the_skills() {
    for (root, config, counts) in [
        ("content/skills", "content/config.yaml", true),
        ("content/skills/", "content/config.yaml", true),
        ("content/./skills", "content/config.yaml", true),
        // Not the directory around it.
        ("skills/content/skills", "skills/config.yaml", false),
        // Not called `skills`.
        ("content/pages", "content/config.yaml", false),
        ("content/Skills", "content/config.yaml", false),
        ("content/my-skills", "content/config.yaml", false),
        // The folder of a host.
        ("home/.claude/skills", "home/.claude/config.yaml", false),
        (
            "repository/.github/skills",
            "repository/.github/config.yaml",
            false,
        ),
        // Another name.
        ("content/skills", "content/config.yml", false),
        ("content/skills", "content/Config.yaml", false),
    ] {
        let tree = with_skill(root.trim_end_matches('/'));
        tree.file(config, CONFIG);
        let found = min_score(&tree, &[root]);
        assert_eq!(found > 0.5, counts, "{root} {config}");
        let nothing: &[String] = &[];
        assert_eq!(tree.outcome(&[root]).1, nothing, "{root} {config}");
    }
}

#[test]
fn a_root_that_is_a_repository_has_nothing_around_it() {
    let tree = with_skill("content/skills");
    tree.file("content/config.yaml", CONFIG)
        .file("content/.git/HEAD", "ref: refs/heads/main\n");
    assert!(
        min_score(&tree, &["content/skills"]) > 0.5,
        "the repository is around it"
    );
    tree.file("content/skills/.git", "gitdir: elsewhere\n");
    assert!(min_score(&tree, &["content/skills"]) < 0.5);
}

#[cfg(unix)]
#[test]
fn links_and_pipes_are_left_alone_and_a_root_is_where_its_link_leads() {
    let tree = with_skill("content/skills");
    tree.file("elsewhere.yaml", CONFIG)
        .link("content/config.yaml", "../elsewhere.yaml")
        .link("beside/skills", "../content/skills")
        .file("beside/config.yaml", CONFIG)
        .link("other", "content/skills");
    for root in ["content/skills", "beside/skills", "other"] {
        assert!(min_score(&tree, &[root]) < 0.5, "{root}");
    }
    std::fs::remove_file(tree.path("content/config.yaml")).expect("it is there");
    tree.file("content/config.yaml", CONFIG);
    for root in ["content/skills", "beside/skills", "other"] {
        assert!(min_score(&tree, &[root]) > 0.5, "{root}");
    }
    std::fs::remove_file(tree.path("content/config.yaml")).expect("it is there");
    let made = std::process::Command::new("mkfifo")
        .arg(tree.path("content/config.yaml"))
        .status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo");
    assert!(min_score(&tree, &["content/skills"]) < 0.5);
}

#[test]
fn what_another_program_wrote_is_reported_as_not_read() {
    let tree = with_skill("content/skills");
    tree.file(
        "content/config.yaml",
        "title: My site\nlog: info\nskills: {paths: [/etc]}\n",
    );
    let (skills, found) = tree.outcome(&["content/skills"]);
    assert_eq!(skills, ["a"]);
    assert_eq!(found, ["info config-ignored content/config.yaml"]);
}

#[test]
fn it_comes_after_that_of_the_root_and_before_the_next_root() {
    let tree = with_skill("one/skills");
    tree.file("two/skills/b/SKILL.md", skill("b", "B"))
        .file("one/config.yaml", CONFIG)
        .file("two/skills/config.yaml", "matching:\n  min_score: 0.7\n");
    let roots = ["one/skills", "two/skills"];
    assert!((min_score(&tree, &roots) - 0.9).abs() < 1e-9);
    let ignored = "warning config-ignored two/skills/config.yaml";
    assert_eq!(tree.outcome(&roots).1, [ignored]);
    tree.file("one/skills/config.yaml", "matching:\n  min_score: 0.3\n");
    assert!((min_score(&tree, &roots) - 0.3).abs() < 1e-9);
    // A content root that is a root itself is not read a second time.
    let both = ["two", "two/skills"];
    tree.file("two/config.yaml", CONFIG);
    assert!((min_score(&tree, &both) - 0.9).abs() < 1e-9);
}

#[test]
fn it_is_no_file_of_a_skill() {
    let tree = Tree::new();
    tree.file(
        "content/skills/SKILL.md",
        skill("whole", "The root is a skill"),
    )
    .file("content/config.yaml", CONFIG)
    .file(
        "content/notes.md",
        "---\nkeywords: [x]\ndescription: x\n---\nx\n",
    );
    let compiled = tree.compile(&["content/skills"]);
    assert_eq!(compiled.set.skills.len(), 1);
    assert!(
        compiled.set.skills[0].files.is_empty(),
        "{:?}",
        compiled.set.skills[0].files
    );
    assert!(compiled.set.settings.min_score > 0.5);
    assert_eq!(compiled.set.roots.len(), 1);
}

#[test]
fn a_mistake_in_it_is_shown_where_it_is() {
    let tree = with_skill("content/skills");
    tree.file("content/config.yaml", "matching:\n  min_scor: 0.9\n");
    let compiled = tree.compile(&["content/skills"]);
    let shown = compiled.report.render_plain();
    assert!(shown.contains("content/config.yaml:2:3: "), "{shown}");
    assert!(!shown.contains("skills/../"), "{shown}");
}

#[test]
fn its_edits_move_the_fingerprint_and_unchanged_skills_see_them() {
    let tree = with_skill("content/skills");
    let roots = tree.roots(&["content/skills"]);
    let config = tree.path("content/config.yaml");
    let mut seen = vec![fingerprints(&roots).expect("readable")];
    for text in [
        CONFIG,
        "matching:\n  min_score: 0.8\n",
        "matching:\n  min_score: 0.7\n",
    ] {
        let before = compile(&roots, &Options::default()).expect("readable");
        tree.file("content/config.yaml", text);
        let now = fingerprints(&roots).expect("readable");
        assert!(!seen.contains(&now), "{text}");
        seen.push(now);
        let previous = Previous {
            set: before.set,
            states: before.states,
        };
        let after = recompile(&roots, &Options::default(), &previous, &|| None);
        let after = after.expect("readable").expect("nothing is torn");
        assert!(after.set.settings.min_score > 0.5, "{text}");
        assert!(walked_paths(&roots).files.contains(&config));
    }
    std::fs::remove_file(&config).expect("it is there");
    assert_eq!(fingerprints(&roots).expect("readable"), seen[0]);
    let paths = walked_paths(&roots);
    assert!(!paths.files.contains(&config) && paths.entries.contains(&config));
    // Nothing else in the directory counts.
    tree.file("content/notes.txt", "x");
    assert_eq!(fingerprints(&roots).expect("readable"), seen[0]);
}
