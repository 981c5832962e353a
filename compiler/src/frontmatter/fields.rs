//! Typed access to a mapping. Every getter returns what was meant and reports what
//! was written instead; none of them fails.

use std::ops::Range;

use super::node::{Entry, Node, NodeKind, Style};
use super::typing::{self, Typed};
use super::{Document, recover};
use crate::diagnostic::{Applicability, Code, Diagnostic, Span};

/// The keys of one mapping, with their values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a> {
    document: &'a Document,
    entries: &'a [Entry],
}

impl<'a> Fields<'a> {
    pub(super) const fn new(document: &'a Document, entries: &'a [Entry]) -> Self {
        Self { document, entries }
    }

    /// The keys with their values, in source order, each key once.
    pub(crate) const fn entries(&self) -> &'a [Entry] {
        self.entries
    }

    /// Whether the key exists, even without a value.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    /// The key's value.
    pub(crate) fn get(&self, key: &str) -> Option<&'a Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The position of the key.
    pub(crate) fn key_span(&self, key: &str) -> Option<Span> {
        self.entry(key).map(|entry| Span::from(&entry.key.range))
    }

    /// The position of the key's value; of the key if it has none.
    pub(crate) fn value_span(&self, key: &str) -> Option<Span> {
        self.entry(key)
            .map(|entry| Span::from(&value_or_key(entry)))
    }

    /// Text. Other values return their source text and are reported; `null` and an
    /// empty value return `None`.
    pub(crate) fn text(&self, key: &str, out: &mut Vec<Diagnostic>) -> Option<String> {
        let entry = self.entry(key)?;
        if let Some(diagnostic) = self.cut_by_comment(entry) {
            out.push(diagnostic);
        }
        let (text, misread) = self.as_text(&entry.value)?;
        if let Some(misread) = misread {
            let message = format!("`{key}` should be text, but {misread}");
            let diagnostic = self.diagnostic(Code::NotText, entry, message);
            out.push(self.quoting(diagnostic, &[(&entry.value.range, &text)]));
        }
        Some(text)
    }

    /// A text, number or boolean as it is written. Everything else is reported with this code, an
    /// empty value and a NUL character too.
    pub(crate) fn scalar(
        &self,
        key: &str,
        code: Code,
        out: &mut Vec<Diagnostic>,
    ) -> Option<String> {
        let entry = self.entry(key)?;
        if let Some(diagnostic) = self.cut_by_comment(entry) {
            out.push(diagnostic);
        }
        let found = match &entry.value.kind {
            NodeKind::Scalar { text, .. } if !text.contains('\0') => return Some(text.clone()),
            NodeKind::Scalar { .. } => "text with a NUL character",
            _ => entry.value.describe(),
        };
        let message = format!("`{key}` should be a text, number or boolean, but is {found}");
        let help = format!("write `{key}: value`, or `{key}: \"\"` for an empty text");
        out.push(self.diagnostic(code, entry, message).help(help));
        None
    }

    /// A list of texts. A single value is not a list.
    pub(crate) fn list(&self, key: &str, out: &mut Vec<Diagnostic>) -> Option<Vec<String>> {
        let entry = self.entry(key)?;
        let Some(items) = entry.value.items() else {
            if !entry.value.is_null() {
                let found = entry.value.describe();
                let message = format!("`{key}` should be a list, but is {found}");
                let help = "write `[first, second]`, or one `- item` per line";
                out.push(self.diagnostic(Code::NotAList, entry, message).help(help));
            }
            return None;
        };
        let mut texts = Vec::with_capacity(items.len());
        let mut misread = Vec::new();
        for item in items {
            let Some((text, problem)) = self.as_text(item) else {
                continue;
            };
            misread.extend(problem.map(|problem| (problem, &item.range, text.clone())));
            texts.push(text);
        }
        if let Some(((problem, range, _), more)) = misread.split_first() {
            let more = match more.len() {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            let message = format!("items of `{key}` should be text, but {problem}{more}");
            let diagnostic = self.document.diagnostic(Code::NotText, message);
            let diagnostic = diagnostic.at(Span::from(*range));
            let items = misread
                .iter()
                .map(|(_, range, text)| (*range, text.as_str()));
            out.push(self.quoting(diagnostic, &items.collect::<Vec<_>>()));
        }
        Some(texts)
    }

    /// `true` or `false`. Other words for them are accepted and reported.
    pub(crate) fn bool(&self, key: &str, out: &mut Vec<Diagnostic>) -> Option<bool> {
        let entry = self.entry(key)?;
        let NodeKind::Scalar { text, style } = &entry.value.kind else {
            return self.refuse(Code::NotABoolean, entry, "`true` or `false`", out);
        };
        let word = text.trim();
        let typed = typing::resolve(&word.to_lowercase());
        if let (Typed::Boolean(value), Style::Plain) = (&typed, style) {
            return Some(*value);
        }
        let value = match typed {
            Typed::Boolean(value) => Some(value),
            _ => typing::loose_boolean(word).or(match word {
                "1" => Some(true),
                "0" => Some(false),
                _ => None,
            }),
        };
        let Some(value) = value else {
            return self.refuse(Code::NotABoolean, entry, "`true` or `false`", out);
        };
        let written = self.document.source(&entry.value.range);
        let message = format!("not every host reads {written} as `{value}`");
        let diagnostic = self.diagnostic(Code::NotABoolean, entry, message);
        let diagnostic = diagnostic.help(format!("write `{key}: {value}`"));
        out.push(diagnostic.fix(Span::from(&entry.value.range), value.to_string()));
        Some(value)
    }

    /// A finite number. A quoted one is accepted and reported.
    pub(crate) fn number(&self, key: &str, out: &mut Vec<Diagnostic>) -> Option<f64> {
        let entry = self.entry(key)?;
        let NodeKind::Scalar { text, style } = &entry.value.kind else {
            return self.refuse(Code::NotANumber, entry, "a number", out);
        };
        let Typed::Number(json) = typing::resolve(text.trim()) else {
            return self.refuse(Code::NotANumber, entry, "a number", out);
        };
        if *style != Style::Plain {
            let message = format!("`{key}` should be a number, but is text");
            let diagnostic = self.diagnostic(Code::NotANumber, entry, message);
            let diagnostic = diagnostic.help(format!("remove the quotes: `{key}: {json}`"));
            out.push(diagnostic.fix(Span::from(&entry.value.range), json.clone()));
        }
        json.parse().ok()
    }

    /// Tool names in any of their forms: a list, or text separated by commas or
    /// spaces. Spaces and commas in parentheses belong to the name.
    pub(crate) fn tool_list(&self, key: &str, out: &mut Vec<Diagnostic>) -> Option<Vec<String>> {
        let entry = self.entry(key)?;
        let names = match &entry.value.kind {
            NodeKind::Null => return Some(Vec::new()),
            NodeKind::Scalar { text, .. } => split_tools(text),
            NodeKind::Sequence(_) => self.list(key, out)?,
            NodeKind::Mapping(_) => {
                let wanted = "tool names separated by spaces";
                return self.refuse(Code::NotText, entry, wanted, out);
            }
        };
        let portable = names.join(" ");
        let spaced = match &entry.value.kind {
            NodeKind::Scalar { text, .. } => {
                text.split_whitespace().eq(portable.split_whitespace())
            }
            _ => false,
        };
        if !spaced {
            let message = format!("`{key}` should be names separated by spaces");
            let diagnostic = self.diagnostic(Code::ToolListShape, entry, message);
            let diagnostic = diagnostic.help(format!("every host understands `{key}: {portable}`"));
            out.push(match self.in_place_of(entry) {
                Some(span) if split_tools(&portable) == names => {
                    diagnostic.fix(span, format!(": {}", plain_or_quoted(&portable)))
                }
                _ => diagnostic,
            });
        }
        Some(names)
    }

    fn entry(&self, key: &str) -> Option<&'a Entry> {
        self.entries.iter().find(|entry| entry.key.text == key)
    }

    fn diagnostic(&self, code: Code, entry: &Entry, message: String) -> Diagnostic {
        self.document
            .diagnostic(code, message)
            .at(Span::from(&value_or_key(entry)))
    }

    /// Reports a value that cannot be used at all, unless it is `null`.
    fn refuse<T>(
        &self,
        code: Code,
        entry: &Entry,
        wanted: &str,
        out: &mut Vec<Diagnostic>,
    ) -> Option<T> {
        if !entry.value.is_null() {
            let key = &entry.key.text;
            let found = match &entry.value.kind {
                NodeKind::Scalar { .. } => {
                    format!("`{}`", self.document.source(&entry.value.range))
                }
                _ => entry.value.describe().to_owned(),
            };
            let message = format!("`{key}` should be {wanted}, but is {found}");
            out.push(self.diagnostic(code, entry, message));
        }
        None
    }

    /// A diagnostic with the fix that puts these values in quotes, as far as each is on one line. A set of
    /// keys ends at its last key if that has no value: in quotes, it would still be a key.
    fn quoting(&self, diagnostic: Diagnostic, values: &[(&Range<usize>, &str)]) -> Diagnostic {
        let is_key = |range: &Range<usize>| {
            let rest = self.document.source(&(range.end..self.document.head.len()));
            rest.trim_start_matches([' ', '\t']).starts_with(':')
        };
        let is_line = |(range, text): &&(&Range<usize>, &str)| {
            !range.is_empty() && !text.contains('\n') && !is_key(range)
        };
        let mut lines = values.iter().filter(is_line).peekable();
        let Some((_, first)) = lines.peek() else {
            return diagnostic.help("write it as one text, in quotes");
        };
        let help = format!("put it in quotes: {}", recover::quote(first));
        let edits = lines.map(|(range, text)| (Span::from(*range), recover::quote(text)));
        diagnostic.help(help).fixed_by(Applicability::Safe, edits)
    }

    /// A value as text, and why other parsers would not read it as text.
    fn as_text(&self, node: &Node) -> Option<(String, Option<String>)> {
        let source = || self.document.source(&node.range).trim_end().to_owned();
        match &node.kind {
            NodeKind::Null => None,
            NodeKind::Scalar {
                text,
                style: Style::Plain,
            } => {
                let problem = typing::misread_as(text);
                let problem = problem.map(|it| format!("unquoted `{text}` is {it}"));
                Some((text.clone(), problem))
            }
            NodeKind::Scalar { text, .. } => Some((text.clone(), None)),
            NodeKind::Sequence(_) | NodeKind::Mapping(_) => {
                let found = node.describe();
                Some((source(), Some(format!("unquoted it is {found}"))))
            }
        }
    }

    /// `key: #1 choice` and `key: issue #12 is fixed` lose text to a comment that
    /// was probably not meant as one.
    fn cut_by_comment(&self, entry: &Entry) -> Option<Diagnostic> {
        let plain = match &entry.value.kind {
            NodeKind::Null => true,
            NodeKind::Scalar { style, .. } => *style == Style::Plain,
            _ => false,
        };
        let from = if entry.value.range.is_empty() {
            entry.key.range.end
        } else {
            entry.value.range.end
        };
        let rest = self.document.head.get(from..).filter(|_| plain)?;
        let line = rest.lines().next()?.trim_end();
        let hash = line.find('#')?;
        let between = line[..hash].trim_matches([' ', '\t', ':']);
        let meant = !matches!(line[hash + 1..].chars().next(), None | Some(' ' | '#'));
        if !between.is_empty() || !meant {
            return None;
        }
        let key = &entry.key.text;
        let (begin, end) = (from + hash, from + line.len());
        let message = format!("`{key}` loses this text, since ` #` begins a comment");
        let diagnostic = self.document.diagnostic(Code::TextLostToComment, message);
        let diagnostic = diagnostic.at(Span::from(begin..end));
        let diagnostic = diagnostic.help("put the whole value in quotes");
        let begin = if entry.value.range.is_empty() {
            begin
        } else {
            entry.value.range.start
        };
        let whole = self.document.source(&(begin..end));
        if whole.contains('\n') {
            return Some(diagnostic);
        }
        let edit = (Span::from(begin..end), recover::quote(whole));
        Some(diagnostic.fixed_by(Applicability::Unsafe, [edit]))
    }

    /// What to replace so that the value is on the line of its key: everything behind the key. `None`
    /// if a comment would be lost.
    fn in_place_of(&self, entry: &Entry) -> Option<Span> {
        let from = entry.key.range.end;
        let value = self.document.source(&entry.value.range).trim_end();
        let to = entry.value.range.start + value.len();
        let between = self.document.source(&(from..entry.value.range.start));
        // The range of a list that is not indented begins after its first hyphen.
        let signs: String = between.split_whitespace().collect();
        let is_bare = matches!(&*signs, ":" | ":-") && !value.contains('#');
        is_bare.then(|| Span::from(from..to))
    }
}

/// A text as a scalar of YAML: as it is if every reader takes it as text.
pub(crate) fn plain_or_quoted(text: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_.()/* :".contains(it);
    let begins_plain = text.starts_with(|it: char| it.is_ascii_alphabetic());
    let is_split = text.contains(": ") || text.ends_with([':', ' ']);
    if begins_plain && text.chars().all(is_plain) && !is_split && typing::misread_as(text).is_none()
    {
        text.to_owned()
    } else {
        recover::quote(text)
    }
}

/// The range of the value; of the key if the value is empty.
fn value_or_key(entry: &Entry) -> Range<usize> {
    if entry.value.range.is_empty() {
        entry.key.range.clone()
    } else {
        entry.value.range.clone()
    }
}

/// Splits tool names at commas and white space outside of parentheses. An unclosed
/// parenthesis takes the rest of the text.
fn split_tools(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut name = String::new();
    let mut depth = 0_usize;
    for character in text.chars() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (character == ',' || character.is_whitespace()) {
            if !name.is_empty() {
                names.push(std::mem::take(&mut name));
            }
        } else {
            name.push(character);
        }
    }
    let last = name.trim();
    if !last.is_empty() {
        names.push(last.to_owned());
    }
    names
}

#[cfg(test)]
mod tests {
    use super::split_tools;

    #[test]
    fn spaces_in_parentheses_belong_to_the_tool_name() {
        for (text, expected) in [
            ("", &[][..]),
            ("Read", &["Read"]),
            ("Read Grep", &["Read", "Grep"]),
            ("Read, Grep,Glob", &["Read", "Grep", "Glob"]),
            ("Bash(git *) Read", &["Bash(git *)", "Read"]),
            ("Bash(npm run a, b), Read", &["Bash(npm run a, b)", "Read"]),
            ("Bash(a (b c)) Read", &["Bash(a (b c))", "Read"]),
            ("Bash(git *, Read", &["Bash(git *, Read"]),
            ("a) b", &["a)", "b"]),
            (" ,, Read\n\tGrep ", &["Read", "Grep"]),
            ("mcp__db__*", &["mcp__db__*"]),
        ] {
            assert_eq!(split_tools(text), expected, "{text:?}");
        }
    }
}
