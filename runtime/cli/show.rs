//! `skillbundle show`: the text of one skill, or one of its files.

use anyhow::{Result, bail};
use serde_json::Value;
use skillbundle_format::Skill;

use super::output::Output;
use super::{record, text};
use crate::Exit;
use crate::sources::Sources;

const EXAMPLES: &str = "\
Examples:
  skillbundle show pdf                          the text an agent is given
  skillbundle show ui/react/auth                a tree skill, after what it inherits
  skillbundle show pdf --raw                    the Markdown file with its frontmatter
  skillbundle show pdf --file scripts/fill.py   one of its files
  skillbundle show pdf --dir skills --json      for a script";

// What `show` can be told. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Path or name of the skill
    path: String,
    /// The Markdown file as it was written
    #[arg(long, conflicts_with = "file")]
    raw: bool,
    /// One of the skill's files, byte for byte
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    file: Option<String>,
    #[command(flatten)]
    sources: Sources,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints a skill's text, or a file's bytes.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let opened = args.sources.open()?;
    let skill = opened.skill(&args.path)?;
    let mut out = Output::new();
    if let Some(file) = &args.file {
        print_file(&mut out, &skill, file)?;
    } else if args.json {
        let mut record = record::whole_skill(&skill)?;
        record.insert("text".to_owned(), Value::from(text_of(&skill, args.raw)?));
        out.json(&record.into())?;
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
    Ok(Exit::Fine)
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
        bail!(
            "skill `{}` has no file `{path}`; {}",
            skill.path,
            files_of(skill)?
        );
    };
    let Some(bytes) = file.bytes()? else {
        bail!(
            "`{path}` is declared by skill `{}`, but the file was missing when the bundle was made",
            skill.path
        );
    };
    match std::str::from_utf8(&bytes) {
        Ok(text) if file.is_text => Ok(out.text(text)?),
        _ if out.is_terminal() => bail!(
            "`{path}` is {}, {}; send it into a file with `> {}`",
            file.mime,
            text::counted(bytes.len() as u64, "byte"),
            path.rsplit('/').next().unwrap_or(path),
        ),
        _ => Ok(out.bytes(&bytes)?),
    }
}

/// As many files fit into an answer that should stay one line.
const NAMED: usize = 8;

fn files_of(skill: &Skill<'_>) -> Result<String> {
    let files: Vec<&str> = skill.files()?.iter().map(|file| file.path).collect();
    let shown = files
        .iter()
        .take(NAMED)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    Ok(match files.len() {
        0 => "it has none".to_owned(),
        1..=NAMED => format!("it has: {shown}"),
        count => format!("it has {count}, among them: {shown}"),
    })
}
