//! What a script is written in, by its extension or its `#!` line.

use crate::paths::file_name;

/// A byte order mark in UTF-8.
pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';

macro_rules! languages {
    ($($variant:ident $extensions:expr, $interpreters:expr, $shebang:literal;)*) => {
        /// A language of scripts.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Language {
            $($variant,)*
        }

        impl Language {
            const ALL: &[Self] = &[$(Self::$variant),*];

            /// Extensions of its files.
            const fn extensions(self) -> &'static [&'static str] {
                match self { $(Self::$variant => $extensions,)* }
            }

            /// Programs that run it.
            const fn interpreters(self) -> &'static [&'static str] {
                match self { $(Self::$variant => $interpreters,)* }
            }

            /// The first line that lets the system run such a file.
            pub(super) const fn shebang(self) -> &'static str {
                match self { $(Self::$variant => $shebang,)* }
            }
        }
    };
}

languages! {
    Shell &["sh", "bash", "zsh", "ksh"], &["sh", "bash", "zsh", "ksh", "dash"], "#!/usr/bin/env bash";
    Python &["py"], &["python", "uv", "pypy"], "#!/usr/bin/env python3";
    JavaScript &["js", "mjs", "cjs", "ts", "mts"], &["node", "bun", "deno", "tsx", "ts-node"], "#!/usr/bin/env node";
    Ruby &["rb"], &["ruby"], "#!/usr/bin/env ruby";
    Perl &["pl"], &["perl"], "#!/usr/bin/env perl";
    PowerShell &["ps1"], &["pwsh"], "#!/usr/bin/env pwsh";
    Php &["php"], &["php"], "#!/usr/bin/env php";
}

impl Language {
    /// The language of a file; `None` if it is not known to be a script.
    pub(super) fn of(path: &str, text: &str) -> Option<Self> {
        let by_extension = file_name(path).rsplit_once('.').and_then(|(_, extension)| {
            let is = |it: &Self| it.extensions().contains(&extension);
            Self::ALL.iter().copied().find(is)
        });
        by_extension.or_else(|| Self::of_shebang(shebang(text)?))
    }

    fn of_shebang(line: &str) -> Option<Self> {
        let words = line.trim_start_matches("#!").split_whitespace();
        // `/usr/bin/env -S uv run` and `/bin/bash -e`.
        let mut words = words.filter(|it| !it.starts_with('-') && !it.contains('='));
        let program = words.next().map(file_name)?;
        let program = if program == "env" {
            file_name(words.next()?)
        } else {
            program
        };
        // `python3.12`
        let name = program.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.');
        let is = |it: &Self| it.interpreters().contains(&name);
        Self::ALL.iter().copied().find(is)
    }
}

/// The `#!` line of a text without its line end, even if a byte order mark precedes it.
pub(super) fn shebang(text: &str) -> Option<&str> {
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    // An attribute of Rust and a comment of Nix are no programs.
    let is_program = |line: &&str| line.starts_with("#!") && line[2..].trim().starts_with('/');
    text.lines().next().filter(is_program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_known_by_its_name_or_its_first_line() {
        for (path, text, expected) in [
            ("a.py", "", Some(Language::Python)),
            ("a.md", "#!/bin/sh\n", Some(Language::Shell)),
            ("run", "#!/usr/bin/env python3.12\n", Some(Language::Python)),
            (
                "run",
                "#!/usr/bin/env -S uv run --script\n",
                Some(Language::Python),
            ),
            ("run", "#! /usr/bin/perl -w\r\n", Some(Language::Perl)),
            ("run", "\u{feff}#!/bin/bash\n", Some(Language::Shell)),
            ("run", "#![allow(x)]\n", None),
            ("run", "text", None),
            ("a.txt", "", None),
        ] {
            assert_eq!(Language::of(path, text), expected, "{path} {text:?}");
        }
    }
}
