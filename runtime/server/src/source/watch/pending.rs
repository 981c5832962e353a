//! Changes that were reported and not looked at yet, and when they are complete enough to be read.

use std::collections::HashMap;
use std::ffi::OsString;
use std::time::{Duration, Instant};

use super::Verdict;

/// How long a vanished file may be missing before that counts, and how long a new directory may
/// take to be filled. Editors and `git` replace a file by removing or renaming the old one first;
/// what they do takes a few milliseconds.
const NEXT_STEP: Duration = Duration::from_millis(50);

/// How long nothing may change before a client is told, and before a file that is still open for
/// writing is read as it is. Programs such as `git checkout` write many files one after the other,
/// and every notification makes a host ask for the whole list and lose its prompt cache.
pub(crate) const QUIET: Duration = Duration::from_millis(500);

/// Changes that never come to rest are read after this long.
pub(crate) const LONGEST: Duration = Duration::from_secs(5);

/// More names than this are not remembered one by one.
const MOST_NAMES: usize = 10_000;

/// A file in a watched directory: the directory's number, and the name.
pub(super) type Place = (i32, OsString);

/// Changes that nobody has looked at yet.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// When the first of them came.
    first: Option<Instant>,
    /// When the last of them came.
    pub(super) last: Option<Instant>,
    /// Whether directories have come or gone, or events were lost.
    pub(super) structure: bool,
    unfinished: HashMap<Place, Unfinished>,
}

/// Why a file should not be read yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unfinished {
    /// Created or written to, and not closed yet.
    Open,
    /// A file that has vanished, or a directory that has appeared: since then.
    Since(Instant),
}

impl Pending {
    /// A file was created or written to. It is complete when it is closed.
    pub(super) fn note_open(&mut self, place: Place, now: Instant) {
        self.note(now);
        self.remember(place, Unfinished::Open);
    }

    /// A file was closed after writing, or a complete one was moved here.
    pub(super) fn note_complete(&mut self, place: &Place, now: Instant) {
        self.note(now);
        self.unfinished.remove(place);
    }

    /// A file or directory was removed or moved away, and may be about to be replaced; or a
    /// directory was created, and may be about to be filled.
    pub(super) fn note_step(&mut self, place: Place, now: Instant) {
        self.note(now);
        self.remember(place, Unfinished::Since(now));
    }

    /// Something changed that the source must look for itself.
    pub(super) fn note_unknown(&mut self, now: Instant) {
        self.note(now);
        self.structure = true;
    }

    /// Something changed that needs no patience.
    pub(super) fn note(&mut self, now: Instant) {
        self.first.get_or_insert(now);
        self.last = Some(now);
    }

    fn remember(&mut self, place: Place, what: Unfinished) {
        if self.unfinished.len() < MOST_NAMES {
            self.unfinished.insert(place, what);
        }
    }

    /// What a call should do about these changes.
    pub(super) fn verdict(&self, now: Instant) -> Verdict {
        let (Some(first), Some(last)) = (self.first, self.last) else {
            return Verdict::Unchanged;
        };
        if now.duration_since(first) >= LONGEST || now.duration_since(last) >= QUIET {
            return Verdict::Changed;
        }
        let mut wait = Duration::ZERO;
        for what in self.unfinished.values() {
            match what {
                Unfinished::Open => return Verdict::Incomplete,
                Unfinished::Since(at) => {
                    wait = wait.max(NEXT_STEP.saturating_sub(now.duration_since(*at)));
                }
            }
        }
        match wait {
            Duration::ZERO => Verdict::Changed,
            wait => Verdict::Wait(wait),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> Place {
        (1, name.into())
    }

    /// Changes that were noted over time, in milliseconds, and the verdict at a time.
    #[test]
    fn a_change_is_read_when_it_is_complete() {
        type Step = (u64, fn(&mut Pending, Instant));
        let open: fn(&mut Pending, Instant) = |it, now| it.note_open(place("a"), now);
        let close: fn(&mut Pending, Instant) = |it, now| it.note_complete(&place("a"), now);
        let gone: fn(&mut Pending, Instant) = |it, now| it.note_step(place("a"), now);
        let other: fn(&mut Pending, Instant) = |it, now| it.note_complete(&place("b"), now);
        let wait = |millis| Verdict::Wait(Duration::from_millis(millis));
        let cases: [(&[Step], u64, Verdict); 9] = [
            (&[], 0, Verdict::Unchanged),
            (&[(0, open)], 10, Verdict::Incomplete),
            (&[(0, open), (5, close)], 5, Verdict::Changed),
            (&[(0, open)], 500, Verdict::Changed),
            (&[(0, gone)], 10, wait(40)),
            (&[(0, gone)], 50, Verdict::Changed),
            (&[(0, gone), (5, close)], 5, Verdict::Changed),
            (&[(0, open), (5, other)], 5, Verdict::Incomplete),
            (&[(0, open), (4900, open)], 5000, Verdict::Changed),
        ];
        let began = Instant::now();
        let at = |millis| began + Duration::from_millis(millis);
        for (steps, asked, expected) in cases {
            let mut pending = Pending::default();
            for (millis, step) in steps {
                step(&mut pending, at(*millis));
            }
            assert_eq!(
                pending.verdict(at(asked)),
                expected,
                "{pending:?} at {asked}"
            );
        }
    }
}
