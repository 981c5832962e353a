//! Events as lines of JSON: what the JSONL journal holds and what an export gives. Payloads are put
//! in as they are, since they are JSON already.

use std::time::SystemTime;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use uuid::Uuid;

#[cfg(feature = "sqlite")]
use crate::event::Record;
use crate::event::{Event, Invocation, InvocationResult, InvocationStatus};
use crate::time::microseconds;

/// The event as one line, without line end.
pub(crate) fn event(event: &Event) -> String {
    match event {
        Event::Created(invocation) => line("created", &InvocationFields::of(invocation)),
        Event::Running { id, at } => line("running", &RunningFields { id: *id, at: *at }),
        Event::Ended(result) => line("ended", &ResultFields::of(result)),
        Event::Script(run) => line("script", run),
        Event::Routing(decision) => line("routing", decision),
        Event::Analytics {
            id,
            name,
            skill,
            correlation_id,
            body,
            at,
        } => line(
            "analytics",
            &AnalyticsFields {
                id: *id,
                name,
                skill: skill.as_deref(),
                correlation_id: *correlation_id,
                body: raw(body),
                at: *at,
            },
        ),
    }
}

/// An invocation with its result as one line, without line end.
#[cfg(feature = "sqlite")]
pub(crate) fn record(record: &Record) -> String {
    #[derive(Serialize)]
    struct Fields<'a> {
        #[serde(flatten)]
        invocation: InvocationFields<'a>,
        status: InvocationStatus,
        result: Option<ResultFields<'a>>,
    }
    line(
        "invocation",
        &Fields {
            invocation: InvocationFields::of(&record.invocation),
            status: record.status,
            result: record.result.as_ref().map(ResultFields::of),
        },
    )
}

#[derive(Serialize)]
struct Line<'a, T> {
    event: &'a str,
    #[serde(flatten)]
    fields: &'a T,
}

/// The fields of spec 5's `SkillInvocation`.
#[derive(Serialize)]
struct InvocationFields<'a> {
    id: Uuid,
    skill_name: &'a str,
    invoking_agent: &'a str,
    correlation_id: Uuid,
    input_payload: Box<RawValue>,
    #[serde(serialize_with = "hex")]
    input_digest: &'a [u8; 32],
    #[serde(with = "microseconds")]
    created_at: SystemTime,
}

#[derive(Serialize)]
struct RunningFields {
    id: Uuid,
    #[serde(with = "microseconds")]
    at: SystemTime,
}

/// The fields of spec 5's `SkillResult`.
#[derive(Serialize)]
struct ResultFields<'a> {
    invocation_id: Uuid,
    status: InvocationStatus,
    success: bool,
    output_payload: Option<Box<RawValue>>,
    failure_code: &'a Option<String>,
    failure_message: &'a Option<String>,
    failure_details: Option<Box<RawValue>>,
    internal_detail: &'a Option<String>,
    duration_ms: u32,
    #[serde(with = "microseconds")]
    created_at: SystemTime,
}

/// An event that clients and servers count.
#[derive(Serialize)]
struct AnalyticsFields<'a> {
    id: Uuid,
    name: &'a str,
    skill: Option<&'a str>,
    correlation_id: Option<Uuid>,
    body: Box<RawValue>,
    #[serde(with = "microseconds")]
    at: SystemTime,
}

impl<'a> InvocationFields<'a> {
    fn of(invocation: &'a Invocation) -> Self {
        Self {
            id: invocation.id,
            skill_name: &invocation.skill,
            invoking_agent: &invocation.agent,
            correlation_id: invocation.correlation_id,
            input_payload: raw(&invocation.input),
            input_digest: &invocation.input_digest,
            created_at: invocation.created_at,
        }
    }
}

impl<'a> ResultFields<'a> {
    fn of(result: &'a InvocationResult) -> Self {
        Self {
            invocation_id: result.invocation_id,
            status: result.status,
            success: result.success,
            output_payload: result.output.as_deref().map(raw),
            failure_code: &result.failure_code,
            failure_message: &result.failure_message,
            failure_details: result.failure_details.as_deref().map(raw),
            internal_detail: &result.internal_detail,
            duration_ms: result.duration_ms,
            created_at: result.created_at,
        }
    }
}

fn line(event: &str, fields: &impl Serialize) -> String {
    serde_json::to_string(&Line { event, fields }).expect("names and texts are always JSON")
}

/// The payload as it is, on one line: in valid JSON a line end is only between tokens. What is no
/// JSON becomes a string.
pub(crate) fn raw(json: &str) -> Box<RawValue> {
    let one_line = json.replace(['\n', '\r'], " ");
    RawValue::from_string(one_line)
        .unwrap_or_else(|_| serde_json::value::to_raw_value(json).expect("text is always JSON"))
}

fn hex<S: Serializer>(digest: &[u8; 32], to: S) -> Result<S::Ok, S::Error> {
    let digits = digest.iter().map(|it| format!("{it:02x}"));
    to.serialize_str(&digits.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{RoutingDecision, ScriptRun};
    use crate::time::from_microseconds;

    fn invocation() -> Invocation {
        Invocation {
            id: Uuid::from_u128(1),
            skill: "task_creation".to_owned(),
            agent: "TaskAgent".to_owned(),
            correlation_id: Uuid::from_u128(2),
            input: "{\n  \"n\": 12345678901234567890.10\r\n}".to_owned(),
            input_digest: [0xab; 32],
            created_at: from_microseconds(1),
        }
    }

    fn failure() -> InvocationResult {
        InvocationResult {
            invocation_id: Uuid::from_u128(1),
            success: false,
            output: None,
            failure_code: Some("NOT_FOUND".to_owned()),
            failure_message: Some("no\ntask".to_owned()),
            failure_details: Some("not json".to_owned()),
            internal_detail: None,
            duration_ms: 45,
            created_at: from_microseconds(2),
            status: InvocationStatus::Failed,
        }
    }

    const ID: &str = "00000000-0000-0000-0000-000000000001";

    #[test]
    fn every_event_is_one_line() {
        let id = Uuid::from_u128(1);
        let at = from_microseconds(0);
        let script = ScriptRun {
            id,
            skill: "s".to_owned(),
            script: "a.sh".to_owned(),
            correlation_id: None,
            exit_code: Some(0),
            signal: None,
            duration_ms: 7,
            isolation: "full".to_owned(),
            timed_out: false,
            at,
        };
        let routing = RoutingDecision {
            id,
            request: "fill".to_owned(),
            chosen: Some("pdf".to_owned()),
            outcome: "matched".to_owned(),
            candidates: vec![("pdf".to_owned(), 0.5)],
            correlation_id: None,
            at,
        };
        let analytics = Event::Analytics {
            id,
            name: "x".to_owned(),
            skill: Some("pdf".to_owned()),
            correlation_id: Some(id),
            body: "[1,\n2]".to_owned(),
            at,
        };
        for (found, expected) in [
            (
                event(&Event::Created(invocation())),
                format!(
                    r#"{{"event":"created","id":"{ID}","skill_name":"task_creation","invoking_agent":"TaskAgent","correlation_id":"00000000-0000-0000-0000-000000000002","input_payload":{{   "n": 12345678901234567890.10  }},"input_digest":"{}","created_at":"1970-01-01T00:00:00.000001Z"}}"#,
                    "ab".repeat(32)
                ),
            ),
            (
                event(&Event::Running { id, at }),
                format!(r#"{{"event":"running","id":"{ID}","at":"1970-01-01T00:00:00.000000Z"}}"#),
            ),
            (
                event(&Event::Ended(failure())),
                format!(
                    r#"{{"event":"ended","invocation_id":"{ID}","status":"failed","success":false,"output_payload":null,"failure_code":"NOT_FOUND","failure_message":"no\ntask","failure_details":"not json","internal_detail":null,"duration_ms":45,"created_at":"1970-01-01T00:00:00.000002Z"}}"#
                ),
            ),
            (
                event(&Event::Script(script)),
                format!(
                    r#"{{"event":"script","id":"{ID}","skill":"s","script":"a.sh","correlation_id":null,"exit_code":0,"signal":null,"duration_ms":7,"isolation":"full","timed_out":false,"at":"1970-01-01T00:00:00.000000Z"}}"#
                ),
            ),
            (
                event(&Event::Routing(routing)),
                format!(
                    r#"{{"event":"routing","id":"{ID}","request":"fill","chosen":"pdf","outcome":"matched","candidates":[["pdf",0.5]],"correlation_id":null,"at":"1970-01-01T00:00:00.000000Z"}}"#
                ),
            ),
            (
                event(&analytics),
                format!(
                    r#"{{"event":"analytics","id":"{ID}","name":"x","skill":"pdf","correlation_id":"{ID}","body":[1, 2],"at":"1970-01-01T00:00:00.000000Z"}}"#
                ),
            ),
        ] {
            assert_eq!(found, expected);
        }
    }
}
