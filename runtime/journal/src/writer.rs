//! The writer's thread: takes what waits, has a sink write it at once, and tells the callers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::JournalError;
#[cfg(feature = "http")]
use crate::http::{BufferSink, Publisher};
use crate::journal::{Shared, Work};
use crate::jsonl::JsonlSink;
use crate::options::Destination;
#[cfg(feature = "postgres")]
use crate::postgres::Delivery;
use crate::queue::{Change, Item, Outcome};
#[cfg(feature = "sqlite")]
use crate::sqlite::SqliteSink;

/// After a fault of the disk the writer rests so long before it tries again, so that a broken disk
/// does not cost a core. Doubled with each fault, up to the second, which callers hardly notice.
const FIRST_REST: Duration = Duration::from_millis(10);
const LONGEST_REST: Duration = Duration::from_millis(250);

/// Where changes are written.
pub(crate) trait Sink {
    /// Writes all changes, and returns when they are safe. One outcome for each; the error is that
    /// of all of them.
    fn write(&mut self, changes: Vec<Change>) -> Result<Vec<Outcome>, JournalError>;

    /// Does a little work that nobody waits for, if some is due. Returns when to call it again.
    fn tidy(&mut self) -> Option<Duration>;
}

/// Writes until the journal ends.
pub(crate) fn run(shared: &Arc<Shared>) {
    // Also after a panic: then nobody waits for an answer that will not come.
    struct End<'a>(&'a Shared);
    impl Drop for End<'_> {
        fn drop(&mut self) {
            self.0.end();
        }
    }
    let _end = End(shared);
    match &shared.options.destination {
        Destination::Off => {}
        Destination::Jsonl(path) => write(shared, &mut JsonlSink::new(path.clone()), &|_| {}),
        #[cfg(feature = "sqlite")]
        Destination::Sqlite(path) => {
            let mut sink = SqliteSink::new(path.clone(), shared.options.retention, false);
            write(shared, &mut sink, &|_| {});
        }
        #[cfg(feature = "postgres")]
        Destination::Postgres { url, spool } => {
            let mut sink = SqliteSink::new(spool.clone(), shared.options.retention, true);
            let delivery = Delivery::start(shared, url, spool);
            write(shared, &mut sink, &|outcomes| {
                delivery.announce(outcomes.iter().filter(|it| it.is_written()).count());
            });
            delivery.finish();
        }
        #[cfg(feature = "http")]
        Destination::Http(options) => {
            let publisher = Publisher::start(shared, options);
            let mut sink = BufferSink::new(shared, options, publisher.signals());
            write(shared, &mut sink, &|_| {});
            publisher.finish();
        }
    }
}

/// Writes until nothing will come any more. Calls `committed` after each transaction, before callers
/// are told.
fn write(shared: &Shared, sink: &mut dyn Sink, committed: &dyn Fn(&[Outcome])) {
    let mut rest = FIRST_REST;
    let mut tidy_at: Option<Instant> = Some(Instant::now());
    loop {
        let patience = tidy_at.map(|it| it.saturating_duration_since(Instant::now()));
        match shared.next(patience) {
            Work::End => return,
            Work::Nothing => {}
            Work::Batch(batch) => {
                if write_batch(shared, sink, batch, committed) {
                    rest = FIRST_REST;
                } else {
                    shared.pause(rest);
                    rest = (rest * 2).min(LONGEST_REST);
                }
            }
        }
        if tidy_at.is_some_and(|it| it <= Instant::now()) {
            tidy_at = sink.tidy().map(|after| Instant::now() + after);
        }
    }
}

/// Whether the sink works.
fn write_batch(
    shared: &Shared,
    sink: &mut dyn Sink,
    batch: Vec<Item>,
    committed: &dyn Fn(&[Outcome]),
) -> bool {
    let (changes, replies): (Vec<Change>, Vec<_>) = batch
        .into_iter()
        .map(|item| (item.change.normalized(), item.reply))
        .unzip();
    let count = changes.len();
    let written = sink.write(changes);
    let outcomes = written.unwrap_or_else(|error| {
        let lost = || Outcome::Lost(error.clone());
        std::iter::repeat_with(lost).take(count).collect()
    });
    let works = !outcomes.iter().any(Outcome::is_fault);
    if works {
        committed(&outcomes);
    }
    // Counted before anybody is told, so that a caller who is told can see it.
    for outcome in &outcomes {
        if let Outcome::Lost(error) = outcome {
            shared.count_lost(error);
        }
    }
    for (reply, outcome) in replies.into_iter().zip(outcomes) {
        reply.send(outcome);
    }
    works
}
