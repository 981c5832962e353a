//! Who may ask: which names a request may use for this server, which web
//! origins it may come from, and whether it shows the token. Checked before
//! anything else of a request is looked at, which is why it is not left to
//! rmcp: that would first have read the whole body.

use std::net::SocketAddr;

use hyper::Uri;
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderValue, ORIGIN};
use hyper::http::uri::Authority;

use super::{Settings, Token};
use crate::Error;

/// Who may ask.
pub(super) struct Guard {
    hosts: Vec<Name>,
    origins: Vec<String>,
    token: Option<Token>,
}

/// Why a request is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stranger {
    /// It does not say for whom it is.
    NoHost,
    /// It is for somebody else: a page may have had its own name lead here.
    Host,
    /// It comes from a web page that is not ours.
    Origin,
    /// It does not show the token.
    Token,
}

/// What a server is called.
#[derive(Debug, PartialEq, Eq)]
struct Name {
    host: String,
    /// Without one any port is meant.
    port: Option<u16>,
}

impl Guard {
    /// Lets in what the settings name, beside the loopback names of the bound
    /// port and the bound address.
    pub(super) fn new(settings: Settings, bound: SocketAddr) -> Result<Self, Error> {
        let port = bound.port();
        let own = ["localhost", "127.0.0.1", "[::1]"].map(|host| format!("{host}:{port}"));
        let mut origins: Vec<String> = own.iter().map(|name| format!("http://{name}")).collect();
        for origin in settings.origins {
            origins.push(normal_origin(&origin).ok_or(Error::Origin(origin))?);
        }
        let mut hosts: Vec<Name> = own.iter().filter_map(|name| Name::read(name)).collect();
        // Of no use where it is 0.0.0.0, and of no harm: it is not a name.
        hosts.extend(Name::read(&bound.to_string()));
        for host in settings.hosts {
            hosts.push(Name::read(&host).ok_or(Error::Host(host))?);
        }
        Ok(Self {
            hosts,
            origins,
            token: settings.token,
        })
    }

    /// Looks at a request's head.
    pub(super) fn admit(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Stranger> {
        self.check_host(uri, headers)?;
        if !headers
            .get_all(ORIGIN)
            .iter()
            .all(|origin| self.trusts(origin))
        {
            return Err(Stranger::Origin);
        }
        match &self.token {
            Some(token) if !token.is_shown_by(headers.get(AUTHORIZATION)) => Err(Stranger::Token),
            _ => Ok(()),
        }
    }

    /// A request line may name the server, too; then that is what counts for
    /// proxies, so both must be right.
    fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Stranger> {
        let line = uri.authority().map(Authority::as_str);
        let mut named = false;
        for value in headers.get_all(HOST) {
            named = true;
            if !value.to_str().is_ok_and(|name| self.answers_to(name)) {
                return Err(Stranger::Host);
            }
        }
        match line {
            Some(name) if !self.answers_to(name) => Err(Stranger::Host),
            None if !named => Err(Stranger::NoHost),
            _ => Ok(()),
        }
    }

    fn answers_to(&self, name: &str) -> bool {
        Name::read(name).is_some_and(|name| self.hosts.iter().any(|ours| ours.covers(&name)))
    }

    fn trusts(&self, origin: &HeaderValue) -> bool {
        origin
            .to_str()
            .ok()
            .and_then(normal_origin)
            .is_some_and(|origin| self.origins.contains(&origin))
    }
}

impl Name {
    fn read(text: &str) -> Option<Self> {
        let authority: Authority = text.parse().ok()?;
        let host = authority.host();
        // What stands before an `@` is no name, but looks like one.
        let plain = !text.contains('@') && !host.is_empty();
        let port = authority.port_u16();
        // A port that is none would otherwise pass for no port.
        let whole = port.is_some() || text.len() == host.len();
        (plain && whole).then(|| Self {
            host: host.to_ascii_lowercase(),
            port,
        })
    }

    /// Whether this allowed name means that one. Clients leave out the port
    /// that their scheme implies.
    fn covers(&self, other: &Self) -> bool {
        let port = match (self.port, other.port) {
            (None, _) => true,
            (Some(port), Some(other)) => port == other,
            (Some(port), None) => port == 80 || port == 443,
        };
        port && self.host == other.host
    }
}

/// An origin as browsers write it; nothing for what is none.
fn normal_origin(text: &str) -> Option<String> {
    let text = text.to_ascii_lowercase();
    if text == "null" {
        return Some(text);
    }
    let (scheme, name) = text.split_once("://")?;
    let name = Name::read(name)?;
    let implied = match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    };
    let host = name.host;
    Some(match name.port.filter(|port| Some(*port) != implied) {
        Some(port) => format!("{scheme}://{host}:{port}"),
        None => format!("{scheme}://{host}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(hosts: &[&str], origins: &[&str]) -> Guard {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let settings = Settings {
            address: ([127, 0, 0, 2], 8080).into(),
            hosts: owned(hosts),
            origins: owned(origins),
            token: None,
        };
        let bound = settings.address;
        Guard::new(settings, bound).unwrap()
    }

    #[test]
    fn a_server_answers_to_its_names() {
        let guard = guard(&["skills.example", "other.example:443"], &[]);
        for (name, ours) in [
            ("localhost:8080", true),
            ("LocalHost:8080", true),
            ("127.0.0.1:8080", true),
            ("[::1]:8080", true),
            ("127.0.0.2:8080", true),
            ("localhost", false),
            ("localhost:80", false),
            ("localhost:8081", false),
            ("localhost:99999", false),
            ("localhost:", false),
            ("localhost.evil.example:8080", false),
            ("127.0.0.3:8080", false),
            ("evil.example:8080", false),
            ("localhost:8080@evil.example", false),
            ("evil.example@localhost:8080", false),
            ("", false),
            (":8080", false),
            ("skills.example", true),
            ("skills.example:1234", true),
            ("other.example", true),
            ("other.example:443", true),
            ("other.example:444", false),
        ] {
            assert_eq!(guard.answers_to(name), ours, "{name}");
        }
    }

    #[test]
    fn an_origin_is_trusted_whole() {
        let guard = guard(
            &[],
            &["https://app.example", "https://odd.example:8443", "app://x"],
        );
        for (origin, trusted) in [
            ("http://localhost:8080", true),
            ("http://127.0.0.1:8080", true),
            ("http://[::1]:8080", true),
            ("http://localhost", false),
            ("https://localhost:8080", false),
            ("http://localhost:8081", false),
            ("https://app.example", true),
            ("https://app.example:443", true),
            ("HTTPS://APP.example", true),
            ("http://app.example", false),
            ("https://app.example:8443", false),
            ("https://app.example/page", false),
            ("https://odd.example:8443", true),
            ("https://odd.example", false),
            ("app://x", true),
            ("null", false),
            ("", false),
            ("app.example", false),
        ] {
            let value = HeaderValue::from_str(origin).unwrap();
            assert_eq!(guard.trusts(&value), trusted, "{origin}");
        }
    }
}
