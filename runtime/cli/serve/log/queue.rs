//! A bounded queue of lines between the server and stderr. A thread of its own writes them, so a
//! stderr that nobody reads (a full pipe, a stopped terminal) holds back no call. Non-blocking
//! writes would need no thread, but the flag belongs to the file description, which other processes
//! may share. The thread starts with the first line: a server that logs nothing pays nothing.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Bytes that may wait: the findings of a load of some five thousand skills.
const CAPACITY: usize = 1 << 20;

/// Lines on their way to a writer.
pub(super) struct Queue {
    state: Mutex<State>,
    /// Signalled when lines arrive, and when all are written.
    changed: Condvar,
}

struct State {
    lines: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Lines that found no room since the writer last took some.
    dropped: u64,
    is_writing: bool,
    has_writer: bool,
}

impl Queue {
    pub(super) const fn new() -> Self {
        Self {
            state: Mutex::new(State {
                lines: VecDeque::new(),
                bytes: 0,
                dropped: 0,
                is_writing: false,
                has_writer: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Appends a line, or counts it as dropped if there is no room. Never waits for the writer.
    pub(super) fn push(&'static self, line: &[u8], writer: fn() -> Box<dyn Write>) {
        let mut state = self.lock();
        // One long line may pass the limit.
        if state.bytes > 0 && state.bytes + line.len() > CAPACITY {
            state.dropped += 1;
            return;
        }
        state.bytes += line.len();
        let mut line = line.to_vec();
        skillbundle_format::escape_line_ends(&mut line, 0);
        state.lines.push_back(line);
        if !state.has_writer {
            let spawned = thread::Builder::new().spawn(move || self.write_to(&mut *writer()));
            // Without a thread the lines wait; the next one tries again.
            state.has_writer = spawned.is_ok();
        }
        self.changed.notify_all();
    }

    /// Waits until everything is written, for at most this long.
    pub(super) fn flush(&self, patience: Duration) {
        let is_pending = |state: &mut State| state.bytes > 0 || state.is_writing;
        drop(
            self.changed
                .wait_timeout_while(self.lock(), patience, is_pending),
        );
    }

    fn write_to(&self, writer: &mut dyn Write) {
        loop {
            let (lines, dropped) = self.take();
            // A stderr that is closed is ignored.
            for line in lines {
                let _ = writer.write_all(&line);
            }
            if dropped > 0 {
                let _ = writeln!(
                    writer,
                    "{dropped} lines of the log were dropped here, because stderr was not read"
                );
            }
        }
    }

    /// Waits for lines and takes all of them, with the number of those dropped after them.
    fn take(&self) -> (VecDeque<Vec<u8>>, u64) {
        let mut state = self.lock();
        state.is_writing = false;
        self.changed.notify_all();
        let mut state = self
            .changed
            .wait_while(state, |state| state.bytes == 0)
            .unwrap_or_else(PoisonError::into_inner);
        state.is_writing = true;
        state.bytes = 0;
        (
            std::mem::take(&mut state.lines),
            std::mem::take(&mut state.dropped),
        )
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::io::{BufRead, BufReader, PipeReader, PipeWriter, pipe};
    use std::sync::OnceLock;

    use super::*;

    static PIPE: OnceLock<(PipeReader, PipeWriter)> = OnceLock::new();

    fn ends() -> &'static (PipeReader, PipeWriter) {
        PIPE.get_or_init(|| pipe().expect("a pipe"))
    }

    #[test]
    fn lines_without_room_are_counted_and_reported_after_those_before_them() {
        static QUEUE: Queue = Queue::new();
        let writer = || Box::new(ends().1.try_clone().expect("a descriptor")) as Box<dyn Write>;
        let line = |number: usize| format!("line {number} {}\n", "x".repeat(1000));
        for number in 0..4000 {
            QUEUE.push(line(number).as_bytes(), writer);
        }
        let mut reader = BufReader::new(&ends().0);
        let mut next = || {
            let mut text = String::new();
            reader.read_line(&mut text).expect("text");
            text
        };
        // A thread that begins late takes what is queued then, and there is room again: several
        // reports, each in the place of the lines that it counts.
        let (mut number, mut written) = (0, 0);
        while number < 4000 {
            let text = next();
            if text == line(number) {
                (number, written) = (number + 1, written + 1);
                continue;
            }
            let (count, rest) = text.split_once(' ').expect("a report");
            let is_report = rest.starts_with("lines of the log were dropped");
            assert!(is_report, "{number}: {text}");
            number += count.parse::<usize>().expect("a number");
        }
        assert_eq!(number, 4000);
        assert!((1000..3900).contains(&written), "{written}");
        QUEUE.push(b"later\n", writer);
        assert_eq!(next(), "later\n");
    }
}
