//! `--baseline`: findings that were there when people began to check, and that do not count. An entry has
//! no line number, but a hash of the line, so that it still fits when other lines come and go.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use skillbundle_compiler::{Diagnostic, Places, Report, Severity, Suppression};
use skillbundle_format::{hex, sha256};

use super::input::{Links, read};
use crate::cli::output::with_help;

/// Bytes of a baseline: some hundred thousand findings.
const MOST_BYTES: u64 = 64 << 20;

/// The version of the form.
const VERSION: u32 = 1;

/// Bytes of a hash that are kept. They tell the lines of one file apart, and guard against nobody.
const HASH_BYTES: usize = 8;

const HELP: &str = "write one with `skillbundle check --write-baseline FILE`";

/// What to do if the file to write is something else.
const KEPT: &str = "it was left as it is; remove it, or name another file";

/// The findings that do not count.
#[derive(Debug)]
pub(super) struct Baseline {
    /// The real path of its directory, which files are relative to.
    directory: PathBuf,
    entries: BTreeMap<Key, usize>,
}

/// File, rule and hash.
type Key = (String, String, String);

/// The file, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    #[serde(rename = "version")]
    _version: u32,
    findings: Vec<Entry>,
}

/// What the files of every version have.
#[derive(Deserialize)]
struct Header {
    version: u32,
    #[serde(rename = "findings")]
    _findings: IgnoredAny,
}

/// Findings that are alike.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    file: String,
    code: String,
    line: String,
    count: usize,
}

impl Baseline {
    /// Reads a baseline. If the settings of a tree name it, it must lie below their directory.
    pub(super) fn read(file: &Path, inside: Option<&Path>) -> Result<Self> {
        let shown = file.display();
        let directory = directory(file)?;
        if inside.is_some_and(|it| !directory.starts_with(it)) {
            let message = format!("{shown} lies outside of the directory of the settings");
            return Err(with_help(&message, "name it with --baseline"));
        }
        let links = match inside {
            Some(_) => Links::Refused,
            None => Links::Followed,
        };
        let text = read(file, MOST_BYTES, links, HELP)?;
        let text = text.ok_or_else(|| with_help(&format!("there is no baseline {shown}"), HELP))?;
        let no_baseline = |error: serde_json::Error| {
            let place = format!("{shown}:{}:{}", error.line(), error.column());
            with_help(&format!("{place}: this is no baseline"), HELP)
        };
        // A later version may have other entries.
        let header: Header = serde_json::from_str(&text).map_err(no_baseline)?;
        if header.version != VERSION {
            let found = header.version;
            let message =
                format!("{shown} has version {found}; this program reads version {VERSION}");
            return Err(with_help(&message, HELP));
        }
        let stored: Stored = serde_json::from_str(&text).map_err(no_baseline)?;
        let mut entries: BTreeMap<Key, usize> = BTreeMap::new();
        for it in stored.findings {
            let count = entries.entry((it.file, it.code, it.line)).or_default();
            *count = count.saturating_add(it.count);
        }
        Ok(Self { directory, entries })
    }

    /// Takes its findings out of a report, as far as `belongs` holds of their file.
    pub(super) fn apply(
        &mut self,
        report: &mut Report,
        places: &Places,
        belongs: impl Fn(&str) -> bool,
    ) {
        report.suppress(|report, it| {
            if !belongs(&it.file) {
                return None;
            }
            let left = self
                .entries
                .get_mut(&key(report, it, places, &self.directory));
            let left = left.filter(|it| **it > 0)?;
            *left -= 1;
            Some(Suppression::Baseline)
        });
    }

    /// The number of entries that found nothing, or less than they stand for, in files that were checked.
    pub(super) fn gone(&self, was_checked: impl Fn(&Path) -> bool) -> usize {
        let left = self.entries.iter().filter(|it| *it.1 > 0);
        let path = |file: &str| plain(&self.directory.join(file));
        left.filter(|it| was_checked(&path(&it.0.0))).count()
    }
}

/// Writes the findings of a report down to a severity, and takes them out of it. Returns their number.
///
/// # Errors
///
/// Something is there that is no baseline, or it cannot be written.
pub(super) fn write(
    file: &Path,
    report: &mut Report,
    places: &Places,
    least: Severity,
) -> Result<usize> {
    let directory = directory(file)?;
    refuse_other(file)?;
    let mut entries: BTreeMap<Key, usize> = BTreeMap::new();
    report.suppress(|report, it| {
        if it.severity > least {
            return None;
        }
        *entries
            .entry(key(report, it, places, &directory))
            .or_default() += 1;
        Some(Suppression::Baseline)
    });
    let written = entries.values().sum();
    let mut text = format!("{{\n  \"version\": {VERSION},\n  \"findings\": [");
    // One line for each, so that a change of one is a change of one line.
    for (at, ((file, code, line), count)) in entries.into_iter().enumerate() {
        let entry = Entry {
            file,
            code,
            line,
            count,
        };
        let comma = if at == 0 { "" } else { "," };
        let _ = write!(text, "{comma}\n    {}", serde_json::to_string(&entry)?);
    }
    text.push_str(if written == 0 { "]\n}\n" } else { "\n  ]\n}\n" });
    replace(file, text.as_bytes()).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(written)
}

/// Fails unless the path is free or has a baseline of any version, or an empty file, as `mktemp` makes
/// one.
fn refuse_other(file: &Path) -> Result<()> {
    let Some(text) = read(file, MOST_BYTES, Links::Followed, KEPT)? else {
        return Ok(());
    };
    if text.is_empty() || serde_json::from_str::<Header>(&text).is_ok() {
        return Ok(());
    }
    let message = format!("{} is not a baseline", file.display());
    Err(with_help(&message, KEPT))
}

/// Replaces a file at once: its readers see the old text or the new one. A link stays a link.
fn replace(file: &Path, bytes: &[u8]) -> Result<()> {
    let old = fs::canonicalize(file).ok();
    let file = old.as_deref().unwrap_or(file);
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As for any new file; the umask takes its part.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut temporary = builder.tempfile_in(directory(file)?)?;
    temporary.write_all(bytes)?;
    if old.is_some() {
        let permissions = fs::metadata(file)?.permissions();
        temporary.as_file().set_permissions(permissions)?;
    }
    temporary.as_file().sync_all()?;
    temporary.persist(file)?;
    Ok(())
}

fn directory(file: &Path) -> Result<PathBuf> {
    let parent = file.parent().filter(|it| !it.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    fs::canonicalize(parent).with_context(|| format!("cannot find {}", parent.display()))
}

/// What an entry and a finding have in common. A finding without a position has an empty hash.
fn key(report: &Report, it: &Diagnostic, places: &Places, directory: &Path) -> Key {
    let file = match places.find(&it.file) {
        Some((_, path)) => relative(&plain(&path), directory),
        None => it.file.clone(),
    };
    let line = report.marked(it).map(|(line, marked)| {
        let text = [line.trim_ascii(), marked].join(&0);
        hex(&sha256(&text)[..HASH_BYTES])
    });
    (file, it.code.as_str().to_owned(), line.unwrap_or_default())
}

/// The path from a directory to a file, with slashes.
fn relative(file: &Path, directory: &Path) -> String {
    let common = file.components().zip(directory.components());
    let common = common.take_while(|(a, b)| a == b).count();
    let up = directory.components().skip(common).map(|_| "..".into());
    let down = file.components().skip(common);
    let down = down.map(|it| it.as_os_str().to_string_lossy());
    up.chain(down).collect::<Vec<_>>().join("/")
}

/// A path without `.` and `..`, as it reads.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_baseline() {
        for (file, directory, expected) in [
            ("/a/skills/pdf/SKILL.md", "/a", "skills/pdf/SKILL.md"),
            ("/a/skills/SKILL.md", "/a/.ci", "../skills/SKILL.md"),
            ("/b/SKILL.md", "/a/c", "../../b/SKILL.md"),
        ] {
            let found = relative(Path::new(file), Path::new(directory));
            assert_eq!(found, expected);
            assert_eq!(plain(&Path::new(directory).join(found)), Path::new(file));
        }
    }
}
