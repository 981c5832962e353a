//! Files that are served, and that their author should look at once more.

use skillbundle_format::FileEntry;

use crate::diagnostic::{Code, Diagnostic};
use crate::dialect::file_name;
use crate::source::TreeRoot;

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
