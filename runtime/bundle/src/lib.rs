//! The byte format of skills, and queries on it.
//!
//! A compiler fills a [`SkillSet`]; [`write()`] serializes it into one archive; [`Bundle`] opens
//! that archive from memory or a file, and [`Catalog`] answers queries: which skills exist, what
//! they contain, which files they have, which skill a request means. This crate does not depend on
//! the source format of skills or on how they are served.

mod argument;
mod contract;
mod model;
mod settings;

mod container;
mod header;
mod image;
mod page_sums;
mod schema;
mod store;

mod blobs;
mod frontmatter_terms;
mod identity;
mod line_ends;
mod merge;
mod mime;
mod names;
mod write;

mod catalog;
mod content;
mod extension;
mod file;
mod route;
mod search;
mod skill;
mod skill_listing;
mod verify;

mod error;
pub mod hosts;
#[cfg(test)]
mod sample;

pub use argument::variable_of;
pub use catalog::{Catalog, Root};
pub use container::{Bundle, SectionInfo, hex, publish, sha256};
pub use contract::{
    Category, Contract, ContractEntry, DEFAULT_TIMEOUT_SECONDS, FailureCode, FailureMode,
    FailureSeverity, MAX_CONTRACT_DESCRIPTION, MAX_CONTRACT_NAME, TIMEOUT_SECONDS, is_agent_name,
    is_contract_name,
};
pub use error::Error;
pub use extension::{
    Child, Page, Publication, Published, PublishedSkill, Resource, Unpublished, numbered,
    publications, slug,
};
pub use file::{Arg, File};
pub use frontmatter_terms::is_for_people_only;
pub use identity::{arrange, identify};
pub use image::Image;
pub use line_ends::escape_line_ends;
pub use model::{
    ArgEntry, Audience, Dialect, Execution, FileEntry, MAX_FILE_BYTES, Role, RootEntry, Scope,
    SkillEntry, SkillSet,
};
pub use names::branch;
pub use route::{Candidate, Explanation, PairScore, Route, TermScore, rounded};
pub use search::{Hit, Hits, Match, Matched, Score, Search};
pub use settings::{Overrides, SETTINGS, Setting, SettingKind, Settings, ValueType};
pub use skill::Skill;
pub use skill_listing::{SkillListing, visible_line};
pub use skillbundle_search::keywords::Decision;
pub use store::{Store, StoredBundle};
pub use verify::Verified;
pub use write::{lay_out, write};

/// The version of the archive format that this crate reads and writes.
pub const FORMAT_VERSION: u32 = header::VERSION;

/// Whether a file that starts with these bytes is a bundle, of any version.
pub fn is_bundle(start: &[u8]) -> bool {
    start.starts_with(&header::MAGIC)
}

/// Builds a compiled bundle into the program: the file's bytes as
/// `&'static [u8]`, aligned so that [`Bundle::from_static`] need not copy them.
#[macro_export]
macro_rules! include_bundle {
    ($path:expr) => {{
        #[repr(C, align(64))]
        struct Aligned<Bytes: ?Sized>(Bytes);
        static ALIGNED: &Aligned<[u8]> = &Aligned(*include_bytes!($path));
        &ALIGNED.0
    }};
}
