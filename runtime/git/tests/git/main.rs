//! Mirrors of real repositories, by the machine's git.
#![cfg(unix)]

mod kit;
mod mirrors;
