//! Assigns URIs to skills one by one, so that every URI has one content and every manifest is
//! complete.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

use skillbundle_search::text::fold;

use super::super::generated::generate;
use super::super::uri::{SKILL_MD, address, file_uri, numbered, segment, unescaped};
use super::{Origin, Planned, PlannedFile, Site, Unpublished, join, parent};
use crate::content::chain;
use crate::hosts::URI_BYTES;
use crate::mime;
use crate::model::{Dialect, SkillSet};

/// The URIs assigned so far.
pub(super) struct UriAllocator<'a> {
    set: &'a SkillSet,
    directories: HashSet<String>,
    /// Skills by their path below `skill://`.
    taken: BTreeMap<String, usize>,
    /// The same by what the paths say, in whatever Unicode form.
    names: HashMap<String, usize>,
    planned: Vec<Result<Planned, Unpublished>>,
}

impl<'a> UriAllocator<'a> {
    /// `directories` contains the escaped directories that have a skill below them.
    pub(super) fn new(set: &'a SkillSet, directories: HashSet<String>) -> Self {
        Self {
            set,
            directories,
            taken: BTreeMap::new(),
            names: HashMap::new(),
            planned: Vec::with_capacity(set.skills.len()),
        }
    }

    /// Decides about the next skill of the set.
    pub(super) fn place(&mut self, site: Result<Site, Unpublished>) {
        let id = self.planned.len();
        let planned = site.and_then(|site| self.settle(id, &site));
        self.planned.push(planned);
    }

    /// The decisions, in the order of the set.
    pub(super) fn decided(self) -> Vec<Result<Planned, Unpublished>> {
        self.planned
    }

    fn settle(&mut self, id: usize, site: &Site) -> Result<Planned, Unpublished> {
        let skill = &self.set.skills[id];
        let (path, planned) = match skill.dialect {
            Dialect::Folder => {
                let path = join(&site.above, &segment(&site.name));
                if let Some(owner) = self.names.get(&said(&path)) {
                    return Err(Unpublished::Taken(*owner));
                }
                let planned = self.folder(id, &path)?;
                (path, planned)
            }
            Dialect::Tree => {
                if let Some(owner) = self.around(&site.above) {
                    return Err(Unpublished::Overlaps(owner));
                }
                let (path, name) = self.free(site);
                let planned = self.page(id, &path, &name)?;
                (path, planned)
            }
        };
        if let Some(other) = self.disagreeing(id, &path, &planned) {
            return Err(Unpublished::Overlaps(other));
        }
        self.names.insert(said(&path), id);
        self.taken.insert(path, id);
        Ok(planned)
    }

    fn folder(&self, id: usize, path: &str) -> Result<Planned, Unpublished> {
        let skill = &self.set.skills[id];
        let files = (0..skill.files.len()).map(|at| (skill.files[at].path.as_str(), (id, at)));
        Ok(Planned {
            uri: address(&join(path, SKILL_MD)),
            frontmatter: skill.frontmatter_json.clone(),
            generated: None,
            files: self.manifest(path, files)?,
        })
    }

    fn page(&self, id: usize, path: &str, name: &str) -> Result<Planned, Unpublished> {
        let file = generate(self.set, id, name);
        // The nearest file with a path wins, even if it is declared but missing.
        let mut nearest = BTreeMap::new();
        for link in chain(self.set, id).unwrap_or_default() {
            let link = link as usize;
            for (at, file) in self.set.skills[link].files.iter().enumerate() {
                nearest.insert(file.path.as_str(), (link, at));
            }
        }
        Ok(Planned {
            uri: address(&join(path, SKILL_MD)),
            frontmatter: file.frontmatter,
            generated: Some(file.text),
            files: self.manifest(path, nearest.into_iter())?,
        })
    }

    /// The files that have bytes, each under a URI of its own that is not also a directory.
    fn manifest<'f>(
        &self,
        path: &str,
        files: impl Iterator<Item = (&'f str, (usize, usize))>,
    ) -> Result<Vec<PlannedFile>, Unpublished> {
        let directory = address(path);
        let own = join(&directory, SKILL_MD);
        if own.len() > URI_BYTES {
            return Err(Unpublished::File(SKILL_MD.to_owned()));
        }
        let mut by_uri = BTreeMap::from([(own, Origin::SkillMd)]);
        for (file, (skill, at)) in files {
            let Some(bytes) = &self.set.skills[skill].files[at].bytes else {
                continue;
            };
            let refused = || Unpublished::File(file.to_owned());
            let uri = file_uri(&directory, &spelled(file)).ok_or_else(refused)?;
            match by_uri.entry(uri) {
                Entry::Vacant(place) if place.key().len() <= URI_BYTES => {
                    let is_text = mime::is_text(bytes);
                    place.insert(Origin::File { skill, at, is_text });
                }
                _ => return Err(refused()),
            }
        }
        let mut above = by_uri.keys().flat_map(|uri| {
            let inside = uri.get(directory.len() + 1..).unwrap_or_default();
            let start = uri.len() - inside.len();
            inside
                .match_indices('/')
                .map(move |(at, _)| &uri[..start + at])
        });
        if let Some(both) = above.find(|it| by_uri.contains_key(*it)) {
            return Err(Unpublished::File(both[directory.len() + 1..].to_owned()));
        }
        let file = |(uri, origin)| PlannedFile { uri, origin };
        Ok(by_uri.into_iter().map(file).collect())
    }

    /// The path of a page, with a numeric suffix if its preferred path belongs to another skill or
    /// to a directory with other skills in it.
    fn free(&self, site: &Site) -> (String, String) {
        let is_free = |path: &String| {
            !self.names.contains_key(&said(path)) && !self.directories.contains(path)
        };
        let mut name = site.name.clone();
        let mut path = join(&site.above, &segment(&name));
        let mut number = 2;
        while !is_free(&path) {
            name = numbered(&site.name, number);
            path = join(&site.above, &segment(&name));
            number += 1;
        }
        (path, name)
    }

    /// The nearest skill whose directory is this path or an ancestor of it.
    fn around(&self, path: &str) -> Option<usize> {
        let mut path = path;
        while !path.is_empty() {
            if let Some(owner) = self.taken.get(path) {
                return Some(*owner);
            }
            path = parent(path);
        }
        None
    }

    /// An enclosing or nested skill whose files differ in the directory that both share. Such
    /// skills conflict, because a manifest must be complete.
    fn disagreeing<'p>(&'p self, id: usize, path: &str, planned: &'p Planned) -> Option<usize> {
        let same = |outer: (usize, &'p Planned), inner: (usize, &'p Planned), at: &str| {
            let directory = address(at) + "/";
            let there = |file: &&PlannedFile| file.uri.starts_with(&directory);
            let content_of = |(id, planned): (usize, &'p Planned), file: &'p PlannedFile| {
                let skill = &self.set.skills[id];
                (file.uri.as_str(), planned.bytes(self.set, skill, file))
            };
            let files = outer.1.files.iter().filter(there);
            files.map(|file| content_of(outer, file)).eq(inner
                .1
                .files
                .iter()
                .map(|file| content_of(inner, file)))
        };
        let known = |other: usize| Some((other, self.planned.get(other)?.as_ref().ok()?));
        let own = (id, planned);
        let outer = self.around(parent(path)).and_then(known);
        if let Some(outer) = outer.filter(|outer| !same(*outer, own, path)) {
            return Some(outer.0);
        }
        let inside = path.to_owned() + "/";
        self.taken
            .range(inside.clone()..)
            .take_while(|(at, _)| at.starts_with(&inside))
            .find(|(at, inner)| known(**inner).is_some_and(|inner| !same(own, inner, at)))
            .map(|(_, inner)| *inner)
    }
}

/// What a path says: two forms of one name outside of ASCII are one name.
fn said(path: &str) -> String {
    let path = unescaped(path);
    if path.is_ascii() {
        path.into_owned()
    } else {
        fold(&path)
    }
}

/// Hosts look for `SKILL.md` in exactly this case.
fn spelled(file: &str) -> String {
    let (above, last) = file.rsplit_once('/').unwrap_or(("", file));
    if last.eq_ignore_ascii_case(SKILL_MD) {
        join(above, SKILL_MD)
    } else {
        file.to_owned()
    }
}
