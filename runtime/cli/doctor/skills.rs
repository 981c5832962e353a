//! Where skills are looked for, and which of them are left out, shadowed or out of date.

use std::collections::BTreeSet;
use std::path::Path;

use skillbundle_format::{Error, Skill};

use super::{Context, Findings, Level};
use crate::cli::display::counted;
use crate::cli::roots::places;
use crate::directories::Examined;
use crate::roots::State;
use crate::sources::{Selection, SkillRoot};

/// Reports each root with its skills, and which do not exist.
pub(super) fn check_roots(context: &Context<'_>, out: &mut Findings) {
    let file = match &context.selection {
        Ok(Selection::Bundle(file)) => Some(file.display().to_string()),
        Ok(_) => None,
        Err(error) => return out.error(None, error, "name a directory, a bundle or a skill file"),
    };
    let examined = match &context.examined {
        Some(Ok(examined)) => examined,
        Some(Err(error)) => return out.error(file, error, "make it readable, or leave it out"),
        None => return,
    };
    let roots = context.roots();
    let states = SkillRoot::states(roots);
    let places = match places(roots, &states, &examined.bundle) {
        Ok(places) => places,
        Err(error) => return out.error(file, &error, "compile the bundle again"),
    };
    let label_of = |at: usize| places.get(at).map_or("", |place| place.label);
    let mut missing = Vec::new();
    for (at, place) in places.iter().enumerate() {
        let label = place.label.to_owned();
        let count = counted(place.skill_count as u64, "skill");
        match states.get(at) {
            Some(State::Read) | None => out.note(Level::Ok, label, count),
            Some(State::Missing) => missing.push(label),
            Some(State::SameAs(first)) => {
                let message = format!("the same directory as {}", label_of(*first));
                out.note(Level::Info, label, message);
            }
            Some(State::Unreadable) => out.add(
                Level::Warning,
                label,
                "not read: this build lacks the feature `compile`",
                "install a build with that feature, or serve a bundle",
            ),
        }
    }
    if !missing.is_empty() {
        let message = format!("not there: {}", missing.join(", "));
        out.note(Level::Info, None, message);
    }
    for lock in &examined.git_locks {
        let file = lock.file.display().to_string();
        if lock.is_abandoned {
            let help =
                "if no git is running there, remove the file: git refuses to work until then";
            out.add(Level::Warning, file, "left behind by a git that died", help);
        } else {
            let message = "git is changing files; `serve` waits until it has finished";
            out.note(Level::Info, file, message);
        }
    }
}

/// Reports how many skills there are, and everything that is wrong with them.
pub(super) fn check(context: &Context<'_>, out: &mut Findings) {
    let Some(examined) = context.examined() else {
        return;
    };
    if let Err(error) = shadowing(context, examined, out) {
        out.error(None, &error.into(), "compile the bundle again");
    }
    for skill in &examined.outdated {
        let age = skill.since.elapsed().unwrap_or_default().as_secs();
        let message = format!(
            "its last good version is served; its file broke {}: {}",
            ago(age),
            skill.reason
        );
        out.add(Level::Warning, skill.path.clone(), message, "fix the file");
    }
    for finding in &examined.findings {
        let default = "fix it; `skillbundle check` shows the line";
        let level = if finding.is_error {
            Level::Problem
        } else {
            Level::Warning
        };
        let help = finding.help.as_deref().unwrap_or(default);
        out.add(level, finding.place.clone(), &*finding.message, help);
    }
}

/// Reports shadowed skills with both places.
fn shadowing(context: &Context<'_>, examined: &Examined, out: &mut Findings) -> Result<(), Error> {
    let catalog = examined.bundle.catalog()?;
    let roots = SkillRoot::read(context.roots());
    let place = |skill: &Skill<'_>| match SkillRoot::location(&roots, skill) {
        Some(file) => file.display().to_string(),
        None => format!("{} of {}", skill.path, skill.root_label),
    };
    out.note(
        Level::Ok,
        None,
        format!("{} offered", counted(catalog.len() as u64, "skill")),
    );
    let hidden = catalog.hidden()?;
    let hidden: BTreeSet<u32> = hidden.values().flatten().map(|it| it.id).collect();
    for skill in catalog.shadowed() {
        let skill = skill?;
        let Some(winner) = skill.shadowed_by()? else {
            continue;
        };
        let message = format!("shadowed by {}", context.shown(Path::new(&place(&winner))));
        if hidden.contains(&skill.id) {
            let message = format!("{message}, which a project brings");
            let help = "if you do not trust the project, serve with --no-project-roots; \
                        otherwise rename one of the two";
            out.add(Level::Warning, place(&skill), message, help);
        } else {
            let help = format!(
                "rename one of the two, or load it as skill://{}",
                skill.path
            );
            out.add(Level::Info, place(&skill), message, help);
        }
    }
    Ok(())
}

/// How long ago, in words.
fn ago(seconds: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(86_400, "day"), (3_600, "hour"), (60, "minute")];
    let unit = UNITS.iter().find(|(length, _)| seconds >= *length);
    match unit {
        Some((length, name)) => format!("{} ago", counted(seconds / length, name)),
        None => "less than a minute ago".to_owned(),
    }
}
