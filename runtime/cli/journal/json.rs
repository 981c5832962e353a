//! The bodies of `journal --json`.

use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value};
use skillbundle_journal::{Event, InvocationResult, Pruned, Record, SkillStats, Uuid, rfc3339};

/// The body of `journal list`.
#[derive(Serialize)]
pub(super) struct List<'a> {
    pub(super) journal: &'a Path,
    pub(super) invocations: Vec<Invocation<'a>>,
}

/// The body of `journal show`.
#[derive(Serialize)]
pub(super) struct Show<'a> {
    pub(super) journal: &'a Path,
    pub(super) invocation: Invocation<'a>,
    pub(super) events: Vec<OtherEvent>,
}

/// The body of `journal events`.
#[derive(Serialize)]
pub(super) struct Events<'a> {
    pub(super) journal: &'a Path,
    pub(super) events: Vec<OtherEvent>,
}

/// The body of `journal stats`.
#[derive(Serialize)]
pub(super) struct Stats<'a> {
    pub(super) journal: &'a Path,
    pub(super) stats: Vec<OfSkill<'a>>,
}

/// The body of `journal prune`.
#[derive(Serialize)]
pub(super) struct Prune<'a> {
    journal: &'a Path,
    removed_invocations: usize,
    removed_events: usize,
    undelivered_count: usize,
}

/// An invocation, and how it ended.
#[derive(Serialize)]
pub(super) struct Invocation<'a> {
    id: Uuid,
    skill_name: &'a str,
    invoking_agent: &'a str,
    correlation_id: Uuid,
    status: &'static str,
    created_at: String,
    input_payload: Value,
    ending: Option<Ending<'a>>,
}

/// How an invocation ended.
#[derive(Serialize)]
struct Ending<'a> {
    success: bool,
    output_payload: Value,
    failure_code: Option<&'a str>,
    failure_message: Option<&'a str>,
    failure_details: Value,
    internal_detail: Option<&'a str>,
    duration_ms: u32,
    created_at: String,
}

/// An event that is no invocation.
#[derive(Serialize)]
pub(super) struct OtherEvent {
    id: Uuid,
    event: &'static str,
    correlation_id: Option<Uuid>,
    created_at: String,
    body: Value,
}

/// How the invocations of one skill went.
#[derive(Serialize)]
pub(super) struct OfSkill<'a> {
    skill_name: &'a str,
    invocation_count: u64,
    completed_count: u64,
    failed_count: u64,
    timeout_count: u64,
    unfinished_count: u64,
    failure_codes: Map<String, Value>,
    p50_ms: Option<u32>,
    p95_ms: Option<u32>,
    max_ms: Option<u32>,
}

impl<'a> From<&'a Record> for Invocation<'a> {
    fn from(record: &'a Record) -> Self {
        let invocation = &record.invocation;
        Self {
            id: invocation.id,
            skill_name: &invocation.skill,
            invoking_agent: &invocation.agent,
            correlation_id: invocation.correlation_id,
            status: record.status.as_str(),
            created_at: rfc3339(invocation.created_at),
            input_payload: payload(&invocation.input),
            ending: record.result.as_ref().map(Ending::from),
        }
    }
}

impl<'a> From<&'a InvocationResult> for Ending<'a> {
    fn from(result: &'a InvocationResult) -> Self {
        let optional = |json: &Option<String>| json.as_deref().map_or(Value::Null, payload);
        Self {
            success: result.success,
            output_payload: optional(&result.output),
            failure_code: result.failure_code.as_deref(),
            failure_message: result.failure_message.as_deref(),
            failure_details: optional(&result.failure_details),
            internal_detail: result.internal_detail.as_deref(),
            duration_ms: result.duration_ms,
            created_at: rfc3339(result.created_at),
        }
    }
}

impl From<&Event> for OtherEvent {
    fn from(event: &Event) -> Self {
        let json = |value: serde_json::Result<Value>| value.unwrap_or_default();
        let (id, kind, correlation_id, at, body) = match event {
            Event::Script(run) => {
                let body = json(serde_json::to_value(run));
                (run.id, "script", run.correlation_id, run.at, body)
            }
            Event::Routing(it) => {
                let body = json(serde_json::to_value(it));
                (it.id, "routing", it.correlation_id, it.at, body)
            }
            Event::Analytics {
                id,
                name,
                skill,
                correlation_id,
                body,
                at,
            } => {
                let body =
                    serde_json::json!({ "name": name, "skill": skill, "body": payload(body) });
                (*id, "analytics", *correlation_id, *at, body)
            }
            Event::Created(_) | Event::Running { .. } | Event::Ended(_) => {
                unreachable!("a journal returns these as invocations")
            }
        };
        Self {
            id,
            event: kind,
            correlation_id,
            created_at: rfc3339(at),
            body,
        }
    }
}

impl<'a> From<&'a SkillStats> for OfSkill<'a> {
    fn from(stats: &'a SkillStats) -> Self {
        let failures = stats.failures.iter();
        Self {
            skill_name: &stats.skill,
            invocation_count: stats.invocations,
            completed_count: stats.completed,
            failed_count: stats.failed,
            timeout_count: stats.timed_out,
            unfinished_count: stats.unfinished,
            failure_codes: failures
                .map(|(code, count)| (code.clone(), (*count).into()))
                .collect(),
            p50_ms: stats.p50_ms,
            p95_ms: stats.p95_ms,
            max_ms: stats.max_ms,
        }
    }
}

impl<'a> Prune<'a> {
    pub(super) fn new(journal: &'a Path, pruned: Pruned) -> Self {
        Self {
            journal,
            removed_invocations: pruned.invocations,
            removed_events: pruned.events,
            undelivered_count: pruned.undelivered,
        }
    }
}

/// A payload as JSON; as text if it is none, which only an edited file can hold.
fn payload(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|_| json.into())
}
