//! The skills that are baked in, asked the requests that lie beside them.

use std::path::PathBuf;

use skillbundle_compiler::{Options, Root, compile_with_requests};

use crate::project::{bytes_of, compile_roots, open, workspace};

/// What `skills/routing.json` must reach, with room for a request or two: who
/// edits a description sees here that others are not found any more.
const MIN_HITS: f64 = 0.8;

/// Nothing serves an everyday request. Pages answer by parts of words, as their ranking asks
/// (`handbook` holds `book`), so each declares so many keywords that one of them is not enough.
const MAX_FALSE: f64 = 0.0;

#[test]
fn the_baked_in_skills_are_found_by_the_requests_beside_them() {
    let roots: Vec<Root> = vec![Root::project(PathBuf::from(workspace()).join("skills"))];
    let read = compile_with_requests(&roots, &Options::default());
    let (compiled, requests) = read.expect("the skills can be read");
    let found = requests.replay(&compiled.set, &open(&bytes_of(&compiled)));
    let found = found.expect("the bundle is whole");
    assert!(
        !found.report.has_errors(),
        "{}",
        found.report.render_plain()
    );
    assert!(
        found.totals.positives >= 25 && found.totals.negatives >= 45,
        "{:?}",
        found.totals
    );
    let (hits, wrong) = (found.totals.hit_rate(), found.totals.false_rate());
    assert!(
        hits >= Some(MIN_HITS),
        "{:?}\n{:#?}",
        found.totals,
        found.failures
    );
    assert!(
        wrong <= Some(MAX_FALSE),
        "{:?}\n{:#?}",
        found.totals,
        found.failures
    );
    assert!(found.thin.is_empty(), "{:?}", found.thin);
}

/// An evaluation is about skills and part of none.
#[test]
fn the_requests_are_not_served() {
    let compiled = compile_roots(&[Root::project(PathBuf::from(workspace()).join("skills"))]);
    let files = compiled.set.skills.iter().flat_map(|skill| &skill.files);
    assert!(files.clone().count() > 0, "skills have files");
    for file in files {
        assert!(!file.path.ends_with("routing.json"), "{}", file.path);
    }
}
