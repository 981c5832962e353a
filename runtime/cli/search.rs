//! `skillbundle search`: the skills that contain every word or, with `--match ranked`, the closest.

use anyhow::Result;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use skillbundle_format::{Dialect, Hits, Matched, Search};

use super::display;
use super::json::{self, Envelope};
use super::output::{Output, info};
use super::table::Table;
use crate::Exit;
use crate::sources::Sources;

const EXAMPLES: &str = "\
Examples:
  skillbundle search \"commit message\" skills  skills with both words
  skillbundle search pdf skills -n 3            the first three
  skillbundle search pdf skills -n 3 --offset 3 the next three
  skillbundle search login --path ui --tag web  only below ui, and with that tag
  skillbundle search \"sign in page\" skills --match ranked
                                                the closest, if no skill has every word
  skillbundle search pdf skills --json          for a script

A skill matches if each word occurs in its name, path, description or text, as a word or as
part of one. The best come first: names with the words, then descriptions, then texts. With
--match ranked, a skill with any of the words matches, and the closest come first. If there
are more than --limit, a last line says how many; --offset shows the rest. In a pipe each line
is path, name, score and excerpt, separated by tabs, and that last line goes to stderr.";

// Arguments of `search`. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Words to look for; quote them if there are several
    query: String,
    /// Show at most this many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    limit: usize,
    /// Skip the first N
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    offset: usize,
    /// Which skills: those with `all` words, or `ranked` by how close they come
    #[arg(long = "match", value_name = "RULE", default_value = "all", value_parser = rules())]
    rule: Matched,
    /// Only skills at or below this path
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Only skills of this dialect
    #[arg(long, value_name = "DIALECT", value_parser = dialects())]
    dialect: Option<Dialect>,
    /// Only skills with this tag or keyword in their frontmatter
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the hits.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let opened = args.sources.open_for("search", &args.query)?;
    let found = opened.bundle.catalog()?.search(&Search {
        query: &args.query,
        ranked: args.rule == Matched::Ranked,
        path: args.path.as_deref(),
        dialect: args.dialect,
        tag: args.tag.as_deref(),
        for_model: false,
        skip: args.offset,
        limit: args.limit,
    })?;
    let mut out = Output::new();
    if args.json {
        let hits = found.hits.iter().map(|hit| json::Hit {
            skill: (&hit.skill).into(),
            score: hit.score.to_json(),
            excerpt: &hit.excerpt,
        });
        let body = json::Search {
            query: &args.query,
            total: found.total,
            offset: args.offset,
            matched: found.matched.as_str(),
            skills: hits.collect(),
        };
        out.json(&Envelope::new("search", body))?;
    } else {
        if let Some(line) = nothing_found(args, found.matched, &opened.origin) {
            info(&line);
        }
        out.table(&table(&found))?;
        match page(args.offset, found.hits.len(), found.total) {
            Some(page) if out.is_terminal() => out.line(&page)?,
            Some(page) => info(&page),
            None => {}
        }
    }
    out.finish()?;
    Ok(Exit::Success)
}

/// A parser for `--match`.
fn rules() -> impl TypedValueParser<Value = Matched> {
    PossibleValuesParser::new(Matched::CHOICES.map(Matched::as_str)).try_map(|word| {
        Matched::CHOICES
            .into_iter()
            .find(|rule| rule.as_str() == word)
            .ok_or("no rule of this name")
    })
}

/// A parser for dialects.
fn dialects() -> impl TypedValueParser<Value = Dialect> {
    PossibleValuesParser::new(Dialect::ALL.map(Dialect::as_str)).try_map(|word| {
        Dialect::ALL
            .into_iter()
            .find(|dialect| dialect.as_str() == word)
            .ok_or("no dialect of this name")
    })
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

/// Which of the hits are shown, and how to see more; `None` if all are shown.
fn page(offset: usize, shown: usize, total: usize) -> Option<String> {
    if shown == total {
        return None;
    }
    let all = display::grouped(total as u64);
    let (first, last) = (offset.saturating_add(1), offset.saturating_add(shown));
    let which = match shown {
        0 if offset < total => format!("none of {all} shown"),
        0 => format!("no hit after --offset {offset}; there are {all}"),
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

/// Says that no skill has all words, or any; `None` if one has.
fn nothing_found(args: &Args, matched: Matched, origin: &str) -> Option<String> {
    if matched != Matched::None {
        return None;
    }
    let is_narrowed = args.path.is_some() || args.dialect.is_some() || args.tag.is_some();
    let such = if is_narrowed { "such skill" } else { "skill" };
    let words: Vec<&str> = args.query.split_whitespace().collect();
    let is_ranked = args.rule == Matched::Ranked;
    let contents = match words.as_slice() {
        [word] => format!("`{word}`"),
        words if is_ranked => format!("any of: {}", words.join(", ")),
        words => format!("all of: {}", words.join(", ")),
    };
    let hint = if is_ranked {
        ""
    } else {
        "; `--match ranked` shows the closest"
    };
    Some(format!("no {such} in {origin} contains {contents}{hint}"))
}
