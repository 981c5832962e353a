//! Bodies and files as stored bytes: deduplicated by content, large files compressed if that saves
//! enough. Checksums are computed and verified here.

use std::borrow::Cow;
use std::collections::HashMap;

use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::xxh3_64;

use crate::container::Bundle;
use crate::error::{Error, corrupt};
use crate::header::Section;
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
pub(crate) struct Blobs {
    pub(crate) rows: Vec<BlobRow>,
    pub(crate) body: Vec<u8>,
    pub(crate) files: Vec<u8>,
    by_digest: HashMap<[u8; 32], u32>,
}

impl Blobs {
    /// Adds a Markdown file; these stay raw.
    pub(crate) fn add_body(&mut self, bytes: &[u8]) -> Result<u32, Error> {
        self.add(bytes, Section::Body)
    }

    /// Adds any other file.
    pub(crate) fn add_file(&mut self, bytes: &[u8]) -> Result<u32, Error> {
        self.add(bytes, Section::Files)
    }

    fn add(&mut self, bytes: &[u8], section: Section) -> Result<u32, Error> {
        let sha256: [u8; 32] = Sha256::digest(bytes).into();
        if let Some(id) = self.by_digest.get(&sha256) {
            return Ok(*id);
        }
        let (stored, flags) = if section == Section::Files {
            pack(bytes)?
        } else {
            (Cow::Borrowed(bytes), 0)
        };
        let region = if section == Section::Files {
            &mut self.files
        } else {
            &mut self.body
        };
        let id = u32::try_from(self.rows.len())
            .map_err(|_| Error::Invalid("more than 4 billion files".into()))?;
        self.rows.push(BlobRow {
            offset: region.len() as u64,
            stored_len: stored.len() as u64,
            len: bytes.len() as u64,
            check: xxh3_64(&stored),
            sha256,
            section: section as u32,
            flags,
        });
        region.extend_from_slice(&stored);
        self.by_digest.insert(sha256, id);
        Ok(id)
    }
}

/// The original bytes of a blob, checked.
pub(crate) fn read<'a>(row: &ArchivedBlobRow, bundle: &'a Bundle) -> Result<Cow<'a, [u8]>, Error> {
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
