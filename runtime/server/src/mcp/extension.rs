//! The skills extension (SEP-2640): `skills/list`, `skills/get` and
//! `resources/directory/read`, from what was written when compiling.

use rmcp::ErrorData;
use rmcp::model::{
    DIRECTORY_MIME_TYPE, GetSkillRequestParams, GetSkillResult, ListSkillsResult,
    PaginatedRequestParams, ReadResourceDirectoryRequestParams, ReadResourceDirectoryResult,
    Resource,
};
use skillbundle_format::Child;

use super::listing::{Caching, Listing, no_resource, unreadable};
use super::resources;
use crate::library::Generation;

/// Skills on a page. Claude Code takes no more than this from a server.
pub(crate) const MOST: usize = 100;

/// Bytes of the entries on a page. Claude Code reads the first 512 KiB of a
/// listing; what surrounds the entries needs some of it.
pub(crate) const BYTES: usize = 508 * 1024;

/// Children of a directory on a page.
const CHILDREN: usize = 1000;

/// `skills/list`.
pub(crate) fn list(
    generation: &Generation,
    params: Option<PaginatedRequestParams>,
    caching: Caching,
) -> Result<ListSkillsResult, ErrorData> {
    let (entries, next) = page(generation, params)?;
    let skills = serde_json::from_str(&format!("[{entries}]")).map_err(unreadable)?;
    let mut result = ListSkillsResult::with_all_items(skills);
    result.next_cursor = next;
    (result.ttl_ms, result.cache_scope) = (caching.ttl_ms, caching.scope);
    Ok(result)
}

/// The entries of a page as JSON, with commas between them, and the next cursor.
pub(crate) fn page(
    generation: &Generation,
    params: Option<PaginatedRequestParams>,
) -> Result<(&str, Option<String>), ErrorData> {
    let listing = Listing::new(generation, &["skills/list"]);
    let published = resources::published(generation)?;
    let page = published
        .page(listing.start(params)?, MOST, BYTES)
        .map_err(unreadable)?;
    Ok((page.entries, page.next.map(|next| listing.cursor(next))))
}

/// `skills/get`.
pub(crate) fn get(
    generation: &Generation,
    params: &GetSkillRequestParams,
    caching: Caching,
) -> Result<GetSkillResult, ErrorData> {
    let entry = resources::published(generation)?
        .entry(&params.uri)
        .map_err(unreadable)?
        .ok_or_else(|| no_resource(&params.uri, "skills/list shows the skills there are"))?;
    let mut result = GetSkillResult::new(serde_json::from_str(entry).map_err(unreadable)?);
    (result.ttl_ms, result.cache_scope) = (caching.ttl_ms, caching.scope);
    Ok(result)
}

/// `resources/directory/read`.
pub(crate) fn directory(
    generation: &Generation,
    params: ReadResourceDirectoryRequestParams,
    caching: Caching,
) -> Result<ReadResourceDirectoryResult, ErrorData> {
    let uri = params.uri;
    let listing = Listing::new(generation, &["resources/directory/read", &uri]);
    let start = listing.start(Some(
        PaginatedRequestParams::default().with_cursor(params.cursor),
    ))?;
    let children = resources::published(generation)?
        .directory(&uri)
        .map_err(unreadable)?
        .ok_or_else(|| no_resource(&uri, "a directory of a skill was expected"))?;
    let children = children.iter().map(child).collect();
    let (children, next) = listing.page(children, start, CHILDREN);
    let mut result = ReadResourceDirectoryResult::with_all_items(children);
    result.next_cursor = next;
    (result.ttl_ms, result.cache_scope) = (caching.ttl_ms, caching.scope);
    Ok(result)
}

fn child(child: &Child<'_>) -> Resource {
    match child {
        Child::File(file) => resources::described(file),
        Child::Directory { uri, name } => {
            Resource::new(*uri, name.as_ref()).with_mime_type(DIRECTORY_MIME_TYPE)
        }
    }
}
