//! `refresh_skills` (spec 3 §8.6): loads the skills again, changed or not. A second call while the
//! first runs is answered at once.

use serde_json::{Value, json};

use super::tool_result::{ToolError, ToolResult};
use super::tools::TaskCall;
use super::{BoxFuture, broken};
use crate::analytics::UsageEvent;
use crate::source::{Kind, Refreshed, Refresher};

pub(crate) const INPUT: &str =
    r#"{ "type": "object", "properties": {}, "additionalProperties": false }"#;

pub(crate) const OUTPUT: &str = concat!(
    r#"{
  "type": "object",
  "properties": {
    "success": { "type": "boolean" },
    "mode": { "type": "string", "description": "Where the skills come from: local, archive or embedded" },
    "skills_reindexed": { "type": "integer" },
    "message": { "type": "string" },
    "#,
    broken::all_schema!(),
    r#"
  }
}"#
);

pub(crate) fn run(call: TaskCall<'_>) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
    Box::pin(async move {
        call.arguments.only(&[])?;
        let source = &call.server.refresher;
        let kind = source.kind();
        call.progress(0.0, "Loading the skills again");
        let refreshed = tokio::select! {
            refreshed = source.refresh() => refreshed,
            // The load goes on; only this request ends.
            () = call.caller.cancelled.cancelled() => Refreshed::Failed("cancelled".to_owned()),
        };
        let result = |answer: Value| {
            let recorder = &call.server.recorder;
            recorder.record(&UsageEvent::Refreshed { answer: &answer });
            ToolResult::json(&answer)
        };
        Ok(match refreshed {
            Refreshed::Done(skills) => result(done(kind, source, skills)),
            Refreshed::Busy => result(failed(kind, "Another refresh is under way.")),
            Refreshed::Failed(reason) => result(failed(kind, &reason)).failing(),
        })
    })
}

fn done(kind: Kind, source: &Refresher, skills: usize) -> Value {
    let mut answer = json!({
        "success": true,
        "mode": kind.as_str(),
        "skills_reindexed": skills,
        "message": message(kind, source),
    });
    if let Some(current) = source.loaded() {
        broken::add_all(&mut answer, current.broken());
    }
    answer
}

fn message(kind: Kind, source: &Refresher) -> String {
    match kind {
        Kind::Local => "Reindexed from local directory (no git sync configured).".to_owned(),
        Kind::Archive => format!("Opened {} again.", source.describe()),
        Kind::Embedded => {
            "The skills are built into this program; only a newer version of it changes them."
                .to_owned()
        }
    }
}

fn failed(kind: Kind, message: &str) -> Value {
    json!({ "success": false, "mode": kind.as_str(), "message": message })
}
