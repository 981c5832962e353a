//! A watch over real directories.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use super::{Verdict, Watch, WatchPaths};

/// A watch of a directory and of one name beside it, after the first look.
fn watching(directory: &Path) -> Watch {
    let watch = Watch::new().expect("inotify works");
    let paths = WatchPaths {
        directories: vec![directory.join("root")],
        entries: vec![directory.join("root"), directory.join("later")],
        files: vec![directory.join("linked.md")],
    };
    watch.add(&paths).expect("a local disk");
    assert_eq!(watch.verdict(), Verdict::Changed, "nobody has looked yet");
    look(&watch);
    watch
}

fn look(watch: &Watch) {
    watch.look_begins();
    watch.look_ended(true);
    assert_eq!(watch.verdict(), Verdict::Unchanged);
}

/// What happens, how, and which verdict follows.
type Change<'a> = (&'a str, &'a dyn Fn(), &'a dyn Fn(Verdict) -> bool);

#[test]
fn every_way_to_change_a_tree_is_reported_before_the_change_returns() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("root")).expect("writable");
    fs::write(at("root/a.md"), "old").expect("writable");
    fs::write(at("complete"), "new").expect("writable");
    let watch = watching(directory.path());
    let is_step = |verdict| matches!(verdict, Verdict::Wait(_));
    let is_changed = |verdict| verdict == Verdict::Changed;
    let changes: [Change<'_>; 8] = [
        (
            "a write",
            &|| fs::write(at("root/a.md"), "new").expect("writable"),
            &is_changed,
        ),
        (
            "a rename over it",
            &|| fs::rename(at("complete"), at("root/a.md")).expect("writable"),
            &is_changed,
        ),
        (
            "a removal",
            &|| fs::remove_file(at("root/a.md")).expect("writable"),
            &is_step,
        ),
        (
            "a new directory",
            &|| fs::create_dir(at("root/b")).expect("writable"),
            &is_step,
        ),
        (
            "a root that appears",
            &|| fs::create_dir(at("later")).expect("writable"),
            &is_step,
        ),
        (
            "permissions",
            &|| {
                use std::os::unix::fs::PermissionsExt;
                let mode = fs::Permissions::from_mode(0o700);
                fs::set_permissions(at("root/b"), mode).expect("ours");
            },
            &is_changed,
        ),
        (
            "a root that is replaced",
            &|| fs::rename(at("root"), at("gone")).expect("writable"),
            &is_step,
        ),
        (
            "its return",
            &|| fs::rename(at("gone"), at("root")).expect("writable"),
            &is_changed,
        ),
    ];
    for (what, change, expected) in changes {
        change();
        let verdict = watch.verdict();
        assert!(expected(verdict), "{what}: {verdict:?}");
        look(&watch);
    }
}

#[test]
fn a_file_that_is_open_for_writing_is_left_alone_until_it_is_closed() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(directory.path().join("root")).expect("writable");
    let watch = watching(directory.path());
    let mut file = File::create(directory.path().join("root/a.md")).expect("writable");
    file.write_all(b"half").expect("writable");
    assert_eq!(watch.verdict(), Verdict::Incomplete);
    drop(file);
    assert_eq!(watch.verdict(), Verdict::Changed);
}

#[test]
fn an_editor_that_replaces_a_file_in_steps_is_seen_as_one_change() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("root")).expect("writable");
    fs::write(at("root/a.md"), "old").expect("writable");
    let watch = watching(directory.path());
    fs::rename(at("root/a.md"), at("root/a.md~")).expect("writable");
    assert!(matches!(watch.verdict(), Verdict::Wait(_)));
    fs::write(at("root/a.md"), "new").expect("writable");
    assert_eq!(watch.verdict(), Verdict::Changed);
}

#[test]
fn a_single_file_is_watched_for_its_contents() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(directory.path().join("root")).expect("writable");
    fs::write(directory.path().join("linked.md"), "old").expect("writable");
    let watch = watching(directory.path());
    fs::write(directory.path().join("linked.md"), "new").expect("writable");
    assert_eq!(watch.verdict(), Verdict::Changed);
}

#[test]
fn what_happens_beside_the_watched_places_is_no_change() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(directory.path().join("root")).expect("writable");
    let watch = watching(directory.path());
    fs::write(directory.path().join("other"), "text").expect("writable");
    assert_eq!(watch.verdict(), Verdict::Unchanged);
}

#[test]
fn a_change_during_a_look_counts_after_it() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(directory.path().join("root")).expect("writable");
    let watch = watching(directory.path());
    watch.look_begins();
    assert_eq!(watch.verdict(), Verdict::Changed, "the look has not ended");
    fs::write(directory.path().join("root/a.md"), "new").expect("writable");
    watch.look_ended(true);
    assert_eq!(watch.verdict(), Verdict::Changed);
    watch.look_begins();
    watch.look_ended(false);
    assert_eq!(
        watch.verdict(),
        Verdict::Changed,
        "a look that failed is repeated"
    );
}

#[test]
fn more_events_than_the_system_queues_are_a_change() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let root = directory.path().join("root");
    fs::create_dir(&root).expect("writable");
    let watch = watching(directory.path());
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events");
    let limit: usize = limit.map_or(16_384, |text| text.trim().parse().expect("a number"));
    for number in 0..limit.min(100_000) / 2 {
        let file = root.join(format!("{}", number % 100));
        fs::write(&file, "text").expect("writable");
        fs::remove_file(&file).expect("writable");
    }
    while let Verdict::Wait(time) = watch.verdict() {
        std::thread::sleep(time);
    }
    assert_eq!(watch.verdict(), Verdict::Changed);
}

#[test]
fn a_writer_that_never_stops_holds_no_call() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let directory = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(directory.path().join("root")).expect("writable");
    let watch = watching(directory.path());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let (file, stop) = (directory.path().join(format!("log{writer}")), &stop);
            scope.spawn(move || {
                let mut file = File::create(file).expect("writable");
                while !stop.load(Ordering::Relaxed) {
                    file.write_all(b".").expect("writable");
                }
            });
        }
        // Beside the watched names, so it is no change, however long it goes on.
        for _ in 0..200 {
            assert!(!matches!(
                watch.verdict(),
                Verdict::Incomplete | Verdict::Wait(_)
            ));
        }
        stop.store(true, Ordering::Relaxed);
    });
}
