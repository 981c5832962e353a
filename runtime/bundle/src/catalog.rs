//! Queries on a bundle. A [`Catalog`] is a checked view of the index: every row it reads is on a
//! page that matches its checksum, and every reference is bounds-checked.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use rkyv::rancor;
use rkyv::vec::ArchivedVec;
use skillbundle_search::keywords::KeywordIndex;
use skillbundle_search::ranker::RankTable;
use skillbundle_search::text::fold;
use skillbundle_search::text_index::TextIndex;

use crate::container::Bundle;
use crate::error::{Error, corrupt};
use crate::identity::{Claim, winners};
use crate::model::Scope;
use crate::names::{addressed, probe};
use crate::schema::{ArchivedIndex, ArchivedRows, ArchivedStr, flag};
use crate::settings::Settings;
use crate::skill::Skill;

/// A view of one bundle's index. Cheap to copy.
#[derive(Clone, Copy)]
pub struct Catalog<'a> {
    pub(crate) bundle: &'a Bundle,
    pub(crate) index: &'a ArchivedIndex,
}

/// A directory that skills were read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Root<'a> {
    /// Its label.
    pub label: &'a str,
    /// Its owner.
    pub scope: Scope,
    /// The commit of a git repository that its files are exactly those of, if that is known.
    pub commit: Option<&'a str>,
    /// Whether a skill in it that is offered declares a script that the server may run.
    pub has_server_scripts: bool,
}

impl<'a> Catalog<'a> {
    pub(crate) fn new(bundle: &'a Bundle) -> Result<Self, Error> {
        let bytes = bundle.index();
        let root_len = size_of::<ArchivedIndex>();
        let root_at = bytes
            .len()
            .checked_sub(root_len)
            .ok_or(corrupt("the index is too short"))?;
        bundle.check_index(root_at, root_len)?;
        // Flat tables of plain integers: this checks the bounds of twelve tables and nothing else,
        // regardless of their length.
        let index = rkyv::access::<ArchivedIndex, rancor::Failure>(bytes)
            .map_err(|_| corrupt("a table is outside the index"))?;
        Ok(Self { bundle, index })
    }

    /// The number of skills that are offered.
    pub fn len(&self) -> usize {
        let offered = self.index.offered.to_native() as usize;
        offered.min(self.index.skills.len())
    }

    /// The number of skills that models are shown.
    pub fn listed_len(&self) -> usize {
        let listed = self.index.listed.to_native() as usize;
        listed.min(self.len())
    }

    /// Whether models are shown this skill.
    pub(crate) fn is_listed(&self, id: u32) -> bool {
        id < self.listed_count()
    }

    /// The number of skills that models are shown as `u32`.
    fn listed_count(&self) -> u32 {
        u32::try_from(self.listed_len()).unwrap_or(u32::MAX)
    }

    /// The number of skills as `u32`, the width of a skill reference.
    pub(crate) fn count(&self) -> u32 {
        u32::try_from(self.len()).unwrap_or(u32::MAX)
    }

    /// Whether no skills are offered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether any skill has files besides its own text.
    pub fn has_files(&self) -> bool {
        !self.index.files.is_empty()
    }

    /// The settings that apply: what content says, as far as the operator allows it.
    pub fn settings(&self) -> Result<Settings, Error> {
        Ok(self.bundle.overrides.apply(self.content_settings()?))
    }

    /// The settings that the content carries. They may ask for more than is allowed.
    pub fn content_settings(&self) -> Result<Settings, Error> {
        let row = &self.index.settings;
        let flags = row.flags.to_native();
        Ok(Settings {
            min_score: row.min_score.to_native(),
            max_results: row.max_results.to_native(),
            ambiguity_threshold: row.ambiguity_threshold.to_native(),
            min_confidence: Some(row.min_confidence.to_native()).filter(|least| *least >= 0.0),
            min_margin: row.min_margin.to_native(),
            refresh_enabled: flags & flag::REFRESH != 0,
            refresh_interval_minutes: row.refresh_interval_minutes.to_native(),
            scripts_enabled: flags & flag::SCRIPTS != 0,
            script_timeout_seconds: row.script_timeout_seconds.to_native(),
            script_max_output_bytes: row.script_max_output_bytes.to_native(),
            script_extensions: self
                .strings(&row.script_extensions)?
                .into_iter()
                .map(str::to_owned)
                .collect(),
            asset_max_bytes: row.asset_max_bytes.to_native(),
            asset_inline_max_bytes: row.asset_inline_max_bytes.to_native(),
            agents: self
                .strings(&row.agents)?
                .into_iter()
                .map(str::to_owned)
                .collect(),
        })
    }

    /// The roots, highest priority first.
    pub fn roots(&self) -> Result<Vec<Root<'a>>, Error> {
        (0..self.index.roots.len())
            .map(|id| self.root(id))
            .collect()
    }

    pub(crate) fn root(&self, id: usize) -> Result<Root<'a>, Error> {
        let row = self.row(&self.index.roots, id)?;
        let flags = row.flags.to_native();
        let global = flags & flag::GLOBAL != 0;
        let commit = self.text(&row.commit)?;
        Ok(Root {
            label: self.text(&row.label)?,
            commit: Some(commit).filter(|it| !it.is_empty()),
            scope: if global {
                Scope::Global
            } else {
                Scope::Project
            },
            has_server_scripts: flags & flag::SERVER_SCRIPTS != 0,
        })
    }

    /// The skill with this id: 0 to [`Self::len`], in listing order, those that models are shown
    /// first; shadowed ones come after.
    pub fn skill(&self, id: u32) -> Result<Skill<'a>, Error> {
        Skill::new(*self, id)
    }

    /// The skills that are not offered, because one of an earlier root has their identity.
    pub fn shadowed(&self) -> impl Iterator<Item = Result<Skill<'a>, Error>> + use<'a> {
        let catalog = *self;
        let all = u32::try_from(self.index.skills.len()).unwrap_or(u32::MAX);
        (catalog.count()..all).map(move |id| catalog.skill(id))
    }

    /// The user's skills that a skill of a project shadows, by the id of the latter.
    pub fn hidden(&self) -> Result<BTreeMap<u32, Vec<Skill<'a>>>, Error> {
        let mut hidden: BTreeMap<u32, Vec<_>> = BTreeMap::new();
        let mut winners = None;
        for loser in self.shadowed() {
            let loser = loser?;
            if loser.scope == Scope::Global
                && let Some(winner) = loser.winner(&mut winners)?
                && winner.scope == Scope::Project
            {
                hidden.entry(winner.id).or_default().push(loser);
            }
        }
        Ok(hidden)
    }

    /// For each shadowed skill the one that is offered instead, by their ids. One pass over all
    /// skills; [`Skill::shadowed_by`] is faster for one.
    pub(crate) fn winners(&self) -> Result<HashMap<u32, u32>, Error> {
        let skills = self.skills().chain(self.shadowed());
        let mut skills = skills.collect::<Result<Vec<_>, _>>()?;
        skills.sort_by_key(|skill| (skill.root, skill.id));
        let claims = skills.iter().map(|skill| Claim {
            name: skill.name,
            path: skill.own_path(),
            dialect: skill.dialect,
            root: skill.root,
        });
        let winners = winners(&claims.collect::<Vec<_>>());
        let pairs = skills.iter().zip(winners);
        Ok(pairs
            .filter_map(|(loser, winner)| Some((loser.id, skills[winner?].id)))
            .collect())
    }

    /// Every offered skill in listing order.
    pub fn skills(&self) -> impl Iterator<Item = Result<Skill<'a>, Error>> + use<'a> {
        let catalog = *self;
        (0..catalog.count()).map(move |id| catalog.skill(id))
    }

    /// Every skill that models are shown, in listing order.
    pub fn listed(&self) -> impl Iterator<Item = Result<Skill<'a>, Error>> + use<'a> {
        let catalog = *self;
        (0..catalog.listed_count()).map(move |id| catalog.skill(id))
    }

    /// The skill that a client names: by its path or, for those who know no more, by its name.
    pub fn find(&self, typed: &str) -> Result<Option<Skill<'a>>, Error> {
        match self.by_path(typed.trim().trim_matches('/'))? {
            None => self.by_name(typed),
            found => Ok(found),
        }
    }

    /// The skill with exactly this path.
    pub fn by_path(&self, path: &str) -> Result<Option<Skill<'a>>, Error> {
        let slots = &self.index.path_slots;
        for at in probe(path, slots.len()) {
            let Some(id) = self.row(slots, at)?.to_native().checked_sub(1) else {
                return Ok(None);
            };
            if self.path_of(id)? == path {
                return self.skill(id).map(Some);
            }
        }
        Ok(None)
    }

    /// The offered skill with exactly this path.
    fn by_offered_path(&self, path: &str) -> Result<Option<Skill<'a>>, Error> {
        let found = self.by_path(path.trim())?;
        Ok(found.filter(|skill| !skill.is_shadowed()))
    }

    /// The skill that `name` resolves to. A shadowed skill has an address and no name. Order of precedence: an address (`skill://` and a path);
    /// the trimmed and lower-cased name; the exact path; the path in lower case.
    pub fn by_name(&self, name: &str) -> Result<Option<Skill<'a>>, Error> {
        if let Some(path) = addressed(name)
            && let Some(skill) = self.by_addressed_path(path)?
        {
            return Ok(Some(skill));
        }
        let Some((skill, is_path)) = self.by_key(&fold(name))? else {
            return self.by_offered_path(name);
        };
        let exact = if is_path {
            self.by_offered_path(name)?
        } else {
            None
        };
        exact.map_or_else(|| self.skill(skill), Ok).map(Some)
    }

    /// The id of the skill that has this folded key, and whether the key is its path.
    fn by_key(&self, key: &str) -> Result<Option<(u32, bool)>, Error> {
        let slots = &self.index.name_slots;
        for at in probe(key, slots.len()) {
            let Some(id) = self.row(slots, at)?.to_native().checked_sub(1) else {
                return Ok(None);
            };
            let row = self.row(&self.index.names, id as usize)?;
            if self.text(&row.key)? == key {
                let is_path = row.flags.to_native() & flag::PATH != 0;
                return Ok(Some((row.skill.to_native(), is_path)));
            }
        }
        Ok(None)
    }

    /// Trailing white space after an address is most likely a mistake. An address outside of ASCII
    /// also finds the path in another Unicode form.
    fn by_addressed_path(&self, path: &str) -> Result<Option<Skill<'a>>, Error> {
        if let Some(found) = self.by_path(path)? {
            return Ok(Some(found));
        }
        let key = fold(path);
        match self.by_key(&key)?.filter(|_| !key.is_ascii()) {
            Some((id, _)) if fold(self.path_of(id)?) == key => self.skill(id).map(Some),
            _ => self.by_path(path.trim_end()),
        }
    }

    fn path_of(&self, id: u32) -> Result<&'a str, Error> {
        self.text(&self.row(&self.index.skills, id as usize)?.path)
    }

    /// One row of a table.
    pub(crate) fn row<T>(&self, table: &'a ArchivedVec<T>, id: usize) -> Result<&'a T, Error> {
        let row = table.get(id).ok_or(corrupt("table index out of range"))?;
        self.check(std::ptr::from_ref(row).addr(), size_of::<T>())?;
        Ok(row)
    }

    /// A range of rows of a table.
    pub(crate) fn rows<T>(
        &self,
        table: &'a ArchivedVec<T>,
        rows: &ArchivedRows,
    ) -> Result<&'a [T], Error> {
        let (start, len) = (
            rows.start.to_native() as usize,
            rows.len.to_native() as usize,
        );
        let slice = start.checked_add(len).and_then(|end| table.get(start..end));
        let slice = slice.ok_or(corrupt("a range exceeds its table"))?;
        self.check(slice.as_ptr().addr(), size_of_val(slice))?;
        Ok(slice)
    }

    /// A text of the string heap.
    pub(crate) fn text(&self, text: &ArchivedStr) -> Result<&'a str, Error> {
        let (start, len) = (
            text.start.to_native() as usize,
            text.len.to_native() as usize,
        );
        self.part(&self.index.heap, start..start.saturating_add(len))
    }

    pub(crate) fn strings(&self, rows: &ArchivedRows) -> Result<Vec<&'a str>, Error> {
        self.rows(&self.index.strings, rows)?
            .iter()
            .map(|text| self.text(text))
            .collect()
    }

    /// The index of declared keywords.
    pub(crate) fn keyword_index(&self) -> Result<KeywordIndex<'a>, Error> {
        let columns = self.columns(&self.index.keywords, &self.bundle.keywords_intact)?;
        Ok(KeywordIndex::open(columns)?)
    }

    /// The index of words.
    pub(crate) fn text_index(&self) -> Result<TextIndex<'a>, Error> {
        let columns = self.columns(&self.index.words, &self.bundle.text_index_intact)?;
        Ok(TextIndex::open(columns, self.count())?)
    }

    /// The postings of the ranker.
    pub(crate) fn rank_table(&self) -> Result<RankTable<'a>, Error> {
        let columns = self.columns(&self.index.ranks, &self.bundle.ranks_intact)?;
        Ok(RankTable::open(columns, self.listed_count())?)
    }

    /// Columns, whose pages are all checked on first use because a query reads all over them.
    fn columns<const N: usize>(
        &self,
        columns: &'a [ArchivedVec<u8>; N],
        intact: &OnceLock<bool>,
    ) -> Result<[&'a [u8]; N], Error> {
        let check = |column: &ArchivedVec<u8>| self.check(column.as_ptr().addr(), column.len());
        if *intact.get_or_init(|| columns.iter().try_for_each(check).is_ok()) {
            Ok(columns.each_ref().map(ArchivedVec::as_slice))
        } else {
            Err(corrupt("a search index does not match its checksums"))
        }
    }

    /// Part of a column of text.
    pub(crate) fn part(
        &self,
        column: &'a ArchivedVec<u8>,
        range: std::ops::Range<usize>,
    ) -> Result<&'a str, Error> {
        let bytes = column.get(range);
        let bytes = bytes.ok_or(corrupt("the range of a text is outside its column"))?;
        self.check(bytes.as_ptr().addr(), bytes.len())?;
        std::str::from_utf8(bytes).map_err(|_| corrupt("a text is not UTF-8"))
    }

    /// Checks the pages at an address that rkyv has validated to be inside the index.
    fn check(&self, address: usize, len: usize) -> Result<(), Error> {
        let base = self.bundle.index().as_ptr().addr();
        self.bundle.check_index(address.wrapping_sub(base), len)
    }
}

impl std::fmt::Debug for Catalog<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Catalog({} skills)", self.len())
    }
}
