//! Filters of system calls (seccomp): what no script needs, and what would lead out of its
//! isolation. What is not named is allowed, so that interpreters work.

use std::collections::BTreeMap;
use std::io;

use libc::{AF_INET, AF_INET6, AF_NETLINK, AF_UNIX, O_CREAT, O_DIRECTORY, O_TMPFILE, c_long};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter, sock_filter,
};

use crate::Program;

/// Calls that fail with EPERM: they change namespaces and mounts, look into other processes, load
/// code into the kernel, or are known for faults in it.
const DENIED: &[c_long] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setns,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
];

/// Calls that are denied, too, if the program shares these ways with others: shared memory, queues
/// and semaphores that any process of the user can name.
const DENIED_IF_SHARED: &[c_long] = &[
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_msgctl,
    libc::SYS_msgget,
    libc::SYS_msgrcv,
    libc::SYS_msgsnd,
    libc::SYS_semctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmget,
];

/// Calls that set the mode of a file, and which of their arguments it is. With a place for flags, the
/// mode counts only if they make a file.
const MODES: &[(c_long, Option<u8>, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, None, 1),
    (libc::SYS_fchmod, None, 1),
    (libc::SYS_fchmodat, None, 2),
    (FCHMODAT2, None, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, None, 1),
    (libc::SYS_mknodat, None, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, None, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, Some(1), 2),
    (libc::SYS_openat, Some(2), 3),
];

/// The same number on all systems.
const FCHMODAT2: c_long = 452;

/// The bits of a mode that give a program the rights of its owner or group.
const SET_ID: [u64; 2] = [0o4000, 0o2000];

/// Flags of `open` with which it makes a file. The second shares a bit with `O_DIRECTORY`.
const MAKE: [libc::c_int; 2] = [O_CREAT, O_TMPFILE & !O_DIRECTORY];

/// Flags of `clone` that make namespaces.
const NAMESPACES: libc::c_int = libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWUTS;

/// The first number of the x32 calls, a second set for the same processor.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

/// The kind of a socket in the argument that has its flags, too.
const KIND: u64 = 0xf;

/// What a program shares with others, and so may not reach by sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sockets {
    /// None may be made. A pair of connected ones is not a way out, and stays.
    None,
    /// Those of the network, but not those of processes on the same machine.
    Internet,
    /// Those of namespaces of its own, too.
    Ordinary,
}

/// What a filter depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Filter {
    pub(super) sockets: Sockets,
    /// Whether files of the program stay. A set-user-ID program among them would give the rights of
    /// this user to others for good.
    pub(super) keeps_files: bool,
}

impl Filter {
    /// The one for a program.
    pub(super) fn of(program: &Program, sockets: Sockets) -> Self {
        Self {
            sockets,
            keeps_files: !program.writable.is_empty(),
        }
    }
}

/// Restricts this process and its children.
pub(super) fn restrict(filter: Filter) -> Result<(), String> {
    let applied = apply_filter(&program(filter)?);
    applied.map_err(|error| format!("cannot filter system calls: {error}"))
}

/// The filter for a program that applies it.
pub(super) fn bytes(filter: Filter) -> Result<Vec<u8>, String> {
    let encode = |it: &sock_filter| {
        let mut bytes = it.code.to_ne_bytes().to_vec();
        bytes.extend([it.jt, it.jf]);
        bytes.extend(it.k.to_ne_bytes());
        bytes
    };
    Ok(program(filter)?.iter().flat_map(encode).collect())
}

fn program(filter: Filter) -> Result<BpfProgram, String> {
    let failed = |error: BackendError| format!("no filter of system calls: {error}");
    let rules = rules(filter).map_err(failed)?;
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(failed)?;
    let errno = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let built = SeccompFilter::new(rules, SeccompAction::Allow, errno, arch);
    let program: BpfProgram = built.and_then(TryInto::try_into).map_err(failed)?;
    let mut unknown = vec![libc::SYS_clone3];
    if filter.keeps_files {
        unknown.push(libc::SYS_openat2);
    }
    Ok(with_unknown(&unknown, program))
}

/// What is denied: for each call any of its rules, or always if it has none.
fn rules(filter: Filter) -> Result<BTreeMap<i64, Vec<SeccompRule>>, BackendError> {
    let Filter {
        sockets,
        keeps_files,
    } = filter;
    let mut denied: BTreeMap<_, Vec<_>> = BTreeMap::new();
    denied.extend(DENIED.iter().map(|it| (*it, Vec::new())));
    if sockets != Sockets::Ordinary {
        denied.extend(DENIED_IF_SHARED.iter().map(|it| (*it, Vec::new())));
    }
    let flags = (0..31)
        .map(|bit| 1_u64 << bit)
        .filter(|it| u64::from(NAMESPACES.unsigned_abs()) & it != 0);
    let clone = flags.map(|it| SeccompRule::new(vec![is_masked(0, it, it)?]));
    denied.insert(libc::SYS_clone, clone.collect::<Result<_, _>>()?);

    let unless_of = |families: &[libc::c_int]| {
        let other = families.iter().map(|family| {
            let family = u64::from(family.unsigned_abs());
            SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)
        });
        SeccompRule::new(other.collect::<Result<_, _>>()?)
    };
    let socket = match sockets {
        Sockets::None => Vec::new(),
        Sockets::Internet => vec![unless_of(&[AF_INET, AF_INET6, AF_NETLINK])?],
        Sockets::Ordinary => vec![unless_of(&[AF_UNIX, AF_INET, AF_INET6, AF_NETLINK])?],
    };
    denied.insert(libc::SYS_socket, socket);
    let mut pair = vec![unless_of(&[AF_UNIX])?];
    if sockets != Sockets::Ordinary {
        // One of a pair of these can send to any address.
        for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
            let kind = u64::from(kind.unsigned_abs());
            pair.push(SeccompRule::new(vec![is_masked(1, KIND, kind)?])?);
        }
    }
    denied.insert(libc::SYS_socketpair, pair);
    if keeps_files {
        denied.extend(set_id()?);
    }
    Ok(denied)
}

/// The rules against set-user-ID and set-group-ID programs, after systemd's `RestrictSUIDSGID`.
fn set_id() -> Result<Vec<(c_long, Vec<SeccompRule>)>, BackendError> {
    let mut denied = Vec::new();
    for &(call, flags, mode) in MODES {
        let mut rules = Vec::new();
        for bit in SET_ID {
            let is_set = || is_masked(mode, bit, bit);
            let Some(flags) = flags else {
                rules.push(SeccompRule::new(vec![is_set()?])?);
                continue;
            };
            for make in MAKE {
                let make = u64::from(make.unsigned_abs());
                let makes = is_masked(flags, make, make)?;
                rules.push(SeccompRule::new(vec![makes, is_set()?])?);
            }
        }
        denied.push((call, rules));
    }
    Ok(denied)
}

fn is_masked(argument: u8, mask: u64, value: u64) -> Result<SeccompCondition, BackendError> {
    let comparison = SeccompCmpOp::MaskedEq(mask);
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, comparison, value)
}

/// Puts in front of a filter what fails as if the kernel had no such call: `clone3` and `openat2`,
/// since a filter cannot see their flags, and programs use `clone` and `openat` instead; and every
/// x32 call, since the filter has other numbers. Its jumps are relative, and it loads what it looks
/// at itself.
fn with_unknown(calls: &[c_long], program: BpfProgram) -> BpfProgram {
    let instruction = |code: libc::c_uint, jf, k| sock_filter {
        code: u16::try_from(code).unwrap_or(0),
        jt: 0,
        jf,
        k,
    };
    let load_number = instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0);
    let errno = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
    let refuse = || instruction(libc::BPF_RET | libc::BPF_K, 0, errno);
    let mut first = vec![load_number];
    for call in calls {
        let call = u32::try_from(*call).unwrap_or(u32::MAX);
        let is_call = instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, call);
        first.extend([is_call, refuse()]);
    }
    #[cfg(target_arch = "x86_64")]
    first.extend([
        instruction(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 1, X32),
        refuse(),
    ]);
    first.extend(program);
    first
}

/// Whether the kernel has filters at all.
pub(super) fn is_there() -> io::Result<()> {
    rustix::thread::secure_computing_mode()?;
    Ok(())
}
