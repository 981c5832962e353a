//! `refresh_skills` (spec 3 §8.6): loads the skills again, changed or not. A
//! second one while the first runs is told so at once.

use serde_json::{Value, json};

use super::arguments::Arguments;
use super::reply::{Refusal, Reply};
use crate::library::{Library, Refresh};
use crate::source::Mode;

pub(crate) const INPUT: &str =
    r#"{ "type": "object", "properties": {}, "additionalProperties": false }"#;

pub(crate) const OUTPUT: &str = r#"{
  "type": "object",
  "properties": {
    "success": { "type": "boolean" },
    "mode": { "type": "string", "description": "Where the skills come from: local, archive or embedded" },
    "skills_reindexed": { "type": "integer" },
    "message": { "type": "string" }
  }
}"#;

pub(crate) async fn run(library: &Library, arguments: &Arguments<'_>) -> Result<Reply, Refusal> {
    arguments.only(&[])?;
    let mode = library.mode();
    Ok(match library.refresh().await {
        Refresh::Done(skills) => Reply::json(&json!({
            "success": true,
            "mode": mode.as_str(),
            "skills_reindexed": skills,
            "message": message(mode, library),
        })),
        Refresh::Busy => Reply::json(&failed(mode, "Another refresh is under way.")),
        Refresh::Failed(reason) => Reply::json(&failed(mode, &reason)).failing(),
    })
}

fn message(mode: Mode, library: &Library) -> String {
    match mode {
        Mode::Local => "Reindexed from local directory (no git sync configured).".to_owned(),
        Mode::Archive => format!("Opened {} again.", library.describe()),
        Mode::Embedded => {
            "The skills are part of this program; a newer program brings newer ones.".to_owned()
        }
    }
}

fn failed(mode: Mode, message: &str) -> Value {
    json!({ "success": false, "mode": mode.as_str(), "message": message })
}
