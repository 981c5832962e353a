//! `skillbundle verify`: every checksum and every digest of a bundle.

use anyhow::Result;
use skillbundle_format::{Bundle, Error};

use super::display::grouped;
use super::json::{self, Envelope, Verification, Verified};
use super::output::{self, Output, with_help};
use super::progress::Progress;
use crate::Exit;
use crate::embedded;
use crate::sources::{self, Selection, Sources};

const EXAMPLES: &str = "\
Examples:
  skillbundle verify team.skb                   after copying it somewhere
  skillbundle verify                            the skills in this binary
  skillbundle verify team.skb --json            for a script

Exit codes: 0 intact, 1 damaged, 2 cannot be read.";

// Arguments of `verify`. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Verifies the bundle and prints what was verified.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let (origin, opened) = match args.sources.select_named()? {
        Selection::Default(_) => ("this binary".to_owned(), embedded::unchecked()),
        Selection::Examples => {
            let origin = "the examples of this binary".to_owned();
            (origin, Bundle::from_static(embedded::examples()))
        }
        Selection::Bundle(file) => (file.display().to_string(), Bundle::open(&file)),
        Selection::Roots(roots) => {
            return Err(with_help(
                &format!("{} is not a bundle", sources::names(&roots)),
                "`skillbundle check` checks directories and skill files",
            ));
        }
        Selection::Repositories(repositories) => {
            return Err(with_help(
                &format!("{repositories} is not a bundle"),
                "`skillbundle check --repo URL` checks a repository",
            ));
        }
    };
    let mut out = Output::new();
    let progress = Progress::start("verifying", &origin);
    let verified = opened.and_then(|bundle| Ok((json::address(&bundle), bundle.verify()?)));
    drop(progress);
    let exit = match verified {
        Ok((address, verified)) => {
            if args.json {
                let outcome = Verified::Intact {
                    address,
                    bytes: verified.bytes,
                    skill_count: verified.skills,
                    file_count: verified.files,
                    content_count: verified.contents,
                };
                print_json(&mut out, &origin, true, outcome)?;
            } else {
                print(&mut out, &origin, &address, &verified)?;
            }
            Exit::Success
        }
        Err(error @ Error::Read { .. }) => return Err(error.into()),
        Err(error) => {
            let (message, help) = (error.to_string(), error.help());
            if args.json {
                let error = json::Error {
                    message,
                    help: Some(help.to_owned()),
                };
                print_json(&mut out, &origin, false, Verified::Damaged { error })?;
            } else {
                output::error(&format!("{origin}: {message}"), Some(help));
            }
            Exit::ProblemsFound
        }
    };
    out.finish()?;
    Ok(exit)
}

fn print_json(out: &mut Output, origin: &str, intact: bool, outcome: Verified) -> Result<()> {
    let body = Verification {
        origin,
        intact,
        outcome,
    };
    Ok(out.json(&Envelope::new("verify", body))?)
}

fn print(
    out: &mut Output,
    origin: &str,
    address: &str,
    verified: &skillbundle_format::Verified,
) -> Result<()> {
    out.line(&format!("{origin} is intact"))?;
    for line in [
        format!("address   {address}, recomputed"),
        format!(
            "bytes     {}, checked against the checksums of header, sections and pages",
            grouped(verified.bytes)
        ),
        format!(
            "contents  {}, each checked against its SHA-256",
            grouped(verified.contents as u64)
        ),
        format!(
            "skills    {}, each found by its path and its name",
            grouped(verified.skills as u64)
        ),
        format!(
            "files     {}, each with its bytes",
            grouped(verified.files as u64)
        ),
    ] {
        out.line(&format!("  {line}"))?;
    }
    Ok(())
}
