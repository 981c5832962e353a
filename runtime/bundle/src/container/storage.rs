//! Storage of a bundle's bytes and access to it: tables as a slice, texts and files as a slice or a
//! copy. Does not interpret the bytes.

use std::borrow::Cow;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use memmap2::{Mmap, MmapOptions};
use rkyv::util::AlignedVec;

use crate::error::{Error, corrupt};
use crate::header::{ALIGN, HEAD_LEN, Header, narrow};

/// The bytes of one bundle.
pub(super) enum Storage {
    /// Built into the program.
    Static(&'static [u8]),
    /// On the heap.
    Heap(AlignedVec<ALIGN>),
    /// In a file; its tables are in memory. The path is for messages.
    File {
        file: File,
        path: PathBuf,
        tables: Tables,
    },
}

pub(super) enum Tables {
    Mapped(Mmap),
    Heap(AlignedVec<ALIGN>),
}

impl Storage {
    /// The file's head and its storage. The tables are copied to the heap, since truncating a
    /// mapped file kills the process that reads it.
    pub(super) fn open(path: &Path) -> Result<(Header, Self), Error> {
        let opened = OpenFile::open(path, false)?;
        let tables = opened
            .tables_on_heap()
            .map_err(|error| read_error(path, error))?;
        Ok(opened.with(path, Tables::Heap(tables)))
    }

    /// The file's head.
    pub(super) fn head(path: &Path) -> Result<Header, Error> {
        Ok(OpenFile::open(path, false)?.header)
    }

    /// The same for a file of the store, whose tables are mapped. Fails if anybody but the current
    /// user could change the file.
    pub(super) fn open_stored(path: &Path) -> Result<(Header, Self), Error> {
        let opened = OpenFile::open(path, true)?;
        let map = map(&opened.file, opened.tables_len).map_err(|error| read_error(path, error))?;
        Ok(opened.with(path, Tables::Mapped(map)))
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
            Self::File { file, path, .. } => {
                let mut bytes = vec![0; len];
                return match read_at(file, &mut bytes, start) {
                    Ok(()) => Ok(Cow::Owned(bytes)),
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                        Err(corrupt("the file was cut short"))
                    }
                    Err(error) => Err(read_error(path, error)),
                };
            }
        };
        let start = narrow(start)?;
        start
            .checked_add(len)
            .and_then(|end| bytes.get(start..end))
            .map(Cow::Borrowed)
            .ok_or(WHERE)
    }

    /// The file now has this name.
    pub(super) fn rename(&mut self, to: PathBuf) {
        if let Self::File { path, .. } = self {
            *path = to;
        }
    }

    /// The kind of storage, as [`super::Bundle::storage`] explains.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Static(_) => "embedded",
            Self::Heap(_) => "memory",
            Self::File {
                tables: Tables::Mapped(_),
                ..
            } => "stored",
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

/// Opens without blocking: a named pipe in place of the file must not hang the process. A file of
/// the store is never a link.
#[cfg(unix)]
fn open_file(path: &Path, stored: bool) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut flags = rustix::fs::OFlags::NONBLOCK;
    flags.set(rustix::fs::OFlags::NOFOLLOW, stored);
    let flags = flags.bits().cast_signed();
    File::options().read(true).custom_flags(flags).open(path)
}

#[cfg(not(unix))]
fn open_file(path: &Path, _: bool) -> io::Result<File> {
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

/// A bundle file whose head has been checked.
struct OpenFile {
    file: File,
    header: Header,
    tables_len: usize,
}

impl OpenFile {
    fn open(path: &Path, stored: bool) -> Result<Self, Error> {
        let fault = |error| read_error(path, error);
        let file = open_file(path, stored).map_err(fault)?;
        let metadata = file.metadata().map_err(fault)?;
        if !metadata.is_file() {
            return Err(fault(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a regular file",
            )));
        }
        if stored && !is_immutable(&metadata) {
            return Err(fault(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "another user could change this file of the cache",
            )));
        }
        let start_len = HEAD_LEN.min(usize::try_from(metadata.len()).unwrap_or(HEAD_LEN));
        let mut start = [0; HEAD_LEN];
        read_at(&file, &mut start[..start_len], 0).map_err(fault)?;
        let header = Header::read(&start[..start_len], metadata.len())?;
        let tables_len = narrow(header.tables_end())?;
        Ok(Self {
            file,
            header,
            tables_len,
        })
    }

    fn tables_on_heap(&self) -> io::Result<AlignedVec<ALIGN>> {
        let mut heap = AlignedVec::with_capacity(self.tables_len);
        heap.resize(self.tables_len, 0);
        read_at(&self.file, &mut heap, 0)?;
        Ok(heap)
    }

    fn with(self, path: &Path, tables: Tables) -> (Header, Storage) {
        let (file, path) = (self.file, path.to_owned());
        (self.header, Storage::File { file, path, tables })
    }
}

fn read_error(path: &Path, source: io::Error) -> Error {
    Error::Read {
        path: path.to_owned(),
        source,
    }
}

/// Whether the file belongs to the current user, and nobody may write to it.
#[cfg(unix)]
fn is_immutable(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o222 == 0
}

/// Other systems refuse to truncate a mapped file.
#[cfg(not(unix))]
fn is_immutable(_: &Metadata) -> bool {
    cfg!(windows)
}

#[expect(unsafe_code, reason = "the only place where a file is mapped")]
fn map(file: &File, len: usize) -> io::Result<Mmap> {
    // SAFETY: a mapping must not change while it is read. The file lies in the store, a directory
    // that only the current user may enter; `is_immutable` has checked on this same handle that
    // nobody may write to it, and the store never changes a file: it replaces it by rename, which
    // does not affect this mapping.
    unsafe { MmapOptions::new().len(len).map(file) }
}
