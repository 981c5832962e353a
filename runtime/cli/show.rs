//! `skillbundle show`: the text of one skill, or one of its files.

use anyhow::{Result, bail};
use skillbundle_format::Skill;

use super::display;
use super::json::{Envelope, SkillDetails};
use super::output::{Output, with_help};
use crate::Exit;
use crate::sources::Sources;

const EXAMPLES: &str = "\
Examples:
  skillbundle show pdf skills                   the text that an agent gets
  skillbundle show ui/react/auth ui.skb         a tree page, after the text it inherits
  skillbundle show pdf skills --raw             the Markdown file with its frontmatter
  skillbundle show pdf skills --file scripts/fill.py
                                                one of its files
  skillbundle show pdf skills --json            for a script";

// Arguments of `show`. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Path or name of the skill
    name: String,
    /// Print the Markdown file as it was written
    #[arg(long, conflicts_with = "file")]
    raw: bool,
    /// Print one of the skill's files, byte for byte
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    file: Option<String>,
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints a skill's text, or a file's bytes.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let opened = args.sources.open()?;
    let skill = opened.skill(&args.name)?;
    let mut out = Output::new();
    if let Some(file) = &args.file {
        print_file(&mut out, &skill, file)?;
    } else if args.json {
        let mut details = SkillDetails::new(&skill, opened.is_of_project(&skill))?;
        details.text = Some(text_of(&skill, args.raw)?);
        out.json(&Envelope::new("show", details))?;
    } else if args.raw && !out.is_terminal() {
        out.bytes(&skill.source()?)?;
    } else {
        let mut text = text_of(&skill, args.raw)?;
        if !text.ends_with('\n') {
            text.push('\n');
        }
        out.text(&text)?;
    }
    out.finish()?;
    Ok(Exit::Success)
}

fn text_of(skill: &Skill<'_>, raw: bool) -> Result<String> {
    Ok(if raw {
        skill.text()?.into_owned()
    } else {
        skill.content()?
    })
}

fn print_file(out: &mut Output, skill: &Skill<'_>, path: &str) -> Result<()> {
    let Some((file, _)) = skill.find_file(path)? else {
        let message = format!("skill `{}` has no file `{path}`", skill.path);
        return Err(with_help(&message, &files_of(skill)?));
    };
    let Some(bytes) = file.bytes()? else {
        bail!(
            "`{path}` of skill `{}` was missing when the bundle was made",
            skill.path
        );
    };
    match std::str::from_utf8(&bytes) {
        Ok(text) if file.is_text => Ok(out.text(text)?),
        _ if out.is_terminal() => {
            let size = display::counted(bytes.len() as u64, "byte");
            let name = path.rsplit('/').next().unwrap_or(path);
            Err(with_help(
                &format!(
                    "`{path}` is {}, {size}, which no terminal can show",
                    file.mime
                ),
                &format!("redirect it into a file: `> {name}`"),
            ))
        }
        _ => Ok(out.bytes(&bytes)?),
    }
}

/// Files that an error message names.
const MAX_NAMED: usize = 8;

fn files_of(skill: &Skill<'_>) -> Result<String> {
    let files: Vec<&str> = skill.files()?.iter().map(|file| file.path).collect();
    let shown = files
        .iter()
        .take(MAX_NAMED)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    Ok(match files.len() {
        0 => "it has no files".to_owned(),
        1..=MAX_NAMED => format!("it has {shown}"),
        count => format!("it has {count} files, among them {shown}"),
    })
}
