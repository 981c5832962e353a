//! Storage of a bundle's bytes and access to it: tables as a slice, texts and files as a slice or a
//! copy. Does not interpret the bytes.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::path::Path;

use memmap2::{Mmap, MmapOptions};
use rkyv::util::AlignedVec;

use super::ownership;
use crate::error::{Error, corrupt};
use crate::header::{ALIGN, HEAD_LEN, Header, narrow};

/// The bytes of one bundle.
pub(super) enum Storage {
    /// Built into the program.
    Static(&'static [u8]),
    /// On the heap.
    Heap(AlignedVec<ALIGN>),
    /// In a file; its tables are in memory.
    File { file: File, tables: Tables },
}

pub(super) enum Tables {
    Mapped(Mmap),
    Heap(AlignedVec<ALIGN>),
}

impl Storage {
    /// The file's head and its storage. The tables are mapped if no other user can write to the
    /// file, and copied to the heap otherwise: truncating a mapped file kills the process that
    /// reads it.
    pub(super) fn open(path: &Path) -> Result<(Header, Self), Error> {
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
        let start_len = HEAD_LEN.min(usize::try_from(metadata.len()).unwrap_or(HEAD_LEN));
        let mut start = [0; HEAD_LEN];
        read_at(&file, &mut start[..start_len], 0).map_err(fault)?;
        let header = Header::read(&start[..start_len], metadata.len())?;
        let len = narrow(header.tables_end())?;
        let tables = if ownership::is_ours_alone(&metadata) {
            Tables::Mapped(map(&file, len).map_err(fault)?)
        } else {
            let mut heap = AlignedVec::with_capacity(len);
            heap.resize(len, 0);
            read_at(&file, &mut heap, 0).map_err(fault)?;
            Tables::Heap(heap)
        };
        Ok((header, Self::File { file, tables }))
    }

    /// A storage on the heap with a copy of `bytes`.
    pub(super) fn copy(bytes: &[u8]) -> Self {
        let mut heap = AlignedVec::with_capacity(bytes.len());
        heap.extend_from_slice(bytes);
        Self::Heap(heap)
    }

    /// The first bytes of the file: at least the head and the tables.
    pub(super) fn tables(&self) -> &[u8] {
        match self {
            Self::Static(bytes) => bytes,
            Self::File {
                tables: Tables::Mapped(map),
                ..
            } => map,
            Self::Heap(heap)
            | Self::File {
                tables: Tables::Heap(heap),
                ..
            } => heap,
        }
    }

    /// Any bytes of the file.
    pub(super) fn read(&self, start: u64, len: usize) -> Result<Cow<'_, [u8]>, Error> {
        const WHERE: Error = corrupt("the range of a file is outside the bundle");
        let bytes = match self {
            Self::Static(bytes) => bytes,
            Self::Heap(heap) => heap.as_slice(),
            Self::File { file, .. } => {
                let mut bytes = vec![0; len];
                read_at(file, &mut bytes, start)
                    .map_err(|_| corrupt("the file cannot be read, or was cut short"))?;
                return Ok(Cow::Owned(bytes));
            }
        };
        let start = narrow(start)?;
        start
            .checked_add(len)
            .and_then(|end| bytes.get(start..end))
            .map(Cow::Borrowed)
            .ok_or(WHERE)
    }

    /// The kind of storage: `embedded`, `mapped`, `memory`, or `file` if the tables could not be
    /// mapped either.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Static(_) => "embedded",
            Self::Heap(_) => "memory",
            Self::File {
                tables: Tables::Mapped(_),
                ..
            } => "mapped",
            Self::File {
                tables: Tables::Heap(_),
                ..
            } => "file",
        }
    }
}

impl std::fmt::Debug for Storage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Storage").field(&self.name()).finish()
    }
}

/// Opens without blocking: a named pipe in place of the file must not hang the process.
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

/// Fills `bytes` from an offset. Safe with concurrent readers of the same file.
#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, bytes, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                bytes = &mut bytes[read..];
                offset += read as u64;
            }
        }
    }
    Ok(())
}

#[expect(unsafe_code, reason = "the only place where a file is mapped")]
fn map(file: &File, len: usize) -> io::Result<Mmap> {
    // SAFETY: a mapping must not change while it is read. `ownership` has checked on this same
    // handle that only the current user or root may write to the file, and `publish` never changes
    // a published file: it replaces it by rename, which does not affect this mapping.
    unsafe { MmapOptions::new().len(len).map(file) }
}
