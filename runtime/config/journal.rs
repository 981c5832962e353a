//! Where the journal is kept: what the setting `journal.destination` says.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;
use skillbundle_journal::{Destination, Options, Retention};

use super::{Config, Origin, file};
use crate::cli::output::with_help;

/// The setting, and the variable that may hold a password.
const SETTING: &str = "journal.destination";
const VARIABLE: &str = "SKILLBUNDLE_JOURNAL";

/// The words and the prefix that are no paths.
const OFF: &str = "off";
const ON: &str = "on";
const LINES: &str = "jsonl:";
const SERVERS: [&str; 2] = ["postgres://", "postgresql://"];

/// What the setting names.
enum Place<'a> {
    Off,
    Usual,
    Lines(&'a str),
    Server(&'a str),
    File(&'a str),
}

impl<'a> Place<'a> {
    fn of(text: &'a str) -> Self {
        match text {
            OFF => Self::Off,
            ON => Self::Usual,
            _ if SERVERS.iter().any(|scheme| text.starts_with(scheme)) => Self::Server(text),
            _ => match text.strip_prefix(LINES) {
                Some(path) => Self::Lines(path),
                None => Self::File(text),
            },
        }
    }
}

impl Config {
    /// How the journal is kept.
    ///
    /// # Errors
    ///
    /// This build cannot write there, or there is no home directory.
    pub(crate) fn journal(&self) -> Result<Options> {
        let text = self.text(SETTING).unwrap_or_default();
        let built = match Place::of(&text) {
            Place::Off => Ok(Destination::Off),
            // What nobody has asked for must not keep a server from starting.
            Place::Usual if self.origin(SETTING).is_none() => {
                let file = usual_file().ok();
                Ok(file.and_then(|it| sqlite(it).ok()).unwrap_or_default())
            }
            Place::Usual => sqlite(usual_file()?),
            Place::Lines(path) => Ok(Destination::Jsonl(PathBuf::from(path))),
            Place::Server(url) => postgres(url, usual_file()?),
            Place::File(path) => sqlite(PathBuf::from(path)),
        };
        let destination = built.map_err(|missing| {
            let origin = self.origin(SETTING).map(ToString::to_string);
            let origin = origin.unwrap_or_default();
            with_help(
                &format!("{SETTING} ({origin}) needs {missing}, which this build does not have"),
                &format!("build it with `--features {}`", feature_of(missing)),
            )
        })?;
        let days = self.number("journal.retention_days").unwrap_or(0);
        let age = Duration::from_secs(u64::try_from(days)? * 86_400);
        let retention = match days {
            0 => Retention {
                max_age: None,
                max_rows: None,
            },
            _ => Retention {
                max_age: Some(age),
                ..Retention::default()
            },
        };
        Ok(Options {
            destination,
            retention,
        })
    }

    /// The SQLite file that holds the journal, also if none is kept now: that of a server is what
    /// has been sent to it, and what has not.
    #[cfg(feature = "sqlite")]
    pub(crate) fn journal_file(&self) -> Result<PathBuf> {
        let text = self.text(SETTING).unwrap_or_default();
        match Place::of(&text) {
            Place::Off | Place::Usual | Place::Server(_) => usual_file(),
            Place::File(path) => Ok(PathBuf::from(path)),
            Place::Lines(path) => Err(with_help(
                &format!("the journal {path} is lines of JSON, which this command does not read"),
                "read it with a tool such as jq, or name an SQLite file with --journal PATH",
            )),
        }
    }

    /// Refuses a password where others can read it, and what [`journal`](Self::journal) refuses.
    pub(super) fn check_journal(&self) -> Result<()> {
        let Some(origin) = self.origin(SETTING) else {
            return Ok(());
        };
        let text = self.text(SETTING).unwrap_or_default();
        let is_variable = matches!(origin, Origin::Variable(_));
        if has_password(&text) && !is_variable {
            return Err(with_help(
                &format!("{SETTING} ({origin}) holds a password, which others could read there"),
                &format!("set the variable {VARIABLE}"),
            ));
        }
        self.journal().map(drop)
    }
}

/// Makes the path in the operator's file relative to the directory of that file.
pub(super) fn resolve(value: &mut Value, base: &Path) {
    let text = value.as_str().unwrap_or_default().to_owned();
    let (prefix, path) = match Place::of(&text) {
        Place::Off | Place::Usual | Place::Server(_) => return,
        Place::Lines(path) => (LINES, path),
        Place::File(path) => ("", path),
    };
    let mut path = Value::from(path);
    file::resolve(&mut path, base);
    *value = format!("{prefix}{}", path.as_str().unwrap_or_default()).into();
}

/// Where the journal is unless a file is named.
fn usual_file() -> Result<PathBuf> {
    let directory = state_directory().ok_or_else(|| {
        with_help(
            "there is no home directory to keep the journal in",
            &format!("name a file in {VARIABLE} or with --journal"),
        )
    })?;
    Ok(directory.join("journal.db"))
}

/// Our directory in the user's state (XDG Base Directory Specification).
pub(super) fn state_directory() -> Option<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let base = env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let base = base.filter(absolute).or_else(|| {
        let home = env::home_dir().filter(absolute)?;
        Some(home.join(".local/state"))
    });
    Some(base?.join("skillbundle"))
}

/// The feature that a build needs for it.
fn feature_of(what: &str) -> &'static str {
    match what {
        "SQLite" => "sqlite",
        _ => "postgres",
    }
}

// Where events go, or the name of what the build lacks.

#[cfg(feature = "sqlite")]
#[expect(clippy::unnecessary_wraps, reason = "builds without SQLite fail")]
fn sqlite(path: PathBuf) -> Result<Destination, &'static str> {
    Ok(Destination::Sqlite(path))
}

#[cfg(not(feature = "sqlite"))]
fn sqlite(_path: PathBuf) -> Result<Destination, &'static str> {
    Err("SQLite")
}

#[cfg(feature = "postgres")]
#[expect(clippy::unnecessary_wraps, reason = "builds without PostgreSQL fail")]
fn postgres(url: &str, spool: PathBuf) -> Result<Destination, &'static str> {
    Ok(Destination::Postgres {
        url: url.to_owned(),
        spool,
    })
}

#[cfg(not(feature = "postgres"))]
fn postgres(_url: &str, _spool: PathBuf) -> Result<Destination, &'static str> {
    Err("PostgreSQL")
}

/// Whether an address has a password: after the user, or as a parameter.
fn has_password(text: &str) -> bool {
    let Place::Server(url) = Place::of(text) else {
        return false;
    };
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let user = place.rsplit_once('@').map_or("", |(user, _)| user);
    let parameters = query.split('&').filter_map(|it| it.split_once('='));
    let mut passwords = parameters.filter(|(name, _)| name.eq_ignore_ascii_case("password"));
    user.contains(':') || passwords.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_found_wherever_it_is() {
        for (text, expected) in [
            ("off", false),
            ("/var/a:b@c.db", false),
            ("jsonl:/var/a:b@c", false),
            ("postgres://host/journal", false),
            ("postgres://me@host:5432/journal?sslmode=require", false),
            ("postgres://me@[::1]:5432/journal", false),
            ("postgres://me:secret@host/journal", true),
            ("postgresql://me:@host/journal", true),
            ("postgres://me:a@b@host/journal", true),
            ("postgres://host/journal?user=me&password=secret", true),
        ] {
            assert_eq!(has_password(text), expected, "{text}");
        }
    }

    #[test]
    fn paths_of_the_file_are_relative_to_it() {
        for (text, expected) in [
            ("off", "off"),
            ("on", "on"),
            ("journal.db", "/etc/skillbundle/journal.db"),
            ("/var/journal.db", "/var/journal.db"),
            ("jsonl:events", "jsonl:/etc/skillbundle/events"),
            ("postgres://me@host/j", "postgres://me@host/j"),
        ] {
            let mut value = Value::from(text);
            resolve(&mut value, Path::new("/etc/skillbundle"));
            assert_eq!(value, expected, "{text}");
        }
    }
}
