//! What an invocation costs above its handler: the same script by `run_script`, which is its process
//! and its isolation, and by `invoke_skill`, which adds both checks and the journal. One of each in
//! turn, over pipes. Ends with 1 if the goal is missed. Quote differences of one run, never times of
//! different runs.
//!
//! `cargo bench --bench invoking`

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

#[expect(dead_code, reason = "what else it can is for another bench")]
#[path = "kit/client.rs"]
mod client;
#[path = "kit/sample.rs"]
mod sample;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use client::Client;
use sample::Sample;

const ROUNDS: usize = 300;

/// The goal for what checks and journal add.
const GOAL: Duration = Duration::from_millis(5);

const SKILL: &str = "---
name: greet
description: Greets.
scripts:
  - file: greet.sh
    execution: server
contract:
  category: execution
  input_schema: {type: object, properties: {name: {type: string, maxLength: 100}}, required: [name]}
  output_schema: {type: object, properties: {text: {type: string}}, required: [text]}
  handler: greet.sh
---
Greets.
";

fn main() -> ExitCode {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    let skill = scratch.path().join("skills/greet");
    std::fs::create_dir_all(&skill).expect("a directory");
    std::fs::write(skill.join("SKILL.md"), SKILL).expect("a file");
    let handler = "read -r input\necho '{\"text\":\"hello\"}'\n";
    std::fs::write(skill.join("greet.sh"), handler).expect("a file");
    let journal = scratch.path().join("journal.db").display().to_string();
    let skills = scratch.path().join("skills").display().to_string();

    let mut with = start(&skills, &journal);
    let mut without = start(&skills, "off");
    let run = r#""name":"run_script","arguments":{"skill_path":"greet","file":"greet.sh"}"#;
    let invoke = r#""name":"invoke_skill","arguments":{"name":"greet","input":{"name":"Ada"},"invoking_agent":"Bench"}"#;
    let mut samples = [(); 3].map(|()| Sample::default());
    for round in 0..=ROUNDS {
        let times = [
            timed(&mut without, run, "\"exit_code\":0"),
            timed(&mut without, invoke, "\"success\":true"),
            timed(&mut with, invoke, "\"success\":true"),
        ];
        // The first round finds the runner and compiles the schemas.
        if round > 0 {
            samples
                .iter_mut()
                .zip(times)
                .for_each(|(sample, time)| sample.add(time));
        }
    }
    let [script, checked, recorded] = samples.map(|it| it.median());
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let above = |time: Duration| millis(time) - millis(script);
    println!("{ROUNDS} rounds, medians");
    println!("run_script                  {:8.3} ms", millis(script));
    println!(
        "invoke_skill, no journal    {:8.3} ms, {:+.3} ms",
        millis(checked),
        above(checked)
    );
    println!(
        "invoke_skill                {:8.3} ms, {:+.3} ms",
        millis(recorded),
        above(recorded)
    );
    println!(
        "the journal                 {:+8.3} ms",
        millis(recorded) - millis(checked)
    );
    let met = recorded.saturating_sub(script) <= GOAL;
    println!(
        "goal: at most {:+.0} ms: {}",
        millis(GOAL),
        if met { "met" } else { "MISSED" }
    );
    if met {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn start(skills: &str, journal: &str) -> Client {
    let program = Path::new(env!("CARGO_BIN_EXE_skillbundle"));
    let arguments = [
        "serve",
        skills,
        "--journal",
        journal,
        "--allow-project-scripts",
    ];
    let mut client = Client::start(program, &arguments);
    client.initialize();
    client
}

fn timed(client: &mut Client, call: &str, expected: &str) -> Duration {
    let begin = Instant::now();
    let reply = client.ask("tools/call", call);
    let time = begin.elapsed();
    assert!(reply.contains(expected), "{reply}");
    time
}
