//! How well and how fast requests find their skills.
//!
//! `cargo bench --bench routing` times requests to made-up skills. If
//! `SKILLBUNDLE_ROUTING` names a folder with labelled requests to real trees
//! (`trees/<tree>/…/SKILL.md` and `dev-pairs.jsonl`, one object per line with
//! `q`, `label`, `repo`, `lang`, `expect` and `not`), it also measures those
//! beside the rules of the specifications, and the small talk of
//! `tests/fixtures/small-talk.txt`. Exits with 1 if a goal is missed.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

#[path = "kit/figures.rs"]
mod figures;
#[path = "kit/labelled.rs"]
mod labelled;
#[path = "kit/sample.rs"]
mod sample;
#[path = "kit/systems.rs"]
mod systems;
#[path = "kit/tally.rs"]
mod tally;
#[path = "kit/zipf.rs"]
mod zipf;

use std::process::ExitCode;

fn main() -> ExitCode {
    let met = [figures::measure(), zipf::measure()];
    if met.iter().all(|met| *met) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
