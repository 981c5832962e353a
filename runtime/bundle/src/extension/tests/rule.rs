//! Which skills are published, and under which URIs.

use serde_json::Value;
use skillbundle_search::text::fold;

use super::super::Unpublished;
use super::{bundle, check_set, outcomes, page, uris, with_files};
use crate::model::{RootEntry, Scope, SkillEntry};
use crate::sample::{file, set, skill};

/// One change to a folder skill, and the reason why it is then left out.
#[test]
fn a_folder_skill_that_is_not_valid_is_left_out() {
    type Change = fn(&mut SkillEntry);
    let cases: &[(Change, Unpublished)] = &[
        (
            |it| it.frontmatter_json = r#"{"name":"Kit","description":"d"}"#.into(),
            Unpublished::Name,
        ),
        (
            |it| it.frontmatter_json = r#"{"name":1,"description":"d"}"#.into(),
            Unpublished::Name,
        ),
        (|it| it.frontmatter_json = "[]".into(), Unpublished::Name),
        (
            |it| it.frontmatter_json = r#"{"name":"kit"}"#.into(),
            Unpublished::Description,
        ),
        (
            |it| it.frontmatter_json = r#"{"name":"kit","description":" "}"#.into(),
            Unpublished::Description,
        ),
        (|it| it.recovered = true, Unpublished::Recovered),
        (|it| it.text_start = 3, Unpublished::ByteOrderMark),
        (
            |it| it.file_path = "../kit/SKILL.md".into(),
            Unpublished::File("../kit".into()),
        ),
        (
            |it| it.files = vec![file("a/skill.md", b"x"), file("a/SKILL.md", b"y")],
            Unpublished::File("a/SKILL.md".into()),
        ),
        (
            |it| it.files = vec![file(&"x".repeat(2048), b"x")],
            Unpublished::File("x".repeat(2048)),
        ),
    ];
    for (change, reason) in cases {
        let mut entry = skill("kit", "x\n");
        change(&mut entry);
        let set = set(vec![skill("first", "x\n"), entry, skill("last", "x\n")]);
        let outcomes = outcomes(&set);
        assert_eq!(outcomes[1], Err(reason.clone()));
        assert!(outcomes[0].is_ok() && outcomes[2].is_ok());
        if reason != &Unpublished::ByteOrderMark {
            check_set(&set);
        }
    }
}

#[test]
fn nested_skills_share_their_files() {
    let inner = with_files(skill("kit/sub", "x\n"), &["a.md"]);
    let mut outer = with_files(skill("kit", "x\n"), &["b.md"]);
    let mut inner_md = file("sub/skill.md", &inner.source);
    outer.files.push(file("sub/a.md", b"a.md of kit/sub"));
    outer.files.push(inner_md.clone());
    let agreeing = set(vec![outer.clone(), inner.clone()]);
    assert_eq!(
        uris(&agreeing),
        ["skill://kit/SKILL.md", "skill://kit/sub/SKILL.md"]
    );
    check_set(&agreeing);
    let bundle = bundle(&agreeing);
    let catalog = bundle.catalog().expect("intact");
    let published = catalog.published().expect("intact");
    let shared = published
        .resource("skill://kit/sub/a.md")
        .expect("intact")
        .expect("there");
    assert_eq!(shared.skill().expect("intact").name, "sub");

    // Different text, one file less, or the other way round.
    inner_md.bytes = Some(b"other".as_slice().into());
    outer.files[2] = inner_md;
    let disagreeing = set(vec![outer.clone(), inner.clone()]);
    assert_eq!(outcomes(&disagreeing)[1], Err(Unpublished::Overlaps(0)));
    check_set(&disagreeing);
    let inside_first = set(vec![inner, outer]);
    assert_eq!(outcomes(&inside_first)[1], Err(Unpublished::Overlaps(0)));
    check_set(&inside_first);
}

#[test]
fn a_root_that_is_a_skill_has_the_others_in_it() {
    let mut top = skill("whole", "x\n");
    top.file_path = "SKILL.md".to_owned();
    let inner = skill("kit", "x\n");
    top.files = vec![file("kit/SKILL.md", &inner.source)];
    let set = set(vec![inner, top]);
    assert_eq!(
        uris(&set),
        ["skill://whole/kit/SKILL.md", "skill://whole/SKILL.md"]
    );
    check_set(&set);
}

#[test]
fn of_two_folder_skills_with_one_uri_the_first_is_published() {
    let mut other = skill("b", "x\n");
    other.frontmatter_json = r#"{"name":"a","description":"d"}"#.to_owned();
    let set = set(vec![skill("a", "x\n"), other]);
    assert_eq!(outcomes(&set)[1], Err(Unpublished::Taken(0)));
    check_set(&set);
}

#[test]
fn names_of_every_script_have_a_uri_and_are_read_back_in_every_form() {
    let with = |path: &str, files: &[&str]| with_files(skill(path, "x\n"), files);
    let set = set(vec![
        with("数据分析", &["参考/表 1.txt"]),
        with("мой-навык", &[]),
        with("team/caf\u{e9}", &["na\u{ef}ve.md", "οδος.md"]),
        // The same name as macOS writes it.
        with("team/cafe\u{301}", &[]),
    ]);
    let found = outcomes(&set);
    assert_eq!(
        found,
        [
            Ok("skill://%E6%95%B0%E6%8D%AE%E5%88%86%E6%9E%90/SKILL.md".to_owned()),
            Ok("skill://%D0%BC%D0%BE%D0%B9-%D0%BD%D0%B0%D0%B2%D1%8B%D0%BA/SKILL.md".to_owned()),
            Ok("skill://team/caf%C3%A9/SKILL.md".to_owned()),
            Err(Unpublished::Taken(2)),
        ]
    );
    check_set(&set);
    let bundle = bundle(&set);
    let catalog = bundle.catalog().expect("intact");
    let published = catalog.published().expect("intact");
    let names: Vec<_> = published
        .skills()
        .map(|it| it.expect("intact").name)
        .collect();
    assert_eq!(names, ["数据分析", "мой-навык", "caf\u{e9}"]);
    let first = published.names_starting_with("数").expect("intact").next();
    assert_eq!(first.expect("one").expect("intact").name, "数据分析");
    for (uri, expected) in [
        (
            "skill://team/caf%C3%A9/na%C3%AFve.md",
            Some("na\u{ef}ve.md"),
        ),
        (
            "skill://team/cafe%CC%81/nai%CC%88ve.md",
            Some("na\u{ef}ve.md"),
        ),
        (
            "skill://team/caf%c3%a9/na%c3%afve.md",
            Some("na\u{ef}ve.md"),
        ),
        ("skill://team/café/naïve.md", Some("na\u{ef}ve.md")),
        (
            "skill://team/caf%C3%A9/%CE%BF%CE%B4%CE%BF%CF%83.md",
            Some("οδος.md"),
        ),
        ("skill://数据分析/参考/表 1.txt", Some("表 1.txt")),
        (
            "skill://%E6%95%B0%E6%8D%AE%E5%88%86%E6%9E%90/SKILL.md",
            Some("数据分析"),
        ),
        ("skill://Team/café/naïve.md", None),
        ("skill://team/café/naive.md", None),
        ("skill://team/café", None),
        ("skill://team/caf%C3", None),
    ] {
        let resource = published.resource(uri).expect("intact");
        let name = resource.as_ref().map(|it| it.name.as_ref());
        assert_eq!(name, expected, "{uri}");
    }
    for (uri, expected) in [
        ("skill://team/cafe%CC%81", Some(3)),
        ("skill://数据分析/参考/", Some(1)),
        ("skill://数据", None),
    ] {
        let children = published.directory(uri).expect("intact");
        assert_eq!(children.map(|it| it.len()), expected, "{uri}");
    }
    for name in ["TEAM/CAFE\u{301}", "cafe\u{301}", "skill://team/CAFÉ"] {
        let found = catalog.by_name(name).expect("intact").expect("found");
        assert_eq!(fold(found.path), fold("team/café"), "{name}");
    }
    let skill = catalog
        .by_path("team/caf\u{e9}")
        .expect("intact")
        .expect("there");
    for (file, is_found) in [
        ("nai\u{308}ve.md", true),
        ("οδοσ.md", true),
        ("ΟΔΟΣ.md", true),
        ("naive.md", false),
    ] {
        assert_eq!(
            skill.file(file).expect("intact").is_some(),
            is_found,
            "{file}"
        );
    }
}

#[test]
fn two_files_that_differ_in_their_form_alone_are_both_read_by_their_own() {
    let files = ["caf\u{e9}.md", "cafe\u{301}.md"];
    let set = set(vec![with_files(skill("kit", "x\n"), &files)]);
    check_set(&set);
    let bundle = bundle(&set);
    let catalog = bundle.catalog().expect("intact");
    let skill = catalog.skill(0).expect("intact");
    let published = catalog.published().expect("intact");
    for (file, uri) in files.iter().zip(["caf%C3%A9.md", "cafe%CC%81.md"]) {
        let found = skill.file(file).expect("intact").expect("there");
        assert_eq!(found.path, *file);
        let found = published
            .resource(&format!("skill://kit/{uri}"))
            .expect("intact");
        assert_eq!(found.expect("there").name, *file);
    }
    assert!(skill.file("CAFÉ.md").expect("intact").is_none());
    assert!(
        published
            .resource("skill://kit/CAFÉ.md")
            .expect("intact")
            .is_none()
    );
}

#[test]
fn pages_get_valid_names_of_their_own() {
    let paths = [
        "_index",
        "_root",
        "root",
        "ui/_index",
        "ui/React Hooks",
        "ui/react_hooks",
        "ui/ui",
        "ui",
        "日本/x",
    ];
    let set = set(paths.map(|path| page(path, None)).into());
    assert_eq!(
        uris(&set),
        [
            "skill://index/SKILL.md",
            "skill://root/SKILL.md",
            "skill://root-2/SKILL.md",
            "skill://ui/ui/SKILL.md",
            "skill://ui/react-hooks/SKILL.md",
            "skill://ui/react-hooks-2/SKILL.md",
            "skill://ui/ui-2/SKILL.md",
            // `ui` contains other skills, and a manifest would have to list them.
            "skill://ui-2/SKILL.md",
            "skill://%E6%97%A5%E6%9C%AC/x/SKILL.md",
        ]
    );
    check_set(&set);
}

#[test]
fn a_page_is_published_as_what_its_chain_says() {
    let root = with_files(page("_root", None), &["assets/a.css", "assets/b.css"]);
    let mut leaf = with_files(page("ui/Auth", Some(0)), &["assets/b.css", "run.sh"]);
    leaf.description = "Signs in: \"fast\"\n\u{2028}# and well".to_owned();
    let set = set(vec![root, leaf]);
    let bundle = bundle(&set);
    let catalog = bundle.catalog().expect("intact");
    let published = catalog.published().expect("intact");
    let resource = published
        .resource("skill://ui/auth/SKILL.md")
        .expect("intact")
        .expect("there");
    let content = catalog
        .skill(1)
        .and_then(|it| it.content())
        .expect("intact");
    assert_eq!(
        String::from_utf8_lossy(&resource.bytes().expect("intact")),
        format!(
            "---\nname: \"auth\"\ndescription: \"Signs in: \\\"fast\\\"\\u000a\\u2028# and well\"\n---\n\n{content}\n"
        )
    );
    let entry: Value = published
        .entry(resource.uri)
        .expect("intact")
        .and_then(|it| serde_json::from_str(it).ok())
        .expect("JSON");
    assert_eq!(
        entry["frontmatter"],
        serde_json::json!({"name": "auth", "description": set.skills[1].description})
    );
    let read = |path: &str| {
        let uri = format!("skill://ui/auth/{path}");
        let resource = published.resource(&uri).expect("intact").expect("there");
        String::from_utf8_lossy(&resource.bytes().expect("intact")).into_owned()
    };
    assert_eq!(read("assets/a.css"), "assets/a.css of _root");
    assert_eq!(read("assets/b.css"), "assets/b.css of ui/Auth");
    check_set(&set);
}

#[test]
fn a_page_inside_a_folder_skill_of_another_root_is_left_out() {
    let mut below = page("kit/x", None);
    below.root = 1;
    let mut set = set(vec![skill("kit", "x\n"), below]);
    set.roots.push(RootEntry {
        label: "below".to_owned(),
        scope: Scope::Global,
        commit: None,
    });
    assert_eq!(outcomes(&set)[1], Err(Unpublished::Overlaps(0)));
    check_set(&set);
}
