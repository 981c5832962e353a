//! All processes that a program has started, however they have left its group, session and parent.
//! The supervisor adopts orphans (it is a *subreaper*), so all of them are below it, and nothing
//! else is.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait, waitpid};

use crate::Isolation;

/// How long to look for processes that appear while others are killed. A storm of forks is over
/// after some rounds, since every process is stopped before any is killed.
pub(super) const SWEEP: Duration = Duration::from_secs(3);

/// The process that runs the program or, in namespaces, the first one there, whose end is the end
/// of all others.
pub(super) struct Tree {
    leader: Pid,
    /// How many processes stand in line between this one and the program.
    wrappers: usize,
    /// Whether the kernel ends all processes when the leader ends.
    is_namespace: bool,
    /// Its status once it has ended, as `wait` has it.
    ended: Option<i32>,
    cgroup: Option<super::cgroup::Cgroup>,
}

impl Tree {
    pub(super) fn new(
        leader: Pid,
        isolation: Isolation,
        cgroup: Option<super::cgroup::Cgroup>,
    ) -> Self {
        let wrappers = match isolation {
            Isolation::Namespaces => 1,
            // Itself, and the first process of its namespace.
            Isolation::Bubblewrap => 2,
            Isolation::Landlock | Isolation::Weak => 0,
        };
        Self {
            leader,
            wrappers,
            is_namespace: isolation == Isolation::Namespaces,
            ended: None,
            cgroup,
        }
    }

    pub(super) fn leader(&self) -> Pid {
        self.leader
    }

    /// Collects processes that have ended; returns how the leader has, once it has.
    pub(super) fn reap(&mut self) -> Option<i32> {
        self.has_children();
        self.ended
    }

    /// Collects processes that have ended. Returns whether there are others: if this process has no
    /// children, nothing is below it, since orphans become its children.
    fn has_children(&mut self) -> bool {
        reap(|pid, status| {
            if pid == self.leader {
                self.ended = Some(status);
            }
        })
    }

    /// Asks every process of the program to end.
    pub(super) fn terminate(&self) {
        for pid in self.of_program() {
            // It may have ended meanwhile.
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    /// The program and everything that it has started.
    fn of_program(&self) -> Vec<Pid> {
        let parents = parents();
        let mut above = vec![rustix::process::getpid().as_raw_nonzero().get()];
        for _ in 0..self.wrappers {
            let children = parents.iter().filter(|it| above.contains(&it.1));
            above = children.map(|it| it.0).collect();
        }
        below(&parents, above)
    }

    /// Kills every process and waits until they are gone. Returns how many there were, beside the
    /// first one of a namespace and those that had ended.
    pub(super) fn kill(&mut self) -> u32 {
        // In a namespace with its first process, anywhere else with its last one.
        if !self.has_children() {
            return 0;
        }
        let alive = self.of_program().into_iter();
        let alive = alive.filter(|pid| !is_zombie(*pid)).count();
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
        if self.is_namespace && self.ended.is_none() {
            let _ = kill_process(self.leader, Signal::KILL);
            // Returns when every process of the namespace is gone.
            let ended = waitpid(Some(self.leader), WaitOptions::empty());
            self.ended = ended.ok().flatten().map(|it| it.1.as_raw());
        }
        sweep_all(|| self.has_children());
        u32::try_from(alive).unwrap_or(u32::MAX)
    }
}

/// Kills every process below this one and waits until they are gone.
pub(super) fn kill_below_this() {
    sweep_all(|| reap(|_, _| ()));
}

fn sweep_all(mut has_children: impl FnMut() -> bool) {
    let until = Instant::now() + SWEEP;
    while has_children() && Instant::now() < until {
        sweep(below_this());
    }
}

/// Collects children that have ended, and returns whether there are others.
fn reap(mut ended: impl FnMut(Pid, i32)) -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => ended(pid, status.as_raw()),
            Ok(None) => return true,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// Stops all processes until no new one appears, then kills them.
fn sweep(mut found: Vec<Pid>) {
    for _ in 0..100 {
        for pid in &found {
            let _ = kill_process(*pid, Signal::STOP);
        }
        let now = below_this();
        if now.iter().all(|pid| found.contains(pid)) {
            break;
        }
        found = now;
    }
    for pid in found {
        let _ = kill_process(pid, Signal::KILL);
    }
    std::thread::sleep(Duration::from_millis(1));
}

/// Waits for the end of a program in a namespace whose first process this is, and ends all others.
/// Returns the status of the program, as `wait` has it, and how many others there were.
#[cfg(target_os = "linux")]
pub(super) fn wait_for(leader: Pid) -> Option<(i32, u32)> {
    let status = loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == leader => break status,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    };
    while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
    crate::sys::kill_all_others();
    let mut alive = 0;
    while let Ok(Some(_)) = wait(WaitOptions::empty()) {
        alive += 1;
    }
    Some((status.as_raw(), alive))
}

/// All processes below this one.
fn below_this() -> Vec<Pid> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    below(&parents(), vec![own])
}

/// All processes below some, given every process with its parent.
fn below(parents: &[(i32, i32)], above: Vec<i32>) -> Vec<Pid> {
    let first = above.len();
    let mut found = above;
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        found.extend(parents.iter().filter(|it| it.1 == parent).map(|it| it.0));
        at += 1;
    }
    let found = found[first..].iter();
    found.filter_map(|pid| Pid::from_raw(*pid)).collect()
}

/// Every process of the system with its parent.
#[cfg(target_os = "linux")]
fn parents() -> Vec<(i32, i32)> {
    let pids = processes();
    pids.filter_map(|pid| Some((pid, stat(pid)?.1))).collect()
}

/// The numbers of all processes.
#[cfg(target_os = "linux")]
fn processes() -> impl Iterator<Item = i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten();
    let entries = entries.map_while(Result::ok);
    entries.filter_map(|it| it.file_name().to_str()?.parse().ok())
}

/// State and parent of a process.
#[cfg(target_os = "linux")]
fn stat(pid: i32) -> Option<(char, i32)> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may have any character, these too.
    let after = stat.iter().rposition(|it| *it == b')')?;
    let rest = std::str::from_utf8(&stat[after + 1..]).ok()?;
    let mut words = rest.split_whitespace();
    let state = words.next()?.chars().next()?;
    Some((state, words.next()?.parse().ok()?))
}

/// Whether the caller of a supervisor, the parent of its keeper, is stopped.
#[cfg(target_os = "linux")]
pub(super) fn is_caller_stopped() -> bool {
    let stopped = || {
        let keeper = rustix::process::getppid()?;
        let (_, caller) = stat(keeper.as_raw_nonzero().get())?;
        Some(matches!(stat(caller)?.0, 'T' | 't'))
    };
    stopped().unwrap_or(false)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn is_caller_stopped() -> bool {
    false
}

#[cfg(target_os = "linux")]
fn is_zombie(pid: Pid) -> bool {
    stat(pid.as_raw_nonzero().get()).is_none_or(|(state, _)| state == 'Z')
}

/// Kills every process whose environment has this entry: what a supervisor leaves that was killed
/// itself.
#[cfg(target_os = "linux")]
pub(crate) fn kill_marked(entry: &str) {
    let is_marked = |pid: &i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment
            .split(|it| *it == 0)
            .any(|it| it == entry.as_bytes())
    };
    let own = rustix::process::getpid();
    let until = Instant::now() + SWEEP;
    loop {
        let marked = processes().filter(is_marked).filter_map(Pid::from_raw);
        let marked: Vec<Pid> = marked.filter(|pid| *pid != own).collect();
        if marked.is_empty() || Instant::now() > until {
            return;
        }
        for pid in marked {
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Every process of the system with its parent, as `ps` has them: without `/proc` there is no other
/// portable way.
#[cfg(not(target_os = "linux"))]
fn parents() -> Vec<(i32, i32)> {
    use std::process::{Command, Stdio};
    let mut ps = Command::new("/bin/ps");
    ps.args(["-axo", "pid=,ppid="]).stdout(Stdio::piped());
    let Ok(ps) = ps.spawn() else {
        return Vec::new();
    };
    let own = i32::try_from(ps.id()).unwrap_or(0);
    let listed = ps
        .wait_with_output()
        .map_or_else(|_| Vec::new(), |it| it.stdout);
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let rows = listed.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    });
    rows.filter(|(pid, _)| *pid != own).collect()
}

#[cfg(not(target_os = "linux"))]
fn is_zombie(_: Pid) -> bool {
    false
}

/// Without a list of environments nothing can be found.
#[cfg(not(target_os = "linux"))]
pub(crate) fn kill_marked(_: &str) {}
