//! Processes of this same program that record something and are killed, and what they do.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// What the child does, and on which file.
const ROLE: &str = "JOURNAL_TEST_ROLE";
const PATH: &str = "JOURNAL_TEST_PATH";

/// The body of every child process: the parent names this test and a role. Without a role it is an
/// ordinary run of all tests, and there is nothing to do.
#[test]
fn child_process() {
    let (Ok(role), Some(path)) = (env::var(ROLE), env::var_os(PATH)) else {
        return;
    };
    let path = PathBuf::from(path);
    match role.as_str() {
        "record until killed" => crate::kill::record_until_killed(&path),
        "claim" => crate::processes::claim_all(&path),
        "fill the disk" => crate::faults::fill_the_disk(&path),
        "fill the disk with lines" => crate::faults::fill_the_disk_with_lines(&path),
        "read only" => crate::faults::find_it_read_only(&path),
        #[cfg(all(unix, feature = "http"))]
        "send until killed" => crate::http::record_until_killed(&path),
        #[cfg(all(unix, feature = "http"))]
        "send and leave" => crate::http::record_and_leave(&path),
        #[cfg(all(unix, feature = "http"))]
        "fill the disk with a buffer" => crate::http::fill_the_disk(&path),
        #[cfg(all(unix, feature = "http"))]
        "send by TLS" => crate::http::send_by_tls(&path),
        #[cfg(all(unix, feature = "postgres"))]
        "deliver until killed" => crate::postgres::record_until_killed(&path),
        other => panic!("no role {other}"),
    }
}

/// This program as a command that plays a role.
pub(crate) fn command(role: &str, path: &Path) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "child::child_process", "--nocapture"]);
    set_role(&mut command, role, path);
    command
}

/// Has the command play a role.
pub(crate) fn set_role(command: &mut Command, role: &str, path: &Path) {
    command.env(ROLE, role).env(PATH, path);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
}

/// Tells the parent something, in one write.
pub(crate) fn tell(what: &str) {
    let line = format!("> {what}\n");
    // A parent that is gone hears nothing, and kills nobody.
    drop(std::io::stdout().write_all(line.as_bytes()));
}

/// What a child has told, line by line.
pub(crate) fn told(stdout: ChildStdout) -> impl Iterator<Item = String> {
    let lines = BufReader::new(stdout).lines().map_while(Result::ok);
    // The test harness writes there, too.
    lines.filter_map(|line| Some(line.split_once("> ")?.1.to_owned()))
}

/// Takes the stdout of a child.
pub(crate) fn stdout(child: &mut Child) -> ChildStdout {
    child.stdout.take().expect("it is piped")
}
