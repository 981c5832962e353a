//! Finds what may be a reference in Markdown: destinations of links, images
//! and link definitions, and paths in backticks. Fenced code, comments and
//! everything else that shows rather than says are passed over.

/// Something that may be a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found<'a> {
    /// Where it begins, in bytes of the text.
    pub(super) at: usize,
    /// What is written there.
    pub(super) target: &'a str,
    /// How.
    pub(super) place: Place,
    /// What stands before it in its line.
    pub(super) before: &'a str,
}

/// How a reference is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// `[text](target)`, `![text](target)` or `[label]: target`.
    Link,
    /// `` `target` ``.
    Code,
}

/// Everything in the text that may be a reference, in order.
pub(super) fn references(text: &str) -> Vec<Found<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut block = Block::Text;
    for line in text.split_inclusive('\n') {
        let next = block.after(line);
        let has = |byte| line.as_bytes().contains(&byte);
        if block == Block::Text && next == Block::Text && (has(b']') || has(b'`')) {
            scan_line(line.trim_end(), at, &mut found);
        }
        block = next;
        at += line.len();
    }
    found
}

/// Whether fenced code in the text speaks of this name.
pub(super) fn is_in_code(text: &str, name: &str) -> bool {
    let mut block = Block::Text;
    text.split_inclusive('\n').any(|line| {
        block = block.after(line);
        matches!(block, Block::Fence(..)) && line.contains(name)
    })
}

/// What a line lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    Text,
    /// Between fences of this character and length.
    Fence(char, usize),
    /// Within an HTML comment.
    Comment,
}

impl Block {
    fn after(self, line: &str) -> Self {
        // Most lines can neither begin nor end a block.
        if ![b'`', b'~', b'<', b'>']
            .iter()
            .any(|byte| line.as_bytes().contains(byte))
        {
            return self;
        }
        // Lists and quotes indent what they hold.
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

/// A fence's character, length and what follows it.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    // The fence of a list's item stands behind the item's mark.
    let line = line
        .strip_prefix("- ")
        .or(line.strip_prefix("* "))
        .unwrap_or(line)
        .trim_start();
    let mark = line.chars().next().filter(|it| matches!(it, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let length = line.len() - rest.len();
    // Backticks in the rest make it a span within a line.
    (length >= 3 && !(mark == '`' && rest.contains('`'))).then_some((mark, length, rest))
}

fn opens_comment(line: &str) -> bool {
    line.rfind("<!--")
        .is_some_and(|at| !line[at..].contains("-->"))
}

fn scan_line<'a>(line: &'a str, base: usize, found: &mut Vec<Found<'a>>) {
    if let Some((at, target)) = definition(line) {
        found.push(Found {
            at: base + at,
            target,
            place: Place::Link,
            before: &line[..at],
        });
        return;
    }
    let mut at = 0;
    while let Some(next) = line[at..].find(['`', ']', '\\']) {
        at += next;
        let rest = &line[at..];
        if let Some(after) = rest.strip_prefix("](") {
            let target = destination(after);
            if !target.is_empty() {
                let skipped = usize::from(after.starts_with('<'));
                let start = at + 2 + skipped;
                let before = &line[..start];
                found.push(Found {
                    at: base + start,
                    target,
                    place: Place::Link,
                    before,
                });
            }
            at += 2 + target.len();
        } else if rest.starts_with('`') {
            at += code_span(line, at, base, found);
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
    // A footnote's text is no target.
    if label.starts_with('^') || label.contains([']', '[']) || target.is_empty() {
        return None;
    }
    let shown = destination(target);
    (target.len() == shown.len() || target[shown.len()..].starts_with(' '))
        .then_some((line.len() - target.len(), shown))
}

/// A link's destination: up to a blank or its closing parenthesis, or what
/// stands between `<` and `>`.
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

/// Takes a span in backticks; gives its length. Its first word may be a path.
fn code_span<'a>(line: &'a str, at: usize, base: usize, found: &mut Vec<Found<'a>>) -> usize {
    let rest = &line[at..];
    let ticks = rest.len() - rest.trim_start_matches('`').len();
    let Some(length) = closing(&rest[ticks..], ticks) else {
        return ticks;
    };
    let code = &rest[ticks..ticks + length];
    let start = code.len() - code.trim_start().len();
    let target = code[start..].split_whitespace().next().unwrap_or_default();
    if target.contains('/') {
        let from = at + ticks + start;
        let before = &line[..from];
        found.push(Found {
            at: base + from,
            target,
            place: Place::Code,
            before,
        });
    }
    ticks + length + ticks
}

/// Where a run of exactly so many backticks begins.
fn closing(text: &str, ticks: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(next) = text[at..].find('`') {
        at += next;
        let run = text[at..].len() - text[at..].trim_start_matches('`').len();
        if run == ticks {
            return Some(at);
        }
        at += run;
    }
    None
}
