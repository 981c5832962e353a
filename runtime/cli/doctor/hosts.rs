//! Which agent hosts have this server in their configuration, and whether what they would start is
//! there. The files belong to other programs: nothing of them is printed but names of servers, the
//! file of a command and paths that are arguments of `serve`.

mod files;
mod read;
mod server;

use std::collections::HashSet;
use std::env;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::program::{in_path, is_executable, same_file};
use super::{Context, Findings, Level};
use crate::roots::project_directories;
use files::{Base, FILES, HostFile};
use read::{Content, read};
use server::{Command, Server};

/// A host's file, as findings name it.
struct Configuration<'a> {
    file: &'static HostFile,
    /// Its path.
    place: String,
    /// The project that it belongs to; `None` if it is the user's.
    project: Option<&'a Path>,
    /// This program.
    program: &'a Path,
}

/// Reports every server in a host's configuration that is this one.
pub(super) fn check(context: &Context<'_>, out: &mut Findings) {
    let here = env::current_dir().unwrap_or_default();
    let home = context.home.as_deref();
    let projects = project_directories(&here, home);
    let program = env::current_exe().unwrap_or_default();
    let mut seen = HashSet::new();
    let mut others = Vec::new();
    let before = out.all.len();
    for file in FILES {
        for (at, path) in file.paths(&projects, home).into_iter().enumerate() {
            if !seen.insert(path.clone()) {
                continue;
            }
            let Some(found) = read(&path, file.format) else {
                continue;
            };
            let project = projects.get(at).copied();
            let is_project = |dir: &&Path| file.base == Base::Project && Some(*dir) != home;
            let configuration = Configuration {
                file,
                place: path.display().to_string(),
                project: project.filter(is_project),
                program: &program,
            };
            if !configuration.check(found, out) {
                others.push(context.shown(&path));
            }
        }
    }
    if !others.is_empty() {
        let message = format!("without this server: {}", others.join(", "));
        out.note(Level::Info, None, message);
    }
    if out.all.len() == before + usize::from(!others.is_empty()) {
        let message = "no host's configuration has this server";
        let help = "docs/hosts.md shows how to add it to each host, such as `claude mcp add \
                    --scope user skills -- skillbundle serve`";
        out.add(Level::Info, None, message, help);
    }
}

/// Whether a host can start a command; a reason, and what to do.
enum Started {
    Yes(PathBuf),
    No(String, Option<String>),
    /// Only in some circumstances.
    Perhaps(String, Option<String>),
    Unknown,
}

impl Configuration<'_> {
    /// Reports what a file has to do with this server. False if that is nothing.
    fn check(&self, content: Content, out: &mut Findings) -> bool {
        let host = self.file.host;
        match content {
            Content::Parsed(value) => self.check_servers(&value, out),
            Content::Faulty { reason, names_us } => {
                let (level, part) = if names_us {
                    (Level::Problem, "which mentions this server")
                } else {
                    (Level::Warning, "which may have this server")
                };
                let message = format!("{host} cannot use this file, {part}: {reason}");
                out.add(level, self.place.clone(), message, "fix the file");
                true
            }
            Content::NotSupported { names_us: false } => false,
            Content::NotSupported { names_us: true } => {
                let format = self.file.format.as_str();
                let message = format!("{host}: mentions this server; this build reads no {format}");
                let help = "check it with a build that has the feature `compile`";
                out.add(Level::Info, self.place.clone(), message, help);
                true
            }
        }
    }

    fn check_servers(&self, value: &Value, out: &mut Findings) -> bool {
        let keys = self.file.keys.iter();
        let servers: Vec<_> = keys.flat_map(|keys| self.ours(value, keys)).collect();
        for server in &servers {
            self.check_server(server, out);
        }
        let other_keys = FILES.iter().flat_map(|file| file.keys);
        let mut other_keys = other_keys.filter(|keys| !self.file.keys.contains(keys));
        // A common mistake: the file of one host copied to another one.
        let misplaced = other_keys.find_map(|keys| Some((keys, self.ours(value, keys).pop()?)));
        if let (true, Some((wrong, server))) = (servers.is_empty(), &misplaced) {
            let (host, right) = (self.file.host, self.file.keys[0]);
            let message = format!(
                "{host}: `{}` is under `{wrong}`, where this host does not look",
                server.name
            );
            out.add(
                Level::Problem,
                self.place.clone(),
                message,
                format!("move it to `{right}`"),
            );
        }
        !servers.is_empty() || misplaced.is_some()
    }

    /// The servers below some keys that are this one.
    fn ours(&self, value: &Value, keys: &str) -> Vec<Server> {
        let servers = Server::all(value, keys).into_iter();
        servers
            .filter(|server| server.is_ours(self.program))
            .collect()
    }

    /// Reports what a host would start, or where it would connect to.
    fn check_server(&self, server: &Server, out: &mut Findings) {
        let subject = format!("{}: `{}`", self.file.host, server.name);
        let place = self.place.clone();
        if server.is_disabled {
            return out.note(Level::Info, place, format!("{subject} is disabled"));
        }
        let Some(command) = &server.command else {
            if let Some(url) = server.shown_url() {
                return out.note(Level::Ok, place, format!("{subject} is at {url}"));
            }
            let message = format!("{subject} has neither a command nor a URL with `://`");
            return out.add(Level::Problem, place, message, self.advice());
        };
        let base = server.cwd.as_deref().or(self.project);
        let is_direct = server.is_direct(self.program);
        let before = out.all.len();
        if is_direct {
            self.check_arguments(server, &subject, base, out);
        }
        let (level, outcome, help) = match self.start(command, base) {
            Started::No(reason, help) => (Level::Problem, reason, help),
            Started::Perhaps(reason, help) => (Level::Warning, reason, help),
            Started::Unknown => (
                Level::Info,
                "which has variables and was not checked".to_owned(),
                None,
            ),
            Started::Yes(_) if !is_direct => {
                let outcome = "whose arguments were not checked".to_owned();
                (Level::Info, outcome, None)
            }
            // There is something else to say about it.
            Started::Yes(_) if out.all.len() > before => return,
            Started::Yes(file) if same_file(&file, self.program) => {
                (Level::Ok, "which is this program".to_owned(), None)
            }
            Started::Yes(_) => {
                let outcome = "which is not the program that runs now".to_owned();
                (
                    Level::Info,
                    outcome,
                    Some("compare `--version` of the two".to_owned()),
                )
            }
        };
        let message = format!("{subject} starts `{}`, {outcome}", server.shown_command());
        out.note(level, place, message);
        out.all.last_mut().expect("it was just added").help = help;
    }

    /// Whether a host can start a command.
    fn start(&self, command: &str, base: Option<&Path>) -> Started {
        let no = |reason: &str, help: String| Started::No(reason.to_owned(), Some(help));
        let has_spaces = command.contains(char::is_whitespace);
        match Command::resolve(command, base) {
            Command::Unknown => Started::Unknown,
            Command::File(file) if file.is_dir() => no("which is a directory", self.advice()),
            Command::File(file) if is_executable(&file) => Started::Yes(file),
            Command::File(file) if file.exists() => no(
                "which cannot be executed",
                "`chmod +x` the program".to_owned(),
            ),
            Command::File(_) if command.starts_with('~') => {
                no("but hosts do not replace `~`", self.advice())
            }
            Command::File(_) | Command::Relative if has_spaces => {
                let help = "put only the program into the command, and the rest into its arguments";
                no(
                    "and arguments, as if they were one file name",
                    help.to_owned(),
                )
            }
            Command::File(_) => no("which does not exist", self.advice()),
            Command::Relative => {
                let reason = "which depends on the working directory that the host chooses";
                Started::Perhaps(reason.to_owned(), Some(self.advice()))
            }
            Command::Name(name) => match in_path(&name).next() {
                Some(file) => {
                    let file = file.display();
                    let reason = format!(
                        "in PATH {file}; started from a desktop, a host may have another PATH"
                    );
                    Started::Perhaps(reason, Some("use the absolute path".to_owned()))
                }
                None => no("which is not in PATH", self.advice()),
            },
        }
    }

    /// Reports arguments that `serve` does not accept, and paths that do not exist.
    fn check_arguments(
        &self,
        server: &Server,
        subject: &str,
        base: Option<&Path>,
        out: &mut Findings,
    ) {
        let place = || self.place.clone();
        let args = match crate::serve_args(&server.args) {
            Ok(args) => args,
            Err(error) => {
                let message = format!("{subject}: {}", server::reason(&error));
                let help = "`skillbundle serve --help` has the arguments";
                return out.add(Level::Problem, place(), message, help);
            }
        };
        for path in args.paths() {
            let text = path.to_string_lossy();
            if text.contains('$') || text.contains('%') {
                continue;
            }
            let shown = server::shown(&text);
            if path.is_absolute() || base.is_some() && !text.starts_with('~') {
                let file = base.unwrap_or(Path::new("/")).join(path);
                if !file.exists() {
                    let message = format!("{subject} names `{shown}`, which does not exist");
                    out.add(
                        Level::Problem,
                        place(),
                        message,
                        "fix the path or remove it",
                    );
                }
            } else if text.starts_with('~') {
                let message = format!("{subject} names `{shown}`, but hosts do not replace `~`");
                out.add(Level::Problem, place(), message, "use an absolute path");
            } else {
                let message = format!(
                    "{subject} names `{shown}`, which depends on the working directory that the \
                     host chooses"
                );
                out.add(Level::Warning, place(), message, "use an absolute path");
            }
        }
    }

    /// What the command should be.
    fn advice(&self) -> String {
        format!(
            "the absolute path of this program is {}",
            self.program.display()
        )
    }
}
