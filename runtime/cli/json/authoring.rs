//! What `new` and `compile` print with `--json`.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

/// The body of `new`.
#[derive(Serialize)]
pub(crate) struct NewSkill<'a> {
    pub(crate) name: &'a str,
    pub(crate) description: &'a str,
    pub(crate) dialect: &'static str,
    pub(crate) location: &'a str,
    pub(crate) made_files: &'a [String],
    pub(crate) next_commands: &'a [String],
}

/// The body of `compile`.
#[derive(Serialize)]
pub(crate) struct Compilation<'a> {
    pub(crate) findings: Value,
    pub(crate) error_count: usize,
    pub(crate) warning_count: usize,
    pub(crate) skill_count: usize,
    pub(crate) file_count: u64,
    pub(crate) bytes: u64,
    pub(crate) address: String,
    pub(crate) output: Option<&'a Path>,
    pub(crate) failed_files: &'a [String],
    pub(crate) removed_skills: &'a [String],
}
