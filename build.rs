//! Compiles the skills that are baked into the binary: `skills/`, or the
//! directory named by `SKILLBUNDLE_SKILLS` (relative to this file's directory).
//! A skill with an error fails the build; warnings are shown. `skills/` is the
//! handbook of this program, which the program is told; beside it, an empty
//! bundle is compiled for `--no-embedded`, and `examples/tasks/` for `--examples`.

use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fs};

use skillbundle_compiler::{Options, Root, Severity, compile, walked_paths};
use skillbundle_format::{Scope, SkillSet, write};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed=SKILLBUNDLE_SKILLS");
    let chosen = env::var_os("SKILLBUNDLE_SKILLS");
    println!("cargo::rustc-check-cfg=cfg(handbook)");
    if chosen.is_none() {
        println!("cargo::rustc-cfg=handbook");
    }
    let dir = chosen.map_or_else(|| PathBuf::from("skills"), PathBuf::from);

    let Some(skills) = compiled(dir, "embedded")? else {
        return Ok(ExitCode::FAILURE);
    };
    let Some(examples) = compiled(PathBuf::from("examples/tasks"), "examples")? else {
        return Ok(ExitCode::FAILURE);
    };
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("skills.skb"), write(&skills)?)?;
    fs::write(out.join("examples.skb"), write(&examples)?)?;
    fs::write(out.join("empty.skb"), write(&SkillSet::default())?)?;
    Ok(ExitCode::SUCCESS)
}

/// Compiles a directory. `None` if a skill has an error, which is shown.
fn compiled(dir: PathBuf, label: &str) -> Result<Option<SkillSet>, Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", dir.display());
    let root = Root {
        dir,
        label: label.to_owned(),
        scope: Scope::Global,
        commit: None,
        max_files: None,
        declared: Vec::new(),
    };
    let roots = [root];
    // What belongs to the skills and lies elsewhere, such as the `config.yaml` beside them.
    for file in walked_paths(&roots).files {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    let compiled = compile(&roots, &Options::default())?;
    if compiled.report.has_errors() {
        let errors = compiled.report.at_least(Severity::Error);
        io::stderr().write_all(errors.render_human(false).as_bytes())?;
        return Ok(None);
    }
    let warnings = compiled.report.at_least(Severity::Warning);
    for warning in warnings.render_plain().lines() {
        println!("cargo::warning={warning}");
    }
    Ok(Some(compiled.set))
}
