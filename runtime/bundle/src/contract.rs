//! What a skill promises as a typed capability: its contract (spec 5), and the fixed tables that
//! contracts refer to. Schemas are text here; `skillbundle-schema` knows what they mean.

use std::time::Duration;

use serde_json::{Value, json};

use crate::catalog::Catalog;
use crate::error::{Error, corrupt};
use crate::schema::{ArchivedContractRow, NONE};
use crate::skill::Skill;

/// Characters of the name of a skill with a contract.
pub const MAX_CONTRACT_NAME: usize = 64;
/// Characters of its description.
pub const MAX_CONTRACT_DESCRIPTION: usize = 500;
/// Characters of the name of an agent.
pub(crate) const MAX_AGENT_NAME: usize = 64;
/// Seconds that a handler may take if its contract says nothing.
pub const DEFAULT_TIMEOUT_SECONDS: u32 = 30;
/// The least and the most that a contract can say.
pub const TIMEOUT_SECONDS: std::ops::RangeInclusive<u32> = 1..=300;

/// Defines an enum of words with `ALL`, `as_str` and `find`.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident $word:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$vmeta])* $variant,)* }

        impl $name {
            /// All of them, in the order of the specification.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The word used in contracts and on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The one with this word.
            pub fn find(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|it| it.as_str() == word)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words! {
    /// What a skill is for (`SkillCategory`).
    Category {
        /// Coordinates others.
        Orchestration "orchestration",
        /// Proves who somebody is.
        Authentication "authentication",
        /// Works on tasks.
        TaskManagement "task_management",
        /// Works on users.
        UserManagement "user_management",
        /// Asks a model.
        Ai "ai",
        /// Plans.
        Planning "planning",
        /// Carries out.
        Execution "execution",
    }
}

words! {
    /// Why an invocation failed (`FailureCode`).
    FailureCode {
        /// The input is not what the contract asks for.
        ValidationError "VALIDATION_ERROR",
        /// Something does not exist.
        NotFound "NOT_FOUND",
        /// The agent or the user may not do this.
        Unauthorized "UNAUTHORIZED",
        /// Too much at one time.
        RateExceeded "RATE_EXCEEDED",
        /// It took too long.
        Timeout "TIMEOUT",
        /// Storage failed.
        PersistenceError "PERSISTENCE_ERROR",
        /// Another service failed.
        ExternalServiceError "EXTERNAL_SERVICE_ERROR",
        /// Everything else.
        InternalError "INTERNAL_ERROR",
    }
}

words! {
    /// Whether trying again can help.
    FailureSeverity {
        /// It can, after the suggested action.
        Recoverable "recoverable",
        /// It cannot.
        Fatal "fatal",
    }
}

/// How a failure is reported: a row of the table of the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailureMode {
    /// The failure.
    pub code: FailureCode,
    /// The message, with at most one name in braces.
    pub template: &'static str,
    /// Whether trying again can help.
    pub severity: FailureSeverity,
    /// What to do.
    pub suggested_action: &'static str,
}

#[rustfmt::skip]
static FAILURE_MODES: [FailureMode; 8] = [
    mode(FailureCode::ValidationError, "Input validation failed: {details}", FailureSeverity::Recoverable, "Fix input and retry"),
    mode(FailureCode::NotFound, "Resource not found: {resource}", FailureSeverity::Recoverable, "Verify resource exists before operation"),
    mode(FailureCode::Unauthorized, "Access denied: {reason}", FailureSeverity::Fatal, "Check permissions or re-authenticate"),
    mode(FailureCode::RateExceeded, "Rate limit exceeded. Retry after {retry_after}s", FailureSeverity::Recoverable, "Wait and retry with backoff"),
    mode(FailureCode::Timeout, "Operation timed out after {timeout}s", FailureSeverity::Recoverable, "Retry or increase timeout"),
    mode(FailureCode::PersistenceError, "Database operation failed", FailureSeverity::Recoverable, "Retry operation"),
    mode(FailureCode::ExternalServiceError, "External service unavailable", FailureSeverity::Recoverable, "Service degradation active; retry later"),
    mode(FailureCode::InternalError, "An unexpected error occurred", FailureSeverity::Fatal, "Contact support with correlation ID"),
];

const fn mode(
    code: FailureCode,
    template: &'static str,
    severity: FailureSeverity,
    suggested_action: &'static str,
) -> FailureMode {
    FailureMode {
        code,
        template,
        severity,
        suggested_action,
    }
}

impl FailureCode {
    /// How it is reported.
    pub fn mode(self) -> &'static FailureMode {
        let mut modes = FAILURE_MODES.iter();
        modes
            .find(|it| it.code == self)
            .expect("a test finds each code in the table")
    }

    pub(crate) const fn bit(self) -> u32 {
        1 << self as u32
    }
}

impl FailureMode {
    /// The name in the braces of the template, if there is one.
    pub fn placeholder(&self) -> Option<&'static str> {
        let (_, rest) = self.template.split_once('{')?;
        rest.split_once('}').map(|(name, _)| name)
    }

    /// The message with this in place of the braces.
    pub fn message(&self, detail: &str) -> String {
        match self.placeholder() {
            Some(name) => self.template.replace(&format!("{{{name}}}"), detail),
            None => self.template.to_owned(),
        }
    }
}

/// Whether a name is one that a skill with a contract can have: `snake_case`, 1 to 64 characters,
/// `^[a-z][a-z0-9_]*$`.
pub fn is_contract_name(name: &str) -> bool {
    let is_inner = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_';
    name.len() <= MAX_CONTRACT_NAME
        && name.starts_with(|it: char| it.is_ascii_lowercase())
        && name.bytes().all(is_inner)
}

/// Whether a name is one that an agent can have: 1 to 64 characters, none of them white space or a
/// control character.
pub fn is_agent_name(name: &str) -> bool {
    let is_odd = |it: char| it.is_whitespace() || it.is_control();
    !name.is_empty() && name.chars().count() <= MAX_AGENT_NAME && !name.contains(is_odd)
}

/// The contract of a skill, as the writer takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractEntry {
    /// What the skill is for.
    pub category: Category,
    /// The agents that may invoke it; empty means every agent.
    pub assigned_to: Vec<String>,
    /// The JSON Schema of its input, as JSON.
    pub input_schema: String,
    /// The JSON Schema of its output, as JSON.
    pub output_schema: String,
    /// What holds after it has succeeded.
    pub success_criteria: Vec<String>,
    /// The failures that its handler may report.
    pub failure_modes: Vec<FailureCode>,
    /// Seconds that its handler may take.
    pub timeout_seconds: u32,
    /// The script that carries it out, a file that the skill declares or inherits; `None` if the
    /// contract only describes.
    pub handler: Option<String>,
}

/// The contract of a skill in a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contract<'a> {
    /// See [`ContractEntry`].
    pub category: Category,
    /// See [`ContractEntry`].
    pub assigned_to: Vec<&'a str>,
    /// See [`ContractEntry`].
    pub input_schema: &'a str,
    /// See [`ContractEntry`].
    pub output_schema: &'a str,
    /// See [`ContractEntry`].
    pub success_criteria: Vec<&'a str>,
    /// In the order of the specification.
    pub failure_modes: Vec<FailureCode>,
    /// Time that its handler may take.
    pub timeout: Duration,
    /// See [`ContractEntry`].
    pub handler: Option<&'a str>,
}

impl<'a> Contract<'a> {
    fn new(catalog: Catalog<'a>, row: &'a ArchivedContractRow) -> Result<Self, Error> {
        let category = Category::ALL.get(row.category.to_native() as usize);
        let modes = row.failure_modes.to_native();
        let handler = catalog.text(&row.handler)?;
        Ok(Self {
            category: *category.ok_or(corrupt("a contract has an unknown category"))?,
            assigned_to: catalog.strings(&row.assigned_to)?,
            input_schema: catalog.text(&row.input_schema)?,
            output_schema: catalog.text(&row.output_schema)?,
            success_criteria: catalog.strings(&row.success_criteria)?,
            failure_modes: FailureCode::ALL
                .iter()
                .copied()
                .filter(|it| modes & it.bit() != 0)
                .collect(),
            timeout: Duration::from_secs(row.timeout_seconds.to_native().into()),
            handler: Some(handler).filter(|it| !it.is_empty()),
        })
    }

    /// Whether an agent may invoke it.
    pub fn allows(&self, agent: &str) -> bool {
        self.assigned_to.is_empty() || self.assigned_to.contains(&agent)
    }

    /// As JSON, as a skill declares it.
    pub fn to_json(&self) -> Value {
        let schema = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        let modes = self.failure_modes.iter().map(|it| it.as_str());
        json!({
            "category": self.category.as_str(),
            "assigned_to": self.assigned_to,
            "input_schema": schema(self.input_schema),
            "output_schema": schema(self.output_schema),
            "success_criteria": self.success_criteria,
            "failure_modes": modes.collect::<Vec<_>>(),
            "timeout_seconds": self.timeout.as_secs(),
            "handler": self.handler,
        })
    }

    pub(crate) fn to_entry(&self) -> ContractEntry {
        let owned = |texts: &[&str]| texts.iter().map(|it| (*it).to_owned()).collect();
        ContractEntry {
            category: self.category,
            assigned_to: owned(&self.assigned_to),
            input_schema: self.input_schema.to_owned(),
            output_schema: self.output_schema.to_owned(),
            success_criteria: owned(&self.success_criteria),
            failure_modes: self.failure_modes.clone(),
            timeout_seconds: u32::try_from(self.timeout.as_secs()).unwrap_or(u32::MAX),
            handler: self.handler.map(str::to_owned),
        }
    }
}

impl<'a> Skill<'a> {
    /// Its contract, if it has one.
    pub fn contract(&self) -> Result<Option<Contract<'a>>, Error> {
        let id = self.row.contract.to_native();
        if id == NONE {
            return Ok(None);
        }
        let row = self
            .catalog
            .row(&self.catalog.index.contracts, id as usize)?;
        Contract::new(self.catalog, row).map(Some)
    }
}

impl<'a> Catalog<'a> {
    /// Whether any skill has a contract.
    pub fn has_contracts(&self) -> bool {
        !self.index.contracts.is_empty()
    }

    /// The offered skills that have a contract, in listing order.
    pub fn with_contracts(&self) -> impl Iterator<Item = Result<Skill<'a>, Error>> + use<'a> {
        let catalog = *self;
        let rows = 0..catalog.index.contracts.len();
        let ids = rows.map(move |at| {
            Ok::<u32, Error>(catalog.row(&catalog.index.contracts, at)?.skill.to_native())
        });
        // The order of the skills is also that of their contracts.
        ids.take_while(move |id| !matches!(id, Ok(id) if *id >= catalog.count()))
            .map(move |id| catalog.skill(id?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{set, skill};
    use crate::{Bundle, SkillSet, write};

    #[test]
    fn every_failure_has_a_row_within_the_limits_of_the_specification() {
        assert_eq!(FAILURE_MODES.len(), FailureCode::ALL.len());
        for code in FailureCode::ALL {
            let mode = code.mode();
            assert_eq!(mode.code, *code);
            assert!(mode.template.len() <= 200 && mode.suggested_action.len() <= 200);
            assert_eq!(FailureCode::find(code.as_str()), Some(*code));
        }
    }

    #[test]
    fn messages_fill_the_braces() {
        for (code, detail, message) in [
            (
                FailureCode::ValidationError,
                "title",
                "Input validation failed: title",
            ),
            (
                FailureCode::NotFound,
                "task 7",
                "Resource not found: task 7",
            ),
            (FailureCode::Unauthorized, "{x}", "Access denied: {x}"),
            (
                FailureCode::RateExceeded,
                "3",
                "Rate limit exceeded. Retry after 3s",
            ),
            (FailureCode::Timeout, "30", "Operation timed out after 30s"),
            (
                FailureCode::PersistenceError,
                "disk",
                "Database operation failed",
            ),
            (
                FailureCode::ExternalServiceError,
                "x",
                "External service unavailable",
            ),
            (
                FailureCode::InternalError,
                "secret",
                "An unexpected error occurred",
            ),
        ] {
            assert_eq!(code.mode().message(detail), message);
        }
    }

    #[test]
    fn names_are_those_of_the_specification() {
        let longest = "a".repeat(64);
        for name in ["a", "task_creation", "t2_", "a1", longest.as_str()] {
            assert!(is_contract_name(name), "{name}");
        }
        let too_long = "a".repeat(65);
        for name in [
            "",
            "A",
            "1a",
            "_a",
            "a-b",
            "a b",
            "ä",
            "aB",
            too_long.as_str(),
        ] {
            assert!(!is_contract_name(name), "{name}");
        }
        for (name, is_name) in [
            ("TaskAgent", true),
            ("a-b.c/d", true),
            ("", false),
            ("a b", false),
            ("a\n", false),
        ] {
            assert_eq!(is_agent_name(name), is_name, "{name:?}");
        }
    }

    fn contract() -> ContractEntry {
        ContractEntry {
            category: Category::Ai,
            assigned_to: vec!["B".to_owned(), "A".to_owned()],
            input_schema: r#"{"type":"object"}"#.to_owned(),
            output_schema: "true".to_owned(),
            success_criteria: vec!["It is done".to_owned()],
            failure_modes: vec![FailureCode::NotFound, FailureCode::InternalError],
            timeout_seconds: 7,
            handler: Some("run.py".to_owned()),
        }
    }

    #[test]
    fn contracts_survive_writing_and_merging() {
        let mut skills = ["a", "b", "c"].map(|path| skill(path, "x\n"));
        skills[1].contract = Some(contract());
        skills[2].contract = Some(ContractEntry {
            handler: None,
            ..contract()
        });
        let original = set(skills.into());
        let bytes = write(&original).expect("consistent");
        let bundle = Bundle::from_bytes(&bytes).expect("intact");
        bundle.verify().expect("intact");
        let catalog = bundle.catalog().expect("intact");
        let with: Vec<_> = catalog
            .with_contracts()
            .map(|it| it.expect("intact"))
            .collect();
        assert_eq!(
            with.iter().map(|it| it.path).collect::<Vec<_>>(),
            ["b", "c"]
        );
        let found = with[0].contract().expect("intact").expect("there");
        assert_eq!(found.to_entry(), contract());
        assert!(found.allows("A") && !found.allows("a"));
        assert_eq!(
            with[1].contract().expect("intact").expect("there").handler,
            None
        );
        let mut copy = SkillSet::default();
        copy.extend_from(&bundle).expect("intact");
        assert_eq!(write(&copy).expect("consistent"), bytes);
    }
}
