//! Each tool over a small bundle, as a client sees it: the examples of the
//! specs, the shapes of their answers, and what is refused.

mod arguments;
mod assets;
mod extension;
mod freshness;
mod listing;
mod matching;
mod notifier;
mod schedulers;
mod schemas;
mod search_rules;
mod searching;
mod skill;
mod usage;

use serde_json::{Value, json};
use skillbundle_format::{Scope, SkillEntry, SkillSet, write};
use skillbundle_testkit::{request, text_of as text, with_meta};

use super::tool_result::digest;
use super::tools::TOOLS;
use super::toolset::ToolContext;
use crate::testing::{
    Client, Fake, connected, end, folder, set, spec_folders, spec_tree, tree, unopened,
};
use crate::{Embedded, Options};

fn client(set: SkillSet) -> Client {
    connected(Fake::new(set))
}

/// The JSON that the text holds. Structured content beside it must be the same.
fn data(result: &Value) -> Value {
    let data: Value = serde_json::from_str(&text(result)).expect("the text is JSON");
    let structured = result.get("structuredContent");
    assert!(structured.is_none_or(|it| *it == data), "{result}");
    data
}

/// What programs are told about a text.
fn about(result: &Value) -> &Value {
    assert!(result.get("structuredContent").is_none(), "{result}");
    &result["_meta"]["skillbundle/about"]
}

/// A client that is offered every tool.
fn client_of_all(set: SkillSet) -> Client {
    let options = Options {
        tools: "all".parse().expect("a preset"),
        ..Options::default()
    };
    let mut client = unopened(Fake::new(set), options);
    client.initialize("2025-11-25");
    client
}

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect()
}
