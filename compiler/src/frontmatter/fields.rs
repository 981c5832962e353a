//! Typed questions to a mapping. Each answers with what was meant and says
//! what was written instead; none of them fails.

use std::ops::Range;

use super::node::{Entry, Kind, Node, Style};
use super::typing::{self, Typed};
use super::{Document, tools};
use crate::diagnostic::{Code, Diagnostic, Span};

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

    /// Whether the key is there, be its value empty.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    /// The key's value.
    pub(crate) fn get(&self, key: &str) -> Option<&'a Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// Where the key stands.
    pub(crate) fn key_span(&self, key: &str) -> Option<Span> {
        self.entry(key)
            .map(|entry| self.document.span(&entry.key.range))
    }

    /// Where the key's value stands; the key itself where there is none.
    pub(crate) fn value_span(&self, key: &str) -> Option<Span> {
        self.entry(key)
            .map(|entry| self.document.span(&place(entry)))
    }

    /// Text. What is no text yields its source text and a warning; `null` and
    /// nothing at all yield nothing.
    pub(crate) fn text(&self, key: &str, out: &mut Vec<Diagnostic>) -> Option<String> {
        let entry = self.entry(key)?;
        if let Some(finding) = self.cut_by_comment(entry) {
            out.push(finding);
        }
        let (text, fault) = self.as_text(&entry.value)?;
        if let Some(fault) = fault {
            let finding = self.finding(
                Code::NotText,
                entry,
                format!("`{key}` should be text, but {fault}"),
            );
            let range = &entry.value.range;
            out.push(self.quoting(finding, range, &text));
        }
        Some(text)
    }

    /// A list of texts. One value alone is no list.
    pub(crate) fn list(&self, key: &str, out: &mut Vec<Diagnostic>) -> Option<Vec<String>> {
        let entry = self.entry(key)?;
        let Some(items) = entry.value.items() else {
            if !entry.value.is_null() {
                let found = entry.value.describe();
                let message = format!("`{key}` should be a list, but this is {found}");
                let help =
                    "write it as `[first, second]`, or each item on its own line behind `- `";
                out.push(self.finding(Code::NotAList, entry, message).help(help));
            }
            return None;
        };
        let mut texts = Vec::with_capacity(items.len());
        let mut first_fault = None;
        let mut faults = 0;
        for item in items {
            let Some((text, fault)) = self.as_text(item) else {
                continue;
            };
            if let Some(fault) = fault {
                faults += 1;
                first_fault.get_or_insert((&item.range, fault, text.clone()));
            }
            texts.push(text);
        }
        if let Some((range, fault, text)) = first_fault {
            let more = if faults > 1 {
                format!(" (and {} more)", faults - 1)
            } else {
                String::new()
            };
            let message = format!("`{key}` should hold text, but {fault}{more}");
            let finding = self
                .document
                .finding(Code::NotText, message)
                .at(self.document.span(range));
            out.push(self.quoting(finding, range, &text));
        }
        Some(texts)
    }

    /// `true` or `false`; other words for them with a warning.
    pub(crate) fn bool(&self, key: &str, out: &mut Vec<Diagnostic>) -> Option<bool> {
        let entry = self.entry(key)?;
        let Kind::Scalar { text, style } = &entry.value.kind else {
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
        let message =
            format!("`{key}` is read as `{value}`, but not every reader takes {written} for that");
        let finding = self.finding(Code::NotABoolean, entry, message);
        let finding = finding.help(format!("write `{key}: {value}`"));
        out.push(finding.fix(self.document.span(&entry.value.range), value.to_string()));
        Some(value)
    }

    /// A finite number; a quoted one with a warning.
    pub(crate) fn number(&self, key: &str, out: &mut Vec<Diagnostic>) -> Option<f64> {
        let entry = self.entry(key)?;
        let Kind::Scalar { text, style } = &entry.value.kind else {
            return self.refuse(Code::NotANumber, entry, "a number", out);
        };
        let Typed::Number(json) = typing::resolve(text.trim()) else {
            return self.refuse(Code::NotANumber, entry, "a number", out);
        };
        if *style != Style::Plain {
            let finding = self.finding(
                Code::NotANumber,
                entry,
                format!("`{key}` should be a number, but this is text that reads like one"),
            );
            let finding = finding.help(format!("take the quotes away: `{key}: {json}`"));
            out.push(finding.fix(self.document.span(&entry.value.range), json.clone()));
        }
        json.parse().ok()
    }

    /// Tool names in any of their shapes: a list, text with commas, text with
    /// blanks. Blanks and commas within parentheses belong to the name.
    pub(crate) fn tool_list(&self, key: &str, out: &mut Vec<Diagnostic>) -> Option<Vec<String>> {
        let entry = self.entry(key)?;
        let names = match &entry.value.kind {
            Kind::Null => return Some(Vec::new()),
            Kind::Scalar { text, .. } => tools::split(text),
            Kind::Sequence(_) => self.list(key, out)?,
            Kind::Mapping(_) => {
                return self.refuse(
                    Code::NotText,
                    entry,
                    "tool names with blanks between them",
                    out,
                );
            }
        };
        let portable = names.join(" ");
        let spaced = match &entry.value.kind {
            Kind::Scalar { text, .. } => text.split_whitespace().eq(portable.split_whitespace()),
            _ => false,
        };
        if !spaced {
            let message =
                format!("`{key}` is not in the portable form, names with blanks between them");
            let finding = self.finding(Code::ToolListShape, entry, message);
            out.push(finding.help(format!("`{key}: {portable}` is understood everywhere")));
        }
        Some(names)
    }

    fn entry(&self, key: &str) -> Option<&'a Entry> {
        self.entries.iter().find(|entry| entry.key.text == key)
    }

    fn finding(&self, code: Code, entry: &Entry, message: String) -> Diagnostic {
        self.document
            .finding(code, message)
            .at(self.document.span(&place(entry)))
    }

    /// Says that the value cannot be used at all; nothing is said of `null`.
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
                Kind::Scalar { .. } => format!("`{}`", self.document.source(&entry.value.range)),
                _ => entry.value.describe().to_owned(),
            };
            out.push(self.finding(
                code,
                entry,
                format!("`{key}` should be {wanted}, but this is {found}"),
            ));
        }
        None
    }

    /// A value as text, and what is wrong with taking it for text.
    fn as_text(&self, node: &Node) -> Option<(String, Option<String>)> {
        let source = || self.document.source(&node.range).trim_end().to_owned();
        match &node.kind {
            Kind::Null => None,
            Kind::Scalar {
                text,
                style: Style::Plain,
            } => {
                let fault = typing::misread_as(text);
                let fault = fault.map(|it| format!("`{text}` reads as {it} without quotes"));
                Some((text.clone(), fault))
            }
            Kind::Scalar { text, .. } => Some((text.clone(), None)),
            Kind::Sequence(_) | Kind::Mapping(_) => {
                let found = node.describe();
                Some((source(), Some(format!("without quotes this is {found}"))))
            }
        }
    }

    /// Adds the fix that puts a value of one line into quotes.
    fn quoting(&self, finding: Diagnostic, range: &Range<usize>, text: &str) -> Diagnostic {
        if range.is_empty() || text.contains('\n') {
            return finding.help("write it as one text, in quotes");
        }
        let quoted = super::repair::quote(text);
        let help = format!("put it in quotes: {quoted}");
        finding.help(help).fix(self.document.span(range), quoted)
    }

    /// `key: #1 choice` and `key: issue #12 is fixed` lose text to a comment
    /// that was hardly meant as one.
    fn cut_by_comment(&self, entry: &Entry) -> Option<Diagnostic> {
        let plain = match &entry.value.kind {
            Kind::Null => true,
            Kind::Scalar { style, .. } => *style == Style::Plain,
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
        let span = self.document.span(&(from + hash..from + line.len()));
        let message = format!("`{key}` loses this text: ` #` begins a comment");
        let finding = self
            .document
            .finding(Code::TextLostToComment, message)
            .at(span);
        Some(finding.help("put the whole value in quotes"))
    }
}

/// Where a finding about a value points: the value, or its key where the value
/// is empty.
fn place(entry: &Entry) -> Range<usize> {
    if entry.value.range.is_empty() {
        entry.key.range.clone()
    } else {
        entry.value.range.clone()
    }
}
