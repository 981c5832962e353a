//! What the operating systems do differently: opening a file without being
//! led astray, and what a file's metadata says about it.

#[cfg(unix)]
#[path = "platform/unix.rs"]
mod imp;
#[cfg(not(unix))]
#[path = "platform/other.rs"]
mod imp;

pub(super) use imp::{
    describe, hard_links, is_executable, is_loop, location_of, mode, open, same_file, stamp,
};
