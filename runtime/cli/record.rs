//! How skills, files and settings look as JSON in every command's `--json`. The keys
//! are a promise to scripts: they may grow, and are never renamed.

use anyhow::Result;
use serde_json::{Map, Value, json};
use skillbundle_format::{Arg, File, Settings, Skill};

use super::text::hex;

/// What every listing says about a skill.
pub(crate) fn skill(skill: &Skill<'_>) -> Map<String, Value> {
    let fields = json!({
        "path": skill.path,
        "name": skill.name,
        "description": skill.description,
        "dialect": skill.dialect.as_str(),
        "scope": skill.scope.as_str(),
        "root": skill.root_label,
        "file": skill.file_path,
    });
    object(fields)
}

/// Everything about one skill but its text.
pub(crate) fn whole_skill(of: &Skill<'_>) -> Result<Map<String, Value>> {
    let files = of.files()?.iter().map(file).collect::<Result<Vec<_>>>()?;
    let inherited = of.inherited_files()?;
    let inherited: Vec<Value> = inherited
        .iter()
        .map(|(file, from)| json!({"path": file.path, "from": from.path}))
        .collect();
    let frontmatter: Value = serde_json::from_str(of.frontmatter_json()?)?;
    let chain: Vec<&str> = of.chain()?.iter().map(|link| link.path).collect();
    let mut record = skill(of);
    record.extend(object(json!({
        "uri": of.published()?.map(|published| published.uri),
        "priority": of.priority,
        "inherit": of.inherit,
        "chain": chain,
        "keywords": of.keywords()?,
        "sha256": hex(&of.digest()?),
        "bytes": of.source()?.len(),
        "frontmatter": frontmatter,
        "files": files,
        "inherited_files": inherited,
    })));
    Ok(record)
}

fn file(file: &File<'_>) -> Result<Value> {
    let args: Vec<Value> = file.args()?.iter().map(arg).collect();
    Ok(json!({
        "path": file.path,
        "role": role(file),
        "kind": file.kind,
        "description": file.description,
        "execution": file.execution.as_str(),
        "executable": file.executable,
        "mime": file.mime,
        "text": file.is_text,
        "bytes": file.size,
        "sha256": file.digest()?.map(|digest| hex(&digest)),
        "missing": file.size.is_none(),
        "args": args,
    }))
}

/// `file`, `asset` or `script`.
pub(crate) const fn role(file: &File<'_>) -> &'static str {
    use skillbundle_format::Role;
    match file.role {
        Role::File => "file",
        Role::Asset => "asset",
        Role::Script => "script",
    }
}

/// The settings under the names that `config.yaml` gives them.
pub(crate) fn settings(settings: &Settings) -> Vec<(&'static str, Value)> {
    vec![
        ("matching.min_score", settings.min_score.into()),
        ("matching.max_results", settings.max_results.into()),
        (
            "matching.ambiguity_threshold",
            settings.ambiguity_threshold.into(),
        ),
        ("matching.min_confidence", settings.min_confidence.into()),
        ("matching.min_margin", settings.min_margin.into()),
        ("refresh.enabled", settings.refresh_enabled.into()),
        (
            "refresh.interval_minutes",
            settings.refresh_interval_minutes.into(),
        ),
        ("scripts.enabled", settings.scripts_enabled.into()),
        (
            "scripts.timeout_seconds",
            settings.script_timeout_seconds.into(),
        ),
        (
            "scripts.max_output_bytes",
            settings.script_max_output_bytes.into(),
        ),
        (
            "scripts.allowed_extensions",
            settings.script_extensions.clone().into(),
        ),
        ("assets.max_size_bytes", settings.asset_max_bytes.into()),
        (
            "assets.inline_text_max_bytes",
            settings.asset_inline_max_bytes.into(),
        ),
    ]
}

fn arg(arg: &Arg<'_>) -> Value {
    json!({"name": arg.name, "description": arg.description, "required": arg.required})
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
