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

use serde_json::{Value, json};
use skillbundle_format::{Scope, SkillEntry, SkillSet, write};
use skillbundle_testkit::text_of as text;

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

/// The JSON that the text holds, which must be the structured content.
fn data(result: &Value) -> Value {
    let data: Value = serde_json::from_str(&text(result)).expect("the text is JSON");
    assert_eq!(data, result["structuredContent"]);
    data
}

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect()
}
