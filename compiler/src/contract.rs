//! The contract of a skill (spec 5): reads it from the frontmatter, checks every rule of the
//! specification, and compiles its schemas. A contract with an error is left out as a whole, since a
//! caller relies on all of it; the skill is served as a text all the same.

use std::collections::HashMap;

use serde_json::Value;
use skillbundle_format::{
    Category, ContractEntry, DEFAULT_TIMEOUT_SECONDS, Execution, FailureCode, FileEntry,
    MAX_CONTRACT_DESCRIPTION, Role, SkillEntry, TIMEOUT_SECONDS, is_agent_name, is_contract_name,
};
use skillbundle_schema::{Problem, Schema};
use skillbundle_search::suggest;

use crate::diagnostic::{Code, Diagnostic, Severity, Span};
use crate::draft::Draft;
use crate::frontmatter::keys::certainty;
use crate::frontmatter::{Document, Fields, Node, NodeKind, keys, to_json};

const CATEGORY: &str = "category";
const ASSIGNED_TO: &str = "assigned_to";
const INPUT_SCHEMA: &str = "input_schema";
const OUTPUT_SCHEMA: &str = "output_schema";
const SUCCESS_CRITERIA: &str = "success_criteria";
const FAILURE_MODES: &str = "failure_modes";
const TIMEOUT: &str = "timeout_seconds";
const HANDLER: &str = "handler";

const KEYS: [&str; 8] = [
    CATEGORY,
    ASSIGNED_TO,
    INPUT_SCHEMA,
    OUTPUT_SCHEMA,
    SUCCESS_CRITERIA,
    FAILURE_MODES,
    TIMEOUT,
    HANDLER,
];

/// Where the parts of a contract are that are checked once all skills are known.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ContractSpans {
    name: Option<Span>,
    agents: Option<Span>,
    handler: Option<Span>,
}

/// Reads the contract of a skill whose name and description are known. `None` if there is none, or
/// if it has an error.
pub(crate) fn read(
    document: &Document,
    skill: &SkillEntry,
    out: &mut Vec<Diagnostic>,
) -> Option<(ContractEntry, ContractSpans)> {
    let top = document.fields();
    let node = top.get(keys::CONTRACT)?;
    let from = out.len();
    let Some(fields) = document.fields_of(node) else {
        let found = node.describe();
        let message = format!("`contract` should be a set of keys, but is {found}");
        let diagnostic = document.diagnostic(Code::ContractShape, message);
        let diagnostic = diagnostic.at(top.value_span(keys::CONTRACT));
        out.push(diagnostic.help(format!("write its keys below it: {}", KEYS.join(", "))));
        return None;
    };
    let reader = Reader {
        document,
        fields,
        key: top.key_span(keys::CONTRACT),
    };
    reader.unknown_keys(out);
    reader.name_and_description(skill, top, out);
    let contract = reader.contract(out);
    // What is only a warning elsewhere would change what a caller relies on.
    for diagnostic in &mut out[from..] {
        if diagnostic.severity == Severity::Warning {
            diagnostic.severity = Severity::Error;
        }
    }
    let is_sound = out[from..].iter().all(|it| it.severity != Severity::Error);
    let spans = ContractSpans {
        name: top.value_span(keys::NAME),
        agents: fields.value_span(ASSIGNED_TO),
        handler: fields.value_span(HANDLER),
    };
    contract.filter(|_| is_sound).map(|it| (it, spans))
}

struct Reader<'a> {
    document: &'a Document,
    fields: Fields<'a>,
    /// The position of `contract`, where missing keys are reported.
    key: Option<Span>,
}

impl Reader<'_> {
    fn contract(&self, out: &mut Vec<Diagnostic>) -> Option<ContractEntry> {
        let category = self.category(out);
        let assigned_to = self.agents(out);
        let input_schema = self.schema(INPUT_SCHEMA, out);
        let output_schema = self.schema(OUTPUT_SCHEMA, out);
        let success_criteria = self.fields.list(SUCCESS_CRITERIA, out).unwrap_or_default();
        let failure_modes = self.failure_modes(out);
        let timeout_seconds = self.timeout(out);
        let handler = self.fields.text(HANDLER, out);
        let handler = handler.map(|it| it.trim().trim_start_matches("./").to_owned());
        Some(ContractEntry {
            category: category?,
            assigned_to,
            input_schema: input_schema?,
            output_schema: output_schema?,
            success_criteria,
            failure_modes,
            timeout_seconds: timeout_seconds?,
            handler: handler.filter(|it| !it.is_empty()),
        })
    }

    fn report(&self, code: Code, key: &str, message: String) -> Diagnostic {
        let span = self.fields.value_span(key).or(self.key);
        self.document.diagnostic(code, message).at(span)
    }

    fn missing(&self, key: &str, help: String) -> Diagnostic {
        let message = format!("the contract has no `{key}`");
        self.report(Code::ContractShape, key, message).help(help)
    }

    fn unknown_keys(&self, out: &mut Vec<Diagnostic>) {
        for entry in self.fields.entries() {
            let key = entry.key.text.as_str();
            if KEYS.contains(&key) {
                continue;
            }
            let span = Span::from(&entry.key.range);
            let message = format!("unknown key `{key}` in `contract`");
            let diagnostic = self.document.diagnostic(Code::ContractShape, message);
            let diagnostic = diagnostic.at(span);
            out.push(match suggest(key, KEYS) {
                Some(meant) => diagnostic
                    .help(format!("did you mean `{meant}`?"))
                    .fixed_by(certainty(key, meant, KEYS), [(span, meant.to_owned())]),
                None => diagnostic.help(format!("known keys here: {}", KEYS.join(", "))),
            });
        }
    }

    fn name_and_description(&self, skill: &SkillEntry, top: Fields<'_>, out: &mut Vec<Diagnostic>) {
        if !is_contract_name(&skill.name) {
            let message = format!(
                "a skill with a contract cannot be called `{}`",
                skill.name.escape_debug()
            );
            let diagnostic = self.document.diagnostic(Code::ContractName, message);
            out.push(diagnostic.at(top.value_span(keys::NAME).or(self.key)).help(
                "give it a `name` of 1 to 64 lower-case letters, digits and `_` that begins with a letter, such as `task_creation`",
            ));
        }
        let length = skill.description.chars().count();
        if length > MAX_CONTRACT_DESCRIPTION {
            let message = format!(
                "a contract allows {MAX_CONTRACT_DESCRIPTION} characters of description, not {length}"
            );
            let diagnostic = self.document.diagnostic(Code::ContractName, message);
            let diagnostic = diagnostic.at(top.value_span(keys::DESCRIPTION));
            out.push(diagnostic.help("move the details into the text below the frontmatter"));
        }
    }

    fn category(&self, out: &mut Vec<Diagnostic>) -> Option<Category> {
        let words = Category::ALL.iter().map(|it| it.as_str());
        let all = words.clone().collect::<Vec<_>>().join(", ");
        let Some(word) = self.fields.text(CATEGORY, out) else {
            out.push(self.missing(CATEGORY, format!("write one of {all}")));
            return None;
        };
        let found = Category::find(word.trim());
        if found.is_none() {
            let message = format!("unknown category `{}`", word.escape_debug());
            let diagnostic = self.report(Code::ContractShape, CATEGORY, message);
            out.push(match suggest(word.trim(), words) {
                Some(meant) => diagnostic.help(format!("did you mean `{meant}`?")),
                None => diagnostic.help(format!("write one of {all}")),
            });
        }
        found
    }

    fn agents(&self, out: &mut Vec<Diagnostic>) -> Vec<String> {
        let agents = self.fields.list(ASSIGNED_TO, out).unwrap_or_default();
        for agent in agents.iter().filter(|it| !is_agent_name(it)) {
            let message = format!("`{}` cannot be the name of an agent", agent.escape_debug());
            let diagnostic = self.report(Code::ContractAgent, ASSIGNED_TO, message);
            out.push(diagnostic.help("a name has 1 to 64 characters and no spaces"));
        }
        agents
    }

    fn failure_modes(&self, out: &mut Vec<Diagnostic>) -> Vec<FailureCode> {
        let words = self.fields.list(FAILURE_MODES, out).unwrap_or_default();
        let mut modes: Vec<FailureCode> = Vec::new();
        for word in &words {
            match FailureCode::find(word.trim()) {
                Some(mode) if modes.contains(&mode) => {}
                Some(mode) => modes.push(mode),
                None => {
                    let message = format!("unknown failure `{}`", word.escape_debug());
                    let diagnostic = self.report(Code::ContractShape, FAILURE_MODES, message);
                    let all = FailureCode::ALL.iter().map(|it| it.as_str());
                    out.push(match suggest(&word.to_uppercase(), all.clone()) {
                        Some(meant) => diagnostic.help(format!("did you mean `{meant}`?")),
                        None => diagnostic.help(format!(
                            "known ones: {}",
                            all.collect::<Vec<_>>().join(", ")
                        )),
                    });
                }
            }
        }
        modes
    }

    fn timeout(&self, out: &mut Vec<Diagnostic>) -> Option<u32> {
        if !self.fields.has(TIMEOUT) {
            return Some(DEFAULT_TIMEOUT_SECONDS);
        }
        let (least, most) = (TIMEOUT_SECONDS.start(), TIMEOUT_SECONDS.end());
        let seconds = self.fields.scalar(TIMEOUT, Code::ContractShape, out)?;
        let found = seconds.trim().parse().ok();
        let found = found.filter(|it| TIMEOUT_SECONDS.contains(it));
        if found.is_none() {
            let message = format!(
                "`{TIMEOUT}` should be a whole number from {least} to {most}, but is `{}`",
                seconds.escape_debug()
            );
            out.push(
                self.report(Code::ContractShape, TIMEOUT, message)
                    .help("write how many seconds the handler may take, such as 30"),
            );
        }
        found
    }

    /// A schema as JSON. The specification passes inputs and outputs as objects.
    fn schema(&self, key: &str, out: &mut Vec<Diagnostic>) -> Option<String> {
        let Some(node) = self.fields.get(key).filter(|it| !it.is_null()) else {
            let help = format!("write `{key}: {{type: object, properties: {{…}}}}`");
            out.push(self.missing(key, help));
            return None;
        };
        let json = to_json(node);
        let document: Value = serde_json::from_str(&json).unwrap_or_default();
        let says_object = document.get("type").and_then(Value::as_str) == Some("object");
        match Schema::new(document) {
            Err(problems) => {
                let report = |it: &Problem| self.schema_problem(key, node, it);
                out.extend(problems.iter().map(report));
                None
            }
            Ok(_) if !says_object => {
                let message = format!("`{key}` does not say `type: object`");
                let diagnostic = self.report(Code::ContractSchema, key, message);
                out.push(diagnostic.help("inputs and outputs are objects; add `type: object`"));
                None
            }
            Ok(_) => Some(json),
        }
    }

    fn schema_problem(&self, key: &str, schema: &Node, problem: &Problem) -> Diagnostic {
        let place = match problem.pointer.as_str() {
            "" => String::new(),
            pointer => format!(" at {pointer}"),
        };
        let message = format!("`{key}`{place}: {}", problem.message);
        let span = Span::from(&at(schema, &problem.pointer).range);
        let diagnostic = self.document.diagnostic(Code::ContractSchema, message);
        diagnostic
            .at(span)
            .help(if problem.pointer.ends_with("/type") {
                "write one or several of array, boolean, integer, null, number, object, string"
            } else {
                "write JSON Schema of draft 2020-12: https://json-schema.org"
            })
    }
}

/// The value that a JSON Pointer leads to, or the innermost one on the way.
fn at<'a>(root: &'a Node, pointer: &str) -> &'a Node {
    let mut node = root;
    for segment in pointer.split('/').skip(1) {
        let segment = segment.replace("~1", "/").replace("~0", "~");
        let below = match &node.kind {
            NodeKind::Mapping(entries) => entries
                .iter()
                .find(|it| it.key.text == segment)
                .map(|it| &it.value),
            NodeKind::Sequence(items) => segment.parse().ok().and_then(|at: usize| items.get(at)),
            _ => None,
        };
        match below.filter(|it| !it.range.is_empty()) {
            Some(below) => node = below,
            None => break,
        }
    }
    node
}

/// Checks what depends on other skills and on the settings: handlers exist, agents are known, names
/// are unique. Contracts with an error are removed.
pub(crate) fn check(drafts: &mut [Draft], agents: &[String], out: &mut Vec<Diagnostic>) {
    let mut refused = Vec::new();
    let mut names: HashMap<&str, usize> = HashMap::new();
    for (id, draft) in drafts.iter().enumerate() {
        let Some(contract) = &draft.entry.contract else {
            continue;
        };
        let from = out.len();
        if let Some(handler) = &contract.handler
            && let Some((problem, help)) = handler_problem(drafts, id, handler)
        {
            let message = format!("the handler `{}` {problem}", handler.escape_debug());
            let diagnostic = Diagnostic::new(Code::ContractHandler, draft.shown.as_str(), message);
            out.push(diagnostic.at(draft.contract_spans.handler).help(help));
        }
        if !agents.is_empty() {
            let unknown = contract
                .assigned_to
                .iter()
                .filter(|it| !agents.contains(it));
            for agent in unknown {
                let message = format!("unknown agent `{agent}` in `{ASSIGNED_TO}`");
                let diagnostic =
                    Diagnostic::new(Code::ContractAgent, draft.shown.as_str(), message);
                let diagnostic = diagnostic.at(draft.contract_spans.agents);
                out.push(match suggest(agent, agents.iter().map(String::as_str)) {
                    Some(meant) => diagnostic.help(format!("did you mean `{meant}`?")),
                    None => diagnostic.help(format!(
                        "`contracts.agents` in config.yaml lists {}",
                        agents.join(", ")
                    )),
                });
            }
        }
        if !draft.entry.shadowed
            && let Some(first) = names.insert(&draft.entry.name, id)
        {
            let message = format!(
                "another skill with a contract is called `{}`, too",
                draft.entry.name
            );
            let diagnostic = Diagnostic::new(Code::ContractName, draft.shown.as_str(), message);
            let diagnostic = diagnostic.at(draft.contract_spans.name);
            let diagnostic = diagnostic.related_in(&drafts[first].shown, None, "this one");
            out.push(diagnostic.help("rename one of the two: they are invoked by name"));
            names.insert(&drafts[first].entry.name, first);
        }
        if out.len() > from {
            refused.push(id);
        }
    }
    for id in refused {
        drafts[id].entry.contract = None;
    }
}

/// Why a script cannot be the handler of a skill, and what to do about it.
fn handler_problem(
    drafts: &[Draft],
    id: usize,
    handler: &str,
) -> Option<(&'static str, &'static str)> {
    let Some(file) = inherited_file(drafts, id, handler) else {
        let help = "write the path of a script that the skill declares or inherits";
        return Some(("is no file of the skill", help));
    };
    if file.role != Role::Script {
        let help = "declare it under `scripts` with `execution: server`";
        Some(("is not declared as a script", help))
    } else if file.execution != Execution::Server {
        let help = "write `execution: server` in its declaration";
        Some(("is for the agent, not for the server", help))
    } else if file.bytes.is_none() {
        Some(("is missing, or too large", "add the file"))
    } else if file.args.iter().any(|it| it.required) {
        let help = "write `required: false`; a handler gets its input on stdin";
        Some(("has required arguments, and would get none", help))
    } else {
        None
    }
}

/// The file of a skill, or of the nearest ancestor that it inherits from (spec 3 §7.5).
fn inherited_file<'a>(drafts: &'a [Draft], id: usize, path: &str) -> Option<&'a FileEntry> {
    let inherits = drafts[id].entry.inherit;
    let mut next = Some(id);
    // A cycle of parents cannot be longer than all skills.
    for _ in 0..drafts.len() {
        let entry = &drafts.get(next?)?.entry;
        if let Some(file) = entry.files.iter().find(|it| it.path == path) {
            return Some(file);
        }
        next = entry.parent.filter(|_| inherits).map(|it| it as usize);
    }
    None
}
