//! The server at a real port, as clients and strangers meet it. Times are cut
//! to fractions of a second where a test waits for one to pass.

mod answers;
mod auth;
mod headers;
mod kit;
mod limits;
mod shutdown;
