//! The only place that writes to stdout and stderr: buffering, colour, width,
//! escapes, and the form of error messages.

use std::env;
use std::fmt;
use std::io::{self, BufWriter, IsTerminal, Write};

use serde::Serialize;

use super::display;
use super::table::Table;

/// Columns of a terminal that does not report its width.
const DEFAULT_WIDTH: usize = 80;

/// What a stream can display.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    /// Columns of the terminal; `None` for a pipe or a file.
    pub(crate) width: Option<usize>,
    /// Whether colours and bold may be used.
    pub(crate) color: bool,
}

impl Style {
    fn of(stream: &impl IsTerminal) -> Self {
        let terminal = stream.is_terminal();
        let plain = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self {
            width: terminal.then(terminal_width),
            color: terminal && !plain,
        }
    }

    /// The style for stderr.
    pub(crate) fn stderr() -> Self {
        Self::of(&io::stderr())
    }

    /// The text in bold, if the stream shows bold.
    pub(crate) fn bold(self, text: &str) -> String {
        self.styled("1", text)
    }

    /// The text in this colour or weight (SGR code), if the stream shows it.
    pub(crate) fn styled(self, code: &str, text: &str) -> String {
        if self.color {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Buffered stdout; [`Output::finish`] writes out the rest.
pub(crate) struct Output {
    stream: BufWriter<io::StdoutLock<'static>>,
    style: Style,
}

impl Output {
    /// Takes stdout.
    pub(crate) fn new() -> Self {
        let stdout = io::stdout();
        let style = Style::of(&stdout);
        Self {
            stream: BufWriter::new(stdout.lock()),
            style,
        }
    }

    /// The style for stdout.
    pub(crate) const fn style(&self) -> Style {
        self.style
    }

    /// Whether it is a terminal.
    pub(crate) const fn is_terminal(&self) -> bool {
        self.style.width.is_some()
    }

    /// One line; text of skills must be escaped already.
    pub(crate) fn line(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.stream, "{line}")
    }

    /// A heading after an empty line, in bold on a terminal.
    pub(crate) fn heading(&mut self, title: &str) -> io::Result<()> {
        writeln!(self.stream, "\n{}", self.style.bold(title))
    }

    /// Text of a skill: escaped on a terminal, unchanged in a pipe.
    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        if !self.is_terminal() {
            return self.bytes(text.as_bytes());
        }
        self.bytes(display::many_lines(text).as_bytes())?;
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

    /// A table inside a report: aligned in a pipe as well, but not cut there.
    pub(crate) fn page(&mut self, table: &Table) -> io::Result<()> {
        let style = Style {
            width: Some(self.style.width.unwrap_or(usize::MAX)),
            ..self.style
        };
        self.bytes(table.render(style).as_bytes())
    }

    /// A table: aligned on a terminal, tab-separated in a pipe.
    pub(crate) fn table(&mut self, table: &Table) -> io::Result<()> {
        self.bytes(table.render(self.style).as_bytes())
    }

    /// A JSON value, indented, with a line break.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let mut json = serde_json::to_vec_pretty(value)?;
        skillbundle_format::escape_line_ends(&mut json, 0);
        json.push(b'\n');
        self.bytes(&json)
    }

    /// Writes out what is buffered.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// A line of information on stderr. A closed stderr is ignored.
pub(crate) fn info(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", text.trim_end_matches('\n'));
}

/// An error on stderr.
pub(crate) fn error(message: &str, help: Option<&str>) {
    info(&error_text(message, help));
}

/// An error for stderr: what is wrong, then what to type.
pub(crate) fn error_text(message: &str, help: Option<&str>) -> String {
    let style = Style::stderr();
    let part = |code, label: &str, text: &str| {
        let label = style.styled(code, label);
        let text = display::many_lines(text.trim_end());
        format!("{label} {}", without_commands(&text))
    };
    let error = part("1;31", "error:", message);
    match help {
        Some(help) => format!("{error}\n{}", part("1;36", "help:", help)),
        None => error,
    }
}

/// A text of which GitHub Actions makes no commands: `::` begins one at the start of a line, `##[`
/// everywhere. Names and settings that an error quotes may have lines of their own.
fn without_commands(text: &str) -> String {
    let text = text.replace("##[", "\\u{23}#[");
    let line = |line: &str| {
        if line.trim_start().starts_with("::") {
            line.replacen(':', "\\u{3a}", 1)
        } else {
            line.to_owned()
        }
    };
    let lines: Vec<String> = text.split('\n').map(line).collect();
    lines.join("\n")
}

/// An error that says what to type instead.
#[derive(Debug)]
struct HelpfulError {
    message: String,
    help: String,
}

impl fmt::Display for HelpfulError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for HelpfulError {}

/// An error with the line that is printed after `help:`.
pub(crate) fn with_help(message: &str, help: &str) -> anyhow::Error {
    HelpfulError {
        message: message.to_owned(),
        help: help.to_owned(),
    }
    .into()
}

/// An error and its causes in one line, and its help. A cause that the error
/// above it quotes is left out.
pub(crate) fn describe(error: &anyhow::Error) -> (String, Option<&str>) {
    let mut parts: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        if !parts.iter().any(|above| above.contains(&cause)) {
            parts.push(cause);
        }
    }
    (parts.join(": "), error.chain().find_map(help_of))
}

fn help_of<'a>(cause: &'a (dyn std::error::Error + 'static)) -> Option<&'a str> {
    use skillbundle_server::Error::Bundle;
    if let Some(error) = cause.downcast_ref::<HelpfulError>() {
        return Some(&error.help);
    }
    #[cfg(feature = "sqlite")]
    if let Some(error) = cause.downcast_ref::<skillbundle_journal::JournalError>() {
        return error.help();
    }
    let of_git = cause.downcast_ref::<skillbundle_git::GitError>();
    if let Some(help) = of_git.and_then(skillbundle_git::GitError::help) {
        return Some(help);
    }
    // The server's error is transparent: its source is not the bundle's error, but that one's.
    let of_bundle = match cause.downcast_ref() {
        Some(Bundle(error)) => Some(error),
        _ => cause.downcast_ref::<skillbundle_format::Error>(),
    };
    of_bundle.map(skillbundle_format::Error::help)
}

/// Whether a run ended because the reader of stdout closed it.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// Whether stdout took everything; false if its reader closed it.
///
/// # Errors
///
/// Every other one.
#[cfg(feature = "compile")]
pub(crate) fn is_read(printed: anyhow::Result<()>) -> anyhow::Result<bool> {
    match printed {
        Ok(()) => Ok(true),
        Err(error) if is_closed_pipe(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether the locale promises UTF-8: the first of these variables that is set decides.
pub(crate) fn is_utf8() -> bool {
    let value_of = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(value_of);
    locale.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

fn terminal_width() -> usize {
    terminal_size::terminal_size().map_or(DEFAULT_WIDTH, |(width, _)| usize::from(width.0).max(1))
}
