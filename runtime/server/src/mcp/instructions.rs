//! The instructions for the server as a whole: how to get from a task to the skill that helps with
//! it, with the tools that are offered and no others. The first line says it all, since Codex shows
//! a model no more than its first 250 characters; no host cuts what is shorter than
//! [`TEXT_CHARS`](skillbundle_format::hosts::TEXT_CHARS).

use super::toolset::ToolSet;

const HEAD: &str = "Skills are instructions, scripts and files for particular tasks. \
                    Before you start a task, find a skill that fits";

/// Ways to a skill's text, the best first: only one is named.
const LOAD: [(&str, &str); 3] = [
    ("skill", "Load it with `{}` (its name) and follow it"),
    ("get_skill", "Follow the text that `{}` returns"),
    (
        "skills_list",
        "Follow the text that `{}` with `includeBody` returns",
    ),
];

/// How to get from a task to what is needed for it.
pub(crate) fn text(toolset: ToolSet, can_change: bool) -> String {
    let load = LOAD
        .iter()
        .find_map(|(tool, how)| Some(how.replace("{}", toolset.name(tool)?)));
    let load = load.map_or_else(String::new, |load| format!(" {load}."));
    let first = format!("{HEAD}{}.{load}", find(toolset));
    let changes = can_change.then(|| changes(toolset)).flatten();
    let lines = [Some(first), fetch(toolset), changes];
    lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// The tools that find a skill, or where it is listed.
fn find(toolset: ToolSet) -> String {
    let finders = toolset.finders();
    match toolset.name("skill") {
        _ if !finders.is_empty() => format!(": {finders}"),
        Some(skill) => format!(" in the description of `{skill}`"),
        None => String::new(),
    }
}

fn fetch(toolset: ToolSet) -> Option<String> {
    let tool = match toolset.name("get_asset") {
        Some(tool) => format!("`{tool}`"),
        // Skills are not loaded yet, and may have no files.
        None if toolset.is_unsure_of("get_asset") => "the tool for files".to_owned(),
        None => return None,
    };
    Some(format!("Fetch a file that a text refers to with {tool}."))
}

fn changes(toolset: ToolSet) -> Option<String> {
    let refresh = toolset.name("refresh_skills")?;
    Some(format!(
        "Changes to skills are picked up before every call; `{refresh}` forces a reload."
    ))
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
            runs_scripts: None,
            room: 0,
        };
        ToolSet::new(tools, &context, dotted)
    }

    #[test]
    fn each_preset_has_its_own_way_from_a_task_to_a_text() {
        for (tools, expected) in [
            (
                "router",
                ": `get_skill` (the task in words) or `list_skills` (all). Follow the text that `get_skill` returns.\n\
                 Fetch a file that a text refers to with `get_asset`.\n\
                 Changes to skills are picked up before every call; `refresh_skills` forces a reload.",
            ),
            (
                "loader",
                " in the description of `skill`. Load it with `skill` (its name) and follow it.",
            ),
            (
                "catalog",
                ": `skills_search` (words) or `skills_list` (all). Follow the text that `skills_list` with `includeBody` returns.",
            ),
            (
                "",
                ": `get_skill` (the task in words) or `skills_search` (words). Load it with `skill` (its name) and follow it.\n\
                 Fetch a file that a text refers to with the tool for files.",
            ),
            (
                "refresh_skills",
                ".\nChanges to skills are picked up before every call; `refresh_skills` forces a reload.",
            ),
        ] {
            assert_eq!(
                text(toolset(tools, false), true),
                format!("{HEAD}{expected}"),
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
    fn by_default_the_first_line_is_short_enough_to_stand_alone() {
        let text = text(toolset("", false), true);
        assert!(text.lines().next().is_some_and(|line| line.len() <= 250));
    }

    #[test]
    fn skills_that_cannot_change_have_no_note_about_changes() {
        assert!(!text(toolset("all", false), false).contains("Changes to skills"));
    }
}
