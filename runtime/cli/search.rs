//! `skillbundle search`: the skills that mention every word, or come closest.

use anyhow::Result;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::{Value, json};
use skillbundle_format::{Dialect, Hit, Hits, Matched, Search};

use super::output::{Output, note};
use super::table::Table;
use super::{record, text};
use crate::Exit;
use crate::sources::Sources;

const EXAMPLES: &str = "\
Examples:
  skillbundle search commit message             skills that hold both words
  skillbundle search pdf --dir skills -n 3      the first three of a directory
  skillbundle search pdf -n 3 --offset 3        the next three
  skillbundle search login --path ui --tag web  only below ui, and with that tag
  skillbundle search pdf --json                 for a script

A skill is found when each word occurs in its name, path, description or text, as a
word or a part of one. Where no skill has them all, those that come closest are shown,
best first. Where there are more than are shown, a last line says how many; the order is
the same each time, so --offset shows the rest. In a pipe each line is path, name, score and
excerpt, parted by tabs, and that last line goes to stderr.";

// What `search` can be told. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Words to look for, all of them if there is such a skill
    #[arg(required = true)]
    words: Vec<String>,
    /// Show at most this many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    limit: usize,
    /// Leave out the first N
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    offset: usize,
    /// Only skills at or below this path
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Only skills written like this
    #[arg(long, value_name = "DIALECT", value_parser = dialects())]
    dialect: Option<Dialect>,
    /// Only skills with this tag or keyword in their frontmatter
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    #[command(flatten)]
    sources: Sources,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the hits, those that come closest best first.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let query = args.words.join(" ");
    let opened = args.sources.open()?;
    let found = opened.bundle.catalog()?.search(&Search {
        query: &query,
        path: args.path.as_deref(),
        dialect: args.dialect,
        tag: args.tag.as_deref(),
        skip: args.offset,
        limit: args.limit,
    })?;
    let mut out = Output::new();
    if args.json {
        let hits: Vec<Value> = found.hits.iter().map(hit).collect();
        out.json(&json!({
            "query": query,
            "total": found.total,
            "offset": args.offset,
            "match": found.matched.as_str(),
            "skills": hits,
        }))?;
    } else {
        if let Some(words) = missed(args, found.matched, &opened.origin) {
            note(&words);
        }
        out.table(&table(&found))?;
        match part(args.offset, found.hits.len(), found.total) {
            Some(part) if out.is_terminal() => out.line(&part)?,
            Some(part) => note(&part),
            None => {}
        }
    }
    out.finish()?;
    Ok(Exit::Fine)
}

/// The dialects by their words.
fn dialects() -> impl TypedValueParser<Value = Dialect> {
    PossibleValuesParser::new(Dialect::ALL.map(Dialect::as_str)).try_map(|word| {
        Dialect::ALL
            .into_iter()
            .find(|dialect| dialect.as_str() == word)
            .ok_or("no dialect of this name")
    })
}

fn hit(hit: &Hit<'_>) -> Value {
    let mut record = record::skill(&hit.skill);
    record.insert("score".to_owned(), hit.score.to_json());
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

/// Which of the hits are shown, and how to see more; nothing where all are.
fn part(offset: usize, shown: usize, total: usize) -> Option<String> {
    if shown == total {
        return None;
    }
    let all = text::grouped(total as u64);
    let (first, last) = (offset.saturating_add(1), offset.saturating_add(shown));
    let which = match shown {
        0 if offset < total => format!("none of {all} shown"),
        0 => format!("none from --offset {offset} on; there are {all}"),
        1 => format!("hit {first} of {all}"),
        _ => format!("hits {first} to {last} of {all}"),
    };
    let more = if shown > 0 && last < total {
        format!("; --offset {last} shows more")
    } else {
        String::new()
    };
    Some(which + &more)
}

/// What to tell a person who did not get what was asked for.
fn missed(args: &Args, matched: Matched, origin: &str) -> Option<String> {
    let end = match matched {
        Matched::All => return None,
        Matched::Ranked => "; these come closest",
        Matched::None => "",
    };
    let is_narrowed = args.path.is_some() || args.dialect.is_some() || args.tag.is_some();
    let such = if is_narrowed { "such skill" } else { "skill" };
    let words = match (args.words.as_slice(), matched) {
        ([word], _) => format!("`{word}`"),
        (words, Matched::None) => format!("any of: {}", words.join(", ")),
        (words, _) => format!("each of: {}", words.join(", ")),
    };
    Some(format!("no {such} of {origin} holds {words}{end}"))
}
