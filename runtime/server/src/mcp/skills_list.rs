//! `skills_list` (spec 4, `skills.list`): every skill, or those that hold a
//! text, with metadata and on demand the body. Also what spec 4's two tools
//! say about a skill.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;
use skillbundle_format::Skill;

use super::broken;
use super::tool_result::{ToolError, ToolResult, shortened};
use super::tools::ToolCall;
use crate::source::Generation;

pub(crate) const INPUT: &str = r#"{
  "type": "object",
  "properties": {
    "query": { "type": "string", "description": "Optional substring filter applied to install name, meta.name, or description" },
    "includeBody": { "type": "boolean", "description": "Include the SKILL.md body (minus YAML front-matter) in the structured payload" }
  },
  "additionalProperties": false
}"#;

pub(crate) const OUTPUT: &str = concat!(
    r#"{
  "type": "object",
  "properties": {
    "skills": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "installName": { "type": "string" },
          "meta": { "type": "object", "properties": { "name": { "type": "string" }, "description": { "type": "string" } } },
          "skillPath": { "type": "string" },
          "skillFile": { "type": "string" },
          "body": { "type": "string" },
          "hides": { "type": "array", "items": { "type": "string" }, "description": "Skills of the user with this name, which this skill of the project hides" },
          "#,
    broken::outdated_schema!(),
    r#"
        }
      }
    },
    "#,
    broken::not_served_schema!(),
    r#"
  }
}"#
);

pub(crate) fn run(call: &ToolCall<'_>) -> Result<ToolResult, ToolError> {
    let arguments = call.arguments.only(&["query", "includeBody"])?;
    let typed = arguments.optional_text("query")?.unwrap_or_default().trim();
    let with_body = arguments.flag("includeBody")?;
    let wanted = typed.to_lowercase();
    let most = call.options().list_bytes();
    let (mut skills, mut lines) = (Vec::new(), String::new());
    let catalog = call.skills.catalog()?;
    let hidden = catalog.hidden()?;
    for skill in catalog.listed() {
        let skill = skill?;
        if mentions(&skill, &wanted) {
            skills.push(ListedSkill {
                body: with_body.then(|| skill.body()).transpose()?,
                outdated: call.skills.why_outdated(skill.path).map(broken::sentence),
                hides: addresses(hidden.get(&skill.id))?,
                ..ListedSkill::of(&skill, call.skills)
            });
            if lines.len() < most {
                add_line(&mut lines, skill.callable_name()?, &skill.headline(), most);
            }
        }
    }
    let is_wanted = |path: &str| path.to_lowercase().contains(&wanted);
    let mut missing = String::new();
    for skill in broken::missing(call.skills.broken(), is_wanted) {
        add_line(&mut missing, &skill.path, &broken::sentence(skill), most);
    }
    if !missing.is_empty() {
        missing.insert_str(0, "\n\nNot served:");
    }
    let text = format!("{}{lines}{missing}", counted(skills.len(), typed));
    let not_served = broken::not_served(call.skills.broken(), is_wanted);
    Ok(ToolResult::list(text, &ListedSkills { skills, not_served }))
}

fn mentions(skill: &Skill<'_>, wanted: &str) -> bool {
    let texts = [skill.install_name(), skill.name, skill.description];
    wanted.is_empty()
        || texts
            .iter()
            .any(|text| text.to_lowercase().contains(wanted))
}

#[derive(Serialize)]
struct ListedSkills<'a> {
    skills: Vec<ListedSkill<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_served: Option<Value>,
}

/// What spec 4 says about a skill: paths that open from the client's working directory.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListedSkill<'a> {
    install_name: &'a str,
    meta: SkillMeta<'a>,
    skill_path: Cow<'a, str>,
    skill_file: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outdated: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hides: Vec<&'a str>,
}

#[derive(Serialize)]
struct SkillMeta<'a> {
    name: &'a str,
    description: &'a str,
}

impl<'a> ListedSkill<'a> {
    /// The skill without its body.
    pub(crate) fn of(skill: &Skill<'a>, generation: &Generation) -> Self {
        let skill_file = generation.path_of(skill.root, skill.file_path);
        let skill_path = match &skill_file {
            Cow::Borrowed(file) => Cow::Borrowed(directory(file)),
            Cow::Owned(file) => Cow::Owned(directory(file).to_owned()),
        };
        Self {
            install_name: skill.install_name(),
            meta: SkillMeta {
                name: skill.name,
                description: skill.description,
            },
            skill_path,
            skill_file,
            body: None,
            outdated: None,
            hides: Vec::new(),
        }
    }
}

fn addresses<'a>(skills: Option<&Vec<Skill<'a>>>) -> Result<Vec<&'a str>, ToolError> {
    let skills = skills.into_iter().flatten();
    Ok(skills.map(Skill::callable_name).collect::<Result<_, _>>()?)
}

fn directory(file: &str) -> &str {
    file.rsplit_once('/')
        .map_or(".", |(directory, _)| directory)
}

/// `1 skill`, `3 skills match "pdf"`.
pub(crate) fn counted(count: usize, query: &str) -> String {
    match (count, query) {
        (1, "") => "1 skill".to_owned(),
        (1, query) => format!("1 skill matches \"{}\"", shortened(query)),
        (_, "") => format!("{count} skills"),
        (_, query) => format!("{count} skills match \"{}\"", shortened(query)),
    }
}

/// Adds a line for a person to read, while they are not too many.
pub(crate) fn add_line(lines: &mut String, name: &str, about: &str, most: usize) {
    if lines.len() < most {
        lines.push_str("\n- ");
        lines.push_str(name);
        lines.push_str(": ");
        lines.push_str(about);
        if lines.len() >= most {
            lines.push_str("\n- …");
        }
    }
}
