//! What can be wrong with the tables of an index.

/// Why an index could not be built or queried.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A table contradicts itself.
    #[error("{0}")]
    Corrupt(&'static str),
    /// The texts do not fit an index.
    #[error("{0}")]
    TooLarge(String),
}
