//! Trees on disk that a Markdown case in `tests/cases` cannot describe: attacks,
//! properties, recompiling, evaluation, limits, real skills. `kit.rs` makes the trees.

mod attacks;
mod compare;
mod content;
mod content_root;
mod corpus;
mod declared;
mod determinism;
mod evaluation;
mod fields;
mod kit;
mod limits;
mod published;
mod refresh;
mod roots;
mod rules;
mod structure;
