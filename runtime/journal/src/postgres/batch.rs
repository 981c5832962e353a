//! What is sent in one transaction: rows of the spool as columns of the server. Whole columns are
//! sent as arrays, so a batch takes a few round trips, whatever its size.

use std::collections::HashMap;
use std::time::SystemTime;

use rusqlite::Connection;
use tokio_postgres::{Client, Error, Statement};
use uuid::Uuid;

use crate::event::{InvocationResult, Record};
use crate::sqlite::rows;
use crate::time::from_microseconds;

/// A row of the outbox: what has to be sent.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) seq: i64,
    change: String,
    id: Uuid,
}

/// The first entries that the server has not refused, oldest first.
pub(super) fn entries(spool: &Connection, most: usize) -> rusqlite::Result<Vec<Entry>> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let sql = "SELECT seq, change, id FROM outbox WHERE refused IS NULL ORDER BY seq LIMIT ?1";
    let mut statement = spool.prepare_cached(sql)?;
    let found = statement.query_map([most], |row| {
        Ok(Entry {
            seq: row.get(0)?,
            change: row.get(1)?,
            id: rows::uuid(row, 2)?,
        })
    })?;
    found.collect()
}

/// A row of the table of events as it is stored.
struct StoredEvent {
    id: Uuid,
    kind: String,
    name: String,
    skill: Option<String>,
    correlation_id: Option<Uuid>,
    body: String,
    created_at: SystemTime,
}

/// What is sent in one transaction.
#[derive(Default)]
pub(super) struct Batch {
    /// The invocations of all entries, in the order of the first of each. Those that the server has
    /// are left as they are there.
    invocations: Vec<Record>,
    running: Vec<Uuid>,
    results: Vec<InvocationResult>,
    events: Vec<StoredEvent>,
}

/// The statements of a connection.
pub(super) struct Statements {
    invocations: Statement,
    events: Statement,
    results: Statement,
    running: Statement,
    ended: Statement,
}

impl Batch {
    /// Loads the first of these entries, at least one, and no more than about so many bytes. Returns
    /// how many it took.
    pub(super) fn load(
        spool: &Connection,
        entries: &[Entry],
        most_bytes: usize,
    ) -> rusqlite::Result<(Self, usize)> {
        let mut batch = Self::default();
        let mut records: HashMap<Uuid, Option<Record>> = HashMap::new();
        let (mut bytes, mut taken) = (0, 0);
        for entry in entries {
            if taken > 0 && bytes >= most_bytes {
                break;
            }
            taken += 1;
            if entry.change == "event" {
                let event = stored_event(spool, entry.id)?;
                bytes += event.as_ref().map_or(0, |it| it.body.len());
                batch.events.extend(event);
                continue;
            }
            let record = match records.entry(entry.id) {
                std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::hash_map::Entry::Vacant(place) => {
                    let found = rows::find(spool, entry.id)?;
                    bytes += found.as_ref().map_or(0, |it| it.invocation.size());
                    batch.invocations.extend(found.clone());
                    place.insert(found)
                }
            };
            match (entry.change.as_str(), record) {
                ("running", Some(_)) => batch.running.push(entry.id),
                ("ended", Some(record)) => {
                    bytes += record.result.as_ref().map_or(0, InvocationResult::size);
                    batch.results.extend(record.result.take());
                }
                _ => {}
            }
        }
        Ok((batch, taken))
    }

    /// Makes strings of JSON of all payloads. For what a server does not accept as JSON, such as
    /// `\u0000` in a text, or a number with a thousand digits.
    pub(super) fn payloads_as_text(&mut self) {
        let as_text = |payload: &mut String| {
            *payload = serde_json::Value::from(payload.as_str()).to_string();
        };
        for record in &mut self.invocations {
            as_text(&mut record.invocation.input);
        }
        for result in &mut self.results {
            result.output.iter_mut().for_each(as_text);
            result.failure_details.iter_mut().for_each(as_text);
        }
        self.events.iter_mut().for_each(|it| as_text(&mut it.body));
    }

    /// Sends everything in one transaction. What the server has already stays as it is.
    pub(super) async fn send(
        &self,
        client: &mut Client,
        statements: &Statements,
    ) -> Result<(), Error> {
        let transaction = client.transaction().await?;
        let invocations = || self.invocations.iter().map(|it| &it.invocation);
        if !self.invocations.is_empty() {
            transaction
                .execute(
                    &statements.invocations,
                    &[
                        &column(invocations().map(|it| it.id)),
                        &column(invocations().map(|it| text(&it.skill))),
                        &column(invocations().map(|it| text(&it.agent))),
                        &column(invocations().map(|it| it.correlation_id)),
                        &column(invocations().map(|it| text(&it.input))),
                        &column(invocations().map(|it| it.input_digest.to_vec())),
                        &column(invocations().map(|it| it.created_at)),
                    ],
                )
                .await?;
        }
        if !self.events.is_empty() {
            let events = || self.events.iter();
            transaction
                .execute(
                    &statements.events,
                    &[
                        &column(events().map(|it| it.id)),
                        &column(events().map(|it| text(&it.kind))),
                        &column(events().map(|it| text(&it.name))),
                        &column(events().map(|it| it.skill.as_deref().map(text))),
                        &column(events().map(|it| it.correlation_id)),
                        &column(events().map(|it| text(&it.body))),
                        &column(events().map(|it| it.created_at)),
                    ],
                )
                .await?;
        }
        if !self.running.is_empty() {
            transaction
                .execute(&statements.running, &[&self.running])
                .await?;
        }
        if !self.results.is_empty() {
            let results = || self.results.iter();
            let duration = |ms: u32| i32::try_from(ms).unwrap_or(i32::MAX);
            transaction
                .execute(
                    &statements.results,
                    &[
                        &column(results().map(|it| it.invocation_id)),
                        &column(results().map(|it| it.success)),
                        &column(results().map(|it| it.output.as_deref().map(text))),
                        &column(results().map(|it| it.failure_code.as_deref().map(text))),
                        &column(results().map(|it| it.failure_message.as_deref().map(text))),
                        &column(results().map(|it| it.failure_details.as_deref().map(text))),
                        &column(results().map(|it| it.internal_detail.as_deref().map(text))),
                        &column(results().map(|it| duration(it.duration_ms))),
                        &column(results().map(|it| it.created_at)),
                    ],
                )
                .await?;
            transaction
                .execute(
                    &statements.ended,
                    &[
                        &column(results().map(|it| it.invocation_id)),
                        &column(results().map(|it| it.status.as_str())),
                    ],
                )
                .await?;
        }
        transaction.commit().await
    }
}

impl Statements {
    pub(super) async fn prepare(client: &Client) -> Result<Self, Error> {
        Ok(Self {
            invocations: client
                .prepare(
                    "INSERT INTO skill_invocations (id, skill_name, invoking_agent, \
                     correlation_id, input_payload, input_digest, created_at) \
                     SELECT id, skill_name, agent, correlation_id, input::jsonb, digest, at \
                     FROM unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::text[], \
                     $6::bytea[], $7::timestamptz[]) WITH ORDINALITY \
                     AS t(id, skill_name, agent, correlation_id, input, digest, at, n) \
                     ORDER BY n ON CONFLICT (id) DO NOTHING",
                )
                .await?,
            events: client
                .prepare(
                    "INSERT INTO skill_events (id, kind, name, skill_name, correlation_id, body, \
                     created_at) \
                     SELECT id, kind, name, skill_name, correlation_id, body::jsonb, at \
                     FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::uuid[], \
                     $6::text[], $7::timestamptz[]) WITH ORDINALITY \
                     AS t(id, kind, name, skill_name, correlation_id, body, at, n) \
                     ORDER BY n ON CONFLICT (id) DO NOTHING",
                )
                .await?,
            results: client
                .prepare(
                    "INSERT INTO skill_results (invocation_id, success, output_payload, \
                     failure_code, failure_message, failure_details, internal_detail, \
                     duration_ms, created_at) \
                     SELECT id, success, output::jsonb, code, message, details::jsonb, internal, \
                     duration, at \
                     FROM unnest($1::uuid[], $2::bool[], $3::text[], $4::text[], $5::text[], \
                     $6::text[], $7::text[], $8::int4[], $9::timestamptz[]) WITH ORDINALITY \
                     AS t(id, success, output, code, message, details, internal, duration, at, n) \
                     ORDER BY n ON CONFLICT (invocation_id) DO NOTHING",
                )
                .await?,
            running: client
                .prepare(
                    "UPDATE skill_invocations SET status = 'running' \
                     WHERE id = ANY($1::uuid[]) AND status = 'pending'",
                )
                .await?,
            ended: client
                .prepare(
                    "UPDATE skill_invocations SET status = t.status \
                     FROM unnest($1::uuid[], $2::text[]) AS t(id, status) \
                     WHERE skill_invocations.id = t.id",
                )
                .await?,
        })
    }
}

fn stored_event(spool: &Connection, id: Uuid) -> rusqlite::Result<Option<StoredEvent>> {
    use rusqlite::OptionalExtension;

    let sql = "SELECT kind, name, skill_name, correlation_id, body, created_at FROM events \
               WHERE id = ?1";
    let mut statement = spool.prepare_cached(sql)?;
    let event = statement.query_row([id.to_string()], |row| {
        Ok(StoredEvent {
            id,
            kind: row.get(0)?,
            name: row.get(1)?,
            skill: row.get(2)?,
            correlation_id: rows::optional_uuid(row, 3)?,
            body: row.get(4)?,
            created_at: from_microseconds(row.get(5)?),
        })
    });
    event.optional()
}

fn column<T>(values: impl Iterator<Item = T>) -> Vec<T> {
    values.collect()
}

/// The text without U+0000, which PostgreSQL has no room for.
fn text(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
