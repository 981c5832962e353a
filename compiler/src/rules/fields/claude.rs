//! Keys of Claude Code: values that it does not know, and those that leave nobody to start the skill.

use skillbundle_search::typos;

use super::{Checker, shortened};
use crate::diagnostic::{Applicability, Code, Diagnostic, Span};

/// Values of keys of which Claude Code knows few.
const VALUES: &[(&str, &[&str])] = &[
    ("context", &["fork"]),
    ("effort", &["low", "medium", "high", "xhigh", "max"]),
    ("shell", &["bash", "powershell"]),
];

/// The tools of Claude Code that skills name.
const TOOLS: &[&str] = &[
    "Agent",
    "AskUserQuestion",
    "Bash",
    "BashOutput",
    "Edit",
    "ExitPlanMode",
    "Glob",
    "Grep",
    "KillShell",
    "MultiEdit",
    "NotebookEdit",
    "NotebookRead",
    "Read",
    "Skill",
    "SlashCommand",
    "Task",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "Write",
];

impl Checker<'_> {
    /// Values that Claude Code does not know.
    pub(super) fn values(&self, out: &mut Vec<Diagnostic>) {
        for (key, known) in VALUES {
            if let Some((text, span)) = self.text(key)
                && !known.contains(&text.trim())
            {
                let message = format!("Claude Code knows no `{key}: {}`", shortened(text.trim()));
                let known: Vec<String> = known.iter().map(|it| format!("`{it}`")).collect();
                let help = format!("it knows {}", known.join(", "));
                out.push(
                    self.report(Code::UnsupportedValue, span, message)
                        .help(help),
                );
            }
        }
        if let Some(node) = self.fields.get("hooks")
            && node.entries().is_none()
            && !node.is_null()
        {
            let message = format!("`hooks` is {}, not a map", node.describe());
            let help = "write the name of an event with a list of hooks below it";
            let span = Span::from(&node.range);
            out.push(
                self.report(Code::UnsupportedValue, span, message)
                    .help(help),
            );
        }
        for key in ["allowed-tools", "disallowed-tools"] {
            out.extend(self.mistyped_tool(key));
        }
    }

    /// A tool with a typing mistake. Other names may be tools of other hosts or servers.
    fn mistyped_tool(&self, key: &str) -> Option<Diagnostic> {
        let names = self.fields.tool_list(key, &mut Vec::new())?;
        let found = names.iter().find_map(|name| {
            let name = name.split('(').next().unwrap_or_default();
            let is_close = |tool: &&&str| typos(name, tool) == Some(1);
            let meant = TOOLS.iter().find(is_close)?;
            (!TOOLS.contains(&name)).then_some((name, *meant))
        });
        let (name, meant) = found?;
        let value = self.fields.value_span(key)?;
        let at = self.within(value, name);
        let message = format!("Claude Code has no tool `{name}`");
        let diagnostic = self.report(Code::UnsupportedValue, at, message);
        Some(
            diagnostic
                .help(format!("did you mean `{meant}`?"))
                .fixed_by(Applicability::Unsafe, [(at, meant.to_owned())]),
        )
    }

    /// A skill that neither a person nor a model can start.
    pub(super) fn invocation(&self) -> Option<Diagnostic> {
        let is = |key, value| self.fields.bool(key, &mut Vec::new()) == Some(value);
        let is_never = is("disable-model-invocation", true) && is("user-invocable", false);
        let span = self.fields.key_span("user-invocable")?;
        is_never.then(|| {
            let message = "neither people nor models can start this skill";
            let help = "remove `user-invocable: false`, or `disable-model-invocation: true`";
            self.report(Code::NeverInvoked, span, message).help(help)
        })
    }
}
