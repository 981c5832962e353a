//! What an operator can choose about the tools: for the command that serves
//! them, and for the one that shows what a host makes of them.

use skillbundle_server::{Options, Tools};

// How the tools are offered, as typed. (A doc comment would describe the command.)
#[derive(clap::Args, Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Offering {
    /// Offer these tools only: names and presets, parted by commas
    #[arg(long, value_name = "NAMES")]
    pub(crate) tools: Option<Tools>,
    /// Offer tools under their dotted names, such as `skills.list`
    #[arg(long)]
    pub(crate) dotted_names: bool,
    /// Spend at most this many bytes on the list of skills in a tool's description
    #[arg(long, value_name = "N")]
    pub(crate) description_bytes: Option<usize>,
}

impl Offering {
    /// The same as the server takes it.
    pub(crate) fn options(self) -> Options {
        Options {
            tools: self.tools.unwrap_or_default(),
            dotted_names: self.dotted_names,
            description_bytes: self.description_bytes,
            #[cfg(feature = "conformance-fixtures")]
            extra: None,
        }
    }
}
