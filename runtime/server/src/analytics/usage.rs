//! The uses of skills that are recorded, borrowed from the request that they happen in, so that
//! nothing is built while nothing is recorded. Each becomes an event of the journal and an event that
//! is sent, whose type and fields are those of the table in `kinds`.

use std::time::SystemTime;

use serde_json::{Value, json};
use skillbundle_exec::Outcome;
use skillbundle_format::{Decision, File, Hit, Route, rounded};
use skillbundle_journal::{Event, RoutingDecision, ScriptRun, Uuid};

use crate::scripts::{self, PlannedScript};

/// How much of a request an event keeps, in bytes: as much as a routing decision in the journal.
const MAX_CONTEXT: usize = 1024;

/// Skills that an event of offered skills names: what a page of a search has by default.
const MAX_CANDIDATES: usize = 10;

/// A use of skills, or a try.
pub(crate) enum UsageEvent<'a> {
    /// `get_skill` has decided about a request.
    Routed {
        request: &'a str,
        route: &'a Route<'a>,
    },
    /// A search has answered, perhaps with nothing.
    Offered {
        request: &'a str,
        tool: &'static str,
        hits: &'a [Hit<'a>],
    },
    /// A skill was read by its name or its URI.
    Loaded {
        skill: &'a str,
        /// The tool or the method.
        tool: &'static str,
    },
    /// `get_asset` has answered with a file.
    AssetServed {
        skill: &'a str,
        file: &'a File<'a>,
        /// The type that the answer tells.
        kind: &'a str,
        is_inherited: bool,
    },
    /// A script has run, by itself or as the handler of an invocation.
    ScriptRun {
        planned: &'a PlannedScript,
        outcome: &'a Outcome,
        /// That of the invocation.
        correlation_id: Option<Uuid>,
    },
    /// `report_usage` was called.
    Feedback {
        skill: &'a str,
        useful: bool,
        comment: Option<&'a str>,
    },
    /// `refresh_skills` has answered.
    Refreshed { answer: &'a Value },
}

/// What distinguishes one event from all others.
#[derive(Clone, Copy)]
pub(super) struct Stamp {
    pub(super) id: Uuid,
    pub(super) at: SystemTime,
}

impl UsageEvent<'_> {
    /// Whether the journal keeps it even if it keeps no calls: an invocation, or what somebody has
    /// said on purpose.
    pub(super) const fn is_explicit(&self) -> bool {
        match self {
            Self::ScriptRun { correlation_id, .. } => correlation_id.is_some(),
            Self::Feedback { .. } => true,
            _ => false,
        }
    }

    /// The event of the journal on this machine.
    pub(super) fn kept(&self, stamp: Stamp) -> Event {
        match self {
            Self::Routed { request, route } => Event::Routing(decision(request, route, stamp)),
            Self::ScriptRun {
                planned,
                outcome,
                correlation_id,
            } => Event::Script(ScriptRun {
                id: stamp.id,
                at: stamp.at,
                correlation_id: *correlation_id,
                ..scripts::journal_entry(planned, outcome)
            }),
            _ => self.sent(stamp, true),
        }
    }

    /// The event that is sent. What people and agents have written is null unless `with_texts`.
    pub(super) fn sent(&self, stamp: Stamp, with_texts: bool) -> Event {
        Event::Analytics {
            id: stamp.id,
            name: self.name().to_owned(),
            skill: self.skill().map(str::to_owned),
            correlation_id: None,
            body: self.data(with_texts).to_string(),
            at: stamp.at,
        }
    }

    /// The type of the event.
    const fn name(&self) -> &'static str {
        match self {
            Self::Routed { route, .. } => match route.decision {
                Decision::NoMatch => "no_match",
                Decision::Ambiguous(_) => "ambiguous",
                Decision::Match => "skill_served",
            },
            Self::Offered { .. } => "skills_offered",
            Self::Loaded { .. } => "skill_loaded",
            Self::AssetServed { .. } => "asset_served",
            Self::ScriptRun { .. } => "script_executed",
            Self::Feedback { .. } => "skill_feedback",
            Self::Refreshed { .. } => "refresh",
        }
    }

    /// The skill that it is about.
    fn skill(&self) -> Option<&str> {
        match self {
            Self::Routed { route, .. } => chosen(route),
            Self::Loaded { skill, .. }
            | Self::AssetServed { skill, .. }
            | Self::Feedback { skill, .. } => Some(skill),
            Self::ScriptRun { planned, .. } => Some(&planned.skill),
            Self::Offered { .. } | Self::Refreshed { .. } => None,
        }
    }

    /// The fields of the event, in the order of the table.
    fn data(&self, with_texts: bool) -> Value {
        let context = |request| with_texts.then(|| start_of(request, MAX_CONTEXT));
        match self {
            Self::Routed { request, route } => {
                let context = context(request);
                match (route.decision, route.candidates.as_slice()) {
                    (Decision::Match, [best, ..]) => json!({
                        "context": context,
                        "skill_path": best.skill.path,
                        "score": rounded(best.score),
                        "matched_keywords": route.matched_keywords(best).unwrap_or_default(),
                        // A request that is ambiguous gets candidates and no skill.
                        "was_ambiguous": false,
                    }),
                    (Decision::Ambiguous(count), candidates) => {
                        let candidates = candidates.iter().take(count);
                        let candidates = candidates.map(|it| it.skill.path);
                        json!({
                            "context": context,
                            "candidates": candidates.collect::<Vec<_>>(),
                        })
                    }
                    _ => json!({ "context": context }),
                }
            }
            Self::Offered {
                request,
                tool,
                hits,
            } => {
                let candidates = hits.iter().take(MAX_CANDIDATES).map(|it| it.skill.path);
                json!({
                    "context": context(request),
                    "tool": tool,
                    "candidates": candidates.collect::<Vec<_>>(),
                })
            }
            Self::Loaded { skill, tool } => json!({ "skill_path": skill, "tool": tool }),
            Self::AssetServed {
                skill,
                file,
                kind,
                is_inherited,
            } => json!({
                "skill_path": skill,
                "file": file.path,
                "asset_type": kind,
                "is_inherited": is_inherited,
                "size_bytes": file.size,
            }),
            Self::ScriptRun {
                planned, outcome, ..
            } => {
                let end = scripts::End::of(outcome);
                json!({
                    "skill_path": planned.skill,
                    "file": planned.program.script,
                    "execution_mode": "server",
                    "success": end.success,
                    "exit_code": end.exit_code,
                    "duration_ms": end.duration_ms,
                    "args_provided": planned.has_arguments,
                })
            }
            Self::Feedback {
                skill,
                useful,
                comment,
            } => json!({
                "skill_path": skill,
                "useful": useful,
                "comment": comment.filter(|_| with_texts),
            }),
            // The answer has the fields under these names, those that its source knows.
            Self::Refreshed { answer } => json!({
                "mode": answer.get("mode"),
                "success": answer.get("success"),
                "commit_hash": answer.get("commit_hash"),
                "files_changed": answer.get("files_changed"),
                "skills_reindexed": answer.get("skills_reindexed"),
            }),
        }
    }
}

/// The skill that a request was answered with.
fn chosen<'a>(route: &Route<'a>) -> Option<&'a str> {
    let best = route.candidates.first().map(|it| it.skill.path);
    best.filter(|_| route.decision == Decision::Match)
}

/// A decision as the journal keeps it. The candidates of an ambiguous one are those that the answer
/// names.
fn decision(request: &str, route: &Route<'_>, stamp: Stamp) -> RoutingDecision {
    let (outcome, most) = match route.decision {
        Decision::Match => ("match", usize::MAX),
        Decision::Ambiguous(count) => ("ambiguous", count),
        Decision::NoMatch => ("no_match", usize::MAX),
    };
    let candidates = route.candidates.iter().take(most);
    let candidates = candidates.map(|it| (it.skill.path.to_owned(), it.score));
    RoutingDecision {
        id: stamp.id,
        request: start_of(request, MAX_CONTEXT).to_owned(),
        chosen: chosen(route).map(str::to_owned),
        outcome: outcome.to_owned(),
        candidates: candidates.collect(),
        correlation_id: None,
        at: stamp.at,
    }
}

/// At most so many bytes of a text.
fn start_of(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        for (text, most, expected) in [
            ("", 4, ""),
            ("abc", 4, "abc"),
            ("abcde", 4, "abcd"),
            ("abcä", 4, "abc"),
            ("ä", 1, ""),
        ] {
            assert_eq!(start_of(text, most), expected, "{text}");
        }
    }
}
