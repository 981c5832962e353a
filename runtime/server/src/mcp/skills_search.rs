//! `skills_search` (spec 4, `skills.search`): the skills whose names, descriptions and bodies hold
//! every word of a query, best first; with `match: ranked`, those that come closest. Filters and
//! pages are additions, and optional.

use serde_json::{Value, json};
use skillbundle_format::{Dialect, Hit, Hits, Matched, Search};

use super::cursor::Cursors;
use super::skills_list::{ListedSkill, add_line, counted};
use super::tool_result::{ToolError, ToolResult, shortened};
use super::tools::ToolCall;
use crate::analytics::UsageEvent;
use crate::source::Generation;

pub(crate) const INPUT: &str = r#"{
  "type": "object",
  "properties": {
    "query": { "type": "string", "minLength": 1 },
    "limit": { "type": "integer", "description": "Maximum number of hits", "minimum": 1, "maximum": 25, "default": 10 },
    "match": { "type": "string", "enum": ["all", "ranked"], "description": "ranked: the closest, with any of the words" },
    "path": { "type": "string", "description": "Only below this path" },
    "dialect": { "type": "string", "enum": ["folder", "tree"] },
    "tag": { "type": "string", "description": "Only with this tag or keyword" },
    "cursor": { "type": "string", "description": "nextCursor of a page" }
  },
  "required": ["query"],
  "additionalProperties": false
}"#;

pub(crate) const OUTPUT: &str = r#"{
  "type": "object",
  "properties": {
    "query": { "type": "string" },
    "limit": { "type": "integer" },
    "total": { "type": "integer", "description": "Number of matching skills, including those not shown" },
    "match": { "type": "string", "enum": ["all", "ranked", "none"], "description": "all: every result contains every word; ranked: the closest; none: nothing found" },
    "message": { "type": "string", "description": "If nothing was found: what to try" },
    "results": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "installName": { "type": "string" },
          "meta": { "type": "object", "properties": { "name": { "type": "string" }, "description": { "type": "string" } } },
          "skillPath": { "type": "string" },
          "skillFile": { "type": "string" },
          "score": { "type": "number", "description": "Number of matched words; for ranked results, the ranker's score" },
          "excerpt": { "type": "string", "description": "Text around the first match; for ranked results, the passage that matches best" }
        }
      }
    },
    "nextCursor": { "type": "string", "description": "Cursor of the next page, if there is one" }
  }
}"#;

pub(crate) fn run(call: &ToolCall<'_>) -> Result<ToolResult, ToolError> {
    let (search, pages) = search(call)?;
    let found = call.skills.catalog()?.search(&search)?;
    call.record(&UsageEvent::Offered {
        request: search.query,
        tool: "skills_search",
        hits: &found.hits,
    });
    let mut text = headed(&found, &search);
    text.push_str(&lines(&found, call.options().list_bytes())?);
    let mut answer = json!({
        "query": search.query,
        "limit": search.limit,
        "total": found.total,
        "match": found.matched.as_str(),
        "results": found.hits.iter().map(|hit| result(hit, call.skills)).collect::<Vec<_>>(),
    });
    let end = search.skip.saturating_add(found.hits.len());
    if found.matched == Matched::None {
        answer["message"] = json!(text);
    }
    if !found.hits.is_empty() && end < found.total {
        let next = pages.cursor(end);
        text.push_str("\nFor more, search again with cursor ");
        text.push_str(&next);
        answer["nextCursor"] = json!(next);
    }
    Ok(ToolResult::text(text, answer))
}

/// The search that the arguments describe, and the pages of its answer.
fn search<'a>(call: &ToolCall<'a>) -> Result<(Search<'a>, Cursors), ToolError> {
    let known = &[
        "query", "limit", "match", "path", "dialect", "tag", "cursor",
    ];
    let arguments = call.arguments.only(known)?;
    let mut search = Search {
        query: arguments.text("query")?,
        limit: arguments.integer("limit", 1..=25, 10)? as usize,
        ranked: arguments.choice("match", &Matched::CHOICES, Matched::as_str)?
            == Some(Matched::Ranked),
        path: arguments.optional_text("path")?,
        dialect: arguments.choice("dialect", &Dialect::ALL, Dialect::as_str)?,
        tag: arguments.optional_text("tag")?,
        for_model: true,
        skip: 0,
    };
    let [path, dialect, tag] = filters(&search).map(|(_, value)| value);
    let pages = Cursors::new(
        call.skills.content_address(),
        &[search.query, rule(&search), path, dialect, tag],
    );
    if let Some(cursor) = arguments.optional_text("cursor")? {
        search.skip = pages.skipped("cursor", cursor)? as usize;
    }
    Ok((search, pages))
}

/// The value of `match`.
const fn rule(search: &Search<'_>) -> &'static str {
    if search.ranked { "ranked" } else { "all" }
}

/// The filters by name; the empty ones are off.
fn filters<'a>(search: &Search<'a>) -> [(&'static str, &'a str); 3] {
    [
        ("path", search.path.unwrap_or_default()),
        ("dialect", search.dialect.map_or("", Dialect::as_str)),
        ("tag", search.tag.unwrap_or_default()),
    ]
}

/// What spec 4 says about a hit.
fn result(hit: &Hit<'_>, generation: &Generation) -> Value {
    let mut result = json!(ListedSkill::of(&hit.skill, generation));
    result["score"] = hit.score.to_json();
    result["excerpt"] = json!(hit.excerpt);
    result
}

/// The hits, for a person to read.
fn lines(found: &Hits<'_>, most: usize) -> Result<String, ToolError> {
    let mut lines = String::new();
    for hit in &found.hits {
        add_line(&mut lines, hit.skill.callable_name()?, &hit.excerpt, most);
    }
    Ok(lines)
}

/// The line above the hits.
fn headed(found: &Hits<'_>, search: &Search<'_>) -> String {
    let (query, only) = (search.query.trim(), only(filters(search)));
    let part = part(found, search.skip);
    match (found.matched, search.ranked) {
        (Matched::All, _) => format!("{}{only}{part}", counted(found.total, query)),
        (Matched::Ranked, _) => {
            let query = shortened(query);
            format!("The skills closest to \"{query}\"{only}, best first{part}:")
        }
        (Matched::None, false) => {
            let query = shortened(query);
            format!(
                "No skill contains every word of \"{query}\"{only}; search with match \"ranked\" for the closest."
            )
        }
        (Matched::None, true) => {
            let query = shortened(query);
            format!("No skill contains a word of \"{query}\"{only}.")
        }
    }
}

/// `, the first 10 of them`, `, 11 to 20 of 30`, or empty if all are shown.
fn part(found: &Hits<'_>, skip: usize) -> String {
    let (shown, total) = (found.hits.len(), found.total);
    // Only of the closest it has not been said yet how many there are.
    let all = match found.matched {
        Matched::Ranked => total.to_string(),
        Matched::All | Matched::None => "them".to_owned(),
    };
    match skip {
        _ if shown == total => String::new(),
        0 => format!(", the first {shown} of {all}"),
        _ => {
            let (first, last) = (skip.saturating_add(1), skip.saturating_add(shown));
            format!(", {first} to {last} of {all}")
        }
    }
}

/// ` (only path ui, tag pdf)`, or empty if no filter is on.
fn only(filters: [(&str, &str); 3]) -> String {
    let on: Vec<String> = filters
        .iter()
        .filter(|(_, value)| !value.trim().is_empty())
        .map(|(name, value)| format!("{name} {}", shortened(value)))
        .collect();
    if on.is_empty() {
        String::new()
    } else {
        format!(" (only {})", on.join(", "))
    }
}
