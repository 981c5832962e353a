//! How agent hosts handle a server's tools and skills: one table of names and limits, each with its
//! source. Second-hand figures come from bug reports and were not verified in the host's code. The
//! compiler's rules and the server's pages take their figures from the constants here.

/// Characters of a tool's description, and of the instructions, that Claude Code keeps. Version
/// 2.1.332 itself keeps twice as many, but older versions are still in use. As a limit in bytes it is
/// never exceeded.
pub const TEXT_CHARS: usize = 2048;

/// Maximum skills that Claude Code takes from one server.
pub const LISTED_SKILLS: usize = 100;

/// Maximum bytes of a listing of skills that Claude Code reads.
pub const LISTING_BYTES: usize = 512 * 1024;

/// Maximum characters of a skill's name in the Agent Skills specification, which hosts apply.
pub const NAME_CHARS: usize = 64;

/// Maximum bytes of a URI in Claude Code.
pub const URI_BYTES: usize = 2048;

/// Maximum files of a skill, including its `SKILL.md`, that every host must load (SEP-2640).
pub const SKILL_FILES: usize = 512;

/// Maximum bytes of a skill's files together that every host must load (SEP-2640).
pub const SKILL_BYTES: usize = 16 << 20;

/// Maximum bytes of a `SKILL.md` in Claude Code.
pub const SKILL_MD_BYTES: usize = 1_000_000;

/// An agent host.
#[derive(Debug)]
#[non_exhaustive]
pub struct Host {
    /// Its identifier on the command line.
    pub id: &'static str,
    /// Its display name.
    pub title: &'static str,
    /// The beginnings of the names by which it introduces itself as a client.
    pub clients: &'static [&'static str],
    /// The pattern of the tool name that it builds from `{server}` and `{tool}`.
    pub form: &'static str,
    /// The source of that pattern.
    pub form_source: Citation,
    /// Its limits, in the order in which they apply to a name.
    pub limits: &'static [HostLimit],
    /// Other factors that determine what a model sees; may be empty.
    pub note: &'static str,
}

/// One limit of a host.
#[derive(Debug)]
#[non_exhaustive]
pub struct HostLimit {
    /// The limit.
    pub limit: Limit,
    /// Its source.
    pub source: Citation,
}

/// The source of a figure.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Citation {
    /// A program with its version, a file, or issues.
    pub place: &'static str,
    /// Whether the figure was reported by others and not verified in the host's code.
    pub second_hand: bool,
}

/// What a host limits.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// Maximum characters of a tool's description; the rest is cut off.
    Description(usize),
    /// Maximum characters of the instructions; the rest is cut off.
    Instructions(usize),
    /// Maximum tokens of all tools together.
    AllTools(usize),
    /// Characters allowed in a tool's own name besides ASCII letters and digits.
    NameCharacters(&'static str, Effect),
    /// Maximum characters of the name that the host builds.
    Name(usize, Effect),
    /// Maximum characters of the server's and the tool's name together.
    Joint(usize, Effect),
    /// Maximum number of skills of one server, if the host lists skills itself.
    Skills(usize),
    /// Maximum bytes of that listing.
    Listing(usize),
    /// Maximum bytes of a URI.
    Uri(usize),
    /// Maximum files of one skill.
    SkillFiles(usize),
    /// Maximum bytes of one skill's files together.
    SkillBytes(usize),
    /// Maximum bytes of one `SKILL.md`.
    SkillMd(usize),
}

/// What happens to a tool that exceeds a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The characters are replaced by underscores.
    Replaced,
    /// The name is truncated.
    Shortened,
    /// The tool is left out.
    Dropped,
    /// No tool of the server can be used.
    ServerRefused,
    /// Every prompt fails.
    PromptsFail,
}

impl Effect {
    /// A phrase that follows "otherwise".
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Replaced => "underscores",
            Self::Shortened => "shortened",
            Self::Dropped => "the tool is dropped",
            Self::ServerRefused => "the whole server is refused",
            Self::PromptsFail => "every prompt fails",
        }
    }

    /// Whether no tool of the server can be used.
    pub const fn is_loss_of_all(self) -> bool {
        matches!(self, Self::ServerRefused | Self::PromptsFail)
    }

    /// Whether the tool cannot be used.
    pub const fn is_loss(self) -> bool {
        !matches!(self, Self::Replaced | Self::Shortened)
    }
}

const fn verified(place: &'static str) -> Citation {
    Citation {
        place,
        second_hand: false,
    }
}

const fn reported(place: &'static str) -> Citation {
    Citation {
        place,
        second_hand: true,
    }
}

const fn limit(limit: Limit, source: Citation) -> HostLimit {
    HostLimit { limit, source }
}

impl Host {
    /// Maximum characters that it keeps of a tool's description, if there is a limit.
    pub fn description_chars(&self) -> Option<usize> {
        let limits = self.limits.iter();
        let most = limits.filter_map(|limit| match limit.limit {
            Limit::Description(most) => Some(most),
            _ => None,
        });
        most.min()
    }
}

/// The host whose client introduces itself by this name.
pub fn of_client(name: &str) -> Option<&'static Host> {
    let is_it = |host: &&Host| host.clients.iter().any(|client| name.starts_with(client));
    HOSTS.iter().find(is_it)
}

/// The host with this identifier.
pub fn find(id: &str) -> Option<&'static Host> {
    HOSTS.iter().find(|host| host.id == id)
}

const CLAUDE: &str = "Claude Code 2.1.332, read in the program";
const CLAUDE_TEXT: &str = "Claude Code since 2.1.84: claude-code#41593, #81268, #87650";
const DESKTOP: &str = "loomle#168, orchard-mcp#14, hostinger/api-mcp-server#48";
const COPILOT: &str = "github/copilot-cli#2581, #1879";
const COPILOT_TEXT: &str = "GitHub Copilot CLI 1.0.102, measured; copilot-cli#1579";
const CHATGPT: &str = "directus/mcp#14, flashcards-open-source-app#1751";
const OPENAI: &str = "the API of OpenAI in modelcontextprotocol/servers#799, probelabs/probe#9";
const CODEX: &str = "openai/codex, codex-rs/core/src/mcp_connection_manager.rs";
const GEMINI: &str = "google-gemini/gemini-cli, packages/core/src/tools/mcp-tool.ts";
const OPENCODE: &str = "anomalyco/opencode#33533";

/// Every host with known limits.
pub static HOSTS: &[Host] = &[
    Host {
        id: "claude",
        title: "Claude Code",
        clients: &["claude-code"],
        form: "mcp__{server}__{tool}",
        form_source: verified(CLAUDE),
        limits: &[
            limit(Limit::Description(TEXT_CHARS), verified(CLAUDE_TEXT)),
            limit(Limit::Instructions(TEXT_CHARS), verified(CLAUDE_TEXT)),
            limit(
                Limit::NameCharacters("_ -", Effect::Replaced),
                verified(CLAUDE),
            ),
            limit(Limit::Name(128, Effect::Dropped), verified(CLAUDE)),
            limit(Limit::Skills(LISTED_SKILLS), verified(CLAUDE)),
            limit(Limit::Listing(LISTING_BYTES), verified(CLAUDE)),
            limit(Limit::Uri(URI_BYTES), verified(CLAUDE)),
            limit(Limit::SkillFiles(SKILL_FILES), verified(CLAUDE)),
            limit(Limit::SkillBytes(SKILL_BYTES), verified(CLAUDE)),
            limit(Limit::SkillMd(SKILL_MD_BYTES), verified(CLAUDE)),
        ],
        note: "Tools are deferred: only their names and the instructions are in context at first. Skills are listed only if its client for them is switched on.",
    },
    Host {
        id: "claude-desktop",
        title: "Claude Desktop",
        clients: &["claude-ai"],
        form: "{tool}",
        form_source: reported(DESKTOP),
        limits: &[
            limit(
                Limit::NameCharacters("_ -", Effect::ServerRefused),
                reported(DESKTOP),
            ),
            limit(Limit::Name(64, Effect::ServerRefused), reported(DESKTOP)),
        ],
        note: "",
    },
    Host {
        id: "codex",
        title: "Codex",
        clients: &["codex-mcp-client"],
        form: "mcp__{server}__{tool}",
        form_source: verified(CODEX),
        limits: &[
            limit(
                Limit::NameCharacters("_ -", Effect::PromptsFail),
                reported("openai/codex#8174, of 0.73; a later report says that dots work"),
            ),
            limit(Limit::Name(64, Effect::Shortened), verified(CODEX)),
        ],
        note: "In code mode (0.171), a model at first has only the first line of the instructions, at most 250 characters of it.",
    },
    Host {
        id: "chatgpt",
        title: "ChatGPT",
        clients: &["openai-mcp"],
        form: "{tool}",
        form_source: reported(CHATGPT),
        limits: &[
            limit(Limit::Description(1024), reported(OPENAI)),
            limit(Limit::AllTools(5000), reported(CHATGPT)),
        ],
        note: "It imports skills by `skills/list`. The first 512 characters of the instructions should stand alone.",
    },
    Host {
        id: "cursor",
        title: "Cursor",
        clients: &["cursor"],
        form: "{tool}",
        form_source: reported("composio#2788"),
        limits: &[
            limit(
                Limit::NameCharacters("_", Effect::Dropped),
                reported("webstudio#5960"),
            ),
            limit(
                Limit::Joint(60, Effect::Dropped),
                reported("composio#2788, awslabs/mcp#1283"),
            ),
        ],
        note: "",
    },
    Host {
        id: "copilot",
        title: "GitHub Copilot CLI",
        clients: &["copilot-cli", "github-copilot"],
        form: "{server}-{tool}",
        form_source: reported("github/copilot-sdk#861"),
        limits: &[
            limit(
                Limit::NameCharacters("_ -", Effect::PromptsFail),
                reported(COPILOT),
            ),
            limit(Limit::Name(128, Effect::PromptsFail), reported(COPILOT)),
            limit(Limit::Instructions(0), verified(COPILOT_TEXT)),
        ],
        note: "VS Code turns dots into underscores instead.",
    },
    Host {
        id: "gemini",
        title: "Gemini CLI",
        clients: &["gemini-cli"],
        form: "{tool}",
        form_source: verified(GEMINI),
        limits: &[
            limit(
                Limit::NameCharacters("_ . -", Effect::Replaced),
                verified(GEMINI),
            ),
            limit(Limit::Name(63, Effect::Shortened), verified(GEMINI)),
        ],
        note: "If two servers have a tool of the same name, the second one gets `{server}__` in front. Newer versions may form other names.",
    },
    Host {
        id: "opencode",
        title: "opencode",
        clients: &["opencode"],
        form: "mcp__{server}__{tool}",
        form_source: reported(OPENCODE),
        limits: &[limit(
            Limit::NameCharacters("_ -", Effect::Replaced),
            reported(OPENCODE),
        )],
        note: "",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_is_found_by_its_id_and_forms_tool_names() {
        for host in HOSTS {
            assert_eq!(find(host.id).map(|found| found.title), Some(host.title));
            assert!(host.form.contains("{tool}"), "{}", host.id);
            for limit in host.limits {
                assert!(!limit.source.place.is_empty(), "{}", host.id);
            }
        }
        assert!(find("unknown").is_none());
    }

    #[test]
    fn a_host_is_known_by_the_name_of_its_client() {
        for (client, host) in [
            ("claude-code", Some("claude")),
            ("codex-mcp-client", Some("codex")),
            ("gemini-cli-mcp-client", Some("gemini")),
            ("copilot-cli", Some("copilot")),
            ("Claude-Code", None),
            ("", None),
        ] {
            assert_eq!(of_client(client).map(|it| it.id), host, "{client}");
        }
        let limit = |id| find(id).and_then(Host::description_chars);
        assert_eq!((limit("claude"), limit("codex")), (Some(TEXT_CHARS), None));
    }

    #[test]
    fn the_documented_limits_are_those_of_the_table() {
        let docs = include_str!("../../../docs/extension.md");
        let docs = docs.split_whitespace().collect::<Vec<_>>().join(" ");
        let (mebi, mega) = (1 << 20, 1_000_000);
        for sentence in [
            format!(
                "A URI has at most {},{:03} bytes",
                URI_BYTES / 1000,
                URI_BYTES % 1000
            ),
            format!(
                "at most {SKILL_FILES} files and {} MiB of a skill",
                SKILL_BYTES / mebi
            ),
            format!("and {} MB of a `SKILL.md`", SKILL_MD_BYTES / mega),
            format!("pages of at most {LISTED_SKILLS} skills"),
        ] {
            assert!(
                docs.contains(&sentence),
                "docs/extension.md lacks: {sentence}"
            );
        }
    }
}
