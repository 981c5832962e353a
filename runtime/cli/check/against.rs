//! `check --against OLD`: opens the old version of the skills and compares. OLD is a bundle, a
//! directory, or a revision of git, of which the same directories are read.

mod print;

use std::path::Path;

use anyhow::{Context, Result};
use skillbundle_compiler::{
    Checked, Comparison, Compiled, HostChange, HostSize, Requests, Version, compare,
};
use skillbundle_format::Bundle;
use skillbundle_format::hosts::{HOSTS, Host};
use skillbundle_server::{Embedded, Preview};
use tempfile::TempDir;

use crate::cli::display::counted;
use crate::cli::inspect::HostView;
use crate::cli::output::{info, with_help};
use crate::cli::tool_args;
use crate::config;
use crate::directories;
use crate::embedded;
use crate::repositories;
use crate::sources::{PathKind, SkillRoot, kind_of};

/// The name that a host is assumed to give the server.
const SERVER: &str = "skills";

/// What an old version can be.
const FORMS: &str = "name a bundle (.skb), a directory, or a revision of git such as `origin/main`";

/// What a directory above the roots may say about how they are read.
const ABOVE: &[&str] = &["config.yaml"];

/// A comparison, and with what.
pub(crate) struct Against {
    /// As it was typed.
    pub(crate) name: String,
    /// The commit, if it is a revision.
    pub(crate) commit: Option<String>,
    /// What differs.
    pub(crate) comparison: Comparison,
}

/// The old version.
struct Old {
    bundle: Bundle,
    sources: Option<(Compiled, Requests)>,
    commit: Option<String>,
}

/// Compares what was checked with its old version. `bundle` is that of what was checked, if there is
/// one already.
pub(crate) fn against(
    typed: &str,
    roots: &[SkillRoot],
    checked: &Checked,
    bundle: Option<Bundle>,
) -> Result<Against> {
    let old = open(typed, roots).with_context(|| format!("--against {typed}"))?;
    let bundle = match bundle {
        Some(bundle) => bundle,
        None => directories::bundle_of(&checked.set)?,
    };
    let new = Version {
        bundle: &bundle,
        sources: Some((&checked.set, &checked.requests)),
    };
    let sources = old.sources.as_ref();
    let version = Version {
        bundle: &old.bundle,
        sources: sources.map(|(compiled, requests)| (&compiled.set, requests)),
    };
    // Only now every byte of a bundle is read.
    let of_old = || format!("--against {typed}");
    let mut comparison = compare(version, new).with_context(of_old)?;
    for host in HOSTS {
        comparison.hosts.push(HostChange {
            id: host.id,
            title: host.title,
            old: size(host, &old.bundle).with_context(of_old)?,
            new: size(host, &bundle)?,
        });
    }
    Ok(Against {
        name: typed.to_owned(),
        commit: old.commit,
        comparison,
    })
}

/// The old version, from whatever OLD is.
fn open(typed: &str, roots: &[SkillRoot]) -> Result<Old> {
    let path = Path::new(typed);
    if !path.exists() {
        if is_path(typed) {
            return Err(with_help("there is no such file or directory", FORMS));
        }
        return at_revision(typed, roots);
    }
    match kind_of(path)? {
        PathKind::Bundle => Ok(Old {
            bundle: Bundle::open(path)?.overridden(config::current().overrides()),
            sources: None,
            commit: None,
        }),
        PathKind::Directory => {
            let [root] = roots else {
                let found = roots.len();
                return Err(with_help(
                    &format!(
                        "a directory is compared with one, and {found} directories are checked"
                    ),
                    "name one directory, or a bundle or revision for all of them",
                ));
            };
            compiled(&[SkillRoot {
                dir: path.to_owned(),
                commit: None,
                ..root.clone()
            }])
        }
        PathKind::SkillFile => Err(with_help(&format!("{typed} is a file"), FORMS)),
    }
}

/// The same directories, as they were in a revision of git.
fn at_revision(typed: &str, roots: &[SkillRoot]) -> Result<Old> {
    let limits = repositories::limits();
    let mut commits = Vec::new();
    let mut committed = Vec::new();
    let mut written: Vec<TempDir> = Vec::new();
    let mut left_out = 0;
    for root in roots {
        let directory = tempfile::tempdir().context("cannot make a temporary directory")?;
        // Not the temporary directory itself: its name begins with a dot, as those of hosts do.
        let tree = directory.path().join("tree");
        let revision = skillbundle_git::write_revision(&root.dir, typed, ABOVE, &tree, limits)
            .with_context(|| root.dir.display().to_string())?;
        let dir = tree.join(&revision.prefix);
        std::fs::create_dir_all(&dir).context("cannot make a temporary directory")?;
        // A file that was not there yet is no skill of the old version.
        let only = root.only.clone();
        let is_missing = only.as_ref().is_some_and(|file| !dir.join(file).is_file());
        if !is_missing {
            committed.push(SkillRoot {
                dir,
                only,
                commit: None,
                ..root.clone()
            });
        }
        left_out += revision.left_out.len();
        if !commits.contains(&revision.commit) {
            commits.push(revision.commit);
        }
        written.push(directory);
    }
    if left_out > 0 {
        let left_out = counted(left_out as u64, "link, submodule or pointer");
        info(&format!("{typed}: {left_out} of the old version left out"));
    }
    let mut old = compiled(&committed)?;
    old.commit = Some(commits.join(", "));
    Ok(old)
}

/// Whether it can only have been meant as a path: no revision of git looks like it.
fn is_path(typed: &str) -> bool {
    let extension = Path::new(typed).extension();
    typed.starts_with(['.', '/', '~']) || extension.is_some_and(|it| it.eq_ignore_ascii_case("skb"))
}

fn compiled(roots: &[SkillRoot]) -> Result<Old> {
    let (compiled, requests) = directories::compile_with_requests(roots)?;
    Ok(Old {
        bundle: directories::bundle_of(&compiled.set)?,
        sources: Some((compiled, requests)),
        commit: None,
    })
}

/// What a host keeps of the skills of a bundle, as this program serves them.
fn size(host: &Host, bundle: &Bundle) -> Result<HostSize> {
    // Like any bundle: it is loaded at once.
    let source = Embedded::new(embedded::examples());
    let preview = Preview::new(bundle, &source, &tool_args::options()?, host, |_| true)?;
    let view = HostView::new(host, SERVER, &preview, &bundle.catalog()?)?;
    let named = view.usable().map(|tool| tool.names);
    let mut size = HostSize {
        context_bytes: view.bytes(),
        named: named.max().unwrap_or_default(),
        ..HostSize::default()
    };
    if let Some(listing) = view.skills {
        size.listing_bytes = Some(listing.bytes);
        size.kept = listing.kept.len();
        size.dropped = listing.dropped;
    }
    Ok(size)
}
