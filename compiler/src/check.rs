//! A check: compiles without keeping what would be served for long, runs the rules about quality, and
//! decides how bad each finding is. `profile.rs` says for whom; `policy.rs` has what the owners of a tree
//! have set, `suppressions.rs` the comments with which they allow single findings.

mod policy;
mod suppressions;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use skillbundle_format::SkillSet;

pub use policy::{Patterns, Places, Policy, Severities};

use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::eval::Requests;
use crate::fix::FileOnDisk;
use crate::profile::{Profile, Profiles};
use crate::report::Suppression;
use crate::reuse::Previous;
use crate::source::{self, Limits, Tree};
use crate::unsettled::Unsettled;
use crate::{Failed, Options, Report, Root, Sources};
use suppressions::Suppressions;

/// How to check.
#[derive(Debug, Clone)]
pub struct CheckOptions {
    /// Whether roots may be missing or unreadable.
    pub optional_roots: bool,
    /// For whom.
    pub profiles: Profiles,
    /// What the owners of the roots have set, in the order of the roots.
    pub policies: Vec<Option<Policy>>,
    /// Texts that files have as far as the check is concerned, by their real paths.
    pub edited: BTreeMap<PathBuf, Arc<[u8]>>,
}

/// The result of a check.
#[derive(Debug)]
pub struct Checked {
    /// What would be served.
    pub set: SkillSet,
    /// What was found, with the severities that the options give.
    pub report: Report,
    /// Files that were meant as skills and did not load.
    pub failed: Vec<Failed>,
    /// The requests that lie beside the skills. What [`Requests::replay`] finds belongs into the
    /// report by [`Checked::add`].
    pub requests: Requests,
    /// The files in which a finding can be fixed, by the names that findings use.
    pub on_disk: BTreeMap<String, FileOnDisk>,
    /// Where the files of findings lie.
    pub places: Places,
    /// For each root its [`Root::declared`] from now on.
    pub declared: Vec<Vec<String>>,
    comments: Suppressions,
}

/// Checks roots, highest priority first. Everything is read once.
///
/// # Errors
///
/// A root cannot be read.
pub fn check(roots: &[Root], options: &CheckOptions) -> io::Result<Checked> {
    let compile = Options {
        optional_roots: options.optional_roots,
        check: true,
    };
    let mut tree = source::walk(roots, Limits::default());
    tree.edited.clone_from(&options.edited);
    let (previous, held) = (Previous::default(), Unsettled::default());
    let sources = Sources::read(tree, roots, &compile, &previous, &held)?;
    let (compiled, mut tree) = sources.check(&compile);
    let on_disk = on_disk(&tree, &compiled.report);
    let places = Places::of(&tree);
    let comments = Suppressions::read(&tree, |file| !options.ignores(&places, file));
    let mut checked = Checked {
        set: compiled.set,
        report: Report::default(),
        failed: compiled.failed,
        requests: Requests::read(&mut tree),
        declared: compiled.declared,
        on_disk,
        places,
        comments,
    };
    checked.add(compiled.report, options);
    let about_comments = checked.comments.report();
    checked.add(about_comments, options);
    Ok(checked)
}

impl Checked {
    /// Adds what was found, with the severities that the options give, unless its file is ignored. What a
    /// comment allows does not count.
    pub fn add(&mut self, mut found: Report, options: &CheckOptions) {
        found.retain(|it| !options.ignores(&self.places, &it.file));
        found.suppress(|_, it| {
            let allowed = self.comments.allow(it)?;
            // The comment was not known to be of use before.
            self.report.retain(|other| {
                other.code != Code::UnusedSuppression
                    || other.file != it.file
                    || other.span != Some(allowed.written)
            });
            Some(Suppression::Comment(allowed.reason))
        });
        let judged = found.judged(|it| options.judge(&self.places, it));
        self.report = std::mem::take(&mut self.report).merged(judged);
    }
}

/// The files of findings that have a fix.
fn on_disk(tree: &Tree, report: &Report) -> BTreeMap<String, FileOnDisk> {
    let fixable = report.diagnostics().iter().filter(|it| it.fix.is_some());
    let mut files: Vec<&String> = fixable.map(|it| &it.file).collect();
    files.dedup();
    let origin = |file: &String| {
        let entry = tree.entry_of(file)?;
        let origin = FileOnDisk {
            path: entry.real.clone(),
            bytes: entry.bytes.clone()?,
            has_other_names: entry.hard_links > 1,
        };
        Some((file.clone(), origin))
    };
    files.into_iter().filter_map(origin).collect()
}

impl CheckOptions {
    /// For these profiles, with nothing else set.
    pub fn new(profiles: Profiles) -> Self {
        Self {
            optional_roots: false,
            profiles,
            policies: Vec::new(),
            edited: BTreeMap::new(),
        }
    }

    /// The settings for a root.
    pub fn policy(&self, root: usize) -> Option<&Policy> {
        self.policies.get(root)?.as_ref()
    }

    /// Whether the findings of a file are dropped.
    fn ignores(&self, places: &Places, file: &str) -> bool {
        let policy = self.policy_of(places, file);
        policy.is_some_and(|(policy, path)| policy.ignores(&path))
    }

    /// The severity of a finding and who decided it; `None` if its rule is off.
    fn judge(&self, places: &Places, it: &Diagnostic) -> Option<(Severity, Vec<Profile>)> {
        let policy = self.policy_of(places, &it.file);
        let set = policy
            .as_ref()
            .and_then(|(policy, path)| policy.rule(it.code, path));
        if let Some(set) = set {
            return set.map(|it| (it, Vec::new()));
        }
        let own = policy.and_then(|(policy, _)| policy.profiles.as_ref());
        let profiles = own.unwrap_or(&self.profiles);
        Some(profiles.judge(it.severity, &it.elsewhere))
    }

    /// The settings for the root of a file, and the file's real path.
    fn policy_of(&self, places: &Places, file: &str) -> Option<(&Policy, PathBuf)> {
        if self.policies.iter().all(Option::is_none) {
            return None;
        }
        let (root, path) = places.find(file)?;
        Some((self.policy(root)?, path))
    }
}
