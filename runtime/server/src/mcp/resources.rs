//! `resources/list`, `resources/read`, `resources/templates/list`, and the
//! completion of their URIs: every file of every published skill, its bytes
//! never changed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::ErrorData;
use rmcp::model::Resource as Described;
use rmcp::model::{
    CompletionInfo, ListResourceTemplatesResult, ListResourcesResult, PaginatedRequestParams,
    ReadResourceResult, ResourceContents, ResourceTemplate,
};
use serde::Serialize;
use skillbundle_format::{Published, PublishedSkill, Resource};

use super::listing::{Caching, Listing, no_resource, unreadable};
use crate::library::Generation;

/// The one template: any path below any skill.
pub(crate) const TEMPLATE: &str = "skill://{+path}";

/// Where all of its URIs begin.
const SCHEME: &str = "skill://";

/// Skills on a page of the list.
const MOST: usize = 200;

/// What is published of these skills.
pub(crate) fn published(generation: &Generation) -> Result<Published<'_>, ErrorData> {
    generation
        .catalog()
        .and_then(|catalog| catalog.published())
        .map_err(unreadable)
}

/// `resources/list`: the `SKILL.md` of each skill. Their other files are found
/// from there, by the manifest or by reading directories.
pub(crate) fn list(
    generation: &Generation,
    params: Option<PaginatedRequestParams>,
    caching: Caching,
) -> Result<ListResourcesResult, ErrorData> {
    let listing = Listing::new(generation, &["resources/list"]);
    let published = published(generation)?;
    let start = listing.start(params)?;
    let end = published.len().min(start.saturating_add(MOST));
    let resources = (start..end).map(|number| entry(&published.skill(number)?));
    let resources: Result<_, skillbundle_format::Error> = resources.collect();
    let mut result = ListResourcesResult::with_all_items(resources.map_err(unreadable)?);
    result.next_cursor = (end < published.len()).then(|| listing.cursor(end));
    (result.ttl_ms, result.cache_scope) = (caching.ttl_ms, caching.scope);
    Ok(result)
}

fn entry(skill: &PublishedSkill<'_>) -> Result<Described, skillbundle_format::Error> {
    Ok(described(&skill.resource()?).with_description(skill.skill.description))
}

/// A file as lists show it.
pub(crate) fn described(file: &Resource<'_>) -> Described {
    Described::new(file.uri, file.name.as_ref())
        .with_mime_type(file.mime)
        .with_size(file.size)
}

/// What the list says of which resources there are. Their sizes are left out:
/// whoever cares for a text has subscribed to it.
pub(crate) fn reading(generation: &Generation) -> Vec<(&str, &str)> {
    let published = published(generation).ok();
    let skills = published.iter().flat_map(Published::skills);
    let skills = skills.filter_map(Result::ok);
    skills
        .map(|skill| (skill.uri, skill.skill.description))
        .collect()
}

/// The digest of what is read under this URI.
pub(crate) fn version(generation: &Generation, uri: &str) -> Result<[u8; 32], ErrorData> {
    let published = published(generation)?;
    match published.resource(uri).map_err(unreadable)? {
        Some(file) => Ok(file.digest),
        None => Err(missing(&published, uri)?),
    }
}

/// `resources/read`.
pub(crate) fn read(
    generation: &Generation,
    uri: &str,
    caching: Caching,
) -> Result<ReadResourceResult, ErrorData> {
    let published = published(generation)?;
    let Some(file) = published.resource(uri).map_err(unreadable)? else {
        return Err(missing(&published, uri)?);
    };
    let bytes = file.bytes().map_err(unreadable)?;
    let contents = match Content::of(&file, &bytes) {
        Content::Text(text) => ResourceContents::text(text, uri),
        Content::Blob(blob) => ResourceContents::blob(blob, uri),
    };
    let mut result = ReadResourceResult::new(vec![contents.with_mime_type(file.mime)]);
    (result.ttl_ms, result.cache_scope) = (caching.ttl_ms, caching.scope);
    Ok(result)
}

/// What a file goes out as: text where no byte of it changes by that.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Content<'a> {
    Text(&'a str),
    /// In base64.
    Blob(String),
}

impl<'a> Content<'a> {
    pub(crate) fn of(file: &Resource<'_>, bytes: &'a [u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) if file.is_text => Self::Text(text),
            _ => Self::Blob(STANDARD.encode(bytes)),
        }
    }
}

fn missing(published: &Published<'_>, uri: &str) -> Result<ErrorData, ErrorData> {
    let directory = published.directory(uri).map_err(unreadable)?;
    let hint = match directory {
        Some(_) => "it is a directory; resources/directory/read shows what lies in it",
        None => "skills/list and resources/list show what there is",
    };
    Ok(no_resource(uri, hint))
}

/// `resources/templates/list`.
pub(crate) fn templates(caching: Caching) -> ListResourceTemplatesResult {
    let template = ResourceTemplate::new(TEMPLATE, "skill-file")
        .with_title("File of a skill")
        .with_description(
            "Any file of any skill: the skill's path, then the file's, such as code-review/SKILL.md",
        );
    let mut result = ListResourceTemplatesResult::with_all_items(vec![template]);
    (result.ttl_ms, result.cache_scope) = (caching.ttl_ms, caching.scope);
    result
}

/// What may follow what was typed for the template's `path`: URIs that begin
/// so, then skills whose names do.
pub(crate) fn complete(generation: &Generation, typed: &str) -> Result<CompletionInfo, ErrorData> {
    let published = published(generation)?;
    let most = CompletionInfo::MAX_VALUES;
    let mut found = Vec::new();
    let beginning = format!("{SCHEME}{typed}");
    for uri in published
        .uris_starting_with(&beginning)
        .map_err(unreadable)?
    {
        found.push(&uri.map_err(unreadable)?[SCHEME.len()..]);
        if found.len() > most {
            break;
        }
    }
    for skill in published.names_starting_with(typed).map_err(unreadable)? {
        if found.len() > most {
            break;
        }
        let path = &skill.map_err(unreadable)?.uri[SCHEME.len()..];
        if !found.contains(&path) {
            found.push(path);
        }
    }
    let more = found.len() > most;
    found.truncate(most);
    let total = u32::try_from(found.len()).ok().filter(|_| !more);
    let values = found.into_iter().map(str::to_owned).collect();
    CompletionInfo::with_pagination(values, total, more).map_err(unreadable)
}
