//! `skillbundle eval` with the compiler at hand.

use anyhow::Result;
use serde_json::{Value, json};
use skillbundle_compiler::{Evaluation, Failure, Severity, Tally};

use super::Args;
use crate::Exit;
use crate::cli::output::{Look, Output, complain, note};
use crate::cli::table::Table;
use crate::cli::text::counted;
use crate::{directories, sources};

/// What to do where there is nothing to replay.
const NOTHING: &str = "no requests to replay: write `[{\"request\": \"…\", \"expect\": \"path/of/skill\"}]` \
    into a file `routing.json` there; `skillbundle eval --help` shows the other forms";

/// Replays every request, says what it showed, and holds it against the bounds.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let places = sources::places(&args.dir);
    let evaluation = directories::evaluate(&places)?;
    let unmet = unmet(args, &evaluation.totals);
    let mut out = Output::new();
    if args.json {
        out.json(&record(&evaluation, &unmet))?;
    } else {
        show(&mut out, &evaluation, args.verbose)?;
    }
    out.finish()?;
    if !args.json {
        let report = evaluation.report.clone().at_least(Severity::Warning);
        let findings = report.render_human(Look::stderr().color);
        if !findings.is_empty() {
            note(&findings);
        }
        if evaluation.totals == Tally::default() && !evaluation.report.has_errors() {
            note(&format!("{}: {NOTHING}", sources::names(&places)));
        }
        for unmet in &unmet {
            complain(unmet);
        }
    }
    if unmet.is_empty() && !evaluation.report.has_errors() {
        Ok(Exit::Fine)
    } else {
        Ok(Exit::Findings)
    }
}

/// The bounds that are not met, in words. Where nothing was asked none is met.
fn unmet(args: &Args, totals: &Tally) -> Vec<String> {
    let mut unmet = Vec::new();
    if let Some(least) = args.min_hits {
        match totals.hit_rate() {
            Some(rate) if rate >= least => {}
            Some(rate) => unmet.push(format!(
                "{} of the requests hit their skill, --min-hits wants {}",
                percent(rate),
                percent(least)
            )),
            None => unmet.push(
                "no request says which skill it should find, --min-hits wants some".to_owned(),
            ),
        }
    }
    if let Some(most) = args.max_false {
        match totals.false_rate() {
            Some(rate) if rate <= most => {}
            Some(rate) => unmet.push(format!(
                "{} of the requests trigger a skill that they should not, --max-false allows {}",
                percent(rate),
                percent(most)
            )),
            None => unmet.push(
                "no request says which skill it should not find, --max-false wants some".to_owned(),
            ),
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
        section(out, "Requests that did not end as they should", &failures)?;
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

/// A table below its heading, or nothing.
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

/// `-` where there is none.
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

fn record(evaluation: &Evaluation, unmet: &[String]) -> Value {
    let skills = evaluation.skills.iter().map(|(path, tally)| {
        let mut record = json!({ "path": path });
        merge(&mut record, counts(tally));
        record
    });
    let confusions = evaluation.confusions.iter().map(|it| {
        json!({"expected": it.expected, "won": it.won, "count": it.count, "example": it.example})
    });
    let failures = evaluation.failures.iter().map(|it| {
        json!({
            "request": it.request,
            "outcome": it.outcome.as_str(),
            "expected": it.expected,
            "answered": it.answered,
            "file": it.file,
            "line": it.line,
        })
    });
    let thin = evaluation.thin.iter();
    let thin = thin.map(|(path, terms)| json!({"path": path, "terms": terms}));
    json!({
        "totals": counts(&evaluation.totals),
        "skills": skills.collect::<Value>(),
        "confusions": confusions.collect::<Value>(),
        "failures": failures.collect::<Value>(),
        "thin": thin.collect::<Value>(),
        "files": evaluation.files,
        "findings": evaluation.report.to_json(),
        "unmet": unmet,
    })
}

fn counts(tally: &Tally) -> Value {
    json!({
        "positives": tally.positives,
        "hits": tally.hits,
        "offered": tally.offered,
        "misses": tally.misses,
        "hit_rate": tally.hit_rate(),
        "negatives": tally.negatives,
        "false_triggers": tally.false_triggers,
        "false_rate": tally.false_rate(),
    })
}

fn merge(into: &mut Value, from: Value) {
    if let (Value::Object(into), Value::Object(from)) = (into, from) {
        into.extend(from);
    }
}
