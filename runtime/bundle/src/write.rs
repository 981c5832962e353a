//! Turns a [`SkillSet`] into the bytes of a bundle. The output is deterministic: the same set
//! produces the same bytes on every machine. Nothing here depends on the clock, the environment or
//! the iteration order of an unordered map.

use std::borrow::Cow;
use std::collections::HashMap;

use rkyv::rancor;
use sha2::{Digest, Sha256};
use skillbundle_search::ranker::{self, Document};
use skillbundle_search::text::fold;
use skillbundle_search::text_index::{self, DocText};
use skillbundle_search::{keywords, parallel};

use crate::blobs::{Blob, Blobs};
use crate::content::chain;
use crate::contract::{Category, ContractEntry};
use crate::error::Error;
use crate::frontmatter_terms::FrontmatterTerms;
use crate::header::VERSION;
use crate::image::Image;
use crate::model::{
    ArgEntry, Audience, Dialect, Execution, FileEntry, Role, RootEntry, Scope, SkillEntry, SkillSet,
};
use crate::names::{ADDRESS, addressed, one_line, slots};
use crate::schema::{
    ArgRow, ContractRow, FINGERPRINT, FileRow, Index, NONE, NameRow, ResourceRow, RootRow, Rows,
    SettingsRow, SkillRow, Str, flag,
};
use crate::settings::Settings;
use crate::{extension, mime};

/// Writes `set` as a bundle.
///
/// # Errors
/// [`Error::Invalid`] if the set is inconsistent: a duplicate path, an offered skill after a shadowed
/// one, a parent or root that does not exist, a cycle of parents, text that is not UTF-8.
pub fn write(set: &SkillSet) -> Result<Vec<u8>, Error> {
    Ok(lay_out(set)?.to_vec())
}

/// Lays `set` out as a bundle, without a copy of its texts and files.
///
/// # Errors
/// See [`write()`].
pub fn lay_out(set: &SkillSet) -> Result<Image<'_>, Error> {
    let mut writer = Writer::default();
    let index = writer.index(set)?;
    let index = rkyv::to_bytes::<rancor::Error>(&index)
        .map_err(|error| Error::Invalid(error.to_string()))?;
    let address = content_address(&index);
    let Blobs { body, files, .. } = writer.blobs;
    Ok(Image::new(address, index, body, files))
}

/// INDEX contains the SHA-256 of every body and file, so this hash covers them too.
pub(crate) fn content_address(index: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(VERSION.to_le_bytes());
    hash.update(FINGERPRINT.to_le_bytes());
    hash.update(index);
    hash.finalize().into()
}

/// Fewer skills are prepared faster than a thread starts.
const LEAST: usize = 16;

/// What the tables need of one skill and can be computed without the others.
struct Prepared<'a> {
    source: Blob<'a>,
    /// In the order of the set, each with whether it is text; `None` if the file is missing.
    files: Vec<Option<(Blob<'a>, bool)>>,
}

impl<'a> Prepared<'a> {
    fn of(skill: &'a SkillEntry) -> Result<Self, Error> {
        let file = |file: &'a FileEntry| {
            let Some(bytes) = &file.bytes else {
                return Ok(None);
            };
            Blob::file(bytes).map(|blob| Some((blob, mime::is_text(bytes))))
        };
        Ok(Self {
            source: Blob::body(&*skill.source),
            files: skill.files.iter().map(file).collect::<Result<_, _>>()?,
        })
    }
}

/// The columns of the search indexes.
struct Search {
    keywords: [Vec<u8>; keywords::COLUMNS],
    words: [Vec<u8>; text_index::COLUMNS],
    ranks: [Vec<u8>; ranker::COLUMNS],
}

impl Search {
    fn build(set: &SkillSet, terms: &[FrontmatterTerms]) -> Result<Self, Error> {
        let documents: Vec<_> = set
            .offered()
            .iter()
            .map(document)
            .collect::<Result<_, _>>()?;
        let ranked = set.listed().iter().zip(terms).map(ranked);
        let ranked: Vec<_> = ranked.collect::<Result<_, _>>()?;
        let (ranks, words) =
            parallel::join(|| ranker::build(&ranked), || text_index::build(&documents));
        Ok(Self {
            keywords: keywords::build(&keyword_lists(set))?,
            words: words?,
            ranks: ranks?,
        })
    }
}

/// The declared keywords of each skill. Empty for folder-dialect skills, whose keywords the ranker
/// indexes.
fn keyword_lists(set: &SkillSet) -> Vec<Vec<String>> {
    let declared = |skill: &SkillEntry| match skill.dialect {
        Dialect::Tree => skill.keywords.clone(),
        Dialect::Folder => Vec::new(),
    };
    set.listed().iter().map(declared).collect()
}

/// For each root, whether a skill in it that is offered declares a script that the server may run.
fn roots_with_server_scripts(set: &SkillSet) -> Vec<bool> {
    let mut has = vec![false; set.roots.len()];
    for skill in set.skills.iter().filter(|it| !it.shadowed) {
        let is_for_server =
            |file: &FileEntry| file.role == Role::Script && file.execution == Execution::Server;
        if skill.files.iter().any(is_for_server)
            && let Some(has) = has.get_mut(skill.root as usize)
        {
            *has = true;
        }
    }
    has
}

/// The text that the search of spec 4 covers.
fn document(skill: &SkillEntry) -> Result<DocText<'_>, Error> {
    Ok(DocText {
        install_name: skill.path.rsplit('/').next().unwrap_or(&skill.path),
        name: &skill.name,
        description: &skill.description,
        body: utf8(skill, skill.body.clone())?,
    })
}

/// The text that the ranker indexes.
fn ranked<'a>(
    (skill, declared): (&'a SkillEntry, &'a FrontmatterTerms),
) -> Result<Document<'a>, Error> {
    Ok(Document {
        path: Cow::Borrowed(&skill.path),
        name: Cow::Borrowed(&skill.name),
        keywords: Cow::Borrowed(&declared.keywords),
        description: format!("{}\n{}", skill.description, declared.when_to_use).into(),
        body: Cow::Borrowed(utf8(skill, skill.body.clone())?),
        is_tree: skill.dialect == Dialect::Tree,
    })
}

fn utf8(skill: &SkillEntry, range: std::ops::Range<usize>) -> Result<&str, Error> {
    skill
        .source
        .get(range)
        .and_then(|bytes| std::str::from_utf8(bytes).ok())
        .ok_or_else(|| {
            Error::Invalid(format!(
                "the text of {:?} is not UTF-8 or its body lies outside it",
                skill.path
            ))
        })
}

#[derive(Default)]
struct Writer<'a> {
    heap: Vec<u8>,
    interned: HashMap<String, Str>,
    strings: Vec<Str>,
    chains: Vec<u32>,
    files: Vec<FileRow>,
    args: Vec<ArgRow>,
    contracts: Vec<ContractRow>,
    blobs: Blobs<'a>,
    /// The blobs of each skill: its Markdown file, then its files in the order of the set.
    contents: Vec<extension::Contents>,
}

impl<'a> Writer<'a> {
    fn index(&mut self, set: &'a SkillSet) -> Result<Index, Error> {
        let terms = parallel::map(&set.skills, LEAST, FrontmatterTerms::of);
        let (search, tables) =
            parallel::join(|| Search::build(set, &terms), || self.tables(set, &terms));
        let (mut index, search) = (tables?, search?);
        index.keywords = search.keywords;
        index.words = search.words;
        index.ranks = search.ranks;
        Ok(index)
    }

    /// Everything except the search indexes.
    fn tables(&mut self, set: &'a SkillSet, terms: &[FrontmatterTerms]) -> Result<Index, Error> {
        let settings = self.settings(&set.settings)?;
        let roots = set
            .roots
            .iter()
            .zip(roots_with_server_scripts(set))
            .map(|(root, has_server_scripts)| self.root(root, has_server_scripts))
            .collect::<Result<_, _>>()?;
        check_paths(set)?;
        let owners = Owners::new(set);
        let prepared = parallel::map(&set.skills, LEAST, Prepared::of);
        let skills = (0..).zip(prepared.into_iter().zip(terms));
        let skills = skills
            .map(|(id, (prepared, terms))| self.skill(set, id, &owners, prepared?, terms))
            .collect::<Result<_, _>>()?;
        let names = owners
            .rows
            .iter()
            .map(|row| self.name(row))
            .collect::<Result<_, _>>()?;
        let ranking = ranking(set.offered());
        let published = extension::build(set, &ranking, &self.contents, &mut self.blobs)?;
        let resources = published
            .resources
            .iter()
            .map(|(uri, row)| self.resource(uri, row))
            .collect::<Result<_, _>>()?;
        Ok(Index {
            settings,
            roots,
            skills,
            listed: narrow(set.listed().len())?,
            offered: narrow(set.offered().len())?,
            ranking,
            names,
            path_slots: slots(set.skills.iter().map(|skill| skill.path.as_str())),
            name_slots: slots(owners.rows.iter().map(|(key, ..)| key.as_str())),
            heap: std::mem::take(&mut self.heap),
            strings: std::mem::take(&mut self.strings),
            chains: std::mem::take(&mut self.chains),
            files: std::mem::take(&mut self.files),
            args: std::mem::take(&mut self.args),
            contracts: std::mem::take(&mut self.contracts),
            blobs: std::mem::take(&mut self.blobs.rows),
            published: published.skills,
            published_listed: narrow(published.listed)?,
            published_by_name: published.by_name,
            published_by_skill: published.by_skill,
            resources,
            entries: published.entries,
            ..Index::default()
        })
    }

    fn settings(&mut self, settings: &Settings) -> Result<SettingsRow, Error> {
        Ok(SettingsRow {
            min_score: settings.min_score,
            ambiguity_threshold: settings.ambiguity_threshold,
            min_confidence: settings.min_confidence.unwrap_or(-1.0),
            min_margin: settings.min_margin,
            script_max_output_bytes: settings.script_max_output_bytes,
            asset_max_bytes: settings.asset_max_bytes,
            asset_inline_max_bytes: settings.asset_inline_max_bytes,
            max_results: settings.max_results,
            refresh_interval_minutes: settings.refresh_interval_minutes,
            script_timeout_seconds: settings.script_timeout_seconds,
            flags: bit(settings.refresh_enabled, flag::REFRESH)
                | bit(settings.scripts_enabled, flag::SCRIPTS),
            script_extensions: self.string_list(&settings.script_extensions)?,
            agents: self.string_list(&settings.agents)?,
        })
    }

    fn root(&mut self, root: &RootEntry, has_server_scripts: bool) -> Result<RootRow, Error> {
        Ok(RootRow {
            label: self.intern(&root.label)?,
            commit: self.intern(root.commit.as_deref().unwrap_or_default())?,
            flags: bit(root.scope == Scope::Global, flag::GLOBAL)
                | bit(has_server_scripts, flag::SERVER_SCRIPTS),
        })
    }

    fn skill(
        &mut self,
        set: &SkillSet,
        id: usize,
        owners: &Owners<'_>,
        prepared: Prepared<'a>,
        terms: &FrontmatterTerms,
    ) -> Result<SkillRow, Error> {
        let skill = &set.skills[id];
        let invalid = |what: &str| Error::Invalid(format!("{what} of {:?}", skill.path));
        if skill.root as usize >= set.roots.len() {
            return Err(invalid("missing root: the root"));
        }
        utf8(skill, 0..skill.source.len())?;
        utf8(skill, skill.text_start..skill.source.len())?;
        utf8(skill, skill.body.clone())?;
        let chain =
            chain(set, id).ok_or_else(|| invalid("cycle or missing skill in the parents"))?;
        let source = self.blobs.add(prepared.source)?;
        let (files, blobs) = self.file_list(skill, prepared.files)?;
        self.contents.push(extension::Contents {
            source,
            files: blobs,
        });
        Ok(SkillRow {
            priority: skill.priority,
            path: self.intern(&skill.path)?,
            name: self.intern(&skill.name)?,
            callable: self.intern(&owners.callable(skill))?,
            description: self.intern(&skill.description)?,
            summary: self.intern(&one_line(&skill.description))?,
            file_path: self.intern(&skill.file_path)?,
            frontmatter: self.intern(&skill.frontmatter_json)?,
            chain: append(&mut self.chains, chain)?,
            keywords: self.string_list(&skill.keywords)?,
            labels: self.string_list(&terms.labels)?,
            phrases: self.string_list(&terms.phrases)?,
            arguments: self.string_list(&terms.arguments)?,
            argument_hint: self.intern(&terms.argument_hint)?,
            files,
            root: skill.root,
            parent: skill.parent.unwrap_or(NONE),
            source,
            text_start: narrow(skill.text_start)?,
            body_start: narrow(skill.body.start)?,
            body_end: narrow(skill.body.end)?,
            flags: bit(skill.dialect == Dialect::Tree, flag::TREE)
                | bit(skill.inherit, flag::INHERIT)
                | bit(skill.recovered, flag::RECOVERED)
                | bit(terms.is_hidden, flag::HIDDEN)
                | bit(skill.shadowed, flag::SHADOWED)
                | bit(skill.audience == Audience::People, flag::PEOPLE)
                | bit(skill.audience == Audience::Nobody, flag::NOBODY),
            prefix: narrow(skill.prefix)?,
            contract: match &skill.contract {
                Some(contract) => self.contract(id, contract)?,
                None => NONE,
            },
        })
    }

    fn contract(&mut self, skill: usize, contract: &ContractEntry) -> Result<u32, Error> {
        let category = Category::ALL.iter().position(|it| *it == contract.category);
        let modes = contract.failure_modes.iter();
        let row = ContractRow {
            skill: narrow(skill)?,
            category: narrow(category.unwrap_or(usize::MAX))?,
            failure_modes: modes.fold(0, |all, it| all | it.bit()),
            timeout_seconds: contract.timeout_seconds,
            assigned_to: self.string_list(&contract.assigned_to)?,
            success_criteria: self.string_list(&contract.success_criteria)?,
            input_schema: self.intern(&contract.input_schema)?,
            output_schema: self.intern(&contract.output_schema)?,
            handler: self.intern(contract.handler.as_deref().unwrap_or_default())?,
        };
        let id = narrow(self.contracts.len())?;
        self.contracts.push(row);
        Ok(id)
    }

    /// The rows of the skill's files sorted by path, and their blobs in the order of the set.
    fn file_list(
        &mut self,
        skill: &SkillEntry,
        mut prepared: Vec<Option<(Blob<'a>, bool)>>,
    ) -> Result<(Rows, Vec<u32>), Error> {
        let mut order: Vec<usize> = (0..skill.files.len()).collect();
        order.sort_by_key(|at| &skill.files[*at].path);
        let path = |at: &usize| &skill.files[*at].path;
        let is_twice = |pair: &[usize]| path(&pair[0]) == path(&pair[1]);
        if let Some([twice, _]) = order.windows(2).find(|pair| is_twice(pair)) {
            return Err(Error::Invalid(format!(
                "{:?} has the file {:?} twice",
                skill.path,
                path(twice)
            )));
        }
        let mut blobs = vec![NONE; order.len()];
        let mut rows = Vec::with_capacity(order.len());
        for at in order {
            let row = self.file(&skill.files[at], prepared[at].take())?;
            blobs[at] = row.blob;
            rows.push(row);
        }
        Ok((append(&mut self.files, rows)?, blobs))
    }

    fn file(
        &mut self,
        file: &FileEntry,
        prepared: Option<(Blob<'a>, bool)>,
    ) -> Result<FileRow, Error> {
        let is_text = prepared.as_ref().is_none_or(|(_, is_text)| *is_text);
        let args: Vec<_> = file
            .args
            .iter()
            .map(|arg| self.arg(arg))
            .collect::<Result<_, _>>()?;
        Ok(FileRow {
            path: self.intern(&file.path)?,
            kind: self.intern(&file.kind)?,
            description: self.intern(&file.description)?,
            mime: self.intern(mime::type_of(&file.path, is_text))?,
            args: append(&mut self.args, args)?,
            blob: match (prepared, file.unread) {
                (Some((blob, _)), _) => self.blobs.add(blob)?,
                (None, Some(size)) => self.blobs.add_unread(size)?,
                (None, None) => NONE,
            },
            flags: bit(file.role == Role::Asset, flag::ASSET)
                | bit(file.role == Role::Script, flag::SCRIPT)
                | bit(file.execution == Execution::Server, flag::SERVER)
                | bit(file.executable, flag::EXECUTABLE)
                | bit(mime::is_binary(&file.path), flag::BINARY)
                | bit(is_text, flag::TEXT),
        })
    }

    fn arg(&mut self, arg: &ArgEntry) -> Result<ArgRow, Error> {
        Ok(ArgRow {
            name: self.intern(&arg.name)?,
            description: self.intern(&arg.description)?,
            default: self.intern(arg.default.as_deref().unwrap_or_default())?,
            flags: bit(arg.required, flag::REQUIRED) | bit(arg.default.is_some(), flag::DEFAULT),
        })
    }

    fn name(&mut self, (key, skill, flags): &(String, u32, u32)) -> Result<NameRow, Error> {
        Ok(NameRow {
            key: self.intern(key)?,
            skill: *skill,
            flags: *flags,
        })
    }

    fn resource(
        &mut self,
        uri: &str,
        row: &extension::ResourceEntry,
    ) -> Result<ResourceRow, Error> {
        Ok(ResourceRow {
            uri: self.intern(uri)?,
            blob: row.blob,
            owner: narrow(row.owner)?,
            flags: bit(row.is_text, flag::RESOURCE_TEXT),
        })
    }

    fn string_list(&mut self, texts: &[String]) -> Result<Rows, Error> {
        let rows: Vec<_> = texts
            .iter()
            .map(|text| self.intern(text))
            .collect::<Result<_, _>>()?;
        append(&mut self.strings, rows)
    }

    fn intern(&mut self, text: &str) -> Result<Str, Error> {
        if let Some(known) = self.interned.get(text) {
            return Ok(known.clone());
        }
        let row = Str {
            start: narrow(self.heap.len())?,
            len: narrow(text.len())?,
        };
        narrow(self.heap.len() + text.len())?;
        self.heap.extend_from_slice(text.as_bytes());
        self.interned.insert(text.to_owned(), row.clone());
        Ok(row)
    }
}

/// Resolution of folded names to skills: names first, in listing order, then paths that are not
/// taken by a name. Must agree with `Catalog::by_name`.
struct Owners<'a> {
    /// Skills with a smaller id are offered; the others are found by their address only.
    offered: u32,
    rows: Vec<(String, u32, u32)>,
    /// Skill id and flags by key.
    by_key: HashMap<String, (u32, u32)>,
    by_path: HashMap<&'a str, u32>,
    skills: &'a [SkillEntry],
}

impl<'a> Owners<'a> {
    fn new(set: &'a SkillSet) -> Self {
        let skills = set.offered();
        let mut owners = Self {
            skills: &set.skills,
            offered: u32::try_from(skills.len()).unwrap_or(u32::MAX),
            rows: Vec::new(),
            by_key: HashMap::new(),
            by_path: (0..)
                .zip(&set.skills)
                .map(|(id, skill)| (skill.path.as_str(), id))
                .collect(),
        };
        for (id, skill) in (0..).zip(skills) {
            owners.claim(fold(&skill.name), id, 0);
        }
        for (id, skill) in (0..).zip(skills) {
            owners.claim(fold(&skill.path), id, flag::PATH);
        }
        owners
    }

    fn claim(&mut self, key: String, id: u32, flags: u32) {
        if !self.by_key.contains_key(&key) {
            self.by_key.insert(key.clone(), (id, flags));
            self.rows.push((key, id, flags));
        }
    }

    fn find(&self, name: &str) -> Option<u32> {
        let at = |path: &str| self.by_path.get(path).copied();
        if let Some(path) = addressed(name)
            && let Some(id) = at(path)
                .or_else(|| self.in_other_form(path))
                .or_else(|| at(path.trim_end()))
        {
            return Some(id);
        }
        let at = |path: &str| at(path).filter(|id| *id < self.offered);
        match self.by_key.get(&fold(name)) {
            Some((id, flag::PATH)) => at(name.trim()).or(Some(*id)),
            Some((id, _)) => Some(*id),
            None => at(name.trim()),
        }
    }

    /// The skill whose path outside of ASCII is this one in another Unicode form.
    fn in_other_form(&self, path: &str) -> Option<u32> {
        let key = fold(path);
        let (id, _) = *self.by_key.get(&key).filter(|_| !key.is_ascii())?;
        let skill = self.skills.get(id as usize)?;
        (fold(&skill.path) == key).then_some(id)
    }

    /// The name that resolves to exactly this skill: its name, else its path, else its address,
    /// which is always unique.
    fn callable(&self, skill: &'a SkillEntry) -> Cow<'a, str> {
        let id = self.by_path.get(skill.path.as_str()).copied();
        [&skill.name, &skill.path]
            .into_iter()
            .find(|name| self.find(name) == id)
            .map_or_else(
                || format!("{ADDRESS}{}", skill.path).into(),
                |name| name.as_str().into(),
            )
    }
}

/// Higher priority first, then listing order; those that models are not shown come last.
fn ranking(skills: &[SkillEntry]) -> Vec<u32> {
    let mut ranking: Vec<(u32, &SkillEntry)> = (0..).zip(skills).collect();
    ranking.sort_by(|(_, a), (_, b)| {
        let by_audience = a.audience.cmp(&b.audience);
        by_audience.then(b.priority.total_cmp(&a.priority))
    });
    ranking.into_iter().map(|(id, _)| id).collect()
}

fn check_paths(set: &SkillSet) -> Result<(), Error> {
    let mut pairs = set.skills.windows(2);
    if let Some([_, skill]) = pairs.find(|it| it[0].position() > it[1].position()) {
        let message = format!("{:?} is not in its place in the listing order", skill.path);
        return Err(Error::Invalid(message));
    }
    let mut seen = std::collections::HashSet::new();
    match set.skills.iter().find(|skill| !seen.insert(&skill.path)) {
        Some(skill) => Err(Error::Invalid(format!(
            "two skills have the path {:?}",
            skill.path
        ))),
        None => Ok(()),
    }
}

fn append<T>(table: &mut Vec<T>, rows: Vec<T>) -> Result<Rows, Error> {
    let range = Rows {
        start: narrow(table.len())?,
        len: narrow(rows.len())?,
    };
    table.extend(rows);
    Ok(range)
}

pub(crate) fn narrow(value: usize) -> Result<u32, Error> {
    u32::try_from(value).map_err(|_| Error::Invalid("the index would exceed 4 GiB".into()))
}

const fn bit(set: bool, bit: u32) -> u32 {
    if set { bit } else { 0 }
}
