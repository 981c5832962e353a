//! What a text means, before and after edits: every value that no edit touches must be the same, and
//! so must the body. A fix that fails this would hide or change what its finding is not about.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::diagnostic::{Diagnostic, Edit, Severity};
use crate::frontmatter::{self, Document, Entry, Node, to_json};
use crate::paths;

/// Compares a file before and after edits.
///
/// # Errors
///
/// What the edits change beyond what they touch.
pub(super) fn compare(
    file: &str,
    before: &[u8],
    after: &[u8],
    edits: &[Edit],
) -> Result<(), String> {
    let Some(parse) = parser(file) else {
        return Ok(());
    };
    let ((old, found), (new, found_after)) = (parse(file, before), parse(file, after));
    if old.is_none() && new.is_some() {
        // Nothing could be read before, so that no value is lost; what is found now was there before.
        return compare_fences(before, edits);
    }
    if errors(&found_after) > errors(&found) {
        return Err("it would make another error".to_owned());
    }
    let is_resolved = |it: &&Diagnostic| {
        let fix = it.fix.as_ref();
        fix.is_some_and(|fix| fix.edits.iter().all(|edit| edits.contains(edit)))
    };
    // Some repairs work together alone. Without this, a value could be quoted again in each round.
    let resolved = found.iter().filter(is_resolved).count();
    if found_after.len() + resolved > found.len() {
        return Err("it does not help by itself".to_owned());
    }
    let Some(old) = old else {
        // Nothing could be read, so that no value can be lost.
        return compare_fences(before, edits);
    };
    let Some(new) = new else {
        return Err("the file could not be read any more".to_owned());
    };
    if old.has_frontmatter() != new.has_frontmatter() {
        return Err("the frontmatter would not be where it was".to_owned());
    }
    compare_values(&old, before, &new, edits)?;
    compare_bodies(&old, before, &new, after, edits)?;
    compare_fences(before, edits)
}

type Parser = fn(&str, &[u8]) -> (Option<Document>, Vec<Diagnostic>);

/// How a file of this name is read, if it has values.
fn parser(file: &str) -> Option<Parser> {
    let extension = paths::file_name(file).rsplit_once('.')?.1;
    match extension.to_ascii_lowercase().as_str() {
        "md" => Some(frontmatter::parse),
        "yaml" | "yml" => Some(frontmatter::parse_yaml),
        _ => None,
    }
}

/// No edit may change a line that is a fence for other readers, however an open quote or bracket above
/// it is read here.
fn compare_fences(source: &[u8], edits: &[Edit]) -> Result<(), String> {
    if edits.iter().any(|edit| touches_fence(source, edit)) {
        Err("it would change a line `---`".to_owned())
    } else {
        Ok(())
    }
}

fn touches_fence(source: &[u8], edit: &Edit) -> bool {
    let start = edit.span.start.min(source.len());
    let end = edit.span.end.clamp(start, source.len());
    let first = memchr::memrchr(b'\n', &source[..start]).map_or(0, |at| at + 1);
    let last = memchr::memchr(b'\n', &source[end..]).map_or(source.len(), |at| end + at);
    let mut lines = source[first..last].split(|byte| *byte == b'\n');
    lines.any(|line| line.trim_ascii_end() == b"---")
}

fn errors(found: &[Diagnostic]) -> usize {
    let errors = found.iter().filter(|it| it.severity == Severity::Error);
    errors.count()
}

/// A value that has no parts.
struct Leaf {
    json: String,
    /// Where it is written: its own text, and the keys that lead to it.
    written: Vec<Range<usize>>,
}

fn compare_values(
    old: &Document,
    source: &[u8],
    new: &Document,
    edits: &[Edit],
) -> Result<(), String> {
    let (old, mut new) = (leaves(old, source), leaves(new, &[]));
    let mut touched = Vec::new();
    for (path, leaf) in &old {
        let at = |range: &Range<usize>| edits.iter().any(|edit| touches(edit, range));
        if leaf.written.iter().any(at) {
            touched.push(path);
            continue;
        }
        match new.remove(path) {
            Some(same) if same.json == leaf.json => {}
            Some(_) => return Err(format!("it would change `{}`, too", path.join("."))),
            None => return Err(format!("it would remove `{}`", path.join("."))),
        }
    }
    // What is left is what the edits made of the values that they touch: a list may become one text,
    // and a key get another name, but none may come or go.
    let made: Vec<_> = new.keys().collect();
    let keys = |paths: &[&Vec<String>]| {
        let keys: BTreeSet<_> = paths.iter().map(|path| path.first().cloned()).collect();
        keys.len()
    };
    if keys(&made) < keys(&touched) {
        Err("it would remove a value".to_owned())
    } else if keys(&made) > keys(&touched) || made.len() > touched.len() {
        Err("it would add a value".to_owned())
    } else {
        Ok(())
    }
}

fn touches(edit: &Edit, range: &Range<usize>) -> bool {
    edit.span.start <= range.end && range.start <= edit.span.end
}

/// The values of a document by their paths.
fn leaves(document: &Document, source: &[u8]) -> BTreeMap<Vec<String>, Leaf> {
    let mut out = BTreeMap::new();
    let mut walk = Walk {
        source,
        path: Vec::new(),
        keys: Vec::new(),
        out: &mut out,
    };
    walk.entries(document.fields().entries());
    out
}

struct Walk<'a> {
    source: &'a [u8],
    path: Vec<String>,
    keys: Vec<Range<usize>>,
    out: &'a mut BTreeMap<Vec<String>, Leaf>,
}

impl Walk<'_> {
    fn entries(&mut self, entries: &[Entry]) {
        for Entry { key, value } in entries {
            self.path.push(key.text.clone());
            self.keys.push(key.range.clone());
            self.node(value);
            self.keys.pop();
            self.path.pop();
        }
    }

    fn node(&mut self, node: &Node) {
        match (node.entries(), node.items()) {
            (Some(entries), _) if !entries.is_empty() => self.entries(entries),
            (_, Some(items)) if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    self.path.push(index.to_string());
                    self.node(item);
                    self.path.pop();
                }
            }
            _ => self.leaf(node),
        }
    }

    fn leaf(&mut self, node: &Node) {
        let mut written = self.keys.clone();
        let key_end = written.last().map_or(0, |key| key.end);
        let value = if node.range.is_empty() {
            key_end..key_end
        } else {
            node.range.clone()
        };
        written.push(value.start..self.end_with_comment(value.end));
        let leaf = Leaf {
            json: to_json(node),
            written,
        };
        self.out.insert(self.path.clone(), leaf);
    }

    /// The end of the line if nothing but a comment follows, which belongs to the value.
    fn end_with_comment(&self, end: usize) -> usize {
        let rest = self.source.get(end..).unwrap_or_default();
        let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let text = line.trim_ascii_start();
        let text = text.strip_prefix(b":").unwrap_or(text).trim_ascii_start();
        if text.is_empty() || text.starts_with(b"#") {
            end + line.len()
        } else {
            end
        }
    }
}

/// The body after the edits must be the body before with those edits that lie in it.
fn compare_bodies(
    old: &Document,
    before: &[u8],
    new: &Document,
    after: &[u8],
    edits: &[Edit],
) -> Result<(), String> {
    let begin = old.body.start;
    let inside: Vec<Edit> = (edits.iter())
        .filter(|edit| edit.span.start >= begin)
        .map(|edit| {
            let mut edit = edit.clone();
            edit.span.start -= begin;
            edit.span.end -= begin;
            edit
        })
        .collect();
    let expected = super::apply(&before[old.body.clone()], &inside);
    if expected.as_deref() == Some(&after[new.body.clone()]) {
        Ok(())
    } else {
        Err("it would change the text below the frontmatter".to_owned())
    }
}
