//! The server on a real port, with real and with hostile clients. Limits are cut to fractions of a
//! second if a test waits for one to pass.

mod answers;
mod auth;
mod headers;
mod kit;
mod limits;
mod shutdown;
#[cfg(feature = "conformance-fixtures")]
mod streaming;
