//! The rule that classifies files, as a table.

use super::*;

#[test]
fn every_file_has_one_kind() {
    use FileKind::{Content, Hidden, Other, Page, SkillFile};

    let claims = |skills: &[&str], marked: &[&str], resources: &[&str]| {
        let set = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Claims {
            skills: set(skills),
            marked: set(marked),
            resources: set(resources),
        }
    };
    let nothing = || claims(&[], &[], &[]);
    let skill = || claims(&["a", ".claude/skills/b"], &[], &[]);
    let root_skill = || claims(&[""], &[], &[]);
    let marked = || claims(&["ui/skill"], &["ui"], &["ui/auth"]);
    let all = || claims(&[], &[""], &["_root"]);

    // path, whether it has keywords, claims of directories, kind
    let cases = [
        ("SKILL.md", false, nothing(), SkillFile),
        ("a/SKILL.md", false, nothing(), SkillFile),
        ("a/skill.md", false, nothing(), SkillFile),
        ("a/Skill.MD", false, nothing(), SkillFile),
        ("a/SKILL.markdown", true, nothing(), Other),
        ("a/MY-SKILL.md", false, nothing(), Other),
        ("a/b/SKILL.md", false, skill(), SkillFile),
        ("a/b/SKILL.md", false, root_skill(), SkillFile),
        (".claude/skills/b/SKILL.md", false, nothing(), SkillFile),
        (".cursor/skills/b/SKILL.md", false, nothing(), Hidden),
        ("a/.old/SKILL.md", false, nothing(), Hidden),
        ("a/.old/SKILL.md", false, skill(), Content),
        ("a/notes.md", true, skill(), Content),
        ("a/_index.md", true, skill(), Content),
        ("ab/notes.md", true, skill(), Page),
        ("a/scripts/run.sh", false, skill(), Content),
        ("notes.md", true, root_skill(), Content),
        ("run.sh", false, nothing(), Other),
        ("page.md", true, nothing(), Page),
        ("page.MD", true, nothing(), Page),
        ("page.md", false, nothing(), Other),
        ("page.txt", true, nothing(), Other),
        ("_root.md", false, nothing(), Page),
        ("ui/_index.md", false, nothing(), Page),
        ("ui/_Index.md", false, nothing(), Other),
        ("ui/page.md", false, marked(), Page),
        ("ui/web/page.md", false, marked(), Page),
        ("ui2/page.md", false, marked(), Other),
        ("ui/skill/page.md", true, marked(), Content),
        ("ui/auth.md", true, marked(), Page),
        ("ui/auth/page.md", true, marked(), Content),
        ("ui/auth/SKILL.md", false, marked(), SkillFile),
        ("any/page.md", false, all(), Page),
        ("_root/page.md", true, all(), Content),
        (".github/issue.md", false, all(), Other),
        (".github/issue.md", true, all(), Page),
        (".hidden/page.md", true, all(), Other),
        (".page.md", true, nothing(), Page),
    ];
    for (path, has_keywords, claims, expected) in cases {
        assert_eq!(
            classify(path, has_keywords, &claims),
            expected,
            "{path} {claims:?}"
        );
    }
}
