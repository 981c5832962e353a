//! `assets` and `scripts` in frontmatter: the files that a skill declares.

use skillbundle_format::{ArgEntry, Execution, Role, variable_of};

use crate::diagnostic::{Code, Diagnostic, Span};
use crate::frontmatter::{Document, Fields, Node, NodeKind, keys};
use crate::paths;

/// A declared file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Declaration {
    /// Its path in the skill, normalized.
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
    /// The position of the declaration.
    pub(crate) span: Option<Span>,
}

/// The files that a frontmatter declares, scripts first: if a file is declared as
/// both, the script has the information.
pub(crate) fn declarations(document: &Document, out: &mut Vec<Diagnostic>) -> Vec<Declaration> {
    let mut all: Vec<Declaration> = Vec::new();
    for (key, role) in [(keys::SCRIPTS, Role::Script), (keys::ASSETS, Role::Asset)] {
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

/// The items of the list; a single entry counts as a list of one.
fn items<'a>(document: &'a Document, key: &str, out: &mut Vec<Diagnostic>) -> Vec<&'a Node> {
    let fields = document.fields();
    let Some(node) = fields.get(key) else {
        return Vec::new();
    };
    match &node.kind {
        NodeKind::Sequence(items) => items.iter().collect(),
        NodeKind::Null => Vec::new(),
        NodeKind::Mapping(_)
            if document
                .fields_of(node)
                .is_some_and(|it| it.has(keys::FILE)) =>
        {
            vec![node]
        }
        _ => {
            let found = node.describe();
            let message = format!("`{key}` should be a list of files, but is {found}");
            let diagnostic = document.diagnostic(Code::AssetShape, message);
            out.push(
                diagnostic
                    .at(fields.value_span(key))
                    .help("write each file on its own line: `- file: name.txt`"),
            );
            Vec::new()
        }
    }
}

/// One entry: a mapping with `file`, or just the path.
fn read(
    document: &Document,
    node: &Node,
    key: &str,
    role: Role,
    out: &mut Vec<Diagnostic>,
) -> Option<Declaration> {
    let span = Span::from(&node.range);
    let fields = document.fields_of(node);
    let written = match (&node.kind, &fields) {
        (NodeKind::Scalar { text, .. }, _) => Some(text.clone()),
        (_, Some(fields)) => fields.text(keys::FILE, out),
        _ => None,
    };
    let Some(written) = written.filter(|it| !it.trim().is_empty()) else {
        let message = format!("an entry of `{key}` has no `file`, so it is left out");
        let diagnostic = document.diagnostic(Code::AssetShape, message);
        out.push(diagnostic.at(span).help("write `- file: name.txt`"));
        return None;
    };
    let path = match paths::normalize(written.trim()) {
        Ok(path) => path,
        Err(why) => {
            let message = format!("`{}` is left out: the path {why}", written.escape_debug());
            let diagnostic = document.diagnostic(Code::AssetEscapesSkill, message);
            let position = fields.and_then(|it| it.value_span(keys::FILE));
            out.push(
                diagnostic
                    .at(position.unwrap_or(span))
                    .help("write the path of a file of the skill, relative to its folder"),
            );
            return None;
        }
    };
    let text = |key: &str, out: &mut Vec<Diagnostic>| fields.and_then(|it| it.text(key, out));
    let is_script = role == Role::Script;
    Some(Declaration {
        path,
        role,
        kind: text(keys::TYPE, out).unwrap_or_else(|| "other".to_owned()),
        description: text(keys::DESCRIPTION, out).unwrap_or_default(),
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

/// An unknown value means the agent, which needs no permission of the server.
fn execution(document: &Document, fields: &Fields<'_>, out: &mut Vec<Diagnostic>) -> Execution {
    match fields.text(keys::EXECUTION, out).as_deref() {
        None | Some("claude") => Execution::Claude,
        Some("server") => Execution::Server,
        Some(other) => {
            let message = format!("unknown `execution`: `{other}`; it counts as `claude`");
            let diagnostic = document.diagnostic(Code::UnknownExecution, message);
            out.push(
                diagnostic
                    .at(fields.value_span(keys::EXECUTION))
                    .help("write `execution: claude` or `execution: server`"),
            );
            Execution::Claude
        }
    }
}

fn arguments(document: &Document, fields: &Fields<'_>, out: &mut Vec<Diagnostic>) -> Vec<ArgEntry> {
    let Some(node) = fields.get(keys::ARGS).filter(|node| !node.is_null()) else {
        return Vec::new();
    };
    let Some(items) = node.items() else {
        let found = node.describe();
        let message = format!("`args` should be a list, but is {found}");
        let diagnostic = document.diagnostic(Code::AssetShape, message);
        out.push(
            diagnostic
                .at(fields.value_span(keys::ARGS))
                .help("write each argument on its own line: `- name: target`"),
        );
        return Vec::new();
    };
    let mut arguments: Vec<Argument> = Vec::new();
    for item in items {
        let Some(argument) = argument(document, item, out) else {
            continue;
        };
        let mut earlier = arguments.iter();
        match earlier.find(|it| it.variable == argument.variable) {
            None => arguments.push(argument),
            Some(first) => out.push(same_variable(document, first, &argument)),
        }
    }
    arguments.into_iter().map(|it| it.entry).collect()
}

/// A declared argument that can be passed to its script.
struct Argument {
    entry: ArgEntry,
    /// The environment variable that it is passed in.
    variable: String,
    /// The position of its name.
    span: Span,
}

fn argument(document: &Document, node: &Node, out: &mut Vec<Diagnostic>) -> Option<Argument> {
    let fields = document.fields_of(node);
    let name = match (&node.kind, &fields) {
        (NodeKind::Scalar { text, .. }, _) => Some(text.clone()),
        (_, Some(fields)) => fields.text(keys::NAME, out),
        _ => None,
    };
    let Some(name) = name
        .map(|it| it.trim().to_owned())
        .filter(|it| !it.is_empty())
    else {
        let message = "an argument has no `name`, so it is left out";
        let diagnostic = document.diagnostic(Code::AssetShape, message);
        out.push(
            diagnostic
                .at(Span::from(&node.range))
                .help("write `- name: target`"),
        );
        return None;
    };
    let span = fields.and_then(|it| it.value_span(keys::NAME));
    let span = span.unwrap_or(Span::from(&node.range));
    let Some(variable) = variable_of(&name) else {
        let shown = name.escape_debug();
        let message =
            format!("the argument `{shown}` is left out: no variable can be named after it");
        let diagnostic = document.diagnostic(Code::ArgumentName, message);
        out.push(
            diagnostic
                .at(span)
                .help("use ASCII letters, digits, `-` and `_` only, such as `target-dir`"),
        );
        return None;
    };
    let description = fields
        .and_then(|it| it.text(keys::DESCRIPTION, out))
        .unwrap_or_default();
    let default = fields.and_then(|it| it.scalar(keys::DEFAULT, Code::AssetShape, out));
    let required = fields
        .and_then(|it| it.bool(keys::REQUIRED, out))
        .unwrap_or(true);
    Some(Argument {
        entry: ArgEntry {
            name,
            description,
            required: required && default.is_none(),
            default,
        },
        variable,
        span,
    })
}

fn same_variable(document: &Document, first: &Argument, second: &Argument) -> Diagnostic {
    let (name, earlier) = (&second.entry.name, &first.entry.name);
    let message = if name == earlier {
        format!("the argument `{name}` is declared twice; the first one counts")
    } else {
        let variable = &first.variable;
        format!("the argument `{name}` is left out: `{earlier}` becomes `{variable}`, too")
    };
    let diagnostic = document.diagnostic(Code::DuplicateArgument, message);
    diagnostic
        .at(second.span)
        .related(first.span, "declared here")
        .help("rename one of the two, or remove it")
}

fn twice(document: &Document, first: &Declaration, second: &Declaration) -> Diagnostic {
    let which = if first.role == second.role {
        "first"
    } else {
        "script"
    };
    let message = format!("`{}` is declared twice; the {which} counts", second.path);
    let diagnostic = document.diagnostic(Code::DuplicateAsset, message);
    let diagnostic = diagnostic
        .at(second.span)
        .help("remove one of the declarations");
    match first.span {
        Some(span) => diagnostic.related(span, "declared here"),
        None => diagnostic,
    }
}
