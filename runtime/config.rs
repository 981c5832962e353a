//! The operator's settings: which of the table `skillbundle_format::SETTINGS` are set, to what, and
//! where. An option of the command line comes before an environment variable, and that before the
//! operator's file; what nobody sets is as content says, or the default. `docs/configuration.md` is
//! the documentation.

mod analytics;
mod file;
mod journal;

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result, anyhow};
use serde_json::Value;
use skillbundle_format::{Overrides, SETTINGS, Setting, ValueType};
use skillbundle_search::suggest;
use skillbundle_server::Tools;
use skillbundle_server::scripts::ScriptOptions;

use crate::cli::output::with_help;

pub(crate) use analytics::{
    DO_NOT_TRACK, ENABLED, ENDPOINT, analytics_buffer, backlog, do_not_track,
};

/// Where `--help` has the options about settings.
const HEADING: &str = "Settings (`skillbundle config --help`)";

// Options about settings. (A doc comment would describe the command.)
#[derive(clap::Args, Debug, Clone, Default)]
pub(crate) struct ConfigArgs {
    /// Read this configuration file instead of skillbundle/config.yaml in `$XDG_CONFIG_HOME` or
    /// ~/.config
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub(crate) config: Option<PathBuf>,
    /// Set a setting, such as `matching.min_score=0.3` (repeatable)
    #[arg(long, value_name = "KEY=VALUE", help_heading = HEADING)]
    pub(crate) set: Vec<String>,
    /// Let the config.yaml of skills raise limits, too
    #[arg(long, help_heading = HEADING)]
    pub(crate) trust_content_config: bool,
}

/// Where a value was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// In the operator's file, at this line.
    #[cfg_attr(
        not(feature = "compile"),
        expect(dead_code, reason = "only the compiler reads the file")
    )]
    File(PathBuf, usize),
    /// By an environment variable.
    Variable(&'static str),
    /// By an option of the command line.
    Option(&'static str),
}

/// A setting with the value that the operator has given it.
#[derive(Debug, Clone)]
pub(crate) struct Assignment {
    /// The setting.
    pub(crate) setting: &'static Setting,
    /// Its value, of the setting's type; of texts for keys, those that are set.
    pub(crate) value: Value,
    /// Where it was set.
    pub(crate) origin: Origin,
}

/// What the operator has set.
#[derive(Debug, Clone, Default)]
pub(crate) struct Config {
    /// One for each setting that is set, in no order.
    assignments: Vec<Assignment>,
    /// The operator's file, if there is one.
    file: Option<PathBuf>,
    overrides: Arc<Overrides>,
}

/// The settings of this process.
static CURRENT: OnceLock<Config> = OnceLock::new();

/// The settings of this process. Before [`load`], nothing is set.
pub(crate) fn current() -> &'static Config {
    static NOTHING: OnceLock<Config> = OnceLock::new();
    CURRENT
        .get()
        .unwrap_or_else(|| NOTHING.get_or_init(Config::default))
}

/// Reads the operator's file and the environment. `options` are what the options of the command
/// line have set. Fails, with the place, if a key is not known or a value is of the wrong type.
pub(crate) fn load(args: &ConfigArgs, options: Vec<Assignment>) -> Result<&'static Config> {
    let mut config = Config {
        file: file::path(args.config.as_deref())?,
        ..Config::default()
    };
    let mut assignments = match &config.file {
        Some(path) => file::read(path)?,
        None => Vec::new(),
    };
    assignments.extend(of_environment()?);
    assignments.extend(args.assignments()?);
    assignments.extend(options);
    for assignment in assignments {
        config.set(assignment);
    }
    config.tools()?;
    config.check_journal()?;
    config.check_analytics()?;
    config.overrides = Arc::new(config.decisions());
    Ok(CURRENT.get_or_init(|| config))
}

impl Config {
    /// The value that is set, if there is one, with its origin.
    pub(crate) fn assignment(&self, setting: &Setting) -> Option<&Assignment> {
        self.assignments.iter().find(|it| it.setting == setting)
    }

    /// The value that applies: what is set, or the default.
    pub(crate) fn value(&self, name: &str) -> Value {
        let setting = Setting::find(name).expect("the table has every setting that is asked for");
        let assignment = self.assignment(setting);
        assignment.map_or_else(|| setting.default_value(), |it| it.value.clone())
    }

    /// The same for text; `None` if the value is null.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.value(name).as_str().map(str::to_owned)
    }

    /// The same for a whole number; `None` if the value is null.
    pub(crate) fn number(&self, name: &str) -> Option<usize> {
        let number = self.value(name).as_u64()?;
        usize::try_from(number).ok()
    }

    /// The same for true or false.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.value(name) == true
    }

    /// Where the value of a setting was set, for messages; `None` if it was not.
    pub(crate) fn origin(&self, name: &str) -> Option<&Origin> {
        let assignment = self.assignment(Setting::find(name)?)?;
        Some(&assignment.origin)
    }

    /// The tools to offer.
    pub(crate) fn tools(&self) -> Result<Tools> {
        let Some(text) = self.text("serve.tools") else {
            return Ok(Tools::default());
        };
        let origin = self.origin("serve.tools").map(ToString::to_string);
        text.parse().with_context(|| origin.unwrap_or_default())
    }

    /// What the operator has decided about scripts. Every server asks for it when it starts, and most
    /// have nothing of it set: the defaults cost nothing.
    pub(crate) fn scripts(&self) -> ScriptOptions {
        let mut options = ScriptOptions::default();
        let set = self.assignments.iter();
        for it in set.filter(|it| it.setting.section == "scripts") {
            let value = &it.value;
            let is_on = *value == true;
            let isolation = || {
                let word = value.as_str().and_then(|it| it.parse().ok());
                word.expect("the setting has the words of isolations only")
            };
            match it.setting.key {
                "allow_project" => options.allow_project = is_on,
                "runners" => {
                    let runners = value.as_object().into_iter().flatten();
                    let runners = runners.filter_map(|(extension, command)| {
                        Some((extension.clone(), command.as_str()?.to_owned()))
                    });
                    options.runners = runners.collect();
                }
                "directories" => options.directories = texts(value).map(PathBuf::from).collect(),
                "data_directory" => options.data_directory = value.as_str().map(PathBuf::from),
                "network" => options.network = is_on,
                "isolation" => options.isolation = isolation(),
                "require_isolation" => options.require_isolation = isolation(),
                "memory_bytes" => options.memory_bytes = value.as_u64().unwrap_or(u64::MAX),
                // The others may be in content, and are settings of a catalog.
                _ => {}
            }
        }
        options
    }

    /// What applies over the settings that skills carry.
    pub(crate) fn overrides(&self) -> &Arc<Overrides> {
        &self.overrides
    }

    /// The operator's file, if there is one.
    pub(crate) fn file(&self) -> Option<&PathBuf> {
        self.file.as_ref()
    }

    fn set(&mut self, mut assignment: Assignment) {
        assignment.value = assignment.setting.over_default(assignment.value);
        self.assignments
            .retain(|it| it.setting != assignment.setting);
        self.assignments.push(assignment);
    }

    fn decisions(&self) -> Overrides {
        let values = self.assignments.iter();
        let values = values.filter(|it| it.setting.is_of_content());
        Overrides {
            trusts_content: self.is_on("content.trust_config"),
            values: values.map(|it| (it.setting, it.value.clone())).collect(),
        }
    }
}

impl Assignment {
    /// What an option of the command line has set.
    pub(crate) fn by_option(name: &str, value: impl Into<Value>, option: &'static str) -> Self {
        Self {
            setting: Setting::find(name).expect("the table has the settings of all options"),
            value: value.into(),
            origin: Origin::Option(option),
        }
    }
}

impl ConfigArgs {
    /// The file that is named instead of the usual one.
    pub(crate) const fn file(&self) -> Option<&PathBuf> {
        self.config.as_ref()
    }

    /// The arguments as they are typed, each after a space.
    pub(crate) fn arguments(&self) -> String {
        let file = self
            .config
            .iter()
            .map(|it| format!(" --config {}", it.display()));
        let trust = self
            .trust_content_config
            .then_some(" --trust-content-config");
        let set = self.set.iter().map(|it| format!(" --set {it}"));
        file.chain(set).chain(trust.map(str::to_owned)).collect()
    }

    /// The same as words.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        if let Some(file) = &self.config {
            words.extend(["--config".into(), file.into()]);
        }
        for set in &self.set {
            words.extend(["--set".into(), set.into()]);
        }
        if self.trust_content_config {
            words.push("--trust-content-config".into());
        }
        words
    }

    /// What `--set` and `--trust-content-config` set.
    fn assignments(&self) -> Result<Vec<Assignment>> {
        let trust = self
            .trust_content_config
            .then(|| Assignment::by_option("content.trust_config", true, "--trust-content-config"));
        let set = self.set.iter().map(|typed| assignment(typed));
        set.chain(trust.map(Ok)).collect()
    }
}

/// What `--set KEY=VALUE` sets.
fn assignment(typed: &str) -> Result<Assignment> {
    let (name, text) = typed.split_once('=').ok_or_else(|| {
        with_help(
            &format!("--set {typed} has no value"),
            "write `--set KEY=VALUE`, such as `--set matching.min_score=0.3`",
        )
    })?;
    let Some(setting) = Setting::find(name.trim()) else {
        let names: Vec<String> = SETTINGS.iter().map(Setting::name).collect();
        let meant = suggest(name, names.iter().map(String::as_str));
        let help = match meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "`skillbundle config --help` lists the settings".to_owned(),
        };
        return Err(with_help(&format!("--set: no setting `{name}`"), &help));
    };
    if setting.value_type() == ValueType::Secret {
        return Err(with_help(
            &format!("{name} is a secret, which others could read in a command line"),
            &format!("set the variable {}", setting.variable),
        ));
    }
    let value = parse(setting, text).map_err(|error| anyhow!("--set {name}: {error}"))?;
    Ok(Assignment {
        setting,
        value,
        origin: Origin::Option("--set"),
    })
}

/// What the environment sets. An empty variable counts as not set.
fn of_environment() -> Result<Vec<Assignment>> {
    let variable = |name: &str| {
        let value = (!name.is_empty()).then(|| env::var_os(name))?;
        value.filter(|value| !value.is_empty())
    };
    let mut assignments = Vec::new();
    for setting in SETTINGS {
        let mut set = |value, name| {
            assignments.push(Assignment {
                setting,
                value,
                origin: Origin::Variable(name),
            });
        };
        if variable(setting.enabled_by).is_some() {
            set(true.into(), setting.enabled_by);
        }
        let name = setting.variable;
        let Some(value) = variable(name) else {
            continue;
        };
        let text = value
            .to_str()
            .ok_or_else(|| anyhow!("{name} is not UTF-8"))?;
        let value = parse(setting, text).map_err(|error| anyhow!("{name}: {error}"))?;
        set(value, name);
    }
    Ok(assignments)
}

/// The value that a variable or an option gives to a setting. The error quotes no address, since it
/// may hold a password.
fn parse(setting: &Setting, text: &str) -> Result<Value> {
    let value_type = setting.value_type();
    let wanted = value_type.describe();
    value_type.parse(text).ok_or_else(|| match value_type {
        ValueType::Url | ValueType::Destination => anyhow!("expected {wanted}"),
        _ => anyhow!("expected {wanted}, found `{text}`"),
    })
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, line) => write!(f, "{}:{line}", path.display()),
            Self::Variable(name) | Self::Option(name) => f.write_str(name),
        }
    }
}

/// The texts in a list.
pub(crate) fn texts(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of settings is what people are told.
    #[test]
    fn the_defaults_of_scripts_are_those_of_the_table() {
        let default = |key: &str| {
            let setting = Setting::find(&format!("scripts.{key}")).expect("in the table");
            setting.default_value()
        };
        let options = ScriptOptions::default();
        let runners = options.runners.iter();
        let runners: serde_json::Map<String, Value> = runners
            .map(|(extension, command)| (extension.clone(), command.as_str().into()))
            .collect();
        let directories: Vec<&str> = options
            .directories
            .iter()
            .filter_map(|it| it.to_str())
            .collect();
        for (key, value) in [
            ("allow_project", Value::from(options.allow_project)),
            ("runners", runners.into()),
            ("directories", directories.into()),
            (
                "data_directory",
                options
                    .data_directory
                    .as_deref()
                    .and_then(|it| it.to_str())
                    .into(),
            ),
            ("network", options.network.into()),
            ("isolation", options.isolation.as_str().into()),
            (
                "require_isolation",
                options.require_isolation.as_str().into(),
            ),
            ("memory_bytes", options.memory_bytes.into()),
        ] {
            assert_eq!(default(key), value, "{key}");
        }
    }
}
