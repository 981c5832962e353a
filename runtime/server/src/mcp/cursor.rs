//! The cursor between the pages of an answer or a list: where to continue, and in which answer.
//! Opaque to clients; a cursor that no longer fits the skills or the search is an error, since its
//! page would repeat or skip something.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::arguments::wrong;
use super::tool_result::ToolError;

/// The start of the content address is enough to tell one state from another.
const ADDRESS: usize = 8;

/// The answer that a cursor belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Cursors {
    skills: [u8; ADDRESS],
    search: [u8; 8],
}

impl Cursors {
    /// The pages over skills of this content address for a search of these parts.
    pub(crate) fn new(content_address: [u8; 32], parts: &[&str]) -> Self {
        let mut skills = [0; ADDRESS];
        skills.copy_from_slice(&content_address[..ADDRESS]);
        Self {
            skills,
            search: digest(parts).to_le_bytes(),
        }
    }

    /// The cursor of the page after the first `skip`.
    pub(crate) fn cursor(&self, skip: usize) -> String {
        // A bundle numbers its skills in 32 bits.
        let skip = u32::try_from(skip).unwrap_or(u32::MAX);
        URL_SAFE_NO_PAD.encode([&skip.to_le_bytes()[..], &self.skills, &self.search].concat())
    }

    /// The number of items that a cursor skips.
    pub(crate) fn skipped(&self, argument: &'static str, cursor: &str) -> Result<u32, ToolError> {
        let bytes = URL_SAFE_NO_PAD.decode(cursor).unwrap_or_default();
        let Some((skip, skills, search)) = parts(&bytes) else {
            return Err(wrong(argument, "an unchanged nextCursor", "something else"));
        };
        if search != self.search {
            return Err(wrong(
                argument,
                "a nextCursor of this search, with the same query and filters",
                "one of another search",
            ));
        }
        if skills != self.skills {
            return Err(ToolError::StaleCursor);
        }
        Ok(u32::from_le_bytes(skip))
    }
}

/// What [`Cursors::cursor`] put together, if it did.
fn parts(bytes: &[u8]) -> Option<([u8; 4], [u8; ADDRESS], [u8; 8])> {
    let (skip, rest) = bytes.split_first_chunk()?;
    let (skills, rest) = rest.split_first_chunk()?;
    Some((*skip, *skills, rest.try_into().ok()?))
}

/// FNV-1a: cursors are mixed up by mistake, not on purpose, and a forged one
/// shows nothing that another search does not.
fn digest(parts: &[&str]) -> u64 {
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    // No part of UTF-8 text, so that parts cannot run into one another.
    const END: u8 = 0xff;
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([END]));
    bytes.fold(START, |digest, byte| {
        (digest ^ u64::from(byte)).wrapping_mul(PRIME)
    })
}
