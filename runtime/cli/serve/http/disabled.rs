//! A build without HTTP.

use std::net::SocketAddr;

use anyhow::{Result, bail};
use skillbundle_server::{Options, Source};

use super::Http;

/// Fails, and says which build can do it.
pub(in super::super) fn serve(
    _: impl Source,
    _: Options,
    _: SocketAddr,
    http: &Http,
) -> Result<()> {
    let Http {
        at: _,
        token_file: _,
        agent_tokens: _,
        allow_host: _,
        allow_origin: _,
    } = http;
    bail!("this build has no HTTP; for --http, build it with `--features http`")
}
