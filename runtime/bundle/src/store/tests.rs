//! The store on a real disk: what it keeps, what it refuses, and several processes in one store.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use super::Store;
use crate::sample::{set, skill};
use crate::{Bundle, lay_out, write};

fn bytes(text: &str) -> Vec<u8> {
    write(&set(vec![skill("a", text)])).expect("consistent")
}

fn put(store: &Store, text: &str) -> Bundle {
    let set = set(vec![skill("a", text)]);
    let image = lay_out(&set).expect("consistent");
    store.put(&image).expect("writable")
}

fn body(bundle: &Bundle) -> String {
    let catalog = bundle.catalog().expect("intact");
    let skill = catalog.skill(0).expect("intact");
    skill.body().expect("intact").into_owned()
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let place = directory.path().join("cache/skillbundle");
    (directory, place)
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("there").permissions().mode() & 0o777
}

#[test]
fn a_stored_bundle_is_found_by_its_address_and_by_its_reference() {
    let (_directory, place) = place();
    let store = Store::open(&place).expect("writable");
    let address = put(&store, "one\n").content_address();
    store.refer("key", &address, b"a note").expect("writable");
    let (referred, note) = store.reference("key").expect("intact");
    assert_eq!(
        (body(&referred).as_str(), note.as_slice()),
        ("one\n", &b"a note"[..])
    );
    let again = Store::open(&place).expect("there");
    let stored = again.get(&address).expect("stored");
    assert_eq!(
        (body(&stored).as_str(), stored.storage()),
        ("one\n", "stored")
    );
    assert_eq!(mode(&place), 0o700);
    assert_eq!(mode(&again.list().expect("readable")[0].path), 0o444);
    assert!(again.reference("other").is_none());
}

#[test]
fn a_store_that_others_can_write_to_is_refused() {
    let (directory, place) = place();
    let target = directory.path().join("elsewhere");
    fs::create_dir_all(&target).expect("writable");
    fs::create_dir_all(place.parent().expect("it has one")).expect("writable");
    symlink(&target, &place).expect("writable");
    let error = Store::open(&place).expect_err("a link");
    assert_eq!(
        error.kind(),
        std::io::ErrorKind::PermissionDenied,
        "{error}"
    );
}

#[test]
fn a_link_is_not_followed_to_change_permissions() {
    let (directory, place) = place();
    let target = directory.path().join("elsewhere");
    fs::create_dir_all(&target).expect("writable");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o755)).expect("ours");
    Store::open(&place).expect("writable");
    fs::remove_dir(place.join("bundles")).expect("empty");
    symlink(&target, place.join("bundles")).expect("writable");
    Store::open(&place).expect_err("a link");
    assert_eq!(mode(&target), 0o755);
}

#[test]
fn files_that_others_may_have_planted_are_not_trusted() {
    let (_directory, place) = place();
    Store::open(&place).expect("writable");
    fs::set_permissions(place.join("bundles"), fs::Permissions::from_mode(0o777)).expect("ours");
    Store::open(&place).expect_err("anybody could have written there");
}

#[test]
fn loose_permissions_of_our_own_directory_are_tightened() {
    let (_directory, place) = place();
    Store::open(&place).expect("writable");
    fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).expect("ours");
    Store::open(&place).expect("ours");
    assert_eq!(mode(&place), 0o700);
}

#[test]
fn a_stored_file_that_can_be_written_to_or_is_a_link_is_not_mapped() {
    let (_directory, place) = place();
    let store = Store::open(&place).expect("writable");
    let address = put(&store, "one\n").content_address();
    let path = store.list().expect("readable")[0].path.clone();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("ours");
    assert!(store.get(&address).is_none());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("ours");
    let elsewhere = place.join("file");
    fs::rename(&path, &elsewhere).expect("writable");
    symlink(&elsewhere, &path).expect("writable");
    assert!(store.get(&address).is_none());
}

#[test]
fn a_copy_survives_whatever_happens_to_the_file() {
    let (directory, place) = place();
    let store = Store::open(&place).expect("writable");
    let live = directory.path().join("live.skb");
    let (old, new) = (bytes("old\n"), bytes("new\n"));
    fs::write(&live, &old).expect("writable");
    let copy = store.copy(&live).expect("intact");
    // Overwritten in place, with a part of the new bundle.
    fs::write(&live, &new[..new.len() / 2]).expect("writable");
    assert_eq!(body(&copy), "old\n");
    store.copy(&live).expect_err("not complete yet");
    fs::write(&live, &new).expect("writable");
    assert_eq!(body(&store.copy(&live).expect("complete")), "new\n");
    assert_eq!(body(&copy), "old\n");
    assert_eq!(
        store.list().expect("readable").len(),
        2,
        "nothing else is left behind"
    );
}

#[test]
fn a_damaged_file_with_an_intact_head_is_not_stored() {
    let (directory, place) = place();
    let store = Store::open(&place).expect("writable");
    let live = directory.path().join("live.skb");
    let mut damaged = bytes("text\n");
    let last = damaged.len() - 2;
    damaged[last] ^= 1;
    fs::write(&live, &damaged).expect("writable");
    let error = store.copy(&live).expect_err("damaged").to_string();
    assert!(error.contains("damaged"), "{error}");
    assert!(store.list().expect("readable").is_empty());
}

#[test]
fn references_that_were_cut_short_or_edited_count_as_none() {
    let (_directory, place) = place();
    let store = Store::open(&place).expect("writable");
    let address = put(&store, "one\n").content_address();
    store.refer("key", &address, b"a note").expect("writable");
    let path = place.join("references/key");
    let whole = fs::read(&path).expect("readable");
    for len in 0..whole.len() {
        fs::remove_file(&path).expect("writable");
        fs::write(&path, &whole[..len]).expect("writable");
        assert!(store.reference("key").is_none(), "{len} bytes");
    }
    let mut edited = whole.clone();
    edited[66] ^= 1;
    fs::write(&path, &edited).expect("writable");
    assert!(store.reference("key").is_none());
}

#[test]
fn replaced_and_old_bundles_are_removed_and_mapped_ones_live_on() {
    let (_directory, place) = place();
    let store = Store::open(&place).expect("writable");
    let one = put(&store, "one\n");
    let two = put(&store, "two\n");
    store
        .refer("key", &one.content_address(), b"")
        .expect("writable");
    store
        .refer("key", &two.content_address(), b"")
        .expect("writable");
    assert!(store.get(&one.content_address()).is_none());
    assert_eq!(body(&one), "one\n");
    assert_eq!(store.clean(false).expect("writable"), (0, 0));
    let three = put(&store, "three\n");
    let age = SystemTime::now() - Duration::from_secs(31 * 24 * 60 * 60);
    for stored in store.list().expect("readable") {
        let file = fs::File::open(stored.path).expect("readable");
        file.set_modified(age).expect("ours");
    }
    assert_eq!(store.clean(false).expect("writable"), (1, three.byte_len()));
    assert!(
        store.get(&two.content_address()).is_some(),
        "still referred to"
    );
    assert_eq!(store.clean(true).expect("writable"), (1, two.byte_len()));
    assert!(store.list().expect("readable").is_empty());
}

#[test]
fn writers_that_share_a_store_never_meet_a_torn_file() {
    let (_directory, place) = place();
    let versions: Vec<String> = (0..4).map(|it| format!("text {it}\n")).collect();
    let address = |text: &String| Bundle::address_of(&bytes(text)).expect("intact");
    let addresses: Vec<_> = versions.iter().map(address).collect();
    thread::scope(|scope| {
        for writer in 0..8 {
            let (place, versions, addresses) = (&place, &versions, &addresses);
            scope.spawn(move || {
                let store = Store::open(place).expect("writable");
                for round in 0..50 {
                    let bundle = put(&store, &versions[(writer + round) % versions.len()]);
                    bundle.verify().expect("whole");
                    // Another writer may have removed it.
                    store
                        .refer("shared", &bundle.content_address(), b"")
                        .expect("writable");
                    for stored in addresses.iter().filter_map(|address| store.get(address)) {
                        stored.verify().expect("whole");
                    }
                }
            });
        }
    });
}
