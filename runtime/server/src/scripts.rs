//! Which scripts of skills may be run, and with what: the checks of spec 3 §8.4 in their order, the
//! operator's decisions, and the program that comes of them. How programs run is the concern of
//! `skillbundle-exec`; the same rules hold for a call of a client and for a command in a terminal.

mod error;
mod report;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use skillbundle_exec::{
    Executor, Isolation, Limits, Program, ProgramFile, Run, Runner, prepare_data_directory,
};
use skillbundle_format::{
    Arg, Catalog, Execution, File, MAX_FILE_BYTES, Role, Settings, Skill, variable_of,
};
use skillbundle_search::suggest;

pub use error::ScriptError;
pub use report::report;
pub(crate) use report::{End, is_text, journal_entry};

/// Bytes of one argument, and of all of them together. Linux allows 128 KiB for one variable.
const ARGUMENT: usize = 32 * 1024;
const ARGUMENTS: usize = 256 * 1024;

/// Time between the request to end a script and its end (spec 3 §8.4).
const GRACE: Duration = Duration::from_secs(5);

/// The variable with the path of the data directory.
const DATA: &str = "SKILL_DATA";

/// What the operator has decided about scripts.
#[derive(Debug, Clone)]
pub struct ScriptOptions {
    /// Whether scripts of skills inside the project are run.
    pub allow_project: bool,
    /// The command for each extension with its dot, such as `.py` and `python3`.
    pub runners: Vec<(String, String)>,
    /// Directories that scripts may read and work in.
    pub directories: Vec<PathBuf>,
    /// A directory that all scripts may change, and whose path they get as `SKILL_DATA`. It is made
    /// when one is started. `None`: they keep nothing.
    pub data_directory: Option<PathBuf>,
    /// Whether scripts may use the network.
    pub network: bool,
    /// The strongest isolation that is tried.
    pub isolation: Isolation,
    /// The weakest isolation with which scripts are run.
    pub require_isolation: Isolation,
    /// Bytes of memory of one process of a script.
    pub memory_bytes: u64,
}

/// Runs scripts. Clones share the count of what runs.
#[derive(Debug, Clone)]
pub struct Scripts(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    options: ScriptOptions,
    executor: Executor,
    /// By command, those that were found.
    runners: Mutex<HashMap<String, Runner>>,
    running: Mutex<usize>,
    /// Notified whenever a script has ended.
    ended: Condvar,
}

/// What a caller asks for.
#[derive(Debug, Clone, Default)]
pub struct ScriptCall {
    /// Path or name of the skill.
    pub skill: String,
    /// The script as the skill names it.
    pub file: String,
    /// Names and values of arguments.
    pub args: Vec<(String, String)>,
    /// The directory to start in; `None` is a scratch directory.
    pub directory: Option<String>,
}

/// A script that may be run.
#[derive(Debug, Clone)]
pub struct PlannedScript {
    /// The path of the skill that was asked for.
    pub skill: String,
    /// The path of the skill that declares the script, if it is inherited.
    pub from: Option<String>,
    /// Whether the caller has given arguments, beside the defaults of others.
    pub has_arguments: bool,
    /// What will run.
    pub program: Program,
}

/// A script that runs. It is counted until it is dropped.
#[derive(Debug)]
pub struct RunningScript {
    /// The run.
    pub run: Run,
    /// Until it has ended.
    pub counted: Counted,
}

/// Counts one script.
#[derive(Debug)]
pub struct Counted(Arc<Inner>);

impl Default for ScriptOptions {
    fn default() -> Self {
        let runners = [
            (".sh", "bash"),
            (".ts", "npx tsx"),
            (".js", "node"),
            (".py", "python3"),
        ];
        Self {
            allow_project: false,
            runners: runners.map(|(a, b)| (a.to_owned(), b.to_owned())).to_vec(),
            directories: Vec::new(),
            data_directory: None,
            network: false,
            isolation: Isolation::Namespaces,
            require_isolation: Isolation::Weak,
            memory_bytes: Limits::default().memory_bytes,
        }
    }
}

impl ScriptOptions {
    /// Whether a script of these skills may be run at all. `is_of_project` tells whether a root of
    /// the catalog belongs to the project.
    pub(crate) fn allow_any(
        &self,
        catalog: Catalog<'_>,
        is_of_project: impl Fn(u32) -> bool,
    ) -> Result<bool, skillbundle_format::Error> {
        let mut roots = (0..).zip(catalog.roots()?);
        let may_run = |root| self.allow_project || !is_of_project(root);
        let has_any = roots.any(|(id, root)| root.has_server_scripts && may_run(id));
        Ok(has_any && catalog.settings()?.scripts_enabled)
    }
}

impl Scripts {
    /// Takes what the operator has decided.
    pub fn new(options: ScriptOptions) -> Self {
        let executor = Executor::new(options.isolation, options.require_isolation);
        Self(Arc::new(Inner {
            options,
            executor,
            runners: Mutex::default(),
            running: Mutex::default(),
            ended: Condvar::new(),
        }))
    }

    /// The isolation that scripts get.
    pub fn isolation(&self) -> Result<Isolation, ScriptError> {
        Ok(self.0.executor.isolation()?)
    }

    /// Checks whether a script may be run, and puts together what it needs. `is_of_project` tells
    /// whether a skill belongs to the project. This may read many bytes, and ask a runner where it
    /// is.
    pub fn plan(
        &self,
        catalog: Catalog<'_>,
        is_of_project: impl Fn(&Skill<'_>) -> bool,
        call: &ScriptCall,
    ) -> Result<PlannedScript, ScriptError> {
        let settings = catalog.settings()?;
        if !settings.scripts_enabled {
            return Err(ScriptError::Disabled);
        }
        let skill = catalog.find(&call.skill)?;
        let skill = skill.ok_or_else(|| ScriptError::NoSkill(call.skill.clone()))?;
        if leads_outside(&call.file) {
            return Err(ScriptError::Traversal(call.file.clone()));
        }
        let name = call.file.strip_prefix("./").unwrap_or(&call.file);
        let found = skill.find_file(name)?;
        let Some((file, from)) = found.filter(|(file, _)| file.role == Role::Script) else {
            return Err(ScriptError::NotDeclared {
                skill: skill.path.to_owned(),
                file: call.file.clone(),
                declared: declared(&skill)?,
            });
        };
        let owner = from.unwrap_or(skill);
        if file.execution != Execution::Server {
            return Err(ScriptError::ForAgent(file.path.to_owned()));
        }
        if is_of_project(&owner) && !self.0.options.allow_project {
            return Err(ScriptError::OfProject(owner.path.to_owned()));
        }
        let mut environment = environment(&file, &call.args)?;
        let runner = self.runner(&file, &owner, &settings)?;
        let (readable, directory) = self.directories(call.directory.as_deref())?;
        let options = &self.0.options;
        let data = options.data_directory.as_deref().map(located);
        environment.extend(data.iter().map(|it| {
            let path = it.to_string_lossy().into_owned();
            (DATA.to_owned(), path)
        }));
        Ok(PlannedScript {
            skill: skill.path.to_owned(),
            from: from.map(|it| it.path.to_owned()),
            has_arguments: !call.args.is_empty(),
            program: Program {
                runner,
                files: files(&owner)?,
                script: file.path.to_owned(),
                environment,
                stdin: None,
                readable,
                writable: data.into_iter().collect(),
                directory,
                network: options.network,
                limits: Limits {
                    time: Duration::from_secs(settings.script_timeout_seconds.into()),
                    grace: GRACE,
                    output_bytes: usize::try_from(settings.script_max_output_bytes)
                        .unwrap_or(usize::MAX),
                    memory_bytes: options.memory_bytes,
                    ..Limits::default()
                },
                streams: false,
            },
        })
    }

    /// Starts a script, and makes its data directory if it is missing. Its files are handed over,
    /// and are not in the plan any more.
    pub fn start(&self, planned: &mut PlannedScript) -> Result<RunningScript, ScriptError> {
        for directory in &planned.program.writable {
            prepare_data_directory(directory)?;
        }
        *self.running() += 1;
        let counted = Counted(Arc::clone(&self.0));
        let files = std::mem::take(&mut planned.program.files);
        let program = Program {
            files,
            ..planned.program.clone()
        };
        let run = self.0.executor.start(program)?;
        Ok(RunningScript { run, counted })
    }

    /// Waits until no script runs any more, but not longer than this.
    pub fn wait_for_all(&self, patience: Duration) {
        let running = self.running();
        let ended = self
            .0
            .ended
            .wait_timeout_while(running, patience, |it| *it > 0);
        drop(ended);
    }

    fn running(&self) -> MutexGuard<'_, usize> {
        let running = self.0.running.lock();
        running.unwrap_or_else(PoisonError::into_inner)
    }

    /// What runs files of this extension. Checks, in the order of the specification, the extension,
    /// the file, and the runner.
    fn runner(
        &self,
        file: &File<'_>,
        owner: &Skill<'_>,
        settings: &Settings,
    ) -> Result<Runner, ScriptError> {
        let extension = extension(file.path);
        let mut allowed = settings.script_extensions.iter();
        if !allowed.any(|it| it.eq_ignore_ascii_case(&extension)) {
            return Err(ScriptError::Extension {
                file: file.path.to_owned(),
                allowed: settings.script_extensions.join(", "),
            });
        }
        if file.size.is_none() || file.is_unread() {
            return Err(ScriptError::Missing {
                skill: owner.path.to_owned(),
                file: file.path.to_owned(),
            });
        }
        let runners = self.0.options.runners.iter();
        let mut runners = runners.filter(|it| it.0.eq_ignore_ascii_case(&extension));
        let (_, command) = runners.next().ok_or(ScriptError::NoRunner(extension))?;
        let found = self.0.runners.lock();
        let mut found = found.unwrap_or_else(PoisonError::into_inner);
        if let Some(runner) = found.get(command) {
            return Ok(runner.clone());
        }
        let runner =
            Runner::find(command).map_err(|error| ScriptError::RunnerMissing(error.to_string()))?;
        found.insert(command.clone(), runner.clone());
        Ok(runner)
    }

    /// The directories that scripts may read, without links, and the one to start in.
    fn directories(
        &self,
        wanted: Option<&str>,
    ) -> Result<(Vec<PathBuf>, Option<PathBuf>), ScriptError> {
        let allowed = self.0.options.directories.iter();
        // One that does not exist now may do so later.
        let allowed: Vec<PathBuf> = allowed.filter_map(|it| it.canonicalize().ok()).collect();
        let Some(wanted) = wanted else {
            return Ok((allowed, None));
        };
        let refused = |problem: String| ScriptError::Directory {
            directory: wanted.to_owned(),
            problem,
        };
        let Some(first) = allowed.first() else {
            let problem = "the operator has opened no directory to scripts (`scripts.directories`); leave `cwd` out to run in a scratch directory";
            return Err(refused(problem.to_owned()));
        };
        let found = first.join(wanted).canonicalize();
        let found = found
            .ok()
            .filter(|it| allowed.iter().any(|root| it.starts_with(root)));
        let Some(directory) = found.filter(|it| it.is_dir()) else {
            let allowed = allowed.iter().map(|it| it.display().to_string());
            let allowed = allowed.collect::<Vec<_>>().join(", ");
            let problem = format!("it is no directory in {allowed} (`scripts.directories`)");
            return Err(refused(problem));
        };
        Ok((allowed, Some(directory)))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let running = self.0.running.lock();
        *running.unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.ended.notify_all();
    }
}

/// Where a data directory lies, whether it is there or not: without links, but for one in its place,
/// which is refused when a script is started.
fn located(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let parent = absolute.parent().and_then(|it| it.canonicalize().ok());
    match parent.zip(absolute.file_name()) {
        Some((parent, name)) => parent.join(name),
        None => absolute,
    }
}

/// Whether a file name tries to leave the skill (spec 3 §12.1). No such name could be found anyway;
/// the caller should know why.
pub(crate) fn leads_outside(name: &str) -> bool {
    let drive = name.as_bytes().get(1) == Some(&b':') && name.as_bytes()[0].is_ascii_alphabetic();
    drive
        || name.starts_with('/')
        || name.contains(['\\', '\0'])
        || name.split('/').any(|part| part == "..")
}

/// The extension in lower case, with its dot; empty if there is none.
pub fn extension(path: &str) -> String {
    let extension = Path::new(path).extension().and_then(|it| it.to_str());
    extension.map_or_else(String::new, |it| format!(".{}", it.to_ascii_lowercase()))
}

/// The scripts of a skill and of those that it inherits from, for a message.
fn declared(skill: &Skill<'_>) -> Result<String, skillbundle_format::Error> {
    let inherited = if skill.inherit {
        skill.inherited_files()?
    } else {
        Vec::new()
    };
    let inherited = inherited.into_iter().map(|(file, _)| file);
    let all = skill.files()?.into_iter().chain(inherited);
    let scripts = all.filter(|it| it.role == Role::Script);
    let scripts: Vec<&str> = scripts.map(|it| it.path).collect();
    Ok(if scripts.is_empty() {
        "none".to_owned()
    } else {
        scripts.join(", ")
    })
}

/// The variables that pass the arguments to a script: those given, and the defaults of others.
fn environment(
    file: &File<'_>,
    given: &[(String, String)],
) -> Result<Vec<(String, String)>, ScriptError> {
    let declared = file.args()?;
    let wrong = |name: &str, problem: String| ScriptError::Argument {
        name: name.to_owned(),
        problem,
    };
    let mut environment: Vec<(String, String)> = Vec::new();
    let mut total = 0;
    for (name, value) in given {
        if !declared.is_empty() && !declared.iter().any(|it| it.name == name) {
            return Err(wrong(name, unknown(name, &declared)));
        }
        let variable = variable_of(name).ok_or_else(|| {
            let problem = "a name has ASCII letters, digits, `-` and `_` only";
            wrong(name, problem.to_owned())
        })?;
        if environment.iter().any(|it| it.0 == variable) {
            let problem = format!("another argument becomes the same variable, {variable}");
            return Err(wrong(name, problem));
        }
        if value.contains('\0') {
            return Err(wrong(name, "no value can have a NUL character".to_owned()));
        }
        total += value.len();
        if value.len() > ARGUMENT || total > ARGUMENTS {
            let problem = format!(
                "a value can have {ARGUMENT} bytes, and all together {ARGUMENTS}; found {}",
                value.len()
            );
            return Err(wrong(name, problem));
        }
        environment.push((variable, value.clone()));
    }
    let is_given = |arg: &&Arg<'_>| given.iter().any(|it| it.0 == arg.name);
    let others: Vec<_> = declared.iter().filter(|arg| !is_given(arg)).collect();
    let missing = others
        .iter()
        .filter(|it| it.required && it.default.is_none());
    let missing = missing.map(|arg| match arg.description {
        "" => arg.name.to_owned(),
        description => format!("{} ({description})", arg.name),
    });
    let missing: Vec<String> = missing.collect();
    if !missing.is_empty() {
        return Err(ScriptError::MissingArguments {
            file: file.path.to_owned(),
            missing,
        });
    }
    let defaults = others
        .iter()
        .filter_map(|it| Some((variable_of(it.name)?, it.default?.to_owned())));
    environment.extend(defaults);
    Ok(environment)
}

fn unknown(name: &str, declared: &[Arg<'_>]) -> String {
    let names = declared.iter().map(|it| it.name);
    let all = names.clone().collect::<Vec<_>>().join(", ");
    match suggest(name, names) {
        Some(meant) => format!("the script has none of this name; did you mean `{meant}`?"),
        None => format!("the script has none of this name; it has {all}"),
    }
}

/// All files of the skill that declares a script, so that it finds what lies beside it.
fn files(owner: &Skill<'_>) -> Result<Vec<ProgramFile>, ScriptError> {
    let files = owner.files()?;
    let size = files.iter().filter_map(|it| it.size).sum();
    if size > MAX_FILE_BYTES {
        return Err(ScriptError::TooLarge {
            skill: owner.path.to_owned(),
            size,
            limit: MAX_FILE_BYTES,
        });
    }
    let mut copied = Vec::new();
    for file in files {
        if let Some(bytes) = file.bytes()? {
            copied.push(ProgramFile {
                path: file.path.to_owned(),
                bytes: bytes.into_owned(),
            });
        }
    }
    Ok(copied)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_outside_are_recognised() {
        for name in [
            "../x",
            "a/../x",
            "..",
            "a/..",
            "/etc/passwd",
            "a\\b",
            "..\\x",
            "C:\\x",
            "c:x",
            "a\0b",
            "//host/x",
        ] {
            assert!(leads_outside(name), "{name:?}");
        }
        for name in [
            "a", "a/b.txt", "..a", "a..b", "a/...", ".hidden", "./a", "%2e%2e/x", "1:x", "ü:x",
        ] {
            assert!(!leads_outside(name), "{name:?}");
        }
    }
}
