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
    /// The port cannot be had.
    #[cfg(feature = "http")]
    #[error("cannot listen on {address}: {source}; {}", way_out(.source))]
    Listen {
        /// Where.
        address: std::net::SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// Others could ask, and nothing would keep them from it.
    #[cfg(feature = "http")]
    #[error(
        "other machines can reach {0}, so a token is needed and none is set; put one \
         (openssl rand -hex 32) into a file of mode 0600 and name it with --token-file, or into \
         the environment as SKILLBUNDLE_TOKEN, or listen on 127.0.0.1"
    )]
    TokenMissing(std::net::SocketAddr),
    /// The token is of no use.
    #[cfg(feature = "http")]
    #[error("cannot use the token: {0}")]
    Token(String),
    /// A name that requests may use for the server is none.
    #[cfg(feature = "http")]
    #[error("expected a host with or without a port, such as skills.example:8080, found {0:?}")]
    Host(String),
    /// A web origin is none.
    #[cfg(feature = "http")]
    #[error("expected a scheme and a host, such as https://app.example, found {0:?}")]
    Origin(String),
    /// A bundle cannot be read.
    #[error(transparent)]
    Bundle(#[from] skillbundle_format::Error),
    /// A file or directory cannot be read.
    #[error("cannot read the skills: {0}")]
    Read(#[from] io::Error),
    /// A choice of tools has an unknown name. The message lists the known ones.
    #[error("{0}")]
    UnknownTool(String),
    /// A source of skills failed in its own way.
    #[error("{0}")]
    Source(String),
}

/// What to do about a port that cannot be had.
#[cfg(feature = "http")]
fn way_out(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "stop the program that holds the port, or choose another one",
        io::ErrorKind::PermissionDenied => {
            "ports below 1024 need a privilege: choose another one, with a proxy before it"
        }
        io::ErrorKind::AddrNotAvailable => {
            "choose an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of them"
        }
        _ => "choose another address",
    }
}
