//! A control group (version 2) of its own for the processes of a program, if the system lets this
//! user make one: the kernel then kills all of them at once, and holds limits that count for all of
//! them together.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::tree::SWEEP;
use crate::Limits;

/// Where the version 2 hierarchy is mounted: alone, or beside version 1.
const MOUNTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/// The group. Removed when dropped.
pub(super) struct Cgroup(PathBuf);

impl Cgroup {
    /// Makes a group below that of this process. `None` if the system has none, does not allow it,
    /// or cannot kill a group at once (Linux 5.14).
    pub(super) fn new(id: &str, limits: &Limits) -> Option<Self> {
        let group = place(id)?;
        fs::create_dir(&group).ok()?;
        let group = Self(group);
        if !group.0.join("cgroup.kill").exists() {
            return None;
        }
        // These files exist only if the group above hands the controllers down.
        let _ = group.set("pids.max", &limits.processes.to_string());
        let _ = group.set("memory.max", &limits.memory_bytes.to_string());
        Some(group)
    }

    /// Puts a process into the group, before it has children.
    pub(super) fn add(&self, process: Pid) -> io::Result<()> {
        self.set("cgroup.procs", &process.as_raw_nonzero().to_string())
    }

    /// Kills all processes in the group.
    pub(super) fn kill(&self) {
        // What is left is found by the sweep.
        let _ = self.set("cgroup.kill", "1");
    }

    fn set(&self, file: &str, value: &str) -> io::Result<()> {
        fs::write(self.0.join(file), value)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // Fails while processes are in it, which are all dead by now.
        let _ = fs::remove_dir(&self.0);
    }
}

/// Where the group of a run is, if there are groups.
fn place(id: &str) -> Option<PathBuf> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mut mounts = MOUNTS.into_iter().map(Path::new);
    let mount = mounts.find(|it| it.join("cgroup.procs").exists())?;
    Some(mount.join(path).join(format!("skillbundle-run-{id}")))
}

/// Kills and removes the group of a run whose supervisor was killed itself, if it has one. Waits
/// for the processes in it, which are not this one's children and need a moment to be gone.
pub(super) fn remove(id: &str) {
    let Some(group) = place(id) else {
        return;
    };
    let until = Instant::now() + SWEEP;
    while group.exists() && Instant::now() < until {
        let group = Cgroup(group.clone());
        group.kill();
        drop(group);
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_group_is_removed_with_processes_that_still_end() {
        let id = super::super::staging::random_id().unwrap();
        let limits = Limits {
            processes: 1_000,
            ..Limits::default()
        };
        let Some(group) = Cgroup::new(&id, &limits) else {
            let _ = writeln!(io::stderr(), "skipped: this system lets no group be made");
            return;
        };
        let mut command = Command::new("sh");
        command.args(["-c", "for i in $(seq 200); do sleep 60 & done; echo; wait"]);
        command.stdout(Stdio::piped());
        let mut shell = command.spawn().unwrap();
        group
            .add(Pid::from_raw(i32::try_from(shell.id()).unwrap()).unwrap())
            .unwrap();
        let mut line = [0];
        io::Read::read_exact(shell.stdout.as_mut().unwrap(), &mut line).unwrap();
        remove(&id);
        assert!(!group.0.exists());
        shell.wait().unwrap();
    }
}
