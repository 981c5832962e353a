//! A server on a thread, and the requests that the tests send it.

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::{Value, json};
use skillbundle_testkit::{HttpClient, HttpResponse, PATIENCE, request, with_meta};
use tokio::sync::oneshot;

use super::super::{Bound, Limits, Settings, Token, bind_within};
use crate::source::Source;
use crate::testing::{Fake, folder, set};
use crate::{Error, Options};

pub(super) const TOKEN: &str = "a-token-of-good-length";

/// A server that answers until it is dropped or stopped.
pub(super) struct Running {
    pub(super) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    ended: Receiver<Result<(), Error>>,
}

pub(super) fn skills() -> Fake {
    Fake::new(set(vec![folder("git", "Git workflow", "\n# Git\n")]))
}

pub(super) fn settings() -> Settings {
    Settings {
        address: ([127, 0, 0, 1], 0).into(),
        hosts: Vec::new(),
        origins: Vec::new(),
        token: None,
        agents: Vec::new(),
    }
}

pub(super) fn with_token() -> Settings {
    Settings {
        token: Some(Token::new(TOKEN).unwrap()),
        ..settings()
    }
}

impl Running {
    pub(super) fn start(source: impl Source) -> Self {
        Self::start_with(source, settings(), Limits::default())
    }

    pub(super) fn start_with(source: impl Source, settings: Settings, limits: Limits) -> Self {
        Self::of(bind_within(source, Options::default(), settings, limits).unwrap())
    }

    pub(super) fn of(bound: Bound) -> Self {
        let address = bound.address();
        let (stop, stopped) = oneshot::channel::<()>();
        let (done, ended) = channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            let result = runtime.block_on(bound.until(async {
                let _ = stopped.await;
                Ok(())
            }));
            runtime.shutdown_background();
            let _ = done.send(result);
        });
        Self {
            address,
            stop: Some(stop),
            ended,
        }
    }

    pub(super) fn connect(&self) -> HttpClient {
        HttpClient::connect(self.address)
    }

    /// One request on a connection of its own.
    pub(super) fn ask(&self, line: &str, headers: &[&str], body: &str) -> HttpResponse {
        self.connect().ask(line, headers, body)
    }

    /// A message as a client of the older revisions posts it.
    pub(super) fn post(&self, message: &Value) -> HttpResponse {
        self.ask("POST /mcp", &[], &message.to_string())
    }

    /// A request as a client of 2026-07-28 posts it.
    pub(super) fn post_modern(
        &self,
        method: &str,
        name: Option<&str>,
        params: Value,
    ) -> HttpResponse {
        let message = modern(method, params);
        let mut headers = vec![
            "MCP-Protocol-Version: 2026-07-28".to_owned(),
            format!("Mcp-Method: {method}"),
        ];
        headers.extend(name.map(|name| format!("Mcp-Name: {name}")));
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        self.ask("POST /mcp", &headers, &message.to_string())
    }

    /// Tells it to stop.
    pub(super) fn stop(&mut self) {
        drop(self.stop.take());
    }

    /// How it ended.
    pub(super) fn ended(&self) -> Result<(), Error> {
        self.ended.recv_timeout(PATIENCE).expect("the server ends")
    }
}

pub(super) fn modern(method: &str, params: Value) -> Value {
    legacy(method, with_meta(params))
}

pub(super) fn legacy(method: &str, params: Value) -> Value {
    request(1, method, params)
}

pub(super) fn call(tool: &str) -> Value {
    legacy(
        "tools/call",
        json!({ "name": tool, "arguments": { "name": "git" } }),
    )
}
