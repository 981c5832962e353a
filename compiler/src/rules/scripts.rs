//! Rules about scripts: whether the system can run those that the skill's texts run by their paths,
//! and whether their first lines and line ends work.

mod commands;

use std::collections::BTreeMap;

use super::language::{BYTE_ORDER_MARK, Language, shebang};
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::draft::Draft;
use crate::paths::{directory, file_name, is_markdown, join, resolve};
use crate::source::TreeRoot;

/// A script of the skill.
struct Script<'a> {
    shown: String,
    text: &'a str,
    language: Option<Language>,
    /// Its first line, if it is one that names a program.
    shebang: Option<&'a str>,
    executable: bool,
}

/// A text of the skill that can say how to run a script.
struct Page<'a> {
    shown: String,
    /// Its directory in the skill, and the offset of the text in its file.
    directory: &'a str,
    start: usize,
    text: &'a str,
}

/// Where a text runs a script.
struct Mention {
    shown: String,
    span: Span,
}

/// Checks the scripts of one skill.
pub(super) fn check(root: &TreeRoot, draft: &Draft, out: &mut Vec<Diagnostic>) {
    let scripts = scripts(root, draft);
    if scripts.is_empty() {
        return;
    }
    for script in scripts.values() {
        out.extend(script.first_line());
        out.extend(script.line_ends());
    }
    let pages = pages(root, draft);
    let lines = pages.iter().flat_map(|it| it.text.lines());
    let chmod: Vec<&str> = lines.filter(|it| it.contains("chmod")).collect();
    for (path, mention) in mentions(&pages, &scripts, file_name(&draft.entry.path)) {
        let script = &scripts[path];
        out.extend(match script.shebang {
            Some(line) => {
                let is_said = chmod.iter().any(|it| makes_executable(it, path));
                script.without_bit(path, line, mention, is_said)
            }
            None => script.without_shebang(mention),
        });
    }
}

/// Whether a line with `chmod` is about this script: it names it, its directory, or many files.
fn makes_executable(line: &str, path: &str) -> bool {
    let directory = directory(path);
    let is_all = line.contains('*') || line.contains("-R") || line.contains('$');
    let mut words = line.split_whitespace();
    let names_directory = |word: &str| {
        let word = word.trim_end_matches(['/', '`', '"', '\'', '.', ',', ';']);
        word.ends_with(directory)
    };
    is_all
        || line.contains(file_name(path))
        || (!directory.is_empty() && words.any(names_directory))
}

/// The scripts of a skill by their paths in it.
fn scripts<'a>(root: &TreeRoot, draft: &'a Draft) -> BTreeMap<&'a str, Script<'a>> {
    let files = draft.entry.files.iter();
    let read = files.filter_map(|file| {
        let bytes = file.bytes.as_deref()?;
        let is_named = Language::of(&file.path, "").is_some();
        if !is_named && !bytes.iter().take(8).any(|it| *it == b'!') {
            return None;
        }
        let text = str::from_utf8(bytes).ok()?;
        let shebang = shebang(text);
        (is_named || shebang.is_some()).then(|| {
            let script = Script {
                shown: root.shown(&join(draft.directory(), &file.path)),
                text,
                language: Language::of(&file.path, text),
                shebang,
                executable: file.executable,
            };
            (file.path.as_str(), script)
        })
    });
    read.collect()
}

fn pages<'a>(root: &TreeRoot, draft: &'a Draft) -> Vec<Page<'a>> {
    let (entry, home) = (&draft.entry, draft.directory());
    let own = Page {
        shown: draft.shown.clone(),
        directory: "",
        start: entry.body.start,
        text: entry.source.get(entry.body.clone()).map_or("", utf8),
    };
    let files = entry.files.iter().filter(|it| is_markdown(&it.path));
    let others = files.filter_map(|file| {
        Some(Page {
            shown: root.shown(&join(home, &file.path)),
            directory: directory(&file.path),
            start: 0,
            text: utf8(file.bytes.as_deref()?),
        })
    });
    std::iter::once(own).chain(others).collect()
}

fn utf8(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap_or_default()
}

/// The scripts that texts run by their paths, and where each is run first.
fn mentions<'a>(
    pages: &[Page<'_>],
    scripts: &BTreeMap<&'a str, Script<'_>>,
    folder: &str,
) -> BTreeMap<&'a str, Mention> {
    let mut mentions = BTreeMap::new();
    for page in pages {
        for command in commands::commands(page.text) {
            let path = commands::relative(command.path, folder);
            let candidates = [resolve("", path), resolve(page.directory, path)];
            let mut found = candidates.iter().flatten();
            let Some((path, _)) = found.find_map(|it| scripts.get_key_value(it.as_str())) else {
                continue;
            };
            let start = page.start + command.at;
            mentions.entry(*path).or_insert_with(|| Mention {
                shown: page.shown.clone(),
                span: Span::from(start..start + command.path.len()),
            });
        }
    }
    mentions
}

/// What follows `env` in a `#!` line, if Linux passes several words to it as one.
fn unsplit(line: &str) -> Option<&str> {
    let (interpreter, rest) = line[2..].trim().split_once([' ', '\t'])?;
    let rest = rest.trim();
    let is_one = rest.starts_with('-') || !rest.contains([' ', '\t']);
    (file_name(interpreter) == "env" && !is_one).then_some(rest)
}

impl Script<'_> {
    /// Reports a first line that names no program, although it is meant to.
    fn first_line(&self) -> Option<Diagnostic> {
        let line = self.shebang?;
        let marks = self.text.len() - self.text.trim_start_matches(BYTE_ORDER_MARK).len();
        if marks > 0 {
            let message = "a byte order mark precedes `#!`, so the system does not see it";
            let span = Span::from(0..marks);
            let diagnostic = Diagnostic::new(Code::UnusableShebang, self.shown.as_str(), message);
            return Some(
                diagnostic
                    .at(span)
                    .help("save the script as UTF-8 without a byte order mark"),
            );
        }
        if let Some(program) = unsplit(line) {
            let message = format!("`env` looks for a program `{program}`, spaces included");
            let span = Span::from(0..line.len());
            let diagnostic = Diagnostic::new(Code::UnusableShebang, self.shown.as_str(), message);
            let help = format!("write `#!/usr/bin/env -S {program}`");
            return Some(diagnostic.at(span).help(help));
        }
        let has_return = self.text[line.len()..].starts_with("\r\n");
        // Of a shell script every line is wrong then.
        (has_return && self.language != Some(Language::Shell)).then(|| {
            let message = "the `#!` line ends in CRLF, so the system looks for a program `…\\r`";
            let help = "save the script with LF line ends";
            let span = Span::from(0..line.len());
            Diagnostic::new(Code::UnusableShebang, self.shown.as_str(), message)
                .at(span)
                .help(help)
        })
    }

    /// Reports a shell script with the line ends of Windows, in which no command is found.
    fn line_ends(&self) -> Option<Diagnostic> {
        if self.language != Some(Language::Shell) {
            return None;
        }
        let first = self.text.find("\r\n")?;
        let count = self.text.matches("\r\n").count();
        let lines = if count == 1 {
            "1 line ends".to_owned()
        } else {
            format!("{count} lines end")
        };
        let message = format!("{lines} in CRLF, which a shell takes for a part of the command");
        let help =
            "save the script with LF line ends; `*.sh text eol=lf` in .gitattributes keeps them";
        let diagnostic = Diagnostic::new(Code::ScriptLineEnds, self.shown.as_str(), message);
        Some(diagnostic.at(Span::from(first..first + 1)).help(help))
    }

    /// Reports a script that the system refuses to run. Only Unix has an executable bit.
    fn without_bit(
        &self,
        path: &str,
        line: &str,
        mention: Mention,
        is_said: bool,
    ) -> Option<Diagnostic> {
        (cfg!(unix) && !self.executable && !is_said).then(|| {
            let message = format!("`{path}` is run by its path, but it is not executable");
            let help = format!("run `git update-index --chmod=+x {}`", self.shown);
            Diagnostic::new(Code::ScriptNotExecutable, self.shown.as_str(), message)
                .at(self.start(line))
                .help(help)
                .related_in(mention.shown, mention.span, "it is run here")
        })
    }

    /// Reports a script of which the system does not know what runs it.
    fn without_shebang(&self, mention: Mention) -> Option<Diagnostic> {
        let language = self.language?;
        let message = "this script is run by its path, but has no `#!` line";
        let help = format!("begin it with `{}`", language.shebang());
        let line = self.text.lines().next().unwrap_or_default();
        Some(
            Diagnostic::new(Code::MissingShebang, self.shown.as_str(), message)
                .at(self.start(line))
                .help(help)
                .related_in(mention.shown, mention.span, "it is run here"),
        )
    }

    /// Where its first line is.
    fn start(&self, line: &str) -> Span {
        let start = self.text.find(line).unwrap_or_default();
        Span::from(start..start + line.len())
    }
}
