//! Trees on disk, compiled: what is served, what is said, what stays equal.
//! `kit.rs` makes them; every other file is a subject.

mod attacks;
mod corpus;
mod determinism;
mod discovery;
mod evaluation;
mod files;
mod kit;
mod names;
mod pages;
mod published;
mod refresh;
