//! Repositories made by the machine's git, and a server for them that can also fail in every way that
//! a network can.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

/// A bare repository, a working tree that pushes to it, and room for mirrors.
#[derive(Debug)]
pub struct Origin {
    room: TempDir,
}

impl Origin {
    /// An empty repository whose branch is `main`.
    #[expect(clippy::new_without_default, reason = "it runs programs")]
    pub fn new() -> Self {
        Self::with_options(&[])
    }

    /// The same with options for `git init`.
    pub fn with_options(options: &[&str]) -> Self {
        let room = tempfile::tempdir().expect("a test's own files");
        let origin = Self { room };
        let bare = origin.bare().display().to_string();
        let work = origin.work().display().to_string();
        let init = ["init", "--quiet", "--initial-branch=main"];
        git_in(
            origin.room.path(),
            &[&init, options, &["--bare", &bare]].concat(),
        );
        git_in(origin.room.path(), &[&init, options, &[&work]].concat());
        origin.git(&["remote", "add", "origin", &bare]);
        origin
    }

    /// The directory that everything is in.
    pub fn room(&self) -> &Path {
        self.room.path()
    }

    /// The bare repository.
    pub fn bare(&self) -> PathBuf {
        self.room().join("origin.git")
    }

    /// The working tree.
    pub fn work(&self) -> PathBuf {
        self.room().join("work")
    }

    /// Runs git in the working tree, and returns what it prints.
    pub fn git(&self, arguments: &[&str]) -> String {
        git_in(&self.work(), arguments)
    }

    /// Writes files into the working tree.
    pub fn write(&self, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = self.work().join(path);
            fs::create_dir_all(path.parent().expect("a test's own files"))
                .expect("a test's own files");
            fs::write(path, text).expect("a test's own files");
        }
    }

    /// Commits whatever is in the working tree, pushes it to `main`, and returns its hash.
    pub fn commit(&self) -> String {
        self.git(&["add", "--all", "--force"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message=x"]);
        self.push()
    }

    /// The same with files that are written before.
    pub fn commit_files(&self, files: &[(&str, &str)]) -> String {
        self.write(files);
        self.commit()
    }

    /// Makes `main` of the bare repository what the working tree has.
    pub fn push(&self) -> String {
        self.git(&[
            "push",
            "--quiet",
            "--force",
            "origin",
            "HEAD:refs/heads/main",
        ]);
        self.git(&["rev-parse", "HEAD"])
    }
}

/// Runs git in a directory, with no configuration but its own, and returns what it prints.
pub fn git_in(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args([
            "-c",
            "protocol.file.allow=always",
            "-c",
            "core.autocrlf=false",
        ])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_NAME", "A")
        .env("GIT_AUTHOR_EMAIL", "a@a.example")
        .env("GIT_COMMITTER_NAME", "A")
        .env("GIT_COMMITTER_EMAIL", "a@a.example")
        .stdin(Stdio::null())
        .output()
        .expect("a test's own files");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {stderr}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// What a server does with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Serve {
    /// Answers it.
    Well,
    /// Answers it if it has this token, as GitHub expects it; otherwise asks for one (401).
    WithToken(String),
    /// Reads it and says nothing.
    Nothing,
    /// Says which commits there are, and nothing if it is asked for their objects.
    NoObjects,
    /// Answers one byte a second.
    Slowly,
    /// Closes after so many bytes of an answer that holds objects.
    Until(usize),
    /// Answers with this status and no body.
    Status(u16),
    /// Sends the client elsewhere.
    RedirectTo(String),
}

/// A server for the bare repositories of a directory, on a port of the loopback interface, until it is
/// dropped. Git's own `http-backend` answers.
#[derive(Debug)]
pub struct GitServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    root: PathBuf,
    serve: Mutex<Serve>,
    /// The head of each request.
    heads: Mutex<Vec<String>>,
    is_closed: Mutex<bool>,
    at_once: AtomicUsize,
    most_at_once: AtomicUsize,
}

impl GitServer {
    /// Serves what is below `root`.
    pub fn start(root: &Path, serve: Serve) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            root: root.to_owned(),
            serve: Mutex::new(serve),
            heads: Mutex::default(),
            is_closed: Mutex::new(false),
            at_once: AtomicUsize::new(0),
            most_at_once: AtomicUsize::new(0),
        });
        let server = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if *server.is_closed.lock().expect("not poisoned") {
                    return;
                }
                let server = Arc::clone(&server);
                thread::spawn(move || server.connection(stream));
            }
        });
        Self { address, shared }
    }

    /// The host and the port.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// The URL of a repository.
    pub fn url(&self, name: &str) -> String {
        format!("http://{}/{name}", self.address)
    }

    /// What becomes of requests from now on.
    pub fn set(&self, serve: Serve) {
        *self.shared.serve.lock().expect("not poisoned") = serve;
    }

    /// The heads of all requests so far.
    pub fn heads(&self) -> Vec<String> {
        self.shared.heads.lock().expect("not poisoned").clone()
    }

    /// The most transfers of objects that were under way at one time.
    pub fn most_at_once(&self) -> usize {
        self.shared.most_at_once.load(Ordering::SeqCst)
    }
}

impl Drop for GitServer {
    fn drop(&mut self) {
        *self.shared.is_closed.lock().expect("not poisoned") = true;
        // Wakes the listener. If that fails it is gone.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    /// One request: git opens a new connection if we close this one.
    fn connection(&self, stream: TcpStream) {
        let mut input = BufReader::new(stream.try_clone().expect("a second handle"));
        let Some(request) = Request::read(&mut input) else {
            return;
        };
        self.heads
            .lock()
            .expect("not poisoned")
            .push(request.head.clone());
        let serve = self.serve.lock().expect("not poisoned").clone();
        let is_transfer = request.is_transfer();
        let answer = match &serve {
            Serve::NoObjects if !is_transfer => request.answer(&self.root),
            Serve::Nothing | Serve::NoObjects => {
                // Until the client gives up.
                let _ = input.read(&mut [0]);
                return;
            }
            Serve::Status(status) => response(*status, "", &[]),
            Serve::RedirectTo(url) => {
                let location = format!("Location: {url}{}\r\n", request.path);
                response(301, &location, &[])
            }
            Serve::WithToken(token) if !request.has_token(token) => {
                response(401, "WWW-Authenticate: Basic realm=\"x\"\r\n", &[])
            }
            _ => {
                if is_transfer {
                    let count = self.at_once.fetch_add(1, Ordering::SeqCst) + 1;
                    self.most_at_once.fetch_max(count, Ordering::SeqCst);
                }
                let answer = request.answer(&self.root);
                if is_transfer {
                    self.at_once.fetch_sub(1, Ordering::SeqCst);
                }
                answer
            }
        };
        self.send(stream, &answer, &serve, is_transfer);
    }

    fn send(&self, mut stream: TcpStream, answer: &[u8], serve: &Serve, is_transfer: bool) {
        // A client that is gone has seen enough.
        match serve {
            Serve::Slowly => {
                for byte in answer {
                    let is_gone = stream.write_all(&[*byte]).is_err();
                    if is_gone || *self.is_closed.lock().expect("not poisoned") {
                        return;
                    }
                    thread::sleep(Duration::from_secs(1));
                }
            }
            Serve::Until(count) if is_transfer => {
                let _ = stream.write_all(&answer[..answer.len().min(*count)]);
                let _ = stream.shutdown(Shutdown::Both);
            }
            _ => {
                let _ = stream.write_all(answer);
            }
        }
    }
}

/// A request over HTTP.
struct Request {
    head: String,
    method: String,
    path: String,
    query: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Request {
    fn read(input: &mut impl BufRead) -> Option<Self> {
        let mut head = String::new();
        let mut headers = BTreeMap::new();
        while !head.ends_with("\r\n\r\n") {
            let before = head.len();
            if input.read_line(&mut head).ok()? == 0 {
                return None;
            }
            if let Some((name, value)) = head[before..].split_once(':')
                && before > 0
            {
                headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
            }
        }
        let mut words = head.split(' ');
        let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let mut body = Vec::new();
        if headers
            .get("transfer-encoding")
            .is_some_and(|it| it == "chunked")
        {
            loop {
                let mut line = String::new();
                input.read_line(&mut line).ok()?;
                let size = usize::from_str_radix(line.trim(), 16).ok()?;
                let mut chunk = vec![0; size + 2];
                input.read_exact(&mut chunk).ok()?;
                body.extend(&chunk[..size]);
                if size == 0 {
                    break;
                }
            }
        } else if let Some(length) = headers.get("content-length") {
            body = vec![0; length.parse().ok()?];
            input.read_exact(&mut body).ok()?;
        }
        Some(Self {
            path: path.to_owned(),
            query: query.to_owned(),
            method,
            headers,
            body,
            head,
        })
    }

    /// Whether it asks for objects, by version 2 of git's protocol.
    fn is_transfer(&self) -> bool {
        let command = b"command=fetch";
        self.body.windows(command.len()).any(|it| it == command)
    }

    fn has_token(&self, token: &str) -> bool {
        let expected = crate::base64(format!("x-access-token:{token}").as_bytes());
        let found = self.headers.get("authorization");
        found.is_some_and(|it| *it == format!("Basic {expected}"))
    }

    /// What `git http-backend` answers, as the Common Gateway Interface has it (RFC 3875).
    fn answer(&self, root: &Path) -> Vec<u8> {
        let header = |name: &str| self.headers.get(name).map_or("", String::as_str);
        let mut child = Command::new("git")
            .arg("http-backend")
            .env("GIT_PROJECT_ROOT", root)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("PATH_INFO", &self.path)
            .env("QUERY_STRING", &self.query)
            .env("REQUEST_METHOD", &self.method)
            .env("REMOTE_ADDR", "127.0.0.1")
            .env("CONTENT_TYPE", header("content-type"))
            .env("CONTENT_LENGTH", self.body.len().to_string())
            .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
            .env("GIT_PROTOCOL", header("git-protocol"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("git starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let body = self.body.clone();
        // It may have heard enough before the end.
        let writer = thread::spawn(move || drop(stdin.write_all(&body)));
        let output = child.wait_with_output().expect("git ends").stdout;
        writer.join().expect("no panic");
        let end = output.windows(4).position(|it| it == b"\r\n\r\n");
        let (head, body) = output.split_at(end.map_or(output.len(), |it| it + 4));
        let head = String::from_utf8_lossy(head);
        let status = head.lines().find_map(|it| it.strip_prefix("Status: "));
        let status = status
            .and_then(|it| it.get(..3)?.parse().ok())
            .unwrap_or(200);
        let rest = head
            .lines()
            .filter(|it| !it.is_empty() && !it.starts_with("Status:"));
        let rest: Vec<&str> = rest.flat_map(|it| [it, "\r\n"]).collect();
        response(status, &rest.concat(), body)
    }
}

fn response(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} x\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}
