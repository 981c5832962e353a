//! The shipped binary against a hand-written loop, in one interleaved run:
//! start-up with bundles of three sizes, steady calls, resident memory. Ends
//! with 1 if a goal is missed. Quote ratios of one run, never absolute
//! times across runs.
//!
//! `cargo bench --bench serving`

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

mod kit;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use kit::client::Client;
use kit::generate;
use kit::sample::Sample;

const SIZES: [usize; 3] = [10, 1_000, 10_000];

/// Spawns of each server; the median of fewer still moves by several percent.
const STARTS: usize = 201;
const LOADS: usize = 20_000;

/// The goals, as ratios: the largest of the three start-ups over the smallest;
/// each start-up over the floor's; a steady call over the floor's.
const FLAT: f64 = 1.10;
const START: f64 = 1.5;
const STEADY: f64 = 3.0;

/// Resident growth allowed after loading a tenth of the skills, as a share of
/// the bundle's length. Mapping brings in up to 16 pages around each touch.
const LOADED: usize = 1_000;

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == "--floor") {
        kit::floor::serve();
        return ExitCode::SUCCESS;
    }
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let bundles: Vec<PathBuf> = SIZES
        .iter()
        .map(|size| generate::bundle(scratch.path(), *size))
        .collect();
    let met = [start_up(&bundles), steady(&bundles[1]), memory(&bundles)];
    if met.iter().all(|met| *met) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Spawn to the whole first skill.
fn start_up(bundles: &[PathBuf]) -> bool {
    let mut floor = Sample::default();
    let mut ours = vec![Sample::default(); bundles.len()];
    for _ in 0..STARTS {
        floor.add(first_skill(floor_client(), 7));
        for ((bundle, size), sample) in bundles.iter().zip(SIZES).zip(&mut ours) {
            sample.add(first_skill(our_client(bundle), size / 2));
        }
    }
    println!("spawn to first skill, {STARTS} starts each, interleaved");
    println!("  {:<28} {:>9} {:>9}", "", "median", "floor ×");
    println!(
        "  {:<28} {:>9.3?} {:>9.2}",
        "hand-written loop (floor)",
        floor.median(),
        1.0
    );
    for (size, sample) in SIZES.iter().zip(&ours) {
        println!(
            "  {:<28} {:>9.3?} {:>9.2}",
            format!("skillbundle, {size} skills"),
            sample.median(),
            ratio(sample, &floor)
        );
    }
    let medians: Vec<f64> = ours
        .iter()
        .map(|sample| sample.median().as_secs_f64())
        .collect();
    let spread = medians.iter().copied().fold(f64::MIN, f64::max)
        / medians.iter().copied().fold(f64::MAX, f64::min);
    let worst = ours
        .iter()
        .map(|sample| ratio(sample, &floor))
        .fold(f64::MIN, f64::max);
    let flat = goal("largest over smallest", spread, FLAT);
    let near = goal("largest over the floor", worst, START);
    flat && near
}

/// A 4 KiB skill again and again, one request at a time.
fn steady(bundle: &Path) -> bool {
    let (mut floor_client, mut our_client) = (floor_client(), our_client(bundle));
    floor_client.initialize();
    our_client.initialize();
    let (mut floor, mut ours) = (Sample::default(), Sample::default());
    for round in 0..LOADS {
        let name = generate::name(round % SIZES[1]);
        for (client, sample) in [
            (&mut floor_client, &mut floor),
            (&mut our_client, &mut ours),
        ] {
            let asked = Instant::now();
            client.load(&name);
            sample.add(asked.elapsed());
        }
    }
    println!("steady `skill` call, 4 KiB body, {LOADS} calls each, interleaved");
    for (name, sample) in [
        ("hand-written loop (floor)", &floor),
        ("skillbundle", &ours),
    ] {
        println!(
            "  {name:<28} median {:>9.1?}  p99 {:>9.1?}",
            sample.median(),
            sample.percentile(99)
        );
    }
    goal("skillbundle over the floor", ratio(&ours, &floor), STEADY)
}

/// Resident memory before and after a tenth of the largest bundle was loaded.
fn memory(bundles: &[PathBuf]) -> bool {
    let largest = &bundles[SIZES.len() - 1];
    let whole = std::fs::metadata(largest).expect("just written").len() / 1024;
    let mut client = our_client(largest);
    client.initialize();
    client.load(&generate::name(0));
    let Some((before, anonymous_before)) = client.resident() else {
        println!("resident memory: not measured, since this system has no /proc/PID/status");
        return true;
    };
    for number in 0..LOADED {
        client.load(&generate::name(number));
    }
    let (after, anonymous) = client.resident().expect("read a moment ago");
    println!(
        "resident memory, bundle of {} skills ({whole} KiB)",
        SIZES[SIZES.len() - 1]
    );
    println!("  after the first skill {before} KiB, after {LOADED} of them {after} KiB");
    println!("  of which no file backs {anonymous_before} KiB and {anonymous} KiB");
    let touched = whole * LOADED as u64 / SIZES[SIZES.len() - 1] as u64;
    #[expect(clippy::cast_precision_loss, reason = "kilobytes are far below 2^52")]
    let growth = (after - before) as f64 / touched as f64;
    goal("growth over what was touched", growth, 2.0)
}

fn first_skill(mut client: Client, number: usize) -> std::time::Duration {
    client.initialize();
    assert!(
        client
            .load(&generate::name(number))
            .contains(&generate::last_line(number)),
        "the whole skill arrives"
    );
    client.age()
}

fn floor_client() -> Client {
    let program = std::env::current_exe().expect("this program has a path");
    Client::start(&program, &["--floor"])
}

fn our_client(bundle: &Path) -> Client {
    let bundle = bundle.to_str().expect("temporary paths are UTF-8");
    Client::start(
        Path::new(env!("CARGO_BIN_EXE_skillbundle")),
        &["serve", "--bundle", bundle],
    )
}

fn goal(what: &str, found: f64, most: f64) -> bool {
    let met = found <= most;
    println!(
        "  {what}: {found:.2}, goal at most {most:.2}: {}",
        if met { "met" } else { "MISSED" }
    );
    met
}

/// One median as a multiple of another.
fn ratio(sample: &Sample, other: &Sample) -> f64 {
    sample.median().as_secs_f64() / other.median().as_secs_f64()
}
