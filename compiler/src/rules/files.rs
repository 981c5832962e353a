//! Rules about files that are served but perhaps should not be.

use crate::diagnostic::{Code, Diagnostic};
use crate::draft::Draft;
use crate::paths::{file_name, join};
use crate::source::TreeRoot;

/// Checks the files of one skill.
pub(crate) fn check(root: &TreeRoot, draft: &Draft, out: &mut Vec<Diagnostic>) {
    let (files, shown) = (&draft.entry.files, &draft.shown);
    let directory = draft.directory();
    for file in files.iter().filter(|file| suggests_credentials(&file.path)) {
        let message = "this file is served, and its name suggests credentials";
        let place = root.shown(&join(directory, &file.path));
        out.push(
            Diagnostic::new(Code::SecretFile, place, message)
                .help("move it out of the skill; keep an example such as `.env.example`"),
        );
    }
    let linked = |path: &&str| {
        let at = root.find_declared(&join(directory, path));
        at.and_then(|at| root.get(at))
            .is_some_and(|it| it.hard_links > 1)
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
        let message = format!("`{first}`{more} has a second name, perhaps outside the skill");
        out.push(Diagnostic::new(
            Code::HardLinkedFile,
            shown.as_str(),
            message,
        ));
    }
}

fn suggests_credentials(path: &str) -> bool {
    const NAMES: &[&str] = &[
        ".env",
        ".git-credentials",
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
    fn credentials_are_distinguished_from_examples() {
        for path in [".env", "a/.env.local", ".netrc", "keys/id_rsa", ".npmrc"] {
            assert!(suggests_credentials(path), "{path}");
        }
        for path in [
            ".env.example",
            ".env.sample",
            "env",
            "id_rsa.pub",
            "a.env.md",
        ] {
            assert!(!suggests_credentials(path), "{path}");
        }
    }
}
