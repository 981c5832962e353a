//! The buffer of events on disk. Every process appends to one file; whoever publishes closes it into
//! a *segment* beside it, which is one request. A lock orders the two, and a segment never changes.
//!
//! ```text
//! analytics-buffer.jsonl             what is appended to
//! analytics-buffer.UUID.jsonl        segments; the ids are of version 7, so names are in order of time
//! analytics-buffer.lock              held while the file is appended to or becomes a segment
//! analytics-buffer.publisher         held by the process that publishes
//! analytics-buffer.dropped           how many events were given up since there was no room
//! ```

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use uuid::Uuid;

use crate::error::JournalError;
use crate::files;

/// Largest segment. It is the body of one request, so it is a quarter of what web servers usually
/// accept (1 MB), and goes over a slow line in time.
pub(super) const SEGMENT_BYTES: u64 = 256 << 10;

/// The most that is kept, of all files: about 25,000 events. What is older is worth less than the
/// disk of a person who does not know of a server that is gone.
pub(super) const MAX_BYTES: u64 = 10_000_000;

/// The lock is held for a few writes. A process that holds it longer is stopped.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// How often is looked whether the lock is free.
const LOOK: Duration = Duration::from_millis(1);

/// The buffer that begins at a path.
#[derive(Debug, Clone)]
pub(super) struct Buffer {
    path: PathBuf,
}

/// A closed part of the buffer.
#[derive(Debug, Clone)]
pub(super) struct Segment {
    /// Unique: the key of the request that brings it.
    pub(super) id: Uuid,
    path: PathBuf,
    bytes: u64,
}

/// The events of a segment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Batch {
    /// JSON objects, separated by commas.
    pub(super) events: String,
    /// How many they are.
    pub(super) count: u64,
    /// Lines that are none, such as half a line that a killed process has left. They are left out.
    pub(super) damaged: u64,
}

/// What came of lines that were to be appended.
#[derive(Debug, Default)]
pub(super) struct Appended {
    /// So many, from the first on, are in the buffer.
    pub(super) written: usize,
    /// What stopped it.
    pub(super) error: Option<JournalError>,
    /// A segment has become full.
    pub(super) filled: bool,
    /// So many older events were given up to make room.
    pub(super) evicted: u64,
}

/// What waits in a buffer to be sent, of all processes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Events that wait.
    pub events: u64,
    /// The size of their files, in bytes.
    pub bytes: u64,
    /// Events that were given up since there was no room, ever.
    pub dropped: u64,
}

impl Backlog {
    /// What waits in the buffer that begins with this file. Nothing is created or locked, so it may be
    /// off by what is moved meanwhile.
    ///
    /// # Errors
    ///
    /// A file cannot be read.
    pub fn of(buffer: &Path) -> Result<Self, JournalError> {
        Buffer::new(buffer.to_owned()).backlog()
    }
}

/// The lock of those who append. The system releases it when the process ends, however it ends.
struct Locked(#[expect(dead_code, reason = "it is held")] File);

impl Buffer {
    pub(super) const fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Appends lines as far as that works, and closes the file into a segment whenever it is full.
    pub(super) fn append(&self, lines: &[String]) -> Appended {
        let mut appended = Appended::default();
        appended.error = self.try_append(lines, &mut appended).err();
        appended
    }

    fn try_append(&self, lines: &[String], appended: &mut Appended) -> Result<(), JournalError> {
        if lines.is_empty() {
            return Ok(());
        }
        let locked = self.lock()?;
        while appended.written < lines.len() {
            let rest = &lines[appended.written..];
            let (mut file, length) = self.open()?;
            let mut room = SEGMENT_BYTES.saturating_sub(length);
            let fitting = rest.iter().take_while(|line| {
                let size = line.len() as u64 + 1;
                let fits = size <= room;
                room = room.saturating_sub(size);
                fits
            });
            // A line that is longer than a segment is one of its own.
            let count = fitting.count().max(usize::from(length == 0));
            if count == 0 {
                appended.evicted += self.close(&locked)?;
                appended.filled = true;
            } else {
                self.write(&mut file, length, &rest[..count])?;
                appended.written += count;
            }
        }
        Ok(())
    }

    /// Writes the lines at the end, or leaves the file as it was.
    fn write(&self, file: &mut File, length: u64, lines: &[String]) -> Result<(), JournalError> {
        let mut bytes = Vec::new();
        if length > 0 && !ends_with_line(file).map_err(|it| self.fault(&it))? {
            // After half a line of a process that was killed. It is found when it is read.
            bytes.push(b'\n');
        }
        for line in lines {
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
        }
        file.write_all(&bytes).map_err(|error| {
            // On a full disk; if that fails as well, the half line is as one of a killed process.
            let shortened = file.set_len(length);
            drop(shortened);
            self.fault(&error)
        })
    }

    /// Closes the file into a segment, if there is something in it. Returns how many older events were
    /// given up to make room for what comes.
    pub(super) fn rotate(&self) -> Result<u64, JournalError> {
        let locked = self.lock()?;
        match fs::symlink_metadata(&self.path) {
            Ok(metadata) if metadata.len() > 0 => self.close(&locked),
            Ok(_) => Ok(0),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(self.fault(&error)),
        }
    }

    fn close(&self, _locked: &Locked) -> Result<u64, JournalError> {
        let segment = self.beside(&format!(".{}.jsonl", Uuid::now_v7()));
        fs::rename(&self.path, segment).map_err(|it| self.fault(&it))?;
        let mut segments = self.segments()?;
        let mut total: u64 = segments.iter().map(|it| it.bytes).sum();
        let mut evicted = 0;
        segments.reverse();
        while total > MAX_BYTES - SEGMENT_BYTES
            && let Some(oldest) = segments.pop()
        {
            let (count, _) = lines_in(&oldest.path).unwrap_or_default();
            // Counted first: if the process is killed in between, too many are counted and not too few.
            self.count_dropped(|dropped| dropped.saturating_add(count))?;
            fs::remove_file(&oldest.path).map_err(|it| self.fault(&it))?;
            evicted += count;
            total = total.saturating_sub(oldest.bytes);
        }
        Ok(evicted)
    }

    /// Removes a segment whose events have arrived.
    pub(super) fn remove(&self, segment: &Segment, arrived: u64) -> Result<(), JournalError> {
        let _locked = self.lock()?;
        match fs::remove_file(&segment.path) {
            Ok(()) => Ok(()),
            // It was given up while it was on its way.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.count_dropped(|dropped| dropped.saturating_sub(arrived))
            }
            Err(error) => Err(JournalError::storage(&segment.path, &error)),
        }
    }

    /// The segments, oldest first.
    pub(super) fn segments(&self) -> Result<Vec<Segment>, JournalError> {
        let entries = match fs::read_dir(self.directory()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|it| self.fault(&it))?,
        };
        let mut segments = Vec::new();
        let beginning = self.beginning();
        for entry in entries {
            let entry = entry.map_err(|it| self.fault(&it))?;
            let name = entry.file_name();
            let id = name
                .to_str()
                .zip(beginning.to_str())
                .and_then(|(name, beginning)| name.strip_prefix(beginning))
                .and_then(|it| it.strip_prefix('.')?.strip_suffix(".jsonl")?.parse().ok());
            // One that is gone by now has been published; what is no file is none of ours.
            if let (Some(id), Ok(metadata)) = (id, entry.metadata())
                && metadata.is_file()
            {
                segments.push(Segment {
                    id,
                    path: entry.path(),
                    bytes: metadata.len(),
                });
            }
        }
        segments.sort_by_key(|it| it.id);
        Ok(segments)
    }

    pub(super) fn backlog(&self) -> Result<Backlog, JournalError> {
        let mut backlog = Backlog {
            dropped: self.dropped()?,
            ..Backlog::default()
        };
        let segments = self.segments()?.into_iter().map(|it| it.path);
        for path in segments.chain([self.path.clone()]) {
            match lines_in(&path) {
                Ok((lines, bytes)) => {
                    backlog.bytes += bytes;
                    backlog.events += lines;
                }
                // Published meanwhile, or nothing has been recorded yet.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(JournalError::storage(&path, &error)),
            }
        }
        Ok(backlog)
    }

    /// Takes the lock of those who publish; `None` if another process has it.
    pub(super) fn lock_publisher(&self) -> Result<Option<File>, JournalError> {
        files::prepare_directory(&self.path)?;
        try_lock(&self.beside(".publisher"))
    }

    /// Whether the lock of those who publish still is the file of that name: nobody else has it, then.
    pub(super) fn is_publisher(&self, lock: &File) -> bool {
        is_at(lock, &self.beside(".publisher"))
    }

    /// Waits for the lock of those who append.
    fn lock(&self) -> Result<Locked, JournalError> {
        files::prepare_directory(&self.path)?;
        let path = self.beside(".lock");
        let deadline = Instant::now() + LOCK_PATIENCE;
        loop {
            if let Some(file) = try_lock(&path)? {
                return Ok(Locked(file));
            }
            if Instant::now() >= deadline {
                let seconds = LOCK_PATIENCE.as_secs();
                let problem = format!("another process has had the file locked for {seconds} s");
                return Err(JournalError::storage(&path, &problem));
            }
            thread::sleep(LOOK);
        }
    }

    /// The file that is appended to, and its length.
    fn open(&self) -> Result<(File, u64), JournalError> {
        let mut options = OpenOptions::new();
        let file = open_private(&self.path, options.read(true).append(true).create(true))?;
        let length = file.metadata().map_err(|it| self.fault(&it))?.len();
        Ok((file, length))
    }

    fn dropped(&self) -> Result<u64, JournalError> {
        let path = self.beside(".dropped");
        // A pipe would keep us waiting.
        if fs::symlink_metadata(&path).is_ok_and(|it| !it.is_file()) {
            return Ok(0);
        }
        match fs::read_to_string(&path) {
            // Half a number is none: it is written in one go, so this is no file of ours.
            Ok(text) => Ok(text.trim().parse().unwrap_or(0)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(JournalError::storage(&path, &error)),
        }
    }

    /// Called with the lock.
    fn count_dropped(&self, change: impl FnOnce(u64) -> u64) -> Result<(), JournalError> {
        let count = change(self.dropped()?);
        let (path, new) = (self.beside(".dropped"), self.beside(".dropped-new"));
        let mut options = OpenOptions::new();
        let mut file = open_private(&new, options.write(true).create(true).truncate(true))?;
        let written = file.write_all(format!("{count}\n").as_bytes());
        let written = written.and_then(|()| fs::rename(&new, &path));
        written.map_err(|error| JournalError::storage(&path, &error))
    }

    fn directory(&self) -> &Path {
        match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        }
    }

    /// What the names of all files begin with.
    fn beginning(&self) -> OsString {
        self.path.file_stem().unwrap_or_default().to_owned()
    }

    fn beside(&self, end: &str) -> PathBuf {
        let mut name = self.beginning();
        name.push(end);
        self.path.with_file_name(name)
    }

    fn fault(&self, error: &io::Error) -> JournalError {
        JournalError::storage(&self.path, error)
    }
}

impl Segment {
    /// What is in it; `None` if it has been given up.
    pub(super) fn read(&self) -> Result<Option<Batch>, JournalError> {
        let path = &self.path;
        let file = match open_private(path, OpenOptions::new().read(true)) {
            Err(JournalError::Storage { .. }) if fs::symlink_metadata(path).is_err() => {
                return Ok(None);
            }
            file => file?,
        };
        let mut bytes = Vec::new();
        let read = file.take(MAX_BYTES).read_to_end(&mut bytes);
        read.map_err(|error| JournalError::storage(path, &error))?;
        Ok(Some(Batch::of(&bytes)))
    }
}

impl Batch {
    fn of(bytes: &[u8]) -> Self {
        /// What makes a line an event. What else is in it must be JSON.
        #[derive(Deserialize)]
        struct Line<'a> {
            #[serde(rename = "id")]
            _id: Uuid,
            #[serde(rename = "type", borrow)]
            _type: std::borrow::Cow<'a, str>,
        }
        let mut batch = Self::default();
        for line in bytes.split(|it| *it == b'\n').filter(|it| !it.is_empty()) {
            let line = std::str::from_utf8(line).ok();
            match line.filter(|it| serde_json::from_str::<Line<'_>>(it).is_ok()) {
                Some(line) => {
                    if batch.count > 0 {
                        batch.events.push(',');
                    }
                    batch.events.push_str(line);
                    batch.count += 1;
                }
                None => batch.damaged += 1,
            }
        }
        batch
    }
}

/// Opens a file that only its owner can read, without following a link, and refuses what is no file
/// of ours.
fn open_private(path: &Path, options: &mut OpenOptions) -> Result<File, JournalError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    let storage = |error: io::Error| JournalError::storage(path, &error);
    let file = options.open(path).map_err(storage)?;
    let metadata = file.metadata().map_err(storage)?;
    files::check_metadata(path, &metadata)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if metadata.permissions().mode() & 0o077 != 0 {
            file.set_permissions(fs::Permissions::from_mode(0o600))
                .map_err(storage)?;
        }
    }
    Ok(file)
}

/// Takes the lock of a file, which is created if it is missing; `None` if it is taken, or another file
/// has just taken its place.
fn try_lock(path: &Path) -> Result<Option<File>, JournalError> {
    let mut options = OpenOptions::new();
    let file = open_private(
        path,
        options.read(true).write(true).create(true).truncate(false),
    )?;
    match file.try_lock() {
        Ok(()) => Ok(is_at(&file, path).then_some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(JournalError::storage(path, &error)),
    }
}

/// Whether the path names this file.
fn is_at(file: &File, path: &Path) -> bool {
    let found = fs::symlink_metadata(path).map(|it| files::identity(&it));
    let own = file.metadata().map(|it| files::identity(&it));
    found.is_ok_and(|found| own.is_ok_and(|own| own == found))
}

fn ends_with_line(file: &mut File) -> io::Result<bool> {
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// Lines of a file that are not empty, half a line at the end as well, and its bytes. What is no file
/// has none.
fn lines_in(path: &Path) -> io::Result<(u64, u64)> {
    let (mut lines, mut bytes) = (0, 0);
    if !fs::symlink_metadata(path)?.is_file() {
        return Ok((lines, bytes));
    }
    let mut reader = BufReader::new(File::open(path)?);
    let mut is_within = false;
    loop {
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            return Ok((lines, bytes));
        }
        for byte in chunk {
            // A line is counted with its first byte.
            let is_end = *byte == b'\n';
            lines += u64::from(!is_end && !is_within);
            is_within = !is_end;
        }
        let size = chunk.len();
        bytes += size as u64;
        reader.consume(size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_event_is_left_out_and_counted() {
        let id = "00000000-0000-0000-0000-000000000001";
        let event = format!(r#"{{"id":"{id}","type":"x","data":{{"a":[1,"ü"]}}}}"#);
        let escaped = format!(r#"{{"id":"{id}","type":"a\"b"}}"#);
        for (bytes, count, damaged) in [
            (b"".to_vec(), 0, 0),
            (b"\n\n".to_vec(), 0, 0),
            (format!("{event}\n").into_bytes(), 1, 0),
            (format!("{event}\n{escaped}").into_bytes(), 2, 0),
            (format!("{event}\n{}", &event[..30]).into_bytes(), 1, 1),
            (
                format!("{}\n{event}\n", &event[..event.len() - 1]).into_bytes(),
                1,
                1,
            ),
            (format!("{event}{event}\n{event}\n").into_bytes(), 1, 1),
            (format!("[{event}]\n").into_bytes(), 0, 1),
            (format!("{event},\n").into_bytes(), 0, 1),
            (b"{\"id\":1,\"type\":\"x\"}\nnull\n".to_vec(), 0, 2),
            (b"\0\0\0\0\n\xff\xfe\n".to_vec(), 0, 2),
        ] {
            let batch = Batch::of(&bytes);
            let found = (batch.count, batch.damaged);
            let shown = String::from_utf8_lossy(&bytes);
            assert_eq!(found, (count, damaged), "{shown}");
            let body = format!("[{}]", batch.events);
            let parsed: Vec<serde_json::Value> = serde_json::from_str(&body).unwrap();
            assert_eq!(parsed.len() as u64, count, "{shown}");
        }
    }
}
