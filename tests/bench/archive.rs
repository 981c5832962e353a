//! The archive alone, in this process: opening, lookup, text, matching and
//! search at three sizes.
//!
//! `cargo bench --bench archive`

#[path = "kit/generate.rs"]
mod generate;

use std::hint::black_box;
use std::path::PathBuf;
use std::sync::OnceLock;

use skillbundle_format::{Bundle, Search};

const SIZES: [usize; 3] = [10, 1_000, 10_000];

/// Counts allocations as well as time.
#[global_allocator]
static ALLOCATIONS: divan::AllocProfiler = divan::AllocProfiler::system();

fn main() {
    divan::main();
}

/// Nothing is allocated but the results.
#[divan::bench(args = SIZES)]
fn rank_a_request(bencher: divan::Bencher<'_, '_>, size: usize) {
    let bundle = bundle(size);
    let catalog = bundle.catalog().expect("intact");
    bencher.bench(|| {
        catalog
            .best(
                black_box("rotate the login tokens of our canary release"),
                3,
            )
            .expect("intact")
            .len()
    });
}

#[divan::bench(args = SIZES)]
fn open_and_read_the_first_skill(bencher: divan::Bencher<'_, '_>, size: usize) {
    let (file, name) = (file(size), generate::name(size / 2));
    bencher.bench(|| {
        let bundle = Bundle::open(&file).expect("compiled a moment ago");
        let skill = bundle
            .catalog()
            .and_then(|catalog| catalog.by_name(&name))
            .expect("intact")
            .expect("there");
        skill.text().expect("intact").len()
    });
}

#[divan::bench(args = SIZES)]
fn look_up_by_name(bencher: divan::Bencher<'_, '_>, size: usize) {
    let (bundle, name) = (bundle(size), generate::name(size / 2));
    let catalog = bundle.catalog().expect("intact");
    bencher.bench(|| {
        catalog
            .by_name(black_box(&name))
            .expect("intact")
            .expect("there")
            .id
    });
}

fn search(query: &str) -> Search<'_> {
    Search {
        query,
        limit: 10,
        ..Search::default()
    }
}

#[divan::bench(args = SIZES)]
fn search_for_two_words(bencher: divan::Bencher<'_, '_>, size: usize) {
    let bundle = bundle(size);
    let catalog = bundle.catalog().expect("intact");
    bencher.bench(|| {
        catalog
            .search(&search(black_box("canary 00007")))
            .expect("intact")
            .total
    });
}

#[divan::bench(args = SIZES)]
fn search_with_many_hits(bencher: divan::Bencher<'_, '_>, size: usize) {
    let bundle = bundle(size);
    let catalog = bundle.catalog().expect("intact");
    bencher.bench(|| {
        catalog
            .search(&search(black_box("review")))
            .expect("intact")
            .total
    });
}

#[divan::bench(args = SIZES)]
fn verify_everything(bencher: divan::Bencher<'_, '_>, size: usize) {
    let bundle = bundle(size);
    bencher.bench(|| bundle.verify().expect("intact").contents);
}

/// Each size is compiled once.
fn file(size: usize) -> PathBuf {
    static SCRATCH: OnceLock<tempfile::TempDir> = OnceLock::new();
    let scratch = SCRATCH.get_or_init(|| tempfile::tempdir().expect("a temporary directory"));
    let file = scratch.path().join(format!("{size}.skb"));
    if file.exists() {
        file
    } else {
        generate::bundle(scratch.path(), size)
    }
}

fn bundle(size: usize) -> Bundle {
    Bundle::open(&file(size)).expect("compiled a moment ago")
}
