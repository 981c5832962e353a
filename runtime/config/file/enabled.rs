//! Reads the file with the compiler's YAML reader, which knows lines and columns.

use std::path::Path;

use anyhow::Result;
use skillbundle_compiler::{ConfigValue, Severity};

use crate::cli::display::counted;
use crate::cli::output::with_help;
use crate::config::{Assignment, Origin};

/// What the file sets, with paths as they are written. Fails if anything in it is wrong.
pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Vec<Assignment>> {
    let (values, report) = skillbundle_compiler::read_config(&path.display().to_string(), bytes);
    let report = report.at_least(Severity::Error);
    if report.has_errors() {
        let errors = counted(report.count(Severity::Error) as u64, "error");
        let message = format!(
            "the configuration has {errors}\n{}",
            report.render_human(false)
        );
        return Err(with_help(
            message.trim_end(),
            "`skillbundle config --help` lists the settings",
        ));
    }
    let assignment = |it: ConfigValue| Assignment {
        setting: it.setting,
        value: it.value,
        origin: Origin::File(path.to_owned(), it.line),
    };
    Ok(values.into_iter().map(assignment).collect())
}
