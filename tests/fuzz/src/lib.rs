//! What the fuzz targets share: calling everything a bundle can do, and giving
//! damaged bytes the checksums that let them pass the first check.

use skillbundle_format::{Bundle, Catalog, Search, Skill};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// Calls everything that a possibly damaged bundle can do. Results do not matter:
/// it must neither panic nor read outside its bytes.
pub fn ask_everything(bundle: &Bundle) {
    let _ = bundle.content_hex();
    let _ = bundle.sections();
    let _ = bundle.verify();
    let Ok(catalog) = bundle.catalog() else {
        return;
    };
    let _ = catalog.settings();
    let _ = catalog.roots();
    for words in ["", "react auth", "a", "skill the of", "日本語 é"] {
        let _ = catalog.match_keywords(words);
        let _ = catalog.search(&search(words, 5));
        let _ = catalog.by_name(words);
        let _ = catalog.by_path(words);
    }
    // A hostile count must not make the target slow; the first rows are enough.
    for id in (0..u32::try_from(catalog.len()).unwrap_or(u32::MAX)).take(64) {
        if let Ok(skill) = catalog.skill(id) {
            ask_skill(catalog, skill);
        }
    }
}

fn search(query: &str, limit: usize) -> Search<'_> {
    Search {
        query,
        tag: Some(query).filter(|query| query.len() > 5),
        limit,
        ..Search::default()
    }
}

fn ask_skill(catalog: Catalog<'_>, skill: Skill<'_>) {
    let _ = catalog.by_path(skill.path);
    let _ = catalog.by_name(skill.name);
    let _ = catalog.match_keywords(skill.description);
    let _ = catalog.search(&search(skill.name, 3));
    let _ = (skill.install_name(), skill.callable_name(), skill.digest());
    let _ = (skill.text(), skill.source(), skill.body(), skill.content());
    let _ = (
        skill.keywords(),
        skill.frontmatter_json(),
        skill.parent(),
        skill.chain(),
    );
    let _ = skill.inherited_files();
    for file in skill.files().into_iter().flatten().take(64) {
        let _ = (file.bytes(), file.digest(), file.args());
        let _ = (skill.file(file.path), skill.find_file(file.path));
    }
}

/// Offsets of the head that `runtime/bundle/src/header.rs` documents.
const FILE_LENGTH_AT: usize = 24;
const COUNT_AT: usize = 64;
const TABLE_AT: usize = 72;
const ENTRY: usize = 40;
/// Kinds of sections and the page size, likewise.
const PAGES: u32 = 1;
const INDEX: u32 = 2;
const PAGE: usize = 4096;

/// Makes length and checksums agree with the bytes, as in a bundle made by an
/// attacker. Bytes without a section table stay as they are.
pub fn seal(bytes: &mut [u8]) {
    let length = bytes.len() as u64;
    let Some(count) = u32_at(bytes, COUNT_AT)
        .map(|n| n as usize)
        .filter(|n| *n <= 64)
    else {
        return;
    };
    let table_end = TABLE_AT + count * ENTRY;
    if bytes.len() < table_end + 8 {
        return;
    }
    bytes[FILE_LENGTH_AT..FILE_LENGTH_AT + 8].copy_from_slice(&length.to_le_bytes());
    seal_pages(bytes, count);
    for entry in (0..count).map(|n| TABLE_AT + n * ENTRY) {
        if let Some(range) = range_of(bytes, entry) {
            let sum = xxh3_128(&bytes[range]).to_le_bytes();
            bytes[entry + 24..entry + ENTRY].copy_from_slice(&sum);
        }
    }
    let sum = xxh3_64(&bytes[..table_end]).to_le_bytes();
    bytes[table_end..table_end + 8].copy_from_slice(&sum);
}

fn seal_pages(bytes: &mut [u8], count: usize) {
    let find = |bytes: &[u8], kind: u32| {
        let mut entries = (0..count).map(|n| TABLE_AT + n * ENTRY);
        entries
            .find(|&entry| u32_at(bytes, entry) == Some(kind))
            .and_then(|entry| range_of(bytes, entry))
    };
    if let (Some(pages), Some(index)) = (find(bytes, PAGES), find(bytes, INDEX)) {
        let sums: Vec<u8> = bytes[index]
            .chunks(PAGE)
            .flat_map(|page| xxh3_64(page).to_le_bytes())
            .collect();
        let fits = sums.len().min(pages.len());
        bytes[pages.start..pages.start + fits].copy_from_slice(&sums[..fits]);
    }
}

/// The bytes of the section at this entry of the table, if they lie in the file.
fn range_of(bytes: &[u8], entry: usize) -> Option<std::ops::Range<usize>> {
    let number = |at: usize| {
        let raw = bytes.get(at..at + 8)?.try_into().ok()?;
        usize::try_from(u64::from_le_bytes(raw)).ok()
    };
    let (start, len) = (number(entry + 8)?, number(entry + 16)?);
    let end = start.checked_add(len)?;
    (end <= bytes.len()).then_some(start..end)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
