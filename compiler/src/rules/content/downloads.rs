//! Commands that run at once what they download: `curl … | sh` and its relatives. Nobody can read
//! what runs, and it may be another program tomorrow.

use std::ops::Range;

use super::{Findings, MOST_READ, Text, at_most, last, offset_in};
use crate::diagnostic::Code;
use crate::paths::file_name;

/// A word at which such a command is recognized.
#[derive(Debug, Clone, Copy)]
pub(super) enum Word {
    /// A program that downloads, for a Unix shell.
    Downloader,
    /// PowerShell's command that runs a text.
    Evaluation,
}

pub(super) const WORDS: &[(&str, Word)] = &[
    ("curl", Word::Downloader),
    ("wget", Word::Downloader),
    ("IEX", Word::Evaluation),
    ("Iex", Word::Evaluation),
    ("Invoke-Expression", Word::Evaluation),
    ("iex", Word::Evaluation),
    ("invoke-expression", Word::Evaluation),
];

/// Programs that run what they read.
const SHELLS: &[&str] = &["ash", "bash", "dash", "ksh", "sh", "zsh"];
const INTERPRETERS: &[&str] = &["node", "perl", "php", "pwsh", "python", "python3", "ruby"];

/// What PowerShell downloads with, in lower case.
const POWERSHELL: &[&str] = &[
    "curl",
    "downloadstring",
    "invoke-restmethod",
    "invoke-webrequest",
    "irm",
    "iwr",
    "wget",
];

/// Reads the commands of a text.
pub(super) struct Downloads<'a> {
    file: &'a Text<'a>,
    /// The end of the last word.
    seen: usize,
    /// The end of the last command for a Unix shell that was read.
    done: usize,
    /// The same for PowerShell.
    done_powershell: usize,
    pub(super) findings: Findings<'a>,
}

impl<'a> Downloads<'a> {
    pub(super) fn new(file: &'a Text<'a>) -> Self {
        let more = "commands run what they download";
        Self {
            file,
            seen: 0,
            done: 0,
            done_powershell: 0,
            findings: Findings::new(Code::PipeToShell, file.shown, more),
        }
    }

    /// Reads the command around one of the words, and returns how many bytes that took. What was read
    /// for one word is not read again for the next one, however many there are.
    pub(super) fn read(&mut self, word: Word, at: Range<usize>) -> usize {
        let text = self.file.content;
        let (before, after) = (&text[..at.start], &text[at.end..]);
        let since = &text[self.seen..at.start];
        self.seen = at.end;
        // A path ends in `/curl`, and Windows has a `curl.exe`.
        if before.ends_with(|it: char| it.is_alphanumeric() || "_-.".contains(it))
            || after.starts_with(|it: char| it.is_alphanumeric() || "_-".contains(it))
        {
            return 0;
        }
        let (before, after) = (last(since, MOST_READ), at_most(after, MOST_READ));
        let (found, read) = match word {
            Word::Downloader if at.start < self.done => (None, 0),
            Word::Downloader => {
                let command = Command::of(after);
                self.done = at.end + command.read;
                let found = unix(before, &text[at.clone()], after, &command);
                (found, command.read + before.len())
            }
            Word::Evaluation => match piped(before) {
                None if at.start >= self.done_powershell => {
                    let line = &after[..after.find('\n').unwrap_or(after.len())];
                    self.done_powershell = at.end + line.len();
                    (evaluated(line), before.len() + line.len())
                }
                found => (found, before.len()),
            },
        };
        if let Some(found) = found {
            let span = at.start - found.before..at.end + found.after;
            let message = || format!("what `{}` downloads is run at once", found.with);
            let help = "download a fixed version, and compare it with a checksum before it runs";
            self.findings.add(span, message, help);
        }
        read
    }
}

/// A command, by the numbers of its bytes on either side of the word.
struct Found<'a> {
    before: usize,
    after: usize,
    with: &'a str,
}

/// `curl URL | sh`, `bash <(curl URL)`, `bash < <(curl URL)`, `sh -c "$(curl URL)"`.
fn unix<'a>(before: &str, with: &'a str, after: &str, command: &Command) -> Option<Found<'a>> {
    if !after[..command.arguments]
        .split_whitespace()
        .any(is_address)
    {
        return None;
    }
    let (before, after) = match command.runs {
        Some(after) => (0, after),
        None => (substitution(before)?, command.arguments),
    };
    Some(Found {
        before,
        after,
        with,
    })
}

/// What follows the name of a command that downloads.
struct Command {
    /// The length of its arguments.
    arguments: usize,
    /// The length up to the end of the program that its output is piped to and that runs it.
    runs: Option<usize>,
    /// The length of what was read.
    read: usize,
}

impl Command {
    fn of(after: &str) -> Self {
        let bytes = after.as_bytes();
        let (mut arguments, mut runs) = (None, None);
        let (mut quote, mut depth) = (None, 0);
        let (mut stage, mut at) = (0, 0);
        while let Some(&byte) = bytes.get(at) {
            let is_twice = bytes.get(at + 1) == Some(&byte);
            match (byte, quote) {
                // A line that goes on.
                (b'\\', _) => at += 1,
                (b'\n', _) if stage > 0 && is_blank(&bytes[stage..at]) => {}
                (b'\n', _) => break,
                (_, Some(open)) => quote = quote.filter(|_| byte != open),
                (b'\'' | b'"', None) if closes(after, at, byte) => quote = Some(byte),
                (b'(', None) => depth += 1,
                (b')', None) if depth > 0 => depth -= 1,
                (b'\'' | b'"' | b';' | b'`' | b')', None) => break,
                (b'&' | b'|', None) if is_twice => break,
                (b'|', None) => {
                    runs = runs_input(after, stage..at);
                    if runs.is_some() {
                        break;
                    }
                    arguments.get_or_insert(at);
                    stage = at + 1;
                }
                _ => {}
            }
            at += 1;
        }
        let read = at.min(after.len());
        Self {
            arguments: arguments.unwrap_or(read),
            runs: runs.or_else(|| runs_input(after, stage..read)),
            read,
        }
    }
}

/// Whether only spaces precede a line end: a pipeline goes on below a line that ends in `|`.
fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|it| matches!(it, b' ' | b'\t' | b'\r'))
}

/// Whether a quote that opens is closed on its line: an apostrophe of a sentence is not.
fn closes(text: &str, at: usize, quote: u8) -> bool {
    let rest = &text.as_bytes()[at + 1..];
    let end = memchr::memchr2(quote, b'\n', rest);
    end.is_some_and(|end| rest[end] == quote)
}

/// If this command, of a pipeline that begins the text, runs its input: where its name ends.
fn runs_input(pipeline: &str, stage: Range<usize>) -> Option<usize> {
    let command = pipeline.get(stage.clone()).filter(|_| stage.start > 0)?;
    // `|&` pipes errors, too.
    let command = command.trim_start_matches('&');
    let mut words = command.split_whitespace().peekable();
    while let Some(word) = words.peek() {
        let is_user = matches!(*word, "-u" | "--user" | "-g");
        if !is_user && !matches!(*word, "\\" | "sudo" | "doas" | "env") && !is_option_of_sudo(word)
        {
            break;
        }
        words.next();
        if is_user {
            words.next();
        }
    }
    let program = words.next()?;
    let name = file_name(program);
    // Where its output goes changes nothing.
    let argument = words.next().filter(|it| !it.contains('>'));
    let is_run = match argument {
        None | Some("-" | "/dev/stdin") => SHELLS.contains(&name) || INTERPRETERS.contains(&name),
        Some(option) => SHELLS.contains(&name) && option.starts_with('-') && !option.contains('c'),
    };
    is_run.then(|| offset_in(pipeline, program) + program.len())
}

/// `-E`, or a variable that is set for the command.
fn is_option_of_sudo(word: &str) -> bool {
    matches!(word, "-E" | "-H" | "-n") || (word.contains('=') && !word.starts_with('-'))
}

/// An argument that names where to download from.
fn is_address(word: &str) -> bool {
    let word = word.trim_matches(['"', '\'', '<', '>']);
    let is_host = || {
        let host = word.split('/').next().unwrap_or_default();
        let host = host.split(':').next().unwrap_or_default();
        let top = host.rsplit_once('.').map(|(_, top)| top);
        host == "localhost"
            || top.is_some_and(|it| it.len() >= 2 && it.bytes().all(|it| it.is_ascii_alphabetic()))
    };
    !word.starts_with('-') && (word.contains("://") || word.starts_with('$') || is_host())
}

/// If a command stands in `bash <(…)`, `sh -c "$(…)"` or `eval "$(…)"`: the length up to the word
/// before it.
fn substitution(before: &str) -> Option<usize> {
    let line = &before[before.rfind('\n').map_or(0, |at| at + 1)..];
    let outer = line.trim_end();
    let (outer, is_file) = match outer.strip_suffix("<(") {
        Some(outer) => (outer, true),
        None => (outer.strip_suffix("$(").or(outer.strip_suffix('`'))?, false),
    };
    let outer = outer.trim_end_matches(['"', '\'', ' ']);
    // `bash < <(…)` and `bash <<< "$(…)"`.
    let (outer, is_file) = match outer.trim_end_matches('<') {
        redirected if redirected.len() < outer.len() => (redirected.trim_end(), true),
        _ => (outer, is_file),
    };
    let mut words = outer.rsplit(|it: char| it.is_whitespace() || "`(;&|".contains(it));
    let mut word = words.next()?;
    let is_text = word.starts_with('-') && word.ends_with('c');
    while word.starts_with('-') {
        word = words.next()?;
    }
    let name = file_name(word);
    let is_shell = SHELLS.contains(&name) || INTERPRETERS.contains(&name);
    let runs = if is_file {
        is_shell || matches!(name, "source" | ".")
    } else {
        name == "eval" || (is_shell && is_text)
    };
    runs.then(|| before.len() - offset_in(before, word))
}

/// `irm URL | iex`, of which this comes before `iex`.
fn piped(before: &str) -> Option<Found<'_>> {
    let line = &before[before.rfind('\n').map_or(0, |at| at + 1)..];
    let (at, with) = downloader(line.trim_end().strip_suffix('|')?)?;
    Some(Found {
        before: line.len() - at,
        after: 0,
        with,
    })
}

/// `iex (irm URL)`, of which this comes behind `iex`.
fn evaluated(line: &str) -> Option<Found<'_>> {
    if !line.trim_start().starts_with(['(', '"', '\'', '&', '$']) {
        return None;
    }
    let (at, with) = downloader(line)?;
    Some(Found {
        before: 0,
        after: at + with.len(),
        with,
    })
}

/// The first word of a line that downloads, if the line has an address.
fn downloader(line: &str) -> Option<(usize, &str)> {
    let is_of_word = |it: char| it.is_alphanumeric() || it == '-';
    let has_address = line.contains("://") || line.contains('$') || line.contains('.');
    let words = line.split(|it: char| !is_of_word(it));
    let mut words = words.filter(|_| has_address);
    let word = words.find(|it| POWERSHELL.iter().any(|name| it.eq_ignore_ascii_case(name)))?;
    Some((offset_in(line, word), word))
}
