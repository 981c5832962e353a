//! Percentiles of measured durations.

use std::time::Duration;

/// Durations of one thing measured many times.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample(Vec<Duration>);

impl Sample {
    pub(crate) fn add(&mut self, duration: Duration) {
        self.0.push(duration);
    }

    /// The value below which `percent` percent of the sample lies.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
    }

    pub(crate) fn median(&self) -> Duration {
        self.percentile(50)
    }
}
