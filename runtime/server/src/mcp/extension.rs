//! The skills extension (SEP-2640): `skills/list`, `skills/get` and `resources/directory/read`,
//! from JSON that was written when compiling.

use std::borrow::Cow;

use rmcp::model::{DIRECTORY_MIME_TYPE, Resource};
use serde::Deserialize;
use skillbundle_format::Child;
use skillbundle_format::hosts::{LISTED_SKILLS, LISTING_BYTES};

use super::resources::{self, Uri};
use super::results::{
    PageParams, PagedList, loaded, no_resource, unreadable, write_cacheable, write_cacheable_with,
};
use super::{Call, Skills};
use crate::jsonrpc::RpcError;

/// Bytes of the entries on a page: what surrounds the entries is part of the listing too.
const BYTES: usize = LISTING_BYTES - 4 * 1024;

/// Children of a directory on a page.
const CHILDREN: usize = 1000;

/// `skills/list`.
pub(crate) fn list(call: &Call<'_>, skills: &Skills, out: &mut Vec<u8>) -> Result<(), RpcError> {
    let params: PageParams = call.request.optional_params()?;
    let skills = loaded(skills)?;
    let listing = PagedList::new(skills, &["skills/list"]);
    let published = resources::published(skills)?;
    let page = published
        .page(listing.start(&params)?, LISTED_SKILLS, BYTES)
        .map_err(unreadable)?;
    let next = page.next.and_then(|next| listing.next(next, usize::MAX));
    write_cacheable_with(call, out, next, "skills", |out| {
        out.push(b'[');
        out.extend_from_slice(page.entries.as_bytes());
        out.push(b']');
        Ok(())
    })
}

/// `skills/get`.
pub(crate) fn get(call: &Call<'_>, skills: &Skills, out: &mut Vec<u8>) -> Result<(), RpcError> {
    let Uri { uri } = call.request.params()?;
    let entry = resources::published(loaded(skills)?)?
        .entry(&uri)
        .map_err(unreadable)?
        .ok_or_else(|| no_resource(&uri, "skills/list shows all skills"))?;
    write_cacheable_with(call, out, None, "skill", |out| {
        out.extend_from_slice(entry.as_bytes());
        Ok(())
    })
}

/// `resources/directory/read`.
pub(crate) fn directory(
    call: &Call<'_>,
    skills: &Skills,
    out: &mut Vec<u8>,
) -> Result<(), RpcError> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow)]
        uri: Cow<'a, str>,
        cursor: Option<String>,
    }
    let Params { uri, cursor } = call.request.params()?;
    let skills = loaded(skills)?;
    let listing = PagedList::new(skills, &["resources/directory/read", &uri]);
    let start = listing.start(&PageParams { cursor })?;
    let children = resources::published(skills)?
        .directory(&uri)
        .map_err(unreadable)?
        .ok_or_else(|| no_resource(&uri, "expected a directory of a skill"))?;
    let page: Vec<Resource> = children
        .iter()
        .skip(start)
        .take(CHILDREN)
        .map(child)
        .collect();
    let next = listing.next(start.saturating_add(CHILDREN), children.len());
    write_cacheable(call, out, next, "resources", &page)
}

fn child(child: &Child<'_>) -> Resource {
    match child {
        Child::File(file) => resources::described(file),
        Child::Directory { uri, name } => {
            Resource::new(*uri, name.as_ref()).with_mime_type(DIRECTORY_MIME_TYPE)
        }
    }
}
