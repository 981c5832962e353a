//! The test kit: makes a tree on disk, compiles it, runs the shipped binary.
//! Sessions over pipes are in `session.rs`, golden files in `golden.rs`.
//! No test lives here.

mod golden;
mod session;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use skillbundle_compiler::{Compiled, Options, Root};
use skillbundle_format::Bundle;
use tempfile::TempDir;

pub(crate) use golden::{assert_golden, assert_same, diff, updating};
pub(crate) use session::{LEGACY, Session, text_of, with_meta};

/// A temporary folder that a test fills; gone when it is dropped.
pub(crate) struct Project {
    dir: TempDir,
}

/// What a finished run of the binary left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Project {
    /// An empty folder.
    pub(crate) fn new() -> Self {
        let dir = tempfile::Builder::new()
            .prefix("suite-")
            .tempdir()
            .expect("a temporary folder can be made");
        Self { dir }
    }

    /// A copy of `tests/fixtures/<name>`, free to be changed.
    pub(crate) fn from_fixture(name: &str) -> Self {
        let project = Self::new();
        copy_tree(&fixture(name), project.dir());
        project
    }

    /// The folder itself.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// A path inside the folder.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.dir().join(relative)
    }

    /// Writes a file and the folders above it.
    pub(crate) fn file(&self, relative: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.path(relative);
        make_parent(&path);
        fs::write(&path, bytes).unwrap_or_else(|e| panic!("write {relative}: {e}"));
        self
    }

    /// A folder-dialect skill of the smallest valid kind.
    pub(crate) fn skill(&self, folder: &str, name: &str, description: &str) -> &Self {
        self.file(
            &format!("{folder}/SKILL.md"),
            format!("---\nname: {name}\ndescription: {description}\n---\n# {name}\n"),
        )
    }

    /// Makes a symbolic link; `target` is written into it as it is.
    pub(crate) fn link(&self, relative: &str, target: impl AsRef<Path>) -> &Self {
        let path = self.path(relative);
        make_parent(&path);
        symlink(target, &path).unwrap_or_else(|e| panic!("link {relative}: {e}"));
        self
    }

    /// Sets permission bits.
    pub(crate) fn mode(&self, relative: &str, mode: u32) -> &Self {
        fs::set_permissions(self.path(relative), fs::Permissions::from_mode(mode))
            .unwrap_or_else(|e| panic!("chmod {relative}: {e}"));
        self
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
            .env("HOME", self.dir());
        command
    }

    /// Runs the binary to its end, with nothing on stdin.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        finish(self.command().args(arguments))
    }

    /// Starts `skillbundle serve` with these further arguments.
    pub(crate) fn serve(&self, arguments: &[&str]) -> Session {
        let mut command = self.command();
        command.arg("serve").args(arguments);
        Session::start(command)
    }
}

/// Runs a command to its end, with nothing on stdin.
pub(crate) fn finish(command: &mut Command) -> Ran {
    let output = command
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|e| panic!("start {}: {e}", command.get_program().display()));
    Ran {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// Compiles roots with default options.
pub(crate) fn compile_roots(roots: &[Root]) -> Compiled {
    skillbundle_compiler::compile(roots, &Options::default())
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

/// The names of the files in a directory of the workspace.
pub(crate) fn files_in(dir: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(workspace().join(dir)).unwrap_or_else(|e| panic!("{dir}: {e}"));
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
    entries
        .map(|entry| name(entry).to_string_lossy().into_owned())
        .collect()
}

/// The folder of the workspace.
pub(crate) fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A folder or file under `tests/fixtures`.
pub(crate) fn fixture(name: &str) -> PathBuf {
    workspace().join("tests/fixtures").join(name)
}

/// Material beside the workspace that a checkout may lack: the path from an
/// environment variable, else the default, if it exists. Says so when it does not.
pub(crate) fn material(variable: &str, default: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).map_or_else(|| workspace().join(default), PathBuf::from);
    if path.is_dir() {
        return Some(path);
    }
    say(&format!(
        "skipped: no folder {} (set {variable} to have this checked)",
        path.display()
    ));
    None
}

/// Says something on the test's output.
#[expect(
    clippy::print_stderr,
    reason = "test reports are for people; stderr is where they go"
)]
pub(crate) fn say(line: &str) {
    eprintln!("{line}");
}

/// Copies a tree: folders, files with their bits, links as links.
pub(crate) fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap_or_else(|e| panic!("make {}: {e}", to.display()));
    for entry in fs::read_dir(from).unwrap_or_else(|e| panic!("read {}: {e}", from.display())) {
        let entry = entry.expect("an entry of a folder can be read");
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().expect("an entry has a type");
        if kind.is_symlink() {
            let aim = fs::read_link(&source).expect("a link can be read");
            symlink(aim, &target).unwrap_or_else(|e| panic!("link {}: {e}", target.display()));
        } else if kind.is_dir() {
            copy_tree(&source, &target);
        } else {
            let bytes = fs::read(&source).unwrap_or_else(|e| panic!("{}: {e}", source.display()));
            fs::write(&target, bytes).unwrap_or_else(|e| panic!("{}: {e}", target.display()));
            let executable = entry
                .metadata()
                .is_ok_and(|m| m.permissions().mode() & 0o111 != 0);
            let mode = if executable { 0o755 } else { 0o644 };
            fs::set_permissions(&target, fs::Permissions::from_mode(mode))
                .expect("a copied file takes its mode");
        }
    }
}

/// Standard base64 with padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk
            .iter()
            .fold(0_u32, |bits, &byte| bits << 8 | u32::from(byte))
            << (8 * (3 - chunk.len()));
        for position in 0..4 {
            let six = bits >> (18 - 6 * position) & 63;
            let letter = char::from(ALPHABET[six as usize]);
            out.push(if position <= chunk.len() { letter } else { '=' });
        }
    }
    out
}

fn make_parent(path: &Path) {
    let parent = path
        .parent()
        .expect("a path inside the project has a parent");
    fs::create_dir_all(parent).unwrap_or_else(|e| panic!("make {}: {e}", parent.display()));
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("the binary writes UTF-8")
}
