//! A bundle that is laid out but not yet in one piece: the tables, and the texts and files where
//! their owner keeps them. Writing it to a file needs no second copy of the texts.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use rkyv::util::AlignedVec;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::container::{Bundle, hex, publish_parts};
use crate::error::Error;
use crate::header::{ALIGN, Head};
use crate::page_sums;

/// The parts of one section, in order.
pub(crate) type Parts<'a> = Vec<Cow<'a, [u8]>>;

/// A bundle before it is written, made by [`crate::lay_out`].
#[derive(Debug)]
pub struct Image<'a> {
    address: [u8; 32],
    head: Head,
    pages: Vec<u8>,
    index: AlignedVec,
    body: Parts<'a>,
    files: Parts<'a>,
}

impl<'a> Image<'a> {
    pub(crate) fn new(
        address: [u8; 32],
        index: AlignedVec,
        body: Parts<'a>,
        files: Parts<'a>,
    ) -> Self {
        let pages = page_sums::of(&index);
        let table = |bytes: &[u8]| (bytes.len() as u64, xxh3_128(bytes));
        let sections = [table(&pages), table(&index), sum(&body), sum(&files)];
        Self {
            address,
            head: Head::new(&address, &sections),
            pages,
            index,
            body,
            files,
        }
    }

    /// The content address, see [`Bundle::content_address`].
    pub(crate) fn address(&self) -> [u8; 32] {
        self.address
    }

    /// The content address as 64 lower-case hexadecimal digits, see [`Bundle::content_hex`].
    pub fn content_hex(&self) -> String {
        hex(&self.address)
    }

    /// The length of the bundle in bytes.
    pub fn byte_len(&self) -> u64 {
        self.head.file_len
    }

    /// The whole bundle in one piece.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.capacity());
        self.parts().for_each(|part| bytes.extend_from_slice(part));
        bytes
    }

    /// Opens the bundle in memory.
    ///
    /// # Errors
    /// None is expected, because the bytes are those of a valid bundle.
    pub fn to_bundle(&self) -> Result<Bundle, Error> {
        let mut bytes = AlignedVec::<ALIGN>::with_capacity(self.capacity());
        self.parts().for_each(|part| bytes.extend_from_slice(part));
        Bundle::from_aligned(bytes)
    }

    /// Writes the bundle to a file, in the same way as [`crate::publish`].
    ///
    /// # Errors
    /// See [`crate::publish`].
    pub fn publish(&self, path: &Path) -> io::Result<()> {
        publish_parts(path, self.byte_len(), || self.parts())
    }

    fn capacity(&self) -> usize {
        usize::try_from(self.byte_len()).unwrap_or(0)
    }

    /// Every byte of the file, in order.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &[u8]> {
        const ZEROS: &[u8] = &[0; ALIGN];
        let [before_pages, before_index] = self.head.padding;
        let tables = [
            &self.head.bytes,
            &ZEROS[..before_pages],
            &self.pages,
            &ZEROS[..before_index],
            &*self.index,
        ];
        let contents = self.body.iter().chain(&self.files);
        tables.into_iter().chain(contents.map(AsRef::as_ref))
    }
}

/// Length and xxh3-128 of a section.
fn sum(parts: &[Cow<'_, [u8]>]) -> (u64, u128) {
    let mut hash = Xxh3::new();
    let mut len = 0;
    for part in parts {
        hash.update(part);
        len += part.len() as u64;
    }
    (len, hash.digest128())
}
