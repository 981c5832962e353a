//! Collects requests from evaluation files below the roots and from `triggers` in
//! frontmatter, and resolves the skills that they name. A request that is malformed
//! or names an unknown skill is reported and skipped.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::value::RawValue;
use skillbundle_format::{Catalog, Dialect, Error, SkillEntry, SkillSet};

use super::replay::EvalCase;
use super::shapes::{self, ListKind, Lists, Request, Verdict};
use crate::MAX_TEXT_BYTES;
use crate::diagnostic::{Code, Diagnostic, Severity, Span};
use crate::frontmatter::{self, keys::TRIGGERS};
use crate::paths::{ancestors, directory, file_name, stem};
use crate::report::Location;
use crate::source::{self, FileId, Relevance, Tree, is_below_hidden};

/// All collected requests.
#[derive(Debug, Default)]
pub(super) struct Requests {
    pub(super) cases: Vec<EvalCase>,
    pub(super) files: Vec<String>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// Help for malformed evaluation files.
const FORM: &str = "write `[{\"request\": \"…\", \"expect\": \"path/of/skill\"}]` in a `routing.json`, \
    or `[{\"query\": \"…\", \"should_trigger\": true}]` in a `trigger-eval.json` in the skill's folder";

/// Help for malformed `triggers`.
const TRIGGERS_FORM: &str =
    "write a list of requests, or lists of them under `positive` and `negative`";

/// Collects all requests, each once, since copies of a file are common.
pub(super) fn requests(
    tree: &mut Tree,
    set: &SkillSet,
    catalog: &Catalog<'_>,
) -> Result<Requests, Error> {
    let files = evaluation_files(tree);
    tree.read(files.iter().map(|(id, _)| *id), MAX_TEXT_BYTES);
    let mut collector = Collector {
        catalog,
        homes: homes(set),
        seen: HashSet::new(),
        out: Requests::default(),
    };
    collector.out.diagnostics = unread(tree);
    for (id, kind) in files {
        if let Some(bytes) = &tree.entry(id).bytes {
            collector.file(tree, id, bytes, kind)?;
        }
    }
    for skill in &set.skills {
        collector.triggers(tree, skill)?;
    }
    collector.out.files.sort();
    Ok(collector.out)
}

/// The bytes of a skill's own file, by the name that diagnostics use.
pub(super) fn skill_source(tree: &Tree, set: &SkillSet, file: &str) -> Option<Arc<[u8]>> {
    let skill = set.skills.iter().find(|skill| shown(tree, skill) == file);
    skill.map(|skill| Arc::clone(&skill.source))
}

fn shown(tree: &Tree, skill: &SkillEntry) -> String {
    tree.roots[skill.root as usize].shown(&skill.file_path)
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
    bytes: &'a [u8],
    /// The folder that paths of skills may be relative to.
    folder: &'a str,
    span: Option<Span>,
    owner: Option<&'a str>,
}

struct Collector<'a> {
    catalog: &'a Catalog<'a>,
    homes: BTreeMap<(usize, &'a str), &'a str>,
    /// Text, expected and forbidden skills of every request so far.
    seen: HashSet<(String, Option<Vec<String>>, Vec<String>)>,
    out: Requests,
}

impl Collector<'_> {
    fn file(&mut self, tree: &Tree, id: FileId, bytes: &[u8], kind: ListKind) -> Result<(), Error> {
        let (shown, path) = (tree.shown(id), tree.entry(id).path.as_str());
        let Lists {
            skill_name,
            requests,
        } = match parse(bytes).and_then(|raw| Ok(shapes::lists(raw, kind)?)) {
            Ok(lists) => lists,
            Err(ShapeError { message, span }) => {
                let diagnostic = Diagnostic::new(Code::EvaluationShape, shown, message);
                self.out.diagnostics.push(diagnostic.at(span).help(FORM));
                return Ok(());
            }
        };
        let home = ancestors(path).find_map(|folder| self.homes.get(&(id.root, folder)).copied());
        let named = skill_name.filter(|_| home.is_none());
        let named = named.map(|name| self.catalog.by_name(&name)).transpose()?;
        let mut origin = Origin {
            file: &shown,
            bytes,
            folder: directory(path),
            span: None,
            owner: home.or(named.flatten().map(|skill| skill.path)),
        };
        for (kind, item) in requests {
            let start = item.get().as_ptr().addr() - bytes.as_ptr().addr();
            origin.span = Some(Span::from(start..start + item.get().len()));
            match shapes::request(item, kind) {
                Ok(request) => self.request(&origin, request)?,
                Err(message) => {
                    let diagnostic = Diagnostic::new(Code::EvaluationShape, &*shown, message);
                    self.out
                        .diagnostics
                        .push(diagnostic.at(origin.span).help(FORM));
                }
            }
        }
        self.out.files.push(shown);
        Ok(())
    }

    /// The requests in a skill's own frontmatter. Other programs use this key too, so
    /// malformed values are only warnings.
    fn triggers(&mut self, tree: &Tree, skill: &SkillEntry) -> Result<(), Error> {
        let keys: BTreeMap<String, &RawValue> =
            serde_json::from_str(&skill.frontmatter_json).unwrap_or_default();
        let Some(raw) = keys.get(TRIGGERS) else {
            return Ok(());
        };
        let shown = shown(tree, skill);
        let (document, _) = frontmatter::parse(&shown, &skill.source);
        let origin = Origin {
            file: &shown,
            bytes: &skill.source,
            folder: "",
            span: document.and_then(|it| it.fields().key_span(TRIGGERS)),
            owner: Some(&skill.path),
        };
        let mut problems = Vec::new();
        match shapes::lists(raw, ListKind::Positive) {
            Ok(lists) => {
                for (kind, item) in lists.requests {
                    match shapes::request(item, kind) {
                        Ok(request) => self.request(&origin, request)?,
                        Err(message) => problems.push(message),
                    }
                }
                self.out.files.push(shown.clone());
            }
            Err(message) => problems.push(message),
        }
        let report = |message| {
            let diagnostic = Diagnostic::new(Code::EvaluationShape, &*shown, message);
            let diagnostic = diagnostic.severity(Severity::Warning);
            diagnostic.at(origin.span).help(TRIGGERS_FORM)
        };
        self.out
            .diagnostics
            .extend(problems.into_iter().map(report));
        Ok(())
    }

    /// Adds a request if every skill that it names is served.
    fn request(&mut self, origin: &Origin<'_>, request: Request) -> Result<(), Error> {
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
            Verdict::Own(should) => match origin.owner {
                Some(owner) if should => (Some(vec![owner.to_owned()]), Vec::new()),
                Some(owner) => (None, vec![owner.to_owned()]),
                None => {
                    let message = "these requests belong to no skill";
                    let diagnostic = Diagnostic::new(Code::EvaluationSkill, origin.file, message);
                    let help = "move the file to the skill's folder, or add `skill_name`";
                    self.out.diagnostics.push(diagnostic.help(help));
                    return Ok(());
                }
            },
        };
        let key = (request.text.clone(), expected.clone(), not.clone());
        if self.seen.insert(key) {
            self.out.cases.push(EvalCase {
                text: request.text,
                file: origin.file.to_owned(),
                line: origin
                    .span
                    .map(|span| Location::of(origin.bytes, span).line),
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
            let message = format!("no skill has the path or name `{word}`");
            let diagnostic = Diagnostic::new(Code::EvaluationSkill, origin.file, message);
            let help = "see paths and names with `skillbundle list --dir DIR`";
            self.out
                .diagnostics
                .push(diagnostic.at(origin.span).help(help));
        }
        Ok((paths.len() == words.len()).then_some(paths))
    }

    /// A path in the bundle, a path from the file's own folder, or a name.
    fn skill(&self, origin: &Origin<'_>, word: &str) -> Result<Option<String>, Error> {
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
