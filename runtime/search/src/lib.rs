//! Search over short texts that are known in advance: tokens, an index of
//! words, declared keywords, a ranker, and excerpts.
//!
//! It knows documents by number, and tables as columns of bytes. What a
//! document is and where columns are stored is the caller's business. Each
//! index is built by a `build` function and queried through its type:
//!
//! - [`keywords`]: which documents declare a keyword that a request holds (spec 3 §5).
//! - [`text_index`]: which documents hold every word of a query (spec 4).
//! - [`ranker`]: which documents a request in plain words means (`bm25f/1`).

mod error;
mod suggest;
mod table;

pub mod text;

pub mod excerpt;
pub mod keywords;
pub mod ranker;
pub mod text_index;

pub use error::Error;
pub use suggest::{suggest, typos};
