//! `skills_search` (spec 4, `skills.search`): the skills whose names,
//! descriptions and bodies hold every word of a query; where none does, those
//! that come closest.

use serde_json::json;
use skillbundle_format::Close;

use super::Asked;
use super::reply::{Refusal, Reply};
use super::skills_list::{add_line, counted, entry};

pub(crate) const INPUT: &str = r#"{
  "type": "object",
  "properties": {
    "query": { "type": "string", "description": "Keywords to match (all whitespace-separated tokens must be present)", "minLength": 1 },
    "limit": { "type": "integer", "description": "Maximum number of hits", "minimum": 1, "maximum": 25, "default": 10 }
  },
  "required": ["query"],
  "additionalProperties": false
}"#;

pub(crate) const OUTPUT: &str = r#"{
  "type": "object",
  "properties": {
    "query": { "type": "string" },
    "limit": { "type": "integer" },
    "total": { "type": "integer", "description": "How many skills hold every word, shown or not" },
    "match": { "type": "string", "enum": ["all", "ranked"], "description": "all: the results hold every word; ranked: no skill does, and the results come closest" },
    "results": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "installName": { "type": "string" },
          "meta": { "type": "object", "properties": { "name": { "type": "string" }, "description": { "type": "string" } } },
          "skillPath": { "type": "string" },
          "skillFile": { "type": "string" },
          "score": { "type": "number", "description": "Number of matched words; if ranked, the ranker's score" },
          "excerpt": { "type": "string", "description": "Text around the first match, or the closest passage" }
        }
      }
    },
    "error": { "type": "string" }
  }
}"#;

pub(crate) fn run(asked: &Asked<'_>) -> Result<Reply, Refusal> {
    let arguments = asked.arguments.only(&["query", "limit"])?;
    let query = arguments.text("query")?;
    let limit = arguments.integer("limit", 1..=25, 10)?;
    let catalog = asked.generation.catalog()?;
    let found = catalog.search(query, limit as usize)?;
    if found.total == 0 {
        let close = catalog.closest(query, limit as usize)?;
        if !close.is_empty() {
            return closest(query, limit, &close, asked.options.list_bytes());
        }
    }
    let (mut results, mut lines) = (Vec::new(), String::new());
    for hit in &found.hits {
        let mut result = entry(&hit.skill);
        result["score"] = json!(hit.score);
        result["excerpt"] = json!(hit.excerpt);
        results.push(result);
        add_line(
            &mut lines,
            hit.skill.callable_name()?,
            &hit.excerpt,
            asked.options.list_bytes(),
        );
    }
    let shown = if results.len() < found.total {
        format!(", the first {} of them", results.len())
    } else {
        String::new()
    };
    let text = format!("{}{shown}{lines}", counted(found.total, query.trim()));
    Ok(Reply::text(
        text,
        json!({ "query": query, "limit": limit, "total": found.total, "match": "all", "results": results }),
    ))
}

/// No skill holds every word: those that come closest, said to be so. `total`
/// counts what the specification's rule finds.
fn closest(query: &str, limit: u32, close: &[Close<'_>], most: usize) -> Result<Reply, Refusal> {
    let (mut results, mut lines) = (Vec::new(), String::new());
    for it in close {
        let mut result = entry(&it.skill);
        result["score"] = json!((it.score * 1e3).round() / 1e3);
        result["excerpt"] = json!(it.excerpt);
        results.push(result);
        add_line(&mut lines, it.skill.callable_name()?, &it.excerpt, most);
    }
    let text = format!(
        "{}; no skill holds every word, the closest are{lines}",
        counted(0, query.trim())
    );
    Ok(Reply::text(
        text,
        json!({ "query": query, "limit": limit, "total": 0, "match": "ranked", "results": results }),
    ))
}
