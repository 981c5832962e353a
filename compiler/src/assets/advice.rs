//! Files that are served, and that their author should look at once more.

use skillbundle_format::FileEntry;

use crate::diagnostic::{Code, Diagnostic};
use crate::dialect::{Draft, file_name};
use crate::source::TreeRoot;

/// Most files, and most bytes, of one skill that common hosts load.
const PORTABLE_FILES: usize = 512;
const PORTABLE_BYTES: usize = 16 << 20;

/// Hosts that load skills refuse, or cut, what is larger.
pub(super) fn of_size(files: &[FileEntry], draft: &Draft, out: &mut Vec<Diagnostic>) {
    let bytes: usize = files
        .iter()
        .filter_map(|file| file.bytes.as_ref())
        .map(|it| it.len())
        .sum();
    let bytes = bytes + draft.entry.source.len();
    let count = files.len() + 1;
    if count <= PORTABLE_FILES && bytes <= PORTABLE_BYTES {
        return;
    }
    let (name, mib) = (&draft.entry.name, bytes >> 20);
    let message = format!(
        "`{name}` has {count} files with {mib} MiB, and common hosts load at most {PORTABLE_FILES} files with {} MiB",
        PORTABLE_BYTES >> 20
    );
    let finding = Diagnostic::new(Code::SkillTooLarge, draft.shown.as_str(), message);
    out.push(finding.help("split the skill, or move what it can do without elsewhere"));
}

/// Files that are served but were perhaps not meant to be.
pub(super) fn of_content(
    root: &TreeRoot,
    directory: &str,
    files: &[FileEntry],
    shown: &str,
    out: &mut Vec<Diagnostic>,
) {
    let place = if directory.is_empty() {
        String::new()
    } else {
        format!("{directory}/")
    };
    for file in files.iter().filter(|file| holds_secrets(&file.path)) {
        let message =
            "this file is named like one that holds credentials, and it is served with the skill";
        let finding = Diagnostic::new(
            Code::SecretFile,
            root.shown(&format!("{place}{}", file.path)),
            message,
        );
        out.push(finding.help(
            "move it out of the skill; keep an example without values, such as `.env.example`",
        ));
    }
    let linked = |path: &&str| {
        let at = root.find(&format!("{place}{path}"));
        at.is_some_and(|at| root.entries[at].hard_links > 1)
    };
    let linked: Vec<&str> = files
        .iter()
        .map(|file| file.path.as_str())
        .filter(linked)
        .collect();
    if let Some((first, more)) = linked.split_first() {
        let more = if more.is_empty() {
            String::new()
        } else {
            format!(" and {} more", more.len())
        };
        let message = format!(
            "`{first}`{more} has a second name on this disk, which may lie outside the skill"
        );
        out.push(Diagnostic::new(Code::HardLinkedFile, shown, message));
    }
}

fn holds_secrets(path: &str) -> bool {
    const NAMES: &[&str] = &[
        ".env",
        ".netrc",
        ".npmrc",
        ".pypirc",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
        "id_rsa",
    ];
    const EXAMPLES: &[&str] = &["example", "sample", "template", "dist"];
    let name = file_name(path);
    let is_example = EXAMPLES.iter().any(|it| name.ends_with(it));
    NAMES.contains(&name) || (name.starts_with(".env.") && !is_example)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_told_from_examples() {
        for path in [".env", "a/.env.local", ".netrc", "keys/id_rsa", ".npmrc"] {
            assert!(holds_secrets(path), "{path}");
        }
        for path in [
            ".env.example",
            ".env.sample",
            "env",
            "id_rsa.pub",
            "a.env.md",
        ] {
            assert!(!holds_secrets(path), "{path}");
        }
    }
}
