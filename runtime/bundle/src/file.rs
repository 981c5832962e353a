//! One file of a skill, with its metadata and its bytes.

use std::borrow::Cow;

use crate::blobs;
use crate::catalog::Catalog;
use crate::error::Error;
use crate::model::{Execution, Role};
use crate::schema::{ArchivedBlobRow, ArchivedFileRow, NONE, flag};

/// A file of a skill.
#[derive(Clone, Copy)]
pub struct File<'a> {
    /// Relative to the skill's own directory.
    pub path: &'a str,
    /// Its role.
    pub role: Role,
    /// The declared `type`.
    pub kind: &'a str,
    /// The declared description, or empty.
    pub description: &'a str,
    /// The runner, for scripts.
    pub execution: Execution,
    /// Whether it was executable on disk.
    pub executable: bool,
    /// The MIME type for its extension.
    pub mime: &'a str,
    /// Binary by its extension (spec 3 §7.2).
    pub is_binary: bool,
    /// Valid UTF-8 without NUL: can be sent as text without changing a byte.
    pub is_text: bool,
    /// Its length in bytes, or `None` if it was declared but is missing.
    pub size: Option<u64>,
    catalog: Catalog<'a>,
    row: &'a ArchivedFileRow,
    blob: Option<&'a ArchivedBlobRow>,
}

/// A declared argument of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arg<'a> {
    /// Its name.
    pub name: &'a str,
    /// The declared description, or empty.
    pub description: &'a str,
    /// Whether a call without it is rejected.
    pub required: bool,
    /// Its value if a call leaves it out.
    pub default: Option<&'a str>,
}

impl<'a> File<'a> {
    pub(crate) fn new(catalog: Catalog<'a>, row: &'a ArchivedFileRow) -> Result<Self, Error> {
        let flags = row.flags.to_native();
        let role = match (flags & flag::SCRIPT != 0, flags & flag::ASSET != 0) {
            (true, _) => Role::Script,
            (_, true) => Role::Asset,
            _ => Role::File,
        };
        let mut file = Self {
            path: catalog.text(&row.path)?,
            role,
            kind: catalog.text(&row.kind)?,
            description: catalog.text(&row.description)?,
            execution: if flags & flag::SERVER == 0 {
                Execution::Claude
            } else {
                Execution::Server
            },
            executable: flags & flag::EXECUTABLE != 0,
            mime: catalog.text(&row.mime)?,
            is_binary: flags & flag::BINARY != 0,
            is_text: flags & flag::TEXT != 0,
            size: None,
            catalog,
            row,
            blob: None,
        };
        if row.blob != NONE {
            let blob = catalog.row(&catalog.index.blobs, row.blob.to_native() as usize)?;
            file.size = Some(blob.len.to_native());
            file.blob = Some(blob);
        }
        Ok(file)
    }

    /// Whether it exists but was too large to be stored: it has a size and no bytes.
    pub fn is_unread(&self) -> bool {
        let flags = self.blob.map_or(0, |blob| blob.flags.to_native());
        flags & flag::UNREAD != 0
    }

    /// Its bytes, or `None` if it was declared but is missing, or is not stored.
    pub fn bytes(&self) -> Result<Option<Cow<'a, [u8]>>, Error> {
        let bundle = self.catalog.bundle;
        let read = |blob| blobs::read(blob, bundle);
        self.stored().map(read).transpose()
    }

    /// SHA-256 of its bytes.
    pub fn digest(&self) -> Option<[u8; 32]> {
        Some(self.stored()?.sha256)
    }

    /// Declared arguments, for scripts.
    pub fn args(&self) -> Result<Vec<Arg<'a>>, Error> {
        let rows = self
            .catalog
            .rows(&self.catalog.index.args, &self.row.args)?;
        let arg = |row: &'a crate::schema::ArchivedArgRow| {
            let flags = row.flags.to_native();
            let default = self.catalog.text(&row.default)?;
            Ok(Arg {
                name: self.catalog.text(&row.name)?,
                description: self.catalog.text(&row.description)?,
                required: flags & flag::REQUIRED != 0,
                default: (flags & flag::DEFAULT != 0).then_some(default),
            })
        };
        rows.iter().map(arg).collect()
    }

    fn stored(&self) -> Option<&'a ArchivedBlobRow> {
        self.blob.filter(|_| !self.is_unread())
    }
}

impl std::fmt::Debug for File<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("File")
            .field("path", &self.path)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}
