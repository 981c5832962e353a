//! `refresh_skills` (spec 3 §8.6): loads the skills again, changed or not. A second call while the
//! first runs is answered at once.

use serde_json::{Value, json};
use skillbundle_journal::rfc3339;

use super::tool_result::{ToolError, ToolResult};
use super::tools::TaskCall;
use super::{BoxFuture, broken};
use crate::analytics::UsageEvent;
use crate::source::{Checkout, Kind, Refreshed, Refresher};

pub(crate) const INPUT: &str =
    r#"{ "type": "object", "properties": {}, "additionalProperties": false }"#;

pub(crate) const OUTPUT: &str = concat!(
    r#"{
  "type": "object",
  "properties": {
    "success": { "type": "boolean" },
    "mode": { "type": "string", "description": "Where the skills come from: local, git, archive or embedded" },
    "commit_hash": { "type": "string", "description": "The commit of the first repository" },
    "files_changed": { "type": "integer", "description": "Files that differ from the commit before, in all repositories" },
    "skills_reindexed": { "type": "integer" },
    "last_sync": { "type": "string", "description": "When the first repository was last known to be current" },
    "repositories": {
      "type": "array",
      "items": {
        "type": "object",
        "properties": {
          "repository": { "type": "string" },
          "branch": { "type": ["string", "null"] },
          "commit_hash": { "type": ["string", "null"] },
          "last_sync": { "type": ["string", "null"] },
          "error": { "type": ["string", "null"], "description": "Why it could not be brought up to date" }
        }
      }
    },
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
            Refreshed::Done {
                skills,
                files_changed,
            } => result(done(kind, source, skills, files_changed)),
            Refreshed::Busy => result(failed(source, "Another refresh is under way.")),
            Refreshed::Failed(reason) => result(failed(source, &reason)).failing(),
        })
    })
}

fn done(kind: Kind, source: &Refresher, skills: usize, files_changed: usize) -> Value {
    let mut answer = json!({ "success": true, "mode": kind.as_str() });
    if kind == Kind::Git {
        answer["files_changed"] = files_changed.into();
        add_checkouts(&mut answer, &source.checkouts());
    }
    answer["skills_reindexed"] = skills.into();
    answer["message"] = message(kind, source).into();
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
        Kind::Git => format!("Synchronised with {}.", source.describe()),
    }
}

fn failed(source: &Refresher, message: &str) -> Value {
    let mut answer = json!({ "success": false, "mode": source.kind().as_str() });
    add_checkouts(&mut answer, &source.checkouts());
    answer["message"] = message.into();
    answer
}

/// Says what there is of the repositories: spec 3's fields for the first one, and a list of all.
fn add_checkouts(answer: &mut Value, checkouts: &[Checkout]) {
    let rows = checkouts.iter().map(|it| {
        json!({
            "repository": it.repository,
            "branch": it.branch,
            "commit_hash": it.commit,
            "last_sync": it.last_sync.map(rfc3339),
            "error": it.last_error,
        })
    });
    let rows: Vec<Value> = rows.collect();
    let Some(first) = rows.first() else {
        return;
    };
    for field in ["commit_hash", "last_sync"] {
        if !first[field].is_null() {
            answer[field] = first[field].clone();
        }
    }
    answer["repositories"] = rows.into();
}
