//! Which skills the extension serves, and under which URIs: one pure function of the whole set.
//! `docs/extension.md` documents the rule.
//!
//! A folder skill is published byte for byte, so it must be valid as it is. A page of a tree is
//! published as a generated file, so missing parts are generated. In listing order, a skill gets
//! its URI unless an earlier skill has the URI, or has different files in the directory that this
//! skill would use.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};
use skillbundle_search::parallel;

use super::uri::{authority, is_valid_name, push_segment, segment, slug};
use crate::model::{Dialect, SkillEntry, SkillSet};

mod allocate;

use allocate::UriAllocator;

/// The decision about a skill in the extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Publication {
    /// It is published.
    Published {
        /// The URI of its `SKILL.md`.
        uri: String,
        /// The number of files in its manifest, `SKILL.md` included.
        files: usize,
        /// The total size of those files in bytes.
        bytes: u64,
        /// The size of its `SKILL.md` in bytes.
        skill_md_bytes: u64,
    },
    /// It is not published; tools still serve it.
    Unpublished(Unpublished),
}

/// Why a skill is not published. Other skills are given as indices in the set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unpublished {
    /// The frontmatter's `name` is not a string, or holds something else than lower-case letters,
    /// digits and single hyphens, or has more than 64 characters.
    Name,
    /// The frontmatter's `description` is not a string, or is blank.
    Description,
    /// A YAML parser rejects the frontmatter or returns something else.
    Recovered,
    /// The file begins with a byte order mark before `---`.
    ByteOrderMark,
    /// This file, or a directory above the skill, cannot have a URI of its own.
    File(String),
    /// An earlier skill has the URI.
    Taken(usize),
    /// It would be nested in, or contain, an earlier skill that has different files there.
    Overlaps(usize),
}

/// The decision about each offered skill, in the order of the set.
pub fn publications(set: &SkillSet) -> Vec<Publication> {
    let outcome = |(skill, planned): (&SkillEntry, Result<Planned, Unpublished>)| match planned {
        Ok(planned) => {
            let size = |file: &PlannedFile| planned.bytes(set, skill, file).len() as u64;
            Publication::Published {
                files: planned.files.len(),
                bytes: planned.files.iter().map(size).sum(),
                skill_md_bytes: planned.skill_md(skill).len() as u64,
                uri: planned.uri,
            }
        }
        Err(reason) => Publication::Unpublished(reason),
    };
    set.offered().iter().zip(plan(set)).map(outcome).collect()
}

/// A skill to be published.
#[derive(Debug)]
pub(crate) struct Planned {
    /// The URI of its `SKILL.md`.
    pub(crate) uri: String,
    /// As JSON.
    pub(crate) frontmatter: String,
    /// The text of its `SKILL.md` if it differs from the one on disk.
    pub(crate) generated: Option<String>,
    /// Every file, `SKILL.md` included, sorted by URI.
    pub(crate) files: Vec<PlannedFile>,
}

/// A file of a published skill.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PlannedFile {
    pub(crate) uri: String,
    pub(crate) origin: Origin,
}

/// The origin of a published file's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The skill's own `SKILL.md`.
    SkillMd,
    /// A file of the set.
    File {
        /// The index of the skill that it belongs to.
        skill: usize,
        /// Its index among that skill's files.
        at: usize,
        /// Whether it can be sent as text.
        is_text: bool,
    },
}

impl Planned {
    fn skill_md<'a>(&'a self, skill: &'a SkillEntry) -> &'a [u8] {
        self.generated
            .as_ref()
            .map_or(&skill.source, |text| text.as_bytes())
    }

    fn bytes<'a>(
        &'a self,
        set: &'a SkillSet,
        skill: &'a SkillEntry,
        file: &PlannedFile,
    ) -> &'a [u8] {
        match file.origin {
            Origin::SkillMd => self.skill_md(skill),
            Origin::File { skill, at, .. } => {
                set.skills[skill].files[at].bytes.as_deref().unwrap_or(&[])
            }
        }
    }
}

/// Decides about every offered skill, in the order of the set.
pub(crate) fn plan(set: &SkillSet) -> Vec<Result<Planned, Unpublished>> {
    let tops = tops(set);
    // Each reads the JSON of a frontmatter.
    let sites = parallel::map(set.offered(), 64, |skill| site(skill, &tops));
    let mut allocator = UriAllocator::new(set, directories(sites.iter().flatten()));
    for site in sites {
        allocator.place(site);
    }
    allocator.decided()
}

/// The preferred location of a skill.
struct Site {
    /// The escaped directories above it, joined by `/`.
    above: String,
    /// Not escaped.
    name: String,
}

/// The names of roots that are themselves skills: their other skills are nested in them.
fn tops(set: &SkillSet) -> HashMap<u32, String> {
    let mut tops = HashMap::new();
    let is_top = |it: &&SkillEntry| it.dialect == Dialect::Folder && !it.file_path.contains('/');
    for skill in set.offered().iter().filter(is_top) {
        if let Ok(name) = folder_name(skill) {
            tops.entry(skill.root).or_insert_with(|| segment(&name));
        }
    }
    tops
}

fn site(skill: &SkillEntry, tops: &HashMap<u32, String>) -> Result<Site, Unpublished> {
    let (place, name, top) = match skill.dialect {
        Dialect::Folder => {
            let directory = parent(&skill.file_path);
            let top = tops.get(&skill.root).filter(|_| !directory.is_empty());
            (directory, folder_name(skill)?, top)
        }
        Dialect::Tree => (skill.path.as_str(), tree_name(&skill.path), None),
    };
    let mut above = top.cloned().unwrap_or_default();
    for directory in parent(place).split('/').filter(|_| place.contains('/')) {
        if matches!(directory, "" | "." | "..") {
            return Err(Unpublished::File(place.to_owned()));
        }
        if above.is_empty() {
            above = authority(directory);
        } else {
            above.push('/');
            push_segment(&mut above, directory);
        }
    }
    Ok(Site { above, name })
}

/// The name that a folder skill declares. Returns an error if the file cannot be published.
fn folder_name(skill: &SkillEntry) -> Result<String, Unpublished> {
    if skill.text_start != 0 {
        return Err(Unpublished::ByteOrderMark);
    }
    if skill.recovered {
        return Err(Unpublished::Recovered);
    }
    let fields: Map<String, Value> =
        serde_json::from_str(&skill.frontmatter_json).map_err(|_| Unpublished::Name)?;
    let text = |key: &str| fields.get(key).and_then(Value::as_str);
    let name = text("name").filter(|name| is_valid_name(name));
    let name = name.ok_or(Unpublished::Name)?;
    text("description")
        .filter(|text| !text.trim().is_empty())
        .ok_or(Unpublished::Description)?;
    Ok(name.to_owned())
}

/// The page of a directory is named after the directory.
fn tree_name(path: &str) -> String {
    let (above, last) = path.rsplit_once('/').unwrap_or(("", path));
    slug(match last {
        "_index" if !above.is_empty() => above.rsplit('/').next().unwrap_or(above),
        _ => last,
    })
}

/// Every directory that has a skill below it.
fn directories<'a>(sites: impl Iterator<Item = &'a Site>) -> HashSet<String> {
    let mut directories = HashSet::new();
    for site in sites {
        let mut above = site.above.as_str();
        while !above.is_empty() && directories.insert(above.to_owned()) {
            above = parent(above);
        }
    }
    directories
}

fn join(above: &str, name: &str) -> String {
    if above.is_empty() {
        name.to_owned()
    } else {
        format!("{above}/{name}")
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(above, _)| above)
}
