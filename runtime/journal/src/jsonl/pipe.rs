//! Opening a file or a FIFO to append to, without being held up by a reader that is not there.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often is looked for a reader. A FIFO does not tell when one comes.
const LOOK: Duration = Duration::from_millis(20);

/// Opens the file, creating it for its owner alone, or the FIFO as soon as it has a reader.
#[cfg(unix)]
pub(super) fn open_to_append(path: &Path, deadline: Instant) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    use rustix::io::Errno;

    let flags = OFlags::WRONLY
        | OFlags::APPEND
        | OFlags::CREATE
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::NOCTTY
        | OFlags::CLOEXEC;
    loop {
        match rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => return Ok(file.into()),
            Err(Errno::INTR) => {}
            Err(Errno::NXIO) if Instant::now() < deadline => std::thread::sleep(LOOK),
            Err(Errno::NXIO) => return Err(io::Error::other("nobody reads the pipe")),
            Err(Errno::LOOP) => {
                let problem = "it is a symbolic link; name the file itself";
                return Err(io::Error::other(problem));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits until the reader has made room; `false` if it has not by the deadline.
#[cfg(unix)]
pub(super) fn wait_for_room(file: &File, deadline: Instant) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let left = deadline.saturating_duration_since(Instant::now());
    let left = Timespec::try_from(left.max(Duration::from_millis(1))).ok();
    let mut files = [PollFd::new(file, PollFlags::OUT)];
    let ready = poll(&mut files, left.as_ref());
    ready != Ok(0) && (ready.is_ok() || Instant::now() < deadline)
}

#[cfg(not(unix))]
pub(super) fn open_to_append(path: &Path, _deadline: Instant) -> io::Result<File> {
    File::options().append(true).create(true).open(path)
}

#[cfg(not(unix))]
pub(super) fn wait_for_room(_file: &File, deadline: Instant) -> bool {
    std::thread::sleep(LOOK);
    Instant::now() < deadline
}
