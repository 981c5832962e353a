//! The program that runs a script, found once by absolute path.
//!
//! People install interpreters by managers (pyenv, nvm, asdf, mise, volta) that put a launcher into
//! `PATH`, which needs the home directory and an environment that scripts do not have. So a runner
//! outside the system's directories is asked, once, where the real interpreter is.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::Error;

/// A program that runs scripts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runner {
    /// Its absolute path.
    pub program: PathBuf,
    /// Its arguments before the script.
    pub args: Vec<OsString>,
    /// Directories that it needs beside those of the system: where it is installed.
    pub needs: Vec<PathBuf>,
}

/// Directories of programs and libraries, which scripts may read and execute.
pub(crate) const SYSTEM: [&str; 9] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
];

/// How to ask an interpreter for its own path: the beginning of its name, and its arguments.
const ASK: [(&str, &[&str]); 4] = [
    ("python", &["-c", "import sys; print(sys.executable)"]),
    ("node", &["-p", "process.execPath"]),
    ("ruby", &["-e", "puts RbConfig.ruby"]),
    ("perl", &["-e", "print $^X"]),
];

/// How to install the usual runners.
const INSTALL: [(&str, &str); 4] = [
    ("bash", "install it (package `bash`)"),
    (
        "node",
        "install Node.js (package `nodejs`, https://nodejs.org)",
    ),
    (
        "python3",
        "install Python 3 (package `python3`, https://python.org)",
    ),
    ("tsx", "install it with `npm install --global tsx`"),
];

impl Runner {
    /// Finds the runner that `command` names: a program in `PATH` or by its absolute path, and its
    /// arguments, separated by spaces. `npx NAME` means the installed program `NAME`: scripts
    /// have no network, and nothing is downloaded. Entries of `PATH` that are not absolute are skipped: they
    /// would lead to whatever directory the server runs in.
    pub fn find(command: &str) -> Result<Self, Error> {
        let mut words: Vec<&str> = command.split_whitespace().collect();
        if words.first() == Some(&"npx") {
            words.drain(..words.iter().take_while(|it| is_of_npx(it)).count());
        }
        let (&name, args) = words
            .split_first()
            .ok_or_else(|| Error::Runner(format!("`{command}` names no runner")))?;
        let program = in_path(name).ok_or_else(|| missing(name))?;
        Ok(Self::at(program, args))
    }

    fn at(found: PathBuf, args: &[&str]) -> Self {
        let program = if is_of_system(&found) {
            found
        } else {
            real(&found)
        };
        let needs = installed_in(&program).into_iter().collect();
        Self {
            program,
            args: args.iter().map(OsString::from).collect(),
            needs,
        }
    }
}

/// Whether a word is `npx` itself or an option of it, and not yet what it runs.
fn is_of_npx(word: &str) -> bool {
    word == "npx" || word.starts_with('-')
}

fn missing(name: &str) -> Error {
    let how = INSTALL.iter().find(|it| it.0 == name);
    let how = how.map_or("install it", |it| it.1);
    Error::Runner(format!(
        "the runner `{name}` is not installed: the absolute directories of PATH have no such program; {how}"
    ))
}

/// The first executable file of this name in an absolute directory of `PATH`.
fn in_path(name: &str) -> Option<PathBuf> {
    let path = Path::new(name);
    if path.is_absolute() {
        return is_executable(path).then(|| path.to_owned());
    }
    if path.components().count() != 1 {
        return None;
    }
    let directories = env::var_os("PATH")?;
    let directories: Vec<PathBuf> = env::split_paths(&directories).collect();
    let absolute = directories.into_iter().filter(|it| it.is_absolute());
    let mut files = absolute.map(|it| it.join(name));
    files.find(|file| is_executable(file))
}

#[cfg(unix)]
fn is_executable(file: &Path) -> bool {
    use rustix::fs::{Access, access};
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
fn is_executable(file: &Path) -> bool {
    file.is_file()
}

fn is_of_system(file: &Path) -> bool {
    let real = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    SYSTEM.iter().any(|it| real.starts_with(it))
}

/// The interpreter behind a launcher, or what the path leads to.
fn real(found: &Path) -> PathBuf {
    let name = found.file_name().and_then(|it| it.to_str()).unwrap_or("");
    let ask = ASK.iter().find(|(begin, _)| name.starts_with(begin));
    let told = ask.and_then(|(_, args)| {
        let mut command = Command::new(found);
        let output = command.args(*args).stdin(Stdio::null()).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let told = PathBuf::from(text.trim());
        (told.is_absolute() && is_executable(&told)).then_some(told)
    });
    let path = told.unwrap_or_else(|| found.to_owned());
    fs::canonicalize(&path).unwrap_or(path)
}

/// The directory that a program outside the system's directories is installed in: the parent of its
/// `bin`, or else its own directory.
fn installed_in(program: &Path) -> Option<PathBuf> {
    if is_of_system(program) {
        return None;
    }
    let directory = program.parent()?;
    let is_bin = directory.file_name().is_some_and(|it| it == "bin");
    let home = env::home_dir();
    let prefix = directory.parent().filter(|_| is_bin);
    // A program in ~/bin must not open the whole home directory.
    let prefix = prefix.filter(|it| it.parent().is_some() && Some(*it) != home.as_deref());
    Some(prefix.unwrap_or(directory).to_owned())
}
