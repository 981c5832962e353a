//! `check --fix`: applies the fixes of findings and writes the files. Each is replaced as a whole or not
//! at all, and only if it is still what was read.

use std::env;
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};
use skillbundle_compiler::{Applicability, CheckOptions, Checked, Fixed, FixedFile, Refused};
use tempfile::Builder;

use super::FixArgs;
use crate::cli::display::{counted, escaped, many_lines};
use crate::cli::json;
use crate::cli::output::{self, Output, info, with_help};
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

/// Prints what would change, for people or for `git apply` and `patch -p1`. `failure` says why what stays
/// fails, if it does. Returns whether nothing would change and nothing fails.
pub(super) fn print_diff(
    fixed: &Fixed,
    roots: &[SkillRoot],
    failure: Option<&str>,
) -> Result<bool> {
    let roots = real(roots);
    let here = env::current_dir().and_then(fs::canonicalize);
    let here = here.unwrap_or_else(|_| "/".into());
    let mut text = Vec::new();
    let (mut findings, mut files, mut left) = (0, 0, refused(fixed));
    for file in &fixed.files {
        if let Err(error) = may_write(file, &roots) {
            left.push((file.file.clone(), error.to_string()));
            continue;
        }
        findings += file.count;
        files += 1;
        text.extend(diff(file, &here));
    }
    output::is_read(print_lines(&text))?;
    for (place, reason) in left {
        info(&escaped(&format!("not fixed: {place}: {reason}")));
    }
    let findings = counted(findings as u64, "finding");
    let of_files = counted(files, "file");
    info(&format!(
        "{findings} in {of_files} can be fixed; nothing was written"
    ));
    let reason = if files > 0 {
        Some("files would change")
    } else {
        failure
    };
    info(&match reason {
        Some(reason) => escaped(&format!("exit code 1: {reason}")).into_owned(),
        None => "exit code 0".to_owned(),
    });
    Ok(reason.is_none())
}

/// Prints a diff: as it is in a pipe, and on a terminal in colours and without what that would obey.
fn print_lines(diff: &[u8]) -> Result<()> {
    let mut out = Output::new();
    if !out.is_terminal() {
        out.bytes(diff)?;
        return Ok(out.finish()?);
    }
    let style = out.style();
    for line in String::from_utf8_lossy(diff).lines() {
        let line = many_lines(line);
        let code = match line.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => "1",
            [b'+', ..] => "32",
            [b'-', ..] => "31",
            [b'@', ..] => "36",
            _ => "0",
        };
        out.line(&style.styled(code, &line))?;
    }
    Ok(out.finish()?)
}

/// A unified diff, byte for byte. A line ends at `\n` alone, as for those who apply it.
fn diff(file: &FixedFile, here: &Path) -> Vec<u8> {
    let (before, after) = (lines(&file.on_disk.bytes), lines(&file.text));
    let changes = capture_diff_slices(Algorithm::Myers, &before, &after);
    let path = file.on_disk.path.strip_prefix(here);
    let path = path.unwrap_or(&file.on_disk.path).to_string_lossy();
    let mut out = Vec::new();
    for (mark, side) in [("---", 'a'), ("+++", 'b')] {
        let name = patch_name(&format!("{side}/{}", path.trim_start_matches('/')));
        out.extend(format!("{mark} {name}\n").bytes());
    }
    for hunk in group_diff_ops(changes, CONTEXT) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else {
            continue;
        };
        // An empty range is named by the line before it.
        let shown = |start: usize, end: usize| match end - start {
            0 => format!("{start},0"),
            count => format!("{},{count}", start + 1),
        };
        let old = shown(first.old_range().start, last.old_range().end);
        let new = shown(first.new_range().start, last.new_range().end);
        out.extend(format!("@@ -{old} +{new} @@\n").bytes());
        for change in &hunk {
            if let DiffOp::Equal { .. } = change {
                push_lines(b' ', &before[change.old_range()], &mut out);
            } else {
                push_lines(b'-', &before[change.old_range()], &mut out);
                push_lines(b'+', &after[change.new_range()], &mut out);
            }
        }
    }
    out
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|it| *it == b'\n').collect()
}

fn push_lines(mark: u8, lines: &[&[u8]], out: &mut Vec<u8>) {
    for line in lines {
        out.push(mark);
        out.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            out.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}

/// A name as git writes it in a diff: in quotes if it could be read as something else, and with a tab
/// after it if it has a space.
fn patch_name(name: &str) -> String {
    let is_plain = |it: char| !it.is_control() && !matches!(it, '"' | '\\');
    if name.chars().all(is_plain) {
        let end = if name.contains(' ') { "\t" } else { "" };
        return format!("{name}{end}");
    }
    let mut quoted = String::from("\"");
    for byte in name.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            0x20..=0x7e => quoted.push(char::from(byte)),
            _ => quoted.extend(format!("\\{byte:03o}").chars()),
        }
    }
    quoted + "\""
}

/// Writes the files.
pub(super) fn write(fixed: &Fixed, roots: &[SkillRoot]) -> Applied {
    let roots = real(roots);
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
    applied.left.extend(refused(fixed));
    applied
}

/// The real paths of roots.
fn real(roots: &[SkillRoot]) -> Vec<PathBuf> {
    let roots = roots.iter();
    let real = roots.filter_map(|root| fs::canonicalize(&root.dir).ok());
    real.collect()
}

/// The fixes that would have changed something else: the place and the reason.
fn refused(fixed: &Fixed) -> Vec<(String, String)> {
    let refused = fixed.refused.iter();
    let of_finding = |Refused { finding, reason }: &Refused| {
        let place = format!("{}: {}", finding.file, finding.code);
        (place, reason.clone())
    };
    refused.map(of_finding).collect()
}

/// Replaces one file: a temporary file beside it gets its owner and permissions, is written to the disk,
/// and takes its name.
fn write_file(file: &FixedFile, roots: &[PathBuf]) -> Result<()> {
    let path = &file.on_disk.path;
    let (dir, metadata) = may_write(file, roots)?;
    let mut temporary = Builder::new().prefix(".skillbundle-").tempfile_in(dir)?;
    temporary.write_all(&file.text)?;
    let written = temporary.as_file();
    keep_owner(written, &metadata);
    written.set_permissions(metadata.permissions())?;
    written.sync_all()?;
    // An editor may have saved it meanwhile.
    unchanged(file)?;
    temporary.persist(path).map_err(|it| it.error)?;
    sync(dir);
    Ok(())
}

/// The directory and metadata of a file that may be replaced.
fn may_write<'a>(file: &'a FixedFile, roots: &[PathBuf]) -> Result<(&'a Path, Metadata)> {
    let path = &file.on_disk.path;
    let dir = path.parent().filter(|_| is_within(path, roots));
    let dir = dir.ok_or_else(|| anyhow!("it lies outside of the directories that were named"))?;
    let metadata = unchanged(file)?;
    if metadata.permissions().readonly() {
        return Err(anyhow!("it is read-only"));
    }
    Ok((dir, metadata))
}

/// Gives a file the owner and group of another one. Only the superuser can give a file away; for others
/// it is theirs, as after any save that replaces it.
#[cfg(unix)]
fn keep_owner(file: &File, of: &Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    let _ = fchown(file, Some(of.uid()), Some(of.gid()));
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &Metadata) {}

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
        let notes = self.notes.iter().map(|note| format!("note: {note}"));
        let total = format!(
            "fixed {} in {}",
            counted(self.count as u64, "finding"),
            counted(self.files as u64, "file"),
        );
        let lines = left.chain(notes).chain([total]);
        lines.collect()
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
