//! Which levels of isolation this system offers, found out by using each for nothing.

use std::io::Read;
use std::process::{Command, Stdio};

use rustix::process::{WaitOptions, waitpid};

use super::view::Identity;
use super::{bubblewrap, filter, landlock, namespaces};
use crate::sys::{self, Fork};
use crate::{Availability, Isolation, Limits, Program, Runner};

/// Tries levels, the strongest first.
pub(super) fn probe(at_most: Isolation, all: bool) -> Vec<Availability> {
    let mut found: Vec<Availability> = Vec::new();
    for isolation in Isolation::ALL.into_iter().filter(|it| *it <= at_most) {
        if !all && found.iter().any(|it| it.missing.is_none()) {
            break;
        }
        let missing = missing(isolation).err();
        found.push(Availability { isolation, missing });
    }
    found
}

/// Why a level cannot be had.
fn missing(isolation: Isolation) -> Result<(), String> {
    let nothing = nothing();
    if isolation <= Isolation::Landlock && !std::path::Path::new("/proc/self/stat").exists() {
        return Err("/proc is not mounted, so processes that it leaves cannot be found".to_owned());
    }
    match isolation {
        Isolation::Weak => in_child(|| Identity::of_programs().take()),
        Isolation::Landlock => {
            filter::is_there().map_err(|error| format!("no filters of system calls: {error}"))?;
            landlock::is_there()?;
            in_child(|| Identity::of_programs().take())
        }
        Isolation::Bubblewrap => {
            let program = bubblewrap::find()?;
            in_child(|| {
                Identity::of_programs().take()?;
                let mut command = Command::new(&program);
                command.args(["--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc"]);
                command.args(["--", "/bin/true"]).stdin(Stdio::null());
                let output = command.output();
                let output = output.map_err(|error| format!("cannot run bwrap: {error}"))?;
                if output.status.success() {
                    return Ok(());
                }
                Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
            })
        }
        Isolation::Namespaces => {
            filter::is_there().map_err(|error| format!("no filters of system calls: {error}"))?;
            with_report(|report| {
                let identity = Identity::of_programs();
                namespaces::fork(false, identity, || {
                    report(namespaces::enter(&nothing, &[], identity));
                    0
                })
            })
        }
    }
}

/// Runs a test in a process of its own.
fn in_child(test: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    with_report(
        |report| match sys::fork().map_err(|error| format!("cannot fork: {error}"))? {
            Fork::Parent(pid) => Ok(pid),
            Fork::Child => {
                report(test());
                sys::exit_now(0)
            }
        },
    )
}

/// Forks, and takes the report of the child.
fn with_report(
    fork: impl FnOnce(&dyn Fn(Result<(), String>)) -> Result<rustix::process::Pid, String>,
) -> Result<(), String> {
    use std::io::Write;
    let (mut reading, writing) = std::io::pipe().map_err(|error| error.to_string())?;
    let report = |result: Result<(), String>| {
        let text = result.err().unwrap_or_else(|| "ok".to_owned());
        // Without a report the level counts as missing.
        let _ = (&writing).write_all(text.as_bytes());
    };
    let pid = fork(&report)?;
    drop(writing);
    let mut text = String::new();
    let read = reading.read_to_string(&mut text);
    // It has nothing left to do.
    let _ = waitpid(Some(pid), WaitOptions::empty());
    match (read, text.as_str()) {
        (Ok(_), "ok") => Ok(()),
        (Ok(_), "") | (Err(_), _) => Err("the test process ended without a report".to_owned()),
        (Ok(_), reason) => Err(reason.to_owned()),
    }
}

/// A program that needs nothing.
fn nothing() -> Program {
    Program {
        runner: Runner {
            program: "/bin/true".into(),
            args: Vec::new(),
            needs: Vec::new(),
        },
        files: Vec::new(),
        script: String::new(),
        environment: Vec::new(),
        stdin: None,
        readable: Vec::new(),
        writable: Vec::new(),
        directory: None,
        network: false,
        limits: Limits::default(),
        streams: false,
    }
}
