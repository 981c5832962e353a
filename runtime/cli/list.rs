//! `skillbundle list`: the skills, one a line.

use anyhow::Result;
use serde_json::{Value, json};
use skillbundle_format::{Catalog, Dialect};

use super::output::Output;
use super::table::Table;
use super::{record, text};
use crate::Exit;
use crate::sources::Sources;

const EXAMPLES: &str = "\
Examples:
  skillbundle list                              what this binary carries
  skillbundle list --dir skills                 what a directory holds
  skillbundle list --bundle team.skb --json     for a script
  skillbundle list --dir skills | cut -f1       just the paths

On a terminal the columns are aligned and cut to its width. In a pipe each line is
path, name, dialect, root and description, whole, parted by tabs.";

// What `list` can be told. (A doc comment would become the command's description.)
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
        let skills = catalog
            .skills()
            .map(|skill| Ok(record::skill(&skill?).into()))
            .collect::<Result<Vec<Value>>>()?;
        out.json(&json!({ "skills": skills }))?;
    } else {
        out.table(&table(&catalog)?)?;
        if out.is_terminal() {
            out.line(&format!("{} from {}", count(&catalog)?, opened.origin))?;
        }
    }
    out.finish()?;
    Ok(Exit::Fine)
}

/// The skills as a table; columns that would tell nothing are left to pipes.
pub(super) fn table(catalog: &Catalog<'_>) -> Result<Table> {
    let mut table = Table::new(&["PATH", "NAME", "DIALECT", "ROOT", "DESCRIPTION"]);
    let mut named = false;
    for skill in catalog.skills() {
        let skill = skill?;
        named |= skill.name != skill.install_name() && skill.name != skill.path;
        table.row([
            skill.path,
            skill.name,
            skill.dialect.as_str(),
            skill.root_label,
            skill.summary,
        ]);
    }
    if !named {
        table.hide("NAME");
    }
    if catalog.roots()?.len() < 2 {
        table.hide("ROOT");
    }
    Ok(table)
}

/// `3 skills (folder)`, or `3 skills (2 folder, 1 tree)` where there are both.
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
            text::grouped(folder),
            text::grouped(tree)
        ),
    };
    Ok(text::counted(all, "skill") + &dialects)
}
