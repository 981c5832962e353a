//! Finds possible references in Markdown: destinations of links, images and link
//! definitions, and paths in backticks. Fenced code and comments are skipped.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// A possible reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rules) struct Reference<'a> {
    /// Byte offset in the text.
    pub(in crate::rules) at: usize,
    /// The target as written.
    pub(in crate::rules) target: &'a str,
    /// How it is written.
    pub(in crate::rules) notation: Notation,
    /// The text before it on its line.
    pub(in crate::rules) before: &'a str,
}

/// How a reference is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rules) enum Notation {
    /// `[text](target)`, `![text](target)` or `[label]: target`.
    Link,
    /// `` `target` ``.
    Code,
}

/// All possible references in the text, in order.
pub(in crate::rules) fn references(text: &str) -> Vec<Reference<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut block = Block::Text;
    for line in text.split_inclusive('\n') {
        let marks = marks(line);
        let next = if marks & BLOCK == 0 {
            block
        } else {
            block.after(line)
        };
        if block == Block::Text && next == Block::Text && marks & REFERENCE != 0 {
            scan_line(line.trim_end(), at, &mut found);
        }
        block = next;
        at += line.len();
    }
    found
}

/// The line has a byte with which a block can begin or end.
const BLOCK: u8 = 1;
/// The line has a byte that every reference has.
const REFERENCE: u8 = 2;

/// Which of these bytes a line has. Most lines have none, and need not be looked at again.
fn marks(line: &str) -> u8 {
    const MARKS: [u8; 256] = {
        let mut marks = [0; 256];
        marks[b'`' as usize] = BLOCK | REFERENCE;
        marks[b'~' as usize] = BLOCK;
        marks[b'<' as usize] = BLOCK;
        marks[b'>' as usize] = BLOCK;
        marks[b']' as usize] = REFERENCE;
        marks
    };
    let bytes = line.bytes();
    bytes.fold(0, |marks, byte| marks | MARKS[usize::from(byte)])
}

/// Every word in the fenced code of the text that could be the name of a file.
pub(super) fn names_in_code(text: &str) -> HashSet<&str> {
    let mut block = Block::Text;
    let mut names = HashSet::new();
    for line in text.split_inclusive('\n') {
        block = block.after(line);
        if matches!(block, Block::Fence(..)) {
            let words = line.split(|it: char| it == '/' || it == ':' || !is_of_name(it));
            let words = words.map(|it| it.trim_end_matches('.'));
            names.extend(words.filter(|it| !it.is_empty()));
        }
    }
    names
}

/// A block of fenced code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::rules) struct Fenced<'a> {
    /// The language that the fence names, or nothing.
    pub(in crate::rules) language: &'a str,
    /// Where its lines are in the text.
    pub(in crate::rules) content: Range<usize>,
}

/// Every block of fenced code, in order. One that is not closed ends with the text.
pub(in crate::rules) fn fenced(text: &str) -> Vec<Fenced<'_>> {
    let mut found: Vec<Fenced<'_>> = Vec::new();
    let (mut at, mut block) = (0, Block::Text);
    for line in text.split_inclusive('\n') {
        let next = if marks(line) & BLOCK == 0 {
            block
        } else {
            block.after(line)
        };
        let is_code = |it: Block| matches!(it, Block::Fence(..));
        let after = at + line.len();
        match (is_code(block), is_code(next)) {
            (false, true) => {
                let opening = line.trim_start_matches([' ', '\t', '>']).trim_end();
                let info = fence(opening).map_or("", |(_, _, info)| info.trim());
                let language = info.split([' ', ',', '{', ':']).next().unwrap_or_default();
                let content = after..after;
                found.push(Fenced { language, content });
            }
            (true, true) => {
                if let Some(open) = found.last_mut() {
                    open.content.end = after;
                }
            }
            _ => {}
        }
        (at, block) = (after, next);
    }
    found
}

/// Whether a character can be in the path of a reference.
pub(super) fn is_of_name(letter: char) -> bool {
    !letter.is_whitespace() && !letter.is_control() && !"<>{}[]()$*|\"'`\\,;=@~…%".contains(letter)
}

/// The block that contains a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Block {
    /// Neither of the others.
    Text,
    /// Between fences of this character and length.
    Fence(char, usize),
    /// Inside an HTML comment.
    Comment,
}

impl Block {
    /// Whether it is fenced code.
    pub(crate) const fn is_fence(self) -> bool {
        matches!(self, Self::Fence(..))
    }

    /// The block after this line.
    pub(crate) fn after(self, line: &str) -> Self {
        // Lists and quotes indent their content.
        let line = line.trim_start_matches([' ', '\t', '>']).trim_end();
        match self {
            Self::Text => match fence(line) {
                Some((mark, length, _)) => Self::Fence(mark, length),
                None if opens_comment(line) => Self::Comment,
                None => Self::Text,
            },
            Self::Fence(open, length) => match fence(line) {
                Some((mark, closing, "")) if mark == open && closing >= length => Self::Text,
                _ => self,
            },
            Self::Comment if line.contains("-->") => Self::Text,
            Self::Comment => self,
        }
    }
}

/// A fence's character, its length and the text after it.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    // The fence of a list item follows the item's mark.
    let line = line
        .strip_prefix("- ")
        .or(line.strip_prefix("* "))
        .unwrap_or(line)
        .trim_start();
    let mark = line.chars().next().filter(|it| matches!(it, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let length = line.len() - rest.len();
    // Backticks in the rest make it an inline span.
    (length >= 3 && !(mark == '`' && rest.contains('`'))).then_some((mark, length, rest))
}

fn opens_comment(line: &str) -> bool {
    line.rfind("<!--")
        .is_some_and(|at| !line[at..].contains("-->"))
}

fn scan_line<'a>(line: &'a str, base: usize, found: &mut Vec<Reference<'a>>) {
    if let Some((at, target)) = definition(line) {
        found.push(Reference {
            at: base + at,
            target,
            notation: Notation::Link,
            before: &line[..at],
        });
        return;
    }
    let mut runs = None;
    // After the last one, no angle is closed; looking for each would take as long as the line.
    let last_angle = line.rfind('>').unwrap_or(0);
    let mut at = 0;
    while let Some(next) = line[at..].find(['`', ']', '\\']) {
        at += next;
        let rest = &line[at..];
        if let Some(after) = rest.strip_prefix("](") {
            let target = if after.starts_with('<') && at > last_angle {
                ""
            } else {
                destination(after)
            };
            if !target.is_empty() {
                let skipped = usize::from(after.starts_with('<'));
                let start = at + 2 + skipped;
                let before = &line[..start];
                found.push(Reference {
                    at: base + start,
                    target,
                    notation: Notation::Link,
                    before,
                });
            }
            at += 2 + target.len();
        } else if rest.starts_with('`') {
            let runs = runs.get_or_insert_with(|| Runs::of(line));
            at += code_span(line, at, base, runs, found);
        } else if let Some(escaped) = rest.strip_prefix('\\') {
            at += 1 + escaped.chars().next().map_or(0, char::len_utf8);
        } else {
            at += 1;
        }
    }
}

/// `[label]: target`
fn definition(line: &str) -> Option<(usize, &str)> {
    let rest = line.trim_start().strip_prefix('[')?;
    let (label, target) = rest.split_once("]:")?;
    let target = target.trim_start();
    // The text of a footnote is not a target.
    if label.starts_with('^') || label.contains([']', '[']) || target.is_empty() {
        return None;
    }
    let shown = destination(target);
    (target.len() == shown.len() || target[shown.len()..].starts_with(' '))
        .then_some((line.len() - target.len(), shown))
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

/// Reads a span in backticks, whose first word may be a path. Returns its length.
fn code_span<'a>(
    line: &'a str,
    at: usize,
    base: usize,
    runs: &Runs,
    found: &mut Vec<Reference<'a>>,
) -> usize {
    let rest = &line[at..];
    let ticks = rest.len() - rest.trim_start_matches('`').len();
    let Some(closing) = runs.next(ticks, at + ticks) else {
        return ticks;
    };
    let length = closing - at - ticks;
    let code = &rest[ticks..ticks + length];
    let start = code.len() - code.trim_start().len();
    let target = code[start..].split_whitespace().next().unwrap_or_default();
    if target.contains('/') {
        let from = at + ticks + start;
        let before = &line[..from];
        found.push(Reference {
            at: base + from,
            target,
            notation: Notation::Code,
            before,
        });
    }
    ticks + length + ticks
}

/// Where the runs of backticks of a line are, by their lengths.
struct Runs(HashMap<usize, Vec<usize>>);

impl Runs {
    fn of(line: &str) -> Self {
        let mut runs: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut at = 0;
        while let Some(next) = line[at..].find('`') {
            at += next;
            let length = line[at..].len() - line[at..].trim_start_matches('`').len();
            runs.entry(length).or_default().push(at);
            at += length;
        }
        Self(runs)
    }

    /// The first run of exactly this length, from an offset on.
    fn next(&self, length: usize, from: usize) -> Option<usize> {
        let runs = self.0.get(&length)?;
        runs.get(runs.partition_point(|it| *it < from)).copied()
    }
}
