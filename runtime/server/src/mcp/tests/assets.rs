//! `get_asset` (spec 3 §7, §8.3, §12).

use super::*;

#[test]
fn get_asset_serves_text_binaries_and_inherited_files() {
    let mut client = client(spec_tree());
    let mut asset = |file: &str| {
        data(&client.tool(
            "get_asset",
            &json!({ "skill_path": "ui/react/auth", "file": file }),
        ))
    };
    assert_eq!(
        asset("assets/AuthProvider.tsx.template"),
        json!({ "skill_path": "ui/react/auth", "file": "assets/AuthProvider.tsx.template", "content": "import React", "size_bytes": 12, "type": "template" })
    );
    assert_eq!(
        asset("assets/auth-flow.svg"),
        json!({ "skill_path": "ui/react/auth", "file": "assets/auth-flow.svg", "content_base64": "PHN2ZyB4bWw6eD0iMSIvPg==", "size_bytes": 16, "type": "image", "mime_type": "image/svg+xml" })
    );
    let inherited = asset("assets/component-base.tsx.template");
    assert_eq!(
        (&inherited["resolved_from"], &inherited["content"]),
        (&json!("ui/react/_index"), &json!("export {}\n"))
    );
    assert_eq!(asset("./global.css")["resolved_from"], "_root");
    assert_eq!(asset("scripts/scaffold-auth.sh")["type"], "script");
    let latin1 = asset("assets/latin1.txt");
    assert_eq!(
        (&latin1["content_base64"], latin1.get("content")),
        (&json!("Y2Fm6Q=="), None),
        "not a byte is changed"
    );
    assert!(latin1["mime_type"].is_string());
}

#[test]
fn get_asset_says_why_it_refuses() {
    let mut skills = spec_tree();
    skills.settings.asset_max_bytes = 12;
    let mut client = client(skills);
    for (path, name, code, word) in [
        ("nowhere", "x", "skill_not_found", "nowhere"),
        ("ui/react/auth", "../secret", "path_traversal", "../secret"),
        (
            "ui/react/auth",
            "/etc/passwd",
            "path_traversal",
            "/etc/passwd",
        ),
        ("ui/react/auth", "assets\\x", "path_traversal", "assets"),
        ("ui/react/auth", "a\0b", "path_traversal", "path traversal"),
        ("ui/react/auth", "C:/x", "path_traversal", "C:/x"),
        (
            "ui/react/auth",
            "assets/none",
            "asset_not_found",
            "assets/none",
        ),
        ("ui/react/auth", "%2e%2e/x", "asset_not_found", "%2e%2e/x"),
        (
            "ui/react/auth",
            "assets//auth-flow.svg",
            "asset_not_found",
            "assets",
        ),
        (
            "ui/react/auth",
            "assets/missing.txt",
            "asset_missing",
            "assets/missing.txt",
        ),
        (
            "ui/react/auth",
            "assets/auth-flow.svg",
            "asset_too_large",
            "16 bytes, the limit is 12 bytes",
        ),
        ("no-inherit", "global.css", "asset_not_found", "no-inherit"),
    ] {
        let result = client.tool("get_asset", &json!({ "skill_path": path, "file": name }));
        let answer = data(&result);
        assert_eq!(
            (&result["isError"], &answer["code"]),
            (&json!(true), &json!(code)),
            "{path} {name}"
        );
        assert!(answer["error"].as_str().unwrap().contains(word), "{answer}");
    }
    let large = data(&client.tool(
        "get_asset",
        &json!({ "skill_path": "ui/react/auth", "file": "assets/auth-flow.svg" }),
    ));
    assert_eq!(
        (&large["size_bytes"], &large["max_size_bytes"]),
        (&json!(16), &json!(12))
    );
}
