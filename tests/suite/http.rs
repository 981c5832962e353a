//! The binary with `--http`: the address it prints, why it does not start, what it logs, how it
//! stops, and what many clients cost. What it answers is tested beside the server's code.
#![cfg(feature = "http")]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::project::{Project, finish, say};
use skillbundle_testkit::{HttpClient, HttpResponse};

/// The query must not be logged.
const POST: &str = "POST /mcp?secret=query";

const TOKEN: &str = "a-token-of-good-length";

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"suite","version":"0"}}}"#;
const CALL: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"skill","arguments":{"name":"hello"}}}"#;

/// A running server.
pub(crate) struct Running {
    child: Child,
    stderr: BufReader<ChildStderr>,
    pub(crate) address: String,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("stderr is piped"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("a line on stderr");
        let address = line
            .trim()
            .strip_prefix("listening on http://")
            .and_then(|rest| rest.strip_suffix("/mcp"))
            .unwrap_or_else(|| panic!("no address: {line}"));
        Self {
            child,
            stderr,
            address: address.to_owned(),
        }
    }

    pub(crate) fn connect(&self) -> HttpClient {
        HttpClient::connect(&self.address)
    }

    fn post(&self, message: &str, headers: &[&str]) -> HttpResponse {
        self.connect().ask(POST, headers, message)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).expect("an id");
        kill_process(Pid::from_raw(id).expect("an id"), signal).expect("it runs");
    }

    /// Waits for its end: the exit code, stdout and stderr.
    pub(crate) fn end(mut self) -> (Option<i32>, String, String) {
        let (mut output, mut errors) = (String::new(), String::new());
        let mut stdout = self.child.stdout.take().expect("stdout is piped");
        stdout.read_to_string(&mut output).expect("text");
        self.stderr.read_to_string(&mut errors).expect("text");
        let status = self.child.wait().expect("it ends");
        (status.code(), output, errors)
    }

    /// Resident memory in KiB.
    fn resident(&self) -> u64 {
        let status = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(status).expect("the state of a process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().next());
        kib.and_then(|kib| kib.parse().ok()).expect("a number")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // An error means that it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn project() -> Project {
    let project = Project::new();
    project.skill("skills/hello", "hello", "Says hello");
    project
}

pub(crate) fn serve(project: &Project, arguments: &[&str]) -> Command {
    let mut command = project.command();
    command.args(["serve", "--dir", "skills", "--http"]);
    command.args(arguments);
    command
}

#[test]
fn it_prints_its_address_and_ends_with_0_on_a_signal() {
    for signal in [Signal::TERM, Signal::INT] {
        let project = project();
        let server = Running::start(serve(&project, &[":0"]));
        assert!(
            server.address.starts_with("127.0.0.1:"),
            "{}",
            server.address
        );
        assert!(!server.address.ends_with(":0"), "{}", server.address);
        let called = server.post(CALL, &[]);
        assert!(called.body.contains("hello"), "{called:?}");
        let mut idle = server.connect();
        server.signal(signal);
        let (code, output, errors) = server.end();
        assert_eq!((code, output.as_str()), (Some(0), ""), "{errors}");
        // Closed; or reset, if it had not been accepted yet.
        assert!(idle.is_closed());
    }
}

#[test]
fn the_log_has_a_line_for_each_request_and_no_secrets() {
    let project = project();
    let mut command = serve(&project, &["127.0.0.1:0"]);
    command
        .env("SKILLBUNDLE_LOG", "info")
        .env("SKILLBUNDLE_TOKEN", TOKEN);
    let server = Running::start(command);
    let header = format!("Authorization: Bearer {TOKEN}");
    assert_eq!(server.post(CALL, &[&header]).status, 200);
    assert_eq!(server.post(CALL, &[]).status, 401);
    server.signal(Signal::TERM);
    let (_, _, log) = server.end();
    let lines: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("POST /mcp"))
        .collect();
    assert_eq!(lines.len(), 2, "{log}");
    assert!(lines[0].contains("POST /mcp tools/call 200 "), "{log}");
    assert!(lines[1].contains("POST /mcp - 401 "), "{log}");
    for secret in [TOKEN, "query", "Says hello"] {
        assert!(!log.contains(secret), "{secret} is in {log}");
    }
}

#[test]
fn a_server_that_cannot_start_says_what_to_do() {
    let project = project();
    project.file("open-token", TOKEN).mode("open-token", 0o644);
    project
        .file("short-token", "short")
        .mode("short-token", 0o600);
    let taken = Running::start(serve(&project, &[":0"]));
    let taken = taken.address.as_str();
    for (arguments, expected) in [
        (&[taken][..], "choose another one"),
        (&["0.0.0.0:0"], "--token-file"),
        (&["8080"], "IP:PORT"),
        (&["skills.example:80"], "IP:PORT"),
        (&[":0", "--token-file", "open-token"], "chmod 600"),
        (&[":0", "--token-file", "short-token"], "16 characters"),
        (&[":0", "--token-file", "absent"], "absent"),
        (&[":0", "--allow-host", "http://x"], "skills.example"),
        (&[":0", "--allow-origin", "x"], "https://app.example"),
    ] {
        let ran = finish(&mut serve(&project, arguments));
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(expected), "{arguments:?}: {ran:?}");
        assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
    }
    let mut command = serve(&project, &["0.0.0.0:0"]);
    let ran = finish(command.env("SKILLBUNDLE_TOKEN", "short"));
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let ran = project.run(&["serve", "--allow-host", "x"]);
    assert_eq!(ran.code, Some(2), "without --http it is an error: {ran:?}");
}

#[test]
fn a_token_file_allows_serving_beyond_loopback() {
    let project = project();
    project
        .file("token", format!("{TOKEN}\n"))
        .mode("token", 0o600);
    let arguments = [
        "0.0.0.0:0",
        "--token-file",
        "token",
        "--allow-host",
        "skills.example",
    ];
    let mut server = Running::start(serve(&project, &arguments));
    server.address = server.address.replace("0.0.0.0", "127.0.0.1");
    let right = format!("Authorization: Bearer {TOKEN}");
    assert_eq!(server.post(CALL, &[]).status, 401);
    assert_eq!(server.post(CALL, &[&right]).status, 200);
    let by_name = server.post(CALL, &["Host: skills.example", &right]);
    assert_eq!(by_name.status, 200, "{by_name:?}");
}

/// 300 clients that send their heads slowly take all slots; a health check is answered anyway,
/// long before the 10 s after which a slow head is cut off.
#[test]
fn a_health_check_is_answered_while_slow_clients_hold_all_connections() {
    let project = project();
    let server = Running::start(serve(&project, &[":0"]));
    let mut slow: Vec<HttpClient> = (0..300).map(|_| server.connect()).collect();
    for client in &mut slow {
        client.write(b"POST /mcp HTTP/1.1\r\nX: ");
    }
    let mut probe = server.connect();
    let patience = Some(Duration::from_secs(5));
    probe.0.set_read_timeout(patience).expect("a time");
    assert_eq!(probe.ask("GET /healthz", &[], "").status, 200);
}

/// A measurement, to be run by hand with a release build:
/// `cargo test --release --test suite many_clients -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement of a minute, for a quiet machine and a release build"]
fn many_clients_and_abandoned_handshakes_cost_little_memory() {
    let project = project();
    let server = Running::start(serve(&project, &[":0"]));
    for _ in 0..200 {
        server.post(INITIALIZE, &[]);
    }
    let warm = server.resident();
    for _ in 0..10_000 {
        server.post(INITIALIZE, &[]);
    }
    let abandoned = server.resident();
    run_clients(&server);
    let crowded = server.resident();
    run_clients(&server);
    let again = server.resident();
    say(&format!(
        "resident KiB: {warm} warm, {abandoned} after 10,000 abandoned handshakes, \
         {crowded} after 64 clients with 200 calls each, {again} after 64 more"
    ));
    assert!(abandoned < warm + 10 * 1024, "{warm} -> {abandoned} KiB");
    assert!(crowded < warm + 10 * 1024, "{warm} -> {crowded} KiB");
    assert!(again < crowded + 1024, "{crowded} -> {again} KiB");
}

/// 64 clients at once.
fn run_clients(server: &Running) {
    std::thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                let mut client = server.connect();
                for _ in 0..200 {
                    assert_eq!(client.ask(POST, &[], CALL).status, 200);
                }
            });
        }
    });
}
