//! Bodies and files as stored bytes: deduplicated by content, large files compressed if that saves
//! enough. Checksums are computed and verified here.

use std::borrow::Cow;
use std::collections::HashMap;

use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::xxh3_64;

use crate::container::Bundle;
use crate::error::{Error, corrupt};
use crate::header::Section;
use crate::image::Parts;
use crate::schema::{ArchivedBlobRow, BlobRow, flag};

/// Smaller files stay raw: they are served directly from the archive, and decompression would cost
/// more than the pages it saves.
const COMPRESS_FROM: usize = 64 * 1024;

/// Compression must save a quarter; otherwise reading raw bytes is cheaper (images and archives do
/// not shrink).
const COMPRESS_TO_PERCENT: usize = 75;

/// Level 19 saves 2.6 % more than level 3 and takes a hundred times as long.
const ZSTD_LEVEL: i32 = 3;

/// Far above the compiler's limit for one file. Prevents a forged length from allocating too much
/// memory.
const MAX_UNPACKED: u64 = 256 * 1024 * 1024;

/// Collects blobs; equal contents share one row.
#[derive(Debug, Default)]
pub(crate) struct Blobs<'a> {
    pub(crate) rows: Vec<BlobRow>,
    pub(crate) body: Parts<'a>,
    pub(crate) files: Parts<'a>,
    /// The lengths of `body` and `files`.
    lengths: [u64; 2],
    by_digest: HashMap<[u8; 32], u32>,
}

/// Bytes in the form in which they are stored, with their checksums.
#[derive(Debug)]
pub(crate) struct Blob<'a> {
    stored: Cow<'a, [u8]>,
    /// The row, except for its offset.
    row: BlobRow,
}

impl<'a> Blob<'a> {
    /// A Markdown file; these stay raw.
    pub(crate) fn body(bytes: impl Into<Cow<'a, [u8]>>) -> Self {
        let bytes = bytes.into();
        let (len, sha256) = (bytes.len(), Sha256::digest(&bytes).into());
        Self::new(Section::Body, bytes, 0, len, sha256)
    }

    /// Any other file.
    pub(crate) fn file(bytes: &'a [u8]) -> Result<Self, Error> {
        let (stored, flags) = pack(bytes)?;
        let sha256 = Sha256::digest(bytes).into();
        Ok(Self::new(
            Section::Files,
            stored,
            flags,
            bytes.len(),
            sha256,
        ))
    }

    fn new(
        section: Section,
        stored: Cow<'a, [u8]>,
        flags: u32,
        len: usize,
        sha256: [u8; 32],
    ) -> Self {
        let row = BlobRow {
            offset: 0,
            stored_len: stored.len() as u64,
            len: len as u64,
            check: xxh3_64(&stored),
            sha256,
            section: section as u32,
            flags,
        };
        Self { stored, row }
    }
}

impl<'a> Blobs<'a> {
    /// Adds a file of which only the length is known. Returns its row.
    pub(crate) fn add_unread(&mut self, len: u64) -> Result<u32, Error> {
        let id = self.next()?;
        self.rows.push(BlobRow {
            offset: 0,
            stored_len: 0,
            len,
            check: 0,
            sha256: [0; 32],
            section: Section::Files as u32,
            flags: flag::UNREAD,
        });
        Ok(id)
    }

    fn next(&self) -> Result<u32, Error> {
        u32::try_from(self.rows.len())
            .map_err(|_| Error::Invalid("more than 4 billion files".into()))
    }

    /// Adds a blob. Returns its row.
    pub(crate) fn add(&mut self, blob: Blob<'a>) -> Result<u32, Error> {
        let Blob { stored, mut row } = blob;
        if let Some(id) = self.by_digest.get(&row.sha256) {
            return Ok(*id);
        }
        let id = self.next()?;
        self.by_digest.insert(row.sha256, id);
        let is_file = row.section == Section::Files as u32;
        let length = &mut self.lengths[usize::from(is_file)];
        row.offset = *length;
        *length += row.stored_len;
        self.rows.push(row);
        if is_file {
            self.files.push(stored);
        } else {
            self.body.push(stored);
        }
        Ok(id)
    }
}

/// The original bytes of a blob, checked.
pub(crate) fn read<'a>(row: &ArchivedBlobRow, bundle: &'a Bundle) -> Result<Cow<'a, [u8]>, Error> {
    bundle.noting(read_checked(row, bundle))
}

fn read_checked<'a>(row: &ArchivedBlobRow, bundle: &'a Bundle) -> Result<Cow<'a, [u8]>, Error> {
    let section = Section::from_code(row.section.to_native());
    let Some(section @ (Section::Body | Section::Files)) = section else {
        return Err(corrupt(
            "a file refers to a section that does not contain files",
        ));
    };
    let (len, stored_len) = (row.len.to_native(), row.stored_len.to_native());
    let stored = bundle.read(section, row.offset.to_native(), stored_len)?;
    if xxh3_64(&stored) != row.check.to_native() {
        return Err(corrupt("a file does not agree with its checksum"));
    }
    if row.flags.to_native() & flag::ZSTD != 0 {
        return unpack(&stored, len).map(Cow::Owned);
    }
    if len == stored_len {
        Ok(stored)
    } else {
        Err(corrupt("an uncompressed file has two different lengths"))
    }
}

/// Whether `bytes` have the SHA-256 of the row.
pub(crate) fn has_digest(row: &ArchivedBlobRow, bytes: &[u8]) -> bool {
    <[u8; 32]>::from(Sha256::digest(bytes)) == row.sha256
}

fn pack(bytes: &[u8]) -> Result<(Cow<'_, [u8]>, u32), Error> {
    if bytes.len() < COMPRESS_FROM {
        return Ok((Cow::Borrowed(bytes), 0));
    }
    let packed = zstd::bulk::compress(bytes, ZSTD_LEVEL)
        .map_err(|error| Error::Invalid(format!("zstd: {error}")))?;
    if packed.len() > bytes.len() / 100 * COMPRESS_TO_PERCENT {
        return Ok((Cow::Borrowed(bytes), 0));
    }
    Ok((Cow::Owned(packed), flag::ZSTD))
}

fn unpack(stored: &[u8], len: u64) -> Result<Vec<u8>, Error> {
    const PACKED: Error = corrupt("a compressed file cannot be decompressed");
    let capacity = usize::try_from(len)
        .ok()
        .filter(|_| len <= MAX_UNPACKED)
        .ok_or(PACKED)?;
    let bytes = zstd::bulk::decompress(stored, capacity).map_err(|_| PACKED)?;
    if bytes.len() == capacity {
        Ok(bytes)
    } else {
        Err(PACKED)
    }
}
