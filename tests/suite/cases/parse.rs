//! Reads a Markdown file of cases into tests, and puts new text into its fences.
//! It knows the syntax, not what a test means.

use std::collections::BTreeMap;
use std::ops::Range;

/// One heading with its fences.
pub(super) struct Test {
    /// File and heading, for messages.
    pub(super) title: String,
    pub(super) files: Vec<File>,
    pub(super) links: Vec<(String, String)>,
    pub(super) roots: Vec<String>,
    pub(super) expect: Fence,
    pub(super) report: Option<Fence>,
}

/// A file of the test's folder.
pub(super) struct File {
    pub(super) path: String,
    pub(super) bytes: Vec<u8>,
    pub(super) mode: Option<u32>,
}

/// A fence whose text is an expectation.
pub(super) struct Fence {
    pub(super) text: String,
    /// Its lines in the Markdown file, without those of the backticks.
    pub(super) lines: Range<usize>,
}

/// New text for the fence at these lines.
pub(super) type Edit = (Range<usize>, String);

/// Splits a Markdown file into its tests.
pub(super) fn parse(suite: &str, text: &str) -> Vec<Test> {
    let lines: Vec<&str> = text.lines().collect();
    let mut tests = Vec::new();
    let mut title = suite.to_owned();
    let mut draft = Draft::default();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        if line.starts_with('#') {
            tests.extend(std::mem::take(&mut draft).finish(&title));
            title = format!(
                "{suite}.md:{}: {}",
                at + 1,
                line.trim_start_matches('#').trim()
            );
        } else if let Some((ticks, info)) = opening(line) {
            let start = at + 1;
            let close = (start..lines.len())
                .find(|&n| opening(lines[n]).is_some_and(|(t, i)| t >= ticks && i.is_empty()))
                .unwrap_or_else(|| panic!("{suite}.md:{}: the fence has no end", at + 1));
            let info = Info::read(info, &title);
            draft.take(&info, &lines[start..close], start..close, &title);
            at = close;
        }
        at += 1;
    }
    tests.extend(draft.finish(&title));
    tests
}

/// The Markdown file with new text in some of its fences.
pub(super) fn rewrite(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|(lines, _)| lines.start);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut out = String::new();
    let mut done = 0;
    for (range, new) in edits {
        out.push_str(&lines[done..range.start].concat());
        out.push_str(&new);
        done = range.end;
    }
    out.push_str(&lines[done..].concat());
    out
}

/// The number of backticks and the info string of a fence's line.
fn opening(line: &str) -> Option<(usize, &str)> {
    let info = line.trim_start_matches('`');
    let ticks = line.len() - info.len();
    (ticks >= 3).then(|| (ticks, info.trim()))
}

/// An info string: words, and values by key.
struct Info {
    words: Vec<String>,
    values: BTreeMap<String, String>,
}

impl Info {
    fn read(info: &str, title: &str) -> Self {
        let mut words = Vec::new();
        let mut values = BTreeMap::new();
        let mut rest = info.trim_start();
        while !rest.is_empty() {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            match rest.find('=').filter(|&equals| equals < end) {
                Some(equals) if rest[equals + 1..].starts_with('"') => {
                    let value = &rest[equals + 2..];
                    let quote = value
                        .find('"')
                        .unwrap_or_else(|| panic!("{title}: a quote has no end"));
                    values.insert(rest[..equals].to_owned(), value[..quote].to_owned());
                    rest = value[quote + 1..].trim_start();
                    continue;
                }
                Some(equals) => {
                    values.insert(rest[..equals].to_owned(), rest[equals + 1..end].to_owned());
                }
                None => words.push(rest[..end].to_owned()),
            }
            rest = rest[end..].trim_start();
        }
        Self { words, values }
    }

    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|w| w == word)
    }
}

#[derive(Default)]
struct Draft {
    files: Vec<File>,
    links: Vec<(String, String)>,
    roots: Vec<String>,
    expect: Option<Fence>,
    report: Option<Fence>,
}

impl Draft {
    fn take(&mut self, info: &Info, lines: &[&str], place: Range<usize>, title: &str) {
        let mut text = lines.join("\n");
        if !lines.is_empty() {
            text.push('\n');
        }
        if info.has("expect") {
            let roots = info.values.get("roots").map_or("skills", String::as_str);
            self.roots = roots.split(',').map(str::to_owned).collect();
            let before = self.expect.replace(Fence { text, lines: place });
            assert!(before.is_none(), "{title}: two `expect` fences");
        } else if info.has("report") {
            self.report = Some(Fence { text, lines: place });
        } else if let Some(path) = info.values.get("path") {
            if info.has("link") {
                let to = info
                    .values
                    .get("to")
                    .unwrap_or_else(|| panic!("{title}: link without to="));
                self.links.push((path.clone(), to.clone()));
            } else {
                let bytes = file_bytes(info, text, title);
                let octal = |m: &String| u32::from_str_radix(m, 8).expect("mode= is octal");
                let mode = info.values.get("mode").map(octal);
                self.files.push(File {
                    path: path.clone(),
                    bytes,
                    mode,
                });
            }
        } else {
            panic!("{title}: a fence that is no file, link, expect or report");
        }
    }

    fn finish(self, title: &str) -> Option<Test> {
        if self.files.is_empty() && self.links.is_empty() && self.expect.is_none() {
            return None;
        }
        let expect = self
            .expect
            .unwrap_or_else(|| panic!("{title}: no `expect` fence"));
        Some(Test {
            title: title.to_owned(),
            files: self.files,
            links: self.links,
            roots: self.roots,
            expect,
            report: self.report,
        })
    }
}

fn file_bytes(info: &Info, mut text: String, title: &str) -> Vec<u8> {
    if info.has("no-newline") {
        text.truncate(text.len() - 1);
    }
    if info.has("crlf") {
        text = text.replace('\n', "\r\n");
    }
    if info.has("bom") {
        text.insert(0, '\u{feff}');
    }
    if info.has("escapes") {
        unescape(&text, title)
    } else {
        text.into_bytes()
    }
}

/// Replaces the escapes of a fence marked `escapes`.
fn unescape(text: &str, title: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at + 1..];
        let kind = rest
            .chars()
            .next()
            .unwrap_or_else(|| panic!("{title}: a lone backslash"));
        rest = &rest[kind.len_utf8()..];
        let braced = |rest: &str| {
            let inner = rest.split('}').next().unwrap_or_default();
            (inner.trim_start_matches('{').to_owned(), inner.len() + 1)
        };
        match kind {
            'r' => out.push(b'\r'),
            'n' => out.push(b'\n'),
            't' => out.push(b'\t'),
            '0' => out.push(0),
            '\\' => out.push(b'\\'),
            'x' => {
                out.push(u8::from_str_radix(&rest[..2], 16).expect("\\x takes two hex digits"));
                rest = &rest[2..];
            }
            'u' => {
                let (hex, length) = braced(rest);
                let code = u32::from_str_radix(&hex, 16).expect("\\u{} takes hex digits");
                let character = char::from_u32(code).expect("\\u{} names a character");
                out.extend_from_slice(character.to_string().as_bytes());
                rest = &rest[length..];
            }
            '{' => {
                let (inner, length) = braced(rest);
                let (count, piece) = inner.split_once(':').expect("\\{N:text}");
                out.extend(
                    piece
                        .repeat(count.parse().expect("\\{N:text}"))
                        .into_bytes(),
                );
                rest = &rest[length..];
            }
            other => panic!("{title}: unknown escape \\{other}"),
        }
    }
    out.extend_from_slice(rest.as_bytes());
    out
}
