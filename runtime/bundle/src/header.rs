//! The hand-read head of a bundle: magic, versions, exact length, content
//! address and the section table, under one checksum. Nothing here looks
//! inside a section.
//!
//! ```text
//!   0  magic            89 53 4b 42 0d 0a 1a 0a ("\x89SKB\r\n\x1a\n")
//!   8  format version   u32
//!  12  must-understand  u32, feature bits
//!  16  schema           u64, fingerprint of the table layout
//!  24  file length      u64, exact
//!  32  content address  SHA-256 over versions, schema, INDEX, KEYWORDS and WORDS;
//!                       INDEX holds the SHA-256 of every body and file
//!  64  section count    u32, then u32 zero
//!  72  sections         40 bytes each: kind u32, zero u32, offset u64,
//!                       length u64, xxh3-128 of the section
//!  ..  head checksum    u64, xxh3-64 of everything before it
//! ```
//! All numbers are little-endian. Sections begin at multiples of 16, in table
//! order; the bytes between them are zero.

use std::ops::Range;

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::error::{Error, corrupt};
use crate::schema::FINGERPRINT;

/// Text tools that translate line ends or cut at NUL or ^Z break this, visibly.
pub(crate) const MAGIC: [u8; 8] = *b"\x89SKB\r\n\x1a\n";

/// The format this program writes and the only one it reads. A bundle is a
/// cache of its sources, so a mismatch asks for a new compile, never for a
/// migration.
pub(crate) const VERSION: u32 = 1;

/// Must-understand bits that this program knows; none are defined yet.
const KNOWN_BITS: u32 = 0;

/// Rows of rkyv tables need at most 8; 16 leaves room for wider loads.
pub(crate) const ALIGN: usize = 16;

const FIXED_LEN: usize = 72;
const ENTRY_LEN: usize = 40;
const CHECK_LEN: usize = 8;
/// Far above what is written; keeps a hostile count from costing anything.
const MAX_SECTIONS: usize = 64;

/// What a section holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    /// xxh3-64 of every page of `INDEX`.
    Pages = 1,
    /// The rkyv root with the flat tables.
    Index = 2,
    /// Keyword tables for spec 3's matching.
    Keywords = 3,
    /// Word tables for spec 4's search.
    Words = 4,
    /// The Markdown files, raw.
    Body = 5,
    /// The other files, raw or zstd.
    Files = 6,
}

impl Section {
    /// Every section, in the order in which they are written: what is read at
    /// each start comes first.
    pub(crate) const ALL: [Self; 6] = [
        Self::Pages,
        Self::Index,
        Self::Keywords,
        Self::Words,
        Self::Body,
        Self::Files,
    ];

    /// The name shown by `inspect`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Pages => "PAGES",
            Self::Index => "INDEX",
            Self::Keywords => "KEYWORDS",
            Self::Words => "WORDS",
            Self::Body => "BODY",
            Self::Files => "FILES",
        }
    }

    pub(crate) fn from_code(code: u32) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|section| *section as u32 == code)
    }
}

/// The checked head of a bundle.
#[derive(Debug, Clone)]
pub(crate) struct Header {
    pub(crate) content_address: [u8; 32],
    /// Range and xxh3-128, indexed like [`Section::ALL`].
    sections: [(Range<usize>, u128); Section::ALL.len()],
}

impl Header {
    /// Reads and checks the head of `bytes`, and that the sections fill the
    /// rest of them exactly.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Error> {
        let fixed = bytes
            .get(..FIXED_LEN)
            .filter(|_| bytes.starts_with(&MAGIC))
            .ok_or_else(|| not_a_bundle(bytes))?;
        check_compatible(fixed)?;
        let count = u32_at(fixed, 64) as usize;
        if count > MAX_SECTIONS || u32_at(fixed, 68) != 0 {
            return Err(corrupt("the header's section count"));
        }
        let table_end = FIXED_LEN + count * ENTRY_LEN;
        let head = bytes.get(..table_end + CHECK_LEN).ok_or(Error::Length {
            expected: u64_at(fixed, 24),
            found: bytes.len() as u64,
        })?;
        if xxh3_64(&head[..table_end]) != u64_at(head, table_end) {
            return Err(corrupt("the header does not agree with its checksum"));
        }
        if u64_at(fixed, 24) != bytes.len() as u64 {
            return Err(Error::Length {
                expected: u64_at(fixed, 24),
                found: bytes.len() as u64,
            });
        }
        let sections = read_table(&head[FIXED_LEN..table_end], bytes, table_end + CHECK_LEN)?;
        let mut content_address = [0; 32];
        content_address.copy_from_slice(&fixed[32..64]);
        Ok(Self {
            content_address,
            sections,
        })
    }

    /// Where a section lies.
    pub(crate) fn range(&self, section: Section) -> Range<usize> {
        self.entry(section).0.clone()
    }

    /// Whether `bytes` of a section agree with its checksum.
    pub(crate) fn agrees(&self, section: Section, bytes: &[u8]) -> bool {
        self.entry(section).1 == xxh3_128(bytes)
    }

    fn entry(&self, section: Section) -> &(Range<usize>, u128) {
        &self.sections[section as usize - 1]
    }
}

/// Lays out the sections behind a head, in the order of [`Section::ALL`].
pub(crate) fn assemble(
    content_address: &[u8; 32],
    sections: &[Vec<u8>; Section::ALL.len()],
) -> Vec<u8> {
    let head_len = FIXED_LEN + sections.len() * ENTRY_LEN + CHECK_LEN;
    let mut offsets = Vec::with_capacity(sections.len());
    let mut end = head_len;
    for section in sections {
        let start = end.next_multiple_of(ALIGN);
        offsets.push(start);
        end = start + section.len();
    }
    let mut out = Vec::with_capacity(end);
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&KNOWN_BITS.to_le_bytes());
    out.extend_from_slice(&FINGERPRINT.to_le_bytes());
    out.extend_from_slice(&(end as u64).to_le_bytes());
    out.extend_from_slice(content_address);
    out.extend_from_slice(&(sections.len() as u64).to_le_bytes());
    for ((section, bytes), offset) in Section::ALL.iter().zip(sections).zip(&offsets) {
        out.extend_from_slice(&(*section as u64).to_le_bytes());
        out.extend_from_slice(&(*offset as u64).to_le_bytes());
        out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        out.extend_from_slice(&xxh3_128(bytes).to_le_bytes());
    }
    let check = xxh3_64(&out);
    out.extend_from_slice(&check.to_le_bytes());
    for (bytes, offset) in sections.iter().zip(offsets) {
        out.resize(offset, 0);
        out.extend_from_slice(bytes);
    }
    out
}

fn check_compatible(fixed: &[u8]) -> Result<(), Error> {
    let (version, bits, schema) = (u32_at(fixed, 8), u32_at(fixed, 12), u64_at(fixed, 16));
    if version != VERSION {
        return Err(Error::Version {
            found: version,
            supported: VERSION,
        });
    }
    if bits & !KNOWN_BITS != 0 {
        return Err(Error::Required {
            bits: bits & !KNOWN_BITS,
        });
    }
    if schema != FINGERPRINT {
        return Err(Error::Schema {
            found: schema,
            supported: FINGERPRINT,
        });
    }
    Ok(())
}

fn read_table(
    table: &[u8],
    bytes: &[u8],
    head_len: usize,
) -> Result<[(Range<usize>, u128); Section::ALL.len()], Error> {
    let mut sections = [const { (0..0, 0) }; Section::ALL.len()];
    let mut seen = [false; Section::ALL.len()];
    let mut end = head_len;
    for entry in table.chunks_exact(ENTRY_LEN) {
        let section = Section::from_code(u32_at(entry, 0)).filter(|_| u32_at(entry, 4) == 0);
        let at = section.ok_or(corrupt("the section table names an unknown section"))? as usize - 1;
        let range = section_range(entry, bytes, end)?;
        end = range.end;
        sections[at] = (range, u128_at(entry, 24));
        if std::mem::replace(&mut seen[at], true) {
            return Err(corrupt("the section table names a section twice"));
        }
    }
    if end != bytes.len() || seen.contains(&false) {
        return Err(corrupt(
            "the sections are not all there, or do not fill the file",
        ));
    }
    Ok(sections)
}

/// The range of an entry: it must follow `end` at the next aligned offset, and
/// the bytes between must be zero, so that no byte of the file goes unchecked.
fn section_range(entry: &[u8], bytes: &[u8], end: usize) -> Result<Range<usize>, Error> {
    const WHERE: Error = corrupt("the section table points to the wrong place");
    let start = end.next_multiple_of(ALIGN);
    let len = usize::try_from(u64_at(entry, 16)).map_err(|_| WHERE)?;
    let stop = start
        .checked_add(len)
        .filter(|stop| *stop <= bytes.len())
        .ok_or(WHERE)?;
    if u64_at(entry, 8) != start as u64 || bytes[end..start].iter().any(|byte| *byte != 0) {
        return Err(WHERE);
    }
    Ok(start..stop)
}

fn not_a_bundle(bytes: &[u8]) -> Error {
    let found = match bytes {
        [] => "an empty file".to_owned(),
        _ => format!(
            "{:?}",
            String::from_utf8_lossy(&bytes[..bytes.len().min(8)])
        ),
    };
    Error::NotABundle { found }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array_at(bytes, at))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array_at(bytes, at))
}

fn u128_at(bytes: &[u8], at: usize) -> u128 {
    u128::from_le_bytes(array_at(bytes, at))
}

/// Callers have checked the length; a short slice reads as zeros.
fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes
        .get(at..at + N)
        .and_then(|slice| slice.try_into().ok())
        .unwrap_or([0; N])
}
