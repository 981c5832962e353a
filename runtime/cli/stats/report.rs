//! What a person sees of `skillbundle stats`: a section for each question, left out if nothing
//! answers it.

use std::io;
use std::time::SystemTime;

use skillbundle_journal::rfc3339;

use super::enabled::{Found, State};
use super::json::date;
use super::usage::{Comment, Counts, day_before};
use crate::cli::display::{counted, grouped, one_line};
use crate::cli::output::Output;
use crate::cli::table::Table;

/// Days that are shown, the latest: about a month.
const DAYS: usize = 31;

/// Prints the sections.
pub(super) fn show(found: &Found<'_>, out: &mut Output) -> io::Result<()> {
    if matches!(found.state, State::Recorded | State::CallsOff) {
        out.line(&summary(found))?;
        most_used(found, out)?;
    }
    never_used(found, out)?;
    unmet(found, out)?;
    ambiguous(found, out)?;
    unhelpful(found, out)?;
    offered(found, out)?;
    days(found, out)
}

fn summary(found: &Found<'_>) -> String {
    let totals = &found.usage.totals;
    let used = found.usage.by(Counts::uses).len();
    let since = found.since.or_else(|| {
        let first = found.usage.days.first_key_value();
        first.map(|(day, _)| *day)
    });
    let since = since.map(|it| format!(" since {}", day_of(it)));
    format!(
        "{} of {}{}, from {}",
        counted(totals.uses(), "use"),
        counted(used as u64, "skill"),
        since.unwrap_or_default(),
        one_line(&found.journal.display().to_string()),
    )
}

fn most_used(found: &Found<'_>, out: &mut Output) -> io::Result<()> {
    let skills = found.usage.by(Counts::uses);
    let mut table = Table::new(&[
        "SKILL",
        ">USES",
        ">SERVED",
        ">LOADED",
        ">INVOKED",
        ">SCRIPTS",
        "LAST USED",
    ]);
    for (path, skill) in skills.iter().take(found.top) {
        let counts = &skill.counts;
        let cells = [
            path,
            &*grouped(counts.uses()),
            &grouped(counts.served),
            &grouped(counts.loaded),
            &grouped(counts.invoked),
            &grouped(counts.ran),
            &skill.last.map(day_of).unwrap_or_default(),
        ];
        table.row_with_bar(cells, counts.uses());
    }
    section("Most used", &table, more(skills.len(), found), out)
}

fn never_used(found: &Found<'_>, out: &mut Output) -> io::Result<()> {
    let never = found.never_used.as_deref().unwrap_or_default();
    let mut table = Table::new(&["SKILL"]);
    for path in never.iter().take(found.top) {
        table.row([path]);
    }
    let title = match found.since {
        Some(since) => format!("Not used since {}", day_of(since)),
        None => "Never used".to_owned(),
    };
    section(&title, &table, more(never.len(), found), out)
}

fn unmet(found: &Found<'_>, out: &mut Output) -> io::Result<()> {
    let mut table = Table::new(&[">TIMES", "LAST ASKED", "REQUEST"]);
    for it in &found.usage.unmet {
        let request = one_line(&it.request);
        let shown = if request.is_empty() {
            "(blank)"
        } else {
            &request
        };
        table.row([&grouped(it.count), &day_of(it.last), shown]);
    }
    let more = more(found.usage.unmet_count, found);
    section("Asked but not found", &table, more, out)
}

fn ambiguous(found: &Found<'_>, out: &mut Output) -> io::Result<()> {
    let mut table = Table::new(&[">TIMES", "LAST ASKED", "SKILL", "OTHER SKILL"]);
    for it in &found.usage.pairs {
        let [one, other] = &it.skills;
        table.row([&grouped(it.count), &day_of(it.last), one, other]);
    }
    let more = more(found.usage.pair_count, found);
    section("Ambiguous", &table, more, out)
}

fn unhelpful(found: &Found<'_>, out: &mut Output) -> io::Result<()> {
    let skills = found.usage.by(|it| it.unhelpful);
    let mut table = Table::new(&["SKILL", ">NOT USEFUL", ">USEFUL", "SAID", "COMMENT"]);
    for (path, skill) in skills.iter().take(found.top) {
        let counts = &skill.counts;
        let (no, yes) = (grouped(counts.unhelpful), grouped(counts.helpful));
        let said = |it: &Comment| (day_of(it.at), it.text.clone());
        let comments: Vec<_> = skill.comments.iter().map(said).collect();
        let (at, text) = comments.first().cloned().unwrap_or_default();
        table.row([*path, &no, &yes, &at, &text]);
        for (at, text) in comments.iter().skip(1) {
            table.row(["", "", "", at, text]);
        }
    }
    section("Not useful", &table, more(skills.len(), found), out)
}

/// How many of those that an answer named were then taken.
fn offered(found: &Found<'_>, out: &mut Output) -> io::Result<()> {
    let skills = found.usage.by(|it| it.offered);
    let mut table = Table::new(&["SKILL", ">OFFERED", ">CHOSEN", ">LOADED"]);
    let mut row = |name: &str, counts: &Counts| {
        let numbers = [counts.offered, counts.served, counts.loaded].map(grouped);
        let [offered, chosen, loaded] = &numbers;
        table.row([name, offered, chosen, loaded]);
    };
    for (path, skill) in skills.iter().take(found.top) {
        row(path, &skill.counts);
    }
    if !skills.is_empty() {
        row("(all skills)", &found.usage.totals);
    }
    let more = more(skills.len(), found);
    section("Offered, chosen, loaded", &table, more, out)
}

fn days(found: &Found<'_>, out: &mut Output) -> io::Result<()> {
    let days = &found.usage.days;
    let is_worth_a_row = |it: &Counts| it.uses() + it.not_found + it.ambiguous > 0;
    if !days.values().any(is_worth_a_row) {
        return Ok(());
    }
    let (Some((first, _)), Some((last, _))) = (days.first_key_value(), days.last_key_value())
    else {
        return Ok(());
    };
    // Days without a use are shown as well: they are what one looks for.
    let all = std::iter::successors(Some(*last), |day| {
        let before = days.range(..*day).next_back().map(|(day, _)| *day);
        before.map(|_| day_before(*day))
    });
    let mut shown: Vec<SystemTime> = all.take(DAYS).collect();
    shown.reverse();
    let mut table = Table::new(&["DAY", ">USES", ">NOT FOUND", ">AMBIGUOUS"]);
    for day in &shown {
        let counts = days.get(day).copied().unwrap_or_default();
        let [uses, not_found, ambiguous] =
            [counts.uses(), counts.not_found, counts.ambiguous].map(grouped);
        let cells = [&*day_of(*day), &*uses, &*not_found, &*ambiguous];
        table.row_with_bar(cells, counts.uses());
    }
    let is_cut = shown.first().is_some_and(|day| day > first);
    let title = if is_cut {
        format!("The last {DAYS} days")
    } else {
        "Each day".to_owned()
    };
    section(&title, &table, 0, out)
}

/// How many rows a list leaves out.
fn more(all: usize, found: &Found<'_>) -> usize {
    all.saturating_sub(found.top)
}

/// A table below a heading. Nothing if it is empty.
fn section(title: &str, table: &Table, more: usize, out: &mut Output) -> io::Result<()> {
    if table.is_empty() {
        return Ok(());
    }
    out.heading(title)?;
    out.page(table)?;
    if more > 0 {
        let more = grouped(more as u64);
        out.line(&format!("… and {more} more; --top N shows more"))?;
    }
    Ok(())
}

fn day_of(at: SystemTime) -> String {
    date(&rfc3339(at)).to_owned()
}
