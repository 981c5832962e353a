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
        // That a large file is read in part is a finding of another rule.
        let found = tree.outcome(&["r"]).1.into_iter();
        let found: Vec<String> = found.filter(|it| it.contains("skill-too-large")).collect();
        assert_eq!(found, expected, "{count} files of {bytes} bytes");
    }
}

/// What takes as long as the square of a text would take minutes here: each of these has as much as
/// fits into a file that is read.
#[test]
fn no_text_takes_longer_than_its_length() {
    const SIZE: usize = 500_000;
    let numbered = |start: &str, end: &str| {
        let lines = (0..).map(|number| format!("{start}{number}{end}"));
        let mut text = String::new();
        for line in lines.take_while(|line| line.len() < SIZE) {
            if text.len() + line.len() > SIZE {
                break;
            }
            text += &line;
        }
        text
    };
    let runs = |most: usize| {
        let runs = (0..).map(|number| "`".repeat(number % most + 1) + " ");
        let mut text = String::new();
        for run in runs {
            if text.len() + run.len() > SIZE {
                return text;
            }
            text += &run;
        }
        text
    };
    let repeated = |part: &str| part.repeat(SIZE / part.len());
    for (what, body, findings) in [
        ("links", numbered("[a](m", ".md)\n"), 51),
        ("links in one line", numbered("[a](m", ".md) "), 51),
        ("images", numbered("![a](m", ".png)\n"), 51),
        (
            "paths in backticks",
            numbered("see `references/m", ".md` "),
            51,
        ),
        ("definitions", numbered("[a]: m", ".md\n"), 1),
        (
            "links that are shown in code",
            numbered("[a](m", ".md)\n") + "```\n" + &numbered("cat m", ".md\n") + "```\n",
            0,
        ),
        ("links out of the skill", numbered("[a](../m", ".md)\n"), 1),
        ("angles", repeated("](<"), 0),
        ("runs of backticks", runs(1000), 0),
        ("short runs of backticks", repeated("`a ``"), 0),
        ("fences", numbered("```", "\n"), 0),
        ("comments", repeated("<!-- "), 0),
        ("brackets", repeated("["), 0),
        ("escapes", repeated("\\["), 0),
        ("Chinese", repeated("技能检查文件内容"), 0),
        ("nested images", repeated("![[]()"), 0),
        ("nested links", repeated("[") + &repeated("](m.md)"), 1),
        ("titles that do not end", repeated("[a](m.md \""), 0),
        ("nested quotes", repeated(">") + "[a](m.md)\n", 1),
        ("nested lists", repeated("- ") + "[a](m.md)\n", 1),
        (
            "lines of a deep quote",
            repeated("> ") + "a\n" + &repeated("[a](m.md)\n"),
            0,
        ),
        (
            "lines of a deep list",
            repeated("- ") + "a\n" + &repeated("[a](m.md)\n"),
            0,
        ),
        (
            "blank lines in a deep list",
            "- ".repeat(700) + "a\n" + &repeated("\n") + "`a`",
            0,
        ),
        ("instructions", repeated("a <? `"), 0),
        ("tags", repeated("<a href=\"`"), 0),
        ("emphasis", repeated("*a **b ]("), 0),
    ] {
        let tree = Tree::new();
        tree.file(
            "root/a/SKILL.md",
            format!("---\nname: a\ndescription: Does a\n---\n{body}"),
        );
        tree.file("root/a/references/b.md", "b\n");
        let (skills, found) = tree.outcome(&["root"]);
        assert_eq!(skills, ["a"], "{what}");
        let of_references = found.iter().filter(|it| it.contains("reference"));
        assert_eq!(
            of_references.count(),
            findings,
            "{what}: {:?}",
            &found[..found.len().min(3)]
        );
    }
}

#[test]
fn what_is_not_checked_of_a_text_is_said() {
    let there = "[a](references/b.md) ";
    let broken = "[a](references/c.md)\n";
    for (what, body, found) in [
        (
            "few links",
            there.repeat(9_999) + broken,
            "broken-reference",
        ),
        (
            "many links",
            there.repeat(10_000) + broken,
            "partly-checked",
        ),
        (
            "a deep list",
            "- ".repeat(700) + "a\n" + &"\n".repeat(100_000) + broken,
            "partly-checked",
        ),
    ] {
        let tree = Tree::new();
        tree.file("root/a/SKILL.md", skill("a", "d") + &body);
        tree.file("root/a/references/b.md", "b\n");
        let all = tree.outcome(&["root"]).1.into_iter();
        let codes = ["broken-reference", "partly-checked"];
        let seen: Vec<String> = all
            .filter(|it| codes.iter().any(|code| it.contains(code)))
            .collect();
        assert!(
            matches!(&seen[..], [only] if only.contains(found)),
            "{what}: {seen:?}"
        );
    }
}
