//! Rules about files that are served but perhaps should not be.

use crate::diagnostic::{Code, Diagnostic};
use crate::draft::Draft;
use crate::paths::{file_name, join};
use crate::source::TreeRoot;

/// Checks the files of one skill.
pub(crate) fn check(root: &TreeRoot, draft: &Draft, out: &mut Vec<Diagnostic>) {
    let (files, shown) = (&draft.entry.files, &draft.shown);
    let directory = draft.directory();
    for file in files {
        let Some(why) = credentials(&file.path, file.bytes.as_deref()) else {
            continue;
        };
        let message = format!("this file is served, and its {why} credentials");
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

/// What suggests that a file holds credentials. A key that `secret-value` reports is not reported twice.
fn credentials(path: &str, bytes: Option<&[u8]>) -> Option<&'static str> {
    let bytes = bytes.unwrap_or_default();
    if is_private_key(bytes) {
        let is_reported = !super::content::credentials(bytes).is_empty();
        return (!is_reported).then_some("content is that of");
    }
    // Most files of npm's settings have no token.
    let is_harmless =
        file_name(path) == ".npmrc" && memchr::memmem::find(bytes, b"_auth").is_none();
    (suggests_credentials(path) && !is_harmless).then_some("name suggests")
}

/// Whether a file begins as private keys in PEM do.
fn is_private_key(bytes: &[u8]) -> bool {
    let bytes = bytes.trim_ascii_start();
    bytes.starts_with(b"-----BEGIN ")
        && memchr::memmem::find(&bytes[..bytes.len().min(64)], b"PRIVATE KEY").is_some()
}

/// Whether programs keep credentials at this path, in any case: file systems differ in it.
fn suggests_credentials(path: &str) -> bool {
    /// The last parts of such paths.
    const PATHS: &[&str] = &[
        ".aws/credentials",
        ".docker/config.json",
        ".kube/config",
        "application_default_credentials.json",
        ".dockercfg",
        ".env",
        ".envrc",
        ".git-credentials",
        ".htpasswd",
        ".netrc",
        ".npmrc",
        ".pgpass",
        ".pypirc",
        "_netrc",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
        "id_rsa",
        "kubeconfig",
        "terraform.tfstate",
    ];
    /// Stores of keys and passwords, whose content cannot be read.
    const STORES: &[&str] = &["jks", "kdbx", "keystore", "p12", "pfx", "ppk"];
    const EXAMPLES: &[&str] = &["example", "sample", "template", "dist"];
    let path = &path.to_lowercase();
    let name = file_name(path);
    let is_example = EXAMPLES
        .iter()
        .any(|it| name.ends_with(it) || name.starts_with(it));
    let is_at = |known: &&str| {
        let before = path.strip_suffix(*known);
        before.is_some_and(|it| it.is_empty() || it.ends_with('/'))
    };
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    PATHS.iter().any(is_at)
        || STORES.contains(&extension)
        || (name.starts_with(".env.") && !is_example)
        || (extension == "env" && !stem.is_empty() && !is_example)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_distinguished_from_examples() {
        for path in [
            ".env",
            "a/.env.local",
            "prod.env",
            ".netrc",
            "keys/id_rsa",
            ".npmrc",
            "home/.aws/credentials",
            "a/store.P12",
            ".ENV",
            "Prod.Env",
            "a/.Env.Local",
            ".envrc",
            "a/kubeconfig",
        ] {
            assert!(suggests_credentials(path), "{path}");
        }
        for path in [
            ".env.example",
            ".env.sample",
            ".ENV.Example",
            "example.env",
            "env",
            "id_rsa.pub",
            "a.env.md",
            "credentials",
            "slides.key",
            "cert.pem",
        ] {
            assert!(!suggests_credentials(path), "{path}");
        }
    }

    #[test]
    fn keys_are_known_by_their_content() {
        for (path, text, expected) in [
            ("a.pem", "-----BEGIN RSA PRIVATE KEY-----\nMII", true),
            ("a.txt", "\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3", true),
            ("a.pem", "-----BEGIN CERTIFICATE-----\nMII", false),
            (
                "a.md",
                "A key begins with -----BEGIN PRIVATE KEY-----",
                false,
            ),
            (".npmrc", "registry=https://example.com\n", false),
            (".npmrc", "//example.com/:_authToken=x\n", true),
        ] {
            let found = credentials(path, Some(text.as_bytes()));
            assert_eq!(found.is_some(), expected, "{path} {text}");
        }
    }
}
