//! Where requests lie: evaluation files below the roots, and `triggers` in
//! frontmatter. Words for skills become paths here. What cannot be read or
//! names no skill becomes a finding, and is not asked.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::value::RawValue;
use skillbundle_format::{Catalog, Dialect, Error, SkillEntry, SkillSet};

use super::replay::Asked;
use super::shapes::{self, Lists, Reading, Request, Verdict};
use crate::MAX_TEXT_BYTES;
use crate::diagnostic::{Code, Diagnostic, Severity, Span};
use crate::dialect::{ancestors, directory, file_name, stem};
use crate::frontmatter;
use crate::source::{self, Concern, FileId, Tree, is_below_hidden};

/// Everything that there is to ask.
#[derive(Debug, Default)]
pub(super) struct Requests {
    pub(super) asked: Vec<Asked>,
    pub(super) files: Vec<String>,
    pub(super) findings: Vec<Diagnostic>,
}

/// The end of every finding about a shape.
const FORM: &str = "write `[{\"request\": \"…\", \"expect\": \"path/of/skill\"}]` in a `routing.json`, \
    or `[{\"query\": \"…\", \"should_trigger\": true}]` in a `trigger-eval.json` in the skill's folder";

/// The key of a skill's frontmatter that holds requests.
const TRIGGERS: &str = "triggers";

const TRIGGERS_FORM: &str =
    "write a list of requests, or lists of them under `positive` and `negative`";

/// Reads all requests, each once: copies of a file are common.
pub(super) fn requests(
    tree: &mut Tree,
    set: &SkillSet,
    catalog: &Catalog<'_>,
) -> Result<Requests, Error> {
    let files = evaluation_files(tree);
    tree.read(files.iter().map(|(id, _)| *id), MAX_TEXT_BYTES);
    let mut reader = Reader {
        catalog,
        homes: homes(set),
        seen: HashSet::new(),
        out: Requests::default(),
    };
    reader.out.findings = unread(tree);
    for (id, reading) in files {
        if let Some(bytes) = &tree.entry(id).bytes {
            reader.file(tree, id, bytes, reading)?;
        }
    }
    for skill in &set.skills {
        reader.triggers(tree, skill)?;
    }
    reader.out.files.sort();
    Ok(reader.out)
}

/// The bytes of a skill's own file, by the name that findings use.
pub(super) fn page(tree: &Tree, set: &SkillSet, file: &str) -> Option<Arc<[u8]>> {
    let skill = set.skills.iter().find(|skill| shown(tree, skill) == file);
    skill.map(|skill| Arc::clone(&skill.source))
}

fn shown(tree: &Tree, skill: &SkillEntry) -> String {
    tree.roots[skill.root as usize].shown(&skill.file_path)
}

/// The evaluation files of all roots. Dot folders are not searched, as for skills.
fn evaluation_files(tree: &Tree) -> Vec<(FileId, Reading)> {
    let mut files = Vec::new();
    for (root, it) in tree.roots.iter().enumerate() {
        for (entry, it) in it.entries.iter().enumerate() {
            let reading = shapes::reading(file_name(&it.path));
            if let Some(reading) =
                reading.filter(|_| !it.is_directory && !is_below_hidden(&it.path))
            {
                files.push((FileId { root, entry }, reading));
            }
        }
    }
    files
}

/// What the disk refused, where it would have been an evaluation file.
fn unread(tree: &Tree) -> Vec<Diagnostic> {
    let mut findings = source::findings(tree, true, |_, _| Concern::File);
    findings.retain(|it| shapes::reading(file_name(&it.file)).is_some());
    findings
}

/// The directory that belongs to each skill, by root and path.
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

/// Where a request stands, and which skill's it is unless it names one.
struct Place<'a> {
    file: &'a str,
    /// The folder that paths of skills may begin in.
    folder: &'a str,
    span: Option<Span>,
    owner: Option<&'a str>,
}

struct Reader<'a> {
    catalog: &'a Catalog<'a>,
    homes: BTreeMap<(usize, &'a str), &'a str>,
    /// Text, expected and unexpected skills of every request so far.
    seen: HashSet<(String, Option<Vec<String>>, Vec<String>)>,
    out: Requests,
}

impl Reader<'_> {
    fn file(
        &mut self,
        tree: &Tree,
        id: FileId,
        bytes: &[u8],
        reading: Reading,
    ) -> Result<(), Error> {
        let (shown, path) = (tree.shown(id), tree.entry(id).path.as_str());
        let Lists {
            skill_name,
            requests,
        } = match parse(bytes).and_then(|raw| Ok(shapes::lists(raw, reading)?)) {
            Ok(lists) => lists,
            Err(Fault { message, span }) => {
                let finding = Diagnostic::new(Code::EvaluationShape, shown, message);
                self.out.findings.push(finding.at(span).help(FORM));
                return Ok(());
            }
        };
        let home = ancestors(path).find_map(|folder| self.homes.get(&(id.root, folder)).copied());
        let named = skill_name.filter(|_| home.is_none());
        let named = named.map(|name| self.catalog.by_name(&name)).transpose()?;
        let mut place = Place {
            file: &shown,
            folder: directory(path),
            span: None,
            owner: home.or(named.flatten().map(|skill| skill.path)),
        };
        for (reading, item) in requests {
            let start = item.get().as_ptr().addr() - bytes.as_ptr().addr();
            place.span = Some(Span::locate(bytes, start..start + item.get().len()));
            match shapes::request(item, reading) {
                Ok(request) => self.request(&place, request)?,
                Err(message) => {
                    let finding = Diagnostic::new(Code::EvaluationShape, &*shown, message);
                    self.out.findings.push(finding.at(place.span).help(FORM));
                }
            }
        }
        self.out.files.push(shown);
        Ok(())
    }

    /// The requests of a skill's own frontmatter. Other programs have keys of
    /// this name, so what cannot be read is no error.
    fn triggers(&mut self, tree: &Tree, skill: &SkillEntry) -> Result<(), Error> {
        let keys: BTreeMap<String, &RawValue> =
            serde_json::from_str(&skill.frontmatter_json).unwrap_or_default();
        let Some(raw) = keys.get(TRIGGERS) else {
            return Ok(());
        };
        let shown = shown(tree, skill);
        let (document, _) = frontmatter::parse(&shown, &skill.source);
        let place = Place {
            file: &shown,
            folder: "",
            span: document.and_then(|it| it.fields().key_span(TRIGGERS)),
            owner: Some(&skill.path),
        };
        let mut faults = Vec::new();
        match shapes::lists(raw, Reading::Positive) {
            Ok(lists) => {
                for (reading, item) in lists.requests {
                    match shapes::request(item, reading) {
                        Ok(request) => self.request(&place, request)?,
                        Err(message) => faults.push(message),
                    }
                }
                self.out.files.push(shown.clone());
            }
            Err(message) => faults.push(message),
        }
        let finding = |message| {
            let finding = Diagnostic::new(Code::EvaluationShape, &*shown, message);
            let finding = finding.severity(Severity::Warning);
            finding.at(place.span).help(TRIGGERS_FORM)
        };
        self.out.findings.extend(faults.into_iter().map(finding));
        Ok(())
    }

    /// Takes a request, if every skill that it names is served.
    fn request(&mut self, place: &Place<'_>, request: Request) -> Result<(), Error> {
        let (expected, not) = match request.verdict {
            Verdict::Named(expected, not) => {
                let expected = expected.map(|it| self.skills(place, &it)).transpose()?;
                let Some(not) = self.skills(place, &not)? else {
                    return Ok(());
                };
                match expected {
                    Some(None) => return Ok(()),
                    expected => (expected.flatten(), not),
                }
            }
            Verdict::Own(should) => match place.owner {
                Some(owner) if should => (Some(vec![owner.to_owned()]), Vec::new()),
                Some(owner) => (None, vec![owner.to_owned()]),
                None => {
                    let message = "nothing says which skill these requests belong to";
                    let finding = Diagnostic::new(Code::EvaluationSkill, place.file, message);
                    let help = "put the file into the skill's folder, or give its `skill_name`";
                    self.out.findings.push(finding.help(help));
                    return Ok(());
                }
            },
        };
        let key = (request.text.clone(), expected.clone(), not.clone());
        if self.seen.insert(key) {
            self.out.asked.push(Asked {
                text: request.text,
                file: place.file.to_owned(),
                line: place.span.map(|span| span.line),
                expected,
                not,
            });
        }
        Ok(())
    }

    /// The paths of skills by their paths or names; nothing where one is unknown.
    fn skills(
        &mut self,
        place: &Place<'_>,
        words: &[String],
    ) -> Result<Option<Vec<String>>, Error> {
        let mut paths = Vec::new();
        for word in words {
            if let Some(path) = self.skill(place, word)? {
                paths.push(path);
                continue;
            }
            let message = format!("no skill has the path or the name `{word}`");
            let finding = Diagnostic::new(Code::EvaluationSkill, place.file, message);
            let help = "`skillbundle list --dir DIR` shows paths and names";
            self.out.findings.push(finding.at(place.span).help(help));
        }
        Ok((paths.len() == words.len()).then_some(paths))
    }

    /// A path in the bundle, a path from the file's own folder, or a name.
    fn skill(&self, place: &Place<'_>, word: &str) -> Result<Option<String>, Error> {
        let path = word.trim_start_matches("./").trim_matches('/');
        let path = path.strip_suffix("/SKILL.md").unwrap_or(stem(path));
        let below = format!("{}/{path}", place.folder);
        for path in [path, below.trim_start_matches('/')] {
            if let Some(skill) = self.catalog.by_path(path)? {
                return Ok(Some(skill.path.to_owned()));
            }
        }
        let named = self.catalog.by_name(word)?;
        Ok(named.map(|skill| skill.path.to_owned()))
    }
}

/// What is wrong with a whole file.
struct Fault {
    message: String,
    span: Option<Span>,
}

impl From<String> for Fault {
    fn from(message: String) -> Self {
        Self {
            message,
            span: None,
        }
    }
}

/// The one value of a file. It borrows from `bytes`, and so does all within.
fn parse(bytes: &[u8]) -> Result<&RawValue, Fault> {
    let json = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    serde_json::from_slice(json).map_err(|error| {
        let lines = json.split_inclusive(|&byte| byte == b'\n');
        let before: usize = lines
            .take(error.line().saturating_sub(1))
            .map(<[u8]>::len)
            .sum();
        let at = bytes.len() - json.len() + before + error.column().saturating_sub(1);
        Fault {
            message: format!("JSON was expected: {error}"),
            span: Some(Span::locate(bytes, at..at + 1)),
        }
    })
}
