//! The head of a bundle, parsed by hand: magic, versions, exact length, content address and the
//! section table, under one checksum. This module does not parse the sections.
//!
//! ```text
//!   0  magic            89 53 4b 42 0d 0a 1a 0a ("\x89SKB\r\n\x1a\n")
//!   8  format version   u32
//!  12  must-understand  u32, feature bits
//!  16  schema           u64, fingerprint of the table layout
//!  24  file length      u64, exact
//!  32  content address  SHA-256 over version, schema and INDEX, which holds the SHA-256
//!                       of every body and file
//!  64  section count    u32, then u32 zero
//!  72  sections         40 bytes each: kind u32, zero u32, offset u64,
//!                       length u64, xxh3-128 of the section
//!  ..  head checksum    u64, xxh3-64 of everything before it
//! ```
//! All numbers are little-endian. Sections follow in the order of [`Section::ALL`]. The tables
//! begin at multiples of 16 with zero padding between them; `BODY` and `FILES` begin at the end of
//! the previous section.

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, corrupt};
use crate::schema::FINGERPRINT;

/// Text tools that translate line ends or truncate at NUL or ^Z corrupt these bytes, so the damage
/// is detected.
pub(crate) const MAGIC: [u8; 8] = *b"\x89SKB\r\n\x1a\n";

/// The format that this program writes and the only one it reads. A bundle is a cache of its
/// sources, so a version mismatch requires a new compile. There are no migrations.
pub(crate) const VERSION: u32 = 4;

/// Must-understand bits that this program supports; none are defined yet.
const KNOWN_BITS: u32 = 0;

/// Rows of rkyv tables need an alignment of at most 8. Cache-line alignment lets tables keep data
/// that is read together in one cache line.
pub(crate) const ALIGN: usize = 64;

const FIXED_LEN: usize = 72;
const ENTRY_LEN: usize = 40;
const TABLE_END: usize = FIXED_LEN + Section::ALL.len() * ENTRY_LEN;

/// The length of the head. The sections follow.
pub(crate) const HEAD_LEN: usize = TABLE_END + 8;

/// The content of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    /// xxh3-64 of every page of `INDEX`.
    Pages = 1,
    /// The rkyv root with the flat tables.
    Index = 2,
    /// The Markdown files, raw.
    Body = 3,
    /// The other files, raw or zstd.
    Files = 4,
}

impl Section {
    /// Every section in file order: sections that are read at every start come first.
    pub(crate) const ALL: [Self; 4] = [Self::Pages, Self::Index, Self::Body, Self::Files];

    /// The number of leading sections that are tables and must be in memory. The others may stay in
    /// the file.
    const TABLES: usize = 2;

    /// The name shown by `inspect`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Pages => "PAGES",
            Self::Index => "INDEX",
            Self::Body => "BODY",
            Self::Files => "FILES",
        }
    }

    pub(crate) fn from_code(code: u32) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|section| *section as u32 == code)
    }

    /// The start of the section if the previous one ends at `end`. Only tables are read in place as
    /// numbers and need alignment.
    fn start_after(self, end: u64) -> u64 {
        match self {
            Self::Body | Self::Files => end,
            _ => end.next_multiple_of(ALIGN as u64),
        }
    }
}

/// The checked head of a bundle.
#[derive(Debug, Clone)]
pub(crate) struct Header {
    pub(crate) content_address: [u8; 32],
    /// Range in the file and xxh3-128, in the order of [`Section::ALL`].
    sections: [(Range<u64>, u128); Section::ALL.len()],
}

impl Header {
    /// Reads and checks the head of a file of `file_len` bytes. `start` is the first part of the
    /// file, with at least [`HEAD_LEN`] bytes if the file has that many. The sections must fill the
    /// rest of the file exactly.
    pub(crate) fn read(start: &[u8], file_len: u64) -> Result<Self, Error> {
        if !start.starts_with(&MAGIC) {
            return Err(not_a_bundle(start));
        }
        // A truncated head may not even contain the length.
        let cut = Error::Length {
            expected: u64_at(start, 24).max(HEAD_LEN as u64),
            found: file_len,
        };
        check_compatible(start.get(..FIXED_LEN).ok_or(cut)?)?;
        let expected = u64_at(start, 24);
        let found = file_len;
        let head = start
            .get(..HEAD_LEN)
            .ok_or(Error::Length { expected, found })?;
        if xxh3_64(&head[..TABLE_END]) != u64_at(head, TABLE_END) {
            return Err(corrupt("the header does not agree with its checksum"));
        }
        if expected != found {
            return Err(Error::Length { expected, found });
        }
        let sections = read_table(head, file_len)?;
        Ok(Self {
            content_address: array_at(head, 32),
            sections,
        })
    }

    /// The range of a section in the file.
    pub(crate) fn range(&self, section: Section) -> Range<u64> {
        self.entry(section).0.clone()
    }

    /// The length of the head and all tables: what must be in memory.
    pub(crate) fn tables_end(&self) -> u64 {
        self.range(Section::Index).end
    }

    /// Whether `hash` is the xxh3-128 of a section.
    pub(crate) fn names(&self, section: Section, hash: u128) -> bool {
        self.entry(section).1 == hash
    }

    /// Checks that the bytes between the tables are zero, so that no byte of the file is unchecked.
    /// `tables` is the start of the file.
    pub(crate) fn check_gaps(&self, tables: &[u8]) -> Result<(), Error> {
        let mut end = HEAD_LEN;
        for (range, _) in &self.sections[..Section::TABLES] {
            let (start, stop) = (narrow(range.start)?, narrow(range.end)?);
            let gap = tables
                .get(end..start)
                .ok_or(corrupt("a table is outside the file"))?;
            if gap.iter().any(|byte| *byte != 0) {
                return Err(corrupt("the padding between the tables is not zero"));
            }
            end = stop;
        }
        Ok(())
    }

    fn entry(&self, section: Section) -> &(Range<u64>, u128) {
        &self.sections[section as usize - 1]
    }
}

/// An offset as a memory index.
pub(crate) fn narrow(offset: u64) -> Result<usize, Error> {
    usize::try_from(offset)
        .map_err(|_| corrupt("a section is too large for this machine's address space"))
}

/// The head of a bundle to be written, and the layout of its sections.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) bytes: Vec<u8>,
    /// The number of zero bytes before each table.
    pub(crate) padding: [usize; Section::TABLES],
    /// The length of the whole file.
    pub(crate) file_len: u64,
}

impl Head {
    /// Lays out sections, given by length and xxh3-128 in the order of [`Section::ALL`].
    pub(crate) fn new(
        content_address: &[u8; 32],
        sections: &[(u64, u128); Section::ALL.len()],
    ) -> Self {
        let mut table = Vec::with_capacity(TABLE_END - FIXED_LEN);
        let mut padding = [0; Section::TABLES];
        let mut end = HEAD_LEN as u64;
        for (at, (section, (len, hash))) in Section::ALL.into_iter().zip(sections).enumerate() {
            let start = section.start_after(end);
            if let Some(padding) = padding.get_mut(at) {
                *padding = usize::try_from(start - end).expect("less than the alignment");
            }
            table.extend_from_slice(&(section as u64).to_le_bytes());
            table.extend_from_slice(&start.to_le_bytes());
            table.extend_from_slice(&len.to_le_bytes());
            table.extend_from_slice(&hash.to_le_bytes());
            end = start + len;
        }
        let mut bytes = Vec::with_capacity(HEAD_LEN);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&KNOWN_BITS.to_le_bytes());
        bytes.extend_from_slice(&FINGERPRINT.to_le_bytes());
        bytes.extend_from_slice(&end.to_le_bytes());
        bytes.extend_from_slice(content_address);
        bytes.extend_from_slice(&(sections.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&table);
        bytes.extend_from_slice(&xxh3_64(&bytes).to_le_bytes());
        Self {
            bytes,
            padding,
            file_len: end,
        }
    }
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
    head: &[u8],
    file_len: u64,
) -> Result<[(Range<u64>, u128); Section::ALL.len()], Error> {
    const WHERE: Error = corrupt("wrong offset or length in the section table");
    if u64_at(head, 64) != Section::ALL.len() as u64 {
        return Err(corrupt("wrong number of sections in the section table"));
    }
    let mut sections = [const { (0..0, 0) }; Section::ALL.len()];
    let mut end = HEAD_LEN as u64;
    for ((at, section), place) in (0..).zip(Section::ALL).zip(&mut sections) {
        let entry = &head[FIXED_LEN + at * ENTRY_LEN..][..ENTRY_LEN];
        let start = section.start_after(end);
        if u64_at(entry, 0) != section as u64 || u64_at(entry, 8) != start {
            return Err(WHERE);
        }
        end = start
            .checked_add(u64_at(entry, 16))
            .filter(|end| *end <= file_len)
            .ok_or(WHERE)?;
        *place = (start..end, u128_at(entry, 24));
    }
    if end == file_len {
        Ok(sections)
    } else {
        Err(WHERE)
    }
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

/// Callers check the length; a short slice reads as zeros.
fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes
        .get(at..at + N)
        .and_then(|slice| slice.try_into().ok())
        .unwrap_or([0; N])
}
