//! A rough, line-by-line reading of YAML that the parser rejected: which line has a
//! key, where its value begins, which lines continue it.

use std::ops::Range;

use super::super::keys::is_known;

/// A line, without its line end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineSpan {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A line of the form `key: value`, `- value` or `- key: value`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LineEntry {
    /// Lines that continue the value are indented deeper than this.
    pub(super) column: usize,
    /// The key, without its colon.
    pub(super) key: Option<Range<usize>>,
    /// Start of the value; the line's end if it is empty.
    pub(super) value: usize,
}

/// A value with all lines that continue it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LineValue {
    pub(super) range: Range<usize>,
    /// Its lines folded into one, as YAML folds unquoted text.
    pub(super) text: String,
}

impl LineSpan {
    /// The lines of `text[part]`.
    pub(super) fn all<'a>(text: &'a str, part: &Range<usize>) -> impl Iterator<Item = Self> + 'a {
        let mut next = part.start;
        text[part.clone()].split_inclusive('\n').map(move |line| {
            let start = next;
            next += line.len();
            let line = line.strip_suffix('\n').unwrap_or(line);
            let line = line.strip_suffix('\r').unwrap_or(line);
            Self {
                start,
                end: start + line.len(),
            }
        })
    }

    /// The nearest line above that has content.
    pub(super) fn above(text: &str, part: &Range<usize>, line: &Self) -> Option<Self> {
        let above = part.start..line.start;
        Self::all(text, &above)
            .filter(|it| it.has_content(text))
            .last()
    }

    /// The line's offsets, including its end.
    pub(super) fn range(&self) -> std::ops::RangeInclusive<usize> {
        self.start..=self.end
    }

    pub(super) fn text<'a>(&self, text: &'a str) -> &'a str {
        &text[self.start..self.end]
    }

    pub(super) fn indent<'a>(&self, text: &'a str) -> &'a str {
        let line = self.text(text);
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    pub(super) fn content_start(&self, text: &str) -> usize {
        self.start + self.indent(text).len()
    }

    pub(super) fn content<'a>(&self, text: &'a str) -> &'a str {
        self.text(text).trim_matches([' ', '\t'])
    }

    fn has_content(&self, text: &str) -> bool {
        let content = self.content(text);
        !content.is_empty() && !content.starts_with('#')
    }

    /// Reads the line as an entry. A list item is `key: value` only if the key is
    /// one word: `- Use when: asked` is text.
    pub(super) fn entry(&self, text: &str) -> Option<LineEntry> {
        let mut start = self.content_start(text);
        let mut column = start - self.start;
        let mut in_list = false;
        while let Some(rest) = text[start..self.end].strip_prefix("- ") {
            in_list = true;
            column = start - self.start;
            start = self.end - rest.trim_start_matches(' ').len();
        }
        let content = &text[start..self.end];
        let colon = key_length(content).filter(|length| !in_list || is_word(&content[..*length]));
        if let Some(length) = colon {
            let after = &content[length + 1..];
            let value = self.end - after.trim_start_matches([' ', '\t']).len();
            return Some(LineEntry {
                column: start - self.start,
                key: Some(start..start + length),
                value,
            });
        }
        in_list.then_some(LineEntry {
            column,
            key: None,
            value: start,
        })
    }

    /// Whether the line has text that further lines could continue: an unquoted
    /// value or a `|` block.
    pub(super) fn has_open_text(&self, text: &str) -> bool {
        match self.entry(text) {
            Some(entry) => {
                entry.value < self.end && !text[entry.value..].starts_with(['"', '\'', '[', '{'])
            }
            None => true,
        }
    }

    /// The indentation to give a line below this one whose `indent` has tabs: that
    /// of this line, or two more if this line opens a level.
    pub(super) fn width_below(&self, text: &str, indent: &str) -> usize {
        let own = self.indent(text);
        let entry = self.entry(text);
        let opens = entry.as_ref().is_some_and(|entry| {
            let value = text[entry.value..self.end].trim();
            value.is_empty() || value.starts_with(['|', '>'])
        });
        let column = entry.map_or(own.len(), |entry| entry.column);
        let tabs = indent.matches('\t').count();
        match (opens, own.contains('\t')) {
            (true, false) => column + 2,
            (false, false) if !own.is_empty() => own.len(),
            _ => tabs * 2 + indent.matches(' ').count(),
        }
    }
}

/// The value that contains `at`, if the line-by-line reading finds one.
pub(super) fn value_at(text: &str, part: &Range<usize>, at: usize) -> Option<LineValue> {
    let lines: Vec<LineSpan> = LineSpan::all(text, part).collect();
    let index = lines.iter().position(|line| line.range().contains(&at))?;
    let index = first_line(text, &lines, index);
    let (index, entry) = match text_below_key(text, &lines, index) {
        Some(below) => below,
        None => (index, lines[index].entry(text)?),
    };
    let line = lines[index];
    let first = text[entry.value..line.end].trim_end();
    if entry.value >= line.end || at < entry.value || is_block_header(first) {
        return None;
    }
    let mut last = index;
    for (next, candidate) in lines.iter().enumerate().skip(index + 1) {
        if !candidate.content(text).is_empty() {
            if candidate.indent(text).len() <= entry.column {
                break;
            }
            last = next;
        }
    }
    let continued = &lines[index + 1..=last];
    if continued.iter().any(|line| known_key(line.content(text))) {
        return None;
    }
    let end = continued.last().map_or(line.end, |line| line.end);
    let end = entry.value + without_comment(&text[entry.value..end]).len();
    Some(LineValue {
        range: entry.value..end,
        text: fold(&text[entry.value..end]),
    })
}

/// Unquoted text that begins on the line below its key and contains the line `from`:
/// the index of its first line, and the entry of the key with that text as value.
fn text_below_key(text: &str, lines: &[LineSpan], from: usize) -> Option<(usize, LineEntry)> {
    let depth = lines[from].indent(text).len();
    let has_content = |line: &LineSpan| !line.content(text).is_empty();
    let (key, entry) = lines[..from]
        .iter()
        .enumerate()
        .rev()
        .find_map(|(at, line)| {
            let entry = line.entry(text)?;
            (entry.column < depth && entry.key.is_some()).then_some((at, entry))
        })?;
    let first = key + 1 + lines[key + 1..=from].iter().position(has_content)?;
    let is_text = text[entry.value..lines[key].end].trim().is_empty()
        && lines[first].entry(text).is_none()
        && !lines[first]
            .content(text)
            .starts_with(['"', '\'', '[', '{', '|', '>', '#', '&', '*', '!']);
    let value = lines[first].content_start(text);
    is_text.then_some((first, LineEntry { value, ..entry }))
}

/// The index of the line whose value the line `from` continues.
fn first_line(text: &str, lines: &[LineSpan], from: usize) -> usize {
    let mut index = from;
    let mut depth = lines[from].indent(text).len();
    for (at, line) in lines[..from].iter().enumerate().rev() {
        if depth == 0 {
            break;
        }
        if line.content(text).is_empty() {
            continue;
        }
        let Some(entry) = line.entry(text) else {
            depth = depth.min(line.indent(text).len());
            continue;
        };
        if entry.column >= depth {
            continue;
        }
        if text[entry.value..line.end].trim().is_empty() {
            break;
        }
        index = at;
        depth = line.indent(text).len();
    }
    index
}

/// Start of the next value after `from`: past white space, the key's colon and list
/// dashes.
pub(super) fn next_value(text: &str, part: &Range<usize>, from: usize) -> Option<usize> {
    let rest = text.get(from..part.end)?;
    let mut skipped = rest.trim_start();
    skipped = skipped.strip_prefix(':').unwrap_or(skipped).trim_start();
    while let Some(item) = skipped.strip_prefix("- ") {
        skipped = item.trim_start();
    }
    (!skipped.is_empty()).then(|| part.end - skipped.len())
}

/// Length of the key of `key: value`, including quotes.
fn key_length(content: &str) -> Option<usize> {
    let quote = content.chars().next().filter(|it| matches!(it, '"' | '\''));
    if let Some(quote) = quote {
        let length = content[1..].find(quote)? + 2;
        return content[length..]
            .starts_with(':')
            .then_some(length)
            .filter(|_| ends_key(&content[length + 1..]));
    }
    if content.starts_with(['#', '[', '{', '&', '*', '!', '|', '>', '%', '@', '`']) {
        return None;
    }
    content
        .match_indices(':')
        .map(|(at, _)| at)
        .find(|at| *at > 0 && ends_key(&content[at + 1..]))
}

fn ends_key(after: &str) -> bool {
    after.is_empty() || after.starts_with([' ', '\t'])
}

fn is_word(key: &str) -> bool {
    key.chars()
        .all(|it| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.' | '"' | '\''))
}

/// Whether the line that contains `at` begins with `key:` at column 1.
pub(super) fn begins_key(text: &str, at: usize) -> bool {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    key_length(line).is_some_and(|length| is_word(line[..length].trim_end()))
        && !line.starts_with([' ', '\t'])
}

fn known_key(content: &str) -> bool {
    key_length(content).is_some_and(|length| {
        let key = content[..length].trim_matches(['"', '\'', ' ']);
        is_known(key)
    })
}

/// The offset of a known key at column 1 inside a range, but not at its start.
pub(super) fn known_key_within(text: &str, range: &Range<usize>) -> Option<usize> {
    let value = &text[range.clone()];
    value
        .match_indices('\n')
        .map(|(newline, _)| range.start + newline + 1)
        .find(|start| known_key(text[*start..range.end].lines().next().unwrap_or_default()))
}

/// Whether a line without a colon begins with a known key such as `allowed-tools`.
/// Only keys with a `-` count, since other words begin sentences too.
pub(super) fn begins_with_limit(content: &str) -> bool {
    let word = content
        .split([' ', '\t', '=', ':'])
        .next()
        .unwrap_or_default();
    word.contains(['-', '_']) && is_known(word)
}

/// Where the colon is that should end a known key: `name:value`, `name：value`, or one followed by a
/// space that is none for YAML, which counts, too.
pub(super) fn wrong_colon(content: &str) -> Option<Range<usize>> {
    let at = content.find([':', '：'])?;
    let colon = content[at..].chars().next()?;
    let rest = &content[at + colon.len_utf8()..];
    let is_space = |it: char| it.is_whitespace() && !it.is_ascii();
    let value = rest.trim_start_matches(is_space);
    let is_wrong = colon != ':' || !ends_key(rest);
    (is_known(&content[..at]) && is_wrong).then(|| at..content.len() - value.len())
}

/// `|`, `>-`, `|2+ # comment`: the header of a text block.
fn is_block_header(value: &str) -> bool {
    let Some(rest) = value.strip_prefix(['|', '>']) else {
        return false;
    };
    let rest = rest.trim_start_matches(['-', '+', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
    rest.is_empty() || rest.trim_start().starts_with('#')
}

/// Cuts a comment off the end. Only ` # ` begins one here, since ` #12` is far more
/// often text.
fn without_comment(value: &str) -> &str {
    value
        .find(" # ")
        .map_or(value, |at| &value[..at])
        .trim_end()
}

/// Folds lines as YAML folds unquoted text: a line break becomes a space, an empty
/// line becomes a line break.
fn fold(value: &str) -> String {
    let mut folded = String::new();
    let mut empty = 0;
    for (at, line) in value
        .lines()
        .map(|line| line.trim_matches([' ', '\t']))
        .enumerate()
    {
        if line.is_empty() {
            empty += 1;
            continue;
        }
        match (at, empty) {
            (0, _) => {}
            (_, 0) => folded.push(' '),
            _ => folded.extend(std::iter::repeat_n('\n', empty)),
        }
        folded.push_str(line);
        empty = 0;
    }
    folded
}
