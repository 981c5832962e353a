//! Events as rows, and rows as what was recorded.

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};
use uuid::Uuid;

use crate::error::JournalError;
use crate::event::{
    Event, Invocation, InvocationResult, InvocationStatus, Record, RoutingDecision, ScriptRun,
};
use crate::journal::Claim;
use crate::queue::{Change, Outcome};
use crate::time::{from_microseconds, to_microseconds};

/// The columns of a [`Record`], for [`record`].
pub(crate) const RECORD: &str = "SELECT i.id, i.skill_name, i.invoking_agent, i.correlation_id, \
     i.input_payload, i.input_digest, i.created_at, i.status, \
     r.success, r.output_payload, r.failure_code, r.failure_message, r.failure_details, \
     r.internal_detail, r.duration_ms, r.created_at \
     FROM skill_invocations i LEFT JOIN skill_results r ON r.invocation_id = i.id";

/// The columns of an event, for [`event`].
pub(crate) const EVENT: &str =
    "SELECT id, kind, name, correlation_id, body, created_at, skill_name FROM events";

/// Writes one change. A first statement that breaks a constraint leaves nothing of the change.
pub(crate) fn write(
    connection: &Connection,
    change: &Change,
    is_spool: bool,
) -> rusqlite::Result<Outcome> {
    let (delivery, id) = match change {
        Change::Claim(invocation) => {
            if insert_invocation(connection, invocation, "ON CONFLICT (id) DO NOTHING")? == 0 {
                let existing = find(connection, invocation.id)?;
                let existing = existing.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
                return Ok(Outcome::Claimed(Claim::Existing(Box::new(existing))));
            }
            ("created", invocation.id)
        }
        Change::Event(event) => {
            if let Some(problem) = contradiction(connection, event)? {
                return Ok(Outcome::Lost(JournalError::Refused(problem)));
            }
            if !insert(connection, event)? {
                return Ok(Outcome::Written);
            }
            match event {
                Event::Created(invocation) => ("created", invocation.id),
                Event::Running { id, .. } => ("running", *id),
                Event::Ended(result) => ("ended", result.invocation_id),
                Event::Script(run) => ("event", run.id),
                Event::Routing(decision) => ("event", decision.id),
                Event::Analytics { id, .. } => ("event", *id),
            }
        }
    };
    if is_spool {
        statement(
            connection,
            "INSERT INTO outbox (change, id) VALUES (?1, ?2)",
        )?
        .execute(params![delivery, id.to_string()])?;
    }
    Ok(match change {
        Change::Claim(_) => Outcome::Claimed(Claim::New),
        Change::Event(_) => Outcome::Written,
    })
}

/// What is wrong with an event that no constraint of the tables refuses.
fn contradiction(connection: &Connection, event: &Event) -> rusqlite::Result<Option<String>> {
    let id = match event {
        Event::Running { id, .. } => id,
        Event::Ended(result) => {
            let is_success = result.status == InvocationStatus::Completed;
            if !result.status.is_final() || result.success != is_success {
                let (success, status) = (result.success, result.status);
                return Ok(Some(format!(
                    "a result with success = {success} and status {status}"
                )));
            }
            &result.invocation_id
        }
        _ => return Ok(None),
    };
    let known = statement(connection, "SELECT 1 FROM skill_invocations WHERE id = ?1")?
        .exists([id.to_string()])?;
    Ok((!known).then(|| format!("no invocation {id} is recorded")))
}

/// Whether the event changed something.
fn insert(connection: &Connection, event: &Event) -> rusqlite::Result<bool> {
    let changed = match event {
        Event::Created(invocation) => insert_invocation(connection, invocation, "")?,
        Event::Running { id, .. } => statement(
            connection,
            "UPDATE skill_invocations SET status = 'running' WHERE id = ?1 AND status = 'pending'",
        )?
        .execute([id.to_string()])?,
        Event::Ended(result) => insert_result(connection, result)?,
        Event::Script(run) => insert_event(
            connection,
            run.id,
            &EventRow {
                kind: "script",
                name: &run.script,
                skill: Some(&run.skill),
                correlation_id: run.correlation_id,
                body: &json(run)?,
                created_at: to_microseconds(run.at),
            },
        )?,
        Event::Routing(decision) => insert_event(
            connection,
            decision.id,
            &EventRow {
                kind: "routing",
                name: &decision.outcome,
                skill: decision.chosen.as_deref(),
                correlation_id: decision.correlation_id,
                body: &json(decision)?,
                created_at: to_microseconds(decision.at),
            },
        )?,
        Event::Analytics {
            id,
            name,
            skill,
            correlation_id,
            body,
            at,
        } => insert_event(
            connection,
            *id,
            &EventRow {
                kind: "analytics",
                name,
                skill: skill.as_deref(),
                correlation_id: *correlation_id,
                body,
                created_at: to_microseconds(*at),
            },
        )?,
    };
    Ok(changed > 0)
}

fn insert_invocation(
    connection: &Connection,
    invocation: &Invocation,
    conflict: &str,
) -> rusqlite::Result<usize> {
    let sql = format!(
        "INSERT INTO skill_invocations (id, skill_name, invoking_agent, correlation_id, \
         input_payload, input_digest, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) {conflict}"
    );
    statement(connection, &sql)?.execute(params![
        invocation.id.to_string(),
        invocation.skill,
        invocation.agent,
        invocation.correlation_id.to_string(),
        invocation.input,
        invocation.input_digest,
        to_microseconds(invocation.created_at),
    ])
}

fn insert_result(connection: &Connection, result: &InvocationResult) -> rusqlite::Result<usize> {
    let id = result.invocation_id.to_string();
    statement(
        connection,
        "INSERT INTO skill_results (invocation_id, success, output_payload, failure_code, \
         failure_message, failure_details, internal_detail, duration_ms, created_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute(params![
        id,
        result.success,
        result.output,
        result.failure_code,
        result.failure_message,
        result.failure_details,
        result.internal_detail,
        result.duration_ms,
        to_microseconds(result.created_at),
    ])?;
    statement(
        connection,
        "UPDATE skill_invocations SET status = ?2 WHERE id = ?1",
    )?
    .execute(params![id, result.status.as_str()])
}

struct EventRow<'a> {
    kind: &'a str,
    name: &'a str,
    skill: Option<&'a str>,
    correlation_id: Option<Uuid>,
    body: &'a str,
    created_at: i64,
}

fn insert_event(connection: &Connection, id: Uuid, row: &EventRow<'_>) -> rusqlite::Result<usize> {
    statement(
        connection,
        "INSERT INTO events (id, kind, name, skill_name, correlation_id, body, created_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO NOTHING",
    )?
    .execute(params![
        id.to_string(),
        row.kind,
        row.name,
        row.skill,
        row.correlation_id.map(|it| it.to_string()),
        row.body,
        row.created_at,
    ])
}

/// What is recorded under an id.
pub(crate) fn find(connection: &Connection, id: Uuid) -> rusqlite::Result<Option<Record>> {
    statement(connection, &format!("{RECORD} WHERE i.id = ?1"))?
        .query_row([id.to_string()], record)
        .optional()
}

/// A row of [`RECORD`].
pub(crate) fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    let id = uuid(row, 0)?;
    let status = status(row, 7)?;
    let success: Option<bool> = row.get(8)?;
    let result = match success {
        None => None,
        Some(success) => Some(InvocationResult {
            invocation_id: id,
            success,
            output: row.get(9)?,
            failure_code: row.get(10)?,
            failure_message: row.get(11)?,
            failure_details: row.get(12)?,
            internal_detail: row.get(13)?,
            duration_ms: row.get(14)?,
            created_at: from_microseconds(row.get(15)?),
            status,
        }),
    };
    Ok(Record {
        invocation: Invocation {
            id,
            skill: row.get(1)?,
            agent: row.get(2)?,
            correlation_id: uuid(row, 3)?,
            input: row.get(4)?,
            input_digest: row.get(5)?,
            created_at: from_microseconds(row.get(6)?),
        },
        status,
        result,
    })
}

/// A row of [`EVENT`].
pub(crate) fn event(row: &Row<'_>) -> rusqlite::Result<Event> {
    let kind: String = row.get(1)?;
    let body: String = row.get(4)?;
    let unreadable = |error: serde_json::Error| conversion(4, error);
    Ok(match kind.as_str() {
        "script" => {
            let run: ScriptRun = serde_json::from_str(&body).map_err(unreadable)?;
            Event::Script(run)
        }
        "routing" => {
            let decision: RoutingDecision = serde_json::from_str(&body).map_err(unreadable)?;
            Event::Routing(decision)
        }
        _ => Event::Analytics {
            id: uuid(row, 0)?,
            name: row.get(2)?,
            skill: row.get(6)?,
            correlation_id: optional_uuid(row, 3)?,
            body,
            at: from_microseconds(row.get(5)?),
        },
    })
}

pub(crate) fn uuid(row: &Row<'_>, column: usize) -> rusqlite::Result<Uuid> {
    let text: String = row.get(column)?;
    text.parse().map_err(|error| conversion(column, error))
}

pub(crate) fn optional_uuid(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Uuid>> {
    let text: Option<String> = row.get(column)?;
    let parsed = text.map(|it| it.parse()).transpose();
    parsed.map_err(|error: uuid::Error| conversion(column, error))
}

pub(crate) fn status(row: &Row<'_>, column: usize) -> rusqlite::Result<InvocationStatus> {
    let word: String = row.get(column)?;
    word.parse()
        .map_err(|error: String| conversion(column, error))
}

fn conversion(
    column: usize,
    error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
}

fn json(value: &impl serde::Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

fn statement<'a>(
    connection: &'a Connection,
    sql: &str,
) -> rusqlite::Result<rusqlite::CachedStatement<'a>> {
    connection.prepare_cached(sql)
}
