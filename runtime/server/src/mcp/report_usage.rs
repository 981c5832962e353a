//! `report_usage` (spec 3 §8.5): what an agent or a person thinks of a skill after having used it. It
//! is recorded wherever this server records, whether or not that keeps other calls: somebody has said
//! it on purpose.

use serde_json::json;

use super::BoxFuture;
use super::arguments::wrong;
use super::get_asset::named_skill;
use super::tool_result::{ToolError, ToolResult, shortened};
use super::tools::TaskCall;
use crate::analytics::{Taken, UsageEvent};

/// Characters of a comment. What needs more is no comment but a bug report.
const COMMENT: usize = 4096;

pub(crate) const INPUT: &str = r#"{
  "type": "object",
  "properties": {
    "skill_path": { "type": "string", "minLength": 1, "description": "Path or name of the skill" },
    "useful": { "type": "boolean", "description": "Whether it helped" },
    "comment": { "type": "string", "maxLength": 4096, "description": "Why, for the skill's owners; nothing secret" }
  },
  "required": ["skill_path", "useful"],
  "additionalProperties": false
}"#;

pub(crate) const OUTPUT: &str = r#"{
  "type": "object",
  "properties": {
    "recorded": { "type": "boolean", "description": "Whether anybody will be able to read it" },
    "message": { "type": "string" }
  }
}"#;

pub(crate) fn run(call: TaskCall<'_>) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
    Box::pin(report(call))
}

async fn report(call: TaskCall<'_>) -> Result<ToolResult, ToolError> {
    let arguments = call.arguments.only(&["skill_path", "useful", "comment"])?;
    let named = arguments.text("skill_path")?;
    let useful = arguments.required_flag("useful")?;
    let comment = arguments.optional_text("comment")?;
    let comment = comment.filter(|it| !it.trim().is_empty());
    let length = comment.map_or(0, |it| it.chars().count());
    if length > COMMENT {
        let expected = format!("at most {COMMENT} characters");
        return Err(wrong("comment", expected, length.to_string()));
    }
    let skills = call.server.refresher.current().await;
    let skills = skills.map_err(|it| ToolError::NotLoaded(it.0))?;
    let toolset = call.server.toolset(Some(&skills));
    let skill = named_skill(skills.catalog()?, named, toolset)?.path;
    log(skill, useful, comment);
    let feedback = UsageEvent::Feedback {
        skill,
        useful,
        comment,
    };
    let taken = call.server.recorder.record_and_confirm(&feedback).await;
    let message = match taken {
        Taken::Yes => format!("Feedback recorded for {skill}"),
        Taken::Off => format!(
            "Feedback for {skill} was not recorded, since the journal of this server is off; its operator can turn it on with `skillbundle serve --journal on`"
        ),
        Taken::Lost => format!(
            "Feedback for {skill} was not recorded, since the journal could not be written; the log of this server says why"
        ),
    };
    let recorded = taken == Taken::Yes;
    Ok(ToolResult::json(
        &json!({ "recorded": recorded, "message": message }),
    ))
}

/// One line for the operator: what did not help is worth a look, what did is not.
fn log(skill: &str, useful: bool, comment: Option<&str>) {
    let comment = comment.map(shortened);
    // As `Debug`: control characters become escapes.
    let comment = comment.map_or_else(String::new, |it| format!(": {it:?}"));
    if useful {
        tracing::info!("feedback: {skill} was useful{comment}");
    } else {
        tracing::warn!("feedback: {skill} was not useful{comment}");
    }
}
