//! What a program sees of the system, the same at every level that can hide the rest.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{getegid, geteuid};

use crate::Program;
use crate::runner::SYSTEM;

/// Devices that may be opened.
pub(super) const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// The usual links of `/dev`. Shared memory has names there, and lies with the temporary files.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("shm", "/tmp"),
];

/// Files of `/etc` that interpreters and libraries read. Everything else there is hidden, since
/// programs keep passwords in it. An asterisk stands for any end of a name.
const ETC: [&str; 29] = [
    "alternatives",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "fonts",
    "gai.conf",
    "group",
    "host.conf",
    "hosts",
    "java*",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale*",
    "localtime",
    "magic",
    "mime.types",
    "nodejs",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
    "pki",
    "protocols",
    "python*",
    "services",
    "ssl",
    "terminfo",
    "timezone",
];

/// Where a program looks for others, beside the directory of its runner.
const PATH: [&str; 6] = [
    "/usr/local/bin",
    "/usr/bin",
    "/bin",
    "/usr/local/sbin",
    "/usr/sbin",
    "/sbin",
];

/// The user `nobody`, who owns no files.
const NOBODY: u32 = 65534;

/// Whom a program runs as: the user that started the server, or `nobody` if that is
/// root.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Identity {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// Whether it is another than that of the supervisor.
    pub(crate) is_other: bool,
}

/// Where a program finds its things.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// Its files.
    pub(super) files: PathBuf,
    /// Its home and, unless it starts elsewhere, its working directory.
    pub(super) scratch: PathBuf,
    /// Temporary files.
    pub(super) temporary: PathBuf,
}

impl Identity {
    /// To be asked before entering a namespace, where the user is another.
    pub(crate) fn of_programs() -> Self {
        let (uid, gid) = (geteuid(), getegid());
        if uid.is_root() {
            return Self {
                uid: NOBODY,
                gid: NOBODY,
                is_other: true,
            };
        }
        Self {
            uid: uid.as_raw(),
            gid: gid.as_raw(),
            is_other: false,
        }
    }

    /// Fails if a directory that a program may change is a link, or cannot be used by this process,
    /// which has the identity of programs.
    pub(super) fn reaches(program: &Program) -> Result<(), String> {
        use rustix::fs::{Access, access};
        for path in &program.writable {
            if path.is_symlink() {
                return Err(format!(
                    "{} is a symbolic link, and not the directory that scripts may change",
                    path.display()
                ));
            }
            let may = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
            access(path, may).map_err(|error| {
                format!(
                    "the user of scripts, {}, cannot use {}: {error}; choose a directory that is this user's and below others that all may enter",
                    geteuid().as_raw(),
                    path.display()
                )
            })?;
        }
        Ok(())
    }

    /// Takes this identity for good.
    pub(super) fn take(self) -> Result<(), String> {
        if !self.is_other {
            return Ok(());
        }
        change_user(self.uid, self.gid).map_err(|error| {
            format!(
                "the server runs as root and may not run the script as user {}: {error}; run the server as an ordinary user",
                self.uid
            )
        })
    }
}

#[cfg(target_os = "linux")]
fn change_user(uid: u32, gid: u32) -> rustix::io::Result<()> {
    use rustix::process::{Gid, Uid};
    use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    set_thread_groups(&[])?;
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)
}

/// Elsewhere scripts are not run as root at all.
#[cfg(not(target_os = "linux"))]
fn change_user(_: u32, _: u32) -> rustix::io::Result<()> {
    Err(rustix::io::Errno::PERM)
}

/// Directories of programs and libraries that exist.
pub(super) fn system_directories() -> impl Iterator<Item = &'static Path> {
    SYSTEM.into_iter().map(Path::new).filter(|it| it.exists())
}

/// The files of `/etc` that are shown.
pub(super) fn etc(network: bool) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir("/etc") else {
        return Vec::new();
    };
    let is_shown = |name: &str| {
        let matches = |pattern: &&str| match pattern.strip_suffix('*') {
            Some(begin) => name.starts_with(begin),
            None => name == *pattern,
        };
        ETC.iter().any(matches) || network && name == "resolv.conf"
    };
    let entries = entries.map_while(Result::ok);
    let shown = entries.filter(|it| it.file_name().to_str().is_some_and(is_shown));
    let mut shown: Vec<PathBuf> = shown.map(|it| it.path()).collect();
    shown.sort();
    shown
}

/// The links of `/dev`, each with what it leads to, but for one in whose place a directory is shown.
pub(super) fn device_links(program: &Program) -> Vec<(PathBuf, &'static str)> {
    let links = DEVICE_LINKS.map(|(name, target)| (Path::new("/dev").join(name), target));
    let grants = grants(program);
    let is_free = |link: &Path| !grants.iter().any(|it| it.path.starts_with(link));
    let free = links.into_iter().filter(|(link, _)| is_free(link));
    free.collect()
}

/// A directory that a program may use beside those of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grant<'a> {
    pub(super) path: &'a Path,
    /// Whether it may be changed, and not only read.
    pub(super) is_writable: bool,
    /// Whether it lies in a directory that is shown, too, and to which the opposite applies.
    pub(super) is_nested: bool,
}

/// Directories that this program may use beside those of the system, parents first. Those are left
/// out that lie in another to which the same applies.
pub(super) fn grants(program: &Program) -> Vec<Grant<'_>> {
    let readable = program.runner.needs.iter().chain(&program.readable);
    let mut named: BTreeMap<&Path, bool> = readable.map(|it| (it.as_path(), false)).collect();
    named.extend(program.writable.iter().map(|it| (it.as_path(), true)));
    let mut grants: Vec<Grant<'_>> = Vec::new();
    for (path, is_writable) in named {
        // The innermost comes last.
        let around = grants.iter().rfind(|it| path.starts_with(it.path));
        let in_system = || system_directories().any(|it| path.starts_with(it));
        let around = match around {
            Some(around) => Some(around.is_writable),
            None => in_system().then_some(false),
        };
        if around != Some(is_writable) {
            grants.push(Grant {
                path,
                is_writable,
                is_nested: around.is_some(),
            });
        }
    }
    grants
}

/// The entry by which processes of a run can be found.
pub(crate) fn mark(id: &str) -> (String, String) {
    ("SKILLBUNDLE_RUN".to_owned(), id.to_owned())
}

/// The environment of a program, without the server's.
pub(super) fn environment(program: &Program, layout: &Layout, id: &str) -> Vec<(String, String)> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let directory = program.runner.program.parent().map(text);
    let directory = directory.filter(|it| !PATH.contains(&it.as_str()));
    let path = directory.as_deref().into_iter().chain(PATH);
    let path = path.collect::<Vec<_>>().join(":");
    let own = [
        ("PATH", path),
        ("HOME", text(&layout.scratch)),
        ("TMPDIR", text(&layout.temporary)),
        ("SKILL_DIR", text(&layout.files)),
        ("LANG", "C.UTF-8".to_owned()),
    ];
    let own = own.map(|(name, value)| (name.to_owned(), value));
    let given = program.environment.iter().cloned();
    own.into_iter().chain(given).chain([mark(id)]).collect()
}
