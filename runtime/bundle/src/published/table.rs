//! How `PUBLISHED` lies in bytes, read without trusting it: counts, rows of
//! `u32`s, then two heaps of text. Every read checks its pages first.
//!
//! ```text
//!  0  magic "pub1", length
//!  8  counts: skills S, skills of the bundle N, resources R, bytes of URIs, of entries
//! 28  S rows: skill id, row of its SKILL.md, end of its entry   (listing order)
//!     S numbers of skills, sorted by name
//!     N numbers of skills by id, or none
//!     R rows: end of the URI, blob, number of the owner, flags  (sorted by URI)
//!     URIs, then entries with a comma between them
//! ```

use std::ops::Range;

use super::MAGIC;
use crate::container::Bundle;
use crate::error::{Error, corrupt};

const DAMAGED: Error = corrupt("the table of published skills does not hold together");

const HEAD: usize = 28;

/// A row of the skills.
pub(super) struct SkillRow {
    pub(super) id: u32,
    /// Row of its `SKILL.md`.
    pub(super) resource: usize,
}

/// A row of the resources.
pub(super) struct ResourceRow {
    pub(super) blob: u32,
    /// Number of the skill that it belongs to.
    pub(super) owner: usize,
    pub(super) flags: u32,
}

/// Rows of `WIDTH` numbers each.
#[derive(Clone, Copy)]
struct Rows<const WIDTH: usize> {
    start: usize,
    count: usize,
}

/// The opened section.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    bundle: &'a Bundle,
    skills: Rows<3>,
    by_name: Rows<1>,
    by_id: Rows<1>,
    resources: Rows<4>,
    uris: (usize, usize),
    entries: (usize, usize),
}

impl<'a> Table<'a> {
    /// Checks that the arrays fit the section; what they hold is checked when
    /// used. `skills` is how many the bundle has.
    pub(super) fn open(bundle: &'a Bundle, skills: usize) -> Result<Self, Error> {
        let head = bundle.published(0..HEAD)?;
        let number = |at: usize| number(head, 4 * at);
        let len = bundle.published_len();
        if head[..4] != MAGIC || number(1)? as usize != len || number(3)? as usize != skills {
            return Err(DAMAGED);
        }
        let mut end = Some(HEAD);
        let (skills, by_name, by_id, resources) = (
            Rows::next(&mut end, number(2)?)?,
            Rows::next(&mut end, number(2)?)?,
            Rows::next(&mut end, number(3)?)?,
            Rows::next(&mut end, number(4)?)?,
        );
        let mut texts = |bytes: u32| {
            let start = end.ok_or(DAMAGED)?;
            end = start.checked_add(bytes as usize);
            Ok::<_, Error>((start, bytes as usize))
        };
        let (uris, entries) = (texts(number(5)?)?, texts(number(6)?)?);
        if end.is_none_or(|end| end > len) {
            return Err(DAMAGED);
        }
        Ok(Self {
            bundle,
            skills,
            by_name,
            by_id,
            resources,
            uris,
            entries,
        })
    }

    /// How many skills are published.
    pub(super) fn skills(&self) -> usize {
        self.skills.count
    }

    /// How many files they have.
    pub(super) fn resources(&self) -> usize {
        self.resources.count
    }

    pub(super) fn skill(&self, number: usize) -> Result<SkillRow, Error> {
        let [id, resource, _] = self.row(self.skills, number)?;
        Ok(SkillRow {
            id,
            resource: resource as usize,
        })
    }

    /// The number of the skill that is in this place by name.
    pub(super) fn by_name(&self, at: usize) -> Result<usize, Error> {
        let [number] = self.row(self.by_name, at)?;
        Ok(number as usize)
    }

    /// The number under which a skill of the bundle is published.
    pub(super) fn number_of(&self, id: u32) -> Result<u32, Error> {
        let [number] = self.row(self.by_id, id as usize)?;
        Ok(number)
    }

    pub(super) fn resource(&self, at: usize) -> Result<ResourceRow, Error> {
        let [_, blob, owner, flags] = self.row(self.resources, at)?;
        Ok(ResourceRow {
            blob,
            owner: owner as usize,
            flags,
        })
    }

    pub(super) fn uri(&self, at: usize) -> Result<&'a str, Error> {
        let start = match at.checked_sub(1) {
            Some(before) => self.row(self.resources, before)?[0],
            None => 0,
        };
        let [end, ..] = self.row(self.resources, at)?;
        self.text(self.uris, start as usize..end as usize)
    }

    /// Where the entry of a skill lies among the entries.
    pub(super) fn entry(&self, number: usize) -> Result<Range<usize>, Error> {
        let start = match number.checked_sub(1) {
            Some(before) => self.row(self.skills, before)?[2] as usize + 1,
            None => 0,
        };
        let [.., end] = self.row(self.skills, number)?;
        if start <= end as usize {
            Ok(start..end as usize)
        } else {
            Err(DAMAGED)
        }
    }

    /// Part of the entries.
    pub(super) fn entries(&self, range: Range<usize>) -> Result<&'a str, Error> {
        self.text(self.entries, range)
    }

    fn text(&self, (start, len): (usize, usize), range: Range<usize>) -> Result<&'a str, Error> {
        if range.start > range.end || range.end > len {
            return Err(DAMAGED);
        }
        let bytes = self
            .bundle
            .published(start + range.start..start + range.end)?;
        std::str::from_utf8(bytes).map_err(|_| DAMAGED)
    }

    fn row<const WIDTH: usize>(&self, rows: Rows<WIDTH>, at: usize) -> Result<[u32; WIDTH], Error> {
        if at >= rows.count {
            return Err(DAMAGED);
        }
        let start = rows.start + at * WIDTH * 4;
        let bytes = self.bundle.published(start..start + WIDTH * 4)?;
        let mut row = [0; WIDTH];
        for (place, value) in row.iter_mut().enumerate() {
            *value = number(bytes, 4 * place)?;
        }
        Ok(row)
    }
}

impl<const WIDTH: usize> Rows<WIDTH> {
    /// The rows that begin where the ones before end.
    fn next(end: &mut Option<usize>, count: u32) -> Result<Self, Error> {
        let start = end.ok_or(DAMAGED)?;
        let count = count as usize;
        *end = count
            .checked_mul(WIDTH * 4)
            .and_then(|len| start.checked_add(len));
        Ok(Self { start, count })
    }
}

fn number(bytes: &[u8], at: usize) -> Result<u32, Error> {
    let bytes = bytes.get(at..at + 4).and_then(|it| it.try_into().ok());
    bytes.map(u32::from_le_bytes).ok_or(DAMAGED)
}
