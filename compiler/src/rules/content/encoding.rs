//! Whether a file is text, how it is encoded, and how its lines end.

use std::borrow::Cow;
use std::ops::Range;

use super::{BINARY_HEAD, File, MOST_BYTES, Text};
use crate::diagnostic::{Code, Diagnostic, Severity, Span};
use crate::paths::file_name;

/// Extensions of files that hosts read or run as text.
const READ: &[&str] = &["md", "txt", "py", "sh"];

/// Further extensions of text. Other files that are not UTF-8 may be anything.
const OTHER_TEXT: &[&str] = &[
    "bash", "bat", "cfg", "conf", "cs", "css", "csv", "go", "html", "ini", "java", "js", "json",
    "mjs", "php", "pl", "ps1", "rb", "rs", "rst", "sql", "svg", "tex", "toml", "ts", "tsv", "xml",
    "yaml", "yml",
];

/// The text of the first bytes of a file, byte for byte; `None` if it is binary or UTF-16.
pub(super) fn text<'a>(
    file: &File<'a>,
    shown: &str,
    out: &mut Vec<Diagnostic>,
) -> Option<Cow<'a, str>> {
    let path = &file.path;
    let bytes = &file.bytes[..file.bytes.len().min(MOST_BYTES)];
    let other = |encoding, at: Range<usize>| other_encoding(shown, path, encoding, Span::from(at));
    if bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF") {
        out.extend(other("UTF-16", 0..2));
        return None;
    }
    let head = &bytes[..bytes.len().min(BINARY_HEAD)];
    if let Some(at) = memchr::memchr(0, head).filter(|_| !file.is_skill) {
        if is_read(path) {
            out.extend(other("binary or UTF-16", at..at + 1));
        }
        return None;
    }
    let error = match str::from_utf8(bytes) {
        Ok(text) => return Some(Cow::Borrowed(text)),
        Err(error) => error,
    };
    let at = error.valid_up_to();
    if error.error_len().is_none() && bytes.len() < file.bytes.len() {
        // The end of what is read is within a character.
        let text = str::from_utf8(&bytes[..at]).unwrap_or_default();
        return Some(Cow::Borrowed(text));
    }
    out.push(other(
        "not UTF-8; it may be Latin-1 or Windows-1252",
        at..at + 1,
    )?);
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '?'));
    }
    Some(Cow::Owned(text))
}

/// Whether hosts read or run a file of this name as text.
fn is_read(path: &str) -> bool {
    let extension = file_name(path).rsplit_once('.').map(|it| it.1);
    extension.is_some_and(|it| READ.iter().any(|read| read.eq_ignore_ascii_case(it)))
}

/// Reports a text in another encoding; `None` if the file need not be text.
fn other_encoding(shown: &str, path: &str, encoding: &str, span: Span) -> Option<Diagnostic> {
    let (_, extension) = file_name(path).rsplit_once('.')?;
    let extension = extension.to_ascii_lowercase();
    let severity = if is_read(path) {
        Severity::Warning
    } else if OTHER_TEXT.contains(&extension.as_str()) {
        Severity::Info
    } else {
        return None;
    };
    let message = format!("this text is {encoding}, and hosts read UTF-8");
    let diagnostic = Diagnostic::new(Code::TextEncoding, shown, message).at(span);
    Some(diagnostic.help("save it as UTF-8").severity(severity))
}

/// Reports a text whose lines end differently.
pub(super) fn line_ends(file: &Text<'_>, out: &mut Vec<Diagnostic>) {
    let bytes = file.content.as_bytes();
    let (mut with, mut without, mut first) = (0, 0, [None; 2]);
    if memchr::memchr(b'\r', bytes).is_none() {
        return;
    }
    for at in memchr::memchr_iter(b'\n', bytes) {
        if at > 0 && bytes[at - 1] == b'\r' {
            with += 1;
            first[0].get_or_insert(at - 1);
        } else {
            without += 1;
            first[1].get_or_insert(at);
        }
    }
    // The first line end that differs from the one above it.
    let [Some(with_at), Some(without_at)] = first else {
        return;
    };
    let at = with_at.max(without_at);
    let lines = |count: usize| if count == 1 { "line ends" } else { "lines end" };
    let message = format!("{with} {} in CRLF and {without} in LF", lines(with));
    out.push(
        Diagnostic::new(Code::MixedLineEnds, file.shown, message)
            .at(Span::from(at..bytes.len().min(at + 1)))
            .help("use one line end; an edit that looks for several lines fails otherwise"),
    );
}
