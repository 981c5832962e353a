//! Finds the commands in Markdown that run a file by its path: in fenced code for a shell, and in
//! backticks if the text leaves no doubt. A path that is only mentioned is no command.

use crate::rules::blocks;
use crate::rules::references::scan::{self, Notation};

/// A path that a text runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Command<'a> {
    /// Byte offset in the text.
    pub(super) at: usize,
    /// The path as written, without quotes.
    pub(super) path: &'a str,
}

/// Languages of fences that hold commands.
const SHELLS: &[&str] = &[
    "bash",
    "console",
    "sh",
    "shell",
    "shell-session",
    "terminal",
    "zsh",
];

/// Words before a path in backticks that make it a command.
const RUN: &[&str] = &["call", "execute", "invoke", "run", "start"];

/// Words after which a shell expects a command.
const BEFORE_COMMANDS: &[&str] = &[
    "!", "$", "%", "&&", "do", "elif", "else", "env", "exec", "if", "nohup", "sudo", "then",
    "time", "until", "while", "{", "|", "||",
];

/// All commands of a text that run a path, in order of their kinds.
pub(super) fn commands(text: &str) -> Vec<Command<'_>> {
    let mut found = Vec::new();
    for block in blocks::fenced(text) {
        let language = block.language.to_lowercase();
        let is_shell = SHELLS.contains(&language.as_str());
        if is_shell || language.is_empty() {
            let lines = &text[block.content.clone()];
            in_code(lines, block.content.start, is_shell, &mut found);
        }
    }
    // Of a text that takes too many steps, only fenced code is read.
    let scanned = scan::scan(scan::checked_part(text)).unwrap_or_default();
    let references = scanned.references.into_iter();
    let code = references.filter(|it| it.notation == Notation::Code);
    for reference in code {
        let after = &text[reference.at + reference.target.len()..];
        let is_alone = after.trim_start().starts_with('`');
        let is_run = || {
            let before = scan::before(text, reference.at);
            let before = before.trim_end_matches('`').trim_end();
            let word = before.rsplit(|it: char| !it.is_alphabetic()).next();
            word.is_some_and(|it| RUN.contains(&it.to_lowercase().as_str()))
        };
        if reference.target.starts_with("./") || !is_alone || is_run() {
            found.push(Command {
                at: reference.at,
                path: reference.target,
            });
        }
    }
    found
}

/// The paths that lines of code run. In a block of no language, only `./x` is surely a command.
fn in_code<'a>(lines: &'a str, base: usize, is_shell: bool, found: &mut Vec<Command<'a>>) {
    let mut at = base;
    let mut goes_on = false;
    for line in lines.split_inclusive('\n') {
        let mut expected = !goes_on;
        let mut start = at;
        for word in line.split_inclusive([' ', '\t', '\r', '\n']) {
            let (from, shown) = (start, word.trim_end());
            start += word.len();
            if shown.is_empty() || (shown == ">" && expected) {
                continue;
            }
            if expected && shown.starts_with('#') {
                break;
            }
            // `x=$(./run.sh)`
            let inner = shown.rfind("$(").map(|it| it + 2);
            let inner = inner.or((expected && shown.starts_with('(')).then_some(1));
            let inner = inner.unwrap_or_default();
            let path = shown[inner..].trim_start_matches(['"', '\'']);
            let skipped = shown.len() - path.len();
            let path = path.trim_end_matches(['"', '\'', ';', ')']);
            let is_command = (expected || inner > 0) && !path.contains('=');
            if is_command && path.contains('/') && (is_shell || path.starts_with("./")) {
                found.push(Command {
                    at: from + skipped,
                    path,
                });
            }
            let is_assignment = expected && path.contains('=') && !path.starts_with('-');
            expected = BEFORE_COMMANDS.contains(&shown) || shown.ends_with(';') || is_assignment;
        }
        goes_on = line.trim_end().ends_with('\\');
        at += line.len();
    }
}

/// A path relative to the skill: without the variable, the placeholder or the installed skill's own
/// folder that texts put before it.
pub(super) fn relative<'a>(path: &'a str, folder: &str) -> &'a str {
    if path.starts_with(['$', '{', '<']) {
        return path.split_once('/').map_or(path, |(_, rest)| rest);
    }
    let own = format!("/{folder}/");
    match path.rfind(&own) {
        Some(at) if !folder.is_empty() => &path[at + own.len()..],
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_distinguished_from_mentions() {
        for (text, expected) in [
            ("Run `./a.sh` now", &["./a.sh"][..]),
            ("Run `s/a.sh`.", &["s/a.sh"]),
            ("See `s/a.sh`, use `s/a.sh --all`.", &["s/a.sh"]),
            ("The file `s/a.sh` or `bash s/a.sh -x`", &[]),
            ("```sh\n./a.sh --all\n```\n", &["./a.sh"]),
            ("```bash\ns/a.py x\npython3 s/b.py\n```\n", &["s/a.py"]),
            ("```\ns/a.py\n./s/b.py\n```\n", &["./s/b.py"]),
            ("```yaml\nrun: ./a.sh\n```\n", &[]),
            (
                "```sh\n$ ./a.sh && ./b.sh; ./c.sh\n```\n",
                &["./a.sh", "./b.sh", "./c.sh"],
            ),
            ("```sh\nX=1 sudo ./a.sh \\\n  ./b.sh\n```\n", &["./a.sh"]),
            ("```sh\n# ./a.sh\ncat ./b.sh\n```\n", &[]),
            (
                "```sh\nx=$(./a.sh)\n\"$DIR/s/b.sh\" y\n```\n",
                &["./a.sh", "$DIR/s/b.sh"],
            ),
            ("```sh\nchmod +x ./a.sh\n```\n", &[]),
        ] {
            let found = commands(text);
            let paths: Vec<&str> = found.iter().map(|it| it.path).collect();
            assert_eq!(paths, expected, "{text}");
            for it in found {
                assert_eq!(&text[it.at..it.at + it.path.len()], it.path, "{text}");
            }
        }
    }

    #[test]
    fn paths_are_relative_to_the_skill() {
        for (path, expected) in [
            ("./s/a.sh", "./s/a.sh"),
            ("$DIR/s/a.sh", "s/a.sh"),
            ("${CLAUDE_SKILL_DIR}/s/a.sh", "s/a.sh"),
            ("<skill-dir>/s/a.sh", "s/a.sh"),
            ("{baseDir}/s/a.sh", "s/a.sh"),
            ("~/.claude/skills/pdf/s/a.sh", "s/a.sh"),
            (".claude/skills/other/s/a.sh", ".claude/skills/other/s/a.sh"),
        ] {
            assert_eq!(relative(path, "pdf"), expected, "{path}");
        }
    }
}
