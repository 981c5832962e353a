//! How scripts of skills would be run: how well they are isolated, and whether there is a runner
//! for each.

use std::collections::BTreeSet;

use skillbundle_exec::{Executor, Isolation, Runner};
use skillbundle_format::{Bundle, Execution, Role};
use skillbundle_server::scripts::{Scripts, extension};

use super::{Context, Findings, Level};
use crate::config::Config;

/// Reports the isolation, what it does not stop, and runners that are missing.
pub(super) fn check(context: &Context<'_>, out: &mut Findings) {
    // A setting that is wrong is reported elsewhere.
    let Ok(config) = &context.settings else {
        return;
    };
    check_isolation(config, out);
    if let Some(examined) = context.examined() {
        match extensions(&examined.bundle) {
            Ok(extensions) => check_runners(config, &extensions, out),
            Err(error) => out.error(None, &error.into(), "compile the bundle again"),
        }
    }
}

fn check_isolation(config: &Config, out: &mut Findings) {
    let isolation = match Scripts::new(config.scripts()).isolation() {
        Ok(isolation) => isolation,
        Err(error) => {
            let help = "lower `scripts.require_isolation`, or change the system: docs/scripts.md";
            out.add(Level::Warning, None, error.to_string(), help);
            return;
        }
    };
    let message = format!("isolation of scripts: {isolation}");
    let gaps = isolation.gaps();
    if isolation >= Isolation::Bubblewrap {
        out.note(Level::Ok, None, message);
    } else {
        let help = "docs/scripts.md says what each system needs for a stronger one";
        out.add(Level::Info, None, message, help);
    }
    for gap in gaps {
        out.note(Level::Info, None, format!("a script can {gap}"));
    }
    let survey = Executor::survey().unwrap_or_default();
    let stronger = survey.iter().filter(|it| it.isolation > isolation);
    for level in stronger {
        let why = level
            .missing
            .as_deref()
            .unwrap_or("turned off by `scripts.isolation`");
        out.note(
            Level::Info,
            None,
            format!("no isolation by {}: {why}", level.isolation),
        );
    }
}

fn check_runners(config: &Config, extensions: &BTreeSet<String>, out: &mut Findings) {
    let runners = config.scripts().runners;
    for wanted in extensions {
        let command = runners.iter().find(|it| it.0.eq_ignore_ascii_case(wanted));
        match command.map(|(_, command)| Runner::find(command)) {
            Some(Ok(runner)) => {
                let message = format!("runs scripts ending in {wanted}");
                out.note(Level::Ok, runner.program.display().to_string(), message);
            }
            Some(Err(error)) => {
                let help = format!(
                    "install it, or name another with `scripts.runners`: skills have scripts ending in {wanted}"
                );
                out.add(Level::Warning, None, error.to_string(), help);
            }
            None => {
                let message =
                    format!("skills have scripts ending in {wanted}, and no runner for them");
                let help = "name one with `scripts.runners`";
                out.add(Level::Warning, None, message, help);
            }
        }
    }
}

/// The extensions of scripts that a server may run.
fn extensions(bundle: &Bundle) -> Result<BTreeSet<String>, skillbundle_format::Error> {
    let catalog = bundle.catalog()?;
    let mut extensions = BTreeSet::new();
    if !catalog.roots()?.iter().any(|it| it.has_server_scripts) {
        return Ok(extensions);
    }
    for skill in catalog.skills() {
        let files = skill?.files()?.into_iter();
        let scripts =
            files.filter(|it| it.role == Role::Script && it.execution == Execution::Server);
        extensions.extend(scripts.map(|it| extension(it.path)));
    }
    Ok(extensions)
}
