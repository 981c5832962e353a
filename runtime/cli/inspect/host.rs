//! `skillbundle inspect --host`: prints what one host will see.

use anyhow::Result;
use skillbundle_format::hosts::{Citation, Effect, Host, HostLimit, Limit};
use skillbundle_server::Preview;

use super::field;
use super::host_view::{HostView, KeptText, ListingView, ToolView, tokens};
use crate::Exit;
use crate::cli::display::{counted, grouped, one_line};
use crate::cli::json::{self, Envelope, TextSize};
use crate::cli::output::Output;
use crate::cli::table::Table;
use crate::cli::tool_args;
use crate::sources::{Opened, Sources};

/// Dropped skills that are named on a terminal; JSON names all.
const MAX_NAMED: usize = 10;

/// The host, and what it sees of the server.
struct Report<'a> {
    host: &'static Host,
    server: &'a str,
    preview: Preview,
    view: HostView,
}

/// Prints what this host sees of these skills.
pub(crate) fn show(
    out: &mut Output,
    host: &'static Host,
    server: &str,
    (sources, opened): (&Sources, &Opened),
    as_json: bool,
) -> Result<Exit> {
    let source = sources.select()?.source()?;
    let preview = Preview::new(
        &opened.bundle,
        &*source,
        &tool_args::options()?,
        host,
        |root| opened.is_root_of_project(root),
    )?;
    let view = HostView::new(host, server, &preview, &opened.bundle.catalog()?)?;
    let report = Report {
        host,
        server,
        preview,
        view,
    };
    if as_json {
        out.json(&Envelope::new("inspect", report.json()))?;
    } else {
        report.print(out)?;
    }
    Ok(if report.view.has_losses(report.host) {
        Exit::ProblemsFound
    } else {
        Exit::Success
    })
}

impl Report<'_> {
    fn print(&self, out: &mut Output) -> Result<()> {
        let (host, view) = (self.host, &self.view);
        let bytes = view.instructions.kept.len();
        for (key, value) in [
            ("host", format!("{} ({})", host.title, host.id)),
            ("server", self.server.to_owned()),
            (
                "names",
                format!("{} ({})", host.form, source(host.form_source)),
            ),
            (
                "instructions",
                format!("{}, {}", cost(bytes), kept(&view.instructions)),
            ),
            (
                "all",
                format!(
                    "{} with {}{}",
                    cost(view.bytes()),
                    counted(view.usable().count() as u64, "tool"),
                    exceeding(view.exceeded(host))
                ),
            ),
            ("note", host.note.to_owned()),
        ] {
            if !value.is_empty() {
                out.line(&field(key, &value))?;
            }
        }
        self.print_tools(out)?;
        if let Some(skills) = &view.skills {
            print_listing(out, skills)?;
        }
        out.heading("Limits")?;
        let mut limits = Table::new(&["WHAT", "LIMIT", "SOURCE"]);
        for limit in host.limits {
            let (what, figure) = describe(limit.limit);
            limits.row([what, &figure, &source(limit.source)]);
        }
        Ok(out.page(&limits)?)
    }

    fn print_tools(&self, out: &mut Output) -> Result<()> {
        out.heading("Tools, in this order")?;
        let mut tools = Table::new(&["TOOL", ">BYTES", ">TOKENS", "SEEN"]);
        for tool in &self.view.tools {
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

    fn json(&self) -> json::HostInspection<'_> {
        let (host, view) = (self.host, &self.view);
        let not_offered = self.preview.unused.iter();
        json::HostInspection {
            host: host.id,
            title: host.title,
            server: self.server,
            name_form: host.form,
            name_form_source: host.form_source.place,
            name_form_second_hand: host.form_source.second_hand,
            note: host.note,
            bytes: view.bytes(),
            estimated_tokens: tokens(view.bytes()),
            instructions_size: text_size(&view.instructions),
            tools: view.tools.iter().map(json_tool).collect(),
            not_offered: not_offered
                .map(|(name, reason)| json::NotOffered { name, reason })
                .collect(),
            listing: view.skills.as_ref().map(|skills| json::HostListing {
                bytes: skills.bytes,
                kept: &skills.kept,
                dropped: &skills.dropped,
                unpublished: &skills.unpublished,
            }),
            limits: host.limits.iter().map(json_limit).collect(),
        }
    }
}

fn print_listing(out: &mut Output, skills: &ListingView) -> Result<()> {
    out.heading("Skills, in this order")?;
    let total = skills.kept.len() + skills.dropped.len();
    out.line(&field("listing", &cost(skills.bytes)))?;
    out.line(&field("kept", &format!("{} of {total}", skills.kept.len())))?;
    for (key, paths) in [
        ("dropped", &skills.dropped),
        ("tools only", &skills.unpublished),
    ] {
        if !paths.is_empty() {
            out.line(&field(key, &one_line(&some_of(paths))))?;
        }
    }
    Ok(())
}

/// The first of them, and how many more there are.
fn some_of(paths: &[String]) -> String {
    let named = paths[..paths.len().min(MAX_NAMED)].join(", ");
    match paths.len().saturating_sub(MAX_NAMED) {
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

fn exceeding(limit: Option<usize>) -> String {
    limit.map_or_else(String::new, |most| {
        let most = counted(most as u64, "token");
        format!(", more than the {most} that this host takes for tools")
    })
}

fn kept(text: &KeptText) -> String {
    if text.is_cut() {
        format!(
            "cut to {} of {} characters",
            grouped(text.kept_chars() as u64),
            grouped(text.sent as u64)
        )
    } else {
        "complete".to_owned()
    }
}

/// What happens to a tool, in words.
fn outcome(tool: &ToolView) -> String {
    let mut effects: Vec<String> = tool
        .effect
        .iter()
        .map(|effect| effect.as_str().to_owned())
        .collect();
    if tool.description.is_cut() {
        effects.push(format!("description {}", kept(&tool.description)));
        let (sent, left) = tool.names;
        if left < sent {
            effects.push(format!("{left} of {sent} skills named"));
        }
    }
    if effects.is_empty() {
        effects.push("complete".to_owned());
    }
    effects.join(", ")
}

fn source(source: Citation) -> String {
    let mark = if source.second_hand {
        ", second-hand"
    } else {
        ""
    };
    format!("{}{mark}", source.place)
}

/// A limit in words: what it is about, and its figure.
fn describe(limit: Limit) -> (&'static str, String) {
    let count = |number: usize, unit: &str| format!("{} {unit}", grouped(number as u64));
    let name = |most: usize, effect: Effect| {
        let characters = count(most, "characters");
        format!("{characters}, otherwise {}", effect.as_str())
    };
    match limit {
        Limit::Description(most) => ("description", count(most, "characters")),
        Limit::Instructions(most) => ("instructions", count(most, "characters")),
        Limit::AllTools(most) => ("all tools", count(most, "tokens")),
        Limit::NameCharacters(more, effect) => (
            "characters of a name",
            format!("A-Z a-z 0-9 {more}, otherwise {}", effect.as_str()),
        ),
        Limit::Name(most, effect) => ("name as formed", name(most, effect)),
        Limit::Joint(most, effect) => ("server and tool name", name(most, effect)),
        Limit::Skills(most) => ("skills", count(most, "per server")),
        Limit::Listing(most) => ("listing of skills", count(most, "bytes")),
        Limit::Uri(most) => ("URI", count(most, "bytes")),
        Limit::SkillFiles(most) => ("files of a skill", count(most, "files")),
        Limit::SkillBytes(most) => ("bytes of a skill", count(most, "bytes")),
        Limit::SkillMd(most) => ("bytes of SKILL.md", count(most, "bytes")),
    }
}

fn text_size(text: &KeptText) -> TextSize {
    TextSize {
        characters: text.sent,
        kept_characters: text.kept_chars(),
        bytes: text.kept.len(),
        estimated_tokens: tokens(text.kept.len()),
    }
}

fn json_tool(tool: &ToolView) -> json::HostTool<'_> {
    json::HostTool {
        name: &tool.name,
        seen_as: &tool.formed,
        bytes: tool.bytes,
        estimated_tokens: tokens(tool.bytes),
        description_size: text_size(&tool.description),
        skills_named: tool.names.0,
        skills_kept: tool.names.1,
        lost: tool.is_lost(),
        effect: tool.effect.map(Effect::as_str),
    }
}

fn json_limit(limit: &HostLimit) -> json::HostLimitRow {
    let (what, figure) = describe(limit.limit);
    json::HostLimitRow {
        what,
        limit: figure,
        source: limit.source.place,
        second_hand: limit.source.second_hand,
    }
}
