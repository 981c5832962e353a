//! `skillbundle completions` and `skillbundle man`, generated from the same
//! grammar as `--help`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap_complete::Shell;
use clap_mangen::Man;

use super::output::{Output, info};
use crate::Exit;

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  skillbundle completions bash > ~/.local/share/bash-completion/completions/skillbundle
  skillbundle completions zsh > ~/.zfunc/_skillbundle
  skillbundle completions fish > ~/.config/fish/completions/skillbundle.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  skillbundle man | man -l -                    read it now
  skillbundle man ~/.local/share/man/man1       write skillbundle.1 and one page per command";

// Arguments of `completions`. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

// Arguments of `man`. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = MAN_EXAMPLES)]
pub(crate) struct ManArgs {
    /// Write the pages into this directory
    dir: Option<PathBuf>,
}

/// Prints a completion script.
pub(crate) fn completions(args: &CompletionsArgs, grammar: &mut clap::Command) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, grammar, "skillbundle", &mut script);
    print(&script)
}

/// Prints the manual page, or writes a page per command.
pub(crate) fn manual(args: &ManArgs, grammar: clap::Command) -> Result<Exit> {
    let mut grammar = grammar.disable_help_subcommand(true);
    grammar.build();
    let Some(dir) = &args.dir else {
        return print(&page(&grammar)?);
    };
    let write = || {
        fs::create_dir_all(dir)?;
        for command in grammar.get_subcommands().chain([&grammar]) {
            let name = command.get_display_name().unwrap_or(command.get_name());
            fs::write(dir.join(format!("{name}.1")), page(command)?)?;
        }
        std::io::Result::Ok(())
    };
    write().with_context(|| format!("cannot write the manual pages into {}", dir.display()))?;
    info(&format!(
        "wrote skillbundle.1 and a page per command into {}",
        dir.display()
    ));
    Ok(Exit::Success)
}

/// One page. `clap_mangen` lets roff fill the examples into one paragraph, so
/// that section is written here, line by line.
fn page(command: &clap::Command) -> std::io::Result<Vec<u8>> {
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if command.get_arguments().any(|it| !it.is_hide_set()) {
        man.render_options_section(&mut page)?;
    }
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(text) = command.get_after_help() {
        page.extend_from_slice(unfilled(&text.to_string()).as_bytes());
    }
    if command.get_version().is_some() {
        man.render_version_section(&mut page)?;
    }
    Ok(page)
}

/// A section in which roff keeps every line as it is.
fn unfilled(text: &str) -> String {
    let mut section = ".SH EXTRA\n.nf\n".to_owned();
    for line in text.lines() {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        // A line that starts with one of these would be a request.
        let guard = if line.starts_with(['.', '\'']) {
            "\\&"
        } else {
            ""
        };
        section.extend([guard, &line, "\n"]);
    }
    section + ".fi\n"
}

fn print(bytes: &[u8]) -> Result<Exit> {
    let mut out = Output::new();
    out.bytes(bytes)?;
    out.finish()?;
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_keep_their_lines_and_are_never_roff_requests() {
        let section = unfilled("Examples:\n  skillbundle list -n 3\n.hidden \\ 'x'");
        assert_eq!(
            section,
            ".SH EXTRA\n.nf\nExamples:\n  skillbundle list \\-n 3\n\\&.hidden \\e 'x'\n.fi\n"
        );
    }
}
