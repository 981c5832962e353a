//! Serves skill bundles over the Model Context Protocol, on stdin and stdout or,
//! with the feature `http`, to many clients at a port.
//!
//! [`serve`] takes a [`Source`] of skills and answers until its client leaves;
//! [`Preview`] shows what such a client is told first.
//! In reading order: `transport` brings messages over the wire that `platform`
//! offers, `http` over sockets; `mcp` answers them, one file per tool, from the
//! generation that `library` holds; `source` says where newer generations come
//! from, `changes` what clients should be told of them. How skills are written
//! is not known here.

mod error;
mod source;

mod changes;
#[cfg(feature = "http")]
pub mod http;

mod library;
mod mcp;
mod platform;
mod transport;

#[cfg(test)]
#[cfg(unix)]
mod testing;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::service::{ServerInitializeError, serve_directly};
use tokio::sync::watch;

use library::Library;
use mcp::{FrontDesk, Server};
use platform::{Input, Output};
use transport::{Counted, Outbox, Transport};

pub use error::Error;
pub use mcp::{Preview, Tools};
pub use source::{Archive, Embedded, Loaded, Mode, Source};

/// Bytes of a list of skills in an answer, unless the operator says otherwise.
/// What matters most stands first, so a host that cuts loses the end.
const LIST_BYTES: usize = 16 * 1024;

/// How long replies under way may take to leave when the process is asked to
/// stop. Supervisors kill after some seconds.
const GRACE: Duration = Duration::from_secs(1);

/// What the operator can choose.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The tools to offer.
    pub tools: Tools,
    /// Publish spec 4's tools under their dotted names. Several hosts refuse
    /// a server with such a name; calls understand both spellings anyway.
    pub dotted_names: bool,
    /// Most bytes of the description of the `skill` tool (never less than its
    /// fixed text), and of a list of skills in an answer. Unless set, the
    /// description takes what the bundle carries for it, under 8 KiB, and
    /// answers 16 KiB. Hosts cut descriptions at 2,048 to 16,384 characters.
    pub description_bytes: Option<usize>,
}

impl Options {
    pub(crate) fn list_bytes(&self) -> usize {
        self.description_bytes.unwrap_or(LIST_BYTES)
    }
}

/// Serves the skills of `source` on stdin and stdout until stdin ends, nobody
/// reads stdout any more, or the process is asked to stop. All of these are a
/// good end.
pub fn serve(source: impl Source, options: Options) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::Runtime)?;
    let server = Server::new(Library::new(source), options);
    let ended = runtime.block_on(async {
        let (input, output) = platform::claim_stdio().map_err(Error::Stdio)?;
        session(server, input, output).await
    });
    // A load that is under way must not hold the process.
    runtime.shutdown_background();
    ended
}

/// One session from its first message to its end.
async fn session(server: Server, input: Input, output: Output) -> Result<(), Error> {
    let outbox = Arc::new(Outbox::new(output));
    let (at_end, ended) = watch::channel(false);
    let server = server.with_notices(ended);
    let desk = FrontDesk::new(server.clone(), Arc::clone(&outbox));
    let mut transport = Transport::new(input, Arc::clone(&outbox), Box::new(desk), at_end);
    let stop = asked_or_left(&outbox);
    tokio::pin!(stop);
    tokio::select! {
        needed = transport.needs_rmcp() => if !needed {
            outbox.last_flush().await;
            return Ok(());
        },
        stopped = &mut stop => {
            // What has not left by then never will.
            let _ = tokio::time::timeout(GRACE, outbox.flushed()).await;
            return stopped;
        },
    }
    let server = Counted::new(server, Arc::clone(&outbox));
    // On the heap, and only now: a start touches every page of it.
    Box::pin(with_rmcp(server, transport, stop)).await
}

/// Comes back when the process is asked to stop, or nobody reads stdout any more.
async fn asked_or_left(outbox: &Outbox) -> Result<(), Error> {
    tokio::select! {
        asked = platform::asked_to_stop() => asked.map_err(Error::Runtime),
        () = outbox.reader_gone() => Ok(()),
    }
}

/// The rest of a session in which something has come that the desk leaves to rmcp.
async fn with_rmcp(
    server: Counted<Server>,
    mut transport: Transport,
    mut stop: Pin<&mut impl Future<Output = Result<(), Error>>>,
) -> Result<(), Error> {
    let running = if let Some(client) = transport.wake_rmcp() {
        serve_directly(server, transport, Some(client))
    } else {
        tokio::select! {
            begun = server.serve(transport) => match begun {
                Ok(running) => running,
                Err(error) => return ended_early(error),
            },
            stopped = &mut stop => return stopped,
        }
    };
    let cancel = running.cancellation_token();
    let waiting = running.waiting();
    tokio::pin!(waiting);
    tokio::select! {
        ended = &mut waiting => ended.map(|_| ()).map_err(|fault| Error::Session(fault.to_string())),
        stopped = &mut stop => {
            cancel.cancel();
            // What has not left by then never will.
            let _ = tokio::time::timeout(GRACE, waiting).await;
            stopped
        }
    }
}

/// A client that leaves before it has said what it wants has done no wrong.
fn ended_early(error: ServerInitializeError) -> Result<(), Error> {
    match error {
        ServerInitializeError::ConnectionClosed(_)
        | ServerInitializeError::TransportError { .. }
        | ServerInitializeError::Cancelled
        // The client has its answer already.
        | ServerInitializeError::InitializeFailed(_) => Ok(()),
        fault => Err(Error::Session(fault.to_string())),
    }
}
