//! Prints a comparison: short lists that a reviewer reads in a minute.

use anyhow::Result;
use skillbundle_compiler::{ChangedSkill, Effect, FileChange, HostChange, Rerouted};

use super::Against;
use crate::cli::display::{counted, grouped, one_line};
use crate::cli::output::Output;
use crate::cli::table::Table;

/// Most rows of one list, unless all are wanted.
const MOST: usize = 20;

/// Most files of one skill that are named.
const MOST_FILES: usize = 5;

impl Against {
    /// Prints what differs; with `all`, every row.
    pub(crate) fn print(&self, out: &mut Output, all: bool) -> Result<()> {
        let it = &self.comparison;
        let commit = self.commit.as_deref().map(|it| format!(" ({it})"));
        let name = one_line(&self.name);
        out.heading(&format!(
            "Compared with {name}{}",
            commit.unwrap_or_default()
        ))?;
        if it.is_empty() {
            out.line("no skill differs, and every request finds the same skill")?;
            return Ok(out.line("")?);
        }
        self.print_summary(out)?;
        let most = if all { usize::MAX } else { MOST };
        list(out, &["", "SKILL", "WHAT"], &self.skills(), most)?;
        let requests: Vec<[String; 4]> = it.rerouted.iter().map(request).collect();
        list(out, &["", "REQUEST", "BEFORE", "NOW"], &requests, most)?;
        let sizes = self.sizes();
        list(
            out,
            &["SIZE", ">BEFORE", ">NOW", ">CHANGE"],
            &sizes,
            usize::MAX,
        )?;
        Ok(out.line("")?)
    }

    /// The same as a section of Markdown, for a comment on a pull request.
    pub(crate) fn to_markdown(&self) -> String {
        let name = match &self.commit {
            Some(commit) => format!("{} ({commit})", self.name),
            None => self.name.clone(),
        };
        self.comparison.to_markdown(&name)
    }

    fn print_summary(&self, out: &mut Output) -> Result<()> {
        let it = &self.comparison;
        let (in_files, own) = (it.request_count as u64, it.own_request_count as u64);
        out.line(&format!(
            "skills: {} added, {} removed, {} changed",
            it.added.len(),
            it.removed.len(),
            it.changed.len()
        ))?;
        out.line(&format!(
            "requests: {} lost, {} moved, {} found, of {} in files and {} that skills make for \
            themselves",
            it.count(Effect::Lost),
            it.count(Effect::Moved),
            it.count(Effect::Found),
            grouped(in_files),
            grouped(own)
        ))?;
        for (collisions, verb) in [(&it.collisions, "is now"), (&it.resolved, "is no longer")] {
            for collision in collisions {
                let (name, paths) = (&collision.name, collision.paths.join(", "));
                let line = format!("names: `{name}` {verb} the name of {paths}");
                out.line(&one_line(&line))?;
            }
        }
        if it.settings_changed {
            out.line("settings: config.yaml differs")?;
        }
        Ok(())
    }

    fn skills(&self) -> Vec<[String; 3]> {
        let it = &self.comparison;
        let row = |sign: &str, path: &str, what: String| [sign.to_owned(), path.to_owned(), what];
        let added = it.added.iter().map(|it| {
            let size = format!("{}, {}", bytes(it.bytes), counted(it.files as u64, "file"));
            row("+", &it.path, format!("{size}: {}", it.summary))
        });
        let removed = it.removed.iter();
        let removed = removed.map(|it| row("-", &it.path, it.summary.clone()));
        let changed = it.changed.iter();
        let changed = changed.map(|it| row("~", &it.path, what_changed(it)));
        added.chain(removed).chain(changed).collect()
    }

    fn sizes(&self) -> Vec<[String; 4]> {
        let (old, new) = (&self.comparison.old, &self.comparison.new);
        let mut rows = Vec::new();
        let mut add = |what: String, old: u64, new: u64| {
            if old != new {
                let sign = if new > old { '+' } else { '-' };
                let change = format!("{sign}{}", grouped(new.abs_diff(old)));
                rows.push([what, grouped(old), grouped(new), change]);
            }
        };
        add("skills".to_owned(), old.skills as u64, new.skills as u64);
        add("files".to_owned(), old.files as u64, new.files as u64);
        add("bytes of the bundle".to_owned(), old.bytes, new.bytes);
        // Most hosts show models the same, so that one row stands for several of them.
        let mut of_hosts: Vec<(&str, usize, usize, Vec<&str>)> = Vec::new();
        for HostChange {
            title, old, new, ..
        } in &self.comparison.hosts
        {
            let unnamed = |(sent, kept): (usize, usize)| sent - kept;
            let listing = |bytes: Option<usize>| bytes.unwrap_or(0);
            for (what, old, new) in [
                ("bytes in context", old.context_bytes, new.context_bytes),
                ("skills named to models", old.named.1, new.named.1),
                ("skills cut off", unnamed(old.named), unnamed(new.named)),
                (
                    "bytes of its own listing",
                    listing(old.listing_bytes),
                    listing(new.listing_bytes),
                ),
                ("skills dropped", old.dropped.len(), new.dropped.len()),
            ] {
                let mut known = of_hosts.iter_mut();
                match known.find(|it| (it.0, it.1, it.2) == (what, old, new)) {
                    Some(row) => row.3.push(title),
                    None => of_hosts.push((what, old, new, vec![title])),
                }
            }
        }
        for (what, old, new, titles) in of_hosts {
            let hosts = if titles.len() == self.comparison.hosts.len() {
                "every host".to_owned()
            } else {
                titles.join(", ")
            };
            add(format!("{what}: {hosts}"), old as u64, new as u64);
        }
        rows
    }
}

/// A table, cut to so many rows.
fn list<const N: usize>(
    out: &mut Output,
    titles: &[&'static str],
    rows: &[[String; N]],
    most: usize,
) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(titles);
    for row in rows.iter().take(most) {
        table.row(row.each_ref().map(String::as_str));
    }
    out.line("")?;
    out.page(&table)?;
    if let Some(more @ 1..) = rows.len().checked_sub(most) {
        out.line(&format!("and {} more (-v shows all)", grouped(more as u64)))?;
    }
    Ok(())
}

fn request(it: &Rerouted) -> [String; 4] {
    let answer = |paths: &[String]| match paths {
        [] => "nothing".to_owned(),
        paths => paths.join(", "),
    };
    [
        it.effect.as_str().to_owned(),
        it.request.clone(),
        answer(&it.old),
        answer(&it.new),
    ]
}

/// `description, text; SKILL.md 115 → 75 bytes, + pages.md 8 bytes`.
fn what_changed(it: &ChangedSkill) -> String {
    let mut parts = Vec::new();
    if let Some(old) = &it.old_path {
        parts.push(format!("moved from {old}"));
    }
    let fields: Vec<&str> = it.fields.iter().map(|it| it.field.as_str()).collect();
    if !fields.is_empty() {
        parts.push(fields.join(", "));
    }
    let file = |it: &FileChange| match (it.old, it.new) {
        (Some(old), Some(new)) => format!("{} {} → {}", it.path, grouped(old), bytes(new)),
        (None, Some(new)) => format!("+ {} {}", it.path, bytes(new)),
        (old, _) => format!("- {} {}", it.path, bytes(old.unwrap_or(0))),
    };
    let mut files: Vec<String> = it.files.iter().take(MOST_FILES).map(file).collect();
    if let Some(more @ 1..) = it.files.len().checked_sub(MOST_FILES) {
        files.push(counted(more as u64, "more file"));
    }
    if !files.is_empty() {
        parts.push(files.join(", "));
    }
    parts.join("; ")
}

fn bytes(count: u64) -> String {
    counted(count, "byte")
}
