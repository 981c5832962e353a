//! Where a new skill goes, and how it gets there: it is written beside its place and moved as a whole,
//! so that it is there or not, and nothing that exists is ever replaced.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use skillbundle_compiler::{CheckOptions, Profiles, Root, Severity};

use super::draft::{Draft, DraftFile};
use crate::cli::output::with_help;
use crate::roots;

/// The directory that a skill is made in.
#[derive(Debug)]
pub(super) struct Place {
    /// As it is shown; empty for the working directory.
    dir: PathBuf,
}

impl Place {
    /// The directory that was named, or else a standard root of the project.
    ///
    /// # Errors
    ///
    /// It is no directory, or a part of another skill.
    pub(super) fn new(named: Option<&Path>) -> Result<Self> {
        let dir = match named {
            Some(dir) => dir.to_owned(),
            None => roots::for_new_skill()?.unwrap_or_default(),
        };
        let place = Self {
            dir: dir.strip_prefix(".").unwrap_or(&dir).to_owned(),
        };
        let shown = place.shown();
        let directory = place.directory();
        match fs::metadata(directory) {
            Ok(metadata) if !metadata.is_dir() => Err(with_help(
                &format!("{shown} is not a directory"),
                "name a directory with --dir",
            )),
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot read {shown}"))
            }
            _ => place.refuse_skill().map(|()| place),
        }
    }

    /// Fails if the directory is, or lies in, the folder of a skill, which has all files below it.
    fn refuse_skill(&self) -> Result<()> {
        let absolute = std::path::absolute(self.directory())?;
        let outer = absolute
            .ancestors()
            .find(|dir| dir.join("SKILL.md").is_file());
        let Some(outer) = outer else {
            return Ok(());
        };
        let skill = outer.file_name().unwrap_or(outer.as_os_str());
        Err(with_help(
            &format!("{} belongs to the skill {}", self.shown(), skill.display()),
            "name a directory beside it with --dir",
        ))
    }

    fn directory(&self) -> &Path {
        if self.dir.as_os_str().is_empty() {
            Path::new(".")
        } else {
            &self.dir
        }
    }

    /// The directory for messages and commands.
    pub(super) fn shown(&self) -> String {
        self.directory().display().to_string()
    }

    /// Where a file of the draft comes to be.
    pub(super) fn path_of(&self, file: &DraftFile) -> PathBuf {
        self.dir.join(&file.path)
    }

    /// Fails if something has the name of the skill already: its folder, or its page.
    pub(super) fn check_free(&self, name: &str) -> Result<()> {
        for path in [self.dir.join(name), self.dir.join(format!("{name}.md"))] {
            let shown = path.display();
            match fs::symlink_metadata(&path) {
                Ok(found) => return Err(taken(&path, &found)),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error).with_context(|| format!("cannot read {shown}")),
            }
        }
        Ok(())
    }

    /// Puts a skill here.
    ///
    /// # Errors
    ///
    /// Its place is taken, the compiler objects to it, or it cannot be written. Nothing is left then.
    pub(super) fn put(&self, draft: &Draft) -> Result<()> {
        let shown = self.shown();
        let parents = Parents::make(self.directory())
            .with_context(|| format!("cannot make the directory {shown}"))?;
        let cannot_write = || format!("cannot write to {shown}");
        let stage = tempfile::Builder::new()
            .prefix(".new-skill-")
            .tempdir_in(self.directory())
            .with_context(cannot_write)?;
        for file in &draft.files {
            write(&stage.path().join(&file.path), file).with_context(cannot_write)?;
        }
        check(stage.path(), draft)?;
        self.move_here(stage.path(), draft)?;
        parents.keep();
        Ok(())
    }

    /// Moves what was written to its place. A page comes after its files, since it makes them visible.
    fn move_here(&self, stage: &Path, draft: &Draft) -> Result<()> {
        let mut names: Vec<&str> = Vec::new();
        for file in &draft.files {
            let name = file.path.split('/').next().unwrap_or_default();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        for (at, name) in names.iter().enumerate() {
            let to = self.dir.join(name);
            if let Err(error) = rename_to_free(&stage.join(name), &to) {
                for moved in names[..at].iter().rev() {
                    // The first error is the one to report.
                    let _ = fs::rename(self.dir.join(moved), stage.join(moved));
                }
                return Err(match (error.kind(), fs::symlink_metadata(&to)) {
                    (ErrorKind::AlreadyExists, Ok(found)) => taken(&to, &found),
                    _ => anyhow!(error).context(format!("cannot make {}", to.display())),
                });
            }
        }
        Ok(())
    }
}

/// The error about a place that something else has.
fn taken(path: &Path, found: &fs::Metadata) -> anyhow::Error {
    let what = match () {
        () if found.is_symlink() => "a link",
        () if found.is_dir() => "a directory",
        () => "a file",
    };
    with_help(
        &format!("{} exists already: {what}", path.display()),
        "choose another name, another --dir, or remove it first",
    )
}

/// Directories that were made for a skill, and go with it.
struct Parents(Vec<PathBuf>);

impl Parents {
    /// Makes a directory and those above it that are missing.
    fn make(dir: &Path) -> io::Result<Self> {
        let is_missing = |dir: &&Path| !dir.as_os_str().is_empty() && !dir.is_dir();
        let missing: Vec<_> = dir.ancestors().take_while(is_missing).collect();
        let mut made = Self(Vec::new());
        for dir in missing.into_iter().rev() {
            match fs::create_dir(dir) {
                Ok(()) => made.0.push(dir.to_owned()),
                // Made by somebody else meanwhile, or `a/..`.
                Err(error) if error.kind() == ErrorKind::AlreadyExists && dir.is_dir() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(made)
    }

    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Parents {
    fn drop(&mut self) {
        for dir in self.0.iter().rev() {
            // Fails if it holds something else by now, which stays.
            let _ = fs::remove_dir(dir);
        }
    }
}

fn write(path: &Path, draft: &DraftFile) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut file = File::create_new(path)?;
    file.write_all(draft.text.as_bytes())?;
    if draft.is_executable() {
        make_executable(&file)?;
    }
    Ok(())
}

/// For all who may read it.
#[cfg(unix)]
fn make_executable(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = file.metadata()?.permissions().mode();
    file.set_permissions(fs::Permissions::from_mode(mode | (mode & 0o444) >> 2))
}

#[cfg(not(unix))]
fn make_executable(_: &File) -> io::Result<()> {
    Ok(())
}

/// Checks what was written: it must be one skill, with all its files and with neither an error nor a
/// warning for anybody.
fn check(stage: &Path, draft: &Draft) -> Result<()> {
    let everybody: Vec<&str> = Profiles::names().collect();
    let everybody = Profiles::of(&everybody).map_err(|name| anyhow!("no profile {name}"))?;
    let checked =
        skillbundle_compiler::check(&[Root::project(stage)], &CheckOptions::new(everybody))?;
    let report = checked.report.at_least(Severity::Warning);
    if let Some(finding) = report.diagnostics().first() {
        return Err(with_help(
            &format!("such a skill would have a finding: {}", finding.message),
            finding.help.as_deref().unwrap_or("choose another name"),
        ));
    }
    let skills = checked.set.offered();
    let is_whole =
        |skill: &skillbundle_format::SkillEntry| skill.files.len() + 1 == draft.files.len();
    if skills.len() == 1 && skills.iter().all(is_whole) {
        return Ok(());
    }
    Err(with_help(
        "a skill of this name would not be read",
        "choose another name",
    ))
}

/// Renames a file or directory, and fails if something has the new name.
#[cfg(unix)]
fn rename_to_free(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // The file system cannot do that.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            outcome => return outcome.map_err(io::Error::from),
        }
    }
    rename_if_free(from, to)
}

#[cfg(not(unix))]
fn rename_to_free(from: &Path, to: &Path) -> io::Result<()> {
    rename_if_free(from, to)
}

/// The same in two steps: something that comes to be in between them can be lost, if it is a file.
fn rename_if_free(from: &Path, to: &Path) -> io::Result<()> {
    if fs::symlink_metadata(to).is_ok() {
        return Err(ErrorKind::AlreadyExists.into());
    }
    fs::rename(from, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_taken_meanwhile_keeps_what_it_has() {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let path = |name: &str| temporary.path().join(name);
        for rename in [rename_to_free, rename_if_free] {
            fs::create_dir_all(path("new")).expect("writable");
            fs::create_dir_all(path("empty")).expect("writable");
            fs::write(path("file"), "kept").expect("writable");
            for name in ["empty", "file"] {
                let error = rename(&path("new"), &path(name)).expect_err("taken");
                assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{name}");
            }
            assert_eq!(fs::read_to_string(path("file")).expect("there"), "kept");
            rename(&path("new"), &path("free")).expect("free");
            fs::remove_dir(path("free")).expect("there");
        }
    }

    #[test]
    fn a_second_move_that_fails_takes_the_first_back() {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let place = Place {
            dir: temporary.path().join("skills"),
        };
        let stage = temporary.path().join("stage");
        let file = |path: &str| DraftFile {
            path: path.to_owned(),
            text: "text".to_owned(),
        };
        let draft = Draft {
            files: vec![file("a/scripts/b.sh"), file("a.md")],
        };
        for file in &draft.files {
            write(&stage.join(&file.path), file).expect("writable");
        }
        fs::create_dir(&place.dir).expect("writable");
        fs::write(place.dir.join("a.md"), "kept").expect("writable");
        place.move_here(&stage, &draft).expect_err("taken");
        assert!(!place.dir.join("a").exists(), "the folder is left");
        let page = fs::read_to_string(place.dir.join("a.md"));
        assert_eq!(page.expect("there"), "kept");
    }

    #[test]
    fn directories_that_were_made_go_if_they_are_not_kept() {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let deep = temporary.path().join("a/b/c");
        drop(Parents::make(&deep).expect("writable"));
        assert!(!temporary.path().join("a").exists());
        Parents::make(&deep).expect("writable").keep();
        assert!(deep.is_dir());
        drop(Parents::make(&deep).expect("nothing is missing"));
        assert!(deep.is_dir());
    }
}
