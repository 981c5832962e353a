//! What `check --against --json` says about the old version.

use serde::Serialize;
use skillbundle_compiler as compiler;

/// The comparison of a check with an old version.
#[derive(Serialize)]
pub(crate) struct Comparison<'a> {
    against: &'a str,
    against_commit: Option<&'a str>,
    before: Totals,
    after: Totals,
    added: Vec<SkillSize<'a>>,
    removed: Vec<SkillSize<'a>>,
    changed: Vec<ChangedSkill<'a>>,
    settings_changed: bool,
    collisions: Vec<Collision<'a>>,
    resolved_collisions: Vec<Collision<'a>>,
    rerouted: Vec<Rerouted<'a>>,
    asked_count: usize,
    own_asked_count: usize,
    hosts: Vec<HostChange<'a>>,
}

/// One version as a whole.
#[derive(Serialize)]
struct Totals {
    skill_count: usize,
    file_count: u64,
    bytes: u64,
}

/// A skill that came or went.
#[derive(Serialize)]
struct SkillSize<'a> {
    path: &'a str,
    description: &'a str,
    file_count: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct ChangedSkill<'a> {
    path: &'a str,
    old_path: Option<&'a str>,
    changed_fields: Vec<FieldChange<'a>>,
    changed_files: Vec<FileChange<'a>>,
}

#[derive(Serialize)]
struct FieldChange<'a> {
    field: &'a str,
    old_value: Option<&'a str>,
    new_value: Option<&'a str>,
}

#[derive(Serialize)]
struct FileChange<'a> {
    path: &'a str,
    old_bytes: Option<u64>,
    new_bytes: Option<u64>,
}

#[derive(Serialize)]
struct Collision<'a> {
    name: &'a str,
    paths: &'a [String],
}

#[derive(Serialize)]
struct Rerouted<'a> {
    request: &'a str,
    effect: &'static str,
    expected: &'a [String],
    answered_before: &'a [String],
    answered: &'a [String],
    reason: &'a str,
    asked_in: &'static str,
    request_file: Option<&'a str>,
    line: Option<usize>,
}

#[derive(Serialize)]
struct HostChange<'a> {
    host: &'static str,
    title: &'static str,
    host_before: HostSize<'a>,
    host_after: HostSize<'a>,
}

#[derive(Serialize)]
struct HostSize<'a> {
    bytes: usize,
    skills_named: usize,
    skills_kept: usize,
    listing_bytes: Option<usize>,
    listed_count: usize,
    dropped: &'a [String],
}

impl<'a> Comparison<'a> {
    /// The body for a comparison with what was typed, and its commit.
    pub(crate) fn new(
        against: &'a str,
        against_commit: Option<&'a str>,
        it: &'a compiler::Comparison,
    ) -> Self {
        Self {
            against,
            against_commit,
            before: totals(&it.old),
            after: totals(&it.new),
            added: it.added.iter().map(skill_size).collect(),
            removed: it.removed.iter().map(skill_size).collect(),
            changed: it.changed.iter().map(changed_skill).collect(),
            settings_changed: it.settings_changed,
            collisions: it.collisions.iter().map(collision).collect(),
            resolved_collisions: it.resolved.iter().map(collision).collect(),
            rerouted: it.rerouted.iter().map(rerouted).collect(),
            asked_count: it.request_count,
            own_asked_count: it.own_request_count,
            hosts: it.hosts.iter().map(host_change).collect(),
        }
    }
}

fn totals(it: &compiler::Totals) -> Totals {
    Totals {
        skill_count: it.skills,
        file_count: it.files as u64,
        bytes: it.bytes,
    }
}

fn skill_size(it: &compiler::SkillSize) -> SkillSize<'_> {
    SkillSize {
        path: &it.path,
        description: &it.summary,
        file_count: it.files as u64,
        bytes: it.bytes,
    }
}

fn changed_skill(it: &compiler::ChangedSkill) -> ChangedSkill<'_> {
    let fields = it.fields.iter().map(|it| FieldChange {
        field: &it.field,
        old_value: it.old.as_deref(),
        new_value: it.new.as_deref(),
    });
    let files = it.files.iter().map(|it| FileChange {
        path: &it.path,
        old_bytes: it.old,
        new_bytes: it.new,
    });
    ChangedSkill {
        path: &it.path,
        old_path: it.old_path.as_deref(),
        changed_fields: fields.collect(),
        changed_files: files.collect(),
    }
}

fn collision(it: &compiler::Collision) -> Collision<'_> {
    Collision {
        name: &it.name,
        paths: &it.paths,
    }
}

fn rerouted(it: &compiler::Rerouted) -> Rerouted<'_> {
    use compiler::Origin;
    let (asked_in, file, line) = match &it.origin {
        Origin::File { file, line, .. } => ("file", Some(file.as_str()), *line),
        Origin::OldFile => ("old-file", None, None),
        Origin::Own(_) => ("skill", None, None),
        Origin::OldOwn(_) => ("old-skill", None, None),
    };
    Rerouted {
        request: &it.request,
        effect: it.effect.as_str(),
        expected: &it.expected,
        answered_before: &it.old,
        answered: &it.new,
        reason: &it.why,
        asked_in,
        request_file: file,
        line,
    }
}

fn host_change(it: &compiler::HostChange) -> HostChange<'_> {
    HostChange {
        host: it.id,
        title: it.title,
        host_before: host_size(&it.old),
        host_after: host_size(&it.new),
    }
}

fn host_size(it: &compiler::HostSize) -> HostSize<'_> {
    HostSize {
        bytes: it.context_bytes,
        skills_named: it.named.0,
        skills_kept: it.named.1,
        listing_bytes: it.listing_bytes,
        listed_count: it.kept,
        dropped: &it.dropped,
    }
}
