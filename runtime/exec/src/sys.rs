//! The system calls that no safe wrapper offers. Everything unsafe of this crate is here.

use std::io;
use std::time::Duration;

use rustix::process::Pid;

/// What a fork returns.
pub(crate) enum Fork {
    /// In the new process.
    Child,
    /// In the old one: the new process.
    Parent(Pid),
}

/// Forks. The process must have one thread only, as a supervisor has: then the child may go on like
/// any program.
pub(crate) fn fork() -> io::Result<Fork> {
    // SAFETY: no other thread can hold a lock that the child would wait for.
    let pid = unsafe { libc::fork() };
    forked(pid)
}

/// Forks into new namespaces, given as `CLONE_NEW…` flags. The same holds for threads.
#[cfg(target_os = "linux")]
pub(crate) fn fork_into(namespaces: libc::c_int) -> io::Result<Fork> {
    let flags = libc::c_long::from(namespaces | libc::SIGCHLD);
    let none: libc::c_long = 0;
    // SAFETY: without a stack, and without CLONE_VM or any pointer, this is a fork; the order of
    // the arguments differs between systems, but all others are 0.
    #[cfg(not(target_arch = "s390x"))]
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, none, none, none, none) };
    #[cfg(target_arch = "s390x")]
    // SAFETY: as above; here the stack is the first argument.
    let pid = unsafe { libc::syscall(libc::SYS_clone, none, flags, none, none, none) };
    forked(libc::pid_t::try_from(pid).unwrap_or(-1))
}

fn forked(pid: libc::pid_t) -> io::Result<Fork> {
    match pid {
        0 => Ok(Fork::Child),
        // A negative number is no process.
        pid => Pid::from_raw(pid.max(0))
            .map(Fork::Parent)
            .ok_or_else(io::Error::last_os_error),
    }
}

/// Ends this process without running what Rust or C do at the end of a program, which belongs to the
/// process it was forked from.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: it ends the process and touches nothing of it.
    unsafe { libc::_exit(code) }
}

/// Kills every other process of the namespace whose first process this is.
#[cfg(target_os = "linux")]
pub(crate) fn kill_all_others() {
    if rustix::process::getpid().is_init() {
        // SAFETY: it touches no memory; -1 means all that this process can see.
        unsafe { libc::kill(-1, libc::SIGKILL) };
    }
}

/// Makes every descriptor from 3 up close when a program is executed.
#[cfg(target_os = "linux")]
pub(crate) fn close_descriptors_on_exec() -> io::Result<()> {
    const CLOSE_RANGE_CLOEXEC: libc::c_uint = 4;
    let most = libc::c_uint::MAX;
    let first: libc::c_uint = 3;
    // SAFETY: it sets a flag of descriptors, and closes none that Rust believes to be open.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, most, CLOSE_RANGE_CLOEXEC) };
    if done == 0 {
        return Ok(());
    }
    close_listed_on_exec("/proc/self/fd")
}

/// Closes every descriptor from 3 up, or at least keeps it from programs that are executed. To be
/// called first thing in a process that has opened nothing itself.
pub(crate) fn close_descriptors() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        let (first, most, flags): (libc::c_uint, _, libc::c_uint) = (3, libc::c_uint::MAX, 0);
        // SAFETY: the caller has opened nothing, so nothing of Rust loses its descriptor.
        if unsafe { libc::syscall(libc::SYS_close_range, first, most, flags) } == 0 {
            return Ok(());
        }
    }
    close_descriptors_on_exec()
}

/// Closes every descriptor from 3 up but one, in a process that uses only that until it ends by
/// [`exit_now`]. It holds copies of what its parent had, and so the ends of pipes open that others
/// wait for.
#[cfg(target_os = "linux")]
pub(crate) fn close_all_but(kept: rustix::fd::BorrowedFd<'_>) {
    use std::os::fd::AsRawFd;
    let kept = libc::c_uint::try_from(kept.as_raw_fd()).unwrap_or(3);
    for (first, last) in [(3, kept.saturating_sub(1)), (kept + 1, libc::c_uint::MAX)] {
        if first <= last {
            // SAFETY: nothing in this process uses them any more, and none is closed again.
            unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
        }
    }
}

/// Ignores what usually ends a process from outside, but for SIGKILL.
pub(crate) fn ignore_signals() {
    let ends = [
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGTERM,
        libc::SIGUSR1,
        libc::SIGUSR2,
        libc::SIGALRM,
        libc::SIGTSTP,
        libc::SIGTTIN,
        libc::SIGTTOU,
    ];
    for signal in ends {
        // SAFETY: no handler is set, so nothing of ours can be called.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// The same where the system lists descriptors in a directory only.
#[cfg(not(target_os = "linux"))]
pub(crate) fn close_descriptors_on_exec() -> io::Result<()> {
    close_listed_on_exec("/dev/fd")
}

fn close_listed_on_exec(list: &str) -> io::Result<()> {
    let names = std::fs::read_dir(list)?.map_while(Result::ok);
    let names = names.filter_map(|it| it.file_name().to_str()?.parse::<i32>().ok());
    for fd in names.collect::<Vec<_>>().into_iter().filter(|fd| *fd > 2) {
        // SAFETY: it sets a flag of a descriptor; one that is closed already gives an error.
        unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    Ok(())
}

/// Lets every signal have its usual effect again: one that is ignored stays so over an `exec`.
pub(crate) fn reset_signals() {
    for signal in 1..=64 {
        // SAFETY: the default is no handler, so nothing of ours can be called. The system refuses
        // the few that cannot be set.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Processor time of all children that have been waited for, with theirs.
pub(crate) fn children_cpu() -> Duration {
    // SAFETY: zeros are a valid value of these plain numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is valid for one `rusage`.
    if unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) } != 0 {
        return Duration::ZERO;
    }
    let duration = |it: libc::timeval| {
        let seconds = u64::try_from(it.tv_sec).unwrap_or(0);
        let micros = u64::try_from(it.tv_usec).unwrap_or(0);
        Duration::from_secs(seconds) + Duration::from_micros(micros)
    };
    duration(usage.ru_utime) + duration(usage.ru_stime)
}

/// `struct mount_attr` of `mount_setattr(2)`.
#[cfg(target_os = "linux")]
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    userns_fd: u64,
}

/// Sets attributes of a mount and, if it is `recursive`, of those below it. Unlike a remount it
/// leaves the others as they are, which a namespace of a user may not change.
#[cfg(target_os = "linux")]
pub(crate) fn restrict_mount(
    mount: rustix::fd::BorrowedFd<'_>,
    attributes: u64,
    recursive: bool,
) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let attributes = MountAttributes {
        set: attributes,
        clear: 0,
        propagation: 0,
        userns_fd: 0,
    };
    let recurse = if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is a C string, and the attributes are valid for the length that is given.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | recurse,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
