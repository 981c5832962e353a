//! What the skills extension serves, for any set: every file that the listing
//! names is there, with the bytes that it claims, and directories lead to all
//! of them and to nothing else.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::Value;
use skillbundle_format::{Bundle, Child, Publication, Published, publications, write};

use super::random::skill_set;

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_listing_the_files_and_the_directories_agree(set in skill_set(8)) {
        let bytes = write(&set).expect("a valid set can be written");
        let bundle = Bundle::from_bytes(&bytes).expect("written bytes open");
        // Asks for every file of every entry, and compares digests and sizes.
        bundle.verify().expect("written bytes are sound");
        let catalog = bundle.catalog().expect("a catalog");
        let published = catalog.published().expect("a listing");
        let mut all = BTreeSet::new();
        for skill in published.skills() {
            let skill = skill.expect("a skill");
            let directory = skill.uri.strip_suffix("/SKILL.md").expect("a SKILL.md");
            let listed = listed(&published, skill.uri);
            prop_assert_eq!(&walk(&published, directory), &listed);
            all.extend(listed);
        }
        let uris = published.uris_starting_with("").expect("URIs");
        let uris: BTreeSet<String> = uris.map(|it| it.expect("a URI").to_owned()).collect();
        prop_assert_eq!(uris, all);
        for (entry, outcome) in set.skills.iter().zip(publications(&set)) {
            let skill = catalog.by_path(&entry.path).expect("an answer").expect("a skill");
            let found = skill.published().expect("an answer").map(|it| it.uri.to_owned());
            let expected = match outcome {
                Publication::Published { uri, .. } => Some(uri),
                Publication::Unpublished(_) => None,
            };
            prop_assert_eq!(found, expected);
        }
    }
}

/// The URIs of a skill's manifest.
fn listed(published: &Published<'_>, uri: &str) -> BTreeSet<String> {
    let entry = published.entry(uri).expect("an answer").expect("an entry");
    let entry: Value = serde_json::from_str(entry).expect("JSON");
    let files = entry["resources"].as_array().expect("a list").iter();
    files
        .map(|it| it["uri"].as_str().expect("a URI").to_owned())
        .collect()
}

/// Every file at or below a directory.
fn walk(published: &Published<'_>, directory: &str) -> BTreeSet<String> {
    let children = published.directory(directory).expect("an answer");
    let mut files = BTreeSet::new();
    for child in children.expect("a directory") {
        match child {
            Child::File(file) => {
                files.insert(file.uri.to_owned());
            }
            Child::Directory { uri, .. } => files.append(&mut walk(published, uri)),
        }
    }
    files
}
