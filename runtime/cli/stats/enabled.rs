//! Runs `skillbundle stats`: opens the journal and the skills, and says what to do if nothing was
//! recorded.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::SystemTime;

use anyhow::Result;
use skillbundle_format::{Audience, Catalog};
use skillbundle_journal::Reader;

use super::Args;
use super::usage::{Usage, Wanted};
use super::{json, report};
use crate::Exit;
use crate::cli::json::Envelope;
use crate::cli::output::{Output, info, with_help};
use crate::cli::time;
use crate::config;
use crate::sources::Opened;

/// Rows of each list, for a person and for a program.
const TOP: usize = 10;
const TOP_IN_JSON: usize = 1000;

/// Characters of a name that the journal keeps of an invocation.
const NAME: usize = 64;

/// What a journal has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// How skills were used.
    Recorded,
    /// Invocations and feedback alone.
    CallsOff,
    /// Nothing in this time.
    Empty,
    /// There is no journal yet.
    NoJournal,
    /// There is none, and none is kept.
    JournalOff,
}

/// All that is shown.
pub(super) struct Found<'a> {
    pub(super) journal: &'a Path,
    pub(super) state: State,
    pub(super) since: Option<SystemTime>,
    /// The length of lists.
    pub(super) top: usize,
    pub(super) usage: Usage,
    /// Skills that were never used, in the order of listings; `None` if the skills are not at hand,
    /// or not every use is recorded.
    pub(super) never_used: Option<Vec<String>>,
}

/// Reads the journal and shows what it says.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let now = SystemTime::now();
    let since = args.since.as_deref();
    let since = since
        .map(|it| time::parse("--since", it, now))
        .transpose()?;
    let usual = if args.json { TOP_IN_JSON } else { TOP };
    let top = args.top.unwrap_or(usual);
    let has_own = args.sources.has_own()?;
    let opened = has_own.then(|| args.sources.open()).transpose()?;
    let catalog = opened.as_ref().map(|it| it.bundle.catalog()).transpose()?;
    let names = catalog.as_ref().map(names_of_contracts).transpose()?;
    let names = names.unwrap_or_default();
    let wanted = Wanted {
        since,
        top,
        path_of: &|name| names.get(name).map(String::as_str),
    };
    let path = config::current().journal_file()?;
    let (usage, state) = read(args, &path, &wanted)?;
    let counts_all = state == State::Recorded;
    let skills = opened.as_ref().filter(|_| counts_all);
    let never_used = skills.map(|it| never_used(it, &usage)).transpose()?;
    let found = Found {
        journal: &path,
        state,
        since,
        top,
        usage,
        never_used,
    };
    let mut out = Output::new();
    if args.json {
        out.json(&Envelope::new("stats", json::Stats::from(&found)))?;
    } else {
        report::show(&found, &mut out)?;
    }
    out.finish()?;
    if let (false, Some((what, help))) = (args.json, found.advice()) {
        info(&format!("{what}\nhelp: {help}"));
    }
    Ok(Exit::Success)
}

/// What the journal says, if there is one. A file that was named must be there.
fn read(args: &Args, path: &Path, wanted: &Wanted<'_>) -> Result<(Usage, State)> {
    if path.exists() {
        let usage = Usage::read(&Reader::open(path)?, wanted)?;
        let state = match (usage.is_any, usage.has_calls) {
            (false, _) => State::Empty,
            (true, false) => State::CallsOff,
            (true, true) => State::Recorded,
        };
        return Ok((usage, state));
    }
    if args.journal.is_some() {
        return Err(with_help(
            &format!("there is no journal {}", path.display()),
            "leave --journal out to read the one that the settings name (`skillbundle config show`)",
        ));
    }
    let destination = config::current().text("journal.destination");
    let state = match destination.as_deref() {
        Some("off") => State::JournalOff,
        _ => State::NoJournal,
    };
    Ok((Usage::default(), state))
}

/// The path of each skill that can be invoked, by the name that invocations are recorded under.
fn names_of_contracts(catalog: &Catalog<'_>) -> Result<HashMap<String, String>> {
    let mut names = HashMap::new();
    for skill in catalog.with_contracts() {
        let skill = skill?;
        let name = skill.name.chars().take(NAME).collect();
        // The first is the one that is invoked.
        names.entry(name).or_insert_with(|| skill.path.to_owned());
    }
    Ok(names)
}

/// The skills that people and models can find, and that nobody has. One whose text or files other
/// skills have inherited was used with them.
fn never_used(opened: &Opened, usage: &Usage) -> Result<Vec<String>> {
    let catalog = opened.bundle.catalog()?;
    let mut used: HashSet<&str> = HashSet::new();
    for (path, skill) in &usage.skills {
        let is_used = skill.counts.uses() + skill.counts.assets > 0;
        let found = catalog.by_path(path)?.filter(|_| is_used);
        if let Some(skill) = found {
            used.insert(skill.path);
            let chain = if skill.inherit {
                skill.chain()?
            } else {
                Vec::new()
            };
            used.extend(chain.iter().map(|it| it.path));
        }
    }
    let mut never = Vec::new();
    for skill in catalog.skills() {
        let skill = skill?;
        let can_be_found = skill.audience() != Audience::Nobody && opened.is_own(&skill);
        if can_be_found && !used.contains(skill.path) {
            never.push(skill.path.to_owned());
        }
    }
    Ok(never)
}

impl State {
    /// The word for programs.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::CallsOff => "calls_off",
            Self::Empty => "empty",
            Self::NoJournal => "no_journal",
            Self::JournalOff => "journal_off",
        }
    }
}

impl Found<'_> {
    /// Why there is nothing, or less than there could be, and what to type.
    pub(super) fn advice(&self) -> Option<(String, &'static str)> {
        const CALLS: &str = "start servers with `skillbundle serve --set journal.calls=true`, or put `journal: {calls: true}` into your configuration file (`skillbundle config show` names it)";
        let path = self.journal.display();
        let keeps_calls = config::current().keeps_calls();
        match self.state {
            State::Recorded => None,
            State::CallsOff if keeps_calls => None,
            State::CallsOff => Some((
                "only invocations and feedback were recorded, since journal.calls is off"
                    .to_owned(),
                CALLS,
            )),
            State::Empty if self.since.is_some() => {
                let since = self.since.map(time::to_second).unwrap_or_default();
                Some((
                    format!("nothing was recorded in {path} since {since}"),
                    "name an earlier time, or leave --since out",
                ))
            }
            State::Empty | State::NoJournal if keeps_calls => Some((
                format!("nothing was recorded in {path}"),
                "serve skills with `skillbundle serve`, and let an agent use them",
            )),
            State::Empty => Some((
                format!("nothing was recorded in {path}; journal.calls is off"),
                CALLS,
            )),
            State::NoJournal => Some((
                format!("nothing was recorded yet: there is no journal {path}"),
                CALLS,
            )),
            State::JournalOff => Some((
                "nothing was recorded: the journal is off".to_owned(),
                "start servers with `skillbundle serve --journal on --set journal.calls=true`, or put `journal: {destination: on, calls: true}` into your configuration file",
            )),
        }
    }
}
