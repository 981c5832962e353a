//! Changes that were reported and not looked at yet, and when they are complete enough to be read.

use std::collections::{HashMap, HashSet};
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
pub(crate) type WatchedName = (i32, OsString);

/// Changes that nobody has looked at yet.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// When the first of them came.
    pub(super) first: Option<Instant>,
    /// When the last of them came.
    pub(super) last: Option<Instant>,
    /// Whether directories have come or gone, or events were lost.
    pub(super) structure: bool,
    /// Whether a change is complete, so that there is something new to read.
    has_complete: bool,
    unfinished: HashMap<WatchedName, Unfinished>,
    /// What was incomplete, or became complete, at any time since reading began.
    torn: HashSet<WatchedName>,
    /// What was incomplete when the look began.
    carried: Carried,
}

/// Changes from before a look.
#[derive(Debug, Default)]
struct Carried {
    first: Option<Instant>,
    last: Option<Instant>,
    has_complete: bool,
    unfinished: HashMap<WatchedName, Unfinished>,
}

/// Why a file should not be read yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unfinished {
    /// Created or written to, and not closed yet.
    Open { since: Instant, last: Instant },
    /// A file that has vanished, or a directory that has appeared: since then.
    Since(Instant),
}

impl Unfinished {
    /// Whether a reader should still wait for what comes next.
    fn is_recent(self, now: Instant) -> bool {
        match self {
            Self::Open { since, last } => {
                now.duration_since(last) < QUIET && now.duration_since(since) < LONGEST
            }
            Self::Since(at) => now.duration_since(at) < NEXT_STEP,
        }
    }
}

impl Pending {
    /// A look at the source begins, which sees every change up to now. Returns whether directories
    /// have come or gone.
    pub(super) fn look_begins(&mut self, now: Instant) -> bool {
        let before = std::mem::take(self);
        self.carried = Carried {
            first: before.first,
            last: before.last,
            has_complete: before.has_complete,
            unfinished: before.unfinished,
        };
        let carried = &mut self.carried.unfinished;
        carried.retain(|_, what| what.is_recent(now));
        before.structure
    }

    /// The files are read from now on.
    pub(super) fn reading_begins(&mut self, now: Instant) {
        let unfinished = self.unfinished.iter().chain(&self.carried.unfinished);
        let recent = unfinished.filter(|(_, what)| what.is_recent(now));
        self.torn = recent.map(|(place, _)| place.clone()).collect();
    }

    /// The places that were incomplete, or became complete, at any time since reading began; `None`
    /// if they are too many to say.
    pub(super) fn torn(&self) -> Option<impl Iterator<Item = &WatchedName>> {
        (self.torn.len() < MOST_NAMES).then(|| self.torn.iter())
    }

    /// The look has ended. What was left as it was since it was incomplete remains to be read; if
    /// the look went badly, so does everything else.
    pub(super) fn look_ended(&mut self, well: bool) {
        let mut before = std::mem::take(&mut self.carried);
        if well {
            before
                .unfinished
                .retain(|place, _| self.torn.contains(place));
        }
        if before.unfinished.is_empty() {
            return;
        }
        self.has_complete |= !well && before.has_complete;
        self.first = before.first.or(self.first);
        self.last = self.last.or(before.last);
        for (place, what) in before.unfinished {
            self.unfinished.entry(place).or_insert(what);
        }
    }

    /// A file was created or written to. It is complete when it is closed.
    pub(super) fn note_open(&mut self, place: WatchedName, now: Instant) {
        self.noticed(now);
        let known = self.unfinished.get(&place);
        let since = match known.or_else(|| self.carried.unfinished.get(&place)) {
            Some(Unfinished::Open { since, .. }) => *since,
            _ => now,
        };
        self.remember(place, Unfinished::Open { since, last: now }, now);
    }

    /// A file was closed after writing, or a complete one was moved here.
    pub(super) fn note_complete(&mut self, place: &WatchedName, now: Instant) {
        self.note(now);
        self.unfinished.remove(place);
        self.carried.unfinished.remove(place);
        self.tear(place);
    }

    /// A file or directory was removed or moved away, and may be about to be replaced; or a
    /// directory was created, and may be about to be filled.
    pub(super) fn note_step(&mut self, place: WatchedName, now: Instant) {
        self.noticed(now);
        self.remember(place, Unfinished::Since(now), now);
    }

    /// Something changed that the source must look for itself.
    pub(super) fn note_unknown(&mut self, now: Instant) {
        self.note(now);
        self.structure = true;
    }

    /// Something changed that needs no patience.
    pub(super) fn note(&mut self, now: Instant) {
        self.noticed(now);
        self.has_complete = true;
    }

    fn noticed(&mut self, now: Instant) {
        self.first.get_or_insert(now);
        self.last = Some(now);
    }

    fn tear(&mut self, place: &WatchedName) {
        if self.torn.len() < MOST_NAMES {
            self.torn.insert(place.clone());
        }
    }

    fn remember(&mut self, place: WatchedName, what: Unfinished, now: Instant) {
        if what.is_recent(now) {
            self.tear(&place);
        }
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
        for what in self.unfinished.values().filter(|it| it.is_recent(now)) {
            match what {
                Unfinished::Open { .. } if self.has_complete => {}
                Unfinished::Open { .. } => return Verdict::Incomplete,
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

    #[test]
    fn what_is_incomplete_before_or_during_a_look_is_torn_and_read_later() {
        type Step = fn(&mut Pending, Instant);
        type Case<'a> = (&'a [Step], &'a [Step], bool, Verdict, Verdict);
        let open: Step = |it, now| it.note_open(place("a"), now);
        let close: Step = |it, now| it.note_complete(&place("a"), now);
        let gone: Step = |it, now| it.note_step(place("a"), now);
        // What happens before the look and during it, whether it is torn, and what a call should do
        // once the look has gone well, and once it has failed.
        let wait = Verdict::Wait(NEXT_STEP);
        let (unchanged, changed) = (Verdict::Unchanged, Verdict::Changed);
        let cases: [Case<'_>; 8] = [
            (&[], &[], false, unchanged, unchanged),
            (&[open], &[], true, Verdict::Incomplete, Verdict::Incomplete),
            (&[open, close], &[], false, unchanged, unchanged),
            (&[open], &[close], true, changed, changed),
            (&[], &[open], true, Verdict::Incomplete, Verdict::Incomplete),
            (&[], &[open, close], true, changed, changed),
            (&[], &[close], true, changed, changed),
            (&[gone], &[], true, wait, wait),
        ];
        let now = Instant::now();
        for (before, during, is_torn, after, after_failure) in cases {
            for (well, verdict) in [(true, after), (false, after_failure)] {
                let mut pending = Pending::default();
                for step in before {
                    step(&mut pending, now);
                }
                pending.look_begins(now);
                pending.reading_begins(now);
                for step in during {
                    step(&mut pending, now);
                }
                assert_eq!(!pending.torn.is_empty(), is_torn, "{pending:?}");
                pending.look_ended(well);
                assert_eq!(pending.verdict(now), verdict, "{pending:?}");
            }
        }
    }

    #[test]
    fn a_file_that_is_written_to_all_the_time_is_left_alone_for_a_while_only() {
        let began = Instant::now();
        let mut pending = Pending::default();
        for tenths in 0..60 {
            let now = began + Duration::from_millis(tenths * 100);
            pending.note_open(place("log"), now);
            pending.look_begins(now);
            pending.reading_begins(now);
            let is_torn = !pending.torn.is_empty();
            assert_eq!(is_torn, tenths < 50, "{tenths}");
            if !is_torn {
                break;
            }
            pending.look_ended(true);
        }
    }

    fn place(name: &str) -> WatchedName {
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
            (&[(0, open), (5, other)], 5, Verdict::Changed),
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
