//! The list of skills that a model sees: in the description of the `skill` tool, and in the answer to
//! an unknown name. The most important skills come first; the others are counted and can be
//! searched for. Some hosts keep only the first line of a description, others 2,048 characters.

use std::fmt::Write as _;

use skillbundle_format::{Catalog, Error, SkillListing};

use super::toolset::{ToolContext, ToolSet};
use crate::Options;

/// Most bytes of the list in the answer to an unknown name. It comes once per mistake.
const AFTER_MISTAKE: usize = 8 * 1024;

/// Longer names are no good example, nor are more skills looked at for one.
const EXAMPLE_CHARS: usize = 40;
const EXAMPLE_SKILLS: usize = 8;

/// The beginning of spec 2's text, and less in place of the rest of it: what a host cuts off must
/// not be needed, and what it leaves must not mislead.
const HEAD: &str = "\
Execute a skill within the main conversation: load its instructions by name, then follow them

<skills_instructions>
Before a task, check whether a skill fits it, and load that first.";

const ONCE: &str =
    " Do not load a skill that is loaded already, nor for built-in CLI commands like /help.\n";

const BEFORE_LIST: &str = "\n</skills_instructions>\n\n<available_skills>\n";

const TAIL: &str = "\n</available_skills>";

/// The description of the `skill` tool: spec 2's, over these skills if there are any.
pub(crate) fn description(context: &ToolContext<'_>, toolset: ToolSet) -> String {
    let described = context.catalog.map(|it| over(it, context.room, toolset));
    let (head, listing) = match described {
        Some(Ok(described)) => described,
        Some(Err(error)) => {
            tracing::error!("cannot list the skills: {error:#}");
            (head(None, ""), SkillListing::default())
        }
        None => {
            let count = format!("The skills are being read.{}", finders(toolset));
            (head(None, &count), SkillListing::default())
        }
    };
    [&head, BEFORE_LIST, &listing.text, TAIL].concat()
}

/// The text before the list, and the list.
fn over(
    catalog: Catalog<'_>,
    room: usize,
    toolset: ToolSet,
) -> Result<(String, SkillListing), Error> {
    let example = example(catalog)?;
    let total = catalog.listed_len();
    // As long as it can be, since it counts what it makes room for.
    let partly = SkillListing {
        shown: total.saturating_sub(1),
        ..SkillListing::default()
    };
    let longest = head(example.as_deref(), &counted(&partly, total, toolset));
    let fixed = longest.len() + BEFORE_LIST.len() + TAIL.len();
    let listing = catalog.skill_listing(room.saturating_sub(fixed))?;
    let count = counted(&listing, total, toolset);
    Ok((head(example.as_deref(), &count), listing))
}

fn head(example: Option<&str>, count: &str) -> String {
    let example = example.map_or_else(String::new, |name| {
        format!(" Example: {{\"name\": \"{name}\"}}.")
    });
    [HEAD, &example, ONCE, count].concat()
}

/// The first skill whose name needs no escape anywhere.
fn example(catalog: Catalog<'_>) -> Result<Option<String>, Error> {
    let is_plain = |name: &str| {
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '/' | ' ' | ':');
        name.chars().all(plain) && name.chars().count() <= EXAMPLE_CHARS
    };
    for skill in catalog.ranked().take(EXAMPLE_SKILLS) {
        let name = skill?.callable_name()?;
        if is_plain(name) {
            return Ok(Some(name.to_owned()));
        }
    }
    Ok(None)
}

/// How many skills there are, and how to find those that are not listed.
fn counted(listing: &SkillListing, total: usize, toolset: ToolSet) -> String {
    let (verb, noun) = if total == 1 {
        ("is", "skill")
    } else {
        ("are", "skills")
    };
    let which = match (listing.shown, listing.described) {
        _ if total == 0 => return "There are no skills.".to_owned(),
        (_, described) if described == total && total == 1 => ", listed below".to_owned(),
        (_, described) if described == total => ", all listed below".to_owned(),
        (0, _) => String::new(),
        (shown, described) if shown == total => {
            format!(", all named below, {described} with a description")
        }
        (1, _) => ": 1 is named below".to_owned(),
        (shown, described) => format!(
            ": {shown} are named below, most important first, {described} with a description"
        ),
    };
    let find = if listing.described == total {
        String::new()
    } else {
        finders(toolset)
    };
    format!("There {verb} {total} {noun}{which}.{find}")
}

/// A sentence that names the tools that find a skill, after a space.
fn finders(toolset: ToolSet) -> String {
    match toolset.finders() {
        finders if finders.is_empty() => finders,
        finders => format!(" To find one: {finders}."),
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
        let Some(line) = skill?.listing_line()? else {
            continue;
        };
        if text.len() + line.len() > room {
            break;
        }
        text.push_str(&line);
        shown += 1;
    }
    let total = catalog.listed_len();
    if shown < total {
        let finder = toolset.finder();
        let search = finder.map_or_else(String::new, |tool| format!("; use {tool}"));
        // Writing to a string cannot fail.
        let _ = write!(text, "… and {} more{search}", total - shown);
    }
    text.truncate(text.trim_end().len());
    Ok(text)
}
