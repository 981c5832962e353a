//! Limits that take too many files for a Markdown case.

use crate::kit::{CompileTree, Tree, skill};

#[test]
fn a_skill_too_large_for_hosts_is_reported_at_the_limit() {
    for (count, bytes, said) in [
        (511, 0, false),
        (512, 0, true),
        (1, (16 << 20) - 200, false),
        (1, 16 << 20, true),
    ] {
        let tree = Tree::new();
        tree.file("r/a/SKILL.md", skill("a", "d"));
        for file in 0..count {
            tree.file(&format!("r/a/{file}"), vec![b'x'; bytes]);
        }
        let expected: &[&str] = if said {
            &["warning skill-too-large r/a/SKILL.md"]
        } else {
            &[]
        };
        assert_eq!(
            tree.outcome(&["r"]).1,
            expected,
            "{count} files of {bytes} bytes"
        );
    }
}
