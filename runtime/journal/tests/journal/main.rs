//! The journal through its public door: what is committed is there, whatever happens to the process,
//! the disk, the file or the server.
#![expect(
    clippy::unwrap_used,
    reason = "what the tests share is outside of `#[test]` functions"
)]

mod child;
mod common;

mod basics;
mod counting;
mod faults;
#[cfg(all(unix, feature = "http"))]
mod http;
mod kill;
#[cfg(unix)]
mod lines;
#[cfg(all(unix, feature = "postgres"))]
mod postgres;
mod processes;
mod reading;
