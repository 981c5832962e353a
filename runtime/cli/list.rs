//! `skillbundle list`: the skills, one per line.

use anyhow::Result;
use skillbundle_format::{Catalog, Dialect};

use super::json::Envelope;
use super::output::Output;
use super::table::Table;
use super::{display, json};
use crate::Exit;
use crate::sources::Sources;

const EXAMPLES: &str = "\
Examples:
  skillbundle list                              the skills of your folders and of this binary
  skillbundle list skills                       in a directory
  skillbundle list team.skb --json              in a bundle, for a script
  skillbundle list skills/pdf/SKILL.md          one skill
  skillbundle list skills | cut -f1             only the paths

On a terminal the table fits its width. In a pipe each line is path, name, dialect, root and
description, uncut and separated by tabs.";

// Arguments of `list`. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    sources: Sources,
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
        let skills = json::skills(&catalog)?;
        out.json(&Envelope::new("list", json::List { skills }))?;
    } else {
        out.table(&table(&catalog)?)?;
        if out.is_terminal() {
            out.line(&format!("{} from {}", count(&catalog)?, opened.origin))?;
        }
    }
    out.finish()?;
    Ok(Exit::Success)
}

/// The skills as a table. A terminal gets no column that repeats another.
pub(super) fn table(catalog: &Catalog<'_>) -> Result<Table> {
    let mut table = Table::new(&["PATH", "NAME", "DIALECT", "ROOT", "DESCRIPTION"]);
    let mut has_names = false;
    for skill in catalog.skills() {
        let skill = skill?;
        has_names |= skill.name != skill.install_name() && skill.name != skill.path;
        table.row([
            skill.path,
            skill.name,
            skill.dialect.as_str(),
            skill.root_label,
            skill.summary,
        ]);
    }
    if !has_names {
        table.hide("NAME");
    }
    if catalog.roots()?.len() < 2 {
        table.hide("ROOT");
    }
    Ok(table)
}

/// `3 skills (folder)`, or `3 skills (2 folder, 1 tree)` if both occur.
pub(super) fn count(catalog: &Catalog<'_>) -> Result<String> {
    let mut tree = 0;
    for skill in catalog.skills() {
        tree += u64::from(skill?.dialect == Dialect::Tree);
    }
    let all = catalog.len() as u64;
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
