//! The instructions for the server as a whole: how to get from a task to the skill that helps with
//! it, with the tools that are offered and no others. Some hosts show little else at first, and cut
//! it off at [`TEXT_CHARS`](skillbundle_format::hosts::TEXT_CHARS).

use std::fmt::Write as _;

use super::toolset::ToolSet;

const HEAD: &str = "This server provides skills: instructions, scripts and files for particular tasks. \
                    Before you start a task, look for a matching skill and follow it.";

/// Ways to the right skill: the tool, and what to give it.
const FIND: [(&str, &str); 2] = [
    ("skills_search", "with words from the task"),
    ("get_skill", "with a description of the task"),
];

/// Tools that show everything.
const BROWSE: [&str; 2] = ["skills_list", "list_skills"];

/// Ways to a skill's text, the best first: only one is named.
const LOAD: [(&str, &str); 3] = [
    ("skill", "with the name"),
    ("get_skill", "returns the full text"),
    ("skills_list", "with `includeBody` returns full texts"),
];

/// The steps from a task to what is needed for it.
pub(crate) fn text(toolset: ToolSet, can_change: bool) -> String {
    let steps = [find(toolset), load(toolset), fetch(toolset)];
    let mut text = HEAD.to_owned();
    for (number, step) in (1..).zip(steps.into_iter().flatten()) {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n{number}. {step}");
    }
    if can_change {
        text.push_str("\nChanges to skills are picked up before every call");
        if let Some(refresh) = toolset.name("refresh_skills") {
            let _ = write!(text, "; `{refresh}` forces a reload");
        }
        text.push('.');
    }
    text
}

fn find(toolset: ToolSet) -> Option<String> {
    let ways = FIND
        .iter()
        .filter_map(|(tool, how)| Some(format!("`{}` {how}", toolset.name(tool)?)));
    let ways = ways.collect::<Vec<_>>().join(", or ");
    let lists = BROWSE
        .iter()
        .filter_map(|tool| Some(format!("`{}`", toolset.name(tool)?)));
    let lists: Vec<_> = lists.collect();
    let list = if lists.len() == 1 { "lists" } else { "list" };
    let lists = match lists.as_slice() {
        [] => String::new(),
        lists => format!("{} {list} all skills", lists.join(" and ")),
    };
    let ways: Vec<_> = [ways, lists]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect();
    match ways.as_slice() {
        // The description of this tool lists the skills.
        [] => toolset
            .name("skill")
            .map(|skill| format!("Find: the description of `{skill}` lists the skills.")),
        ways => Some(format!("Find: {}.", ways.join("; "))),
    }
}

fn load(toolset: ToolSet) -> Option<String> {
    let way = LOAD
        .iter()
        .find_map(|(tool, how)| Some(format!("`{}` {how}", toolset.name(tool)?)));
    way.map(|way| format!("Load: {way}. The text names the skill's other files."))
}

fn fetch(toolset: ToolSet) -> Option<String> {
    match toolset.name("get_asset") {
        Some(tool) => Some(format!(
            "Fetch: `{tool}` with the paths of the skill and the file, when the text refers to a file."
        )),
        // Skills are not loaded yet, and may have no files.
        None => toolset
            .is_unsure_of("get_asset")
            .then(|| "Fetch: a file that the text refers to, with the tool for files.".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::tools::TOOLS;
    use crate::mcp::toolset::{ToolContext, Tools};

    fn toolset(tools: &str, dotted: bool) -> ToolSet {
        let tools = match tools {
            "" => Tools::default(),
            tools => tools.parse::<Tools>().unwrap(),
        };
        let context = ToolContext {
            catalog: None,
            can_change: true,
        };
        ToolSet::new(tools, &context, dotted)
    }

    #[test]
    fn each_preset_has_its_own_way_from_a_task_to_a_text() {
        for (tools, expected) in [
            (
                "router",
                "1. Find: `get_skill` with a description of the task; `list_skills` lists all skills.\n\
                 2. Load: `get_skill` returns the full text. The text names the skill's other files.\n\
                 3. Fetch: `get_asset` with the paths of the skill and the file, when the text refers to a file.\n\
                 Changes to skills are picked up before every call; `refresh_skills` forces a reload.",
            ),
            (
                "loader",
                "1. Find: the description of `skill` lists the skills.\n\
                 2. Load: `skill` with the name. The text names the skill's other files.\n\
                 Changes to skills are picked up before every call.",
            ),
            (
                "catalog",
                "1. Find: `skills_search` with words from the task; `skills_list` lists all skills.\n\
                 2. Load: `skills_list` with `includeBody` returns full texts. The text names the skill's other files.\n\
                 Changes to skills are picked up before every call.",
            ),
            (
                "refresh_skills",
                "Changes to skills are picked up before every call; `refresh_skills` forces a reload.",
            ),
        ] {
            assert_eq!(
                text(toolset(tools, false), true),
                format!("{HEAD}\n{expected}"),
                "{tools}"
            );
        }
    }

    /// Every selection of tools.
    #[test]
    fn instructions_name_only_offered_tools_and_no_host_cuts_them() {
        let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        for choice in 1..1_usize << names.len() {
            let bits = (0..names.len()).filter(|at| choice >> at & 1 == 1);
            let chosen = bits.map(|at| names[at]).collect::<Vec<_>>().join(",");
            for dotted in [false, true] {
                let toolset = toolset(&chosen, dotted);
                let (text, offered) = (text(toolset, true), toolset.names());
                assert!(
                    text.len() < skillbundle_format::hosts::TEXT_CHARS,
                    "{chosen}"
                );
                for word in text.split('`').skip(1).step_by(2) {
                    assert!(
                        word == "includeBody" || offered.contains(&word),
                        "{word} of {chosen}"
                    );
                }
            }
        }
    }

    #[test]
    fn before_skills_are_loaded_files_are_mentioned_without_a_tool() {
        assert!(
            text(toolset("", false), true)
                .contains("\n3. Fetch: a file that the text refers to, with the tool")
        );
    }

    #[test]
    fn skills_that_cannot_change_have_no_note_about_changes() {
        assert!(!text(toolset("all", false), false).contains("Changes to skills"));
    }
}
