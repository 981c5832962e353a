//! Scripts that try to reach what is not theirs. What succeeds must be a gap that the level names,
//! and what it names must have been seen to succeed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use skillbundle_exec::{Isolation, prepare_data_directory};
use tempfile::TempDir;

use crate::Case;
use crate::gaps::gap_of;
use crate::kit::{bash, marked, marker, output, perl, run, signal, start, text, with};

pub(crate) const CASES: &[Case] = &[
    ("gaps_are_what_was_measured", gaps_are_what_was_measured),
    ("with_the_network", with_the_network),
    (
        "programs_in_the_directory_are_not_the_runner",
        programs_in_the_directory_are_not_the_runner,
    ),
    (
        "set_user_id_programs_have_no_power",
        set_user_id_programs_have_no_power,
    ),
];

/// Tries everything, and prints the name of what succeeds.
const ATTACKS: &str = include_str!("attacks.pl");

/// Bytes that may be written to the scratch directory.
const SCRATCH: u64 = 1 << 20;

/// Counts targets.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// What the attacks aim at.
struct Target {
    canaries: Vec<TempDir>,
    readable: TempDir,
    /// Holds the data directory.
    around: TempDir,
    tcp: TcpListener,
    udp: UdpSocket,
    abstract_name: String,
    _abstract: UnixListener,
    _listeners: [UnixListener; 2],
    datagrams: UnixDatagram,
    _pipe: fs::File,
    /// The name of shared memory and of a queue, as far as `ipcmk` is there to make some.
    key: Option<String>,
}

impl Target {
    fn new() -> Self {
        let places = [
            "/tmp",
            "/var/tmp",
            "/dev/shm",
            env!("CARGO_MANIFEST_DIR"),
            "/root",
        ];
        let open = |place: &str| {
            let directory = tempfile::Builder::new()
                .prefix("canary-")
                .tempdir_in(place)
                .ok()?;
            fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
            let file = directory.path().join("canary");
            fs::write(&file, "secret").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
            Some(directory)
        };
        let canaries: Vec<_> = places.into_iter().filter_map(open).collect();
        let readable = open("/tmp").unwrap();
        let listen = |directory: &TempDir| {
            let path = directory.path().join("socket");
            let listener = UnixListener::bind(&path).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
            listener
        };
        let pipe = readable.path().join("pipe");
        let made = Command::new("mkfifo")
            .args(["-m", "666"])
            .arg(&pipe)
            .status();
        assert!(made.unwrap().success());
        let mut both = fs::File::options();
        let pipe = both.read(true).write(true).open(&pipe).unwrap();
        let datagrams = canaries[0].path().join("datagrams");
        let bound = UnixDatagram::bind(&datagrams).unwrap();
        bound.set_nonblocking(true).unwrap();
        fs::set_permissions(&datagrams, fs::Permissions::from_mode(0o777)).unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_nonblocking(true).unwrap();
        let abstract_name = format!("{}", readable.path().display()).replace('/', "-");
        let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        Self {
            _listeners: [listen(&canaries[0]), listen(&readable)],
            canaries,
            readable,
            around: open("/tmp").unwrap(),
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            udp,
            _abstract: UnixListener::bind_addr(&address).unwrap(),
            abstract_name,
            datagrams: bound,
            _pipe: pipe,
            key: share(),
        }
    }

    fn environment(&self) -> Vec<(String, String)> {
        let paths: Vec<_> = self
            .canaries
            .iter()
            .map(|it| it.path().to_str().unwrap())
            .collect();
        let rows = [
            ("CANARIES", paths.join(":")),
            (
                "READABLE",
                self.readable.path().to_str().unwrap().to_owned(),
            ),
            ("WRITABLE", self.data().to_str().unwrap().to_owned()),
            ("MORE", (SCRATCH + 1).to_string()),
            ("TCP", self.tcp.local_addr().unwrap().port().to_string()),
            ("UDP", self.udp.local_addr().unwrap().port().to_string()),
            ("ABSTRACT", self.abstract_name.clone()),
            ("CALLER", std::process::id().to_string()),
            ("KEY", self.key.clone().unwrap_or_default()),
            ("X86_64", u8::from(cfg!(target_arch = "x86_64")).to_string()),
        ];
        rows.map(|(name, value)| (name.to_owned(), value)).into()
    }

    fn data(&self) -> PathBuf {
        prepare_data_directory(&self.around.path().join("data")).unwrap()
    }

    /// What has changed or arrived, though the script may not know.
    fn seen(&self) -> BTreeSet<String> {
        let mut seen = BTreeSet::new();
        let mut note = |what: &str, is: bool| {
            if is {
                seen.insert(what.to_owned());
            }
        };
        let data = self.around.path().join("data");
        note("replace the data directory", !data.is_dir());
        let files = fs::read_dir(&data).into_iter().flatten();
        for file in files.map(|it| it.unwrap().metadata().unwrap()) {
            let mode = file.permissions().mode();
            note(
                "make a set-user-ID file",
                file.is_file() && mode & 0o6000 != 0,
            );
            note("make a device", file.file_type().is_char_device());
        }
        let directories = self.canaries.iter();
        for directory in directories.chain([&self.readable, &self.around]) {
            let names: Vec<_> = fs::read_dir(directory.path())
                .unwrap()
                .map(|it| it.unwrap().file_name())
                .collect();
            let known = ["canary", "socket", "datagrams", "pipe", "data"];
            note(
                "create a file",
                names
                    .iter()
                    .any(|it| !known.iter().any(|known| it == known)),
            );
            let canary = directory.path().join("canary");
            note("delete or move a file", !canary.exists());
            note(
                "write a file",
                fs::read(&canary).unwrap_or_default() != b"secret",
            );
            let mode = |it: &Path| fs::metadata(it).map_or(0, |it| it.permissions().mode() & 0o777);
            note("change a mode", canary.exists() && mode(&canary) != 0o666);
            note("change a mode", mode(directory.path()) != 0o777);
        }
        let mut bytes = [0; 16];
        note("send over UDP", self.udp.recv(&mut bytes).is_ok());
        note(
            "send to a Unix socket by a pair",
            self.datagrams.recv(&mut bytes).is_ok(),
        );
        seen
    }
}

/// Makes shared memory that every user may use, by a name that is hard to guess.
fn share() -> Option<String> {
    let key = 0x5b00_0000_u32 + std::process::id() % 0x10000 * 16;
    let key = key + u32::try_from(NEXT.fetch_add(1, Ordering::Relaxed) % 16).unwrap();
    let script = format!("print syscall(29, {key}, 4096, 01666) >= 0 ? 1 : 0");
    let made = Command::new("perl").args(["-e", &script]).output().ok()?;
    (cfg!(target_arch = "x86_64") && made.stdout == b"1").then(|| key.to_string())
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some(key) = &self.key {
            let script = format!("syscall(31, syscall(29, {key}, 0, 0), 0, 0)");
            let _ = Command::new("perl").args(["-e", &script]).status();
        }
    }
}

fn attack(level: Isolation, network: bool) -> BTreeSet<String> {
    let target = Target::new();
    let mut program = perl(ATTACKS);
    program.environment = target.environment();
    program.readable = vec![target.readable.path().to_owned()];
    program.writable = vec![target.data()];
    program.limits.scratch_bytes = SCRATCH;
    program.network = network;
    let outcome = run(level, program);
    let printed = text(&outcome.stdout);
    assert!(
        printed.ends_with("done\n"),
        "{printed}{}",
        text(&outcome.stderr)
    );
    let mut succeeded: BTreeSet<String> = printed.lines().map(str::to_owned).collect();
    succeeded.remove("done");
    succeeded.extend(target.seen());
    if !succeeded.is_empty() {
        let _ = writeln!(
            std::io::stderr(),
            "{level}, network {network}: {succeeded:?}"
        );
    }
    succeeded
}

/// Whether a process is alive after its script has killed both that watch it. It hides: it has left
/// its session, and has an environment of its own.
fn outlives(level: Isolation) -> bool {
    let marker = marker();
    let script = "
        env -i setsid sleep $MARK &
        keeper=$(ps -o ppid= -p $PPID 2>/dev/null)
        if [ ${keeper:-0} -gt 1 ]; then kill -STOP $keeper; kill -KILL $PPID; kill -KILL $keeper; fi
        sleep 0.3; exit 0";
    let run = start(level, with(bash(script), &[("MARK", &marker)]));
    // What it says does not count here.
    let _ = run.wait(|_| ());
    let alive = marked(&format!("sleep\0{marker}"));
    for (pid, _) in &alive {
        signal("KILL", *pid);
    }
    !alive.is_empty()
}

fn gaps_are_what_was_measured(level: Isolation) {
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    if outlives(level) {
        let name = "outlive both".to_owned();
        found.entry(gap_of(level, &name)).or_default().push(name);
    }
    let plain = attack(level, false);
    // The network is no gap if it is allowed, but what comes with it may be.
    let networked = attack(level, true)
        .into_iter()
        .filter(|it| !it.contains("TCP") && !it.contains("UDP"));
    for name in plain.into_iter().chain(networked) {
        found.entry(gap_of(level, &name)).or_default().push(name);
    }
    let named: BTreeSet<&str> = level.gaps().iter().copied().collect();
    let measured: BTreeSet<&str> = found.keys().copied().collect();
    let unnamed: Vec<_> = found.iter().filter(|it| !named.contains(it.0)).collect();
    assert!(
        unnamed.is_empty(),
        "gaps that {level} does not name: {unnamed:?}"
    );
    if !rustix::process::geteuid().is_root() {
        // Root runs programs as nobody, who owns nothing and so can do less.
        let idle: Vec<_> = named.difference(&measured).collect();
        assert!(idle.is_empty(), "gaps of {level} that are none: {idle:?}");
    }
}

fn with_the_network(level: Isolation) {
    let succeeded = attack(level, true);
    for name in ["connect over TCP", "send over UDP"] {
        assert!(succeeded.contains(name), "{succeeded:?}");
    }
}

fn programs_in_the_directory_are_not_the_runner(level: Isolation) {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["bash", "sh", "cat", "env", "echo"] {
        let file = directory.path().join(name);
        fs::write(&file, "#!/bin/sh\n/bin/echo hijacked\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut program = bash("echo a | cat; env echo b; bash -c 'echo c'");
    program.readable = vec![directory.path().to_owned()];
    program.directory = Some(directory.path().to_owned());
    assert_eq!(output(level, program), "a\nb\nc\n");
}

fn set_user_id_programs_have_no_power(level: Isolation) {
    if !rustix::process::geteuid().is_root() {
        // Only root can make one.
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let file = directory.path().join("id");
    fs::copy("/usr/bin/id", &file).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o6755)).unwrap();
    let as_other = Command::new("setpriv")
        .args(["--reuid", "65534", "--clear-groups", "--"])
        .args([file.to_str().unwrap(), "-u"])
        .output();
    if let Ok(outside) = as_other {
        assert_eq!(outside.stdout, b"0\n", "it has power outside");
    }
    let mut program = bash(
        "$READABLE/id -u; $READABLE/id -g; mount -t tmpfs x /mnt 2>/dev/null && echo mounted; true",
    );
    program.readable = vec![directory.path().to_owned()];
    program.environment = vec![(
        "READABLE".to_owned(),
        directory.path().to_str().unwrap().to_owned(),
    )];
    assert_eq!(output(level, program), "65534\n65534\n");
}
