//! The rule that says who reads a file, as a table.

use super::*;

#[test]
fn every_file_has_one_reader() {
    use Reader::{Folder, Hidden, Nobody, Skill, Tree};

    let places = |skills: &[&str], marked: &[&str], resources: &[&str]| {
        let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Places {
            skills: set(skills),
            marked: set(marked),
            resources: set(resources),
        }
    };
    let nothing = || places(&[], &[], &[]);
    let skill = || places(&["a", ".claude/skills/b"], &[], &[]);
    let root_skill = || places(&[""], &[], &[]);
    let marked = || places(&["ui/skill"], &["ui"], &["ui/auth"]);
    let all = || places(&[], &[""], &["_root"]);

    // path, whether it has keywords, what else lies there, its reader
    let cases = [
        ("SKILL.md", false, nothing(), Folder),
        ("a/SKILL.md", false, nothing(), Folder),
        ("a/skill.md", false, nothing(), Folder),
        ("a/Skill.MD", false, nothing(), Folder),
        ("a/SKILL.markdown", true, nothing(), Nobody),
        ("a/MY-SKILL.md", false, nothing(), Nobody),
        ("a/b/SKILL.md", false, skill(), Folder),
        ("a/b/SKILL.md", false, root_skill(), Folder),
        (".claude/skills/b/SKILL.md", false, nothing(), Folder),
        (".cursor/skills/b/SKILL.md", false, nothing(), Hidden),
        ("a/.old/SKILL.md", false, nothing(), Hidden),
        ("a/.old/SKILL.md", false, skill(), Skill),
        ("a/notes.md", true, skill(), Skill),
        ("a/_index.md", true, skill(), Skill),
        ("ab/notes.md", true, skill(), Tree),
        ("a/scripts/run.sh", false, skill(), Skill),
        ("notes.md", true, root_skill(), Skill),
        ("run.sh", false, nothing(), Nobody),
        ("page.md", true, nothing(), Tree),
        ("page.MD", true, nothing(), Tree),
        ("page.md", false, nothing(), Nobody),
        ("page.txt", true, nothing(), Nobody),
        ("_root.md", false, nothing(), Tree),
        ("ui/_index.md", false, nothing(), Tree),
        ("ui/_Index.md", false, nothing(), Nobody),
        ("ui/page.md", false, marked(), Tree),
        ("ui/web/page.md", false, marked(), Tree),
        ("ui2/page.md", false, marked(), Nobody),
        ("ui/skill/page.md", true, marked(), Skill),
        ("ui/auth.md", true, marked(), Tree),
        ("ui/auth/page.md", true, marked(), Skill),
        ("ui/auth/SKILL.md", false, marked(), Folder),
        ("any/page.md", false, all(), Tree),
        ("_root/page.md", true, all(), Skill),
        (".github/issue.md", false, all(), Nobody),
        (".github/issue.md", true, all(), Tree),
        (".hidden/page.md", true, all(), Nobody),
        (".page.md", true, nothing(), Tree),
    ];
    for (path, has_keywords, places, expected) in cases {
        assert_eq!(
            reader(path, has_keywords, &places),
            expected,
            "{path} {places:?}"
        );
    }
}

#[test]
fn paths_come_apart_at_their_slashes() {
    for (path, expected) in [("a/b/c.md", "c.md"), ("c.md", "c.md"), ("", "")] {
        assert_eq!(file_name(path), expected);
    }
    for (path, expected) in [("a/b/c.md", "a/b"), ("c.md", ""), ("", "")] {
        assert_eq!(directory(path), expected);
    }
    for (path, expected) in [
        ("a/b.md", "a/b"),
        ("a.MD", "a"),
        ("a.txt", "a.txt"),
        ("é.md", "é"),
    ] {
        assert_eq!(stem(path), expected);
    }
    assert_eq!(ancestors("a/b/c").collect::<Vec<_>>(), ["a/b", "a", ""]);
    assert_eq!(ancestors("a").collect::<Vec<_>>(), [""]);
}
