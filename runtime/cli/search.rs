//! `skillbundle search`: the skills that mention every word.

use anyhow::Result;
use serde_json::{Value, json};
use skillbundle_format::{Hit, Hits};

use super::output::{Output, note};
use super::table::Table;
use super::{record, text};
use crate::Exit;
use crate::sources::Sources;

const EXAMPLES: &str = "\
Examples:
  skillbundle search commit message             skills that hold both words
  skillbundle search pdf --dir skills -n 3      the three best of a directory
  skillbundle search pdf --json                 for a script

A skill is found when each word occurs in its name, path, description or text, as a
word or a part of one. In a pipe each line is path, name, score and excerpt, parted by tabs.";

// What `search` can be told. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Words that must all occur
    #[arg(required = true)]
    words: Vec<String>,
    /// Show at most this many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    limit: usize,
    #[command(flatten)]
    sources: Sources,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the hits, best first.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let query = args.words.join(" ");
    let opened = args.sources.open()?;
    let found = opened.bundle.catalog()?.search(&query, args.limit)?;
    let mut out = Output::new();
    if args.json {
        let hits: Vec<Value> = found.hits.iter().map(hit).collect();
        out.json(&json!({"query": query, "total": found.total, "skills": hits}))?;
    } else if found.hits.is_empty() {
        note(&format!(
            "no skill of {} holds {}",
            opened.origin,
            quoted(&args.words)
        ));
    } else {
        out.table(&table(&found))?;
        if out.is_terminal() && found.total > found.hits.len() {
            out.line(&format!(
                "{} of {}; -n shows more",
                found.hits.len(),
                text::counted(found.total as u64, "hit")
            ))?;
        }
    }
    out.finish()?;
    Ok(Exit::Fine)
}

fn hit(hit: &Hit<'_>) -> Value {
    let mut record = record::skill(&hit.skill);
    record.insert("score".to_owned(), hit.score.into());
    record.insert("excerpt".to_owned(), hit.excerpt.as_str().into());
    record.into()
}

fn table(found: &Hits<'_>) -> Table {
    let mut table = Table::new(&["PATH", "NAME", "SCORE", "EXCERPT"]);
    for hit in &found.hits {
        table.row([
            hit.skill.path,
            hit.skill.name,
            &hit.score.to_string(),
            &hit.excerpt,
        ]);
    }
    table.hide("NAME");
    table.hide("SCORE");
    table
}

/// `pdf`, or `each of: pdf, table`.
fn quoted(words: &[String]) -> String {
    match words {
        [word] => format!("`{word}`"),
        words => format!("each of: {}", words.join(", ")),
    }
}
