//! The options about tools, shared by `serve` and `inspect --host`.

use skillbundle_server::{Options, Tools};

// Which tools to offer, and how. (A doc comment would describe the command.)
#[derive(clap::Args, Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ToolArgs {
    /// Offer only these tools: names and presets, separated by commas
    #[arg(long, value_name = "NAMES")]
    pub(crate) tools: Option<Tools>,
    /// Offer tools under their dotted names, such as `skills.list`
    #[arg(long)]
    pub(crate) dotted_names: bool,
    /// Limit the list of skills in a tool's description to this many bytes
    #[arg(long, value_name = "N")]
    pub(crate) description_bytes: Option<usize>,
}

impl ToolArgs {
    /// As the server's options.
    pub(crate) fn options(self) -> Options {
        Options {
            tools: self.tools.unwrap_or_default(),
            dotted_names: self.dotted_names,
            description_bytes: self.description_bytes,
            outlive_parent: false,
            #[cfg(feature = "conformance-fixtures")]
            extra: None,
        }
    }
}
