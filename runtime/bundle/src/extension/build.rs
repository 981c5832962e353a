//! Builds the tables of published skills. Deterministic: equal skills give equal tables.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use super::rule::{Origin, Planned, PlannedFile, plan};
use super::uri::name_of;
use crate::blobs::{Blob, Blobs};
use crate::container::hex;
use crate::error::Error;
use crate::mime;
use crate::model::{Audience, SkillSet};
use crate::schema::{NONE, PublishedRow, Str};
use crate::write::narrow;

/// The blobs of a skill, as rows of `blobs`.
#[derive(Debug)]
pub(crate) struct Contents {
    /// The row of its Markdown file.
    pub(crate) source: u32,
    /// The rows of its files, in the order of the set; [`NONE`] if a file is missing.
    pub(crate) files: Vec<u32>,
}

/// A published skill and the location of its bytes.
struct Ready {
    id: usize,
    planned: Planned,
    /// The row of its `SKILL.md`.
    blob: u32,
    is_text: bool,
}

/// The tables, see [`crate::schema::Index`].
pub(crate) struct Tables {
    pub(crate) skills: Vec<PublishedRow>,
    /// The number of skills, from the first, that are listed.
    pub(crate) listed: usize,
    pub(crate) by_name: Vec<u32>,
    pub(crate) by_skill: Vec<u32>,
    /// Sorted by URI.
    pub(crate) resources: Vec<(String, ResourceEntry)>,
    pub(crate) entries: Vec<u8>,
}

/// A published file.
pub(crate) struct ResourceEntry {
    pub(crate) blob: u32,
    /// Number of the innermost skill that contains it.
    pub(crate) owner: usize,
    pub(crate) is_text: bool,
}

/// Builds the tables; generated files are added to `blobs`.
///
/// `ranking` is the listing order: indices of the set, most important first.
pub(crate) fn build(
    set: &SkillSet,
    ranking: &[u32],
    contents: &[Contents],
    blobs: &mut Blobs<'_>,
) -> Result<Tables, Error> {
    let skills = ready(set, ranking, contents, blobs)?;
    let resources = resources(contents, &skills);
    let rows: HashMap<&str, usize> = resources.keys().copied().zip(0..).collect();
    let (mut published, mut entries) = (Vec::new(), Vec::new());
    for skill in &skills {
        if !entries.is_empty() {
            entries.push(b',');
        }
        let entry = entry(skill, contents, blobs);
        published.push(PublishedRow {
            skill: narrow(skill.id)?,
            resource: narrow(rows[skill.planned.uri.as_str()])?,
            entry: Str {
                start: narrow(entries.len())?,
                len: narrow(entry.len())?,
            },
        });
        entries.extend_from_slice(entry.as_bytes());
    }
    narrow(entries.len())?;
    let is_listed = |skill: &&Ready| set.skills[skill.id].audience == Audience::Everyone;
    Ok(Tables {
        listed: skills.iter().filter(is_listed).count(),
        skills: published,
        by_name: by_name(&skills),
        by_skill: by_id(set.offered().len(), &skills),
        resources: resources
            .into_iter()
            .map(|(uri, entry)| (uri.to_owned(), entry))
            .collect(),
        entries,
    })
}

/// The skills that are published, in listing order.
fn ready(
    set: &SkillSet,
    ranking: &[u32],
    contents: &[Contents],
    blobs: &mut Blobs<'_>,
) -> Result<Vec<Ready>, Error> {
    let mut plans: Vec<_> = plan(set).into_iter().map(Result::ok).collect();
    let mut skills = Vec::new();
    for id in ranking.iter().map(|id| *id as usize) {
        let Some(planned) = plans[id].take() else {
            continue;
        };
        let (blob, bytes) = match &planned.generated {
            Some(text) => {
                let copy = text.clone().into_bytes();
                (blobs.add(Blob::body(copy))?, text.as_bytes())
            }
            None => (contents[id].source, &*set.skills[id].source),
        };
        skills.push(Ready {
            id,
            blob,
            is_text: mime::is_text(bytes),
            planned,
        });
    }
    Ok(skills)
}

impl Ready {
    fn blob_of(&self, file: &PlannedFile, contents: &[Contents]) -> u32 {
        match file.origin {
            Origin::SkillMd => self.blob,
            Origin::File { skill, at, .. } => contents[skill].files[at],
        }
    }
}

/// Every file of every skill, by URI. Nested skills share their files.
fn resources<'a>(contents: &[Contents], skills: &'a [Ready]) -> BTreeMap<&'a str, ResourceEntry> {
    let mut resources: BTreeMap<&str, ResourceEntry> = BTreeMap::new();
    for (owner, skill) in skills.iter().enumerate() {
        for file in &skill.planned.files {
            let is_text = match file.origin {
                Origin::SkillMd => skill.is_text,
                Origin::File { is_text, .. } => is_text,
            };
            let row = ResourceEntry {
                blob: skill.blob_of(file, contents),
                owner,
                is_text,
            };
            let known = resources.get(file.uri.as_str());
            let is_inner = |known: &ResourceEntry| {
                let other = &skills[known.owner].planned;
                other.uri.len() < skill.planned.uri.len()
            };
            if known.is_none_or(is_inner) {
                resources.insert(&file.uri, row);
            }
        }
    }
    resources
}

/// The entry of the skill in `skills/list`.
fn entry(skill: &Ready, contents: &[Contents], blobs: &Blobs<'_>) -> String {
    let planned = &skill.planned;
    let resource = |file: &PlannedFile| {
        let blob = &blobs.rows[skill.blob_of(file, contents) as usize];
        format!(
            r#"{{"uri":"{}","digest":"sha256:{}","size":{}}}"#,
            file.uri,
            hex(&blob.sha256),
            blob.len
        )
    };
    let resources: Vec<_> = planned.files.iter().map(resource).collect();
    format!(
        r#"{{"uri":"{}","frontmatter":{},"resources":[{}]}}"#,
        planned.uri,
        planned.frontmatter,
        resources.join(",")
    )
}

/// Numbers of the skills, sorted by name; equal names in listing order.
fn by_name(skills: &[Ready]) -> Vec<u32> {
    let names = skills.iter().map(|skill| name_of(&skill.planned.uri));
    let mut numbered: Vec<(Cow<'_, str>, u32)> = names.zip(0..).collect();
    numbered.sort_unstable();
    numbered.into_iter().map(|(_, number)| number).collect()
}

/// The number of each skill of the bundle, or [`NONE`].
fn by_id(count: usize, skills: &[Ready]) -> Vec<u32> {
    let mut numbers = vec![NONE; count];
    for (number, skill) in (0..).zip(skills) {
        numbers[skill.id] = number;
    }
    numbers
}
