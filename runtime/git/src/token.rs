//! The token for a repository: it goes to git in the environment alone, for one host, and never into
//! a URL, an argument, a file or a message.

use std::fmt::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::location::{Location, Protocol};

/// The user that GitHub expects with a token (spec 3 §9.2). Other hosts take any.
const USER: &str = "x-access-token";

/// Stands for a secret in messages.
const REDACTED: &str = "[redacted]";

/// A token, and the hosts that may have it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    secret: String,
    hosts: Vec<String>,
}

impl Token {
    /// A token for these hosts, such as `github.com` or `git.example:8443`. `None` if it is empty or
    /// cannot be part of a header.
    pub fn new(secret: &str, hosts: impl IntoIterator<Item = String>) -> Option<Self> {
        let secret = secret.trim();
        let is_token = !secret.is_empty() && secret.chars().all(|it| it.is_ascii_graphic());
        is_token.then(|| Self {
            secret: secret.to_owned(),
            hosts: hosts.into_iter().map(|it| it.to_lowercase()).collect(),
        })
    }

    /// Whether the host of a repository may have it: one of its own, over TLS or inside of this
    /// machine.
    pub fn is_for(&self, location: &Location) -> bool {
        let host = location.host();
        let is_private = match location.protocol() {
            Protocol::Https => true,
            Protocol::Http => is_loopback(host),
            Protocol::Ssh | Protocol::File => false,
        };
        is_private && self.hosts.iter().any(|it| it == host)
    }

    /// The key and the value of git's configuration that send it to that host alone.
    pub(crate) fn header_for(&self, location: &Location) -> Option<(String, String)> {
        self.is_for(location).then(|| {
            let key = format!(
                "http.{}://{}/.extraHeader",
                location.protocol().as_str(),
                location.host()
            );
            (key, format!("Authorization: Basic {}", self.encoded()))
        })
    }

    /// The text without the token, however it is written in it.
    pub(crate) fn redact(&self, text: &str) -> String {
        let encoded = self.encoded();
        // Who repeats it may leave the padding out.
        let unpadded = encoded.trim_end_matches('=');
        let spellings =
            [&encoded, unpadded, &self.secret].map(|it| [it.to_owned(), percent_encoded(it)]);
        let redact = |text: String, spelling: &String| text.replace(spelling, REDACTED);
        spellings.iter().flatten().fold(text.to_owned(), redact)
    }

    fn encoded(&self) -> String {
        STANDARD.encode(format!("{USER}:{}", self.secret))
    }
}

/// As a part of a URL (RFC 3986 §2.1).
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::new();
    for it in text.chars() {
        if it.is_ascii_alphanumeric() || "-._~".contains(it) {
            encoded.push(it);
        } else {
            // Graphic characters of ASCII only. A string takes it always.
            let _ = write!(encoded, "%{:02X}", u32::from(it));
        }
    }
    encoded
}

/// The secret is not shown.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("secret", &REDACTED)
            .field("hosts", &self.hosts)
            .finish()
    }
}

/// Whether a host, with or without port, is this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => host.split(':').next(),
    };
    let name = name.unwrap_or_default();
    let address = name.parse::<std::net::IpAddr>();
    name == "localhost" || address.is_ok_and(|it| it.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> Token {
        Token::new(
            " canary \n",
            ["GitHub.com".to_owned(), "127.0.0.1:80".to_owned()],
        )
        .unwrap()
    }

    #[test]
    fn only_its_hosts_get_it_and_nobody_between() {
        for (location, expected) in [
            ("https://github.com/org/repo", true),
            ("https://GITHUB.com/org/repo", true),
            ("http://github.com/org/repo", false),
            ("http://127.0.0.1:80/repo", true),
            ("https://github.com:8443/org/repo", false),
            ("https://github.com.example/org/repo", false),
            ("https://api.github.com/org/repo", false),
            ("git@github.com:org/repo", false),
            ("/srv/github.com", false),
        ] {
            let location = Location::parse(location, "main").unwrap();
            assert_eq!(token().is_for(&location), expected, "{location}");
            assert_eq!(token().header_for(&location).is_some(), expected);
        }
    }

    #[test]
    fn it_is_shown_nowhere() {
        let encoded = STANDARD.encode("x-access-token:canary");
        let text = format!("canary in https://x:canary@h, Basic {encoded}");
        let redacted = token().redact(&text);
        assert_eq!(
            redacted,
            "[redacted] in https://x:[redacted]@h, Basic [redacted]"
        );
        let odd = Token::new("a/b+c?", []).unwrap();
        let encoded = odd.encoded();
        for text in [
            "a%2Fb%2Bc%3F".to_owned(),
            encoded.trim_end_matches('=').to_owned(),
            percent_encoded(&encoded),
        ] {
            let redacted = odd.redact(&text);
            assert_eq!(redacted, REDACTED, "{text}");
        }
        assert!(!format!("{:?}", token()).contains("canary"));
    }

    #[test]
    fn what_cannot_be_in_a_header_is_no_token() {
        for text in ["", " \n", "a b", "a\nX: y", "ä"] {
            assert_eq!(Token::new(text, []), None, "{text:?}");
        }
    }
}
