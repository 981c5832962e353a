//! What `--json` prints: one envelope around a body per command. These structs
//! are the interface that `docs/json.md` describes; a field name has one type
//! in every command, and changing one raises [`VERSION`].

#[cfg(feature = "compile")]
mod authoring;
#[cfg(feature = "compile")]
mod check;
#[cfg(feature = "compile")]
mod comparison;
#[cfg(feature = "compile")]
mod evaluation;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use serde::Serialize;
use serde_json::{Map, Value};
use skillbundle_format::{Bundle, Catalog, SETTINGS, Setting, Settings, hex};

use crate::embedded;
#[cfg(feature = "compile")]
pub(crate) use authoring::{Compilation, NewSkill};
#[cfg(feature = "compile")]
pub(crate) use check::{Check, CheckPolicy, Explanation, NotFixed, Rule};
#[cfg(feature = "compile")]
pub(crate) use comparison::Comparison;
#[cfg(feature = "compile")]
pub(crate) use evaluation::{Confusion, Evaluation, FailedRequest, SkillTally, Thin};

/// Version of the interface: raised when a field is renamed, removed or
/// changes its meaning or type; new fields do not raise it.
const VERSION: u32 = 1;

/// What every document starts with.
#[derive(Serialize)]
pub(crate) struct Envelope<Body> {
    version: u32,
    command: Option<String>,
    #[serde(flatten)]
    body: Body,
}

impl<Body> Envelope<Body> {
    /// The document of this command.
    pub(crate) fn new(command: &str, body: Body) -> Self {
        Self::of(Some(command.to_owned()), body)
    }

    /// The document of a command line that may name no command.
    pub(crate) fn of(command: Option<String>, body: Body) -> Self {
        Self {
            version: VERSION,
            command,
            body,
        }
    }
}

/// The body of a command that failed.
#[derive(Serialize)]
pub(crate) struct Failed {
    pub(crate) error: Error,
}

/// An error: what is wrong, and what to do.
#[derive(Serialize)]
pub(crate) struct Error {
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

/// The body of `--version`.
#[derive(Serialize)]
pub(crate) struct BuildInfo {
    pub(crate) program_version: &'static str,
    pub(crate) format_version: u32,
    pub(crate) features: Vec<&'static str>,
    embedded: Embedded,
}

#[derive(Serialize)]
struct Embedded {
    address: String,
    skill_count: usize,
}

/// The body of `list`.
#[derive(Serialize)]
pub(crate) struct List<'a> {
    pub(crate) roots: Vec<Root<'a>>,
    pub(crate) skills: Vec<Listed<'a>>,
}

/// A skill of `list`.
#[derive(Serialize)]
pub(crate) struct Listed<'a> {
    #[serde(flatten)]
    skill: Skill<'a>,
    location: Option<PathBuf>,
    shadowed_by: Option<&'a str>,
    hides: Vec<&'a str>,
    audience: &'static str,
}

/// The body of `roots`.
#[derive(Serialize)]
pub(crate) struct Roots<'a> {
    pub(crate) roots: Vec<RootStatus<'a>>,
}

/// A root, and what was found there.
#[derive(Serialize)]
pub(crate) struct RootStatus<'a> {
    pub(crate) label: &'a str,
    pub(crate) scope: &'static str,
    pub(crate) directory: Option<String>,
    pub(crate) state: &'static str,
    pub(crate) skill_count: usize,
    pub(crate) read_by: &'static str,
}

/// A skill in a list.
#[derive(Serialize)]
pub(crate) struct Skill<'a> {
    path: &'a str,
    name: &'a str,
    description: &'a str,
    dialect: &'static str,
    scope: &'static str,
    root: &'a str,
    file: &'a str,
}

/// The body of `show` and of `inspect --skill`.
#[derive(Serialize)]
pub(crate) struct SkillDetails<'a> {
    #[serde(flatten)]
    skill: Skill<'a>,
    is_of_project: bool,
    uri: Option<&'a str>,
    priority: f64,
    inherit: bool,
    chain: Vec<&'a str>,
    keywords: Vec<&'a str>,
    sha256: String,
    bytes: usize,
    frontmatter: Value,
    contract: Option<Value>,
    files: Vec<File<'a>>,
    inherited_files: Vec<InheritedFile<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
}

#[derive(Serialize)]
struct File<'a> {
    path: &'a str,
    role: &'static str,
    kind: &'a str,
    description: &'a str,
    execution: &'static str,
    executable: bool,
    mime: &'a str,
    is_text: bool,
    bytes: Option<u64>,
    sha256: Option<String>,
    missing: bool,
    args: Vec<Arg<'a>>,
}

#[derive(Serialize)]
struct Arg<'a> {
    name: &'a str,
    description: &'a str,
    required: bool,
    default: Option<&'a str>,
}

#[derive(Serialize)]
struct InheritedFile<'a> {
    path: &'a str,
    from: &'a str,
}

/// The body of `search`.
#[derive(Serialize)]
pub(crate) struct Search<'a> {
    pub(crate) query: &'a str,
    pub(crate) total: usize,
    pub(crate) offset: usize,
    #[serde(rename = "match")]
    pub(crate) matched: &'static str,
    pub(crate) skills: Vec<Hit<'a>>,
}

/// A skill that a search found.
#[derive(Serialize)]
pub(crate) struct Hit<'a> {
    #[serde(flatten)]
    pub(crate) skill: Skill<'a>,
    pub(crate) score: Value,
    pub(crate) excerpt: &'a str,
}

/// The body of `route`.
#[derive(Serialize)]
pub(crate) struct Route<'a> {
    pub(crate) request: &'a str,
    pub(crate) decision: &'static str,
    pub(crate) decided: usize,
    pub(crate) ranker: &'static str,
    pub(crate) forbidden: Vec<&'a str>,
    pub(crate) routing: Routing<'a>,
    pub(crate) skills: Vec<Candidate<'a>>,
}

/// What the decision needed, and what it had.
#[derive(Serialize)]
pub(crate) struct Routing<'a> {
    pub(crate) terms: &'a [String],
    pub(crate) near: &'a [[String; 2]],
    pub(crate) confidence: f64,
    pub(crate) min_confidence: f64,
    pub(crate) margin: f64,
    pub(crate) min_margin: f64,
    pub(crate) min_score: f64,
    pub(crate) ambiguity_threshold: f64,
}

/// A skill that has something in common with a request.
#[derive(Serialize)]
pub(crate) struct Candidate<'a> {
    #[serde(flatten)]
    pub(crate) skill: Skill<'a>,
    pub(crate) score: f64,
    pub(crate) below_threshold: bool,
    pub(crate) ranker: &'static str,
    pub(crate) matched_keywords: Vec<String>,
    pub(crate) why: CandidateExplanation<'a>,
}

/// What made a candidate's score.
#[derive(Serialize)]
pub(crate) struct CandidateExplanation<'a> {
    pub(crate) matches: Vec<TermScore<'a>>,
    pub(crate) pairs: Vec<PairScore<'a>>,
    pub(crate) name_share: f64,
    pub(crate) name_score: f64,
    pub(crate) named: bool,
}

#[derive(Serialize)]
pub(crate) struct TermScore<'a> {
    pub(crate) term: &'a str,
    pub(crate) score: f64,
    pub(crate) fields: &'a [&'static str],
}

#[derive(Serialize)]
pub(crate) struct PairScore<'a> {
    pub(crate) terms: &'a [String],
    pub(crate) score: f64,
}

/// The body of `inspect`.
#[derive(Serialize)]
pub(crate) struct Inspection<'a> {
    pub(crate) origin: &'a str,
    pub(crate) storage: &'static str,
    pub(crate) address: String,
    pub(crate) bytes: u64,
    pub(crate) skill_count: usize,
    pub(crate) file_count: u64,
    pub(crate) file_bytes: u64,
    pub(crate) sections: Vec<Section>,
    pub(crate) settings: Map<String, Value>,
    pub(crate) roots: Vec<Root<'a>>,
    pub(crate) skills: Vec<Skill<'a>>,
}

#[derive(Serialize)]
pub(crate) struct Section {
    pub(crate) name: &'static str,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

#[derive(Serialize)]
pub(crate) struct Root<'a> {
    pub(crate) label: &'a str,
    pub(crate) scope: &'static str,
    pub(crate) commit: Option<&'a str>,
}

/// The body of `inspect --host`.
#[derive(Serialize)]
pub(crate) struct HostInspection<'a> {
    pub(crate) host: &'static str,
    pub(crate) title: &'static str,
    pub(crate) server: &'a str,
    pub(crate) name_form: &'static str,
    pub(crate) name_form_source: &'static str,
    pub(crate) name_form_second_hand: bool,
    pub(crate) note: &'static str,
    pub(crate) bytes: usize,
    pub(crate) estimated_tokens: usize,
    pub(crate) instructions_size: TextSize,
    pub(crate) tools: Vec<HostTool<'a>>,
    pub(crate) not_offered: Vec<NotOffered<'a>>,
    pub(crate) listing: Option<HostListing<'a>>,
    pub(crate) limits: Vec<HostLimitRow>,
}

/// How long a text is, and how much of it a host keeps.
#[derive(Serialize)]
pub(crate) struct TextSize {
    pub(crate) characters: usize,
    pub(crate) kept_characters: usize,
    pub(crate) bytes: usize,
    pub(crate) estimated_tokens: usize,
}

#[derive(Serialize)]
pub(crate) struct HostTool<'a> {
    pub(crate) name: &'a str,
    pub(crate) seen_as: &'a str,
    pub(crate) bytes: usize,
    pub(crate) estimated_tokens: usize,
    pub(crate) description_size: TextSize,
    pub(crate) skills_named: usize,
    pub(crate) skills_kept: usize,
    pub(crate) lost: bool,
    pub(crate) effect: Option<&'static str>,
}

#[derive(Serialize)]
pub(crate) struct NotOffered<'a> {
    pub(crate) name: &'a str,
    pub(crate) reason: &'a str,
}

#[derive(Serialize)]
pub(crate) struct HostListing<'a> {
    pub(crate) bytes: usize,
    pub(crate) kept: &'a [String],
    pub(crate) dropped: &'a [String],
    pub(crate) unpublished: &'a [String],
}

#[derive(Serialize)]
pub(crate) struct HostLimitRow {
    pub(crate) what: &'static str,
    pub(crate) limit: String,
    pub(crate) source: &'static str,
    pub(crate) second_hand: bool,
}

/// The body of `verify`.
#[derive(Serialize)]
pub(crate) struct Verification<'a> {
    pub(crate) origin: &'a str,
    pub(crate) intact: bool,
    #[serde(flatten)]
    pub(crate) outcome: Verified,
}

/// What was verified, or what is wrong.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum Verified {
    Intact {
        address: String,
        bytes: u64,
        skill_count: usize,
        file_count: usize,
        content_count: usize,
    },
    Damaged {
        error: Error,
    },
}

impl BuildInfo {
    /// What this build is.
    pub(crate) fn new() -> Result<Self> {
        let bundle = embedded::bundle()?;
        let features = [
            ("analytics", cfg!(feature = "analytics")),
            ("compile", cfg!(feature = "compile")),
            ("http", cfg!(feature = "http")),
            ("postgres", cfg!(feature = "postgres")),
            ("sqlite", cfg!(feature = "sqlite")),
            ("watch", cfg!(feature = "watch")),
        ];
        Ok(Self {
            program_version: env!("CARGO_PKG_VERSION"),
            format_version: skillbundle_format::FORMAT_VERSION,
            features: features
                .into_iter()
                .filter_map(|(name, is_on)| is_on.then_some(name))
                .collect(),
            embedded: Embedded {
                address: address(&bundle),
                skill_count: bundle.catalog()?.len(),
            },
        })
    }
}

impl<'a> From<&skillbundle_format::Skill<'a>> for Skill<'a> {
    fn from(skill: &skillbundle_format::Skill<'a>) -> Self {
        Self {
            path: skill.path,
            name: skill.name,
            description: skill.description,
            dialect: skill.dialect.as_str(),
            scope: skill.scope.as_str(),
            root: skill.root_label,
            file: skill.file_path,
        }
    }
}

impl<'a> Listed<'a> {
    /// A skill whose file on disk is at `location`.
    pub(crate) fn new(
        skill: &skillbundle_format::Skill<'a>,
        location: Option<PathBuf>,
        hidden: &BTreeMap<u32, Vec<skillbundle_format::Skill<'a>>>,
    ) -> Result<Self> {
        let hides = hidden.get(&skill.id).into_iter().flatten();
        Ok(Self {
            skill: skill.into(),
            location,
            shadowed_by: skill.shadowed_by()?.map(|winner| winner.path),
            hides: hides.map(|hidden| hidden.path).collect(),
            audience: skill.audience().as_str(),
        })
    }
}

impl<'a> SkillDetails<'a> {
    /// Everything about a skill but its text.
    pub(crate) fn new(skill: &skillbundle_format::Skill<'a>, is_of_project: bool) -> Result<Self> {
        let inherited = skill.inherited_files()?.into_iter();
        let inherited = inherited.map(|(file, from)| InheritedFile {
            path: file.path,
            from: from.path,
        });
        let files = skill.files()?;
        Ok(Self {
            skill: skill.into(),
            is_of_project,
            uri: skill.published()?.map(|published| published.uri),
            priority: skill.priority,
            inherit: skill.inherit,
            chain: skill.chain()?.iter().map(|link| link.path).collect(),
            keywords: skill.keywords()?,
            sha256: hex(&skill.digest()?),
            bytes: skill.source()?.len(),
            contract: skill.contract()?.map(|it| it.to_json()),
            frontmatter: serde_json::from_str(skill.frontmatter_json()?)?,
            files: files.iter().map(File::new).collect::<Result<_>>()?,
            inherited_files: inherited.collect(),
            text: None,
        })
    }
}

impl<'a> File<'a> {
    fn new(file: &skillbundle_format::File<'a>) -> Result<Self> {
        let args = file.args()?.into_iter().map(|arg| Arg {
            name: arg.name,
            description: arg.description,
            required: arg.required,
            default: arg.default,
        });
        Ok(Self {
            path: file.path,
            role: role(file),
            kind: file.kind,
            description: file.description,
            execution: file.execution.as_str(),
            executable: file.executable,
            mime: file.mime,
            is_text: file.is_text,
            bytes: file.size,
            sha256: file.digest().map(|digest| hex(&digest)),
            missing: file.size.is_none(),
            args: args.collect(),
        })
    }
}

/// The skills that people are shown, in listing order.
pub(crate) fn skills<'a>(catalog: &Catalog<'a>) -> Result<Vec<Skill<'a>>> {
    let skills = super::list::skills(catalog, false)?;
    Ok(skills.iter().map(Skill::from).collect())
}

/// The roots of a bundle.
pub(crate) fn roots<'a>(catalog: &Catalog<'a>) -> Result<Vec<Root<'a>>> {
    let root = |root: skillbundle_format::Root<'a>| Root {
        label: root.label,
        scope: root.scope.as_str(),
        commit: root.commit,
    };
    Ok(catalog.roots()?.into_iter().map(root).collect())
}

/// The content address as it is written everywhere.
pub(crate) fn address(bundle: &Bundle) -> String {
    sha256(&bundle.content_hex())
}

/// A digest in hexadecimal with its algorithm.
pub(crate) fn sha256(hex: &str) -> String {
    format!("sha256:{hex}")
}

/// `file`, `asset` or `script`.
pub(crate) const fn role(file: &skillbundle_format::File<'_>) -> &'static str {
    use skillbundle_format::Role;
    match file.role {
        Role::File => "file",
        Role::Asset => "asset",
        Role::Script => "script",
    }
}

/// The settings that a bundle carries, under their names in `config.yaml`.
pub(crate) fn settings(settings: &Settings) -> impl Iterator<Item = (String, Value)> {
    let value = |it: &Setting| Some((it.name(), it.value(settings)?));
    SETTINGS.iter().filter_map(value)
}
