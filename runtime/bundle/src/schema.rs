//! The rows of the `INDEX` section: fixed-size records of little-endian integers without nesting,
//! so that validating the root costs the same for ten skills and for a hundred thousand. Archived
//! types are private to this crate.

use skillbundle_search::keywords::COLUMNS as KEYWORD_COLUMNS;
use skillbundle_search::ranker::COLUMNS as RANK_COLUMNS;
use skillbundle_search::text_index::COLUMNS as TEXT_INDEX_COLUMNS;

/// "No such row" in a `u32` reference.
pub(crate) const NONE: u32 = u32::MAX;

/// Defines the rows and derives [`FINGERPRINT`] from their names, fields and types, so that every
/// layout change is detected.
macro_rules! schema {
    ($($(#[$meta:meta])* struct $name:ident { $($(#[$fmeta:meta])* $field:ident: $ty:ty,)* })*) => {
        $(
            $(#[$meta])*
            #[derive(Debug, Clone, Default, rkyv::Archive, rkyv::Serialize)]
            pub(crate) struct $name { $($(#[$fmeta])* pub(crate) $field: $ty,)* }
        )*
        /// The layout of the tables as one number, kept in the header.
        pub(crate) const FINGERPRINT: u64 = fingerprint(concat!(
            $(stringify!($name), "{", $(stringify!($field), ":", stringify!($ty), ",",)* "}",)*
        ));
    };
}

schema! {
    /// A range of the string heap.
    struct Str {
        start: u32,
        len: u32,
    }

    /// A range of rows in another table.
    struct Rows {
        start: u32,
        len: u32,
    }

    struct SettingsRow {
        min_score: f64,
        ambiguity_threshold: f64,
        /// Negative: the default for the number of skills.
        min_confidence: f64,
        min_margin: f64,
        script_max_output_bytes: u64,
        asset_max_bytes: u64,
        asset_inline_max_bytes: u64,
        max_results: u32,
        refresh_interval_minutes: u32,
        script_timeout_seconds: u32,
        /// See [`flag`].
        flags: u32,
        /// Rows of `strings`.
        script_extensions: Rows,
        /// Rows of `strings`.
        agents: Rows,
    }

    struct RootRow {
        label: Str,
        /// Empty if it is not known.
        commit: Str,
        flags: u32,
    }

    struct SkillRow {
        priority: f64,
        path: Str,
        name: Str,
        /// The name that resolves to exactly this skill: its name, its path, or its address.
        callable: Str,
        description: Str,
        /// The description on one line.
        summary: Str,
        file_path: Str,
        /// The frontmatter as JSON.
        frontmatter: Str,
        /// Rows of `chains`: skill ids, root first, the skill itself last.
        chain: Rows,
        /// Rows of `strings`.
        keywords: Rows,
        /// Rows of `strings`: tags and keywords of the frontmatter, folded.
        labels: Rows,
        /// Rows of `strings`: keywords, tags and triggers of the frontmatter as written.
        phrases: Rows,
        /// Rows of `strings`: the names of its prompt arguments.
        arguments: Rows,
        argument_hint: Str,
        /// Rows of `files`.
        files: Rows,
        root: u32,
        parent: u32,
        /// Row of `blobs`: the Markdown file as it is on disk.
        source: u32,
        /// 0, or 3 if there is a byte order mark.
        text_start: u32,
        body_start: u32,
        body_end: u32,
        flags: u32,
        /// Bytes of the path that come before the path in the root.
        prefix: u32,
        /// Row of `contracts`, or [`NONE`].
        contract: u32,
    }

    struct FileRow {
        path: Str,
        kind: Str,
        description: Str,
        mime: Str,
        args: Rows,
        /// Row of `blobs`, or [`NONE`] if the file is missing.
        blob: u32,
        flags: u32,
    }

    struct ArgRow {
        name: Str,
        description: Str,
        default: Str,
        flags: u32,
    }

    struct ContractRow {
        /// The skill that has it.
        skill: u32,
        /// Index into the categories of the specification.
        category: u32,
        /// A bit for each failure that its handler may report.
        failure_modes: u32,
        timeout_seconds: u32,
        /// Rows of `strings`.
        assigned_to: Rows,
        /// Rows of `strings`.
        success_criteria: Rows,
        input_schema: Str,
        output_schema: Str,
        /// Empty if there is none.
        handler: Str,
    }

    /// Bytes in `BODY` or `FILES`.
    struct BlobRow {
        offset: u64,
        stored_len: u64,
        len: u64,
        /// xxh3-64 of the stored bytes, checked on every read.
        check: u64,
        /// SHA-256 of the original bytes: the digest of the protocol.
        sha256: [u8; 32],
        section: u32,
        flags: u32,
    }

    /// A folded name and the skill it resolves to.
    struct NameRow {
        key: Str,
        skill: u32,
        flags: u32,
    }

    /// A skill that the skills extension serves.
    struct PublishedRow {
        skill: u32,
        /// Row of `resources`: its `SKILL.md`.
        resource: u32,
        /// Its entry in `skills/list`: a range of `entries`.
        entry: Str,
    }

    /// A file that the skills extension serves.
    struct ResourceRow {
        uri: Str,
        blob: u32,
        /// Row of `published`: the innermost skill that contains the file.
        owner: u32,
        flags: u32,
    }

    struct Index {
        settings: SettingsRow,
        heap: Vec<u8>,
        strings: Vec<Str>,
        roots: Vec<RootRow>,
        /// In listing order: those that models are shown, then the others that are offered, then the
        /// shadowed ones.
        skills: Vec<SkillRow>,
        /// The number of skills that models are shown. The keyword index and the ranker hold only
        /// these.
        listed: u32,
        /// The number of skills that are not shadowed. All other tables but `path_slots` and `chains`
        /// hold only these.
        offered: u32,
        /// Ids of the offered skills by importance, those that models are shown first.
        ranking: Vec<u32>,
        chains: Vec<u32>,
        files: Vec<FileRow>,
        args: Vec<ArgRow>,
        /// In the order of their skills.
        contracts: Vec<ContractRow>,
        blobs: Vec<BlobRow>,
        names: Vec<NameRow>,
        /// Open addressing over exact paths: 0 is empty, else skill id + 1.
        path_slots: Vec<u32>,
        /// Open addressing over folded names: 0 is empty, else `names` row + 1.
        name_slots: Vec<u32>,
        /// In the order of `ranking`.
        published: Vec<PublishedRow>,
        /// The number of published skills that are listed.
        published_listed: u32,
        /// Rows of `published`, sorted by name.
        published_by_name: Vec<u32>,
        /// Per skill: its row of `published`, or [`NONE`].
        published_by_skill: Vec<u32>,
        /// Sorted by URI.
        resources: Vec<ResourceRow>,
        /// The entries of `skills/list` as JSON, separated by commas.
        entries: Vec<u8>,
        /// The columns of the search indexes, whose layout the search crate defines.
        keywords: [Vec<u8>; KEYWORD_COLUMNS],
        words: [Vec<u8>; TEXT_INDEX_COLUMNS],
        ranks: [Vec<u8>; RANK_COLUMNS],
    }
}

/// Bits of the `flags` fields; each row type uses its own subset.
pub(crate) mod flag {
    /// Settings: the content requests periodic refresh.
    pub(crate) const REFRESH: u32 = 1;
    /// Settings: scripts are not forbidden.
    pub(crate) const SCRIPTS: u32 = 1 << 1;
    /// Root: belongs to the user rather than to a project.
    pub(crate) const GLOBAL: u32 = 1;
    /// Root: a skill in it that is offered declares a script that the server may run.
    pub(crate) const SERVER_SCRIPTS: u32 = 1 << 1;
    /// Skill: written in the tree dialect.
    pub(crate) const TREE: u32 = 1;
    /// Skill: inherits from its ancestors.
    pub(crate) const INHERIT: u32 = 1 << 1;
    /// Skill: its frontmatter differs from what a YAML reader returns for the file.
    pub(crate) const RECOVERED: u32 = 1 << 2;
    /// Skill: not a prompt.
    pub(crate) const HIDDEN: u32 = 1 << 3;
    /// Skill: not offered, because one of an earlier root has its identity.
    pub(crate) const SHADOWED: u32 = 1 << 4;
    /// Skill: shown to people only.
    pub(crate) const PEOPLE: u32 = 1 << 5;
    /// Skill: shown to nobody.
    pub(crate) const NOBODY: u32 = 1 << 6;
    /// File: declared as an asset.
    pub(crate) const ASSET: u32 = 1;
    /// File: declared as a script.
    pub(crate) const SCRIPT: u32 = 1 << 1;
    /// File: the server may run it.
    pub(crate) const SERVER: u32 = 1 << 2;
    /// File: executable on disk.
    pub(crate) const EXECUTABLE: u32 = 1 << 3;
    /// File: binary by its extension (spec 3 §7.2).
    pub(crate) const BINARY: u32 = 1 << 4;
    /// File: valid UTF-8 without NUL.
    pub(crate) const TEXT: u32 = 1 << 5;
    /// Resource: valid UTF-8 without NUL.
    pub(crate) const RESOURCE_TEXT: u32 = 1;
    /// Argument: a call without it is rejected.
    pub(crate) const REQUIRED: u32 = 1;
    /// Argument: has a default, which may be empty.
    pub(crate) const DEFAULT: u32 = 1 << 1;
    /// Blob: stored as one zstd frame.
    pub(crate) const ZSTD: u32 = 1;
    /// Blob: only its length is known, since it was too large to be stored.
    pub(crate) const UNREAD: u32 = 1 << 1;
    /// Name: is the skill's path, not its name.
    pub(crate) const PATH: u32 = 1;
}

/// FNV-1a over the text without white space, because the spacing of `stringify!` is unspecified.
const fn fingerprint(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_whitespace() {
            hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0000_0100_0000_01b3);
        }
        at += 1;
    }
    hash
}
