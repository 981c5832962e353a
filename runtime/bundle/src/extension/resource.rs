//! Files of published skills, and the directories that contain them.

use std::borrow::Cow;

use super::uri::{SKILL_MD, last_name, name_of};
use super::{Published, PublishedSkill};
use crate::blobs;
use crate::error::Error;
use crate::mime;
use crate::schema::{ArchivedBlobRow, flag};

/// A file of a published skill.
#[derive(Clone)]
pub struct Resource<'a> {
    /// Its URI.
    pub uri: &'a str,
    /// The skill's name for the `SKILL.md` of a published skill, else the name of the file.
    pub name: Cow<'a, str>,
    /// Its MIME type; always `text/markdown` for a `SKILL.md`.
    pub mime: &'static str,
    /// Its length in bytes.
    pub size: u64,
    /// SHA-256 of its bytes.
    pub digest: [u8; 32],
    /// Valid UTF-8 without NUL: can be sent as text without changing a byte.
    pub is_text: bool,
    published: Published<'a>,
    owner: usize,
    blob: &'a ArchivedBlobRow,
}

/// A direct child of a directory.
#[derive(Debug, Clone)]
pub enum Child<'a> {
    /// A file.
    File(Resource<'a>),
    /// A directory, which has children of its own.
    Directory {
        /// Its URI, without a trailing slash.
        uri: &'a str,
        /// The last segment, unescaped.
        name: Cow<'a, str>,
    },
}

impl<'a> Published<'a> {
    /// The file in this row of the table.
    pub(super) fn resource_at(&self, at: usize) -> Result<Resource<'a>, Error> {
        let row = self.resource_row(at)?;
        let uri = self.uri(at)?;
        let owner = row.owner.to_native() as usize;
        let is_text = row.flags.to_native() & flag::RESOURCE_TEXT != 0;
        let file = last_name(uri);
        let is_entry = self.row(owner)?.resource.to_native() as usize == at;
        let index = self.catalog.index;
        let blob = self
            .catalog
            .row(&index.blobs, row.blob.to_native() as usize)?;
        Ok(Resource {
            uri,
            mime: if file == SKILL_MD {
                "text/markdown"
            } else {
                mime::type_of(&file, is_text)
            },
            name: if is_entry { name_of(uri) } else { file },
            size: blob.len.to_native(),
            digest: blob.sha256,
            is_text,
            published: *self,
            owner,
            blob,
        })
    }
}

impl<'a> Resource<'a> {
    /// Its bytes, checked.
    pub fn bytes(&self) -> Result<Cow<'a, [u8]>, Error> {
        blobs::read(self.blob, self.published.catalog.bundle)
    }

    /// The skill that contains it: the innermost one if skills are nested.
    pub fn skill(&self) -> Result<PublishedSkill<'a>, Error> {
        self.published.skill(self.owner)
    }
}

impl<'a> Child<'a> {
    /// Its URI.
    pub fn uri(&self) -> &'a str {
        match self {
            Self::File(resource) => resource.uri,
            Self::Directory { uri, .. } => uri,
        }
    }
}

impl std::fmt::Debug for Resource<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resource")
            .field("uri", &self.uri)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}
