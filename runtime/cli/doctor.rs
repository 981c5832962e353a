//! `skillbundle doctor`: checks everything that decides which skills a host sees, and says what to
//! do. It reads by the same steps as `serve` and changes nothing on disk.

mod hosts;
mod program;
mod scripts;
mod skills;
mod storage;

use std::env;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;
use skillbundle_format::Bundle;

use super::display::{counted, many_lines, one_line};
use super::json::{Envelope, RootStatus};
use super::output::{Output, describe, with_help};
use super::roots::places;
use crate::Exit;
use crate::config::{self, Config};
use crate::directories::{self, Examined};
use crate::embedded;
use crate::sources::{self, Selection, SkillRoot, Sources};

const EXAMPLES: &str = "\
Examples:
  skillbundle doctor                            the skills that `serve` would offer here
  skillbundle doctor --dir skills               those of a directory
  skillbundle doctor team.skb                   those of a bundle
  skillbundle doctor --json                     for a script

Checks: this program and its environment, where skills are looked for, skills that are left out
or shadowed, the cache, watching, how scripts are isolated, and which hosts have this server in their configuration.
Nothing on disk is changed, and no configured command is run. docs/doctor.md explains each check.

Exit codes: 0 nothing to do, 1 problems found, 2 could not run.";

/// Findings of one check and level that are printed; JSON has all.
const MOST_PRINTED: usize = 20;

// Arguments of `doctor`. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    sources: Sources,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What all checks look at.
struct Context<'a> {
    sources: &'a Sources,
    /// The operator's settings; an error if one is not known or of the wrong type.
    settings: Result<&'static Config>,
    /// What was named; an error if it cannot be recognised.
    selection: Result<Selection>,
    /// What `serve` would make of it; `None` if nothing could be selected.
    examined: Option<Result<Examined>>,
    /// The user's home directory.
    home: Option<PathBuf>,
}

impl Context<'_> {
    /// The roots that were looked at; none of a bundle.
    fn roots(&self) -> &[SkillRoot] {
        match &self.selection {
            Ok(Selection::Default(roots) | Selection::Roots(roots)) => roots,
            Ok(Selection::Repositories(_) | Selection::Examples | Selection::Bundle(_))
            | Err(_) => &[],
        }
    }

    /// The skills, if they could be read.
    fn examined(&self) -> Option<&Examined> {
        self.examined.as_ref()?.as_ref().ok()
    }

    /// A path for people: `~/skills`.
    fn shown(&self, path: &Path) -> String {
        let below = self.home.as_ref().and_then(|it| path.strip_prefix(it).ok());
        match below {
            Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
            Some(below) => format!("~/{}", below.display()),
            None => path.display().to_string(),
        }
    }
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    /// As it should be.
    Ok,
    /// Worth knowing.
    Info,
    /// Works, but not everywhere or not for ever.
    Warning,
    /// Does not work: the exit code is 1.
    Problem,
}

impl Level {
    /// The word in every output, and its colour (SGR).
    const fn label(self) -> (&'static str, &'static str) {
        match self {
            Self::Ok => ("ok", "32"),
            Self::Info => ("info", "36"),
            Self::Warning => ("warning", "33"),
            Self::Problem => ("problem", "1;31"),
        }
    }
}

/// What a check has found.
#[derive(Debug, Serialize)]
struct Finding {
    check: &'static str,
    level: Level,
    message: String,
    place: Option<String>,
    help: Option<String>,
    /// Whether the message is a report of ours, whose lines are printed as they are. Texts of others
    /// could fake a finding that way.
    #[serde(skip)]
    is_report: bool,
}

/// The findings of one check under construction.
struct Findings {
    check: &'static str,
    all: Vec<Finding>,
}

impl Findings {
    /// Adds a finding that asks for nothing.
    fn note(&mut self, level: Level, place: impl Into<Option<String>>, message: impl Into<String>) {
        self.all.push(Finding {
            check: self.check,
            level,
            message: message.into(),
            place: place.into(),
            help: None,
            is_report: false,
        });
    }

    /// Adds a finding with what to do about it.
    fn add(
        &mut self,
        level: Level,
        place: impl Into<Option<String>>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.note(level, place, message);
        let last = self.all.last_mut().expect("it was just added");
        last.help = Some(help.into());
    }

    /// Adds an error whose message is a report of ours.
    fn report(&mut self, error: &anyhow::Error, help: &str) {
        self.error(None, error, help);
        self.all.last_mut().expect("it was just added").is_report = true;
    }

    /// Adds an error.
    fn error(&mut self, place: impl Into<Option<String>>, error: &anyhow::Error, help: &str) {
        let (message, own) = describe(error);
        self.add(Level::Problem, place, message, own.unwrap_or(help));
    }
}

/// One check.
struct Check {
    /// Its name in JSON.
    name: &'static str,
    /// Its heading.
    title: &'static str,
    run: fn(&Context<'_>, &mut Findings),
}

/// The checks, in the order of the report.
const CHECKS: [Check; 8] = [
    Check {
        name: "program",
        title: "Program",
        run: program::check,
    },
    Check {
        name: "environment",
        title: "Environment",
        run: program::check_environment,
    },
    Check {
        name: "roots",
        title: "Where skills come from",
        run: skills::check_roots,
    },
    Check {
        name: "skills",
        title: "Skills",
        run: skills::check,
    },
    Check {
        name: "cache",
        title: "Cache",
        run: storage::check,
    },
    Check {
        name: "watching",
        title: "Watching",
        run: storage::check_watching,
    },
    Check {
        name: "scripts",
        title: "Scripts",
        run: scripts::check,
    },
    Check {
        name: "hosts",
        title: "Agent hosts",
        run: hosts::check,
    },
];

/// The body of `doctor --json`.
#[derive(Serialize)]
struct DoctorBody<'a> {
    problem_count: usize,
    warning_count: usize,
    checks: &'a [Finding],
    roots: Vec<RootStatus<'a>>,
}

/// Runs every check and prints what it found.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let settings = config::load(&args.sources.config, args.sources.assignments());
    let selection = args.sources.select();
    let examined = selection.as_ref().ok().map(examine);
    let context = Context {
        sources: &args.sources,
        settings,
        selection,
        examined,
        home: env::home_dir().filter(|home| home.is_absolute()),
    };
    let mut findings = Vec::new();
    for check in &CHECKS {
        let mut found = Findings {
            check: check.name,
            all: Vec::new(),
        };
        (check.run)(&context, &mut found);
        findings.extend(found.all);
    }
    let count = |level| findings.iter().filter(|it| it.level == level).count();
    let (problem_count, warning_count) = (count(Level::Problem), count(Level::Warning));
    let mut out = Output::new();
    if args.json {
        let states = SkillRoot::states(context.roots());
        let roots = context
            .examined()
            .map(|it| places(context.roots(), &states, &it.bundle));
        out.json(&Envelope::new(
            "doctor",
            DoctorBody {
                problem_count,
                warning_count,
                checks: &findings,
                roots: roots.transpose()?.unwrap_or_default(),
            },
        ))?;
    } else {
        print(&mut out, &context, &findings)?;
        let counts = match (problem_count, warning_count) {
            (0, 0) => "nothing to do".to_owned(),
            (problems, warnings) => format!(
                "{}, {}",
                counted(problems as u64, "problem"),
                counted(warnings as u64, "warning")
            ),
        };
        out.line(&format!("\n{counts}"))?;
    }
    out.finish()?;
    Ok(match problem_count {
        0 => Exit::Success,
        _ => Exit::ProblemsFound,
    })
}

/// What `serve` would make of a selection.
fn examine(selection: &Selection) -> Result<Examined> {
    match selection {
        Selection::Default(roots) => directories::examine(roots, true),
        Selection::Roots(roots) => directories::examine(roots, false),
        Selection::Repositories(repositories) => {
            let mirrors = repositories.mirrors()?;
            if !mirrors.are_there() {
                return Err(with_help(
                    &format!("{repositories}: there is no copy of it on this machine yet"),
                    "`skillbundle list --repo URL` makes one, and says what is wrong if it cannot",
                ));
            }
            let _reading = mirrors.read()?;
            directories::examine(&mirrors.roots(), false)
        }
        Selection::Examples => {
            let bundle = Bundle::from_static(embedded::examples())?;
            bundle.verify()?;
            Ok(Examined::of_bundle(bundle))
        }
        Selection::Bundle(file) => {
            let bundle = sources::open_file(file)?;
            bundle.verify()?;
            Ok(Examined::of_bundle(bundle))
        }
    }
}

/// One line for each finding, and one for what to do about it.
fn print(out: &mut Output, context: &Context<'_>, findings: &[Finding]) -> Result<()> {
    let style = out.style();
    for (at, check) in CHECKS.iter().enumerate() {
        let of_check: Vec<_> = findings
            .iter()
            .filter(|it| it.check == check.name)
            .collect();
        if of_check.is_empty() {
            continue;
        }
        if at == 0 {
            out.line(&style.bold(check.title))?;
        } else {
            out.heading(check.title)?;
        }
        for level in [Level::Problem, Level::Warning, Level::Info, Level::Ok] {
            let of_level: Vec<_> = of_check.iter().filter(|it| it.level == level).collect();
            let (word, color) = level.label();
            let label = style.styled(color, word) + &" ".repeat(9 - word.len());
            for finding in of_level.iter().take(MOST_PRINTED) {
                let place = finding
                    .place
                    .as_ref()
                    .map(|it| context.shown(Path::new(it)) + ": ");
                let text = place.unwrap_or_default() + &finding.message;
                let (first, rest) = match text.split_once('\n') {
                    Some((first, rest)) if finding.is_report => (first, rest),
                    _ => (text.as_str(), ""),
                };
                out.line(&format!("  {label}{}", one_line(first)))?;
                for line in rest.lines().filter(|line| !line.trim().is_empty()) {
                    out.line(&format!("  {:9}{}", "", many_lines(line.trim_end())))?;
                }
                if let Some(help) = &finding.help {
                    let help = one_line(help);
                    out.line(&format!(
                        "  {:9}{} {help}",
                        "",
                        style.styled("1;36", "help:")
                    ))?;
                }
            }
            let more = of_level.len().saturating_sub(MOST_PRINTED);
            if more > 0 {
                out.line(&format!("  {label}and {more} more; --json has all"))?;
            }
        }
    }
    Ok(())
}
