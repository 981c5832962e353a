//! `get_skill` (spec 3 §8.1): the skill that fits a task, with its inherited text, or the candidates
//! if several fit about as well. `Catalog::route` decides which.

use serde_json::{Value, json};
use skillbundle_format::{
    Candidate, Decision, Error, Explanation, File, Role, Route, Skill, rounded,
};

use super::broken;
use super::tool_result::{ToolError, ToolResult};
use super::tools::ToolCall;

pub(crate) const INPUT: &str = r#"{
  "type": "object",
  "properties": {
    "context": { "type": "string", "description": "The task in words, such as: react login component" }
  },
  "required": ["context"],
  "additionalProperties": false
}"#;

pub(crate) const OUTPUT: &str = concat!(
    r#"{
  "type": "object",
  "description": "One skill, or ambiguous with candidates, or no_match",
  "properties": {
    "skill_path": { "type": "string" },
    "score": { "type": "number" },
    "matched_keywords": { "type": "array", "items": { "type": "string" } },
    "content": { "type": "string" },
    "#,
    broken::outdated_schema!(),
    r#",
    "assets": { "type": "array", "items": { "type": "object", "description": "A file with description and type" } },
    "scripts": { "type": "array", "items": { "type": "object", "description": "A file with description, execution and args" } },
    "inherited_assets": { "type": "array", "items": { "type": "object", "description": "An asset, and the skill that it comes from" } },
    "inherited_scripts": { "type": "array", "items": { "type": "object", "description": "A script, and the skill that it comes from" } },
    "ambiguous": { "type": "boolean" },
    "candidates": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "skill_path": { "type": "string" },
          "score": { "type": "number" },
          "description": { "type": "string" },
          "matched_keywords": { "type": "array", "items": { "type": "string" } },
          "ranker": { "type": "string" },
          "below_threshold": { "type": "boolean", "description": "With no_match: the skill scores too little to be the answer" },
          "why": { "type": "object", "description": "Same as for a single skill" }
        }
      }
    },
    "no_match": { "type": "boolean" },
    "ranker": { "type": "string", "description": "keywords, or bm25f/1" },
    "why": { "type": "object", "description": "Terms, related terms and name that the request and the skill share, with the score that each adds" },
    "routing": { "type": "object", "description": "The request's terms, and the confidence and margin behind the decision" },
    "message": { "type": "string" }
  }
}"#
);

pub(crate) fn run(call: &ToolCall<'_>) -> Result<ToolResult, ToolError> {
    let arguments = call.arguments.only(&["context"])?;
    // Nothing matches a blank request; that is an answer, not a mistake.
    let context = match arguments.optional_text("context")? {
        Some(context) => context,
        None => arguments.text("context")?,
    };
    let catalog = call.skills.catalog()?;
    let route = catalog.route(context, 0)?;
    let mut answer = match (route.decision, route.candidates.as_slice()) {
        (Decision::Match, [best, ..]) => {
            let mut answer = resolved(&route, best)?;
            if let Some(outdated) = call.skills.why_outdated(best.skill.path) {
                answer["outdated"] = broken::sentence(outdated).into();
            }
            answer
        }
        (Decision::Ambiguous(count), candidates) => json!({
            "ambiguous": true,
            "candidates": candidates
                .iter()
                .take(count)
                .map(|found| candidate(&route, found))
                .collect::<Result<Vec<_>, _>>()?,
            "message": "Multiple skills match. Specify your need or pick a skill_path.",
        }),
        _ => {
            let mut answer = json!({
                "no_match": true,
                "message": "No skill matches the given context.",
            });
            if !route.closest.is_empty() {
                let closest = route.closest.iter().map(|found| {
                    let mut candidate = candidate(&route, found)?;
                    candidate["below_threshold"] = found.below_threshold.into();
                    Ok(candidate)
                });
                answer["candidates"] = closest.collect::<Result<_, Error>>()?;
            }
            answer
        }
    };
    answer["ranker"] = json!(route.ranker);
    if route.ranker != "keywords" {
        answer["routing"] = routing(&route);
    }
    Ok(ToolResult::json(&answer))
}

/// How the request was understood, and what `bm25f/1` decided by.
fn routing(route: &Route<'_>) -> Value {
    json!({
        "terms": route.terms,
        "confidence": rounded(route.confidence),
        "min_confidence": rounded(route.min_confidence),
        "margin": rounded(route.margin),
        "min_margin": rounded(route.min_margin),
    })
}

fn candidate<'a>(route: &Route<'a>, found: &Candidate<'a>) -> Result<Value, Error> {
    let candidate = json!({
        "skill_path": found.skill.path,
        "score": rounded(found.score),
        "description": found.skill.description,
        "matched_keywords": route.matched_keywords(found)?,
        "ranker": found.ranker,
    });
    Ok(with_reasons(candidate, found))
}

/// Adds the explanation of `bm25f/1`; for the other ranker, the matched keywords explain the score.
fn with_reasons(mut answer: Value, found: &Candidate<'_>) -> Value {
    if found.why != Explanation::default() {
        answer["why"] = found.why.to_json();
    }
    answer
}

fn resolved<'a>(route: &Route<'a>, found: &Candidate<'a>) -> Result<Value, Error> {
    let skill = &found.skill;
    let own = skill.files()?;
    let inherited = if skill.inherit {
        skill.inherited_files()?
    } else {
        Vec::new()
    };
    let own = |pick: Pick| {
        own.iter()
            .filter_map(|file| pick(file, None))
            .collect::<Result<Vec<_>, _>>()
    };
    let inherited = |pick: Pick| {
        inherited
            .iter()
            .filter_map(|(file, from)| pick(file, Some(from)))
            .collect::<Result<Vec<_>, _>>()
    };
    let answer = json!({
        "skill_path": skill.path,
        "score": rounded(found.score),
        "matched_keywords": route.matched_keywords(found)?,
        "content": skill.content()?,
        "assets": own(asset)?,
        "scripts": own(script)?,
        "inherited_assets": inherited(asset)?,
        "inherited_scripts": inherited(script)?,
    });
    Ok(with_reasons(answer, found))
}

type Pick = fn(&File<'_>, Option<&Skill<'_>>) -> Option<Result<Value, Error>>;

/// A file that is no script: of a folder-dialect skill, every undeclared one.
fn asset(file: &File<'_>, from: Option<&Skill<'_>>) -> Option<Result<Value, Error>> {
    let asset = || {
        Ok(with_origin(
            json!({ "file": file.path, "description": file.description, "type": file.kind }),
            from,
        ))
    };
    (file.role != Role::Script).then(asset)
}

fn script(file: &File<'_>, from: Option<&Skill<'_>>) -> Option<Result<Value, Error>> {
    let script = || {
        let args = file.args()?;
        let args = args.iter().map(|arg| json!({ "name": arg.name, "description": arg.description, "required": arg.required }));
        let script = json!({
            "file": file.path,
            "description": file.description,
            "execution": file.execution.as_str(),
            "args": args.collect::<Vec<_>>(),
        });
        Ok(with_origin(script, from))
    };
    (file.role == Role::Script).then(script)
}

fn with_origin(mut file: Value, from: Option<&Skill<'_>>) -> Value {
    if let Some(from) = from {
        file["from"] = json!(from.path);
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_read_like_decimal_fractions() {
        for (score, expected) in [
            (0.1 + 0.2, "0.3"),
            (2.0 / 3.0, "0.666667"),
            (0.875, "0.875"),
            (1.0 + 5.0 * 0.001, "1.005"),
            (1.0, "1.0"),
        ] {
            assert_eq!(json!(rounded(score)).to_string(), expected);
        }
    }
}
