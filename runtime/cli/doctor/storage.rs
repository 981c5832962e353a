//! The cache of compiled generations and the watches: whether `serve` can use them, and how much
//! room is left.

use std::fs;
use std::io;
use std::path::Path;

use skillbundle_format::Store;
use skillbundle_server::WatchPaths;

use super::{Context, Findings, Level};
use crate::cache;
use crate::cli::display::{counted, grouped};
use crate::directories::Stored;

/// The least free space that is enough for a bundle and its copy.
#[cfg(unix)]
const LITTLE_SPACE: u64 = 64 << 20;

/// Reports whether generations can be kept, and whether the next start compiles anything.
pub(super) fn check(context: &Context<'_>, out: &mut Findings) {
    let Some(directory) = cache::directory() else {
        let help = format!("unset {} unless that is meant", cache::VARIABLE);
        return out.add(
            Level::Info,
            None,
            "turned off: every start compiles directories",
            help,
        );
    };
    let place = directory.display().to_string();
    let roots: Vec<_> = context
        .roots()
        .iter()
        .map(|root| root.dir.as_path())
        .collect();
    if let Some(root) = cache::root_around(&directory, &roots) {
        let message = format!("not used, because it lies in the root {}", root.display());
        let help = format!("name another directory in {}", cache::VARIABLE);
        return out.add(Level::Warning, place, message, help);
    }
    let store = Store::at(&directory);
    match store.is_private() {
        Ok(true) => check_contents(context, &store, out),
        Ok(false) => check_unfit(&directory, place.clone(), out),
        Err(error) => {
            let help = "make it readable, or name another directory";
            out.add(Level::Problem, place.clone(), error.to_string(), help);
        }
    }
    check_disk(&directory, out);
}

/// Reports what a usable cache has.
fn check_contents(context: &Context<'_>, store: &Store, out: &mut Findings) {
    let place = store.directory().display().to_string();
    let help = "remove what is damaged: `skillbundle cache clean --all`";
    let bundles = match store.list() {
        Ok(bundles) => bundles,
        Err(error) => return out.add(Level::Problem, place, error.to_string(), help),
    };
    for bundle in bundles.iter().filter(|it| it.bytes == 0) {
        out.add(
            Level::Warning,
            bundle.path.display().to_string(),
            "an empty bundle",
            help,
        );
    }
    let bytes = bundles.iter().map(|bundle| bundle.bytes).sum();
    let count = counted(bundles.len() as u64, "bundle");
    out.note(
        Level::Ok,
        place,
        format!("{count}, {}", counted(bytes, "byte")),
    );
    let Some(examined) = context.examined() else {
        return;
    };
    let next_start = match examined.stored {
        Stored::Unneeded => return,
        Stored::Nothing => "has nothing of these directories: the next start compiles them",
        Stored::Outdated => "has an older generation: the next start compiles what has changed",
        Stored::Current => "has the current generation: the next start compiles nothing",
    };
    out.note(Level::Ok, None, next_start);
}

/// Reports why a cache that is missing or not private is not used, if it is not.
fn check_unfit(directory: &Path, place: String, out: &mut Findings) {
    let Ok(metadata) = fs::symlink_metadata(directory) else {
        return out.note(Level::Ok, place, "does not exist yet; `serve` creates it");
    };
    if !metadata.is_dir() {
        let help = format!(
            "remove it, or name another directory in {}",
            cache::VARIABLE
        );
        let message = "not used, because it is not a directory itself";
        return out.add(Level::Problem, place, message, help);
    }
    if is_foreign(&metadata) {
        let help = format!(
            "`chmod 700` it if it is yours, or name another directory in {}",
            cache::VARIABLE
        );
        let message = "not used, because other users could put files there";
        return out.add(Level::Problem, place, message, help);
    }
    out.note(Level::Ok, place, "set up in part; `serve` completes it");
}

/// Whether it belongs to another user, or others can write to it: the store refuses both.
#[cfg(unix)]
fn is_foreign(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    metadata.uid() != rustix::process::geteuid().as_raw() || metadata.mode() & 0o022 != 0
}

#[cfg(not(unix))]
fn is_foreign(_: &fs::Metadata) -> bool {
    false
}

/// Reports free space, and directories above that others can write to.
#[cfg(unix)]
fn check_disk(directory: &Path, out: &mut Findings) {
    use std::os::unix::fs::MetadataExt;

    use rustix::fs::{Access, access, statvfs};

    let mut above = directory.ancestors().filter(|it| it.is_dir());
    let Some(existing) = above.next() else {
        return;
    };
    let place = existing.display().to_string();
    if access(existing, Access::WRITE_OK | Access::EXEC_OK).is_err() {
        let help = format!(
            "make it writable, or name another directory in {}",
            cache::VARIABLE
        );
        let message = "cannot be written to, so every start compiles directories";
        out.add(Level::Warning, place.clone(), message, help);
    }
    if let Ok(disk) = statvfs(existing) {
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        let message = format!("{} MiB free", grouped(free >> 20));
        if free < LITTLE_SPACE {
            let help = "make room, or name another directory in SKILLBUNDLE_CACHE";
            out.add(Level::Warning, place, message, help);
        } else {
            out.note(Level::Ok, place, message);
        }
    }
    // The sticky bit, as in /tmp, keeps others from replacing what is not theirs.
    let can_be_replaced = |it: &&Path| {
        let mode = fs::metadata(it).map_or(0, |it| it.mode());
        mode & 0o002 != 0 && mode & 0o1000 == 0
    };
    for parent in directory.ancestors().skip(1).filter(can_be_replaced) {
        let message = "every user can write to this directory and replace the cache in it";
        let help = "`chmod o-w` it, or name another directory in SKILLBUNDLE_CACHE";
        out.add(Level::Problem, parent.display().to_string(), message, help);
    }
}

#[cfg(not(unix))]
fn check_disk(_: &Path, _: &mut Findings) {}

/// Reports whether changes of the skills are noticed by events, and the limits of that.
pub(super) fn check_watching(context: &Context<'_>, out: &mut Findings) {
    let Some(paths) = context.examined().and_then(|it| it.watch_paths.as_ref()) else {
        return;
    };
    let count = counted(
        (paths.directories.len() + paths.entries.len()) as u64,
        "place",
    );
    match paths.try_watch() {
        Ok(()) => out.note(
            Level::Ok,
            None,
            format!("{count} can be watched for changes"),
        ),
        Err(error) => unwatched(&error, &count, out),
    }
    limits(paths, out);
}

fn unwatched(error: &io::Error, count: &str, out: &mut Findings) {
    let effect = "changes are looked for before each call and by a timer";
    let message = format!("{count} cannot be watched: {error}; {effect}");
    if error.kind() == io::ErrorKind::Unsupported {
        return out.note(Level::Info, None, message);
    }
    let help = "raise the limits: `sysctl fs.inotify.max_user_watches=524288 \
                fs.inotify.max_user_instances=512`";
    out.add(Level::Warning, None, message, help);
}

/// The limits of inotify(7), which all programs of a user share.
fn limits(paths: &WatchPaths, out: &mut Findings) {
    let limit = |name: &str| {
        let text = fs::read_to_string(format!("/proc/sys/fs/inotify/{name}")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    let (Some(watches), Some(instances)) = (limit("max_user_watches"), limit("max_user_instances"))
    else {
        return;
    };
    let message = format!(
        "limits for all your programs: {} watches, {} instances",
        grouped(watches),
        grouped(instances)
    );
    // Half of them for one server leaves too few for an editor and a second server.
    if (paths.directories.len() as u64).saturating_mul(2) > watches {
        let help = format!(
            "`sysctl fs.inotify.max_user_watches={}`",
            watches.saturating_mul(8)
        );
        out.add(Level::Warning, None, message, help);
    } else {
        out.note(Level::Ok, None, message);
    }
}
