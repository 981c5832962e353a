//! The commands, one file each, and what they share: arguments, output on a
//! terminal, in a pipe and as JSON, and errors.

// Shared.
mod bars;
pub(crate) mod clap_errors;
pub(crate) mod display;
pub(crate) mod json;
pub(crate) mod output;
pub(crate) mod progress;
mod table;
#[cfg(feature = "sqlite")]
mod time;
pub(crate) mod tool_args;

// The commands, in the order of `--help`.
pub(crate) mod serve;

pub(crate) mod check;
pub(crate) mod compile;
pub(crate) mod eval;
pub(crate) mod explain;
pub(crate) mod new;
pub(crate) mod verify;

pub(crate) mod config;
pub(crate) mod inspect;
pub(crate) mod invoke;
pub(crate) mod list;
pub(crate) mod roots;
pub(crate) mod route;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod show;

pub(crate) mod cache;
pub(crate) mod doctor;
pub(crate) mod journal;
pub(crate) mod man;
pub(crate) mod stats;
