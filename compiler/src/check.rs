//! A check: compiles without keeping what would be served for long, runs the rules about quality, and
//! decides how bad each finding is. `profile.rs` says for whom; a tree's own settings come next.

use std::collections::BTreeMap;
use std::io;

use skillbundle_format::SkillSet;

use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::eval::Requests;
use crate::profile::{Profile, Profiles};
use crate::reuse::Previous;
use crate::source::{self, Limits};
use crate::unsettled::Unsettled;
use crate::{Failed, Options, Report, Root, Sources};

/// How to check.
#[derive(Debug, Clone)]
pub struct CheckOptions {
    /// Whether roots may be missing or unreadable.
    pub optional_roots: bool,
    /// For whom.
    pub profiles: Profiles,
    /// Severities that the owners of the tree have set, which no profile changes. `None` turns a
    /// rule off.
    pub rules: BTreeMap<Code, Option<Severity>>,
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
    /// The requests that lie beside the skills. What [`Requests::replay`] finds belongs into the
    /// report, once [`CheckOptions::judged`] has decided how bad it is.
    pub requests: Requests,
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
    let (compiled, mut tree) = sources.check(&compile);
    Ok(Checked {
        set: compiled.set,
        report: options.judged(compiled.report),
        failed: compiled.failed,
        requests: Requests::read(&mut tree),
    })
}

impl CheckOptions {
    /// For these profiles, with nothing else set.
    pub fn new(profiles: Profiles) -> Self {
        Self {
            optional_roots: false,
            profiles,
            rules: BTreeMap::new(),
        }
    }

    /// A report with the severities that these options give.
    #[must_use]
    pub fn judged(&self, report: Report) -> Report {
        report.judged(|it| self.judge(it))
    }

    /// The severity of a finding and who decided it; `None` if its rule is off.
    fn judge(&self, it: &Diagnostic) -> Option<(Severity, Vec<Profile>)> {
        match self.rules.get(&it.code) {
            Some(set) => set.map(|severity| (severity, Vec::new())),
            None => Some(self.profiles.judge(it.severity, &it.elsewhere)),
        }
    }
}
