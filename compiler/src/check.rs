//! A check: compiles without keeping what would be served for long, runs the rules about quality, and
//! decides how bad each finding is. `profile.rs` says for whom; `policy.rs` has what the owners of a tree
//! have set, `suppressions.rs` the comments with which they allow single findings.

mod policy;
mod suppressions;

use std::io;

use skillbundle_format::SkillSet;

pub use policy::{Patterns, Places, Policy, Severities};

use crate::diagnostic::{Diagnostic, Severity};
use crate::profile::{Profile, Profiles};
use crate::report::Suppression;
use crate::reuse::Previous;
use crate::source::{self, Limits};
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
}

/// The result of a check.
#[derive(Debug, Clone)]
pub struct Checked {
    /// What would be served.
    pub set: SkillSet,
    /// What was found, with the severities that the options give.
    pub report: Report,
    /// Files that were meant as skills and did not load.
    pub failed: Vec<Failed>,
    /// Where the files of findings lie.
    pub places: Places,
    /// For each root its [`Root::declared`] from now on.
    pub declared: Vec<Vec<String>>,
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
    let tree = source::walk(roots, Limits::default());
    let (previous, held) = (Previous::default(), Unsettled::default());
    let sources = Sources::read(tree, roots, &compile, &previous, &held)?;
    let places = Places::of(&sources.tree);
    let is_checked = |file: &str| !options.ignores(&places, file);
    let mut comments = Suppressions::read(&sources.tree, is_checked);
    let compiled = sources.check(&compile);
    let mut report = compiled.report;
    report.retain(|it| is_checked(&it.file));
    report.suppress(|_, it| comments.reason(it).map(Suppression::Comment));
    report.extend(Report::new(comments.findings(), |file| {
        comments.source(file)
    }));
    Ok(Checked {
        set: compiled.set,
        report: report.judged(|it| options.judge(&places, it)),
        failed: compiled.failed,
        declared: compiled.declared,
        places,
    })
}

impl CheckOptions {
    /// For these profiles, with nothing else set.
    pub fn new(profiles: Profiles) -> Self {
        Self {
            optional_roots: false,
            profiles,
            policies: Vec::new(),
        }
    }

    /// The settings for a root.
    pub fn policy(&self, root: usize) -> Option<&Policy> {
        self.policies.get(root)?.as_ref()
    }

    /// Whether the findings of a file are dropped.
    pub fn ignores(&self, places: &Places, file: &str) -> bool {
        let place = places.find(file);
        place.is_some_and(|(root, path)| self.policy(root).is_some_and(|it| it.ignores(&path)))
    }

    /// The severity of a finding and who decided it; `None` if its rule is off.
    fn judge(&self, places: &Places, it: &Diagnostic) -> Option<(Severity, Vec<Profile>)> {
        let policy = if self.policies.is_empty() {
            None
        } else {
            let place = places.find(&it.file);
            place.and_then(|(root, path)| Some((self.policy(root)?, path)))
        };
        if let Some(set) = policy
            .as_ref()
            .and_then(|(policy, path)| policy.rule(it.code, path))
        {
            return set.map(|severity| (severity, Vec::new()));
        }
        let own = policy.and_then(|(policy, _)| policy.profiles.as_ref());
        Some(
            own.unwrap_or(&self.profiles)
                .judge(it.severity, &it.elsewhere),
        )
    }
}
