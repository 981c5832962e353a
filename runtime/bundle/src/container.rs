//! One handle for a bundle's bytes: built into the program, in a file, or on the heap. Opens, maps
//! and publishes files; `catalog.rs` interprets the bytes.
//!
//! Only the tables of a file of the store are mapped. Texts and files are read on request: a mapping
//! would fault in sixteen pages around each and keep them resident, so a server that had served a
//! tenth of its skills would hold all of them in memory.

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use rkyv::util::AlignedVec;
use sha2::Digest;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::catalog::Catalog;
use crate::error::{Error, corrupt};
use crate::header::{ALIGN, Header, Section, narrow};
use crate::page_sums::Pages;
use crate::settings::Overrides;

mod publish;
mod storage;
#[cfg(test)]
mod tests;

pub use publish::publish;
pub(crate) use publish::{publish_parts, sync, write_parts, write_unsynced};
use storage::Storage;

/// Buffer size in bytes of a full check.
const CHUNK: u64 = 1 << 20;

/// An open bundle. Its head is checked; every other part is checked on first use, so opening takes
/// the same time for any size.
#[derive(Debug)]
pub struct Bundle {
    storage: Storage,
    header: Header,
    /// `INDEX` and its page table in [`Storage::tables`]. Cached because every row access needs
    /// them.
    index: Range<usize>,
    sums: Range<usize>,
    pages: Pages,
    /// Whether the columns of the search indexes match their page sums. Set on first use.
    pub(crate) keywords_intact: OnceLock<bool>,
    pub(crate) text_index_intact: OnceLock<bool>,
    pub(crate) ranks_intact: OnceLock<bool>,
    damaged: AtomicBool,
    /// What the operator has decided about its settings.
    pub(crate) overrides: Arc<Overrides>,
}

/// The location of a section in a bundle, for inspection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionInfo {
    /// Its name, such as `INDEX`.
    pub name: &'static str,
    /// Bytes from the start of the file.
    pub offset: u64,
    /// Its length in bytes.
    pub len: u64,
}

impl Bundle {
    /// Opens a bundle built into the program (see `include_bundle!`).
    ///
    /// Unaligned bytes are copied; otherwise the behavior is the same.
    pub fn from_static(bytes: &'static [u8]) -> Result<Self, Error> {
        if bytes.as_ptr().addr().is_multiple_of(ALIGN) {
            Self::new(
                Header::read(bytes, bytes.len() as u64)?,
                Storage::Static(bytes),
            )
        } else {
            Self::from_bytes(bytes)
        }
    }

    /// Opens a copy of `bytes` on the heap.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Self::new(
            Header::read(bytes, bytes.len() as u64)?,
            Storage::copy(bytes),
        )
    }

    /// Opens bytes on the heap.
    pub(crate) fn from_aligned(bytes: AlignedVec<ALIGN>) -> Result<Self, Error> {
        Self::new(
            Header::read(&bytes, bytes.len() as u64)?,
            Storage::Heap(bytes),
        )
    }

    /// Opens a bundle file and keeps it open. Its tables are copied to the heap; texts and files are
    /// read when they are asked for. This handle does not see a file that later replaces it, but a
    /// file that is changed in place shows as damaged. See [`crate::Store`] for one that may change.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let (header, storage) = Storage::open(path)?;
        Self::new(header, storage)
    }

    /// The content address in the head of a whole bundle.
    pub fn address_of(bytes: &[u8]) -> Result<[u8; 32], Error> {
        Ok(Header::read(bytes, bytes.len() as u64)?.content_address)
    }

    /// The content address in the head of a bundle file. Reads only the head.
    pub fn address_in(path: &Path) -> Result<[u8; 32], Error> {
        Ok(Storage::head(path)?.content_address)
    }

    /// Opens a file of the store, whose tables are mapped.
    pub(crate) fn open_stored(path: &Path) -> Result<Self, Error> {
        let (header, storage) = Storage::open_stored(path)?;
        Self::new(header, storage)
    }

    fn new(header: Header, storage: Storage) -> Result<Self, Error> {
        let tables = storage.tables();
        header.check_gaps(tables)?;
        let (sums, index) = (
            place(&header, Section::Pages)?,
            place(&header, Section::Index)?,
        );
        let pages = Pages::new(sums.len(), index.len())?;
        if !header.names(Section::Pages, xxh3_128(&tables[sums.clone()])) {
            return Err(corrupt("the page table does not agree with its checksum"));
        }
        Ok(Self {
            storage,
            header,
            index,
            sums,
            pages,
            keywords_intact: OnceLock::new(),
            text_index_intact: OnceLock::new(),
            ranks_intact: OnceLock::new(),
            damaged: AtomicBool::new(false),
            overrides: Arc::default(),
        })
    }

    /// The same bundle, where these decisions of the operator apply to its settings.
    #[must_use]
    pub fn overridden(self, overrides: &Arc<Overrides>) -> Self {
        let overrides = Arc::clone(overrides);
        Self { overrides, ..self }
    }

    /// The queries of a bundle. Cheap; take one for each request.
    pub fn catalog(&self) -> Result<Catalog<'_>, Error> {
        Catalog::new(self)
    }

    /// SHA-256 that identifies this content: equal for equal skills, independent of the machine
    /// that compiled them.
    pub fn content_address(&self) -> [u8; 32] {
        self.header.content_address
    }

    /// [`Self::content_address`] as 64 lower-case hexadecimal digits.
    pub fn content_hex(&self) -> String {
        hex(&self.header.content_address)
    }

    /// The whole file's length in bytes.
    pub fn byte_len(&self) -> u64 {
        self.header.range(Section::Files).end
    }

    /// The kind of storage: `embedded`, `memory`, `file` (tables in memory, the rest read on
    /// request) or `stored` (a file of the store: tables mapped, the rest read on request).
    pub fn storage(&self) -> &'static str {
        self.storage.name()
    }

    /// The sections in file order.
    pub fn sections(&self) -> Vec<SectionInfo> {
        let info = |section: Section| {
            let range = self.header.range(section);
            SectionInfo {
                name: section.name(),
                offset: range.start,
                len: range.end - range.start,
            }
        };
        Section::ALL.into_iter().map(info).collect()
    }

    /// The bytes of `INDEX`; rows are checked by [`Self::check_index`].
    pub(crate) fn index(&self) -> &[u8] {
        &self.storage.tables()[self.index.clone()]
    }

    /// Whether anything that was read did not match its checksum, or could not be read.
    pub fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Relaxed)
    }

    /// Notes damage, if this is an error.
    pub(crate) fn noting<T>(&self, read: Result<T, Error>) -> Result<T, Error> {
        if read.is_err() {
            self.damaged.store(true, Ordering::Relaxed);
        }
        read
    }

    /// The same bundle, whose file now has this name.
    pub(crate) fn renamed(mut self, path: PathBuf) -> Self {
        self.storage.rename(path);
        self
    }

    /// Checks the pages that hold `start..start + len` of `INDEX`.
    pub(crate) fn check_index(&self, start: usize, len: usize) -> Result<(), Error> {
        let tables = self.storage.tables();
        self.noting(self.pages.check(
            &tables[self.sums.clone()],
            &tables[self.index.clone()],
            start,
            len,
        ))
    }

    /// Bytes of a section, not checked.
    pub(crate) fn read(
        &self,
        section: Section,
        offset: u64,
        len: u64,
    ) -> Result<Cow<'_, [u8]>, Error> {
        const WHERE: Error = corrupt("the range of a file is outside its section");
        let range = self.header.range(section);
        let start = range.start.checked_add(offset).ok_or(WHERE)?;
        start
            .checked_add(len)
            .filter(|end| *end <= range.end)
            .ok_or(WHERE)?;
        self.storage.read(start, narrow(len)?)
    }

    /// Whether a section matches the checksum in the head. Reads all of it.
    pub(crate) fn agrees(&self, section: Section) -> Result<bool, Error> {
        let mut hash = Xxh3::new();
        self.each_chunk(section, |chunk| hash.update(chunk))?;
        Ok(self.header.names(section, hash.digest128()))
    }

    /// Passes the bytes of a section to `take`, one chunk at a time.
    pub(crate) fn each_chunk(
        &self,
        section: Section,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), Error> {
        let range = self.header.range(section);
        let mut offset = 0;
        while offset < range.end - range.start {
            let len = CHUNK.min(range.end - range.start - offset);
            take(&self.read(section, offset, len)?);
            offset += len;
        }
        Ok(())
    }
}

/// The location of a table in memory.
fn place(header: &Header, section: Section) -> Result<Range<usize>, Error> {
    let range = header.range(section);
    Ok(narrow(range.start)?..narrow(range.end)?)
}

/// SHA-256, the digest of bodies, files and inputs.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    sha2::Sha256::digest(bytes).into()
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|nibble| char::from(DIGITS[usize::from(nibble)]))
        .collect()
}
