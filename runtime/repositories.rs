//! Skills from git repositories: which ones, where their mirrors are, and how a command or a server
//! brings them up to date. How a repository is mirrored is the concern of `skillbundle-git`; how its
//! files become skills is that of `directories.rs`.

mod mirrors;
mod source;

use std::env;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, anyhow};
use serde_json::Value;
use skillbundle_git::{Location, LocationError, Protocol, Reading, Token};

use crate::cli::output::{describe, info, with_help};
use crate::cli::progress::Progress;
use crate::config::{self, Config, texts};
use crate::sources::SkillRoot;

pub(crate) use mirrors::Mirrors;
pub(crate) use source::GitSource;

/// A command takes what was synchronised so recently: people run several in a row.
pub(crate) const JUST_NOW: Duration = Duration::from_secs(60);

/// How often a copy is made for a command if it is removed before it is read.
const ATTEMPTS: usize = 10;

/// The variable with the token for private repositories.
const TOKEN: &str = "GITHUB_TOKEN";

/// The repositories that a command means.
#[derive(Debug, Clone)]
pub(crate) struct Repositories {
    locations: Vec<Location>,
    token: Option<Token>,
}

/// The mirrors whose files a command reads, which stay as they are until it ends.
static READ: Mutex<Vec<Reading>> = Mutex::new(Vec::new());

impl Repositories {
    /// What `--repo` names.
    pub(crate) fn named(typed: &[String]) -> Result<Self> {
        Self::of(typed, "--repo", &[])
    }

    /// What the setting `git.repository` names, if it names one. The token is for its host, too, as
    /// spec 3 §9.2 has it.
    pub(crate) fn configured(config: &Config) -> Option<Result<Self>> {
        let repository = config.text("git.repository").filter(|it| !it.is_empty())?;
        let origin = config.origin("git.repository").map(ToString::to_string);
        let origin = origin.unwrap_or_else(|| "git.repository".to_owned());
        let branch = config.text("git.branch").unwrap_or_default();
        let hosts: Vec<_> = Location::parse(&repository, &branch)
            .map(|it| it.host().to_owned())
            .into_iter()
            .collect();
        Some(Self::of(&[repository], &origin, &hosts))
    }

    fn of(typed: &[String], origin: &str, more_hosts: &[String]) -> Result<Self> {
        let config = config::current();
        let branch = config.text("git.branch").unwrap_or_default();
        let allowed = config.value("git.protocols");
        let mut locations = Vec::new();
        for text in typed {
            let location =
                Location::parse(text, &branch).map_err(|error| wrong(origin, text, &error))?;
            check_protocol(&location, &allowed)?;
            if locations.contains(&location) {
                return Err(with_help(
                    &format!("{origin}: {location} is named twice"),
                    "name each once",
                ));
            }
            locations.push(location);
        }
        let hosts = config.value("git.token_hosts");
        let hosts = texts(&hosts).map(str::to_owned);
        let token = env::var(TOKEN).ok();
        let token = token.and_then(|it| Token::new(&it, hosts.chain(more_hosts.iter().cloned())));
        Ok(Self { locations, token })
    }

    /// Their mirrors as they are, without a look at the network.
    pub(crate) fn mirrors(&self) -> Result<Mirrors> {
        Mirrors::open(self)
    }

    /// Their files for a command, brought up to date if that works. They stay as they are until the
    /// process ends. With `is_latest` it is an error if they are not the latest.
    pub(crate) fn roots(&self, is_latest: bool) -> Result<Vec<SkillRoot>> {
        let mirrors = self.mirrors()?;
        let mut reading = Vec::new();
        for _ in 0..ATTEMPTS {
            let _progress = Progress::start("synchronising", &self.to_string());
            stop_at_signals();
            let fresh = if is_latest { Duration::ZERO } else { JUST_NOW };
            if let Err(error) = mirrors.sync(fresh) {
                if is_latest || !mirrors.are_there() {
                    return Err(error);
                }
                info(&format!("{}; the earlier copy is used", describe(&error).0));
            }
            reading = mirrors.read()?;
            if reading.len() == self.locations.len() {
                break;
            }
            // The cache was cleaned in between.
        }
        if reading.len() < self.locations.len() {
            return Err(with_help(
                &format!("{self}: the copy on this machine is removed again and again"),
                "is `skillbundle cache clean` running?",
            ));
        }
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        read.extend(reading);
        for notice in mirrors.notices() {
            info(&notice);
        }
        Ok(mirrors.roots())
    }
}

/// `https://github.com/org/a, https://github.com/org/b#dev`
impl fmt::Display for Repositories {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, location) in self.locations.iter().enumerate() {
            let separator = if at == 0 { "" } else { ", " };
            write!(f, "{separator}{location}")?;
        }
        Ok(())
    }
}

/// How long git may take for one repository, and how many bytes it may bring.
pub(crate) fn limits() -> (Duration, u64) {
    let config = config::current();
    let number = |name| config.value(name).as_u64().unwrap_or(u64::MAX);
    let timeout = Duration::from_secs(number("git.timeout_seconds"));
    (timeout, number("git.max_bytes"))
}

/// What is wrong with what was typed. It is quoted unless it may hold a password.
fn wrong(origin: &str, typed: &str, error: &LocationError) -> anyhow::Error {
    let message = match error {
        LocationError::Credentials | LocationError::Parameters => format!("{origin}: {error}"),
        _ if typed.contains('@') => format!("{origin}: {error}"),
        _ => format!("{origin} {typed}: {error}"),
    };
    match error {
        LocationError::Credentials => with_help(
            &message,
            &format!("leave it out; a token goes into the variable {TOKEN}"),
        ),
        LocationError::Form => with_help(&message, "a directory is named without --repo"),
        _ => anyhow!(message),
    }
}

/// Fails if the operator does not allow this way to a repository.
fn check_protocol(location: &Location, allowed: &Value) -> Result<()> {
    let protocol = location.protocol().as_str();
    if texts(allowed).any(|it| it == protocol) {
        return Ok(());
    }
    let why = match location.protocol() {
        Protocol::Http => "anyone on the network path can read and change it",
        Protocol::File => "a directory is named without --repo",
        Protocol::Https | Protocol::Ssh => "the setting git.protocols leaves it out",
    };
    Err(with_help(
        &format!("{location}: {protocol} is not allowed ({why})"),
        &format!("to allow it: `--set git.protocols={protocol}`"),
    ))
}

/// Has Ctrl-C and SIGTERM stop the gits that run for this command; the command fails then.
#[cfg(unix)]
fn stop_at_signals() {
    use signal_hook::consts::{SIGINT, SIGTERM};
    for signal in [SIGINT, SIGTERM] {
        let flag = skillbundle_git::stop_flag();
        // A second one ends the process, as without a handler.
        let ended = signal_hook::flag::register_conditional_default(signal, flag);
        let flag = skillbundle_git::stop_flag();
        // Fails for signals that cannot be handled only.
        let _ = ended.and_then(|_| signal_hook::flag::register(signal, flag));
    }
}

/// There are no signals, and no git sources.
#[cfg(not(unix))]
fn stop_at_signals() {}
