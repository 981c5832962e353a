//! What all lists of the protocol have in common: pages with opaque cursors
//! that hold for one generation, and how long a client may keep an answer.

use rmcp::ErrorData;
use rmcp::model::{CacheScope, PaginatedRequestParams};
use serde::Serialize;

use super::cursor::Pages;
use super::reply::Refusal;
use crate::library::Generation;

/// How long, and for whom, a client may keep an answer. Clients before
/// 2026-07-28 were never told of it.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Caching {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ttl_ms: Option<u64>,
    #[serde(rename = "cacheScope", skip_serializing_if = "Option::is_none")]
    pub(crate) scope: Option<CacheScope>,
}

/// One list over one generation.
pub(crate) struct Listing(Pages);

impl Listing {
    /// The list that these words name: its method, and what it is of.
    pub(crate) fn new(generation: &Generation, parts: &[&str]) -> Self {
        Self(Pages::new(generation.content_address(), parts))
    }

    /// How many items come before the page that is asked for.
    pub(crate) fn start(&self, params: Option<PaginatedRequestParams>) -> Result<usize, ErrorData> {
        let Some(cursor) = params.and_then(|params| params.cursor) else {
            return Ok(0);
        };
        match self.0.skipped("cursor", &cursor) {
            Ok(skipped) => Ok(skipped as usize),
            Err(Refusal::StaleCursor) => Err(ErrorData::invalid_params(
                "stale cursor: the skills have changed since it was given; start again without one",
                None,
            )),
            Err(_) => Err(ErrorData::invalid_params(
                "unknown cursor: expected the nextCursor of this list as it was given",
                None,
            )),
        }
    }

    /// The cursor of the page behind the first `skip` items.
    pub(crate) fn cursor(&self, skip: usize) -> String {
        self.0.cursor(skip)
    }

    /// The page of `most` items that begins at `start`, and the next cursor.
    pub(crate) fn page<T>(
        &self,
        all: Vec<T>,
        start: usize,
        most: usize,
    ) -> (Vec<T>, Option<String>) {
        let end = start.saturating_add(most);
        let next = (end < all.len()).then(|| self.cursor(end));
        (all.into_iter().skip(start).take(most).collect(), next)
    }
}

/// The skills are damaged: nothing that the client did.
pub(crate) fn unreadable(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(format!("the skills cannot be read: {error}"), None)
}

/// There is nothing under this URI.
pub(crate) fn no_resource(uri: &str, hint: &str) -> ErrorData {
    ErrorData::invalid_params(
        format!(
            "resource not found: {}; {hint}",
            super::reply::shortened(uri)
        ),
        Some(serde_json::json!({ "uri": uri })),
    )
}
