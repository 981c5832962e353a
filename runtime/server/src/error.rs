//! Why a server could not run, or a source could not give its skills.

use std::io;

/// What went wrong outside of any single request.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// stdin or stdout cannot be used.
    #[error(
        "cannot use stdin and stdout: {0}; start the server with both connected, as an agent host does"
    )]
    Stdio(#[source] io::Error),
    /// The event loop could not be started.
    #[error("cannot start the event loop: {0}")]
    Runtime(#[source] io::Error),
    /// The session ended in a way that the protocol does not allow.
    #[error("the session broke off: {0}; this is a fault of the server, please report it")]
    Session(String),
    /// A bundle cannot be read.
    #[error(transparent)]
    Bundle(#[from] skillbundle_format::Error),
    /// A file or directory cannot be read.
    #[error("cannot read the skills: {0}")]
    Read(#[from] io::Error),
    /// A word in a choice of tools stands for none. What there is follows.
    #[error("{0}")]
    UnknownTool(String),
    /// A source of skills failed in its own way.
    #[error("{0}")]
    Source(String),
}
