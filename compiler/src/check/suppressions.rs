//! Comments with which authors allow a finding, each with its reason:
//! `<!-- skillbundle: allow broken-reference: the build writes the file -->`. They are looked for in the
//! bytes that were read anyway. One without a reason, of an unknown rule, or that allows nothing is a
//! finding itself, which no comment can allow.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use memchr::memmem::Finder;
use memchr::{memchr, memrchr};
use skillbundle_search::suggest;

use crate::diagnostic::{Code, Diagnostic, Span};
use crate::frontmatter;
use crate::paths::is_markdown;
use crate::report::Report;
use crate::rules::blocks::Block;
use crate::source::Tree;

/// What every such comment has.
const MARK: &str = "skillbundle:";

/// What begins a comment in the body of a Markdown file, and in every other text.
const IN_MARKDOWN: &[&str] = &["<!--"];
const ELSEWHERE: &[&str] = &["#", "//", "<!--"];

const ALLOW: &str = "allow";
const ALLOW_FILE: &str = "allow-file";

/// The rules that no comment allows.
const ABOUT_COMMENTS: &[Code] = &[
    Code::SuppressionReason,
    Code::UnknownSuppression,
    Code::UnusedSuppression,
];

/// Words that other programs have for the same.
const SYNONYMS: &[&str] = &["disable", "expect", "ignore", "suppress"];

/// Bytes at the start of a file in which a zero shows that it is no text; git looks at as many.
const HEAD: usize = 8000;

/// Most findings about the comments of one file that are reported one by one.
const MOST_REPORTED: usize = 50;

/// Bytes of a word that a message quotes.
const MOST_QUOTED: usize = 64;

/// The comments of all files.
#[derive(Debug, Default)]
pub(super) struct Suppressions {
    files: BTreeMap<String, Commented>,
}

/// A file with comments.
#[derive(Debug)]
struct Commented {
    bytes: Arc<[u8]>,
    allowed: Vec<Allowed>,
    /// What allows a rule in the line that begins here, by its place in `allowed`.
    by_line: HashMap<(usize, Code), usize>,
    by_file: HashMap<Code, usize>,
    /// What is wrong, with what was written.
    problems: Vec<(Problem, Range<usize>)>,
}

/// A rule that a comment allows.
#[derive(Debug)]
struct Allowed {
    written: Range<usize>,
    reason: Arc<str>,
    is_used: bool,
    /// Whether there is such a finding, but about the whole file.
    is_for_file: bool,
}

/// Why a finding is allowed.
pub(super) struct Allowance {
    /// Where its rule is named.
    pub(super) written: Span,
    pub(super) reason: Arc<str>,
}

/// What a comment lacks.
#[derive(Debug, Clone, Copy)]
enum Problem {
    Reason,
    Verb,
    Rule,
    /// The finding is about no line.
    WholeFile,
    /// It takes several lines.
    Lines,
}

/// A comment as it is written.
struct Comment {
    /// From `skillbundle:` to the end of the text.
    text: Range<usize>,
    line: Range<usize>,
    /// Whether nothing else is on the line.
    is_alone: bool,
    /// Whether the comment begins on a line above, which is not looked for.
    is_split: bool,
}

impl Suppressions {
    /// Reads the comments of every file of the tree that is wanted and whose content is there.
    pub(super) fn read(tree: &Tree, is_wanted: impl Fn(&str) -> bool) -> Self {
        let finder = Finder::new(MARK);
        let codes: HashMap<_, _> = Code::ALL.iter().map(|it| (it.as_str(), *it)).collect();
        let mut files = BTreeMap::new();
        for root in &tree.roots {
            for entry in root.entries.iter().chain(&root.declared) {
                let Some(bytes) = &entry.bytes else { continue };
                if finder.find(bytes).is_none() || bytes[..bytes.len().min(HEAD)].contains(&0) {
                    continue;
                }
                let file = root.shown(&entry.path);
                if is_wanted(&file) {
                    let found = comments(&entry.path, bytes, &finder);
                    files.insert(file, Commented::new(bytes, &found, &codes));
                }
            }
        }
        Self { files }
    }

    /// What allows a finding, if something does.
    pub(super) fn allow(&mut self, it: &Diagnostic) -> Option<Allowance> {
        if ABOUT_COMMENTS.contains(&it.code) {
            return None;
        }
        let file = self.files.get_mut(&it.file)?;
        let in_line = it.span.and_then(|span| {
            let line = line_start(&file.bytes, span.start);
            file.by_line.get(&(line, it.code))
        });
        let Some(&at) = in_line.or_else(|| file.by_file.get(&it.code)) else {
            if it.span.is_none() {
                let of_lines = file
                    .by_line
                    .iter()
                    .filter(|((_, code), _)| *code == it.code);
                for (_, at) in of_lines {
                    file.allowed[*at].is_for_file = true;
                }
            }
            return None;
        };
        let allowed = &mut file.allowed[at];
        allowed.is_used = true;
        Some(Allowance {
            written: Span::from(&allowed.written),
            reason: Arc::clone(&allowed.reason),
        })
    }

    /// What is wrong with the comments, after the findings so far were asked about.
    pub(super) fn report(&self) -> Report {
        let source = |file: &str| Some(Arc::clone(&self.files.get(file)?.bytes));
        Report::new(self.findings(), source)
    }

    fn findings(&self) -> Vec<Diagnostic> {
        let mut all = Vec::new();
        for (name, file) in &self.files {
            let unused = file.allowed.iter().filter(|it| !it.is_used);
            let unused =
                unused.map(|it| (it.is_for_file.then_some(Problem::WholeFile), &it.written));
            let problems = file.problems.iter().map(|it| (Some(it.0), &it.1));
            let mut found: Vec<_> = problems.chain(unused).collect();
            found.sort_by_key(|it| it.1.start);
            let more = found.len().saturating_sub(MOST_REPORTED);
            let shown = found.iter().take(MOST_REPORTED);
            let start = all.len();
            all.extend(shown.map(|(problem, written)| file.finding(name, *problem, written)));
            if let Some(last) = all.last_mut().filter(|_| more > 0 && start < found.len()) {
                last.message = format!("{} (and {more} more in this file)", last.message);
            }
        }
        all
    }
}

impl Commented {
    fn new(bytes: &Arc<[u8]>, comments: &[Comment], codes: &HashMap<&str, Code>) -> Self {
        let mut file = Self {
            bytes: Arc::clone(bytes),
            allowed: Vec::new(),
            by_line: HashMap::new(),
            by_file: HashMap::new(),
            problems: Vec::new(),
        };
        let mut next = None;
        let mut targets = vec![None; comments.len()];
        for (at, comment) in comments.iter().enumerate().rev() {
            targets[at] = target(bytes, comment, next);
            next = Some((comment, targets[at]));
        }
        for (comment, target) in comments.iter().zip(targets) {
            file.add(comment, target, codes);
        }
        file
    }

    /// Adds what a comment allows, on its own line and on the one that begins at `target`.
    fn add(&mut self, comment: &Comment, target: Option<usize>, codes: &HashMap<&str, Code>) {
        let bytes = Arc::clone(&self.bytes);
        let after = skip_spaces(&bytes, comment.text.start + MARK.len(), comment.text.end);
        let verb = word(&bytes, after, comment.text.end);
        let is_for_file = match &bytes[verb.clone()] {
            it if it == ALLOW.as_bytes() => false,
            it if it == ALLOW_FILE.as_bytes() => true,
            it if is_like_allow(it) => {
                self.problems.push((Problem::Verb, verb));
                return;
            }
            // A comment about the program.
            _ => return,
        };
        if comment.is_split {
            self.problems
                .push((Problem::Lines, trim(&bytes, comment.text.clone())));
            return;
        }
        let rest = verb.end..comment.text.end;
        let colon = memchr(b':', &bytes[rest.clone()]).map(|at| rest.start + at);
        let reason = colon.map_or("".into(), |at| {
            String::from_utf8_lossy(&bytes[at + 1..rest.end])
        });
        let reason = reason.trim();
        if reason.is_empty() {
            self.problems
                .push((Problem::Reason, trim(&bytes, comment.text.clone())));
            return;
        }
        let reason: Arc<str> = reason.into();
        let mut at = rest.start;
        for name in bytes[rest.start..colon.unwrap_or(rest.end)].split(|it| *it == b',') {
            let written = trim(&bytes, at..at + name.len());
            at += name.len() + 1;
            let name = str::from_utf8(&bytes[written.clone()]).unwrap_or_default();
            let Some(code) = codes.get(name).copied() else {
                self.problems.push((Problem::Rule, written));
                continue;
            };
            let index = self.allowed.len();
            self.allowed.push(Allowed {
                written,
                reason: Arc::clone(&reason),
                is_used: false,
                is_for_file: false,
            });
            if is_for_file {
                self.by_file.entry(code).or_insert(index);
            } else {
                for line in [Some(comment.line.start), target].into_iter().flatten() {
                    self.by_line.entry((line, code)).or_insert(index);
                }
            }
        }
    }

    /// The finding about what was written here; without a problem it allows nothing.
    fn finding(&self, file: &str, problem: Option<Problem>, written: &Range<usize>) -> Diagnostic {
        let quoted = &self.bytes[written.start..written.end.min(written.start + MOST_QUOTED)];
        let quoted = String::from_utf8_lossy(quoted);
        let (code, message, help) = match problem {
            Some(Problem::Reason) => (
                Code::SuppressionReason,
                "this comment gives no reason, so it allows nothing".to_owned(),
                format!("write `{MARK} {ALLOW} RULE: REASON`"),
            ),
            Some(Problem::Verb) => (
                Code::UnknownSuppression,
                format!("`{quoted}` is neither `{ALLOW}` nor `{ALLOW_FILE}`"),
                format!("write `{MARK} {ALLOW} RULE: REASON`"),
            ),
            Some(Problem::Rule) => (
                Code::UnknownSuppression,
                if quoted.is_empty() {
                    "this comment names no rule".to_owned()
                } else {
                    format!("no rule is called `{quoted}`")
                },
                match suggest(&quoted, Code::ALL.iter().map(|it| it.as_str())) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => "`skillbundle explain` lists all rules".to_owned(),
                },
            ),
            Some(Problem::Lines) => (
                Code::UnknownSuppression,
                "this comment takes several lines, so it allows nothing".to_owned(),
                format!("write it on one line: `<!-- {MARK} {ALLOW} RULE: REASON -->`"),
            ),
            Some(Problem::WholeFile) => (
                Code::UnusedSuppression,
                format!("`{quoted}` is about the whole file, and not allowed by this comment"),
                format!("write `{MARK} {ALLOW_FILE} {quoted}: REASON`"),
            ),
            None => (
                Code::UnusedSuppression,
                format!("`{quoted}` is allowed here, but not found"),
                "remove the comment, or move it to the line above the finding".to_owned(),
            ),
        };
        Diagnostic::new(code, file, message)
            .at(Span::from(written))
            .help(help)
    }
}

/// The comments of a file, at most one on a line. Those in fenced code and in backticks are examples.
fn comments(path: &str, bytes: &[u8], finder: &Finder<'_>) -> Vec<Comment> {
    let body = if is_markdown(path) {
        frontmatter::body_start(&String::from_utf8_lossy(bytes))
    } else {
        bytes.len()
    };
    let mut found = Vec::new();
    let (mut block, mut scanned) = (Block::Text, body);
    let (mut from, mut line) = (0, 0);
    while let Some(at) = finder.find(&bytes[from..]) {
        let at = from + at;
        line = memrchr(b'\n', &bytes[from..at]).map_or(line, |it| from + it + 1);
        from = at + MARK.len();
        let openers = if at < body { ELSEWHERE } else { IN_MARKDOWN };
        let opened = opener(&bytes[line..at], openers);
        let is_in_comment =
            opened.is_none() && at >= body && bytes[line..at].trim_ascii().is_empty();
        if opened.is_none() && !is_in_comment {
            continue;
        }
        let end = memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |it| at + it);
        if at >= body {
            // Of a line without an opening, what it is in is decided above it.
            let until = if is_in_comment { line } else { end };
            let text = String::from_utf8_lossy(&bytes[scanned..until]);
            block = text.split_inclusive('\n').fold(block, Block::after);
            scanned = until;
            if block.is_fence() || (is_in_comment && block != Block::Comment) {
                from = end;
                continue;
            }
        }
        let opened = opened.unwrap_or_default();
        let is_html = bytes[line + opened..].starts_with(b"<!--");
        let closed = is_html.then(|| memchr::memmem::find(&bytes[at..end], b"-->"));
        let closed = closed.flatten();
        let text = at..closed.map_or(end, |it| at + it);
        let before = bytes[line..line + opened].trim_ascii();
        let after = closed.map_or(&b""[..], |it| bytes[at + it + 3..end].trim_ascii());
        found.push(Comment {
            text,
            line: line..end,
            is_alone: before.is_empty() && after.is_empty(),
            is_split: is_in_comment,
        });
        from = end;
    }
    found
}

/// Where the comment begins that ends `before`, if there is one and it is no part of a word.
fn opener(before: &[u8], openers: &[&str]) -> Option<usize> {
    let before = before.trim_ascii_end();
    let opened = openers
        .iter()
        .find_map(|it| before.strip_suffix(it.as_bytes()))?;
    let is_apart = opened.last().is_none_or(u8::is_ascii_whitespace);
    is_apart.then_some(opened.len())
}

/// Where the line begins that a comment is about beside its own: the next one that has text. Comments
/// that follow each other are about the same line.
fn target(
    bytes: &[u8],
    comment: &Comment,
    next: Option<(&Comment, Option<usize>)>,
) -> Option<usize> {
    let rest = bytes.get(comment.line.end..)?;
    let text = rest.iter().position(|it| !it.is_ascii_whitespace())?;
    let line = line_start(bytes, comment.line.end + text);
    match next {
        Some((next, target)) if next.is_alone && next.line.start == line => target,
        _ => Some(line),
    }
}

/// Where the line begins that has this byte.
fn line_start(bytes: &[u8], at: usize) -> usize {
    let at = at.min(bytes.len());
    memrchr(b'\n', &bytes[..at]).map_or(0, |it| it + 1)
}

fn skip_spaces(bytes: &[u8], from: usize, end: usize) -> usize {
    let text = &bytes[from..end];
    end - text.trim_ascii_start().len()
}

/// The word that begins here.
fn word(bytes: &[u8], from: usize, end: usize) -> Range<usize> {
    let is_end = |it: &u8| it.is_ascii_whitespace() || *it == b':';
    let length = bytes[from..end].iter().position(is_end);
    from..length.map_or(end, |it| from + it)
}

fn trim(bytes: &[u8], range: Range<usize>) -> Range<usize> {
    let start = skip_spaces(bytes, range.start, range.end);
    let text = bytes[start..range.end].trim_ascii_end();
    start..start + text.len()
}

fn is_like_allow(word: &[u8]) -> bool {
    let Ok(word) = str::from_utf8(word) else {
        return false;
    };
    SYNONYMS.iter().any(|it| word.starts_with(it)) || suggest(word, [ALLOW, ALLOW_FILE]).is_some()
}
