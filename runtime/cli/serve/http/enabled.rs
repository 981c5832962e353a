//! Serving over HTTP.

#[cfg(feature = "conformance-fixtures")]
#[path = "../../../../tests/conformance/fixtures.rs"]
mod fixtures;

use std::env;
use std::net::SocketAddr;

use anyhow::Result;
use skillbundle_server::http::{self, AgentToken, Settings, Token};
use skillbundle_server::{Options, Source};

use super::Http;
use crate::cli::serve::log;

/// The environment variable that may hold the token.
const VARIABLE: &str = "SKILLBUNDLE_TOKEN";

/// Serves at the address until the process is asked to stop. Prints the address to stderr at any
/// log level: with port 0 it is known only then.
pub(in super::super) fn serve(
    source: impl Source,
    options: Options,
    address: SocketAddr,
    arguments: &Http,
) -> Result<()> {
    let settings = Settings {
        address,
        hosts: arguments.allow_host.clone(),
        origins: arguments.allow_origin.clone(),
        token: token(arguments)?,
        agents: match &arguments.agent_tokens {
            Some(file) => AgentToken::all_from_file(file)?,
            None => Vec::new(),
        },
    };
    let bound = http::bind(source, with_fixtures(options, arguments), settings)?;
    log::append(format!("listening on http://{}/mcp\n", bound.address()).as_bytes());
    Ok(bound.run()?)
}

#[cfg(feature = "conformance-fixtures")]
fn with_fixtures(mut options: Options, arguments: &Http) -> Options {
    options.extra = arguments.conformance_fixtures.then_some(&fixtures::EXTRA);
    options
}

#[cfg(not(feature = "conformance-fixtures"))]
fn with_fixtures(options: Options, _: &Http) -> Options {
    options
}

/// The token from the file that was named, else from the environment.
fn token(arguments: &Http) -> Result<Option<Token>> {
    if let Some(file) = &arguments.token_file {
        return Ok(Some(Token::from_file(file)?));
    }
    let value = env::var_os(VARIABLE).filter(|value| !value.is_empty());
    let token = value.map(|value| Token::new(&value.to_string_lossy()));
    Ok(token.transpose()?)
}
