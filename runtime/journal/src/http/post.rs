//! One request to the server, bounded in time and in what is read of the answer. What is said of a
//! fault holds nothing of the address.

use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use ureq::http::{Response, header};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body, Error, Proxy};
use uuid::Uuid;

use crate::http::Endpoint;

/// How much of an answer is read, so that a server which writes a little is not cut off. Nothing in
/// it matters.
const ANSWER_BYTES: u64 = 16 << 10;

/// How long that may take.
const ANSWER_PATIENCE: Duration = Duration::from_secs(1);

/// Sends requests to one server.
pub(super) struct Client {
    endpoint: Endpoint,
    /// Made for the first request: reading the system's certificates takes longer than all the rest.
    agent: Option<Agent>,
}

/// Why a request did not arrive.
pub(super) struct Rejected {
    /// In words, without anything of the address.
    pub(super) problem: String,
    /// How long the server asks to be left alone.
    pub(super) retry_after: Option<Duration>,
}

impl Client {
    pub(super) fn new(endpoint: &Endpoint) -> Self {
        Self {
            endpoint: endpoint.clone(),
            agent: None,
        }
    }

    /// Brings the body. It has arrived if the server says so: by a status of 200 to 299.
    pub(super) fn post(
        &mut self,
        key: Uuid,
        body: &str,
        timeout: Duration,
    ) -> Result<(), Rejected> {
        // The client panics where a thread that looks up a name cannot be started.
        let sent = catch_unwind(AssertUnwindSafe(|| self.try_post(key, body, timeout)));
        let sent = sent.unwrap_or_else(|_| Err("the request failed in this program".into()));
        // After a fault the next one is made anew: by then there may be another certificate or proxy.
        sent.inspect_err(|_| self.agent = None)
    }

    fn try_post(&mut self, key: Uuid, body: &str, timeout: Duration) -> Result<(), Rejected> {
        let agent = match self.agent.take() {
            Some(agent) => agent,
            None => agent(&self.endpoint)?,
        };
        let request = agent
            .post(self.endpoint.uri().clone())
            .config()
            .timeout_global(Some(timeout))
            .timeout_recv_body(Some(ANSWER_PATIENCE.min(timeout)))
            .build()
            .header(header::CONTENT_TYPE, "application/json")
            .header("Idempotency-Key", key.to_string());
        let answer = request.send(body);
        let answer = answer.map_err(|error| problem(&error, timeout))?;
        let status = answer.status();
        let retry_after = retry_after(&answer);
        read_a_little(answer);
        if status.is_success() {
            self.agent = Some(agent);
            return Ok(());
        }
        let mut problem = format!("expected a status of 200 to 299, found {}", status.as_u16());
        if status.is_redirection() {
            problem.push_str(" (a redirection, which is not followed)");
        }
        Err(Rejected {
            problem,
            retry_after,
        })
    }
}

fn agent(endpoint: &Endpoint) -> Result<Agent, Rejected> {
    let is_encrypted = endpoint.is_encrypted();
    let config = Agent::config_builder()
        .user_agent(concat!("skillbundle/", env!("CARGO_PKG_VERSION")))
        .http_status_as_error(false)
        // The events are for this server, and for no other that it names.
        .max_redirects(0)
        .max_redirects_will_error(false)
        // One request each half a minute: a connection that was kept would often be closed by then,
        // and a request over it would be one of which nobody knows whether it has arrived.
        .max_idle_connections(0)
        // What is sent to this machine needs no proxy.
        .proxy(is_encrypted.then(Proxy::try_from_env).flatten());
    let config = if is_encrypted {
        config.tls_config(tls()?)
    } else {
        config
    };
    Ok(config.build().new_agent())
}

/// TLS by the certificates of the system, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name.
fn tls() -> Result<TlsConfig, Rejected> {
    let found = rustls_native_certs::load_native_certs();
    let roots: Vec<_> = found
        .certs
        .iter()
        .map(|it| Certificate::from_der(it).to_owned())
        .collect();
    if roots.is_empty() {
        let help = "no root certificates in the system; name a file in SSL_CERT_FILE";
        return Err(help.into());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(roots)))
        .unversioned_rustls_crypto_provider(provider)
        .build())
}

/// The seconds of the header `Retry-After`. Its other form, a date, needs clocks that agree.
fn retry_after(answer: &Response<Body>) -> Option<Duration> {
    let value = answer.headers().get(header::RETRY_AFTER)?.to_str().ok()?;
    value.trim().parse().ok().map(Duration::from_secs)
}

fn read_a_little(answer: Response<Body>) {
    let mut body = answer.into_body().into_reader().take(ANSWER_BYTES);
    let read = io::copy(&mut body, &mut io::sink());
    // The status has come, so what fails here changes nothing.
    drop(read);
}

fn problem(error: &Error, timeout: Duration) -> Rejected {
    match error {
        Error::Timeout(_) => {
            let seconds = timeout.as_secs_f64();
            format!("no answer within {seconds:.1} s").as_str().into()
        }
        Error::HostNotFound => "its name is not known".into(),
        Error::Io(error) => io_problem(error).as_str().into(),
        Error::Rustls(error) => format!("TLS: {error}").as_str().into(),
        Error::Tls(problem) => format!("TLS: {problem}").as_str().into(),
        Error::Protocol(_) => "the answer is not HTTP".into(),
        Error::LargeResponseHeader(..) => "the head of the answer is too long".into(),
        Error::ConnectProxyFailed(_) => "the proxy does not connect to it".into(),
        Error::ConnectionFailed => "no connection".into(),
        // Others may quote the address.
        _ => "the request failed".into(),
    }
}

/// A fault of TLS comes as one of reading or writing.
fn io_problem(error: &io::Error) -> String {
    let inner = error.get_ref();
    match inner.and_then(|it| it.downcast_ref::<rustls::Error>()) {
        Some(error) => format!("TLS: {error}"),
        None => error.to_string(),
    }
}

impl From<&str> for Rejected {
    fn from(problem: &str) -> Self {
        Self {
            problem: problem.to_owned(),
            retry_after: None,
        }
    }
}
