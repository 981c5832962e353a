//! Progress on stderr for work that takes longer than a second, on a terminal
//! only. The line is erased when the work ends.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
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
        let width = Style::stderr().width.unwrap_or(usize::MAX);
        let thread = move || draw(&text, width, DELAY, &ended, &mut io::stderr());
        Self(Some((done, thread::spawn(thread))))
    }
}

/// Draws the line after `delay` and every [`STEP`], until the sender of `ended` is gone; then
/// erases it.
fn draw(text: &str, width: usize, delay: Duration, ended: &Receiver<()>, stream: &mut impl Write) {
    let begun = Instant::now();
    let mut pause = delay;
    let mut is_drawn = false;
    while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
        let seconds = begun.elapsed().as_secs();
        let line = format!("{text} … {seconds} s");
        let _ = write!(stream, "\r\u{1b}[K{}", cut(&line, width));
        (pause, is_drawn) = (STEP, true);
    }
    if is_drawn {
        let _ = write!(stream, "\r\u{1b}[K");
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Collects what is drawn and ends the work when the first line is there.
    struct Screen {
        drawn: Vec<u8>,
        work: Option<Sender<()>>,
    }

    impl Write for Screen {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.drawn.extend_from_slice(bytes);
            if self.drawn.ends_with(b" s") {
                self.work = None;
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn drawn(width: usize, delay: Duration, is_done: bool) -> String {
        let (work, ended) = mpsc::channel();
        let mut screen = Screen {
            drawn: Vec::new(),
            work: Some(work).filter(|_| !is_done),
        };
        draw("compiling skills", width, delay, &ended, &mut screen);
        String::from_utf8(screen.drawn).unwrap()
    }

    #[test]
    fn work_that_ends_before_the_delay_shows_nothing() {
        assert_eq!(drawn(80, Duration::from_secs(3600), true), "");
    }

    #[test]
    fn longer_work_shows_one_line_and_erases_it_at_the_end() {
        assert_eq!(
            drawn(80, Duration::ZERO, false),
            "\r\u{1b}[Kcompiling skills … 0 s\r\u{1b}[K"
        );
    }
}
