//! What a host makes of what the server tells it: names as it forms them,
//! what it cuts, what it leaves out, and what the rest costs a model.

use anyhow::Result;
use serde_json::Value;
use skillbundle_format::Catalog;
use skillbundle_server::Preview;

use super::hosts::{Bound, Fate, Host};

/// Bytes of text or JSON that make a token. Tokenizers differ, and by
/// language too: for English and JSON the true figure lies between 3 and 5.
const BYTES_OF_TOKEN: usize = 4;

/// What a host sees.
pub(crate) struct Seen {
    pub(crate) instructions: Text,
    pub(crate) tools: Vec<Tool>,
    /// Nothing where the host does not list skills itself.
    pub(crate) skills: Option<Listing>,
}

/// A text, and how much of it a host keeps.
pub(crate) struct Text {
    /// Characters that the server sends.
    pub(crate) sent: usize,
    /// What the host keeps.
    pub(crate) kept: String,
}

/// One tool.
pub(crate) struct Tool {
    /// As the server calls it.
    pub(crate) name: String,
    /// As the model calls it.
    pub(crate) formed: String,
    pub(crate) description: Text,
    /// Bytes of formed name, kept description and schema of the arguments:
    /// what models are shown. Output schemas, titles and annotations are not.
    pub(crate) bytes: usize,
    /// Why it does not arrive as it is.
    pub(crate) fate: Option<Fate>,
    /// Skills named in the description as it is sent, and as it is kept.
    pub(crate) names: (usize, usize),
}

/// The host's own listing of skills.
#[derive(Default)]
pub(crate) struct Listing {
    /// Bytes of all entries.
    pub(crate) bytes: usize,
    /// Paths, in the order of the listing, that are kept.
    pub(crate) kept: Vec<String>,
    /// Paths that come too late.
    pub(crate) dropped: Vec<String>,
    /// Paths that the extension cannot serve; tools do.
    pub(crate) unpublished: Vec<String>,
}

impl Seen {
    pub(crate) fn new(
        host: &Host,
        server: &str,
        preview: &Preview,
        catalog: &Catalog<'_>,
    ) -> Result<Self> {
        let tools = preview.tools.iter().map(|tool| seen(host, server, tool));
        let mut tools: Vec<Tool> = tools.collect();
        let mut fates = tools.iter().filter_map(|tool| tool.fate);
        // One bad name costs every tool.
        if let Some(fate) = fates.find(|fate| fate.is_loss_of_all()) {
            for tool in &mut tools {
                tool.fate = Some(fate);
            }
        }
        Ok(Self {
            instructions: Text::new(&preview.instructions, instructions_limit(host)),
            tools,
            skills: listing(host, catalog)?,
        })
    }

    /// Bytes in context once everything is loaded.
    pub(crate) fn bytes(&self) -> usize {
        self.instructions.kept.len() + self.usable().map(|tool| tool.bytes).sum::<usize>()
    }

    /// The tools that arrive.
    pub(crate) fn usable(&self) -> impl Iterator<Item = &Tool> {
        self.tools.iter().filter(|tool| !tool.is_lost())
    }

    /// Whether something cannot be used at all.
    pub(crate) fn has_losses(&self) -> bool {
        let late = self
            .skills
            .as_ref()
            .is_some_and(|skills| !skills.dropped.is_empty());
        late || self.tools.iter().any(Tool::is_lost)
    }
}

impl Text {
    fn new(sent: &str, most: usize) -> Self {
        Self {
            sent: sent.chars().count(),
            kept: sent.chars().take(most).collect(),
        }
    }

    pub(crate) fn kept_chars(&self) -> usize {
        self.kept.chars().count()
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.kept_chars() < self.sent
    }
}

impl Tool {
    pub(crate) fn is_lost(&self) -> bool {
        self.fate.is_some_and(Fate::is_loss)
    }
}

/// About how many tokens so many bytes are.
pub(crate) fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(BYTES_OF_TOKEN)
}

fn seen(host: &Host, server: &str, tool: &Value) -> Tool {
    let text = |field: &str| tool[field].as_str().unwrap_or_default();
    let (name, sent) = (text("name"), text("description"));
    let (formed, fate) = formed(host, server, name);
    let description = Text::new(sent, description_limit(host));
    let names = |text: &str| text.matches("<name>").count();
    Tool {
        name: name.to_owned(),
        bytes: formed.len() + description.kept.len() + tool["inputSchema"].to_string().len(),
        names: (names(sent), names(&description.kept)),
        formed,
        description,
        fate,
    }
}

/// The name that the host makes, and the worst that becomes of the tool.
fn formed(host: &Host, server: &str, tool: &str) -> (String, Option<Fate>) {
    let (mut server, mut tool, mut fate) = (server.to_owned(), tool.to_owned(), None);
    let length = server.chars().count() + tool.chars().count();
    let join = |server: &str, tool: &str| {
        host.form
            .replace("{server}", server)
            .replace("{tool}", tool)
    };
    for fact in host.facts {
        match fact.bound {
            Bound::Letters(more, then) => {
                let other = |c: char| !c.is_ascii_alphanumeric() && (c == ' ' || !more.contains(c));
                if tool.contains(other) {
                    fate = Some(then);
                }
                if then == Fate::Replaced {
                    (server, tool) = (server.replace(other, "_"), tool.replace(other, "_"));
                }
            }
            Bound::Name(most, then) if join(&server, &tool).chars().count() > most => {
                fate = Some(then);
            }
            Bound::Joint(most, then) if length > most => fate = Some(then),
            _ => {}
        }
        if fate.is_some_and(Fate::is_loss) {
            break;
        }
    }
    (join(&server, &tool), fate)
}

fn description_limit(host: &Host) -> usize {
    limit(host, |bound| match bound {
        Bound::Description(most) => Some(most),
        _ => None,
    })
}

fn instructions_limit(host: &Host) -> usize {
    limit(host, |bound| match bound {
        Bound::Instructions(most) => Some(most),
        _ => None,
    })
}

/// The figure of one kind of bound; no bound is none.
fn limit(host: &Host, kind: impl Fn(Bound) -> Option<usize>) -> usize {
    let facts = host.facts.iter();
    facts
        .filter_map(|fact| kind(fact.bound))
        .min()
        .unwrap_or(usize::MAX)
}

/// The listing of a host that asks for skills beside tools.
fn listing(host: &Host, catalog: &Catalog<'_>) -> Result<Option<Listing>> {
    let most_skills = limit(host, |bound| match bound {
        Bound::Skills(most) => Some(most),
        _ => None,
    });
    let most_bytes = limit(host, |bound| match bound {
        Bound::Listing(most) => Some(most),
        _ => None,
    });
    if most_skills == usize::MAX && most_bytes == usize::MAX {
        return Ok(None);
    }
    let published = catalog.published()?;
    let mut listing = Listing::default();
    for skill in published.skills() {
        let skill = skill?;
        let entry = published.entry(skill.uri)?.unwrap_or_default();
        // Between two entries stands a comma.
        listing.bytes += entry.len() + usize::from(listing.bytes > 0);
        let path = skill.skill.path.to_owned();
        if listing.kept.len() < most_skills && listing.bytes <= most_bytes {
            listing.kept.push(path);
        } else {
            listing.dropped.push(path);
        }
    }
    for skill in catalog.ranked() {
        let skill = skill?;
        if skill.published()?.is_none() {
            listing.unpublished.push(skill.path.to_owned());
        }
    }
    Ok(Some(listing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::inspect::hosts::find;

    #[test]
    fn names_are_formed_as_each_host_does_and_meet_its_bounds() {
        let long = "x".repeat(80);
        for (host, server, tool, expected, fate) in [
            ("claude", "skills", "skill", "mcp__skills__skill", None),
            (
                "claude",
                "my skills",
                "skills.list",
                "mcp__my_skills__skills_list",
                Some(Fate::Replaced),
            ),
            (
                "claude-desktop",
                "skills",
                "skills.list",
                "skills.list",
                Some(Fate::ServerRefused),
            ),
            (
                "claude-desktop",
                "skills",
                &long,
                &long,
                Some(Fate::ServerRefused),
            ),
            (
                "codex",
                "skills",
                "skills.list",
                "mcp__skills__skills.list",
                Some(Fate::PromptsFail),
            ),
            (
                "cursor",
                "skills",
                "skills-list",
                "skills-list",
                Some(Fate::Dropped),
            ),
            ("cursor", "skills", "skills_list", "skills_list", None),
            ("cursor", &long, "skill", "skill", Some(Fate::Dropped)),
            ("copilot", "skills", "skill", "skills-skill", None),
            ("gemini", "skills", "skills.list", "skills.list", None),
            ("gemini", "skills", &long, &long, Some(Fate::Shortened)),
            (
                "opencode",
                "skills",
                "skills.list",
                "mcp__skills__skills_list",
                Some(Fate::Replaced),
            ),
        ] {
            let host = find(host).expect(host);
            let (name, found) = formed(host, server, tool);
            assert_eq!(name, expected, "{}", host.id);
            assert!(found == fate, "{} {server} {tool}", host.id);
        }
    }

    #[test]
    fn texts_are_cut_by_characters_not_by_bytes() {
        let text = Text::new("éééé", 3);
        assert_eq!((text.sent, text.kept_chars(), text.is_cut()), (4, 3, true));
        assert!(!Text::new("éééé", 4).is_cut());
    }
}
