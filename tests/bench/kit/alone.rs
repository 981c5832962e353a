//! Whether a measurement had a core to itself. On a machine that is shared,
//! another program on the second thread of the same core takes half of what the
//! core can do, for milliseconds to minutes, and no clock tells. What tells is
//! a probe: independent instructions, as many as a core can do at once, which
//! take up to twice as long then.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::sample::Sample;

/// A probe may take so much longer than the fastest one, in hundredths.
const SLACK: u32 = 125;

/// So many of a hundred measurements must have had the core to themselves.
const FEWEST: usize = 5;

/// Durations, and how long the probes around each took.
#[derive(Debug, Default)]
pub(crate) struct Probed(Vec<(Duration, Duration)>);

impl Probed {
    /// Measures what `run` takes.
    pub(crate) fn run<T>(&mut self, run: impl FnOnce() -> T) {
        let before = probe();
        let started = Instant::now();
        black_box(run());
        let elapsed = started.elapsed();
        self.0.push((elapsed, before.max(probe())));
    }

    /// All measurements.
    pub(crate) fn all(&self) -> Sample {
        sample(self.0.iter())
    }

    /// The fastest probe, which had the core to itself if any had.
    pub(crate) fn fastest(&self) -> Duration {
        let probes = self.0.iter().map(|(_, probe)| *probe);
        probes.min().unwrap_or(Duration::MAX)
    }

    /// Those that had the core to themselves, if the fastest probe of all had,
    /// and their share in hundredths; nothing where they are too few.
    pub(crate) fn alone(&self, fastest: Duration) -> Option<(Sample, usize)> {
        let is_alone = |(_, probe): &&(_, Duration)| *probe <= fastest * SLACK / 100;
        let share = self.0.iter().filter(is_alone).count() * 100 / self.0.len();
        (share >= FEWEST).then(|| (sample(self.0.iter().filter(is_alone)), share))
    }
}

fn sample<'a>(measured: impl Iterator<Item = &'a (Duration, Duration)>) -> Sample {
    let mut sample = Sample::default();
    measured.for_each(|(elapsed, _)| sample.add(*elapsed));
    sample
}

/// About two microseconds of a whole core.
fn probe() -> Duration {
    let mut chains = [1_u64, 2, 3, 4, 5, 6, 7, 8];
    let started = Instant::now();
    for step in 0..600 {
        for chain in &mut chains {
            *chain = chain.wrapping_add(step ^ *chain).rotate_left(3);
        }
        black_box(&mut chains);
    }
    started.elapsed()
}
