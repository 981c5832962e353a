//! The options about tools, shared by `serve` and `inspect --host`.

use std::sync::Arc;

use anyhow::Result;
use skillbundle_server::{Error, Options, Tools};

use crate::config::{self, Assignment};

// Which tools to offer, how, and what they may do. (A doc comment would describe the command.)
#[derive(clap::Args, Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ToolArgs {
    /// Offer only these tools: names and presets, separated by commas
    #[arg(long, value_name = "NAMES", value_parser = tools)]
    pub(crate) tools: Option<String>,
    /// Offer tools under their dotted names, such as `skills.list`
    #[arg(long)]
    pub(crate) dotted_names: bool,
    /// Limit the list of skills in a tool's description to this many bytes
    #[arg(long, value_name = "N")]
    pub(crate) description_bytes: Option<usize>,
    /// Run scripts of skills inside the project, too
    #[arg(long)]
    pub(crate) allow_project_scripts: bool,
}

/// The text, if it names tools.
pub(crate) fn tools(typed: &str) -> Result<String, Error> {
    typed.parse::<Tools>().map(|_| typed.to_owned())
}

impl ToolArgs {
    /// What these arguments set.
    pub(crate) fn assignments(&self) -> Vec<Assignment> {
        let tools = self.tools.as_deref();
        let tools = tools.map(|it| Assignment::by_option("serve.tools", it, "--tools"));
        let dotted = self
            .dotted_names
            .then(|| Assignment::by_option("serve.dotted_names", true, "--dotted-names"));
        let bytes = self.description_bytes.map(|bytes| {
            Assignment::by_option("serve.description_bytes", bytes, "--description-bytes")
        });
        let scripts = self.allow_project_scripts.then(|| {
            Assignment::by_option("scripts.allow_project", true, "--allow-project-scripts")
        });
        let tools = tools.into_iter().chain(dotted).chain(bytes);
        tools.chain(scripts).collect()
    }
}

/// The server's options, from the settings of this process.
pub(crate) fn options() -> Result<Options> {
    let config = config::current();
    Ok(Options {
        tools: config.tools()?,
        dotted_names: config.is_on("serve.dotted_names"),
        description_bytes: config.number("serve.description_bytes"),
        overrides: Arc::clone(config.overrides()),
        scripts: config.scripts(),
        outlive_parent: false,
        #[cfg(feature = "conformance-fixtures")]
        extra: None,
    })
}
