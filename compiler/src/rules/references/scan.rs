//! Finds possible references in Markdown: destinations of links, images and link definitions, and paths
//! in backticks. What a reader of the page does not see as a link is skipped: code, HTML and comments.

use std::collections::HashSet;
use std::ops::Range;

use memchr::memchr2_iter;
use pulldown_cmark::{Event, OffsetIter, Options, Parser, Tag, TagEnd};

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
    /// `` `target` ``.
    Code,
}

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

/// What could be a reference if it is neither code nor a comment, and can be a path: more than [`scan`]
/// finds, at the cost of a search for two bytes. In most texts nothing of it is wrong, and they need
/// not be parsed.
pub(super) fn candidates(text: &str) -> impl Iterator<Item = Reference<'_>> {
    let marks = memchr2_iter(b'`', b']', text.as_bytes());
    marks.filter_map(|at| {
        let is_code = text[at..].starts_with('`');
        let skipped = if is_code { "`" } else { "](" }.len();
        let rest = text.get(at + skipped..)?;
        let begins = is_code || text[at..].starts_with("](") || text[at..].starts_with("]:");
        let word = rest.trim_start().trim_start_matches('<');
        let target = &word[..word.find(ends_path).unwrap_or(word.len())];
        (begins && !target.is_empty()).then_some(Reference {
            at: text.len() - word.len(),
            target,
            notation: if is_code {
                Notation::Code
            } else {
                Notation::Link
            },
        })
    })
}

/// Whether a character is in no path, or only in one between `<` and `>`.
fn ends_path(letter: char) -> bool {
    letter.is_whitespace() || "()[]<>\"`".contains(letter)
}

/// Scans a text in one pass. A text that would take too many steps has no references.
pub(in crate::rules) fn scan(text: &str) -> Scanned<'_> {
    let mut found = Scanned::default();
    if steps(text) > MOST_STEPS {
        return found;
    }
    let parser = Parser::new_ext(text, Options::empty());
    let definitions = parser.reference_definitions().iter();
    let definitions = definitions.filter_map(|(_, it)| definition(text, &it.span));
    found.references.extend(definitions);
    found.read(text, parser.into_offset_iter());
    found.references.sort_by_key(|it| it.at);
    found
}

impl<'a> Scanned<'a> {
    fn read(&mut self, text: &'a str, events: OffsetIter<'a>) {
        // The places of the open links, and where the last thing inside each ends.
        let mut open: Vec<usize> = Vec::new();
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
                Event::Start(Tag::CodeBlock(_)) => self.code.push(range.clone()),
                _ => {}
            }
            if let Some(inner) = open.last_mut() {
                *inner = range.end;
            }
        }
    }

    /// Every word in the blocks of code that could be the name of a file.
    pub(super) fn names_in_code(&self, text: &'a str) -> HashSet<&'a str> {
        let blocks = self.code.iter().filter_map(|it| text.get(it.clone()));
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
    !letter.is_whitespace() && !letter.is_control() && !"<>{}[]()$*|\"'`\\,;=@~…%".contains(letter)
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

/// A span in backticks, whose first word may be a path.
fn code_span<'a>(text: &'a str, range: &Range<usize>) -> Option<Reference<'a>> {
    let code = text.get(range.clone())?;
    let code = code.trim_start_matches('`');
    let at = range.end - code.len();
    let code = code.trim_end_matches('`');
    let start = at + code.len() - code.trim_start().len();
    let target = code.split_whitespace().next().unwrap_or_default();
    target.contains('/').then_some(Reference {
        at: start,
        target,
        notation: Notation::Code,
    })
}
