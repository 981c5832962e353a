//! Finds possible references in Markdown: destinations of links, images and link definitions, those of
//! links and images in HTML, and paths in backticks. What a reader of the page does not see as a link is
//! skipped: code and comments.

use std::collections::HashSet;
use std::ops::Range;

use memchr::{memchr, memchr3_iter};
use pulldown_cmark::{Event, OffsetIter, Options, Parser, Tag, TagEnd};

use crate::rules::blocks;
use crate::rules::content::at_most;

/// A possible reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rules) struct Reference<'a> {
    /// Byte offset in the text.
    pub(in crate::rules) at: usize,
    /// The target as written.
    pub(in crate::rules) target: &'a str,
    /// How it is written.
    pub(in crate::rules) notation: Notation,
}

/// How a reference is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rules) enum Notation {
    /// `[text](target)`, `![text](target)` or `[label]: target`.
    Link,
    /// `<img src="target">` or `<a href="target">`.
    Html,
    /// `` `target` ``.
    Code,
    /// `` `python target` ``.
    Command,
}

impl Notation {
    /// Whether it is in backticks.
    pub(super) const fn is_code(self) -> bool {
        matches!(self, Self::Code | Self::Command)
    }
}

/// Programs that run the file that follows, or the program that follows.
const INTERPRETERS: &[&str] = &[
    "bash", "bun", "deno", "node", "npx", "perl", "python", "python3", "ruby", "sh", "uv", "zsh",
];

/// What may stand between such a program and the file: other programs and their commands.
const BETWEEN: &[&str] = &["bash", "node", "python", "python3", "run", "ts-node", "tsx"];

/// Options after which no file follows, but code or a module.
const NO_FILE: &[&str] = &["-c", "-e", "-m"];

/// Longer targets are no paths.
const MOST_TARGET: usize = 1024;

/// So much of a link's target is looked at to see whether it could be wrong: Windows takes no longer path.
const MOST_PATH: usize = 260;

/// The elements of HTML with a reference, and its attribute.
const ELEMENTS: &[(&str, &str)] = &[("<img", "src="), ("<a", "href=")];

/// What a text has.
#[derive(Debug, Default)]
pub(in crate::rules) struct Scanned<'a> {
    /// All possible references, in order.
    pub(in crate::rules) references: Vec<Reference<'a>>,
    /// The blocks of code.
    code: Vec<Range<usize>>,
}

/// Most steps that a text may take: its lines times the depth of its lists and quotes, since the parser
/// goes through all open ones at each line. Real texts take less than 100,000.
const MOST_STEPS: usize = 10_000_000;

/// Most candidates of one text that are looked at. No real text has more than 1,000.
pub(super) const MOST_CANDIDATES: usize = 10_000;

/// The beginning of a text that has at most [`MOST_CANDIDATES`].
pub(in crate::rules) fn checked_part(text: &str) -> &str {
    // One takes at least three bytes.
    if text.len() / 3 <= MOST_CANDIDATES {
        return text;
    }
    let next = candidates(text).nth(MOST_CANDIDATES);
    next.map_or(text, |next| &text[..next.at])
}

/// What could be a reference if it is neither code nor a comment, and can be a path: more than [`scan`]
/// finds, at the cost of a search for three bytes. In most texts nothing of it is wrong, and they need
/// not be parsed.
pub(super) fn candidates(text: &str) -> impl Iterator<Item = Reference<'_>> {
    let marks = memchr3_iter(b'`', b']', b'=', text.as_bytes());
    marks.filter_map(|at| match text.as_bytes()[at] {
        b'`' => {
            let rest = text.get(at + 1..)?;
            let length = memchr(b'`', rest.as_bytes()).unwrap_or(rest.len());
            code_word(text, at + 1, at + 1 + length)
        }
        b'=' => {
            let is_attribute = |it: &(&str, &str)| text[..=at].ends_with(it.1);
            let rest = text.get(at + 1..)?;
            ELEMENTS
                .iter()
                .any(is_attribute)
                .then(|| quoted(text, at + 1, rest))?
        }
        _ => {
            let rest = text[at + 1..].strip_prefix(['(', ':'])?.trim_start();
            let start = text.len() - rest.len();
            reference(text, start, start + at_most(rest, MOST_PATH).len())
        }
    })
}

/// Scans a text in one pass; `None` if that would take too many steps.
pub(in crate::rules) fn scan(text: &str) -> Option<Scanned<'_>> {
    if steps(text) > MOST_STEPS {
        return None;
    }
    let mut found = Scanned::default();
    let parser = Parser::new_ext(text, Options::empty());
    let definitions = parser.reference_definitions().iter();
    let definitions = definitions.filter_map(|(_, it)| definition(text, &it.span));
    found.references.extend(definitions);
    found.read(text, parser.into_offset_iter());
    found.references.sort_by_key(|it| it.at);
    Some(found)
}

impl<'a> Scanned<'a> {
    fn read(&mut self, text: &'a str, events: OffsetIter<'a>) {
        // The places of the open links, and where the last thing inside each ends.
        let mut open: Vec<usize> = Vec::new();
        let mut in_comment = false;
        for (event, range) in events {
            match event {
                Event::Start(Tag::Link { .. } | Tag::Image { .. }) => {
                    open.push(range.start);
                    continue;
                }
                Event::End(TagEnd::Link | TagEnd::Image) => {
                    let inner = open.pop().unwrap_or(range.start);
                    self.references.extend(link(text, inner, range.end));
                }
                Event::Code(_) => self.references.extend(code_span(text, &range)),
                Event::Html(_) | Event::InlineHtml(_) => {
                    in_comment = self.html(text, range.clone(), in_comment);
                }
                Event::Start(Tag::CodeBlock(_)) => self.code.push(range.clone()),
                _ => {}
            }
            if let Some(inner) = open.last_mut() {
                *inner = range.end;
            }
        }
    }

    /// Reads a part of HTML. Returns whether a comment is open at its end.
    fn html(&mut self, text: &'a str, range: Range<usize>, in_comment: bool) -> bool {
        let mut at = range.start;
        let mut in_comment = in_comment;
        while let Some(rest) = text.get(at..range.end) {
            let mark = if in_comment { "-->" } else { "<" };
            let Some(found) = rest.find(mark) else {
                break;
            };
            let tag = &rest[found..];
            at += found + mark.len();
            if in_comment || tag.starts_with("<!--") {
                in_comment = !in_comment;
            } else {
                // A tag may go on in the next lines, of which each is a part.
                self.references.extend(element(text, at - 1));
            }
        }
        in_comment
    }

    /// Every word that could be the name of a file in the blocks of code of a text, of which only the
    /// beginning was scanned, of so many bytes. What follows can also show how to make a file.
    pub(super) fn names_in_code(&self, text: &'a str, scanned: usize) -> HashSet<&'a str> {
        let mut blocks = self.code.clone();
        if scanned < text.len() {
            let fenced = blocks::fenced(text).into_iter().map(|it| it.content);
            blocks.extend(fenced.filter(|it| it.end > scanned));
        }
        let blocks = blocks.into_iter().filter_map(|it| text.get(it));
        let words = blocks.flat_map(|it| it.split(|it: char| "/:".contains(it) || !is_of_name(it)));
        let words = words.map(|it| it.trim_end_matches('.'));
        words.filter(|it| !it.is_empty()).collect()
    }
}

/// How much of the text before a path in backticks can direct the reader to it, in bytes.
const BEFORE: usize = 64;

/// The text before a place on its line, as much as can direct the reader.
pub(in crate::rules) fn before(text: &str, at: usize) -> &str {
    let from = at.saturating_sub(BEFORE);
    let from = (from..=at).find(|it| text.is_char_boundary(*it));
    let before = &text[from.unwrap_or(at)..at];
    before.rsplit('\n').next().unwrap_or_default()
}

/// Whether a character can be in the path of a reference.
pub(super) fn is_of_name(letter: char) -> bool {
    // Most are letters of ASCII.
    if letter.is_ascii_alphanumeric() {
        return true;
    }
    let is_mark = matches!(
        letter,
        '<' | '>'
            | '{'
            | '}'
            | '['
            | ']'
            | '('
            | ')'
            | '$'
            | '*'
            | '|'
            | '"'
            | '\''
            | '`'
            | '\\'
            | ','
            | ';'
            | '='
            | '@'
            | '~'
            | '…'
            | '%'
    );
    !is_mark && !letter.is_whitespace() && !letter.is_control()
}

/// Whether a character can also be in the path of a link, which ends where its syntax says.
pub(super) fn is_of_link(letter: char) -> bool {
    letter == ' ' || "(),;='%".contains(letter)
}

/// How many steps the parser takes at most, about: see [`MOST_STEPS`].
fn steps(text: &str) -> usize {
    let (mut lines, mut deepest) = (0, 0);
    for line in text.split('\n') {
        lines += 1;
        deepest = deepest.max(depth(line));
    }
    lines * deepest
}

/// How many lists and quotes a line can be in.
fn depth(line: &str) -> usize {
    let prefix = line
        .bytes()
        .take_while(|it| b" \t>-+*.)0123456789".contains(it));
    let (mut blanks, mut marks) = (0, 0);
    for byte in prefix {
        match byte {
            b' ' => blanks += 1,
            b'\t' => blanks += 4,
            b'>' => marks += 1,
            _ => {}
        }
    }
    // An item takes at least a mark and a space.
    marks + blanks / 2 + blanks % 2
}

/// The destination of a link of which the text ends at `inner`. A link by its label has none of its own.
fn link(text: &str, inner: usize, end: usize) -> Option<Reference<'_>> {
    let rest = text.get(inner..end)?;
    let at = inner + rest.find("](")? + "](".len();
    let blanks = text[at..end].len() - text[at..end].trim_start().len();
    reference(text, at + blanks, end)
}

/// `[label]: target`
fn definition<'a>(text: &'a str, span: &Range<usize>) -> Option<Reference<'a>> {
    let rest = text.get(span.clone())?;
    let colon = rest.find("]:")? + "]:".len();
    let blanks = rest[colon..].len() - rest[colon..].trim_start().len();
    // The text of a footnote is not a target.
    (!rest.starts_with("[^")).then(|| reference(text, span.start + colon + blanks, span.end))?
}

fn reference(text: &str, at: usize, end: usize) -> Option<Reference<'_>> {
    let skipped = usize::from(text[at..end].starts_with('<'));
    let target = destination(&text[at..end]);
    (!target.is_empty()).then_some(Reference {
        at: at + skipped,
        target,
        notation: Notation::Link,
    })
}

/// A link's destination: up to white space or the closing parenthesis, or the text
/// between `<` and `>`.
fn destination(after: &str) -> &str {
    if let Some(inner) = after.strip_prefix('<') {
        return inner.find('>').map_or("", |end| &inner[..end]);
    }
    let mut depth = 0usize;
    for (at, letter) in after.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' if depth == 0 => return &after[..at],
            ')' => depth -= 1,
            letter if letter.is_whitespace() => return &after[..at],
            _ => {}
        }
    }
    after
}

/// The reference of an element that begins at a place.
fn element(text: &str, at: usize) -> Option<Reference<'_>> {
    let tag = at_most(text.get(at..)?, MOST_TARGET);
    let (_, attribute) = ELEMENTS.iter().find(|(name, _)| {
        let rest = tag.strip_prefix(name);
        rest.is_some_and(|it| it.starts_with(char::is_whitespace))
    })?;
    let tag = &tag[..tag.find('>')?];
    let found = tag.match_indices(attribute).find(|(at, _)| {
        let before = &tag[..*at];
        before.ends_with(char::is_whitespace)
    })?;
    let start = found.0 + attribute.len();
    quoted(text, at + start, &tag[start..])
}

/// The value of an attribute that begins a text; `at` is where that is.
fn quoted<'a>(text: &'a str, at: usize, rest: &'a str) -> Option<Reference<'a>> {
    let quote = rest.chars().next().filter(|it| matches!(it, '"' | '\''))?;
    let value = at_most(&rest[1..], MOST_TARGET);
    let length = value.find(quote)?;
    let target = text.get(at + 1..at + 1 + length)?;
    (!target.is_empty()).then_some(Reference {
        at: at + 1,
        target,
        notation: Notation::Html,
    })
}

/// A span in backticks, whose first word may be a path, or the word after a program that runs it.
fn code_span<'a>(text: &'a str, range: &Range<usize>) -> Option<Reference<'a>> {
    let code = text.get(range.clone())?;
    let start = range.end - code.trim_start_matches('`').len();
    let end = range.start + code.trim_end_matches('`').len();
    code_word(text, start, end)
}

/// The path at the beginning of code between two places.
fn code_word(text: &str, start: usize, end: usize) -> Option<Reference<'_>> {
    // Most code has no path.
    let code = text.get(start..end)?;
    memchr(b'/', code.as_bytes())?;
    let code = at_most(code, MOST_TARGET);
    let mut words = code.split_whitespace();
    let first = words.next()?;
    let (target, notation) = if INTERPRETERS.contains(&first) {
        let is_before = |it: &&str| BETWEEN.contains(it) || it.starts_with('-');
        let mut words = words.take_while(|it| !NO_FILE.contains(it));
        (words.find(|it| !is_before(it))?, Notation::Command)
    } else {
        (first, Notation::Code)
    };
    let at = target.as_ptr() as usize - text.as_ptr() as usize;
    target.contains('/').then_some(Reference {
        at,
        target,
        notation,
    })
}
