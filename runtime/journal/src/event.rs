//! What can be recorded: the nouns of this crate. Payloads are JSON text that the caller has
//! redacted; this crate looks into none of them.

use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::time::microseconds;

/// Longest name of a skill or an agent, in characters (spec 5: `VARCHAR(64)`). Longer ones are cut.
const MAX_NAME: usize = 64;

/// Longest failure code, in characters (spec 5: `VARCHAR(50)`). Longer ones are cut.
const MAX_CODE: usize = 50;

/// How much of a request a routing decision keeps, in bytes.
const MAX_REQUEST: usize = 1024;

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// An invocation was asked for; it is pending.
    Created(Invocation),
    /// A pending invocation has begun to run.
    Running {
        /// The invocation.
        id: Uuid,
        /// When.
        at: SystemTime,
    },
    /// An invocation has ended.
    Ended(InvocationResult),
    /// A script of a skill has run.
    Script(ScriptRun),
    /// A request was, or was not, brought to a skill.
    Routing(RoutingDecision),
    /// An event that a client or the server counts.
    Analytics {
        /// Unique; the same id is recorded once.
        id: Uuid,
        /// What happened, such as `skill_loaded`.
        name: String,
        /// The skill that it is about, if it is about one.
        skill: Option<String>,
        /// What it belongs to.
        correlation_id: Option<Uuid>,
        /// JSON.
        body: String,
        /// When.
        at: SystemTime,
    },
}

/// A request to execute a skill (spec 5, `SkillInvocation`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// Unique.
    pub id: Uuid,
    /// The skill. Cut after 64 characters.
    pub skill: String,
    /// Who asks for it. Cut after 64 characters.
    pub agent: String,
    /// Connects the invocations of one task.
    pub correlation_id: Uuid,
    /// The input as JSON, without secrets: the caller has redacted it.
    pub input: String,
    /// SHA-256, or a digest like it, of the redacted input: tells whether a repeated id has the same
    /// input.
    pub input_digest: [u8; 32],
    /// When it was asked for. Kept to the microsecond.
    pub created_at: SystemTime,
}

/// How an invocation ended (spec 5, `SkillResult`). A success has an output and no failure code, a
/// failure has a code and a message; anything else is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvocationResult {
    /// The invocation. It has one result; a second one is refused.
    pub invocation_id: Uuid,
    /// Whether the skill did what it was asked to.
    pub success: bool,
    /// The output as JSON, of a success.
    pub output: Option<String>,
    /// The code of a failure, such as `NOT_FOUND`. Cut after 50 characters.
    pub failure_code: Option<String>,
    /// What a person is told about a failure.
    pub failure_message: Option<String>,
    /// More about a failure, as JSON, fit for the caller's eyes.
    pub failure_details: Option<String>,
    /// More about a failure for the operator alone. It is in the journal and in no reply.
    pub internal_detail: Option<String>,
    /// How long it took, in milliseconds.
    pub duration_ms: u32,
    /// When it ended. Kept to the microsecond.
    pub created_at: SystemTime,
    /// [`Completed`](InvocationStatus::Completed), [`Failed`](InvocationStatus::Failed) or
    /// [`Timeout`](InvocationStatus::Timeout).
    pub status: InvocationStatus,
}

/// What is recorded about one invocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// What was asked for.
    pub invocation: Invocation,
    /// How far it got.
    pub status: InvocationStatus,
    /// How it ended; `None` if it has not.
    pub result: Option<InvocationResult>,
}

/// How far an invocation got (spec 5). It only moves forward: pending, running, then one of the
/// last three.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InvocationStatus {
    /// Recorded, not begun.
    Pending,
    /// Begun, not ended.
    Running,
    /// Ended with success.
    Completed,
    /// Ended with a failure.
    Failed,
    /// Ended since its time was up.
    Timeout,
}

/// One run of a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptRun {
    /// Unique; the same id is recorded once.
    pub id: Uuid,
    /// The skill that the script belongs to.
    pub skill: String,
    /// The script's path in the skill.
    pub script: String,
    /// What it belongs to.
    pub correlation_id: Option<Uuid>,
    /// How it exited; `None` if a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// How long it ran, in milliseconds.
    pub duration_ms: u32,
    /// The level of isolation.
    pub isolation: String,
    /// Whether its time was up.
    pub timed_out: bool,
    /// When it ended. Kept to the microsecond.
    #[serde(with = "microseconds")]
    pub at: SystemTime,
}

/// What became of a request in plain words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoutingDecision {
    /// Unique; the same id is recorded once.
    pub id: Uuid,
    /// The request. Cut after 1 KiB.
    pub request: String,
    /// The skill that was chosen.
    pub chosen: Option<String>,
    /// In one word, such as `matched`, `ambiguous`, `none`.
    pub outcome: String,
    /// The best skills with their scores, best first.
    pub candidates: Vec<(String, f64)>,
    /// What it belongs to.
    pub correlation_id: Option<Uuid>,
    /// When. Kept to the microsecond.
    #[serde(with = "microseconds")]
    pub at: SystemTime,
}

impl InvocationStatus {
    /// Every status, in the order in which an invocation can have them.
    pub const ALL: [Self; 5] = [
        Self::Pending,
        Self::Running,
        Self::Completed,
        Self::Failed,
        Self::Timeout,
    ];

    /// The word that is stored: spec 5's, in lower case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
        }
    }

    /// Whether nothing can follow.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Timeout)
    }
}

impl fmt::Display for InvocationStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for InvocationStatus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|it| it.as_str() == text);
        found.ok_or_else(|| {
            let words = Self::ALL.map(Self::as_str).join(", ");
            format!("expected one of {words}, found `{text}`")
        })
    }
}

impl Event {
    /// Whether it may be dropped if too much waits. Events of invocations may not: their callers
    /// wait until they are recorded, so there are never more of them than callers.
    pub(crate) const fn is_droppable(&self) -> bool {
        matches!(
            self,
            Self::Script(_) | Self::Routing(_) | Self::Analytics { .. }
        )
    }

    /// About how much memory it takes, in bytes.
    pub(crate) fn size(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Created(invocation) => invocation.size(),
                Self::Running { .. } => 0,
                Self::Ended(result) => result.size(),
                Self::Script(run) => run.skill.len() + run.script.len() + run.isolation.len(),
                Self::Routing(decision) => {
                    let candidates = decision.candidates.iter();
                    let names: usize = candidates.map(|(name, _)| name.len() + 32).sum();
                    decision.request.len() + names
                }
                Self::Analytics {
                    name, skill, body, ..
                } => name.len() + skill.as_ref().map_or(0, String::len) + body.len(),
            }
    }

    /// Cuts what is longer than its column, and makes JSON of what should be and is not.
    pub(crate) fn normalized(mut self) -> Self {
        match &mut self {
            Self::Created(invocation) => invocation.normalize(),
            Self::Ended(result) => result.normalize(),
            Self::Routing(decision) => cut_bytes(&mut decision.request, MAX_REQUEST),
            Self::Analytics { body, .. } => ensure_json(body),
            Self::Running { .. } | Self::Script(_) => {}
        }
        self
    }
}

impl Invocation {
    pub(crate) fn size(&self) -> usize {
        size_of::<Self>() + self.skill.len() + self.agent.len() + self.input.len()
    }

    /// See [`Event::normalized`].
    pub(crate) fn normalize(&mut self) {
        cut_chars(&mut self.skill, MAX_NAME);
        cut_chars(&mut self.agent, MAX_NAME);
        ensure_json(&mut self.input);
    }
}

impl InvocationResult {
    pub(crate) fn size(&self) -> usize {
        let texts = [
            &self.output,
            &self.failure_message,
            &self.failure_details,
            &self.internal_detail,
        ];
        size_of::<Self>() + texts.into_iter().flatten().map(String::len).sum::<usize>()
    }

    fn normalize(&mut self) {
        if let Some(code) = &mut self.failure_code {
            cut_chars(code, MAX_CODE);
        }
        let payloads = [&mut self.output, &mut self.failure_details];
        payloads.into_iter().flatten().for_each(ensure_json);
    }
}

/// The name as it is stored, for those who look for it.
#[cfg(feature = "sqlite")]
pub(crate) fn stored_name(name: &str) -> String {
    let mut name = name.to_owned();
    cut_chars(&mut name, MAX_NAME);
    name
}

fn cut_chars(text: &mut String, most: usize) {
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
    }
}

fn cut_bytes(text: &mut String, most: usize) {
    if text.len() > most {
        let end = (0..=most).rev().find(|it| text.is_char_boundary(*it));
        text.truncate(end.unwrap_or(0));
    }
}

/// Makes a JSON string of text that is no JSON, so that a column of JSON, or a line of it, stays
/// readable whatever a caller hands over.
fn ensure_json(text: &mut String) {
    if serde_json::from_str::<serde::de::IgnoredAny>(text).is_err() {
        *text = serde_json::Value::from(text.as_str()).to_string();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_its_word() {
        for status in InvocationStatus::ALL {
            assert_eq!(status.as_str().parse(), Ok(status));
            let json = serde_json::to_string(&status).unwrap();
            assert_eq!(json, format!("\"{status}\""));
        }
        let error = "done".parse::<InvocationStatus>().unwrap_err();
        assert_eq!(
            error,
            "expected one of pending, running, completed, failed, timeout, found `done`"
        );
    }

    #[test]
    fn text_is_cut_between_characters() {
        for (text, most, expected) in [
            ("", 2, ""),
            ("ab", 2, "ab"),
            ("abc", 2, "ab"),
            ("äöü", 2, "äö"),
        ] {
            let mut cut = text.to_owned();
            cut_chars(&mut cut, most);
            assert_eq!(cut, expected, "{text}");
        }
        for (text, most, expected) in [("abc", 5, "abc"), ("abc", 2, "ab"), ("aä", 2, "a")] {
            let mut cut = text.to_owned();
            cut_bytes(&mut cut, most);
            assert_eq!(cut, expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_json_becomes_a_string_of_json() {
        for (text, expected) in [
            ("{\"a\": 1}", "{\"a\": 1}"),
            ("null", "null"),
            ("", "\"\""),
            ("{\"a\":", "\"{\\\"a\\\":\""),
            ("a\nb", "\"a\\nb\""),
        ] {
            let mut json = text.to_owned();
            ensure_json(&mut json);
            assert_eq!(json, expected, "{text}");
        }
    }
}
