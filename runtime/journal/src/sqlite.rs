//! The journal as an SQLite file: opens it safely, writes a batch in one transaction, and notices
//! when the file under its path is another one.

pub(crate) mod private_file;
pub(crate) mod retention;
pub(crate) mod rows;
pub(crate) mod schema;

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::error::JournalError;
use crate::files;
use crate::options::Retention;
use crate::queue::{Change, Outcome};
use crate::writer::Sink;
use schema::SchemaError;

/// How long a transaction waits for one of another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Statements that a connection keeps prepared: all of them.
const STATEMENTS: usize = 32;

/// Writes to an SQLite file. Opened at the first event, and again after each fault.
pub(crate) struct SqliteSink {
    path: PathBuf,
    retention: Retention,
    is_spool: bool,
    open: Option<Opened>,
}

/// An open file.
pub(crate) struct Opened {
    pub(crate) connection: Connection,
    /// The file with its real directory.
    path: PathBuf,
    stamp: Stamp,
}

/// What changes if somebody else changes the file.
#[derive(PartialEq, Eq, Clone, Copy)]
struct Stamp {
    identity: (u64, u64),
    len: u64,
    modified: Option<SystemTime>,
}

impl SqliteSink {
    pub(crate) fn new(path: PathBuf, retention: Retention, is_spool: bool) -> Self {
        Self {
            path,
            retention,
            is_spool,
            open: None,
        }
    }

    /// The connection, after a look at whether the path still names what it has open.
    fn connection(&mut self) -> Result<&mut Connection, JournalError> {
        if let Some(opened) = &mut self.open
            && !opened.is_current()?
        {
            self.open = None;
        }
        if self.open.is_none() {
            self.open = Some(Opened::open(&self.path)?);
        }
        let opened = self.open.as_mut().expect("it was opened above");
        Ok(&mut opened.connection)
    }

    fn write_all(&mut self, changes: &[Change]) -> Result<Vec<Outcome>, JournalError> {
        let (path, is_spool) = (self.path.clone(), self.is_spool);
        let connection = self.connection()?;
        let write = |connection: &mut Connection| -> rusqlite::Result<Vec<Outcome>> {
            // Takes the lock at once: a transaction that reads first can fail when it writes.
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut outcomes = Vec::with_capacity(changes.len());
            for change in changes {
                match rows::write(&transaction, change, is_spool) {
                    Ok(outcome) => outcomes.push(outcome),
                    // Only the statement is undone: the others' events are fine.
                    Err(error) if is_constraint(&error) => {
                        outcomes.push(Outcome::Lost(JournalError::Refused(error.to_string())));
                    }
                    Err(error) => return Err(error),
                }
            }
            transaction.commit()?;
            Ok(outcomes)
        };
        let outcomes = write(connection).map_err(|error| fault(&path, &error))?;
        // Once more: what went into a file that has just been removed can be read by nobody.
        if self.open.as_ref().is_some_and(|it| !it.is_same_file()) {
            let problem = "the file was replaced while it was written";
            return Err(JournalError::storage(&path, problem));
        }
        Ok(outcomes)
    }
}

impl Sink for SqliteSink {
    fn write(&mut self, changes: Vec<Change>) -> Result<Vec<Outcome>, JournalError> {
        let written = self.write_all(&changes);
        if written.is_err() {
            // A file that another process has locked is still the same.
            self.open = None;
        }
        written
    }

    fn tidy(&mut self) -> Option<Duration> {
        let opened = self.open.as_mut();
        // A file that could not be opened may be there next time.
        let next = opened.map_or(retention::INTERVAL, |opened| {
            retention::step(&mut opened.connection, self.retention)
        });
        Some(next)
    }
}

impl Opened {
    pub(crate) fn open(path: &Path) -> Result<Self, JournalError> {
        let path = files::prepare_directory(path)?;
        private_file::prepare(&path)?;
        private_file::check_companions(&path)?;
        let connection = connect(&path)?;
        // Now the companions exist, and nobody can put a link in their place any more.
        private_file::check_companions(&path)?;
        let stamp = Stamp::of(&path)?;
        Ok(Self {
            connection,
            path,
            stamp,
        })
    }

    /// Whether the path still names the file that is open.
    fn is_same_file(&self) -> bool {
        Stamp::of(&self.path).is_ok_and(|now| now.identity == self.stamp.identity)
    }

    /// Whether the path still names the file that is open, and it is still a database. A transaction
    /// in a file that was deleted succeeds, and nobody could read it.
    pub(crate) fn is_current(&mut self) -> Result<bool, JournalError> {
        let Ok(now) = Stamp::of(&self.path) else {
            return Ok(false);
        };
        if now.identity != self.stamp.identity {
            return Ok(false);
        }
        if now != self.stamp {
            // Checkpoints change the file, too, and are rare. Only a new connection reads it: the
            // open one has its pages in memory.
            let probe = connection(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY);
            let checked = probe.map_err(SchemaError::from);
            match checked.and_then(|probe| schema::check(&probe, &self.path)) {
                Ok(_) => self.stamp = now,
                // Another process may be busy with it. Opening it anew waits for that.
                Err(SchemaError::Sqlite(_)) => return Ok(false),
                Err(SchemaError::Unusable(error)) => return Err(error),
            }
        }
        Ok(true)
    }
}

impl Stamp {
    fn of(path: &Path) -> Result<Self, JournalError> {
        let metadata: Metadata =
            fs::symlink_metadata(path).map_err(|error| JournalError::storage(path, &error))?;
        Ok(Self {
            identity: files::identity(&metadata),
            len: metadata.len(),
            modified: metadata.modified().ok(),
        })
    }
}

/// A connection that may write, to a file with the current schema.
pub(crate) fn connect(path: &Path) -> Result<Connection, JournalError> {
    let started = Instant::now();
    loop {
        match try_connect(path) {
            // Two processes that make the same file: SQLite does not wait where that could be a
            // deadlock.
            Err(Attempt::Busy(_)) if started.elapsed() < BUSY_TIMEOUT => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(Attempt::Busy(error) | Attempt::Failed(error)) => return Err(error),
            Ok(connection) => return Ok(connection),
        }
    }
}

enum Attempt {
    Busy(JournalError),
    Failed(JournalError),
}

fn try_connect(path: &Path) -> Result<Connection, Attempt> {
    let attempt = |error: SchemaError| {
        let SchemaError::Sqlite(error) = error else {
            return Attempt::Failed(error.into_error(path));
        };
        let is_busy = matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
        );
        let error = fault(path, &error);
        if is_busy {
            Attempt::Busy(error)
        } else {
            Attempt::Failed(error)
        }
    };
    let open = || -> Result<Connection, SchemaError> {
        let mut connection = connection(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        schema::check(&connection, path)?;
        let settings =
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;";
        connection.execute_batch(settings)?;
        schema::migrate(&mut connection, path)?;
        Ok(connection)
    };
    open().map_err(attempt)
}

/// A connection to an existing file.
pub(crate) fn connection(path: &Path, mode: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = mode | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// The fault of a database in our words.
pub(crate) fn fault(path: &Path, error: &rusqlite::Error) -> JournalError {
    let message = match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            return JournalError::Foreign {
                path: path.to_owned(),
                found: format!("a damaged or other file ({error})"),
            };
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            let seconds = BUSY_TIMEOUT.as_secs();
            format!("another process has had the file locked for {seconds} s ({error})")
        }
        Some(ErrorCode::DiskFull) => format!("the disk is full ({error})"),
        Some(ErrorCode::CannotOpen) => {
            format!("the file cannot be opened, or its directory not be written ({error})")
        }
        Some(ErrorCode::ReadOnly) => format!("the file cannot be written ({error})"),
        _ => error.to_string(),
    };
    JournalError::storage(path, &message)
}

fn is_constraint(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation)
}
