//! The operator's configuration file: where it is, and what of it is read. That of a project is
//! never taken for it: its place is absolute, or named on the command line.

#[cfg(not(feature = "compile"))]
mod disabled;
#[cfg(feature = "compile")]
mod enabled;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use anyhow::Result;
use serde_json::Value;
use skillbundle_format::{Error, ValueType};

use super::{Assignment, journal};
use crate::cli::output::with_help;
#[cfg(not(feature = "compile"))]
use disabled::parse;
#[cfg(feature = "compile")]
use enabled::parse;

/// Bytes of the largest file. One with every setting has 2,000.
const LARGEST: u64 = 1 << 20;

/// The word that a path may be instead: there is to be none.
const OFF: &str = "off";

/// The operator's file: the one that was named, or else the one in its usual place (XDG Base
/// Directory Specification), if it exists.
pub(super) fn path(named: Option<&Path>) -> Result<Option<PathBuf>> {
    let path = match named {
        Some(named) => named.to_owned(),
        None => match usual_place() {
            Some(path) => path,
            None => return Ok(None),
        },
    };
    match fs::metadata(&path) {
        Ok(found) if !found.is_file() => Err(with_help(
            &format!("{} is not a regular file", path.display()),
            "the configuration must be a file",
        )),
        Ok(found) if found.len() > LARGEST => Err(with_help(
            &format!(
                "{} has {} bytes, the limit is {LARGEST}",
                path.display(),
                found.len()
            ),
            "it is hardly a configuration file",
        )),
        Ok(_) => Ok(Some(path)),
        Err(error) if named.is_none() && is_absent(&error) => Ok(None),
        Err(source) => Err(Error::Read { path, source }.into()),
    }
}

/// Whether there is no file in the usual place. The home directory of another user, which a service
/// may have inherited, is not ours to look into.
fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    matches!(error.kind(), NotFound | NotADirectory | PermissionDenied)
}

fn usual_place() -> Option<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let base = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let base = base.filter(absolute).or_else(|| {
        let home = env::home_dir().filter(absolute)?;
        Some(home.join(".config"))
    })?;
    Some(base.join("skillbundle/config.yaml"))
}

/// What the file sets. Relative paths in it are relative to its directory, and `~/` is the home
/// directory.
pub(super) fn read(path: &Path) -> Result<Vec<Assignment>> {
    let cannot_read = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(LARGEST).read_to_end(&mut bytes))
        .map_err(cannot_read)?;
    let mut assignments = parse(path, &bytes)?;
    let absolute = std::path::absolute(path)?;
    let base = absolute.parent().unwrap_or(&absolute);
    for assignment in &mut assignments {
        match assignment.setting.value_type() {
            ValueType::Path | ValueType::Paths => resolve(&mut assignment.value, base),
            ValueType::Destination => journal::resolve(&mut assignment.value, base),
            _ => {}
        }
    }
    Ok(assignments)
}

/// Makes paths absolute.
pub(super) fn resolve(value: &mut Value, base: &Path) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| resolve(item, base)),
        Value::String(text) if text != OFF => {
            let home = text.strip_prefix("~/");
            let home = home.and_then(|rest| Some(env::home_dir()?.join(rest)));
            let path = home.unwrap_or_else(|| base.join(&*text));
            *text = path.to_string_lossy().into_owned();
        }
        _ => {}
    }
}
