//! The tools there are: one table, in the order that clients see. What a tool
//! does stands in the file of its name; its schemas stand there too, as text,
//! and are parsed when first listed.
//!
//! A tool that runs scripts or keeps a journal would be one more file and one
//! more [`Run`].

use std::sync::Arc;

use rmcp::model::{JsonObject, ToolAnnotations};
use serde_json::Value;

use super::offer::{Offer, Present};
use super::reply::{REFUSED, Refusal, Reply};
use super::{
    Asked, get_asset, get_skill, list_skills, refresh_skills, roster, skill, skills_list,
    skills_search,
};
use crate::Options;

/// One tool.
pub(crate) struct Tool {
    /// What it is called: `[a-z0-9_]`, which every host takes.
    pub(crate) name: &'static str,
    /// Spec 4's name with a dot. Always understood, published only on demand,
    /// since several hosts refuse a whole server for it.
    dotted: Option<&'static str>,
    title: &'static str,
    /// What it does; nothing for the one tool that describes the skills.
    description: Option<&'static str>,
    /// What to do next, by tools that may not be offered: the first that is,
    /// in the place of the braces.
    next: &'static [(&'static str, &'static str)],
    input: &'static str,
    output: &'static str,
    read_only: bool,
    pub(crate) run: Run,
}

/// How a tool comes to its answer.
#[derive(Clone, Copy)]
pub(crate) enum Run {
    /// From the skills as they are.
    Ask(Ask),
    /// By replacing them.
    Refresh,
}

/// Answers from the skills as they are.
pub(crate) type Ask = fn(&Asked<'_>) -> Result<Reply, Refusal>;

/// Every tool, the ones to start with first.
pub(crate) static TOOLS: &[Tool] = &[
    SKILL,
    GET_SKILL,
    SKILLS_SEARCH,
    SKILLS_LIST,
    LIST_SKILLS,
    GET_ASSET,
    REFRESH_SKILLS,
    #[cfg(test)]
    PANICS,
];

const SKILL: Tool = Tool {
    name: "skill",
    dotted: None,
    title: "Load Skill",
    description: None,
    next: &[],
    input: skill::INPUT,
    output: skill::OUTPUT,
    read_only: true,
    run: Run::Ask(skill::run),
};

const GET_SKILL: Tool = Tool {
    name: "get_skill",
    dotted: None,
    title: "Find Skill",
    description: Some(
        "Finds the skill whose declared keywords fit a task, and returns its whole text with what it inherits. \
         Where several fit about as well, names them to choose from.",
    ),
    next: &[],
    input: get_skill::INPUT,
    output: get_skill::OUTPUT,
    read_only: true,
    run: Run::Ask(get_skill::run),
};

const SKILLS_SEARCH: Tool = Tool {
    name: "skills_search",
    dotted: Some("skills.search"),
    title: "Search Skills",
    description: Some(
        "Searches names, descriptions and texts of all skills for every word of the query; where none has them all, \
         finds the closest. Returns where the words occur.",
    ),
    next: &[
        ("skill", "Load what fits with `{}`."),
        ("skills_list", "Read what fits with `{}` and `includeBody`."),
    ],
    input: skills_search::INPUT,
    output: skills_search::OUTPUT,
    read_only: true,
    run: Run::Ask(skills_search::run),
};

const SKILLS_LIST: Tool = Tool {
    name: "skills_list",
    dotted: Some("skills.list"),
    title: "List Skills",
    description: Some(
        "Lists skills with name, description and place, all or those that hold a text; on demand with their bodies.",
    ),
    next: &[],
    input: skills_list::INPUT,
    output: skills_list::OUTPUT,
    read_only: true,
    run: Run::Ask(skills_list::run),
};

const LIST_SKILLS: Tool = Tool {
    name: "list_skills",
    dotted: None,
    title: "Browse Skills",
    description: Some(
        "Shows the skills as a tree, parents above what inherits from them, with keywords and counts of files. On demand one branch.",
    ),
    next: &[],
    input: list_skills::INPUT,
    output: list_skills::OUTPUT,
    read_only: true,
    run: Run::Ask(list_skills::run),
};

const GET_ASSET: Tool = Tool {
    name: "get_asset",
    dotted: None,
    title: "Get Skill File",
    description: Some(
        "Returns one file of a skill, or one that it inherits: text as it is, anything else in base64. Scripts are returned, not run.",
    ),
    next: &[],
    input: get_asset::INPUT,
    output: get_asset::OUTPUT,
    read_only: true,
    run: Run::Ask(get_asset::run),
};

const REFRESH_SKILLS: Tool = Tool {
    name: "refresh_skills",
    dotted: None,
    title: "Refresh Skills",
    description: Some("Reads all skills again. Rarely needed: every call sees changes by itself."),
    next: &[],
    input: refresh_skills::INPUT,
    output: refresh_skills::OUTPUT,
    read_only: false,
    run: Run::Refresh,
};

/// Shows what a fault in a tool does to the others.
#[cfg(test)]
const PANICS: Tool = Tool {
    name: "panics",
    dotted: None,
    title: "Panics",
    description: Some("Panics."),
    next: &[],
    input: r#"{"type":"object"}"#,
    output: r#"{"type":"object"}"#,
    read_only: true,
    run: Run::Ask(|_| panic!("a fault in a tool")),
};

impl Tool {
    /// The name that it is published under.
    pub(crate) fn published(&self, dotted: bool) -> &'static str {
        self.dotted.filter(|_| dotted).unwrap_or(self.name)
    }

    fn describe(
        &self,
        present: &Present<'_>,
        offer: Offer,
        options: &Options,
    ) -> rmcp::model::Tool {
        let annotations = ToolAnnotations::new()
            .read_only(self.read_only)
            .destructive(false)
            .idempotent(true)
            .open_world(false);
        let mut description = self.description.map_or_else(
            || roster::description(present.catalog, offer, options),
            str::to_owned,
        );
        let mut next = self.next.iter();
        if let Some((name, next)) = next.find_map(|(tool, next)| Some((offer.name(tool)?, next))) {
            description.push(' ');
            description.push_str(&next.replace("{}", name));
        }
        rmcp::model::Tool::new(
            self.published(options.dotted_names),
            description,
            schema(self.input),
        )
        .with_title(self.title)
        .with_annotations(annotations)
        .with_raw_output_schema(answers(self.output))
    }
}

/// The tool of this name, in either spelling.
pub(crate) fn find(name: &str) -> Option<&'static Tool> {
    TOOLS
        .iter()
        .find(|tool| tool.name == name || tool.dotted == Some(name))
}

/// The tools on offer as the protocol describes them.
pub(crate) fn all(present: &Present<'_>, options: &Options) -> Vec<rmcp::model::Tool> {
    let offer = options.offer(present);
    offer
        .tools()
        .map(|tool| tool.describe(present, offer, options))
        .collect()
}

/// The schema of arguments.
fn schema(text: &str) -> Arc<JsonObject> {
    Arc::new(parsed(text))
}

/// The schema of answers, refusals among them.
fn answers(text: &str) -> Arc<JsonObject> {
    let mut schema = parsed(text);
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.extend(parsed(REFUSED));
    }
    Arc::new(schema)
}

fn parsed(text: &str) -> JsonObject {
    serde_json::from_str(text).expect("a test parses every schema")
}
