//! Random skill sets for property tests: every field takes odd values, the
//! rules that a compiler keeps (unique sorted paths, no cycle, UTF-8) hold.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use skillbundle_format::{
    ArgEntry, Category, ContractEntry, Dialect, Execution, FailureCode, FileEntry, Role, RootEntry,
    Scope, Settings, SkillEntry, SkillSet,
};

/// Text of any script, with line ends, tabs and combining marks; never NUL.
pub(super) fn text(longest: usize) -> impl Strategy<Value = String> {
    vec(
        prop_oneof![
            6 => prop::char::range('a', 'z').prop_map(String::from),
            2 => prop::char::range('A', 'Z').prop_map(String::from),
            2 => Just(" ".to_owned()),
            1 => prop::sample::select(vec![
                "\n", "\r\n", "\t", "é", "e\u{301}", "İ", "ß", "日本", "🦀", "\u{feff}", "-", "_",
                "\"", "\\", "<b>", ",", "ŒUVRE", "\u{200d}",
            ])
            .prop_map(str::to_owned),
        ],
        0..longest,
    )
    .prop_map(|parts| parts.concat())
}

/// One segment of a path: no slash, not empty, no dots alone.
fn segment() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[a-z][a-z0-9-]{0,8}",
        1 => Just("_index".to_owned()),
        1 => "[A-Z][a-z]{1,4}",
        1 => prop::sample::select(vec!["été", "日本", "a b", "x.y"]).prop_map(str::to_owned),
    ]
}

fn path(deepest: usize) -> impl Strategy<Value = String> {
    vec(segment(), 1..=deepest).prop_map(|segments| segments.join("/"))
}

fn bytes() -> impl Strategy<Value = Option<Arc<[u8]>>> {
    prop_oneof![
        3 => text(40).prop_map(|t| Some(Arc::from(t.into_bytes()))),
        2 => vec(any::<u8>(), 0..200).prop_map(|b| Some(Arc::from(b))),
        1 => Just(Some(Arc::from(vec![b'z'; 20_000]))),
        1 => Just(None),
    ]
}

fn file() -> impl Strategy<Value = FileEntry> {
    let role = prop_oneof![Just(Role::File), Just(Role::Asset), Just(Role::Script)];
    let execution = prop_oneof![Just(Execution::Claude), Just(Execution::Server)];
    let argument = (
        "[a-z]{1,6}",
        text(10),
        any::<bool>(),
        proptest::option::of(text(10)),
    );
    let argument = argument.prop_map(|(name, description, required, default)| ArgEntry {
        name,
        description,
        required,
        default,
    });
    (
        role,
        "[a-z]{1,8}",
        text(20),
        execution,
        vec(argument, 0..3),
        any::<bool>(),
        bytes(),
    )
        .prop_map(
            |(role, kind, description, execution, args, executable, bytes)| FileEntry {
                path: String::new(),
                role,
                kind,
                description,
                execution,
                args,
                executable,
                unread: bytes.is_none().then_some(70 << 20).filter(|_| executable),
                bytes,
            },
        )
}

fn files() -> impl Strategy<Value = Vec<FileEntry>> {
    let name = (
        path(3),
        prop::sample::select(vec!["", ".md", ".png", ".SVG", ".sh", ".tar.gz"]),
    )
        .prop_map(|(path, extension)| path + extension);
    btree_map(name, file(), 0..5).prop_map(|named| {
        named
            .into_iter()
            .map(|(path, file)| FileEntry { path, ..file })
            .collect()
    })
}

/// The Markdown file: its bytes, where the text starts, where the body lies.
fn source() -> impl Strategy<Value = (Arc<[u8]>, usize, Range<usize>)> {
    (any::<bool>(), text(20), text(200)).prop_map(|(mark, head, body)| {
        let start = if mark { 3 } else { 0 };
        let mark = if mark { "\u{feff}" } else { "" };
        let whole = format!("{mark}---\n{head}\n---\n{body}");
        let body = whole.len() - body.len()..whole.len();
        (Arc::from(whole.into_bytes()), start, body)
    })
}

fn contract() -> impl Strategy<Value = ContractEntry> {
    (
        prop::sample::select(Category::ALL),
        vec(text(10), 0..3),
        vec(text(30), 0..3),
        prop::sample::subsequence(FailureCode::ALL, 0..=FailureCode::ALL.len()),
        1_u32..=300,
        proptest::option::of(path(2)),
    )
        .prop_map(
            |(category, assigned_to, success_criteria, failure_modes, seconds, handler)| {
                ContractEntry {
                    category,
                    assigned_to,
                    input_schema: format!("{{\"maxLength\":{seconds}}}"),
                    output_schema: "true".to_owned(),
                    success_criteria,
                    failure_modes,
                    timeout_seconds: seconds,
                    handler,
                }
            },
        )
}

fn skill() -> impl Strategy<Value = SkillEntry> {
    let priority = prop_oneof![
        3 => Just(0.0),
        2 => (-200_i32..200).prop_map(f64::from),
        1 => -1e9..1e9_f64,
    ];
    let dialect = prop_oneof![Just(Dialect::Folder), Just(Dialect::Tree)];
    let keywords = vec(prop_oneof![4 => "[a-z]{1,10}", 1 => text(6)], 0..5);
    let name = prop_oneof![2 => "[a-z][a-z0-9]{0,2}", 1 => "[A-Za-z][a-z -]{0,10}"];
    let names = (name, text(60), path(4));
    (
        names,
        dialect,
        priority,
        any::<bool>(),
        keywords,
        source(),
        (files(), proptest::option::weighted(0.3, contract())),
    )
        .prop_map(
            |(
                (name, description, file_path),
                dialect,
                priority,
                inherit,
                keywords,
                source,
                (files, contract),
            )| {
                let (source, text_start, body) = source;
                SkillEntry {
                    path: String::new(),
                    frontmatter_json:
                        serde_json::json!({ "name": name, "description": description }).to_string(),
                    name,
                    description,
                    dialect,
                    root: 0,
                    file_path,
                    priority,
                    inherit,
                    parent: None,
                    prefix: 0,
                    shadowed: false,
                    audience: skillbundle_format::Audience::Everyone,
                    keywords,
                    source,
                    recovered: priority < -100.0,
                    text_start,
                    body,
                    files,
                    contract,
                }
            },
        )
}

fn settings() -> impl Strategy<Value = Settings> {
    (
        0.0..1.0_f64,
        0.0..1.0_f64,
        0_u32..9,
        any::<bool>(),
        vec("\\.[a-z]{1,4}", 0..4),
        any::<u64>(),
    )
        .prop_map(
            |(min_score, ambiguity_threshold, max_results, flag, extensions, size)| Settings {
                min_score,
                max_results,
                ambiguity_threshold,
                min_confidence: flag.then_some(min_score * 4.0),
                min_margin: ambiguity_threshold / 2.0,
                refresh_enabled: flag,
                refresh_interval_minutes: max_results * 7,
                scripts_enabled: !flag,
                script_timeout_seconds: max_results + 1,
                script_max_output_bytes: size / 2,
                agents: extensions.clone(),
                script_extensions: extensions,
                asset_max_bytes: size,
                asset_inline_max_bytes: size / 3,
            },
        )
}

/// A whole set of up to `most` skills. Parents stand anywhere; no cycle.
pub(super) fn skill_set(most: usize) -> impl Strategy<Value = SkillSet> {
    let scope = prop_oneof![Just(Scope::Project), Just(Scope::Global)];
    let commit = proptest::option::of("[0-9a-f]{40}");
    let root = (text(12), scope, commit).prop_map(|(label, scope, commit)| RootEntry {
        label,
        scope,
        commit,
    });
    let skills = btree_map(path(4), (skill(), any::<u32>(), any::<u32>()), 0..=most);
    (settings(), vec(root, 1..4), skills).prop_map(|(settings, roots, skills)| {
        let mut skills = place(skills);
        let roots_len = u32::try_from(roots.len()).expect("a few roots");
        for (skill, seed) in &mut skills {
            skill.root = *seed % roots_len;
        }
        SkillSet {
            settings,
            roots,
            skills: skills.into_iter().map(|(skill, _)| skill).collect(),
        }
    })
}

/// Gives the skills their paths, and each the parent that its seed names among
/// those after it in a shuffled order, so that parents stand on either side.
fn place(skills: BTreeMap<String, (SkillEntry, u32, u32)>) -> Vec<(SkillEntry, u32)> {
    let mut placed: Vec<(SkillEntry, u32)> = Vec::new();
    let mut seeds: Vec<(u32, usize)> = Vec::new();
    for (at, (path, (skill, seed, other))) in skills.into_iter().enumerate() {
        seeds.push((seed, at));
        placed.push((SkillEntry { path, ..skill }, other));
    }
    seeds.sort_unstable();
    for (rank, &(seed, at)) in seeds.iter().enumerate() {
        let older = &seeds[rank + 1..];
        if !older.is_empty() && seed % 3 != 0 {
            let (_, parent) = older[seed as usize % older.len()];
            placed[at].0.parent = Some(u32::try_from(parent).expect("a few skills"));
        }
    }
    placed
}
