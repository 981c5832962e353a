//! `resources/list`, `resources/read`, `resources/templates/list`, and the
//! completion of their URIs: every file of every published skill, its bytes
//! never changed.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::Resource as Described;
use rmcp::model::{CompletionInfo, ResourceTemplate};
use serde::{Deserialize, Serialize};
use skillbundle_format::hosts::URI_BYTES;
use skillbundle_format::{Dialect, Error, Published, PublishedSkill, Resource, Skill};

use super::notifier::NotifiedList;
use super::results::{PageParams, PagedList, loaded, no_resource, unreadable, write_cacheable};
use super::{Call, Skills};
use crate::analytics::UsageEvent;
use crate::jsonrpc::RpcError;
use crate::source::Generation;

/// The one template: any path below any skill.
pub(crate) const TEMPLATE: &str = "skill://{+path}";

/// Where all of its URIs begin.
const SCHEME: &str = "skill://";

/// Skills on a page of the list.
const MOST: usize = 200;

/// The parameters of a method that is about one resource.
#[derive(Deserialize)]
pub(crate) struct Uri<'a> {
    #[serde(borrow)]
    pub(crate) uri: Cow<'a, str>,
}

/// The part of these skills that the extension publishes.
pub(crate) fn published(skills: &Generation) -> Result<Published<'_>, RpcError> {
    skills
        .catalog()
        .and_then(|catalog| catalog.published())
        .map_err(unreadable)
}

/// `resources/list`: the `SKILL.md` of each skill. Its other files are found from there, by the
/// manifest or by reading directories.
pub(crate) fn list(call: &Call<'_>, skills: &Skills, out: &mut Vec<u8>) -> Result<(), RpcError> {
    let params: PageParams = call.request.optional_params()?;
    let skills = loaded(skills)?;
    let listing = PagedList::new(skills, &["resources/list"]);
    let published = published(skills)?;
    let start = listing.start(&params)?;
    let end = published.listed().min(start.saturating_add(MOST));
    let resources = (start..end).map(|number| entry(&published.skill(number)?));
    let resources: Result<Vec<_>, Error> = resources.collect();
    let next = listing.next(end, published.listed());
    call.server.seen(NotifiedList::Resources, Some(skills));
    write_cacheable(
        call,
        out,
        next,
        "resources",
        &resources.map_err(unreadable)?,
    )
}

fn entry(skill: &PublishedSkill<'_>) -> Result<Described, Error> {
    Ok(described(&skill.resource()?).with_description(skill.skill.description))
}

/// A file as lists show it.
pub(crate) fn described(file: &Resource<'_>) -> Described {
    Described::new(file.uri, file.name.as_ref())
        .with_mime_type(file.mime)
        .with_size(file.size)
}

/// What the list says of which resources there are. Sizes are left out: a client that cares for a
/// text has subscribed to it.
pub(crate) fn summary(skills: &Generation) -> Vec<(&str, &str)> {
    let published = published(skills).ok();
    let skills = published
        .iter()
        .flat_map(|it| it.skills().take(it.listed()));
    let skills = skills.filter_map(Result::ok);
    skills
        .map(|skill| (skill.uri, skill.skill.description))
        .collect()
}

/// The digest of what is read under this URI.
pub(crate) fn version(skills: &Generation, uri: &str) -> Result<[u8; 32], RpcError> {
    let published = published(skills)?;
    match published.resource(uri).map_err(unreadable)? {
        Some(file) => Ok(file.digest),
        None => Err(missing(&published, uri)?),
    }
}

/// `resources/read`.
pub(crate) fn read(call: &Call<'_>, skills: &Skills, out: &mut Vec<u8>) -> Result<(), RpcError> {
    let Uri { uri } = call.request.params()?;
    if let Some(bytes) = call.server.outputs.get(&uri) {
        let found = Found {
            mime: "application/octet-stream",
            is_text: false,
            bytes: Cow::Borrowed(&bytes),
            skill: None,
        };
        return found.write(call, &uri, out);
    }
    let skills = loaded(skills)?;
    let published = published(skills)?;
    let found = match published.resource(&uri).map_err(unreadable)? {
        Some(file) => {
            let owner = file.skill().map_err(unreadable)?;
            let is_skill = owner.uri == file.uri;
            Some(Found {
                mime: file.mime,
                is_text: file.is_text,
                bytes: file.bytes().map_err(unreadable)?,
                skill: is_skill.then_some(owner.skill.path),
            })
        }
        None => of_shadowed(skills, &uri).map_err(unreadable)?,
    };
    let Some(found) = found else {
        return Err(missing(&published, &uri)?);
    };
    if let Some(skill) = found.skill {
        let tool = "resources/read";
        let recorder = &call.server.recorder;
        recorder.record(&UsageEvent::Loaded { skill, tool });
    }
    found.write(call, &uri, out)
}

/// What is read under a URI.
struct Found<'a> {
    mime: &'a str,
    /// Whether it can be sent as text without changing a byte.
    is_text: bool,
    bytes: Cow<'a, [u8]>,
    /// The skill whose text it is.
    skill: Option<&'a str>,
}

/// A file of a skill that is not offered: it has no URI in the extension, but the address of the
/// skill leads to it, as in the tool `skill`.
fn of_shadowed<'a>(skills: &'a Generation, uri: &str) -> Result<Option<Found<'a>>, Error> {
    let catalog = skills.catalog()?;
    // Longer ones would cost time that grows with the square of their length.
    let Some(path) = uri.strip_prefix(SCHEME).filter(|it| it.len() <= URI_BYTES) else {
        return Ok(None);
    };
    for (slash, _) in path.match_indices('/') {
        let (skill, file) = (&path[..slash], &path[slash + 1..]);
        let Some(skill) = catalog.by_path(skill)?.filter(Skill::is_shadowed) else {
            continue;
        };
        if file == "SKILL.md" {
            let bytes = match skill.dialect {
                Dialect::Folder => skill.source()?,
                // Its own file would be half of what its author means: it inherits the rest.
                Dialect::Tree => Cow::Owned(skill.content()?.into_bytes()),
            };
            return Ok(Some(Found {
                mime: "text/markdown",
                is_text: true,
                bytes,
                skill: Some(skill.path),
            }));
        }
        if let Some((file, _)) = skill.find_file(file)?
            && let Some(bytes) = file.bytes()?
        {
            return Ok(Some(Found {
                mime: file.mime,
                is_text: file.is_text,
                bytes,
                skill: None,
            }));
        }
    }
    Ok(None)
}

/// The form in which a file is sent: as text if that changes none of its bytes.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum TextOrBlob<'a> {
    Text(&'a str),
    /// In base64.
    Blob(String),
}

impl Found<'_> {
    /// Appends the result of `resources/read`.
    fn write(&self, call: &Call<'_>, uri: &str, out: &mut Vec<u8>) -> Result<(), RpcError> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct ResourceContents<'a> {
            uri: &'a str,
            mime_type: &'a str,
            #[serde(flatten)]
            content: TextOrBlob<'a>,
        }
        let contents = ResourceContents {
            uri,
            mime_type: self.mime,
            content: self.content(),
        };
        write_cacheable(call, out, None, "contents", &[contents])
    }

    fn content(&self) -> TextOrBlob<'_> {
        match std::str::from_utf8(&self.bytes) {
            Ok(text) if self.is_text => TextOrBlob::Text(text),
            _ => TextOrBlob::Blob(STANDARD.encode(&self.bytes)),
        }
    }
}

fn missing(published: &Published<'_>, uri: &str) -> Result<RpcError, RpcError> {
    let directory = published.directory(uri).map_err(unreadable)?;
    let hint = match directory {
        Some(_) => "it is a directory; resources/directory/read lists its contents",
        None => "skills/list and resources/list show all of them",
    };
    Ok(no_resource(uri, hint))
}

/// `resources/templates/list`.
pub(crate) fn templates(
    call: &Call<'_>,
    skills: &Skills,
    out: &mut Vec<u8>,
) -> Result<(), RpcError> {
    let params: PageParams = call.request.optional_params()?;
    PagedList::new(loaded(skills)?, &["resources/templates/list"]).start(&params)?;
    let template = ResourceTemplate::new(TEMPLATE, "skill-file")
        .with_title("File of a skill")
        .with_description(
            "Any file of any skill: the skill's path, then the file's, such as code-review/SKILL.md",
        );
    write_cacheable(call, out, None, "resourceTemplates", &[template])
}

/// Completions of what was typed for the template's `path`: URIs that begin with it, then skills
/// whose names do.
pub(crate) fn complete(skills: &Generation, typed: &str) -> Result<CompletionInfo, RpcError> {
    let published = published(skills)?;
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
