//! `skillbundle search`: the skills that mention every word.

use anyhow::Result;
use serde_json::{Value, json};
use skillbundle_format::{Close, Hit, Skill};

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
word or a part of one. Where there is none, those that come closest are shown. In a pipe each line is path, name, score and excerpt, parted by tabs.";

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
    let catalog = opened.bundle.catalog()?;
    let found = catalog.search(&query, args.limit)?;
    let close = if found.total == 0 {
        catalog.closest(&query, args.limit)?
    } else {
        Vec::new()
    };
    let mut out = Output::new();
    if args.json {
        let (how, hits): (_, Vec<Value>) = if close.is_empty() {
            ("all", found.hits.iter().map(hit).collect())
        } else {
            ("ranked", close.iter().map(closest).collect())
        };
        out.json(&json!({"query": query, "total": found.total, "match": how, "skills": hits}))?;
    } else if found.hits.is_empty() {
        let end = if close.is_empty() {
            ""
        } else {
            "; the closest are"
        };
        note(&format!(
            "no skill of {} holds {}{end}",
            opened.origin,
            quoted(&args.words)
        ));
        if !close.is_empty() {
            out.table(&table_of(close.iter().map(|it| {
                (&it.skill, format!("{:.1}", it.score), it.excerpt.as_str())
            })))?;
        }
    } else {
        out.table(&table_of(
            found
                .hits
                .iter()
                .map(|it| (&it.skill, it.score.to_string(), it.excerpt.as_str())),
        ))?;
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

fn closest(close: &Close<'_>) -> Value {
    let mut record = record::skill(&close.skill);
    let score = (close.score * 1e3).round() / 1e3;
    record.insert("score".to_owned(), score.into());
    record.insert("excerpt".to_owned(), close.excerpt.as_str().into());
    record.into()
}

/// Skill, score and excerpt of each line.
fn table_of<'a>(lines: impl Iterator<Item = (&'a Skill<'a>, String, &'a str)>) -> Table {
    let mut table = Table::new(&["PATH", "NAME", "SCORE", "EXCERPT"]);
    for (skill, score, excerpt) in lines {
        table.row([skill.path, skill.name, &score, excerpt]);
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
