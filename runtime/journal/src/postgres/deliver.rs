//! The loop of the delivery thread: takes the lock of the spool, connects, sends, marks as
//! delivered; waits for more, or after a fault longer and longer.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::time::{sleep, timeout};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::error::JournalError;
use crate::files;
use crate::journal::Shared;
use crate::postgres::address::Address;
use crate::postgres::batch::{Batch, Entry, Statements, entries};
use crate::postgres::{Signals, schema, tls};
use crate::sqlite::{Opened, fault, private_file};

/// Entries of one transaction: enough that round trips do not count, few enough that a fault repeats
/// little.
const BATCH: usize = 1000;

/// About the most bytes of one transaction.
const BATCH_BYTES: usize = 8 << 20;

/// A server that takes longer for a transaction, or to accept a connection, is taken for dead.
const SERVER_PATIENCE: Duration = Duration::from_secs(30);
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

/// The pause after the first fault. It doubles with each fault in a row, up to the longest, and a
/// random half of it is left out, so that many processes do not come back at once.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How often is looked whether another process still delivers from the same spool.
const LOOK_AT_LOCK: Duration = Duration::from_millis(200);

/// Delivers from one spool to one server.
pub(super) struct Deliverer {
    shared: Arc<Shared>,
    address: Address,
    path: PathBuf,
    spool: Option<Opened>,
    session: Option<Session>,
    /// Whether the entries that the server refused have been tried again in this process.
    retried_refused: bool,
}

/// A connection to the server.
struct Session {
    client: Client,
    statements: Statements,
}

/// How far a round of delivery got.
enum Round {
    /// The outbox is empty.
    Empty,
    /// Another process delivers from this spool.
    Elsewhere,
}

impl Deliverer {
    pub(super) fn new(shared: Arc<Shared>, mut address: Address, path: PathBuf) -> Self {
        address.config.connect_timeout(CONNECT_PATIENCE);
        Self {
            shared,
            address,
            path,
            spool: None,
            session: None,
            retried_refused: false,
        }
    }

    /// Delivers until the journal ends.
    pub(super) async fn run(&mut self, signals: &Signals) {
        let mut pause = FIRST_PAUSE;
        // The writer creates the spool, and says so.
        signals.notify.notified().await;
        loop {
            let round = match left(signals) {
                None => self.round().await,
                Some(Duration::ZERO) => return,
                Some(left) => match timeout(left, self.round()).await {
                    Ok(round) => round,
                    Err(_) => return,
                },
            };
            let wait = match round {
                Ok(Round::Empty) if signals.is_ending() => return,
                Ok(Round::Empty) => {
                    pause = FIRST_PAUSE;
                    signals.notify.notified().await;
                    continue;
                }
                Ok(Round::Elsewhere) => LOOK_AT_LOCK,
                Err(error) => {
                    self.shared.report(&error);
                    self.spool = None;
                    self.session = None;
                    if signals.is_ending() {
                        return;
                    }
                    let wait = pause.mul_f64(0.5 + fastrand::f64() / 2.0);
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    wait
                }
            };
            self.wait(signals, wait).await;
        }
    }

    /// Waits, for nothing but the end of the journal.
    async fn wait(&self, signals: &Signals, wait: Duration) {
        let until = Instant::now() + wait;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || timeout(left, signals.notify.notified()).await.is_err() {
                return;
            }
            if signals.is_ending() {
                // A short rest still, since nothing else slows down a wait for another process.
                sleep(left.min(Duration::from_millis(20))).await;
                return;
            }
        }
    }

    /// Delivers everything there is.
    async fn round(&mut self) -> Result<Round, JournalError> {
        if self.pending()?.is_empty() {
            self.count()?;
            return Ok(Round::Empty);
        }
        // Held until everything is delivered: with two who send, an invocation could end on the
        // server before it began.
        let Some(_lock) = lock(&self.path)? else {
            return Ok(Round::Elsewhere);
        };
        self.retry_refused()?;
        loop {
            self.count()?;
            let pending = self.pending()?;
            if pending.is_empty() {
                return Ok(Round::Empty);
            }
            self.deliver(pending).await?;
        }
    }

    /// Sends entries in their order. Those that the server refuses for what is in them are found by
    /// halving, and set aside.
    async fn deliver(&mut self, pending: Vec<Entry>) -> Result<(), JournalError> {
        let mut parts = vec![pending];
        while let Some(mut part) = parts.pop() {
            let (batch, taken) = self.load(&part)?;
            let rest = part.split_off(taken);
            if !rest.is_empty() {
                parts.push(rest);
            }
            match self.send(&batch).await {
                Ok(()) => self.mark_delivered(&part)?,
                Err(Failure::Content(_)) if part.len() > 1 => {
                    let second = part.split_off(part.len() / 2);
                    parts.extend([second, part]);
                }
                Err(Failure::Content(_)) => {
                    let mut batch = batch;
                    batch.payloads_as_text();
                    match self.send(&batch).await {
                        Ok(()) => self.mark_delivered(&part)?,
                        Err(Failure::Content(error)) => self.mark_refused(&part, &error)?,
                        Err(Failure::Server(error)) => return Err(error),
                    }
                }
                Err(Failure::Server(error)) => return Err(error),
            }
        }
        Ok(())
    }

    async fn send(&mut self, batch: &Batch) -> Result<(), Failure> {
        if self.session.as_ref().is_none_or(|it| it.client.is_closed()) {
            let session = Session::open(&self.address).await;
            self.session = Some(session.map_err(Failure::Server)?);
        }
        let session = self.session.as_mut().expect("it was opened above");
        let sending = batch.send(&mut session.client, &session.statements);
        match timeout(SERVER_PATIENCE, sending).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) if is_about_content(&error) => {
                Err(Failure::Content(self.address.fault(&error)))
            }
            Ok(Err(error)) => Err(Failure::Server(self.address.fault(&error))),
            Err(_) => {
                let seconds = SERVER_PATIENCE.as_secs();
                let problem = format!("no answer for {seconds} s");
                Err(Failure::Server(JournalError::storage(
                    Path::new(&self.address.label),
                    &problem,
                )))
            }
        }
    }

    fn load(&mut self, part: &[Entry]) -> Result<(Batch, usize), JournalError> {
        self.spool(|spool| Batch::load(spool, part, BATCH_BYTES))
    }

    fn pending(&mut self) -> Result<Vec<Entry>, JournalError> {
        self.spool(|spool| entries(spool, BATCH))
    }

    fn mark_delivered(&mut self, part: &[Entry]) -> Result<(), JournalError> {
        let (Some(first), Some(last)) = (part.first(), part.last()) else {
            return Ok(());
        };
        let range = [first.seq, last.seq];
        self.spool(|spool| {
            let sql = "DELETE FROM outbox WHERE seq BETWEEN ?1 AND ?2 AND refused IS NULL";
            spool.prepare_cached(sql)?.execute(range).map(drop)
        })
    }

    fn mark_refused(&mut self, part: &[Entry], error: &JournalError) -> Result<(), JournalError> {
        self.shared.report(error);
        let error = error.to_string();
        self.spool(|spool| {
            let sql = "UPDATE outbox SET refused = ?2 WHERE seq = ?1";
            let mut update = spool.prepare_cached(sql)?;
            let mut entries = part.iter();
            entries.try_for_each(|it| update.execute((it.seq, &error)).map(drop))
        })
    }

    /// Once in a process, what the server has refused is tried again: its tables or this program
    /// may have changed.
    fn retry_refused(&mut self) -> Result<(), JournalError> {
        if !self.retried_refused {
            let sql = "UPDATE outbox SET refused = NULL WHERE refused IS NOT NULL";
            self.spool(|spool| spool.execute(sql, []).map(drop))?;
            self.retried_refused = true;
        }
        Ok(())
    }

    fn count(&mut self) -> Result<(), JournalError> {
        let count: i64 = self.spool(|spool| {
            let sql = "SELECT count(*) FROM outbox";
            spool.prepare_cached(sql)?.query_row([], |row| row.get(0))
        })?;
        let count = u64::try_from(count).unwrap_or(0);
        self.shared.undelivered.store(count, Ordering::Relaxed);
        Ok(())
    }

    /// Does something with the spool, which is opened again if another file is in its place.
    fn spool<T>(
        &mut self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, JournalError> {
        if let Some(spool) = &mut self.spool
            && !spool.is_current()?
        {
            self.spool = None;
        }
        if self.spool.is_none() {
            self.spool = Some(Opened::open(&self.path)?);
        }
        let spool = self.spool.as_ref().expect("it was opened above");
        work(&spool.connection).map_err(|error| fault(&self.path, &error))
    }
}

/// Whose fault it is that something was not sent.
enum Failure {
    /// That of what was sent.
    Content(JournalError),
    /// That of the server, or of the way to it.
    Server(JournalError),
}

impl Session {
    async fn open(address: &Address) -> Result<Self, JournalError> {
        let fault = |error: tokio_postgres::Error| address.fault(&error);
        let tls = tls::connector(&address.verification)
            .map_err(|problem| JournalError::storage(Path::new(&address.label), &problem))?;
        let opening = async {
            let (mut client, connection) = address.config.connect(tls).await.map_err(fault)?;
            // Ends with the client. What goes wrong shows in the client's answers.
            tokio::spawn(async move { drop(connection.await) });
            schema::migrate(&mut client, address).await?;
            let statements = Statements::prepare(&client).await.map_err(fault)?;
            Ok(Self { client, statements })
        };
        timeout(SERVER_PATIENCE, opening).await.unwrap_or_else(|_| {
            let problem = format!("no connection within {} s", SERVER_PATIENCE.as_secs());
            Err(JournalError::storage(Path::new(&address.label), &problem))
        })
    }
}

/// Until when the journal that ends may deliver; `None` while it does not end.
fn left(signals: &Signals) -> Option<Duration> {
    if !signals.is_ending() {
        return None;
    }
    let deadline = signals.deadline().unwrap_or_else(Instant::now);
    Some(deadline.saturating_duration_since(Instant::now()))
}

/// Takes the lock of those who deliver from a spool; `None` if another process has it. The system
/// releases it when the process ends, however it ends.
fn lock(spool: &Path) -> Result<Option<File>, JournalError> {
    let spool = files::prepare_directory(spool)?;
    let mut name = spool.into_os_string();
    name.push("-delivery");
    let path = PathBuf::from(name);
    private_file::prepare(&path)?;
    let file = OpenOptions::new().write(true).open(&path);
    let file = file.map_err(|error| JournalError::storage(&path, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(JournalError::storage(&path, &error)),
    }
}

/// Whether the server refuses what was sent, and would refuse it again: data exceptions (22), broken
/// constraints (23), limits of the program such as too long rows (54).
fn is_about_content(error: &tokio_postgres::Error) -> bool {
    let code = error.code().map(SqlState::code);
    code.is_some_and(|code| {
        ["22", "23", "54"]
            .iter()
            .any(|class| code.starts_with(class))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two who deliver would send everything twice, and wait for each other on the server.
    #[test]
    fn one_at_a_time_delivers_from_a_spool() {
        let directory = tempfile::tempdir().unwrap();
        let spool = directory.path().join("spool.db");
        let first = lock(&spool).unwrap();
        assert!(first.is_some());
        assert!(lock(&spool).unwrap().is_none());
        drop(first);
        assert!(lock(&spool).unwrap().is_some());
    }
}
