//! `prompts/list` and `prompts/get`: each skill as a prompt, which hosts show as a slash command.
//! Arguments are put into the text literally and once: a value is never expanded again.

use rmcp::model::{
    CompletionInfo, GetPromptRequestParams, GetPromptResult, Prompt, PromptArgument, PromptMessage,
    Role,
};
use serde_json::{Map, Value};
use skillbundle_format::{Audience, Catalog, Dialect, Error, Skill};

use super::notifier::NotifiedList;
use super::results::{self, PageParams, PagedList, loaded, unreadable, write_cacheable};
use super::{Call, Era, Skills, skill, tool_result};
use crate::analytics::UsageEvent;
use crate::jsonrpc::RpcError;
use crate::source::Generation;

/// Skills that are examined for a page of the list.
const MOST: usize = 200;

/// Stands for all arguments, in a text and as the one argument of a skill that
/// only hints at what it takes.
const ALL: &str = "ARGUMENTS";
const ALL_ARGUMENT: &str = "arguments";

/// `prompts/list`, in the order of the bundle.
pub(crate) fn list(call: &Call<'_>, skills: &Skills, out: &mut Vec<u8>) -> Result<(), RpcError> {
    let params: PageParams = call.request.optional_params()?;
    let skills = loaded(skills)?;
    let listing = PagedList::new(skills, &["prompts/list"]);
    let start = listing.start(&params)?;
    let catalog = skills.catalog().map_err(unreadable)?;
    let mut prompts = Vec::new();
    for skill in catalog.skills().skip(start).take(MOST) {
        prompts.extend(skill.and_then(|skill| prompt(&skill)).map_err(unreadable)?);
    }
    let next = listing.next(start.saturating_add(MOST), catalog.len());
    call.server.seen(NotifiedList::Prompts, Some(skills));
    write_cacheable(call, out, next, "prompts", &prompts)
}

/// All that the list says, to tell whether it reads differently.
pub(crate) fn summary(skills: &Generation) -> Vec<Prompt> {
    let catalog = skills.catalog().ok();
    let skills = catalog.iter().flat_map(Catalog::skills);
    skills
        .filter_map(|skill| prompt(&skill.ok()?).ok()?)
        .collect()
}

/// `prompts/get`.
pub(crate) fn get(call: &Call<'_>, skills: &Skills, out: &mut Vec<u8>) -> Result<(), RpcError> {
    let params: GetPromptRequestParams = call.request.params()?;
    let skills = loaded(skills)?;
    let skill = find(skills, &params.name)?;
    let declared = DeclaredArguments::of(&skill).map_err(unreadable)?;
    let given = params.arguments.as_ref();
    let values = declared.values(given).map_err(|message| {
        RpcError::invalid_params(format!("prompt \"{}\": {message}", skill.name), None)
    })?;
    let text = text(&skill, skills).map_err(unreadable)?;
    let message = PromptMessage::new_text(Role::User, declared.fill(&text, &values));
    let mut result = GetPromptResult::new(vec![message]).with_description(skill.description);
    result.result_type.take_if(|_| call.era == Era::Handshake);
    call.server.recorder.record(&UsageEvent::Loaded {
        skill: skill.path,
        tool: "prompts/get",
    });
    results::write(out, &result)
}

/// `completion/complete` of a prompt's argument, which is free text: proposes nothing, and fails
/// if there is no such prompt.
pub(crate) fn complete(skills: &Generation, name: &str) -> Result<CompletionInfo, RpcError> {
    find(skills, name)?;
    Ok(CompletionInfo::default())
}

fn find<'g>(skills: &'g Generation, name: &str) -> Result<Skill<'g>, RpcError> {
    let catalog = skills.catalog().map_err(unreadable)?;
    let found = catalog.by_name(name).map_err(unreadable)?;
    found.filter(Skill::is_user_invocable).ok_or_else(|| {
        let name = tool_result::shortened(name);
        RpcError::invalid_params(
            format!("unknown prompt \"{name}\"; prompts/list shows all prompts"),
            None,
        )
    })
}

fn prompt(skill: &Skill<'_>) -> Result<Option<Prompt>, Error> {
    if !skill.is_user_invocable() || skill.audience() == Audience::Nobody {
        return Ok(None);
    }
    let arguments = DeclaredArguments::of(skill)?.arguments();
    let arguments = (!arguments.is_empty()).then_some(arguments);
    let name = skill.callable_name()?;
    Ok(Some(Prompt::new(name, Some(skill.description), arguments)))
}

/// The instructions of the skill, without its frontmatter.
fn text(skill: &Skill<'_>, generation: &Generation) -> Result<String, Error> {
    let body = match skill.dialect {
        Dialect::Folder => skill.body()?.into_owned(),
        Dialect::Tree => skill.content()?,
    };
    Ok(match skill::directory_of_files(skill, generation)? {
        Some(base) => format!("Base directory: {base}\n\n{body}"),
        None => body,
    })
}

/// The arguments that a skill declares.
#[derive(Debug, Default, PartialEq, Eq)]
struct DeclaredArguments {
    names: Vec<String>,
    hint: Option<String>,
}

impl DeclaredArguments {
    /// `arguments` in the frontmatter names them; `argument-hint` says what is expected of all of
    /// them together.
    fn of(skill: &Skill<'_>) -> Result<Self, Error> {
        let names = skill.arguments()?.into_iter().map(str::to_owned).collect();
        let hint = Some(skill.argument_hint()?).filter(|hint| !hint.is_empty());
        Ok(Self {
            names,
            hint: hint.map(str::to_owned),
        })
    }

    fn arguments(&self) -> Vec<PromptArgument> {
        let named = self
            .names
            .iter()
            .map(|name| PromptArgument::new(name.as_str()));
        let hinted = self.hint.as_ref().filter(|_| self.names.is_empty());
        let hinted = hinted.map(|hint| PromptArgument::new(ALL_ARGUMENT).with_description(hint));
        named.chain(hinted).collect()
    }

    /// The values given, in the order declared: name and value.
    fn values<'v>(
        &self,
        given: Option<&'v Map<String, Value>>,
    ) -> Result<Vec<(String, &'v str)>, String> {
        let known: Vec<_> = self
            .arguments()
            .into_iter()
            .map(|argument| argument.name)
            .collect();
        let Some(given) = given else {
            return Ok(Vec::new());
        };
        for (name, value) in given {
            if !known.contains(name) {
                let known = if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                };
                let name = tool_result::shortened(name);
                return Err(format!("unknown argument `{name}`; it takes {known}"));
            }
            if !value.is_string() {
                return Err(format!("argument `{name}`: expected a string"));
            }
        }
        let value = |name: String| Some((given.get(&name)?.as_str()?, name));
        let values = known.into_iter().filter_map(value);
        Ok(values.map(|(value, name)| (name, value)).collect())
    }

    /// Puts the values where the text names them, or after it.
    fn fill(&self, text: &str, values: &[(String, &str)]) -> String {
        let all = values
            .iter()
            .map(|(_, value)| *value)
            .collect::<Vec<_>>()
            .join(" ");
        let mut filled = String::with_capacity(text.len() + all.len());
        let mut used = false;
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            filled.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
            let word = rest[..end.unwrap_or(rest.len())].trim_end_matches('-');
            if let Some(value) = self.value(word, values, &all) {
                filled.push_str(value);
                rest = &rest[word.len()..];
                used = true;
            } else {
                filled.push('$');
            }
        }
        filled.push_str(rest);
        if !used && !all.is_empty() {
            filled.push_str("\n\n");
            filled.push_str(ALL);
            filled.push_str(": ");
            filled.push_str(&all);
        }
        filled
    }

    /// The value of a word after `$`; `None` if it is not an argument. A declared argument without a
    /// value is empty.
    fn value<'v>(&self, word: &str, values: &[(String, &'v str)], all: &'v str) -> Option<&'v str> {
        if word == ALL && !self.arguments().is_empty() {
            return Some(all);
        }
        let given = values.iter().find(|(name, _)| name == word);
        let declared = self.names.iter().any(|name| name == word);
        given
            .map(|(_, value)| *value)
            .or_else(|| declared.then_some(""))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use skillbundle_format::{Bundle, SkillEntry, write};

    use super::*;
    use crate::testing::{folder, set};

    /// Frontmatter, arguments given, text, what comes of it.
    #[test]
    fn values_are_put_where_the_text_names_them() {
        let cases = [
            (
                json!({"arguments": "file line"}),
                json!({"file": "a.rs", "line": "7"}),
                "See $file:$line, $ARGUMENTS.",
                Ok("See a.rs:7, a.rs 7."),
            ),
            (
                json!({"arguments": ["file"]}),
                json!({"file": "$file $ARGUMENTS"}),
                "See $file",
                Ok("See $file $ARGUMENTS"),
            ),
            (
                json!({"arguments": ["file"]}),
                json!({}),
                "See ($file) for $5 and $HOME",
                Ok("See () for $5 and $HOME"),
            ),
            (
                json!({"arguments": ["pull-request"]}),
                json!({"pull-request": "12"}),
                "$pull-request- $pull",
                Ok("12- $pull"),
            ),
            (
                json!({"argument-hint": "[topic]"}),
                json!({"arguments": "bees"}),
                "On $ARGUMENTS",
                Ok("On bees"),
            ),
            (
                json!({"argument-hint": ["topic"]}),
                json!({"arguments": "bees"}),
                "Write.",
                Ok("Write.\n\nARGUMENTS: bees"),
            ),
            (
                json!({}),
                json!({}),
                "Costs $ARGUMENTS $",
                Ok("Costs $ARGUMENTS $"),
            ),
            (
                json!({}),
                json!({"a": "b"}),
                "",
                Err("unknown argument `a`; it takes none"),
            ),
            (
                json!({"arguments": "a b"}),
                json!({"c": "b"}),
                "",
                Err("unknown argument `c`; it takes a, b"),
            ),
            (
                json!({"arguments": "a"}),
                json!({"a": 1}),
                "",
                Err("argument `a`: expected a string"),
            ),
        ];
        for (frontmatter, given, text, expected) in cases {
            let skill = SkillEntry {
                frontmatter_json: frontmatter.to_string(),
                ..folder("a", "b", "c")
            };
            let bytes = write(&set(vec![skill])).expect("consistent");
            let bundle = Bundle::from_bytes(&bytes).expect("intact");
            let catalog = bundle.catalog().expect("intact");
            let skill = catalog.skill(0).expect("intact");
            let declared = DeclaredArguments::of(&skill).expect("intact");
            let filled = declared
                .values(given.as_object())
                .map(|values| declared.fill(text, &values));
            assert_eq!(
                filled.as_deref().map_err(String::as_str),
                expected,
                "{frontmatter} {given}"
            );
        }
    }
}
