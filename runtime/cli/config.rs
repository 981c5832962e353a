//! `skillbundle config`: the settings that apply and where each was set, and their JSON Schema. The
//! table of settings is `skillbundle_format::SETTINGS`; help, schema and listing are made of it.

mod analytics;

use std::fmt::Write;

use anyhow::Result;
use serde::Serialize;
use serde_json::{Map, Value, json};
use skillbundle_format::{SETTINGS, Setting, Settings, ValueType};

use super::json::Envelope;
use super::output::{Output, describe, info, with_help};
use super::table::Table;
use super::tool_args::ToolArgs;
use crate::Exit;
use crate::config::{self, Config};
use crate::sources::Sources;

const EXAMPLES: &str = "\
Examples:
  skillbundle config show                       what applies, and where it was set
  skillbundle config show team.skb              the same for a bundle, with what it asks for
  skillbundle config show --set matching.min_score=0.3
                                                with an option that other commands take, too
  skillbundle config show --json                for a script
  skillbundle config show --analytics           which events are recorded and sent, with examples
  skillbundle config schema > schema.json       for an editor

Options come before variables, variables before the operator's file, and the file before the
config.yaml of skills, which may only tune matching and lower limits. docs/configuration.md has more.

Settings, with their defaults and what else sets them:
";

// Arguments of `config`. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = help())]
pub(crate) struct Args {
    /// What to print
    #[arg(value_enum)]
    action: Action,
    #[command(flatten)]
    pub(crate) sources: Sources,
    #[command(flatten)]
    pub(crate) tool_options: ToolArgs,
    /// Print which analytics events are recorded, where they are sent, and what is in them
    #[arg(long)]
    analytics: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Action {
    /// Every setting, its value, and where it was set
    Show,
    /// The JSON Schema of the configuration file
    Schema,
}

/// The body of `config show --json`.
#[derive(Serialize)]
struct Shown {
    config_file: Option<String>,
    values: Vec<Row>,
}

/// A setting that applies.
#[derive(Serialize)]
struct Row {
    name: String,
    value: Value,
    origin: String,
    has_effect: bool,
    note: String,
}

/// Prints the settings or their schema.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let mut out = Output::new();
    match args.action {
        Action::Schema if args.analytics => {
            return Err(with_help(
                "--analytics is about what applies, and not about the schema",
                "type `skillbundle config show --analytics`",
            ));
        }
        Action::Schema => out.json(&schema())?,
        Action::Show if args.analytics => analytics::show(&mut out, args.json)?,
        Action::Show => {
            let config = config::current();
            let content = content(&args.sources);
            let rows = SETTINGS.iter().map(|it| row(it, config, content.as_ref()));
            let shown = Shown {
                config_file: config.file().map(|file| file.display().to_string()),
                values: rows.collect(),
            };
            if args.json {
                out.json(&Envelope::new("config", shown))?;
            } else {
                out.table(&table(&shown.values))?;
            }
        }
    }
    out.finish()?;
    Ok(Exit::Success)
}

/// What the skills carry. If they cannot be opened, that is said, and the rest is shown.
fn content(sources: &Sources) -> Option<Settings> {
    let opened = sources
        .open()
        .and_then(|opened| Ok(opened.bundle.catalog()?.content_settings()?));
    match opened {
        Ok(settings) => Some(settings),
        Err(error) => {
            info(&format!("without what skills say: {}", describe(&error).0));
            None
        }
    }
}

fn row(setting: &Setting, config: &Config, content: Option<&Settings>) -> Row {
    let default = setting.default_value();
    let assignment = config.assignment(setting);
    let carried = content.and_then(|content| setting.value(content));
    let applied = content
        .map(|content| config.overrides().apply(content.clone()))
        .and_then(|applied| setting.value(&applied));
    let (value, origin) = match (assignment, applied) {
        (Some(it), _) => (it.value.clone(), it.origin.to_string()),
        (None, Some(applied)) if applied != default => (applied, "content".to_owned()),
        _ => (default.clone(), "default".to_owned()),
    };
    let mut notes = Vec::new();
    if let Some(carried) = carried.filter(|it| *it != value && *it != default) {
        notes.push(format!("skills ask for {}", plain(&carried)));
    }
    if !setting.has_effect {
        notes.push("no effect in this version".to_owned());
    }
    Row {
        name: setting.name(),
        value: shown(value),
        origin,
        has_effect: setting.has_effect,
        note: notes.join("; "),
    }
}

/// The value as it may be shown: of an address only the server, since the rest is often a password.
/// The settings never hold secrets.
fn shown(value: Value) -> Value {
    let parts = value.as_str().and_then(|text| text.split_once("://"));
    let Some((scheme, rest)) = parts else {
        return value;
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let server = host.rsplit_once('@').map_or(host, |(_, server)| server);
    let rest = if server == rest { "" } else { "/…" };
    format!("{scheme}://{server}{rest}").into()
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(&["SETTING", "VALUE", "SET BY", "NOTE"]);
    for row in rows {
        table.row([&*row.name, &plain(&row.value), &row.origin, &row.note]);
    }
    table
}

/// A value in one line; empty if it is not set.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::Object(entries) => {
            let entries = entries.iter();
            let entries = entries.map(|(key, value)| format!("{key}={}", plain(value)));
            entries.collect::<Vec<_>>().join(", ")
        }
        value => value.to_string(),
    }
}

/// The page after the options.
fn help() -> String {
    let mut page = EXAMPLES.to_owned();
    for setting in SETTINGS {
        let default = match setting.default_value() {
            Value::Null => String::new(),
            default => format!(" = {}", plain(&default)),
        };
        let default = default.trim_end_matches(" = ");
        let ways = [setting.variable, setting.enabled_by, setting.option];
        let ways: Vec<_> = ways.into_iter().filter(|way| !way.is_empty()).collect();
        let ways = match ways.as_slice() {
            [] => String::new(),
            ways => format!("  [{}]", ways.join(", ")),
        };
        let (name, meaning, effect) = (setting.name(), setting.meaning, effect(setting));
        let _ = write!(page, "\n  {name}{default}{ways}\n      {meaning}{effect}");
    }
    page
}

const fn effect(setting: &Setting) -> &'static str {
    if setting.has_effect {
        ""
    } else {
        " (no effect in this version)"
    }
}

/// The variables of the environment, for the help of `serve`.
pub(super) fn environment() -> String {
    let mut page = "Environment:".to_owned();
    for setting in SETTINGS.iter().filter(|it| !it.variable.is_empty()) {
        let (name, meaning, effect) = (setting.variable, setting.meaning, effect(setting));
        let _ = write!(page, "\n  {name:<26}{meaning}{effect}");
        if let ValueType::Choice(words) = setting.value_type() {
            let _ = write!(page, "\n{:28}({})", "", words.join(", "));
        }
    }
    page
}

/// JSON Schema, draft 2020-12.
fn schema() -> Value {
    let mut sections: Map<String, Value> = Map::new();
    let in_files = |it: &&Setting| it.value_type() != ValueType::Secret;
    for setting in SETTINGS.iter().filter(in_files) {
        let section = sections.entry(setting.section).or_insert_with(|| {
            json!({ "type": ["object", "null"], "additionalProperties": false, "properties": {} })
        });
        let mut schema = json!({ "description": setting.meaning });
        let default = setting.default_value();
        if !default.is_null() {
            schema["default"] = default;
        }
        let of_type = schema_of(setting.value_type());
        if let (Value::Object(schema), Value::Object(of_type)) = (&mut schema, of_type) {
            schema.extend(of_type);
        }
        section["properties"][setting.key] = schema;
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration of skillbundle",
        "type": "object",
        "additionalProperties": false,
        "properties": sections,
    })
}

/// The schema of a value. A key without a value counts as not set.
fn schema_of(value_type: ValueType) -> Value {
    let list = || json!({ "type": ["array", "null"], "items": { "type": "string" } });
    match value_type {
        ValueType::Fraction => json!({ "type": ["number", "null"], "minimum": 0, "maximum": 1 }),
        ValueType::Positive => json!({ "type": ["number", "null"], "minimum": 0 }),
        ValueType::Whole(least, most) => {
            json!({ "type": ["integer", "null"], "minimum": least, "maximum": most })
        }
        ValueType::Boolean => json!({ "type": ["boolean", "null"] }),
        ValueType::Choice(words) => {
            let words = words.iter().map(|word| Value::from(*word));
            json!({ "enum": words.chain([Value::Null]).collect::<Vec<_>>() })
        }
        ValueType::Text | ValueType::Secret => json!({ "type": ["string", "null"] }),
        ValueType::Path | ValueType::Destination => {
            json!({ "type": ["string", "null"], "minLength": 1 })
        }
        ValueType::Url => json!({ "type": ["string", "null"], "pattern": "^(https?://.+)?$" }),
        ValueType::Texts | ValueType::Paths => list(),
        ValueType::TextMap => {
            json!({ "type": ["object", "null"], "additionalProperties": { "type": "string" } })
        }
    }
}
