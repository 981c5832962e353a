//! The result of a script as JSON (spec 3 §8.4), with what a model needs to go on: what was cut,
//! what was killed, and what to do next.

use std::time::SystemTime;

use serde_json::{Value, json};
use skillbundle_exec::{Captured, Isolation, Outcome, Stopped};
use skillbundle_journal::{ScriptRun, Uuid};

use super::PlannedScript;

/// The exit code of a script that ran out of time (spec 3 §8.4): 128 and the number of SIGKILL.
const KILLED: i32 = 137;

/// What is appended to stderr then (spec 3 §8.4).
const TIMED_OUT: &str = "[skills-mcp] Script killed: timeout exceeded.";

/// How a script has ended, in the words of spec 3.
pub(crate) struct End {
    pub(crate) success: bool,
    pub(crate) exit_code: i32,
    pub(crate) duration_ms: u64,
}

impl End {
    pub(crate) fn of(outcome: &Outcome) -> Self {
        let exit_code = match (outcome.exit_code, outcome.signal) {
            _ if outcome.stopped == Some(Stopped::TimedOut) => KILLED,
            (Some(code), _) => code,
            (None, Some(signal)) => 128 + signal,
            (None, None) => KILLED,
        };
        Self {
            success: exit_code == 0 && outcome.stopped.is_none(),
            exit_code,
            duration_ms: u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// The result of a script.
pub fn report(planned: &PlannedScript, outcome: &Outcome) -> Value {
    let timed_out = outcome.stopped == Some(Stopped::TimedOut);
    let end = End::of(outcome);
    let mut stderr = text_of(&outcome.stderr);
    if timed_out {
        if !stderr.is_empty() && !stderr.ends_with('\n') {
            stderr.push('\n');
        }
        stderr.push_str(TIMED_OUT);
    }
    let mut report = json!({
        "success": end.success,
        "exit_code": end.exit_code,
        "stdout": text_of(&outcome.stdout),
        "stderr": stderr,
        "duration_ms": end.duration_ms,
        "script": planned.program.script,
        "isolation": outcome.isolation.as_str(),
    });
    if let Some(from) = &planned.from {
        report["resolved_from"] = json!(from);
    }
    if let Some(signal) = outcome.signal.filter(|_| !timed_out) {
        report["signal"] = json!(signal_name(signal));
    }
    let notes = notes(planned, outcome, end.exit_code);
    if !notes.is_empty() {
        report["notes"] = json!(notes);
    }
    report
}

/// A run as the journal keeps it: which script, never with which values.
pub(crate) fn journal_entry(planned: &PlannedScript, outcome: &Outcome) -> ScriptRun {
    ScriptRun {
        id: Uuid::now_v7(),
        skill: planned.skill.clone(),
        script: planned.program.script.clone(),
        correlation_id: None,
        exit_code: outcome.exit_code,
        signal: outcome.signal,
        duration_ms: u32::try_from(outcome.duration.as_millis()).unwrap_or(u32::MAX),
        isolation: outcome.isolation.as_str().to_owned(),
        timed_out: outcome.stopped == Some(Stopped::TimedOut),
        at: SystemTime::now(),
    }
}

/// What the caller should know about a result.
fn notes(planned: &PlannedScript, outcome: &Outcome, exit_code: i32) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, stream) in [("stdout", &outcome.stdout), ("stderr", &outcome.stderr)] {
        let is_cut = stream.total > stream.head.len() as u64;
        if is_cut && !planned.program.streams {
            notes.push(format!(
                "{name} had {} bytes; the first {} and the last {} are shown (`scripts.max_output_bytes`)",
                stream.total,
                stream.head.len(),
                stream.tail.len()
            ));
        }
        if !is_text(stream) {
            notes.push(format!(
                "{name} is not UTF-8; what is not is shown as U+FFFD"
            ));
        }
    }
    if outcome.killed > 0 && outcome.stopped.is_none() {
        notes.push(format!(
            "{} that the script left running {} killed",
            match outcome.killed {
                1 => "1 process".to_owned(),
                count => format!("{count} processes"),
            },
            if outcome.killed == 1 { "was" } else { "were" },
        ));
    }
    match (outcome.stopped, exit_code) {
        (Some(Stopped::TimedOut), _) => notes.push(format!(
            "it ran out of its {} seconds; give it less to do, or let the operator raise `scripts.timeout_seconds`",
            planned.program.limits.time.as_secs()
        )),
        (None, 126 | 127) => notes.push(
            "exit codes 126 and 127 mostly mean that a program which the script calls is not installed or not executable".to_owned(),
        ),
        _ => {}
    }
    if outcome.isolation == Isolation::Weak {
        notes
            .push("it ran without isolation: it could read and write what its user can".to_owned());
    }
    notes
}

/// What is kept of a stream as text. What is left out is named in its place.
fn text_of(stream: &Captured) -> String {
    let between = match stream.left_out() {
        // The two parts join, perhaps in the middle of a character.
        0 => String::new(),
        left_out => format!("\n[{left_out} bytes left out]\n"),
    };
    let all = [&stream.head, between.as_bytes(), &stream.tail].concat();
    // Without a second copy if it is text.
    String::from_utf8(all)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Whether a stream is UTF-8, but for characters that were cut.
pub(crate) fn is_text(stream: &Captured) -> bool {
    if stream.left_out() == 0 {
        let all = [stream.head.as_slice(), &stream.tail].concat();
        return std::str::from_utf8(&all).is_ok();
    }
    // A character of several bytes goes on with bytes that begin with the bits 10.
    let inside = stream.tail.iter().take(3);
    let inside = inside.take_while(|it| **it & 0xC0 == 0x80).count();
    let begins_well = match std::str::from_utf8(&stream.head) {
        Ok(_) => true,
        // Without a length it is the end that is missing.
        Err(error) => error.error_len().is_none(),
    };
    begins_well && std::str::from_utf8(&stream.tail[inside..]).is_ok()
}

/// The usual name of a signal.
fn signal_name(signal: i32) -> String {
    const NAMES: [(i32, &str); 14] = [
        (1, "SIGHUP"),
        (2, "SIGINT"),
        (3, "SIGQUIT"),
        (4, "SIGILL"),
        (5, "SIGTRAP"),
        (6, "SIGABRT"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (13, "SIGPIPE"),
        (14, "SIGALRM"),
        (15, "SIGTERM"),
        (24, "SIGXCPU"),
        (25, "SIGXFSZ"),
    ];
    let name = NAMES.iter().find(|it| it.0 == signal);
    name.map_or_else(|| format!("signal {signal}"), |it| it.1.to_owned())
}
