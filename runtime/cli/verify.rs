//! `skillbundle verify`: every checksum and every digest of a bundle file.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;
use skillbundle_format::{Bundle, Error};

use super::output::{Output, complain};
use super::text::grouped;
use crate::Exit;

const EXAMPLES: &str = "\
Examples:
  skillbundle verify team.skb                   after copying it somewhere
  skillbundle verify team.skb --json            for a script

Exits with 0 where everything agrees, 1 where the bundle is damaged, 2 where it cannot be read.";

// What `verify` can be told. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The bundle
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Checks the bundle and says what was checked.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let mut out = Output::new();
    let checked = match Bundle::open(&args.file)
        .and_then(|bundle| Ok((bundle.content_hex(), bundle.verify()?)))
    {
        Ok(checked) => checked,
        Err(error @ Error::Read { .. }) => return Err(error.into()),
        Err(error) => {
            if args.json {
                out.json(&json!({"file": args.file, "ok": false, "error": error.to_string()}))?;
                out.finish()?;
            } else {
                complain(&format!("{}: {error}", args.file.display()));
            }
            return Ok(Exit::Findings);
        }
    };
    let (address, verified) = checked;
    if args.json {
        out.json(&json!({
            "file": args.file,
            "ok": true,
            "address": format!("sha256:{address}"),
            "bytes": verified.bytes,
            "skills": verified.skills,
            "files": verified.files,
            "contents": verified.contents,
        }))?;
    } else {
        out.line(&format!("{} is whole", args.file.display()))?;
        let lines = [
            format!("address   sha256:{address}, computed again"),
            format!(
                "bytes     {}, under the checksums of header, sections and pages",
                grouped(verified.bytes)
            ),
            format!(
                "contents  {}, each under its SHA-256",
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
        ];
        for line in lines {
            out.line(&format!("  {line}"))?;
        }
    }
    out.finish()?;
    Ok(Exit::Fine)
}
