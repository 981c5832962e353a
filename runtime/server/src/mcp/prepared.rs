//! Results written from pieces of the archive: what the compiler wrote as JSON
//! goes out as it stands, and no tree is built of it again. Each writer gives
//! nothing where there is no result; whoever is asked next says why.
//!
//! The members stand in the order in which rmcp writes them, so that a client
//! cannot tell who answered.

use rmcp::model::PaginatedRequestParams;
use serde::Serialize;

use super::listing::Caching;
use super::resources::Content;
use super::{extension, resources};
use crate::library::Generation;

/// What stands before the items of a result.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Head {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    #[serde(flatten)]
    caching: Caching,
}

impl Head {
    /// Of a result that may be kept so long; clients that are not told that
    /// know no kinds of results either.
    pub(crate) fn new(caching: Caching, next_cursor: Option<String>) -> Self {
        Self {
            result_type: caching.ttl_ms.map(|_| "complete"),
            next_cursor,
            caching,
        }
    }

    /// Adds a result whose last member is `name`, with the value that `write` adds.
    pub(crate) fn write(
        &self,
        into: &mut Vec<u8>,
        name: &str,
        write: impl FnOnce(&mut Vec<u8>) -> Option<()>,
    ) -> Option<()> {
        serde_json::to_writer(&mut *into, self).ok()?;
        // In the place of the closing brace.
        into.pop();
        if into.last() != Some(&b'{') {
            into.push(b',');
        }
        serde_json::to_writer(&mut *into, name).ok()?;
        into.push(b':');
        write(into)?;
        into.push(b'}');
        Some(())
    }
}

/// `skills/list`.
pub(crate) fn skills(
    generation: &Generation,
    params: Option<PaginatedRequestParams>,
    caching: Caching,
    into: &mut Vec<u8>,
) -> Option<()> {
    let (entries, next) = extension::page(generation, params).ok()?;
    Head::new(caching, next).write(into, "skills", |into| {
        into.push(b'[');
        into.extend_from_slice(entries.as_bytes());
        into.push(b']');
        Some(())
    })
}

/// `skills/get`.
pub(crate) fn skill(
    generation: &Generation,
    uri: &str,
    caching: Caching,
    into: &mut Vec<u8>,
) -> Option<()> {
    let published = resources::published(generation).ok()?;
    let entry = published.entry(uri).ok()??;
    Head::new(caching, None).write(into, "skill", |into| {
        into.extend_from_slice(entry.as_bytes());
        Some(())
    })
}

/// `resources/read`.
pub(crate) fn contents(
    generation: &Generation,
    uri: &str,
    caching: Caching,
    into: &mut Vec<u8>,
) -> Option<()> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Contents<'a> {
        uri: &'a str,
        mime_type: &'a str,
        #[serde(flatten)]
        content: Content<'a>,
    }
    let published = resources::published(generation).ok()?;
    let file = published.resource(uri).ok()??;
    let bytes = file.bytes().ok()?;
    let contents = Contents {
        uri,
        mime_type: file.mime,
        content: Content::of(&file, &bytes),
    };
    Head::new(caching, None).write(into, "contents", |into| {
        serde_json::to_writer(into, &[contents]).ok()
    })
}
