//! `skillbundle config show --analytics`: whether events are recorded and sent, and why; what waits;
//! and everything that would be sent, with an example of each.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use serde_json::{Map, Value, json};
use skillbundle_journal::Destination;
use skillbundle_server::analytics::{EVENT_TYPES, EventType};

use super::shown;
use crate::cli::json::Envelope;
use crate::cli::output::Output;
use crate::cli::table::Table;
use crate::config::{self, Config, DO_NOT_TRACK};

/// The body of `config show --analytics --json`.
#[derive(Serialize)]
struct Shown {
    analytics: Report,
}

#[derive(Serialize)]
struct Report {
    /// Whether events are recorded.
    enabled: bool,
    /// Whether they are sent.
    is_sent: bool,
    /// Why, or why not.
    reason: String,
    /// The server, without what may be secret in its address.
    endpoint: Option<String>,
    server_id: String,
    texts: bool,
    /// The file that events wait in.
    buffer: Option<String>,
    waiting_count: u64,
    waiting_bytes: u64,
    dropped_count: u64,
    event_types: Vec<Kind>,
}

#[derive(Serialize)]
struct Kind {
    name: &'static str,
    meaning: &'static str,
    data_fields: &'static [&'static str],
    text_fields: &'static [&'static str],
    /// An event as it would be sent.
    example_event: Value,
}

/// Prints what is recorded and sent.
pub(super) fn show(out: &mut Output, as_json: bool) -> Result<()> {
    let report = Report::new(config::current())?;
    if as_json {
        let shown = Shown { analytics: report };
        return Ok(out.json(&Envelope::new("config", shown))?);
    }
    out.page(&report.table())?;
    out.heading("What is recorded and sent (`data` by type of event)")?;
    let mut kinds = Table::new(&["TYPE", "DATA", "WHEN"]);
    for kind in &report.event_types {
        kinds.row([kind.name, &kind.data_fields.join(", "), kind.meaning]);
    }
    out.page(&kinds)?;
    out.heading("Examples, as they would be sent")?;
    for kind in &report.event_types {
        out.line(&kind.example_event.to_string())?;
    }
    Ok(())
}

impl Report {
    fn new(config: &Config) -> Result<Self> {
        let analytics = config.analytics()?;
        let buffer = config::analytics_buffer().ok();
        let (events, bytes, dropped) = match &buffer {
            Some(buffer) => config::backlog(buffer)?,
            None => (0, 0, 0),
        };
        let server_id = config.server_id();
        let texts = analytics.texts;
        let kinds = EVENT_TYPES.iter();
        Ok(Self {
            enabled: analytics.is_recorded,
            is_sent: analytics.sent.destination != Destination::Off,
            reason: reason(config),
            endpoint: endpoint(config),
            event_types: kinds.map(|it| Kind::new(it, &server_id, texts)).collect(),
            server_id,
            texts,
            buffer: buffer
                .as_deref()
                .map(Path::display)
                .map(|it| it.to_string()),
            waiting_count: events,
            waiting_bytes: bytes,
            dropped_count: dropped,
        })
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&["ANALYTICS", "", "NOTE"]);
        let endpoint = self.endpoint.as_deref();
        let (sent, when) = match endpoint {
            None => ("nowhere", "`analytics.endpoint` names no server"),
            Some(endpoint) if self.is_sent => (endpoint, "every 30 seconds, if there is something"),
            Some(_) => ("nowhere", "nothing is recorded"),
        };
        let texts = if self.texts {
            "requests and comments are sent"
        } else {
            "requests and comments are null in what is sent"
        };
        let word = |is_so: bool| if is_so { "yes" } else { "no" };
        let waiting = format!("{} events", self.waiting_count);
        let bytes = format!(
            "{} bytes; sent by the next server that records",
            self.waiting_bytes
        );
        let dropped = format!("{} events", self.dropped_count);
        let buffer = self.buffer.as_deref().unwrap_or_default();
        for [what, value, note] in [
            ["recorded", word(self.enabled), &self.reason],
            ["sent to", sent, when],
            ["texts", word(self.texts), texts],
            ["server_id", &self.server_id, "in every event"],
            ["buffer", buffer, "where events wait until they are sent"],
            ["waiting", &waiting, &bytes],
            ["given up", &dropped, "since the buffer was full"],
        ] {
            table.row([what, value, note]);
        }
        table
    }
}

impl Kind {
    fn new(kind: &EventType, server_id: &str, texts: bool) -> Self {
        let data: Map<String, Value> =
            serde_json::from_str(kind.example).expect("a test reads every example");
        let is_sent = |field: &str| texts || !kind.texts.contains(&field);
        let data = data.into_iter().map(|(field, value)| {
            let value = if is_sent(&field) { value } else { Value::Null };
            (field, value)
        });
        let data: Map<String, Value> = data.collect();
        Self {
            name: kind.name,
            meaning: kind.meaning,
            data_fields: kind.fields,
            text_fields: kind.texts,
            example_event: json!({
                "id": "019bb1a5-6c0d-7000-8000-000000000000",
                "type": kind.name,
                "timestamp": "2026-01-12T10:00:00.045000Z",
                "server_id": server_id,
                "data": data,
            }),
        }
    }
}

/// The server that is set, whether events are sent there or not.
fn endpoint(config: &Config) -> Option<String> {
    let text = config.text(config::ENDPOINT).filter(|it| !it.is_empty())?;
    shown(text.into()).as_str().map(str::to_owned)
}

fn reason(config: &Config) -> String {
    if config::do_not_track() {
        return format!("{DO_NOT_TRACK} is set");
    }
    match config.origin(config::ENABLED) {
        Some(origin) => format!("set by {origin}"),
        None => "off by default; set `analytics.enabled` or ANALYTICS_ENDPOINT".to_owned(),
    }
}
