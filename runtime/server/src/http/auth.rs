//! Who may use this server: the names that a request may call it by (against DNS rebinding), the web
//! origins that requests may come from, and the bearer token, which is never printed, not even in
//! part. Checked before the body of a request is read.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use hyper::Uri;
use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderValue, ORIGIN};
use hyper::http::uri::Authority;
use skillbundle_format::is_agent_name;
use subtle::ConstantTimeEq;

use super::Settings;
use crate::Error;

/// The names, origins and the token that requests are checked against.
pub(super) struct Auth {
    hosts: Vec<Name>,
    origins: Vec<String>,
    token: Option<Token>,
    agents: Vec<AgentToken>,
}

/// Why a request is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rejection {
    /// It does not name a server.
    NoHost,
    /// It names another server: a web page may have pointed its own name here.
    Host,
    /// It comes from a web page of an origin that is not allowed.
    Origin,
    /// It lacks the token, or has a wrong one.
    Token,
}

/// A host, with or without a port.
#[derive(Debug, PartialEq, Eq)]
struct Name {
    host: String,
    /// `None` means any port.
    port: Option<u16>,
}

impl Auth {
    /// Allows what the settings name, the loopback names with the bound port, and the bound
    /// address.
    pub(super) fn new(settings: Settings, bound: SocketAddr) -> Result<Self, Error> {
        let port = bound.port();
        let own = ["localhost", "127.0.0.1", "[::1]"].map(|host| format!("{host}:{port}"));
        let mut origins: Vec<String> = own.iter().map(|name| format!("http://{name}")).collect();
        for origin in settings.origins {
            origins.push(normal_origin(&origin).ok_or(Error::Origin(origin))?);
        }
        let mut hosts: Vec<Name> = own.iter().filter_map(|name| Name::read(name)).collect();
        // Useless if it is 0.0.0.0, but harmless: no client uses that as a name.
        hosts.extend(Name::read(&bound.to_string()));
        for host in settings.hosts {
            hosts.push(Name::read(&host).ok_or(Error::Host(host))?);
        }
        Ok(Self {
            hosts,
            origins,
            token: settings.token,
            agents: settings.agents,
        })
    }

    /// Checks the head of a request. Returns the agent that its token belongs to.
    pub(super) fn check(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Option<Arc<str>>, Rejection> {
        self.check_host(uri, headers)?;
        if !headers
            .get_all(ORIGIN)
            .iter()
            .all(|origin| self.trusts(origin))
        {
            return Err(Rejection::Origin);
        }
        self.check_token(headers.get(AUTHORIZATION))
    }

    /// Every token is compared, so that the time does not tell which one is nearly right.
    fn check_token(&self, given: Option<&HeaderValue>) -> Result<Option<Arc<str>>, Rejection> {
        let mut agent = None;
        for it in &self.agents {
            if it.token.matches(given) {
                agent = Some(Arc::clone(&it.agent));
            }
        }
        let is_shared = self.token.as_ref().is_some_and(|it| it.matches(given));
        let is_open = self.token.is_none() && self.agents.is_empty();
        if agent.is_some() || is_shared || is_open {
            Ok(agent)
        } else {
            Err(Rejection::Token)
        }
    }

    /// The request line may name the server, too. That is what counts for proxies, so both must be
    /// right.
    fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Rejection> {
        let line = uri.authority().map(Authority::as_str);
        let mut named = false;
        for value in headers.get_all(HOST) {
            named = true;
            if !value.to_str().is_ok_and(|name| self.answers_to(name)) {
                return Err(Rejection::Host);
            }
        }
        match line {
            Some(name) if !self.answers_to(name) => Err(Rejection::Host),
            None if !named => Err(Rejection::NoHost),
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
        // Text before an `@` is not a name, but looks like one.
        let plain = !text.contains('@') && !host.is_empty();
        let port = authority.port_u16();
        // An invalid port would otherwise pass for no port.
        let whole = port.is_some() || text.len() == host.len();
        (plain && whole).then(|| Self {
            host: host.to_ascii_lowercase(),
            port,
        })
    }

    /// Whether this allowed name covers that one. Clients leave out the port that their scheme
    /// implies.
    fn covers(&self, other: &Self) -> bool {
        let port = match (self.port, other.port) {
            (None, _) => true,
            (Some(port), Some(other)) => port == other,
            (Some(port), None) => port == 80 || port == 443,
        };
        port && self.host == other.host
    }
}

/// An origin as browsers write it. Returns `None` if the text is not one.
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

/// Minimum characters. 16 random ones cannot be guessed over a network.
const MIN_TOKEN: usize = 16;

/// Maximum bytes of a token file. A larger one is another file, named by mistake.
const MAX_TOKEN_FILE: u64 = 4096;

/// Maximum bytes of a file with the tokens of agents: some thousands.
const MAX_AGENTS_FILE: u64 = 1024 * 1024;

/// The token that requests must carry as `Authorization: Bearer …`.
pub struct Token(Box<[u8]>);

impl Token {
    /// Takes the token itself: 16 or more visible ASCII characters.
    pub fn new(text: &str) -> Result<Self, Error> {
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Error::Token(
                "expected visible ASCII characters without spaces in the token".to_owned(),
            ));
        }
        if text.len() < MIN_TOKEN {
            return Err(Error::Token(format!(
                "expected a token of {MIN_TOKEN} characters or more, found {}; \
                 `openssl rand -hex 32` makes a good one",
                text.len()
            )));
        }
        Ok(Self(text.as_bytes().into()))
    }

    /// Reads it from a file that belongs to the user of this process and that no one else may
    /// read. Spaces around it are ignored.
    pub fn from_file(path: &Path) -> Result<Self, Error> {
        let in_file =
            |error: &dyn fmt::Display| Error::Token(format!("{}: {error}", path.display()));
        let text = read_private(path, MAX_TOKEN_FILE)?;
        Self::new(text.trim()).map_err(|error| in_file(&error))
    }

    /// Whether the header carries it. Takes as long for a wrong token as for the right one of the
    /// same length.
    fn matches(&self, authorization: Option<&HeaderValue>) -> bool {
        authorization
            .and_then(|value| value.as_bytes().split_at_checked("Bearer ".len()))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"Bearer "))
            .is_some_and(|(_, given)| given.ct_eq(&self.0).into())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// The token of an agent.
#[derive(Debug)]
pub struct AgentToken {
    agent: Arc<str>,
    token: Token,
}

impl AgentToken {
    /// Reads the tokens of agents from a file that belongs to the user of this process and that no
    /// one else may read: an agent's name, a space and its token on each line. Empty lines and lines
    /// that begin with `#` are skipped. An agent may have several tokens; a token has one agent.
    pub fn all_from_file(path: &Path) -> Result<Vec<Self>, Error> {
        let text = read_private(path, MAX_AGENTS_FILE)?;
        let mut all: Vec<Self> = Vec::new();
        for (line, number) in text.lines().map(str::trim).zip(1..) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = |problem: String| {
                Error::Token(format!("{}, line {number}: {problem}", path.display()))
            };
            let parts = line.split_once(char::is_whitespace);
            let (agent, token) = parts.ok_or_else(|| {
                wrong("expected the name of an agent, a space and its token".to_owned())
            })?;
            if !is_agent_name(agent) {
                return Err(wrong(format!("{agent:?} cannot be the name of an agent")));
            }
            let token = Token::new(token.trim()).map_err(|error| wrong(error.to_string()))?;
            if all.iter().any(|it| it.token.0 == token.0) {
                return Err(wrong("another line has the same token".to_owned()));
            }
            all.push(Self {
                agent: agent.into(),
                token,
            });
        }
        if all.is_empty() {
            let problem = format!("{}: no line has an agent and its token", path.display());
            return Err(Error::Token(problem));
        }
        Ok(all)
    }
}

/// Reads a file that belongs to the user of this process and that no one else may read.
fn read_private(path: &Path, most: u64) -> Result<String, Error> {
    let in_file = |error: &dyn fmt::Display| Error::Token(format!("{}: {error}", path.display()));
    let file = File::open(path).map_err(|error| in_file(&error))?;
    // Of the open file: by now the name could lead elsewhere.
    let metadata = file.metadata().map_err(|error| in_file(&error))?;
    if let Err(reason) = check_private(&metadata) {
        return Err(in_file(&reason));
    }
    let mut text = String::new();
    file.take(most)
        .read_to_string(&mut text)
        .map_err(|error| in_file(&error))?;
    Ok(text)
}

#[cfg(unix)]
fn check_private(metadata: &std::fs::Metadata) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt;
    if metadata.mode() & 0o077 != 0 {
        return Err(format!(
            "expected mode 0600 or stricter, found {:04o}; others may have read the token: \
             make a new one and run chmod 600",
            metadata.mode() & 0o7777
        ));
    }
    let us = rustix::process::geteuid().as_raw();
    if metadata.uid() != us {
        return Err(format!(
            "expected a file of the user who runs the server (id {us}), found one of id {}; \
             fix it with chown",
            metadata.uid()
        ));
    }
    Ok(())
}

/// Other systems have no mode that says who may read a file.
#[cfg(not(unix))]
fn check_private(_: &std::fs::Metadata) -> Result<(), String> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auth(hosts: &[&str], origins: &[&str]) -> Auth {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let settings = Settings {
            address: ([127, 0, 0, 2], 8080).into(),
            hosts: owned(hosts),
            origins: owned(origins),
            token: None,
            agents: Vec::new(),
        };
        let bound = settings.address;
        Auth::new(settings, bound).unwrap()
    }

    #[test]
    fn a_server_answers_to_its_names() {
        let auth = auth(&["skills.example", "other.example:443"], &[]);
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
            assert_eq!(auth.answers_to(name), ours, "{name}");
        }
    }

    #[test]
    fn an_origin_is_trusted_whole() {
        let auth = auth(
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
            assert_eq!(auth.trusts(&value), trusted, "{origin}");
        }
    }
}
