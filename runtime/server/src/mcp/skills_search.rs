//! `skills_search` (spec 4, `skills.search`): the skills whose names,
//! descriptions and bodies hold every word of a query.

use serde_json::json;

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
    "total": { "type": "integer", "description": "How many skills match, shown or not" },
    "results": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "installName": { "type": "string" },
          "meta": { "type": "object", "properties": { "name": { "type": "string" }, "description": { "type": "string" } } },
          "skillPath": { "type": "string" },
          "skillFile": { "type": "string" },
          "score": { "type": "integer", "description": "Number of matched words" },
          "excerpt": { "type": "string", "description": "Text around the first match" }
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
    let found = asked.generation.catalog()?.search(query, limit as usize)?;
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
        json!({ "query": query, "limit": limit, "total": found.total, "results": results }),
    ))
}
