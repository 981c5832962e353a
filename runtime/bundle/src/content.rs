//! Inheritance as specified in spec 3 §6 and §7: the chain, the aggregated text with its headers,
//! and file lookup along the chain.

use crate::error::{Error, corrupt};
use crate::file::File;
use crate::model::{Dialect, SkillEntry, SkillSet};
use crate::skill::Skill;

impl<'a> Skill<'a> {
    /// The skill and its ancestors, root first and the skill last. Only the skill itself if
    /// `inherit` is false.
    pub fn chain(&self) -> Result<Vec<Skill<'a>>, Error> {
        let ids = self
            .catalog
            .rows(&self.catalog.index.chains, &self.row.chain)?;
        if ids.last().map(|id| id.to_native()) != Some(self.id) {
            return Err(corrupt("the chain of a skill does not end with the skill"));
        }
        ids.iter()
            .map(|id| self.catalog.skill(id.to_native()))
            .collect()
    }

    /// The aggregated text of the chain (spec 3 §6.2). A skill that does not inherit, and every
    /// folder-dialect skill, returns its own body without headers.
    pub fn content(&self) -> Result<String, Error> {
        if !self.inherit || self.dialect == Dialect::Folder {
            return Ok(trimmed(&self.body()?).to_owned());
        }
        let section = |skill: &Skill<'_>| Ok(section(skill.path, skill.file_path, &skill.body()?));
        let sections = self
            .chain()?
            .iter()
            .map(section)
            .collect::<Result<Vec<_>, Error>>()?;
        Ok(sections.join("\n\n"))
    }

    /// Files of the ancestors that no nearer skill of the chain overrides, each with the skill that
    /// it comes from, sorted by path.
    pub fn inherited_files(&self) -> Result<Vec<(File<'a>, Skill<'a>)>, Error> {
        let mut nearest = std::collections::BTreeMap::new();
        for skill in self.chain()? {
            for file in skill.files()? {
                nearest.insert(file.path, (file, skill));
            }
        }
        Ok(nearest
            .into_values()
            .filter(|(_, from)| from.id != self.id)
            .collect())
    }

    /// The file with this path: the skill's own, or the one of the nearest ancestor together with
    /// that ancestor (spec 3 §7.5).
    pub fn find_file(&self, path: &str) -> Result<Option<(File<'a>, Option<Skill<'a>>)>, Error> {
        for skill in self.chain()?.into_iter().rev() {
            if let Some(file) = skill.file(path)? {
                return Ok(Some((file, (skill.id != self.id).then_some(skill))));
            }
        }
        Ok(None)
    }
}

/// The result of [`Skill::content`] for a skill that is not yet written to a bundle.
pub(crate) fn resolved(set: &SkillSet, id: usize) -> String {
    let body = |skill: &SkillEntry| {
        let bytes = skill.source.get(skill.body.clone()).unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    };
    let skill = &set.skills[id];
    if !skill.inherit || skill.dialect == Dialect::Folder {
        return trimmed(&body(skill)).to_owned();
    }
    let sections: Vec<_> = chain(set, id)
        .unwrap_or_default()
        .into_iter()
        .map(|id| &set.skills[id as usize])
        .map(|skill| section(&skill.path, &skill.file_path, &body(skill)))
        .collect();
    sections.join("\n\n")
}

/// The skill and its ancestors, root first. Returns `None` if the parents form a cycle or do not
/// exist.
pub(crate) fn chain(set: &SkillSet, id: usize) -> Option<Vec<u32>> {
    let mut chain = vec![u32::try_from(id).ok()?];
    let mut next = set.skills[id].parent;
    while let (true, Some(parent)) = (set.skills[id].inherit, next) {
        if chain.len() > set.skills.len() {
            return None;
        }
        chain.push(parent);
        next = set.skills.get(parent as usize)?.parent;
    }
    chain.reverse();
    Some(chain)
}

fn section(path: &str, file_path: &str, body: &str) -> String {
    let text = format!(
        "=== {} (from {file_path}) ===\n\n{}",
        heading(path),
        trimmed(body)
    );
    text.trim_end().to_owned()
}

/// The header of a path: `ui/react/_index` becomes `UI > REACT`, `_root` becomes `GLOBAL RULES`.
fn heading(path: &str) -> String {
    if path == "_root" {
        return "GLOBAL RULES".to_owned();
    }
    let upper = path.to_uppercase();
    let segments: Vec<_> = upper
        .split('/')
        .filter(|segment| *segment != "_INDEX")
        .collect();
    let heading = segments
        .join(" > ")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    // `_index.md` next to `_root.md` has no segment left.
    if heading.is_empty() {
        "INDEX".to_owned()
    } else {
        heading
    }
}

/// Strips leading blank lines and trailing white space. The first line keeps its indentation, which
/// is significant in Markdown.
fn trimmed(body: &str) -> &str {
    let mut rest = body.trim_end();
    while let Some((line, after)) = rest.split_once('\n') {
        if !line.trim().is_empty() {
            break;
        }
        rest = after;
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_follow_the_rules_of_spec_3() {
        for (path, expected) in [
            ("_root", "GLOBAL RULES"),
            ("ui/_index", "UI"),
            ("ui/react/_index", "UI > REACT"),
            ("ui/react/auth", "UI > REACT > AUTH"),
            ("no-inherit", "NO-INHERIT"),
            ("two  words/x", "TWO WORDS > X"),
            ("_index", "INDEX"),
        ] {
            assert_eq!(heading(path), expected, "{path}");
        }
    }

    #[test]
    fn trimming_keeps_the_first_lines_indentation() {
        for (body, expected) in [
            ("\n\n# A\n\n", "# A"),
            ("\r\n    code\r\n", "    code"),
            ("\n \n", ""),
            ("x", "x"),
        ] {
            assert_eq!(trimmed(body), expected, "{body:?}");
        }
    }
}
