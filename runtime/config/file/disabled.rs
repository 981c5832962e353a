//! A build without the compiler has no YAML reader. It does not run past a file that may restrict
//! what it does.

use std::path::Path;

use anyhow::Result;

use crate::cli::output::with_help;
use crate::config::Assignment;

/// Always an error.
pub(super) fn parse(path: &Path, _: &[u8]) -> Result<Vec<Assignment>> {
    Err(with_help(
        &format!(
            "this build cannot read {}: it lacks the feature `compile`",
            path.display()
        ),
        "use options and variables; an XDG_CONFIG_HOME without this file leaves it out",
    ))
}
