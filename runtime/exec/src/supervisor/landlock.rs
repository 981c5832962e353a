//! Landlock: the kernel's access control that a process applies to itself. With it go no files but
//! those allowed, no TCP, no abstract sockets, and no signals to processes outside.

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};

use rustix::fs::{Mode, OFlags};

use super::view::{self, Layout};
use crate::Program;

/// The oldest revision that stops signals to other processes (Linux 6.12). With an older one a
/// script could kill the server, so this level would promise too much.
const OLDEST: ABI = ABI::V6;

/// Restricts this process and its children to what a program may have.
pub(super) fn restrict(program: &Program, layout: &Layout) -> Result<(), String> {
    let failed = |error: RulesetError| format!("cannot apply Landlock: {error}");
    let mut ruleset = rules(program.network).map_err(failed)?;
    let read = AccessFs::from_read(OLDEST);
    let (all, file) = (AccessFs::from_all(OLDEST), AccessFs::from_file(OLDEST));
    let etc = view::etc(program.network);
    let etc = etc
        .iter()
        .map(|it| (it.as_path(), read & !AccessFs::Execute));
    let system = view::system_directories().map(|it| (it, read));
    let grants = view::grants(program);
    if let Some(hole) = grants.iter().find(|it| it.is_nested && !it.is_writable) {
        // What a rule allows for a directory, no other can take back below it.
        return Err(format!(
            "{} lies in a directory that scripts may change, and Landlock cannot keep it from them; move it out of there",
            hole.path.display()
        ));
    }
    // Devices cannot be made without privileges, and need not be.
    let change = all & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    for it in grants.iter().filter(|it| it.is_writable) {
        // Not by its path, which could have become a link to another.
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::open(it.path, flags, Mode::empty())
            .map_err(|error| format!("cannot open {}: {error}", it.path.display()))?;
        let rule = PathBeneath::new(opened, change);
        ruleset = ruleset.add_rule(rule).map_err(failed)?;
    }
    let readable = grants.iter().filter(|it| !it.is_writable);
    let named = readable.map(|it| (it.path, read));
    let own = [
        (layout.files.as_path(), read),
        (layout.scratch.as_path(), all),
        (layout.temporary.as_path(), all),
    ];
    let devices = view::DEVICES.map(|it| (Path::new(it), file & !AccessFs::Execute));
    for (path, access) in system.chain(etc).chain(named).chain(own).chain(devices) {
        // What is not there cannot be read.
        let Ok(opened) = PathFd::new(path) else {
            continue;
        };
        let access = if path.is_dir() { access } else { access & file };
        let rule = PathBeneath::new(opened, access);
        ruleset = ruleset.add_rule(rule).map_err(failed)?;
    }
    ruleset.restrict_self().map_err(failed)?;
    Ok(())
}

/// Cuts this process and its children off from the abstract sockets of others, which a network
/// namespace that is shared has in common. Without effect if the kernel is too old.
pub(super) fn close_abstract_sockets() -> Result<(), String> {
    let closed = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .scope(Scope::AbstractUnixSocket)
        .and_then(Ruleset::create)
        .and_then(RulesetCreated::restrict_self);
    closed
        .map(drop)
        .map_err(|error| format!("cannot apply Landlock: {error}"))
}

/// Fails if the kernel is too old or has it turned off.
pub(super) fn is_there() -> Result<(), String> {
    let created = rules(false).map(drop);
    created.map_err(|error| format!("Landlock 6 (Linux 6.12) is not there: {error}"))
}

fn rules(network: bool) -> Result<RulesetCreated, RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(OLDEST))?
        .scope(Scope::AbstractUnixSocket)?
        .scope(Scope::Signal)?;
    if !network {
        rules = rules.handle_access(AccessNet::from_all(OLDEST))?;
    }
    rules.create()
}
