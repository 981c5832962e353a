//! Runs `skillbundle new`.

use anyhow::Result;

use super::ask::{ask, is_possible};
use super::draft::{Draft, Kind};
use super::place::Place;
use super::{Args, words};
use crate::Exit;
use crate::cli::json::{Envelope, NewSkill};
use crate::cli::output::{Output, info, with_help};

/// Makes a skill, and says what to do next.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let kind = Kind {
        is_page: args.tree || args.contract,
        has_contract: args.contract,
        has_script: args.with_script,
    };
    let place = Place::new(args.dir.as_deref())?;
    let name = name(args, kind, &place)?;
    let description = description(args)?;
    let draft = Draft::new(kind, &name, &description);
    place.put(&draft)?;
    report(args, kind, &place, &name, &description, &draft)?;
    Ok(Exit::Success)
}

/// The name that was given, or that a person answers.
fn name(args: &Args, kind: Kind, place: &Place) -> Result<String> {
    let check = |name: &str| {
        words::check_name(name, kind)?;
        place.check_free(name)
    };
    if let Some(name) = &args.name {
        check(name)?;
        return Ok(name.clone());
    }
    let asked = may_ask(args).then(|| ask("Name, such as pdf-forms", check));
    asked.transpose()?.flatten().ok_or_else(|| {
        with_help(
            "the skill has no name",
            "give it one: `skillbundle new NAME --description TEXT`",
        )
    })
}

/// The description that was given, or that a person answers.
fn description(args: &Args) -> Result<String> {
    let check = |text: &str| words::check_description(text, args.contract).map(drop);
    if let Some(text) = &args.description {
        return Ok(words::check_description(text, args.contract)?.to_owned());
    }
    let question = "What does it do, and when is it to be used?\nDescription";
    let asked = may_ask(args).then(|| ask(question, check));
    asked.transpose()?.flatten().ok_or_else(|| {
        with_help(
            "the skill has no description",
            "give it one: `--description \"What it does. Use when …\"`",
        )
    })
}

fn may_ask(args: &Args) -> bool {
    !args.json && is_possible()
}

/// Prints what was made on stdout, and what to do next on stderr.
fn report(
    args: &Args,
    kind: Kind,
    place: &Place,
    name: &str,
    description: &str,
    draft: &Draft,
) -> Result<()> {
    let mut made: Vec<String> = draft
        .files
        .iter()
        .map(|file| place.path_of(file).display().to_string())
        .collect();
    made.rotate_right(1);
    let page = words::shell_word(&made[0]);
    let dir = words::shell_word(&place.shown());
    let mut next = vec![format!("skillbundle check {page}")];
    next.push(if kind.has_contract {
        let name = words::contract_name(name);
        format!(
            "skillbundle invoke {name} {dir} --allow-project-scripts --agent me \
             --input '{{\"items\": [\"a\", \"b\"], \"wanted\": \"b\"}}'"
        )
    } else {
        format!("skillbundle show {name} {dir}")
    });
    let mut out = Output::new();
    if args.json {
        let dialect = if kind.is_page { "tree" } else { "folder" };
        out.json(&Envelope::new(
            "new",
            NewSkill {
                name,
                description,
                dialect,
                location: &made[0],
                made_files: &made,
                next_commands: &next,
            },
        ))?;
        return Ok(out.finish()?);
    }
    for path in &made {
        out.line(&crate::cli::display::one_line(path))?;
    }
    out.finish()?;
    info(&format!(
        "Replace the text in {page}, then:\n  {}",
        next.join("\n  ")
    ));
    Ok(())
}
