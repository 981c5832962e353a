//! What a client is told before its first call, made without a session: for
//! a look at what a host does with it.

use serde_json::Value;
use skillbundle_format::Bundle;

use super::offer::Present;
use super::{instructions, tools};
use crate::source::Mode;
use crate::{Error, Options};

/// What a client is told of some skills before its first call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Preview {
    /// How to use the server, in words.
    pub instructions: String,
    /// The tools on offer, as they stand in the answer to `tools/list`.
    pub tools: Vec<Value>,
    /// The names of tools that are not offered because they can do nothing
    /// with these skills, and why that is so.
    pub idle: Vec<(&'static str, &'static str)>,
}

impl Preview {
    /// What is told of this bundle, where it comes from such a place.
    pub fn new(bundle: &Bundle, mode: Mode, options: &Options) -> Result<Self, Error> {
        let loaded = Present {
            catalog: Some(bundle.catalog()?),
            mode,
        };
        // Instructions leave with the handshake, which waits for no slow load.
        let greeted = Present {
            catalog: loaded.catalog.filter(|_| !mode.is_slow()),
            mode,
        };
        let tools = tools::all(&loaded, options).into_iter();
        Ok(Self {
            instructions: instructions::text(options.offer(&greeted), mode != Mode::Embedded),
            tools: tools
                .map(|tool| serde_json::to_value(tool).expect("a tool is plain JSON"))
                .collect(),
            idle: options.tools.idle(&loaded).collect(),
        })
    }
}
