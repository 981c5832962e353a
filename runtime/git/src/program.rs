//! Runs the machine's git: found by absolute path, with an environment of our own, without a
//! terminal, within a time and a size, and with nothing left of it.

mod find;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::error::GitError;
use crate::location::{Location, Protocol};
use crate::token::Token;

/// How often a running git is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// How often the size of what it receives is looked at.
const LOOK_AT_SIZE: Duration = Duration::from_millis(200);

/// How much of what git says on stderr is kept, in bytes: the end has the reason.
const KEPT_STDERR: usize = 8 * 1024;

/// Most bytes that a git may answer with: 200,000 files with long paths. A few small objects can be a
/// tree of billions of files.
const MOST_OUTPUT: u64 = 64 * 1024 * 1024;

/// Variables that git, ssh and their helpers may see: how the user reaches repositories from this
/// machine. None of git's own are among them but the two that choose an ssh.
const PASSED_ON: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "USERNAME",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "SYSTEMROOT",
    "TMPDIR",
    "TEMP",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "SSH_AUTH_SOCK",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "KRB5CCNAME",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
];

/// Variables that are always the same: no questions, no windows, messages in English, nothing that
/// replaces objects, no attributes of the system.
const FIXED: &[(&str, &str)] = &[
    ("LC_ALL", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", ""),
    ("SSH_ASKPASS", ""),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("GCM_INTERACTIVE", "never"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_LFS_SKIP_SMUDGE", "1"),
    ("GIT_PROTOCOL_FROM_USER", "0"),
];

/// Configuration that comes before that of files, on every call: nothing in a repository, and
/// nothing that an earlier call has left, runs a program, fetches more than was asked for, or sends
/// credentials elsewhere.
const OVERRIDES: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.symlinks", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.askPass", ""),
    ("credential.interactive", "false"),
    ("credential.guiPrompt", "false"),
    ("transfer.fsckObjects", "true"),
    ("fetch.fsckObjects", "true"),
    ("transfer.bundleURI", "false"),
    ("transfer.credentialsInUrl", "die"),
    ("fetch.recurseSubmodules", "false"),
    ("submodule.recurse", "false"),
    ("fetch.writeCommitGraph", "false"),
    // One pack for each fetch, so that they can be counted and none is left loose.
    ("fetch.unpackLimit", "1"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    // A redirection would take the token along, or go from https to http.
    ("http.followRedirects", "false"),
    // A transfer below 1 kB/s for so many seconds has hung, also after this process is gone.
    ("http.lowSpeedLimit", "1000"),
    ("http.lowSpeedTime", "30"),
];

/// Ends a hung connection, and never prompts. Only if the user has not chosen an ssh.
const SSH: &str =
    "ssh -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=15 -o ServerAliveCountMax=2";

/// Set when the process ends: running gits are stopped, and no more are started.
static STOPPING: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Those that run.
static RUNNING: Mutex<Vec<Arc<Mutex<End>>>> = Mutex::new(Vec::new());

/// Setting it, as a signal handler can, stops every git within some milliseconds. Later calls fail.
pub fn stop_flag() -> Arc<AtomicBool> {
    Arc::clone(&STOPPING)
}

/// Stops every git at once. Later calls fail. For the end of the process.
pub fn stop_all() {
    STOPPING.store(true, Ordering::Release);
    for end in &*lock(&RUNNING) {
        lock(end).stop(Stopped::Ending);
    }
}

/// The machine's git.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    path: PathBuf,
    /// Where it works.
    directory: PathBuf,
    /// Whether it may find a repository around that directory. One such as that of the user's
    /// dotfiles is not ours to read.
    finds_repositories: bool,
    /// Whether the user's environment or configuration says which ssh to take.
    user_chooses_ssh: bool,
}

/// What a call may take.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    /// When it is stopped.
    pub(crate) deadline: Instant,
    /// The time that led to it, for messages.
    pub(crate) timeout: Duration,
    /// A directory that may not become larger than so many bytes.
    pub(crate) size: Option<(PathBuf, u64)>,
}

/// A git that runs. Dropping it ends it.
pub(crate) struct Running {
    child: Child,
    stderr: Option<JoinHandle<Vec<u8>>>,
    watchdog: Option<JoinHandle<()>>,
    end: Arc<Mutex<End>>,
    limits: Limits,
    token: Option<Token>,
}

/// How far the end of a git has come. The group is ended under this lock, and never after its first
/// process was waited for: its id could be another's then.
#[derive(Debug)]
struct End {
    /// The first process, which has the number of the group.
    id: u32,
    stopped: Option<Stopped>,
    is_reaped: bool,
}

impl End {
    /// Ends the group, unless it has ended.
    fn stop(&mut self, reason: Stopped) {
        if !self.is_reaped {
            self.stopped.get_or_insert(reason);
            kill(self.id);
        }
    }
}

/// Why a git was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopped {
    TimeOut,
    TooLarge,
    Ending,
}

/// What a git has left behind.
pub(crate) struct Ended {
    /// Its exit code; `None` after a signal.
    pub(crate) code: Option<i32>,
    /// The end of what it said on stderr, without the token.
    pub(crate) stderr: String,
}

impl Program {
    /// The same in the repository that its directory is in.
    pub(crate) fn in_any_repository(self) -> Self {
        Self {
            finds_repositories: true,
            ..self
        }
    }

    /// The same in another directory.
    pub(crate) fn at(self, directory: PathBuf) -> Self {
        Self { directory, ..self }
    }

    /// A call of git with these arguments.
    pub(crate) fn call<'a>(&'a self, arguments: &[&'a str]) -> Call<'a> {
        Call {
            program: self,
            settings: &[],
            git_dir: None,
            arguments: arguments.iter().map(OsString::from).collect(),
            remote: None,
            holds: None,
        }
    }
}

/// A call of git that has not begun.
pub(crate) struct Call<'a> {
    program: &'a Program,
    settings: &'a [(String, String)],
    git_dir: Option<&'a Path>,
    arguments: Vec<OsString>,
    remote: Option<(&'a Location, Option<&'a Token>)>,
    holds: Option<&'a File>,
}

impl<'a> Call<'a> {
    /// In this repository.
    pub(crate) const fn in_repository(mut self, git_dir: &'a Path) -> Self {
        self.git_dir = Some(git_dir);
        self
    }

    /// With this configuration over that of files.
    pub(crate) const fn configured(mut self, settings: &'a [(String, String)]) -> Self {
        self.settings = settings;
        self
    }

    /// One that talks to this repository, with this token. Without it, a call talks to none.
    pub(crate) const fn with(mut self, location: &'a Location, token: Option<&'a Token>) -> Self {
        self.remote = Some((location, token));
        self
    }

    /// For calls that write to what this lock protects. Git gets the lock's empty file as its stdin, and
    /// so shares the lock: if this process is killed, no other gets the lock before git has ended.
    pub(crate) const fn holding(mut self, lock: &'a File) -> Self {
        self.holds = Some(lock);
        self
    }

    /// Runs it to its end, and returns what it writes to stdout.
    pub(crate) fn output(self, limits: &Limits) -> Result<Vec<u8>, GitError> {
        let what = self.what();
        let (running, output) = self.run(limits)?;
        let ended = running.finish()?;
        match ended.code {
            Some(0) => Ok(output),
            code => Err(GitError::Failed {
                what,
                code,
                stderr: ended.stderr,
            }),
        }
    }

    /// Runs it until it has closed stdout.
    fn run(self, limits: &Limits) -> Result<(Running, Vec<u8>), GitError> {
        let what = self.what();
        let (running, _, mut stdout) = self.start(limits, false)?;
        let mut output = Vec::new();
        let mut limited = stdout.by_ref().take(MOST_OUTPUT + 1);
        limited.read_to_end(&mut output).map_err(GitError::Run)?;
        if output.len() as u64 > MOST_OUTPUT {
            let most = MOST_OUTPUT;
            return Err(GitError::TooMuch { what, most });
        }
        Ok((running, output))
    }

    /// Starts it. Its stdin is a pipe if `has_input`, and empty otherwise.
    pub(crate) fn start(
        self,
        limits: &Limits,
        has_input: bool,
    ) -> Result<(Running, Option<ChildStdin>, ChildStdout), GitError> {
        let token = self.remote.and_then(|(_, token)| token.cloned());
        let mut command = self.command();
        command
            .stdin(match self.holds {
                _ if has_input => Stdio::piped(),
                Some(lock) => lock.try_clone().map_err(GitError::Run)?.into(),
                None => Stdio::null(),
            })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt;
            // All of its helpers are in the group, which is ended as a whole.
            command.process_group(0);
        }
        // Under this lock, so that none is started beside `stop_all`.
        let mut all = lock(&RUNNING);
        if STOPPING.load(Ordering::Acquire) {
            return Err(GitError::Ending);
        }
        let mut child = command.spawn().map_err(GitError::Run)?;
        let end = Arc::new(Mutex::new(End {
            id: child.id(),
            stopped: None,
            is_reaped: false,
        }));
        all.push(Arc::clone(&end));
        drop(all);
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (stdin, Some(stdout), Some(stderr)) = pipes else {
            return Err(GitError::Run(io::Error::other("git has no pipes")));
        };
        let watchdog = {
            let (end, limits) = (Arc::clone(&end), limits.clone());
            move || watch(&limits, &end)
        };
        let running = Running {
            child,
            stderr: Some(thread::spawn(move || read_end(stderr))),
            watchdog: Some(thread::spawn(watchdog)),
            end,
            limits: limits.clone(),
            token,
        };
        Ok((running, stdin, stdout))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program.path);
        command.env_clear();
        for name in PASSED_ON {
            if let Some(value) = env::var_os(name) {
                command.env(name, value);
            }
        }
        command.envs(FIXED.iter().copied());
        let allowed = match self.remote.map(|(location, _)| location.protocol()) {
            // The user's configuration may have one stand for the other (`url.….insteadOf`).
            Some(Protocol::Https | Protocol::Ssh) => "https:ssh",
            Some(Protocol::Http) => "http",
            Some(Protocol::File) => "file",
            None => "none",
        };
        command.env("GIT_ALLOW_PROTOCOL", allowed);
        if !self.program.user_chooses_ssh {
            command.env("GIT_SSH_COMMAND", SSH);
        }
        if let Some(parent) = self.program.directory.parent()
            && !self.program.finds_repositories
        {
            command.env("GIT_CEILING_DIRECTORIES", parent);
        }
        let header = self
            .remote
            .and_then(|(location, token)| token?.header_for(location));
        let overrides = OVERRIDES.iter().map(|(key, value)| (*key, *value));
        let header = header
            .as_ref()
            .map(|(key, value)| (key.as_str(), value.as_str()));
        let settings = self.settings.iter();
        let settings = settings.map(|(key, value)| (key.as_str(), value.as_str()));
        for (at, (key, value)) in overrides.chain(header).chain(settings).enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{at}"), key);
            command.env(format!("GIT_CONFIG_VALUE_{at}"), value);
            command.env("GIT_CONFIG_COUNT", (at + 1).to_string());
        }
        if let Some(git_dir) = self.git_dir {
            let mut option = OsString::from("--git-dir=");
            option.push(git_dir);
            command.arg(option);
        }
        // That of the process may be anybody's.
        command.current_dir(&self.program.directory);
        command.args(&self.arguments);
        command
    }

    /// What it does, for messages: the name of git's command.
    fn what(&self) -> String {
        let words = self.arguments.iter().map(|it| it.to_string_lossy());
        let mut words = words.filter(|it| !it.starts_with('-'));
        words.next().map(Cow::into_owned).unwrap_or_default()
    }
}

impl Running {
    /// Waits for its end.
    pub(crate) fn finish(mut self) -> Result<Ended, GitError> {
        let status = self.wait().map_err(GitError::Run)?;
        let stderr = self.stderr.take().and_then(|it| it.join().ok());
        let stopped = lock(&self.end).stopped;
        match stopped {
            Some(Stopped::TimeOut) => return Err(GitError::TimeOut(self.limits.timeout)),
            Some(Stopped::TooLarge) => {
                let most = self.limits.size.as_ref().map_or(0, |it| it.1);
                return Err(GitError::TooLarge { most });
            }
            Some(Stopped::Ending) => return Err(GitError::Ending),
            None => {}
        }
        let stderr = stderr.unwrap_or_default();
        let text = String::from_utf8_lossy(&stderr);
        Ok(Ended {
            code: status.code(),
            stderr: match &self.token {
                Some(token) => token.redact(&text),
                None => text.into_owned(),
            },
        })
    }

    /// Waits for the first process, and ends what it has left in its group.
    fn wait(&mut self) -> io::Result<std::process::ExitStatus> {
        #[cfg(unix)]
        loop {
            // Not reaped yet, so the group is still its own.
            let options = rustix::process::WaitIdOptions::EXITED
                | rustix::process::WaitIdOptions::NOHANG
                | rustix::process::WaitIdOptions::NOWAIT;
            let id = rustix::process::Pid::from_child(&self.child);
            match rustix::process::waitid(rustix::process::WaitId::Pid(id), options) {
                Ok(Some(_)) => break,
                Ok(None) => thread::sleep(Duration::from_millis(2)),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let mut end = lock(&self.end);
        kill(self.child.id());
        end.is_reaped = true;
        let status = self.child.wait();
        drop(end);
        lock(&RUNNING).retain(|it| !Arc::ptr_eq(it, &self.end));
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.thread().unpark();
            // It has nothing to say.
            let _ = watchdog.join();
        }
        status
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.watchdog.is_some() {
            kill(self.child.id());
            // No caller is left to report to.
            let _ = self.wait();
        }
    }
}

/// Stops a git that takes too long or too much, or that the process does not wait for any more.
fn watch(limits: &Limits, end: &Mutex<End>) {
    let mut looked_at_size = Instant::now();
    loop {
        thread::park_timeout(LOOK);
        let is_too_large = match &limits.size {
            Some((directory, most)) if looked_at_size.elapsed() >= LOOK_AT_SIZE => {
                looked_at_size = Instant::now();
                size_of(directory) > *most
            }
            _ => false,
        };
        let reasons = [
            (STOPPING.load(Ordering::Acquire), Stopped::Ending),
            (is_too_large, Stopped::TooLarge),
            (Instant::now() >= limits.deadline, Stopped::TimeOut),
        ];
        let reason = reasons.into_iter().find(|(applies, _)| *applies);
        let mut end = lock(end);
        if end.is_reaped {
            return;
        }
        if let Some((_, reason)) = reason {
            end.stop(reason);
            return;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends a group of processes. Called only while its first process has not been waited for, so the
/// id cannot be another's.
#[cfg(unix)]
fn kill(id: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};
    let group = i32::try_from(id).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        // It fails if all of them have ended.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(not(unix))]
fn kill(_id: u32) {}

/// The end of a stream.
fn read_end(mut stream: impl Read) -> Vec<u8> {
    let mut kept = VecDeque::new();
    let mut is_cut = false;
    let mut piece = [0; 4096];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => {
                kept.extend(&piece[..count]);
                let surplus = kept.len().saturating_sub(KEPT_STDERR);
                is_cut |= surplus > 0;
                kept.drain(..surplus);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    if is_cut {
        // It may begin in the middle of a secret, which would not be found any more.
        let word = kept.iter().position(u8::is_ascii_whitespace);
        kept.drain(..word.unwrap_or(kept.len()));
    }
    kept.into()
}

/// The bytes of the files in a directory, and in those below.
pub(crate) fn size_of(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_long_text_begins_with_a_whole_word() {
        let text = |rest: &str| ["secret", rest].concat().into_bytes();
        let cut = text(&["z".repeat(KEPT_STDERR - 8), " the end".to_owned()].concat());
        assert_eq!(read_end(&*cut), b" the end");
        assert_eq!(read_end(&*text(&"z".repeat(KEPT_STDERR))), b"");
        assert_eq!(read_end(&*text(" whole")), b"secret whole");
    }
}
