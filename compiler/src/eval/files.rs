//! Collects requests from evaluation files below the roots and from `triggers` in
//! frontmatter, and resolves the skills that they name. A request that is malformed
//! or names an unknown skill is reported and skipped.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::value::RawValue;
use skillbundle_format::{Catalog, Dialect, Error, SkillEntry, SkillSet};

use super::capped;
use super::replay::EvalCase;
use super::shapes::{self, ListKind, Listed, Lists, Request, Verdict};
use crate::MAX_TEXT_BYTES;
use crate::diagnostic::{Code, Diagnostic, Severity, Span};
use crate::frontmatter::{self, Node, NodeKind, keys::TRIGGERS};
use crate::paths::{ancestors, directory, file_name, stem};
use crate::report::Report;
use crate::source::{self, FileId, Relevance, Tree, is_below_hidden};

/// The evaluation files below some roots, as they were read.
#[derive(Debug, Clone, Default)]
pub struct Requests {
    /// The directories of the roots, as the user would type them.
    dirs: Vec<PathBuf>,
    files: Vec<RequestFile>,
    unread: Vec<Diagnostic>,
}

/// An evaluation file.
#[derive(Debug, Clone)]
struct RequestFile {
    root: usize,
    path: String,
    kind: ListKind,
    bytes: Arc<[u8]>,
}

/// All collected requests.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) cases: Vec<EvalCase>,
    /// The files that they come from.
    pub(super) files: Vec<String>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// Help for malformed evaluation files.
const FORM: &str = "write `[{\"request\": \"…\", \"expect\": \"path/of/skill\"}]` in a `routing.json`, \
    or `[{\"query\": \"…\", \"should_trigger\": true}]` in a `trigger-eval.json` in the skill's folder";

/// Help for malformed `triggers`.
const TRIGGERS_FORM: &str =
    "write a list of requests, or lists of them under `positive` and `negative`";

/// A file of so many requests, none of which can be read, is one of another program.
const FOREIGN: usize = 4;

impl Requests {
    /// Reads the evaluation files of a tree.
    pub(crate) fn read(tree: &mut Tree) -> Self {
        let found = evaluation_files(tree);
        tree.read(found.iter().map(|(id, _)| *id), MAX_TEXT_BYTES);
        let mut requests = Self {
            dirs: tree.roots.iter().map(|root| root.dir.clone()).collect(),
            files: Vec::new(),
            unread: unread(tree),
        };
        for (id, kind) in found {
            let entry = tree.entry(id);
            let Some(bytes) = &entry.bytes else {
                continue;
            };
            // As a file of a skill, it was read whatever its size.
            if bytes.len() as u64 > MAX_TEXT_BYTES {
                requests.unread.push(too_large(tree.shown(id), bytes.len()));
                continue;
            }
            requests.files.push(RequestFile {
                root: id.root,
                path: entry.path.clone(),
                kind,
                bytes: Arc::clone(bytes),
            });
        }
        requests
    }

    /// Whether neither a file nor a skill of the set has requests, so that no bundle is needed to
    /// replay them.
    pub fn is_empty(&self, set: &SkillSet) -> bool {
        let key = format!("\"{TRIGGERS}\":");
        let mut skills = set.skills.iter();
        self.files.is_empty()
            && self.unread.is_empty()
            && !skills.any(|skill| skill.frontmatter_json.contains(&key))
    }

    /// Drops the files of roots that are not wanted, by their index.
    pub fn retain_roots(&mut self, wanted: impl Fn(usize) -> bool) {
        self.files.retain(|file| wanted(file.root));
        let dirs = (0..).zip(&self.dirs).filter(|(root, _)| !wanted(*root));
        let prefixes: Vec<String> = dirs.map(|(_, dir)| source::shown(dir, "x")).collect();
        self.unread.retain(|it| {
            let is_below = |prefix: &String| it.file.starts_with(prefix.trim_end_matches('x'));
            !prefixes.iter().any(is_below)
        });
    }

    /// Collects all requests, each once, since copies of a file are common.
    pub(crate) fn collect(
        &self,
        set: &SkillSet,
        catalog: &Catalog<'_>,
    ) -> Result<Collected, Error> {
        let mut collector = Collector {
            catalog,
            homes: homes(set),
            seen: HashSet::new(),
            known: HashMap::new(),
            found: Vec::new(),
            out: Collected::default(),
        };
        collector.out.diagnostics.clone_from(&self.unread);
        for file in &self.files {
            collector.file(file, self.shown(file.root, &file.path))?;
            collector.report();
        }
        for skill in &set.skills {
            let shown = self.shown(skill.root as usize, &skill.file_path);
            collector.triggers(&shown, skill)?;
            collector.report();
        }
        collector.out.files.sort();
        Ok(collector.out)
    }

    /// A report of diagnostics about evaluation files and the files of skills.
    pub(crate) fn report(&self, diagnostics: Vec<Diagnostic>, set: &SkillSet) -> Report {
        let mut sources = HashMap::new();
        if diagnostics.iter().any(|it| it.span.is_some()) {
            for skill in &set.skills {
                let shown = self.shown(skill.root as usize, &skill.file_path);
                sources.insert(shown, &skill.source);
            }
            for file in &self.files {
                sources.insert(self.shown(file.root, &file.path), &file.bytes);
            }
        }
        Report::new(diagnostics, |name| {
            sources.get(name).map(|it| Arc::clone(it))
        })
    }

    /// A file of a root as the user would type it.
    pub(crate) fn shown(&self, root: usize, path: &str) -> String {
        match self.dirs.get(root) {
            Some(dir) => source::shown(dir, path),
            None => path.to_owned(),
        }
    }
}

/// The evaluation files of all roots, except those in dot folders.
fn evaluation_files(tree: &Tree) -> Vec<(FileId, ListKind)> {
    let mut files = Vec::new();
    for (root, it) in tree.roots.iter().enumerate() {
        for (entry, it) in it.entries.iter().enumerate() {
            let kind = shapes::kind(file_name(&it.path));
            if let Some(kind) = kind.filter(|_| !it.is_directory && !is_below_hidden(&it.path)) {
                files.push((FileId { root, entry }, kind));
            }
        }
    }
    files
}

/// Read errors of evaluation files.
fn unread(tree: &Tree) -> Vec<Diagnostic> {
    let mut diagnostics = source::diagnostics(tree, true, |_, _| Relevance::Input);
    diagnostics.retain(|it| shapes::kind(file_name(&it.file)).is_some());
    diagnostics
}

fn too_large(file: String, size: usize) -> Diagnostic {
    let message =
        format!("its requests are left out: it has {size} bytes, the limit is {MAX_TEXT_BYTES}");
    Diagnostic::new(Code::FileTooLarge, file, message).help("split it into several files")
}

/// The path of each skill by its root and its own directory.
fn homes(set: &SkillSet) -> BTreeMap<(usize, &str), &str> {
    let mut homes = BTreeMap::new();
    for skill in &set.skills {
        let home = match skill.dialect {
            Dialect::Folder => directory(&skill.file_path),
            Dialect::Tree => stem(&skill.file_path),
        };
        homes.insert((skill.root as usize, home), skill.path.as_str());
    }
    homes
}

/// The position of a request, and the skill that owns it unless it names one.
struct Origin<'a> {
    file: &'a str,
    /// Where the lines of the file end.
    line_ends: Vec<usize>,
    /// The folder that paths of skills may be relative to.
    folder: &'a str,
    /// The request with what it expects.
    item: Option<Span>,
    /// Its text.
    text: Option<Span>,
    owner: Option<String>,
    /// What the file calls its owner, if that is not served.
    unknown_owner: Option<String>,
}

struct Collector<'a> {
    catalog: &'a Catalog<'a>,
    homes: BTreeMap<(usize, &'a str), &'a str>,
    /// Text, expected and forbidden skills of every request so far.
    seen: HashSet<(String, Option<Vec<String>>, Vec<String>)>,
    /// The skills that the file that is being read has named, by its words for them.
    known: HashMap<String, Option<String>>,
    /// The diagnostics about the file that is being read.
    found: Vec<Diagnostic>,
    out: Collected,
}

impl Collector<'_> {
    /// Ends one file: reports what was found in it.
    fn report(&mut self) {
        self.known.clear();
        let found = std::mem::take(&mut self.found);
        let more = |more| format!("{more} more requests of this file cannot be used");
        self.out.diagnostics.extend(capped(found, more));
    }

    fn file(&mut self, file: &RequestFile, shown: String) -> Result<(), Error> {
        let (bytes, path) = (&*file.bytes, file.path.as_str());
        let Lists { owner, requests } =
            match parse(bytes).and_then(|raw| Ok(shapes::lists(raw, file.kind)?)) {
                Ok(lists) => lists,
                Err(ShapeError { message, span }) => {
                    let diagnostic = Diagnostic::new(Code::EvaluationShape, shown, message);
                    self.found.push(diagnostic.at(span).help(FORM));
                    return Ok(());
                }
            };
        let home = ancestors(path).find_map(|folder| self.homes.get(&(file.root, folder)).copied());
        let word = owner.filter(|_| home.is_none());
        let named = word.as_ref().map(|name| self.catalog.by_name(name));
        let named = named.transpose()?.flatten();
        let owner = home.or(named.map(|skill| skill.path));
        let owner = owner.map(str::to_owned);
        let mut origin = Origin {
            file: &shown,
            line_ends: line_ends(bytes),
            folder: directory(path),
            item: None,
            text: None,
            unknown_owner: word.filter(|_| owner.is_none()),
            owner: owner.clone(),
        };
        let (all, mut malformed) = (requests.len(), Vec::new());
        for Listed {
            owner: group,
            raw,
            request,
        } in requests
        {
            origin.item = Some(span_of(raw, bytes));
            origin.owner.clone_from(&owner);
            if let Some(name) = group {
                let Some(path) = self.skills(&origin, &[name])? else {
                    continue;
                };
                origin.owner = path.into_iter().next();
            }
            match request {
                Ok(request) => {
                    origin.text = Some(span_of(request.raw, bytes));
                    self.request(&origin, request)?;
                }
                Err(message) => {
                    let diagnostic = Diagnostic::new(Code::EvaluationShape, &*shown, message);
                    malformed.push(diagnostic.at(origin.item).help(FORM));
                }
            }
        }
        if malformed.len() == all && all >= FOREIGN {
            let message = format!("none of the {all} requests is in a form that is known");
            let diagnostic = Diagnostic::new(Code::EvaluationShape, &*shown, message);
            let diagnostic = diagnostic.severity(Severity::Warning);
            malformed = vec![diagnostic.help(FORM)];
        }
        self.found.extend(malformed);
        self.out.files.push(shown);
        Ok(())
    }

    /// The requests in a skill's own frontmatter. Other programs use this key too, so
    /// malformed values are only warnings.
    fn triggers(&mut self, shown: &str, skill: &SkillEntry) -> Result<(), Error> {
        let keys: BTreeMap<String, &RawValue> =
            serde_json::from_str(&skill.frontmatter_json).unwrap_or_default();
        let Some(raw) = keys.get(TRIGGERS) else {
            return Ok(());
        };
        let (document, _) = frontmatter::parse(shown, &skill.source);
        let fields = document.as_ref().map(frontmatter::Document::fields);
        let key = fields.as_ref().and_then(|it| it.key_span(TRIGGERS));
        let mut places = Vec::new();
        if let Some(node) = fields.and_then(|it| it.get(TRIGGERS)) {
            texts(node, &mut places);
        }
        let mut origin = Origin {
            file: shown,
            line_ends: line_ends(&skill.source),
            folder: "",
            item: key,
            text: key,
            owner: Some(skill.path.clone()),
            unknown_owner: None,
        };
        let mut problems = Vec::new();
        match shapes::lists(raw, ListKind::Positive) {
            Ok(lists) => {
                for Listed { request, .. } in lists.requests {
                    match request {
                        Ok(request) => {
                            let place = places.iter().find(|it| it.0 == request.text);
                            origin.text = place.map(|it| Span::from(&it.1)).or(key);
                            self.request(&origin, request)?;
                        }
                        Err(message) => problems.push(message),
                    }
                }
                self.out.files.push(shown.to_owned());
            }
            Err(message) => problems.push(message),
        }
        let report = |message| {
            let diagnostic = Diagnostic::new(Code::EvaluationShape, shown, message);
            let diagnostic = diagnostic.severity(Severity::Warning);
            diagnostic.at(key).help(TRIGGERS_FORM)
        };
        self.found.extend(problems.into_iter().map(report));
        Ok(())
    }

    /// Adds a request if every skill that it names is served.
    fn request(&mut self, origin: &Origin<'_>, request: Request<'_>) -> Result<(), Error> {
        let (expected, not) = match request.verdict {
            Verdict::Named(expected, not) => {
                let expected = expected.map(|it| self.skills(origin, &it)).transpose()?;
                let Some(not) = self.skills(origin, &not)? else {
                    return Ok(());
                };
                match expected {
                    Some(None) => return Ok(()),
                    expected => (expected.flatten(), not),
                }
            }
            Verdict::Own(should) => match &origin.owner {
                Some(owner) if should => (Some(vec![owner.clone()]), Vec::new()),
                Some(owner) => (None, vec![owner.clone()]),
                None => {
                    let diagnostic = if let Some(word) = &origin.unknown_owner {
                        no_such_skill(origin.file, word)
                    } else {
                        let message = "these requests belong to no skill";
                        Diagnostic::new(Code::EvaluationSkill, origin.file, message)
                            .help("move the file to the skill's folder, or add `skill_name`")
                    };
                    if !self.found.contains(&diagnostic) {
                        self.found.push(diagnostic);
                    }
                    return Ok(());
                }
            },
        };
        let key = (request.text.clone(), expected.clone(), not.clone());
        if self.seen.insert(key) {
            let line = |span: Span| origin.line_ends.partition_point(|end| *end < span.start) + 1;
            self.out.cases.push(EvalCase {
                text: request.text,
                file: origin.file.to_owned(),
                span: origin.text,
                line: origin.text.map(line),
                expected,
                not,
            });
        }
        Ok(())
    }

    /// The paths of skills by paths or names; `None` if one is unknown.
    fn skills(
        &mut self,
        origin: &Origin<'_>,
        words: &[String],
    ) -> Result<Option<Vec<String>>, Error> {
        let mut paths = Vec::new();
        for word in words {
            if let Some(path) = self.skill(origin, word)? {
                paths.push(path);
                continue;
            }
            let diagnostic = no_such_skill(origin.file, word);
            self.found.push(diagnostic.at(origin.item));
        }
        Ok((paths.len() == words.len()).then_some(paths))
    }

    /// A path in the bundle, a path from the file's own folder, or a name.
    fn skill(&mut self, origin: &Origin<'_>, word: &str) -> Result<Option<String>, Error> {
        if let Some(known) = self.known.get(word) {
            return Ok(known.clone());
        }
        let found = self.look_up(origin, word)?;
        self.known.insert(word.to_owned(), found.clone());
        Ok(found)
    }

    fn look_up(&self, origin: &Origin<'_>, word: &str) -> Result<Option<String>, Error> {
        let path = word.trim_start_matches("./").trim_matches('/');
        let path = path.strip_suffix("/SKILL.md").unwrap_or(stem(path));
        let below = format!("{}/{path}", origin.folder);
        for path in [path, below.trim_start_matches('/')] {
            if let Some(skill) = self.catalog.by_path(path)? {
                return Ok(Some(skill.path.to_owned()));
            }
        }
        let named = self.catalog.by_name(word)?;
        Ok(named.map(|skill| skill.path.to_owned()))
    }
}

fn no_such_skill(file: &str, word: &str) -> Diagnostic {
    let message = format!("no skill has the path or name `{word}`");
    Diagnostic::new(Code::EvaluationSkill, file, message)
        .help("see paths and names with `skillbundle list --dir DIR`")
}

/// The range of a JSON value that was borrowed from `bytes`.
fn span_of(raw: &RawValue, bytes: &[u8]) -> Span {
    let start = raw.get().as_ptr().addr() - bytes.as_ptr().addr();
    Span::from(start..start + raw.get().len())
}

fn line_ends(bytes: &[u8]) -> Vec<usize> {
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    ends.map(|(at, _)| at).collect()
}

/// The texts in a frontmatter value with their byte ranges.
fn texts(node: &Node, out: &mut Vec<(String, Range<usize>)>) {
    match &node.kind {
        NodeKind::Scalar { text, .. } => out.push((text.clone(), node.range.clone())),
        NodeKind::Sequence(items) => items.iter().for_each(|it| texts(it, out)),
        NodeKind::Mapping(entries) => entries.iter().for_each(|it| texts(&it.value, out)),
        NodeKind::Null => {}
    }
}

/// A file that cannot be used.
struct ShapeError {
    message: String,
    span: Option<Span>,
}

impl From<String> for ShapeError {
    fn from(message: String) -> Self {
        Self {
            message,
            span: None,
        }
    }
}

/// The JSON value of a file, borrowed from `bytes`.
fn parse(bytes: &[u8]) -> Result<&RawValue, ShapeError> {
    let json = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    serde_json::from_slice(json).map_err(|error| {
        let lines = json.split_inclusive(|&byte| byte == b'\n');
        let before: usize = lines
            .take(error.line().saturating_sub(1))
            .map(<[u8]>::len)
            .sum();
        let at = bytes.len() - json.len() + before + error.column().saturating_sub(1);
        ShapeError {
            message: format!("invalid JSON: {error}"),
            span: Some(Span::from(at..at + 1)),
        }
    })
}
