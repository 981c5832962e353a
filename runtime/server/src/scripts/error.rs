//! Why a script is not run, for the model that asked: what is wrong, and what to do.

/// Why a script is not run. One variant for each check of spec 3 §8.4, in its order.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// By the operator or by the skills themselves.
    #[error(
        "scripts are disabled; the operator or the config.yaml of the skills has set `scripts.enabled` to false"
    )]
    Disabled,
    /// There is no such skill.
    #[error("skill not found: {0}")]
    NoSkill(String),
    /// A path that leads outside of the skill.
    #[error(
        "path traversal is not allowed: {0}; name a script relative to the skill's own directory, such as scripts/check.sh"
    )]
    Traversal(String),
    /// The file is not declared under `scripts`.
    #[error(
        "script not declared: {file} is not among the scripts of {skill} and its parents, which are {declared}"
    )]
    NotDeclared {
        /// The path of the skill.
        skill: String,
        /// What was asked for.
        file: String,
        /// The scripts that there are.
        declared: String,
    },
    /// `execution: claude`.
    #[error(
        "{0} is not for the server to run (`execution: claude`); get it with `get_asset`, and run it with your own shell"
    )]
    ForAgent(String),
    /// The skill belongs to the project.
    #[error(
        "scripts of the skill {0} are not run, because it lies inside the project; the operator can allow it with --allow-project-scripts, and you can get the script with `get_asset`"
    )]
    OfProject(String),
    /// Arguments are missing.
    #[error("missing arguments of {file}: {}", .missing.join("; "))]
    MissingArguments {
        /// The script.
        file: String,
        /// Each missing name, with its description if there is one.
        missing: Vec<String>,
    },
    /// An argument cannot be passed.
    #[error("invalid argument `{name}`: {problem}")]
    Argument {
        /// Its name.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The extension is not allowed.
    #[error(
        "{file} is not run: its extension is not among those allowed, {allowed} (`scripts.allowed_extensions`)"
    )]
    Extension {
        /// The script.
        file: String,
        /// The allowed ones.
        allowed: String,
    },
    /// The file was missing when the skills were read.
    #[error(
        "script declared but missing: {file} is declared by {skill}, but was missing when the skills were read"
    )]
    Missing {
        /// The path of the skill that declares it.
        skill: String,
        /// The script.
        file: String,
    },
    /// No command is set for the extension.
    #[error("no runner for {0}; the operator can set one with `scripts.runners`")]
    NoRunner(String),
    /// The runner is not installed. The message says how to install it.
    #[error("{0}, or let the operator name another with `scripts.runners`")]
    RunnerMissing(String),
    /// The directory may not be used.
    #[error("cannot run in {directory}: {problem}")]
    Directory {
        /// What was asked for.
        directory: String,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// The files of the skill are too large to be copied for a run.
    #[error(
        "the files of {skill} take {size} bytes, more than the {limit} that are copied for a script"
    )]
    TooLarge {
        /// The path of the skill.
        skill: String,
        /// All its files.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// Too many scripts run or wait.
    #[error("RATE_EXCEEDED: {0} scripts run and {1} wait; call again when one has ended")]
    Busy(usize, usize),
    /// The skills cannot be read.
    #[error("the skills cannot be read: {0:#}")]
    Damaged(#[from] skillbundle_format::Error),
    /// The system cannot run it.
    #[error("{0}")]
    Exec(#[from] skillbundle_exec::Error),
}

impl ScriptError {
    /// The word for programs.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Disabled => "scripts_disabled",
            Self::NoSkill(_) => "skill_not_found",
            Self::Traversal(_) => "path_traversal",
            Self::NotDeclared { .. } => "script_not_declared",
            Self::ForAgent(_) => "script_for_agent",
            Self::OfProject(_) => "script_of_project",
            Self::MissingArguments { .. } => "missing_arguments",
            Self::Argument { .. } => "invalid_argument",
            Self::Extension { .. } => "extension_not_allowed",
            Self::Missing { .. } => "script_missing",
            Self::NoRunner(_) => "no_runner",
            Self::RunnerMissing(_) => "runner_missing",
            Self::Directory { .. } => "directory_not_allowed",
            Self::TooLarge { .. } => "script_too_large",
            Self::Busy(..) => "RATE_EXCEEDED",
            Self::Damaged(_) => "skills_unavailable",
            Self::Exec(error) => match error {
                skillbundle_exec::Error::TooWeak { .. } => "isolation_too_weak",
                skillbundle_exec::Error::Unsupported(_) => "scripts_unsupported",
                skillbundle_exec::Error::DataDirectory { .. } => "data_directory_refused",
                _ => "script_not_started",
            },
        }
    }
}
