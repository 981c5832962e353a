//! Compiles the trees of the test kit.

use skillbundle_compiler::{Compiled, Diagnostic, Options, Root, compile};

/// With all rules, in the severities of this program.
const CHECKED: Options = Options {
    optional_roots: false,
    check: true,
};
pub(crate) use skillbundle_testkit::Tree;

/// A folder with these files.
pub(crate) fn tree(files: &[(&str, &str)]) -> Tree {
    let tree = Tree::new();
    for (path, text) in files {
        tree.file(path, text);
    }
    tree
}

/// What the compiler makes of directories of a tree.
pub(crate) trait CompileTree {
    fn roots(&self, dirs: &[&str]) -> Vec<Root>;

    fn compile(&self, dirs: &[&str]) -> Compiled;

    /// The diagnostics as `severity code file`.
    fn findings(&self, compiled: &Compiled) -> Vec<String>;

    /// Paths of the skills in order, and diagnostics as `severity code file`.
    fn outcome(&self, dirs: &[&str]) -> (Vec<String>, Vec<String>);
}

impl CompileTree for Tree {
    fn roots(&self, dirs: &[&str]) -> Vec<Root> {
        dirs.iter()
            .map(|dir| Root::project(self.path(dir)))
            .collect()
    }

    fn compile(&self, dirs: &[&str]) -> Compiled {
        compile(&self.roots(dirs), &CHECKED).expect("the roots can be read")
    }

    fn findings(&self, compiled: &Compiled) -> Vec<String> {
        let base = format!("{}/", self.dir().display());
        let show = |it: &Diagnostic| {
            let file = it.file.strip_prefix(&base).unwrap_or(&it.file);
            format!("{} {} {file}", it.severity, it.code)
        };
        compiled.report.diagnostics().iter().map(show).collect()
    }

    fn outcome(&self, dirs: &[&str]) -> (Vec<String>, Vec<String>) {
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
