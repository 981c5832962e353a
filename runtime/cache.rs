//! Where compiled generations are kept between runs: in the user's cache directory (XDG Base
//! Directory Specification), or where the setting `cache.directory` says.

use std::env;
use std::path::{Component, Path, PathBuf};

use skillbundle_format::Store;

use crate::config;

/// Names the directory of the cache; `off` turns it off.
pub(crate) const VARIABLE: &str = "SKILLBUNDLE_CACHE";

/// The directory of the cache, whether it exists or not; `None` if there is to be none.
pub(crate) fn directory() -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = env::var_os(name).filter(|value| !value.is_empty())?;
        Some(PathBuf::from(path)).filter(|path| path.is_absolute())
    };
    match config::current().text("cache.directory") {
        Some(directory) if directory == "off" => None,
        Some(directory) => std::path::absolute(directory).ok(),
        None => {
            let base = absolute("XDG_CACHE_HOME").or_else(|| {
                let home = env::home_dir().filter(|home| home.is_absolute())?;
                let caches = if cfg!(target_os = "macos") {
                    "Library/Caches"
                } else {
                    ".cache"
                };
                Some(home.join(caches))
            });
            base.map(|base| base.join("skillbundle"))
        }
    }
}

/// Where the mirrors of git repositories are, whether it exists or not; `None` if there is no cache.
pub(crate) fn mirrors() -> Option<PathBuf> {
    Some(directory()?.join("git"))
}

/// Opens the cache, unless it would lie inside one of these directories, which are read as skills.
/// A cache that cannot be used is reported once: everything works without it, but slower.
pub(crate) fn open(roots: &[&Path]) -> Option<Store> {
    let directory = directory()?;
    if root_around(&directory, roots).is_some() {
        return None;
    }
    match Store::open(&directory) {
        Ok(store) => Some(store),
        Err(error) => {
            tracing::warn!(
                "cannot use the cache {}: {error}; every start compiles the skills again \
                 ({VARIABLE} names another directory, or `off`)",
                directory.display()
            );
            None
        }
    }
}

/// The root that a cache directory lies in, if any: nothing is kept there.
pub(crate) fn root_around<'a>(directory: &Path, roots: &[&'a Path]) -> Option<&'a Path> {
    let directory = without_parents(directory);
    let is_inside = |root: &&&Path| {
        let root = std::path::absolute(root);
        root.is_ok_and(|root| directory.starts_with(without_parents(&root)))
    };
    roots.iter().find(is_inside).copied()
}

/// An absolute path with each `..` resolved, as far as that is possible without looking at links.
fn without_parents(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                resolved.pop();
            }
            part => resolved.push(part),
        }
    }
    resolved
}
