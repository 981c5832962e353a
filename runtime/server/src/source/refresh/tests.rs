//! The refresher over a source that fails, waits and counts on demand.

use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use skillbundle_format::{Bundle, write};

use super::{Generation, NotLoaded, Refreshed, Refresher};
use crate::error::Error;
use crate::source::{Loaded, LoadedRoot, Source};
use crate::testing::{Fake, folder, set, spec_folders};

fn on_runtime<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(work)
}

async fn current(refresher: &Refresher) -> Result<Arc<Generation>, NotLoaded> {
    refresher.current().await
}

#[test]
fn a_generation_tells_which_roots_are_of_the_project() {
    let bundle = Bundle::from_bytes(&write(&spec_folders()).unwrap()).unwrap();
    let root = |is_of_project| LoadedRoot {
        base: None,
        is_of_project,
    };
    let loaded = Loaded {
        roots: vec![root(false), root(true)],
        ..bundle.into()
    };
    let generation = Generation::new(loaded, &Arc::default()).unwrap();
    let of_project: Vec<_> = (0..3).map(|root| generation.is_of_project(root)).collect();
    assert_eq!(of_project, [false, true, false]);
}

#[test]
fn nothing_is_asked_before_the_first_call_and_one_load_serves_until_something_moves() {
    on_runtime(async {
        let source = Fake::new(spec_folders());
        let refresher = Refresher::new(source.clone(), &Arc::default());
        assert_eq!((source.looks(), source.loads()), (0, 0));
        let first = current(&refresher).await.unwrap();
        let second = current(&refresher).await.unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        assert_eq!((source.looks(), source.loads()), (2, 1));
        source.edit(set(vec![folder("new", "d", "b")]));
        let third = current(&refresher).await.unwrap();
        assert_eq!(
            (source.loads(), first.len(), third.len()),
            (2, 3, 1),
            "the old generation still answers who holds it"
        );
    });
}

#[test]
fn calls_that_arrive_together_share_one_look_and_one_load() {
    on_runtime(async {
        let source = Fake::slow(spec_folders());
        source.close_gate();
        let refresher = Refresher::new(source.clone(), &Arc::default());
        let calls: Vec<_> = (0..20)
            .map(|_| {
                let refresher = refresher.clone();
                tokio::spawn(
                    async move { refresher.current().await.map(|generation| generation.len()) },
                )
            })
            .collect();
        while source.loads() == 0 {
            tokio::task::yield_now().await;
        }
        source.open_gate();
        for call in calls {
            assert_eq!(call.await.unwrap(), Ok(3));
        }
        // One look for the first call, one that began after all the others.
        assert_eq!(source.loads(), 1);
        assert!(source.looks() <= 2, "{} looks", source.looks());
    });
}

#[test]
fn a_load_outlives_the_call_that_began_it() {
    on_runtime(async {
        let source = Fake::slow(spec_folders());
        source.close_gate();
        let refresher = Refresher::new(source.clone(), &Arc::default());
        for _ in 0..5 {
            tokio::select! {
                biased;
                _ = refresher.current() => panic!("the gate is closed"),
                () = tokio::time::sleep(Duration::from_millis(20)) => {}
            }
        }
        assert_eq!(source.loads(), 1, "nobody begins another one meanwhile");
        source.open_gate();
        assert_eq!(current(&refresher).await.map(|skills| skills.len()), Ok(3));
        assert_eq!(source.loads(), 1);
    });
}

#[test]
fn a_failed_load_is_not_tried_again_by_every_call() {
    on_runtime(async {
        let source = Fake::new(spec_folders());
        let refresher = Refresher::new(source.clone(), &Arc::default());
        let old = current(&refresher).await.unwrap();
        source.break_down(Some("cut short"));
        for _ in 0..10 {
            assert!(Arc::ptr_eq(&old, &current(&refresher).await.unwrap()));
        }
        assert_eq!(source.loads(), 2);
        source.break_down(None);
        assert!(
            !Arc::ptr_eq(&old, &current(&refresher).await.unwrap()),
            "a moved state is tried at once"
        );
    });
}

#[test]
fn every_kind_of_failure_is_kept_from_the_calls() {
    on_runtime(async {
        for slow in [false, true] {
            for (failure, expected) in [
                ("fingerprint", "the disk is gone"),
                ("panic", "failed unexpectedly"),
                ("in its own words", "in its own words"),
            ] {
                let source = if slow {
                    Fake::slow(spec_folders())
                } else {
                    Fake::new(spec_folders())
                };
                source.break_down(Some(failure));
                let refresher = Refresher::new(source.clone(), &Arc::default());
                let Err(NotLoaded(reason)) = current(&refresher).await else {
                    panic!("{failure} gave skills")
                };
                assert!(
                    reason.starts_with("a test: ") && reason.contains(expected),
                    "{reason}"
                );
                source.break_down(None);
                assert_eq!(
                    current(&refresher)
                        .await
                        .map(|generation| generation.len())
                        .ok(),
                    Some(3),
                    "{failure} heals"
                );
            }
        }
    });
}

#[test]
fn a_refresh_loads_even_if_nothing_moved_and_reports_failures() {
    on_runtime(async {
        let source = Fake::new(spec_folders());
        let refresher = Refresher::new(source.clone(), &Arc::default());
        let done = || Refreshed::Done {
            skills: 3,
            files_changed: 0,
        };
        assert_eq!(refresher.refresh().await, done());
        assert_eq!(refresher.refresh().await, done());
        assert_eq!(source.loads(), 2);
        source.break_down(Some("no space"));
        let Refreshed::Failed(reason) = refresher.refresh().await else {
            panic!("it cannot succeed")
        };
        assert!(reason.contains("no space"), "{reason}");
        assert_eq!(
            current(&refresher)
                .await
                .map(|generation| generation.len())
                .ok(),
            Some(3)
        );
    });
}

#[test]
fn an_archive_is_opened_again_when_its_file_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("team.skb");
    let publish = |skills| {
        skillbundle_format::publish(&path, &write(&set(skills)).unwrap()).unwrap();
    };
    on_runtime(async {
        let refresher = Refresher::new(crate::Archive::new(&path, None).unwrap(), &Arc::default());
        let Err(NotLoaded(reason)) = current(&refresher).await else {
            panic!("there is no file yet")
        };
        assert!(reason.contains("team.skb"), "{reason}");
        for body in ["one", "two", "six"] {
            publish(vec![folder("git", "d", body)]);
            let generation = current(&refresher).await.unwrap();
            let skill = generation
                .catalog()
                .unwrap()
                .by_path("git")
                .unwrap()
                .unwrap();
            assert_eq!(
                skill.body().unwrap(),
                body,
                "of equal length, within one tick of the clock"
            );
        }
    });
}

#[test]
fn stored_skills_are_served_until_the_first_look_and_no_longer() {
    on_runtime(async {
        for held_up in [false, true] {
            let source = Fake::slow(spec_folders());
            source.store(set(vec![folder("old", "d", "b")]));
            source.be_changed(held_up);
            let refresher = Refresher::new(source.clone(), &Arc::default());
            let first = current(&refresher).await.unwrap();
            assert_eq!(
                (first.len(), source.looks()),
                (1, 0),
                "nothing is waited for"
            );
            // The look in the background, or a git that ends its checkout.
            while !held_up && source.loads() == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            source.be_changed(false);
            assert_eq!(current(&refresher).await.unwrap().len(), 3, "{held_up}");
        }
    });
}

/// Skills that come from elsewhere, which is away at first.
struct Remote {
    here: Fake,
    failures: usize,
    /// When they were asked for.
    syncs: Arc<Mutex<Vec<tokio::time::Instant>>>,
}

impl Source for Remote {
    fn fingerprint(&self) -> io::Result<u64> {
        self.here.fingerprint()
    }

    fn load(&self, previous: Option<&Bundle>) -> Result<Loaded, Error> {
        self.here.load(previous)
    }

    fn can_sync(&self) -> bool {
        true
    }

    fn sync(&self, _fresh: Duration) -> Result<usize, Error> {
        let mut syncs = self.syncs.lock().unwrap();
        syncs.push(tokio::time::Instant::now());
        if syncs.len() <= self.failures {
            return Err(Error::Source("no network".to_owned()));
        }
        Ok(0)
    }

    fn describe(&self) -> String {
        self.here.describe()
    }
}

#[test]
fn a_first_synchronisation_that_fails_is_tried_again_soon_and_later_ones_at_their_time() {
    for (failures, pauses) in [
        (0, &[900, 900][..]),
        (3, &[10, 20, 40, 900, 900]),
        (9, &[10, 20, 40, 80, 160, 320, 640, 900, 900]),
    ] {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().start_paused(true).build().unwrap();
        let syncs = Arc::new(Mutex::new(Vec::new()));
        let source = Remote {
            here: Fake::slow(spec_folders()),
            failures,
            syncs: Arc::clone(&syncs),
        };
        runtime.block_on(async {
            Refresher::new(source, &Arc::default()).keep_synced();
            // The clock of a test goes on by itself while nothing else happens.
            while syncs.lock().unwrap().len() <= pauses.len() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
        let syncs = syncs.lock().unwrap();
        let found: Vec<_> = syncs
            .windows(2)
            .map(|it| (it[1] - it[0]).as_secs())
            .collect();
        assert_eq!(found, pauses, "{failures} failures");
    }
}

#[test]
fn what_needs_no_skills_waits_for_the_first_ones_for_a_short_time() {
    on_runtime(async {
        let source = Fake::slow(spec_folders());
        source.close_gate();
        let refresher = Refresher::new(source.clone(), &Arc::default());
        let waiting = tokio::spawn({
            let refresher = refresher.clone();
            async move { refresher.current().await.map(|it| it.len()) }
        });
        let soon = refresher.current_soon().await;
        assert!(soon.is_err_and(|it| it.0.contains("still being read")));
        assert!(!waiting.is_finished(), "calls wait longer");
        source.open_gate();
        assert_eq!(waiting.await.unwrap(), Ok(3));
        assert_eq!(refresher.current_soon().await.unwrap().len(), 3);
    });
}
