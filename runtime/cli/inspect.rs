//! `skillbundle inspect`: what a bundle or one skill consists of, or what a
//! host sees of it. It reads the tables; `verify` reads every byte.

mod host;
mod host_view;

use anyhow::Result;
use clap::builder::PossibleValuesParser;
use serde_json::Value;
use skillbundle_format::{Catalog, File, Skill, hex, hosts};

#[cfg(feature = "compile")]
pub(crate) use host_view::HostView;

use super::display::{counted, grouped, many_lines, one_line};
use super::json::{self, Envelope, SkillDetails};
use super::list;
use super::output::{Output, with_help};
use super::table::Table;
use super::tool_args::ToolArgs;
use crate::Exit;
use crate::sources::{Opened, Sources};

const EXAMPLES: &str = "\
Examples:
  skillbundle inspect team.skb                  header, sections, settings, skills
  skillbundle inspect skills --skill pdf        one skill and its files
  skillbundle inspect                           the skills of your folders and of this binary
  skillbundle inspect team.skb --host claude    what a host sees, cuts and drops
  skillbundle inspect team.skb --json           for a script

With --host the exit code is 1 if a tool or a skill cannot be used.";

// Arguments of `inspect`. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// Show everything about one skill: its path or name
    #[arg(long, value_name = "NAME", conflicts_with = "host")]
    skill: Option<String>,
    /// Show what this host sees: tools and skills, their size, what is cut or dropped
    #[arg(long, value_name = "HOST", value_parser = PossibleValuesParser::new(hosts::HOSTS.iter().map(|host| host.id)))]
    host: Option<String>,
    /// The server's name in the host's configuration
    #[arg(long, value_name = "NAME", default_value = "skills", requires = "host")]
    server: String,
    #[command(flatten)]
    pub(crate) tool_options: ToolArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the bundle, one skill of it, or a host's view.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let host = args.host.as_deref().and_then(hosts::find);
    if host.is_none() && args.tool_options != ToolArgs::default() {
        return Err(with_help(
            "--tools and the other options of `serve` need --host",
            "name a host, such as `--host claude`",
        ));
    }
    let opened = open(args)?;
    let mut out = Output::new();
    let mut exit = Exit::Success;
    match (host, &args.skill) {
        (Some(host), _) => {
            let place = (&args.sources, &opened);
            exit = host::show(&mut out, host, &args.server, place, args.json)?;
        }
        (None, Some(name)) if args.json => {
            let skill = opened.skill(name)?;
            let details = SkillDetails::new(&skill, opened.is_of_project(&skill))?;
            out.json(&Envelope::new("inspect", details))?;
        }
        (None, Some(name)) => show_skill(&mut out, &opened.skill(name)?)?,
        (None, None) if args.json => print_json(&mut out, &opened)?,
        (None, None) => show_bundle(&mut out, &opened)?,
    }
    out.finish()?;
    Ok(exit)
}

/// Opens the skills. A path that does not exist may be meant as a skill.
fn open(args: &Args) -> Result<Opened> {
    let (names, places): (Vec<_>, Vec<_>) =
        args.sources.paths.iter().partition(|path| !path.exists());
    args.sources.open().map_err(|error| match names.as_slice() {
        [name] if args.skill.is_none() && name.extension().is_none_or(|it| it != "skb") => {
            let places = Sources {
                paths: places.into_iter().cloned().collect(),
                ..args.sources.clone()
            };
            with_help(
                &error.to_string(),
                &format!(
                    "for one skill: `skillbundle inspect{} --skill {}`",
                    places.arguments(),
                    name.display()
                ),
            )
        }
        _ => error,
    })
}

fn show_bundle(out: &mut Output, opened: &Opened) -> Result<()> {
    let bundle = &opened.bundle;
    let catalog = bundle.catalog()?;
    let files = files_of(&catalog)?;
    out.line(&field(
        "bundle",
        &format!("{} ({})", one_line(&opened.origin), bundle.storage()),
    ))?;
    out.line(&field("address", &json::address(bundle)))?;
    out.line(&field("size", &counted(bundle.byte_len(), "byte")))?;
    let content = [
        list::count(&catalog)?,
        counted(files.0, "file"),
        counted(files.1, "byte"),
    ];
    out.line(&field("content", &content.join(", ")))?;

    out.heading("Sections")?;
    let mut sections = Table::new(&["NAME", ">OFFSET", ">BYTES"]);
    for section in bundle.sections() {
        sections.row([
            section.name,
            &grouped(section.offset),
            &grouped(section.len),
        ]);
    }
    out.page(&sections)?;

    out.heading("Settings")?;
    let mut settings = Table::new(&["KEY", "VALUE"]);
    for (key, value) in json::settings(&catalog.content_settings()?) {
        settings.row([key.as_str(), &plain(&value)]);
    }
    out.page(&settings)?;

    out.heading("Roots")?;
    let mut table = Table::new(&["LABEL", "SCOPE", "COMMIT"]);
    let roots = catalog.roots()?;
    for root in &roots {
        table.row([
            root.label,
            root.scope.as_str(),
            root.commit.unwrap_or_default(),
        ]);
    }
    if roots.iter().all(|it| it.commit.is_none()) {
        table.hide("COMMIT");
    }
    out.page(&table)?;

    out.heading("Skills")?;
    Ok(out.page(&list::table(&catalog)?)?)
}

fn show_skill(out: &mut Output, skill: &Skill<'_>) -> Result<()> {
    let chain: Vec<&str> = skill.chain()?.iter().map(|link| link.path).collect();
    let keywords = skill.keywords()?.join(", ");
    let size = skill.source()?.len() as u64;
    let uri = skill.published()?.map(|published| published.uri);
    let fields = [
        ("path", skill.path.to_owned()),
        ("name", skill.name.to_owned()),
        ("called", skill.callable_name()?.to_owned()),
        ("uri", uri.unwrap_or_default().to_owned()),
        ("dialect", skill.dialect.as_str().to_owned()),
        (
            "root",
            format!("{} ({})", skill.root_label, skill.scope.as_str()),
        ),
        (
            "file",
            format!("{}, {}", skill.file_path, counted(size, "byte")),
        ),
        ("sha256", hex(&skill.digest()?)),
        ("priority", skill.priority.to_string()),
        ("chain", chain.join(" > ")),
        ("keywords", keywords),
        ("contract", contract(skill)?.unwrap_or_default()),
        ("description", skill.description.to_owned()),
    ];
    for (key, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
        out.line(&field(key, &one_line(value)))?;
    }
    out.heading("Frontmatter")?;
    let frontmatter: Value = serde_json::from_str(skill.frontmatter_json()?)?;
    out.line(&many_lines(&serde_json::to_string_pretty(&frontmatter)?))?;
    show_files(out, skill)
}

/// What it promises as a typed capability, in one line.
fn contract(skill: &Skill<'_>) -> Result<Option<String>> {
    let Some(contract) = skill.contract()? else {
        return Ok(None);
    };
    let agents = match contract.assigned_to.as_slice() {
        [] => "every agent".to_owned(),
        agents => agents.join(", "),
    };
    let handler = contract.handler.unwrap_or("no handler");
    Ok(Some(format!(
        "{}, for {agents}, {handler}, {} s",
        contract.category,
        contract.timeout.as_secs()
    )))
}

fn show_files(out: &mut Output, skill: &Skill<'_>) -> Result<()> {
    let mut table = Table::new(&["PATH", ">BYTES", "TYPE", "FLAGS", "FROM", "SHA256"]);
    let mut rows: Vec<(File<'_>, &str)> =
        skill.files()?.into_iter().map(|file| (file, "")).collect();
    rows.extend(
        skill
            .inherited_files()?
            .into_iter()
            .map(|(file, from)| (file, from.path)),
    );
    for (file, from) in &rows {
        let size = file.size.map_or_else(|| "-".to_owned(), grouped);
        let digest = file
            .digest()
            .map_or_else(|| "-".to_owned(), |digest| hex(&digest));
        table.row([file.path, &size, file.mime, &flags(file), from, &digest]);
    }
    if rows.iter().all(|(_, from)| from.is_empty()) {
        table.hide("FROM");
    }
    if table.is_empty() {
        return Ok(());
    }
    out.heading("Files")?;
    Ok(out.page(&table)?)
}

/// The properties of a file: `script, server, executable`.
fn flags(file: &File<'_>) -> String {
    let flags = [
        (true, json::role(file)),
        (json::role(file) == "script", file.execution.as_str()),
        (file.executable, "executable"),
        (!file.is_text, "binary"),
        (file.size.is_none(), "missing"),
    ];
    flags
        .iter()
        .filter(|(holds, _)| *holds)
        .map(|(_, flag)| *flag)
        .collect::<Vec<_>>()
        .join(", ")
}

fn print_json(out: &mut Output, opened: &Opened) -> Result<()> {
    let bundle = &opened.bundle;
    let catalog = bundle.catalog()?;
    let (file_count, file_bytes) = files_of(&catalog)?;
    let sections = bundle.sections();
    let sections = sections.iter().map(|section| json::Section {
        name: section.name,
        offset: section.offset,
        bytes: section.len,
    });
    let skills = json::skills(&catalog)?;
    let body = json::Inspection {
        origin: &opened.origin,
        storage: bundle.storage(),
        address: json::address(bundle),
        bytes: bundle.byte_len(),
        skill_count: skills.len(),
        file_count,
        file_bytes,
        sections: sections.collect(),
        settings: json::settings(&catalog.content_settings()?).collect(),
        roots: json::roots(&catalog)?,
        skills,
    };
    Ok(out.json(&Envelope::new("inspect", body))?)
}

/// The number of files of all skills, and of their bytes.
fn files_of(catalog: &Catalog<'_>) -> Result<(u64, u64)> {
    let mut total = (0, 0);
    for skill in catalog.skills() {
        for file in skill?.files()? {
            total = (total.0 + 1, total.1 + file.size.unwrap_or(0));
        }
    }
    Ok(total)
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(" "),
        value => value.to_string(),
    }
}

fn field(key: &str, value: &str) -> String {
    format!("{key:<13}{value}")
}
