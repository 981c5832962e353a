//! Which tools a client is offered: those that the operator named, or the few that find, load and
//! read skills, as far as they can do something with the current ones. The tools themselves are in
//! `tools`.

use std::str::FromStr;

use skillbundle_format::Catalog;
use skillbundle_search::suggest;

use super::tools::{TOOLS, ToolDefinition};
use crate::Options;
use crate::error::Error;

/// Names for several tools: one for each spec that has tools.
const PRESETS: &[(&str, &[&str])] = &[
    (
        "router",
        &[
            "get_skill",
            "list_skills",
            "get_asset",
            "run_script",
            "report_usage",
            "refresh_skills",
        ],
    ),
    ("loader", &["skill"]),
    ("catalog", &["skills_list", "skills_search"]),
    ("invoker", &["skill", "invoke_skill"]),
];

/// The preset of every tool, useful or not.
const ALL: &str = "all";

/// Tools that lead to a skill, the best first, and what each takes or shows.
const FINDERS: [(&str, &str); 4] = [
    ("get_skill", "the task in words"),
    ("skills_search", "words"),
    ("skills_list", "all"),
    ("list_skills", "all"),
];

/// When a tool can do nothing, so that offering it would only cost a model tokens. The others
/// always have an answer: "there are no skills" is one, and a host that ignores changes would
/// otherwise never see the tools for the first skill of an empty directory.
static UNUSED: &[Unused] = &[
    Unused {
        tool: "get_asset",
        why: "no skill has a file",
        applies: |context| context.catalog.map(|catalog| !catalog.has_files()),
    },
    Unused {
        tool: "run_script",
        why: "no skill has a script for the server, or none may be run",
        applies: |context| Some(!context.runs_scripts?),
    },
    Unused {
        tool: "invoke_skill",
        why: "no skill has a contract, or no handler may be run",
        applies: |context| Some(!context.runs_scripts? || !context.catalog?.has_contracts()),
    },
];

/// The tools that an operator chose: they are offered whatever the skills are, and no others are
/// answered. By default a few are offered and all are answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tools(Option<Set>);

/// A set of tools: a bit for each index into [`TOOLS`].
type Set = u16;

const _: () = assert!(TOOLS.len() <= Set::BITS as usize);

/// What tools have to work with.
#[derive(Clone, Copy)]
pub(crate) struct ToolContext<'a> {
    /// The skills, once they are loaded.
    pub(crate) catalog: Option<Catalog<'a>>,
    /// Whether a script of theirs may be run, once they are loaded.
    pub(crate) runs_scripts: Option<bool>,
    /// Most bytes of a description.
    pub(crate) room: usize,
}

/// The tools that are offered over some skills.
#[derive(Clone, Copy)]
pub(crate) struct ToolSet {
    offered: Set,
    /// Those of them that may turn out to be unused once skills are loaded.
    unsure: Set,
    dotted: bool,
}

struct Unused {
    tool: &'static str,
    why: &'static str,
    /// `None` while that is unknown.
    applies: fn(&ToolContext<'_>) -> Option<bool>,
}

impl Options {
    /// The tools that are offered in this context.
    pub(crate) fn toolset(&self, context: &ToolContext<'_>) -> ToolSet {
        ToolSet::new(self.tools, context, self.dotted_names)
    }
}

impl Tools {
    /// Whether a call of this tool is answered: one that the operator left out is not. An unused
    /// tool is, since a client may have seen it before a change, or may call it while skills are
    /// replaced.
    pub(crate) fn answers(self, tool: &ToolDefinition) -> bool {
        self.0.is_none_or(|named| named & bit(tool.name) != 0)
    }

    /// Tools that are not offered because they can do nothing, and why that is so.
    pub(crate) fn unused(
        self,
        context: &ToolContext<'_>,
    ) -> impl Iterator<Item = (&'static str, &'static str)> {
        let open = self.0.is_none();
        let unused = UNUSED
            .iter()
            .filter(move |unused| open && (unused.applies)(context) == Some(true));
        unused.map(|unused| (unused.tool, unused.why))
    }
}

impl FromStr for Tools {
    type Err = Error;

    /// Names of tools and presets between commas: `loader,skills_search`.
    fn from_str(typed: &str) -> Result<Self, Error> {
        let sets = typed.split(',').map(|word| named(word.trim()));
        let all = sets.reduce(|all, set| Ok(all? | set?));
        all.unwrap_or_else(|| named("")).map(Some).map(Self)
    }
}

impl ToolSet {
    pub(crate) fn new(tools: Tools, context: &ToolContext<'_>, dotted: bool) -> Self {
        let unused = |answer| {
            let rows = UNUSED.iter().filter(|row| (row.applies)(context) == answer);
            rows.map(|row| bit(row.tool)).fold(0, |set, bit| set | bit)
        };
        let (offered, unsure) = match tools.0 {
            Some(named) => (named, 0),
            None => (
                tools_that(|it| it.by_default) & !unused(Some(true)),
                unused(None),
            ),
        };
        Self {
            offered,
            unsure,
            dotted,
        }
    }

    /// The tools in the order that clients see.
    pub(crate) fn tools(self) -> impl Iterator<Item = &'static ToolDefinition> {
        let offered = move |tool: &&ToolDefinition| self.offered & bit(tool.name) != 0;
        TOOLS.iter().filter(offered)
    }

    /// Their names as they are published.
    pub(crate) fn names(self) -> Vec<&'static str> {
        self.tools()
            .map(|tool| tool.published(self.dotted))
            .collect()
    }

    /// The published name of a tool that is sure to be offered.
    pub(crate) fn name(self, tool: &str) -> Option<&'static str> {
        let sure = self.offered & !self.unsure & bit(tool) != 0;
        let tool = TOOLS.iter().find(|known| sure && known.name == tool)?;
        Some(tool.published(self.dotted))
    }

    /// The published name of the first of some tools that is offered.
    pub(crate) fn first(self, tools: &[&str]) -> Option<&'static str> {
        tools.iter().find_map(|tool| self.name(tool))
    }

    /// The tools that lead to a skill, in words; empty if none is offered.
    pub(crate) fn finders(self) -> String {
        let offered = FINDERS.iter();
        let offered =
            offered.filter_map(|(tool, what)| Some(format!("`{}` ({what})", self.name(tool)?)));
        offered.collect::<Vec<_>>().join(" or ")
    }

    /// The best of them.
    pub(crate) fn finder(self) -> Option<&'static str> {
        self.first(&FINDERS.map(|(tool, _)| tool))
    }

    /// Whether a tool may or may not be there when skills are loaded.
    pub(crate) fn is_unsure_of(self, tool: &str) -> bool {
        self.unsure & bit(tool) != 0
    }
}

/// The bit of the tool of this name, or 0 if there is none.
fn bit(name: &str) -> Set {
    let index = TOOLS.iter().position(|tool| tool.name == name);
    index.map_or(0, |index| 1 << index)
}

/// The tools that a predicate chooses.
fn tools_that(is_chosen: impl Fn(&ToolDefinition) -> bool) -> Set {
    let tools = TOOLS.iter().filter(|tool| is_chosen(tool));
    tools.fold(0, |set, tool| set | bit(tool.name))
}

/// The tools that one word names.
fn named(word: &str) -> Result<Set, Error> {
    if word == ALL {
        return Ok(tools_that(|_| true));
    }
    if let Some((_, tools)) = PRESETS.iter().find(|(preset, _)| *preset == word) {
        return Ok(tools
            .iter()
            .map(|tool| bit(tool))
            .fold(0, |set, bit| set | bit));
    }
    super::tools::find(word)
        .map(|tool| bit(tool.name))
        .ok_or_else(|| unknown(word))
}

/// The error for a word that names nothing: it lists what there is.
fn unknown(word: &str) -> Error {
    let tools: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
    let presets: Vec<&str> = PRESETS.iter().map(|(name, _)| *name).chain([ALL]).collect();
    let known = tools.iter().chain(&presets).copied();
    let suggestion =
        suggest(word, known).map_or_else(String::new, |name| format!("did you mean `{name}`? "));
    Error::UnknownTool(format!(
        "no tool or preset `{word}`; {suggestion}tools: {}; presets: {}",
        tools.join(", "),
        presets.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use skillbundle_format::{Bundle, write};

    use super::*;
    use crate::testing::{spec_folders, spec_tree};

    fn names(tools: Tools, context: &ToolContext<'_>) -> String {
        let names = ToolSet::new(tools, context, false).names();
        let shipped: Vec<_> = names.into_iter().filter(|name| *name != "panics").collect();
        shipped.join(",")
    }

    #[test]
    fn tables_name_existing_tools_and_presets_have_names_of_their_own() {
        let rows = PRESETS.iter().flat_map(|(_, tools)| *tools);
        let rows = rows.chain(FINDERS.iter().map(|(tool, _)| tool));
        for tool in rows.chain(UNUSED.iter().map(|unused| &unused.tool)) {
            assert_ne!(bit(tool), 0, "{tool}");
        }
        for preset in PRESETS.iter().map(|(name, _)| *name).chain([ALL]) {
            assert_eq!(bit(preset), 0, "{preset}");
        }
    }

    #[test]
    fn tools_and_presets_can_be_combined() {
        let nothing_known = ToolContext {
            catalog: None,
            runs_scripts: None,
            room: 0,
        };
        for (typed, expected) in [
            ("skill", "skill"),
            (
                "router",
                "get_skill,list_skills,get_asset,run_script,report_usage,refresh_skills",
            ),
            ("loader", "skill"),
            ("catalog", "skills_search,skills_list"),
            ("loader,skills_search", "skill,skills_search"),
            ("skills_search, loader ,skill", "skill,skills_search"),
            ("skills.list", "skills_list"),
            (
                "all",
                "skill,get_skill,skills_search,skills_list,list_skills,get_asset,run_script,invoke_skill,report_usage,refresh_skills",
            ),
        ] {
            let tools: Tools = typed.parse().expect(typed);
            assert_eq!(names(tools, &nothing_known), expected, "{typed}");
        }
    }

    #[test]
    fn an_unknown_tool_is_an_error_that_lists_the_known_ones() {
        for (typed, expected) in [
            (
                "skils_search",
                "no tool or preset `skils_search`; did you mean `skills_search`? tools: skill, ",
            ),
            (
                "Loader",
                "no tool or preset `Loader`; did you mean `loader`? ",
            ),
            (
                "skill,rooter",
                "no tool or preset `rooter`; did you mean `router`? ",
            ),
            ("shell", "no tool or preset `shell`; tools: skill, "),
            (
                "everything",
                "no tool or preset `everything`; tools: skill, ",
            ),
            ("", "no tool or preset ``; tools: "),
            ("skill,", "no tool or preset ``; tools: "),
        ] {
            let error = typed.parse::<Tools>().expect_err(typed).to_string();
            assert!(error.starts_with(expected), "{error}");
            assert!(error.ends_with("; presets: router, loader, catalog, invoker, all"));
        }
    }

    #[test]
    fn unless_named_a_tool_that_can_do_nothing_is_not_offered() {
        let bundle = |set| Bundle::from_bytes(&write(&set).unwrap()).unwrap();
        let (without, with) = (bundle(spec_folders()), bundle(spec_tree()));
        let always = "skill,get_skill,skills_search";
        for (bundle, more) in [(&without, ""), (&with, ",get_asset")] {
            let context = ToolContext {
                catalog: bundle.catalog().ok(),
                runs_scripts: Some(false),
                room: 0,
            };
            assert_eq!(names(Tools::default(), &context), format!("{always}{more}"));
            let named: Tools = "get_asset,refresh_skills".parse().unwrap();
            assert_eq!(names(named, &context), "get_asset,refresh_skills");
        }
    }

    #[test]
    fn before_skills_are_loaded_a_tool_may_be_listed_but_not_named() {
        let context = ToolContext {
            catalog: None,
            runs_scripts: None,
            room: 0,
        };
        let toolset = ToolSet::new(Tools::default(), &context, true);
        assert!(toolset.names().contains(&"get_asset") && toolset.is_unsure_of("get_asset"));
        assert_eq!(
            toolset.first(&["get_asset", "skills_list", "skills_search"]),
            Some("skills.search")
        );
    }
}
