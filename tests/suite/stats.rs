//! `skillbundle stats`: what it counts, over several days and a journal of known content, what it
//! says if there is nothing to count, and what servers record for it.
#![cfg(all(unix, feature = "sqlite"))]

mod analytics;

use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use skillbundle_journal::{
    Destination, Event, Invocation, Journal, Options, Retention, RoutingDecision, ScriptRun, Uuid,
};

use crate::cli::transcript::check;
use crate::project::{Project, finish};

/// 2026-01-12T00:00:00Z, a Monday.
const MONDAY: u64 = 1_768_176_000;
const DAY: u64 = 86_400;

/// A time of that week.
fn at(day: u64, second: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(MONDAY + day * DAY + second)
}

fn analytics_event(name: &str, skill: Option<&str>, body: &Value, at: SystemTime) -> Event {
    Event::Analytics {
        id: Uuid::now_v7(),
        name: name.to_owned(),
        skill: skill.map(str::to_owned),
        correlation_id: None,
        body: body.to_string(),
        at,
    }
}

fn loaded(skill: &str, at: SystemTime) -> Event {
    let body = json!({ "skill_path": skill, "tool": "skill" });
    analytics_event("skill_loaded", Some(skill), &body, at)
}

fn searched(words: &str, found: &[&str], at: SystemTime) -> Event {
    let body = json!({ "context": words, "tool": "skills_search", "candidates": found });
    analytics_event("skills_offered", None, &body, at)
}

fn said(skill: &str, useful: bool, comment: Option<&str>, at: SystemTime) -> Event {
    let body = json!({ "skill_path": skill, "useful": useful, "comment": comment });
    analytics_event("skill_feedback", Some(skill), &body, at)
}

/// A decision of `get_skill`: a match if there is one candidate.
fn routed(request: &str, candidates: &[&str], at: SystemTime) -> Event {
    let outcome = match candidates.len() {
        0 => "no_match",
        1 => "match",
        _ => "ambiguous",
    };
    let chosen = candidates.first().filter(|_| candidates.len() == 1);
    let scored = candidates.iter().map(|it| ((*it).to_owned(), 0.5));
    Event::Routing(RoutingDecision {
        id: Uuid::now_v7(),
        request: request.to_owned(),
        chosen: chosen.map(|it| (*it).to_owned()),
        outcome: outcome.to_owned(),
        candidates: scored.collect(),
        correlation_id: None,
        at,
    })
}

fn ran(skill: &str, correlation_id: Option<Uuid>, at: SystemTime) -> Event {
    Event::Script(ScriptRun {
        id: Uuid::now_v7(),
        skill: skill.to_owned(),
        script: "scripts/run.sh".to_owned(),
        correlation_id,
        exit_code: Some(0),
        signal: None,
        duration_ms: 12,
        isolation: "namespaces".to_owned(),
        timed_out: false,
        at,
    })
}

fn invoked(skill: &str, correlation_id: Uuid, at: SystemTime) -> Event {
    Event::Created(Invocation {
        id: Uuid::now_v7(),
        skill: skill.to_owned(),
        agent: "TaskAgent".to_owned(),
        correlation_id,
        input: "{}".to_owned(),
        input_digest: [7; 32],
        created_at: at,
    })
}

/// Records events, in a journal that forgets nothing.
fn write(path: &Path, events: impl IntoIterator<Item = Event>) {
    let retention = Retention {
        max_age: None,
        max_rows: None,
    };
    let journal = Journal::new(Options {
        retention,
        ..Options::new(Destination::Sqlite(path.to_owned()))
    });
    events.into_iter().for_each(|it| journal.note(it));
    journal.close(Duration::from_secs(60));
    let status = journal.status();
    assert_eq!((status.dropped, status.lost), (0, 0), "{status:?}");
}

/// Four days of a team: one without any use among them.
fn week() -> Vec<Event> {
    let task = Uuid::from_u128(7);
    vec![
        routed("fill in the form", &["docs/pdf"], at(0, 32_400)),
        routed("Fill in the  Form", &["docs/pdf"], at(0, 36_000)),
        loaded("docs/pdf", at(0, 36_010)),
        ran("docs/pdf", None, at(0, 36_020)),
        routed("rotate the signing keys", &[], at(0, 40_000)),
        searched("spreadsheet", &[], at(0, 41_000)),
        // A day at its first and its last second.
        loaded("git", at(1, 0)),
        loaded("git", at(1, DAY - 1)),
        routed("push a form", &["docs/pdf", "git"], at(1, 50)),
        routed("Rotate the signing  KEYS", &[], at(1, 60)),
        searched("form", &["docs/pdf", "git", "ui/forms"], at(1, 70)),
        said(
            "git",
            false,
            Some("It \u{1b}[2J cleared\nmy screen"),
            at(1, 80),
        ),
        said("git", false, None, at(1, 81)),
        said("docs/pdf", true, Some("worked at once"), at(1, 82)),
        // The handler of an invocation is no script run of its own.
        invoked("task_creation", task, at(3, 5)),
        ran("tasks/task_creation", Some(task), at(3, 6)),
        analytics_event(
            "asset_served",
            Some("docs/pdf"),
            &json!({ "skill_path": "docs/pdf", "file": "logo.png", "asset_type": "image", "is_inherited": false, "size_bytes": 3 }),
            at(3, 7),
        ),
        analytics_event(
            "refresh",
            None,
            &json!({ "mode": "local", "success": true }),
            at(3, 8),
        ),
        routed("push a form", &["git", "docs/pdf"], at(3, 9)),
    ]
}

/// Writes that week into a journal.
pub(crate) fn write_week(path: &Path) {
    write(path, week());
}

/// Skills of which some are used in that week.
fn team(project: &Project) {
    project
        .skill("team/docs/pdf", "pdf", "Fill in PDF forms")
        .skill("team/git", "git", "Commit and push with care")
        .skill("team/release", "release", "Publish a release")
        .file("tree/_root.md", "---\ndescription: Rules\nkeywords: [rules]\n---\nRules\n")
        .file("tree/used.md", "---\ndescription: Used\nkeywords: [used]\n---\nText\n")
        .file("tree/unused.md", "---\ndescription: Unused\nkeywords: [unused]\n---\nText\n")
        .file("tasks/tasks/task_creation.md", "---\nname: task_creation\ndescription: Creates tasks\nkeywords: [task]\nscripts:\n  - file: run.sh\n    execution: server\ncontract:\n  category: execution\n  assigned_to: [A]\n  input_schema: {type: object}\n  output_schema: {type: object}\n  handler: run.sh\n---\nText\n")
        .file("tasks/tasks/task_creation/run.sh", "echo '{}'\n");
}

#[test]
fn stats_answer_from_several_days_and_say_what_to_do_without_any() {
    let project = Project::new();
    team(&project);
    write_week(&project.path("week.db"));
    write(&project.path("tree.db"), [loaded("used", at(0, 0))]);
    write(
        &project.path("feedback.db"),
        [said("git", true, None, at(0, 0))],
    );
    write(&project.path("empty.db"), [loaded("git", at(0, 0))]);
    check(&project, "stats", |page| {
        page.replace(&*project.dir().to_string_lossy(), "~")
    });
}

fn json_of(project: &Project, arguments: &[&str]) -> Value {
    let ran = project.run(&[&["stats", "--json"], arguments].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).expect("JSON")
}

/// The counts of an object.
fn counts(of: &Value) -> Vec<(&str, u64)> {
    let members = of.as_object().expect("an object").iter();
    let counts = members.filter(|(name, _)| name.ends_with("_count"));
    counts
        .map(|(name, count)| (name.as_str(), count.as_u64().expect("a number")))
        .collect()
}

fn sum(list: &Value, name: &str) -> u64 {
    let items = list.as_array().expect("a list").iter();
    items.map(|it| it[name].as_u64().expect("a number")).sum()
}

/// A journal of many days, made by a generator with a fixed seed.
fn many() -> Vec<Event> {
    let mut state = 17_u64;
    let mut random = move |below: u64| {
        // A linear congruential generator; the high bits are good enough.
        state = state.wrapping_mul(6_364_136_223_846_793_005);
        state = state.wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let skills: Vec<String> = (0..40)
        .map(|number| format!("team/skill-{number}"))
        .collect();
    let mut events = Vec::new();
    for _ in 0..3000 {
        let time = at(random(20), random(DAY));
        let mut skill = || skills[usize::try_from(random(40)).expect("small")].as_str();
        let (one, other) = (skill(), skill());
        let request = format!("request {}", random(200));
        events.push(match random(8) {
            0 => routed(&request, &[one], time),
            1 => routed(&request, &[], time),
            2 if one != other => routed(&request, &[one, other], time),
            3 => searched(&request, &[one, other], time),
            4 => searched(&request, &[], time),
            5 => said(one, random(2) == 0, Some(&request), time),
            6 => ran(one, (random(2) == 0).then(Uuid::now_v7), time),
            _ => loaded(one, time),
        });
    }
    events
}

#[test]
fn sums_over_days_and_over_skills_are_the_totals() {
    let project = Project::new();
    write(&project.path("many.db"), many());
    for since in [None, Some("2026-01-15"), Some("2026-01-15T12:34:56Z")] {
        let since: Vec<&str> = since.map_or_else(Vec::new, |it| vec!["--since", it]);
        let stats = json_of(&project, &[&["--journal", "many.db"], &*since].concat());
        let totals = counts(&stats["usage_totals"]);
        assert!(totals.iter().all(|(name, count)| {
            *count > 0 || ["invoked_count", "asset_served_count"].contains(name)
        }));
        for (name, total) in totals {
            assert_eq!(sum(&stats["days"], name), total, "{since:?} {name} by day");
            // These are of requests, not of skills.
            if !["not_found_count", "ambiguous_count"].contains(&name) {
                assert_eq!(sum(&stats["skill_usage"], name), total, "{since:?} {name}");
            }
        }
        let not_found = &stats["usage_totals"]["not_found_count"];
        assert_eq!(sum(&stats["unmet_requests"], "request_count"), *not_found);
        let ambiguous = &stats["usage_totals"]["ambiguous_count"];
        assert_eq!(sum(&stats["ambiguous_pairs"], "request_count"), *ambiguous);
        let unhelpful = &stats["usage_totals"]["unhelpful_count"];
        assert_eq!(
            sum(&stats["unhelpful_skills"], "unhelpful_count"),
            *unhelpful
        );
    }
}

/// Lists are cut, and counts are not.
#[test]
fn top_cuts_lists_alone() {
    let project = Project::new();
    write(&project.path("many.db"), many());
    let all = json_of(&project, &["--journal", "many.db"]);
    let few = json_of(&project, &["--journal", "many.db", "--top", "3"]);
    assert_eq!(few["usage_totals"], all["usage_totals"]);
    assert_eq!(few["days"], all["days"]);
    assert_eq!(few["unmet_count"], all["unmet_count"]);
    for list in [
        "skill_usage",
        "unmet_requests",
        "ambiguous_pairs",
        "unhelpful_skills",
    ] {
        let (few, all) = (few[list].as_array(), all[list].as_array());
        let (few, all) = (few.expect("a list"), all.expect("a list"));
        assert_eq!(few.len(), 3, "{list}");
        assert!(all.len() > 3, "{list}");
        if list == "unhelpful_skills" {
            assert!(
                few.iter()
                    .all(|it| it["comments"].as_array().map_or(0, Vec::len) <= 3)
            );
        } else {
            assert_eq!(few, &all[..3], "{list}");
        }
    }
}

/// Whoever writes a journal by hand breaks nothing but what they wrote.
#[test]
fn bodies_that_say_nothing_are_counted_and_name_nothing() {
    let project = Project::new();
    let odd = |name: &str, body: Value| analytics_event(name, None, &body, at(0, 0));
    let events = [
        odd("skills_offered", json!("no object")),
        odd("skills_offered", json!({ "candidates": "none" })),
        odd("skill_feedback", json!({ "useful": "yes" })),
        odd("skill_loaded", json!({})),
        odd("unknown", json!({})),
        loaded("git", at(0, 1)),
    ];
    write(&project.path("odd.db"), events);
    let stats = json_of(&project, &["--journal", "odd.db"]);
    assert_eq!(stats["usage_totals"]["loaded_count"], 2);
    assert_eq!(stats["unmet_requests"], json!([]));
    assert_eq!(stats["skill_usage"].as_array().map(Vec::len), Some(1));
}

/// The settings name the journal, as for `skillbundle journal`.
#[test]
fn the_settings_name_the_journal() {
    let project = Project::new();
    write(
        &project.state().join("skillbundle/journal.db"),
        [loaded("usual", at(0, 0))],
    );
    write(&project.path("other.db"), [loaded("other", at(0, 0))]);
    let first = |stats: &Value| stats["skill_usage"][0]["skill_path"].clone();
    assert_eq!(first(&json_of(&project, &[])), "usual");
    let mut command = project.command();
    command.env("SKILLBUNDLE_JOURNAL", "other.db");
    let ran = finish(command.args(["stats", "--json"]));
    let stats: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(first(&stats), "other");
    let lines = project.run(&["stats", "--journal", "jsonl:lines"]);
    assert_eq!(lines.code, Some(2), "{}", lines.stdout);
    assert!(lines.stderr.contains("lines of JSON"), "{}", lines.stderr);
}
