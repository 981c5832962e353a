//! The record of what happened: skill invocations and their results, runs of scripts, routing
//! decisions, analytics events.
//!
//! A [`Journal`] takes events from any thread without blocking it. One writer thread, started by
//! the first event, puts everything that waits into one transaction (*group commit*) and then
//! reports to the caller. Events go to an SQLite file, to a PostgreSQL server by way of an SQLite
//! file (feature `postgres`), or as lines of JSON to a file or a pipe. Analytics events can go to an
//! HTTP server, by way of a buffer on disk (feature `http`). `Reader` reads an SQLite file while it is
//! written.
//!
//! This crate knows no skills and no protocol. It is the only one that knows databases.
//!
//! ```
//! use std::time::{Duration, SystemTime};
//! use skillbundle_journal::{Destination, Event, Journal, Options, Recorded, Uuid};
//!
//! # let directory = std::env::temp_dir().join(Uuid::now_v7().to_string());
//! let options = Options::new(Destination::Jsonl(directory.join("journal.jsonl")));
//! let journal = Journal::new(options);
//! let event = Event::Analytics {
//!     id: Uuid::now_v7(),
//!     name: "skill_loaded".to_owned(),
//!     skill: Some("pdf-forms".to_owned()),
//!     correlation_id: None,
//!     body: r#"{"tool":"skill"}"#.to_owned(),
//!     at: SystemTime::now(),
//! };
//! journal.record(event, |recorded| assert_eq!(recorded, Recorded::Committed));
//! journal.close(Duration::from_secs(5));
//! # std::fs::remove_dir_all(directory).unwrap();
//! ```

mod event;
mod options;
mod time;

mod journal;
mod queue;
mod writer;

mod error;
mod files;
#[cfg(feature = "http")]
mod http;
mod json;
mod jsonl;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod reader;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use error::JournalError;
pub use event::{
    Event, Invocation, InvocationResult, InvocationStatus, Record, RoutingDecision, ScriptRun,
};
#[cfg(feature = "http")]
pub use http::{Backlog, Endpoint, HttpOptions};
pub use journal::{Claim, Journal, Recorded, Status};
pub use options::{Destination, Options, Retention};
#[cfg(feature = "sqlite")]
pub use reader::{EventBody, EventCount, Filter, InvocationCount, Pruned, Reader, SkillStats};
pub use time::{parse_rfc3339, rfc3339};
/// The type of all ids.
pub use uuid::Uuid;
