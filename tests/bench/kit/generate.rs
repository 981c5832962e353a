//! Skills generated from a fixed word list: the same in every run.

use std::path::Path;

use skillbundle_compiler::{Options, Root};
use skillbundle_format::Scope;

const WORDS: [&str; 48] = [
    "deploy", "rollback", "index", "vacuum", "topic", "consumer", "render", "hook", "state",
    "form", "login", "token", "rotate", "secret", "module", "plan", "chart", "canary", "trace",
    "metric", "alert", "pager", "ledger", "refund", "locale", "plural", "table", "image", "resize",
    "cache", "evict", "shard", "replica", "quorum", "lint", "format", "release", "review",
    "fixture", "mock", "profile", "thread", "retry", "queue", "stream", "schema", "backup",
    "audit",
];

/// Bytes of a skill's body: the size of a typical real one.
const BODY: usize = 4096;

/// A small deterministic generator (`SplitMix64`); quality hardly matters here.
struct Random(u64);

impl Random {
    fn word(&mut self) -> &'static str {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        WORDS[usize::try_from((mixed ^ (mixed >> 31)) % WORDS.len() as u64)
            .expect("below the list's length")]
    }
}

/// The name of the skill with this number.
pub(crate) fn name(number: usize) -> String {
    let mut random = Random(number as u64);
    format!("{}-{}-{number:05}", random.word(), random.word())
}

/// The last line of that skill's text, so that a truncated answer is noticed.
pub(crate) fn last_line(number: usize) -> String {
    format!("END-OF-{}", name(number))
}

/// Writes `count` skills of the folder dialect below `dir`.
pub(crate) fn tree(dir: &Path, count: usize) {
    for number in 0..count {
        let folder = dir.join(name(number));
        std::fs::create_dir_all(&folder).expect("the temporary directory takes folders");
        std::fs::write(folder.join("SKILL.md"), markdown(number))
            .expect("the temporary directory takes files");
    }
}

/// Compiles a fresh tree of `count` skills into a bundle file in `dir`.
pub(crate) fn bundle(dir: &Path, count: usize) -> std::path::PathBuf {
    let (skills, file) = (
        dir.join(format!("skills-{count}")),
        dir.join(format!("{count}.skb")),
    );
    tree(&skills, count);
    let root = Root {
        dir: skills,
        label: "project".to_owned(),
        scope: Scope::Project,
        commit: None,
        max_files: None,
        declared: Vec::new(),
    };
    let compiled = skillbundle_compiler::compile(&[root], &Options::default())
        .expect("the tree was just written");
    assert_eq!(
        compiled.set.skills.len(),
        count,
        "every generated skill is valid"
    );
    let bytes =
        skillbundle_format::write(&compiled.set).expect("the compiler's sets are consistent");
    skillbundle_format::publish(&file, &bytes).expect("the temporary directory takes files");
    file
}

/// The Markdown file of the skill with this number.
pub(super) fn markdown(number: usize) -> String {
    let (name, mut random) = (name(number), Random(number as u64 ^ 0x5eed));
    let mut text = format!(
        "---\nname: {name}\ndescription: How we {} and {} the {}; use when a task mentions {name}.\n---\n\n# {name}\n\n",
        random.word(),
        random.word(),
        random.word()
    );
    while text.len() < BODY {
        text.push_str(random.word());
        text.push(if text.len().is_multiple_of(70) {
            '\n'
        } else {
            ' '
        });
    }
    text.push_str("\n\n");
    text.push_str(&last_line(number));
    text.push('\n');
    text
}
