//! Reads an SQLite journal while others write it, and removes from it by hand.

mod counts;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, Row, params_from_iter};
use uuid::Uuid;

use crate::error::JournalError;
use crate::event::{Event, InvocationStatus, Record, stored_name};
use crate::json;
use crate::sqlite::retention::{Which, remove_events, remove_invocations};
use crate::sqlite::{connect, connection, fault, rows, schema};
use crate::time::to_microseconds;
pub use counts::{EventBody, EventCount, InvocationCount};

/// Rows of one transaction when many are removed: short enough that a writer does not notice.
const PRUNED_AT_ONCE: usize = 500;

/// Reads a journal in an SQLite file, also the spool of a PostgreSQL server. It locks nobody out,
/// and sees what was committed when each call began.
#[derive(Debug)]
pub struct Reader {
    /// As it was given, for messages.
    path: PathBuf,
    real: PathBuf,
    connection: Connection,
}

/// Which invocations and events to read. The default is all.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Of this skill.
    pub skill: Option<String>,
    /// Of this agent. Events other than invocations have none, and none of them match.
    pub agent: Option<String>,
    /// With this status. Events other than invocations have none, and none of them match.
    pub status: Option<InvocationStatus>,
    /// At this time or later.
    pub since: Option<SystemTime>,
    /// Before this time.
    pub until: Option<SystemTime>,
    /// With this correlation id.
    pub correlation_id: Option<Uuid>,
    /// At most so many, the latest.
    pub limit: Option<usize>,
}

/// How the invocations of one skill went.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SkillStats {
    /// The skill.
    pub skill: String,
    /// All of them.
    pub invocations: u64,
    /// Those that succeeded.
    pub completed: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those whose time was up.
    pub timed_out: u64,
    /// Those that have not ended.
    pub unfinished: u64,
    /// The number of results with each failure code.
    pub failures: BTreeMap<String, u64>,
    /// Half of those that ended took no longer, in milliseconds; `None` if none has ended.
    pub p50_ms: Option<u32>,
    /// 95 of 100 took no longer, in milliseconds.
    pub p95_ms: Option<u32>,
    /// The longest, in milliseconds.
    pub max_ms: Option<u32>,
}

/// How much was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pruned {
    /// Invocations, with their results.
    pub invocations: usize,
    /// Other events.
    pub events: usize,
    /// What would have been removed, but is not delivered to the PostgreSQL server.
    pub undelivered: usize,
}

impl Reader {
    /// Opens an existing journal for reading. Nothing is written to it.
    ///
    /// # Errors
    ///
    /// There is no such file, it is no journal, or a newer program's.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        // SQLite refuses links in every part of a path. Messages have the path as it was given.
        let real = path.canonicalize().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                JournalError::storage(path, "expected a journal, found no file")
            }
            _ => JournalError::storage(path, &error),
        })?;
        let (connection, version) = open_connection(&real, path)?;
        if version == 0 {
            return Err(JournalError::Foreign {
                path: path.to_owned(),
                found: "an empty file".to_owned(),
            });
        }
        Ok(Self {
            path: path.to_owned(),
            real,
            connection,
        })
    }

    /// The invocations, the latest first.
    pub fn list(&self, filter: &Filter) -> Result<Vec<Record>, JournalError> {
        self.collect(&filter.invocations(rows::RECORD), rows::record)
    }

    /// One invocation, `None` if there is none with this id.
    pub fn show(&self, id: Uuid) -> Result<Option<Record>, JournalError> {
        rows::find(&self.connection, id).map_err(|error| self.fault(&error))
    }

    /// Script runs, routing decisions and analytics events, the latest first.
    pub fn events(&self, filter: &Filter) -> Result<Vec<Event>, JournalError> {
        self.collect(&filter.events(), rows::event)
    }

    /// How the invocations of each skill went, in the order of the skills' names.
    pub fn stats(&self, filter: &Filter) -> Result<Vec<SkillStats>, JournalError> {
        let mut skills: BTreeMap<String, (SkillStats, Vec<u32>)> = BTreeMap::new();
        let query = filter.invocations(
            "SELECT i.skill_name, i.status, r.failure_code, r.duration_ms \
             FROM skill_invocations i LEFT JOIN skill_results r ON r.invocation_id = i.id",
        );
        self.each(&query, |row| {
            let (stats, durations) = skills.entry(row.get(0)?).or_default();
            stats.count(rows::status(row, 1)?, row.get(2)?);
            durations.extend(row.get::<_, Option<u32>>(3)?);
            Ok(())
        })?;
        let skills = skills.into_iter();
        Ok(skills
            .map(|(skill, (stats, durations))| stats.finished(skill, durations))
            .collect())
    }

    /// Calls `line` with a line of JSON, without line end, for each invocation and then for each
    /// other event, the oldest first. `limit` is for each of the two kinds. Ends early, with what
    /// was passed on so far, if `line` returns an error.
    pub fn export<E>(
        &self,
        filter: &Filter,
        mut line: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<Result<(), E>, JournalError> {
        let mut stopped = Ok(());
        self.each_oldest_first(&filter.invocations(rows::RECORD), |row| {
            stopped = line(&json::record(&rows::record(row)?));
            Ok(stopped.is_ok())
        })?;
        if stopped.is_ok() {
            self.each_oldest_first(&filter.events(), |row| {
                stopped = line(&json::event(&rows::event(row)?));
                Ok(stopped.is_ok())
            })?;
        }
        Ok(stopped)
    }

    /// Removes invocations and other events from before a time, of one skill or of all. What a
    /// PostgreSQL server does not have yet stays. Others may write at the same time.
    pub fn prune(&self, before: SystemTime, skill: Option<&str>) -> Result<Pruned, JournalError> {
        let mut connection = connect(&self.real)?;
        let skill = skill.map(stored_name);
        let which = Which::Before(to_microseconds(before));
        let mut pruned = Pruned::default();
        let remove = |error: rusqlite::Error| self.fault(&error);
        loop {
            let skill = skill.as_deref();
            let invocations = remove_invocations(&mut connection, which, skill, PRUNED_AT_ONCE);
            let events = remove_events(&mut connection, which, skill, PRUNED_AT_ONCE);
            let (invocations, events) = (invocations.map_err(remove)?, events.map_err(remove)?);
            pruned.invocations += invocations;
            pruned.events += events;
            if invocations + events == 0 {
                break;
            }
        }
        for table in ["skill_invocations", "events"] {
            let sql = format!(
                "SELECT count(*) FROM {table} WHERE created_at < ?1 AND (?2 IS NULL OR skill_name = ?2)"
            );
            let parameters = rusqlite::params![to_microseconds(before), skill];
            let left = connection.query_row(&sql, parameters, |row| row.get::<_, i64>(0));
            pruned.undelivered += usize::try_from(left.map_err(remove)?).unwrap_or(0);
        }
        Ok(pruned)
    }

    fn collect<T>(
        &self,
        query: &Query,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, JournalError> {
        let mut found = Vec::new();
        self.each(query, |row| {
            found.push(read(row)?);
            Ok(())
        })?;
        Ok(found)
    }

    fn each(
        &self,
        query: &Query,
        mut take: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), JournalError> {
        self.each_row(query, &query.sql(), |row| take(row).map(|()| true))
    }

    /// Calls `take` with each row, until it returns `false`.
    fn each_oldest_first(
        &self,
        query: &Query,
        take: impl FnMut(&Row<'_>) -> rusqlite::Result<bool>,
    ) -> Result<(), JournalError> {
        self.each_row(query, &query.sql_oldest_first(), take)
    }

    fn each_row(
        &self,
        query: &Query,
        sql: &str,
        mut take: impl FnMut(&Row<'_>) -> rusqlite::Result<bool>,
    ) -> Result<(), JournalError> {
        let mut run = || -> rusqlite::Result<()> {
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query(params_from_iter(&query.parameters))?;
            while let Some(row) = rows.next()? {
                if !take(row)? {
                    break;
                }
            }
            Ok(())
        };
        run().map_err(|error| self.fault(&error))
    }

    fn fault(&self, error: &rusqlite::Error) -> JournalError {
        fault(&self.path, error)
    }
}

/// A connection that only reads, with the version of the schema.
fn open_connection(real: &Path, path: &Path) -> Result<(Connection, i64), JournalError> {
    let open = |name: &Path, flags| -> Result<_, JournalError> {
        let connection = connection(name, flags).map_err(|error| fault(path, &error))?;
        let version = schema::check(&connection, path).map_err(|error| error.into_error(path))?;
        Ok((connection, version))
    };
    let read_only = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let opened = open(real, read_only);
    match opened {
        // In a directory that cannot be written, SQLite cannot make its lock file. If nobody is
        // writing the journal, it can be read without one.
        Err(JournalError::Storage { .. }) if !has_log(real) => {
            let uri = PathBuf::from(format!("file:{}?immutable=1", escaped(real)));
            open(&uri, read_only | OpenFlags::SQLITE_OPEN_URI).or(opened)
        }
        opened => opened,
    }
}

/// Whether there is a write-ahead log with something in it.
fn has_log(path: &Path) -> bool {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    std::fs::metadata(name).is_ok_and(|it| it.len() > 0)
}

/// The path in a URI: whatever could mean something is escaped.
fn escaped(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes().iter();
    let escaped = bytes.map(|byte| {
        if byte.is_ascii_alphanumeric() || b"/-_.".contains(byte) {
            char::from(*byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    });
    escaped.collect()
}

impl SkillStats {
    fn count(&mut self, status: InvocationStatus, failure: Option<String>) {
        self.invocations += 1;
        let counter = match status {
            InvocationStatus::Completed => &mut self.completed,
            InvocationStatus::Failed => &mut self.failed,
            InvocationStatus::Timeout => &mut self.timed_out,
            InvocationStatus::Pending | InvocationStatus::Running => &mut self.unfinished,
        };
        *counter += 1;
        if let Some(code) = failure {
            *self.failures.entry(code).or_default() += 1;
        }
    }

    fn finished(mut self, skill: String, mut durations: Vec<u32>) -> Self {
        durations.sort_unstable();
        self.skill = skill;
        self.p50_ms = percentile(&durations, 50);
        self.p95_ms = percentile(&durations, 95);
        self.max_ms = durations.last().copied();
        self
    }
}

/// The smallest of the sorted values that `percent` of them do not exceed (*nearest rank*).
fn percentile(sorted: &[u32], percent: usize) -> Option<u32> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}

/// A query that is put together from a filter.
struct Query {
    select: String,
    conditions: Vec<&'static str>,
    parameters: Vec<Value>,
    /// The columns of time and of the order of recording.
    order: (&'static str, &'static str),
    limit: Option<usize>,
}

impl Filter {
    fn invocations(&self, select: &str) -> Query {
        let mut query = self.common(select, ("i.created_at", "i.seq"));
        query.equals("i.skill_name = ?", self.skill.as_deref().map(stored_name));
        query.equals(
            "i.invoking_agent = ?",
            self.agent.as_deref().map(stored_name),
        );
        query.equals("i.status = ?", self.status.map(|it| it.to_string()));
        query.equals("i.correlation_id = ?", self.correlation());
        query.equals("i.created_at >= ?", self.since.map(to_microseconds));
        query.equals("i.created_at < ?", self.until.map(to_microseconds));
        query
    }

    fn events(&self) -> Query {
        let mut query = self.common(rows::EVENT, ("created_at", "seq"));
        query.equals("skill_name = ?", self.skill.clone());
        query.equals("correlation_id = ?", self.correlation());
        query.equals("created_at >= ?", self.since.map(to_microseconds));
        query.equals("created_at < ?", self.until.map(to_microseconds));
        if self.agent.is_some() || self.status.is_some() {
            query.conditions.push("FALSE");
        }
        query
    }

    fn common(&self, select: &str, order: (&'static str, &'static str)) -> Query {
        Query {
            select: select.to_owned(),
            conditions: Vec::new(),
            parameters: Vec::new(),
            order,
            limit: self.limit,
        }
    }

    fn correlation(&self) -> Option<String> {
        self.correlation_id.map(|it| it.to_string())
    }
}

impl Query {
    fn equals(&mut self, condition: &'static str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.conditions.push(condition);
            self.parameters.push(value.into());
        }
    }

    /// The latest first.
    fn sql(&self) -> String {
        self.filtered(&self.select, "DESC")
    }

    /// The oldest first. A limit still means the latest.
    fn sql_oldest_first(&self) -> String {
        if self.limit.is_none() {
            return self.filtered(&self.select, "ASC");
        }
        let (time, seq) = self.order;
        let (_, tables) = self
            .select
            .split_once(" FROM ")
            .expect("it selects from a table");
        let latest = self.filtered(&format!("SELECT {seq} FROM {tables}"), "DESC");
        let select = &self.select;
        format!("{select} WHERE {seq} IN ({latest}) ORDER BY {time}, {seq}")
    }

    fn filtered(&self, select: &str, direction: &str) -> String {
        let (time, seq) = self.order;
        let conditions = match self.conditions.as_slice() {
            [] => String::new(),
            conditions => format!(" WHERE {}", conditions.join(" AND ")),
        };
        let limit = self.limit.map(|it| format!(" LIMIT {it}"));
        let limit = limit.unwrap_or_default();
        format!("{select}{conditions} ORDER BY {time} {direction}, {seq} {direction}{limit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let hundred: Vec<u32> = (1..=100).collect();
        for (sorted, p50, p95) in [
            (&[][..], None, None),
            (&[7], Some(7), Some(7)),
            (&[1, 9], Some(1), Some(9)),
            (&[1, 2, 3], Some(2), Some(3)),
            (&hundred, Some(50), Some(95)),
        ] {
            let found = (percentile(sorted, 50), percentile(sorted, 95));
            assert_eq!(found, (p50, p95), "{sorted:?}");
        }
    }
}
