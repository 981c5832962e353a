//! Which agent hosts have this server in their configuration, and whether what they would start is
//! there. The files belong to other programs: nothing of them is printed but names of servers, the
//! file of a command and paths that are arguments of `serve`.

mod files;
mod read;
mod server;

use std::collections::HashSet;
use std::env;
use std::path::Path;

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
    /// Its path for people.
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
            let Some(content) = read(&path, file.format) else {
                continue;
            };
            let configuration = Configuration {
                file,
                place: context.shown(&path),
                project: projects
                    .get(at)
                    .copied()
                    .filter(|_| file.base == Base::Project),
                program: &program,
            };
            if !configuration.check(content, out) {
                others.push(configuration.place);
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

impl Configuration<'_> {
    /// Reports what a file has to do with this server. False if that is nothing.
    fn check(&self, content: Content, out: &mut Findings) -> bool {
        let host = self.file.host;
        match content {
            Content::Parsed(value) => self.check_servers(&value, out),
            Content::Faulty { reason, names_us } => {
                let (level, part) = match names_us {
                    true => (Level::Problem, "which mentions this server"),
                    false => (Level::Warning, "which may have this server"),
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

    fn check_server(&self, server: &Server, out: &mut Findings) {
        let subject = format!("{}: `{}`", self.file.host, server.name);
        let place = self.place.clone();
        if server.is_disabled {
            return out.note(Level::Info, place, format!("{subject} is disabled"));
        }
        let Some(command) = &server.command else {
            return match server.shown_url() {
                Some(url) => out.note(Level::Ok, place, format!("{subject} is at {url}")),
                None => {
                    let message = format!("{subject} has neither a command nor a URL");
                    out.add(Level::Problem, place, message, self.advice());
                }
            };
        };
        let base = server.cwd.as_deref().or(self.project);
        let shown = server.shown_command();
        let mut report = |level, outcome: &str, help: &str| {
            let message = format!("{subject} starts {shown}, {outcome}");
            out.add(level, self.place.clone(), message, help);
        };
        let found = match Command::resolve(command, base) {
            Command::Unknown => {
                let outcome = "which depends on variables and was not checked";
                out.note(
                    Level::Info,
                    place,
                    format!("{subject} starts {shown}, {outcome}"),
                );
                return;
            }
            Command::File(file) if !file.exists() && command.contains(char::is_whitespace) => {
                let help = "put only the program into the command, and the rest into its arguments";
                return report(Level::Problem, "and arguments, as one file name", help);
            }
            Command::File(file) if !file.exists() => {
                let outcome = match command.starts_with('~') {
                    true => "but hosts do not replace `~`",
                    false => "which does not exist",
                };
                return report(Level::Problem, outcome, &self.advice());
            }
            Command::File(file) if !is_executable(&file) => {
                let outcome = "which cannot be executed";
                return report(
                    Level::Problem,
                    outcome,
                    "`chmod +x` it, or name the program",
                );
            }
            Command::File(file) => file,
            Command::Relative => {
                let outcome = "which depends on the working directory that the host chooses";
                return report(Level::Warning, outcome, &self.advice());
            }
            Command::Name(name) => match in_path(&name).next() {
                Some(file) => {
                    let outcome = format!(
                        "found in PATH as {}; a host that is started from a desktop may have \
                         another PATH",
                        file.display()
                    );
                    report(Level::Warning, &outcome, "use the absolute path");
                    file
                }
                None => return report(Level::Problem, "which is not in PATH", &self.advice()),
            },
        };
        let has_warning = matches!(Command::resolve(command, base), Command::Name(_));
        if !server.is_direct(self.program) {
            let message =
                format!("{subject} is started by {shown}; its arguments were not checked");
            return out.note(Level::Info, place, message);
        }
        let before = out.all.len();
        self.check_arguments(server, &subject, base, out);
        if out.all.len() > before || has_warning {
            return;
        }
        if same_file(&found, self.program) {
            out.note(
                Level::Ok,
                place,
                format!("{subject} starts {shown}, which is this program"),
            );
        } else {
            let message =
                format!("{subject} starts {shown}, which is not the program that runs now");
            let help = "compare `--version` of the two";
            out.add(Level::Info, place, message, help);
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
                    let message = format!("{subject} names {shown}, which does not exist");
                    out.add(
                        Level::Problem,
                        place(),
                        message,
                        "fix the path or remove it",
                    );
                }
            } else if text.starts_with('~') {
                let message = format!("{subject} names {shown}, but hosts do not replace `~`");
                out.add(Level::Problem, place(), message, "use an absolute path");
            } else {
                let message = format!(
                    "{subject} names {shown}, which depends on the working directory that the \
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
