//! A private directory on disk with the files of a program and its scratch directory, for levels
//! that have no file system of their own. It is removed with whatever the program left in it.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use super::view::{Identity, Layout};
use crate::ProgramFile;

/// The directory. Removed when dropped.
pub(super) struct Staging {
    directory: PathBuf,
    pub(super) layout: Layout,
}

impl Staging {
    /// Makes the directory, of mode 0700, and writes the files, read-only.
    pub(super) fn new(id: &str, files: &[ProgramFile], identity: Identity) -> Result<Self, String> {
        let directory = directory_of(id);
        let failed = |error: io::Error| {
            format!(
                "cannot write the script to {}: {error}",
                directory.display()
            )
        };
        make_directory(&directory).map_err(failed)?;
        let layout = layout_of(id);
        let staging = Self {
            directory: directory.clone(),
            layout,
        };
        staging.fill(files, identity).map_err(failed)?;
        Ok(staging)
    }

    fn fill(&self, files: &[ProgramFile], identity: Identity) -> io::Result<()> {
        let Layout {
            files: files_at,
            scratch,
            temporary,
        } = &self.layout;
        for directory in [files_at, scratch, temporary] {
            make_directory(directory)?;
        }
        write_files(files_at, files, identity)?;
        for directory in [&self.directory, scratch, temporary] {
            give(directory, identity)?;
        }
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if remove(&self.directory).is_err() && self.directory.exists() {
            super::complain(&format!("cannot remove {}", self.directory.display()));
        }
    }
}

/// Writes files below a directory and makes all of it readable only.
pub(super) fn write_files(
    below: &Path,
    files: &[ProgramFile],
    identity: Identity,
) -> io::Result<()> {
    let mut directories = vec![below.to_owned()];
    for file in files {
        let mut directory = below.to_owned();
        let (parents, name) = match file.path.rsplit_once('/') {
            Some((parents, name)) => (parents.split('/').collect(), name),
            None => (Vec::new(), file.path.as_str()),
        };
        let parts = || parents.iter().copied().chain([name]);
        if parts().any(|it| matches!(it, "" | "." | "..") || it.contains('\0')) {
            return Err(io::Error::other(format!(
                "`{}` is no path of a file",
                file.path
            )));
        }
        for parent in parents.iter().copied() {
            directory.push(parent);
            if !directories.contains(&directory) {
                make_directory(&directory)?;
                directories.push(directory.clone());
            }
        }
        let path = directory.join(name);
        let mut options = OpenOptions::new();
        let mut written = options
            .write(true)
            .create_new(true)
            .mode(0o500)
            .open(&path)?;
        written.write_all(&file.bytes)?;
        give(&path, identity)?;
    }
    for directory in &directories {
        fs::set_permissions(directory, Permissions::from_mode(0o500))?;
        give(directory, identity)?;
    }
    Ok(())
}

fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

fn give(path: &Path, identity: Identity) -> io::Result<()> {
    if identity.is_other {
        chown(path, Some(identity.uid), Some(identity.gid))?;
    }
    Ok(())
}

/// The directory of the run with this random id, in the system's directory for temporary files.
pub(crate) fn directory_of(id: &str) -> PathBuf {
    std::env::temp_dir().join(format!("skillbundle-run-{id}"))
}

/// Where the program of the run with this id finds its things.
pub(super) fn layout_of(id: &str) -> Layout {
    let directory = directory_of(id);
    Layout {
        files: directory.join("skill"),
        scratch: directory.join("scratch"),
        temporary: directory.join("tmp"),
    }
}

/// 128 random bits.
pub(crate) fn random_id() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

/// Removes a directory with directories in it that their owner may not even list. Links are
/// removed, not followed.
pub(crate) fn remove(directory: &Path) -> io::Result<()> {
    open_up(directory)?;
    fs::remove_dir_all(directory)
}

fn open_up(directory: &Path) -> io::Result<()> {
    fs::set_permissions(directory, Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        // Does not follow links.
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_leaves_is_removed_and_nothing_that_it_links_to() {
        let outside = tempfile::tempdir().unwrap();
        let kept = outside.path().join("kept");
        fs::write(&kept, "kept").unwrap();
        let identity = Identity {
            is_other: false,
            ..Identity::of_programs()
        };
        let file = |path: &str| ProgramFile {
            path: path.to_owned(),
            bytes: b"x".to_vec(),
        };
        let staging = Staging::new(
            &random_id().unwrap(),
            &[file("a/b/run.sh"), file("a/lib.sh")],
            identity,
        )
        .unwrap();
        let scratch = staging.layout.scratch.clone();
        let closed = scratch.join("closed");
        fs::create_dir(&closed).unwrap();
        fs::write(closed.join("file"), "").unwrap();
        std::os::unix::fs::symlink(outside.path(), closed.join("link")).unwrap();
        fs::set_permissions(&closed, Permissions::from_mode(0o000)).unwrap();
        let mode = fs::metadata(staging.layout.files.join("a/b/run.sh")).unwrap();
        assert_eq!(mode.permissions().mode() & 0o777, 0o500);
        let directory = staging.directory.clone();
        drop(staging);
        assert!(!directory.exists());
        assert!(kept.exists());
    }

    #[test]
    fn paths_that_lead_outside_are_refused() {
        let below = tempfile::tempdir().unwrap();
        let identity = Identity {
            is_other: false,
            ..Identity::of_programs()
        };
        for path in ["../x", "a/../../x", "/x", "a//x", "", ".", "a/\0"] {
            let file = ProgramFile {
                path: path.to_owned(),
                bytes: Vec::new(),
            };
            assert!(
                write_files(below.path(), &[file], identity).is_err(),
                "{path:?}"
            );
        }
    }
}
