//! The directory in which programs keep data from one run to the next.

use std::io;
use std::path::{Path, PathBuf};

use crate::Error;

/// Makes a directory ready for [`Program::writable`](crate::Program), and returns its absolute path
/// without links. It is made if it is missing, with mode 0700, and given to whom programs run as.
///
/// Refused is what may not be meant for it: a symbolic link, a directory of another user, one that
/// other users may enter, and one of root with something in it, if that would have to be given away.
/// An empty directory of the caller is closed to others. The directory in which it lies must exist.
pub fn prepare_data_directory(path: &Path) -> Result<PathBuf, Error> {
    let refused = |problem: String| Error::DataDirectory {
        path: path.to_owned(),
        problem,
    };
    let place = locate(path).map_err(|error| refused(error.to_string()))?;
    own::prepare(&place).map_err(refused)?;
    Ok(place)
}

/// The directory that it lies in, without links, and its name in there.
fn locate(path: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(path)?;
    let (Some(parent), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return Err(io::Error::other(
            "the path does not end in the name of a directory",
        ));
    };
    let parent = parent.canonicalize().map_err(|error| {
        let parent = parent.display();
        io::Error::other(format!("{parent}: {error}; make that directory first"))
    })?;
    Ok(parent.join(name))
}

#[cfg(unix)]
mod own {
    use std::path::Path;

    use rustix::fs::{CWD, Dir, Gid, Mode, OFlags, Uid, fchmod, fchown, fstat, mkdir, openat};
    use rustix::io::Errno;
    use rustix::process::geteuid;

    use crate::supervisor::Identity;

    /// Only its owner may enter.
    const PRIVATE: Mode = Mode::RWXU;

    pub(super) fn prepare(place: &Path) -> Result<(), String> {
        match mkdir(place, PRIVATE) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(format!("it cannot be made: {error}")),
        }
        // Everything else is done to what is opened here, whatever the name stands for by then.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(CWD, place, flags, Mode::empty()).map_err(|error| {
            if place.is_symlink() {
                return "it is a symbolic link; name the directory that it leads to".to_owned();
            }
            match error {
                Errno::NOTDIR => "it is not a directory; name another".to_owned(),
                error => format!("it cannot be opened: {error}"),
            }
        })?;
        let failed = |error: Errno| format!("it cannot be looked at: {error}");
        // Before its owner is asked for: if another run has given it away meanwhile, and its program
        // has written something, it has its new owner, too.
        let is_empty = is_empty(&opened).map_err(failed)?;
        let found = fstat(&opened).map_err(failed)?;
        let identity = Identity::of_programs();
        let (uid, gid) = (identity.uid, identity.gid);
        if found.st_uid != uid && found.st_uid != geteuid().as_raw() {
            return Err(format!(
                "it belongs to user {}, and scripts run as user {uid}; name another",
                found.st_uid
            ));
        }
        let mode = Mode::from_raw_mode(found.st_mode);
        if is_empty {
            let give = || {
                if found.st_uid != uid {
                    fchown(&opened, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?;
                }
                if mode == PRIVATE {
                    return Ok(());
                }
                fchmod(&opened, PRIVATE)
            };
            let given = give();
            return given
                .map_err(|error| format!("it cannot be given to user {uid} alone: {error}"));
        }
        if found.st_uid != uid {
            return Err(format!(
                "it has files in it and belongs to user {}, and scripts run as user {uid}; name an empty one, or give it away with `chown -R {uid}:{gid}`",
                found.st_uid
            ));
        }
        if mode.intersects(Mode::RWXG | Mode::RWXO) {
            return Err(format!(
                "other users may enter it (mode {:04o}); close it with `chmod 700`",
                mode.as_raw_mode()
            ));
        }
        Ok(())
    }

    fn is_empty(directory: &rustix::fd::OwnedFd) -> rustix::io::Result<bool> {
        for entry in Dir::read_from(directory)? {
            if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[cfg(not(unix))]
mod own {
    pub(super) fn prepare(_: &std::path::Path) -> Result<(), String> {
        Err("scripts cannot be run on this system".to_owned())
    }
}
