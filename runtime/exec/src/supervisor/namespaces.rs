//! Namespaces: the program sees a file system that is made for it, no process but its own, and no
//! network. Needs Linux 5.12 and a system that lets users make user namespaces.
//!
//! The first process of the namespaces builds the file system, starts the program as its child, and
//! adopts what that leaves. When it ends, the kernel kills all others. After the example of
//! bubblewrap and of Codex, but as one user without a single privilege, also inside.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount,
    mount_change, move_mount, open_tree, unmount,
};
use rustix::process::{Pid, chdir, pivot_root};

use super::staging::write_files;
use super::start::follow_supervisor;
use super::view::{self, Grant, Identity, Layout};
use crate::sys::{self, Fork};
use crate::{Program, ProgramFile};

/// Attributes of mounts (`mount_setattr(2)`).
const READ_ONLY: u64 = 1;
const NO_SET_UID: u64 = 2;
const NO_DEVICES: u64 = 4;

/// Places to build the new file system at, until it is the only one. What they hold is hidden from
/// the builder alone.
const BUILD_AT: [&str; 4] = ["/tmp", "/run", "/mnt", "/"];

/// The largest number of files in the scratch directory.
const MOST_FILES: u64 = 100_000;

/// Directories that the new file system makes itself, which none that is shown may hide.
const BUILT: [&str; 4] = ["/dev", "/proc", "/skill", "/tmp"];

/// A directory or file that is shown.
struct Shown {
    path: PathBuf,
    kind: Kind,
}

/// Everything that is shown.
struct Collected {
    system: Vec<Shown>,
    granted: Vec<Granted>,
}

/// A directory of a [`Grant`].
struct Granted {
    shown: Shown,
    /// Whether what it lies in is shown, too, so that nothing is to be made for it.
    is_nested: bool,
}

enum Kind {
    Link(PathBuf),
    Directory(OwnedFd),
    File(OwnedFd),
}

/// Where a program finds its things.
pub(super) fn layout() -> Layout {
    Layout {
        files: "/skill".into(),
        scratch: "/tmp/scratch".into(),
        temporary: "/tmp".into(),
    }
}

/// Forks a first process into new namespaces, as the identity of programs, and lets `first` go on
/// there when it is known to them.
pub(super) fn fork(
    network: bool,
    identity: Identity,
    first: impl FnOnce() -> i32,
) -> Result<Pid, String> {
    let mut namespaces = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP;
    if !network {
        namespaces |= libc::CLONE_NEWNET;
    }
    let pipe = |error: io::Error| format!("cannot make a pipe: {error}");
    let (mut go, mut ready) = io::pipe().map_err(pipe)?;
    let forked = sys::fork_into(namespaces).map_err(|error| refused(&error))?;
    let Fork::Parent(pid) = forked else {
        drop(ready);
        let mut byte = [0];
        // The end of the stream means that there is no supervisor any more.
        let may_go = go.read(&mut byte).is_ok_and(|read| read == 1);
        sys::exit_now(if may_go { first() } else { 1 });
    };
    drop(go);
    let mapped = map(pid, identity);
    if let Err(error) = mapped {
        drop(ready);
        let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
        return Err(format!("cannot map users into a namespace: {error}"));
    }
    // If it has died, it will be seen when it is waited for.
    let _ = ready.write_all(&[1]);
    Ok(pid)
}

fn refused(error: &io::Error) -> String {
    let help = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            " (a container without the right, or a system that denies user namespaces to users)"
        }
        Some(libc::ENOSPC | libc::EUSERS) => {
            " (user.max_user_namespaces is 0, or too many are in use)"
        }
        _ => "",
    };
    format!("cannot make namespaces: {error}{help}")
}

/// Makes the one user and group known in the namespace of a process.
fn map(pid: Pid, identity: Identity) -> io::Result<()> {
    let file = |name: &str| format!("/proc/{}/{name}", pid.as_raw_nonzero());
    let Identity { uid, gid, is_other } = identity;
    fs::write(file("uid_map"), format!("{uid} {uid} 1"))?;
    if !is_other {
        // What the kernel asks of those without privileges.
        fs::write(file("setgroups"), "deny")?;
    }
    fs::write(file("gid_map"), format!("{gid} {gid} 1"))
}

/// Makes a file system for the program and enters it. In the first process.
pub(super) fn enter(
    program: &Program,
    files: &[ProgramFile],
    identity: Identity,
) -> Result<(), String> {
    let failed = |what: &str| {
        let what = what.to_owned();
        move |error: io::Error| format!("cannot {what} in the namespace: {error}")
    };
    // As the user that it was forked from, who may go where others may not.
    let shown = collect(program).map_err(failed("look at the system's directories"))?;
    identity.take()?;
    // Changing the user has cleared it.
    follow_supervisor()?;
    let root = BUILD_AT.into_iter().map(Path::new).find(|it| it.is_dir());
    let root = root.unwrap_or(Path::new("/"));
    make_root(root).map_err(failed("make a file system"))?;
    // Of its own user by now, whatever user that is.
    let own = Identity {
        is_other: false,
        ..identity
    };
    show(root, shown.system).map_err(failed("show the system's directories"))?;
    make_devices(root, program).map_err(failed("make devices"))?;
    make_scratch(root, program).map_err(failed("make a scratch directory"))?;
    // After the scratch directory, since they may lie in `/tmp`.
    show_granted(root, shown.granted).map_err(failed("show the directories to read or change"))?;
    let below = root.join("skill");
    fs::create_dir(&below)
        .and_then(|()| write_files(&below, files, own))
        .map_err(failed("write the script"))?;
    make_proc(root);
    close(root).map_err(failed("enter the file system"))
}

/// Takes hold of everything that is shown.
fn collect(program: &Program) -> io::Result<Collected> {
    let mut system = Vec::new();
    for path in view::system_directories() {
        system.push(Shown::system(path.to_owned())?);
    }
    // Links may lead nowhere, and this user may not be allowed to follow them.
    let etc = view::etc(program.network).into_iter();
    system.extend(etc.filter_map(|it| Shown::read_only(it).ok()));
    let devices = view::DEVICES.map(PathBuf::from);
    for path in devices.into_iter().filter(|it| it.exists()) {
        let mount = clone_tree(&path)?;
        sys::restrict_mount(mount.as_fd(), NO_SET_UID, false)?;
        let kind = Kind::File(mount);
        system.push(Shown { path, kind });
    }
    let granted = view::grants(program).into_iter().map(|it| {
        let Grant {
            path,
            is_writable,
            is_nested,
        } = it;
        if BUILT.iter().any(|it| Path::new(it).starts_with(path)) {
            let error = "the namespace has a directory of its own there";
            return Err(at(path)(io::Error::other(error)));
        }
        let shown = if is_writable {
            Shown::writable(path.to_owned())
        } else {
            Shown::read_only(path.to_owned())
        };
        let shown = shown.map_err(at(path))?;
        Ok(Granted { shown, is_nested })
    });
    Ok(Collected {
        system,
        granted: granted.collect::<io::Result<_>>()?,
    })
}

/// Names the path at which an error occurred.
fn at(path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::other(format!("{}: {error}", path.display()))
}

impl Shown {
    /// A link as the link: `/bin` is mostly one to what is shown.
    fn system(path: PathBuf) -> io::Result<Self> {
        if fs::symlink_metadata(&path)?.is_symlink() {
            let kind = Kind::Link(fs::read_link(&path)?);
            return Ok(Self { path, kind });
        }
        Self::read_only(path)
    }

    /// What is there, or what a link there leads to. Set-user-ID programs lose their power.
    fn read_only(path: PathBuf) -> io::Result<Self> {
        let target = fs::canonicalize(&path)?;
        let mount = clone_tree(&target)?;
        sys::restrict_mount(mount.as_fd(), READ_ONLY | NO_SET_UID | NO_DEVICES, true)?;
        let kind = if target.is_dir() {
            Kind::Directory(mount)
        } else {
            Kind::File(mount)
        };
        Ok(Self { path, kind })
    }

    /// The directory that is there, as it is but for set-user-ID programs and devices in it. Not
    /// what a link leads to: whoever can replace the directory could choose another to be changed.
    fn writable(path: PathBuf) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::open(&path, flags, Mode::empty())?;
        let flags = CLONE | OpenTreeFlags::AT_EMPTY_PATH;
        let mount = open_tree(opened, "", flags)?;
        sys::restrict_mount(mount.as_fd(), NO_SET_UID | NO_DEVICES, true)?;
        let kind = Kind::Directory(mount);
        Ok(Self { path, kind })
    }
}

fn clone_tree(path: &Path) -> io::Result<OwnedFd> {
    Ok(open_tree(CWD, path, CLONE)?)
}

/// A copy of a tree of mounts, which shows nowhere yet.
const CLONE: OpenTreeFlags = OpenTreeFlags::OPEN_TREE_CLONE
    .union(OpenTreeFlags::OPEN_TREE_CLOEXEC)
    .union(OpenTreeFlags::AT_RECURSIVE);

fn make_root(root: &Path) -> io::Result<()> {
    // Nothing that is mounted here shows elsewhere.
    mount_change(
        "/",
        MountPropagationFlags::REC | MountPropagationFlags::PRIVATE,
    )?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    Ok(mount("tmpfs", root, "tmpfs", flags, c"mode=0755")?)
}

fn show(root: &Path, shown: Vec<Shown>) -> io::Result<()> {
    for Shown { path, kind } in shown {
        let at = below(root, &path);
        if let Some(parent) = at.parent() {
            fs::create_dir_all(parent)?;
        }
        match kind {
            Kind::Link(target) => symlink(target, at)?,
            Kind::Directory(mount) => {
                fs::create_dir_all(&at)?;
                attach(mount.as_fd(), &at)?;
            }
            Kind::File(mount) => {
                fs::write(&at, "")?;
                attach(mount.as_fd(), &at)?;
            }
        }
    }
    Ok(())
}

/// Shows directories at places that others may have filled, with links that lead anywhere. None is
/// followed.
fn show_granted(root: &Path, granted: Vec<Granted>) -> io::Result<()> {
    let opened = open_directory(root)?;
    for Granted { shown, is_nested } in granted {
        let Shown { path, kind } = shown;
        let (Kind::Directory(mount) | Kind::File(mount)) = &kind else {
            continue;
        };
        let inside = path.strip_prefix("/").unwrap_or(&path);
        let mut place = open_place(&opened, inside);
        if !is_nested && matches!(place, Err(Errno::NOENT)) {
            let name = below(root, &path);
            fs::create_dir_all(name.parent().unwrap_or(root)).map_err(at(&path))?;
            match kind {
                Kind::File(_) => fs::write(&name, ""),
                _ => fs::create_dir(&name),
            }
            .map_err(at(&path))?;
            place = open_place(&opened, inside);
        }
        let place = place.map_err(|error| match error {
            Errno::LOOP => at(&path)(io::Error::other(
                "a part of this path is a symbolic link; name the directory without links",
            )),
            error => at(&path)(error.into()),
        })?;
        let flags =
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        move_mount(mount, "", place, "", flags).map_err(|error| at(&path)(error.into()))?;
    }
    Ok(())
}

/// Opens what is below a directory and not behind a link.
fn open_place(root: &OwnedFd, inside: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    openat2(root, inside, flags, Mode::empty(), resolve)
}

fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// The usual links of `/dev`.
fn make_devices(root: &Path, program: &Program) -> io::Result<()> {
    fs::create_dir_all(root.join("dev"))?;
    for (link, target) in view::device_links(program) {
        symlink(target, below(root, &link))?;
    }
    Ok(())
}

fn make_scratch(root: &Path, program: &Program) -> io::Result<()> {
    let temporary = root.join("tmp");
    fs::create_dir_all(&temporary)?;
    let limits = &program.limits;
    let options = format!(
        "mode=0700,size={},nr_inodes={MOST_FILES}\0",
        limits.scratch_bytes
    );
    let options = std::ffi::CStr::from_bytes_with_nul(options.as_bytes())
        .map_err(|_| io::ErrorKind::InvalidInput)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", &temporary, "tmpfs", flags, options)?;
    fs::create_dir(temporary.join("scratch"))
}

/// Processes of other namespaces are not in it. A container that hides parts of its own does not
/// allow a new one; programs then do without.
fn make_proc(root: &Path) {
    let proc = root.join("proc");
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    if fs::create_dir(&proc).is_ok() {
        let _ = mount("proc", &proc, "proc", flags, None);
    }
}

/// Makes the new file system the only one, and its root read-only.
fn close(root: &Path) -> io::Result<()> {
    chdir(root)?;
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    chdir("/")?;
    let root = open_directory(Path::new("/"))?;
    sys::restrict_mount(root.as_fd(), READ_ONLY, false)
}

fn attach(mount: BorrowedFd<'_>, at: &Path) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    Ok(move_mount(mount, "", CWD, at, flags)?)
}

fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}
