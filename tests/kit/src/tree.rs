//! Temporary folders that a test fills.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A temporary folder, removed when it is dropped.
pub struct Tree {
    dir: TempDir,
}

impl Default for Tree {
    fn default() -> Self {
        Self::new()
    }
}

impl Tree {
    /// An empty folder.
    pub fn new() -> Self {
        let mut builder = tempfile::Builder::new();
        let dir = builder.prefix("suite-").tempdir();
        Self {
            dir: dir.expect("a temporary folder can be made"),
        }
    }

    /// The folder itself.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// A path inside the folder.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.dir().join(relative)
    }

    /// Writes a file, and creates the folders above it.
    pub fn file(&self, relative: &str, bytes: impl AsRef<[u8]>) -> &Self {
        fs::write(self.with_parent(relative), bytes)
            .unwrap_or_else(|e| panic!("write {relative}: {e}"));
        self
    }

    /// The smallest valid skill of the folder dialect.
    pub fn skill(&self, folder: &str, name: &str, description: &str) -> &Self {
        self.file(
            &format!("{folder}/SKILL.md"),
            format!("---\nname: {name}\ndescription: {description}\n---\n# {name}\n"),
        )
    }

    /// Makes a symbolic link with exactly this target.
    #[cfg(unix)]
    pub fn link(&self, relative: &str, target: impl AsRef<Path>) -> &Self {
        std::os::unix::fs::symlink(target, self.with_parent(relative))
            .unwrap_or_else(|e| panic!("link {relative}: {e}"));
        self
    }

    /// Sets permission bits.
    #[cfg(unix)]
    pub fn mode(&self, relative: &str, mode: u32) -> &Self {
        set_mode(&self.path(relative), mode);
        self
    }

    fn with_parent(&self, relative: &str) -> PathBuf {
        let path = self.path(relative);
        let parent = path.parent().expect("a path in the tree has a parent");
        fs::create_dir_all(parent).unwrap_or_else(|e| panic!("make {}: {e}", parent.display()));
        path
    }
}

/// Copies a tree: folders, files and whether they are executable, links as links.
#[cfg(unix)]
pub fn copy_tree(from: &Path, to: &Path) {
    use std::os::unix::fs::{PermissionsExt, symlink};
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
            let metadata = entry.metadata().expect("a file has metadata");
            let executable = metadata.permissions().mode() & 0o111 != 0;
            set_mode(&target, if executable { 0o755 } else { 0o644 });
        }
    }
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
        .unwrap_or_else(|e| panic!("chmod {}: {e}", path.display()));
}
