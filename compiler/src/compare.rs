//! Compares two versions of a set of skills: which skills came, went and changed, and which requests
//! find another skill than before. `skills.rs` compares the skills, `routes.rs` the answers to
//! requests, and `own.rs` has the requests that a skill makes for itself. `markdown.rs` writes it all for a pull request.

mod markdown;
mod own;
mod routes;
mod skills;

use std::collections::BTreeMap;

use skillbundle_format::{Bundle, Catalog, Error, SkillEntry, SkillSet};

use crate::diagnostic::{Code, Diagnostic, Span};
use crate::eval::{Requests, capped, cut, listed};
use crate::frontmatter;
use crate::report::Report;

/// One version of a set of skills.
#[derive(Debug, Clone, Copy)]
pub struct Version<'a> {
    /// Its bundle.
    pub bundle: &'a Bundle,
    /// The set that the bundle was written from and the requests that lie beside it; `None` if there
    /// is only the bundle.
    pub sources: Option<(&'a SkillSet, &'a Requests)>,
}

/// What differs between two versions of a set of skills.
#[derive(Debug, Clone, Default)]
pub struct Comparison {
    /// The old version as a whole.
    pub old: Totals,
    /// The new version as a whole.
    pub new: Totals,
    /// Skills that only the new version has, by path.
    pub added: Vec<SkillSize>,
    /// Skills that only the old version has, by path.
    pub removed: Vec<SkillSize>,
    /// Skills that differ, by path.
    pub changed: Vec<ChangedSkill>,
    /// Whether the settings of the content (`config.yaml`) differ.
    pub settings_changed: bool,
    /// Names that several skills have now, and had not before.
    pub collisions: Vec<Collision>,
    /// Names that several skills had before, and have not any more.
    pub resolved: Vec<Collision>,
    /// Requests that are answered differently: those that lost their skill first. What a skill says
    /// of itself is one only if it has to do with a skill that differs, and not if more skills alone
    /// have moved a threshold.
    pub rerouted: Vec<Rerouted>,
    /// How many requests of evaluation files were asked.
    pub request_count: usize,
    /// How many requests were asked that skills make for themselves.
    pub own_request_count: usize,
    /// What each host keeps of the two versions. Empty until a caller fills it in who knows how a
    /// server offers them.
    pub hosts: Vec<HostChange>,
    /// A diagnostic for each request that has lost its skill; at most 50 for each file.
    pub report: Report,
}

/// One version as a whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Its skills, without those that are shadowed.
    pub skills: usize,
    /// Their files.
    pub files: usize,
    /// The bytes of the bundle.
    pub bytes: u64,
}

/// A skill that came or went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillSize {
    /// Its path.
    pub path: String,
    /// Its description on one line.
    pub summary: String,
    /// The number of its files, without its own text.
    pub files: usize,
    /// The bytes of its text and files.
    pub bytes: u64,
}

/// A skill that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedSkill {
    /// Its path now.
    pub path: String,
    /// Its path before, if it was another one: its name, or else its text, is the same.
    pub old_path: Option<String>,
    /// What differs of its frontmatter and text, in the order of the frontmatter.
    pub fields: Vec<FieldChange>,
    /// The files that differ, by path; its own text is one of them.
    pub files: Vec<FileChange>,
}

/// A key of a skill's frontmatter, or its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldChange {
    /// The key; `text` is what follows the frontmatter.
    pub field: String,
    /// The value before: as text, or as JSON if it is none. `None` for the text, and if there was no
    /// such key.
    pub old: Option<String>,
    /// The value now.
    pub new: Option<String>,
}

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Its path in the skill.
    pub path: String,
    /// Its bytes before; `None` if there was no such file.
    pub old: Option<u64>,
    /// Its bytes now; `None` if there is no such file any more.
    pub new: Option<u64>,
}

/// A name that several skills have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collision {
    /// The name, in the form in which names are compared.
    pub name: String,
    /// The skills.
    pub paths: Vec<String>,
}

/// What a host keeps of the two versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostChange {
    /// Its identifier.
    pub id: &'static str,
    /// Its display name.
    pub title: &'static str,
    /// What it kept of the old version.
    pub old: HostSize,
    /// What it keeps of the new one.
    pub new: HostSize,
}

/// What a host keeps of one version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostSize {
    /// Bytes of the instructions and of all tools, as models are shown them.
    pub context_bytes: usize,
    /// The skills that a tool's description names: as sent, and as kept.
    pub named: (usize, usize),
    /// Bytes of the host's own listing of skills, if it has one.
    pub listing_bytes: Option<usize>,
    /// The number of skills of that listing that it keeps.
    pub kept: usize,
    /// Paths of those that are beyond its limits.
    pub dropped: Vec<String>,
}

/// A request that is answered differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rerouted {
    /// The request.
    pub request: String,
    /// Where it comes from.
    pub origin: Origin,
    /// Paths of skills, one of which should be found, as they are now; empty if none should, or if
    /// it is only known what should not be found.
    pub expected: Vec<String>,
    /// The paths of the skills in the answer before: none, the winner, or several candidates.
    pub old: Vec<String>,
    /// The same now. Skills that were moved have their new paths in both.
    pub new: Vec<String>,
    /// What that means.
    pub effect: Effect,
    /// Why the answer is what it is now, in one line.
    pub why: String,
}

/// Where a request comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// An evaluation file or `triggers` of the new version.
    File {
        /// The file.
        file: String,
        /// Where in it.
        span: Option<Span>,
        /// The line of that, counted from 1.
        line: Option<usize>,
    },
    /// A skill says it of itself: in this key of its frontmatter.
    Own(&'static str),
    /// An evaluation file that only the old version has.
    OldFile,
    /// A skill said it of itself and does not any more: in this key of its frontmatter.
    OldOwn(&'static str),
}

/// What a different answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// The right skill, or none where none is right, was the answer, and is less so now.
    Lost,
    /// As wrong as before, or about skills that only one of the versions has.
    Moved,
    /// The reverse of `Lost`.
    Found,
}

impl Effect {
    /// The word used in every output: `lost`, `moved` or `found`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Moved => "moved",
            Self::Found => "found",
        }
    }
}

impl Comparison {
    /// Whether there is no difference.
    pub fn is_empty(&self) -> bool {
        let skills = self.added.len() + self.removed.len() + self.changed.len();
        skills + self.rerouted.len() + self.collisions.len() + self.resolved.len() == 0
            && !self.settings_changed
    }

    /// How many requests have this effect.
    pub fn count(&self, effect: Effect) -> usize {
        let of_effect = |it: &&Rerouted| it.effect == effect;
        self.rerouted.iter().filter(of_effect).count()
    }
}

/// Compares two versions. Fails only if a bundle is damaged.
pub fn compare(old: Version<'_>, new: Version<'_>) -> Result<Comparison, Error> {
    let catalogs = (old.bundle.catalog()?, new.bundle.catalog()?);
    let mut comparison = Comparison {
        old: totals(old.bundle, &catalogs.0)?,
        new: totals(new.bundle, &catalogs.1)?,
        ..Comparison::default()
    };
    let same = skills::compare(&catalogs.0, &catalogs.1, &mut comparison)?;
    routes::compare(
        (old, &catalogs.0),
        (new, &catalogs.1),
        &same,
        &mut comparison,
    )?;
    comparison.report = report(new, &comparison.rerouted);
    Ok(comparison)
}

fn totals(bundle: &Bundle, catalog: &Catalog<'_>) -> Result<Totals, Error> {
    let mut files = 0;
    for skill in catalog.skills() {
        files += skill?.files()?.len();
    }
    Ok(Totals {
        skills: catalog.len(),
        files,
        bytes: bundle.byte_len(),
    })
}

/// The diagnostics about requests that have lost their skill.
fn report(new: Version<'_>, rerouted: &[Rerouted]) -> Report {
    let Some((set, requests)) = new.sources else {
        return Report::default();
    };
    let skills: BTreeMap<&str, &SkillEntry> = (set.skills.iter())
        .map(|it| (it.path.as_str(), it))
        .collect();
    let mut by_file: BTreeMap<String, Vec<Diagnostic>> = BTreeMap::new();
    for it in rerouted.iter().filter(|it| is_finding(it)) {
        let of_skill = |key: Option<&str>| {
            let mut paths = it.expected.iter().chain(&it.new);
            let skill = paths.find_map(|path| skills.get(path.as_str()))?;
            let file = requests.shown(skill.root as usize, &skill.file_path);
            let span = key.and_then(|key| place_of(&it.request, &file, skill, key));
            Some((file, span))
        };
        let place = match &it.origin {
            Origin::File { file, span, .. } => Some((file.clone(), *span)),
            Origin::OldFile => of_skill(None),
            Origin::Own(key) | Origin::OldOwn(key) => of_skill(Some(key)),
        };
        if let Some((file, span)) = place {
            let diagnostic = Diagnostic::new(Code::RequestRerouted, file.as_str(), message(it));
            let diagnostic = diagnostic.at(span).help(help(it));
            by_file.entry(file).or_default().push(diagnostic);
        }
    }
    let more = |more| format!("{more} more requests are routed elsewhere than before");
    let found = by_file.into_values().flat_map(|it| capped(it, more));
    requests.report(found.collect(), set)
}

/// Whether an author must see it: not what a skill does not say of itself any more.
fn is_finding(it: &Rerouted) -> bool {
    it.effect == Effect::Lost && !matches!(it.origin, Origin::OldOwn(_))
}

/// `` `merge files` found `pdf` and is now routed to `zip` ``.
fn message(it: &Rerouted) -> String {
    let listed = |paths: &[String]| {
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        listed(&paths, paths.len())
    };
    let before = match it.old.as_slice() {
        [] => "found no skill".to_owned(),
        paths => format!("found {}", listed(paths)),
    };
    let now = match it.new.as_slice() {
        [] => "finds none now".to_owned(),
        [won] => format!("is routed to `{won}` now"),
        paths => format!("finds {} now", listed(paths)),
    };
    format!("`{}` {before} and {now}", cut(&it.request))
}

fn help(it: &Rerouted) -> String {
    let advice = match (
        it.expected.first(),
        it.new.iter().find(|won| !it.expected.contains(won)),
    ) {
        (_, Some(won)) => format!("say in the description of `{won}` what it is not for"),
        (Some(own), None) => format!("say in the description of `{own}` when to use it"),
        (None, None) => "see `skillbundle route`".to_owned(),
    };
    format!("{}; {advice}", it.why)
}

/// Where a key of a skill's frontmatter says this; or where its value is, if that is written otherwise.
fn place_of(text: &str, file: &str, skill: &SkillEntry, key: &str) -> Option<Span> {
    let (document, _) = frontmatter::parse(file, &skill.source);
    let value = document?.fields().value_span(key)?;
    let written = skill.source.get(value.range())?;
    let at = str::from_utf8(written).ok()?.find(text);
    Some(at.map_or(value, |at| {
        let start = value.start + at;
        Span::from(start..start + text.len())
    }))
}
