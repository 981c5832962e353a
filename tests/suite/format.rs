//! The bundle format from outside: what goes in comes out, the same input gives
//! the same bytes, answers equal the naive formula, and no damaged byte is served.

mod answers;
mod determinism;
mod fixture;
mod formulas;
mod hostile;
mod published;
mod random;
mod roundtrip;
