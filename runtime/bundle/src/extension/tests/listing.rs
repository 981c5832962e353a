//! The listing, its files and its directories, as a server requests them.

use serde_json::Value;

use super::{bundle, check_set, uris, with_files};
use crate::sample::{set, skill};

#[test]
fn a_folder_skill_is_published_as_it_is() {
    let set = set(vec![with_files(
        skill("Team A/pdf", "x\n"),
        &["scripts/My Run.sh", "LICENSE", "scripts/a.py"],
    )]);
    assert_eq!(uris(&set), ["skill://team-a/pdf/SKILL.md"]);
    let bundle = bundle(&set);
    let catalog = bundle.catalog().expect("intact");
    let published = catalog.published().expect("intact");
    let resource = published
        .resource("skill://team-a/pdf/SKILL.md")
        .expect("intact")
        .expect("there");
    assert_eq!((&*resource.name, resource.mime), ("pdf", "text/markdown"));
    assert_eq!(*resource.bytes().expect("intact"), *set.skills[0].source);
    let entry: Value = published
        .entry("skill://team-a/pdf/SKILL.md")
        .expect("intact")
        .and_then(|it| serde_json::from_str(it).ok())
        .expect("JSON");
    assert_eq!(
        entry["frontmatter"].to_string(),
        set.skills[0].frontmatter_json
    );
    let children: Vec<_> = published
        .directory("skill://team-a/pdf/scripts/")
        .expect("intact")
        .expect("a directory")
        .iter()
        .map(|it| it.uri().to_owned())
        .collect();
    assert_eq!(
        children,
        [
            "skill://team-a/pdf/scripts/My%20Run.sh",
            "skill://team-a/pdf/scripts/a.py"
        ]
    );
    for unknown in [
        "skill://team-a/pdf",
        "skill://team-a/pdf/SKILL.md/",
        "skill://team-a/pdf/skill.md",
        "skill://team-a/pdf/scripts/My Run.sh",
        "skill://team-a/pdf/../pdf/SKILL.md",
        "",
    ] {
        assert!(
            published.resource(unknown).expect("intact").is_none(),
            "{unknown}"
        );
    }
    for unknown in [
        "skill://",
        "skill:/",
        "skill://team",
        "skill://team-a/pdf/SKILL.md",
        "",
    ] {
        assert!(
            published.directory(unknown).expect("intact").is_none(),
            "{unknown}"
        );
    }
    check_set(&set);
}

#[test]
fn pages_of_the_listing_are_whole_and_in_order_of_importance() {
    let mut skills: Vec<_> = (0..30)
        .map(|n| skill(&format!("s-{n:02}"), "x\n"))
        .collect();
    skills[7].priority = 5.0;
    skills[3].recovered = true;
    let set = set(skills);
    let bundle = bundle(&set);
    let catalog = bundle.catalog().expect("intact");
    let published = catalog.published().expect("intact");
    assert_eq!(published.len(), 29);
    let all = published.page(0, 100, usize::MAX).expect("intact");
    let whole: Vec<Value> = serde_json::from_str(&format!("[{}]", all.entries)).expect("JSON");
    let order: Vec<_> = whole
        .iter()
        .map(|it| it["uri"].as_str().expect("text"))
        .collect();
    assert_eq!(
        order[..3],
        [
            "skill://s-07/SKILL.md",
            "skill://s-00/SKILL.md",
            "skill://s-01/SKILL.md"
        ]
    );
    assert_eq!((all.count, all.next), (29, None));
    let room = all.entries.len() / 3;
    for (most, bytes) in [(1, 9_999), (7, usize::MAX), (100, 0), (100, room), (0, 0)] {
        let (mut found, mut next) = (Vec::new(), Some(0));
        while let Some(first) = next {
            let page = published.page(first, most, bytes).expect("intact");
            assert!(page.count == 1 || (page.count <= most && page.entries.len() <= bytes));
            let entries: Vec<Value> =
                serde_json::from_str(&format!("[{}]", page.entries)).expect("JSON");
            assert_eq!(entries.len(), page.count);
            found.extend(entries);
            next = page.next;
        }
        assert_eq!(found, whole, "{most} of {bytes} bytes");
    }
    let past_end = published.page(29, 10, 1_000).expect("intact");
    assert_eq!(
        (past_end.entries, past_end.count, past_end.next),
        ("", 0, None)
    );
}

#[test]
fn names_and_uris_are_completed() {
    let mut last = skill("x/pdf", "x\n");
    last.priority = 1.0;
    let set = set(vec![
        skill("a/pdf", "x\n"),
        skill("pd", "x\n"),
        skill("xls", "x\n"),
        last,
    ]);
    let bundle = bundle(&set);
    let catalog = bundle.catalog().expect("intact");
    let published = catalog.published().expect("intact");
    let names = |prefix| -> Vec<_> {
        let found = published.names_starting_with(prefix).expect("intact");
        found.map(|it| it.expect("intact").uri).collect()
    };
    assert_eq!(
        names("pd"),
        [
            "skill://pd/SKILL.md",
            "skill://x/pdf/SKILL.md",
            "skill://a/pdf/SKILL.md"
        ]
    );
    assert_eq!(names("pdf").len(), 2);
    assert_eq!(names("").len(), 4);
    assert!(names("z").is_empty() && names("pdfs").is_empty());
    let found: Vec<_> = published
        .uris_starting_with("skill://x")
        .expect("intact")
        .map(|it| it.expect("intact"))
        .collect();
    assert_eq!(found, ["skill://x/pdf/SKILL.md", "skill://xls/SKILL.md"]);
}

#[test]
fn a_bundle_without_skills_publishes_none() {
    let set = set(Vec::new());
    let bundle = bundle(&set);
    let catalog = bundle.catalog().expect("intact");
    let published = catalog.published().expect("intact");
    assert!(published.is_empty());
    assert_eq!(published.page(0, 10, 10).expect("intact").count, 0);
    assert!(published.directory("skill://").expect("intact").is_none());
    bundle.verify().expect("whole");
}
