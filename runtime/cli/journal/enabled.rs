//! Runs `skillbundle journal`.

use std::io;
use std::path::Path;
use std::time::SystemTime;

use anyhow::Result;
use skillbundle_journal::{Event, Filter, Reader, Record, SkillStats, Uuid};

use super::json::{Events, Invocation, List, OfSkill, OtherEvent, Prune, Show, Stats};
use super::{Action, Args};
use crate::Exit;
use crate::cli::display::counted;
use crate::cli::json::Envelope;
use crate::cli::output::{Output, info, with_help};
use crate::cli::table::Table;
use crate::cli::time;
use crate::config;

/// Invocations that are listed unless a limit is given: about a screen.
const LISTED: usize = 50;

/// Reads the journal, or removes from it.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    args.check()?;
    let path = config::current().journal_file()?;
    let filter = args.filter()?;
    let reader = open(&path)?;
    let mut out = Output::new();
    match args.action {
        Action::List => list(args, &path, &reader, &filter, &mut out)?,
        Action::Events => events(args, &path, &reader, &filter, &mut out)?,
        Action::Show => show(args, &path, &reader, &mut out)?,
        Action::Stats => stats(args, &path, &reader, &filter, &mut out)?,
        Action::Export => export(&reader, &filter, &mut out)?,
        Action::Prune => prune(args, &path, &reader, &filter, &mut out)?,
    }
    out.finish()?;
    Ok(Exit::Success)
}

fn open(path: &Path) -> Result<Reader> {
    if path.exists() {
        return Ok(Reader::open(path)?);
    }
    Err(with_help(
        &format!("there is no journal {}", path.display()),
        "set journal.destination to keep one, or name another file with --journal PATH",
    ))
}

impl Args {
    /// Refuses options that the action would ignore: what is removed, or shown, would not be what
    /// was asked for.
    fn check(&self) -> Result<()> {
        let wants_id = self.action == Action::Show;
        if self.id.is_some() != wants_id {
            let help = "type `skillbundle journal show ID`; `skillbundle journal list` has the ids";
            let problem = if wants_id {
                "`show` needs the id of an invocation"
            } else {
                "only `show` takes an id"
            };
            return Err(with_help(problem, help));
        }
        let others = [
            (self.agent.is_some(), "--agent"),
            (self.status.is_some(), "--status"),
            (self.since.is_some(), "--since"),
            (self.correlation.is_some(), "--correlation"),
            (self.limit.is_some(), "--limit"),
        ];
        let filters = [
            (self.skill.is_some(), "--skill"),
            (self.until.is_some(), "--until"),
        ];
        let refused = match self.action {
            Action::Prune => others.iter().find(|(is_set, _)| *is_set),
            Action::Show => others.iter().chain(&filters).find(|(is_set, _)| *is_set),
            _ => None,
        };
        let Some((_, option)) = refused else {
            return Ok(());
        };
        let (action, help) = match self.action {
            Action::Prune => ("prune", "it takes --until and --skill"),
            _ => ("show", "it takes an id and no filter"),
        };
        Err(with_help(&format!("`{action}` has no {option}"), help))
    }

    fn filter(&self) -> Result<Filter> {
        let now = SystemTime::now();
        let time = |option, text: &Option<String>| {
            let text = text.as_deref();
            text.map(|it| time::parse(option, it, now)).transpose()
        };
        let status = self.status.as_deref().map(str::parse).transpose();
        let status = status.map_err(|error: String| {
            with_help(&format!("--status: {error}"), "write one of these words")
        })?;
        let correlation = self.correlation.as_deref();
        Ok(Filter {
            skill: self.skill.clone(),
            agent: self.agent.clone(),
            status,
            since: time("--since", &self.since)?,
            until: time("--until", &self.until)?,
            correlation_id: correlation.map(|it| id("--correlation", it)).transpose()?,
            limit: self.limit,
        })
    }
}

fn id(what: &str, text: &str) -> Result<Uuid> {
    text.parse().map_err(|_| {
        with_help(
            &format!("{what}: expected an id, found `{text}`"),
            "an id looks like 550e8400-e29b-41d4-a716-446655440000",
        )
    })
}

fn list(
    args: &Args,
    path: &Path,
    reader: &Reader,
    filter: &Filter,
    out: &mut Output,
) -> Result<()> {
    let filter = Filter {
        limit: filter.limit.or(Some(LISTED)),
        ..filter.clone()
    };
    let records = reader.list(&filter)?;
    if args.json {
        let invocations = records.iter().map(Invocation::from).collect();
        let journal = path;
        let body = List {
            journal,
            invocations,
        };
        out.json(&Envelope::new("journal", body))?;
        return Ok(());
    }
    let mut table = Table::new(&["TIME", "SKILL", "AGENT", "STATUS", ">MS", "FAILURE", "ID"]);
    for record in &records {
        let invocation = &record.invocation;
        let result = record.result.as_ref();
        let failure = result.and_then(|it| it.failure_code.as_deref());
        table.row([
            &time::to_second(invocation.created_at),
            &invocation.skill,
            &invocation.agent,
            record.status.as_str(),
            &number(result.map(|it| it.duration_ms)),
            failure.unwrap_or_default(),
            &invocation.id.to_string(),
        ]);
    }
    if records.is_empty() {
        info("no invocation matches");
    }
    out.table(&table)?;
    Ok(())
}

fn events(
    args: &Args,
    path: &Path,
    reader: &Reader,
    filter: &Filter,
    out: &mut Output,
) -> Result<()> {
    let filter = Filter {
        limit: filter.limit.or(Some(LISTED)),
        ..filter.clone()
    };
    let events = reader.events(&filter)?;
    if args.json {
        let events = events.iter().map(OtherEvent::from).collect();
        let journal = path;
        out.json(&Envelope::new("journal", Events { journal, events }))?;
        return Ok(());
    }
    if events.is_empty() {
        info("no event matches");
    }
    out.table(&table_of(&events))?;
    Ok(())
}

fn table_of(events: &[Event]) -> Table {
    let mut table = Table::new(&["TIME", "EVENT", "SKILL", "WHAT"]);
    for event in events {
        let (at, kind, skill, what) = match event {
            Event::Script(run) => {
                let end = match (run.timed_out, run.exit_code, run.signal) {
                    (true, _, _) => "ran out of time".to_owned(),
                    (false, Some(code), _) => format!("exit code {code}"),
                    (false, None, Some(signal)) => format!("signal {signal}"),
                    (false, None, None) => "did not end".to_owned(),
                };
                let what = format!("{}: {end}, {} ms", run.script, run.duration_ms);
                (run.at, "script", run.skill.as_str(), what)
            }
            Event::Routing(it) => {
                let what = format!("{}: {}", it.outcome, it.request);
                (it.at, "routing", it.chosen.as_deref().unwrap_or(""), what)
            }
            Event::Analytics {
                name,
                skill,
                at,
                body,
                ..
            } => {
                let skill = skill.as_deref().unwrap_or_default();
                (*at, "analytics", skill, format!("{name} {body}"))
            }
            // A journal returns these as invocations.
            Event::Created(_) | Event::Running { .. } | Event::Ended(_) => continue,
        };
        table.row([&time::to_second(at), kind, skill, &what]);
    }
    table
}

fn show(args: &Args, path: &Path, reader: &Reader, out: &mut Output) -> Result<()> {
    let wanted = id("show", args.id.as_deref().unwrap_or_default())?;
    let Some(record) = reader.show(wanted)? else {
        return Err(with_help(
            &format!("no invocation {wanted} in {}", path.display()),
            "`skillbundle journal list` has the ids",
        ));
    };
    let events = reader.events(&Filter {
        correlation_id: Some(record.invocation.correlation_id),
        ..Filter::default()
    })?;
    if args.json {
        let body = Show {
            journal: path,
            invocation: Invocation::from(&record),
            events: events.iter().map(OtherEvent::from).collect(),
        };
        out.json(&Envelope::new("journal", body))?;
        return Ok(());
    }
    out.page(&details(&record))?;
    if !events.is_empty() {
        out.heading("Events with its correlation id")?;
        out.page(&table_of(&events))?;
    }
    Ok(())
}

/// Field by field; a payload is one line.
fn details(record: &Record) -> Table {
    let mut table = Table::new(&["FIELD", "VALUE"]);
    let invocation = &record.invocation;
    let mut row = |field: &str, value: &str| table.row([field, value]);
    row("id", &invocation.id.to_string());
    row("skill", &invocation.skill);
    row("agent", &invocation.agent);
    row("correlation id", &invocation.correlation_id.to_string());
    row("status", record.status.as_str());
    row("asked for", &time::to_second(invocation.created_at));
    row("input", &invocation.input);
    let Some(result) = &record.result else {
        return table;
    };
    row("ended", &time::to_second(result.created_at));
    row("took", &format!("{} ms", result.duration_ms));
    for (field, value) in [
        ("output", &result.output),
        ("failure", &result.failure_code),
        ("message", &result.failure_message),
        ("details", &result.failure_details),
        ("internal detail", &result.internal_detail),
    ] {
        if let Some(value) = value {
            row(field, value);
        }
    }
    table
}

fn stats(
    args: &Args,
    path: &Path,
    reader: &Reader,
    filter: &Filter,
    out: &mut Output,
) -> Result<()> {
    let stats = reader.stats(filter)?;
    if args.json {
        let stats = stats.iter().map(OfSkill::from).collect();
        let journal = path;
        out.json(&Envelope::new("journal", Stats { journal, stats }))?;
        return Ok(());
    }
    let mut table = Table::new(&[
        "SKILL",
        ">CALLS",
        ">COMPLETED",
        ">FAILED",
        ">TIMEOUT",
        ">OPEN",
        ">P50 MS",
        ">P95 MS",
        ">MAX MS",
        "FAILURES",
    ]);
    for of_skill in &stats {
        table.row([
            &of_skill.skill,
            &of_skill.invocations.to_string(),
            &of_skill.completed.to_string(),
            &of_skill.failed.to_string(),
            &of_skill.timed_out.to_string(),
            &of_skill.unfinished.to_string(),
            &number(of_skill.p50_ms),
            &number(of_skill.p95_ms),
            &number(of_skill.max_ms),
            &failures(of_skill),
        ]);
    }
    if stats.is_empty() {
        info("no invocation matches");
    }
    out.table(&table)?;
    Ok(())
}

fn failures(stats: &SkillStats) -> String {
    let failures = stats.failures.iter();
    let failures = failures.map(|(code, count)| format!("{code} {count}"));
    failures.collect::<Vec<_>>().join(", ")
}

fn export(reader: &Reader, filter: &Filter, out: &mut Output) -> Result<()> {
    let exported: io::Result<()> = reader.export(filter, |line| out.line(line))?;
    Ok(exported?)
}

fn prune(
    args: &Args,
    path: &Path,
    reader: &Reader,
    filter: &Filter,
    out: &mut Output,
) -> Result<()> {
    let kept = config::current().journal()?.retention.max_age;
    let oldest = kept.and_then(|age| SystemTime::now().checked_sub(age));
    let Some(before) = filter.until.or(oldest) else {
        return Err(with_help(
            "nothing says what to remove, since journal.retention_days is 0",
            "name a time, such as `skillbundle journal prune --until 90d`",
        ));
    };
    let pruned = reader.prune(before, filter.skill.as_deref())?;
    if args.json {
        out.json(&Envelope::new("journal", Prune::new(path, pruned)))?;
        return Ok(());
    }
    out.line(&format!(
        "removed {} and {}",
        counted(pruned.invocations as u64, "invocation"),
        counted(pruned.events as u64, "other event")
    ))?;
    if pruned.undelivered > 0 {
        let count = pruned.undelivered;
        info(&format!(
            "{count} older ones stay: the PostgreSQL server does not have them"
        ));
    }
    Ok(())
}

fn number(number: Option<u32>) -> String {
    number.map_or_else(String::new, |it| it.to_string())
}
