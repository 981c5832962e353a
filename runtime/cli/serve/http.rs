//! `serve --http`: how the address is written and what goes with it. A build
//! without the feature `http` understands the options and says that it cannot.

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

// What can be said about serving at a port.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct Http {
    /// Serve at this address instead of stdin and stdout: `127.0.0.1:8080`, or `:8080` for the
    /// same; port 0 chooses a free one
    #[arg(long = "http", value_name = "ADDR", value_parser = address)]
    at: Option<SocketAddr>,
    /// Ask for the token in this file (of mode 0600), which is needed where other machines can
    /// reach the address
    #[arg(long, value_name = "FILE", requires = "at")]
    token_file: Option<PathBuf>,
    /// Answer requests for this host name, with a port or for any, too; repeat it for more
    #[arg(long, value_name = "HOST", requires = "at")]
    allow_host: Vec<String>,
    /// Answer requests from web pages of this origin, too; repeat it for more
    #[arg(long, value_name = "ORIGIN", requires = "at")]
    allow_origin: Vec<String>,
    /// Offer what the official conformance suite asks for by name, too
    #[cfg(feature = "conformance-fixtures")]
    #[arg(long, hide = true, requires = "at")]
    conformance_fixtures: bool,
}

impl Http {
    /// Where to listen, if at a port.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        self.at
    }
}

/// An address as a person writes it. Names are not looked up: what they lead to
/// may change, and with it who can reach us.
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
