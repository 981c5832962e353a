//! Directories of skills as something to ask and to serve: compiled when they
//! change. It needs the compiler, so there are two of it: `enabled.rs`, and
//! `disabled.rs` for the binary without the feature `compile`, which says so.

#[cfg(not(feature = "compile"))]
mod disabled;
#[cfg(feature = "compile")]
mod enabled;

#[cfg(not(feature = "compile"))]
pub(crate) use disabled::*;
#[cfg(feature = "compile")]
pub(crate) use enabled::*;
