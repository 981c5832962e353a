//! `check --fix`: applies the fixes of findings and writes the files. Each is replaced as a whole or not
//! at all, and only if it is still what was read.

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use similar::TextDiff;
use skillbundle_compiler::{Applicability, CheckOptions, Checked, Fixed, FixedFile, Refused};
use tempfile::Builder;

use super::FixArgs;
use crate::cli::display::{counted, many_lines};
use crate::cli::json;
use crate::cli::output::{Output, info, with_help};
use crate::sources::SkillRoot;

/// Lines around a change in a diff.
const CONTEXT: usize = 3;

/// What became of the fixes.
#[derive(Debug, Default)]
pub(super) struct Applied {
    /// Findings that were fixed.
    pub(super) count: usize,
    /// Files that were written.
    files: usize,
    /// What was not fixed: the place and the reason.
    left: Vec<(String, String)>,
    /// Remarks about files that were written.
    notes: Vec<String>,
}

impl FixArgs {
    /// Which fixes are asked for, if any.
    fn most(&self) -> Option<Applicability> {
        (self.fix || self.diff).then_some(if self.unsafe_too {
            Applicability::Unsafe
        } else {
            Applicability::Safe
        })
    }

    /// Finds the fixes that are asked for. `check` is called with texts as they are after fixes.
    pub(super) fn find(
        &self,
        options: &CheckOptions,
        check: impl FnMut(&CheckOptions) -> Result<Checked>,
    ) -> Result<Option<Fixed>> {
        let most = self.most();
        most.map(|most| skillbundle_compiler::fix(options, most, check))
            .transpose()
    }

    /// Refuses to write what the user has not named.
    pub(super) fn allow(&self, is_default: bool, is_repository: bool) -> Result<()> {
        if !self.fix || self.diff {
            return Ok(());
        }
        if is_repository {
            let help = "clone it, and fix the clone";
            return Err(with_help("the mirror of a repository is not changed", help));
        }
        if is_default {
            let help = "name a directory of skills, such as `skillbundle check skills --fix`";
            return Err(with_help("no skills were named", help));
        }
        Ok(())
    }
}

/// Prints what would change, for people or for `patch`.
pub(super) fn print_diff(fixed: &Fixed) -> Result<()> {
    let mut out = Output::new();
    let style = out.style();
    for file in &fixed.files {
        for line in diff(file).split_inclusive('\n') {
            if !out.is_terminal() {
                out.bytes(line.as_bytes())?;
                continue;
            }
            let line = many_lines(line.trim_end_matches('\n'));
            let code = match line.as_bytes() {
                [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => "1",
                [b'+', ..] => "32",
                [b'-', ..] => "31",
                [b'@', ..] => "36",
                _ => "0",
            };
            out.line(&style.styled(code, &line))?;
        }
    }
    out.finish()?;
    for Refused { finding, reason } in &fixed.refused {
        info(&format!(
            "not fixed: {}: {}: {reason}",
            finding.file, finding.code
        ));
    }
    info(&format!(
        "{} in {} can be fixed; nothing was written",
        counted(fixed.count() as u64, "finding"),
        counted(fixed.files.len() as u64, "file"),
    ));
    Ok(())
}

fn diff(file: &FixedFile) -> String {
    let before = String::from_utf8_lossy(&file.on_disk.bytes);
    let after = String::from_utf8_lossy(&file.text);
    let name = file.file.escape_debug().to_string();
    TextDiff::from_lines(&*before, &*after)
        .unified_diff()
        .context_radius(CONTEXT)
        .header(&name, &name)
        .to_string()
}

/// Writes the files.
pub(super) fn write(fixed: Fixed, roots: &[SkillRoot]) -> Applied {
    let roots = roots
        .iter()
        .filter_map(|root| fs::canonicalize(&root.dir).ok());
    let roots: Vec<PathBuf> = roots.collect();
    let mut applied = Applied::default();
    for file in &fixed.files {
        match write_file(file, &roots) {
            Ok(()) => {
                applied.count += file.count;
                applied.files += 1;
                if file.on_disk.has_other_names {
                    let note = "it had further names (hard links), which keep the old text";
                    applied.notes.push(format!("{}: {note}", file.file));
                }
            }
            Err(error) => applied.left.push((file.file.clone(), error.to_string())),
        }
    }
    let refused = fixed.refused.into_iter().map(|it| {
        let place = format!("{}: {}", it.finding.file, it.finding.code);
        (place, it.reason)
    });
    applied.left.extend(refused);
    applied
}

/// Replaces one file: a temporary file beside it gets its permissions, is written to the disk, and takes
/// its name.
fn write_file(file: &FixedFile, roots: &[PathBuf]) -> Result<()> {
    let path = &file.on_disk.path;
    let dir = path.parent().filter(|_| is_within(path, roots));
    let dir = dir.ok_or_else(|| anyhow!("it lies outside of the directories that were named"))?;
    let metadata = unchanged(file)?;
    if metadata.permissions().readonly() {
        return Err(anyhow!("it is read-only"));
    }
    let mut temporary = Builder::new().prefix(".skillbundle-").tempfile_in(dir)?;
    temporary.write_all(&file.text)?;
    let written = temporary.as_file();
    written.set_permissions(metadata.permissions())?;
    written.sync_all()?;
    // An editor may have saved it meanwhile.
    unchanged(file)?;
    temporary.persist(path).map_err(|it| it.error)?;
    sync(dir);
    Ok(())
}

/// The file's metadata, if it is what was read and no link has taken its place.
fn unchanged(file: &FixedFile) -> Result<Metadata> {
    let path = &file.on_disk.path;
    let metadata = fs::symlink_metadata(path)?;
    let is_same = metadata.is_file()
        && fs::canonicalize(path)? == *path
        && fs::read(path)? == *file.on_disk.bytes;
    if is_same {
        Ok(metadata)
    } else {
        Err(anyhow!(
            "it has changed since it was read; run the check again"
        ))
    }
}

fn is_within(path: &Path, roots: &[PathBuf]) -> bool {
    roots.iter().any(|root| path.starts_with(root))
}

/// Makes the new name last. Not every file system can; the file is whole in any case.
fn sync(dir: &Path) {
    let _ = File::open(dir).and_then(|dir| -> io::Result<()> { dir.sync_all() });
}

impl Applied {
    /// Lines for people: what was not fixed and why, remarks, and the totals.
    pub(super) fn lines(&self) -> Vec<String> {
        let left = self.left.iter();
        let left = left.map(|(place, reason)| format!("not fixed: {place}: {reason}"));
        let notes = self.notes.iter().cloned();
        let total = format!(
            "fixed {} in {}",
            counted(self.count as u64, "finding"),
            counted(self.files as u64, "file"),
        );
        let lines = left.chain(notes).chain([total]);
        lines.map(|line| many_lines(&line).into_owned()).collect()
    }

    /// The same for programs.
    pub(super) fn not_fixed(&self) -> Vec<json::NotFixed<'_>> {
        let left = self.left.iter();
        left.map(|(place, reason)| json::NotFixed { place, reason })
            .collect()
    }
}

/// `2 more with --fix, 1 with --fix --unsafe`: what can still be fixed; nothing if that is nothing.
pub(super) fn remaining(checked: &Checked) -> Option<String> {
    let (safe, other) = checked.fixable();
    let parts = [(safe, "--fix"), (other, "--fix --unsafe")];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, option)| format!("{} with {option}", counted(count as u64, "finding")))
        .collect();
    (!parts.is_empty()).then(|| format!("can be fixed: {}", parts.join(", ")))
}
