//! The skills in a few lines, most important first: for the description of the
//! `skill` tool and for answers that name what there is. Every list has a
//! budget in bytes; what does not fit is counted and can be searched for.

use skillbundle_format::{Catalog, Error, Skill};

use super::tools;
use crate::Options;
use crate::library::Generation;

/// Characters of a description in a list. Long ones repeat the skill.
const DESCRIPTION: usize = 200;

/// Room kept for the line that counts what is left out.
const REMAINDER: usize = 128;

/// Part of the room that entries with descriptions may take where not all
/// skills have one; the rest names further skills.
const DESCRIBED: (usize, usize) = (3, 4);

/// Most bytes of the list in an answer to a name that is not there. It comes
/// once per mistake and beside suggestions, so half of the description's.
const AFTER_MISTAKE: usize = 8 * 1024;

/// What spec 2 says before the list, to the letter.
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

/// What spec 2 says behind it.
const TAIL: &str = "\n</available_skills>";

/// The skills of one generation in order of importance.
pub(crate) struct Roster {
    /// Those that any list can show, by id.
    first: Vec<u32>,
    total: usize,
    description: String,
}

/// Lines that end where their budget does.
struct Budget {
    text: String,
    left: usize,
}

impl Roster {
    /// The roster of a generation, made when first asked for.
    pub(crate) fn of<'a>(generation: &'a Generation, options: &Options) -> &'a Self {
        generation.roster.get_or_init(|| {
            Self::new(generation, options).unwrap_or_else(|error| {
                tracing::error!("cannot list the skills: {error}");
                Self::empty()
            })
        })
    }

    /// The roster where there are no skills.
    pub(crate) fn empty() -> Self {
        Self {
            first: Vec::new(),
            total: 0,
            description: format!("{HEAD}{TAIL}"),
        }
    }

    /// The description of the `skill` tool.
    pub(crate) fn description(&self) -> &str {
        &self.description
    }

    fn new(generation: &Generation, options: &Options) -> Result<Self, Error> {
        let catalog = generation.catalog()?;
        let mut order = catalog
            .skills()
            .map(|skill| skill.map(|skill| (skill.priority, skill.id)))
            .collect::<Result<Vec<_>, _>>()?;
        order.sort_by(|(a, first), (b, second)| b.total_cmp(a).then(first.cmp(second)));
        // No line is shorter than ten bytes.
        let shown = options.list_bytes() / 10;
        let mut roster = Self {
            first: order.iter().take(shown).map(|(_, id)| *id).collect(),
            total: order.len(),
            description: String::new(),
        };
        let room = options.list_bytes().saturating_sub(HEAD.len() + TAIL.len());
        roster.description = format!("{HEAD}{}{TAIL}", roster.available(catalog, room, options)?);
        Ok(roster)
    }

    /// The inside of `<available_skills>`.
    fn available(
        &self,
        catalog: Catalog<'_>,
        room: usize,
        options: &Options,
    ) -> Result<String, Error> {
        let mut all = Budget::new(room);
        if all.take(&self.first, |id| entry(&catalog.skill(id)?))? == self.total {
            return Ok(all.text);
        }
        let described = room / DESCRIBED.1 * DESCRIBED.0;
        let mut list = Budget::new(described);
        let with = list.take(&self.first, |id| entry(&catalog.skill(id)?))?;
        list.left += (room - described).saturating_sub(REMAINDER);
        let named = list.take(&self.first[with..], |id| {
            Ok(format!(
                "<name>{}</name>",
                escaped(catalog.skill(id)?.callable_name()?)
            ))
        })?;
        let left = self.total - with - named;
        if left > 0 {
            list.left = REMAINDER;
            let search = tools::SKILLS_SEARCH.name(options);
            list.line(&format!(
                "… and {left} more skills, {} in all; find them with the {search} tool.",
                self.total
            ));
        }
        Ok(list.text)
    }

    /// Names and descriptions as plain lines: `- git: Git workflow`.
    pub(crate) fn lines(&self, catalog: Catalog<'_>, options: &Options) -> Result<String, Error> {
        let mut list = Budget::new(options.list_bytes().min(AFTER_MISTAKE));
        let line = |id| {
            let skill = catalog.skill(id)?;
            Ok(format!(
                "- {}: {}",
                plain(skill.callable_name()?),
                short(skill.summary)
            ))
        };
        let shown = list.take(&self.first, line)?;
        if shown < self.total {
            list.left = REMAINDER;
            list.line(&format!(
                "… and {} more; use {}",
                self.total - shown,
                tools::SKILLS_SEARCH.name(options)
            ));
        }
        Ok(list.text)
    }
}

impl Budget {
    fn new(left: usize) -> Self {
        Self {
            text: String::new(),
            left,
        }
    }

    /// Adds lines in order until one does not fit; how many did.
    fn take(
        &mut self,
        ids: &[u32],
        line: impl Fn(u32) -> Result<String, Error>,
    ) -> Result<usize, Error> {
        for (taken, id) in ids.iter().enumerate() {
            if !self.line(&line(*id)?) {
                return Ok(taken);
            }
        }
        Ok(ids.len())
    }

    fn line(&mut self, line: &str) -> bool {
        let needed = line.len() + usize::from(!self.text.is_empty());
        if needed > self.left {
            return false;
        }
        self.left -= needed;
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(line);
        true
    }
}

fn entry(skill: &Skill<'_>) -> Result<String, Error> {
    Ok(format!(
        "<skill>\n<name>{}</name>\n<description>{}</description>\n<location>{}</location>\n</skill>",
        escaped(skill.callable_name()?),
        escaped(&short(skill.summary)),
        skill.scope.as_str()
    ))
}

/// A description on one line and short enough for a list.
pub(crate) fn short(description: &str) -> String {
    let line = plain(description);
    if line.chars().nth(DESCRIPTION).is_none() {
        return line;
    }
    let end = line
        .char_indices()
        .nth(DESCRIPTION - 1)
        .map_or(line.len(), |(end, _)| end);
    format!("{}…", line[..end].trim_end())
}

/// Without characters that break a line or that nobody sees: control
/// characters, direction overrides and tag characters, which carry text that
/// only the model reads. The skill itself is served as it is.
fn plain(text: &str) -> String {
    let seen = |c: &char| !matches!(*c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}');
    let broken = |c: char| {
        if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') {
            ' '
        } else {
            c
        }
    };
    let line: String = text.chars().filter(seen).map(broken).collect();
    if line.contains("  ") {
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    } else {
        line
    }
}

/// The same, for the inside of an element.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            c => escaped.push(c),
        }
    }
    escaped
}
