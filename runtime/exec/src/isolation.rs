//! The levels of isolation, weakest first, and what each does not stop.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How a program is kept apart from the rest of the system. The order counts: each level stops more
/// than the ones before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// A session and limits of its own; every process of the tree is found and killed. It reads and
    /// writes what the user can.
    Weak,
    /// Landlock and a filter of system calls: no files but those allowed, no network, no signals to
    /// other processes.
    Landlock,
    /// Namespaces that `bubblewrap` sets up, if the system allows them to it alone.
    Bubblewrap,
    /// User, process, mount, network and IPC namespaces of its own: it sees a file system of what
    /// is allowed, and no process but its own.
    Namespaces,
}

/// Whether a level can be had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Availability {
    /// The level.
    pub isolation: Isolation,
    /// Why it cannot be had; `None` if it can.
    pub missing: Option<String>,
}

impl Isolation {
    /// Every level, the strongest first.
    pub const ALL: [Self; 4] = [
        Self::Namespaces,
        Self::Bubblewrap,
        Self::Landlock,
        Self::Weak,
    ];

    /// The word in settings and results.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Weak => "weak",
            Self::Landlock => "landlock",
            Self::Bubblewrap => "bubblewrap",
            Self::Namespaces => "namespaces",
        }
    }

    /// What a program can still do at this level, as phrases: what the tests have seen to succeed.
    pub const fn gaps(self) -> &'static [&'static str] {
        match self {
            Self::Namespaces => &[
                "connect to Unix sockets and write to named pipes in the directories that it may read",
                "fill the disk of a directory that it may change",
            ],
            Self::Bubblewrap => &[
                "connect to Unix sockets and write to named pipes in the directories that it may read",
                "connect to abstract Unix sockets if it may use the network",
                "fill the disk of a directory that it may change",
            ],
            Self::Landlock => &[
                "see that other files and processes exist",
                "change permissions, times and attributes of the user's files",
                "fill the disk of a directory that it may change",
            ],
            Self::Weak => &[
                "read every file that the user can read",
                "write every file that the user can write",
                "use the network",
                "read the environment and memory of the user's other processes, this server's among them",
                "send signals to the user's other processes, and stop this server",
                "leave a process behind if it kills the two that watch it",
                "use every system call that the user can",
            ],
        }
    }
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Isolation {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        let mut levels = Self::ALL.into_iter();
        levels.find(|it| it.as_str() == word).ok_or(())
    }
}
