//! Serving at a port.

#[cfg(feature = "conformance-fixtures")]
#[path = "../../../../tests/conformance/fixtures.rs"]
mod fixtures;

use std::env;
use std::net::SocketAddr;

use anyhow::Result;
use skillbundle_server::http::{self, Settings, Token};
use skillbundle_server::{Options, Source};

use super::Http;
use crate::cli::output::note;

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
    let bound = http::bind(source, with_fixtures(options, http), settings)?;
    note(&format!("listening on http://{}/mcp", bound.address()));
    Ok(bound.run()?)
}

#[cfg(feature = "conformance-fixtures")]
fn with_fixtures(mut options: Options, http: &Http) -> Options {
    options.extra = http.conformance_fixtures.then_some(&fixtures::EXTRA);
    options
}

#[cfg(not(feature = "conformance-fixtures"))]
fn with_fixtures(options: Options, _: &Http) -> Options {
    options
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
