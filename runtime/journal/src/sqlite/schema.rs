//! The tables of an SQLite journal, and how an older file gets them.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::error::JournalError;
use crate::sqlite::fault;

/// Marks a file as a journal, in the header of SQLite's file format: "skbj".
const APPLICATION_ID: i64 = 0x736b_626a;

/// The schema that this program writes and reads.
pub(crate) const VERSION: u32 = 2;

/// What leads from each version of the schema to the next. Never changed, only added to: the number
/// of a row is the version that it starts from.
const MIGRATIONS: [&str; VERSION as usize] = [
    // Spec 5's tables. `seq` is the order of recording. Times are microseconds since 1970, UTC. In
    // PostgreSQL a result has an id of its own; here it is a number.
    "
    CREATE TABLE skill_invocations (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        skill_name TEXT NOT NULL CHECK (length(skill_name) <= 64),
        invoking_agent TEXT NOT NULL CHECK (length(invoking_agent) <= 64),
        correlation_id TEXT NOT NULL,
        input_payload TEXT NOT NULL,
        input_digest BLOB NOT NULL CHECK (length(input_digest) = 32),
        status TEXT NOT NULL DEFAULT 'pending'
            CHECK (status IN ('pending', 'running', 'completed', 'failed', 'timeout')),
        created_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX idx_skill_invocations_skill_name ON skill_invocations (skill_name);
    CREATE INDEX idx_skill_invocations_correlation_id ON skill_invocations (correlation_id);
    CREATE INDEX idx_skill_invocations_created_at ON skill_invocations (created_at);

    CREATE TABLE skill_results (
        id INTEGER PRIMARY KEY,
        invocation_id TEXT NOT NULL REFERENCES skill_invocations (id),
        success INTEGER NOT NULL CHECK (success IN (0, 1)),
        output_payload TEXT,
        failure_code TEXT CHECK (length(failure_code) <= 50),
        failure_message TEXT,
        failure_details TEXT,
        internal_detail TEXT,
        duration_ms INTEGER NOT NULL CHECK (duration_ms >= 0),
        created_at INTEGER NOT NULL,
        CONSTRAINT unique_invocation_result UNIQUE (invocation_id),
        CONSTRAINT success_has_output CHECK (
            NOT success OR (output_payload IS NOT NULL AND failure_code IS NULL)),
        CONSTRAINT failure_has_code_and_message CHECK (
            success OR (failure_code IS NOT NULL AND failure_message IS NOT NULL))
    ) STRICT;
    CREATE INDEX idx_skill_results_success ON skill_results (success);
    CREATE INDEX idx_skill_results_failure_code ON skill_results (failure_code);

    CREATE TABLE events (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL CHECK (kind IN ('script', 'routing', 'analytics')),
        name TEXT NOT NULL,
        skill_name TEXT,
        correlation_id TEXT,
        body TEXT NOT NULL,
        created_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX idx_events_skill_name ON events (skill_name);
    CREATE INDEX idx_events_correlation_id ON events (correlation_id);
    CREATE INDEX idx_events_created_at ON events (created_at);

    -- What a PostgreSQL server does not have yet, in the order in which it gets it. AUTOINCREMENT
    -- never uses a number twice.
    CREATE TABLE outbox (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        change TEXT NOT NULL CHECK (change IN ('created', 'running', 'ended', 'event')),
        id TEXT NOT NULL,
        refused TEXT
    ) STRICT;
    CREATE INDEX idx_outbox_id ON outbox (id);
    ",
    // Counts of each name, skill and day are read from an index alone, without the bodies: it has the
    // columns as well as what is computed of them. A day has 86,400,000,000 microseconds.
    "
    CREATE INDEX idx_events_counts ON events
        (kind, name, skill_name, correlation_id IS NULL, created_at / 86400000000, created_at,
         correlation_id);
    DROP INDEX idx_skill_invocations_skill_name;
    CREATE INDEX idx_skill_invocations_skill_name ON skill_invocations
        (skill_name, created_at / 86400000000, created_at);
    ",
];

/// Why a file cannot be used.
pub(crate) enum SchemaError {
    /// SQLite failed.
    Sqlite(rusqlite::Error),
    /// The file is not one of ours, or of a later version.
    Unusable(JournalError),
}

impl From<rusqlite::Error> for SchemaError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl SchemaError {
    /// In our words.
    pub(crate) fn into_error(self, path: &Path) -> JournalError {
        match self {
            Self::Sqlite(error) => fault(path, &error),
            Self::Unusable(error) => error,
        }
    }
}

/// Brings the file to the current schema. Several processes may do so at once.
pub(crate) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), SchemaError> {
    // Looked at without a lock first: most files are current.
    if check(connection, path)? == i64::from(VERSION) {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = check(&transaction, path)?;
    let missing = usize::try_from(found).unwrap_or(0);
    for migration in &MIGRATIONS[missing..] {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    Ok(transaction.commit()?)
}

/// One statement, so that all of it is of one moment: between two of them another process could make
/// the file ours, which would then look like another program's.
const STATE: &str = "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema)
    FROM pragma_user_version, pragma_application_id";

/// The version of the file's schema, 0 if it is empty.
///
/// # Errors
///
/// It is newer than this program, or the file is another program's.
pub(crate) fn check(connection: &Connection, path: &Path) -> Result<i64, SchemaError> {
    let (found, id, tables) = connection.query_row(STATE, [], |row| {
        Ok((
            row.get::<_, i64>(0)?,
            row.get::<_, i64>(1)?,
            row.get::<_, i64>(2)?,
        ))
    })?;
    if id != APPLICATION_ID && !(id == 0 && found == 0 && tables == 0) {
        return Err(SchemaError::Unusable(JournalError::Foreign {
            path: path.to_owned(),
            found: "a database of another program".to_owned(),
        }));
    }
    if found > VERSION.into() {
        return Err(SchemaError::Unusable(JournalError::NewerSchema {
            path: path.to_owned(),
            found,
            known: VERSION.into(),
        }));
    }
    Ok(found)
}
