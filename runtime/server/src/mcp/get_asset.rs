//! `get_asset` (spec 3 §8.3): one file of a skill or of a skill that it inherits from. Bytes are sent
//! unchanged: as text if that is possible, else in base64. Paths are looked up among the skill's
//! files and nowhere else.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use skillbundle_format::{Catalog, Error, File, MAX_FILE_BYTES, Role, Skill};
use skillbundle_search::typos;

use super::skill::COMPARED;
use super::tool_result::{ToolError, ToolResult, shortened};
use super::tools::ToolCall;
use super::toolset::ToolSet;
use crate::analytics::UsageEvent;
use crate::scripts::leads_outside;

pub(crate) const INPUT: &str = r#"{
  "type": "object",
  "properties": {
    "skill_path": { "type": "string", "minLength": 1, "description": "Path or name of the skill" },
    "file": { "type": "string", "minLength": 1, "description": "The file as the skill names it" }
  },
  "required": ["skill_path", "file"],
  "additionalProperties": false
}"#;

/// Files that an error names.
const MOST_NAMED: usize = 20;

pub(crate) fn run(call: &ToolCall<'_>) -> Result<ToolResult, ToolError> {
    let arguments = call.arguments.only(&["skill_path", "file"])?;
    let (path, name) = (arguments.text("skill_path")?, arguments.text("file")?);
    let catalog = call.skills.catalog()?;
    let skill = named_skill(catalog, path, call.toolset())?;
    if leads_outside(name) {
        return Err(ToolError::Traversal(shortened(name)));
    }
    let found = skill.find_file(name.strip_prefix("./").unwrap_or(name))?;
    let Some((file, from)) = found else {
        return Err(ToolError::NoFile {
            skill: skill.path.to_owned(),
            file: shortened(name),
            there: names(&skill)?,
        });
    };
    let mut answer = read(
        &file,
        &skill,
        from.as_ref(),
        catalog.settings()?.asset_max_bytes,
    )?;
    if let Some(from) = &from {
        answer["resolved_from"] = json!(from.path);
    }
    call.record(&UsageEvent::AssetServed {
        skill: skill.path,
        file: &file,
        kind: asset_type(&file),
        is_inherited: from.is_some(),
    });
    Ok(ToolResult::reading(answer.to_string(), None))
}

/// The skill with this path or name, for a tool that takes it as an argument.
pub(crate) fn named_skill<'a>(
    catalog: Catalog<'a>,
    named: &str,
    toolset: ToolSet,
) -> Result<Skill<'a>, ToolError> {
    match catalog.find(named)? {
        Some(skill) => Ok(skill),
        None => Err(ToolError::NoSkill {
            path: shortened(named),
            meant: meant(catalog, named)?,
            lister: toolset.first(&["list_skills", "skills_list", "skills_search"]),
        }),
    }
}

/// The path of the skill whose path or name this may be a typing mistake for.
fn meant(catalog: Catalog<'_>, named: &str) -> Result<Option<String>, Error> {
    let mut nearest: Option<(usize, &str)> = None;
    for skill in catalog.listed().take(COMPARED) {
        let skill = skill?;
        let distances = [skill.path, skill.name].map(|it| typos(named, it));
        if let Some(distance) = distances.into_iter().flatten().min()
            && nearest.is_none_or(|(least, _)| distance < least)
        {
            nearest = Some((distance, skill.path));
        }
    }
    Ok(nearest.map(|(_, path)| path.to_owned()))
}

/// The type of a file, as answers tell it.
fn asset_type<'a>(file: &File<'a>) -> &'a str {
    if file.role == Role::Script {
        "script"
    } else {
        file.kind
    }
}

/// The files of a skill and of its parents, for a message.
fn names(skill: &Skill<'_>) -> Result<String, Error> {
    let inherited = if skill.inherit {
        skill.inherited_files()?
    } else {
        Vec::new()
    };
    let inherited = inherited.iter().map(|(file, _)| file.path);
    let own = skill.files()?;
    let mut names: Vec<&str> = own.iter().map(|file| file.path).chain(inherited).collect();
    let more = names.len().saturating_sub(MOST_NAMED);
    names.truncate(MOST_NAMED);
    Ok(match (names.is_empty(), more) {
        (true, _) => "no files".to_owned(),
        (false, 0) => names.join(", "),
        (false, more) => format!("{} and {more} more", names.join(", ")),
    })
}

fn read(
    file: &File<'_>,
    skill: &Skill<'_>,
    from: Option<&Skill<'_>>,
    limit: u64,
) -> Result<Value, ToolError> {
    let missing = || ToolError::MissingFile {
        skill: from.unwrap_or(skill).path.to_owned(),
        file: file.path.to_owned(),
    };
    let size = file.size.ok_or_else(missing)?;
    // What is too large to be stored is too large for every setting.
    let limit = limit.min(MAX_FILE_BYTES);
    if size > limit || file.is_unread() {
        return Err(ToolError::TooLarge {
            file: file.path.to_owned(),
            size,
            limit,
        });
    }
    let bytes = file.bytes()?.ok_or_else(missing)?;
    let kind = asset_type(file);
    let text = std::str::from_utf8(&bytes)
        .ok()
        .filter(|_| file.is_text && !file.is_binary);
    Ok(match text {
        Some(text) => {
            json!({ "skill_path": skill.path, "file": file.path, "content": text, "size_bytes": size, "type": kind })
        }
        None => json!({
            "skill_path": skill.path,
            "file": file.path,
            "content_base64": STANDARD.encode(&bytes),
            "size_bytes": size,
            "type": kind,
            "mime_type": file.mime,
        }),
    })
}
