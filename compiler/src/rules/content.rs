//! Rules about what is in the served files. Each file is looked at once, whichever skills it belongs
//! to, and in one pass: an automaton finds the few words at which a rule has something to read.

mod access;
mod comments;
mod downloads;
mod encoding;
mod secrets;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use skillbundle_search::parallel;

use super::checkout;
use super::language::Language;
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::draft::Draft;
use crate::frontmatter;
use crate::paths::{is_markdown, join};
use crate::source::{Tree, TreeRoot};

/// Fewer files are checked faster than a thread starts.
const LEAST_FILES: usize = 32;

/// What is read of a file. No text of a skill comes near it; what is larger are data.
const MOST_BYTES: usize = 1 << 20;

/// What is searched for a NUL byte, which text does not have: as much as git looks at.
const BINARY_HEAD: usize = 8 << 10;

/// The most that a rule reads at one word. Of a private key of 4,096 bits it is 3.3 KiB.
const MOST_READ: usize = 8 << 10;

/// Most findings of one rule in one file that are reported one by one.
const MOST_FINDINGS: usize = 10;

/// A served file.
struct File<'a> {
    root: &'a TreeRoot,
    path: String,
    bytes: &'a [u8],
    /// Whether it is the text of a skill, whose characters were checked when it was parsed.
    is_skill: bool,
}

/// What is checked of a text file.
struct Text<'a> {
    /// The file, as the user would type it.
    shown: &'a str,
    /// The file from its start on, so that places in it are places in the file.
    content: &'a str,
    is_markdown: bool,
}

/// Which rule reads on at a word that the automaton has found.
#[derive(Debug, Clone, Copy)]
enum Reader {
    Comment,
    /// A definition of a link, of which only a reader of the source sees the title.
    Definition,
    /// The mark with which the first version of an unresolved merge begins.
    Conflict,
    Download(downloads::Word),
    Secret(usize),
}

static READERS: LazyLock<Vec<(&'static str, Reader)>> = LazyLock::new(|| {
    let mut readers = vec![
        (comments::OPEN, Reader::Comment),
        (checkout::CONFLICT, Reader::Conflict),
    ];
    readers.extend(
        comments::DEFINITIONS
            .iter()
            .map(|it| (*it, Reader::Definition)),
    );
    let words = downloads::WORDS.iter();
    readers.extend(words.map(|(text, word)| (*text, Reader::Download(*word))));
    let prefixes = secrets::prefixes().enumerate();
    readers.extend(prefixes.map(|(kind, prefix)| (prefix, Reader::Secret(kind))));
    readers
});

static AUTOMATON: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .kind(Some(AhoCorasickKind::DFA))
        .build(READERS.iter().map(|(word, _)| word))
        .expect("a table of short words makes a small automaton")
});

/// Checks every served file.
pub(super) fn check(tree: &Tree, drafts: &[Draft], out: &mut Vec<Diagnostic>) {
    let files = files(tree, drafts);
    let found = parallel::map(&files, LEAST_FILES, check_file);
    out.extend(found.into_iter().flatten());
}

/// Each served file once: a file below a skill may be that of another skill, too.
fn files<'a>(tree: &'a Tree, drafts: &'a [Draft]) -> Vec<File<'a>> {
    let mut files = BTreeMap::new();
    for draft in drafts {
        let (entry, directory) = (&draft.entry, draft.directory());
        let root = &tree.roots[entry.root as usize];
        for file in &entry.files {
            let Some(bytes) = file.bytes.as_deref() else {
                continue;
            };
            let path = join(directory, &file.path);
            let key = (entry.root, path.clone());
            files.entry(key).or_insert(File {
                root,
                path,
                bytes,
                is_skill: false,
            });
        }
    }
    for draft in drafts {
        let entry = &draft.entry;
        let file = File {
            root: &tree.roots[entry.root as usize],
            path: entry.file_path.clone(),
            bytes: &entry.source,
            is_skill: true,
        };
        files.insert((entry.root, entry.file_path.clone()), file);
    }
    files.into_values().collect()
}

fn check_file(file: &File<'_>) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    let shown = file.root.shown(&file.path);
    let Some(text) = encoding::text(file, &shown, &mut out) else {
        return out;
    };
    let checked = Text {
        shown: &shown,
        content: &text,
        is_markdown: is_markdown(&file.path),
    };
    encoding::line_ends(&checked, &mut out);
    if !file.is_skill {
        frontmatter::check_characters(&shown, &text, checked.is_markdown, &mut out);
    }
    search(&checked, &mut out);
    if let Some(language) = Language::of(&file.path, &text) {
        access::check(&checked, language, &mut out);
    }
    if file.bytes.len() > MOST_BYTES {
        let message = "only the first MiB of this file was checked";
        out.push(Diagnostic::new(Code::PartlyChecked, shown, message));
    }
    out
}

/// Runs the rules that read on at certain words. Returns how many bytes they have read, which must not
/// grow faster than the file.
fn search(file: &Text<'_>, out: &mut Vec<Diagnostic>) -> usize {
    let mut read = 0;
    let mut conflict = None;
    let mut comments = comments::Comments::new(file);
    let mut downloads = downloads::Downloads::new(file);
    let mut secrets = secrets::Secrets::new(file);
    for found in AUTOMATON.find_iter(file.content) {
        read += match READERS[found.pattern().as_usize()].1 {
            Reader::Comment => comments.read(found.start()),
            Reader::Definition => comments.read_definition(found.range()),
            Reader::Conflict => {
                conflict.get_or_insert(found.start());
                0
            }
            Reader::Download(word) => downloads.read(word, found.range()),
            Reader::Secret(kind) => secrets.read(kind, found.range()),
        };
    }
    out.extend(conflict.and_then(|at| checkout::conflict(file.shown, file.content, at)));
    out.extend(comments.findings.finish());
    out.extend(downloads.findings.finish());
    out.extend(secrets.findings.finish());
    read
}

/// Where the credentials of a text are, however many. Bytes that are not UTF-8 end one.
pub(crate) fn credentials(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for chunk in bytes.utf8_chunks() {
        let mut scanner = secrets::Scanner::new(chunk.valid());
        for word in AUTOMATON.find_iter(chunk.valid()) {
            if let Reader::Secret(kind) = READERS[word.pattern().as_usize()].1
                && let (_, Some((span, _))) = scanner.read(kind, word.range())
            {
                found.push(start + span.start..start + span.end);
            }
        }
        start += chunk.valid().len() + chunk.invalid().len();
    }
    found
}

/// The beginning of a text, of at most so many bytes.
pub(in crate::rules) fn at_most(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The end of a text, of at most so many bytes.
fn last(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// Where a part of a text is in it.
fn offset_in(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// The findings of one rule in one file: the first ones, and how many there are.
struct Findings<'a> {
    code: Code,
    shown: &'a str,
    first: Vec<Diagnostic>,
    count: usize,
    /// What the further ones are, after their number.
    more: &'static str,
}

impl<'a> Findings<'a> {
    fn new(code: Code, shown: &'a str, more: &'static str) -> Self {
        Self {
            code,
            shown,
            first: Vec::new(),
            count: 0,
            more,
        }
    }

    /// Adds one, with its message and help.
    fn add(&mut self, span: impl Into<Span>, message: impl FnOnce() -> String, help: &str) {
        self.count += 1;
        if self.count <= MOST_FINDINGS {
            let diagnostic = Diagnostic::new(self.code, self.shown, message());
            self.first.push(diagnostic.at(span.into()).help(help));
        }
    }

    fn finish(mut self) -> Vec<Diagnostic> {
        if let Some(more @ 1..) = self.count.checked_sub(MOST_FINDINGS) {
            let message = format!("{more} more {}", self.more);
            self.first
                .push(Diagnostic::new(self.code, self.shown, message));
        }
        self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that the rules read of a Markdown file.
    fn read(content: &str) -> usize {
        let file = Text {
            shown: "a.md",
            content,
            is_markdown: true,
        };
        search(&file, &mut Vec::new())
    }

    #[test]
    fn no_text_is_read_again_and_again() {
        for piece in [
            "<!--",
            "<!-- you must -->",
            "curl ",
            "curl a.io | sh;",
            "curl a.io | ",
            "curl a.io |\n\n\n\n\n\n\n\n",
            "curl '",
            "$(curl a.io",
            "bash <(curl a.io)",
            "iex(",
            "a|iex ",
            "iex (irm a.io)",
            "eyJ.",
            "eyJ ",
            "sk-sk_live_",
            "-----BEGIN ",
            "-----BEGIN PRIVATE KEY-----",
            "ghp_",
        ] {
            let half = piece.repeat((1 << 15) / piece.len());
            let whole = piece.repeat((1 << 16) / piece.len());
            let (first, second) = (read(&half), read(&whole));
            assert!(
                second <= 2 * first + 2 * MOST_READ,
                "{piece}: {first}, {second}"
            );
            assert!(second <= 3 * whole.len(), "{piece}: {second}");
        }
    }
}
