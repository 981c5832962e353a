//! The address that events are sent to: what it may be, and how little of it is ever shown.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use ureq::http::Uri;
use ureq::http::uri::Scheme;

/// The address of an HTTP server: `https`, or `http` to this machine, where nobody listens between.
/// Both text forms show the server alone, since the rest of such an address is often a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint(Uri);

impl Endpoint {
    /// The whole address.
    pub(super) const fn uri(&self) -> &Uri {
        &self.0
    }

    /// Whether the connection is encrypted. If it is not, the server is on this machine.
    pub(super) fn is_encrypted(&self) -> bool {
        self.0.scheme() == Some(&Scheme::HTTPS)
    }
}

impl FromStr for Endpoint {
    type Err = String;

    /// The error quotes nothing of the text.
    fn from_str(text: &str) -> Result<Self, String> {
        let expected = |found: &str| {
            Err(format!(
                "expected the https address of a server, found {found}"
            ))
        };
        let Ok(uri) = text.parse::<Uri>() else {
            return expected("no address");
        };
        let Some(authority) = uri.authority() else {
            return expected("an address without a host");
        };
        if authority.as_str().contains('@') {
            return expected("a user name or a password in it");
        }
        let host = authority.host();
        if host.is_empty() || (authority.port().is_none() && authority.as_str().len() > host.len())
        {
            return expected("an address without a host or with a wrong port");
        }
        if text.contains('#') {
            return expected("a fragment (#) in it");
        }
        match uri.scheme_str() {
            Some("https") => Ok(Self(uri)),
            Some("http") if is_loopback(host) => Ok(Self(uri)),
            Some("http") => expected(
                "http, over which others can read along (only this machine \
                may be reached by it, as localhost, 127.0.0.1 or [::1])",
            ),
            _ => expected("another scheme"),
        }
    }
}

/// Whether the host is this machine.
fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || bare.parse::<Ipv4Addr>().is_ok_and(|it| it.is_loopback())
        || bare.parse::<Ipv6Addr>().is_ok_and(|it| it.is_loopback())
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.0.scheme_str().unwrap_or_default();
        let server = self.0.authority().map_or("", |it| it.as_str());
        write!(f, "{scheme}://{server}")?;
        let has_more = self.0.path_and_query().is_some_and(|it| it.as_str() != "/");
        f.write_str(if has_more { "/…" } else { "" })
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn https_or_this_machine_and_the_rest_is_not_shown() {
        for (text, expected) in [
            ("https://example.com", Ok("https://example.com")),
            ("https://example.com/", Ok("https://example.com")),
            (
                "https://example.com:8443/hook/canary?token=canary",
                Ok("https://example.com:8443/…"),
            ),
            (
                "HTTPS://Example.com/?token=canary",
                Ok("https://Example.com/…"),
            ),
            ("http://127.0.0.1:9/canary", Ok("http://127.0.0.1:9/…")),
            ("http://127.9.9.9", Ok("http://127.9.9.9")),
            ("http://[::1]:80/", Ok("http://[::1]:80")),
            ("http://LocalHost/", Ok("http://LocalHost")),
            ("http://example.com/canary", Err("found http, over which")),
            ("http://localhost.canary.example/", Err("found http")),
            ("http://0.0.0.0/canary", Err("found http")),
            ("http://2130706433/", Err("found http")),
            ("http://[::ffff:127.0.0.1]/", Err("found http")),
            ("http://127.0.0.1@canary.example/", Err("a user name")),
            ("https://user:canary@example.com/", Err("a user name")),
            ("https://canary.example/#part", Err("a fragment")),
            ("ftp://example.com/canary", Err("another scheme")),
            ("https://", Err("no address")),
            ("https:///canary", Err("found")),
            ("https://:443/canary", Err("without a host")),
            ("https://exa mple.com/canary", Err("no address")),
            ("https://example.com/ca\nnary", Err("no address")),
            ("/canary", Err("without a host")),
            ("canary", Err("found")),
            ("", Err("no address")),
        ] {
            let found = text.parse::<Endpoint>();
            match (&found, expected) {
                (Ok(found), Ok(shown)) => {
                    assert_eq!(found.to_string(), shown, "{text}");
                    assert_eq!(format!("{found:?}"), format!("Endpoint({shown})"));
                }
                (Err(error), Err(part)) => {
                    assert!(error.contains(part), "{text}: {error}");
                    assert!(!error.contains("canary"), "{text}: {error}");
                }
                _ => panic!("{text}: {found:?}"),
            }
        }
    }
}
