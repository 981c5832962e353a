//! A fast parser for the `serve` command lines in host configurations: building
//! clap's grammar takes a fifth of the time to the first answer. Everything
//! else, and every mistake, is left to clap.

use std::ffi::OsString;
use std::path::PathBuf;

use super::Args;
use crate::cli::tool_args::tools;

impl Args {
    /// Parses the words after the program's name if they are a plain `serve`;
    /// clap parses them to the same value.
    pub(crate) fn quick(words: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut words = words.into_iter();
        if words.next()? != "serve" {
            return None;
        }
        let mut args = Self::default();
        while let Some(word) = words.next() {
            match word.to_str()? {
                "--dotted-names" if !args.tool_options.dotted_names => {
                    args.tool_options.dotted_names = true;
                }
                "--no-project-roots" if !args.sources.no_project_roots => {
                    args.sources.no_project_roots = true;
                }
                "--allow-project-scripts" if !args.tool_options.allow_project_scripts => {
                    args.tool_options.allow_project_scripts = true;
                }
                "--script-data" if args.tool_options.script_data.is_none() => {
                    args.tool_options.script_data = Some(value(&mut words)?);
                }
                "--no-embedded" if !args.sources.no_embedded => args.sources.no_embedded = true,
                "--tools" if args.tool_options.tools.is_none() => {
                    args.tool_options.tools = Some(tools(value(&mut words)?.to_str()?).ok()?);
                }
                "--bundle" if args.sources.bundle.is_none() => {
                    args.sources.bundle = Some(value(&mut words)?);
                }
                "--trust-content-config" if !args.sources.config.trust_content_config => {
                    args.sources.config.trust_content_config = true;
                }
                "--config" if args.sources.config.config.is_none() => {
                    args.sources.config.config = Some(value(&mut words)?);
                }
                "--set" => {
                    let set = value(&mut words)?.into_os_string();
                    args.sources.config.set.push(set.into_string().ok()?);
                }
                "--dir" => args.sources.dir.push(value(&mut words)?),
                path if !path.is_empty() && !path.starts_with('-') => {
                    args.sources.paths.push(word.into());
                }
                _ => return None,
            }
        }
        Some(args)
    }
}

/// The value of an option; `None` if it is empty or looks like an option.
fn value(words: &mut impl Iterator<Item = OsString>) -> Option<PathBuf> {
    let value = words.next()?;
    let plain = value
        .as_encoded_bytes()
        .first()
        .is_some_and(|first| *first != b'-');
    plain.then(|| value.into())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::{Cli, Command};

    const PIECES: [&[&str]; 24] = [
        &["--tools", "loader,skills_search"],
        &["--tools", "router"],
        &["--tools", "rooter"],
        &["--tools="],
        &["--dotted-names"],
        &["--bundle", "a.skb"],
        &["--dir", "skills"],
        &["--dir", "other skills"],
        &["--bundle=a.skb"],
        &["--dir", "-x"],
        &["--dir", ""],
        &["--dir"],
        &["--help"],
        &["word"],
        &["--http", ":8080"],
        &["--token-file", "token"],
        &["--no-project-roots"],
        &["--no-embedded"],
        &["--config", "skillbundle.yaml"],
        &["--set", "matching.min_score=0.3"],
        &["--set", "-x"],
        &["--trust-content-config"],
        &["--allow-project-scripts"],
        &["--script-data", "data"],
    ];

    fn words(choice: usize) -> Vec<OsString> {
        let pieces = [choice % 25, choice / 25 % 25, choice / 625];
        let pieces = pieces.iter().filter_map(|piece| PIECES.get(*piece));
        ["serve"]
            .into_iter()
            .chain(pieces.flat_map(|piece| *piece).copied())
            .map(OsString::from)
            .collect()
    }

    #[test]
    fn accepted_lines_parse_to_the_same_value_with_clap() {
        let mut quick = 0;
        for choice in 0..25 * 25 * 25 {
            let Some(args) = Args::quick(words(choice)) else {
                continue;
            };
            quick += 1;
            let program = [OsString::from("skillbundle")].into_iter();
            match Cli::try_parse_from(program.chain(words(choice))).map(|cli| cli.command) {
                Ok(Command::Serve(expected)) => {
                    assert_eq!(
                        format!("{args:?}"),
                        format!("{expected:?}"),
                        "{:?}",
                        words(choice)
                    );
                }
                _ => panic!("clap refuses {:?}", words(choice)),
            }
        }
        assert!(quick > 50, "{quick}");
    }

    #[test]
    fn other_command_lines_are_left_to_clap() {
        for line in [
            "",
            "list",
            "serve --help",
            "serve --dir",
            "serve --tools rooter",
            "serve --http :8080",
            "--version",
        ] {
            let words = line.split_whitespace().map(OsString::from);
            assert!(Args::quick(words).is_none(), "{line}");
        }
    }
}
