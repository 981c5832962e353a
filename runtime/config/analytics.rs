//! Whether analytics events are recorded, where they are sent, and what of them: what the settings
//! `analytics.*` and the variable `DO_NOT_TRACK` say.

use std::env;
use std::path::PathBuf;

use anyhow::Result;
use skillbundle_journal::Options;

use super::{Config, journal};
use crate::cli::output::with_help;

/// The settings.
pub(crate) const ENABLED: &str = "analytics.enabled";
pub(crate) const ENDPOINT: &str = "analytics.endpoint";
const TEXTS: &str = "analytics.texts";
const SERVER_ID: &str = "analytics.server_id";

/// The variable by which people say to every program that they do not want to be counted.
pub(crate) const DO_NOT_TRACK: &str = "DO_NOT_TRACK";

/// The file in the user's state that events wait in until they are sent.
const BUFFER: &str = "analytics-buffer.jsonl";

/// Longest user name in an event, in characters. Longer ones are cut.
const MAX_USER: usize = 64;

/// What the operator has decided about analytics events.
#[derive(Debug, Clone, Default)]
pub(crate) struct Analytics {
    /// Whether they are recorded on this machine.
    pub(crate) is_recorded: bool,
    /// Where they are sent; off if they are not.
    pub(crate) sent: Options,
    /// Whether what is sent holds what people and agents have written.
    pub(crate) texts: bool,
}

impl Config {
    /// What the operator has decided about analytics events. By default none are recorded.
    ///
    /// # Errors
    ///
    /// They are to be sent, but the address is none that they may be sent to, this build cannot send,
    /// or there is no home directory for those that wait.
    pub(crate) fn analytics(&self) -> Result<Analytics> {
        let texts = self.is_on(TEXTS);
        if do_not_track() || !self.is_on(ENABLED) {
            return Ok(Analytics {
                texts,
                ..Analytics::default()
            });
        }
        let endpoint = self.text(ENDPOINT).filter(|it| !it.is_empty());
        let sent = match endpoint {
            None => Options::default(),
            Some(endpoint) => {
                let problem = |problem: Problem| {
                    let origin = self.origin(ENDPOINT).map(ToString::to_string);
                    let origin = origin.unwrap_or_default();
                    with_help(
                        &format!("{ENDPOINT} ({origin}){}", problem.what),
                        problem.help,
                    )
                };
                let buffer = analytics_buffer()?;
                send::destination(&endpoint, buffer, self.server_id()).map_err(problem)?
            }
        };
        Ok(Analytics {
            is_recorded: true,
            sent,
            texts,
        })
    }

    /// Whether the journal keeps every use of a skill: for itself, or because analytics is on.
    pub(crate) fn keeps_calls(&self) -> bool {
        self.is_on("journal.calls") || self.analytics().is_ok_and(|it| it.is_recorded)
    }

    /// Which machine or person events say that they are from (spec 3 §10.1).
    pub(crate) fn server_id(&self) -> String {
        let set = self.text(SERVER_ID).filter(|it| !it.is_empty());
        set.unwrap_or_else(|| {
            let variables = ["USER", "USERNAME"].into_iter();
            let user = variables.filter_map(env::var_os).find(|it| !it.is_empty());
            let user = user.unwrap_or_else(|| "unknown".into());
            let user: String = user.to_string_lossy().chars().take(MAX_USER).collect();
            format!("dev-{user}")
        })
    }

    /// Refuses what [`analytics`](Self::analytics) refuses.
    pub(super) fn check_analytics(&self) -> Result<()> {
        if self.origin(ENDPOINT).is_none() {
            return Ok(());
        }
        self.analytics().map(drop)
    }
}

/// Whether the user has said to every program that nothing is to be counted. `0` and `false` say the
/// opposite.
pub(crate) fn do_not_track() -> bool {
    env::var_os(DO_NOT_TRACK).is_some_and(|it| asks_not_to_track(&it.to_string_lossy()))
}

fn asks_not_to_track(value: &str) -> bool {
    let value = value.trim();
    !value.is_empty() && value != "0" && !value.eq_ignore_ascii_case("false")
}

/// Where events wait until they are sent: beside the journal.
///
/// # Errors
///
/// There is no home directory.
pub(crate) fn analytics_buffer() -> Result<PathBuf> {
    let directory = journal::state_directory().ok_or_else(|| {
        with_help(
            "there is no home directory to keep analytics events in until they are sent",
            "set HOME or XDG_STATE_HOME, or turn them off with `--set analytics.enabled=false`",
        )
    })?;
    Ok(directory.join(BUFFER))
}

/// Why events cannot be sent: what follows the name of the setting, and what to do.
struct Problem {
    what: String,
    help: &'static str,
}

pub(crate) use send::backlog;

// What waits, and where events go, by the build.

#[cfg(feature = "analytics")]
mod send {
    use std::path::{Path, PathBuf};

    use anyhow::Result;
    use skillbundle_journal::{Backlog, Destination, Endpoint, HttpOptions, Options};

    use super::Problem;

    pub(super) fn destination(
        endpoint: &str,
        buffer: PathBuf,
        server_id: String,
    ) -> Result<Options, Problem> {
        let endpoint: Endpoint = endpoint.parse().map_err(|problem| Problem {
            what: format!(": {problem}"),
            help: "name the server by https, or one on this machine",
        })?;
        let http = HttpOptions::new(endpoint, buffer, server_id);
        Ok(Options::new(Destination::Http(http)))
    }

    /// Events that wait, their bytes, and how many were given up.
    pub(crate) fn backlog(buffer: &Path) -> Result<(u64, u64, u64)> {
        let backlog = Backlog::of(buffer)?;
        Ok((backlog.events, backlog.bytes, backlog.dropped))
    }
}

#[cfg(not(feature = "analytics"))]
mod send {
    use std::path::{Path, PathBuf};

    use anyhow::Result;
    use skillbundle_journal::Options;

    use super::Problem;

    pub(super) fn destination(
        _endpoint: &str,
        _buffer: PathBuf,
        _server_id: String,
    ) -> Result<Options, Problem> {
        Err(Problem {
            what: " needs an HTTP client, which this build does not have".to_owned(),
            help: "build it with `--features analytics`",
        })
    }

    /// A build that cannot send has nothing that waits.
    #[expect(clippy::unnecessary_wraps, reason = "other builds fail")]
    pub(crate) fn backlog(_buffer: &Path) -> Result<(u64, u64, u64)> {
        Ok((0, 0, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_no_to_tracking() {
        for (value, expected) in [
            ("1", true),
            ("true", true),
            ("yes", true),
            ("no", true),
            ("", false),
            (" ", false),
            ("0", false),
            ("false", false),
            ("False", false),
        ] {
            assert_eq!(asks_not_to_track(value), expected, "{value:?}");
        }
    }
}
