//! Mirrors one directory of a branch of a git repository into a private directory.
//!
//! The machine's git does the work, since it brings the credentials, proxies and ssh keys that people
//! have set up. It is run without a terminal, within a time and a size, with configuration that keeps
//! it from running anything the repository brings along. The files are read from its objects and
//! written by us: nothing is checked out.
//!
//! A [`Location`] is what people type; a [`Mirror`] is one such location in one directory. What
//! [`Mirror::sync`] cannot bring up to date stays as it was. This crate knows no skills.

mod changed;
mod checkout;
mod error;
mod kept;
mod location;
mod mirror;
mod program;
mod state;
mod token;
mod tree;

pub use changed::{Changes, changed_since, reference_files};
pub use checkout::{Head, Revision, write_head, write_revision};
pub use error::GitError;
pub use kept::{Kept, kept};
pub use location::{Location, LocationError, Protocol};
pub use mirror::{Mirror, Options, Reading, Synced};
pub use program::{stop_all, stop_flag};
pub use state::State;
pub use token::Token;
pub use tree::{LeftOut, Reason};
