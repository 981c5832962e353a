//! The skills that a command has opened: it looks up those that were typed.

use std::path::PathBuf;

use anyhow::Result;
use skillbundle_format::{Bundle, Catalog, Skill};
use skillbundle_search::text::fold;
use skillbundle_search::typos;

use super::SkillRoot;
use crate::cli::output::with_help;
use crate::project::Project;

/// A bundle, and where it came from.
pub(crate) struct Opened {
    /// The bundle.
    pub(crate) bundle: Bundle,
    /// Where it came from, for messages.
    pub(crate) origin: String,
    /// The directories of its roots, in their order, as far as there are any.
    pub(super) roots: Vec<SkillRoot>,
    /// The arguments that led to it, for hints.
    pub(super) arguments: String,
}

impl Opened {
    /// The file of a skill on disk, if it was read from a directory.
    pub(crate) fn location(&self, skill: &Skill<'_>) -> Option<PathBuf> {
        SkillRoot::location(&self.roots, skill)
    }

    /// Whether a skill is among those that were named or found in directories, and not one that this
    /// program has beside them.
    #[cfg(feature = "sqlite")]
    pub(crate) fn is_own(&self, skill: &Skill<'_>) -> bool {
        self.roots.is_empty() || self.location(skill).is_some()
    }

    /// Whether a skill was read from a root of the project that the working directory is in.
    pub(crate) fn is_of_project(&self, skill: &Skill<'_>) -> bool {
        self.is_root_of_project(skill.root)
    }

    /// Whether a root is one of the project that the working directory is in.
    pub(crate) fn is_root_of_project(&self, root: u32) -> bool {
        let root = self.roots.get(root as usize);
        root.is_some_and(|root| Project::current().contains(&root.dir))
    }

    /// The skill with this path, or else with this name.
    pub(crate) fn skill(&self, typed: &str) -> Result<Skill<'_>> {
        let catalog = self.bundle.catalog()?;
        if let Some(skill) = catalog.find(typed)? {
            return Ok(skill);
        }
        let help = match suggestion(&catalog, typed)? {
            Some(path) => format!("did you mean `{path}`?"),
            None => format!("`skillbundle list{}` shows every skill", self.arguments),
        };
        let message = format!("no skill `{typed}` in {}", self.origin);
        Err(with_help(&message, &help))
    }
}

/// The path that was probably meant: of the name with the fewest typing mistakes, else of one that
/// contains what was typed.
fn suggestion<'a>(catalog: &Catalog<'a>, typed: &str) -> Result<Option<&'a str>> {
    let folded = fold(typed);
    let distance = |name: &str| {
        let contains = fold(name).contains(&folded);
        typos(typed, name).or(contains.then_some(usize::MAX))
    };
    let mut best: Option<(usize, &str)> = None;
    for skill in catalog.skills() {
        let skill = skill?;
        let names = [skill.path, skill.install_name(), skill.name];
        if let Some(distance) = names.into_iter().filter_map(distance).min()
            && best.is_none_or(|(least, _)| distance < least)
        {
            best = Some((distance, skill.path));
        }
    }
    Ok(best.map(|(_, path)| path))
}
