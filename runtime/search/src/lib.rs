//! Search over short texts that are known at build time: tokens, a text index, declared keywords, a
//! ranker, and excerpts.
//!
//! Documents are numbers and tables are columns of bytes. The caller decides what a document is and
//! where the columns are stored. Each index has a `build` function and a type that answers queries:
//!
//! - [`keywords`]: the documents that declare a keyword contained in a request (spec 3 §5).
//! - [`text_index`]: the documents that contain every word of a query (spec 4).
//! - [`ranker`]: the documents that best match a request in plain words (`bm25f/1`).

mod error;
mod hashing;
pub mod parallel;
mod suggest;
mod table;
mod word_map;

pub mod text;

pub mod excerpt;
pub mod keywords;
pub mod ranker;
pub mod text_index;

pub use error::Error;
pub use suggest::{suggest, typos};
