//! The test kit with what needs our packages and the built program: compiles a
//! tree, runs the program in it. Everything else is in `tests/kit`.

use std::ops::Deref;
use std::path::PathBuf;
use std::process::Command;

use skillbundle_compiler::{Compiled, Options, Root};
use skillbundle_format::Bundle;

/// With all rules, in the severities of this program.
const CHECKED: Options = Options {
    optional_roots: false,
    check: true,
};

pub(crate) use skillbundle_testkit::{
    Client, LEGACY, Output, PATIENCE, Session, assert_golden, assert_same, base64, copy_tree, diff,
    files_in, finish, fixture, material, say, test_with, text_of, updating, with_meta, workspace,
};

/// A temporary folder that can be compiled and served.
pub(crate) struct Project {
    tree: skillbundle_testkit::Tree,
    /// Where the program keeps generations.
    cache: skillbundle_testkit::Tree,
    /// Where the program looks for the operator's settings.
    config: skillbundle_testkit::Tree,
}

impl Deref for Project {
    type Target = skillbundle_testkit::Tree;

    fn deref(&self) -> &Self::Target {
        &self.tree
    }
}

impl Project {
    /// An empty folder.
    pub(crate) fn new() -> Self {
        Self {
            tree: skillbundle_testkit::Tree::new(),
            cache: skillbundle_testkit::Tree::new(),
            config: skillbundle_testkit::Tree::new(),
        }
    }

    /// A copy of `tests/fixtures/<name>`, free to be changed.
    pub(crate) fn from_fixture(name: &str) -> Self {
        let project = Self::new();
        copy_tree(&fixture(name), project.dir());
        project
    }

    /// Compiles the named folders, highest priority first, with default options.
    pub(crate) fn compile(&self, roots: &[&str]) -> Compiled {
        let roots: Vec<Root> = roots.iter().map(|r| Root::project(self.path(r))).collect();
        compile_roots(&roots)
    }

    /// Compiles the named folders and opens the result.
    pub(crate) fn bundle(&self, roots: &[&str]) -> Bundle {
        open(&bytes_of(&self.compile(roots)))
    }

    /// Compiles the named folders into a bundle file inside the project.
    pub(crate) fn bundle_file(&self, roots: &[&str], relative: &str) -> PathBuf {
        self.file(relative, bytes_of(&self.compile(roots)));
        self.path(relative)
    }

    /// The shipped binary, working here, with nothing of the caller's environment.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_skillbundle"));
        command
            .current_dir(self.dir())
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.dir())
            .env("XDG_CACHE_HOME", self.cache.dir())
            .env("XDG_CONFIG_HOME", self.config.dir());
        command
    }

    /// Writes the operator's settings, and returns where.
    pub(crate) fn operator(&self, yaml: impl AsRef<[u8]>) -> PathBuf {
        self.config.file("skillbundle/config.yaml", yaml);
        self.config.path("skillbundle/config.yaml")
    }

    /// The user's cache, which the program has a directory in.
    pub(crate) fn cache(&self) -> PathBuf {
        self.cache.dir().to_owned()
    }

    /// Where the program keeps the journal, since this folder is its home. Made with the first event.
    pub(crate) fn state(&self) -> PathBuf {
        self.path(".local/state")
    }

    /// Runs the binary to its end, with nothing on stdin.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        finish(self.command().args(arguments))
    }

    /// Starts `skillbundle serve` with these further arguments.
    pub(crate) fn serve(&self, arguments: &[&str]) -> Session {
        let mut command = self.command();
        command.arg("serve").args(arguments);
        Session::start(command)
    }
}

/// Compiles roots with default options.
pub(crate) fn compile_roots(roots: &[Root]) -> Compiled {
    skillbundle_compiler::compile(roots, &CHECKED)
        .unwrap_or_else(|e| panic!("compile {roots:?}: {e}"))
}

/// The bundle's bytes.
pub(crate) fn bytes_of(compiled: &Compiled) -> Vec<u8> {
    skillbundle_format::write(&compiled.set).expect("a compiled set can be written")
}

/// Opens bytes that must be a good bundle.
pub(crate) fn open(bytes: &[u8]) -> Bundle {
    Bundle::from_bytes(bytes).expect("bytes that were just written open")
}
