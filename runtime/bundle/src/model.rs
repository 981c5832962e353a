//! The input of the writer: skills as plain owned values with names already resolved to indices.
//! Independent of the byte layout.

use std::ops::Range;
use std::sync::Arc;

use crate::contract::ContractEntry;
use crate::settings::Settings;

/// Everything that goes into one bundle.
#[derive(Debug, Clone, Default)]
pub struct SkillSet {
    /// Tuning compiled from the content's `config.yaml`.
    pub settings: Settings,
    /// The directories that the skills were read from, highest priority first.
    pub roots: Vec<RootEntry>,
    /// The skills in listing order, then those that are not listed, then the shadowed ones; parents
    /// may be at any position. Names are assigned in this order: the first skill with a name gets
    /// it.
    pub skills: Vec<SkillEntry>,
}

/// A directory that skills were read from. Its location on disk is not stored, because the same
/// tree must produce the same bytes wherever it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootEntry {
    /// Its label, such as `project` or `./.agent/skills`.
    pub label: String,
    /// Whether it belongs to one project or to the user (spec 2, `<location>`).
    pub scope: Scope,
    /// The commit of a git repository that its files are exactly those of, as a full hash, if that is
    /// known.
    pub commit: Option<String>,
}

/// The owner of a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The skills of one project.
    Project,
    /// The skills of the user, or those built into the binary.
    Global,
}

impl Scope {
    /// The word used on the wire: `project` or `global`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Global => "global",
        }
    }
}

/// How a skill was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// A directory with a `SKILL.md`.
    Folder,
    /// A `.md` file in a tree with `_root.md` and `_index.md` parents.
    Tree,
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Self; 2] = [Self::Folder, Self::Tree];

    /// The word used on the wire and in listings: `folder` or `tree`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Folder => "folder",
            Self::Tree => "tree",
        }
    }
}

/// Who is shown a skill that is offered. The order counts: each audience is smaller than the one
/// before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Audience {
    /// Models and people.
    #[default]
    Everyone,
    /// People only, who start it as a prompt: no list, route or search for a model has it.
    People,
    /// Nobody: it is found by its name or path only.
    Nobody,
}

impl Audience {
    /// The word used in listings: `everyone`, `people` or `nobody`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Everyone => "everyone",
            Self::People => "people",
            Self::Nobody => "nobody",
        }
    }
}

/// One skill.
#[derive(Debug, Clone)]
pub struct SkillEntry {
    /// Its address in the bundle: `/`-separated, unique, compared bytewise.
    pub path: String,
    /// Bytes that [`identify`](crate::identify) put in front of the path, because another skill has
    /// it; mostly 0.
    pub prefix: usize,
    /// Whether a skill of an earlier root has the same identity, so that this one is not offered.
    /// It is found by its address only.
    pub shadowed: bool,
    /// Who is shown it.
    pub audience: Audience,
    /// The name that a user types. Lookup trims and lower-cases it.
    pub name: String,
    /// The whole description as written.
    pub description: String,
    /// How it was written.
    pub dialect: Dialect,
    /// Index into [`SkillSet::roots`].
    pub root: u32,
    /// The Markdown file, relative to its root, `/`-separated.
    pub file_path: String,
    /// Breaks ties between equal matches; 0 unless declared.
    pub priority: f64,
    /// Whether the skill inherits the text and files of its ancestors.
    pub inherit: bool,
    /// Index of the parent in [`SkillSet::skills`].
    pub parent: Option<u32>,
    /// Declared keywords, in the author's order and case.
    pub keywords: Vec<String>,
    /// The frontmatter as one JSON object, every key, in source order.
    pub frontmatter_json: String,
    /// Whether the JSON differs from what a YAML reader returns for the file: the frontmatter had
    /// to be recovered, or has a duplicate key.
    pub recovered: bool,
    /// The file's bytes as they are on disk. Must be UTF-8.
    pub source: Arc<[u8]>,
    /// The text without a byte order mark: a suffix of `source` (0 or 3).
    pub text_start: usize,
    /// The range of the body in `source`: everything after the line of the closing fence.
    pub body: Range<usize>,
    /// Its files, sorted by path.
    pub files: Vec<FileEntry>,
    /// What it promises as a typed capability.
    pub contract: Option<ContractEntry>,
}

/// A file of a skill.
#[derive(Debug, Clone)]
pub struct FileEntry {
    /// Relative to the skill's own directory (tree dialect: its resource directory).
    pub path: String,
    /// Its role.
    pub role: Role,
    /// The declared `type`, `other` unless declared.
    pub kind: String,
    /// The declared description, or empty.
    pub description: String,
    /// The runner, for scripts.
    pub execution: Execution,
    /// Declared arguments, for scripts.
    pub args: Vec<ArgEntry>,
    /// Whether the file is executable on disk.
    pub executable: bool,
    /// Its bytes, or `None` if it was declared but is missing, or is too large.
    pub bytes: Option<Arc<[u8]>>,
    /// Its size in bytes if it exists but is too large to be stored.
    pub unread: Option<u64>,
}

/// The largest file of a skill that is stored, in bytes. The largest real one has 4 MB.
pub const MAX_FILE_BYTES: u64 = 64 << 20;

/// The role of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// In the directory of a folder-dialect skill, without a declaration.
    File,
    /// Declared under `assets`.
    Asset,
    /// Declared under `scripts`.
    Script,
}

/// The runner of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Execution {
    /// The agent fetches it and runs it itself (wire word `claude`).
    Claude,
    /// The server may run it, if the operator allows scripts.
    Server,
}

impl Execution {
    /// The word used in frontmatter and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Server => "server",
        }
    }
}

/// A declared argument of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgEntry {
    /// Its name; [`variable_of`](crate::variable_of) is how the script reads it.
    pub name: String,
    /// The declared description, or empty.
    pub description: String,
    /// Whether a call without it is rejected: true unless declared, and false if there is a default.
    pub required: bool,
    /// Its value if a call leaves it out.
    pub default: Option<String>,
}
