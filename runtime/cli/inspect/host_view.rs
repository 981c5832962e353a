//! What a host sees of a server: the names it forms, the texts it cuts, the
//! tools and skills it drops, and the size of what is left.

use anyhow::Result;
use serde_json::Value;
use skillbundle_format::Catalog;
use skillbundle_format::hosts::{Effect, Host, Limit};
use skillbundle_server::Preview;

/// Bytes per token. It depends on the tokenizer and the language; for English
/// and JSON it is between 3 and 5.
const BYTES_PER_TOKEN: usize = 4;

/// What a host sees.
pub(crate) struct HostView {
    pub(crate) instructions: KeptText,
    pub(crate) tools: Vec<ToolView>,
    /// `None` if the host does not list skills itself.
    pub(crate) skills: Option<ListingView>,
}

/// A text, and how much of it a host keeps.
pub(crate) struct KeptText {
    /// Characters that the server sends.
    pub(crate) sent: usize,
    /// What the host keeps.
    pub(crate) kept: String,
}

/// One tool.
pub(crate) struct ToolView {
    /// As the server calls it.
    pub(crate) name: String,
    /// As the model calls it.
    pub(crate) formed: String,
    pub(crate) description: KeptText,
    /// Bytes of formed name, kept description and schema of the arguments:
    /// what models are shown. Output schemas, titles and annotations are not.
    pub(crate) bytes: usize,
    /// What a limit does to it.
    pub(crate) effect: Option<Effect>,
    /// Skills named in the description as sent, and as kept.
    pub(crate) names: (usize, usize),
}

/// The host's own listing of skills.
#[derive(Default)]
pub(crate) struct ListingView {
    /// Bytes of all entries.
    pub(crate) bytes: usize,
    /// Paths, in the order of the listing, that are kept.
    pub(crate) kept: Vec<String>,
    /// Paths beyond the limits.
    pub(crate) dropped: Vec<String>,
    /// Paths that only tools can serve, not the skills extension.
    pub(crate) unpublished: Vec<String>,
}

impl HostView {
    pub(crate) fn new(
        host: &Host,
        server: &str,
        preview: &Preview,
        catalog: &Catalog<'_>,
    ) -> Result<Self> {
        let tools = preview
            .tools
            .iter()
            .map(|tool| tool_view(host, server, tool));
        let mut tools: Vec<ToolView> = tools.collect();
        let mut effects = tools.iter().filter_map(|tool| tool.effect);
        // With these hosts one bad name disables every tool.
        if let Some(effect) = effects.find(|effect| effect.is_loss_of_all()) {
            for tool in &mut tools {
                tool.effect = Some(effect);
            }
        }
        Ok(Self {
            instructions: KeptText::new(&preview.instructions, instructions_limit(host)),
            tools,
            skills: listing(host, catalog)?,
        })
    }

    /// Bytes in context once everything is loaded.
    pub(crate) fn bytes(&self) -> usize {
        self.instructions.kept.len() + self.usable().map(|tool| tool.bytes).sum::<usize>()
    }

    /// The tokens that the host takes of all tools together, if they have more.
    pub(crate) fn exceeded(&self, host: &Host) -> Option<usize> {
        let most = limit(host, |limit| match limit {
            Limit::AllTools(most) => Some(most),
            _ => None,
        });
        let bytes = self.usable().map(|tool| tool.bytes).sum();
        (tokens(bytes) > most).then_some(most)
    }

    /// The tools that can be used.
    pub(crate) fn usable(&self) -> impl Iterator<Item = &ToolView> {
        self.tools.iter().filter(|tool| !tool.is_lost())
    }

    /// Whether something cannot be used at all.
    pub(crate) fn has_losses(&self, host: &Host) -> bool {
        let has_dropped = self
            .skills
            .as_ref()
            .is_some_and(|skills| !skills.dropped.is_empty());
        let is_lost = self.tools.iter().any(ToolView::is_lost);
        has_dropped || is_lost || self.exceeded(host).is_some()
    }
}

impl KeptText {
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

impl ToolView {
    pub(crate) fn is_lost(&self) -> bool {
        self.effect.is_some_and(Effect::is_loss)
    }
}

/// Estimates the number of tokens.
pub(crate) fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

fn tool_view(host: &Host, server: &str, tool: &Value) -> ToolView {
    let text = |field: &str| tool[field].as_str().unwrap_or_default();
    let (name, sent) = (text("name"), text("description"));
    let (formed, effect) = formed(host, server, name);
    let description = KeptText::new(sent, host.description_chars().unwrap_or(usize::MAX));
    let names = |text: &str| text.matches("<name>").count();
    ToolView {
        name: name.to_owned(),
        bytes: formed.len() + description.kept.len() + tool["inputSchema"].to_string().len(),
        names: (names(sent), names(&description.kept)),
        formed,
        description,
        effect,
    }
}

/// The name that the host forms, and the most severe effect on the tool.
fn formed(host: &Host, server: &str, tool: &str) -> (String, Option<Effect>) {
    let (mut server, mut tool, mut effect) = (server.to_owned(), tool.to_owned(), None);
    let length = server.chars().count() + tool.chars().count();
    let join = |server: &str, tool: &str| {
        host.form
            .replace("{server}", server)
            .replace("{tool}", tool)
    };
    for limit in host.limits {
        match limit.limit {
            Limit::NameCharacters(more, then) => {
                let other = |c: char| !c.is_ascii_alphanumeric() && (c == ' ' || !more.contains(c));
                if tool.contains(other) {
                    effect = Some(then);
                }
                if then == Effect::Replaced {
                    (server, tool) = (server.replace(other, "_"), tool.replace(other, "_"));
                }
            }
            Limit::Name(most, then) if join(&server, &tool).chars().count() > most => {
                effect = Some(then);
            }
            Limit::Joint(most, then) if length > most => effect = Some(then),
            _ => {}
        }
        if effect.is_some_and(Effect::is_loss) {
            break;
        }
    }
    (join(&server, &tool), effect)
}

fn instructions_limit(host: &Host) -> usize {
    limit(host, |limit| match limit {
        Limit::Instructions(most) => Some(most),
        _ => None,
    })
}

/// The figure of one kind of limit, or `usize::MAX`.
fn limit(host: &Host, kind: impl Fn(Limit) -> Option<usize>) -> usize {
    let limits = host.limits.iter();
    limits
        .filter_map(|limit| kind(limit.limit))
        .min()
        .unwrap_or(usize::MAX)
}

/// The listing of a host that asks for skills beside tools.
fn listing(host: &Host, catalog: &Catalog<'_>) -> Result<Option<ListingView>> {
    let most_skills = limit(host, |limit| match limit {
        Limit::Skills(most) => Some(most),
        _ => None,
    });
    let most_bytes = limit(host, |limit| match limit {
        Limit::Listing(most) => Some(most),
        _ => None,
    });
    if most_skills == usize::MAX && most_bytes == usize::MAX {
        return Ok(None);
    }
    let published = catalog.published()?;
    let mut listing = ListingView::default();
    for skill in published.skills() {
        let skill = skill?;
        let entry = published.entry(skill.uri)?.unwrap_or_default();
        // A comma separates two entries.
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
    use skillbundle_format::hosts::find;

    #[test]
    fn names_are_formed_and_limited_as_each_host_does() {
        let long = "x".repeat(80);
        for (host, server, tool, expected, fate) in [
            ("claude", "skills", "skill", "mcp__skills__skill", None),
            (
                "claude",
                "my skills",
                "skills.list",
                "mcp__my_skills__skills_list",
                Some(Effect::Replaced),
            ),
            (
                "claude-desktop",
                "skills",
                "skills.list",
                "skills.list",
                Some(Effect::ServerRefused),
            ),
            (
                "claude-desktop",
                "skills",
                &long,
                &long,
                Some(Effect::ServerRefused),
            ),
            (
                "codex",
                "skills",
                "skills.list",
                "mcp__skills__skills.list",
                Some(Effect::PromptsFail),
            ),
            (
                "cursor",
                "skills",
                "skills-list",
                "skills-list",
                Some(Effect::Dropped),
            ),
            ("cursor", "skills", "skills_list", "skills_list", None),
            ("cursor", &long, "skill", "skill", Some(Effect::Dropped)),
            ("copilot", "skills", "skill", "skills-skill", None),
            ("gemini", "skills", "skills.list", "skills.list", None),
            ("gemini", "skills", &long, &long, Some(Effect::Shortened)),
            (
                "opencode",
                "skills",
                "skills.list",
                "mcp__skills__skills_list",
                Some(Effect::Replaced),
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
        let text = KeptText::new("éééé", 3);
        assert_eq!((text.sent, text.kept_chars(), text.is_cut()), (4, 3, true));
        assert!(!KeptText::new("éééé", 4).is_cut());
    }
}
