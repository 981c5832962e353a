//! `get_skill` (spec 3 §8.1): the skill that fits a task, with its inherited text, or the candidates
//! if several fit about as well. `Catalog::route` decides which. Why costs a model more than it
//! tells it, so it is said only on request.

use serde_json::{Value, json};
use skillbundle_format::{
    Candidate, Decision, Error, Explanation, File, Role, Route, Skill, rounded,
};

use super::broken;
use super::tool_result::{ToolError, ToolResult};
use super::tools::ToolCall;
use crate::analytics::UsageEvent;

pub(crate) const INPUT: &str = r#"{
  "type": "object",
  "properties": {
    "context": { "type": "string", "description": "The task in words" },
    "explain": { "type": "boolean", "description": "Also say why" }
  },
  "required": ["context"],
  "additionalProperties": false
}"#;

pub(crate) fn run(call: &ToolCall<'_>) -> Result<ToolResult, ToolError> {
    let arguments = call.arguments.only(&["context", "explain"])?;
    // Nothing matches a blank request; that is an answer, not a mistake.
    let context = arguments.text_by(&["context"])?;
    let explain = arguments.flag("explain")?;
    let catalog = call.skills.catalog()?;
    let route = catalog.route(context, 0)?;
    call.record(&UsageEvent::Routed {
        request: context,
        route: &route,
    });
    let candidate = |found| candidate(&route, found, explain);
    let mut answer = match (route.decision, route.candidates.as_slice()) {
        (Decision::Match, [best, ..]) => {
            let mut answer = resolved(&route, best)?;
            if let Some(outdated) = call.skills.why_outdated(best.skill.path) {
                answer["outdated"] = broken::sentence(outdated).into();
            }
            with_reasons(answer, best, explain)
        }
        (Decision::Ambiguous(count), candidates) => json!({
            "ambiguous": true,
            "candidates": candidates
                .iter()
                .take(count)
                .map(candidate)
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
                    let mut candidate = candidate(found)?;
                    candidate["below_threshold"] = found.below_threshold.into();
                    Ok(candidate)
                });
                answer["candidates"] = closest.collect::<Result<_, Error>>()?;
            }
            answer
        }
    };
    answer["ranker"] = json!(route.ranker);
    if explain && route.ranker != "keywords" {
        answer["routing"] = routing(&route);
    }
    Ok(match route.decision {
        // The text of a skill.
        Decision::Match => ToolResult::reading(answer.to_string(), None),
        _ => ToolResult::json(&answer),
    })
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

fn candidate<'a>(route: &Route<'a>, found: &Candidate<'a>, explain: bool) -> Result<Value, Error> {
    let candidate = json!({
        "skill_path": found.skill.path,
        "score": rounded(found.score),
        "description": found.skill.description,
        "matched_keywords": route.matched_keywords(found)?,
        "ranker": found.ranker,
    });
    Ok(with_reasons(candidate, found, explain))
}

/// Adds the explanation of `bm25f/1`, if one is wanted; for the other ranker, the matched keywords
/// explain the score.
fn with_reasons(mut answer: Value, found: &Candidate<'_>, explain: bool) -> Value {
    if explain && found.why != Explanation::default() {
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
    let mut answer = json!({
        "skill_path": skill.path,
        "score": rounded(found.score),
        "matched_keywords": route.matched_keywords(found)?,
        "content": skill.content()?,
        "assets": own(asset)?,
        "scripts": own(script)?,
        "inherited_assets": inherited(asset)?,
        "inherited_scripts": inherited(script)?,
    });
    if let Some(contract) = skill.contract()? {
        answer["contract"] = contract.to_json();
    }
    Ok(answer)
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
        let args = args.iter().map(|arg| {
            let mut shown = json!({ "name": arg.name, "description": arg.description, "required": arg.required });
            if let Some(default) = arg.default {
                shown["default"] = json!(default);
            }
            shown
        });
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
