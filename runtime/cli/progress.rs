//! Progress on stderr for work that takes longer than a second, on a terminal
//! only. The line is erased when the work ends.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::display::{cut, one_line};
use super::output::Style;

/// Shorter work shows nothing.
const DELAY: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(250);

/// Shows what is being done until it is dropped.
pub(crate) struct Progress(Option<(Sender<()>, JoinHandle<()>)>);

impl Progress {
    /// Starts the clock: `compiling skills … 3 s`.
    pub(crate) fn start(verb: &str, what: &str) -> Self {
        if !io::stderr().is_terminal() {
            return Self(None);
        }
        let text = one_line(&format!("{verb} {what}"));
        let (done, ended) = mpsc::channel();
        let begun = Instant::now();
        let width = Style::stderr().width.unwrap_or(usize::MAX);
        let draw = move || {
            let mut pause = DELAY;
            let mut is_drawn = false;
            while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                let seconds = begun.elapsed().as_secs();
                let line = format!("{text} … {seconds} s");
                let _ = write!(io::stderr(), "\r\u{1b}[K{}", cut(&line, width));
                (pause, is_drawn) = (STEP, true);
            }
            if is_drawn {
                let _ = write!(io::stderr(), "\r\u{1b}[K");
            }
        };
        Self(Some((done, thread::spawn(draw))))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((done, thread)) = self.0.take() {
            drop(done);
            // The line is erased before anything else is printed.
            let _ = thread.join();
        }
    }
}
