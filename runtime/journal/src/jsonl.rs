//! The journal as lines of JSON in a file or a FIFO. The writer's thread may wait for a reader, the
//! callers never do.

mod pipe;
mod recent;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::JournalError;
use crate::files;
use crate::json;
use crate::queue::{Change, Outcome};
use crate::writer::Sink;
use recent::Recent;

/// How long lines wait for a reader that reads nothing, or is not there. Then they are lost, since
/// callers wait for them.
const READER_PATIENCE: Duration = Duration::from_secs(5);

/// Appends lines to a file or a FIFO, which is opened at the first event, and again if another one
/// has taken its place (log rotation).
pub(crate) struct JsonlSink {
    path: PathBuf,
    open: Option<Opened>,
    recent: Recent,
}

struct Opened {
    file: File,
    is_fifo: bool,
    identity: (u64, u64),
    /// What has to be written before the next line: a line end after half a line in a file, the
    /// rest of half a line in a FIFO.
    mend: Vec<u8>,
}

impl JsonlSink {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            open: None,
            recent: Recent::default(),
        }
    }

    /// Writes the lines. Returns how many were written completely, and what stopped it.
    fn append(&mut self, lines: &[String]) -> (usize, Option<JournalError>) {
        let deadline = Instant::now() + READER_PATIENCE;
        let mut done = 0;
        while done < lines.len() {
            let (written, error) = match self.opened(deadline) {
                Ok(opened) => opened.write(&lines[done..], deadline),
                Err(error) => return (done, Some(error)),
            };
            done += written;
            match error {
                None => {}
                // The reader is gone. The next one starts with a whole line.
                Some(error) if error.kind() == io::ErrorKind::BrokenPipe => self.open = None,
                Some(error) => return (done, Some(JournalError::storage(&self.path, &error))),
            }
        }
        (done, None)
    }

    fn opened(&mut self, deadline: Instant) -> Result<&mut Opened, JournalError> {
        let is_current = self.open.as_ref().is_some_and(|it| it.is_at(&self.path));
        if !is_current {
            self.open = Some(Opened::open(&self.path, deadline)?);
        }
        Ok(self.open.as_mut().expect("it was opened above"))
    }
}

impl Sink for JsonlSink {
    fn write(&mut self, changes: Vec<Change>) -> Result<Vec<Outcome>, JournalError> {
        let mut lines = Vec::new();
        let mut outcomes = Vec::with_capacity(changes.len());
        // The outcome that each line decides, and the invocation that it makes.
        let mut decided = Vec::new();
        for change in changes {
            let known = self.recent.admit(&change);
            match (change, known) {
                (Change::Claim(_), Some(existing)) => outcomes.push(Outcome::existing(existing)),
                (Change::Event(_), Some(_)) => {
                    let error = "an invocation with this id is recorded".to_owned();
                    outcomes.push(Outcome::Lost(JournalError::Refused(error)));
                }
                (change, None) => {
                    decided.push((outcomes.len(), change.created_id()));
                    lines.push(change.line());
                    outcomes.push(Outcome::Written);
                }
            }
        }
        let (written, error) = self.append(&lines);
        let Some(error) = error else {
            return Ok(outcomes);
        };
        for (outcome, created) in decided.into_iter().skip(written) {
            outcomes[outcome] = Outcome::Lost(error.clone());
            if let Some(id) = created {
                self.recent.forget(id);
            }
        }
        Ok(outcomes)
    }

    fn tidy(&mut self) -> Option<Duration> {
        None
    }
}

impl Opened {
    fn open(path: &Path, deadline: Instant) -> Result<Self, JournalError> {
        let path = files::prepare_directory(path)?;
        let storage = |error: io::Error| JournalError::storage(&path, &error);
        let file = pipe::open_to_append(&path, deadline).map_err(storage)?;
        let metadata = file.metadata().map_err(storage)?;
        let is_fifo = files::is_fifo(&metadata);
        if !is_fifo {
            files::check_metadata(&path, &metadata)?;
        }
        let mut mend = Vec::new();
        if !is_fifo && metadata.len() > 0 && !ends_with_line(&path).map_err(storage)? {
            mend.push(b'\n');
        }
        Ok(Self {
            file,
            is_fifo,
            identity: files::identity(&metadata),
            mend,
        })
    }

    /// Whether the path still names this file.
    fn is_at(&self, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|it| files::identity(&it) == self.identity)
    }

    /// Writes lines. Returns how many were written completely, and what stopped it.
    fn write(&mut self, lines: &[String], deadline: Instant) -> (usize, Option<io::Error>) {
        let mut bytes = std::mem::take(&mut self.mend);
        let mended = bytes.len();
        let mut ends = Vec::with_capacity(lines.len());
        for line in lines {
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
            ends.push(bytes.len());
        }
        let mut written = 0;
        let error = loop {
            match self.file.write(&bytes[written..]) {
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !pipe::wait_for_room(&self.file, deadline) {
                        let problem = "the reader of the pipe does not read";
                        break Some(io::Error::new(io::ErrorKind::TimedOut, problem));
                    }
                }
                Err(error) => break Some(error),
            }
            if written == bytes.len() {
                break None;
            }
        };
        let done = ends.iter().take_while(|end| **end <= written).count();
        if error.is_some() {
            self.mend = self.rest(&bytes, written, mended);
        }
        (done, error)
    }

    /// What makes the next line a line again, after `written` of these bytes, the first of which were
    /// to mend an earlier line.
    fn rest(&self, bytes: &[u8], written: usize, mended: usize) -> Vec<u8> {
        if written == 0 {
            return bytes[..mended].to_vec();
        }
        if bytes[written - 1] == b'\n' {
            return Vec::new();
        }
        if !self.is_fifo {
            return vec![b'\n'];
        }
        let rest = bytes[written..].split_inclusive(|it| *it == b'\n').next();
        rest.unwrap_or_default().to_vec()
    }
}

fn ends_with_line(path: &Path) -> io::Result<bool> {
    use std::io::{Read, Seek, SeekFrom};
    let mut file = File::open(path)?;
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

impl Change {
    /// The id of the invocation that it makes.
    fn created_id(&self) -> Option<uuid::Uuid> {
        self.created().map(|it| it.id)
    }

    fn line(self) -> String {
        match self {
            Self::Event(event) => json::event(&event),
            Self::Claim(invocation) => json::event(&crate::event::Event::Created(invocation)),
        }
    }
}
