//! Removes what is too old or too much, in small transactions between those of callers, and never
//! what a server does not have yet.

use std::time::{Duration, SystemTime};

use rusqlite::{Connection, TransactionBehavior, params};

use crate::options::Retention;
use crate::time::to_microseconds;

/// Rows of one transaction: about a millisecond that a caller may have to wait.
const BATCH: usize = 200;

/// How often the writer looks for rows to remove.
pub(crate) const INTERVAL: Duration = Duration::from_secs(600);

/// The pause between two transactions that remove rows.
const PAUSE: Duration = Duration::from_millis(20);

/// Removes at most a few rows. Returns when to call it again. What fails here is tried again later:
/// no caller waits for it.
pub(crate) fn step(connection: &mut Connection, retention: Retention) -> Duration {
    match remove_some(connection, retention) {
        Ok(removed) if removed > 0 => PAUSE,
        _ => INTERVAL,
    }
}

/// Number of rows removed.
fn remove_some(connection: &mut Connection, retention: Retention) -> rusqlite::Result<usize> {
    let mut removed = 0;
    if let Some(age) = retention.max_age {
        let before = SystemTime::now().checked_sub(age);
        let before = before.map_or(i64::MIN, to_microseconds);
        removed += remove_invocations(connection, Which::Before(before), None, BATCH)?;
        removed += remove_events(connection, Which::Before(before), None, BATCH)?;
    }
    if let Some(rows) = retention.max_rows {
        let rows = i64::try_from(rows).unwrap_or(i64::MAX);
        for (table, remove) in [
            ("skill_invocations", remove_invocations as Remove),
            ("events", remove_events as Remove),
        ] {
            let sql = format!("SELECT count(*) FROM {table}");
            let count: i64 = connection
                .prepare_cached(&sql)?
                .query_row([], |it| it.get(0))?;
            let surplus = usize::try_from(count.saturating_sub(rows)).unwrap_or(0);
            if surplus > 0 {
                removed += remove(connection, Which::Oldest, None, surplus.min(BATCH))?;
            }
        }
    }
    Ok(removed)
}

type Remove = fn(&mut Connection, Which, Option<&str>, usize) -> rusqlite::Result<usize>;

/// Which rows to remove.
#[derive(Clone, Copy)]
pub(crate) enum Which {
    /// Older than this, in microseconds since 1970.
    Before(i64),
    /// Those that were recorded first.
    Oldest,
}

impl Which {
    const fn before(self) -> i64 {
        match self {
            Self::Before(time) => time,
            Self::Oldest => i64::MAX,
        }
    }
}

/// Removes invocations with their results, of one skill or of all, but none that a server does not
/// have yet.
pub(crate) fn remove_invocations(
    connection: &mut Connection,
    which: Which,
    skill: Option<&str>,
    most: usize,
) -> rusqlite::Result<usize> {
    remove(connection, "skill_invocations", which, skill, most)
}

/// The same for other events.
pub(crate) fn remove_events(
    connection: &mut Connection,
    which: Which,
    skill: Option<&str>,
    most: usize,
) -> rusqlite::Result<usize> {
    remove(connection, "events", which, skill, most)
}

fn remove(
    connection: &mut Connection,
    table: &str,
    which: Which,
    skill: Option<&str>,
    most: usize,
) -> rusqlite::Result<usize> {
    let order = match which {
        Which::Before(_) => "created_at",
        Which::Oldest => "seq",
    };
    let of_skill = if skill.is_some() {
        "AND skill_name = ?3"
    } else {
        "AND ?3 IS NULL"
    };
    let sql = format!(
        "SELECT id FROM {table} WHERE created_at < ?1 {of_skill} \
         AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.id = {table}.id) \
         ORDER BY {order} LIMIT ?2"
    );
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let ids = {
        let mut select = transaction.prepare_cached(&sql)?;
        let ids = select.query_map(params![which.before(), most, skill], |row| row.get(0))?;
        ids.collect::<rusqlite::Result<Vec<String>>>()?
    };
    for id in &ids {
        if table == "skill_invocations" {
            transaction
                .prepare_cached("DELETE FROM skill_results WHERE invocation_id = ?1")?
                .execute([id])?;
        }
        transaction
            .prepare_cached(&format!("DELETE FROM {table} WHERE id = ?1"))?
            .execute([id])?;
    }
    transaction.commit()?;
    Ok(ids.len())
}
