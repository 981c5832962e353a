//! What some tests need beyond the repository, and where it is looked for. The
//! attribute and the kit both compile this file, so that they cannot disagree.

use std::env;
use std::path::{Path, PathBuf};

/// Something outside the repository.
pub(crate) struct Need {
    /// As `#[test_with(name)]` and `material("name")` call it.
    pub(crate) name: &'static str,
    /// The environment variable that holds its path.
    pub(crate) variable: &'static str,
    /// Where it is looked for if the variable is not set.
    default: Place,
}

enum Place {
    /// A folder, relative to the workspace.
    Folder(&'static str),
    /// A program in one of the folders of `PATH`.
    Program(&'static str),
}

pub(crate) const NEEDS: [Need; 4] = [
    Need {
        name: "corpus",
        variable: "SKILLBUNDLE_CORPUS",
        default: Place::Folder("../shared/corpus"),
    },
    Need {
        name: "public_cases",
        variable: "SKILLBUNDLE_CASES",
        default: Place::Folder("../shared/cases"),
    },
    Need {
        name: "python3",
        variable: "SKILLBUNDLE_PYTHON",
        default: Place::Program("python3"),
    },
    Need {
        name: "systemd_analyze",
        variable: "SKILLBUNDLE_SYSTEMD_ANALYZE",
        default: Place::Program("systemd-analyze"),
    },
];

impl Need {
    /// Its path, or the reason to ignore what needs it.
    pub(crate) fn find(&self) -> Result<PathBuf, String> {
        let candidates = match (env::var_os(self.variable), &self.default) {
            (Some(path), _) => vec![workspace().join(path)],
            (None, Place::Folder(path)) => vec![workspace().join(path)],
            (None, Place::Program(name)) => {
                let path = env::var_os("PATH").unwrap_or_default();
                env::split_paths(&path).map(|dir| dir.join(name)).collect()
            }
        };
        let usable = |path: &PathBuf| match self.default {
            Place::Folder(_) => path.is_dir(),
            Place::Program(_) => path.is_file(),
        };
        candidates.into_iter().find(usable).ok_or_else(|| {
            let (Place::Folder(default) | Place::Program(default)) = self.default;
            format!("needs {default}, or {} set", self.variable)
        })
    }
}

/// The folder of the workspace, seen from either package that compiles this file.
pub(crate) fn workspace() -> &'static Path {
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    folders
        .find(|dir| dir.ends_with("tests"))
        .and_then(Path::parent)
        .expect("both packages are in the folder `tests` of the workspace")
}
