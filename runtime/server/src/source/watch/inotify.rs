//! Events of Linux's inotify (inotify(7)). Used directly, since a call must be able to ask whether
//! the kernel's own queue is empty: a library that reads that queue on its own thread cannot tell
//! an event that it has not read yet from none.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use rustix::fs::FsWord;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use tokio::io::Interest as Readiness;
use tokio::io::unix::AsyncFd;

use super::pending::{Pending, WatchedName};
use super::{Unwatchable, WatchPaths};

/// Bytes of events read at once: some hundred.
const BUFFER: usize = 16 * 1024;

/// Events taken from the queue at once. The kernel queues 16,384 before it drops some and says so.
const AT_ONCE: usize = 20_000;

/// Events about what a directory contains, and about itself.
const NAMES: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF);

/// Events about the contents of its files. Not asked for above a root: in `/tmp` or a home
/// directory other programs write all the time.
const CONTENTS: WatchFlags = WatchFlags::MODIFY.union(WatchFlags::CLOSE_WRITE);

/// The file systems on which other machines, or a program, may change files without an event here
/// (`f_type` of statfs(2)).
const WITHOUT_EVENTS: &[FsWord] = &[
    0x6969,      // NFS
    0x517B,      // SMB
    0xFF53_4D42, // CIFS
    0xFE53_4D42, // SMB2
    0x6573_5546, // FUSE
    0x0102_1997, // 9P
    0x5346_414F, // AFS
    0x00C3_6400, // Ceph
    0x7375_7245, // Coda
    0x0BD0_0BD0, // Lustre
    0x786F_4256, // VirtualBox shared folders
];

/// An inotify queue.
#[derive(Debug)]
pub(super) struct Events {
    queue: OwnedFd,
    watched: Mutex<HashMap<i32, Watched>>,
}

/// A watched directory.
#[derive(Debug)]
struct Watched {
    path: PathBuf,
    interest: Interest,
}

/// What matters in it.
#[derive(Debug)]
enum Interest {
    Everything,
    Names(HashSet<OsString>),
}

impl Events {
    pub(super) fn new() -> Result<Self, Unwatchable> {
        let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)
            .map_err(|error| Unwatchable::Refused(error.into()))?;
        Ok(Self {
            queue,
            watched: Mutex::default(),
        })
    }

    pub(super) fn add(&self, paths: &WatchPaths) -> Result<(), Unwatchable> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        for directory in &paths.directories {
            if let Some(number) = self.watch(directory, NAMES | CONTENTS)? {
                let (path, interest) = (directory.clone(), Interest::Everything);
                watched.insert(number, Watched { path, interest });
            }
        }
        let entries = paths.entries.iter().map(|entry| (entry, NAMES));
        let files = paths.files.iter().map(|file| (file, NAMES | CONTENTS));
        for (entry, events) in entries.chain(files) {
            let (Some(parent), Some(name)) = (entry.parent(), entry.file_name()) else {
                continue;
            };
            let Some(number) = self.watch(parent, events)? else {
                continue;
            };
            let directory = watched.entry(number).or_insert_with(|| Watched {
                path: parent.to_owned(),
                interest: Interest::Names(HashSet::new()),
            });
            if let Interest::Names(names) = &mut directory.interest {
                names.insert(name.to_owned());
            }
        }
        Ok(())
    }

    /// Watches a directory. Returns `None` if it is gone or may not be read: the source's own walk
    /// meets the same.
    fn watch(&self, directory: &Path, events: WatchFlags) -> Result<Option<i32>, Unwatchable> {
        // A directory may be watched for several reasons.
        let events = events | WatchFlags::ONLYDIR | WatchFlags::MASK_ADD;
        let kind = match rustix::fs::statfs(directory) {
            Ok(found) => found.f_type,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP) => return Ok(None),
            Err(error) => return Err(Unwatchable::Refused(error.into())),
        };
        if WITHOUT_EVENTS.contains(&kind) {
            return Err(Unwatchable::NoEvents(directory.to_owned()));
        }
        match inotify::add_watch(&self.queue, directory, events) {
            Ok(number) => Ok(Some(number)),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP) => Ok(None),
            Err(error) => Err(Unwatchable::Refused(error.into())),
        }
    }

    /// Whether the kernel has queued no event. If it cannot say, there may be one.
    pub(super) fn is_empty(&self) -> bool {
        rustix::io::ioctl_fionread(&self.queue).is_ok_and(|bytes| bytes == 0)
    }

    /// The paths of these places. Those of directories that are gone are left out: what happened to
    /// such a directory is a place in another one.
    pub(super) fn paths<'a>(&self, places: impl Iterator<Item = &'a WatchedName>) -> Vec<PathBuf> {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let path = |(number, name): &WatchedName| Some(watched.get(number)?.path.join(name));
        places.filter_map(path).collect()
    }

    /// Moves every queued event to `pending`.
    pub(super) fn drain(&self, pending: &mut Pending) {
        if self.is_empty() {
            return;
        }
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let mut buffer = [MaybeUninit::uninit(); BUFFER];
        let mut events = inotify::Reader::new(self.queue.as_fd(), &mut buffer);
        let now = Instant::now();
        // Whoever writes faster than this reads must not hold a call: the rest stays queued, and
        // the next call takes it.
        for taken in 0.. {
            if taken >= AT_ONCE && events.is_buffer_empty() {
                return;
            }
            match events.next() {
                Ok(event) => {
                    let name = event
                        .file_name()
                        .map(|name| OsStr::from_bytes(name.to_bytes()));
                    note(&mut watched, pending, event.wd(), event.events(), name, now);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => return pending.note_unknown(now),
            }
        }
    }

    /// Returns when events are queued.
    #[expect(
        deprecated,
        reason = "its unsafe successor is for types whose descriptor may change; this one owns its"
    )]
    pub(super) async fn arrived(&self) {
        // Registered anew each time: readiness is reported by edge, and another caller may have
        // emptied the queue meanwhile.
        let queue = self.queue.try_clone().ok();
        let queue = queue.and_then(|it| AsyncFd::try_with_interest(it, Readiness::READABLE).ok());
        match queue {
            Some(queue) => drop(queue.readable().await),
            // No descriptor left: ask again later.
            None => tokio::time::sleep(super::pending::QUIET).await,
        }
    }
}

/// Notes one event.
fn note(
    watched: &mut HashMap<i32, Watched>,
    pending: &mut Pending,
    number: i32,
    events: ReadFlags,
    name: Option<&OsStr>,
    now: Instant,
) {
    if events.intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::UNMOUNT) {
        return pending.note_unknown(now);
    }
    if events.contains(ReadFlags::IGNORED) {
        watched.remove(&number);
        return;
    }
    let Some(name) = name else {
        // The directory itself was removed or moved, or its permissions changed. Its name in its
        // own parent is watched too, but the parent of a root may not be readable.
        return pending.note_unknown(now);
    };
    match watched.get(&number).map(|it| &it.interest) {
        Some(Interest::Everything) => {}
        // A new file may be one whose contents are to be watched from now on.
        Some(Interest::Names(names)) if names.contains(name) => {
            pending.structure |= events.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO);
        }
        Some(Interest::Names(_)) | None => return,
    }
    let place = (number, name.to_owned());
    let is_directory = events.contains(ReadFlags::ISDIR);
    pending.structure |= is_directory;
    let created = events.contains(ReadFlags::CREATE);
    if events.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM) || created && is_directory {
        pending.note_step(place, now);
    } else if events.intersects(ReadFlags::CLOSE_WRITE | ReadFlags::MOVED_TO) {
        pending.note_complete(&place, now);
    } else if created || events.contains(ReadFlags::MODIFY) {
        pending.note_open(place, now);
    } else {
        pending.note(now);
    }
}
