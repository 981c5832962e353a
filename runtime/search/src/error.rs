//! Errors of building and querying an index.

/// Why an index could not be built or queried.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A table is inconsistent.
    #[error("{0}")]
    Corrupt(&'static str),
    /// The texts are too large for an index.
    #[error("{0}")]
    TooLarge(String),
}
