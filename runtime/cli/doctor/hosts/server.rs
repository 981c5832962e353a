//! A server in a host's configuration: the spellings of all hosts as one form, whether it is this
//! server, and what of it may be shown.

use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ErrorKind};
use serde_json::Value;

use super::super::program::{in_path, same_file};

/// The most characters of a name or path that are shown.
const MOST_SHOWN: usize = 200;

/// A server.
pub(super) struct Server {
    /// Its name in the configuration.
    pub(super) name: String,
    /// What is started, as written; `None` for a server at a URL.
    pub(super) command: Option<String>,
    pub(super) args: Vec<String>,
    url: Option<String>,
    /// Where it is started, if the configuration says so.
    pub(super) cwd: Option<PathBuf>,
    pub(super) is_disabled: bool,
}

/// What a command means to a host, which starts it without a shell.
pub(super) enum Command {
    /// This file.
    File(PathBuf),
    /// The program of this name in `PATH`.
    Name(PathBuf),
    /// A path that is relative to an unknown directory.
    Relative,
    /// The host replaces variables in it.
    Unknown,
}

impl Command {
    /// `base` is the directory that it is started in, if that is known.
    pub(super) fn resolve(command: &str, base: Option<&Path>) -> Self {
        let path = Path::new(command);
        if command.contains('$') || command.contains('%') {
            Self::Unknown
        } else if path.is_absolute() || command.starts_with('~') {
            Self::File(path.to_owned())
        } else if !command.contains(['/', '\\']) && !command.contains(char::is_whitespace) {
            Self::Name(path.to_owned())
        } else {
            base.map_or(Self::Relative, |base| Self::File(base.join(path)))
        }
    }
}

impl Server {
    /// The servers below some keys, separated by dots; `*` is any key, which is added to the names.
    pub(super) fn all(value: &Value, keys: &str) -> Vec<Self> {
        let mut level = vec![(String::new(), value)];
        for key in keys.split('.') {
            let entries = level
                .into_iter()
                .filter_map(|(of, it)| Some((of, it.as_object()?)));
            level = match key {
                "*" => entries
                    .flat_map(|(_, it)| it.iter().map(|(key, it)| (format!(" of {key}"), it)))
                    .collect(),
                key => entries
                    .filter_map(|(of, it)| Some((of, it.get(key)?)))
                    .collect(),
            };
        }
        let entries = level
            .into_iter()
            .filter_map(|(of, it)| Some((of, it.as_object()?)));
        let servers = entries.flat_map(|(of, it)| {
            it.iter()
                .filter_map(move |(name, entry)| Self::new(&(name.clone() + &of), entry))
        });
        servers.collect()
    }

    /// One entry. Its command is a text, a list with the arguments (opencode), an object with
    /// `path` and `args` (Zed), or called `cmd` (Goose).
    fn new(name: &str, entry: &Value) -> Option<Self> {
        let entry = entry.as_object()?;
        let texts = |value: &Value| -> Vec<String> {
            let items = value.as_array().into_iter().flatten();
            items
                .filter_map(|it| it.as_str().map(str::to_owned))
                .collect()
        };
        let text = |keys: &[&str]| {
            let mut values = keys.iter().filter_map(|key| entry.get(*key));
            values.find_map(|it| it.as_str().map(str::to_owned))
        };
        let mut args = entry.get("args").map(texts).unwrap_or_default();
        let command = match entry.get("command") {
            Some(list @ Value::Array(_)) => {
                let mut words = texts(list).into_iter();
                let command = words.next();
                args.splice(..0, words);
                command
            }
            Some(Value::Object(command)) => {
                args = command.get("args").map(texts).unwrap_or_default();
                command
                    .get("path")
                    .and_then(Value::as_str)
                    .map(str::to_owned)
            }
            _ => text(&["command", "cmd"]),
        };
        let flag = |key: &str| entry.get(key).and_then(Value::as_bool);
        Some(Self {
            name: shown(name),
            command: command.filter(|command| !command.is_empty()),
            args,
            url: text(&["url", "httpUrl", "serverUrl", "uri"]),
            cwd: text(&["cwd"])
                .map(PathBuf::from)
                .filter(|cwd| cwd.is_absolute()),
            is_disabled: flag("disabled") == Some(true) || flag("enabled") == Some(false),
        })
    }

    /// Whether it is this server: its name, its command or one of its arguments names this program,
    /// or its command leads to it.
    pub(super) fn is_ours(&self, program: &Path) -> bool {
        self.name.to_lowercase().contains("skillbundle")
            || self.is_direct(program)
            || self.command.iter().chain(&self.args).any(|it| names_us(it))
    }

    /// Whether its command is this program, and not one that starts it.
    pub(super) fn is_direct(&self, program: &Path) -> bool {
        let Some(command) = &self.command else {
            return false;
        };
        let found = match Command::resolve(command, None) {
            Command::File(file) => Some(file),
            Command::Name(name) => in_path(&name).next(),
            Command::Relative | Command::Unknown => None,
        };
        let is_named = !command.contains(char::is_whitespace) && names_us(command);
        is_named || found.is_some_and(|file| same_file(&file, program))
    }

    /// The command without what may be a secret: of a whole command line its first word.
    pub(super) fn shown_command(&self) -> String {
        let command = self.command.as_deref().unwrap_or_default();
        if Path::new(command).exists() {
            return shown(command);
        }
        let first = command.split_whitespace().next().unwrap_or_default();
        match first.split_once('=') {
            Some((name, _)) => shown(&format!("{name}=…")),
            None => shown(first),
        }
    }

    /// The URL without what may be a secret: user, query, and a path that is not a common one.
    pub(super) fn shown_url(&self) -> Option<String> {
        let (scheme, rest) = self.url.as_deref()?.split_once("://")?;
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let host = authority.rsplit('@').next().unwrap_or_default();
        let path = match path {
            "" | "/" | "/mcp" | "/mcp/" | "/sse" => path,
            _ => "/…",
        };
        Some(shown(&format!("{scheme}://{host}{path}")))
    }
}

/// Whether a word of a text is this program: `/opt/skillbundle`, `skillbundle.exe`, or an image
/// `registry.example/skillbundle:1`.
fn names_us(text: &str) -> bool {
    text.split_whitespace().any(|word| {
        let name = word.rsplit(['/', '\\']).next().unwrap_or_default();
        let name = name.split([':', '@']).next().unwrap_or_default();
        let name = name.trim_matches(['"', '\'', ';']).to_lowercase();
        name.strip_suffix(".exe").unwrap_or(&name) == "skillbundle"
    })
}

/// Why arguments were refused, without their values.
pub(super) fn reason(error: &clap::Error) -> String {
    let option = || {
        let option = error.get(ContextKind::InvalidArg)?.to_string();
        let option = option.split(['=', ' ']).next().unwrap_or_default();
        option
            .starts_with('-')
            .then(|| format!(" `{}`", shown(option)))
    };
    let option = option().unwrap_or_default();
    match error.kind() {
        ErrorKind::UnknownArgument => format!("`serve` has no option{option}"),
        ErrorKind::InvalidSubcommand
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            "its arguments do not begin with `serve`".to_owned()
        }
        _ => format!("`serve` does not accept its arguments; the option{option} is wrong"),
    }
}

/// A name or path for people, cut if it is very long.
pub(super) fn shown(text: &str) -> String {
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
