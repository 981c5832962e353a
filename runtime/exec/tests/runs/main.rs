//! Runs real scripts at every level of isolation that this machine offers, and attacks. The test
//! program is its own supervisor, and can be a caller that is killed. As root it runs everything
//! once more as an ordinary user, since most callers are one.
#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that has no `#[test]` functions, since it is its own supervisor"
)]

mod data;
mod ends;
mod escapes;
mod gaps;
mod kit;
mod limits;
mod load;
mod program;
mod survivors;
mod system;
mod user;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use skillbundle_exec::{Executor, Isolation, supervise_if_asked};

/// Tests at one time. The processes of all of them count against one limit of their user, and some
/// tests reach it.
const THREADS: usize = 2;

/// A test at one level. It fails by panicking.
type Case = (&'static str, fn(Isolation));

fn main() -> ExitCode {
    if let Some(code) = supervise_if_asked() {
        return code;
    }
    if let Some(code) = kit::call_if_asked() {
        return code;
    }
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(THREADS));
    let groups: [(&str, &[Case]); 8] = [
        ("program", program::CASES),
        ("data", data::CASES),
        ("ends", ends::CASES),
        ("limits", limits::CASES),
        ("system", system::CASES),
        ("survivors", survivors::CASES),
        ("escapes", escapes::CASES),
        ("load", load::CASES),
    ];
    let mut trials = Vec::new();
    for level in Executor::survey().unwrap() {
        let isolation = level.isolation;
        for (group, cases) in groups {
            for (name, case) in cases {
                let name = format!("{isolation}::{group}::{name}");
                let trial = Trial::test(name, move || {
                    case(isolation);
                    Ok(())
                });
                trials.push(match &level.missing {
                    None => trial,
                    Some(reason) => trial.with_ignored_flag(true).with_kind(reason.as_str()),
                });
            }
        }
    }
    trials.push(user::trial());
    libtest_mimic::run(&arguments, trials).exit_code()
}
