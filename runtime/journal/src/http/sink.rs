//! The sink of analytics events: each is a line of JSON in the buffer before its caller is told.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::error::JournalError;
use crate::event::Event;
use crate::http::buffer::Buffer;
use crate::http::{HttpOptions, Signals};
use crate::journal::Shared;
use crate::json::raw;
use crate::queue::{Change, Outcome};
use crate::time::microseconds;
use crate::writer::Sink;

/// Largest event, in bytes. The longest that this program makes are requests of people.
const MAX_EVENT: usize = 64 << 10;

/// Appends events to the buffer.
pub(crate) struct BufferSink {
    buffer: Buffer,
    server_id: String,
    shared: Arc<Shared>,
    signals: Arc<Signals>,
}

/// Spec 3 §10.1's event, and an id that makes it one even if it arrives twice.
#[derive(Serialize)]
struct Line<'a> {
    id: Uuid,
    r#type: &'a str,
    #[serde(with = "microseconds")]
    timestamp: SystemTime,
    server_id: &'a str,
    data: Box<RawValue>,
}

impl BufferSink {
    pub(crate) fn new(shared: &Arc<Shared>, options: &HttpOptions, signals: Arc<Signals>) -> Self {
        Self {
            buffer: Buffer::new(options.buffer.clone()),
            server_id: options.server_id.clone(),
            shared: Arc::clone(shared),
            signals,
        }
    }

    fn line(&self, change: &Change) -> Result<String, JournalError> {
        let Change::Event(Event::Analytics {
            id, name, body, at, ..
        }) = change
        else {
            let problem = "only analytics events are sent to this server";
            return Err(JournalError::Refused(problem.to_owned()));
        };
        let line = serde_json::to_string(&Line {
            id: *id,
            r#type: name,
            timestamp: *at,
            server_id: &self.server_id,
            data: raw(body),
        });
        let line = line.expect("names and texts are always JSON");
        if line.len() > MAX_EVENT {
            let found = line.len();
            let problem = format!("expected at most {MAX_EVENT} bytes, found {found}");
            return Err(JournalError::Refused(problem));
        }
        Ok(line)
    }
}

impl Sink for BufferSink {
    fn write(&mut self, changes: Vec<Change>) -> Result<Vec<Outcome>, JournalError> {
        let mut lines = Vec::with_capacity(changes.len());
        let mut outcomes = Vec::with_capacity(changes.len());
        // The outcome that each line decides.
        let mut decided = Vec::with_capacity(changes.len());
        for change in changes {
            outcomes.push(match self.line(&change) {
                Ok(line) => {
                    decided.push(outcomes.len());
                    lines.push(line);
                    Outcome::Written
                }
                Err(error) => Outcome::Lost(error),
            });
        }
        let appended = self.buffer.append(&lines);
        if let Some(error) = appended.error {
            for outcome in decided.into_iter().skip(appended.written) {
                outcomes[outcome] = Outcome::Lost(error.clone());
            }
        }
        let undelivered = &self.shared.undelivered;
        undelivered.fetch_add(appended.written as u64, Ordering::Relaxed);
        self.shared.count_dropped(appended.evicted);
        if appended.filled {
            self.signals.segment_is_full();
        }
        Ok(outcomes)
    }

    fn tidy(&mut self) -> Option<Duration> {
        None
    }
}
