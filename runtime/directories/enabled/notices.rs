//! What is said of the skills that were loaded: where they came from, which hide others, and what is
//! wrong with their files.

use std::collections::BTreeMap;

use skillbundle_compiler::{Report, Severity};
use skillbundle_format::{Bundle, Catalog, Skill};

use crate::roots::{self, State};

/// Hidden skills that a warning names.
const MOST_NAMED: usize = 5;

/// `./.agent/skills: 3, ~/.agent/skills: missing, this binary: 12`
pub(super) fn summary(
    labels: &[&str],
    states: &[State],
    bundle: &Bundle,
) -> Result<String, skillbundle_format::Error> {
    let (counts, below) = roots::counts(states, bundle)?;
    let mut parts = Vec::new();
    for ((label, state), count) in labels.iter().zip(states).zip(counts) {
        let outcome = match state {
            State::Read => count.to_string(),
            State::Missing | State::Unreadable => state.as_str().to_owned(),
            State::SameAs(at) => format!("the same as {}", labels[*at]),
        };
        parts.push(format!("{label}: {outcome}"));
    }
    if below > 0 {
        parts.push(format!("this binary: {below}"));
    }
    Ok(parts.join(", "))
}

/// A warning about the user's skills that a project hides, as [`Catalog::hidden`] has them.
pub(super) fn hidden_skills(
    catalog: &Catalog<'_>,
    hidden: &BTreeMap<u32, Vec<Skill<'_>>>,
) -> Option<String> {
    let mut names = Vec::new();
    for (winner, losers) in hidden.iter().take(MOST_NAMED) {
        let winner = catalog.skill(*winner).ok()?;
        let losers: Vec<_> = losers.iter().map(|loser| loser.root_label).collect();
        let losers = losers.join(", ");
        names.push(format!(
            "`{}` of {} hides that of {losers}",
            winner.path, winner.root_label
        ));
    }
    let more = match hidden.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let all = "`skillbundle list --all` shows both, --no-project-roots leaves the project's out";
    let names = names.join(", ");
    (!names.is_empty()).then(|| format!("skills of the project hide yours: {names}{more}; {all}"))
}

/// What is wrong with a file, with the line.
pub(super) fn first_error(report: &Report, file: &str) -> String {
    let mut diagnostics = report.diagnostics().iter();
    let error = diagnostics.find(|it| it.file == file && it.severity == Severity::Error);
    let Some(error) = error else {
        return format!("{file} does not load");
    };
    match report.locate(file, error.span) {
        Some(at) => format!("{file}:{}: {}", at.line, error.message),
        None => format!("{file}: {}", error.message),
    }
}

/// One line for each error and warning, errors first: where a log is cut short, they remain.
pub(super) fn findings(report: Report) -> Vec<String> {
    let report = report.at_least(Severity::Warning).errors_first();
    report.render_plain().lines().map(str::to_owned).collect()
}
