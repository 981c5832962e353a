//! What tests of the server share beside the test kit, since it needs the server's own types: small
//! bundles made in memory, a source that a test controls, and a whole session on a thread.

use std::io::{PipeReader, PipeWriter, Write, pipe};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, SystemTime};
use std::{io, thread};

use serde_json::{Value, json};
use skillbundle_format::{
    ArgEntry, Bundle, Dialect, Execution, FileEntry, Role, RootEntry, Scope, SkillEntry, SkillSet,
    write,
};
use skillbundle_testkit::{LEGACY, LineReader, PATIENCE, Peer};

use crate::error::Error;
use crate::mcp::Server;
use crate::platform::{Input, Output};
use crate::source::{BrokenSkill, Kind, Loaded, LoadedRoot, Refresher, Source};
use crate::{Options, stdio};

/// The member that every request of 2026-07-28 carries, for parameters that are written as text.
pub(crate) const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"0"}}"#;

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
        prefix: 0,
        shadowed: false,
        audience: skillbundle_format::Audience::Everyone,
        keywords: Vec::new(),
        frontmatter_json: "{}".to_owned(),
        body: front.len()..source.len(),
        recovered: false,
        text_start: 0,
        source: source.into_bytes().into(),
        files: Vec::new(),
        contract: None,
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
        unread: None,
    }
}

/// Skills of one root that belongs to the project.
pub(crate) fn set(skills: Vec<SkillEntry>) -> SkillSet {
    let root = RootEntry {
        label: "skills".to_owned(),
        scope: Scope::Project,
        commit: None,
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
        default: (!required).then(|| "src".to_owned()),
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
    outdated: Mutex<Vec<BrokenSkill>>,
    /// What an earlier process has left.
    stored: Mutex<Option<SkillSet>>,
    being_changed: AtomicBool,
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

    /// Leaves skills as an earlier process does.
    pub(crate) fn store(&self, set: SkillSet) {
        *self.0.stored.lock().unwrap() = Some(set);
    }

    /// Says whether a program is in the middle of changing files.
    pub(crate) fn be_changed(&self, is_being_changed: bool) {
        self.0
            .being_changed
            .store(is_being_changed, Ordering::SeqCst);
    }

    /// Says of a skill that its file does not load any more.
    pub(crate) fn outdate(&self, path: &str, reason: &str) {
        let since = SystemTime::now() - Duration::from_secs(150);
        self.0.outdated.lock().unwrap().push(BrokenSkill {
            path: path.to_owned(),
            reason: reason.to_owned(),
            since,
            is_served: true,
        });
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
                    roots: vec![LoadedRoot {
                        base: Some("/srv/skills".into()),
                        is_of_project: false,
                    }],
                    notices: Vec::new(),
                    broken: self.0.outdated.lock().unwrap().clone(),
                    state: None,
                    must_rewatch: false,
                })
            }
        }
    }

    fn stored(&self) -> Option<Loaded> {
        let stored = self.0.stored.lock().unwrap().clone()?;
        Some(Bundle::from_bytes(&write(&stored).ok()?).ok()?.into())
    }

    fn is_being_changed(&self) -> bool {
        self.0.being_changed.load(Ordering::SeqCst)
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
pub(crate) struct Pipes {
    pub(crate) stdin: PipeWriter,
    pub(crate) stdout: PipeReader,
    pub(crate) ended: Receiver<Result<(), Error>>,
    /// What it runs on.
    pub(crate) runtime: tokio::runtime::Handle,
}

/// Starts a session that reads from and writes to pipes.
pub(crate) fn start(source: impl Source, options: Options) -> Pipes {
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
            let refresher = Refresher::new(source, &options.overrides);
            let server = Server::new(refresher, options);
            stdio::run(server, input, output).await.map(drop)
        });
        // A test that has seen enough listens no more.
        let _ = done.send(ended);
    });
    Pipes {
        stdin,
        stdout,
        ended,
        runtime: handle,
    }
}

/// A client of a session on a thread of this process.
pub(crate) type Client = skillbundle_testkit::Session<InProcess>;

/// The other ends of a session's pipes. Replies are read as they come.
pub(crate) struct InProcess {
    stdin: PipeWriter,
    lines: LineReader,
    ended: Receiver<Result<(), Error>>,
}

impl Peer for InProcess {
    fn send_raw(&mut self, bytes: &[u8]) {
        self.stdin.write_all(bytes).unwrap();
    }

    fn line(&mut self) -> Option<Vec<u8>> {
        self.lines.line().expect("a line in time")
    }
}

/// A client that has not sent anything yet.
pub(crate) fn unopened(source: impl Source, options: Options) -> Client {
    let Pipes {
        stdin,
        stdout,
        ended,
        ..
    } = start(source, options);
    Client::over(InProcess {
        stdin,
        lines: LineReader::start(stdout),
        ended,
    })
}

/// A client after the handshake of 2025-11-25.
pub(crate) fn connected(source: impl Source) -> Client {
    let mut client = unopened(source, Options::default());
    client.initialize(LEGACY);
    client
}

/// Closes stdin. Returns how the session ended, and the messages that were still sent.
pub(crate) fn end(client: Client) -> (Result<(), Error>, Vec<Value>) {
    let InProcess {
        stdin,
        lines,
        ended,
    } = client.into_peer();
    drop(stdin);
    let ended = ended.recv_timeout(PATIENCE).expect("the session ends");
    let rest = std::iter::from_fn(|| lines.line().expect("a line in time"));
    let rest = rest.map(|line| serde_json::from_slice(&line).expect("each line is JSON"));
    (ended, rest.collect())
}
