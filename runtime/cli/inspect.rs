//! `skillbundle inspect`: what a bundle is made of, or everything that is
//! known about one skill, or what a host will see. It reads the tables, not
//! every byte: that is `verify`.

mod host;
mod hosts;
mod seen;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::builder::PossibleValuesParser;
use serde_json::{Value, json};
use skillbundle_format::{Bundle, Catalog, File, Skill};

use super::offering::Offering;
use super::output::Output;
use super::table::Table;
use super::text::{counted, grouped, hex, many_lines, one_line};
use super::{list, record};
use crate::Exit;
use crate::sources::{Opened, Sources};

const EXAMPLES: &str = "\
Examples:
  skillbundle inspect team.skb                  header, sections, settings, skills
  skillbundle inspect team.skb pdf              one skill of it
  skillbundle inspect --dir skills pdf          one skill of a directory
  skillbundle inspect                           what this binary carries
  skillbundle inspect team.skb --host claude    what a host will see, cut and drop
  skillbundle inspect team.skb --json           for a script";

// What `inspect` can be told. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(
    override_usage = "skillbundle inspect [FILE | --bundle FILE | --dir DIR...] [PATH | --host HOST] [--json]"
)]
pub(crate) struct Args {
    /// A bundle, or a directory of skills
    file: Option<PathBuf>,
    /// Path or name of a skill in it
    path: Option<String>,
    #[command(flatten)]
    sources: Sources,
    /// Show what this host sees: tools and skills, what they cost, what is cut or dropped
    #[arg(long, value_name = "HOST", value_parser = PossibleValuesParser::new(hosts::HOSTS.iter().map(|host| host.id)))]
    host: Option<String>,
    /// What the server is called in the host's configuration
    #[arg(long, value_name = "NAME", default_value = "skills", requires = "host")]
    server: String,
    #[command(flatten)]
    offering: Offering,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the bundle, or one skill of it.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let (sources, path) = meant(args)?;
    let opened = sources.open()?;
    let mut out = Output::new();
    if let Some(host) = args.host.as_deref().and_then(hosts::find) {
        if let Some(path) = path {
            bail!("--host is about all skills, not about `{path}` alone; leave one of them out");
        }
        let place = (&sources, &opened);
        let exit = host::show(
            &mut out,
            host,
            &args.server,
            args.offering,
            place,
            args.json,
        )?;
        out.finish()?;
        return Ok(exit);
    }
    if args.offering != Offering::default() {
        bail!(
            "--tools, --dotted-names and --description-bytes change what a host is told; say which one with --host"
        );
    }
    match (path, args.json) {
        (None, false) => show_bundle(&mut out, &opened)?,
        (None, true) => out.json(&bundle_record(&opened)?)?,
        (Some(path), false) => show_skill(&mut out, &opened.skill(&path)?)?,
        (Some(path), true) => out.json(&record::whole_skill(&opened.skill(&path)?)?.into())?,
    }
    out.finish()?;
    Ok(Exit::Fine)
}

/// Where the skills come from, and which one is meant: with `--bundle` or
/// `--dir` the only word is a skill, without them the first word is a file.
fn meant(args: &Args) -> Result<(Sources, Option<String>)> {
    let Some(first) = &args.file else {
        return Ok((args.sources.clone(), None));
    };
    if !args.sources.is_empty() {
        if args.path.is_some() {
            bail!(
                "two places to read from; usage: skillbundle inspect [FILE | --bundle FILE | --dir DIR...] [PATH]"
            );
        }
        return Ok((
            args.sources.clone(),
            Some(first.to_string_lossy().into_owned()),
        ));
    }
    if args.path.is_none() && !first.exists() && !is_file_name(first) {
        return Ok((
            Sources::default(),
            Some(first.to_string_lossy().into_owned()),
        ));
    }
    let mut sources = Sources::default();
    if first.is_dir() {
        sources.dir.push(first.clone());
    } else {
        sources.bundle = Some(first.clone());
    }
    Ok((sources, args.path.clone()))
}

fn is_file_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "skb")
}

fn show_bundle(out: &mut Output, opened: &Opened) -> Result<()> {
    let bundle = &opened.bundle;
    let catalog = bundle.catalog()?;
    let files = files_of(&catalog)?;
    out.line(&field(
        "bundle",
        &format!("{} ({})", one_line(&opened.origin), bundle.storage()),
    ))?;
    out.line(&field(
        "address",
        &format!("sha256:{}", bundle.content_hex()),
    ))?;
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
    for (key, value) in record::settings(&catalog.settings()?) {
        settings.row([key, &plain(&value)]);
    }
    out.page(&settings)?;

    out.heading("Roots")?;
    let mut roots = Table::new(&["LABEL", "SCOPE"]);
    for root in catalog.roots()? {
        roots.row([root.label, root.scope.as_str()]);
    }
    out.page(&roots)?;

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
            .digest()?
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

/// What there is to say about a file beside its bytes: `script, server, executable`.
fn flags(file: &File<'_>) -> String {
    let flags = [
        (true, record::role(file)),
        (record::role(file) == "script", file.execution.as_str()),
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

fn bundle_record(opened: &Opened) -> Result<Value> {
    let bundle: &Bundle = &opened.bundle;
    let catalog = bundle.catalog()?;
    let files = files_of(&catalog)?;
    let sections: Vec<Value> = bundle
        .sections()
        .iter()
        .map(
            |section| json!({"name": section.name, "offset": section.offset, "bytes": section.len}),
        )
        .collect();
    let roots: Vec<Value> = catalog
        .roots()?
        .iter()
        .map(|root| json!({"label": root.label, "scope": root.scope.as_str()}))
        .collect();
    let settings: serde_json::Map<String, Value> = record::settings(&catalog.settings()?)
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect();
    let skills = catalog
        .skills()
        .map(|skill| Ok(record::skill(&skill?).into()))
        .collect::<Result<Vec<Value>>>()?;
    Ok(json!({
        "origin": opened.origin,
        "storage": bundle.storage(),
        "address": format!("sha256:{}", bundle.content_hex()),
        "bytes": bundle.byte_len(),
        "files": files.0,
        "file_bytes": files.1,
        "sections": sections,
        "settings": settings,
        "roots": roots,
        "skills": skills,
    }))
}

/// How many files the skills have, and how many bytes those hold.
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
