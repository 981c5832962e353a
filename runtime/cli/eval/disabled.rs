//! `skillbundle eval` in a build that carries no compiler.

use anyhow::{Result, bail};

use super::Args;
use crate::Exit;

/// Says that this build cannot.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let Args {
        dir: _,
        min_hits: _,
        max_false: _,
        verbose: _,
        json: _,
    } = args;
    bail!(crate::directories::NEEDS_COMPILER)
}
