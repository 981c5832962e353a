//! `serve --http`: the options for serving over HTTP. A build without the feature `http` parses
//! them, too, and says which build has it.

#[cfg(not(feature = "http"))]
mod disabled;
#[cfg(feature = "http")]
mod enabled;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

#[cfg(not(feature = "http"))]
pub(super) use disabled::serve;
#[cfg(feature = "http")]
pub(super) use enabled::serve;

// (A doc comment would become the command's description.)
#[derive(clap::Args, Debug, Default)]
pub(crate) struct Http {
    /// Serve at this address instead of stdin and stdout: `127.0.0.1:8080`, or `:8080` for the
    /// same; port 0 chooses a free one
    #[arg(long = "http", value_name = "ADDR", value_parser = address)]
    at: Option<SocketAddr>,
    /// Require the token in this file (mode 0600); needed if other machines can reach the address
    #[arg(long, value_name = "FILE", requires = "at")]
    token_file: Option<PathBuf>,
    /// Require a token of this file (mode 0600), which has an agent and its token on each line: a
    /// client is the agent whose token it carries
    #[arg(long, value_name = "FILE", requires = "at")]
    agent_tokens: Option<PathBuf>,
    /// Also allow requests to this host name, with or without a port; can be repeated
    #[arg(long, value_name = "HOST", requires = "at")]
    allow_host: Vec<String>,
    /// Also allow requests from web pages of this origin; can be repeated
    #[arg(long, value_name = "ORIGIN", requires = "at")]
    allow_origin: Vec<String>,
    /// Also offer what the official conformance suite asks for by name
    #[cfg(feature = "conformance-fixtures")]
    #[arg(long, hide = true, requires = "at")]
    conformance_fixtures: bool,
}

impl Http {
    /// Where to listen, if over HTTP.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        self.at
    }

    /// The files with tokens.
    pub(super) fn token_files(&self) -> impl Iterator<Item = &PathBuf> {
        self.token_file.iter().chain(&self.agent_tokens)
    }
}

/// Parses an address. Names are not looked up: what they resolve to may change, and with it who can
/// reach the server.
fn address(text: &str) -> Result<SocketAddr, String> {
    let expected = || {
        "expected IP:PORT, or :PORT for this machine only, such as 127.0.0.1:8080, :8080 or 0.0.0.0:8080"
            .to_owned()
    };
    let (host, port) = text.rsplit_once(':').ok_or_else(expected)?;
    if matches!(host, "" | "localhost") {
        let port = port.parse().map_err(|_| expected())?;
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    text.parse().map_err(|_| expected())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_host_is_this_machine() {
        for (text, expected) in [
            (":8080", Some("127.0.0.1:8080")),
            ("localhost:80", Some("127.0.0.1:80")),
            ("127.0.0.1:0", Some("127.0.0.1:0")),
            ("[::1]:8080", Some("[::1]:8080")),
            ("0.0.0.0:8080", Some("0.0.0.0:8080")),
            ("8080", None),
            (":", None),
            (":80800", None),
            ("::1:8080", None),
            ("skills.example:8080", None),
            ("127.0.0.1", None),
            ("http://127.0.0.1:8080", None),
            ("", None),
        ] {
            let expected = expected.map(|address| address.parse().unwrap());
            assert_eq!(address(text).ok(), expected, "{text}");
        }
    }
}
