//! The address of a server: what it says about TLS, and how it is shown without its password.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::error::JournalError;
use crate::postgres::tls::Verification;

/// Where a server is, and how much its certificate has to prove.
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) verification: Verification,
    /// Host, port and database, for messages.
    pub(super) label: String,
    /// Texts that no message may hold.
    secrets: Vec<String>,
}

impl Address {
    /// Reads `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=…&sslrootcert=…`. `sslmode` means
    /// what it means to libpq: `disable`, `prefer` (the default), `require`, `verify-ca`,
    /// `verify-full`. The fourth is treated as the fifth, and so is `require` if `sslrootcert` is
    /// given.
    ///
    /// # Errors
    ///
    /// It is no such address. The error does not quote it, since it may hold a password.
    pub(super) fn parse(url: &str) -> Result<Self, JournalError> {
        let is_url = ["postgres://", "postgresql://"]
            .iter()
            .any(|scheme| url.starts_with(scheme));
        if !is_url {
            return Err(invalid("it does not begin with postgres://"));
        }
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let mut others = Vec::new();
        let mut ssl_mode = SslMode::Prefer;
        let mut verifies = false;
        let mut root_certificate = None;
        for parameter in query.split('&').filter(|it| !it.is_empty()) {
            match parameter.split_once('=') {
                Some(("sslmode", mode)) => {
                    (ssl_mode, verifies) = match mode {
                        "disable" => (SslMode::Disable, false),
                        "prefer" | "allow" => (SslMode::Prefer, false),
                        "require" => (SslMode::Require, false),
                        "verify-ca" | "verify-full" => (SslMode::Require, true),
                        _ => {
                            return Err(invalid(
                                "expected sslmode disable, prefer, require, verify-ca or verify-full",
                            ));
                        }
                    };
                }
                Some(("sslrootcert", path)) => {
                    root_certificate = Some(PathBuf::from(percent_decoded(path)));
                }
                _ => others.push(parameter),
            }
        }
        let rest = format!("{base}?{}", others.join("&"));
        // The library's own message may quote what it could not read.
        let mut config: Config = rest
            .parse()
            .map_err(|_| invalid("it has a part or a parameter that is not known"))?;
        config.ssl_mode(ssl_mode);
        if config.get_application_name().is_none() {
            config.application_name("skillbundle");
        }
        let verification = match (verifies, ssl_mode, root_certificate) {
            (true, _, root) | (false, SslMode::Require, root @ Some(_)) => Verification::Full(root),
            _ => Verification::None,
        };
        Ok(Self {
            label: label(&config),
            secrets: secrets(&config, base),
            verification,
            config,
        })
    }

    /// The error as one about this server, without the password.
    pub(super) fn fault(&self, error: &dyn std::error::Error) -> JournalError {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let cause_text = cause.to_string();
            if !message.contains(&cause_text) {
                message = format!("{message}: {cause_text}");
            }
            source = cause.source();
        }
        for secret in &self.secrets {
            message = message.replace(secret, "***");
        }
        JournalError::storage(Path::new(&self.label), &message)
    }
}

fn invalid(problem: &str) -> JournalError {
    JournalError::storage(
        Path::new("address of the PostgreSQL server"),
        &format!("{problem}; write postgres://USER@HOST/DATABASE"),
    )
}

fn label(config: &Config) -> String {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        #[cfg(unix)]
        Some(Host::Unix(path)) => path.display().to_string(),
        None => "localhost".to_owned(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let database = config
        .get_dbname()
        .or(config.get_user())
        .unwrap_or_default();
    format!("postgres://{host}:{port}/{database}")
}

/// The password as it is, and as it is written in the address.
fn secrets(config: &Config, base: &str) -> Vec<String> {
    let password = config.get_password().map(String::from_utf8_lossy);
    let authority = base.split_once("://").map_or("", |(_, rest)| rest);
    let user_info = authority.rsplit_once('@').map_or("", |(info, _)| info);
    let written = user_info.split_once(':').map(|(_, it)| it.to_owned());
    let secrets = password.map(Cow::into_owned).into_iter().chain(written);
    secrets.filter(|it| !it.is_empty()).collect()
}

/// `%2F` and the like as the bytes that they stand for.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = (*first == b'%').then(|| after.get(..2)).flatten();
        let hex = hex.and_then(|it| std::str::from_utf8(it).ok());
        let byte = hex.and_then(|it| u8::from_str_radix(it, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_where_and_how_much_to_trust() {
        let root = || Some(PathBuf::from("/etc/my ca.pem"));
        for (url, label, ssl_mode, verification) in [
            (
                "postgres://me:secret@db.example.org/journal",
                "postgres://db.example.org:5432/journal",
                SslMode::Prefer,
                Verification::None,
            ),
            (
                "postgresql://me@[::1]:7000/j?sslmode=disable",
                "postgres://::1:7000/j",
                SslMode::Disable,
                Verification::None,
            ),
            (
                "postgres://h/j?sslmode=require&connect_timeout=3",
                "postgres://h:5432/j",
                SslMode::Require,
                Verification::None,
            ),
            (
                "postgres://h/j?sslmode=require&sslrootcert=/etc/my%20ca.pem",
                "postgres://h:5432/j",
                SslMode::Require,
                Verification::Full(root()),
            ),
            (
                "postgres://h/j?sslmode=verify-ca",
                "postgres://h:5432/j",
                SslMode::Require,
                Verification::Full(None),
            ),
            (
                "postgres://h/j?sslrootcert=/etc/my%20ca.pem&sslmode=verify-full",
                "postgres://h:5432/j",
                SslMode::Require,
                Verification::Full(root()),
            ),
            (
                "postgres://me@%2Frun%2Fpostgresql/j",
                "postgres:///run/postgresql:5432/j",
                SslMode::Prefer,
                Verification::None,
            ),
        ] {
            let address = Address::parse(url).unwrap();
            let found = (address.label.as_str(), address.config.get_ssl_mode());
            assert_eq!(found, (label, ssl_mode), "{url}");
            assert_eq!(address.verification, verification, "{url}");
        }
    }

    #[test]
    fn no_message_holds_the_password() {
        for url in [
            "postgres://me:hunter2@h/j?sslmode=hunter2",
            "postgres://me:hunter2@h/j?hunter2=hunter2",
            "postgres://me:hunter2@h:hunter2/j",
            "host=h user=me password=hunter2",
            "hunter2",
        ] {
            let error = Address::parse(url).err().expect("no address");
            assert!(!error.to_string().contains("hunter2"), "{error}");
            assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
        }
        for url in [
            "postgres://me:hunter%32@h/j",
            "postgres://h/j?user=me&password=hunter2",
        ] {
            let address = Address::parse(url).unwrap();
            let echo = std::io::Error::other("not hunter2");
            let error = address.fault(&echo).to_string();
            assert_eq!(error, "postgres://h:5432/j: not ***", "{url}");
        }
    }
}
