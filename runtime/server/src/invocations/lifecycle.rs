//! The states of an invocation (spec 5) as types, so that there is no other way through them:
//!
//! ```text
//! Pending ──run──▶ Running ──complete──▶ Ended (completed)
//!                          ├─fail──────▶ Ended (failed)
//!                          └─time_out──▶ Ended (timeout)
//! ```

use std::time::{Duration, Instant, SystemTime};

use serde_json::{Map, Value, json};
use skillbundle_format::FailureCode;
use skillbundle_journal::{Event, Invocation, InvocationResult, InvocationStatus, Uuid, rfc3339};
use skillbundle_schema::Schema;

/// An invocation that is accepted and has not begun.
#[derive(Debug)]
pub(super) struct Pending(Invocation);

/// An invocation whose handler runs.
#[derive(Debug)]
pub(super) struct Running {
    invocation: Invocation,
    began: Instant,
}

/// An invocation that is over.
#[derive(Debug)]
pub(super) struct Ended {
    result: SkillResult,
    internal: Option<String>,
    /// The output as it is recorded.
    recorded_output: Option<String>,
}

/// Why an invocation has failed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failure {
    pub(super) code: FailureCode,
    /// What stands in the message of the code.
    pub(super) detail: String,
    /// More for the caller.
    pub(super) details: Option<Value>,
    /// More for the operator, in the journal alone.
    pub(super) internal: Option<String>,
}

/// The result of an invocation (`SkillResult`). It has either an output or a failure, never both and
/// never neither.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillResult {
    invocation_id: Uuid,
    correlation_id: Uuid,
    skill: String,
    status: InvocationStatus,
    end: Result<Map<String, Value>, FailureReport>,
    duration: Duration,
    ended_at: SystemTime,
    /// What was asked for, to recognize a repeated call.
    pub(super) digest: ([u8; 32], String, String),
    is_replay: bool,
}

/// A failure as its caller sees it.
#[derive(Debug, Clone, PartialEq)]
struct FailureReport {
    code: FailureCode,
    message: String,
    details: Option<Value>,
}

impl Pending {
    pub(super) const fn new(invocation: Invocation) -> Self {
        Self(invocation)
    }

    pub(super) const fn invocation(&self) -> &Invocation {
        &self.0
    }

    pub(super) fn with_new_id(self) -> Self {
        Self(Invocation {
            id: Uuid::new_v4(),
            ..self.0
        })
    }

    pub(super) fn run(self) -> Running {
        Running {
            invocation: self.0,
            began: Instant::now(),
        }
    }
}

impl Running {
    pub(super) const fn invocation(&self) -> &Invocation {
        &self.invocation
    }

    /// What the journal is told of its beginning.
    pub(super) fn event(&self) -> Event {
        Event::Running {
            id: self.invocation.id,
            at: SystemTime::now(),
        }
    }

    pub(super) fn complete(self, output: Map<String, Value>) -> Ended {
        self.end(InvocationStatus::Completed, Ok(output), None)
    }

    pub(super) fn fail(self, failure: Failure) -> Ended {
        let report = FailureReport {
            code: failure.code,
            message: failure.code.mode().message(&failure.detail),
            details: failure.details,
        };
        self.end(InvocationStatus::Failed, Err(report), failure.internal)
    }

    pub(super) fn time_out(self, limit: Duration) -> Ended {
        let seconds = limit.as_secs_f64().to_string();
        let report = FailureReport {
            code: FailureCode::Timeout,
            message: FailureCode::Timeout.mode().message(&seconds),
            details: None,
        };
        self.end(InvocationStatus::Timeout, Err(report), None)
    }

    fn end(
        self,
        status: InvocationStatus,
        end: Result<Map<String, Value>, FailureReport>,
        internal: Option<String>,
    ) -> Ended {
        let Self { invocation, began } = self;
        let recorded_output = end
            .as_ref()
            .ok()
            .map(|it| Value::Object(it.clone()).to_string());
        Ended {
            result: SkillResult {
                invocation_id: invocation.id,
                correlation_id: invocation.correlation_id,
                digest: (
                    invocation.input_digest,
                    invocation.skill.clone(),
                    invocation.agent,
                ),
                skill: invocation.skill,
                status,
                end,
                duration: began.elapsed(),
                ended_at: SystemTime::now(),
                is_replay: false,
            },
            internal,
            recorded_output,
        }
    }
}

impl Ended {
    /// The same, recorded without what the schema calls secret.
    pub(super) fn redacted_by(mut self, schema: &Schema) -> Self {
        if let Ok(output) = &self.result.end {
            let output = schema.redact(&Value::Object(output.clone()));
            self.recorded_output = Some(output.to_string());
        }
        self
    }

    /// The row of the journal.
    pub(super) fn journal_result(&self) -> InvocationResult {
        let result = &self.result;
        let failure = result.end.as_ref().err();
        InvocationResult {
            invocation_id: result.invocation_id,
            success: failure.is_none(),
            output: self.recorded_output.clone(),
            failure_code: failure.map(|it| it.code.as_str().to_owned()),
            failure_message: failure.map(|it| it.message.clone()),
            failure_details: failure.and_then(|it| Some(it.details.as_ref()?.to_string())),
            internal_detail: self.internal.clone(),
            duration_ms: result.duration_ms(),
            created_at: result.ended_at,
            status: result.status,
        }
    }

    pub(super) const fn result(&self) -> &SkillResult {
        &self.result
    }
}

impl Failure {
    pub(crate) fn new(code: FailureCode, detail: &str) -> Self {
        Self {
            code,
            detail: detail.to_owned(),
            details: None,
            internal: None,
        }
    }
}

impl SkillResult {
    /// What the journal says of an invocation that has ended; `None` if it says nothing that can be.
    pub(super) fn of_record(invocation: &Invocation, recorded: InvocationResult) -> Option<Self> {
        let end = if recorded.success {
            let output = serde_json::from_str(&recorded.output?).ok()?;
            Ok(output)
        } else {
            Err(FailureReport {
                code: FailureCode::find(&recorded.failure_code?)?,
                message: recorded.failure_message?,
                details: recorded
                    .failure_details
                    .and_then(|it| serde_json::from_str(&it).ok()),
            })
        };
        Some(Self {
            invocation_id: invocation.id,
            correlation_id: invocation.correlation_id,
            skill: invocation.skill.clone(),
            status: recorded.status,
            end,
            duration: Duration::from_millis(recorded.duration_ms.into()),
            ended_at: recorded.created_at,
            digest: (
                invocation.input_digest,
                invocation.skill.clone(),
                invocation.agent.clone(),
            ),
            is_replay: true,
        })
    }

    /// The same, as the answer to a repeated call.
    pub(super) fn replayed(&self) -> Self {
        Self {
            is_replay: true,
            ..self.clone()
        }
    }

    /// The invocation.
    pub const fn invocation_id(&self) -> Uuid {
        self.invocation_id
    }

    /// Whether the handler has succeeded.
    pub const fn is_success(&self) -> bool {
        self.end.is_ok()
    }

    /// The output of a success.
    pub fn output(&self) -> Option<&Map<String, Value>> {
        self.end.as_ref().ok()
    }

    /// The code of a failure.
    pub fn failure_code(&self) -> Option<FailureCode> {
        self.end.as_ref().err().map(|it| it.code)
    }

    /// The message of a failure.
    pub fn failure_message(&self) -> Option<&str> {
        self.end.as_ref().err().map(|it| it.message.as_str())
    }

    /// More about a failure.
    pub fn failure_details(&self) -> Option<&Value> {
        self.end.as_ref().err()?.details.as_ref()
    }

    fn duration_ms(&self) -> u32 {
        u32::try_from(self.duration.as_millis()).unwrap_or(u32::MAX)
    }

    /// As JSON: the fields of the specification, then what helps to go on.
    pub fn to_json(&self) -> Value {
        let failure = self.end.as_ref().err();
        let mut json = json!({
            "invocation_id": self.invocation_id,
            "success": self.is_success(),
            "output_payload": self.end.as_ref().ok(),
            "failure_code": failure.map(|it| it.code.as_str()),
            "failure_message": failure.map(|it| &it.message),
            "failure_details": failure.map(|it| &it.details),
            "duration_ms": self.duration_ms(),
            "timestamp": rfc3339(self.ended_at),
            "skill_name": self.skill,
            "correlation_id": self.correlation_id,
            "status": self.status.as_str(),
        });
        if let Some(failure) = failure {
            let mode = failure.code.mode();
            json["severity"] = mode.severity.as_str().into();
            json["suggested_action"] = mode.suggested_action.into();
        }
        if self.is_replay {
            json["replayed"] = true.into();
        }
        json
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running() -> Running {
        Pending::new(Invocation {
            id: Uuid::new_v4(),
            skill: "s".to_owned(),
            agent: "A".to_owned(),
            correlation_id: Uuid::new_v4(),
            input: "{}".to_owned(),
            input_digest: [0; 32],
            created_at: SystemTime::now(),
        })
        .run()
    }

    /// Each transition of the specification; there are no functions for others.
    #[test]
    fn each_end_has_what_the_specification_asks_for() {
        let output = Map::from_iter([("a".to_owned(), json!(1))]);
        let mut ends = vec![(running().complete(output), "completed", None)];
        for code in FailureCode::ALL {
            ends.push((
                running().fail(Failure::new(*code, "x")),
                "failed",
                Some(*code),
            ));
        }
        let timed_out = running().time_out(Duration::from_secs(30));
        ends.push((timed_out, "timeout", Some(FailureCode::Timeout)));
        for (ended, status, code) in ends {
            let row = ended.journal_result();
            assert_eq!(row.status.as_str(), status);
            let json = ended.result().to_json();
            assert_eq!(json["status"], status);
            let is_success = code.is_none();
            assert_eq!(
                (&json["success"], row.success),
                (&json!(is_success), is_success)
            );
            assert_eq!(json["output_payload"].is_object(), is_success);
            assert_eq!(json["failure_message"].is_string(), !is_success);
            assert_eq!(json["failure_code"].as_str(), code.map(FailureCode::as_str));
            assert_eq!(row.failure_code.as_deref(), code.map(FailureCode::as_str));
            assert_eq!(row.output.is_some(), is_success);
            assert!(json["duration_ms"].is_u64());
            let mode = code.map(FailureCode::mode);
            assert_eq!(
                json["severity"].as_str(),
                mode.map(|it| it.severity.as_str())
            );
            assert_eq!(
                json["suggested_action"].as_str(),
                mode.map(|it| it.suggested_action)
            );
        }
    }

    #[test]
    fn a_time_out_names_its_seconds() {
        for (limit, shown) in [(30_000, "30"), (1_500, "1.5")] {
            let ended = running().time_out(Duration::from_millis(limit));
            let message = format!("Operation timed out after {shown}s");
            assert_eq!(ended.result().failure_message(), Some(message.as_str()));
        }
    }

    #[test]
    fn a_result_survives_the_journal() {
        let failure = Failure {
            details: Some(json!({"a": [1]})),
            internal: Some("secret".to_owned()),
            ..Failure::new(FailureCode::NotFound, "x")
        };
        for ended in [
            running().complete(Map::from_iter([("a".to_owned(), json!({"b": 1.5}))])),
            running().fail(failure),
            running().time_out(Duration::from_secs(1)),
        ] {
            let row = ended.journal_result();
            let result = ended.result();
            let invocation = Invocation {
                id: result.invocation_id,
                correlation_id: result.correlation_id,
                ..running().invocation
            };
            let again = SkillResult::of_record(&invocation, row).expect("whole");
            let mut expected = result.to_json();
            assert!(!expected.to_string().contains("secret"));
            expected["replayed"] = json!(true);
            assert_eq!(again.to_json(), expected);
        }
    }
}
