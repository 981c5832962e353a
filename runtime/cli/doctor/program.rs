//! This program: what it is, whether it is the one in `PATH`, whether it answers, and the
//! environment that changes what it does.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::Value;
use skillbundle_format::SETTINGS;
use skillbundle_search::suggest;

use super::{Context, Findings, Level};
use crate::cli::json::BuildInfo;
use crate::sources::{Selection, Sources};

/// How the variables of this program begin, but for those of specification 3.
const PREFIX: &str = "SKILLBUNDLE_";

/// How long the program may take to answer `initialize`. It takes milliseconds; a host waits for 30
/// seconds and more.
const PATIENCE: Duration = Duration::from_secs(10);

/// Fewer open files than this are soon used up by a server over HTTP.
#[cfg(unix)]
const FEW_FILES: u64 = 256;

/// The first message of a host.
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"skillbundle doctor","version":"1"}}}"#;

/// Reports the version, other copies in `PATH`, and whether `serve` answers.
pub(super) fn check(context: &Context<'_>, out: &mut Findings) {
    let program = env::current_exe().ok();
    let place = program.as_deref().map(text);
    match BuildInfo::new() {
        Ok(build) => out.note(Level::Ok, place, described(&build)),
        Err(error) => out.error(place, &error, "install the program again"),
    }
    out.note(Level::Ok, None, system());
    check_path(program.as_deref(), out);
    if context.examined().is_none() {
        return;
    }
    if let Ok(Selection::Repositories(_)) = &context.selection {
        let message = "`serve` was not tried: it would synchronise the repository";
        return out.note(Level::Info, None, message);
    }
    match program
        .context("the path of this program is unknown")
        .and_then(|it| answer(&it, context.sources))
    {
        Ok(time) => {
            let message = format!(
                "`serve` answers on standard output in {} ms",
                time.as_millis()
            );
            out.note(Level::Ok, None, message);
        }
        Err(error) => {
            let help =
                "run `skillbundle serve </dev/null` with the same arguments and read what it logs";
            out.error(None, &error, help);
        }
    }
}

/// Reports which programs of this name are in `PATH`.
fn check_path(program: Option<&Path>, out: &mut Findings) {
    let name = Path::new("skillbundle");
    let found: Vec<_> = in_path(name).collect();
    let is_this = |path: &PathBuf| program.is_some_and(|it| same_file(it, path));
    match found.as_slice() {
        [] => out.note(
            Level::Info,
            None,
            "not in PATH: hosts need its absolute path",
        ),
        [first, others @ ..] if is_this(first) => {
            for other in others.iter().filter(|it| !is_this(it)) {
                let help = "remove one of the two, or use absolute paths in configurations";
                let message = "another program of this name, later in PATH";
                out.add(Level::Info, text(other), message, help);
            }
        }
        [first, ..] => {
            let help = "remove it, or use the absolute path of this program in configurations";
            let message = "`skillbundle` means this program, not the one that runs now";
            out.add(Level::Warning, text(first), message, help);
        }
    }
}

/// The executable files of this name in `PATH`, in its order.
pub(super) fn in_path(name: &Path) -> impl Iterator<Item = PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let directories: Vec<_> = env::split_paths(&path).collect();
    let mut name = name.to_owned();
    if cfg!(windows) && name.extension().is_none() {
        name.set_extension(env::consts::EXE_EXTENSION);
    }
    let files = directories.into_iter().map(move |it| it.join(&name));
    files.filter(|file| is_executable(file))
}

/// Whether a file can be started by this user.
#[cfg(unix)]
pub(super) fn is_executable(file: &Path) -> bool {
    use rustix::fs::{Access, access};
    file.is_file() && access(file, Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
pub(super) fn is_executable(file: &Path) -> bool {
    file.is_file()
}

/// Whether two paths lead to one file.
pub(super) fn same_file(a: &Path, b: &Path) -> bool {
    matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}

fn described(build: &BuildInfo) -> String {
    let features = match build.features.as_slice() {
        [] => "no optional features".to_owned(),
        features => format!("features {}", features.join(", ")),
    };
    let (program, format) = (build.program_version, build.format_version);
    format!("skillbundle {program}, bundle format {format}, {features}")
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// The system and its version.
fn system() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease");
    let release = release.map_or_else(|_| String::new(), |it| format!(" {}", it.trim()));
    format!("{}{release} on {}", env::consts::OS, env::consts::ARCH)
}

/// Starts `serve` with the same arguments, but without a cache, and returns how long it took to
/// answer. Fails unless everything on its standard output is a message.
fn answer(program: &Path, sources: &Sources) -> Result<Duration> {
    let start = Instant::now();
    let mut child = Command::new(program)
        .arg("serve")
        .args(words(sources))
        .env(crate::cache::VARIABLE, "off")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot start this program")?;
    let stderr = child.stderr.take().expect("it is a pipe");
    let log = thread::spawn(move || {
        let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
        let error = lines.find(|line| line.starts_with("error: "));
        // Read to the end, so that the log holds nothing back.
        lines.for_each(drop);
        error
    });
    let answered = converse(&mut child, start);
    // It ends by itself when its input ends; one that hangs must not stay behind.
    let _ = child.kill();
    let _ = child.wait();
    match (answered, log.join().ok().flatten()) {
        (Err(failure), Some(error)) => Err(anyhow!("{failure}; {error}")),
        (answered, _) => answered,
    }
}

fn converse(child: &mut Child, start: Instant) -> Result<Duration> {
    let stdout = child.stdout.take().expect("it is a pipe");
    let mut stdin = child.stdin.take().expect("it is a pipe");
    let (send, lines) = mpsc::channel();
    thread::spawn(move || {
        let mut lines = BufReader::new(stdout).split(b'\n');
        while lines.next().is_some_and(|line| send.send(line).is_ok()) {}
    });
    // Whoever is gone by now does not answer, which is what counts.
    let _ = writeln!(stdin, "{INITIALIZE}");
    let first = lines.recv_timeout(PATIENCE);
    let time = start.elapsed();
    check_message(first.context("`serve` does not answer")??.as_slice())?;
    drop(stdin);
    loop {
        match lines.recv_timeout(PATIENCE) {
            Ok(line) => check_message(&line?)?,
            Err(RecvTimeoutError::Disconnected) => return Ok(time),
            Err(RecvTimeoutError::Timeout) => bail!("`serve` does not end when its input ends"),
        }
    }
}

fn check_message(line: &[u8]) -> Result<()> {
    let message = serde_json::from_slice::<Value>(line).unwrap_or_default();
    if message["jsonrpc"] != "2.0" {
        bail!("`serve` writes something other than messages to its standard output");
    }
    Ok(())
}

/// The arguments that select these sources.
fn words(sources: &Sources) -> Vec<OsString> {
    let mut words = Vec::new();
    let bundle = sources.bundle.iter().map(|it| ("--bundle", it));
    let dirs = sources.dir.iter().map(|it| ("--dir", it));
    for (option, path) in bundle.chain(dirs) {
        words.extend([option.into(), path.into()]);
    }
    if let Some(limit) = sources.max_files {
        words.extend(["--max-files".into(), limit.to_string().into()]);
    }
    if sources.no_project_roots {
        words.push("--no-project-roots".into());
    }
    if sources.no_embedded {
        words.push("--no-embedded".into());
    }
    words.extend(sources.config.words());
    words.push("--".into());
    words.extend(sources.paths.iter().map(Into::into));
    words
}

/// Reports variables that are misspelt or have values of no use.
pub(super) fn check_environment(context: &Context<'_>, out: &mut Findings) {
    match &context.settings {
        Ok(config) => {
            let file = config.file().map(|file| text(file));
            if file.is_some() {
                out.note(Level::Ok, file, "the settings in it apply");
            }
        }
        Err(error) => {
            let help = "fix it; `skillbundle config --help` has the settings";
            out.report(error, help);
        }
    }
    let known = SETTINGS.iter().flat_map(|it| [it.variable, it.enabled_by]);
    let known: Vec<_> = known.filter(|it| it.starts_with(PREFIX)).collect();
    for (name, _) in env::vars_os() {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else {
            continue;
        };
        if known.contains(&name) {
            out.note(Level::Ok, name.to_owned(), "set");
        } else {
            let help = match suggest(name, known.iter().copied()) {
                Some(meant) => format!("did you mean {meant}?"),
                None => format!("known: {}", known.join(", ")),
            };
            out.add(
                Level::Warning,
                name.to_owned(),
                "unknown, so it has no effect",
                help,
            );
        }
    }
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
    for name in [crate::cache::VARIABLE, "XDG_CACHE_HOME"] {
        let is_relative = |value: &OsString| value != "off" && Path::new(value).is_relative();
        if set(name).as_ref().is_some_and(is_relative) {
            let message = "a relative path, so it depends on the working directory or is ignored";
            out.add(
                Level::Warning,
                name.to_owned(),
                message,
                "set it to an absolute path",
            );
        }
    }
    if context.home.is_none() {
        let message = "not an absolute path, so your own skills and the cache are not found";
        out.add(
            Level::Warning,
            "HOME".to_owned(),
            message,
            "set it to your home directory",
        );
    }
    check_open_files(out);
}

/// A server over HTTP takes one descriptor for each connection, and watching one.
#[cfg(unix)]
fn check_open_files(out: &mut Findings) {
    use rustix::process::{Resource, getrlimit};
    let limit = getrlimit(Resource::Nofile).current;
    let shown = limit.map_or_else(|| "no limit".to_owned(), |limit| limit.to_string());
    let message = format!("open files: {shown}");
    if limit.is_some_and(|limit| limit < FEW_FILES) {
        out.add(
            Level::Warning,
            None,
            message,
            format!("raise the limit: `ulimit -n {FEW_FILES}`"),
        );
    } else {
        out.note(Level::Ok, None, message);
    }
}

#[cfg(not(unix))]
fn check_open_files(_: &mut Findings) {}
