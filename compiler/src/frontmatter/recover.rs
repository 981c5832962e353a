//! Reads YAML as a mapping: parses, and if that fails, repairs the error and parses
//! again, within a budget; so every mistake is reported at once, those too with which
//! the file does not load. Also rejects what YAML allows and we do not: repeated keys
//! and documents that are not a mapping.

mod edits;
mod lines;
mod messages;
mod repair;

use std::collections::HashMap;
use std::ops::Range;

use super::characters::Mask;
use super::fence::MAX_YAML_BYTES;
use super::node::{Entry, Node, NodeKind};
use super::yaml::{self, YamlError, YamlErrorKind};
use crate::diagnostic::{Code, Diagnostic, Severity, Span};
use edits::{Edits, Patched};
use repair::Repair;

pub(super) use edits::Edit;
pub(crate) use repair::quote;

/// Parser events, in all attempts together, after which nothing more is repaired.
/// The largest accepted frontmatter takes about 12,000; real ones at most 60. One
/// more attempt may follow, so this bounds the time for any input.
const MAX_EVENTS: usize = 10_000;

/// Errors repaired in one frontmatter.
const MAX_REPAIRS: usize = 32;

/// Control characters tolerated in one frontmatter; with more it is binary data.
const MAX_CONTROLS: usize = 1024;

/// Repeated keys reported one by one.
const MAX_REPEATED: usize = 16;

/// Reads `text[part]` as a mapping, with byte ranges of `text`. Returns `None` if a
/// part of it would be lost.
pub(super) fn mapping(
    file: &str,
    text: &str,
    part: Range<usize>,
    out: &mut Vec<Diagnostic>,
) -> Option<Node> {
    let mut recovery = Recovery {
        file,
        text,
        part,
        edits: Edits::default(),
        repaired: Vec::new(),
        unloadable: Vec::new(),
    };
    if recovery.part.len() > MAX_YAML_BYTES {
        out.push(recovery.too_large());
        return None;
    }
    let (mask, stand_ins) = Mask::of(text, &recovery.part).unzip();
    let stand_ins = stand_ins.unwrap_or_default();
    if stand_ins.len() > MAX_CONTROLS {
        out.push(recovery.not_text(&stand_ins));
        return None;
    }
    for (range, stand_in) in stand_ins {
        recovery.edits.add(range, stand_in);
    }
    let (root, patched) = recovery.read(out)?;
    let mut root = root.unwrap_or(Node {
        range: recovery.part.clone(),
        kind: NodeKind::Null,
    });
    if root.is_null() {
        root.kind = NodeKind::Mapping(Vec::new());
    }
    settle(&mut root, &patched, mask);
    if root.entries().is_none() {
        out.push(recovery.not_a_mapping(&root));
        return None;
    }
    recovery.drop_repeated(&mut root, out);
    Some(root)
}

struct Recovery<'a> {
    file: &'a str,
    text: &'a str,
    part: Range<usize>,
    edits: Edits,
    /// What was repaired so far, in bytes of `text`.
    repaired: Vec<Range<usize>>,
    /// The repairs of these with which the file does not load.
    unloadable: Vec<Range<usize>>,
}

impl Recovery<'_> {
    /// Parses and repairs until there is no error left, or one without a repair.
    fn read(&mut self, out: &mut Vec<Diagnostic>) -> Option<(Option<Node>, Patched)> {
        let mut budget = MAX_EVENTS;
        let mut strict = true;
        loop {
            let patched = self.edits.apply(self.text, &self.part);
            let error = match yaml::read(&patched.text, strict, &mut budget) {
                Ok(root) => match root
                    .as_ref()
                    .and_then(|root| self.swallowed(root, &patched))
                {
                    None => return self.unloadable.is_empty().then_some((root, patched)),
                    Some(at) => return self.give_up(&swallowed_key(at), out),
                },
                Err(error) => self.in_file(error, &patched),
            };
            let loose = error.kind == YamlErrorKind::Indentation && strict;
            if loose && !lines::begins_key(self.text, error.at) {
                strict = false;
                out.push(self.loosely_indented(&error));
                continue;
            }
            let error = if loose { self.unclosed(error) } else { error };
            let repair = repair::find(self.text, &self.part, &error, &self.repaired)
                .filter(|_| budget > 0 && self.repaired.len() < MAX_REPAIRS);
            match repair {
                Some(repair) if self.apply(&repair) => out.push(self.report(repair)),
                _ => return self.give_up(&error, out),
            }
        }
    }

    /// The error with offsets in the file instead of the patched text.
    fn in_file(&self, error: YamlError, patched: &Patched) -> YamlError {
        YamlError {
            at: patched.offset(error.at).min(self.part.end),
            bracket: error.bracket.map(|at| patched.offset(at)),
            understood: patched.offset(error.understood),
            kind: error.kind,
        }
    }

    /// A key where a quote or bracket should have ended: the error is where it
    /// was opened.
    fn unclosed(&self, error: YamlError) -> YamlError {
        let opened = lines::next_value(self.text, &self.part, error.understood);
        let Some(at) = error.bracket.or(opened) else {
            return error;
        };
        let open = self.text[at..].chars().next().unwrap_or_default();
        YamlError {
            kind: YamlErrorKind::Unclosed(open),
            at,
            ..error
        }
    }

    /// Returns `false` if the repair was tried before or overlaps another one.
    fn apply(&mut self, repair: &Repair) -> bool {
        if self.repaired.contains(&repair.range) {
            return false;
        }
        let range = &repair.range;
        self.repaired.push(range.clone());
        if !self.edits.add(range.clone(), repair.replacement.clone()) {
            return false;
        }
        // A value that is quoted as a whole has no items any more.
        self.unloadable
            .retain(|it| it.start < range.start || range.end < it.end);
        if !repair.loads {
            self.unloadable.push(range.clone());
        }
        true
    }

    fn report(&self, repair: Repair) -> Diagnostic {
        let fix = Span::from(repair.range);
        Diagnostic::new(repair.code, self.file, repair.message)
            .at(Span::from(repair.at))
            .help(repair.help)
            .fix(fix, repair.replacement)
    }

    fn give_up<T>(&self, error: &YamlError, out: &mut Vec<Diagnostic>) -> Option<T> {
        let (code, message, help) = messages::explain(self.text, error);
        let end = self.text[error.at..]
            .chars()
            .next()
            .map_or(0, char::len_utf8);
        let span = Span::from(error.at..error.at + end);
        out.push(
            Diagnostic::new(code, self.file, message)
                .at(span)
                .help(help),
        );
        None
    }

    /// The offset of a key that became part of the text above, for example after
    /// an unclosed quote. The limits that it declares would be lost.
    fn swallowed(&self, root: &Node, patched: &Patched) -> Option<usize> {
        let mut todo = vec![root];
        while let Some(node) = todo.pop() {
            match &node.kind {
                NodeKind::Mapping(entries) => todo.extend(entries.iter().map(|entry| &entry.value)),
                NodeKind::Sequence(items) => todo.extend(items),
                NodeKind::Null => {}
                NodeKind::Scalar { .. } => {
                    let range = patched.original(&node.range);
                    if let Some(at) = lines::known_key_within(self.text, &range) {
                        return Some(at);
                    }
                }
            }
        }
        None
    }

    /// Keeps the first of equal keys and reports the others.
    fn drop_repeated(&self, root: &mut Node, out: &mut Vec<Diagnostic>) {
        let mut found = Vec::new();
        drop_repeated(root, &mut found);
        let more = found.len().saturating_sub(MAX_REPEATED);
        for (first, again) in found.drain(..).take(MAX_REPEATED) {
            let name = &self.text[again.clone()];
            let message = format!("`{name}` is given twice; the first one counts");
            out.push(
                Diagnostic::new(Code::DuplicateKey, self.file, message)
                    .at(Span::from(again))
                    .help("delete one of them; other YAML parsers use the last one or fail")
                    .related(Span::from(first), "first given here"),
            );
        }
        if more > 0 {
            let message = format!("{more} more keys are given twice");
            out.push(Diagnostic::new(Code::DuplicateKey, self.file, message));
        }
    }

    fn too_large(&self) -> Diagnostic {
        let message = format!(
            "the frontmatter has {} bytes, the limit is {MAX_YAML_BYTES}",
            self.part.len()
        );
        Diagnostic::new(Code::FrontmatterTooLarge, self.file, message)
            .at(Span::from(self.part.start..self.part.start))
            .help("move text into the body below the frontmatter")
    }

    fn not_text(&self, controls: &[Edit]) -> Diagnostic {
        let message = format!(
            "the frontmatter is not text: it has {} control characters",
            controls.len()
        );
        let first = controls
            .first()
            .map_or(self.part.clone(), |(range, _)| range.clone());
        Diagnostic::new(Code::InvalidYaml, self.file, message)
            .at(Span::from(first))
            .help("write it again as UTF-8 text")
    }

    fn not_a_mapping(&self, root: &Node) -> Diagnostic {
        let found = root.describe();
        let message = format!("the frontmatter should be lines of `key: value`, but it is {found}");
        let line = self.text[root.range.clone()]
            .lines()
            .next()
            .unwrap_or_default();
        Diagnostic::new(Code::NotAMapping, self.file, message)
            .at(Span::from(root.range.start..root.range.start + line.len()))
            .help("write `name: …` and `description: …`, each on its own line")
    }

    fn loosely_indented(&self, error: &YamlError) -> Diagnostic {
        let message = "this line continues the value above but is not indented";
        Diagnostic::new(Code::LooseIndentation, self.file, message)
            .at(Span::from(error.at..error.at))
            .severity(Severity::Warning)
            .help("indent it by two spaces, as YAML 1.2 requires")
            .fix(Span::from(error.at..error.at), "  ")
    }
}

fn swallowed_key(at: usize) -> YamlError {
    YamlError {
        kind: YamlErrorKind::SwallowedKey,
        at,
        bracket: None,
        understood: at,
    }
}

/// Gives every node its range in the file, and its control characters back.
fn settle(node: &mut Node, patched: &Patched, mask: Option<Mask>) {
    node.range = patched.original(&node.range);
    match &mut node.kind {
        NodeKind::Null => {}
        NodeKind::Scalar { text, .. } => unmask(text, mask),
        NodeKind::Sequence(items) => {
            for item in items {
                settle(item, patched, mask);
            }
        }
        NodeKind::Mapping(entries) => {
            for Entry { key, value } in entries {
                key.range = patched.original(&key.range);
                unmask(&mut key.text, mask);
                settle(value, patched, mask);
            }
        }
    }
}

fn unmask(text: &mut String, mask: Option<Mask>) {
    if let Some(mask) = mask {
        *text = mask.undo(text);
    }
}

/// Removes repeated keys at every level. `found` gets the ranges of the first and
/// the repeated key.
fn drop_repeated(node: &mut Node, found: &mut Vec<(Range<usize>, Range<usize>)>) {
    match &mut node.kind {
        NodeKind::Null | NodeKind::Scalar { .. } => {}
        NodeKind::Sequence(items) => {
            for item in items {
                drop_repeated(item, found);
            }
        }
        NodeKind::Mapping(entries) => {
            let mut seen: HashMap<String, Range<usize>> = HashMap::with_capacity(entries.len());
            entries.retain(|entry| {
                let Some(first) = seen.get(&entry.key.text) else {
                    seen.insert(entry.key.text.clone(), entry.key.range.clone());
                    return true;
                };
                found.push((first.clone(), entry.key.range.clone()));
                false
            });
            for entry in entries {
                drop_repeated(&mut entry.value, found);
            }
        }
    }
}
