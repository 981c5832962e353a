//! What the tests share: small bundles made in memory, a source that a test controls, and a client
//! that sends raw lines to a whole session.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write, pipe};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use std::{io, thread};

use serde_json::{Value, json};
use skillbundle_format::{
    ArgEntry, Bundle, Dialect, Execution, FileEntry, Role, RootEntry, Scope, SkillEntry, SkillSet,
    write,
};

use crate::error::Error;
use crate::mcp::Server;
use crate::platform::{Input, Output};
use crate::source::{Kind, Loaded, Refresher, Source};
use crate::{Options, stdio};

/// Far longer than anything here takes; a test that waits longer has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A skill in a directory of its own.
pub(crate) fn folder(path: &str, description: &str, body: &str) -> SkillEntry {
    let name = path.rsplit('/').next().unwrap_or(path);
    let front = format!(
        "---\nname: {name}\ndescription: {}\n---\n",
        description.lines().next().unwrap_or_default()
    );
    SkillEntry {
        frontmatter_json: json!({ "name": name, "description": description }).to_string(),
        ..entry(
            path,
            name,
            description,
            Dialect::Folder,
            format!("{path}/SKILL.md"),
            &front,
            body,
        )
    }
}

/// A skill in a tree, without its parent.
pub(crate) fn tree(path: &str, description: &str, keywords: &[&str], body: &str) -> SkillEntry {
    let front = format!(
        "---\nkeywords: [{}]\ndescription: {description}\n---\n",
        keywords.join(", ")
    );
    SkillEntry {
        keywords: keywords.iter().map(|&keyword| keyword.to_owned()).collect(),
        ..entry(
            path,
            path,
            description,
            Dialect::Tree,
            format!("{path}.md"),
            &front,
            body,
        )
    }
}

fn entry(
    path: &str,
    name: &str,
    description: &str,
    dialect: Dialect,
    file_path: String,
    front: &str,
    body: &str,
) -> SkillEntry {
    let source = format!("{front}{body}");
    SkillEntry {
        path: path.to_owned(),
        name: name.to_owned(),
        description: description.to_owned(),
        dialect,
        root: 0,
        file_path,
        priority: 0.0,
        inherit: dialect == Dialect::Tree,
        parent: None,
        keywords: Vec::new(),
        frontmatter_json: "{}".to_owned(),
        body: front.len()..source.len(),
        recovered: false,
        text_start: 0,
        source: source.into_bytes().into(),
        files: Vec::new(),
    }
}

/// A file of a skill.
pub(crate) fn file(path: &str, role: Role, bytes: Option<&[u8]>) -> FileEntry {
    FileEntry {
        path: path.to_owned(),
        role,
        kind: "other".to_owned(),
        description: format!("About {path}"),
        execution: Execution::Claude,
        args: Vec::new(),
        executable: false,
        bytes: bytes.map(Into::into),
    }
}

/// Skills of one root that belongs to the project.
pub(crate) fn set(skills: Vec<SkillEntry>) -> SkillSet {
    let root = RootEntry {
        label: "skills".to_owned(),
        scope: Scope::Project,
    };
    SkillSet {
        roots: vec![root],
        skills,
        ..SkillSet::default()
    }
}

/// The tree that spec 3 draws its examples from.
pub(crate) fn spec_tree() -> SkillSet {
    let mut root = tree("_root", "Global rules", &["global"], "\nGlobal rules.\n");
    root.files = vec![file("global.css", Role::Asset, Some(b"* {}\n"))];
    let mut ui = tree("ui/_index", "UI rules", &["ui"], "\nUI rules.\n");
    ui.parent = Some(0);
    let mut react = tree(
        "ui/react/_index",
        "React rules",
        &["react", "hooks", "jsx"],
        "\nReact rules.\n",
    );
    react.parent = Some(1);
    let base = FileEntry {
        kind: "template".to_owned(),
        ..file(
            "assets/component-base.tsx.template",
            Role::Asset,
            Some(b"export {}\n"),
        )
    };
    react.files = vec![base];
    let mut auth = tree(
        "ui/react/auth",
        "React authentication components and patterns",
        &["react", "auth", "component", "login"],
        "\nAuth rules.\n",
    );
    auth.parent = Some(2);
    auth.files = auth_files();
    let mut api = tree(
        "api/auth",
        "API authentication with JWT middleware",
        &["auth", "api", "jwt", "middleware"],
        "\nAPI auth.\n",
    );
    api.parent = Some(0);
    let mut alone = tree("no-inherit", "Stands alone", &["alone"], "\nAlone.\n");
    (alone.parent, alone.inherit) = (Some(0), false);
    set(vec![root, ui, react, auth, api, alone])
}

fn auth_files() -> Vec<FileEntry> {
    let template = FileEntry {
        kind: "template".to_owned(),
        ..file(
            "assets/AuthProvider.tsx.template",
            Role::Asset,
            Some(b"import React"),
        )
    };
    let image = FileEntry {
        kind: "image".to_owned(),
        ..file(
            "assets/auth-flow.svg",
            Role::Asset,
            Some(b"<svg xml:x=\"1\"/>"),
        )
    };
    let arg = |name: &str, required| ArgEntry {
        name: name.to_owned(),
        description: format!("The {name}"),
        required,
    };
    let scaffold = FileEntry {
        args: vec![arg("name", true), arg("dir", false)],
        executable: true,
        ..file(
            "scripts/scaffold-auth.sh",
            Role::Script,
            Some(b"#!/bin/sh\n"),
        )
    };
    let latin1 = file("assets/latin1.txt", Role::Asset, Some(b"caf\xe9"));
    let missing = file("assets/missing.txt", Role::Asset, None);
    vec![template, image, latin1, missing, scaffold]
}

/// Skills named by spec 2's examples.
pub(crate) fn spec_folders() -> SkillSet {
    set(vec![
        folder(
            "git",
            "Git deployment workflow skill",
            "\n# Git Deployment GitOps\n",
        ),
        folder("mcp-builder", "MCP server development guide", "\n# MCP\n"),
        folder(
            "postgres",
            "PostgreSQL database operations",
            "\n# Postgres\n",
        ),
    ])
}

/// A source that a test controls, and that counts how often it is asked.
#[derive(Clone, Default)]
pub(crate) struct Fake(Arc<Script>);

#[derive(Default)]
struct Script {
    set: Mutex<SkillSet>,
    state: AtomicU64,
    slow: bool,
    broken: Mutex<Option<String>>,
    looks: AtomicUsize,
    loads: AtomicUsize,
    gate: Mutex<bool>,
    opened: Condvar,
}

impl Fake {
    pub(crate) fn new(set: SkillSet) -> Self {
        Self(Arc::new(Script {
            set: Mutex::new(set),
            ..Script::default()
        }))
    }

    /// One that may block, so it is asked on another thread.
    pub(crate) fn slow(set: SkillSet) -> Self {
        Self(Arc::new(Script {
            set: Mutex::new(set),
            slow: true,
            ..Script::default()
        }))
    }

    /// Replaces the skills, as an edit does.
    pub(crate) fn edit(&self, set: SkillSet) {
        *self.0.set.lock().unwrap() = set;
        self.0.state.fetch_add(1, Ordering::SeqCst);
    }

    /// Lets loads fail for this reason, or work again.
    pub(crate) fn break_down(&self, reason: Option<&str>) {
        *self.0.broken.lock().unwrap() = reason.map(str::to_owned);
        self.0.state.fetch_add(1, Ordering::SeqCst);
    }

    /// Holds every load until [`Self::open_gate`].
    pub(crate) fn close_gate(&self) {
        *self.0.gate.lock().unwrap() = true;
    }

    pub(crate) fn open_gate(&self) {
        *self.0.gate.lock().unwrap() = false;
        self.0.opened.notify_all();
    }

    pub(crate) fn looks(&self) -> usize {
        self.0.looks.load(Ordering::SeqCst)
    }

    pub(crate) fn loads(&self) -> usize {
        self.0.loads.load(Ordering::SeqCst)
    }
}

impl Source for Fake {
    fn fingerprint(&self) -> io::Result<u64> {
        self.0.looks.fetch_add(1, Ordering::SeqCst);
        if self.0.broken.lock().unwrap().as_deref() == Some("fingerprint") {
            return Err(io::Error::other("the disk is gone"));
        }
        Ok(self.0.state.load(Ordering::SeqCst))
    }

    fn load(&self, _previous: Option<&Bundle>) -> Result<Loaded, Error> {
        self.0.loads.fetch_add(1, Ordering::SeqCst);
        let closed = self.0.gate.lock().unwrap();
        drop(self.0.opened.wait_while(closed, |closed| *closed).unwrap());
        let broken = self.0.broken.lock().unwrap().clone();
        match broken.as_deref() {
            Some("panic") => panic!("a fault in the source"),
            Some(reason) => Err(Error::Source(reason.to_owned())),
            None => {
                let bundle = Bundle::from_bytes(&write(&self.0.set.lock().unwrap())?)?;
                Ok(Loaded {
                    bundle,
                    bases: vec![Some("/srv/skills".into())],
                    notices: Vec::new(),
                    state: None,
                })
            }
        }
    }

    fn describe(&self) -> String {
        "a test".to_owned()
    }

    fn fingerprint_now(&self) -> Option<io::Result<u64>> {
        (!self.0.slow).then(|| self.fingerprint())
    }

    fn kind(&self) -> Kind {
        if self.0.slow {
            Kind::Local
        } else {
            Kind::Archive
        }
    }
}

/// A session on a thread of its own, and the other ends of its pipes.
pub(crate) struct Session {
    pub(crate) stdin: PipeWriter,
    pub(crate) stdout: PipeReader,
    pub(crate) ended: Receiver<Result<(), Error>>,
    /// What it runs on.
    pub(crate) runtime: tokio::runtime::Handle,
}

/// Starts a session that reads from and writes to pipes.
pub(crate) fn start(source: impl Source, options: Options) -> Session {
    let (requests, stdin) = pipe().unwrap();
    let (stdout, replies) = pipe().unwrap();
    let (done, ended) = channel();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let handle = runtime.handle().clone();
    thread::spawn(move || {
        let ended = runtime.block_on(async {
            let input = Input::new(requests.into()).unwrap();
            let output = Output::new(replies.as_fd()).unwrap();
            drop(replies);
            stdio::run(Server::new(Refresher::new(source), options), input, output).await
        });
        // A test that has seen enough listens no more.
        let _ = done.send(ended);
    });
    Session {
        stdin,
        stdout,
        ended,
        runtime: handle,
    }
}

/// A client that reads replies as they come.
pub(crate) struct Client {
    stdin: PipeWriter,
    replies: Receiver<String>,
    ended: Receiver<Result<(), Error>>,
    next_id: i64,
}

impl Client {
    /// One that has not sent anything yet.
    pub(crate) fn start(source: impl Source, options: Options) -> Self {
        let Session {
            stdin,
            stdout,
            ended,
            ..
        } = start(source, options);
        let (said, replies) = channel();
        thread::spawn(move || {
            BufReader::new(stdout)
                .lines()
                .try_for_each(|line| said.send(line.unwrap()))
        });
        Self {
            stdin,
            replies,
            ended,
            next_id: 0,
        }
    }

    /// One past the handshake of 2025-11-25.
    pub(crate) fn connected(source: impl Source) -> Self {
        let mut client = Self::start(source, Options::default());
        client.initialize("2025-11-25");
        client
    }

    pub(crate) fn initialize(&mut self, version: &str) -> Value {
        let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "test", "version": "0" } });
        let reply = self.request("initialize", params);
        self.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        reply
    }

    /// Sends one line as it is.
    pub(crate) fn send(&mut self, line: impl AsRef<[u8]>) {
        self.stdin.write_all(line.as_ref()).unwrap();
        self.stdin.write_all(b"\n").unwrap();
    }

    /// The next reply.
    pub(crate) fn reply(&self) -> Value {
        let line = self.replies.recv_timeout(PATIENCE).expect("a reply");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Sends a request and waits for its reply, which must be the next.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "so that json! can stand in the call"
    )]
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        self.send(
            json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string(),
        );
        let reply = self.reply();
        assert_eq!(reply["id"], id, "{reply}");
        reply
    }

    /// Calls a tool; its result.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "so that json! can stand in the call"
    )]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let reply = self.request(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        );
        assert!(reply["result"].is_object(), "{reply}");
        reply["result"].clone()
    }

    /// Closes stdin. Returns how the session ended, and what was still sent.
    pub(crate) fn end(self) -> (Result<(), Error>, Vec<String>) {
        let Self {
            stdin,
            replies,
            ended,
            ..
        } = self;
        drop(stdin);
        (
            ended.recv_timeout(PATIENCE).expect("the session ends"),
            replies.iter().collect(),
        )
    }
}
