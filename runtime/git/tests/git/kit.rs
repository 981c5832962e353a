//! Mirrors for tests, and what is in them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use skillbundle_git::{GitError, Location, Mirror, Options, Synced, Token};
pub(crate) use skillbundle_testkit::{GitServer, Origin, Serve, git_in};

/// What people type for a repository, with something after it such as `#dev`.
pub(crate) fn location(origin: &Origin, rest: &str) -> Location {
    let text = format!("file://{}{rest}", origin.bare().display());
    Location::parse(&text, "main").unwrap()
}

/// A mirror of it, in the directory `mirror` beside it.
pub(crate) fn mirrored(origin: &Origin, rest: &str) -> Mirror {
    mirror_of(origin, location(origin, rest))
}

/// A mirror of anything, at the same place.
pub(crate) fn mirror_of(origin: &Origin, location: Location) -> Mirror {
    Mirror::new(location, origin.room().join("mirror"), options())
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
