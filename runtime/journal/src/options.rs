//! Where events go, and for how long they stay.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

#[cfg(feature = "http")]
use crate::http::HttpOptions;

/// How a journal is kept.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Where events go.
    pub destination: Destination,
    /// What is removed from an SQLite file.
    pub retention: Retention,
}

/// Where events go. The `Debug` form of an address has no password.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Destination {
    /// Nowhere.
    #[default]
    Off,
    /// An SQLite file. It is created, readable by its owner alone, and so are missing directories.
    #[cfg(feature = "sqlite")]
    Sqlite(PathBuf),
    /// A file or a FIFO that gets a line of JSON for each event. A missing file is created, readable
    /// by its owner alone.
    Jsonl(PathBuf),
    /// A PostgreSQL server, by way of an SQLite file: an event is committed once it is in the file,
    /// and is sent when the server can be reached.
    #[cfg(feature = "postgres")]
    Postgres {
        /// `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full`.
        url: String,
        /// The SQLite file.
        spool: PathBuf,
    },
    /// An HTTP server, by way of a buffer on disk: an event is committed once it is in the buffer, and
    /// is sent when the server can be reached. It takes analytics events alone; others are lost, and
    /// so is one of more than 64 kB.
    #[cfg(feature = "http")]
    Http(HttpOptions),
}

/// What an SQLite file keeps. What has not been delivered to a PostgreSQL server always stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// What is older is removed; `None` removes nothing.
    pub max_age: Option<Duration>,
    /// The oldest are removed above this number, of invocations and of other events each; `None`
    /// removes nothing.
    pub max_rows: Option<u64>,
}

impl Options {
    /// A journal at this destination, with the usual retention.
    pub fn new(destination: Destination) -> Self {
        Self {
            destination,
            retention: Retention::default(),
        }
    }
}

impl Default for Retention {
    /// 30 days and 1,000,000 rows, which are about 1 GB with inputs and outputs of 300 bytes.
    fn default() -> Self {
        Self {
            max_age: Some(Duration::from_secs(30 * 86_400)),
            max_rows: Some(1_000_000),
        }
    }
}

impl fmt::Debug for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("Off"),
            #[cfg(feature = "sqlite")]
            Self::Sqlite(path) => f.debug_tuple("Sqlite").field(path).finish(),
            Self::Jsonl(path) => f.debug_tuple("Jsonl").field(path).finish(),
            #[cfg(feature = "postgres")]
            Self::Postgres { spool, .. } => f
                .debug_struct("Postgres")
                .field("spool", spool)
                .finish_non_exhaustive(),
            #[cfg(feature = "http")]
            Self::Http(options) => f.debug_tuple("Http").field(options).finish(),
        }
    }
}
