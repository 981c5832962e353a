//! Which `config.yaml` counts: the first root's that has one. What it may say
//! is the business of `settings`.

use skillbundle_format::Settings;

use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::settings;
use crate::source::{FileId, Tree};

/// Where it lies in a root.
pub(crate) const CONFIG: &str = "config.yaml";

/// Its sections (spec 3 §11.2). A file without any of them is another
/// program's, as is common where a whole project is a root.
const SECTIONS: &[&str] = &["analytics", "assets", "matching", "refresh", "scripts"];

/// The configuration files of all roots, to be read.
pub(crate) fn files(tree: &Tree) -> Vec<FileId> {
    let find = |(root, it): (usize, &crate::source::TreeRoot)| {
        Some(FileId {
            root,
            entry: it.find(CONFIG)?,
        })
    };
    tree.roots.iter().enumerate().filter_map(find).collect()
}

/// The settings of the first configuration, or the defaults.
pub(crate) fn settings(tree: &Tree, out: &mut Vec<Diagnostic>) -> Settings {
    let mut first: Option<(FileId, Settings)> = None;
    for id in files(tree) {
        let shown = tree.shown(id);
        let bytes = tree.entry(id).bytes.as_ref();
        if bytes.is_some_and(|bytes| !is_ours(bytes)) {
            let message = "this file is not read: it has no section that the server knows";
            let finding = Diagnostic::new(Code::ConfigIgnored, shown, message);
            out.push(finding.severity(Severity::Info));
        } else if let Some((first, _)) = &first {
            let first = tree.shown(*first);
            let message = format!("this file is not read: `{first}` comes first");
            let finding = Diagnostic::new(Code::ConfigIgnored, shown, message);
            out.push(finding.help("move what it says into the first one, or remove it"));
        } else {
            first = Some((id, settings_of(&shown, bytes.map(AsRef::as_ref), out)));
        }
    }
    first.map(|(_, settings)| settings).unwrap_or_default()
}

/// A file that cannot be read may say that scripts are off.
fn settings_of(shown: &str, bytes: Option<&[u8]>, out: &mut Vec<Diagnostic>) -> Settings {
    let Some(bytes) = bytes else {
        return Settings {
            scripts_enabled: false,
            ..Settings::default()
        };
    };
    let (settings, findings) = settings::parse(shown, bytes);
    out.extend(findings);
    settings
}

/// Whether a line begins with a section, be the file YAML or not.
fn is_ours(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    text.trim_start_matches('\u{feff}').lines().any(|line| {
        let line = line.trim_start_matches(['{', '"', '\'']);
        let key = SECTIONS
            .iter()
            .find_map(|section| line.trim_start().strip_prefix(section));
        // An indented key belongs to something else.
        key.is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with(':'))
            && !line.starts_with(' ')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_programs_file_is_not_ours() {
        for text in [
            "matching:\n",
            "a: 1\nscripts : {}",
            "{\"assets\": {}}",
            "matching: [",
            "\u{feff}refresh:",
        ] {
            assert!(is_ours(text.as_bytes()), "{text:?}");
        }
        for text in [
            "",
            "title: x\nparams:\n  assets: y\n",
            "matchings: 1",
            "# matching: 1",
            "baseURL: /",
        ] {
            assert!(!is_ours(text.as_bytes()), "{text:?}");
        }
    }
}
