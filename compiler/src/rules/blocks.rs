//! The blocks of Markdown that a line is in, read line by line: fenced code and comments. Enough for
//! texts that are searched for something else.

use std::ops::Range;

/// A block of fenced code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fenced<'a> {
    /// The language that the fence names, or nothing.
    pub(super) language: &'a str,
    /// Where its lines are in the text.
    pub(super) content: Range<usize>,
}

/// Every block of fenced code, in order. One that is not closed ends with the text.
pub(super) fn fenced(text: &str) -> Vec<Fenced<'_>> {
    let mut found: Vec<Fenced<'_>> = Vec::new();
    let (mut at, mut block) = (0, Block::Text);
    for line in text.split_inclusive('\n') {
        let next = block.after(line);
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
