//! Serves skill bundles over the Model Context Protocol, on stdin and stdout or,
//! with the feature `http`, to many clients at a port.
//!
//! [`serve`] takes a [`Source`] of skills and answers until its client leaves; [`Preview`] shows
//! what such a client sees first. In reading order: `source` says where skills come from and keeps
//! what is current; `scripts` decides which scripts of skills may be run, and `invocations` what
//! it means to invoke one by its contract; `jsonrpc` reads and writes
//! messages, which `stdio` takes from the pipes that `platform` offers and `http` from sockets; `mcp`
//! answers them, one row of a table per method and one file per tool. How skills are written is not
//! known here.

mod error;

pub mod analytics;
pub mod invocations;
pub mod scripts;
mod source;

mod jsonrpc;
mod mcp;

#[cfg(feature = "http")]
pub mod http;
mod platform;
mod stdio;

#[cfg(test)]
#[cfg(unix)]
mod testing;

use std::sync::Arc;
use std::time::Duration;

use skillbundle_format::Overrides;
use skillbundle_format::hosts::TEXT_CHARS;

use mcp::Server;
use scripts::ScriptOptions;
use source::Refresher;

pub use error::Error;
#[cfg(feature = "conformance-fixtures")]
pub use mcp::{Extra, ExtraCall, ExtraMethod, ExtraResult};
pub use mcp::{Preview, Tools};
#[cfg(feature = "conformance-fixtures")]
pub use rmcp::model::ErrorData;
pub use source::{
    Archive, BrokenSkill, Checkout, Embedded, Kind, Loaded, LoadedRoot, Source, WatchPaths, Watcher,
};

/// Bytes of a list of skills in an answer, unless the operator chooses otherwise. What matters most
/// stands first, so a host that cuts loses the end.
const LIST_BYTES: usize = 16 * 1024;

/// How long scripts may take to end when the server ends.
const LAST_SCRIPTS: Duration = Duration::from_secs(2);

/// How long the journal may take to write what waits when the server ends, and the analytics to send it.
const LAST_EVENTS: Duration = Duration::from_secs(2);

/// What the operator can choose.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The tools to offer.
    pub tools: Tools,
    /// Publish spec 4's tools under their dotted names. Several hosts refuse a server with such a
    /// name; calls understand both spellings anyway.
    pub dotted_names: bool,
    /// Most bytes of the description of the `skill` tool (never less than its fixed text), and of a
    /// list of skills in an answer. Unless set, they are what every known host keeps of a
    /// description, 2,048, or less for a client that is known to keep less, and 16 KiB.
    pub description_bytes: Option<usize>,
    /// Serve on over stdio after the process that started this one is gone.
    pub outlive_parent: bool,
    /// What applies over the settings that the skills carry.
    pub overrides: Arc<Overrides>,
    /// What the operator has decided about scripts.
    pub scripts: ScriptOptions,
    /// What is recorded, and where.
    pub recording: Recording,
    /// The agent that the clients are, whatever they say; `None` believes them.
    pub agent: Option<String>,
    /// Offer each skill that has a contract as a tool of its own.
    pub typed_tools: bool,
    /// Methods of a test build.
    #[cfg(feature = "conformance-fixtures")]
    pub extra: Option<&'static Extra>,
}

/// What is recorded, and where.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    /// Where invocations are recorded.
    pub journal: skillbundle_journal::Options,
    /// Whether every use of a skill is recorded there: routing decisions, runs of scripts, loads,
    /// searches. If analytics events are sent, it is.
    pub calls: bool,
    /// Where analytics events are sent; see [`analytics`] for what they carry.
    pub analytics: skillbundle_journal::Options,
    /// Whether what is sent holds what people and agents have written: requests and comments.
    pub texts: bool,
}

impl Options {
    /// Most bytes of a description for a client of which so many characters are known to be kept.
    pub(crate) fn description_room(&self, kept: Option<usize>) -> usize {
        let kept = kept.unwrap_or(TEXT_CHARS).min(TEXT_CHARS);
        self.description_bytes.unwrap_or(kept)
    }

    pub(crate) fn list_bytes(&self) -> usize {
        self.description_bytes.unwrap_or(LIST_BYTES)
    }
}

/// Serves the skills of `source` on stdin and stdout until stdin ends, the reader of stdout or the
/// host is gone, or the process is asked to stop. None of these is an error. If stdin ends without
/// a single message, as in `serve </dev/null`, the skills are loaded once and it is an error if they
/// cannot be.
pub fn serve(source: impl Source, options: Options) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::Runtime)?;
    let skills = Refresher::new(source, &options.overrides);
    let server = Server::new(skills.clone(), options);
    let (scripts, recorder) = (server.scripts.clone(), server.recorder.clone());
    let ended = runtime.block_on(async {
        let (input, output) = platform::claim_stdio().map_err(Error::Stdio)?;
        skills.keep_synced();
        match stdio::run(server, input, output).await? {
            stdio::Ended::Served => Ok(()),
            stdio::Ended::Unasked => tokio::select! {
                loaded = skills.try_out() => loaded,
                asked = platform::asked_to_stop() => asked.map_err(Error::Runtime),
            },
        }
    });
    // A load that is still running must not hold the process. This ends the calls of scripts, too.
    runtime.shutdown_background();
    scripts.wait_for_all(LAST_SCRIPTS);
    recorder.close(LAST_EVENTS);
    ended
}
