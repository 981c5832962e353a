//! Bundles of other times: the committed one still opens, and what this program
//! cannot read is refused by an error that says what to do.

use std::fs;

use skillbundle_format::{Bundle, Error};

use crate::project::{Project, bytes_of, fixture, updating};

/// A bundle of the fixture tree, written when format 4 was settled. It is only
/// ever replaced together with a new version in the header.
const PRESENT: &str = "bundles/v4.skb";

/// The same, of the format before.
const PAST: &str = "bundles/v3.skb";

#[test]
fn a_bundle_of_an_older_format_is_refused_with_both_versions_and_the_way_out() {
    let error = Bundle::open(&fixture(PAST))
        .map(|_| ())
        .expect_err("too old");
    let text = format!("{error:#}");
    for part in ["format 3", "format 4", MENDS] {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

#[test]
fn a_committed_bundle_still_opens() {
    let path = fixture(PRESENT);
    if updating() && !path.exists() {
        let project = Project::from_fixture("tree");
        fs::write(&path, bytes_of(&project.compile(&["."]))).expect("the fixture is written");
    }
    let bundle = Bundle::open(&path).expect("a bundle of this format's version opens");
    bundle.verify().expect("the committed bundle is sound");
    let catalog = bundle.catalog().expect("a catalog");
    let paths: Vec<&str> = catalog.skills().map(|s| s.expect("a skill").path).collect();
    assert_eq!(
        paths,
        [
            "_root",
            "api/_index",
            "api/auth",
            "no-inherit",
            "ui/_index",
            "ui/react/_index",
            "ui/react/auth",
            "ui/react/testing"
        ]
    );
    let skill = catalog
        .by_path("no-inherit")
        .expect("an answer")
        .expect("a skill");
    assert!(
        skill
            .text()
            .expect("text")
            .ends_with("These words and no others.\n")
    );
}

/// The bytes do not depend on the machine, the build or the day: those of the
/// committed bundle come out again. (`cargo test --release --test suite
/// fixture` asks the optimised build.)
#[test]
fn the_fixture_tree_compiles_to_the_committed_bytes() {
    let project = Project::from_fixture("tree");
    let bytes = bytes_of(&project.compile(&["."]));
    let committed = fs::read(fixture(PRESENT)).expect("the fixture is there");
    assert_eq!(bytes.len(), committed.len());
    let differs = bytes.iter().zip(&committed).position(|(a, b)| a != b);
    assert_eq!(differs, None, "the first byte that differs");
}

/// A bundle with one field of its head overwritten. Compatibility is checked
/// before the checksum, so that an old program can say what it met.
fn head_changed(at: usize, value: &[u8]) -> Error {
    let project = Project::from_fixture("tree");
    let mut bytes = bytes_of(&project.compile(&["."]));
    bytes[at..at + value.len()].copy_from_slice(value);
    Bundle::from_bytes(&bytes)
        .map(|_| ())
        .expect_err("a foreign head is refused")
}

const VERSION_AT: usize = 8;
const REQUIRED_AT: usize = 12;
const SCHEMA_AT: usize = 16;

/// What a refused reader is told to run.
const MENDS: &str = "skillbundle compile";

#[test]
fn a_newer_format_is_refused_with_both_versions_and_the_way_out() {
    let error = head_changed(VERSION_AT, &7_u32.to_le_bytes());
    assert!(
        matches!(
            error,
            Error::Version {
                found: 7,
                supported: 4,
                ..
            }
        ),
        "{error:?}"
    );
    let text = format!("{error:#}");
    for part in ["format 7", "format 4", MENDS] {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

#[test]
fn an_unknown_required_feature_is_refused_with_the_way_out() {
    let error = head_changed(REQUIRED_AT, &4_u32.to_le_bytes());
    assert!(
        matches!(error, Error::Required { bits: 4, .. }),
        "{error:?}"
    );
    assert!(format!("{error:#}").contains(MENDS), "{error}");
}

#[test]
fn another_table_layout_is_refused_with_the_way_out() {
    let error = head_changed(SCHEMA_AT, &[0xab; 8]);
    assert!(matches!(error, Error::Schema { .. }), "{error:?}");
    let text = format!("{error:#}");
    assert!(
        text.contains("abababababababab") && text.contains(MENDS),
        "{text}"
    );
}

#[test]
fn another_file_is_refused_with_what_was_found() {
    for other in [
        &b"PK\x03\x04rest of an archive, long enough to be one ............"[..],
        b"---\nname: x\n",
    ] {
        let error = Bundle::from_bytes(other)
            .map(|_| ())
            .expect_err("not a bundle");
        assert!(matches!(error, Error::NotABundle { .. }), "{error:?}");
        assert!(format!("{error:#}").contains(MENDS), "{error}");
    }
    let big_endian = head_changed(VERSION_AT, &1_u32.to_be_bytes());
    assert!(
        matches!(big_endian, Error::Version { .. }),
        "{big_endian:?}"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let project = Project::new();
    let missing = project.path("missing.skb");
    let error = Bundle::open(&missing)
        .map(|_| ())
        .expect_err("no such file");
    assert!(error.to_string().contains("missing.skb"), "{error}");
    project.file("empty.skb", "");
    assert!(
        Bundle::open(&project.path("empty.skb")).is_err(),
        "an empty file opens"
    );
    assert!(Bundle::open(project.dir()).is_err(), "a folder opens");
}
