//! A build that serves on stdin and stdout only.

use std::net::SocketAddr;

use anyhow::{Result, bail};
use skillbundle_server::{Options, Source};

use super::Http;

/// Says that it cannot be done, and what can.
pub(in super::super) fn serve(
    _: impl Source,
    _: Options,
    _: SocketAddr,
    http: &Http,
) -> Result<()> {
    let Http {
        at: _,
        token_file: _,
        allow_host: _,
        allow_origin: _,
    } = http;
    bail!(
        "this build serves on standard input and output only; for --http build it with the feature `http`"
    )
}
