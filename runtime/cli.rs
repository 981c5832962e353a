//! The commands a person types, one file each, and what they share: how
//! output looks on a terminal, in a pipe and as JSON, and how wrong use is
//! answered. What skills are and how they are asked lies in the crates.

// What the commands share.
mod offering;
pub(crate) mod output;
mod record;
mod table;
pub(crate) mod text;
pub(crate) mod usage;

// The commands, in the order of `--help`.
pub(crate) mod serve;

pub(crate) mod compile;
pub(crate) mod eval;
pub(crate) mod verify;

pub(crate) mod inspect;
pub(crate) mod list;
pub(crate) mod route;
pub(crate) mod search;
pub(crate) mod show;

pub(crate) mod reference;
