//! `skillbundle.toml`: what the owners of a tree have set for every check of it. It is found in a root or
//! above it, up to the top of the repository, and read as what a stranger may have written.

mod parse;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use skillbundle_compiler::Policy;

use super::FailOn;
use super::input::{Links, read};
use crate::sources::SkillRoot;

/// What the file is called.
pub(super) const NAME: &str = "skillbundle.toml";

/// Bytes of it. Real ones have some hundred.
const MOST_BYTES: u64 = 1 << 20;

/// What to do if it cannot be used.
const HELP: &str = "write it as docs/check-settings.md says, or leave it out with --no-settings";

/// The settings in one file.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// The file, for people.
    pub(super) file: String,
    /// What decides about single findings.
    pub(super) policy: Policy,
    /// From which severity on the check fails.
    pub(super) fail_on: Option<FailOn>,
    /// The most warnings that do not fail.
    pub(super) max_warnings: Option<usize>,
    /// Findings that do not count.
    pub(super) baseline: Option<PathBuf>,
}

/// The settings for each root; those of one file are one.
pub(super) fn find(roots: &[SkillRoot]) -> Result<Vec<Option<Arc<Settings>>>> {
    let mut all: Vec<Option<Arc<Settings>>> = Vec::new();
    for root in roots {
        let found = match around(&root.dir)? {
            None => None,
            Some((directory, text)) => {
                let mut known = all.iter().flatten();
                let known = known.find(|it| it.policy.directory == directory);
                Some(match known {
                    Some(known) => Arc::clone(known),
                    None => Arc::new(parse::parse(shown(&directory), directory, &text)?),
                })
            }
        };
        all.push(found);
    }
    Ok(all)
}

/// Where the settings of a root may be: in it, and in the directories above it up to the top of its
/// repository.
pub(super) fn places(root: &Path) -> Vec<PathBuf> {
    let Ok(real) = fs::canonicalize(root) else {
        return Vec::new();
    };
    let mut places = Vec::new();
    for directory in real.ancestors() {
        places.push(directory.join(NAME));
        if fs::symlink_metadata(directory.join(".git")).is_ok() {
            break;
        }
    }
    places
}

/// The settings of a root, and the directory that they are in.
fn around(root: &Path) -> Result<Option<(PathBuf, String)>> {
    for file in places(root) {
        let Some(directory) = file.parent() else {
            continue;
        };
        if !is_trusted(&file, root) {
            continue;
        }
        let shown = shown(directory);
        let text = read(&file, MOST_BYTES, Links::Refused, HELP)
            .with_context(|| format!("the settings in {shown}"))?;
        if let Some(text) = text {
            return Ok(Some((directory.to_owned(), text)));
        }
    }
    Ok(None)
}

/// Whether a file has the owner of the root. Above a root in `/tmp`, anybody can write.
#[cfg(unix)]
fn is_trusted(file: &Path, root: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owner = |metadata: fs::Metadata| metadata.uid();
    let of_file = fs::symlink_metadata(file).map(owner);
    of_file.is_ok_and(|it| fs::metadata(root).map(owner).is_ok_and(|root| root == it))
}

#[cfg(not(unix))]
fn is_trusted(_: &Path, _: &Path) -> bool {
    true
}

/// The file in this directory as the user would type it, if it is below the working directory.
fn shown(directory: &Path) -> String {
    let file = directory.join(NAME);
    let here = std::env::current_dir().and_then(fs::canonicalize);
    let below = here.as_ref().ok().and_then(|it| file.strip_prefix(it).ok());
    below.unwrap_or(&file).display().to_string()
}
