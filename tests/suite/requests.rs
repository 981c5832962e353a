//! Labelled requests in `tests/fixtures/requests`: skills whose descriptions say what they are not
//! for, and Chinese requests to Chinese skills. Each file has skills by name with their
//! descriptions, and requests with the skill that is right, or null if none is.

use std::collections::BTreeMap;

use serde::Deserialize;
use skillbundle_format::Decision;

use crate::project::Project;

#[derive(Deserialize)]
struct Labelled {
    skills: BTreeMap<String, String>,
    requests: Vec<Request>,
}

#[derive(Deserialize)]
struct Request {
    request: String,
    expect: Option<String>,
}

/// Checks that no request is answered decisively with a wrong skill, and that at most `missed`
/// requests are not answered with the right one.
fn check(file: &str, missed: usize) {
    let labelled: Labelled = serde_json::from_str(file).expect("labelled requests");
    let project = Project::new();
    for (place, (name, description)) in labelled.skills.iter().enumerate() {
        project.file(
            &format!("skills/s{place}/SKILL.md"),
            format!("---\nname: {name}\ndescription: {description:?}\n---\nText.\n"),
        );
    }
    let bundle = project.bundle(&["skills"]);
    let catalog = bundle.catalog().expect("a catalog");
    let (mut wrong, mut not_found) = (Vec::new(), Vec::new());
    for Request { request, expect } in &labelled.requests {
        let route = catalog.route(request, 0).expect("an answer");
        let best = route.candidates.first().map(|it| it.skill.name);
        let answer = best.filter(|_| route.decision == Decision::Match);
        if answer.is_some() && answer != expect.as_deref() {
            wrong.push((request, answer));
        } else if answer != expect.as_deref() {
            not_found.push((request, best));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(not_found.len() <= missed, "{not_found:#?}");
}

#[test]
fn what_a_skill_is_not_for_and_what_a_request_forbids_is_no_answer() {
    check(include_str!("../fixtures/requests/exclusions.json"), 1);
}

#[test]
fn chinese_requests_find_chinese_skills() {
    check(include_str!("../fixtures/requests/chinese.json"), 1);
}
