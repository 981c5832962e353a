//! Applies the fixes of findings to texts in memory, in rounds: of fixes that overlap the first one
//! wins, and the next round sees what is left. A fix that would change more than what its finding is
//! about is refused. Nothing is written here.

mod meaning;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::check::{CheckOptions, Checked};
use crate::diagnostic::{Applicability, Diagnostic, Edit};

/// Rounds after which the rest stays as it is. Each finding is fixed at most once, and two fixes of
/// one place are rare.
const MOST_ROUNDS: usize = 10;

/// A file that a finding can be fixed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileOnDisk {
    /// Its real path, with every link resolved.
    pub path: PathBuf,
    /// What was read.
    pub bytes: Arc<[u8]>,
    /// Whether it has further names (hard links), which keep the old text if it is replaced.
    pub has_other_names: bool,
}

/// The texts as they are after fixes, and what was found in them.
#[derive(Debug)]
pub struct Fixed {
    /// The check of the texts after the fixes.
    pub checked: Checked,
    /// The files that differ, by their real paths.
    pub files: Vec<FixedFile>,
    /// Fixes that would have changed something else.
    pub refused: Vec<Refused>,
}

/// A file with fixes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixedFile {
    /// The file, as the user would type it.
    pub file: String,
    /// Where it is and what was read.
    pub on_disk: FileOnDisk,
    /// The text with the fixes.
    pub text: Arc<[u8]>,
    /// How many findings were fixed.
    pub count: usize,
}

/// A fix that was not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The finding.
    pub finding: Diagnostic,
    /// Why.
    pub reason: String,
}

/// Fixes what can be fixed without asking, or with `Unsafe` everything that can be. `check` is called
/// for the texts as they are after each round; only what it reports is fixed.
///
/// # Errors
///
/// Those of `check`.
pub fn fix<E>(
    options: &CheckOptions,
    most: Applicability,
    mut check: impl FnMut(&CheckOptions) -> Result<Checked, E>,
) -> Result<Fixed, E> {
    let mut options = options.clone();
    let mut checked = check(&options)?;
    let mut rounds = Rounds::default();
    for _ in 0..MOST_ROUNDS {
        let edited = rounds.next(&checked, most);
        if edited.is_empty() {
            break;
        }
        options.edited.extend(edited);
        checked = check(&options)?;
    }
    let files = rounds
        .files
        .into_values()
        .filter(|it| it.text != it.on_disk.bytes);
    Ok(Fixed {
        checked,
        files: files.collect(),
        refused: rounds.refused,
    })
}

#[derive(Default)]
struct Rounds {
    files: BTreeMap<PathBuf, FixedFile>,
    refused: Vec<Refused>,
}

impl Rounds {
    /// Applies the fixes of a report that do not overlap. Returns the texts that changed.
    fn next(&mut self, checked: &Checked, most: Applicability) -> Vec<(PathBuf, Arc<[u8]>)> {
        // What was refused may be sound after other fixes.
        self.refused.clear();
        let mut edited = Vec::new();
        let mut seen: BTreeSet<&Path> = BTreeSet::new();
        let of_file = |a: &Diagnostic, b: &Diagnostic| a.file == b.file;
        for found in checked.report.diagnostics().chunk_by(of_file) {
            let file = &found[0].file;
            let Some(on_disk) = checked.on_disk.get(file) else {
                continue;
            };
            // A link to a file that has another name here has the same findings.
            if !seen.insert(&on_disk.path) {
                continue;
            }
            let wanted = found.iter().filter(|it| {
                let fix = it.fix.as_ref();
                fix.is_some_and(|fix| fix.applicability <= most)
            });
            let (count, text) = self.fix_file(wanted, on_disk);
            if count > 0 {
                let fixed = self.files.entry(on_disk.path.clone());
                let fixed = fixed.or_insert_with(|| FixedFile {
                    file: file.clone(),
                    on_disk: on_disk.clone(),
                    text: Arc::clone(&on_disk.bytes),
                    count: 0,
                });
                fixed.count += count;
                fixed.text = Arc::clone(&text);
                edited.push((on_disk.path.clone(), text));
            }
        }
        edited
    }

    /// Applies fixes to one text: all together, or if that is not sound those that are sound by
    /// themselves. Returns how many, and the text.
    fn fix_file<'a>(
        &mut self,
        wanted: impl Iterator<Item = &'a Diagnostic>,
        on_disk: &FileOnDisk,
    ) -> (usize, Arc<[u8]>) {
        let mut chosen: Vec<(&Diagnostic, &[Edit])> = Vec::new();
        for finding in wanted {
            let edits = finding.fix.as_ref().map_or(&[][..], |it| &it.edits);
            if chosen.iter().all(|(_, other)| !overlap(other, edits)) {
                chosen.push((finding, edits));
            }
        }
        if chosen.is_empty() {
            return (0, Arc::clone(&on_disk.bytes));
        }
        let file = chosen[0].0.file.as_str();
        let together = |chosen: &[(&Diagnostic, &[Edit])]| {
            let edits = chosen.iter().flat_map(|(_, edits)| edits.iter().cloned());
            let mut edits: Vec<Edit> = edits.collect();
            edits.sort_by_key(|edit| edit.span);
            edits.dedup();
            attempt(file, &on_disk.bytes, &edits)
        };
        if let Ok(text) = together(&chosen) {
            return (chosen.len(), text);
        }
        chosen.retain(|it| match together(&[*it]) {
            Ok(_) => true,
            Err(reason) => {
                self.refused.push(Refused {
                    finding: it.0.clone(),
                    reason,
                });
                false
            }
        });
        // The rest is tried again on the result.
        let sound = [&chosen[..], &chosen[..chosen.len().min(1)]];
        let sound = sound.into_iter().filter(|it| !it.is_empty());
        let mut sound = sound.filter_map(|it| Some((it.len(), together(it).ok()?)));
        sound
            .next()
            .unwrap_or_else(|| (0, Arc::clone(&on_disk.bytes)))
    }
}

/// Whether two fixes touch each other: then the second one may not mean the same after the first. Edits
/// that both of them have are made once.
fn overlap(a: &[Edit], b: &[Edit]) -> bool {
    let touch = |a: &Edit, b: &Edit| a.span.start <= b.span.end && b.span.start <= a.span.end;
    a.iter().any(|a| b.iter().any(|b| a != b && touch(a, b)))
}

/// The text with these edits, which are in order; an error says what else they would change.
fn attempt(file: &str, source: &[u8], edits: &[Edit]) -> Result<Arc<[u8]>, String> {
    let text = apply(source, edits).ok_or("its edits do not fit the file")?;
    meaning::compare(file, source, &text, edits)?;
    Ok(text.into())
}

/// The bytes with these edits; `None` if they overlap or do not fit.
fn apply(source: &[u8], edits: &[Edit]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(source.len());
    let mut at = 0;
    for edit in edits {
        out.extend_from_slice(source.get(at..edit.span.start)?);
        out.extend_from_slice(edit.replacement.as_bytes());
        at = edit.span.end;
    }
    out.extend_from_slice(source.get(at..)?);
    Some(out)
}

impl Checked {
    /// How many findings can be fixed without asking, and how many more with a look at them.
    pub fn fixable(&self) -> (usize, usize) {
        let fixes = self.report.diagnostics().iter().filter_map(|it| {
            let fix = it.fix.as_ref()?;
            self.on_disk.contains_key(&it.file).then_some(fix)
        });
        let (safe, other): (Vec<_>, Vec<_>) =
            fixes.partition(|it| it.applicability == Applicability::Safe);
        (safe.len(), other.len())
    }
}

impl Fixed {
    /// How many findings were fixed.
    pub fn count(&self) -> usize {
        self.files.iter().map(|it| it.count).sum()
    }
}

#[cfg(test)]
mod tests;
