//! The roots that `serve` reads: the four standard ones of spec 2, named ones,
//! roots that are empty and roots that appear later.

use std::fs;

use serde_json::json;

use crate::project::{LEGACY, Project, Session};

fn serve(project: &Project, arguments: &[&str]) -> Session {
    let mut session = project.serve(arguments);
    session.initialize(LEGACY);
    session
}

#[test]
fn the_four_standard_roots_are_searched_in_order() {
    let project = Project::new();
    let roots = [
        ("work/.agent/skills", "project universal"),
        (".agent/skills", "global universal"),
        ("work/.claude/skills", "project claude"),
        (".claude/skills", "global claude"),
    ];
    for (at, (root, origin)) in roots.iter().enumerate() {
        // `shared-N` is in the roots from N on: the first of them must win.
        for shared in 0..=at {
            project.skill(
                &format!("{root}/shared-{shared}"),
                &format!("shared-{shared}"),
                &format!("From {origin}"),
            );
        }
    }
    let mut command = project.command();
    command.current_dir(project.path("work")).arg("serve");
    let mut session = Session::start(command);
    session.initialize(LEGACY);
    for (at, (_, origin)) in roots.iter().enumerate() {
        let text = session.tool_text("skill", &json!({ "name": format!("shared-{at}") }));
        assert!(
            text.contains(&format!("From {origin}\n")),
            "shared-{at}: {text}"
        );
    }
}

#[test]
fn every_root_lists_and_reads() {
    let project = Project::new();
    project.skill("main/one", "one", "In the first root");
    project.skill("extra/root/here", "here", "In the second root");
    project.file("extra/root/here/data.txt", "data\n");
    let mut session = serve(&project, &["--dir", "main", "--dir", "extra/root"]);
    for name in ["one", "here"] {
        session.tool_text("skill", &json!({ "name": name }));
    }
    let ask = json!({ "skill_path": "here", "file": "data.txt" });
    assert_eq!(session.tool_json("get_asset", &ask)["content"], "data\n");
}

#[test]
fn a_root_that_appears_later_is_found() {
    let project = Project::new();
    // The standard roots of specification 2 may all be missing at the start. A
    // named directory that does not exist is an error.
    let mut session = serve(&project, &[]);
    session.tool_error("skill", &json!({ "name": "late" }));
    project.skill(".agent/skills/late", "late", "Came late");
    session.tool_json("refresh_skills", &json!({}));
    let text = session.tool_text("skill", &json!({ "name": "late" }));
    assert!(text.contains("description: Came late\n"), "{text}");
}

#[test]
fn an_empty_folder_serves_no_skills() {
    let project = Project::new();
    fs::create_dir(project.path("empty")).expect("a folder can be made");
    let mut session = serve(&project, &["--dir", "empty"]);
    session.tool_error("skill", &json!({ "name": "git" }));
    let reply = session.tool_json("get_skill", &json!({ "context": "anything at all" }));
    assert_eq!(reply["no_match"], true);
    assert_eq!(session.finish().code, Some(0));
}
