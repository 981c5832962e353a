//! What agent hosts do with a server's tools and skills: one table, each
//! figure with its source. Second-hand figures come from reports of users and
//! were not read in the host itself.

/// A host.
pub(crate) struct Host {
    /// What it is called on the command line.
    pub(crate) id: &'static str,
    /// What people call it.
    pub(crate) title: &'static str,
    /// The name that it makes of `{server}` and `{tool}`.
    pub(crate) form: &'static str,
    /// Where that is known from.
    pub(crate) form_source: Source,
    /// What it bounds.
    pub(crate) facts: &'static [Fact],
    /// What else decides what a model sees, and when.
    pub(crate) note: &'static str,
}

/// One bound of a host.
pub(crate) struct Fact {
    pub(crate) bound: Bound,
    pub(crate) source: Source,
}

/// Where a figure comes from.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    pub(crate) place: &'static str,
    pub(crate) second_hand: bool,
}

/// What a host bounds.
#[derive(Clone, Copy)]
pub(crate) enum Bound {
    /// Characters of a tool's description that are kept.
    Description(usize),
    /// Characters of the instructions that are kept.
    Instructions(usize),
    /// What a tool's own name may hold beside ASCII letters and digits.
    Letters(&'static str, Fate),
    /// Characters of the name that the host forms.
    Name(usize, Fate),
    /// Characters of the server's and the tool's name together.
    Joint(usize, Fate),
    /// Skills of one server, where the host lists skills itself.
    Skills(usize),
    /// Bytes of that listing.
    Listing(usize),
}

/// What becomes of a tool that a bound does not let pass.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The letters become underscores.
    Replaced,
    /// The name is shortened.
    Shortened,
    /// The tool is left out.
    Dropped,
    /// No tool of the server can be used.
    ServerRefused,
    /// Every prompt fails.
    PromptsFail,
}

impl Bound {
    /// In words, with its figure.
    pub(crate) fn describe(self) -> (&'static str, String) {
        let figure = |number: usize| super::grouped(number as u64);
        match self {
            Self::Description(most) => ("description", format!("{} characters", figure(most))),
            Self::Instructions(most) => ("instructions", format!("{} characters", figure(most))),
            Self::Letters(more, fate) => (
                "letters of a name",
                format!("A-Z a-z 0-9 {more}, else {}", fate.as_str()),
            ),
            Self::Name(most, fate) => (
                "name as formed",
                format!("{} characters, else {}", figure(most), fate.as_str()),
            ),
            Self::Joint(most, fate) => (
                "server and tool name",
                format!("{} characters, else {}", figure(most), fate.as_str()),
            ),
            Self::Skills(most) => ("skills", format!("{} of a server", figure(most))),
            Self::Listing(most) => ("listing of skills", format!("{} bytes", figure(most))),
        }
    }
}

impl Fate {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Replaced => "underscores",
            Self::Shortened => "shortened",
            Self::Dropped => "the tool is dropped",
            Self::ServerRefused => "the whole server is refused",
            Self::PromptsFail => "every prompt fails",
        }
    }

    /// Whether no tool of the server can be used.
    pub(crate) const fn is_loss_of_all(self) -> bool {
        matches!(self, Self::ServerRefused | Self::PromptsFail)
    }

    /// Whether the tool cannot be used.
    pub(crate) const fn is_loss(self) -> bool {
        !matches!(self, Self::Replaced | Self::Shortened)
    }
}

const fn read(place: &'static str) -> Source {
    Source {
        place,
        second_hand: false,
    }
}

const fn told(place: &'static str) -> Source {
    Source {
        place,
        second_hand: true,
    }
}

const fn fact(bound: Bound, source: Source) -> Fact {
    Fact { bound, source }
}

/// The host of this name.
pub(crate) fn find(id: &str) -> Option<&'static Host> {
    HOSTS.iter().find(|host| host.id == id)
}

const CLAUDE: &str = "Claude Code 2.1.332, read in the program";
const DESKTOP: &str = "loomle#168, orchard-mcp#14, hostinger/api-mcp-server#48";
const COPILOT: &str = "github/copilot-cli#2581, #1879";
const CODEX: &str = "openai/codex, codex-rs/core/src/mcp_connection_manager.rs";
const GEMINI: &str = "google-gemini/gemini-cli, packages/core/src/tools/mcp-tool.ts";
const OPENCODE: &str = "anomalyco/opencode#33533";

/// Every host that we know figures of.
pub(crate) static HOSTS: &[Host] = &[
    Host {
        id: "claude",
        title: "Claude Code",
        form: "mcp__{server}__{tool}",
        form_source: read(CLAUDE),
        facts: &[
            // 2.1.332 itself has 4,096 and 16,384; older ones are about.
            fact(
                Bound::Description(2048),
                read("Claude Code since 2.1.84: claude-code#41593, #81268, #87650"),
            ),
            fact(
                Bound::Instructions(2048),
                read("Claude Code since 2.1.84: claude-code#41593, #81268, #87650"),
            ),
            fact(Bound::Letters("_ -", Fate::Replaced), read(CLAUDE)),
            fact(Bound::Name(128, Fate::Dropped), read(CLAUDE)),
            fact(Bound::Skills(100), read(CLAUDE)),
            fact(Bound::Listing(512 * 1024), read(CLAUDE)),
        ],
        note: "Tools are deferred: only their names and the instructions are in context at first. Skills are listed only where its client for them is switched on.",
    },
    Host {
        id: "claude-desktop",
        title: "Claude Desktop",
        form: "{tool}",
        form_source: told(DESKTOP),
        facts: &[
            fact(Bound::Letters("_ -", Fate::ServerRefused), told(DESKTOP)),
            fact(Bound::Name(64, Fate::ServerRefused), told(DESKTOP)),
        ],
        note: "",
    },
    Host {
        id: "codex",
        title: "Codex",
        form: "mcp__{server}__{tool}",
        form_source: read(CODEX),
        facts: &[
            fact(
                Bound::Letters("_ -", Fate::PromptsFail),
                told("openai/codex#8174, of 0.73; a later report says that dots work"),
            ),
            fact(Bound::Name(64, Fate::Shortened), read(CODEX)),
        ],
        note: "",
    },
    Host {
        id: "cursor",
        title: "Cursor",
        form: "{tool}",
        form_source: told("composio#2788"),
        facts: &[
            fact(Bound::Letters("_", Fate::Dropped), told("webstudio#5960")),
            fact(
                Bound::Joint(60, Fate::Dropped),
                told("composio#2788, awslabs/mcp#1283"),
            ),
        ],
        note: "",
    },
    Host {
        id: "copilot",
        title: "GitHub Copilot CLI",
        form: "{server}-{tool}",
        form_source: told("github/copilot-sdk#861"),
        facts: &[
            fact(Bound::Letters("_ -", Fate::PromptsFail), told(COPILOT)),
            fact(Bound::Name(128, Fate::PromptsFail), told(COPILOT)),
        ],
        note: "VS Code turns dots into underscores instead.",
    },
    Host {
        id: "gemini",
        title: "Gemini CLI",
        form: "{tool}",
        form_source: read(GEMINI),
        facts: &[
            fact(Bound::Letters("_ . -", Fate::Replaced), read(GEMINI)),
            fact(Bound::Name(63, Fate::Shortened), read(GEMINI)),
        ],
        note: "Where two servers have a tool of one name, the second gets `{server}__` in front. Newer versions may form other names.",
    },
    Host {
        id: "opencode",
        title: "opencode",
        form: "mcp__{server}__{tool}",
        form_source: told(OPENCODE),
        facts: &[fact(Bound::Letters("_ -", Fate::Replaced), told(OPENCODE))],
        note: "",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_is_found_by_its_name_and_forms_names_of_tools() {
        for host in HOSTS {
            assert_eq!(find(host.id).map(|found| found.title), Some(host.title));
            assert!(host.form.contains("{tool}"), "{}", host.id);
            for fact in host.facts {
                assert!(!fact.source.place.is_empty(), "{}", host.id);
            }
        }
        assert!(find("nobody").is_none());
    }
}
