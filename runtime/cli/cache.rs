//! `skillbundle cache`: what was compiled, copied or mirrored before, and where that is kept.

use std::io;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;
use skillbundle_format::{Store, StoredBundle};
use skillbundle_git::{Kept, State};
use skillbundle_journal::rfc3339;

use super::display::counted;
use super::json::{self, Envelope};
use super::output::{Output, info, with_help};
use super::table::Table;
use crate::config::ConfigArgs;
use crate::{Exit, cache};

/// A mirror that was not synchronised for so long goes, as bundles do.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

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
    let mirrors = cache::mirrors().unwrap_or_else(|| directory.clone());
    let mirrors = || skillbundle_git::kept(&mirrors).with_context(cannot);
    let removed_mirrors = match args.action {
        Action::Clean => {
            let unused = if args.all { Duration::ZERO } else { UNUSED };
            Some(remove(&mirrors()?, unused).with_context(cannot)?)
        }
        Action::List | Action::Path => None,
    };
    let (bundles, mirrors) = (store.list().with_context(cannot)?, mirrors()?);
    let shown = directory.display().to_string();
    let mut out = Output::new();
    if args.json {
        out.json(&Envelope::new(
            "cache",
            CacheBody {
                directory: &shown,
                bundles: bundles.iter().map(Stored::from).collect(),
                mirrors: mirrors.iter().map(StoredMirror::from).collect(),
                removed_count: removed.map(|(count, _)| count),
                removed_bytes: removed.map(|(_, bytes)| bytes),
                removed_mirror_count: removed_mirrors.map(|(count, _)| count),
                removed_mirror_bytes: removed_mirrors.map(|(_, bytes)| bytes),
            },
        ))?;
    } else if args.action == Action::Path {
        out.line(&shown)?;
    } else if let Some((count, bytes)) = removed {
        out.line(&format!(
            "removed {} of {}",
            counted(count as u64, "bundle"),
            counted(bytes, "byte")
        ))?;
        if let Some((count @ 1.., bytes)) = removed_mirrors {
            out.line(&format!(
                "removed {} of {}",
                counted(count as u64, "mirror"),
                counted(bytes, "byte")
            ))?;
        }
    } else {
        if bundles.is_empty() && mirrors.is_empty() {
            info(&format!("nothing is kept in {shown}"));
        }
        out.table(&table(&bundles))?;
        if !mirrors.is_empty() {
            out.heading("Mirrors of git repositories")?;
            out.table(&mirror_table(&mirrors))?;
        }
    }
    out.finish()?;
    Ok(Exit::Success)
}

/// The body of `cache --json`.
#[derive(Serialize)]
struct CacheBody<'a> {
    directory: &'a str,
    bundles: Vec<Stored<'a>>,
    mirrors: Vec<StoredMirror<'a>>,
    removed_count: Option<usize>,
    removed_bytes: Option<u64>,
    removed_mirror_count: Option<usize>,
    removed_mirror_bytes: Option<u64>,
}

/// A mirror in the cache.
#[derive(Serialize)]
struct StoredMirror<'a> {
    repository: Option<&'a str>,
    branch: Option<&'a str>,
    commit: Option<&'a str>,
    last_sync: Option<String>,
    bytes: u64,
    location: &'a Path,
}

/// A bundle in the cache.
#[derive(Serialize)]
struct Stored<'a> {
    address: String,
    bytes: u64,
    referenced: bool,
    location: &'a Path,
}

impl<'a> From<&'a StoredBundle> for Stored<'a> {
    fn from(bundle: &'a StoredBundle) -> Self {
        Self {
            address: json::sha256(&bundle.address),
            bytes: bundle.bytes,
            referenced: bundle.referenced,
            location: &bundle.path,
        }
    }
}

impl<'a> From<&'a Kept> for StoredMirror<'a> {
    fn from(mirror: &'a Kept) -> Self {
        let state = mirror.state.as_ref();
        Self {
            repository: state.map(State::url),
            branch: state.map(|it| it.branch.as_str()),
            commit: state.map(|it| it.commit.as_str()),
            last_sync: state.map(|it| rfc3339(it.last_sync())),
            bytes: mirror.bytes,
            location: &mirror.path,
        }
    }
}

/// Removes mirrors that nobody uses. Returns their number and their bytes.
fn remove(mirrors: &[Kept], unused: Duration) -> io::Result<(usize, u64)> {
    let mut removed = (0, 0);
    for mirror in mirrors {
        if mirror.remove(unused)? {
            removed = (removed.0 + 1, removed.1 + mirror.bytes);
        }
    }
    Ok(removed)
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

fn mirror_table(mirrors: &[Kept]) -> Table {
    let mut table = Table::new(&["REPOSITORY", "BRANCH", "COMMIT", "LAST SYNC", ">BYTES"]);
    for mirror in mirrors.iter().map(StoredMirror::from) {
        let [repository, branch, commit] =
            [mirror.repository, mirror.branch, mirror.commit].map(Option::unwrap_or_default);
        let last_sync = mirror.last_sync.unwrap_or_default();
        let bytes = mirror.bytes.to_string();
        table.row([repository, branch, commit, &last_sync, &bytes]);
    }
    table
}
