//! `skillbundle list`: the skills, one per line.

use std::collections::BTreeMap;

use anyhow::Result;
use skillbundle_format::{Audience, Catalog, Dialect, Skill};

use super::json::Envelope;
use super::output::Output;
use super::table::Table;
use super::{display, json};
use crate::Exit;
use crate::sources::{Opened, Sources};

const EXAMPLES: &str = "\
Examples:
  skillbundle list                              the skills of your folders and of this binary
  skillbundle list skills                       in a directory
  skillbundle list team.skb --json              in a bundle, for a script
  skillbundle list skills/pdf/SKILL.md          one skill
  skillbundle list skills | cut -f1             only the paths
  skillbundle list --all                        also skills that another of the same name shadows

On a terminal the table fits its width. In a pipe each line is path, name, dialect, root and
description, uncut and separated by tabs; --all adds the file and a note. A note is also added if a
project's skill hides one of yours (docs/roots.md).";

// Arguments of `list`. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// Also list skills that are not offered, because an earlier root has their name
    #[arg(short, long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the skills in listing order.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let opened = args.sources.open()?;
    let catalog = opened.bundle.catalog()?;
    let mut out = Output::new();
    if args.json {
        let skills = skills(&catalog, args.all)?;
        let hidden = catalog.hidden()?;
        let listed = skills
            .iter()
            .map(|skill| json::Listed::new(skill, opened.location(skill), &hidden));
        let skills = listed.collect::<Result<_>>()?;
        let roots = json::roots(&catalog)?;
        out.json(&Envelope::new("list", json::List { roots, skills }))?;
    } else if args.all {
        out.table(&table_of_all(&opened)?)?;
    } else {
        out.table(&table(&catalog)?)?;
    }
    if !args.json && out.is_terminal() {
        out.line(&format!("{} from {}", count(&catalog)?, opened.origin))?;
    }
    out.finish()?;
    Ok(Exit::Success)
}

/// The skills that people are shown, or all.
pub(super) fn skills<'a>(catalog: &Catalog<'a>, all: bool) -> Result<Vec<Skill<'a>>> {
    let shadowed = catalog.shadowed().filter(|_| all);
    let skills = catalog.skills().chain(shadowed);
    let shown = |skill: &Result<Skill<'a>, _>| match skill {
        Ok(skill) => all || skill.audience() != Audience::Nobody,
        Err(_) => true,
    };
    Ok(skills.filter(shown).collect::<Result<_, _>>()?)
}

/// The columns of every table of skills.
const COLUMNS: [&str; 5] = ["PATH", "NAME", "DIALECT", "ROOT", "DESCRIPTION"];

const fn cells<'a>(skill: &Skill<'a>) -> [&'a str; COLUMNS.len()] {
    [
        skill.path,
        skill.name,
        skill.dialect.as_str(),
        skill.root_label,
        skill.summary,
    ]
}

/// The offered skills as a table. A terminal gets no column that repeats another.
pub(super) fn table(catalog: &Catalog<'_>) -> Result<Table> {
    let skills = skills(catalog, false)?;
    let hidden = catalog.hidden()?;
    let notes = skills.iter().map(|skill| note(skill, &hidden));
    let notes = notes.collect::<Result<Vec<_>>>()?;
    let mut table = if notes.iter().all(String::is_empty) {
        let mut table = Table::new(&COLUMNS);
        for skill in &skills {
            table.row(cells(skill));
        }
        table
    } else {
        let [path, name, dialect, root, description] = COLUMNS;
        let mut table = Table::new(&[path, name, dialect, root, description, "NOTE"]);
        for (skill, note) in skills.iter().zip(&notes) {
            let [path, name, dialect, root, description] = cells(skill);
            table.row([path, name, dialect, root, description, note]);
        }
        table
    };
    let is_other =
        |skill: &Skill<'_>| skill.name != skill.install_name() && skill.name != skill.path;
    if !skills.iter().any(is_other) {
        table.hide("NAME");
    }
    if catalog.roots()?.len() < 2 {
        table.hide("ROOT");
    }
    Ok(table)
}

/// All skills, each with its file on disk.
fn table_of_all(opened: &Opened) -> Result<Table> {
    let [path, name, dialect, root, description] = COLUMNS;
    let mut table = Table::new(&[path, name, dialect, root, description, "FILE", "NOTE"]);
    let catalog = opened.bundle.catalog()?;
    let hidden = catalog.hidden()?;
    for skill in skills(&catalog, true)? {
        let [path, name, dialect, root, description] = cells(&skill);
        let location = opened.location(&skill);
        let location = location.map_or_else(String::new, |it| it.display().to_string());
        let note = note(&skill, &hidden)?;
        table.row([path, name, dialect, root, description, &location, &note]);
    }
    Ok(table)
}

/// See [`Catalog::hidden`].
type Hidden<'a> = BTreeMap<u32, Vec<Skill<'a>>>;

/// What became of the other skills with its name; empty if there is nothing to say.
fn note(skill: &Skill<'_>, hidden: &Hidden<'_>) -> Result<String> {
    if let Some(winner) = skill.shadowed_by()? {
        return Ok(format!(
            "shadowed by {} of {}",
            winner.path, winner.root_label
        ));
    }
    let hidden = hidden.get(&skill.id).into_iter().flatten();
    let roots: Vec<&str> = hidden.map(|hidden| hidden.root_label).collect();
    let hides = (!roots.is_empty()).then(|| format!("hides that of {}", roots.join(", ")));
    let audience = match skill.audience() {
        Audience::Everyone => None,
        Audience::People => Some("for people only".to_owned()),
        Audience::Nobody => Some("found by name only".to_owned()),
    };
    Ok([hides, audience]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(", "))
}

/// `3 skills (folder)`, or `3 skills (2 folder, 1 tree)` if both occur.
pub(super) fn count(catalog: &Catalog<'_>) -> Result<String> {
    let skills = skills(catalog, false)?;
    let tree = skills.iter().filter(|it| it.dialect == Dialect::Tree);
    let (all, tree) = (skills.len() as u64, tree.count() as u64);
    let dialects = match all - tree {
        0 if all == 0 => String::new(),
        0 => " (tree)".to_owned(),
        _ if tree == 0 => " (folder)".to_owned(),
        folder => format!(
            " ({} folder, {} tree)",
            display::grouped(folder),
            display::grouped(tree)
        ),
    };
    Ok(display::counted(all, "skill") + &dialects)
}
