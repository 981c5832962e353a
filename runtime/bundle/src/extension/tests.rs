//! The published skills, tested through the bundle.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Child, Publication, Published, Unpublished, publications};
use crate::container::hex;
use crate::model::{Dialect, SkillEntry, SkillSet};
use crate::sample::{file, skill};
use crate::{Bundle, write};

mod hostile;
mod listing;
mod rule;

fn bundle(set: &SkillSet) -> Bundle {
    Bundle::from_bytes(&write(set).expect("consistent")).expect("intact")
}

fn page(path: &str, parent: Option<u32>) -> SkillEntry {
    let mut entry = skill(path, &format!("{path} text\n"));
    (entry.dialect, entry.inherit, entry.parent) = (Dialect::Tree, true, parent);
    entry.file_path = format!("{path}.md");
    entry
}

fn with_files(mut entry: SkillEntry, files: &[&str]) -> SkillEntry {
    entry.files = files
        .iter()
        .map(|path| file(path, format!("{path} of {}", entry.path).as_bytes()))
        .collect();
    entry
}

/// The decision about each skill: its URI, or why it is not published.
fn outcomes(set: &SkillSet) -> Vec<Result<String, Unpublished>> {
    let outcome = |it| match it {
        Publication::Published { uri, .. } => Ok(uri),
        Publication::Unpublished(reason) => Err(reason),
    };
    publications(set).into_iter().map(outcome).collect()
}

fn uris(set: &SkillSet) -> Vec<String> {
    outcomes(set)
        .into_iter()
        .map(|it| it.expect("published"))
        .collect()
}

/// Looks up everything in the listing, and walks all directories.
fn check(published: &Published<'_>) {
    let mut files = BTreeSet::new();
    for at in published.skills() {
        let at = at.expect("intact");
        let entry = published.entry(at.uri).expect("intact").expect("listed");
        let entry: Value = serde_json::from_str(entry).expect("JSON");
        assert_eq!(entry["uri"], at.uri);
        assert_eq!(entry["frontmatter"]["name"], *at.name);
        let same = at.skill.published().expect("intact").expect("listed");
        assert_eq!(same.uri, at.uri);
        let directory = at.uri.strip_suffix("SKILL.md").expect("a SKILL.md");
        let manifest: BTreeMap<&str, &Value> = entry["resources"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|it| (it["uri"].as_str().expect("text"), it))
            .collect();
        assert_eq!(
            Some(manifest.len()),
            entry["resources"].as_array().map(Vec::len)
        );
        assert!(manifest.contains_key(at.uri), "{} is listed", at.uri);
        for (uri, listed) in &manifest {
            assert!(uri.starts_with(directory), "{uri} lies in {directory}");
            let resource = published.resource(uri).expect("intact").expect("there");
            let bytes = resource.bytes().expect("intact");
            let digest = format!("sha256:{}", hex(&Sha256::digest(&bytes)));
            assert_eq!(listed["digest"], digest.as_str());
            assert_eq!(
                listed["digest"],
                format!("sha256:{}", hex(&resource.digest))
            );
            assert_eq!(listed["size"], bytes.len());
            assert_eq!(resource.size, bytes.len() as u64);
        }
        let directory = directory.trim_end_matches('/');
        let walked = walk(published, directory);
        assert!(walked.iter().eq(manifest.keys()), "{directory}: {walked:?}");
        files.extend(walked);
    }
    let all: Vec<_> = published
        .uris_starting_with("skill://")
        .expect("intact")
        .map(|uri| uri.expect("intact").to_owned())
        .collect();
    assert!(all.iter().eq(&files), "{all:?} are those of all skills");
}

/// Every file at or below a directory.
fn walk(published: &Published<'_>, directory: &str) -> BTreeSet<String> {
    let children = published.directory(directory).expect("intact");
    let children = children.unwrap_or_else(|| panic!("{directory} is a directory"));
    assert!(
        children.is_sorted_by(|a, b| a.uri() < b.uri()),
        "{directory}"
    );
    let mut files = BTreeSet::new();
    for child in &children {
        let (above, _) = child.uri().rsplit_once('/').expect("a path");
        assert_eq!(above, directory);
        match child {
            Child::File(resource) => {
                files.insert(resource.uri.to_owned());
            }
            Child::Directory { uri, .. } => {
                assert!(published.resource(uri).expect("intact").is_none());
                files.append(&mut walk(published, uri));
            }
        }
    }
    files
}

fn check_set(set: &SkillSet) {
    let bundle = bundle(set);
    bundle.verify().expect("whole");
    let catalog = bundle.catalog().expect("intact");
    let published = catalog.published().expect("intact");
    check(&published);
    let listed: BTreeSet<_> = published
        .skills()
        .map(|it| it.expect("intact").uri.to_owned())
        .collect();
    assert!(
        listed
            .iter()
            .eq(&outcomes(set).into_iter().flatten().collect::<BTreeSet<_>>())
    );
}
