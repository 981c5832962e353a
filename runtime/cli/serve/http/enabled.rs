//! Serving at a port.

use std::env;
use std::net::SocketAddr;

use anyhow::Result;
use skillbundle_server::http::{self, Bound, Settings, Token};
use skillbundle_server::{Error, Options, Source};

use super::Http;
use crate::cli::output::info;

/// The environment variable that may hold the token.
const VARIABLE: &str = "SKILLBUNDLE_TOKEN";

/// Serves at the address until the process is asked to stop. Where that is goes
/// to stderr, whatever is logged: with port 0 nobody could know it otherwise.
pub(in super::super) fn serve(
    source: impl Source,
    options: Options,
    address: SocketAddr,
    http: &Http,
) -> Result<()> {
    let settings = Settings {
        address,
        hosts: http.allow_host.clone(),
        origins: http.allow_origin.clone(),
        token: token(http)?,
    };
    let bound = bind(source, options, settings, http)?;
    info(&format!("listening on http://{}/mcp", bound.address()));
    Ok(bound.run()?)
}

#[cfg(not(feature = "conformance-fixtures"))]
fn bind(
    source: impl Source,
    options: Options,
    settings: Settings,
    _: &Http,
) -> Result<Bound, Error> {
    http::bind(source, options, settings)
}

#[cfg(feature = "conformance-fixtures")]
fn bind(
    source: impl Source,
    options: Options,
    settings: Settings,
    asked: &Http,
) -> Result<Bound, Error> {
    if asked.conformance_fixtures {
        return http::bind_with_fixtures(source, options, settings);
    }
    http::bind(source, options, settings)
}

/// The token: the file that was named, or else what the environment holds.
fn token(http: &Http) -> Result<Option<Token>> {
    if let Some(file) = &http.token_file {
        return Ok(Some(Token::from_file(file)?));
    }
    let held = env::var_os(VARIABLE).filter(|value| !value.is_empty());
    let token = held.map(|value| Token::new(&value.to_string_lossy()));
    Ok(token.transpose()?)
}
