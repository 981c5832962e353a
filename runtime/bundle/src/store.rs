//! The generation store: a directory of the user's own with immutable bundles, each named by its
//! content address, and with references that say which of them belongs to which input.
//!
//! ```text
//! skillbundle/            0700
//!   bundles/HEX.skb       0444, never changed; HEX is the content address
//!   references/KEY        which bundle an input has become, and what else its owner notes
//! ```
//! Several processes share a store without a lock: every file appears by one rename, equal content
//! has an equal name, and a bundle that is removed while it is mapped lives on until it is let go.
//! A reference is written when its bundle is on the disk for good, so what a reference names is
//! complete even after a power failure.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::container::{self, Bundle, hex};
use crate::error::{Error, corrupt};
use crate::image::Image;

/// How long a bundle that no reference names is kept, and a reference that is not renewed.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How long a temporary file may be in use.
const TEMPORARY: Duration = Duration::from_secs(60 * 60);

/// Bytes of a reference at most; one with a thousand broken skills has some hundred kilobytes.
const MOST_REFERENCE_BYTES: u64 = 16 << 20;

/// The extension of bundles.
const EXTENSION: &str = "skb";

/// A directory of immutable bundles.
#[derive(Debug, Clone)]
pub struct Store {
    directory: PathBuf,
}

/// A bundle of a store, for listings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBundle {
    /// Its content address in hexadecimal.
    pub address: String,
    /// Its file.
    pub path: PathBuf,
    /// Its length in bytes.
    pub bytes: u64,
    /// When it was written.
    pub written: SystemTime,
    /// Whether a reference names it.
    pub referenced: bool,
}

impl Store {
    /// Opens a store, and makes its directories if they are missing.
    ///
    /// # Errors
    /// The error of the operating system, or `PermissionDenied` if other users could put files
    /// there.
    pub fn open(directory: &Path) -> io::Result<Self> {
        let store = Self::at(directory);
        if !store.is_private()? {
            for directory in [directory, &store.bundles(), &store.references()] {
                make_private(directory)?;
            }
            if !store.is_private()? {
                return Err(not_private(directory));
            }
        }
        Ok(store)
    }

    /// A store that may not exist yet, to look at.
    pub fn at(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
        }
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Maps the bundle with this content address, if it is stored and intact.
    pub fn get(&self, address: &[u8; 32]) -> Option<Bundle> {
        let bundle = Bundle::open_stored(&self.bundle_path(&hex(address))).ok()?;
        let is_intact = bundle.content_address() == *address && bundle.catalog().is_ok();
        is_intact.then_some(bundle)
    }

    /// Whether there is a bundle of this address.
    pub fn holds(&self, address: &[u8; 32]) -> bool {
        self.bundle_path(&hex(address)).is_file()
    }

    /// Stores a bundle and maps it. It survives a power failure after [`Self::refer`].
    pub fn put(&self, image: &Image<'_>) -> Result<Bundle, Error> {
        let write = |file: &mut File| container::write_parts(file, image.parts());
        self.write(&image.address(), write, |_| Ok(()))
    }

    /// Writes the bundle of this address, and opens and checks it before it has its name: what has
    /// the name of an address has its content, and a process that refers to another bundle may
    /// remove this one at once.
    fn write(
        &self,
        address: &[u8; 32],
        write: impl FnOnce(&mut File) -> io::Result<()>,
        check: impl FnOnce(&Bundle) -> Result<(), Error>,
    ) -> Result<Bundle, Error> {
        let path = self.bundle_path(&hex(address));
        let mut damage = None;
        let written = container::write_unsynced(&path, |file, at| {
            write(file)?;
            let checked = Bundle::open_stored(at).and_then(|bundle| {
                check(&bundle)?;
                Ok(bundle)
            });
            checked.map_err(|error| match error {
                // The disk of the store has failed, not the bundle.
                Error::Read { source, .. } => source,
                error => {
                    damage = Some(error);
                    io::ErrorKind::InvalidData.into()
                }
            })
        });
        match written {
            Ok(bundle) => Ok(bundle.renamed(path)),
            Err(source) => Err(damage.unwrap_or(Error::Store { path, source })),
        }
    }

    /// Removes a bundle that is damaged.
    pub fn discard(&self, address: &[u8; 32]) {
        // What cannot be removed is replaced, or found damaged again.
        let _ = remove(&self.bundle_path(&hex(address)));
    }

    /// Stores a copy of a bundle file that may change at any time, and maps the copy. A copy that
    /// is stored already is found by the address in the file's head, and nothing is copied.
    ///
    /// # Errors
    /// As [`Bundle::open`] and [`Bundle::verify`] if the file is no intact bundle, for instance
    /// because it is being written. [`Error::Store`] if the store cannot be written or read.
    pub fn copy(&self, path: &Path) -> Result<Bundle, Error> {
        let address = Bundle::address_in(path)?;
        if let Some(stored) = self.get(&address) {
            return Ok(stored);
        }
        let mut copied = File::open(path).map_err(|source| Error::Read {
            path: path.to_owned(),
            source,
        })?;
        let copy = |file: &mut File| io::copy(&mut copied, file).map(drop);
        self.write(&address, copy, |bundle| verify(bundle, &address))
    }

    /// The bundle that a key refers to, and what was noted with it, if both are intact.
    pub fn reference(&self, key: &str) -> Option<(Bundle, Vec<u8>)> {
        let file = File::open(self.references().join(key)).ok()?;
        let mut bytes = Vec::new();
        file.take(MOST_REFERENCE_BYTES)
            .read_to_end(&mut bytes)
            .ok()?;
        let (address, checked) = bytes.split_at_checked(64 + 1)?;
        let (note, sum) = checked.split_at_checked(checked.len().checked_sub(16)?)?;
        let expected = checksum(&address[..64], note);
        if expected.as_bytes() != sum {
            return None;
        }
        let path = self.bundle_path(str::from_utf8(&address[..64]).ok()?);
        Some((Bundle::open_stored(&path).ok()?, note.to_vec()))
    }

    /// Notes that the bundle of this address belongs to `key`, with what else its owner wants to
    /// know. Waits until both are on the disk. Does nothing if the bundle is gone. The bundle that the key referred to before is
    /// removed if no other key refers to it.
    pub fn refer(&self, key: &str, address: &[u8; 32], note: &[u8]) -> io::Result<()> {
        let (path, address) = (self.references().join(key), hex(address));
        match container::sync(&self.bundle_path(&address)) {
            // Another process has referred to a newer bundle and removed this one.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            synced => synced?,
        }
        let before = referred(&path);
        container::write_unsynced(&path, |file, _| {
            file.write_all(address.as_bytes())?;
            file.write_all(b"\n")?;
            file.write_all(note)?;
            file.write_all(checksum(address.as_bytes(), note).as_bytes())?;
            file.sync_all()
        })?;
        if let Some(before) = before.filter(|before| *before != address)
            && !self.referenced().contains(&before)
        {
            // Another process may have removed it.
            let _ = fs::remove_file(self.bundle_path(&before));
        }
        Ok(())
    }

    /// The bundles of the store, sorted by address.
    pub fn list(&self) -> io::Result<Vec<StoredBundle>> {
        let referenced = self.referenced();
        let mut all = Vec::new();
        for entry in entries(&self.bundles())? {
            let path = entry.path();
            let (Some(address), Ok(metadata)) = (address_of(&path), entry.metadata()) else {
                continue;
            };
            all.push(StoredBundle {
                referenced: referenced.contains(&address),
                written: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                bytes: metadata.len(),
                address,
                path,
            });
        }
        all.sort_by(|a, b| a.address.cmp(&b.address));
        Ok(all)
    }

    /// Removes what is no longer of use: references that were not renewed for 30 days, bundles
    /// that no reference names and that are as old, and temporary files of processes that died.
    /// With `all`, everything. Returns the number of bundles and bytes that were removed.
    pub fn clean(&self, all: bool) -> io::Result<(usize, u64)> {
        for entry in entries(&self.references())? {
            if all || is_older(&entry, KEPT) {
                remove(&entry.path())?;
            }
        }
        let referenced = self.referenced();
        let (mut count, mut bytes) = (0, 0);
        for entry in entries(&self.bundles())? {
            let address = address_of(&entry.path());
            let goes = match &address {
                Some(address) => !referenced.contains(address) && is_older(&entry, KEPT),
                None => is_older(&entry, TEMPORARY),
            };
            if all || goes {
                bytes += entry.metadata().map_or(0, |metadata| metadata.len());
                count += usize::from(address.is_some());
                remove(&entry.path())?;
            }
        }
        Ok((count, bytes))
    }

    fn bundles(&self) -> PathBuf {
        self.directory.join("bundles")
    }

    fn references(&self) -> PathBuf {
        self.directory.join("references")
    }

    fn bundle_path(&self, address: &str) -> PathBuf {
        self.bundles().join(format!("{address}.{EXTENSION}"))
    }

    /// The addresses that references name.
    fn referenced(&self) -> HashSet<String> {
        let entries = entries(&self.references()).unwrap_or_default();
        entries
            .iter()
            .filter_map(|entry| referred(&entry.path()))
            .collect()
    }

    /// Whether all its directories exist and no other user can change them.
    pub fn is_private(&self) -> io::Result<bool> {
        for directory in [&self.directory, &self.bundles(), &self.references()] {
            match fs::symlink_metadata(directory) {
                Ok(metadata) if is_private(&metadata) => {}
                Ok(_) => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

/// Checks the whole bundle, and that it has this address.
fn verify(bundle: &Bundle, address: &[u8; 32]) -> Result<(), Error> {
    bundle.verify()?;
    if bundle.content_address() != *address {
        return Err(corrupt("it was replaced while it was copied"));
    }
    Ok(())
}

/// The address that a reference names.
fn referred(reference: &Path) -> Option<String> {
    let mut address = [0; 64];
    File::open(reference).ok()?.read_exact(&mut address).ok()?;
    let address = String::from_utf8(address.to_vec()).ok()?;
    address
        .bytes()
        .all(|it| it.is_ascii_hexdigit())
        .then_some(address)
}

/// The address in the name of a stored bundle.
fn address_of(path: &Path) -> Option<String> {
    let is_bundle = path.extension().is_some_and(|it| it == EXTENSION);
    let name = path.file_stem()?.to_str()?;
    (is_bundle && name.len() == 64).then(|| name.to_owned())
}

/// Detects a reference that was cut short or edited.
fn checksum(address: &[u8], note: &[u8]) -> String {
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    hash.update(address);
    hash.update(note);
    format!("{:016x}", hash.digest())
}

fn entries(directory: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(directory) {
        Ok(entries) => entries.collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn is_older(entry: &fs::DirEntry, than: Duration) -> bool {
    let written = entry.metadata().and_then(|metadata| metadata.modified());
    // A clock that went backwards makes nothing old.
    written.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > than))
}

/// Removes a file that another process may remove at the same time.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn not_private(directory: &Path) -> io::Error {
    io::Error::new(
        io::ErrorKind::PermissionDenied,
        format!(
            "{} is not a directory of this user alone",
            directory.display()
        ),
    )
}

/// Makes a directory, and its parents, that only the user may enter; or tightens one of the user's
/// own. What others could write to may hold planted files and is left alone, as is a link.
#[cfg(unix)]
fn make_private(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
    match fs::symlink_metadata(directory) {
        Ok(found) => {
            let ours = found.uid() == rustix::process::geteuid().as_raw();
            if !found.is_dir() || !ours || found.mode() & 0o022 != 0 {
                return Err(not_private(directory));
            }
            fs::set_permissions(directory, fs::Permissions::from_mode(0o700))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn make_private(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)
}

/// Whether this is a directory, no link, that only the current user may enter.
#[cfg(unix)]
fn is_private(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    let ours = metadata.uid() == rustix::process::geteuid().as_raw();
    metadata.is_dir() && ours && metadata.mode() & 0o777 == 0o700
}

#[cfg(not(unix))]
fn is_private(metadata: &fs::Metadata) -> bool {
    metadata.is_dir()
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
