//! Which gap of a level each attack goes through.

use skillbundle_exec::Isolation;

/// Attacks by name, and the gap that they prove. The first row that fits counts.
const ROWS: &[(&[Isolation], &str, &str)] = {
    use Isolation::{Bubblewrap, Landlock, Namespaces, Weak};
    &[
        (
            &[Weak],
            "read a file",
            "read every file that the user can read",
        ),
        (
            &[Weak],
            "see a file",
            "read every file that the user can read",
        ),
        (
            &[Weak],
            "write a file",
            "write every file that the user can write",
        ),
        (
            &[Weak],
            "create a file",
            "write every file that the user can write",
        ),
        (
            &[Weak],
            "delete or move a file",
            "write every file that the user can write",
        ),
        (
            &[Weak],
            "link a file",
            "write every file that the user can write",
        ),
        (
            &[Weak],
            "change a mode",
            "write every file that the user can write",
        ),
        (
            &[Weak],
            "change a time",
            "write every file that the user can write",
        ),
        (
            &[Weak],
            "change an attribute",
            "write every file that the user can write",
        ),
        (
            &[Weak],
            "open a device",
            "write every file that the user can write",
        ),
        (&[Weak], "connect", "use the network"),
        (&[Weak], "send", "use the network"),
        (&[Weak], "environment of the caller", READS),
        (&[Weak], "read memory", READS),
        (&[Weak], "see a process", READS),
        (
            &[Weak],
            "signal",
            "send signals to the user's other processes, and stop this server",
        ),
        (
            &[Weak],
            "trace",
            "send signals to the user's other processes, and stop this server",
        ),
        (
            &[Weak],
            "outlive both",
            "leave a process behind if it kills the two that watch it",
        ),
        (&[Weak], "share memory", READS),
        (
            &[Weak],
            "write to a readable named pipe",
            "write every file that the user can write",
        ),
        (&[Weak], "call", "use every system call that the user can"),
        (
            &[Landlock],
            "see a",
            "see that other files and processes exist",
        ),
        (
            &[Landlock],
            "change a",
            "change permissions, times and attributes of the user's files",
        ),
        (
            &[Namespaces, Bubblewrap],
            "connect to a readable Unix socket",
            READABLE,
        ),
        (
            &[Namespaces, Bubblewrap],
            "write to a readable named pipe",
            READABLE,
        ),
        (
            &[Weak],
            "fill a disk",
            "write every file that the user can write",
        ),
        (
            &[Weak],
            "make a set-user-ID",
            "write every file that the user can write",
        ),
        (
            &[Weak],
            "replace the data directory",
            "write every file that the user can write",
        ),
        (
            &[Namespaces, Bubblewrap, Landlock],
            "fill a disk",
            "fill the disk of a directory that it may change",
        ),
        (
            &[Bubblewrap],
            "connect to an abstract Unix socket",
            "connect to abstract Unix sockets if it may use the network",
        ),
    ]
};

const READABLE: &str =
    "connect to Unix sockets and write to named pipes in the directories that it may read";

const READS: &str =
    "read the environment and memory of the user's other processes, this server's among them";

/// The gap that an attack has gone through.
pub(crate) fn gap_of(level: Isolation, attack: &str) -> &'static str {
    let mut rows = ROWS.iter().filter(|it| it.0.contains(&level));
    let row = rows.find(|it| attack.starts_with(it.1));
    row.unwrap_or_else(|| panic!("{level} does not stop it, and names no gap: {attack}"))
        .2
}
