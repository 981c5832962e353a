//! The shipped binary against rmcp's own server of a directory of skills
//! (`SkillCatalog`), in one interleaved run over the same skills. Ends with 1
//! if a goal is missed. Quote ratios of one run, never absolute times.
//!
//! `cargo bench --bench peer`; the first run builds the peer, `tests/peer`.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

#[expect(dead_code, reason = "what else it can is for another bench")]
#[path = "kit/client.rs"]
mod client;
#[path = "kit/generate.rs"]
mod generate;
#[path = "kit/sample.rs"]
mod sample;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use client::Client;
use sample::Sample;
use serde_json::Value;

const SKILLS: usize = 1_000;

/// Spawns of each server; one of the peer's takes some 80 ms.
const STARTS: usize = 51;
const ROUNDS: usize = 201;

/// The goals: how many times as long the peer takes.
const START: f64 = 30.0;
const LISTING: f64 = 5.0;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// A server and how it is started.
struct Server {
    program: PathBuf,
    arguments: Vec<String>,
}

fn main() -> ExitCode {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let bundle = generate::bundle(scratch.path(), SKILLS);
    let ours = Server {
        program: PathBuf::from(env!("CARGO_BIN_EXE_skillbundle")),
        arguments: vec![
            "serve".to_owned(),
            "--bundle".to_owned(),
            bundle.display().to_string(),
        ],
    };
    let skills = scratch.path().join(format!("skills-{SKILLS}"));
    let peer = Server {
        program: build_peer(),
        arguments: vec![skills.display().to_string()],
    };
    println!("{SKILLS} skills, interleaved; the peer is rmcp's SkillCatalog");
    let met = [
        measure("spawn to discovery", STARTS, START, [&ours, &peer], start),
        listing(&ours, &peer),
    ];
    if met.iter().all(|met| *met) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Builds the peer and returns its path.
fn build_peer() -> PathBuf {
    let peer = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peer");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("peer");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--locked", "--quiet"])
        .current_dir(&peer)
        .env("CARGO_TARGET_DIR", &target)
        .status()
        .expect("cargo starts");
    assert!(built.success(), "the peer in {} builds", peer.display());
    target.join("release/skillbundle-peer")
}

impl Server {
    fn client(&self) -> Client {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        Client::start(&self.program, &arguments)
    }
}

/// Measures both in turn, ours first.
fn measure(
    what: &str,
    rounds: usize,
    goal: f64,
    servers: [&Server; 2],
    once: impl Fn(&Server) -> Duration,
) -> bool {
    let mut samples = [Sample::default(), Sample::default()];
    for _ in 0..rounds {
        for (server, sample) in servers.iter().zip(&mut samples) {
            sample.add(once(server));
        }
    }
    verdict(what, &samples, goal)
}

fn start(server: &Server) -> Duration {
    let mut client = server.client();
    client.ask("server/discover", META);
    client.age()
}

/// Lists all skills page by page, from a running server.
fn listing(ours: &Server, peer: &Server) -> bool {
    let mut clients = [ours.client(), peer.client()];
    let mut samples = [Sample::default(), Sample::default()];
    for _ in 0..ROUNDS {
        for (client, sample) in clients.iter_mut().zip(&mut samples) {
            let pages = list(client, sample);
            assert_eq!(count(&pages), SKILLS, "every skill is listed");
        }
    }
    verdict("skills/list, all pages", &samples, LISTING)
}

/// Requests all pages; parsing them is not measured.
fn list(client: &mut Client, sample: &mut Sample) -> Vec<String> {
    let (mut pages, mut cursor, mut taken) = (Vec::new(), String::new(), Duration::ZERO);
    loop {
        let asked = Instant::now();
        let page = client.ask("skills/list", &format!("{cursor}{META}"));
        taken += asked.elapsed();
        let next = next_cursor(&page).map(|next| format!(r#""cursor":"{next}","#));
        pages.push(page);
        match next {
            Some(next) => cursor = next,
            None => break,
        }
    }
    sample.add(taken);
    pages
}

fn next_cursor(page: &str) -> Option<&str> {
    let (_, rest) = page.split_once(r#""nextCursor":""#)?;
    rest.split('"').next()
}

fn count(pages: &[String]) -> usize {
    let skills = pages.iter().map(|page| {
        let page: Value = serde_json::from_str(page).expect("JSON");
        page["result"]["skills"].as_array().expect("a page").len()
    });
    skills.sum()
}

fn verdict(what: &str, [ours, peer]: &[Sample; 2], goal: f64) -> bool {
    let ratio = peer.median().as_secs_f64() / ours.median().as_secs_f64();
    let met = ratio >= goal;
    println!(
        "  {what:<24} ours {:>9.3?}  peer {:>9.3?}  {ratio:>6.1} × (goal {goal}: {})",
        ours.median(),
        peer.median(),
        if met { "met" } else { "missed" }
    );
    met
}
