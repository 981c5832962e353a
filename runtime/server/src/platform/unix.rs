//! stdin and stdout on Unix: awaited by readiness and never blocked on if the system allows it, so
//! that one thread can serve, time out and stop at once. Pipes, sockets (hosts written for Node use
//! these), terminals and files all work.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, OFlags, fstat};
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::{Pid, getppid};
use signal_hook::consts::{SIGINT, SIGTERM};
use tokio::io::Interest;
use tokio::io::unix::{AsyncFd, AsyncFdRegisterError};
use tokio::time::sleep;

/// Bytes per read. A pipe holds 64 KiB, requests are far smaller.
const READ: usize = 64 * 1024;

/// A parent that ends earlier than this has only launched the server, like a shell that starts it
/// in the background, and is not the host.
const LAUNCH: Duration = Duration::from_secs(5);

/// How often the parent is looked up if the system cannot report its end.
const PARENT_LOOKUP: Duration = Duration::from_secs(5);

/// Where requests come from.
pub(crate) struct Input(Watched);

/// Where replies go.
pub(crate) struct Output {
    fd: Watched,
    /// The same, watched for the end of its reader. Readiness is edge-triggered, and clearing it
    /// clears it for all: shared with `fd`, a reply could wait forever for room that had already
    /// been announced.
    end: Watched,
    how: Write,
}

/// A descriptor that readiness can be awaited on, unless its kind has none.
enum Watched {
    Polled(AsyncFd<OwnedFd>),
    /// A regular file: always ready, and the system offers no readiness for it.
    Plain(OwnedFd),
}

/// How to write without waiting for the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Write {
    /// An open file description of our own, set not to block.
    Own,
    /// A socket: each call can ask not to block.
    Socket,
    /// Neither: a call waits until the reader has made room.
    Waiting,
}

/// Takes stdin and stdout for the protocol. From here on file descriptor 1 leads to stderr, so that
/// nothing a dependency or a child prints can be taken for a reply. Must be called inside the
/// runtime.
pub(crate) fn claim_stdio() -> io::Result<(Input, Output)> {
    let input = Input::new(rustix::stdio::stdin().try_clone_to_owned()?)?;
    let output = Output::new(rustix::stdio::stdout())?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok((input, output))
}

/// Waits until the process is asked to stop (SIGTERM, SIGINT). Not by tokio, which allocates a slot
/// for every signal there is when its runtime starts.
pub(crate) async fn asked_to_stop() -> io::Result<()> {
    let (asked, asking) = io::pipe()?;
    for signal in [SIGTERM, SIGINT] {
        signal_hook::low_level::pipe::register(signal, asking.try_clone()?)?;
    }
    match Watched::new(asked.into(), Interest::READABLE)? {
        Watched::Polled(asked) => asked.readable().await.map(drop),
        Watched::Plain(_) => std::future::pending().await,
    }
}

/// Waits until the process that started this one is gone; forever if it was only a launcher. Not by
/// `PR_SET_PDEATHSIG`, which reports the end of the thread that started us.
pub(crate) async fn parent_gone() {
    let parent = getppid();
    sleep(LAUNCH).await;
    let Some(host) = parent.filter(|_| getppid() == parent) else {
        return std::future::pending().await;
    };
    await_exit(host).await;
    while getppid() == parent {
        sleep(PARENT_LOOKUP).await;
    }
}

/// Waits for the end of a process. Returns early if the system has no `pidfd_open`.
#[cfg(target_os = "linux")]
async fn await_exit(process: Pid) {
    use rustix::process::{PidfdFlags, pidfd_open};
    let Ok(process) = pidfd_open(process, PidfdFlags::empty()) else {
        return;
    };
    if let Ok(Watched::Polled(process)) = Watched::new(process, Interest::READABLE) {
        // The caller looks for itself.
        let _ = process.readable().await;
    }
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unused_async, reason = "the same signature as on Linux")]
async fn await_exit(_: Pid) {}

impl Input {
    pub(crate) fn new(fd: OwnedFd) -> io::Result<Self> {
        Watched::new(fd, Interest::READABLE).map(Self)
    }

    /// Appends what has arrived, waiting for the first byte; 0 is the end.
    /// Dropping the future loses nothing.
    pub(crate) async fn read(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
        let fd = match &self.0 {
            Watched::Plain(fd) => return read_some(fd.as_fd(), into),
            Watched::Polled(fd) => fd,
        };
        loop {
            let mut ready = fd.readable().await?;
            // Other processes may hold this file description, so it stays a blocking one; polling
            // first keeps a stale readiness from blocking the thread.
            if has_bytes(ready.get_inner().as_fd())? {
                let read = read_some(ready.get_inner().as_fd(), into)?;
                if read < READ {
                    ready.clear_ready();
                }
                return Ok(read);
            }
            ready.clear_ready();
        }
    }
}

impl Output {
    pub(crate) fn new(fd: BorrowedFd<'_>) -> io::Result<Self> {
        let kind = FileType::from_raw_mode(fstat(fd)?.st_mode);
        let own = if kind == FileType::Fifo {
            reopen(fd)
        } else {
            None
        };
        let how = match (&own, kind) {
            (Some(_), _) => Write::Own,
            (None, FileType::Socket) => Write::Socket,
            (None, _) => Write::Waiting,
        };
        let fd = own.map_or_else(|| fd.try_clone_to_owned(), Ok)?;
        Ok(Self {
            end: Watched::new(fd.try_clone()?, Interest::WRITABLE)?,
            fd: Watched::new(fd, Interest::WRITABLE)?,
            how,
        })
    }

    /// Writes as much as there is room for; `WouldBlock` if there is none.
    pub(crate) fn write_now(&self, bytes: &[u8]) -> io::Result<usize> {
        let fd = self.fd.as_fd();
        let written = match self.how {
            Write::Own | Write::Waiting => {
                rustix::io::retry_on_intr(|| rustix::io::write(fd, bytes))
            }
            Write::Socket => rustix::io::retry_on_intr(|| {
                rustix::net::send(fd, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)
            }),
        };
        Ok(written?)
    }

    /// Makes `attempt` whenever there may be room, until it no longer answers
    /// `WouldBlock`.
    pub(crate) async fn when_writable<T>(
        &self,
        mut attempt: impl FnMut() -> io::Result<T>,
    ) -> io::Result<T> {
        let Watched::Polled(fd) = &self.fd else {
            return attempt();
        };
        loop {
            let mut ready = fd.writable().await?;
            if let Ok(result) = ready.try_io(|_| attempt()) {
                return result;
            }
        }
    }

    /// Waits until the reader is gone; forever if the system cannot report that.
    pub(crate) async fn reader_gone(&self) {
        if let Watched::Polled(end) = &self.end {
            while let Ok(mut ready) = end.ready(Interest::WRITABLE).await {
                if ready.ready().is_write_closed() {
                    return;
                }
                ready.clear_ready();
            }
        }
        std::future::pending::<()>().await;
    }
}

impl Watched {
    #[expect(
        deprecated,
        reason = "unsound only for types that do not own their descriptor; the successor is an unsafe function"
    )]
    fn new(fd: OwnedFd, interest: Interest) -> io::Result<Self> {
        match AsyncFd::try_with_interest(fd, interest).map_err(AsyncFdRegisterError::into_parts) {
            Ok(polled) => Ok(Self::Polled(polled)),
            // What epoll says of regular files and /dev/null.
            Err((fd, error)) if error.kind() == io::ErrorKind::PermissionDenied => {
                Ok(Self::Plain(fd))
            }
            Err((_, error)) => Err(error),
        }
    }

    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Polled(fd) => fd.get_ref().as_fd(),
            Self::Plain(fd) => fd.as_fd(),
        }
    }
}

/// Opens the pipe again, so that only this process is non-blocking: the flag belongs to a file
/// description that a parent and other children may share. Returns `None` if the system has no
/// `/proc/self/fd`, or denies access.
fn reopen(fd: BorrowedFd<'_>) -> Option<OwnedFd> {
    use std::os::fd::AsRawFd;
    let flags = (OFlags::NONBLOCK | OFlags::CLOEXEC).bits();
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    OpenOptions::new()
        .write(true)
        .custom_flags(flags.cast_signed())
        .open(path)
        .ok()
        .map(Into::into)
}

fn has_bytes(fd: BorrowedFd<'_>) -> io::Result<bool> {
    let mut asked = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    match poll(&mut asked, Some(&Timespec::default())) {
        // The end of the stream counts: reading it does not block either.
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn read_some(fd: BorrowedFd<'_>, into: &mut Vec<u8>) -> io::Result<usize> {
    into.reserve(READ);
    Ok(rustix::io::retry_on_intr(|| {
        rustix::io::read(fd, rustix::buffer::spare_capacity(into))
    })?)
}

#[cfg(test)]
mod tests;
