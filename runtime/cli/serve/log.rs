//! The log of `serve` on stderr, which holds back no call even if nobody reads it. The library's
//! subscriber is created with the first event, because it takes 48 KiB and a tenth of all page
//! faults before the first answer.

mod queue;

use std::backtrace::{Backtrace, BacktraceStatus};
use std::io;
use std::panic::{self, PanicHookInfo};
use std::str::FromStr;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, set_global_default};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::config;
use queue::Queue;

/// How long the end of the process waits for lines that are not written yet.
const LAST_LINES: Duration = Duration::from_secs(1);

static QUEUE: Queue = Queue::new();

/// Waits for the last lines when it is dropped.
pub(super) struct Logging;

/// Where the subscriber writes.
struct Stderr;

/// Logs to stderr from now on, as the settings say; stdout carries the protocol.
pub(super) fn to_stderr() -> Logging {
    // The default hook waits until stderr is read.
    panic::set_hook(Box::new(report_panic));
    let config = config::current();
    let level = config.text("log.level");
    let level = level.and_then(|level| LevelFilter::from_str(&level).ok());
    let log = Log {
        level: level.unwrap_or(LevelFilter::WARN),
        asked: config.origin("log.level").is_some(),
        writer: OnceLock::new(),
    };
    // Fails only if a test has set another subscriber.
    let _ = set_global_default(log);
    Logging
}

/// Reports a panic as the default hook does.
fn report_panic(panic: &PanicHookInfo<'_>) {
    let trace = Backtrace::capture();
    let trace = match trace.status() {
        BacktraceStatus::Captured => format!("{trace}\n"),
        _ => String::new(),
    };
    let thread = thread::current();
    let name = thread.name().unwrap_or("<unnamed>");
    append(format!("thread '{name}' {panic}\n{trace}").as_bytes());
}

/// Appends to stderr without waiting for it.
pub(super) fn append(text: &[u8]) {
    QUEUE.push(text, || Box::new(io::stderr()));
}

impl Drop for Logging {
    fn drop(&mut self) {
        QUEUE.flush(LAST_LINES);
    }
}

impl io::Write for Stderr {
    /// The subscriber writes a whole event at once.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        append(event);
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Filters events, and creates the writer for the first one.
struct Log {
    level: LevelFilter,
    /// Whether the operator has set the level.
    asked: bool,
    writer: OnceLock<Box<dyn Subscriber + Send + Sync>>,
}

impl Log {
    fn writer(&self) -> &dyn Subscriber {
        self.writer.get_or_init(|| {
            Box::new(
                tracing_subscriber::fmt()
                    .with_writer(|| Stderr)
                    .with_ansi(false)
                    .with_target(false)
                    .with_max_level(self.level)
                    .finish(),
            )
        })
    }
}

impl Subscriber for Log {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.enabled(metadata) {
            Interest::always()
        } else {
            Interest::never()
        }
    }

    /// The protocol library warns of every request that is answered with an
    /// error; that is not logged unless the level was set. What it calls
    /// information is several lines a request, and as good as our debugging.
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let level = *metadata.level();
        if !metadata.target().starts_with("rmcp") || level <= Level::ERROR {
            return level <= self.level;
        }
        self.asked && level <= self.level && (level <= Level::WARN || self.level >= Level::DEBUG)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level)
    }

    fn event(&self, event: &Event<'_>) {
        self.writer().event(event);
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        self.writer().new_span(attributes)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        self.writer().record(span, values);
    }

    fn record_follows_from(&self, span: &Id, follows: &Id) {
        self.writer().record_follows_from(span, follows);
    }

    fn enter(&self, span: &Id) {
        self.writer().enter(span);
    }

    fn exit(&self, span: &Id) {
        self.writer().exit(span);
    }

    fn clone_span(&self, span: &Id) -> Id {
        self.writer().clone_span(span)
    }

    fn try_close(&self, span: Id) -> bool {
        self.writer().try_close(span)
    }
}
