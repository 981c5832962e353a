//! Makes the bytes of `PUBLISHED`. Same skills, same bytes.

use std::collections::{BTreeMap, HashMap};

use super::rule::{Origin, Planned, PlannedFile, plan};
use super::uri::name_of;
use super::{MAGIC, flag};
use crate::blobs::Blobs;
use crate::container::hex;
use crate::error::Error;
use crate::flat::TableWriter;
use crate::mime;
use crate::model::SkillSet;
use crate::schema::NONE;

/// Where the contents of a skill lie, as rows of `blobs`.
#[derive(Debug)]
pub(crate) struct Contents {
    /// Of its Markdown file.
    pub(crate) source: u32,
    /// Of its files, in the order of the set; none where one is missing.
    pub(crate) files: Vec<u32>,
}

/// A published skill, and where its bytes lie.
struct Ready {
    id: usize,
    planned: Planned,
    /// Of its `SKILL.md`.
    blob: u32,
    is_text: bool,
}

/// A row of the table of resources.
struct Row {
    blob: u32,
    /// Number of the innermost skill that has it.
    owner: usize,
    flags: u32,
}

/// Builds the section; generated files are added to `blobs`.
///
/// `ranking` is the listing order: indices of the set, most important first.
pub(crate) fn build(
    set: &SkillSet,
    ranking: &[u32],
    contents: &[Contents],
    blobs: &mut Blobs,
) -> Result<Vec<u8>, Error> {
    let skills = ready(set, ranking, contents, blobs)?;
    let resources = resources(contents, &skills);
    let entries: Vec<String> = skills
        .iter()
        .map(|skill| entry(skill, contents, blobs))
        .collect();

    let mut table = TableWriter::new(MAGIC, "table of published skills");
    table.put(skills.len())?;
    table.put(set.skills.len())?;
    table.put(resources.len())?;
    table.put(resources.keys().map(|uri| uri.len()).sum())?;
    let commas = entries.len().saturating_sub(1);
    table.put(entries.iter().map(String::len).sum::<usize>() + commas)?;

    let rows: HashMap<&str, usize> = resources.keys().copied().zip(0..).collect();
    let mut end = 0;
    for (number, (skill, entry)) in skills.iter().zip(&entries).enumerate() {
        end += entry.len() + usize::from(number > 0);
        table.put(skill.id)?;
        table.put(rows[skill.planned.uri.as_str()])?;
        table.put(end)?;
    }
    for number in by_name(&skills) {
        table.put(number)?;
    }
    table.put_all(by_id(set.skills.len(), &skills));
    let mut end = 0;
    for (uri, row) in &resources {
        end += uri.len();
        table.put(end)?;
        table.put_all([row.blob]);
        table.put(row.owner)?;
        table.put_all([row.flags]);
    }
    for uri in resources.keys() {
        table.put_bytes(uri.as_bytes());
    }
    table.put_bytes(entries.join(",").as_bytes());
    table.finish()
}

/// The skills that are published, in listing order.
fn ready(
    set: &SkillSet,
    ranking: &[u32],
    contents: &[Contents],
    blobs: &mut Blobs,
) -> Result<Vec<Ready>, Error> {
    let mut plans: Vec<_> = plan(set).into_iter().map(Result::ok).collect();
    let mut skills = Vec::new();
    for id in ranking.iter().map(|id| *id as usize) {
        let Some(planned) = plans[id].take() else {
            continue;
        };
        let (blob, bytes) = match &planned.generated {
            Some(text) => (blobs.add_body(text.as_bytes())?, text.as_bytes()),
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

/// Every file of every skill, by URI. Nested skills share theirs.
fn resources<'a>(contents: &[Contents], skills: &'a [Ready]) -> BTreeMap<&'a str, Row> {
    let mut resources: BTreeMap<&str, Row> = BTreeMap::new();
    for (owner, skill) in skills.iter().enumerate() {
        for file in &skill.planned.files {
            let is_text = match file.origin {
                Origin::SkillMd => skill.is_text,
                Origin::File { is_text, .. } => is_text,
            };
            let row = Row {
                blob: skill.blob_of(file, contents),
                owner,
                flags: if is_text { flag::TEXT } else { 0 },
            };
            let known = resources.get(file.uri.as_str());
            let is_inner = |known: &Row| {
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

/// The skill as `skills/list` gives it.
fn entry(skill: &Ready, contents: &[Contents], blobs: &Blobs) -> String {
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

/// Numbers of the skills, sorted by name; listing order among equal ones.
fn by_name(skills: &[Ready]) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..skills.len()).collect();
    numbers.sort_by_key(|number| name_of(&skills[*number].planned.uri));
    numbers
}

/// The number of each skill of the bundle, or none.
fn by_id(count: usize, skills: &[Ready]) -> Vec<u32> {
    let mut numbers = vec![NONE; count];
    for (number, skill) in (0..).zip(skills) {
        numbers[skill.id] = number;
    }
    numbers
}
