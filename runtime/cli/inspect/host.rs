//! `skillbundle inspect --host`: prints what one host will see.

use anyhow::Result;
use serde_json::{Value, json};
use skillbundle_server::Preview;

use super::hosts::{Fact, Fate, Host, Source};
use super::seen::{Listing, Seen, Text, Tool, tokens};
use super::{counted, field, grouped};
use crate::Exit;
use crate::cli::offering::Offering;
use crate::cli::output::Output;
use crate::cli::table::Table;
use crate::sources::{Opened, Sources};

/// Skills that come too late and are named to a person; JSON names all.
const NAMED: usize = 10;

/// What is known about the host, the server and what passes between them.
struct Report<'a> {
    host: &'static Host,
    server: &'a str,
    preview: Preview,
    seen: Seen,
}

/// Prints what this host sees of these skills.
pub(crate) fn show(
    out: &mut Output,
    host: &'static Host,
    server: &str,
    offering: Offering,
    (sources, opened): (&Sources, &Opened),
    as_json: bool,
) -> Result<Exit> {
    let preview = Preview::new(&opened.bundle, &*sources.source()?, &offering.options())?;
    let seen = Seen::new(host, server, &preview, &opened.bundle.catalog()?)?;
    let report = Report {
        host,
        server,
        preview,
        seen,
    };
    if as_json {
        out.json(&report.record())?;
    } else {
        report.print(out)?;
    }
    Ok(if report.seen.has_losses() {
        Exit::Findings
    } else {
        Exit::Fine
    })
}

impl Report<'_> {
    fn print(&self, out: &mut Output) -> Result<()> {
        let (host, seen) = (self.host, &self.seen);
        let bytes = seen.instructions.kept.len();
        for (key, value) in [
            ("host", format!("{} ({})", host.title, host.id)),
            ("server", self.server.to_owned()),
            (
                "names",
                format!("{} ({})", host.form, source(host.form_source)),
            ),
            (
                "instructions",
                format!("{}, {}", cost(bytes), kept(&seen.instructions)),
            ),
            (
                "all",
                format!(
                    "{} with {}",
                    cost(seen.bytes()),
                    counted(seen.usable().count() as u64, "tool")
                ),
            ),
            ("note", host.note.to_owned()),
        ] {
            if !value.is_empty() {
                out.line(&field(key, &value))?;
            }
        }
        self.print_tools(out)?;
        if let Some(skills) = &seen.skills {
            print_listing(out, skills)?;
        }
        out.heading("Limits")?;
        let mut limits = Table::new(&["WHAT", "LIMIT", "SOURCE"]);
        for fact in host.facts {
            let (what, limit) = fact.bound.describe();
            limits.row([what, &limit, &source(fact.source)]);
        }
        Ok(out.page(&limits)?)
    }

    fn print_tools(&self, out: &mut Output) -> Result<()> {
        out.heading("Tools, in this order")?;
        let mut tools = Table::new(&["TOOL", ">BYTES", ">TOKENS", "SEEN"]);
        for tool in &self.seen.tools {
            let (bytes, tokens) = (
                grouped(tool.bytes as u64),
                grouped(tokens(tool.bytes) as u64),
            );
            tools.row([&tool.formed, &bytes, &tokens, &outcome(tool)]);
        }
        for (tool, why) in &self.preview.unused {
            tools.row([tool, "-", "-", &format!("not offered: {why}")]);
        }
        Ok(out.page(&tools)?)
    }

    fn record(&self) -> Value {
        let seen = &self.seen;
        let tools: Vec<Value> = seen.tools.iter().map(tool_record).collect();
        let idle: Vec<Value> = self
            .preview
            .unused
            .iter()
            .map(|(name, why)| json!({ "name": name, "why": why }))
            .collect();
        let limits: Vec<Value> = self.host.facts.iter().map(limit_record).collect();
        let skills = seen.skills.as_ref().map(|skills| {
            json!({
                "bytes": skills.bytes,
                "kept": skills.kept,
                "dropped": skills.dropped,
                "unpublished": skills.unpublished,
            })
        });
        let form = self.host.form_source;
        json!({
            "host": self.host.id,
            "title": self.host.title,
            "server": self.server,
            "name_form": self.host.form,
            "name_form_source": form.place,
            "name_form_second_hand": form.second_hand,
            "note": self.host.note,
            "bytes": seen.bytes(),
            "estimated_tokens": tokens(seen.bytes()),
            "instructions": text_record(&seen.instructions),
            "tools": tools,
            "not_offered": idle,
            "skills": skills,
            "limits": limits,
        })
    }
}

fn print_listing(out: &mut Output, skills: &Listing) -> Result<()> {
    out.heading("Skills, in this order")?;
    let total = skills.kept.len() + skills.dropped.len();
    out.line(&field("listing", &cost(skills.bytes)))?;
    out.line(&field("kept", &format!("{} of {total}", skills.kept.len())))?;
    for (key, paths) in [
        ("dropped", &skills.dropped),
        ("tools only", &skills.unpublished),
    ] {
        if !paths.is_empty() {
            out.line(&field(key, &crate::cli::text::one_line(&some_of(paths))))?;
        }
    }
    Ok(())
}

/// The first of them, and how many more there are.
fn some_of(paths: &[String]) -> String {
    let named = paths[..paths.len().min(NAMED)].join(", ");
    match paths.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named}, and {more} more"),
    }
}

fn cost(bytes: usize) -> String {
    format!(
        "{}, about {}",
        counted(bytes as u64, "byte"),
        counted(tokens(bytes) as u64, "token")
    )
}

fn kept(text: &Text) -> String {
    if text.is_cut() {
        format!(
            "cut at {} of {} characters",
            grouped(text.kept_chars() as u64),
            grouped(text.sent as u64)
        )
    } else {
        "whole".to_owned()
    }
}

/// What becomes of a tool, in words.
fn outcome(tool: &Tool) -> String {
    let mut said: Vec<String> = tool
        .fate
        .iter()
        .map(|fate| fate.as_str().to_owned())
        .collect();
    if tool.description.is_cut() {
        said.push(format!("description {}", kept(&tool.description)));
        let (sent, left) = tool.names;
        if left < sent {
            said.push(format!("{left} of {sent} skills named"));
        }
    }
    if said.is_empty() {
        said.push("whole".to_owned());
    }
    said.join(", ")
}

fn source(source: Source) -> String {
    let mark = if source.second_hand {
        ", second-hand"
    } else {
        ""
    };
    format!("{}{mark}", source.place)
}

fn text_record(text: &Text) -> Value {
    json!({
        "characters": text.sent,
        "kept_characters": text.kept_chars(),
        "bytes": text.kept.len(),
        "estimated_tokens": tokens(text.kept.len()),
    })
}

fn tool_record(tool: &Tool) -> Value {
    json!({
        "name": tool.name,
        "seen_as": tool.formed,
        "bytes": tool.bytes,
        "estimated_tokens": tokens(tool.bytes),
        "description": text_record(&tool.description),
        "skills_named": tool.names.0,
        "skills_kept": tool.names.1,
        "lost": tool.is_lost(),
        "fate": tool.fate.map(Fate::as_str),
    })
}

fn limit_record(fact: &Fact) -> Value {
    let (what, limit) = fact.bound.describe();
    json!({
        "what": what,
        "limit": limit,
        "source": fact.source.place,
        "second_hand": fact.source.second_hand,
    })
}
