//! stdin, stdout and the request to stop, as the system offers them. On Unix everything is readiness
//! on the one thread; elsewhere a thread reads. What the bytes mean is the concern of `stdio`.

#[cfg(any(not(unix), test))]
#[cfg_attr(
    unix,
    expect(dead_code, reason = "compiled on Unix for its tests alone")
)]
mod portable;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(crate) use portable::*;
#[cfg(unix)]
pub(crate) use unix::*;
