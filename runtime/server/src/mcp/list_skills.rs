//! `list_skills` (spec 3 §8.2): the skills as a tree, parents above what
//! inherits from them, or one branch of it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use skillbundle_format::{Dialect, Error, Role, Skill, branch};

use super::broken;
use super::tool_result::{ToolError, ToolResult, shortened};
use super::tools::ToolCall;

pub(crate) const INPUT: &str = r#"{
  "type": "object",
  "properties": {
    "path": { "type": "string", "description": "Only this branch, such as \"ui\" or \"api/_index\"" }
  },
  "additionalProperties": false
}"#;

pub(crate) const OUTPUT: &str = concat!(
    r#"{
  "type": "object",
  "properties": {
    "tree": {
      "type": "object",
      "description": "A node with name, path, description, keywords, assetCount, scriptCount and children, which are nodes. A node with an empty path is not a skill; it groups several.",
      "properties": {
        "name": { "type": "string" },
        "path": { "type": "string" },
        "description": { "type": "string" },
        "keywords": { "type": "array", "items": { "type": "string" } },
        "assetCount": { "type": "integer" },
        "scriptCount": { "type": "integer" },
        "children": { "type": "array", "items": { "type": "object", "description": "A node like this one" } }
      }
    },
    "#,
    broken::all_schema!(),
    r#"
  }
}"#
);

pub(crate) fn run(call: &ToolCall<'_>) -> Result<ToolResult, ToolError> {
    let typed = call
        .arguments
        .only(&["path"])?
        .optional_text("path")?
        .unwrap_or_default();
    let branch = branch(typed);
    let mut inside = BTreeMap::new();
    for skill in call.skills.catalog()?.listed() {
        let skill = skill?;
        if skill.lies_in(branch) {
            inside.insert(skill.id, skill);
        }
    }
    if inside.is_empty() && !branch.is_empty() {
        return Err(ToolError::NoTree(shortened(typed)));
    }
    let mut answer = json!({ "tree": tree(branch, &inside)? });
    if branch.is_empty() {
        broken::add_all(&mut answer, call.skills.broken());
    }
    Ok(ToolResult::json(&answer))
}

/// Deeper than any path; a damaged bundle could hold a circle.
const DEEPEST: u32 = 64;

/// The one skill above all others, or a node without a skill if there are several.
fn tree(branch: &str, inside: &BTreeMap<u32, Skill<'_>>) -> Result<Value, Error> {
    let mut children: BTreeMap<Option<u32>, Vec<u32>> = BTreeMap::new();
    for skill in inside.values() {
        let parent = nearest(skill, inside)?;
        children.entry(parent).or_default().push(skill.id);
    }
    let mut tops = nodes(None, inside, &children, 0)?;
    if tops.len() == 1 {
        return Ok(tops.remove(0));
    }
    let name = branch
        .rsplit('/')
        .next()
        .filter(|name| !name.is_empty())
        .unwrap_or("root");
    Ok(
        json!({ "name": name, "path": "", "description": "", "keywords": [], "assetCount": 0, "scriptCount": 0, "children": tops }),
    )
}

/// The nearest ancestor that is shown.
fn nearest(skill: &Skill<'_>, inside: &BTreeMap<u32, Skill<'_>>) -> Result<Option<u32>, Error> {
    let mut ancestor = skill.parent()?;
    for _ in 0..DEEPEST {
        match ancestor {
            Some(found) if !inside.contains_key(&found.id) => ancestor = found.parent()?,
            found => return Ok(found.map(|found| found.id)),
        }
    }
    Ok(None)
}

fn nodes(
    parent: Option<u32>,
    inside: &BTreeMap<u32, Skill<'_>>,
    children: &BTreeMap<Option<u32>, Vec<u32>>,
    depth: u32,
) -> Result<Vec<Value>, Error> {
    let ids = children.get(&parent).filter(|_| depth < DEEPEST);
    ids.into_iter()
        .flatten()
        .map(|id| node(&inside[id], &nodes(Some(*id), inside, children, depth + 1)?))
        .collect()
}

fn node(skill: &Skill<'_>, children: &[Value]) -> Result<Value, Error> {
    let files = skill.files()?;
    let scripts = files
        .iter()
        .filter(|file| file.role == Role::Script)
        .count();
    Ok(json!({
        "name": name(skill),
        "path": skill.path,
        "description": skill.description,
        "keywords": skill.keywords()?,
        "assetCount": files.len() - scripts,
        "scriptCount": scripts,
        "children": children,
    }))
}

/// In a tree the place says what a skill is called: `ui/react/_index` is
/// `react`, and the top is `root`.
fn name<'a>(skill: &Skill<'a>) -> &'a str {
    if skill.dialect == Dialect::Folder {
        return skill.name;
    }
    match (skill.path, skill.path.strip_suffix("/_index")) {
        ("_root", _) => "root",
        (_, Some(directory)) => directory.rsplit('/').next().unwrap_or(directory),
        _ => skill.install_name(),
    }
}
