//! What the benchmarks share: generated skills, requests over pipes, a
//! hand-written server to compare with, and medians.

pub(crate) mod client;
pub(crate) mod floor;
pub(crate) mod generate;
pub(crate) mod sample;
