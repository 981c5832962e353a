//! The only place that writes to stdout and stderr. It knows whether a person
//! or a program reads, and what follows from that: width, colour, escapes.

use std::env;
use std::io::{self, BufWriter, IsTerminal, Write};

use serde_json::Value;

use super::table::Table;
use super::text;

/// How wide a terminal is that does not say.
const USUAL_WIDTH: usize = 80;

/// What a stream can show.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    /// Columns of the terminal; nothing for a pipe or a file.
    pub(crate) width: Option<usize>,
    /// Whether colours and bold may be used.
    pub(crate) color: bool,
}

impl Look {
    fn of(stream: &impl IsTerminal) -> Self {
        let terminal = stream.is_terminal();
        let plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self {
            width: terminal.then(terminal_width),
            color: terminal && !plain,
        }
    }

    /// The look of stderr.
    pub(crate) fn stderr() -> Self {
        Self::of(&io::stderr())
    }

    /// The text in bold, where that is possible.
    pub(crate) fn bold(self, text: &str) -> String {
        self.styled("1", text)
    }

    fn styled(self, code: &str, text: &str) -> String {
        if self.color {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Buffered stdout. Nothing is sure to be written before [`Output::finish`].
pub(crate) struct Output {
    stream: BufWriter<io::StdoutLock<'static>>,
    look: Look,
}

impl Output {
    /// Takes stdout.
    pub(crate) fn new() -> Self {
        let stdout = io::stdout();
        let look = Look::of(&stdout);
        Self {
            stream: BufWriter::new(stdout.lock()),
            look,
        }
    }

    /// What stdout can show.
    pub(crate) const fn look(&self) -> Look {
        self.look
    }

    /// Whether a person reads it.
    pub(crate) const fn is_terminal(&self) -> bool {
        self.look.width.is_some()
    }

    /// One line of our own words, or of text already made safe.
    pub(crate) fn line(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.stream, "{line}")
    }

    /// A heading with a blank line before it, on a terminal in bold.
    pub(crate) fn heading(&mut self, title: &str) -> io::Result<()> {
        writeln!(self.stream, "\n{}", self.look.bold(title))
    }

    /// Text of a skill: escaped for a terminal, as it is for a pipe.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        if !self.is_terminal() {
            return self.bytes(text.as_bytes());
        }
        self.bytes(text::many_lines(text).as_bytes())?;
        if text.ends_with('\n') {
            Ok(())
        } else {
            self.bytes(b"\n")
        }
    }

    /// Bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// A table as part of a page: aligned in a pipe, too, and not cut there.
    pub(crate) fn page(&mut self, table: &Table) -> io::Result<()> {
        let look = Look {
            width: Some(self.look.width.unwrap_or(usize::MAX)),
            ..self.look
        };
        self.bytes(table.render(look).as_bytes())
    }

    /// A table as this stream shows it.
    pub(crate) fn table(&mut self, table: &Table) -> io::Result<()> {
        self.bytes(table.render(self.look).as_bytes())
    }

    /// A JSON value, indented, with a line break.
    pub(crate) fn json(&mut self, value: &Value) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut self.stream, value)?;
        self.bytes(b"\n")
    }

    /// Writes out what is buffered.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// A word to the person, on stderr. A closed stderr is nobody's trouble.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", text.trim_end_matches('\n'));
}

/// What went wrong, on stderr, in one line where it is one.
pub(crate) fn complain(text: &str) {
    let look = Look::stderr();
    note(&format!(
        "{} {}",
        look.styled("1;31", "error:"),
        text::many_lines(text)
    ));
}

/// An error and its causes, in one line. A cause that the error above it has
/// quoted already is not told twice.
pub(crate) fn complain_of(error: &anyhow::Error) {
    let mut told: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        if !told.iter().any(|above| above.contains(&cause)) {
            told.push(cause);
        }
    }
    complain(&told.join(": "));
}

/// Whether a run ended because whoever read our stdout had seen enough.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// Whether the locale says that the terminal shows UTF-8, by the first variable
/// that says anything. (Without one a terminal may well show it, but need not.)
pub(crate) fn is_utf8() -> bool {
    let said = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(said);
    locale.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

fn terminal_width() -> usize {
    terminal_size::terminal_size().map_or(USUAL_WIDTH, |(width, _)| usize::from(width.0).max(1))
}
