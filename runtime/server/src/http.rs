//! MCP over HTTP/1.1 (the Streamable HTTP transport), without sessions. [`bind`] takes the port,
//! [`Bound::run`] serves. In reading order: `connections` accepts and closes, `timed_stream` sets
//! deadlines for slow peers, `service` answers one request with the help of `auth` (who may use the
//! server), `headers` (what MCP's headers must say), `body`, `deadline`, `response`, `events` and
//! `health`. What a message means is decided in `mcp`.

mod connections;
mod timed_stream;

mod service;

mod auth;
mod body;
mod deadline;
mod events;
mod headers;
mod health;
mod response;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use crate::analytics::Recorder;
use crate::mcp::Server;
use crate::scripts::Scripts;
use crate::source::{Refresher, Source};
use crate::{Error, Options, platform};
use crate::{LAST_EVENTS, LAST_SCRIPTS};
use auth::Auth;
use service::Service;

pub use auth::{AgentToken, Token};

/// Where to serve, and who may use it.
#[derive(Debug)]
pub struct Settings {
    /// The address to listen on; port 0 lets the system choose one.
    pub address: SocketAddr,
    /// Names that requests may use for this server (`Host`), with or without a port, beside the
    /// loopback names and the address itself.
    pub hosts: Vec<String>,
    /// Web origins that requests may come from (`Origin`), beside loopback ones.
    pub origins: Vec<String>,
    /// The token that every request must carry. Required beyond loopback.
    pub token: Option<Token>,
    /// Tokens of agents: who carries one is that agent. A server with any requires a token.
    pub agents: Vec<AgentToken>,
}

/// How much is served at one time, and how long each step may take.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Open connections. When there are as many, the one that does least is closed for a new one.
    connections: usize,
    /// Requests that are being answered; others wait for their turn, within their time.
    requests: usize,
    /// From the first byte of a request's head to its last.
    head: Duration,
    /// From one request of a connection to the next. Load balancers keep connections for a minute;
    /// this is longer, so that they close first and lose no request.
    idle: Duration,
    /// From the head of a request to its response, waiting for a turn included, unless the task that
    /// answers it has announced that it takes longer, as scripts may.
    request: Duration,
    /// For an answer until it is streamed to a client that accepts events, which keeps the connection
    /// alive.
    until_stream: Duration,
    /// For the client to read a response.
    response: Duration,
    /// From the first to the last event of a response that is streamed, however often events come:
    /// it holds a turn. No answer takes a tenth of this, but for tasks that announce more.
    stream: Duration,
    /// For requests under way when the process is asked to stop. Supervisors kill it after 10 s
    /// (containers) to 90 s (systemd).
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
            until_stream: Duration::from_secs(1),
            response: Duration::from_secs(60),
            stream: Duration::from_secs(300),
            drain: Duration::from_secs(8),
        }
    }
}

/// A server that has its port but accepts no connections yet.
pub struct Bound {
    listener: TcpListener,
    address: SocketAddr,
    service: Service,
    scripts: Scripts,
    recorder: Recorder,
    limits: Limits,
}

/// Takes the port for serving the skills of `source`. Fails if the port is not available, if the
/// settings are malformed, or if the address is not a loopback one and there is no token.
pub fn bind(source: impl Source, options: Options, settings: Settings) -> Result<Bound, Error> {
    bind_within(source, options, settings, Limits::default())
}

fn bind_within(
    source: impl Source,
    options: Options,
    settings: Settings,
    limits: Limits,
) -> Result<Bound, Error> {
    let wanted = settings.address;
    if settings.token.is_none() && settings.agents.is_empty() && !wanted.ip().is_loopback() {
        return Err(Error::TokenMissing(wanted));
    }
    let refused = |source| Error::Listen {
        address: wanted,
        source,
    };
    let listener = TcpListener::bind(wanted).map_err(refused)?;
    listener.set_nonblocking(true).map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    let auth = Auth::new(settings, address)?;
    let refresher = Refresher::new(source, &options.overrides);
    let server = Server::new(refresher.clone(), options);
    Ok(Bound {
        scripts: server.scripts.clone(),
        recorder: server.recorder.clone(),
        listener,
        address,
        service: Service::new(auth, refresher, server, limits),
        limits,
    })
}

impl Bound {
    /// The address in use. The port is never 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until the process gets SIGTERM or SIGINT and the requests under way have finished.
    /// Fails only if the event loop does.
    pub fn run(self) -> Result<(), Error> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Error::Runtime)?;
        let (scripts, recorder) = (self.scripts.clone(), self.recorder.clone());
        let ended = runtime.block_on(self.until(platform::asked_to_stop()));
        // A load under way must not keep the process alive. This ends the calls of scripts, too.
        runtime.shutdown_background();
        scripts.wait_for_all(LAST_SCRIPTS);
        recorder.close(LAST_EVENTS);
        ended
    }

    async fn until(self, stop: impl Future<Output = std::io::Result<()>>) -> Result<(), Error> {
        let listener = tokio::net::TcpListener::from_std(self.listener).map_err(Error::Runtime)?;
        let service = Arc::new(self.service);
        service.keep_synced();
        // Loads the skills now, so that the first request need not wait.
        tokio::spawn(Arc::clone(&service).warm_up());
        connections::serve(listener, service, self.limits, stop)
            .await
            .map_err(Error::Runtime)
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
