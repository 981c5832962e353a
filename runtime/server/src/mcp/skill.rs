//! `skill` (spec 2): one skill by name, as the text to follow.

use std::path::Path;

use serde_json::{Map, Value, json};
use skillbundle_format::{Audience, Catalog, Dialect, Error, File, Skill, visible_line};
use skillbundle_search::text::fold;
use skillbundle_search::typos;

use super::tool_result::{ToolError, ToolResult, digest, shortened};
use super::tools::ToolCall;
use super::toolset::ToolSet;
use super::{broken, skill_listing};
use crate::analytics::UsageEvent;
use crate::source::Generation;

pub(crate) const INPUT: &str = r#"{
  "type": "object",
  "properties": {
    "name": { "type": "string", "minLength": 1, "description": "Name of the skill (case-insensitive)" }
  },
  "required": ["name"],
  "additionalProperties": false
}"#;

/// The names of the argument: spec 2's examples say `command`, and models guess `skill`.
const NAMES: [&str; 3] = ["name", "command", "skill"];

/// Names that are suggested for an unknown one.
const SUGGESTIONS: usize = 3;

/// Skills whose names are compared with an unknown one. More would make a wrong name the slowest
/// call of all.
pub(crate) const COMPARED: usize = 10_000;

pub(crate) fn run(call: &ToolCall<'_>) -> Result<ToolResult, ToolError> {
    let name = call.arguments.only(&NAMES)?.text_by(&NAMES)?;
    if name.trim().is_empty() {
        return Err(ToolError::EmptyName);
    }
    let catalog = call.skills.catalog()?;
    match catalog.by_name(name)? {
        Some(skill) if skill.audience() == Audience::People => Ok(for_people(&skill)?),
        Some(skill) => {
            let found = found(&skill, call.skills, call.toolset())?;
            call.record(&UsageEvent::Loaded {
                skill: skill.path,
                tool: "skill",
            });
            Ok(found)
        }
        None => Ok(not_found(name, catalog, call)?),
    }
}

/// A model must not start this skill.
fn for_people(skill: &Skill<'_>) -> Result<ToolResult, Error> {
    let name = skill.callable_name()?;
    let how = if skill.is_user_invocable() {
        format!("they start it as the prompt \"{name}\", often typed as a slash command")
    } else {
        "its author lets nobody else start it".to_owned()
    };
    let text = format!(
        "Skill '{name}' is for people only: a person must ask for it; {how}. Go on without it, or tell them about it."
    );
    let about = json!({ "code": "for_people_only", "name": name });
    Ok(ToolResult::reading(text, Some(about)).failing())
}

fn found(
    skill: &Skill<'_>,
    generation: &Generation,
    toolset: ToolSet,
) -> Result<ToolResult, Error> {
    let content = match skill.dialect {
        Dialect::Folder => skill.text()?.into_owned(),
        // Its own file would be half of what its author means: it inherits the rest.
        Dialect::Tree => skill.content()?,
    };
    let files = files(skill)?;
    let base = base_directory(skill, generation, !files.is_empty());
    let outdated = generation.why_outdated(skill.path).map(broken::sentence);
    let note = outdated.as_ref().map(|note| format!("Note: {note}\n"));
    // Elsewhere they can be looked at.
    let names = files.iter().filter_map(|file| file["file"].as_str());
    let names: Vec<_> = names.collect();
    let names = (base.starts_with("skill://") && !names.is_empty())
        .then(|| format!("Files: {}\n", names.join(", ")));
    let text = format!(
        "Loading: {}\nBase directory: {base}\n{}{}\n{content}{}",
        skill.name,
        names.unwrap_or_default(),
        note.unwrap_or_default(),
        contract(skill, toolset)?.unwrap_or_default()
    );
    let mut about = json!({
        "name": skill.name,
        "path": skill.path,
        "location": skill.scope.as_str(),
        "base_directory": base,
        "digest": digest(skill.digest()?),
        "files": files,
    });
    if let Some(outdated) = outdated {
        about["outdated"] = outdated.into();
    }
    Ok(ToolResult::reading(text, Some(about)))
}

/// How to invoke it, if it can be. The text of the folder dialect has the contract already.
fn contract(skill: &Skill<'_>, toolset: ToolSet) -> Result<Option<String>, Error> {
    let Some(tool) = toolset.name("invoke_skill") else {
        return Ok(None);
    };
    let contract = skill.contract()?.filter(|it| it.handler.is_some());
    Ok(contract.map(|contract| {
        let how = format!("\n\nInvoke it with `{tool}` by its name, {}.", skill.name);
        match skill.dialect {
            Dialect::Folder => how,
            Dialect::Tree => format!("{how} Its contract: {}", contract.to_json()),
        }
    }))
}

/// What its file names are relative to, if it has files.
pub(crate) fn directory_of_files(
    skill: &Skill<'_>,
    generation: &Generation,
) -> Result<Option<String>, Error> {
    let has_files = !files(skill)?.is_empty();
    Ok(has_files.then(|| base_directory(skill, generation, has_files)))
}

/// What file names are relative to: the directory with `SKILL.md`, or the resource directory beside
/// a file of a tree. Without files on disk, the URI of the skill.
fn base_directory(skill: &Skill<'_>, generation: &Generation, has_files: bool) -> String {
    let Some(base) = generation.base(skill.root) else {
        return format!("skill://{}", skill.path);
    };
    let file = Path::new(skill.file_path);
    let resources = file.with_extension("");
    let inside = match skill.dialect {
        Dialect::Tree if has_files => &resources,
        Dialect::Tree | Dialect::Folder => file.parent().unwrap_or(Path::new("")),
    };
    let directory = inside
        .components()
        .fold(base.to_path_buf(), |directory, part| directory.join(part));
    directory.display().to_string()
}

fn files(skill: &Skill<'_>) -> Result<Vec<Value>, Error> {
    let own = skill
        .files()?
        .into_iter()
        .map(|file| described(&file, None));
    let inherited = if skill.inherit {
        skill.inherited_files()?
    } else {
        Vec::new()
    };
    let inherited = inherited
        .iter()
        .map(|(file, from)| described(file, Some(from)));
    Ok(own.chain(inherited).collect())
}

fn described(file: &File<'_>, from: Option<&Skill<'_>>) -> Value {
    let mut described = Map::new();
    described.insert("file".to_owned(), json!(file.path));
    match file.size {
        Some(size) => described.insert("size".to_owned(), json!(size)),
        None => described.insert("missing".to_owned(), json!(true)),
    };
    described.insert("executable".to_owned(), json!(file.executable));
    described.insert("mime_type".to_owned(), json!(file.mime));
    if let Some(from) = from {
        described.insert("from".to_owned(), json!(from.path));
    }
    Value::Object(described)
}

fn not_found(name: &str, catalog: Catalog<'_>, call: &ToolCall<'_>) -> Result<ToolResult, Error> {
    let available = if catalog.listed_len() == 0 {
        "(none)".to_owned()
    } else {
        skill_listing::lines(catalog, call.toolset(), call.options())?
    };
    let broken = call.skills.why_not_served(name).map(broken::sentence);
    let note = broken.as_ref().map(|note| format!("\n\n{note}"));
    let name = shortened(name.trim());
    let alike = alike(&name, catalog)?;
    let names: Vec<_> = alike.iter().map(|name| visible_line(name)).collect();
    let closest = (!names.is_empty()).then(|| format!("\n\nClosest: {}", names.join(", ")));
    let text = format!(
        "Skill '{name}' not found.{}\n\nAvailable skills:\n{available}{}\n\nUse the exact skill name (case-insensitive) to load a skill.",
        note.unwrap_or_default(),
        closest.unwrap_or_default(),
    );
    let about = json!({ "code": "skill_not_found", "did_you_mean": alike });
    Ok(ToolResult::reading(text, Some(about)).failing())
}

/// Names that `wanted` may be a typing mistake for, that contain it, or that it contains; the
/// nearest first.
fn alike<'a>(wanted: &str, catalog: Catalog<'a>) -> Result<Vec<&'a str>, Error> {
    let wanted = fold(wanted);
    let contains = |long: &str, short: &str| short.chars().nth(2).is_some() && long.contains(short);
    let mut near = Vec::new();
    for skill in catalog.listed().take(COMPARED) {
        let name = skill?.callable_name()?;
        let folded = fold(name);
        let is_part = contains(&folded, &wanted) || contains(&wanted, &folded);
        near.extend(match typos(&wanted, &folded) {
            Some(typos) => Some((typos, name)),
            None => is_part.then_some((usize::MAX, name)),
        });
    }
    near.sort_unstable();
    Ok(near
        .into_iter()
        .take(SUGGESTIONS)
        .map(|(_, name)| name)
        .collect())
}
