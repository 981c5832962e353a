//! The process between the caller and a program. It has one thread, which waits for whatever
//! happens next: output, the end of the program, the end of its time, a command of the caller, or
//! the end of the caller.

mod capture;
mod cgroup;
mod keeper;
mod staging;
mod start;
mod tree;
mod view;

#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod probe;

#[cfg(not(target_os = "linux"))]
#[path = "supervisor/probe/portable.rs"]
mod probe;

use std::collections::VecDeque;
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::message::{self, CANCEL, KILL, Request, RunRequest, Tag};
use crate::{Captured, Isolation, Outcome, Program, Stopped};
use capture::{Capture, last_line};
use keeper::Role;
use start::{Report, Started, start};

pub(crate) use staging::random_id;
pub(crate) use view::{Identity, mark};

/// By how much the supervisor and the program are nicer than the caller: they get a tenth of the
/// processor time that the caller gets if both want it.
const NICE: i32 = 10;

/// How often the last line of output is reported.
const TICK: Duration = Duration::from_secs(1);

/// How long to read on after everything has ended: a process that was handed a stream through a
/// socket may hold it.
const DRAIN: Duration = Duration::from_millis(500);

/// Between a request to end and the end, if the caller is gone: it cannot wait for a result.
const ABANDONED: Duration = Duration::from_millis(500);

/// How often to look for the end of a program if the system cannot report it.
const LOOK: Duration = Duration::from_millis(20);

/// Bytes per read; a pipe holds as many.
const READ: usize = 64 * 1024;

/// The most that is kept of a stream, in place of any more: both must fit into a frame.
const MOST_OUTPUT: usize = 256 << 20;

/// The longest time that can be given, in place of any longer one: a year.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Output that waits for the caller. Beyond it the program waits, too.
const MOST_WAITING: usize = 256 * 1024;

/// What a program writes, and what is kept of it.
struct Stream {
    pipe: Option<PipeReader>,
    capture: Capture,
    tag: Tag,
}

/// A program that runs.
struct Supervision {
    run: RunRequest,
    started: Started,
    streams: [Stream; 2],
    stdin: Option<(OwnedFd, VecDeque<u8>)>,
    /// Where commands come from; `None` once the caller is gone.
    commands: Option<OwnedFd>,
    /// Ends with the keeper; `None` once it is gone.
    keeper: Option<PipeReader>,
    caller: Caller,
    begin: Instant,
    /// When the program will be asked to end.
    deadline: Instant,
    /// When it will be killed, once it has been asked to end.
    kill_at: Option<Instant>,
    stopped: Option<Stopped>,
    /// The status of the first process below this one, as `wait` has it, once it has ended.
    ended: Option<i32>,
    killed: u32,
    /// The stream that was written to last, since the last report.
    written: Option<usize>,
    tick: Instant,
    is_caller_stopped: bool,
}

/// The way to the caller, which may be slow.
struct Caller {
    out: OwnedFd,
    waiting: VecDeque<u8>,
    is_gone: bool,
}

/// Reads a request from stdin, serves it, and answers on stdout.
pub(crate) fn run() -> ExitCode {
    serve().unwrap_or_else(|error| {
        complain(&format!("the supervisor of a script failed: {error}"));
        ExitCode::FAILURE
    })
}

/// Says what no frame can say any more, on the stderr of the caller, if that still is there.
fn complain(message: &str) {
    let _ = writeln!(io::stderr(), "{message}");
}

fn serve() -> io::Result<ExitCode> {
    // Whatever the caller has inherited and not closed.
    crate::sys::close_descriptors()?;
    // What ends the caller, such as Ctrl-C in its terminal or a service manager, must not end the
    // process that cleans up after it. It will see that the caller is gone.
    crate::sys::ignore_signals();
    // Fails if it has one already.
    let _ = rustix::process::setsid();
    // The caller answers others meanwhile. A system that denies it runs at the usual priority.
    let _ = rustix::process::nice(NICE);
    #[cfg(target_os = "linux")]
    rustix::thread::set_name(c"skill-supervise")?;
    keeper::adopt_orphans()?;
    let input = rustix::stdio::stdin().try_clone_to_owned()?;
    let mut reader = std::fs::File::from(input.try_clone()?);
    match Request::read(&mut reader)? {
        Request::Probe { at_most, all } => {
            let mut frame = Vec::new();
            message::probed(&probe::probe(at_most, all), &mut frame)?;
            Caller::new()?.finish(&frame);
        }
        Request::Run(run) => {
            let keeper = match keeper::keep(&run.id)? {
                Role::Supervisor(keeper) => keeper,
                Role::Kept(code) => return Ok(code),
            };
            match Supervision::start(*run, input, keeper, Caller::new()?) {
                Ok(supervision) => supervision.watch_to_the_end()?,
                Err((error, mut caller)) => {
                    let mut frame = Vec::new();
                    message::frame(Tag::Failed, &[error.as_bytes()], &mut frame);
                    caller.finish(&frame);
                }
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Kills and removes what a supervisor and its keeper have left that were killed themselves.
pub(crate) fn clean_up_after(id: &str) {
    let (name, value) = mark(id);
    tree::kill_marked(&format!("{name}={value}"));
    // There is none unless it ran outside of namespaces.
    let _ = staging::remove(&staging::directory_of(id));
    cgroup::remove(id);
}

/// The environment of a program at a level, in a run with this id.
pub(crate) fn environment(
    program: &Program,
    isolation: Isolation,
    id: &str,
) -> Vec<(String, String)> {
    let layout = match isolation {
        #[cfg(target_os = "linux")]
        Isolation::Namespaces | Isolation::Bubblewrap => namespaces::layout(),
        _ => staging::layout_of(id),
    };
    view::environment(program, &layout, id)
}

impl Supervision {
    fn start(
        mut run: RunRequest,
        commands: OwnedFd,
        keeper: PipeReader,
        caller: Caller,
    ) -> Result<Self, (String, Caller)> {
        let begin = Instant::now();
        let limits = &mut run.program.limits;
        limits.time = limits.time.min(LONGEST);
        limits.grace = limits.grace.min(LONGEST);
        limits.output_bytes = limits.output_bytes.min(MOST_OUTPUT);
        let limits = *limits;
        let script = &run.program.script;
        if !run.program.files.iter().any(|it| it.path == *script) {
            let error = format!("`{script}` is not among the files of the program");
            return Err((error, caller));
        }
        let stdin = run.program.stdin.take();
        let prepared = || -> io::Result<_> {
            let (stdout, writing_stdout) = io::pipe()?;
            let (stderr, writing_stderr) = io::pipe()?;
            let (reading, writing) = match stdin {
                Some(bytes) => {
                    let (reading, writing) = io::pipe()?;
                    let writing = OwnedFd::from(writing);
                    set_nonblocking(writing.as_fd())?;
                    (reading.into(), Some((writing, bytes.into())))
                }
                None => (std::fs::File::open("/dev/null")?.into(), None),
            };
            for pipe in [stdout.as_fd(), stderr.as_fd()] {
                set_nonblocking(pipe)?;
            }
            let ours = (stdout, stderr, writing);
            Ok((ours, (reading, writing_stdout, writing_stderr)))
        };
        let ((stdout, stderr, stdin), theirs) = match prepared() {
            Ok(prepared) => prepared,
            Err(error) => return Err((format!("cannot make pipes: {error}"), caller)),
        };
        let started = match start(&run, theirs.0, theirs.1, theirs.2) {
            Ok(started) => started,
            Err(error) => return Err((error, caller)),
        };
        // The child has its own.
        run.program.files = Vec::new();
        let stream = |pipe, tag| Stream {
            pipe: Some(pipe),
            capture: Capture::new(limits.output_bytes),
            tag,
        };
        Ok(Self {
            run,
            started,
            streams: [stream(stdout, Tag::Stdout), stream(stderr, Tag::Stderr)],
            stdin,
            commands: Some(commands),
            keeper: Some(keeper),
            caller,
            begin,
            deadline: begin + limits.time,
            kill_at: None,
            stopped: None,
            ended: None,
            killed: 0,
            written: None,
            tick: begin + TICK,
            is_caller_stopped: false,
        })
    }

    /// Runs until the program and everything that it has started has ended, and reports.
    fn watch_to_the_end(mut self) -> io::Result<()> {
        let leader = self.started.tree.leader();
        let pidfd = watch(leader);
        while self.ended.is_none() {
            let now = Instant::now();
            if let Some(kill_at) = self.kill_at {
                if now >= kill_at {
                    break;
                }
            } else if now >= self.deadline {
                self.terminate(Stopped::TimedOut, self.run.program.limits.grace);
            }
            self.tick(now);
            let next = self.kill_at.unwrap_or(self.deadline).min(self.tick);
            let mut patience = next.saturating_duration_since(now);
            if pidfd.is_none() {
                patience = patience.min(LOOK);
            }
            self.wait(pidfd.as_ref().map(AsFd::as_fd), patience)?;
            self.ended = self.started.tree.reap();
        }
        self.killed = self.started.tree.kill();
        self.ended = self.ended.or_else(|| self.started.tree.reap());
        let duration = self.begin.elapsed();
        self.drain();
        self.finish(duration)
    }

    /// Asks everything to end, and sets the time of the end.
    fn terminate(&mut self, why: Stopped, grace: Duration) {
        self.stopped.get_or_insert(why);
        let kill_at = Instant::now() + grace;
        self.kill_at = Some(self.kill_at.map_or(kill_at, |it| it.min(kill_at)));
        self.started.tree.terminate();
    }

    /// Waits until something happens, and takes part in it.
    fn wait(&mut self, end: Option<BorrowedFd<'_>>, patience: Duration) -> io::Result<()> {
        // Once all has ended, what waits in the pipes is not much.
        let may_read = self.ended.is_some() || self.caller.waiting.len() < MOST_WAITING;
        let mut watched = Vec::with_capacity(7);
        let mut watch = |fd, flags| {
            watched.push(PollFd::from_borrowed_fd(fd, flags));
            watched.len() - 1
        };
        let commands = self.commands.as_ref().map(AsFd::as_fd);
        let commands = commands.map(|fd| watch(fd, PollFlags::IN));
        let keeper = self.keeper.as_ref().map(AsFd::as_fd);
        let keeper = keeper.map(|fd| watch(fd, PollFlags::IN));
        let streams = self.streams.each_ref().map(|stream| {
            let pipe = stream.pipe.as_ref().filter(|_| may_read)?;
            Some(watch(pipe.as_fd(), PollFlags::IN))
        });
        let stdin = self.stdin.as_ref().map(|it| it.0.as_fd());
        let stdin = stdin.map(|fd| watch(fd, PollFlags::OUT));
        let has_waiting = !self.caller.waiting.is_empty() && !self.caller.is_gone;
        let out = has_waiting.then(|| watch(self.caller.out.as_fd(), PollFlags::OUT));
        if let Some(end) = end {
            watch(end, PollFlags::IN);
        }
        let patience = Timespec::try_from(patience).map_err(|_| io::ErrorKind::InvalidInput)?;
        match poll(&mut watched, Some(&patience)) {
            Err(rustix::io::Errno::INTR) | Ok(0) => return Ok(()),
            Err(error) => return Err(error.into()),
            Ok(_) => {}
        }
        let happened: Vec<bool> = watched.iter().map(|it| !it.revents().is_empty()).collect();
        let happened = |at: Option<usize>| at.is_some_and(|at| happened[at]);
        if happened(commands) {
            self.obey();
        }
        if happened(keeper) {
            self.keeper = None;
            self.abandon();
        }
        for (at, watched) in streams.into_iter().enumerate() {
            if happened(watched) {
                self.read(at);
            }
        }
        if happened(stdin) {
            self.feed();
        }
        if happened(out) {
            self.caller.flush();
        }
        Ok(())
    }

    /// Takes commands; at their end the caller is gone.
    fn obey(&mut self) {
        let Some(commands) = &self.commands else {
            return;
        };
        let mut bytes = [0; 16];
        let grace = self.run.program.limits.grace;
        match rustix::io::read(commands, &mut bytes) {
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Ok(read) if read > 0 => {
                if bytes[..read].contains(&KILL) {
                    self.terminate(Stopped::Cancelled, Duration::ZERO);
                } else if bytes[..read].contains(&CANCEL) {
                    self.terminate(Stopped::Cancelled, grace);
                }
            }
            Ok(_) | Err(_) => {
                self.commands = None;
                self.abandon();
            }
        }
    }

    /// Ends the program soon, since the caller no longer waits for its result.
    fn abandon(&mut self) {
        let grace = self.run.program.limits.grace;
        self.terminate(Stopped::Cancelled, grace.min(ABANDONED));
    }

    /// Reads what there is of a stream.
    fn read(&mut self, at: usize) {
        let stream = &mut self.streams[at];
        let Some(pipe) = &mut stream.pipe else {
            return;
        };
        let mut bytes = vec![0; READ];
        match pipe.read(&mut bytes) {
            Ok(0) => stream.pipe = None,
            Ok(read) => {
                let bytes = &bytes[..read];
                stream.capture.add(bytes);
                if self.run.program.streams {
                    self.caller.send(stream.tag, bytes);
                } else {
                    self.written = Some(at);
                }
            }
            Err(error) if is_later(&error) => {}
            Err(_) => stream.pipe = None,
        }
    }

    /// Writes what there is room for to the program's stdin.
    fn feed(&mut self) {
        let Some((pipe, bytes)) = &mut self.stdin else {
            return;
        };
        match rustix::io::write(&*pipe, bytes.as_slices().0) {
            Ok(written) => drop(bytes.drain(..written)),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => return,
            // It does not read any more.
            Err(_) => bytes.clear(),
        }
        if bytes.is_empty() {
            self.stdin = None;
        }
    }

    fn tick(&mut self, now: Instant) {
        if now < self.tick {
            return;
        }
        self.tick = now + TICK;
        // Without isolation a script can stop the caller, which then ends nothing any more.
        let is_stopped = self.run.isolation == Isolation::Weak && tree::is_caller_stopped();
        if std::mem::replace(&mut self.is_caller_stopped, is_stopped) && is_stopped {
            self.abandon();
        }
        // A caller that does not read gets the next one.
        let written = self
            .written
            .take()
            .filter(|_| self.caller.waiting.is_empty());
        let end = written.map(|at| self.streams[at].capture.end());
        if let Some(line) = end.as_deref().and_then(last_line) {
            self.caller.send(Tag::LastLine, line);
        }
    }

    /// Reads what was written before the end.
    fn drain(&mut self) {
        let until = Instant::now() + DRAIN;
        while self.streams.iter().any(|it| it.pipe.is_some()) && !self.caller.is_gone {
            let left = until.saturating_duration_since(Instant::now());
            self.commands = None;
            self.stdin = None;
            if left.is_zero() || self.wait(None, left).is_err() {
                break;
            }
        }
    }

    /// Reports how the program has ended.
    fn finish(mut self, duration: Duration) -> io::Result<()> {
        let mut report = Vec::new();
        // All that could write to it have ended, or have become the program.
        self.started.report.read_to_end(&mut report)?;
        let mut status = self.ended;
        let mut frame = Vec::new();
        let report = Report::decode(&report);
        match &report {
            Some(Report::Failed(reason)) => {
                message::frame(Tag::Failed, &[reason.as_bytes()], &mut frame);
                drop(self.started);
                self.caller.finish(&frame);
                return Ok(());
            }
            Some(Report::Ended(ended, alive)) => {
                status = Some(*ended);
                self.killed += alive;
            }
            Some(Report::Wrapped) | None => {}
        }
        let is_wrapped = self.run.isolation == Isolation::Bubblewrap;
        let has_failed = is_wrapped && report != Some(Report::Wrapped);
        let [stdout, stderr] = self.streams.map(|it| it.capture.finish());
        if has_failed && status.and_then(exit_code).is_some() {
            // It has said why instead of the program.
            let reason = stderr.head.trim_ascii();
            message::frame(Tag::Failed, &[reason], &mut frame);
            drop(self.started);
            self.caller.finish(&frame);
            return Ok(());
        }
        let streams = self.run.program.streams;
        let kept = |it: Captured| {
            if streams {
                // The caller has had it.
                Captured {
                    total: it.total,
                    ..Captured::default()
                }
            } else {
                it
            }
        };
        let outcome = Outcome {
            exit_code: status.and_then(exit_code),
            signal: status.and_then(signal),
            stopped: self.stopped,
            stdout: kept(stdout),
            stderr: kept(stderr),
            duration,
            cpu: crate::sys::children_cpu(),
            isolation: self.run.isolation,
            killed: self.killed,
        };
        message::finished(&outcome, &mut frame)?;
        // First, so that nothing is left when the caller knows the end.
        drop(self.started);
        self.caller.finish(&frame);
        Ok(())
    }
}

impl Caller {
    fn new() -> io::Result<Self> {
        let out = rustix::stdio::stdout().try_clone_to_owned()?;
        set_nonblocking(out.as_fd())?;
        Ok(Self {
            out,
            waiting: VecDeque::new(),
            is_gone: false,
        })
    }

    fn send(&mut self, tag: Tag, bytes: &[u8]) {
        let mut frame = Vec::with_capacity(bytes.len() + 5);
        message::frame(tag, &[bytes], &mut frame);
        self.waiting.extend(frame);
        self.flush();
    }

    /// Writes what there is room for.
    fn flush(&mut self) {
        while !self.waiting.is_empty() && !self.is_gone {
            match rustix::io::write(&self.out, self.waiting.as_slices().0) {
                Ok(written) => drop(self.waiting.drain(..written)),
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return,
                // Its end of commands says the same.
                Err(_) => self.is_gone = true,
            }
        }
    }

    /// Writes all of it, and a last frame.
    fn finish(&mut self, frame: &[u8]) {
        self.waiting.extend(frame);
        self.flush();
        while !self.waiting.is_empty() && !self.is_gone {
            let mut writable = [PollFd::from_borrowed_fd(self.out.as_fd(), PollFlags::OUT)];
            // Interrupted or not, the next write shows.
            let _ = poll(&mut writable, None);
            self.flush();
        }
    }
}

/// The exit code in a status.
fn exit_code(status: i32) -> Option<i32> {
    libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status))
}

/// The signal in a status.
fn signal(status: i32) -> Option<i32> {
    libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status))
}

fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    let flags = fcntl_getfl(fd)?;
    Ok(fcntl_setfl(fd, flags | OFlags::NONBLOCK)?)
}

fn is_later(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// A descriptor that shows when a process ends; `None` if the system has none.
#[cfg(target_os = "linux")]
fn watch(process: rustix::process::Pid) -> Option<OwnedFd> {
    use rustix::process::{PidfdFlags, pidfd_open};
    pidfd_open(process, PidfdFlags::empty()).ok()
}

#[cfg(not(target_os = "linux"))]
fn watch(_: rustix::process::Pid) -> Option<OwnedFd> {
    None
}
