//! Tables of names: directories that are never entered, files that are never
//! bundled, and the dot folders that are searched anyway.

use crate::paths::directory;

/// Where version control keeps its own files, credentials among them: not even a declared file is
/// read from there, since a skill's author is not the person who cloned it.
const VERSION_CONTROL: &[&str] = &[".git", ".hg", ".svn"];

/// Directories that are never entered, at any depth: dependencies,
/// build output, caches, trash and editors' folders. Skills in them are copies. Single files in
/// them are read if a skill declares them: see `declared`.
const IGNORED_DIRECTORIES: &[&str] = &[
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

/// Build output and dependencies under names that a skill may have as well: they are entered if a
/// `SKILL.md` is directly in them. Nobody calls a skill like the others, which hold copies of
/// skills that other people publish.
const WORKING_DIRECTORIES: &[&str] = &["target", "venv"];

/// Dot folders in which hosts keep skills.
const HOST_HOMES: &[&str] = &[".agent", ".agents", ".claude", ".github"];

/// File names that are never bundled.
const JUNK_NAMES: &[&str] = &[".DS_Store", "Thumbs.db", "desktop.ini"];

/// Their prefixes: macOS resource forks, Emacs locks, git's own files.
const JUNK_PREFIXES: &[&str] = &["._", ".#", ".git"];

/// Their suffixes: compiled Python, Vim swap files, backups, and bundles, since an
/// earlier output must not become part of the next one.
const JUNK_SUFFIXES: &[&str] = &[".pyc", ".pyo", ".swo", ".swp", "~", ".skb"];

/// Whether a directory of this name is not entered, unless it is a skill and [`may_be_skill`].
pub(crate) fn is_never_read(name: &str) -> bool {
    VERSION_CONTROL.contains(&name) || IGNORED_DIRECTORIES.contains(&name) || may_be_skill(name)
}

/// Whether a path is of version control or below a directory of it.
pub(crate) fn is_version_control(path: &str) -> bool {
    path.split('/').any(|it| VERSION_CONTROL.contains(&it))
}

/// Whether a directory of this name is only entered if it is a skill.
pub(crate) fn may_be_skill(name: &str) -> bool {
    WORKING_DIRECTORIES.contains(&name)
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
