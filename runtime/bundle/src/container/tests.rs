//! Opening, mapping and publishing, on real files.

use std::fs;
use std::path::Path;

use crate::sample::{set, skill};
use crate::{Bundle, Error, publish, write};

fn bytes() -> Vec<u8> {
    write(&set(vec![skill("a", "text\n")])).expect("consistent")
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn entries(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory)
        .expect("readable")
        .map(|entry| entry.expect("readable").file_name());
    let mut names: Vec<_> = names
        .map(|name| name.into_string().expect("UTF-8"))
        .collect();
    names.sort();
    names
}

#[test]
fn the_same_bytes_open_wherever_they_lie() {
    let (directory, bytes) = (directory(), bytes());
    let path = directory.path().join("a.skb");
    publish(&path, &bytes).expect("writable");
    let leaked: &'static [u8] = Box::leak(bytes.clone().into_boxed_slice());
    let handles = [
        Bundle::open(&path).expect("intact"),
        Bundle::from_bytes(&bytes).expect("intact"),
        Bundle::from_static(leaked).expect("intact"),
        // This slice is misaligned by one, whatever alignment the allocator chose.
        Bundle::from_static(&Box::leak([&[0], bytes.as_slice()].concat().into_boxed_slice())[1..])
            .expect("intact"),
    ];
    for bundle in &handles {
        let skill = bundle
            .catalog()
            .expect("intact")
            .by_name(" A ")
            .expect("intact")
            .expect("there");
        assert_eq!(
            skill.body().expect("intact"),
            "text\n",
            "{}",
            bundle.storage()
        );
        assert_eq!(bundle.content_hex(), handles[0].content_hex());
    }
}

#[test]
fn a_file_that_is_truncated_while_open_is_an_error() {
    let (directory, bytes) = (directory(), bytes());
    let path = directory.path().join("a.skb");
    fs::write(&path, &bytes).expect("writable");
    let bundle = Bundle::open(&path).expect("intact");
    assert_eq!(bundle.storage(), "file");
    fs::write(&path, b"").expect("writable");
    let skill = bundle
        .catalog()
        .expect("intact")
        .skill(0)
        .expect("its row is in memory");
    let error = skill.text().expect_err("the text is gone").to_string();
    assert!(error.contains("cut short"), "{error}");
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let directory = directory();
    let error = Bundle::open(directory.path()).expect_err("a directory");
    assert!(matches!(error, Error::Read { .. }), "{error}");
    let missing = Bundle::open(&directory.path().join("none.skb")).expect_err("nothing there");
    assert!(missing.to_string().contains("none.skb"), "{missing}");
}

#[test]
fn publishing_replaces_whole_files_and_leaves_no_litter() {
    let directory = directory();
    let path = directory.path().join("a.skb");
    let (old, new) = (
        bytes(),
        write(&set(vec![skill("b", "new\n")])).expect("consistent"),
    );
    publish(&path, &old).expect("writable");
    let reader = Bundle::open(&path).expect("intact");
    publish(&path, &new).expect("writable");
    assert_eq!(entries(directory.path()), ["a.skb"]);
    assert_eq!(fs::read(&path).expect("readable"), new);
    let kept = reader
        .catalog()
        .expect("intact")
        .by_path("a")
        .expect("intact");
    assert!(kept.is_some(), "the reader keeps the bundle it opened");
}

#[cfg(unix)]
#[test]
fn publishing_the_same_bytes_again_touches_nothing() {
    use std::os::unix::fs::MetadataExt;
    let directory = directory();
    let path = directory.path().join("a.skb");
    publish(&path, &bytes()).expect("writable");
    let before = fs::metadata(&path).expect("there");
    publish(&path, &bytes()).expect("writable");
    let after = fs::metadata(&path).expect("there");
    assert_eq!((before.ino(), before.mode() & 0o777), (after.ino(), 0o444));
}

#[test]
fn a_failed_publish_names_no_file_and_leaves_none() {
    let directory = directory();
    let taken = directory.path().join("taken");
    fs::create_dir_all(taken.join("full")).expect("writable");
    publish(&taken, &bytes()).expect_err("a directory is there");
    assert_eq!(entries(directory.path()), ["taken"]);
    publish(&directory.path().join("no/such/a.skb"), &bytes()).expect_err("no such directory");
    publish(Path::new("/"), &bytes()).expect_err("not a file name");
}

#[test]
fn other_files_and_other_versions_are_named_with_the_way_out() {
    let good = bytes();
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    for (bytes, expected) in [
        (Vec::new(), "an empty file"),
        (b"PK\x03\x04 a zip archive, not a bundle at all; padded to the length of a head .......".to_vec(), "PK"),
        (good[..40].to_vec(), "cut short or too long: 40 bytes instead of"),
        (with(8, 99), "bundle format 99, but this program reads format 4; compile"),
        (with(12, 4), "needs features 0x00000004"),
        (with(16, good[16] ^ 1), "table layout"),
        (good[..good.len() - 1].to_vec(), "cut short or too long"),
        ([good.as_slice(), b"x"].concat(), "cut short or too long"),
        (with(40, good[40] ^ 1), "header does not agree"),
    ] {
        let error = Bundle::from_bytes(&bytes).expect_err("refused");
        let error = format!("{error:#}");
        assert!(error.contains(expected), "{expected}: {error}");
    }
}
