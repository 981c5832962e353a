//! Everything once more as an ordinary user, by `setpriv`, if this is root.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use libtest_mimic::{Failed, Trial};

/// A user and group that no system has.
const USER: &str = "1234";

const NAME: &str = "everything_as_an_ordinary_user";

pub(crate) fn trial() -> Trial {
    let trial = Trial::test(NAME, again);
    let has_setpriv = Command::new("setpriv")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    let missing = if !rustix::process::geteuid().is_root() {
        "this is one"
    } else if has_setpriv.is_err() {
        "setpriv is not installed"
    } else {
        return trial;
    };
    trial.with_ignored_flag(true).with_kind(missing)
}

fn again() -> Result<(), Failed> {
    let directory = tempfile::tempdir()?;
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755))?;
    // Where this program lies an ordinary user may not go.
    let copy = directory.path().join("runs");
    fs::copy("/proc/self/exe", &copy)?;
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755))?;
    let output = Command::new("setpriv")
        .args(["--reuid", USER, "--regid", USER, "--clear-groups", "--"])
        .arg(&copy)
        // The same tests, but if it is this one that was asked for.
        .args(std::env::args().skip(1).filter(|it| !NAME.contains(it)))
        .current_dir("/")
        .env("HOME", "/nonexistent")
        .stdin(Stdio::null())
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    Err(format!("{stdout}\n{stderr}").into())
}
