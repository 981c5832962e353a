//! What the caller and the supervisor tell each other. The caller writes one request, length first,
//! then the bytes of the files and of stdin; after that each byte is a command, and the end of the
//! stream means that the caller is gone. The supervisor answers with frames: a tag, a length, and
//! as many bytes.

use std::io::{self, Read, Write};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Availability, Captured, Isolation, Outcome, Program, ProgramFile, Stopped};

/// The command that asks the program to end.
pub(crate) const CANCEL: u8 = b'c';

/// The command that ends the program at once.
pub(crate) const KILL: u8 = b'k';

/// The longest frame or header that is read. Output is cut long before.
const LONGEST: u32 = 1 << 30;

/// What the caller asks for.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Try levels, the strongest first.
    Probe {
        /// The strongest that is tried.
        at_most: Isolation,
        /// Whether to go on after the first that can be had.
        all: bool,
    },
    /// Run a program.
    Run(Box<RunRequest>),
}

/// A program to run, without bytes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RunRequest {
    pub(crate) program: Program,
    pub(crate) isolation: Isolation,
    /// Identifies the run: part of the names of what it leaves if everything that would clean up is
    /// killed, and an entry in the environment of its processes.
    pub(crate) id: String,
    /// Path and length of each file.
    files: Vec<(String, usize)>,
    stdin: Option<usize>,
}

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Tag {
    /// The last line of output, so far.
    LastLine = b'l',
    /// Bytes of stdout as they arrive.
    Stdout = b'o',
    /// Bytes of stderr as they arrive.
    Stderr = b'e',
    /// A [`Finished`], followed in the same frame by the kept bytes.
    Finished = b'f',
    /// Why the program could not be started, as text.
    Failed = b'x',
    /// A list of [`Availability`].
    Probed = b'p',
}

/// An [`Outcome`] without bytes.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Finished {
    exit_code: Option<i32>,
    signal: Option<i32>,
    stopped: Option<Stopped>,
    duration: Duration,
    cpu: Duration,
    isolation: Isolation,
    killed: u32,
    /// Length of head and tail, and the total, of stdout and of stderr.
    streams: [(usize, usize, u64); 2],
}

impl Request {
    /// A request to run a program, and the bytes that follow it.
    pub(crate) fn run(program: Program, isolation: Isolation, id: String) -> (Self, Vec<Vec<u8>>) {
        let mut program = program;
        let files = std::mem::take(&mut program.files);
        let stdin = program.stdin.take();
        let request = RunRequest {
            files: files
                .iter()
                .map(|it| (it.path.clone(), it.bytes.len()))
                .collect(),
            stdin: stdin.as_ref().map(Vec::len),
            program,
            isolation,
            id,
        };
        let bytes = files.into_iter().map(|it| it.bytes).chain(stdin).collect();
        (Self::Run(Box::new(request)), bytes)
    }

    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let header = serde_json::to_vec(self)?;
        out.write_all(&length(header.len())?)?;
        out.write_all(&header)
    }

    /// Reads a request and what belongs to it.
    pub(crate) fn read(input: &mut impl Read) -> io::Result<Self> {
        let header = read_sized(input)?;
        let mut request: Self = serde_json::from_slice(&header)?;
        if let Self::Run(run) = &mut request {
            for (path, len) in std::mem::take(&mut run.files) {
                let bytes = read_exactly(input, len)?;
                run.program.files.push(ProgramFile { path, bytes });
            }
            if let Some(len) = run.stdin {
                run.program.stdin = Some(read_exactly(input, len)?);
            }
        }
        Ok(request)
    }
}

impl Tag {
    const ALL: [Self; 6] = [
        Self::LastLine,
        Self::Stdout,
        Self::Stderr,
        Self::Finished,
        Self::Failed,
        Self::Probed,
    ];
}

/// Appends a frame.
pub(crate) fn frame(tag: Tag, parts: &[&[u8]], out: &mut Vec<u8>) {
    let len: usize = parts.iter().map(|it| it.len()).sum();
    // Output is limited to far less.
    let len = u32::try_from(len).unwrap_or(u32::MAX);
    out.push(tag as u8);
    out.extend_from_slice(&len.to_le_bytes());
    for part in parts {
        out.extend_from_slice(part);
    }
}

/// Reads a frame; `None` at the end of the stream.
pub(crate) fn read_frame(input: &mut impl Read) -> io::Result<Option<(Tag, Vec<u8>)>> {
    let mut tag = Vec::new();
    // Unlike a plain read it goes on if a signal interrupts it.
    if input.by_ref().take(1).read_to_end(&mut tag)? == 0 {
        return Ok(None);
    }
    let tag = Tag::ALL.into_iter().find(|it| *it as u8 == tag[0]);
    let tag = tag.ok_or(io::ErrorKind::InvalidData)?;
    Ok(Some((tag, read_sized(input)?)))
}

/// The frame of an outcome.
pub(crate) fn finished(outcome: &Outcome, out: &mut Vec<u8>) -> io::Result<()> {
    let sizes = |it: &Captured| (it.head.len(), it.tail.len(), it.total);
    let header = serde_json::to_vec(&Finished {
        exit_code: outcome.exit_code,
        signal: outcome.signal,
        stopped: outcome.stopped,
        duration: outcome.duration,
        cpu: outcome.cpu,
        isolation: outcome.isolation,
        killed: outcome.killed,
        streams: [sizes(&outcome.stdout), sizes(&outcome.stderr)],
    })?;
    let (stdout, stderr) = (&outcome.stdout, &outcome.stderr);
    let len = length(header.len())?;
    let parts: [&[u8]; 6] = [
        &len,
        &header,
        &stdout.head,
        &stdout.tail,
        &stderr.head,
        &stderr.tail,
    ];
    frame(Tag::Finished, &parts, out);
    Ok(())
}

/// The outcome in a frame.
pub(crate) fn read_finished(mut payload: &[u8]) -> io::Result<Outcome> {
    let header: Finished = serde_json::from_slice(&read_sized(&mut payload)?)?;
    let mut stream = |at: usize| {
        let (head, tail, total) = header.streams[at];
        Ok::<_, io::Error>(Captured {
            head: read_exactly(&mut payload, head)?,
            tail: read_exactly(&mut payload, tail)?,
            total,
        })
    };
    Ok(Outcome {
        stdout: stream(0)?,
        stderr: stream(1)?,
        exit_code: header.exit_code,
        signal: header.signal,
        stopped: header.stopped,
        duration: header.duration,
        cpu: header.cpu,
        isolation: header.isolation,
        killed: header.killed,
    })
}

/// The frame of what a probe has found.
pub(crate) fn probed(found: &[Availability], out: &mut Vec<u8>) -> io::Result<()> {
    frame(Tag::Probed, &[&serde_json::to_vec(found)?], out);
    Ok(())
}

fn length(len: usize) -> io::Result<[u8; 4]> {
    let len = u32::try_from(len).map_err(|_| io::ErrorKind::InvalidData)?;
    Ok(len.to_le_bytes())
}

fn read_sized(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut len = [0; 4];
    input.read_exact(&mut len)?;
    let len = u32::from_le_bytes(len);
    if len > LONGEST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    read_exactly(input, len as usize)
}

fn read_exactly(input: &mut impl Read, len: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(len as u64).read_to_end(&mut bytes)?;
    if bytes.len() < len {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_arrives_as_it_was_sent() {
        let outcome = Outcome {
            exit_code: None,
            signal: Some(9),
            stopped: Some(Stopped::TimedOut),
            stdout: Captured {
                head: b"begin".to_vec(),
                tail: b"end".to_vec(),
                total: 1 << 40,
            },
            stderr: Captured::default(),
            duration: Duration::from_millis(1500),
            cpu: Duration::from_micros(3),
            isolation: Isolation::Landlock,
            killed: 51,
        };
        let mut sent = Vec::new();
        finished(&outcome, &mut sent).unwrap();
        let (tag, payload) = read_frame(&mut sent.as_slice()).unwrap().unwrap();
        assert_eq!(tag, Tag::Finished);
        assert_eq!(read_finished(&payload).unwrap(), outcome);
    }

    #[test]
    fn frames_that_are_cut_or_unknown_are_errors() {
        let mut sent = Vec::new();
        frame(Tag::LastLine, &[b"line"], &mut sent);
        for end in 1..sent.len() {
            assert!(read_frame(&mut &sent[..end]).is_err(), "{end}");
        }
        assert!(read_frame(&mut &b""[..]).unwrap().is_none());
        assert!(read_frame(&mut &b"?\0\0\0\0"[..]).is_err());
        assert!(read_frame(&mut &b"l\xff\xff\xff\xff"[..]).is_err());
    }
}
