//! Runs `skillbundle eval`.

use anyhow::Result;
use skillbundle_compiler::{Evaluation, Failure, Severity, Tally};

use super::Args;
use crate::Exit;
use crate::cli::display::counted;
use crate::cli::json::{self, Envelope};
use crate::cli::output::{self, Output, Style, info};
use crate::cli::table::Table;
use crate::{directories, sources};

/// What to do if there are no requests.
const NO_REQUESTS: &str = "no requests to replay; write `[{\"request\": \"…\", \"expect\": \"path/of/skill\"}]` \
    to a file `routing.json` there (`skillbundle help eval` shows other forms)";

/// Replays every request, prints the outcome, and checks the bounds.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let (roots, is_default) = args.sources.roots("eval")?;
    let evaluation = directories::evaluate(&roots, is_default)?;
    let unmet = unmet(args, &evaluation.totals);
    let mut out = Output::new();
    if args.json {
        out.json(&Envelope::new("eval", body(&evaluation, &unmet)))?;
    } else {
        show(&mut out, &evaluation, args.verbose)?;
    }
    out.finish()?;
    if !args.json {
        let report = evaluation.report.clone().at_least(Severity::Warning);
        let findings = report.render_human(Style::stderr().color);
        if !findings.is_empty() {
            info(&findings);
        }
        if evaluation.totals == Tally::default() && !evaluation.report.has_errors() {
            info(&format!("{}: {NO_REQUESTS}", sources::names(&roots)));
        }
        for unmet in &unmet {
            output::error(unmet, None);
        }
    }
    if unmet.is_empty() && !evaluation.report.has_errors() {
        Ok(Exit::Success)
    } else {
        Ok(Exit::ProblemsFound)
    }
}

/// The bounds that are not met. Without requests, none is.
fn unmet(args: &Args, totals: &Tally) -> Vec<String> {
    let mut unmet = Vec::new();
    if let Some(least) = args.min_hits {
        match totals.hit_rate() {
            Some(rate) if rate >= least => {}
            Some(rate) => unmet.push(format!(
                "{} of the requests find their skill; --min-hits requires {}",
                percent(rate),
                percent(least)
            )),
            None => unmet
                .push("no request expects a skill; --min-hits requires some that do".to_owned()),
        }
    }
    if let Some(most) = args.max_false {
        match totals.false_rate() {
            Some(rate) if rate <= most => {}
            Some(rate) => unmet.push(format!(
                "{} of the negative requests trigger a skill; --max-false allows {}",
                percent(rate),
                percent(most)
            )),
            None => {
                unmet.push("no request is negative; --max-false requires some that are".to_owned());
            }
        }
    }
    unmet
}

fn show(out: &mut Output, evaluation: &Evaluation, verbose: bool) -> Result<()> {
    if evaluation.totals != Tally::default() {
        out.line(&summary(evaluation))?;
    }
    let mut skills = Table::new(&[
        "SKILL",
        ">REQUESTS",
        ">HITS",
        ">OFFERED",
        ">MISSES",
        ">NEGATIVES",
        ">FALSE",
    ]);
    for (path, tally) in &evaluation.skills {
        let numbers = [
            tally.positives,
            tally.hits,
            tally.offered,
            tally.misses,
            tally.negatives,
            tally.false_triggers,
        ];
        let [all, hits, offered, misses, negatives, wrong] =
            numbers.map(|number| number.to_string());
        skills.row([path, &all, &hits, &offered, &misses, &negatives, &wrong]);
    }
    section(out, "Skills", &skills)?;

    let mut confusions = Table::new(&["EXPECTED", "WON", ">TIMES", "FOR EXAMPLE"]);
    for it in &evaluation.confusions {
        confusions.row([&it.expected, &it.won, &it.count.to_string(), &it.example]);
    }
    section(out, "Confused", &confusions)?;

    if verbose {
        let mut failures = Table::new(&["OUTCOME", "EXPECTED", "ANSWERED", "WHERE", "REQUEST"]);
        for it in &evaluation.failures {
            failures.row([
                it.outcome.as_str(),
                &paths(&it.expected),
                &paths(&it.answered),
                &place(it),
                &it.request,
            ]);
        }
        section(out, "Requests with a wrong outcome", &failures)?;
    }

    let mut thin = Table::new(&["SKILL", ">TERMS"]);
    for (path, terms) in &evaluation.thin {
        thin.row([path, &terms.to_string()]);
    }
    section(
        out,
        "Thin descriptions: say more about when to use the skill",
        &thin,
    )
}

/// A table below its heading, unless it is empty.
fn section(out: &mut Output, title: &str, table: &Table) -> Result<()> {
    if !table.is_empty() {
        out.heading(title)?;
        out.page(table)?;
    }
    Ok(())
}

/// `30 of 36 requests hit their skill (83 %), 4 offered, 2 missed; …`
fn summary(evaluation: &Evaluation) -> String {
    let totals = &evaluation.totals;
    let rate =
        |rate: Option<f64>| rate.map_or_else(String::new, |it| format!(" ({})", percent(it)));
    format!(
        "{} of {} hit their skill{}, {} offered, {} missed; {} of {} falsely triggered{}; {} read",
        totals.hits,
        counted(totals.positives.into(), "request"),
        rate(totals.hit_rate()),
        totals.offered,
        totals.misses,
        totals.false_triggers,
        counted(totals.negatives.into(), "negative"),
        rate(totals.false_rate()),
        counted(evaluation.files.len() as u64, "file"),
    )
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// `-` if there are none.
fn paths(paths: &[String]) -> String {
    match paths {
        [] => "-".to_owned(),
        paths => paths.join(", "),
    }
}

fn place(failure: &Failure) -> String {
    match failure.line {
        Some(line) => format!("{}:{line}", failure.file),
        None => failure.file.clone(),
    }
}

fn body<'a>(evaluation: &'a Evaluation, unmet: &'a [String]) -> json::Evaluation<'a> {
    let tallies = evaluation.skills.iter();
    let tallies = tallies.map(|(path, tally)| json::SkillTally {
        path,
        tally: tally.into(),
    });
    let confusions = evaluation.confusions.iter().map(|it| json::Confusion {
        path: &it.expected,
        won: &it.won,
        count: it.count,
        example: &it.example,
    });
    let failures = evaluation.failures.iter().map(|it| json::FailedRequest {
        request: &it.request,
        outcome: it.outcome.as_str(),
        expected: &it.expected,
        answered: &it.answered,
        file: &it.file,
        line: it.line,
    });
    let thin = evaluation.thin.iter();
    let thin = thin.map(|(path, terms)| json::Thin {
        path,
        term_count: *terms,
    });
    json::Evaluation {
        totals: (&evaluation.totals).into(),
        tallies: tallies.collect(),
        confusions: confusions.collect(),
        failures: failures.collect(),
        thin: thin.collect(),
        request_files: &evaluation.files,
        findings: evaluation.report.to_json(),
        unmet,
    }
}
