//! Runs one literate test: writes its files, compiles, opens the bundle, says
//! what came of it in the words of the `expect` fence, and compares.

use std::fmt::Write as _;

use serde_json::{Value, json};
use skillbundle_compiler::Compiled;
use skillbundle_format::{Catalog, Error, Skill};

use super::parse::{Edit, Test};
use crate::project::{Project, bytes_of, diff, open, updating};

/// Gives the text that each fence should hold; an error says what differs.
pub(super) fn check(test: &Test) -> Result<Vec<Edit>, String> {
    let project = Project::new();
    for file in &test.files {
        project.file(&file.path, &file.bytes);
    }
    for (path, to) in &test.links {
        project.link(path, to);
    }
    for file in &test.files {
        if let Some(mode) = file.mode {
            project.mode(&file.path, mode);
        }
    }
    let roots: Vec<&str> = test.roots.iter().map(String::as_str).collect();
    let compiled = project.compile(&roots);
    let bytes = bytes_of(&compiled);
    if bytes != bytes_of(&project.compile(&roots)) {
        return Err(format!(
            "{}\ncompiled twice, the bytes differ\n",
            test.title
        ));
    }
    if let Some(wordy) = wordy(&compiled) {
        return Err(format!("{}\nnot one short line: {wordy}\n", test.title));
    }
    let bundle = open(&bytes);
    let catalog = bundle.catalog().expect("a fresh bundle has a catalog");
    let here = format!("{}/", project.dir().display());
    let came = outcome(&test.expect.text, catalog, &compiled, &here)
        .map_err(|e| format!("{}\n{e}\n", test.title))?;
    let mut edits = vec![(test.expect.lines.clone(), test.expect.text.clone(), came)];
    if let Some(report) = &test.report {
        let shown = compiled.report.render_human(false).replace(&here, "");
        edits.push((report.lines.clone(), report.text.clone(), shown));
    }
    if !updating()
        && let Some((_, old, new)) = edits.iter().find(|(_, old, new)| old != new)
    {
        return Err(format!("{}\n{}", test.title, diff(old, new)));
    }
    Ok(edits
        .into_iter()
        .map(|(lines, _, new)| (lines, new))
        .collect())
}

/// A message of more than 80 characters, not counting names and values in backticks,
/// or a message or help with more than one semicolon.
fn wordy(compiled: &Compiled) -> Option<String> {
    let own = |text: &str| text.split('`').step_by(2).collect::<String>();
    let mut found = compiled.report.diagnostics().iter();
    let wordy = found.find(|it| {
        let (message, help) = (
            own(&it.message),
            own(it.help.as_deref().unwrap_or_default()),
        );
        message.chars().count() > 80 || [message, help].iter().any(|it| it.matches(';').count() > 1)
    });
    wordy.map(|it| format!("{}; {}", it.message, it.help.as_deref().unwrap_or_default()))
}

/// What came of it, in the words of the fence, with the facts that it asks for.
fn outcome(
    asked: &str,
    catalog: Catalog<'_>,
    compiled: &Compiled,
    here: &str,
) -> Result<String, String> {
    let mut out = String::new();
    for skill in catalog.skills() {
        let skill = skill.map_err(|e| e.to_string())?;
        let _ = writeln!(out, "skill {}", skill.path);
        for fact in facts_of(asked, skill.path) {
            let value = match fact.strip_prefix("setting:") {
                Some(key) => setting(catalog, key)?,
                None if fact == "published" => published(catalog, skill)?,
                None => value_of(skill, fact)?,
            };
            let _ = writeln!(out, "  {fact} {value}");
        }
    }
    for line in asked.lines() {
        if let Some(typed) = line.strip_prefix("lookup ") {
            let mut values = serde_json::Deserializer::from_str(typed).into_iter::<String>();
            let typed = values
                .next()
                .and_then(Result::ok)
                .ok_or("lookup takes a JSON string")?;
            let found = catalog.by_name(&typed).map_err(|e| e.to_string())?;
            let _ = writeln!(
                out,
                "lookup {} {}",
                json!(typed),
                json!(found.map(|s| s.path))
            );
        }
    }
    for it in compiled.report.diagnostics() {
        let file = it.file.strip_prefix(here).unwrap_or(&it.file);
        let place = compiled
            .report
            .locate(&it.file, it.span)
            .map(|at| format!(":{}:{}", at.line, at.column))
            .unwrap_or_default();
        let _ = writeln!(out, "{} {file}{place} {}", it.severity, it.code);
    }
    Ok(out)
}

/// The facts that the fence names under a skill.
fn facts_of<'a>(asked: &'a str, path: &str) -> Vec<&'a str> {
    asked
        .lines()
        .skip_while(|line| line.strip_prefix("skill ") != Some(path))
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        .filter_map(|line| line.trim_start().split(' ').next())
        .collect()
}

/// One fact as JSON. A key with a colon takes what follows it as an argument.
fn value_of(skill: Skill<'_>, fact: &str) -> Result<Value, String> {
    let (key, argument) = fact.split_once(':').unwrap_or((fact, ""));
    let value: Result<Value, Error> = match key {
        "name" => Ok(json!(skill.name)),
        "description" => Ok(json!(skill.description)),
        "summary" => Ok(json!(skill.summary)),
        "dialect" => Ok(json!(skill.dialect.as_str())),
        "root" => Ok(json!(skill.root)),
        "file-path" => Ok(json!(skill.file_path)),
        "priority" => Ok(json!(skill.priority)),
        "inherit" => Ok(json!(skill.inherit)),
        "install-name" => Ok(json!(skill.install_name())),
        "callable" => skill.callable_name().map(|n| json!(n)),
        "keywords" => skill.keywords().map(|k| json!(k)),
        "parent" => skill.parent().map(|p| json!(p.map(|p| p.path))),
        "chain" => skill.chain().map(|c| c.iter().map(|s| s.path).collect()),
        "text" => skill.text().map(|t| json!(t)),
        "body" => skill.body().map(|t| json!(t)),
        "content" => skill.content().map(|t| json!(t)),
        "files" => skill.files().map(|f| f.iter().map(|f| f.path).collect()),
        "inherited" => skill.inherited_files().map(|f| {
            f.iter()
                .map(|(f, from)| format!("{} from {}", f.path, from.path))
                .collect()
        }),
        "contract" => skill.contract().map(|it| json!(it.map(|it| it.to_json()))),
        "frontmatter" => frontmatter(skill, argument),
        "file" => file(skill, argument),
        "bytes" => bytes(skill, argument),
        _ => return Err(format!("no fact is called {key}")),
    };
    value.map_err(|e| format!("{fact}: {e}"))
}

/// A setting of the bundle; it stands under a skill because facts do.
fn setting(catalog: Catalog<'_>, key: &str) -> Result<Value, String> {
    let settings = catalog.settings().map_err(|e| e.to_string())?;
    Ok(match key {
        "min_score" => json!(settings.min_score),
        "max_results" => json!(settings.max_results),
        "ambiguity_threshold" => json!(settings.ambiguity_threshold),
        "script_timeout_seconds" => json!(settings.script_timeout_seconds),
        "asset_max_bytes" => json!(settings.asset_max_bytes),
        _ => return Err(format!("no setting is called {key}")),
    })
}

/// The files that the skills extension lists for the skill, or null.
fn published(catalog: Catalog<'_>, skill: Skill<'_>) -> Result<Value, String> {
    let entry = || -> Result<Option<&str>, Error> {
        let published = catalog.published()?;
        match skill.published()? {
            Some(skill) => published.entry(skill.uri),
            None => Ok(None),
        }
    };
    let Some(entry) = entry().map_err(|e| e.to_string())? else {
        return Ok(Value::Null);
    };
    let entry: Value = serde_json::from_str(entry).map_err(|e| e.to_string())?;
    let files = entry["resources"].as_array().into_iter().flatten();
    Ok(files.map(|it| it["uri"].clone()).collect())
}

/// A key of the frontmatter as it was compiled, or all of it.
fn frontmatter(skill: Skill<'_>, key: &str) -> Result<Value, Error> {
    let all: Value =
        serde_json::from_str(skill.frontmatter_json()?).expect("frontmatter is compiled to JSON");
    Ok(if key.is_empty() {
        all
    } else {
        all.get(key).cloned().unwrap_or_default()
    })
}

/// What is known of a file of the skill or of its chain.
fn file(skill: Skill<'_>, path: &str) -> Result<Value, Error> {
    let Some((file, from)) = skill.find_file(path)? else {
        return Ok(Value::Null);
    };
    let arguments = file.args()?;
    let mut facts = json!({
        "role": format!("{:?}", file.role).to_lowercase(),
        "type": file.kind,
        "mime": file.mime,
        "binary": file.is_binary,
        "text": file.is_text,
        "executable": file.executable,
        "size": file.size,
    });
    if let Some(from) = from {
        facts["from"] = json!(from.path);
    }
    if format!("{:?}", file.role) == "Script" {
        facts["execution"] = json!(file.execution.as_str());
        facts["args"] = arguments
            .iter()
            .map(|a| match a.default {
                None => json!([a.name, a.description, a.required]),
                Some(default) => json!([a.name, a.description, a.required, default]),
            })
            .collect();
    }
    Ok(facts)
}

/// A file's bytes as text, or null where it is declared and missing.
fn bytes(skill: Skill<'_>, path: &str) -> Result<Value, Error> {
    let Some((file, _)) = skill.find_file(path)? else {
        return Ok(Value::Null);
    };
    Ok(json!(file.bytes()?.map(|b| b.escape_ascii().to_string())))
}
