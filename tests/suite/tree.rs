//! The tree of specification 3 over the wire: the fixture of its shape gives
//! exactly the documented texts, tools and assets, from a folder and from a bundle.

use serde_json::{Value, json};

use crate::project::{LEGACY, Project, Session, base64, text_of};

/// A session with the fixture tree, read from its folder.
fn session() -> (Project, Session) {
    let project = Project::from_fixture("tree");
    let mut session = project.serve(&["--dir", "."]);
    session.initialize(LEGACY);
    (project, session)
}

const ROOT: &str = "=== GLOBAL RULES (from _root.md) ===\n\n\
    Write for the reader who comes after you.\n\
    Measure before you change, and again afterwards.";
const UI: &str = "=== UI (from ui/_index.md) ===\n\n\
    Every control has a label, a focus ring and a way back.";
const REACT: &str = "=== UI > REACT (from ui/react/_index.md) ===\n\n\
    State lives as low as it can and as high as it must.";
const AUTH: &str = "=== UI > REACT > AUTH (from ui/react/auth.md) ===\n\n\
    Never keep a token where a script of the page can read it.\n\n\
    - One provider, at the top.\n\
    - Guards on routes, not on buttons.";

#[test]
fn a_single_match_brings_the_whole_chain() {
    let (_project, mut session) = session();
    let context = json!({ "context": "Put a login and a session behind React auth" });
    let reply = session.tool_json("get_skill", &context);
    assert_eq!(
        reply,
        json!({
            "skill_path": "ui/react/auth",
            "score": 1.005,
            "matched_keywords": ["react", "auth", "login", "session"],
            "content": ([ROOT, UI, REACT, AUTH].join("\n\n")),
            "assets": [
                {
                    "file": "assets/AuthProvider.tsx.template",
                    "description": "Context that holds the session",
                    "type": "template"
                },
                {
                    "file": "assets/component-base.tsx.template",
                    "description": "Skeleton of a component behind the sign-in",
                    "type": "template"
                },
                {
                    "file": "assets/flow.pdf",
                    "description": "The redirects on one page",
                    "type": "other"
                },
                {
                    "file": "assets/wanted.md",
                    "description": "Declared, and still to be written",
                    "type": "guide"
                }
            ],
            "scripts": [
                {
                    "file": "scripts/scaffold-auth.sh",
                    "description": "Copies the provider into a project",
                    "execution": "claude",
                    "args": [
                        {
                            "name": "target",
                            "description": "Folder of the project",
                            "required": true
                        },
                        {
                            "name": "locale",
                            "description": "Language of the texts",
                            "required": false
                        }
                    ]
                },
                {
                    "file": "scripts/validate-auth.py",
                    "description": "Checks the settings of the provider",
                    "execution": "server",
                    "args": [{ "name": "config", "description": "", "required": true }]
                }
            ],
            "inherited_assets": [
                {
                    "file": "assets/banner.svg",
                    "description": "The banner, drawn once for all",
                    "type": "image",
                    "from": "_root"
                },
                {
                    "file": "assets/editor.css",
                    "description": "Colours of the house",
                    "type": "style",
                    "from": "_root"
                },
                {
                    "file": "assets/logo.png",
                    "description": "The logo, one pixel wide",
                    "type": "image",
                    "from": "ui/react/_index"
                },
                {
                    "file": "assets/tokens.json",
                    "description": "Spacing and type scale",
                    "type": "config",
                    "from": "ui/_index"
                }
            ],
            "inherited_scripts": [
                {
                    "file": "scripts/new-component.sh",
                    "description": "Makes a component from the skeleton",
                    "execution": "claude",
                    "args": [],
                    "from": "ui/react/_index"
                }
            ],
            "ranker": "keywords"
        })
    );
}

#[test]
fn a_skill_that_does_not_inherit_brings_only_itself() {
    let (_project, mut session) = session();
    let reply = session.tool_json("get_skill", &json!({ "context": "standalone, isolated" }));
    assert_eq!(reply["skill_path"], "no-inherit");
    assert_eq!(reply["content"], "These words and no others.");
    for key in ["assets", "scripts", "inherited_assets", "inherited_scripts"] {
        assert_eq!(reply[key], json!([]), "{key}");
    }
}

#[test]
fn near_scores_are_ambiguous() {
    let (_project, mut session) = session();
    let candidate = |path: &str, score: f64, description: &str, keyword: &str| {
        json!({
            "skill_path": path,
            "score": score,
            "description": description,
            "matched_keywords": [keyword],
            "ranker": "keywords"
        })
    };
    let message = "Multiple skills match. Specify your need or pick a skill_path.";
    let reply = session.tool_json("get_skill", &json!({ "context": "auth" }));
    let auth = candidate(
        "ui/react/auth",
        0.255,
        "Sign-in and sign-out in React",
        "auth",
    );
    let api = candidate("api/auth", 0.25, "Tokens and sessions at the API", "auth");
    assert_eq!(
        reply,
        json!({ "ambiguous": true, "candidates": [auth, api], "message": message, "ranker": "keywords" })
    );
    // Equal scores stand in the order of their paths; three are named at most.
    let reply = session.tool_json("get_skill", &json!({ "context": "react" }));
    let paths: Vec<&Value> = reply["candidates"]
        .as_array()
        .expect("candidates")
        .iter()
        .map(|c| &c["skill_path"])
        .collect();
    assert_eq!(
        paths,
        ["ui/react/_index", "ui/react/testing", "ui/react/auth"]
    );
}

#[test]
fn nothing_matches() {
    let (_project, mut session) = session();
    for context in ["pasta with tomatoes", "the of to", "...", "☕"] {
        assert_eq!(
            session.tool_json("get_skill", &json!({ "context": context })),
            json!({ "no_match": true, "message": "No skill matches the given context.", "ranker": "keywords" }),
            "context {context:?}"
        );
    }
}

/// What `get_asset` says of a file: skill, file, type, source, MIME type.
type AssetRow = (
    &'static str,
    &'static str,
    &'static str,
    Option<&'static str>,
    Option<&'static str>,
);

const ASSETS: [AssetRow; 9] = [
    (
        "ui/react/auth",
        "assets/AuthProvider.tsx.template",
        "template",
        None,
        None,
    ),
    (
        "ui/react/auth",
        "assets/component-base.tsx.template",
        "template",
        None,
        None,
    ),
    (
        "ui/react/_index",
        "assets/component-base.tsx.template",
        "template",
        None,
        None,
    ),
    (
        "ui/react/testing",
        "assets/component-base.tsx.template",
        "template",
        Some("ui/react/_index"),
        None,
    ),
    (
        "ui/react/auth",
        "assets/logo.png",
        "image",
        Some("ui/react/_index"),
        Some("image/png"),
    ),
    (
        "ui/react/auth",
        "assets/banner.svg",
        "image",
        Some("_root"),
        Some("image/svg+xml"),
    ),
    (
        "ui/react/auth",
        "assets/flow.pdf",
        "other",
        None,
        Some("application/pdf"),
    ),
    (
        "ui/react/auth",
        "assets/tokens.json",
        "config",
        Some("ui/_index"),
        None,
    ),
    ("api/auth", "assets/middleware.ts", "code", None, None),
];

#[test]
fn assets_come_byte_for_byte() {
    let (project, mut session) = session();
    for (skill, file, kind, from, mime) in ASSETS {
        let reply = session.tool_json("get_asset", &json!({ "skill_path": skill, "file": file }));
        let owner = from.unwrap_or(skill);
        let bytes = std::fs::read(project.path(&format!("{owner}/{file}"))).expect("a fixture");
        let mut wanted = json!({ "skill_path": skill, "file": file });
        if let Some(mime) = mime {
            wanted["content_base64"] = json!(base64(&bytes));
            wanted["mime_type"] = json!(mime);
        } else {
            wanted["content"] = json!(String::from_utf8(bytes.clone()).expect("text"));
        }
        wanted["size_bytes"] = json!(bytes.len());
        wanted["type"] = json!(kind);
        if let Some(from) = from {
            wanted["resolved_from"] = json!(from);
        }
        assert_eq!(reply, wanted, "{skill} {file}");
    }
}

#[test]
fn scripts_come_like_assets() {
    let (project, mut session) = session();
    for (skill, file, from) in [
        ("ui/react/auth", "scripts/scaffold-auth.sh", None),
        ("ui/react/auth", "scripts/validate-auth.py", None),
        (
            "ui/react/auth",
            "scripts/new-component.sh",
            Some("ui/react/_index"),
        ),
    ] {
        let reply = session.tool_json("get_asset", &json!({ "skill_path": skill, "file": file }));
        let owner = from.unwrap_or(skill);
        let text = std::fs::read_to_string(project.path(&format!("{owner}/{file}"))).expect("text");
        assert_eq!(reply["content"], text);
        assert_eq!(reply["resolved_from"], json!(from));
    }
}

/// Skill, file, and what the refusal must name.
const REFUSED: [(&str, &str, &str); 12] = [
    ("ui/nobody", "assets/a.txt", "ui/nobody"),
    ("ui/react/auth", "assets/nothing.txt", "assets/nothing.txt"),
    ("ui/react/auth", "assets/wanted.md", "missing"),
    (
        "ui/react/auth",
        "../../_root/assets/editor.css",
        "traversal",
    ),
    ("ui/react/auth", "assets/../../../_root.md", "traversal"),
    ("ui/react/auth", "/etc/hostname", "traversal"),
    ("../ui/react/auth", "assets/flow.pdf", "../ui/react/auth"),
    ("no-inherit", "assets/editor.css", "assets/editor.css"),
    ("_root", "assets/tokens.json", "assets/tokens.json"),
    ("ui/react/auth", "assets", "assets"),
    ("ui/react/auth", "", ""),
    ("ui/react/auth", "assets\\flow.pdf", "flow.pdf"),
];

#[test]
fn assets_that_are_refused_say_why() {
    let (_project, mut session) = session();
    for (skill, file, named) in REFUSED {
        let text = session.tool_error("get_asset", &json!({ "skill_path": skill, "file": file }));
        assert!(text.contains(named), "{skill} {file}: {text}");
        assert!(
            !text.contains("Colours of the house"),
            "{skill} {file} leaks: {text}"
        );
    }
}

#[test]
fn a_large_asset_is_refused_with_both_sizes() {
    let project = Project::from_fixture("tree");
    let size = 1_048_577;
    project.file("ui/_index/assets/tokens.json", vec![b'1'; size]);
    let mut session = project.serve(&["--dir", "."]);
    session.initialize(LEGACY);
    let ask = json!({ "skill_path": "ui/_index", "file": "assets/tokens.json" });
    let text = session.tool_error("get_asset", &ask);
    for part in ["1048577", "1048576"] {
        assert!(
            text.replace([',', '_', ' '], "").contains(part),
            "no {part} in: {text}"
        );
    }
    // At the limit itself it is served.
    project.file("ui/_index/assets/tokens.json", vec![b'2'; size - 1]);
    session.tool_json("refresh_skills", &json!({}));
    let reply = session.tool_json("get_asset", &ask);
    assert_eq!(reply["size_bytes"], size - 1);
}

/// Path, number of assets, number of scripts, number of children.
const NODES: [(&str, usize, usize); 8] = [
    ("_root", 2, 0),
    ("api/_index", 0, 0),
    ("api/auth", 1, 0),
    ("no-inherit", 0, 0),
    ("ui/_index", 1, 0),
    ("ui/react/_index", 2, 1),
    ("ui/react/auth", 4, 2),
    ("ui/react/testing", 0, 0),
];

#[test]
fn the_tree_is_listed_with_its_parents() {
    let (_project, mut session) = session();
    let reply = session.tool_json("list_skills", &json!({}));
    let mut found = Vec::new();
    visit(&reply, &mut Vec::new(), &mut found);
    found.sort();
    let counts: Vec<(String, usize, usize)> = found
        .iter()
        .map(|(path, _, assets, scripts)| (path.clone(), *assets, *scripts))
        .collect();
    let wanted: Vec<(String, usize, usize)> = NODES
        .iter()
        .map(|(path, assets, scripts)| ((*path).to_owned(), *assets, *scripts))
        .collect();
    assert_eq!(counts, wanted);
    let parent = |path: &str| {
        found
            .iter()
            .find(|(p, ..)| p == path)
            .and_then(|(_, parents, ..)| parents.last().cloned())
    };
    assert_eq!(parent("_root"), None);
    assert_eq!(parent("ui/react/auth").as_deref(), Some("ui/react/_index"));
    assert_eq!(parent("ui/react/_index").as_deref(), Some("ui/_index"));
    assert_eq!(parent("no-inherit").as_deref(), Some("_root"));
}

/// Node path, the paths above it, its counts.
type Node = (String, Vec<String>, usize, usize);

/// Every object with a `path`, wherever the tree holds it.
fn visit(value: &Value, above: &mut Vec<String>, found: &mut Vec<Node>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| visit(item, above, found)),
        Value::Object(node) if node.contains_key("path") => {
            let path = node["path"].as_str().expect("path is text").to_owned();
            for key in ["name", "description", "keywords", "children"] {
                assert!(node.contains_key(key), "{path} has no {key}");
            }
            let count = |key: &str| {
                usize::try_from(node[key].as_u64().expect("a count")).expect("a small count")
            };
            found.push((
                path.clone(),
                above.clone(),
                count("assetCount"),
                count("scriptCount"),
            ));
            above.push(path);
            visit(&node["children"], above, found);
            above.pop();
        }
        Value::Object(object) => object.values().for_each(|v| visit(v, above, found)),
        _ => {}
    }
}

#[test]
fn a_part_of_the_tree_is_listed() {
    let (_project, mut session) = session();
    for (path, wanted) in [
        ("api", &["api/_index", "api/auth"][..]),
        ("api/_index", &["api/_index", "api/auth"]),
        (
            "ui/react",
            &["ui/react/_index", "ui/react/auth", "ui/react/testing"],
        ),
        ("ui/react/auth", &["ui/react/auth"]),
    ] {
        let reply = session.tool_json("list_skills", &json!({ "path": path }));
        let mut found = Vec::new();
        visit(&reply, &mut Vec::new(), &mut found);
        let mut paths: Vec<&str> = found.iter().map(|(p, ..)| p.as_str()).collect();
        paths.sort_unstable();
        assert_eq!(paths, wanted, "{path}");
    }
}

#[test]
fn a_refresh_says_how_many_skills_there_are() {
    let (project, mut session) = session();
    let local = |count: usize| {
        json!({
            "success": true,
            "mode": "local",
            "skills_reindexed": count,
            "message": "Reindexed from local directory (no git sync configured)."
        })
    };
    assert_eq!(session.tool_json("refresh_skills", &json!({})), local(8));
    project.file(
        "api/more.md",
        "---\ndescription: More\nkeywords: [more]\n---\nmore\n",
    );
    assert_eq!(session.tool_json("refresh_skills", &json!({})), local(9));
}

#[test]
fn a_bundle_answers_as_its_folder_does() {
    let project = Project::from_fixture("tree");
    let ran = project.run(&["compile", ".", "-o", "tree.skb"]);
    assert!(matches!(ran.code, Some(0 | 1)), "{ran:?}");
    let mut folder = project.serve(&["--dir", "."]);
    let mut bundle = project.serve(&["--bundle", "tree.skb"]);
    folder.initialize(LEGACY);
    bundle.initialize(LEGACY);
    let mut questions = vec![
        (
            "get_skill",
            json!({ "context": "Put a login and a session behind React auth" }),
        ),
        ("get_skill", json!({ "context": "auth" })),
        ("get_skill", json!({ "context": "nothing" })),
        ("list_skills", json!({})),
        ("skills_list", json!({ "includeBody": true })),
        ("skills_search", json!({ "query": "token" })),
    ];
    questions.extend(
        ASSETS.map(|(skill, file, ..)| ("get_asset", json!({ "skill_path": skill, "file": file }))),
    );
    questions.extend(
        REFUSED.map(|(skill, file, _)| ("get_asset", json!({ "skill_path": skill, "file": file }))),
    );
    for (tool, arguments) in questions {
        let (one, other) = (folder.tool(tool, &arguments), bundle.tool(tool, &arguments));
        assert_eq!(text_of(&one), text_of(&other), "{tool} {arguments}");
    }
}
