//! A program at the other end of two pipes, line by line: what a session with a
//! server and the benchmarks both stand on. It knows no JSON.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a line may take before the test gives up. It only ends a hang: no
/// test asserts how long anything takes.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A running program and the pipes to it. Dropping it ends the program.
pub struct Client {
    started: Instant,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Lines,
    stderr: Arc<Mutex<Vec<u8>>>,
    stderr_reader: Option<JoinHandle<()>>,
    /// What the caller waits for, if the message about a time-out should say more.
    pub waits_for: String,
}

/// How lines of stdout are read.
enum Lines {
    /// By a thread: the program never has to wait for a test that is writing.
    Thread(LineReader),
    /// By the caller, so that no thread disturbs a measurement.
    Inline(BufReader<ChildStdout>),
}

/// Lines that a thread reads as they come.
pub struct LineReader(Receiver<Vec<u8>>);

impl LineReader {
    /// Reads until the end.
    pub fn start(from: impl Read + Send + 'static) -> Self {
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::with_capacity(1 << 20, from);
            loop {
                let mut line = Vec::new();
                match reader.read_until(b'\n', &mut line) {
                    Ok(1..) if sender.send(line).is_ok() => {}
                    _ => return,
                }
            }
        });
        Self(lines)
    }

    /// The next line with its line end, or `None` at the end. Fails if it takes too long.
    pub fn line(&self) -> Result<Option<Vec<u8>>, RecvTimeoutError> {
        match self.0.recv_timeout(PATIENCE) {
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            line => line.map(Some),
        }
    }
}

impl Client {
    /// Starts a program; a thread reads what it writes.
    pub fn start(command: Command) -> Self {
        Self::start_reading(command, Duration::ZERO)
    }

    /// The same, with a pause before each read, so that the pipe fills up and the
    /// program has to wait for room.
    pub fn start_slow(command: Command) -> Self {
        Self::start_reading(command, Duration::from_millis(20))
    }

    /// The same, but only calls of [`Client::line`] read stdout.
    pub fn start_inline(mut command: Command) -> Self {
        command.stderr(Stdio::piped());
        let mut client = Self::start_measured(command);
        client.read_stderr();
        client
    }

    /// Starts a program to be measured: without threads, and without stderr unless
    /// the command pipes it.
    pub fn start_measured(mut command: Command) -> Self {
        let started = Instant::now();
        let mut child = spawn(&mut command);
        let stdout = child.stdout.take().expect("stdout is piped");
        let lines = Lines::Inline(BufReader::with_capacity(64 * 1024, stdout));
        Self::new(started, child, lines)
    }

    fn start_reading(mut command: Command, pause: Duration) -> Self {
        let started = Instant::now();
        let mut child = spawn(command.stderr(Stdio::piped()));
        let from = child.stdout.take().expect("stdout is piped");
        let lines = LineReader::start(SlowReader { from, pause });
        let mut client = Self::new(started, child, Lines::Thread(lines));
        client.read_stderr();
        client
    }

    /// Collects stderr in a thread, so that the program can always write it.
    fn read_stderr(&mut self) {
        let mut errors = self.child.stderr.take().expect("stderr is piped");
        let sink = Arc::clone(&self.stderr);
        self.stderr_reader = Some(std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = errors.read(&mut buffer) {
                let mut sink = sink.lock().expect("no reader panics");
                sink.extend_from_slice(&buffer[..n]);
            }
        }));
    }

    fn new(started: Instant, mut child: Child, lines: Lines) -> Self {
        Self {
            started,
            stdin: child.stdin.take(),
            child,
            lines,
            stderr: Arc::default(),
            stderr_reader: None,
            waits_for: String::new(),
        }
    }

    /// Sends bytes as they are; the caller ends the line.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("stdin is still open");
        if let Err(e) = stdin.write_all(bytes).and_then(|()| stdin.flush()) {
            panic!("the server does not read: {e}\n{}", self.stderr_so_far());
        }
    }

    /// Sends text from a thread of its own.
    #[cfg(unix)]
    pub fn send_aside(&mut self, text: impl Into<Vec<u8>>) -> JoinHandle<()> {
        let bytes = text.into();
        let mut stdin = self.second_stdin();
        std::thread::spawn(move || stdin.write_all(&bytes).expect("the server reads"))
    }

    /// A second handle on stdin; the program sees its end once both are closed.
    #[cfg(unix)]
    pub fn second_stdin(&self) -> std::fs::File {
        use std::os::fd::AsFd;
        let stdin = self.stdin.as_ref().expect("stdin is still open");
        let stdin = stdin.as_fd().try_clone_to_owned();
        stdin.expect("a pipe can be duplicated").into()
    }

    /// The next line of stdout with its line end, or `None` at the end.
    pub fn line(&mut self) -> Option<Vec<u8>> {
        match &mut self.lines {
            Lines::Inline(reader) => {
                let mut line = Vec::new();
                let read = reader.read_until(b'\n', &mut line);
                (read.expect("stdout can be read") > 0).then_some(line)
            }
            Lines::Thread(lines) => lines.line().unwrap_or_else(|_| {
                panic!(
                    "no answer in {PATIENCE:?} {}\n{}",
                    self.waits_for,
                    self.stderr_so_far()
                )
            }),
        }
    }

    /// Closes stdin: the client is gone.
    pub fn close(&mut self) {
        drop(self.stdin.take());
    }

    /// Closes stdout of an inline client: whatever the program writes from now on
    /// fails.
    pub fn close_stdout(&mut self) {
        self.lines = Lines::Thread(LineReader(channel().1));
    }

    /// Waits for the process to end.
    pub fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        let status = loop {
            match self.child.try_wait().expect("a child can be waited for") {
                Some(status) => break status,
                None if start.elapsed() > PATIENCE => {
                    panic!("the server does not end\n{}", self.stderr_so_far())
                }
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        if let Some(reader) = self.stderr_reader.take() {
            reader.join().expect("the reader of stderr does not panic");
        }
        status
    }

    /// What the program has written to stderr until now.
    pub fn stderr_so_far(&self) -> String {
        String::from_utf8_lossy(&self.stderr.lock().expect("no reader panics")).into_owned()
    }

    /// Time since just before the process was started.
    pub fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Resident memory in KiB: all of it, and the part that no file backs. `None`
    /// on systems without `/proc/PID/status`.
    pub fn resident(&self) -> Option<(u64, u64)> {
        Some((self.status("VmRSS")?, self.status("RssAnon")?))
    }

    /// A figure of `/proc/PID/status` in KiB, by its name.
    pub fn memory(&self, name: &str) -> u64 {
        self.status(name).expect("this system has /proc/PID/status")
    }

    fn status(&self, name: &str) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).ok()?;
        let mut lines = status.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        value.split_whitespace().next()?.parse().ok()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Only this child, by its own handle; an error means that it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(command: &mut Command) -> Child {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let child = piped.spawn();
    child.unwrap_or_else(|e| panic!("start {}: {e}", command.get_program().display()))
}

/// A reader that pauses before each read.
struct SlowReader<R> {
    from: R,
    pause: Duration,
}

impl<R: Read> Read for SlowReader<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        std::thread::sleep(self.pause);
        self.from.read(into)
    }
}
