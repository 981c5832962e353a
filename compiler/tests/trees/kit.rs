//! Makes trees in temporary folders and compiles them.

use std::fs;
use std::path::{Path, PathBuf};

use skillbundle_compiler::{Compiled, Diagnostic, Options, Root, compile};
use tempfile::TempDir;

/// A temporary folder; gone when it is dropped.
pub(crate) struct Tree(TempDir);

impl Tree {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    /// A folder with these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let tree = Self::new();
        for (path, text) in files {
            tree.file(path, text);
        }
        tree
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    pub(crate) fn file(&self, path: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a file has a parent")).expect("a directory");
        fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        self
    }

    /// The smallest skill of the folder dialect.
    pub(crate) fn skill(&self, folder: &str, name: &str) -> &Self {
        self.file(&format!("{folder}/SKILL.md"), skill(name, "A skill"))
    }

    #[cfg(unix)]
    pub(crate) fn link(&self, path: &str, target: impl AsRef<Path>) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a link has a parent")).expect("a directory");
        std::os::unix::fs::symlink(target, path).expect("a link");
        self
    }

    pub(crate) fn roots(&self, dirs: &[&str]) -> Vec<Root> {
        dirs.iter()
            .map(|dir| Root::project(self.path(dir)))
            .collect()
    }

    pub(crate) fn compile(&self, dirs: &[&str]) -> Compiled {
        compile(&self.roots(dirs), &Options::default()).expect("the roots can be read")
    }

    /// The diagnostics as `severity code file`.
    pub(crate) fn findings(&self, compiled: &Compiled) -> Vec<String> {
        let base = format!("{}/", self.0.path().display());
        let show = |it: &Diagnostic| {
            let file = it.file.strip_prefix(&base).unwrap_or(&it.file);
            format!("{} {} {file}", it.severity, it.code)
        };
        compiled.report.diagnostics().iter().map(show).collect()
    }

    /// Paths of the skills in order, and diagnostics as `severity code file`.
    pub(crate) fn outcome(&self, dirs: &[&str]) -> (Vec<String>, Vec<String>) {
        let compiled = self.compile(dirs);
        (paths(&compiled), self.findings(&compiled))
    }
}

/// The text of a skill of the folder dialect.
pub(crate) fn skill(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n# Body\n")
}

/// The text of a page of a tree.
pub(crate) fn page(keyword: &str) -> String {
    format!("---\ndescription: A page\nkeywords: [{keyword}]\n---\n# Body\n")
}

pub(crate) fn paths(compiled: &Compiled) -> Vec<String> {
    compiled
        .set
        .skills
        .iter()
        .map(|skill| skill.path.clone())
        .collect()
}

/// Prints that a test cannot run here.
#[expect(clippy::print_stdout, reason = "a test that does not run says so")]
pub(crate) fn skipped(why: &str) {
    println!("skipped: {why}");
}
