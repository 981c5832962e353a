//! Starts a program at one level of isolation: forks, isolates the child, and turns it into the
//! program.

use std::fs::File;
use std::io::{PipeReader, PipeWriter, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::{Pid, Resource, Rlimit, fchdir, setrlimit, setsid, umask};

use super::cgroup::Cgroup;
#[cfg(target_os = "linux")]
use super::filter::{self, Filter, Sockets};
use super::staging::Staging;
use super::tree::Tree;
use super::view::{self, Identity, Layout};
#[cfg(target_os = "linux")]
use super::{bubblewrap, landlock, namespaces};
use crate::message::RunRequest;
use crate::sys::{self, Fork};
use crate::{Isolation, Limits, Program};

/// Processor time that is left after the wall-clock time is up, in seconds: the limit is for what
/// escapes the clock.
const CPU_MARGIN: u64 = 5;

/// The ends of the pipes that the child gets.
pub(super) struct Ends {
    pub(super) stdin: OwnedFd,
    pub(super) stdout: PipeWriter,
    pub(super) stderr: PipeWriter,
    /// Where the child reports: see [`Report`].
    pub(super) report: PipeWriter,
}

/// What a child reports before it ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// It could not become the program.
    Failed(String),
    /// The program in a namespace has ended with this status, as `wait` has it, and so many
    /// processes were still alive.
    Ended(i32, u32),
    /// What wraps the program has started it.
    Wrapped,
}

/// A program that has been started.
pub(super) struct Started {
    pub(super) tree: Tree,
    pub(super) report: PipeReader,
    /// What it lies in on disk. Removed when dropped, so it must outlive the tree.
    _staging: Option<Staging>,
}

/// Starts a program.
pub(super) fn start(
    run: &RunRequest,
    stdin: OwnedFd,
    stdout: PipeWriter,
    stderr: PipeWriter,
) -> Result<Started, String> {
    let (report, reporting) = std::io::pipe().map_err(|it| format!("cannot make a pipe: {it}"))?;
    let ends = Ends {
        stdin,
        stdout,
        stderr,
        report: reporting,
    };
    let cgroup = Cgroup::new(&run.id, &run.program.limits);
    let identity = Identity::of_programs();
    let (leader, staging) = match run.isolation {
        #[cfg(target_os = "linux")]
        Isolation::Namespaces => {
            let first = || first_process(run, &ends, identity);
            (
                namespaces::fork(run.program.network, identity, first)?,
                None,
            )
        }
        _ => {
            let staging = Staging::new(&run.id, &run.program.files, identity)?;
            (
                fork_program(run, &ends, &staging.layout, identity)?,
                Some(staging),
            )
        }
    };
    if let Some(cgroup) = &cgroup {
        // Without it the tree is killed one by one.
        let _ = cgroup.add(leader);
    }
    Ok(Started {
        tree: Tree::new(leader, run.isolation, cgroup),
        report,
        _staging: staging,
    })
}

/// Forks the process that becomes the program, outside of namespaces of ours.
fn fork_program(
    run: &RunRequest,
    ends: &Ends,
    layout: &Layout,
    identity: Identity,
) -> Result<Pid, String> {
    match sys::fork().map_err(|error| format!("cannot fork: {error}"))? {
        Fork::Parent(pid) => Ok(pid),
        Fork::Child => {
            let others = tasks_of(identity.uid);
            let taken = identity.take().and_then(|()| follow_supervisor());
            let taken = taken.and_then(|()| ends.are_read());
            let error = match taken {
                Ok(()) => become_program(run, ends, layout, others),
                Err(error) => error,
            };
            ends.report(&Report::Failed(error));
            sys::exit_now(1)
        }
    }
}

/// What the first process of the namespaces does: starts the program, waits for its end, and ends
/// everything else.
#[cfg(target_os = "linux")]
fn first_process(run: &RunRequest, ends: &Ends, identity: Identity) -> i32 {
    let fail = |error| {
        ends.report(&Report::Failed(error));
        1
    };
    let entered = namespaces::enter(&run.program, &run.program.files, identity);
    if let Err(error) = entered.and_then(|()| ends.are_read()) {
        return fail(error);
    }
    let leader = match sys::fork() {
        Ok(Fork::Parent(pid)) => pid,
        Ok(Fork::Child) => {
            let error = become_program(run, ends, &namespaces::layout(), 0);
            return fail(error);
        }
        Err(error) => return fail(format!("cannot fork: {error}")),
    };
    // Only the program and the supervisor hold the ends of its streams from here on.
    let _ = become_silent();
    sys::close_all_but(ends.report.as_fd());
    match super::tree::wait_for(leader) {
        Some((status, alive)) => {
            ends.report(&Report::Ended(status, alive));
            0
        }
        None => 1,
    }
}

/// Turns this process into the program. Returns only if that fails, with the reason.
fn become_program(run: &RunRequest, ends: &Ends, layout: &Layout, others: u64) -> String {
    match prepared(run, ends, layout, others) {
        Ok(mut command) => {
            let error = command.exec();
            let runner = run.program.runner.program.display();
            format!("cannot execute the runner {runner}: {error}")
        }
        Err(error) => error,
    }
}

/// Restricts this process to what the program may do, and names the program.
fn prepared(
    run: &RunRequest,
    ends: &Ends,
    layout: &Layout,
    others: u64,
) -> Result<Command, String> {
    let program = &run.program;
    let isolation = run.isolation;
    let failed = |what: &str, error: &dyn std::fmt::Display| format!("cannot {what}: {error}");
    ends.become_streams()
        .map_err(|error| failed("set up its streams", &error))?;
    setsid().map_err(|error| failed("make a session", &error))?;
    umask(Mode::from_raw_mode(0o077));
    sys::reset_signals();
    limit(&program.limits, others).map_err(|error| failed("set limits", &error))?;
    sys::close_descriptors_on_exec().map_err(|error| failed("close descriptors", &error))?;
    Identity::reaches(program)?;
    // What wraps it goes there again, inside.
    enter_directory(program, layout)?;
    let wrapped = wrapper(program, isolation, layout, ends)?;
    if wrapped.is_none() {
        // What wraps it may need privileges that its file gives, and gives up all of them.
        #[cfg(target_os = "linux")]
        rustix::thread::set_no_new_privs(true)
            .map_err(|error| failed("give up privileges", &error))?;
    }
    #[cfg(target_os = "linux")]
    match isolation {
        Isolation::Namespaces => {
            if program.network {
                landlock::close_abstract_sockets()?;
            }
            filter::restrict(Filter::of(program, Sockets::Ordinary))?;
        }
        Isolation::Landlock => {
            landlock::restrict(program, layout)?;
            let sockets = if program.network {
                Sockets::Internet
            } else {
                Sockets::None
            };
            filter::restrict(Filter::of(program, sockets))?;
        }
        Isolation::Bubblewrap | Isolation::Weak => {}
    }
    let runner = &program.runner;
    let (mut command, inside) = match wrapped {
        Some((mut command, inside)) => {
            command.arg(&runner.program);
            (command, inside)
        }
        None => (Command::new(&runner.program), layout.clone()),
    };
    let script = inside.files.join(&program.script);
    command.args(&runner.args).arg(script).env_clear();
    command.envs(view::environment(program, &inside, &run.id));
    Ok(command)
}

/// The command that wraps the program, and where the program finds its things inside, if its
/// isolation is that of another program.
#[cfg(target_os = "linux")]
fn wrapper(
    program: &Program,
    isolation: Isolation,
    layout: &Layout,
    ends: &Ends,
) -> Result<Option<(Command, Layout)>, String> {
    if isolation != Isolation::Bubblewrap {
        return Ok(None);
    }
    let wrapped = bubblewrap::wrap(program, layout, ends.report.as_fd())?;
    Ok(Some((wrapped, bubblewrap::layout())))
}

#[cfg(not(target_os = "linux"))]
fn wrapper(
    _: &Program,
    _: Isolation,
    _: &Layout,
    _: &Ends,
) -> Result<Option<(Command, Layout)>, String> {
    Ok(None)
}

/// Sets what the program may use. `others` is the number of tasks of its user that count against
/// its own.
fn limit(limits: &Limits, others: u64) -> rustix::io::Result<()> {
    // Both are a year at most.
    let seconds = limits.time.as_secs() + limits.grace.as_secs() + CPU_MARGIN;
    let rows = [
        (Resource::Core, 0),
        (Resource::Cpu, seconds),
        (Resource::Data, limits.memory_bytes),
        (Resource::Fsize, limits.file_bytes),
        (Resource::Nofile, limits.open_files),
        (Resource::Nproc, limits.processes.saturating_add(others)),
    ];
    for (resource, most) in rows {
        // The server's own limit may be lower, and cannot be raised.
        let allowed = rustix::process::getrlimit(resource).maximum;
        let most = Some(allowed.map_or(most, |it| it.min(most)));
        setrlimit(
            resource,
            Rlimit {
                current: most,
                maximum: most,
            },
        )?;
    }
    Ok(())
}

/// The number of processes and threads of a user, which all count against one limit.
fn tasks_of(uid: u32) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let entries = std::fs::read_dir("/proc").into_iter().flatten();
    let tasks = entries.map_while(Result::ok).filter_map(|it| {
        let tasks = std::fs::metadata(it.path().join("task")).ok()?;
        // Its links are `.`, `..` and one for each thread.
        (tasks.uid() == uid).then(|| tasks.nlink().saturating_sub(2))
    });
    tasks.sum()
}

/// Goes to the directory that the program starts in, which must lie in one that it may read.
fn enter_directory(program: &Program, layout: &Layout) -> Result<(), String> {
    let Some(directory) = &program.directory else {
        let entered = rustix::process::chdir(&layout.scratch);
        return entered.map_err(|error| format!("cannot enter the scratch directory: {error}"));
    };
    let failed =
        |error: rustix::io::Errno| format!("cannot enter {}: {error}", directory.display());
    let mut roots = program.readable.iter().chain(&program.writable);
    let Some(root) = roots.find(|it| directory.starts_with(it)) else {
        return Err(format!(
            "{} lies in no directory that scripts may read",
            directory.display()
        ));
    };
    let rest = directory.strip_prefix(root).unwrap_or(Path::new(""));
    let flags = ONLY_TO_ENTER | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = openat(CWD, root, flags, Mode::empty()).map_err(failed)?;
    let opened = open_beneath(opened, rest, flags).map_err(failed)?;
    fchdir(opened).map_err(failed)
}

/// Opens what lies below a directory. A link may lead on inside, and not out.
#[cfg(target_os = "linux")]
fn open_beneath(root: OwnedFd, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};
    if path.as_os_str().is_empty() {
        return Ok(root);
    }
    openat2(root, path, flags, Mode::empty(), ResolveFlags::BENEATH)
}

/// Elsewhere no link is followed.
#[cfg(not(target_os = "linux"))]
fn open_beneath(root: OwnedFd, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    path.iter().try_fold(root, |opened, part| {
        openat(opened, part, flags | OFlags::NOFOLLOW, Mode::empty())
    })
}

/// How to open a directory that is only entered, which needs no right to list it.
#[cfg(target_os = "linux")]
const ONLY_TO_ENTER: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const ONLY_TO_ENTER: OFlags = OFlags::RDONLY;

/// Has this process killed when the supervisor ends.
#[cfg(target_os = "linux")]
pub(super) fn follow_supervisor() -> Result<(), String> {
    use rustix::process::{Signal, set_parent_process_death_signal};
    let followed = set_parent_process_death_signal(Some(Signal::KILL));
    followed.map_err(|error| format!("cannot follow the supervisor: {error}"))
}

/// Elsewhere the keeper finds it.
#[cfg(not(target_os = "linux"))]
pub(super) fn follow_supervisor() -> Result<(), String> {
    Ok(())
}

impl Ends {
    /// Makes them stdin, stdout and stderr.
    fn become_streams(&self) -> rustix::io::Result<()> {
        rustix::stdio::dup2_stdin(&self.stdin)?;
        rustix::stdio::dup2_stdout(&self.stdout)?;
        rustix::stdio::dup2_stderr(&self.stderr)
    }

    /// Fails if the supervisor was killed before this process could follow it.
    fn are_read(&self) -> Result<(), String> {
        let mut report = [PollFd::new(&self.report, PollFlags::empty())];
        let polled = poll(&mut report, Some(&Timespec::default()));
        if polled.is_ok() && report[0].revents().contains(PollFlags::ERR) {
            return Err("the supervisor has ended".to_owned());
        }
        Ok(())
    }

    fn report(&self, report: &Report) {
        // If the supervisor is gone, there is no reader.
        let _ = (&self.report).write_all(&report.encode());
    }
}

/// Lets go of stdin, stdout and stderr.
#[cfg(target_os = "linux")]
fn become_silent() -> std::io::Result<()> {
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    Ok(rustix::stdio::dup2_stderr(&nothing)?)
}

impl Report {
    fn encode(&self) -> Vec<u8> {
        match self {
            // The first process of a namespace reports after its child.
            Self::Failed(reason) => [b"f", reason.as_bytes(), b"\0"].concat(),
            // The words of bubblewrap.
            Self::Wrapped => b"{ \"exit-code\"".to_vec(),
            Self::Ended(status, alive) => {
                [&b"e"[..], &status.to_ne_bytes(), &alive.to_ne_bytes()].concat()
            }
        }
    }

    /// Reads a report; `None` if there was none, as of a program that runs outside of namespaces.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        match bytes.split_first()? {
            (b'f', rest) => {
                let reason = rest.split(|it| *it == 0).next().unwrap_or(rest);
                Some(Self::Failed(String::from_utf8_lossy(reason).into_owned()))
            }
            (b'e', rest) => {
                let (status, alive) = rest.split_first_chunk()?;
                let alive = alive.first_chunk()?;
                let status = i32::from_ne_bytes(*status);
                Some(Self::Ended(status, u32::from_ne_bytes(*alive)))
            }
            // Objects of JSON; the last one is there if the program could be executed.
            (b'{', rest) => {
                let word = b"\"exit-code\"";
                let has_ended = rest.windows(word.len()).any(|it| it == word);
                has_ended.then_some(Self::Wrapped)
            }
            _ => None,
        }
    }
}
