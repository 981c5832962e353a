//! Runs one program with limits, isolated as far as the system allows, so that nothing of it
//! survives: not a child that left its process group, not a daemon, not a file.
//!
//! Between the caller and the program stands a **supervisor**, a process of its own with one
//! thread, which this crate starts from the caller's executable ([`supervise_if_asked`]). It builds
//! the isolation, reads what the program writes, keeps the time, and kills the whole tree when the
//! program ends, when its time is up, when it is told to, or when the caller is gone for whatever
//! reason. So the caller needs no signal handlers, forks no threads, and reads no pipes.
//!
//! In reading order: `run` is the caller's side, `message` what the two processes tell each other,
//! `supervisor` the other side, with one file for each kind of isolation. What a program is for is
//! not known here.

mod data;
mod isolation;
mod runner;

#[cfg(unix)]
mod message;
#[cfg(unix)]
mod run;
#[cfg(unix)]
mod supervisor;
#[cfg(unix)]
#[expect(unsafe_code, reason = "system calls that no safe wrapper offers")]
mod sys;

#[cfg(not(unix))]
#[path = "run/unsupported.rs"]
mod run;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use data::prepare_data_directory;
pub use isolation::{Availability, Isolation};
pub use run::{Canceller, Executor, Run, supervise_if_asked};
pub use runner::Runner;

/// A program and everything it may have.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Program {
    /// What runs the script, absolute.
    pub runner: Runner,
    /// The files that the script is among. They are copied, so changes on disk have no effect.
    #[serde(skip)]
    pub files: Vec<ProgramFile>,
    /// The path of the script among the files.
    pub script: String,
    /// The whole environment, beside what the isolation sets: `PATH`, `HOME`, `TMPDIR` and
    /// `SKILL_DIR`, the directory of the files.
    pub environment: Vec<(String, String)>,
    /// What it reads from stdin; `None` is `/dev/null`.
    #[serde(skip)]
    pub stdin: Option<Vec<u8>>,
    /// Directories that it may read, absolute. Nothing else of the system is visible but programs
    /// and libraries, as far as the isolation hides it.
    pub readable: Vec<PathBuf>,
    /// Directories that it may read and change, absolute, without links on the way, and owned by
    /// whom it runs as, see [`prepare_data_directory`]. One that lies in a directory of `readable`
    /// may be changed nevertheless, and the other way round: the innermost counts. Nothing limits
    /// how much is written there in all, only the size of each file.
    pub writable: Vec<PathBuf>,
    /// Where it starts: a directory in one of `readable` or `writable`; `None` is its scratch
    /// directory.
    pub directory: Option<PathBuf>,
    /// Whether it may use the network.
    pub network: bool,
    /// What it may use.
    pub limits: Limits,
    /// Whether output is handed out as it arrives, instead of the last line once a second.
    pub streams: bool,
}

/// One of the files that come with a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramFile {
    /// Relative, `/`-separated, without `.` and `..`.
    pub path: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// What a program may use. Reaching `time` ends it; the others fail the system call that exceeds
/// them, or end the process that does.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Limits {
    /// Wall-clock time.
    pub time: Duration,
    /// Time between the request to end (SIGTERM) and the end (SIGKILL).
    pub grace: Duration,
    /// Bytes that are kept of stdout, and of stderr, 256 MiB at most. What is beyond is read and
    /// counted.
    pub output_bytes: usize,
    /// Bytes of writable memory of one process.
    pub memory_bytes: u64,
    /// Processes and threads at one time. Outside of namespaces the system counts all those of the
    /// user; so there it is this number beside those that ran when the program was started.
    pub processes: u64,
    /// Open files of one process.
    pub open_files: u64,
    /// Bytes of one file.
    pub file_bytes: u64,
    /// Bytes of all files in the scratch directory, if the isolation has one of its own.
    pub scratch_bytes: u64,
}

impl Program {
    /// Its whole environment at a level of isolation. In place of what differs between runs stands
    /// `ID`.
    pub fn environment_at(&self, isolation: Isolation) -> Vec<(String, String)> {
        #[cfg(unix)]
        return supervisor::environment(self, isolation, "ID");
        #[cfg(not(unix))]
        return self.environment.clone();
    }
}

impl Default for Limits {
    /// What a script of a skill needs, with room: the largest runners are Node.js (11 threads, 100
    /// MB) and compilers.
    fn default() -> Self {
        const MIB: u64 = 1 << 20;
        Self {
            time: Duration::from_secs(60),
            grace: Duration::from_secs(5),
            output_bytes: 1 << 20,
            memory_bytes: 2048 * MIB,
            processes: 256,
            open_files: 256,
            file_bytes: 64 * MIB,
            scratch_bytes: 256 * MIB,
        }
    }
}

/// What happens while a program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// The last line of output, once a second, if there was any since the last one.
    LastLine(&'a str),
    /// Bytes of stdout.
    Stdout(&'a [u8]),
    /// Bytes of stderr.
    Stderr(&'a [u8]),
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The exit code; `None` if a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it. Bubblewrap hides it, and gives the exit code 128 + signal instead,
    /// as shells do.
    pub signal: Option<i32>,
    /// Why it was ended before it came to its own end.
    pub stopped: Option<Stopped>,
    /// What it wrote to stdout.
    pub stdout: Captured,
    /// What it wrote to stderr.
    pub stderr: Captured,
    /// Wall-clock time from the start of the program to the end of its last process.
    pub duration: Duration,
    /// Processor time of all its processes.
    pub cpu: Duration,
    /// How it was isolated.
    pub isolation: Isolation,
    /// Processes that were still alive when it had ended or was ended, and were killed.
    pub killed: u32,
}

/// Why a program was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stopped {
    /// Its time was up.
    TimedOut,
    /// [`Canceller::cancel`].
    Cancelled,
}

/// One stream of output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The first bytes, as many as the limit allows.
    pub head: Vec<u8>,
    /// The last bytes, up to 4 KiB, of what was beyond the limit.
    pub tail: Vec<u8>,
    /// The number of bytes that were written in all.
    pub total: u64,
}

impl Captured {
    /// The number of bytes that are in neither part.
    pub fn left_out(&self) -> u64 {
        let kept = self.head.len() + self.tail.len();
        self.total.saturating_sub(kept as u64)
    }
}

/// Why a program could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system has no way to end a tree of processes for sure.
    #[error("scripts cannot be run on this system: {0}")]
    Unsupported(&'static str),
    /// The isolation that is required cannot be had.
    #[error("isolation `{required}` is required, but this system offers {offered}: {reason}")]
    TooWeak {
        /// The weakest that is allowed.
        required: Isolation,
        /// What can be had, in words.
        offered: String,
        /// Why not more.
        reason: String,
    },
    /// A runner is not installed, or cannot be used.
    #[error("{0}")]
    Runner(String),
    /// A directory cannot be one that programs keep data in.
    #[error("{} cannot be a data directory: {problem}", .path.display())]
    DataDirectory {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// The program could not be started. The message says at which step.
    #[error("cannot start the script: {0}")]
    Start(String),
    /// The supervisor ended without a result.
    #[error("the supervisor of the script ended unexpectedly; whatever it left was killed")]
    SupervisorLost,
    /// The supervisor could not be started or reached.
    #[error("cannot run the supervisor of the script: {0}")]
    Supervisor(#[from] io::Error),
}

/// Where to find the program that becomes the supervisor, and with which arguments.
fn supervisor_program() -> (PathBuf, OsString) {
    // The running file, even if it was replaced or deleted since.
    let running = PathBuf::from("/proc/self/exe");
    let program = if running.exists() {
        running
    } else {
        std::env::current_exe().unwrap_or(running)
    };
    (program, OsString::from(SUPERVISE))
}

/// The argument that makes [`supervise_if_asked`] take over.
const SUPERVISE: &str = "__supervise";
