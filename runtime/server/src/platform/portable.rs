//! stdin and stdout on systems where readiness cannot be awaited: a thread reads, and writes wait for
//! the reader. Each call costs one hand-over between threads more.

use std::io::{self, Read, Write as _};

use tokio::sync::mpsc;

/// Bytes asked for at once.
const READ: usize = 64 * 1024;

/// Reads that may wait to be handled. One is enough to keep the thread busy; more would only be
/// memory that a flood of requests can fill.
const AHEAD: usize = 1;

/// Where requests come from.
pub(crate) struct Input(mpsc::Receiver<io::Result<Vec<u8>>>);

/// Where replies go.
pub(crate) struct Output(io::Stdout);

/// Takes stdin and stdout for the protocol. Nothing here keeps other code from printing to stdout.
pub(crate) fn claim_stdio() -> io::Result<(Input, Output)> {
    Ok((Input::from_reader(io::stdin())?, Output(io::stdout())))
}

/// Waits until the process is asked to stop.
#[cfg(not(unix))]
pub(crate) async fn asked_to_stop() -> io::Result<()> {
    tokio::signal::ctrl_c().await
}

/// Waits until the process that started this one is gone; forever, since only Unix can tell.
#[cfg(not(unix))]
pub(crate) async fn parent_gone() {
    std::future::pending().await
}

impl Input {
    /// Starts a thread that reads to the end.
    pub(crate) fn from_reader(mut reader: impl Read + Send + 'static) -> io::Result<Self> {
        let (sender, receiver) = mpsc::channel(AHEAD);
        let pump = move || {
            loop {
                let mut chunk = vec![0; READ];
                let read = reader.read(&mut chunk).map(|len| {
                    chunk.truncate(len);
                    chunk
                });
                let done = !matches!(&read, Ok(chunk) if !chunk.is_empty());
                if sender.blocking_send(read).is_err() || done {
                    return;
                }
            }
        };
        std::thread::Builder::new()
            .name("stdin".to_owned())
            .spawn(pump)?;
        Ok(Self(receiver))
    }

    /// Appends what has arrived, waiting for the first byte; 0 is the end.
    /// Dropping the future loses nothing.
    pub(crate) async fn read(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
        let chunk = self.0.recv().await.transpose()?.unwrap_or_default();
        into.extend_from_slice(&chunk);
        Ok(chunk.len())
    }
}

impl Output {
    /// Writes everything, waiting for the reader.
    pub(crate) fn write_now(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut stdout = self.0.lock();
        stdout.write_all(bytes)?;
        stdout.flush()?;
        Ok(bytes.len())
    }

    /// Makes `attempt`: writing never answers `WouldBlock` here.
    #[expect(clippy::unused_async, reason = "the same shape as on Unix")]
    pub(crate) async fn when_writable<T>(
        &self,
        mut attempt: impl FnMut() -> io::Result<T>,
    ) -> io::Result<T> {
        attempt()
    }

    /// Never returns: that the reader is gone shows when something is written.
    pub(crate) async fn reader_gone(&self) {
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_arrives_whole_and_ends() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let sent: Vec<u8> = (0..200_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        let mut input = Input::from_reader(io::Cursor::new(sent.clone())).unwrap();
        let mut received = Vec::new();
        runtime.block_on(async { while input.read(&mut received).await.unwrap() > 0 {} });
        assert_eq!(received, sent);
    }
}
