//! `assets` and `scripts` in frontmatter: which files a skill says it has.

use skillbundle_format::{ArgEntry, Execution, Role};

use super::path;
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::frontmatter::{Document, Fields, Kind, Node};

/// A declared file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Declared {
    /// Its path in the skill, as it is looked up.
    pub(crate) path: String,
    /// Asset or script.
    pub(crate) role: Role,
    /// Its `type`.
    pub(crate) kind: String,
    /// Its `description`.
    pub(crate) description: String,
    /// Who runs it, for scripts.
    pub(crate) execution: Execution,
    /// Its arguments, for scripts.
    pub(crate) args: Vec<ArgEntry>,
    /// Where it is declared.
    pub(crate) span: Option<Span>,
}

/// The files that a frontmatter declares, scripts first: where a file is
/// declared as both, it is the script that says how to run it.
pub(crate) fn declared(document: &Document, out: &mut Vec<Diagnostic>) -> Vec<Declared> {
    let mut all: Vec<Declared> = Vec::new();
    for (key, role) in [("scripts", Role::Script), ("assets", Role::Asset)] {
        for node in items(document, key, out) {
            let Some(file) = read(document, node, key, role, out) else {
                continue;
            };
            match all.iter().find(|it| it.path == file.path) {
                None => all.push(file),
                Some(first) => out.push(twice(document, first, &file)),
            }
        }
    }
    all
}

/// The entries of the list; one entry alone is taken for a list of one.
fn items<'a>(document: &'a Document, key: &str, out: &mut Vec<Diagnostic>) -> Vec<&'a Node> {
    let fields = document.fields();
    let Some(node) = fields.get(key) else {
        return Vec::new();
    };
    match &node.kind {
        Kind::Sequence(items) => items.iter().collect(),
        Kind::Null => Vec::new(),
        Kind::Mapping(_) if document.fields_of(node).is_some_and(|it| it.has("file")) => vec![node],
        _ => {
            let found = node.describe();
            let message = format!("`{key}` should be a list of files, but this is {found}");
            let finding = document
                .finding(Code::AssetShape, message)
                .at(fields.value_span(key));
            out.push(finding.help("write each file on its own line as `- file: name.txt`"));
            Vec::new()
        }
    }
}

/// One entry: a set of keys with `file`, or the path alone.
fn read(
    document: &Document,
    node: &Node,
    key: &str,
    role: Role,
    out: &mut Vec<Diagnostic>,
) -> Option<Declared> {
    let span = document.span(&node.range);
    let fields = document.fields_of(node);
    let written = match (&node.kind, &fields) {
        (Kind::Scalar { text, .. }, _) => Some(text.clone()),
        (_, Some(fields)) => fields.text("file", out),
        _ => None,
    };
    let Some(written) = written.filter(|it| !it.trim().is_empty()) else {
        let message = format!("an entry of `{key}` names no `file`, so it is left out");
        let finding = document.finding(Code::AssetShape, message).at(span);
        out.push(finding.help("write it as `- file: name.txt`"));
        return None;
    };
    let path = match path::normal(written.trim()) {
        Ok(path) => path,
        Err(escape) => {
            let why = escape.as_str();
            let message = format!("`{}` is left out: the path {why}", written.escape_debug());
            let finding = document.finding(Code::AssetEscapesSkill, message);
            let place = fields.and_then(|it| it.value_span("file")).unwrap_or(span);
            out.push(
                finding
                    .at(place)
                    .help("name a file of the skill, relative to its own directory"),
            );
            return None;
        }
    };
    let text = |key: &str, out: &mut Vec<Diagnostic>| fields.and_then(|it| it.text(key, out));
    let is_script = role == Role::Script;
    Some(Declared {
        path,
        role,
        kind: text("type", out).unwrap_or_else(|| "other".to_owned()),
        description: text("description", out).unwrap_or_default(),
        execution: match &fields {
            Some(fields) if is_script => execution(document, fields, out),
            _ => Execution::Claude,
        },
        args: match &fields {
            Some(fields) if is_script => arguments(document, fields, out),
            _ => Vec::new(),
        },
        span: Some(span),
    })
}

/// What is not known is run by nobody but the agent itself.
fn execution(document: &Document, fields: &Fields<'_>, out: &mut Vec<Diagnostic>) -> Execution {
    match fields.text("execution", out).as_deref() {
        None | Some("claude") => Execution::Claude,
        Some("server") => Execution::Server,
        Some(other) => {
            let message =
                format!("`execution` is `claude` or `server`, not `{other}`; the agent runs it");
            let finding = document.finding(Code::UnknownExecution, message);
            out.push(finding.at(fields.value_span("execution")));
            Execution::Claude
        }
    }
}

fn arguments(document: &Document, fields: &Fields<'_>, out: &mut Vec<Diagnostic>) -> Vec<ArgEntry> {
    let Some(node) = fields.get("args").filter(|node| !node.is_null()) else {
        return Vec::new();
    };
    let Some(items) = node.items() else {
        let found = node.describe();
        let message = format!("`args` should be a list, but this is {found}");
        let finding = document
            .finding(Code::AssetShape, message)
            .at(fields.value_span("args"));
        out.push(finding.help("write each argument on its own line as `- name: target`"));
        return Vec::new();
    };
    items
        .iter()
        .filter_map(|item| argument(document, item, out))
        .collect()
}

fn argument(document: &Document, node: &Node, out: &mut Vec<Diagnostic>) -> Option<ArgEntry> {
    let fields = document.fields_of(node);
    let name = match (&node.kind, &fields) {
        (Kind::Scalar { text, .. }, _) => Some(text.clone()),
        (_, Some(fields)) => fields.text("name", out),
        _ => None,
    };
    let Some(name) = name
        .map(|it| it.trim().to_owned())
        .filter(|it| !it.is_empty())
    else {
        let message = "an argument has no `name`, so it is left out";
        let finding = document.finding(Code::AssetShape, message);
        out.push(
            finding
                .at(document.span(&node.range))
                .help("write it as `- name: target`"),
        );
        return None;
    };
    let description = fields
        .and_then(|it| it.text("description", out))
        .unwrap_or_default();
    let required = fields
        .and_then(|it| it.bool("required", out))
        .unwrap_or(true);
    Some(ArgEntry {
        name,
        description,
        required,
    })
}

fn twice(document: &Document, first: &Declared, second: &Declared) -> Diagnostic {
    let which = if first.role == second.role {
        "first"
    } else {
        "script"
    };
    let message = format!("`{}` is declared twice; the {which} counts", second.path);
    let finding = document
        .finding(Code::DuplicateAsset, message)
        .at(second.span);
    match first.span {
        Some(span) => finding.related(span, "declared here"),
        None => finding,
    }
}
