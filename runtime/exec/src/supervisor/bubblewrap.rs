//! Namespaces by `bwrap`, for systems that let that program make them and no other: it is installed
//! with a privilege or a profile of its own.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::{AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::FdFlags;

use super::filter::{self, Filter, Sockets};
use super::namespaces;
use super::view::{self, Grant, Layout};
use crate::Program;

/// Where distributions install it. Not looked for in `PATH`, which may lead anywhere.
const PLACES: [&str; 3] = [
    "/usr/bin/bwrap",
    "/usr/local/bin/bwrap",
    "/run/current-system/sw/bin/bwrap",
];

/// The file, if it is installed.
pub(super) fn find() -> Result<PathBuf, String> {
    let places = PLACES.into_iter().map(PathBuf::from);
    let mut found = places.filter(|it| it.is_file());
    let missing = "bwrap is not installed (package `bubblewrap`)";
    found.next().ok_or_else(|| missing.to_owned())
}

/// Where a program finds its things inside.
pub(super) fn layout() -> Layout {
    namespaces::layout()
}

/// The beginning of a command that runs in namespaces which see what the program may, with the files
/// and the scratch directory that lie at these places outside. The caller adds the program, and
/// must not close descriptors before the command runs. What becomes of the program is written to
/// `report`.
pub(super) fn wrap(
    program: &Program,
    outside: &Layout,
    report: BorrowedFd<'_>,
) -> Result<Command, String> {
    let mut args: Vec<OsString> = Vec::new();
    let mut add = |words: &[&dyn AsRef<std::ffi::OsStr>]| {
        args.extend(words.iter().map(|it| it.as_ref().to_owned()));
    };
    add(&[&"--unshare-all", &"--die-with-parent", &"--new-session"]);
    add(&[&"--cap-drop", &"ALL"]);
    if program.network {
        add(&[&"--share-net"]);
    }
    let system = view::system_directories().map(Path::to_owned);
    for path in system.chain(view::etc(program.network)) {
        match std::fs::read_link(&path) {
            Ok(target) if !path.starts_with("/etc") => add(&[&"--symlink", &target, &path]),
            _ => add(&[&"--ro-bind-try", &path, &path]),
        }
    }
    let inside = layout();
    add(&[&"--proc", &"/proc", &"--dir", &"/dev"]);
    for device in view::DEVICES {
        add(&[&"--dev-bind-try", &device, &device]);
    }
    for (link, target) in view::device_links(program) {
        add(&[&"--symlink", &target, &link]);
    }
    add(&[&"--bind", &outside.temporary, &inside.temporary]);
    add(&[&"--bind", &outside.scratch, &inside.scratch]);
    for Grant {
        path, is_writable, ..
    } in view::grants(program)
    {
        // What this user may not reach is not there, as without namespaces.
        if path.exists() {
            let bind = if is_writable { "--bind" } else { "--ro-bind" };
            add(&[&bind, &path, &path]);
        }
    }
    add(&[&"--ro-bind", &outside.files, &inside.files]);
    let directory = program.directory.as_ref().unwrap_or(&inside.scratch);
    add(&[&"--chdir", directory, &"--remount-ro", &"/"]);
    let filter = filter_file(program)?;
    // It is closed by the command, which reads it.
    add(&[&"--seccomp", &filter.into_raw_fd().to_string()]);
    rustix::io::fcntl_setfd(report, FdFlags::empty())
        .map_err(|error| format!("cannot hand on where to report: {error}"))?;
    add(&[&"--json-status-fd", &report.as_raw_fd().to_string(), &"--"]);
    let mut command = Command::new(find()?);
    command.args(args);
    Ok(command)
}

/// The filter of system calls in a file that the command inherits.
fn filter_file(program: &Program) -> Result<OwnedFd, String> {
    let filter = filter::bytes(Filter::of(program, Sockets::Ordinary))?;
    let written = || {
        let mut file = File::from(memfd_create("filter", MemfdFlags::empty())?);
        file.write_all(&filter)?;
        file.rewind()?;
        Ok(file.into())
    };
    written().map_err(|error: io::Error| format!("cannot keep a filter: {error}"))
}
