//! Mirrors of real repositories, by the machine's git.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "what only tests use")]

mod attacks;
mod kit;
mod mirrors;
mod revisions;
mod servers;
