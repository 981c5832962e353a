//! `skillbundle cache`: what `serve` has compiled or copied before, and where that is kept.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;
use skillbundle_format::{Store, StoredBundle};

use super::display::counted;
use super::json::{self, Envelope};
use super::output::{Output, info, with_help};
use super::table::Table;
use crate::config::ConfigArgs;
use crate::{Exit, cache};

const EXAMPLES: &str = "\
Examples:
  skillbundle cache                             what is kept
  skillbundle cache path                        where, for a script
  skillbundle cache clean                       remove what nothing has used for 30 days
  skillbundle cache clean --all                 remove everything; the next start compiles again

Cleaning is safe while servers run: each keeps what it has opened. SKILLBUNDLE_CACHE names another
directory, or `off`.";

// Arguments of `cache`. (A doc comment would become the command's description.)
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// What to do
    #[arg(value_enum, default_value = "list")]
    action: Action,
    /// With `clean`: remove everything
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Action {
    /// List the bundles that are kept
    List,
    /// Print the directory
    Path,
    /// Remove what is no longer of use
    Clean,
}

/// Shows or cleans the cache.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    if args.all && args.action != Action::Clean {
        return Err(with_help(
            "--all belongs to `clean`",
            "type `skillbundle cache clean --all`",
        ));
    }
    let Some(directory) = cache::directory() else {
        return Err(with_help(
            "there is no cache: it is turned off, or there is no home directory",
            &format!("name its directory in {}", cache::VARIABLE),
        ));
    };
    let store = Store::at(&directory);
    let cannot = || format!("cannot use the cache {}", directory.display());
    let removed = match args.action {
        Action::Clean => Some(store.clean(args.all).with_context(cannot)?),
        Action::List | Action::Path => None,
    };
    let bundles = store.list().with_context(cannot)?;
    let shown = directory.display().to_string();
    let mut out = Output::new();
    if args.json {
        out.json(&Envelope::new(
            "cache",
            CacheBody::new(&shown, &bundles, removed),
        ))?;
    } else if args.action == Action::Path {
        out.line(&shown)?;
    } else if let Some((count, bytes)) = removed {
        out.line(&format!(
            "removed {} of {}",
            counted(count as u64, "bundle"),
            counted(bytes, "byte")
        ))?;
    } else {
        if bundles.is_empty() {
            info(&format!("nothing is kept in {shown}"));
        }
        out.table(&table(&bundles))?;
    }
    out.finish()?;
    Ok(Exit::Success)
}

/// The body of `cache --json`.
#[derive(Serialize)]
struct CacheBody<'a> {
    directory: &'a str,
    bundles: Vec<Stored<'a>>,
    removed_count: Option<usize>,
    removed_bytes: Option<u64>,
}

/// A bundle in the cache.
#[derive(Serialize)]
struct Stored<'a> {
    address: String,
    bytes: u64,
    referenced: bool,
    location: &'a Path,
}

impl<'a> CacheBody<'a> {
    /// `removed` is what `clean` has removed: bundles and bytes.
    fn new(directory: &'a str, bundles: &'a [StoredBundle], removed: Option<(usize, u64)>) -> Self {
        let stored = |bundle: &'a StoredBundle| Stored {
            address: json::sha256(&bundle.address),
            bytes: bundle.bytes,
            referenced: bundle.referenced,
            location: &bundle.path,
        };
        Self {
            directory,
            bundles: bundles.iter().map(stored).collect(),
            removed_count: removed.map(|(count, _)| count),
            removed_bytes: removed.map(|(_, bytes)| bytes),
        }
    }
}

fn table(bundles: &[StoredBundle]) -> Table {
    let mut table = Table::new(&["CONTENT ADDRESS", ">BYTES", "USED"]);
    for bundle in bundles {
        let bytes = bundle.bytes.to_string();
        let used = if bundle.referenced {
            "for directories"
        } else {
            "as a copy"
        };
        table.row([bundle.address.as_str(), &bytes, used]);
    }
    table
}
