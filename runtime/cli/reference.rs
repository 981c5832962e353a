//! `skillbundle completions` and `skillbundle man`: what shells and `man`
//! know about the commands, made from the same grammar as `--help`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap_complete::Shell;

use super::output::{Output, note};
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

// What `completions` can be told. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

// What `man` can be told. (A doc comment would become the command's description.)
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
    if let Some(dir) = &args.dir {
        std::fs::create_dir_all(dir)
            .and_then(|()| clap_mangen::generate_to(grammar, dir))
            .with_context(|| format!("cannot write the manual pages into {}", dir.display()))?;
        note(&format!(
            "wrote skillbundle.1 and a page per command into {}",
            dir.display()
        ));
        return Ok(Exit::Fine);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(grammar).render(&mut page)?;
    print(&page)
}

fn print(bytes: &[u8]) -> Result<Exit> {
    let mut out = Output::new();
    out.bytes(bytes)?;
    out.finish()?;
    Ok(Exit::Fine)
}
