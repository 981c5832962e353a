//! The list of skills that a model sees: in the description of the `skill` tool, and in the answer to
//! an unknown name. The archive decides which skills fit, most important first; the others are
//! counted and can be searched for.

use std::fmt::Write as _;

use skillbundle_format::{Catalog, Error, LISTING_BYTES, SkillListing};

use super::toolset::ToolSet;
use crate::Options;

/// Bytes kept for the line that counts what is left out.
const REMAINDER: usize = 128;

/// Most bytes of the list in the answer to an unknown name. It comes once per mistake, and beside
/// suggestions.
const AFTER_MISTAKE: usize = 8 * 1024;

/// The text that spec 2 puts before the list, to the letter.
const HEAD: &str = r#"Execute a skill within the main conversation

<skills_instructions>
When users ask you to perform tasks, check if any of the available skills below can help complete the task more effectively. Skills provide specialized capabilities and domain knowledge.

How to use skills:
- Invoke skills using this tool with the skill name only (no arguments)
- When you invoke a skill, you will see <command-message>The "{name}" skill is loading</command-message>
- The skill's prompt will expand and provide detailed instructions on how to complete the task
- Examples:
  - `command: "pdf"` - invoke the pdf skill
  - `command: "xlsx"` - invoke the xlsx skill
  - `command: "ms-office-suite:pdf"` - invoke using fully qualified name

Important:
- Only use skills listed in <available_skills> below
- Do not invoke a skill that is already running
- Do not use this tool for built-in CLI commands (like /help, /clear, etc.)
</skills_instructions>

<available_skills>
"#;

/// The text that spec 2 puts after it.
const TAIL: &str = "\n</available_skills>";

/// Tools that find what a list leaves out, the best first.
const FINDERS: [&str; 4] = ["skills_search", "get_skill", "skills_list", "list_skills"];

/// The description of the `skill` tool: spec 2's, over these skills if there are any.
pub(crate) fn description(
    catalog: Option<Catalog<'_>>,
    toolset: ToolSet,
    options: &Options,
) -> String {
    let mut text = HEAD.to_owned();
    if let Some(catalog) = catalog
        && let Err(error) = add_skills(&mut text, catalog, toolset, options)
    {
        tracing::error!("cannot list the skills: {error:#}");
    }
    text.push_str(TAIL);
    text
}

fn add_skills(
    text: &mut String,
    catalog: Catalog<'_>,
    toolset: ToolSet,
    options: &Options,
) -> Result<(), Error> {
    let room = options.description_bytes.map_or(LISTING_BYTES, |bytes| {
        bytes.saturating_sub(HEAD.len() + TAIL.len() + REMAINDER)
    });
    let listing = catalog.skill_listing(room)?;
    text.push_str(&listing.text);
    text.push_str(&remainder(&listing, catalog.len(), toolset));
    Ok(())
}

/// The line that counts the skills if not all of them are listed in full.
fn remainder(listing: &SkillListing<'_>, total: usize, toolset: ToolSet) -> String {
    if listing.described == total {
        return String::new();
    }
    let counted = match total - listing.shown {
        0 => format!(
            "{total} skills in all, the first {} with descriptions",
            listing.described
        ),
        left => format!("… and {left} more skills, {total} in all"),
    };
    match toolset.first(&FINDERS) {
        Some(tool) => format!("\n{counted}; find them with the {tool} tool."),
        None => format!("\n{counted}."),
    }
}

/// Names and descriptions as plain lines: `- git: Git workflow`.
pub(crate) fn lines(
    catalog: Catalog<'_>,
    toolset: ToolSet,
    options: &Options,
) -> Result<String, Error> {
    let room = options.list_bytes().min(AFTER_MISTAKE);
    let (mut text, mut shown) = (String::new(), 0);
    for skill in catalog.ranked() {
        let skill = skill?;
        let line = format!(
            "- {}: {}\n",
            one_line(skill.callable_name()?),
            skill.headline()
        );
        if text.len() + line.len() > room {
            break;
        }
        text.push_str(&line);
        shown += 1;
    }
    if shown < catalog.len() {
        let search = toolset
            .first(&FINDERS)
            .map_or_else(String::new, |tool| format!("; use {tool}"));
        // Writing to a string cannot fail.
        let _ = write!(text, "… and {} more{search}", catalog.len() - shown);
    }
    text.truncate(text.trim_end().len());
    Ok(text)
}

/// A name may hold any character; a line break would begin another entry.
fn one_line(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}
