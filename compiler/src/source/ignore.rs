//! Tables of names: directories that are never entered, files that are never
//! bundled, and the dot folders that are searched anyway.

use crate::paths::directory;

/// Directories that are never entered, at any depth: version control, dependencies,
/// build output, caches, trash and editors' folders. Skills in them are copies.
const IGNORED_DIRECTORIES: &[&str] = &[
    // Version control.
    ".git",
    ".hg",
    ".svn",
    // Dependencies and build output.
    ".gradle",
    ".next",
    ".nuxt",
    ".pnpm-store",
    ".terraform",
    ".tox",
    ".nox",
    ".venv",
    ".yarn",
    "__pycache__",
    "node_modules",
    "target",
    "venv",
    // Caches, trash, editors, archivers.
    ".cache",
    ".DS_Store",
    ".idea",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".trash",
    ".Trash",
    ".vscode",
    "__MACOSX",
];

/// Dot folders in which hosts keep skills.
const HOST_HOMES: &[&str] = &[".agent", ".agents", ".claude", ".github"];

/// File names that are never bundled.
const JUNK_NAMES: &[&str] = &[".DS_Store", "Thumbs.db", "desktop.ini"];

/// Their prefixes: macOS resource forks, Emacs locks, git's own files.
const JUNK_PREFIXES: &[&str] = &["._", ".#", ".git"];

/// Their suffixes: compiled Python, Vim swap files, backups, and bundles, since an
/// earlier output must not become part of the next one.
const JUNK_SUFFIXES: &[&str] = &[".pyc", ".pyo", ".swo", ".swp", "~", ".skb"];

/// Whether a directory of this name is never entered.
pub(crate) fn is_never_read(name: &str) -> bool {
    IGNORED_DIRECTORIES.contains(&name)
}

/// Whether a file of this name is never bundled.
pub(crate) fn is_junk(name: &str) -> bool {
    JUNK_NAMES.contains(&name)
        || JUNK_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || JUNK_SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
}

/// Whether a host keeps its skills in a directory of this name.
pub(crate) fn is_host_home(name: &str) -> bool {
    HOST_HOMES.contains(&name)
}

/// Whether a name hides its directory from the search for skills.
pub(crate) fn is_hidden(name: &str) -> bool {
    name.starts_with('.') && !is_host_home(name)
}

/// Whether a directory above the path is hidden from the search. The file's own
/// name does not count.
pub(crate) fn is_below_hidden(path: &str) -> bool {
    directory(path).split('/').any(is_hidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn junk_is_distinguished_from_authors_files() {
        let junk = [
            ".DS_Store",
            "Thumbs.db",
            "desktop.ini",
            "._notes.md",
            ".#draft.md",
            ".gitignore",
            ".git",
            "a.pyc",
            "a.pyo",
            ".a.md.swp",
            "notes.md~",
            "old.skb",
        ];
        let kept = [
            "a.py",
            ".env",
            ".hidden.md",
            "SKILL.md",
            "git.md",
            "selftest",
            "a.git",
            "_.md",
        ];
        for name in junk {
            assert!(is_junk(name), "{name} is junk");
        }
        for name in kept {
            assert!(!is_junk(name), "{name} is kept");
        }
    }

    #[test]
    fn only_hidden_directories_hide_a_file() {
        let cases = [
            ("SKILL.md", false),
            (".hidden.md", false),
            (".claude/skills/a/SKILL.md", false),
            (".github/skills/a/SKILL.md", false),
            (".cursor/skills/a/SKILL.md", true),
            ("a/.b/c.md", true),
            (".claude/.old/SKILL.md", true),
        ];
        for (path, hidden) in cases {
            assert_eq!(is_below_hidden(path), hidden, "{path}");
        }
    }
}
