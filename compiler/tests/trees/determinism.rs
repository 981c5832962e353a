//! The same tree gives the same bundle: whatever order its files were made in,
//! wherever it lies, whatever its times say.

use std::fs::File;
use std::time::{Duration, SystemTime};

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::kit::{CompileTree, Tree};

/// Few names, so that files meet: skills in skills, pages beside directories.
const DIRECTORIES: &[&str] = &[
    "",
    "a",
    "a/b",
    "b",
    "b/ü",
    ".claude/skills/c",
    ".old",
    "a/scripts",
];
const NAMES: &[&str] = &[
    "SKILL.md",
    "skill.md",
    "_root.md",
    "_index.md",
    "a.md",
    "b.md",
    "run.sh",
    "README.md",
    "config.yaml",
];
const TEXTS: &[&str] = &[
    "",
    "plain\n",
    "---\nname: a\ndescription: d\n---\nSee [x](../x.md) and `scripts/run.sh`.\n",
    "---\nname: b\ndescription: e\nkeywords: [k]\n---\nbody\n",
    "---\ndescription: f\nkeywords: [k, l]\nassets: [run.sh, gone.txt]\n---\nbody\n",
    "---\nname: broken\ndescription: a: b: [\n---\nbody\n",
    "---\nunclosed: yes\n",
    "matching:\n  min_score: 0.4\n",
];

fn trees() -> impl Strategy<Value = Vec<(String, &'static str)>> {
    let path = (select(DIRECTORIES), select(NAMES)).prop_map(|(directory, name)| match directory {
        "" => name.to_owned(),
        directory => format!("{directory}/{name}"),
    });
    btree_map(path, select(TEXTS), 1..24).prop_map(|files| files.into_iter().collect())
}

/// Makes the files in this order, compiles, and gives everything that may not
/// depend on order, place or time.
fn outcome(files: &[(String, &str)], order: &[Index], age: u64) -> (Vec<u8>, String) {
    let tree = Tree::new();
    let mut left: Vec<_> = files.iter().collect();
    for index in order.iter().chain(std::iter::repeat(&order[0])) {
        if left.is_empty() {
            break;
        }
        let (path, text) = left.remove(index.index(left.len()));
        tree.file(&format!("r/{path}"), text);
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(age * left.len() as u64);
        let open = File::options()
            .append(true)
            .open(tree.path(&format!("r/{path}")));
        open.and_then(|it| it.set_modified(time))
            .expect("a time can be set");
    }
    let compiled = tree.compile(&["r"]);
    let base = tree.path("").display().to_string();
    // A root that is a skill is compared with its directory's name, here `r`.
    let found = compiled.report.render_plain().replace(&base, "");
    (
        skillbundle_format::write(&compiled.set).expect("a set can be written"),
        found,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn equal_trees_give_equal_bytes(
        files in trees(),
        orders in (vec(any::<Index>(), 1..24), vec(any::<Index>(), 1..24)),
        ages in (0u64..1_000_000, 0u64..1_000_000),
    ) {
        let first = outcome(&files, &orders.0, ages.0);
        let second = outcome(&files, &orders.1, ages.1);
        prop_assert_eq!(first, second);
    }

    #[test]
    fn every_file_that_looks_like_a_skill_is_served_or_named(files in trees()) {
        let tree = Tree::new();
        for (path, text) in &files {
            tree.file(&format!("r/{path}"), text);
        }
        let compiled = tree.compile(&["r"]);
        let root = tree.path("r").display().to_string();
        for (path, _) in files.iter().filter(|(path, _)| path.to_lowercase().ends_with("skill.md")) {
            let served = compiled.set.skills.iter().any(|it| it.file_path == *path);
            let within = |file: &str| format!("{root}/{path}").starts_with(file);
            let named = compiled.report.diagnostics().iter().any(|it| it.file != root && within(&it.file));
            prop_assert!(served || named, "{} is neither served nor named", path);
        }
    }
}
