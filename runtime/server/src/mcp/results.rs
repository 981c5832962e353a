//! What results have in common: how they are written, how long a client may keep them, and the
//! pages of lists with opaque cursors that hold for one generation.

use std::sync::Arc;

use rmcp::model::CacheScope;
use serde::{Deserialize, Serialize};

use super::cursor::Cursors;
use super::tool_result::ToolError;
use super::{Call, Era, Skills};
use crate::jsonrpc::RpcError;
use crate::source::Generation;

/// How long a client may keep what an embedded bundle answered. It cannot change while the process
/// lives; an hour bounds how old it is after an update.
const EMBEDDED_TTL_MS: u64 = 60 * 60 * 1000;

/// How long, and for whom, a client may keep a result. Clients before 2026-07-28 know no such
/// fields.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Caching {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ttl_ms: Option<u64>,
    #[serde(rename = "cacheScope", skip_serializing_if = "Option::is_none")]
    pub(crate) scope: Option<CacheScope>,
}

/// The parameter that all lists have.
#[derive(Default, Deserialize)]
pub(crate) struct PageParams {
    pub(crate) cursor: Option<String>,
}

/// The result of a method that has nothing to return.
#[derive(Serialize)]
pub(crate) struct Empty {}

/// One list over one generation.
pub(crate) struct PagedList(Cursors);

impl Caching {
    pub(crate) fn of(call: &Call<'_>) -> Self {
        if call.era == Era::Handshake {
            return Self::default();
        }
        let (ttl_ms, scope) = if call.server.refresher.can_change() {
            (0, CacheScope::Private)
        } else {
            (EMBEDDED_TTL_MS, CacheScope::Public)
        };
        Self {
            ttl_ms: Some(ttl_ms),
            scope: Some(scope),
        }
    }
}

/// Appends a result that is serialised as it is.
pub(crate) fn write(out: &mut Vec<u8>, result: &impl Serialize) -> Result<(), RpcError> {
    serde_json::to_writer(out, result).map_err(unreadable)
}

/// Appends a result that a client may keep, with one member of its own.
pub(crate) fn write_cacheable(
    call: &Call<'_>,
    out: &mut Vec<u8>,
    next_cursor: Option<String>,
    name: &str,
    value: &impl Serialize,
) -> Result<(), RpcError> {
    write_cacheable_with(call, out, next_cursor, name, |out| write(out, value))
}

/// The same with JSON that `value` appends: pieces that were written when compiling.
pub(crate) fn write_cacheable_with(
    call: &Call<'_>,
    out: &mut Vec<u8>,
    next_cursor: Option<String>,
    name: &str,
    value: impl FnOnce(&mut Vec<u8>) -> Result<(), RpcError>,
) -> Result<(), RpcError> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Head {
        #[serde(skip_serializing_if = "Option::is_none")]
        result_type: Option<&'static str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        next_cursor: Option<String>,
        #[serde(flatten)]
        caching: Caching,
    }
    let head = Head {
        result_type: (call.era == Era::Stateless).then_some("complete"),
        next_cursor,
        caching: Caching::of(call),
    };
    write(out, &head)?;
    // In place of the closing brace.
    out.pop();
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    write(out, &name)?;
    out.push(b':');
    value(out)?;
    out.push(b'}');
    Ok(())
}

impl PagedList {
    /// The list that these words name: its method, and what it is of.
    pub(crate) fn new(skills: &Generation, parts: &[&str]) -> Self {
        Self(Cursors::new(skills.content_address(), parts))
    }

    /// The number of items before the page that the cursor names.
    pub(crate) fn start(&self, page: &PageParams) -> Result<usize, RpcError> {
        let Some(cursor) = &page.cursor else {
            return Ok(0);
        };
        match self.0.skipped("cursor", cursor) {
            Ok(skipped) => Ok(skipped as usize),
            Err(ToolError::StaleCursor) => Err(RpcError::invalid_params(
                "stale cursor: the skills have changed since it was issued; start again without one",
                None,
            )),
            Err(_) => Err(RpcError::invalid_params(
                "unknown cursor: expected a nextCursor of this list, unchanged",
                None,
            )),
        }
    }

    /// The cursor of the page after the first `skip` items, if there are more than those.
    pub(crate) fn next(&self, skip: usize, total: usize) -> Option<String> {
        (skip < total).then(|| self.0.cursor(skip))
    }
}

/// The skills, or the error that there are none.
pub(crate) fn loaded(skills: &Skills) -> Result<&Arc<Generation>, RpcError> {
    skills
        .as_ref()
        .map_err(|not_loaded| unreadable(&not_loaded.0))
}

/// The skills are damaged: not the client's fault.
pub(crate) fn unreadable(error: impl std::fmt::Display) -> RpcError {
    RpcError::internal_error(format!("the skills cannot be read: {error:#}"), None)
}

/// Nothing has this URI.
pub(crate) fn no_resource(uri: &str, hint: &str) -> RpcError {
    RpcError::invalid_params(
        format!(
            "resource not found: {}; {hint}",
            super::tool_result::shortened(uri)
        ),
        Some(serde_json::json!({ "uri": uri })),
    )
}
