//! The options about tools, shared by `serve` and `inspect --host`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use skillbundle_server::{Error, Options, Recording, Tools};

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
    /// Offer each skill that has a contract as a tool of its own
    #[arg(long)]
    pub(crate) typed_tools: bool,
    /// Treat every client as this agent, whatever it says
    #[arg(long, value_name = "NAME", value_parser = agent)]
    pub(crate) agent: Option<String>,
    /// Record invocations here: `off`, a file, jsonl:FILE or postgres://… [default: a file in
    /// the user's state directory]
    #[arg(long, value_name = "PLACE")]
    pub(crate) journal: Option<String>,
    /// Run scripts of skills inside the project, too
    #[arg(long)]
    pub(crate) allow_project_scripts: bool,
    /// Let scripts keep data in this directory, `$SKILL_DATA`; it is made if it is missing
    #[arg(long, value_name = "DIR")]
    pub(crate) script_data: Option<PathBuf>,
}

/// What `--script-data` sets.
pub(crate) fn script_data(directory: Option<&Path>) -> Option<Assignment> {
    let directory = directory?.to_string_lossy();
    let setting = "scripts.data_directory";
    Some(Assignment::by_option(setting, directory, "--script-data"))
}

/// The text, if it names tools.
pub(crate) fn tools(typed: &str) -> Result<String, Error> {
    typed.parse::<Tools>().map(|_| typed.to_owned())
}

/// What `--journal` sets.
pub(crate) fn journal(place: Option<&str>) -> Option<Assignment> {
    Some(Assignment::by_option(
        "journal.destination",
        place?,
        "--journal",
    ))
}

/// What `--allow-project-scripts` sets.
pub(crate) fn project_scripts(allowed: bool) -> Option<Assignment> {
    let option = "--allow-project-scripts";
    allowed.then(|| Assignment::by_option("scripts.allow_project", true, option))
}

/// The text, if it can be the name of an agent.
fn agent(typed: &str) -> Result<String, String> {
    let expected = "expected 1 to 64 characters without spaces".to_owned();
    let is_name = skillbundle_format::is_agent_name(typed);
    is_name.then(|| typed.to_owned()).ok_or(expected)
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
        let scripts = project_scripts(self.allow_project_scripts);
        let typed = self
            .typed_tools
            .then(|| Assignment::by_option("serve.typed_tools", true, "--typed-tools"));
        let agent = self.agent.as_deref();
        let agent = agent.map(|it| Assignment::by_option("serve.agent", it, "--agent"));
        let tools = tools.into_iter().chain(dotted).chain(bytes);
        let journal = journal(self.journal.as_deref());
        let tools = tools.chain(typed).chain(agent).chain(journal);
        let data = script_data(self.script_data.as_deref());
        tools.chain(scripts).chain(data).collect()
    }
}

/// The server's options, from the settings of this process.
pub(crate) fn options() -> Result<Options> {
    let config = config::current();
    let analytics = config.analytics()?;
    Ok(Options {
        tools: config.tools()?,
        dotted_names: config.is_on("serve.dotted_names"),
        description_bytes: config.number("serve.description_bytes"),
        overrides: Arc::clone(config.overrides()),
        scripts: config.scripts(),
        recording: Recording {
            journal: config.journal()?,
            calls: config.keeps_calls(),
            analytics: analytics.sent,
            texts: analytics.texts,
        },
        agent: config.text("serve.agent"),
        typed_tools: config.is_on("serve.typed_tools"),
        outlive_parent: false,
        #[cfg(feature = "conformance-fixtures")]
        extra: None,
    })
}
