//! MCP over HTTP/1.1, one answer a request and no sessions: what rmcp's
//! Streamable HTTP needs around it to stand on a port. [`bind`] takes the port,
//! [`Bound::run`] serves. In reading order: `listen` takes connections and ends
//! them, `wire` keeps a slow peer from holding one, `door` answers a request
//! with the help of `guard` (who may ask), `body` (how much) and `protocol`
//! (what rmcp does), `probe` tells supervisors how we are. What a message means
//! is `mcp`'s business.

mod listen;
mod wire;

mod door;

mod body;
mod guard;
mod plain;
mod probe;
mod protocol;
mod reply;
mod token;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use crate::library::Library;
use crate::mcp::Server;
use crate::source::Source;
use crate::{Error, Options, platform};
use door::Door;
use guard::Guard;
use protocol::Protocol;

pub use token::Token;

/// Where and for whom to serve.
#[derive(Debug)]
pub struct Settings {
    /// The address to listen on; port 0 lets the system choose one.
    pub address: SocketAddr,
    /// Names that requests may use for this server (`Host`), with a port or for
    /// any, beside the loopback names and the address itself.
    pub hosts: Vec<String>,
    /// Web origins that requests may come from (`Origin`), beside loopback ones.
    pub origins: Vec<String>,
    /// What every request must carry; needed beyond loopback.
    pub token: Option<Token>,
}

/// How much is served at one time, and how long anything may take.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Connections. Idle ones are asked to leave when all are taken.
    connections: usize,
    /// Requests under way; others wait for their turn, within their time.
    requests: usize,
    /// From the first byte of a request's head to its last.
    head: Duration,
    /// From one request of a connection to the next. Longer than the minute
    /// that load balancers keep theirs, so that it is they who close.
    idle: Duration,
    /// From the head of a request to its answer, waiting for a turn included.
    request: Duration,
    /// For the client to take an answer that did not leave at once.
    answer: Duration,
    /// For requests under way when the process is asked to stop. Supervisors
    /// kill after 10 s (containers) to 90 s (systemd).
    drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 256,
            requests: 64,
            head: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            request: Duration::from_secs(60),
            answer: Duration::from_secs(60),
            drain: Duration::from_secs(8),
        }
    }
}

/// A server that has its port and takes no connection yet.
pub struct Bound {
    listener: TcpListener,
    address: SocketAddr,
    door: Door,
    limits: Limits,
}

/// Takes the port for serving the skills of `source`. Beyond loopback it asks
/// for a token.
pub fn bind(source: impl Source, options: Options, settings: Settings) -> Result<Bound, Error> {
    bind_within(source, options, settings, Limits::default())
}

/// The same, with the tools, resources and prompts that the official
/// conformance suite asks for by name. For nobody else.
#[cfg(feature = "conformance-fixtures")]
pub fn bind_with_fixtures(
    source: impl Source,
    options: Options,
    settings: Settings,
) -> Result<Bound, Error> {
    bind_for(
        source,
        options,
        settings,
        Limits::default(),
        Protocol::fixtures,
    )
}

fn bind_within(
    source: impl Source,
    options: Options,
    settings: Settings,
    limits: Limits,
) -> Result<Bound, Error> {
    bind_for(source, options, settings, limits, Protocol::skills)
}

fn bind_for(
    source: impl Source,
    options: Options,
    settings: Settings,
    limits: Limits,
    protocol: fn(Server) -> Protocol,
) -> Result<Bound, Error> {
    let wanted = settings.address;
    if settings.token.is_none() && !wanted.ip().is_loopback() {
        return Err(Error::TokenMissing(wanted));
    }
    let refused = |source| Error::Listen {
        address: wanted,
        source,
    };
    let listener = TcpListener::bind(wanted).map_err(refused)?;
    listener.set_nonblocking(true).map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    let guard = Guard::new(settings, address)?;
    let library = Library::new(source);
    let server = Server::new(library.clone(), options);
    Ok(Bound {
        listener,
        address,
        door: Door::new(guard, library, protocol(server), limits),
        limits,
    })
}

impl Bound {
    /// Where it listens: the port is the one in use.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until the process is asked to stop, and lets requests under way
    /// finish first. That is a good end.
    pub fn run(self) -> Result<(), Error> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Error::Runtime)?;
        let ended = runtime.block_on(self.until(platform::asked_to_stop()));
        // A load that is under way must not hold the process.
        runtime.shutdown_background();
        ended
    }

    async fn until(self, stop: impl Future<Output = std::io::Result<()>>) -> Result<(), Error> {
        let listener = tokio::net::TcpListener::from_std(self.listener).map_err(Error::Runtime)?;
        let door = Arc::new(self.door);
        // The first request should not wait for the skills.
        tokio::spawn(Arc::clone(&door).warm_up());
        listen::serve(listener, door, self.limits, stop)
            .await
            .map_err(Error::Runtime)
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
