//! The process between the caller and the supervisor. All it does is wait: if the supervisor is
//! killed, what was below it comes to the keeper, which ends it and removes its files. If the
//! keeper is killed, the supervisor notices and ends the program. So it takes both to leave
//! something behind. A supervisor that is stopped counts as killed.

use std::io::{self, PipeReader};
use std::process::ExitCode;

use rustix::process::{Pid, WaitOptions, waitpid};

use super::{cgroup, staging, tree};
use crate::sys::{self, Fork};

/// Which of the two processes this is.
pub(super) enum Role {
    /// The supervisor; it reads the end of this pipe when the keeper is gone.
    Supervisor(PipeReader),
    /// The keeper, with nothing left to do.
    Kept(ExitCode),
}

/// Forks the supervisor of the run with this id. Returns at once in that, and in this process when
/// everything has ended.
pub(super) fn keep(id: &str) -> io::Result<Role> {
    let (alive, held) = io::pipe()?;
    match sys::fork()? {
        Fork::Child => {
            drop(held);
            adopt_orphans()?;
            Ok(Role::Supervisor(alive))
        }
        Fork::Parent(supervisor) => {
            // The name by which a user finds it; the supervisor has had its own.
            #[cfg(target_os = "linux")]
            let _ = rustix::thread::set_name(c"skill-keeper");
            Ok(Role::Kept(wait(supervisor, id)))
        }
    }
}

/// Makes this process the one that orphans below it come to.
pub(super) fn adopt_orphans() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

fn wait(supervisor: Pid, id: &str) -> ExitCode {
    let status = loop {
        match waitpid(Some(supervisor), WaitOptions::UNTRACED) {
            // Without isolation a script can stop it, and nothing else would.
            Ok(Some((_, status))) if status.stopped() => break None,
            Ok(Some((_, status))) => break Some(status),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => break None,
        }
    };
    if status.is_some_and(|it| it.exit_status() == Some(0)) {
        return ExitCode::SUCCESS;
    }
    tree::kill_below_this();
    // There is none unless the supervisor could not remove it.
    let _ = staging::remove(&staging::directory_of(id));
    cgroup::remove(id);
    ExitCode::FAILURE
}
