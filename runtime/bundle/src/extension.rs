//! The data that the skills extension of the protocol (SEP-2640, `io.modelcontextprotocol/skills`)
//! serves: `skills/list` as text that was written at compile time, and every file of every skill by
//! its URI. [`rule`] selects the skills; `docs/extension.md` documents the selection.
//!
//! A server answers from here without hashing, sorting or escaping. URIs of requests are compared
//! with those in the table and are never used as paths.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use crate::catalog::Catalog;
use crate::error::{Error, corrupt};
use crate::hosts::URI_BYTES;
use crate::names::ADDRESS;
use crate::schema::{ArchivedPublishedRow, ArchivedResourceRow, NONE};
use crate::skill::Skill;

mod build;
mod generated;
mod resource;
mod rule;
#[cfg(test)]
mod tests;
mod uri;
mod verify;

pub(crate) use build::{Contents, ResourceEntry, build};
pub use resource::{Child, Resource};
pub use rule::{Publication, Unpublished, publications};
pub use uri::{numbered, slug};

use skillbundle_search::text::fold;
use uri::{last_name, name_of, unescaped};

/// The published skills of a bundle. Copy it freely.
#[derive(Clone, Copy)]
pub struct Published<'a> {
    catalog: Catalog<'a>,
}

/// A page of `skills/list`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page<'a> {
    /// Complete entries as JSON objects, separated by commas.
    pub entries: &'a str,
    /// The number of entries.
    pub count: usize,
    /// The start of the next page, or `None` if this is the last one.
    pub next: Option<usize>,
}

/// A skill as the extension serves it.
#[derive(Debug, Clone)]
pub struct PublishedSkill<'a> {
    /// Its number in the listing.
    pub number: usize,
    /// The URI of its `SKILL.md`.
    pub uri: &'a str,
    /// Its name in the extension: the one in its frontmatter as served. Two skills in different
    /// directories may have the same name.
    pub name: Cow<'a, str>,
    /// The skill as the tools see it: description, priority, frontmatter as written, files.
    pub skill: Skill<'a>,
}

impl<'a> Catalog<'a> {
    /// The skills that the extension serves. Cheap; take one for each request.
    pub fn published(&self) -> Result<Published<'a>, Error> {
        if self.index.published_by_skill.len() != self.len() {
            return Err(corrupt(
                "the table of published skills has the wrong length",
            ));
        }
        Ok(Published { catalog: *self })
    }
}

impl<'a> Skill<'a> {
    /// The skill as the extension serves it. Returns `None` if it is not published.
    pub fn published(&self) -> Result<Option<PublishedSkill<'a>>, Error> {
        self.catalog.published()?.of(self)
    }
}

impl<'a> Published<'a> {
    /// The number of published skills that are listed: the first ones.
    pub fn listed(&self) -> usize {
        let listed = self.catalog.index.published_listed.to_native() as usize;
        listed.min(self.len())
    }

    /// The number of published skills.
    pub fn len(&self) -> usize {
        self.catalog.index.published.len()
    }

    /// Whether no skill is published.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entries of the listed skills from number `first` on: at most `most` entries and at most
    /// `bytes` bytes, but at least one entry if there is one. Entries are never split.
    pub fn page(&self, first: usize, most: usize, bytes: usize) -> Result<Page<'a>, Error> {
        let total = self.listed();
        if first >= total {
            return Ok(Page {
                entries: "",
                count: 0,
                next: None,
            });
        }
        let start = self.entry_range(first)?.start;
        let last = total.min(first.saturating_add(most.max(1)));
        let end = lower_bound(first + 1..last, |at| {
            let end = self.entry_range(at)?.end;
            Ok(end.saturating_sub(start) <= bytes)
        })?;
        let range = start..self.entry_range(end - 1)?.end;
        Ok(Page {
            entries: self.entries(range)?,
            count: end - first,
            next: (end < total).then_some(end),
        })
    }

    /// The entry of the skill whose `SKILL.md` has this URI, as JSON.
    pub fn entry(&self, uri: &str) -> Result<Option<&'a str>, Error> {
        let Some(skill) = self.by_uri(uri)? else {
            return Ok(None);
        };
        self.entries(self.entry_range(skill.number)?).map(Some)
    }

    /// The skills in the order of the listing.
    pub fn skills(&self) -> impl Iterator<Item = Result<PublishedSkill<'a>, Error>> + use<'a> {
        let published = *self;
        (0..published.len()).map(move |number| published.skill(number))
    }

    /// The skill with this number: 0 to [`Self::len`], in the order of the listing.
    pub fn skill(&self, number: usize) -> Result<PublishedSkill<'a>, Error> {
        let row = self.row(number)?;
        let uri = self.uri(row.resource.to_native() as usize)?;
        Ok(PublishedSkill {
            number,
            uri,
            name: name_of(uri),
            skill: self.catalog.skill(row.skill.to_native())?,
        })
    }

    /// The skill whose `SKILL.md` has this URI.
    pub fn by_uri(&self, uri: &str) -> Result<Option<PublishedSkill<'a>>, Error> {
        let Some(at) = self.find(uri)? else {
            return Ok(None);
        };
        let owner = self.resource_row(at)?.owner.to_native() as usize;
        if self.row(owner)?.resource.to_native() as usize == at {
            self.skill(owner).map(Some)
        } else {
            Ok(None)
        }
    }

    /// A skill of the bundle as it is published.
    fn of(&self, skill: &Skill<'_>) -> Result<Option<PublishedSkill<'a>>, Error> {
        if skill.is_shadowed() {
            return Ok(None);
        }
        let rows = &self.catalog.index.published_by_skill;
        match self.catalog.row(rows, skill.id as usize)?.to_native() {
            NONE => Ok(None),
            number => self.skill(number as usize).map(Some),
        }
    }

    /// The file with this URI.
    pub fn resource(&self, uri: &str) -> Result<Option<Resource<'a>>, Error> {
        self.find(uri)?.map(|at| self.resource_at(at)).transpose()
    }

    /// The direct children of a directory, sorted by URI. Returns `None` if the directory does not
    /// exist. One trailing slash is ignored.
    pub fn directory(&self, uri: &str) -> Result<Option<Vec<Child<'a>>>, Error> {
        let uri = uri.strip_suffix('/').unwrap_or(uri);
        // `skill://` itself is the parent of all skills and not a directory.
        if uri.len() <= ADDRESS.len() {
            return Ok(None);
        }
        let children = self.children(uri)?;
        if !children.is_empty() {
            return Ok(Some(children));
        }
        let Some(other) = self.in_other_form(uri)? else {
            return Ok(None);
        };
        let children = self.children(&other)?;
        Ok((!children.is_empty()).then_some(children))
    }

    fn children(&self, uri: &str) -> Result<Vec<Child<'a>>, Error> {
        let inside = format!("{uri}/");
        let mut at = self.first_from(&inside)?;
        let mut children = Vec::new();
        while at < self.resources() {
            let found = self.uri(at)?;
            let Some(rest) = found.strip_prefix(&inside) else {
                break;
            };
            let Some(slash) = rest.find('/') else {
                children.push(Child::File(self.resource_at(at)?));
                at += 1;
                continue;
            };
            let uri = &found[..inside.len() + slash];
            let name = last_name(uri);
            children.push(Child::Directory { uri, name });
            // `0` follows `/` in ASCII, so this is after everything in the directory. `max`
            // guarantees progress even if the table is not sorted.
            at = self.first_from(&format!("{uri}0"))?.max(at + 1);
        }
        children.sort_by(|a, b| a.uri().cmp(b.uri()));
        Ok(children)
    }

    /// The listed skills whose names start with this prefix, sorted by name; skills with equal names
    /// in listing order.
    pub fn names_starting_with<'p>(
        &self,
        prefix: &'p str,
    ) -> Result<impl Iterator<Item = Result<PublishedSkill<'a>, Error>> + use<'a, 'p>, Error> {
        let published = *self;
        let rows = &self.catalog.index.published_by_name;
        let named = move |at| {
            let number = published.catalog.row(rows, at)?.to_native();
            published.skill(number as usize)
        };
        let first = lower_bound(0..self.len(), |at| Ok(*named(at)?.name < *prefix))?;
        let is_listed = move |skill: &Result<PublishedSkill<'_>, Error>| match skill {
            Ok(skill) => skill.number < published.listed(),
            Err(_) => true,
        };
        Ok((first..self.len())
            .map(named)
            .take_while(move |skill| starts(skill, |skill| &*skill.name, prefix))
            .filter(is_listed))
    }

    /// The URIs of files of listed skills that start with this prefix, sorted.
    pub fn uris_starting_with<'p>(
        &self,
        prefix: &'p str,
    ) -> Result<impl Iterator<Item = Result<&'a str, Error>> + use<'a, 'p>, Error> {
        let published = *self;
        let listed = u32::try_from(self.listed()).unwrap_or(u32::MAX);
        let is_listed = move |at: &usize| match published.resource_row(*at) {
            Ok(row) => row.owner.to_native() < listed,
            Err(_) => true,
        };
        Ok((self.first_from(prefix)?..self.resources())
            .take_while(move |at| starts(&published.uri(*at), |uri| *uri, prefix))
            .filter(is_listed)
            .map(move |at| published.uri(at)))
    }

    fn resources(&self) -> usize {
        self.catalog.index.resources.len()
    }

    fn row(&self, number: usize) -> Result<&'a ArchivedPublishedRow, Error> {
        self.catalog.row(&self.catalog.index.published, number)
    }

    fn resource_row(&self, at: usize) -> Result<&'a ArchivedResourceRow, Error> {
        self.catalog.row(&self.catalog.index.resources, at)
    }

    fn uri(&self, at: usize) -> Result<&'a str, Error> {
        self.catalog.text(&self.resource_row(at)?.uri)
    }

    /// The range of a skill's entry in the entries.
    fn entry_range(&self, number: usize) -> Result<Range<usize>, Error> {
        let entry = &self.row(number)?.entry;
        let start = entry.start.to_native() as usize;
        Ok(start..start.saturating_add(entry.len.to_native() as usize))
    }

    fn entries(&self, range: Range<usize>) -> Result<&'a str, Error> {
        self.catalog.part(&self.catalog.index.entries, range)
    }

    /// The row of the first URI that is not less than this text.
    fn first_from(&self, text: &str) -> Result<usize, Error> {
        lower_bound(0..self.resources(), |at| {
            Ok(self.uri(at)?.cmp(text) == Ordering::Less)
        })
    }

    fn find(&self, uri: &str) -> Result<Option<usize>, Error> {
        if let Some(at) = self.find_exactly(uri)? {
            return Ok(Some(at));
        }
        let other = self.in_other_form(uri)?;
        other.map_or(Ok(None), |uri| self.find_exactly(&uri))
    }

    fn find_exactly(&self, uri: &str) -> Result<Option<usize>, Error> {
        let at = self.first_from(uri)?;
        let found = at < self.resources() && self.uri(at)? == uri;
        Ok(found.then_some(at))
    }

    /// The bundle's URI of the file or directory that this URI names in another Unicode form or with
    /// other escapes. `None` if there is none, if there are two, and for names in ASCII, which have
    /// one form.
    fn in_other_form(&self, uri: &str) -> Result<Option<String>, Error> {
        let said = unescaped(uri);
        if said.is_ascii() || said.trim() != said || uri.len() > URI_BYTES {
            return Ok(None);
        }
        let wanted = fold(&said);
        let depth = uri.matches('/').count();
        // The directories before the first such name have one form.
        let plain = uri.find(|it: char| it == '%' || !it.is_ascii());
        let above = &uri[..plain.unwrap_or(0)];
        let above = &above[..above.rfind('/').map_or(0, |at| at + 1)];
        let mut found: Option<&str> = None;
        for candidate in self.uris_starting_with(above)? {
            let candidate = candidate?;
            let end = candidate.match_indices('/').nth(depth);
            let candidate = &candidate[..end.map_or(candidate.len(), |(at, _)| at)];
            if candidate == uri || found == Some(candidate) || !candidate.contains('%') {
                continue;
            }
            if fold(&unescaped(candidate)) == wanted && found.replace(candidate).is_some() {
                return Ok(None);
            }
        }
        Ok(found.map(str::to_owned))
    }
}

impl<'a> PublishedSkill<'a> {
    /// Its `SKILL.md`: size, digest, bytes.
    pub fn resource(&self) -> Result<Resource<'a>, Error> {
        let published = self.skill.catalog.published()?;
        let row = published.row(self.number)?;
        published.resource_at(row.resource.to_native() as usize)
    }
}

impl std::fmt::Debug for Published<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Published({} skills)", self.len())
    }
}

/// Whether the text starts with the prefix. Returns `true` for an error, so that the caller sees
/// it.
fn starts<T>(found: &Result<T, Error>, text: impl Fn(&T) -> &str, prefix: &str) -> bool {
    found
        .as_ref()
        .map_or(true, |found| text(found).starts_with(prefix))
}

/// The partition point: the first index of the range for which `is_before` is false.
fn lower_bound(
    range: Range<usize>,
    mut is_before: impl FnMut(usize) -> Result<bool, Error>,
) -> Result<usize, Error> {
    let Range { mut start, mut end } = range;
    while start < end {
        let middle = usize::midpoint(start, end);
        if is_before(middle)? {
            start = middle + 1;
        } else {
            end = middle;
        }
    }
    Ok(start)
}
