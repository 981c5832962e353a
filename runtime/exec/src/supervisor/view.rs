//! What a program sees of the system, the same at every level that can hide the rest.

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
pub(super) const DEVICE_LINKS: [(&str, &str); 5] = [
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
pub(super) struct Identity {
    pub(super) uid: u32,
    pub(super) gid: u32,
    /// Whether it is another than that of the supervisor.
    pub(super) is_other: bool,
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
    pub(super) fn of_programs() -> Self {
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

/// Directories that this program may read beside those of the system, without those that lie in
/// another of them.
pub(super) fn readable(program: &Program) -> Vec<&Path> {
    let named = program.runner.needs.iter().chain(&program.readable);
    let named = named.map(PathBuf::as_path);
    let mut paths: Vec<&Path> = named.filter(|it| !is_of_system(it)).collect();
    // Parents come before what is in them.
    paths.sort();
    let mut outermost: Vec<&Path> = Vec::new();
    for path in paths {
        if !outermost.iter().any(|it| path.starts_with(it)) {
            outermost.push(path);
        }
    }
    outermost
}

fn is_of_system(path: &Path) -> bool {
    system_directories().any(|it| path.starts_with(it))
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
