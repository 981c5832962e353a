//! An index with valid checksums but invalid content: reads must return a result or an error in
//! finite time, without a panic.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::{page, with_files};
use crate::container::Bundle;
use crate::header::Section;
use crate::image::Image;
use crate::sample::{set, skill};
use crate::write;

/// A bundle with nested skills, a page that inherits, and directories.
fn sound() -> Vec<u8> {
    let inner = with_files(skill("a/kit/sub", "x\n"), &["x/y.md"]);
    let mut outer = with_files(skill("a/kit", "x\n"), &["b.md", "c/d.md", "sub/SKILL.md"]);
    outer.files[2].bytes = Some(std::sync::Arc::clone(&inner.source));
    let root = with_files(page("_root", None), &["e.css"]);
    let leaf = page("ui/auth", Some(2));
    write(&set(vec![outer, inner, root, leaf])).expect("consistent")
}

fn section(bytes: &[u8], section: Section) -> Vec<u8> {
    let bundle = Bundle::from_bytes(bytes).expect("intact");
    let info = &bundle.sections()[section as usize - 1];
    let start = usize::try_from(info.offset).expect("small");
    bytes[start..start + usize::try_from(info.len).expect("small")].to_vec()
}

/// The same bundle with another index and recomputed checksums.
fn resealed(bytes: &[u8], index: &[u8]) -> Vec<u8> {
    let mut aligned = rkyv::util::AlignedVec::new();
    aligned.extend_from_slice(index);
    let [body, files] = [Section::Body, Section::Files].map(|it| vec![section(bytes, it).into()]);
    Image::new([0; 32], aligned, body, files).to_vec()
}

/// Corruptions of an index: bits flipped, numbers replaced.
fn damaged(index: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![0..40_u32, any::<u32>(), Just(u32::MAX)];
    let changes = vec((any::<Index>(), 0..8_u8, number, any::<bool>()), 1..4);
    (Just(index), changes).prop_map(|(mut index, changes)| {
        for (at, bit, number, is_flip) in changes {
            let at = at.index(index.len() / 4) * 4;
            if is_flip {
                index[at + usize::from(bit / 2)] ^= 1 << bit;
            } else {
                index[at..at + 4].copy_from_slice(&number.to_le_bytes());
            }
        }
        index
    })
}

/// Calls every query; any result is accepted.
fn ask(bundle: &Bundle) {
    let Ok(published) = bundle.catalog().and_then(|it| it.published()) else {
        return;
    };
    let _ = published.verify();
    // Counts may have any value; only the first items are read.
    for number in 0..published.len().min(9) {
        let _ = published.page(number, 3, 500);
        let Ok(skill) = published.skill(number) else {
            continue;
        };
        let _ = published.entry(skill.uri);
        let _ = skill.resource().and_then(|it| it.bytes().map(drop));
        let _ = skill.skill.published();
    }
    for uri in [
        "skill://a",
        "skill://a/kit",
        "skill://a/kit/",
        "skill://ui",
        "s",
        "",
    ] {
        let _ = published.directory(uri);
        let _ = published.resource(uri);
    }
    if let Ok(names) = published.names_starting_with("a") {
        names.take(9).for_each(drop);
    }
    if let Ok(uris) = published.uris_starting_with("skill") {
        uris.take(9).for_each(drop);
    }
}

#[test]
fn the_sound_bundle_is_answered_whole() {
    let bytes = sound();
    let resealed = resealed(&bytes, &section(&bytes, Section::Index));
    let bundle = Bundle::from_bytes(&resealed).expect("intact");
    let published = bundle.catalog().and_then(|it| it.published());
    super::check(&published.expect("intact"));
    assert_eq!(bundle.catalog().expect("intact").len(), 4);
    ask(&bundle);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn made_up_tables_never_panic_or_hang(
        index in damaged(section(&sound(), Section::Index)),
    ) {
        let bytes = resealed(&sound(), &index);
        if let Ok(bundle) = Bundle::from_bytes(&bytes) {
            ask(&bundle);
        }
    }
}

#[test]
fn an_index_of_another_bundle_does_not_pass() {
    let other = write(&set(vec![skill("z", "x\n")])).expect("consistent");
    let bytes = resealed(&sound(), &section(&other, Section::Index));
    let bundle = Bundle::from_bytes(&bytes).expect("the head holds");
    assert!(bundle.verify().is_err());
    ask(&bundle);
    ask(&super::bundle(&set(Vec::new())));
}
