//! Which findings count, and whether they fail: what the command line says, or else the settings of the
//! tree.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use skillbundle_compiler::{CheckOptions, Checked, Policy, Severity, Suppression};

use super::baseline::{self, Baseline};
use super::settings::{self, Settings};
use super::{Args, FailOn, changed};
use crate::cli::display::counted;
use crate::sources::SkillRoot;

/// The settings that apply, and what became of findings by them.
pub(super) struct Counting<'a> {
    args: &'a Args,
    roots: Vec<SkillRoot>,
    settings: Vec<Option<Arc<Settings>>>,
    /// Entries of baselines that found nothing.
    pub(super) gone: usize,
    /// Findings that were written into a baseline.
    pub(super) written: Option<usize>,
}

impl<'a> Counting<'a> {
    /// Reads the settings for these roots.
    pub(super) fn new(args: &'a Args, roots: Vec<SkillRoot>) -> Result<Self> {
        let settings = if args.policy.no_settings {
            Vec::new()
        } else {
            settings::find(&roots)?
        };
        Ok(Self {
            args,
            roots,
            settings,
            gone: 0,
            written: None,
        })
    }

    /// What the compiler has to know of them.
    pub(super) fn policies(&self) -> Vec<Option<Policy>> {
        let has_profiles = !self.args.profiles.is_empty();
        let policy = |settings: &Arc<Settings>| {
            let mut policy = settings.policy.clone();
            policy.profiles = policy.profiles.filter(|_| !has_profiles);
            policy
        };
        self.settings
            .iter()
            .map(|it| it.as_ref().map(policy))
            .collect()
    }

    /// Takes out of the report what does not count.
    pub(super) fn apply(&mut self, checked: &mut Checked) -> Result<()> {
        if let Some(file) = &self.args.policy.write_baseline {
            let least = self.least_shown().max(Severity::Warning);
            let (report, places) = (&mut checked.report, &checked.places);
            self.written = Some(baseline::write(file, report, places, least)?);
        } else {
            self.gone = self.apply_baselines(checked)?;
        }
        if let Some(revision) = &self.args.policy.changed_since {
            changed::keep(revision, self.roots.len(), checked)?;
        }
        Ok(())
    }

    fn apply_baselines(&self, checked: &mut Checked) -> Result<usize> {
        let (report, places) = (&mut checked.report, &checked.places);
        if let Some(file) = &self.args.policy.baseline {
            let mut baseline = Baseline::read(file, None)?;
            baseline.apply(report, places, |_| true);
            return Ok(baseline.gone(|path| self.has_checked(path, places, None)));
        }
        let mut gone = 0;
        for settings in self.distinct() {
            let Some(file) = &settings.baseline else {
                continue;
            };
            let mut baseline = Baseline::read(file, Some(&settings.policy.directory))?;
            let settings = Some(settings);
            baseline.apply(report, places, |file| {
                let of_file = places.find(file).and_then(|it| self.settings_of(it.0));
                is_same(of_file, settings)
            });
            gone += baseline.gone(|path| self.has_checked(path, places, settings));
        }
        Ok(gone)
    }

    /// Whether a file was checked with these settings, or with any.
    fn has_checked(
        &self,
        file: &Path,
        places: &skillbundle_compiler::Places,
        settings: Option<&Arc<Settings>>,
    ) -> bool {
        let mut roots = self.roots.iter().enumerate();
        roots.any(|(at, root)| {
            let of_root = self.settings_of(at);
            let is_in = |real: &Path| match &root.only {
                Some(only) => file == real.join(only),
                None => file.starts_with(real),
            };
            places.root(at).is_some_and(is_in)
                && (settings.is_none() || is_same(of_root, settings))
                && !of_root.is_some_and(|it| it.policy.ignores(file))
        })
    }

    fn settings_of(&self, root: usize) -> Option<&Arc<Settings>> {
        self.settings.get(root)?.as_ref()
    }

    /// The settings, each once.
    fn distinct(&self) -> Vec<&Arc<Settings>> {
        let mut all: Vec<&Arc<Settings>> = Vec::new();
        for it in self.settings.iter().flatten() {
            if !all.iter().any(|other| Arc::ptr_eq(other, it)) {
                all.push(it);
            }
        }
        all
    }

    /// The files of the settings, for people.
    pub(super) fn files(&self) -> Vec<&str> {
        let distinct = self.distinct();
        distinct.iter().map(|it| it.file.as_str()).collect()
    }

    /// The least severity that is shown.
    pub(super) fn least_shown(&self) -> Severity {
        let fails_on_notes = if let Some(typed) = self.typed() {
            typed == FailOn::Info
        } else {
            let mut settings = self.settings.iter().flatten();
            settings.any(|it| it.fail_on == Some(FailOn::Info))
        };
        if self.args.verbose || fails_on_notes {
            Severity::Info
        } else {
            Severity::Warning
        }
    }

    fn typed(&self) -> Option<FailOn> {
        let strict = self.args.strict.then_some(FailOn::Warning);
        strict.or(self.args.fail_on)
    }

    /// The least severity that fails in a root.
    fn fails_from(&self, root: Option<usize>) -> Option<Severity> {
        let of_root = || self.settings_of(root?)?.fail_on;
        match self.typed().or_else(of_root).unwrap_or(FailOn::Error) {
            FailOn::Error => Some(Severity::Error),
            FailOn::Warning => Some(Severity::Warning),
            FailOn::Info => Some(Severity::Info),
            FailOn::Never => None,
        }
    }

    /// Why the check fails, if it does.
    pub(super) fn failure(&self, checked: &Checked) -> Option<String> {
        let root = |file: &str| checked.places.find(file).map(|it| it.0);
        let all = checked.report.diagnostics().iter();
        let failing = all.filter(|it| Some(it.severity) <= self.fails_from(root(&it.file)));
        let failing: Vec<Severity> = failing.map(|it| it.severity).collect();
        let words = [
            (Severity::Error, "error"),
            (Severity::Warning, "warning"),
            (Severity::Info, "note"),
        ];
        let found: Vec<_> = words
            .iter()
            .map(|(severity, word)| (failing.iter().filter(|it| *it == severity).count(), word))
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| counted(count as u64, word))
            .collect();
        if !found.is_empty() {
            return Some(found.join(" and "));
        }
        let too_many = |found: usize, most: usize, by: &str| {
            let warnings = counted(found as u64, "warning");
            (found > most).then(|| format!("{warnings}, and {by} allows {most}"))
        };
        if self.typed() == Some(FailOn::Never) && self.args.max_warnings.is_none() {
            return None;
        }
        if let Some(most) = self.args.max_warnings {
            let found = checked.report.count(Severity::Warning);
            return too_many(found, most, "--max-warnings");
        }
        self.distinct().into_iter().find_map(|settings| {
            let all = checked.report.diagnostics().iter();
            let warnings = all.filter(|it| {
                let of_file = root(&it.file).and_then(|root| self.settings_of(root));
                it.severity == Severity::Warning && is_same(of_file, Some(settings))
            });
            too_many(warnings.count(), settings.max_warnings?, &settings.file)
        })
    }

    /// What became of the findings that do not count, in lines for people.
    pub(super) fn notes(&self, checked: &Checked) -> Vec<String> {
        let mut notes = Vec::new();
        let parts = [
            (Kind::Comment, "allowed by comments"),
            (Kind::Baseline, "in the baseline"),
            (Kind::Unchanged, "in what has not changed"),
        ];
        let parts = parts.map(|(kind, what)| (kind.count(checked), what));
        let parts: Vec<_> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        if !parts.is_empty() {
            notes.push(format!("not counted: {}", parts.join(", ")));
        }
        if let Some((count, file)) = self.written.zip(self.args.policy.write_baseline.as_ref()) {
            let findings = counted(count as u64, "finding");
            notes.push(format!("{}: {findings} written", file.display()));
        }
        if self.gone > 0 {
            let (entries, are) = match self.gone {
                1 => ("1 entry".to_owned(), "is"),
                count => (format!("{count} entries"), "are"),
            };
            notes.push(format!(
                "{entries} of the baseline {are} gone; write it anew"
            ));
        }
        let files = self.files();
        if !files.is_empty() {
            notes.push(format!("settings: {}", files.join(", ")));
        }
        notes
    }
}

/// Why findings do not count.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Comment,
    Baseline,
    Unchanged,
}

impl Kind {
    /// The number of findings that do not count for this reason.
    pub(super) fn count(self, checked: &Checked) -> usize {
        let all = checked.report.suppressed().iter();
        all.filter(|(_, why)| match self {
            Self::Comment => matches!(why, Suppression::Comment(_)),
            Self::Baseline => *why == Suppression::Baseline,
            Self::Unchanged => *why == Suppression::Unchanged,
        })
        .count()
    }
}

/// The number of skills whose files are ignored.
pub(super) fn unchecked(checked: &Checked, options: &CheckOptions) -> usize {
    let skills = checked.set.offered().iter();
    let is_ignored = |root: usize, file: &str| {
        let path = checked.places.root(root)?.join(file);
        Some(options.policy(root)?.ignores(&path))
    };
    skills
        .filter(|it| is_ignored(it.root as usize, &it.file_path) == Some(true))
        .count()
}

fn is_same(one: Option<&Arc<Settings>>, other: Option<&Arc<Settings>>) -> bool {
    one.zip(other)
        .is_some_and(|(one, other)| Arc::ptr_eq(one, other))
}
