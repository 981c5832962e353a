//! YAML to a mapping: reads, and where reading fails, mends and reads again,
//! within a budget. Also what YAML itself lets pass and we do not: repeated
//! keys and values that are no mapping.

use std::collections::HashMap;
use std::ops::Range;

use super::characters::Mask;
use super::events::{self, Cause, Fault};
use super::fence::MAX_YAML_BYTES;
use super::node::{Entry, Kind, Node};
use super::patch::{Edit, Edits, Patched};
use super::repair::{self, Repair};
use crate::diagnostic::{Code, Diagnostic, Severity, Span};

/// Parser events after which nothing is mended any more, all attempts together.
/// The largest frontmatter that is read takes about 12,000; real ones take 60
/// at most. One more attempt may follow, so this bounds the time for any input.
const MAX_EVENTS: usize = 10_000;

/// Faults mended in one frontmatter.
const MAX_REPAIRS: usize = 32;

/// Control characters read around in one frontmatter; more are no text.
const MAX_CONTROLS: usize = 1024;

/// Repeated keys named one by one.
const MAX_REPEATED: usize = 16;

/// Reads `text[part]` as a mapping, with the places of `text`. Nothing is
/// returned where a part of it would be lost.
pub(super) fn mapping(
    file: &str,
    text: &str,
    part: Range<usize>,
    out: &mut Vec<Diagnostic>,
) -> Option<Node> {
    let mut reader = Reader {
        file,
        text,
        part,
        edits: Edits::default(),
        mended: Vec::new(),
    };
    if reader.part.len() > MAX_YAML_BYTES {
        out.push(reader.too_large());
        return None;
    }
    let (mask, stand_ins) = Mask::of(text, &reader.part).unzip();
    let stand_ins = stand_ins.unwrap_or_default();
    if stand_ins.len() > MAX_CONTROLS {
        out.push(reader.no_text(&stand_ins));
        return None;
    }
    for (place, stand_in) in stand_ins {
        reader.edits.add(place, stand_in);
    }
    let (root, patched) = reader.read(out)?;
    let mut root = match root {
        None => Node {
            range: reader.part.clone(),
            kind: Kind::Mapping(Vec::new()),
        },
        Some(Node {
            range,
            kind: Kind::Null,
        }) => Node {
            range,
            kind: Kind::Mapping(Vec::new()),
        },
        Some(root) => root,
    };
    settle(&mut root, &patched, mask);
    if root.entries().is_none() {
        out.push(reader.not_a_mapping(&root));
        return None;
    }
    reader.drop_repeated(&mut root, out);
    Some(root)
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    part: Range<usize>,
    edits: Edits,
    mended: Vec<Range<usize>>,
}

impl Reader<'_> {
    /// Reads until nothing is wrong any more, or until no mending helps.
    fn read(&mut self, out: &mut Vec<Diagnostic>) -> Option<(Option<Node>, Patched)> {
        let mut budget = MAX_EVENTS;
        let mut strict = true;
        loop {
            let patched = self.edits.apply(self.text, &self.part);
            let fault = match events::read(&patched.text, strict, &mut budget) {
                Ok(root) => match root
                    .as_ref()
                    .and_then(|root| self.swallowed(root, &patched))
                {
                    None => return Some((root, patched)),
                    Some(at) => return self.give_up(&swallowed_key(at), out),
                },
                Err(fault) => self.in_file(fault, &patched),
            };
            let loose = fault.cause == Cause::Indentation && strict;
            if loose && !repair::begins_key(self.text, fault.at) {
                strict = false;
                out.push(self.loosely_indented(&fault));
                continue;
            }
            let fault = if loose { self.unclosed(fault) } else { fault };
            let repair = repair::find(self.text, &self.part, &fault, &self.mended)
                .filter(|_| budget > 0 && self.mended.len() < MAX_REPAIRS);
            match repair {
                Some(repair) if self.mend(&repair) => out.push(self.mended(repair)),
                _ => return self.give_up(&fault, out),
            }
        }
    }

    /// A fault with offsets of the file in place of the patched text.
    fn in_file(&self, fault: Fault, patched: &Patched) -> Fault {
        Fault {
            at: patched.offset(fault.at).min(self.part.end),
            bracket: fault.bracket.map(|at| patched.offset(at)),
            understood: patched.offset(fault.understood),
            cause: fault.cause,
        }
    }

    /// A key where a quote or bracket should have ended: the fault is the one
    /// that opened it.
    fn unclosed(&self, fault: Fault) -> Fault {
        let opened = repair::next_value(self.text, &self.part, fault.understood);
        let Some(at) = fault.bracket.or(opened) else {
            return fault;
        };
        let open = self.text[at..].chars().next().unwrap_or_default();
        Fault {
            cause: Cause::Unclosed(open),
            at,
            ..fault
        }
    }

    fn mend(&mut self, repair: &Repair) -> bool {
        if self.mended.contains(&repair.place) {
            return false;
        }
        self.mended.push(repair.place.clone());
        self.edits
            .add(repair.place.clone(), repair.replacement.clone())
    }

    fn mended(&self, repair: Repair) -> Diagnostic {
        let fix = self.span(repair.place);
        Diagnostic::new(repair.code, self.file, repair.message)
            .at(self.span(repair.at))
            .help(repair.help)
            .fix(fix, repair.replacement)
    }

    fn give_up<T>(&self, fault: &Fault, out: &mut Vec<Diagnostic>) -> Option<T> {
        let (code, message, help) = repair::explain(self.text, fault);
        let end = self.text[fault.at..]
            .chars()
            .next()
            .map_or(0, char::len_utf8);
        let span = self.span(fault.at..fault.at + end);
        out.push(
            Diagnostic::new(code, self.file, message)
                .at(span)
                .help(help),
        );
        None
    }

    /// A key at the start of a line that disappeared into the text above, as
    /// an unclosed quote makes it. Its limits would be lost.
    fn swallowed(&self, root: &Node, patched: &Patched) -> Option<usize> {
        let mut todo = vec![root];
        while let Some(node) = todo.pop() {
            match &node.kind {
                Kind::Mapping(entries) => todo.extend(entries.iter().map(|entry| &entry.value)),
                Kind::Sequence(items) => todo.extend(items),
                Kind::Null => {}
                Kind::Scalar { .. } => {
                    let place = patched.original(&node.range);
                    if let Some(at) = repair::known_key_within(self.text, &place) {
                        return Some(at);
                    }
                }
            }
        }
        None
    }

    /// Keeps the first of equal keys, and says so.
    fn drop_repeated(&self, root: &mut Node, out: &mut Vec<Diagnostic>) {
        let mut found = Vec::new();
        drop_repeated(root, &mut found);
        let more = found.len().saturating_sub(MAX_REPEATED);
        for (first, again) in found.drain(..).take(MAX_REPEATED) {
            let name = &self.text[again.clone()];
            let (first, again) = (self.span(first), self.span(again));
            let message = format!(
                "`{name}` is given twice, on line {} and on line {}; the first one counts",
                first.line, again.line
            );
            out.push(
                Diagnostic::new(Code::DuplicateKey, self.file, message)
                    .at(again)
                    .help("delete one of them: other readers take the last one or refuse the file")
                    .related(first, "first given here"),
            );
        }
        if more > 0 {
            let message = format!("{more} more keys are given twice");
            out.push(Diagnostic::new(Code::DuplicateKey, self.file, message));
        }
    }

    fn too_large(&self) -> Diagnostic {
        let message = format!(
            "the frontmatter has {} bytes, more than the {MAX_YAML_BYTES} that are read",
            self.part.len()
        );
        Diagnostic::new(Code::FrontmatterTooLarge, self.file, message)
            .at(self.span(self.part.start..self.part.start))
            .help("move the text into the body")
    }

    fn no_text(&self, controls: &[Edit]) -> Diagnostic {
        let message = format!(
            "the frontmatter is no text: it has {} control characters",
            controls.len()
        );
        let first = controls
            .first()
            .map_or(self.part.clone(), |(place, _)| place.clone());
        Diagnostic::new(Code::InvalidYaml, self.file, message)
            .at(self.span(first))
            .help("write it anew, as UTF-8 text")
    }

    fn not_a_mapping(&self, root: &Node) -> Diagnostic {
        let found = root.describe();
        let message =
            format!("the frontmatter should be lines of `key: value`, but this is {found}");
        let line = self.text[root.range.clone()]
            .lines()
            .next()
            .unwrap_or_default();
        Diagnostic::new(Code::NotAMapping, self.file, message)
            .at(self.span(root.range.start..root.range.start + line.len()))
            .help("write `name: …` and `description: …`, each on its own line")
    }

    fn loosely_indented(&self, fault: &Fault) -> Diagnostic {
        let message = "this line continues the value above, but is not indented";
        Diagnostic::new(Code::LooseIndentation, self.file, message)
            .at(self.span(fault.at..fault.at))
            .severity(Severity::Warning)
            .help("indent it by two blanks: YAML 1.2 wants that, though older readers do not")
            .fix(self.span(fault.at..fault.at), "  ")
    }

    fn span(&self, range: Range<usize>) -> Span {
        Span::locate(self.text.as_bytes(), range)
    }
}

fn swallowed_key(at: usize) -> Fault {
    Fault {
        cause: Cause::SwallowedKey,
        at,
        bracket: None,
        understood: at,
    }
}

/// Gives every node its place in the file, and its control characters back.
fn settle(node: &mut Node, patched: &Patched, mask: Option<Mask>) {
    node.range = patched.original(&node.range);
    match &mut node.kind {
        Kind::Null => {}
        Kind::Scalar { text, .. } => unmask(text, mask),
        Kind::Sequence(items) => {
            for item in items {
                settle(item, patched, mask);
            }
        }
        Kind::Mapping(entries) => {
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

/// Takes repeated keys out, at every level; answers with the places of the
/// first and the repeated key.
fn drop_repeated(node: &mut Node, found: &mut Vec<(Range<usize>, Range<usize>)>) {
    match &mut node.kind {
        Kind::Null | Kind::Scalar { .. } => {}
        Kind::Sequence(items) => {
            for item in items {
                drop_repeated(item, found);
            }
        }
        Kind::Mapping(entries) => {
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
