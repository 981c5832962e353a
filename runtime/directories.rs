//! Directories of skills, compiled for a query or served and recompiled when
//! they change: `enabled.rs`, or `disabled.rs` in a build without the feature
//! `compile`.

#[cfg(not(feature = "compile"))]
mod disabled;
#[cfg(feature = "compile")]
mod enabled;
#[cfg(feature = "compile")]
mod generations;
#[cfg(feature = "compile")]
mod git_lock;
#[cfg(feature = "compile")]
mod single_files;

#[cfg(not(feature = "compile"))]
pub(crate) use disabled::*;
#[cfg(feature = "compile")]
pub(crate) use enabled::*;
#[cfg(feature = "compile")]
pub(crate) use generations::finish_writes;
