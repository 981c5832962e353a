//! Filters of system calls (seccomp): what no script needs, and what would lead out of its
//! isolation. What is not named is allowed, so that interpreters work.

use std::collections::BTreeMap;
use std::io;

use libc::{AF_INET, AF_INET6, AF_NETLINK, AF_UNIX};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter, sock_filter,
};

/// Calls that fail with EPERM: they change namespaces and mounts, look into other processes, load
/// code into the kernel, or are known for faults in it.
const DENIED: &[libc::c_long] = &[
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

/// Calls that fail as if the kernel had none: programs then use an older one, whose arguments a
/// filter can see.
const UNKNOWN: &[libc::c_long] = &[libc::SYS_clone3];

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

/// Which sockets may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sockets {
    /// None. A pair of connected ones is not a way out, and stays.
    None,
    /// Those of a network of its own, or of the network that is allowed.
    Ordinary,
}

/// Restricts this process and its children.
pub(super) fn restrict(sockets: Sockets) -> Result<(), String> {
    let failed = |error| format!("cannot filter system calls: {error}");
    for program in programs(sockets)? {
        apply_filter(&program).map_err(failed)?;
    }
    Ok(())
}

/// The filters as one file each, for a program that applies them.
pub(super) fn bytes(sockets: Sockets) -> Result<Vec<Vec<u8>>, String> {
    let encode = |it: &sock_filter| {
        let mut bytes = it.code.to_ne_bytes().to_vec();
        bytes.extend([it.jt, it.jf]);
        bytes.extend(it.k.to_ne_bytes());
        bytes
    };
    let programs = programs(sockets)?;
    Ok(programs
        .iter()
        .map(|it| it.iter().flat_map(encode).collect())
        .collect())
}

fn programs(sockets: Sockets) -> Result<Vec<BpfProgram>, String> {
    let failed = |error: seccompiler::BackendError| format!("no filter of system calls: {error}");
    let mut denied: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    denied.extend(DENIED.iter().map(|it| (*it, Vec::new())));
    let rule = |conditions| SeccompRule::new(conditions).map_err(failed);
    // One rule for each flag: any of them is enough.
    let flags = (0..31)
        .map(|bit| 1_i32 << bit)
        .filter(|it| NAMESPACES & it != 0);
    let clone = flags.map(|flag| {
        let mask = u64::from(flag.unsigned_abs());
        let is_set = condition(0, SeccompCmpOp::MaskedEq(mask), mask).map_err(failed)?;
        rule(vec![is_set])
    });
    denied.insert(libc::SYS_clone, clone.collect::<Result<_, _>>()?);
    let socket = match sockets {
        Sockets::None => Vec::new(),
        Sockets::Ordinary => {
            let families = [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK];
            let other = families.map(|family| {
                condition(0, SeccompCmpOp::Ne, u64::from(family.unsigned_abs())).map_err(failed)
            });
            vec![rule(other.into_iter().collect::<Result<_, _>>()?)?]
        }
    };
    denied.insert(libc::SYS_socket, socket);
    let unknown = UNKNOWN.iter().map(|it| (*it, Vec::new())).collect();
    let filters = [(denied, libc::EPERM), (unknown, libc::ENOSYS)];
    let programs = filters.map(|(rules, errno)| {
        let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(failed)?;
        let errno = SeccompAction::Errno(errno.unsigned_abs());
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, errno, arch);
        let program: BpfProgram = filter.and_then(TryInto::try_into).map_err(failed)?;
        Ok(without_x32(program))
    });
    programs.into_iter().collect()
}

fn condition(
    argument: u8,
    comparison: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, comparison, value)
}

/// Puts in front of a filter that every x32 call fails, since the filter has other numbers. Its
/// jumps are relative, and it loads what it looks at itself.
#[cfg(target_arch = "x86_64")]
fn without_x32(program: BpfProgram) -> BpfProgram {
    let instruction = |code: libc::c_uint, jf, k| sock_filter {
        code: u16::try_from(code).unwrap_or(0),
        jt: 0,
        jf,
        k,
    };
    let load_number = instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0);
    let is_x32 = instruction(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 1, X32);
    let errno = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
    let refuse = instruction(libc::BPF_RET | libc::BPF_K, 0, errno);
    [load_number, is_x32, refuse]
        .into_iter()
        .chain(program)
        .collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn without_x32(program: BpfProgram) -> BpfProgram {
    program
}

/// Whether the kernel has filters at all.
pub(super) fn is_there() -> io::Result<()> {
    rustix::thread::secure_computing_mode()?;
    Ok(())
}
