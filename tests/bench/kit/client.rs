//! Requests of the benchmarks as texts: what is measured builds and parses no
//! JSON. The pipes are those of the test kit.

use std::ops::Deref;
use std::path::Path;
use std::process::{Command, Stdio};

/// A server started for one measurement.
pub(crate) struct Client {
    pipes: skillbundle_testkit::Client,
    id: u64,
}

impl Deref for Client {
    type Target = skillbundle_testkit::Client;

    fn deref(&self) -> &Self::Target {
        &self.pipes
    }
}

impl Client {
    /// Starts a server; its `age` counts from here.
    pub(crate) fn start(program: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).stderr(Stdio::null());
        Self {
            pipes: skillbundle_testkit::Client::start_measured(command),
            id: 0,
        }
    }

    /// The handshake of the 2025-11-25 protocol.
    pub(crate) fn initialize(&mut self) {
        self.ask("initialize", r#""protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"0"}"#);
        self.pipes
            .send_raw(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    }

    /// Calls the `skill` tool and returns the reply's line.
    pub(crate) fn load(&mut self, name: &str) -> String {
        self.ask(
            "tools/call",
            &format!(r#""name":"skill","arguments":{{"name":"{name}"}}"#),
        )
    }

    /// Any request, with the inside of its parameters; returns the reply's line.
    pub(crate) fn ask(&mut self, method: &str, params: &str) -> String {
        self.id += 1;
        let id = self.id;
        let request = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{{params}}}}}\n"
        );
        self.pipes.send_raw(request.as_bytes());
        let line = self.pipes.line().expect("the server answers");
        String::from_utf8(line).expect("the server writes UTF-8")
    }
}
