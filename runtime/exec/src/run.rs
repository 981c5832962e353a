//! The caller's side: starts a supervisor, hands it the program, and waits for the outcome.

use std::env;
use std::io::{BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::message::{self, CANCEL, KILL, Request, Tag};
use crate::supervisor::random_id;
use crate::{Availability, Error, Event, Isolation, Outcome, Program, SUPERVISE, supervisor};

/// What a supervisor may take beside the time of its program, and to end. It takes a moment; one that
/// takes longer was stopped, as a script of the same user can without isolation.
const MOMENT: Duration = Duration::from_secs(10);

/// How long to listen at least, since what it has said may have waited for us.
const LEAST: Duration = Duration::from_secs(2);

/// Starts programs, at the strongest isolation there is. What that is, is found out when the first
/// one starts. Clones share it.
#[derive(Debug, Clone)]
pub struct Executor {
    at_most: Isolation,
    at_least: Isolation,
    found: Arc<OnceLock<Vec<Availability>>>,
}

/// A program that runs. Dropping it kills the program and everything it has started.
#[derive(Debug)]
pub struct Run {
    supervisor: Supervisor,
    /// See [`RunRequest::id`](crate::message::RunRequest).
    id: String,
    /// When it will have ended, unless its supervisor was stopped.
    until: Instant,
    control: Canceller,
}

/// Ends a run from elsewhere.
#[derive(Debug, Clone)]
pub struct Canceller(Arc<Mutex<Option<ChildStdin>>>);

/// The process of a supervisor. It is waited for when dropped.
#[derive(Debug)]
struct Supervisor {
    process: Child,
    /// What it says; `None` once the caller has stopped listening.
    frames: Option<BufReader<ChildStdout>>,
}

/// Makes this process a supervisor if it was started as one, and returns its exit code when it is
/// done. To be called first thing in `main` of every program that uses [`Executor`].
pub fn supervise_if_asked() -> Option<ExitCode> {
    let mut words = env::args_os().skip(1);
    let is_asked = words.next().is_some_and(|it| it == SUPERVISE) && words.next().is_none();
    is_asked.then(supervisor::run)
}

impl Executor {
    /// Takes the strongest level that is tried, and the weakest that is allowed.
    pub fn new(at_most: Isolation, at_least: Isolation) -> Self {
        Self {
            at_most,
            at_least,
            found: Arc::default(),
        }
    }

    /// Whether each level can be had on this system, the strongest first.
    pub fn survey() -> Result<Vec<Availability>, Error> {
        probe(Isolation::Namespaces, true)
    }

    /// The isolation that programs get.
    pub fn isolation(&self) -> Result<Isolation, Error> {
        if self.found.get().is_none() {
            let found = probe(self.at_most, false)?;
            // Another thread may have found the same.
            let _ = self.found.set(found);
        }
        let found = self.found.get().map_or(&[][..], Vec::as_slice);
        let best = found.iter().find(|it| it.missing.is_none());
        if let Some(best) = best.filter(|it| it.isolation >= self.at_least) {
            return Ok(best.isolation);
        }
        let reasons = found.iter().filter(|it| it.isolation >= self.at_least);
        let reasons =
            reasons.filter_map(|it| Some(format!("{}: {}", it.isolation, it.missing.as_ref()?)));
        let reasons: Vec<String> = reasons.collect();
        Err(Error::TooWeak {
            required: self.at_least,
            offered: best.map_or("none", |it| it.isolation.as_str()).to_owned(),
            reason: if reasons.is_empty() {
                format!("no level above `{}` is tried", self.at_most)
            } else {
                reasons.join("; ")
            },
        })
    }

    /// Starts a program.
    pub fn start(&self, program: Program) -> Result<Run, Error> {
        let isolation = self.isolation()?;
        let id = random_id()?;
        let longest = program.limits.time.saturating_add(program.limits.grace);
        let (request, bytes) = Request::run(program, isolation, id.clone());
        let (supervisor, mut input) = Supervisor::start(Some(&id))?;
        let written = request.write(&mut input).and_then(|()| {
            bytes.iter().try_for_each(|it| input.write_all(it))?;
            input.flush()
        });
        match written {
            // A supervisor that ends early says why in a frame.
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(Run {
                supervisor,
                id,
                until: after(longest.saturating_add(MOMENT)),
                control: Canceller(Arc::new(Mutex::new(Some(input)))),
            }),
        }
    }
}

impl Run {
    /// A handle that ends this run.
    pub fn canceller(&self) -> Canceller {
        self.control.clone()
    }

    /// Waits for the end of the program and of everything it has started, and reports what happens
    /// meanwhile.
    pub fn wait(mut self, mut on_event: impl FnMut(Event<'_>)) -> Result<Outcome, Error> {
        let lost = |_| Error::SupervisorLost;
        loop {
            if !self.supervisor.speaks(self.until) {
                return Err(Error::SupervisorLost);
            }
            let Ok(Some((tag, payload))) = self.supervisor.read_frame() else {
                return Err(Error::SupervisorLost);
            };
            match tag {
                Tag::LastLine => on_event(Event::LastLine(&String::from_utf8_lossy(&payload))),
                Tag::Stdout => on_event(Event::Stdout(&payload)),
                Tag::Stderr => on_event(Event::Stderr(&payload)),
                Tag::Finished => return message::read_finished(&payload).map_err(lost),
                Tag::Failed => {
                    let message = String::from_utf8_lossy(&payload);
                    return Err(Error::Start(message.into_owned()));
                }
                Tag::Probed => return Err(Error::SupervisorLost),
            }
        }
    }
}

impl Canceller {
    /// Asks the program to end, and kills it when its grace is over.
    pub fn cancel(&self) {
        if let Some(control) = &mut *self.control() {
            // It may have ended by itself.
            let _ = control.write_all(&[CANCEL]);
        }
    }

    /// Kills the program without grace.
    pub fn kill(&self) {
        if let Some(mut control) = self.control().take() {
            // It may have ended by itself.
            let _ = control.write_all(&[KILL]);
        }
    }

    fn control(&self) -> std::sync::MutexGuard<'_, Option<ChildStdin>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.control.kill();
        if !self.supervisor.end() {
            supervisor::clean_up_after(&self.id);
        }
    }
}

impl Supervisor {
    /// Starts one for the run with this id, by which it can be found.
    fn start(id: Option<&str>) -> Result<(Self, ChildStdin), Error> {
        let (program, argument) = crate::supervisor_program();
        let mut process = Command::new(program)
            .arg(argument)
            .env_clear()
            .envs(id.map(supervisor::mark))
            .env("TMPDIR", std::path::absolute(env::temp_dir())?)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = process.stdin.take().expect("it is a pipe");
        let output = process.stdout.take().expect("it is a pipe");
        let frames = Some(BufReader::new(output));
        Ok((Self { process, frames }, input))
    }

    fn read_frame(&mut self) -> std::io::Result<Option<(Tag, Vec<u8>)>> {
        match &mut self.frames {
            Some(frames) => message::read_frame(frames),
            None => Ok(None),
        }
    }

    /// Waits until there is a frame, or the end of all. `false` if neither comes in time.
    fn speaks(&self, until: Instant) -> bool {
        let Some(frames) = self.frames.as_ref().filter(|it| it.buffer().is_empty()) else {
            return true;
        };
        loop {
            let left = until.saturating_duration_since(Instant::now()).max(LEAST);
            let left = Timespec::try_from(left).ok();
            let mut heard = [PollFd::new(frames.get_ref(), PollFlags::IN)];
            match poll(&mut heard, left.as_ref()) {
                Err(rustix::io::Errno::INTR) => {}
                found => return found.is_ok_and(|ready| ready > 0),
            }
        }
    }

    /// Waits for its end, which comes by itself once its input has ended. Returns whether it has
    /// cleaned up.
    fn end(&mut self) -> bool {
        let until = after(MOMENT);
        // What it still says holds it up no longer than it is read.
        while self.frames.is_some() {
            if !self.speaks(until) {
                // Stopped; what it has left is found by its mark.
                let _ = self.process.kill();
                self.frames = None;
            } else if !matches!(self.read_frame(), Ok(Some(_))) {
                self.frames = None;
            }
        }
        self.process.wait().is_ok_and(|it| it.success())
    }
}

fn probe(at_most: Isolation, all: bool) -> Result<Vec<Availability>, Error> {
    let (mut supervisor, mut input) = Supervisor::start(None)?;
    Request::Probe { at_most, all }.write(&mut input)?;
    let answer = supervisor.read_frame();
    drop(input);
    supervisor.end();
    match answer? {
        Some((Tag::Probed, payload)) => {
            Ok(serde_json::from_slice(&payload).map_err(std::io::Error::from)?)
        }
        _ => Err(Error::SupervisorLost),
    }
}

/// The time after this one, or in a year if that is not as far.
fn after(duration: Duration) -> Instant {
    let year = Duration::from_secs(365 * 24 * 60 * 60);
    Instant::now() + duration.min(year)
}
