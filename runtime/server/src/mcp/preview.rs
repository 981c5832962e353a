//! What a client sees before its first call, computed without a session: for a look at what a host
//! makes of it.

use serde_json::Value;
use skillbundle_format::Bundle;
use skillbundle_format::hosts::Host;

use super::toolset::ToolContext;
use super::{instructions, tools};
use crate::source::Source;
use crate::{Error, Options};

/// What a client sees of some skills before its first call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Preview {
    /// How to use the server, in words.
    pub instructions: String,
    /// The tools on offer, as in the result of `tools/list`.
    pub tools: Vec<Value>,
    /// The names of tools that are not offered because they can do nothing with these skills, and
    /// why that is so.
    pub unused: Vec<(&'static str, &'static str)>,
}

impl Preview {
    /// The preview of this bundle as `source` has loaded it, for the client of this host.
    /// `is_of_project` tells which of its roots belong to the project.
    pub fn new(
        bundle: &Bundle,
        source: &dyn Source,
        options: &Options,
        host: &Host,
        is_of_project: impl Fn(u32) -> bool,
    ) -> Result<Self, Error> {
        let catalog = bundle.catalog()?;
        let context = ToolContext {
            catalog: Some(catalog),
            runs_scripts: Some(options.scripts.allow_any(catalog, is_of_project)?),
            room: options.description_room(host.description_chars()),
        };
        let is_loaded = source.fingerprint_now().is_some();
        // Instructions are part of the handshake, which does not wait for a slow load.
        let at_handshake = ToolContext {
            catalog: context.catalog.filter(|_| is_loaded),
            runs_scripts: context.runs_scripts.filter(|_| is_loaded),
            ..context
        };
        let toolset = options.toolset(&at_handshake);
        let tools = tools::all(&context, options).into_iter();
        Ok(Self {
            instructions: instructions::text(toolset, source.can_change()),
            tools: tools
                .map(|tool| serde_json::to_value(tool).expect("a tool is plain JSON"))
                .collect(),
            unused: options.tools.unused(&context).collect(),
        })
    }
}
