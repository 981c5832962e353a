//! Repositories to mirror, made by the machine's git in a directory of their own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use skillbundle_git::{GitError, Location, Mirror, Options, Synced, Token};
use tempfile::TempDir;

/// A bare repository, a working tree that pushes to it, and room for mirrors.
pub(crate) struct Origin {
    room: TempDir,
}

impl Origin {
    /// An empty repository whose branch is `main`.
    pub(crate) fn new() -> Self {
        Self::with_options(&[])
    }

    /// The same with options for `git init`.
    pub(crate) fn with_options(options: &[&str]) -> Self {
        let room = tempfile::tempdir().unwrap();
        let origin = Self { room };
        let bare = origin.bare().display().to_string();
        let work = origin.work().display().to_string();
        let init = ["init", "--quiet", "--initial-branch=main"];
        origin.git_in(
            origin.room.path(),
            &[&init, options, &["--bare", &bare]].concat(),
        );
        origin.git_in(origin.room.path(), &[&init, options, &[&work]].concat());
        origin.git(&["remote", "add", "origin", &bare]);
        origin
    }

    /// The directory that everything is in.
    pub(crate) fn room(&self) -> &Path {
        self.room.path()
    }

    /// The bare repository.
    pub(crate) fn bare(&self) -> PathBuf {
        self.room().join("origin.git")
    }

    /// The working tree.
    pub(crate) fn work(&self) -> PathBuf {
        self.room().join("work")
    }

    /// Runs git in the working tree, and returns what it prints.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.git_in(&self.work(), arguments)
    }

    /// The same elsewhere.
    pub(crate) fn git_in(&self, directory: &Path, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args([
                "-c",
                "protocol.file.allow=always",
                "-c",
                "core.autocrlf=false",
            ])
            .args(arguments)
            .current_dir(directory)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_AUTHOR_NAME", "A")
            .env("GIT_AUTHOR_EMAIL", "a@a.example")
            .env("GIT_COMMITTER_NAME", "A")
            .env("GIT_COMMITTER_EMAIL", "a@a.example")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {stderr}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Writes files into the working tree.
    pub(crate) fn write(&self, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = self.work().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    /// Commits whatever is in the working tree, pushes it to `main`, and returns its hash.
    pub(crate) fn commit(&self) -> String {
        self.git(&["add", "--all", "--force"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message=x"]);
        self.push()
    }

    /// The same with files that are written before.
    pub(crate) fn commit_files(&self, files: &[(&str, &str)]) -> String {
        self.write(files);
        self.commit()
    }

    /// Makes `main` of the bare repository what the working tree has.
    pub(crate) fn push(&self) -> String {
        self.git(&[
            "push",
            "--quiet",
            "--force",
            "origin",
            "HEAD:refs/heads/main",
        ]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// What people type for it, with something after it such as `#dev`.
    pub(crate) fn location(&self, rest: &str) -> Location {
        let text = format!("file://{}{rest}", self.bare().display());
        Location::parse(&text, "main").unwrap()
    }

    /// A mirror of it.
    pub(crate) fn mirror(&self, rest: &str) -> Mirror {
        self.mirror_of(self.location(rest))
    }

    /// A mirror of anything, in the directory `mirror`.
    pub(crate) fn mirror_of(&self, location: Location) -> Mirror {
        Mirror::new(location, self.room().join("mirror"), options())
    }
}

/// Options that let every test end.
pub(crate) fn options() -> Options {
    Options {
        token: None,
        timeout: Duration::from_secs(60),
        max_bytes: 64 << 20,
    }
}

/// Options with a token for this host.
#[expect(dead_code, reason = "used once there are servers")]
pub(crate) fn options_with_token(secret: &str, host: &str) -> Options {
    Options {
        token: Token::new(secret, [host.to_owned()]),
        ..options()
    }
}

/// Synchronises, whatever another process has done.
pub(crate) fn sync(mirror: &Mirror) -> Result<Synced, GitError> {
    mirror.sync(Duration::ZERO)
}

/// The files below a directory, with what is in them.
pub(crate) fn files(directory: &Path) -> BTreeMap<String, String> {
    fn add(directory: &Path, prefix: &str, all: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type().unwrap().is_dir() {
                add(&entry.path(), &format!("{name}/"), all);
            } else {
                let text = fs::read(entry.path()).unwrap();
                all.insert(name, String::from_utf8_lossy(&text).into_owned());
            }
        }
    }
    let mut all = BTreeMap::new();
    add(directory, "", &mut all);
    all
}

/// The same as names and texts.
pub(crate) fn expected(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    let files = files
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    files.collect()
}
