//! One handle over a bundle's bytes, wherever they lie: built into the
//! program, mapped from a file, or on the heap. Opens, maps and publishes
//! files; what the bytes mean is told by `catalog.rs`.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::OnceLock;

use memmap2::Mmap;
use rkyv::util::AlignedVec;

use crate::catalog::Catalog;
use crate::error::{Error, corrupt};
use crate::header::{ALIGN, Header, Section};
use crate::pages::Pages;

mod ownership;
mod publish;
#[cfg(test)]
mod tests;

pub use publish::publish;

/// An open bundle. Its head is checked; every other part is checked when it is
/// first touched, so that opening takes the same time whatever its size.
#[derive(Debug)]
pub struct Bundle {
    storage: Storage,
    header: Header,
    pages: Pages,
    /// Whether `KEYWORDS` and `WORDS` agree with their checksums, once asked.
    keywords_agree: OnceLock<bool>,
    words_agree: OnceLock<bool>,
}

enum Storage {
    Static(&'static [u8]),
    Mapped(Mmap),
    Heap(AlignedVec<ALIGN>),
}

/// Where a section of a bundle lies, for people who look inside.
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
    /// Bytes that are not aligned are copied; nothing else differs.
    pub fn from_static(bytes: &'static [u8]) -> Result<Self, Error> {
        if bytes.as_ptr().addr().is_multiple_of(ALIGN) {
            Self::new(Storage::Static(bytes))
        } else {
            Self::from_bytes(bytes)
        }
    }

    /// Opens a copy of `bytes` on the heap.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut heap = AlignedVec::with_capacity(bytes.len());
        heap.extend_from_slice(bytes);
        Self::new(Storage::Heap(heap))
    }

    /// Opens a bundle file: mapped where nobody else may write to it, else
    /// copied to the heap, since truncating a mapped file kills its reader.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let fault = |source| Error::Read {
            path: path.to_owned(),
            source,
        };
        let file = open_file(path).map_err(fault)?;
        let metadata = file.metadata().map_err(fault)?;
        if !metadata.is_file() {
            return Err(fault(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a regular file",
            )));
        }
        if metadata.len() > 0 && ownership::is_ours_alone(&metadata) {
            return Self::new(Storage::Mapped(map(&file).map_err(fault)?));
        }
        let mut heap = AlignedVec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
        heap.extend_from_reader(&mut &file).map_err(fault)?;
        Self::new(Storage::Heap(heap))
    }

    fn new(storage: Storage) -> Result<Self, Error> {
        let header = Header::read(storage.bytes())?;
        let (sums, index) = (header.range(Section::Pages), header.range(Section::Index));
        let pages = Pages::new(sums.len(), index.len())?;
        if !header.agrees(Section::Pages, &storage.bytes()[sums]) {
            return Err(corrupt("the page table does not agree with its checksum"));
        }
        Ok(Self {
            storage,
            header,
            pages,
            keywords_agree: OnceLock::new(),
            words_agree: OnceLock::new(),
        })
    }

    /// The questions a bundle answers. Cheap; take one for each request.
    pub fn catalog(&self) -> Result<Catalog<'_>, Error> {
        Catalog::new(self)
    }

    /// SHA-256 that names this content: equal for equal skills, whatever
    /// machine compiled them.
    pub fn content_address(&self) -> [u8; 32] {
        self.header.content_address
    }

    /// [`Self::content_address`] as 64 lower-case hexadecimal digits.
    pub fn content_hex(&self) -> String {
        hex(&self.header.content_address)
    }

    /// The whole file's length in bytes.
    pub fn byte_len(&self) -> u64 {
        self.storage.bytes().len() as u64
    }

    /// The bytes of the file.
    pub fn as_bytes(&self) -> &[u8] {
        self.storage.bytes()
    }

    /// Where the bytes lie: `embedded`, `mapped` or `memory`.
    pub fn storage(&self) -> &'static str {
        match self.storage {
            Storage::Static(_) => "embedded",
            Storage::Mapped(_) => "mapped",
            Storage::Heap(_) => "memory",
        }
    }

    /// The sections in file order.
    pub fn sections(&self) -> Vec<SectionInfo> {
        let info = |section: Section| {
            let range = self.header.range(section);
            SectionInfo {
                name: section.name(),
                offset: range.start as u64,
                len: range.len() as u64,
            }
        };
        let mut sections: Vec<_> = Section::ALL.into_iter().map(info).collect();
        sections.sort_by_key(|section| section.offset);
        sections
    }

    /// The bytes of a section, not checked.
    pub(crate) fn section(&self, section: Section) -> &[u8] {
        &self.storage.bytes()[self.header.range(section)]
    }

    /// Whether a section agrees with the checksum in the head. Reads all of it.
    pub(crate) fn agrees(&self, section: Section) -> bool {
        self.header.agrees(section, self.section(section))
    }

    /// Checks the pages that hold `start..start + len` of `INDEX`.
    pub(crate) fn check_index(&self, start: usize, len: usize) -> Result<(), Error> {
        self.pages.check(
            self.section(Section::Pages),
            self.section(Section::Index),
            start,
            len,
        )
    }

    /// The keyword tables, checked whole at their first use.
    pub(crate) fn keyword_section(&self) -> Result<&[u8], Error> {
        let agrees = *self
            .keywords_agree
            .get_or_init(|| self.agrees(Section::Keywords));
        agrees
            .then(|| self.section(Section::Keywords))
            .ok_or(corrupt(
                "the keyword tables do not agree with their checksum",
            ))
    }

    /// The word tables, checked whole at their first use.
    pub(crate) fn word_section(&self) -> Result<&[u8], Error> {
        let agrees = *self.words_agree.get_or_init(|| self.agrees(Section::Words));
        agrees
            .then(|| self.section(Section::Words))
            .ok_or(corrupt("the word tables do not agree with their checksum"))
    }
}

impl Storage {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Static(bytes) => bytes,
            Self::Mapped(map) => map,
            Self::Heap(heap) => heap,
        }
    }
}

impl std::fmt::Debug for Storage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Storage({} bytes)", self.bytes().len())
    }
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|nibble| char::from(DIGITS[usize::from(nibble)]))
        .collect()
}

/// Opens without waiting: a named pipe in the file's place must not hang us.
#[cfg(unix)]
fn open_file(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    File::options().read(true).custom_flags(flags).open(path)
}

#[cfg(not(unix))]
fn open_file(path: &Path) -> io::Result<File> {
    File::open(path)
}

#[expect(unsafe_code, reason = "the only place where a file is mapped")]
fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: a mapping must not change under its readers. `ownership` has
    // checked on this very handle that only we (or root) may write to the
    // file, and `publish` never changes a published file: it replaces it by
    // rename, which leaves this mapping as it is.
    unsafe { Mmap::map(file) }
}
