//! What a person types to name a repository: `URL[#BRANCH][:DIRECTORY]`. Whatever is accepted here is
//! safe to hand to git as an argument: it is no option, names no helper program, and holds no
//! password.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Longest name of a branch, in bytes.
const MAX_REFERENCE: usize = 200;

/// Longest URL, in bytes.
const MAX_URL: usize = 2048;

/// The directory of the skills if the location names none and the repository has it (spec 3 §3.1).
pub(crate) const USUAL_DIRECTORY: &str = "skills";

/// A repository, what to take of it, and which of its directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    pub(crate) url: String,
    pub(crate) protocol: Protocol,
    /// Host and port in lower case; empty for files.
    pub(crate) host: String,
    pub(crate) reference: Reference,
    /// `None` is `skills` if there is such a directory, or else all of it.
    pub(crate) directory: Option<String>,
}

/// How git reaches a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// Over TLS.
    Https,
    /// Without encryption: anyone on the network path can change the skills.
    Http,
    /// Over SSH, also for `user@host:path`.
    Ssh,
    /// A directory of this machine.
    File,
}

/// Which commit of a repository is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reference {
    /// The latest of this branch or, if there is none, of the repository's own (`HEAD`).
    Preferred(String),
    /// The latest of this branch, or the one of this tag.
    Named(String),
    /// This one, by its full hash.
    Commit(String),
}

/// Why a text names no repository. The text is not quoted where it may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LocationError {
    /// It is none of the forms.
    #[error(
        "expected URL[#BRANCH][:DIRECTORY], such as https://github.com/org/repo.git#main:skills"
    )]
    Form,
    /// It holds a user or a password.
    #[error("the URL holds a user name or a password, which others could read there")]
    Credentials,
    /// It has parameters, which may be secrets.
    #[error("the URL has parameters (`?`), which no repository needs")]
    Parameters,
    /// The host is none.
    #[error("`{0}` is no host")]
    Host(String),
    /// The scheme is unknown.
    #[error("`{0}` is no scheme for repositories; expected https, ssh, http or file")]
    Scheme(String),
    /// The branch cannot be one.
    #[error(
        "`{0}` is no branch, tag or full hash of a commit: letters, digits, `.`, `_`, `/` and `-` are allowed"
    )]
    Reference(String),
    /// The directory leaves the repository.
    #[error("`{0}` is no directory inside of a repository")]
    Directory(String),
}

impl Protocol {
    /// All there are.
    pub const ALL: [Self; 4] = [Self::Https, Self::Http, Self::Ssh, Self::File];

    /// Its name, as git has it too.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Http => "http",
            Self::Ssh => "ssh",
            Self::File => "file",
        }
    }
}

impl FromStr for Protocol {
    type Err = LocationError;

    fn from_str(word: &str) -> Result<Self, LocationError> {
        let found = Self::ALL.into_iter().find(|it| it.as_str() == word);
        found.ok_or_else(|| LocationError::Scheme(word.to_owned()))
    }
}

impl Location {
    /// Reads `URL[#BRANCH][:DIRECTORY]`. Without a branch it is `usual_branch`, or else what the
    /// repository itself has as `HEAD`. The directory follows the branch, or a URL that ends in
    /// `.git`. An absolute path is a repository of this machine.
    pub fn parse(text: &str, usual_branch: &str) -> Result<Self, LocationError> {
        let (url, reference, directory) = match text.split_once('#') {
            Some((url, rest)) => match rest.split_once(':') {
                Some((reference, directory)) => (url, reference, Some(directory)),
                None => (url, rest, None),
            },
            None => match text.split_once(".git:") {
                Some((url, directory)) => (&text[..url.len() + ".git".len()], "", Some(directory)),
                None => (text, "", None),
            },
        };
        let reference = match reference {
            "" => Reference::Preferred(branch(usual_branch)?),
            hash if is_hash(hash) => Reference::Commit(hash.to_ascii_lowercase()),
            name => Reference::Named(branch(name)?),
        };
        let directory = directory.map(subdirectory).transpose()?;
        let (url, protocol, host) = url_parts(url)?;
        Ok(Self {
            url,
            protocol,
            host,
            reference,
            directory: directory.filter(|it| !it.is_empty()),
        })
    }

    /// The URL, for people and logs. It holds no password.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// How git reaches it.
    pub const fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// The host and, if there is one, the port, such as `github.com`; empty for files.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The name of the repository: the last part of the URL without `.git`.
    pub fn name(&self) -> &str {
        let path = self.url.trim_end_matches('/');
        let name = path.rsplit(['/', ':']).next().unwrap_or(path);
        name.strip_suffix(".git").unwrap_or(name)
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)?;
        let reference = match &self.reference {
            Reference::Preferred(_) => "",
            Reference::Named(name) | Reference::Commit(name) => name,
        };
        if !reference.is_empty() || self.directory.is_some() {
            write!(f, "#{reference}")?;
        }
        match &self.directory {
            Some(directory) => write!(f, ":{directory}"),
            None => Ok(()),
        }
    }
}

/// The URL as git gets it, its protocol and its host.
fn url_parts(url: &str) -> Result<(String, Protocol, String), LocationError> {
    let is_plain = |it: char| !it.is_control() && !it.is_whitespace();
    if url.is_empty() || url.len() > MAX_URL || url.starts_with('-') || !url.chars().all(is_plain) {
        return Err(LocationError::Form);
    }
    if Path::new(url).is_absolute() {
        return Ok((format!("file://{url}"), Protocol::File, String::new()));
    }
    let Some((scheme, rest)) = url.split_once("://") else {
        return scp_like(url);
    };
    let protocol: Protocol = scheme.to_ascii_lowercase().parse()?;
    if rest.contains('?') {
        return Err(LocationError::Parameters);
    }
    let (authority, path) = rest.split_once('/').ok_or(LocationError::Form)?;
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    // A user of ssh is no secret.
    let is_allowed = |user: &str| protocol == Protocol::Ssh && is_word(user);
    if user.is_some_and(|user| !is_allowed(user)) {
        return Err(LocationError::Credentials);
    }
    if path.is_empty() || (protocol == Protocol::File) != host.is_empty() {
        return Err(LocationError::Form);
    }
    if protocol != Protocol::File && !is_host(host) {
        return Err(LocationError::Host(host.to_owned()));
    }
    let url = format!("{}://{rest}", protocol.as_str());
    Ok((url, protocol, host.to_ascii_lowercase()))
}

/// `user@host:path`, as git and ssh have it.
fn scp_like(url: &str) -> Result<(String, Protocol, String), LocationError> {
    let (authority, path) = url.split_once(':').ok_or(LocationError::Form)?;
    let (user, host) = authority.split_once('@').unwrap_or(("git", authority));
    // `ext::sh -c …` names a helper program.
    if path.is_empty() || path.starts_with([':', '-']) || authority.contains('/') {
        return Err(LocationError::Form);
    }
    // As in `https:user:password@host/path` and `user:password@host/path`.
    if !is_word(user) || path.contains('@') {
        return Err(LocationError::Credentials);
    }
    if !is_host(host) || host.contains(':') {
        return Err(LocationError::Host(host.to_owned()));
    }
    Ok((url.to_owned(), Protocol::Ssh, host.to_ascii_lowercase()))
}

/// A name, an address, or an IPv6 address in brackets, with or without port.
fn is_host(host: &str) -> bool {
    let is_port = |port: &str| port.parse::<u16>().is_ok();
    if let Some(rest) = host.strip_prefix('[') {
        let Some((address, port)) = rest.split_once(']') else {
            return false;
        };
        let port = port.strip_prefix(':');
        return address.parse::<std::net::Ipv6Addr>().is_ok() && port.is_none_or(is_port);
    }
    let (name, port) = match host.split_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (host, None),
    };
    is_word(name) && port.is_none_or(is_port)
}

/// Letters, digits, `.`, `_` and `-`, and no option.
fn is_word(text: &str) -> bool {
    let is_allowed = |it: char| it.is_ascii_alphanumeric() || "._-".contains(it);
    !text.is_empty() && !text.starts_with('-') && text.chars().all(is_allowed)
}

/// Whether it is the full hash of a commit.
fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|it| it.is_ascii_hexdigit())
}

/// The name of a branch or tag (a part of what `git check-ref-format` allows).
fn branch(name: &str) -> Result<String, LocationError> {
    let is_part = |part: &str| {
        let name = Path::new(part);
        let is_lock = name.extension().is_some_and(|it| it == "lock");
        is_word(part) && !part.starts_with('.') && !part.ends_with('.') && !is_lock
    };
    let is_branch =
        name.len() <= MAX_REFERENCE && name.split('/').all(is_part) && !name.contains("..");
    let wrong = || LocationError::Reference(name.to_owned());
    is_branch.then(|| name.to_owned()).ok_or_else(wrong)
}

/// A path inside of a repository, without slashes at its ends.
fn subdirectory(typed: &str) -> Result<String, LocationError> {
    let path = typed.trim_end_matches('/');
    let is_part = |part: &str| {
        !matches!(part, "" | "." | "..")
            && !part.eq_ignore_ascii_case(".git")
            && !part.contains(['\\', ':'])
            && !part.chars().any(char::is_control)
    };
    let is_inside = path.is_empty() || path.split('/').all(is_part);
    let wrong = || LocationError::Directory(typed.to_owned());
    (is_inside && !typed.starts_with('/'))
        .then(|| path.to_owned())
        .ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_names_a_repository() {
        let named = |name: &str| Reference::Named(name.to_owned());
        let main = || Reference::Preferred("main".to_owned());
        let hash = "0123456789ABCDEF0123456789abcdef01234567";
        for (typed, url, protocol, host, reference, directory, name) in [
            (
                "https://github.com/org/repo.git",
                "https://github.com/org/repo.git",
                Protocol::Https,
                "github.com",
                main(),
                None,
                "repo",
            ),
            (
                "https://GitHub.com/org/repo",
                "https://GitHub.com/org/repo",
                Protocol::Https,
                "github.com",
                main(),
                None,
                "repo",
            ),
            (
                "https://h.example/r#dev",
                "https://h.example/r",
                Protocol::Https,
                "h.example",
                named("dev"),
                None,
                "r",
            ),
            (
                "https://h.example/r#feature/x-1:a/b/",
                "https://h.example/r",
                Protocol::Https,
                "h.example",
                named("feature/x-1"),
                Some("a/b"),
                "r",
            ),
            (
                "https://h.example/r#:skills",
                "https://h.example/r",
                Protocol::Https,
                "h.example",
                main(),
                Some("skills"),
                "r",
            ),
            (
                "https://h.example:8443/r.git:skills",
                "https://h.example:8443/r.git",
                Protocol::Https,
                "h.example:8443",
                main(),
                Some("skills"),
                "r",
            ),
            (
                "git@h.example:org/r.git:x",
                "git@h.example:org/r.git",
                Protocol::Ssh,
                "h.example",
                main(),
                Some("x"),
                "r",
            ),
            (
                "ssh://git@[::1]:22/r",
                "ssh://git@[::1]:22/r",
                Protocol::Ssh,
                "[::1]:22",
                main(),
                None,
                "r",
            ),
            (
                "file:///srv/r.git#v1.2",
                "file:///srv/r.git",
                Protocol::File,
                "",
                named("v1.2"),
                None,
                "r",
            ),
            (
                "/srv/r/",
                "file:///srv/r/",
                Protocol::File,
                "",
                main(),
                None,
                "r",
            ),
        ] {
            let found = Location::parse(typed, "main").unwrap();
            let expected = Location {
                url: url.to_owned(),
                protocol,
                host: host.to_owned(),
                reference,
                directory: directory.map(str::to_owned),
            };
            assert_eq!(found, expected, "{typed}");
            assert_eq!(found.name(), name, "{typed}");
            assert_eq!(
                Location::parse(&found.to_string(), "main"),
                Ok(found),
                "{typed}"
            );
        }
        let pinned = Location::parse(&format!("/r#{hash}"), "main").unwrap();
        assert_eq!(pinned.reference, Reference::Commit(hash.to_lowercase()));
    }

    #[test]
    fn what_git_could_take_for_something_else_is_refused() {
        use LocationError as E;
        let host = |it: &str| E::Host(it.to_owned());
        let scheme = |it: &str| E::Scheme(it.to_owned());
        let reference = |it: &str| E::Reference(it.to_owned());
        let directory = |it: &str| E::Directory(it.to_owned());
        for (typed, expected) in [
            ("", E::Form),
            ("skills", E::Form),
            ("--upload-pack=touch x", E::Form),
            ("-u", E::Form),
            ("ext::sh -c touch", E::Form),
            ("ext::sh", E::Form),
            ("fd::17", E::Form),
            ("ext://sh", scheme("ext")),
            ("git://h.example/r", scheme("git")),
            ("ftp://h.example/r", scheme("ftp")),
            ("https://me:secret@h.example/r", E::Credentials),
            ("https://secret@h.example/r", E::Credentials),
            ("ssh://me:secret@h.example/r", E::Credentials),
            ("https:/me:secret@h.example/r", E::Credentials),
            ("https:me:secret@h.example/r", E::Credentials),
            ("me:secret@h.example/r", E::Credentials),
            ("ssh://-oProxyCommand=x@h.example/r", E::Credentials),
            ("https://h.example/r?token=secret", E::Parameters),
            ("https://-h/r", host("-h")),
            ("ssh://-oProxyCommand=touch/r", host("-oProxyCommand=touch")),
            ("-oProxyCommand=touch:r", E::Form),
            ("git@-oProxyCommand=touch:r", host("-oProxyCommand=touch")),
            ("git@h.example:-oProxyCommand", E::Form),
            ("https://h.example:port/r", host("h.example:port")),
            ("https:///r", E::Form),
            ("https://h.example", E::Form),
            ("https://h.example/", E::Form),
            ("file://h.example/r", E::Form),
            ("https://h.example/r\n", E::Form),
            ("https://h.example/r\0", E::Form),
            ("https://h.example/a b", E::Form),
            ("/r#--upload-pack=x", reference("--upload-pack=x")),
            ("/r#a..b", reference("a..b")),
            ("/r#a//b", reference("a//b")),
            ("/r#a/", reference("a/")),
            ("/r#.a", reference(".a")),
            ("/r#a.lock", reference("a.lock")),
            ("/r#a.", reference("a.")),
            ("/r#a b", reference("a b")),
            ("/r#a@{1}", reference("a@{1}")),
            ("/r#a^", reference("a^")),
            ("/r#main:../x", directory("../x")),
            ("/r#main:/etc", directory("/etc")),
            ("/r#main:a/./b", directory("a/./b")),
            ("/r#main:.Git/hooks", directory(".Git/hooks")),
            ("/r#main:a\\b", directory("a\\b")),
            ("/r#main:a:b", directory("a:b")),
            ("/r#main:a\nb", directory("a\nb")),
        ] {
            assert_eq!(Location::parse(typed, "main"), Err(expected), "{typed}");
        }
    }
}
