//! How often something was recorded, counted by SQLite from an index alone, and the bodies of some
//! events, passed on one by one: neither takes memory that grows with the journal.

use std::time::SystemTime;

use rusqlite::{Params, Row};

use super::Reader;
use crate::error::JournalError;
use crate::time::{from_microseconds, to_microseconds};

/// Microseconds of a day (UTC).
const DAY: i64 = 86_400_000_000;

/// How often events of one kind, with one name and of one skill, were recorded on one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventCount<'a> {
    /// `script`, `routing` or `analytics`.
    pub kind: &'a str,
    /// The script, the outcome of a routing decision, or the name of an analytics event.
    pub name: &'a str,
    /// The skill that they are about, if they are about one.
    pub skill: Option<&'a str>,
    /// Whether they belong to an invocation: they have a correlation id.
    pub is_correlated: bool,
    /// Midnight, UTC.
    pub day: SystemTime,
    /// How many.
    pub count: u64,
    /// When the last of them happened.
    pub last: SystemTime,
}

/// How often one skill was invoked on one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvocationCount<'a> {
    /// The skill, cut after 64 characters.
    pub skill: &'a str,
    /// Midnight, UTC.
    pub day: SystemTime,
    /// How often.
    pub count: u64,
    /// When it was last asked for on that day.
    pub last: SystemTime,
}

/// What an event carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventBody<'a> {
    /// The number of its row, by which [`Reader::body`] finds it again.
    pub row: i64,
    /// When it happened.
    pub at: SystemTime,
    /// JSON: what the event carries, or all fields of a script run or a routing decision.
    pub body: &'a str,
}

impl Reader {
    /// Runs `read` so that everything it reads is of one moment, whatever is written meanwhile.
    pub fn at_one_moment<T>(
        &self,
        read: impl FnOnce(&Self) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        let transaction = self.connection.unchecked_transaction();
        let transaction = transaction.map_err(|error| self.fault(&error))?;
        let read = read(self);
        // It has read only: ending it can change nothing.
        drop(transaction);
        read
    }

    /// Calls `take` with how often events were recorded since a time, by kind, name, skill and day.
    pub fn count_events(
        &self,
        since: Option<SystemTime>,
        mut take: impl FnMut(EventCount<'_>),
    ) -> Result<(), JournalError> {
        // The columns are those of `idx_events_counts`, so that they come in groups.
        let sql = format!(
            "SELECT kind, name, skill_name, correlation_id IS NULL, created_at / {DAY}, \
             count(*), max(created_at) FROM events WHERE created_at >= ?1 \
             GROUP BY kind, name, skill_name, correlation_id IS NULL, created_at / {DAY}"
        );
        self.each_of(&sql, [earliest(since)], |row| {
            take(EventCount {
                kind: row.get_ref(0)?.as_str()?,
                name: row.get_ref(1)?.as_str()?,
                skill: row.get_ref(2)?.as_str_or_null()?,
                is_correlated: !row.get::<_, bool>(3)?,
                day: from_microseconds(row.get::<_, i64>(4)? * DAY),
                count: count(row, 5)?,
                last: from_microseconds(row.get(6)?),
            });
            Ok(())
        })
    }

    /// Calls `take` with how often skills were invoked since a time, by skill and day.
    pub fn count_invocations(
        &self,
        since: Option<SystemTime>,
        mut take: impl FnMut(InvocationCount<'_>),
    ) -> Result<(), JournalError> {
        let sql = format!(
            "SELECT skill_name, created_at / {DAY}, count(*), max(created_at) \
             FROM skill_invocations WHERE created_at >= ?1 GROUP BY skill_name, created_at / {DAY}"
        );
        self.each_of(&sql, [earliest(since)], |row| {
            take(InvocationCount {
                skill: row.get_ref(0)?.as_str()?,
                day: from_microseconds(row.get::<_, i64>(1)? * DAY),
                count: count(row, 2)?,
                last: from_microseconds(row.get(3)?),
            });
            Ok(())
        })
    }

    /// Calls `take` with the body of each event of this kind and name since a time, in no order.
    pub fn each_body(
        &self,
        kind: &str,
        name: &str,
        since: Option<SystemTime>,
        take: impl FnMut(EventBody<'_>),
    ) -> Result<(), JournalError> {
        let sql = "SELECT seq, created_at, body FROM events \
                   WHERE kind = ?1 AND name = ?2 AND created_at >= ?3";
        self.bodies(sql, (kind, name, earliest(since)), take)
    }

    /// Calls `take` with the body of the event in this row, if it is still there.
    pub fn body(&self, row: i64, take: impl FnMut(EventBody<'_>)) -> Result<(), JournalError> {
        let sql = "SELECT seq, created_at, body FROM events WHERE seq = ?1";
        self.bodies(sql, [row], take)
    }

    fn bodies(
        &self,
        sql: &str,
        parameters: impl Params,
        mut take: impl FnMut(EventBody<'_>),
    ) -> Result<(), JournalError> {
        self.each_of(sql, parameters, |row| {
            take(EventBody {
                row: row.get(0)?,
                at: from_microseconds(row.get(1)?),
                body: row.get_ref(2)?.as_str()?,
            });
            Ok(())
        })
    }

    fn each_of(
        &self,
        sql: &str,
        parameters: impl Params,
        mut take: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), JournalError> {
        let run = || -> rusqlite::Result<()> {
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query(parameters)?;
            while let Some(row) = rows.next()? {
                take(row)?;
            }
            Ok(())
        };
        run().map_err(|error| self.fault(&error))
    }
}

fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    // `count(*)` is never negative.
    Ok(row.get::<_, i64>(column)?.unsigned_abs())
}

/// What no time is less than, unless one is given.
fn earliest(since: Option<SystemTime>) -> i64 {
    since.map_or(i64::MIN, to_microseconds)
}
