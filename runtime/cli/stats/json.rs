//! The body of `stats --json`.

use std::cmp::Reverse;
use std::path::Path;

use serde::Serialize;
use skillbundle_journal::rfc3339;

use super::enabled::Found;
use super::usage::{Comment, Counts, SkillUsage};

/// How skills were used.
#[derive(Serialize)]
pub(super) struct Stats<'a> {
    journal: &'a Path,
    recording_state: &'static str,
    help: Option<&'static str>,
    since: Option<String>,
    usage_totals: CountFields,
    skill_usage: Vec<OfSkill<'a>>,
    never_used: Option<&'a [String]>,
    unmet_requests: Vec<UnmetRequest<'a>>,
    unmet_count: usize,
    ambiguous_pairs: Vec<AmbiguousPair<'a>>,
    unhelpful_skills: Vec<JudgedSkill<'a>>,
    days: Vec<OfDay>,
}

/// How often each thing happened.
#[derive(Serialize)]
#[expect(
    clippy::struct_field_names,
    reason = "these are the names of the interface"
)]
struct CountFields {
    use_count: u64,
    served_count: u64,
    loaded_count: u64,
    invoked_count: u64,
    script_run_count: u64,
    asset_served_count: u64,
    offered_count: u64,
    not_found_count: u64,
    ambiguous_count: u64,
    helpful_count: u64,
    unhelpful_count: u64,
}

#[derive(Serialize)]
struct OfSkill<'a> {
    skill_path: &'a str,
    last_used_at: Option<String>,
    #[serde(flatten)]
    counts: CountFields,
}

#[derive(Serialize)]
struct UnmetRequest<'a> {
    request: &'a str,
    request_count: u64,
    last_asked_at: String,
}

#[derive(Serialize)]
struct AmbiguousPair<'a> {
    skill_paths: &'a [String; 2],
    request_count: u64,
    last_asked_at: String,
}

#[derive(Serialize)]
struct JudgedSkill<'a> {
    skill_path: &'a str,
    unhelpful_count: u64,
    helpful_count: u64,
    comments: Vec<CommentFields<'a>>,
}

#[derive(Serialize)]
struct CommentFields<'a> {
    comment: &'a str,
    created_at: String,
}

#[derive(Serialize)]
struct OfDay {
    day: String,
    #[serde(flatten)]
    counts: CountFields,
}

impl<'a> From<&'a Found<'_>> for Stats<'a> {
    fn from(found: &'a Found<'_>) -> Self {
        let usage = &found.usage;
        let unmet = usage.unmet.iter().map(|it| UnmetRequest {
            request: &it.request,
            request_count: it.count,
            last_asked_at: rfc3339(it.last),
        });
        let pairs = usage.pairs.iter().map(|it| AmbiguousPair {
            skill_paths: &it.skills,
            request_count: it.count,
            last_asked_at: rfc3339(it.last),
        });
        let days = usage.days.iter().map(|(day, counts)| OfDay {
            day: date(&rfc3339(*day)).to_owned(),
            counts: counts.into(),
        });
        // Those that were offered and never used come last.
        let mut skills: Vec<_> = usage.by(|_| 1);
        skills.sort_by_key(|(_, it)| Reverse(it.counts.uses()));
        let unhelpful = usage.by(|it| it.unhelpful);
        Self {
            journal: found.journal,
            recording_state: found.state.as_str(),
            help: found.advice().map(|(_, help)| help),
            since: found.since.map(rfc3339),
            usage_totals: (&usage.totals).into(),
            skill_usage: skills.into_iter().take(found.top).map(of_skill).collect(),
            never_used: found.never_used.as_deref(),
            unmet_requests: unmet.collect(),
            unmet_count: usage.unmet_count,
            ambiguous_pairs: pairs.collect(),
            unhelpful_skills: unhelpful
                .into_iter()
                .take(found.top)
                .map(of_unhelpful)
                .collect(),
            days: days.collect(),
        }
    }
}

fn of_skill<'a>((path, usage): (&'a str, &SkillUsage)) -> OfSkill<'a> {
    OfSkill {
        skill_path: path,
        last_used_at: usage.last.map(rfc3339),
        counts: (&usage.counts).into(),
    }
}

fn of_unhelpful<'a>((path, usage): (&'a str, &'a SkillUsage)) -> JudgedSkill<'a> {
    let comment = |Comment { at, text }: &'a Comment| CommentFields {
        comment: text,
        created_at: rfc3339(*at),
    };
    JudgedSkill {
        skill_path: path,
        unhelpful_count: usage.counts.unhelpful,
        helpful_count: usage.counts.helpful,
        comments: usage.comments.iter().map(comment).collect(),
    }
}

/// The date of a time in RFC 3339.
pub(super) fn date(time: &str) -> &str {
    time.split_once('T').map_or(time, |(date, _)| date)
}

impl From<&Counts> for CountFields {
    fn from(counts: &Counts) -> Self {
        Self {
            use_count: counts.uses(),
            served_count: counts.served,
            loaded_count: counts.loaded,
            invoked_count: counts.invoked,
            script_run_count: counts.ran,
            asset_served_count: counts.assets,
            offered_count: counts.offered,
            not_found_count: counts.not_found,
            ambiguous_count: counts.ambiguous,
            helpful_count: counts.helpful,
            unhelpful_count: counts.unhelpful,
        }
    }
}
