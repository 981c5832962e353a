//! `skillbundle roots`: where skills are looked for, and how many each place has.

use std::path::{Path, absolute};

use anyhow::Result;
use skillbundle_format::Bundle;

use super::json::{self, Envelope};
use super::output::Output;
use super::table::Table;
use crate::Exit;
use crate::roots::{State, counts};
use crate::sources::{Selection, SkillRoot, Sources};

const EXAMPLES: &str = "\
Examples:
  skillbundle roots                             what is read if nothing is named
  skillbundle roots --no-project-roots          the same without this project's
  skillbundle roots skills vendor/skills        how many skills each directory gives
  skillbundle roots --json                      for a script

The first root with a name has the skill. Those of the project are looked for in this directory
and above it, up to the root of its git repository. docs/roots.md says which host reads what.";

// Arguments of `roots`. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the roots, highest priority first.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let roots = match args.sources.select()? {
        Selection::Default(roots) | Selection::Roots(roots) => roots,
        Selection::Repositories(repositories) => repositories.roots(false)?,
        Selection::Examples | Selection::Bundle(_) => Vec::new(),
    };
    let opened = args.sources.open()?;
    let states = SkillRoot::states(&roots);
    let places = places(&roots, &states, &opened.bundle)?;
    let mut out = Output::new();
    if args.json {
        out.json(&Envelope::new("roots", json::Roots { roots: places }))?;
    } else {
        out.table(&table(&places))?;
    }
    out.finish()?;
    Ok(Exit::Success)
}

/// The roots that were looked at, then the other roots of the bundle.
pub(super) fn places<'a>(
    roots: &'a [SkillRoot],
    states: &[State],
    bundle: &'a Bundle,
) -> Result<Vec<json::RootStatus<'a>>> {
    let read = states.iter().filter(|state| **state == State::Read).count();
    let (counts, below) = counts(states, bundle)?;
    let looked_at = roots.iter().zip(states).zip(counts);
    let looked_at = looked_at.map(|((root, state), skill_count)| json::RootStatus {
        label: &root.label,
        scope: root.scope.as_str(),
        directory: Some(directory(&root.dir)),
        state: state.as_str(),
        skill_count,
        read_by: root.readers,
    });
    let others = bundle.catalog()?.roots()?.into_iter().skip(read);
    let others: Vec<_> = others.collect();
    // What lies below the roots is one bundle; only a bundle of several roots needs a count for each.
    let count = |at: usize| -> Result<usize> {
        if others.len() == 1 {
            return Ok(below);
        }
        let mut count = 0;
        for skill in bundle.catalog()?.skills() {
            count += usize::from(skill?.root as usize == read + at);
        }
        Ok(count)
    };
    let mut places: Vec<_> = looked_at.collect();
    for (at, root) in others.iter().enumerate() {
        places.push(json::RootStatus {
            label: root.label,
            scope: root.scope.as_str(),
            directory: None,
            state: State::Read.as_str(),
            skill_count: count(at)?,
            read_by: "",
        });
    }
    Ok(places)
}

fn directory(dir: &Path) -> String {
    let absolute = absolute(dir).unwrap_or_else(|_| dir.to_owned());
    absolute.display().to_string()
}

fn table(places: &[json::RootStatus<'_>]) -> Table {
    let mut table = Table::new(&[
        "ROOT",
        "SCOPE",
        "STATE",
        ">SKILLS",
        "READ ALSO BY",
        "DIRECTORY",
    ]);
    for place in places {
        let directory = place.directory.as_deref().unwrap_or_default();
        let count = place.skill_count.to_string();
        table.row([
            place.label,
            place.scope,
            place.state,
            &count,
            place.read_by,
            directory,
        ]);
    }
    if places.iter().all(|place| place.read_by.is_empty()) {
        table.hide("READ ALSO BY");
    }
    table
}
