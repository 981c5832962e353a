//! The test kit: trees on disk, commands, sessions with a server over pipes, HTTP connections, git
//! repositories, golden files, and what lies outside the repository. It knows none of our
//! packages, so each of them can use it in its tests.

mod client;
mod git;
mod golden;
mod http;
#[path = "../macros/src/needs.rs"]
mod needs;
mod session;
mod tree;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

pub use client::{Client, LineReader, PATIENCE};
pub use git::{GitServer, Origin, Serve, git_in};
pub use golden::{assert_golden, assert_same, diff, updating};
pub use http::{HttpClient, HttpResponse, error_code};
pub use session::{Ended, LEGACY, Peer, Session, request, text_of, with_meta};
pub use skillbundle_testkit_macros::test_with;
pub use tree::{Tree, copy_tree};

/// Standard output, standard error and exit code of a command that has ended.
#[derive(Debug)]
pub struct Output {
    /// The exit code; `None` if a signal ended the process.
    pub code: Option<i32>,
    /// Everything on standard output.
    pub stdout: String,
    /// Everything on standard error.
    pub stderr: String,
}

/// Runs a command to its end, with nothing on stdin.
pub fn finish(command: &mut Command) -> Output {
    let output = command
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|e| panic!("start {}: {e}", command.get_program().display()));
    let text = |bytes| String::from_utf8(bytes).expect("our program writes UTF-8");
    Output {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// The folder of the workspace.
pub fn workspace() -> &'static Path {
    needs::workspace()
}

/// A folder or file under `tests/fixtures`.
pub fn fixture(name: &str) -> PathBuf {
    workspace().join("tests/fixtures").join(name)
}

/// The names of the files in a folder of the workspace.
pub fn files_in(dir: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(workspace().join(dir)).unwrap_or_else(|e| panic!("{dir}: {e}"));
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
    entries
        .map(|entry| name(entry).to_string_lossy().into_owned())
        .collect()
}

/// The path of something outside the repository. Only for tests marked
/// `#[test_with(name)]`, which are ignored if it is absent.
pub fn material(name: &str) -> PathBuf {
    let need = needs::NEEDS.iter().find(|need| need.name == name);
    let need = need.unwrap_or_else(|| panic!("needs.rs has no entry `{name}`"));
    need.find().unwrap_or_else(|reason| {
        panic!("{reason}; the test was compiled when it was there, or without #[test_with({name})]")
    })
}

/// Reports a figure on the output of the test.
#[expect(clippy::print_stderr, reason = "test reports are for people")]
pub fn say(line: &str) {
    eprintln!("{line}");
}

/// Standard base64 with padding.
pub fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
