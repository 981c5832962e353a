//! Rules of the repository that a test can check: which package may use which,
//! how long a file may be, how it begins, where `unsafe` is allowed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use skillbundle_exec::Isolation;

use crate::project::workspace;

/// Our packages, and which of ours each may use. The server never sees the
/// compiler: the binary hands it a `Source`.
const OURS: [(&str, &[&str]); 9] = [
    ("skillbundle-exec", &[]),
    ("skillbundle-git", &[]),
    ("skillbundle-journal", &[]),
    ("skillbundle-schema", &[]),
    ("skillbundle-search", &[]),
    ("skillbundle-format", &["skillbundle-search"]),
    (
        "skillbundle-compiler",
        &[
            "skillbundle-format",
            "skillbundle-schema",
            "skillbundle-search",
        ],
    ),
    (
        "skillbundle-server",
        &[
            "skillbundle-exec",
            "skillbundle-format",
            "skillbundle-journal",
            "skillbundle-schema",
            "skillbundle-search",
        ],
    ),
    (
        "skillbundle",
        &[
            "skillbundle-compiler",
            "skillbundle-exec",
            "skillbundle-format",
            "skillbundle-git",
            "skillbundle-journal",
            "skillbundle-search",
            "skillbundle-server",
        ],
    ),
];

/// What the tests share. None of our packages may ship it.
const TEST_KIT: &str = "skillbundle-testkit";

/// Heavy dependencies and the one package that may name each. Development
/// dependencies do not count: they do not ship. `tokio` has two homes, since the client of
/// PostgreSQL needs it; the journal has it for nothing else.
const HOMES: [(&str, &[&str]); 8] = [
    ("skillbundle-exec", &["landlock", "libc", "seccompiler"]),
    (
        "skillbundle-journal",
        &[
            "rusqlite",
            "postgres",
            "tokio-postgres",
            "tokio-postgres-rustls",
            "tokio",
            "rustls",
            "rustls-native-certs",
            "ureq",
        ],
    ),
    ("skillbundle-schema", &["jsonschema"]),
    ("skillbundle-search", &["strsim", "wide"]),
    ("skillbundle-format", &["rkyv", "zstd", "memmap2", "sha2"]),
    (
        "skillbundle-compiler",
        &[
            "serde-saphyr",
            "serde_yaml",
            "walkdir",
            "annotate-snippets",
            "pulldown-cmark",
        ],
    ),
    (
        "skillbundle-server",
        &["rmcp", "tokio", "notify", "hyper", "hyper-util", "reqwest"],
    ),
    (
        "skillbundle",
        &[
            "clap",
            "clap_complete",
            "clap_mangen",
            "anyhow",
            "tracing-subscriber",
        ],
    ),
];

/// Lines of a file, without its tests, unless its head says why it is longer.
const HARD_LIMIT: usize = 600;

/// How the only files begin that may hold `unsafe`: where a bundle is mapped, and system calls that
/// no safe wrapper offers.
const UNSAFE_HOMES: [&str; 2] = ["runtime/bundle/src/container", "runtime/exec/src/sys"];

#[test]
fn packages_use_only_what_the_table_allows() {
    let packages = packages();
    let found: BTreeSet<&str> = packages.keys().map(String::as_str).collect();
    let (kit, found): (BTreeSet<&str>, _) = found
        .into_iter()
        .partition(|name| name.starts_with(TEST_KIT));
    assert!(kit.contains(TEST_KIT), "no package {TEST_KIT}");
    assert_eq!(
        found,
        OURS.iter().map(|(name, _)| *name).collect(),
        "the packages of the workspace"
    );
    for (name, allowed) in OURS {
        let used: BTreeSet<&str> = packages[name]
            .iter()
            .map(|d| d.name.as_str())
            .filter(|d| OURS.iter().any(|(ours, _)| ours == d))
            .collect();
        let allowed: BTreeSet<&str> = allowed.iter().copied().collect();
        assert!(
            used.is_subset(&allowed),
            "{name} uses {used:?}, may use {allowed:?}"
        );
    }
}

#[test]
fn heavy_dependencies_have_one_home() {
    for (name, dependencies) in packages() {
        for dependency in dependencies.iter().filter(|d| d.kind != "dev") {
            let homes = HOMES.iter();
            let homes = homes.filter(|(_, heavy)| heavy.contains(&dependency.name.as_str()));
            let homes: Vec<&str> = homes.map(|(home, _)| *home).collect();
            assert!(
                homes.is_empty() || homes.contains(&name.as_str()),
                "{} belongs in {homes:?}, not in {name}",
                dependency.name
            );
        }
    }
}

/// Who records into a file needs no event loop.
#[test]
fn the_journal_has_tokio_for_postgresql_alone() {
    let dependencies = &packages()["skillbundle-journal"];
    let tokio = dependencies.iter().find(|it| it.name == "tokio");
    assert!(tokio.is_some_and(|it| it.optional), "tokio is not optional");
    let manifest = fs::read_to_string(workspace().join("runtime/journal/Cargo.toml"));
    let manifest = manifest.expect("it exists");
    let naming = manifest.lines().filter(|it| it.contains("dep:tokio\""));
    assert_eq!(naming.count(), 1, "one feature turns tokio on");
    assert!(manifest.contains("default = [\"sqlite\"]"));
}

#[test]
fn the_test_kit_stands_alone_and_does_not_ship() {
    for (name, dependencies) in packages() {
        let kit = name.starts_with(TEST_KIT);
        for dependency in &dependencies {
            let on_kit = dependency.name.starts_with(TEST_KIT);
            let ours = OURS.iter().any(|(ours, _)| *ours == dependency.name);
            assert!(!(kit && ours), "{name} uses {}", dependency.name);
            let ships = !kit && on_kit && dependency.kind != "dev";
            assert!(
                !ships,
                "{name} uses {} as a {} dependency",
                dependency.name, dependency.kind
            );
        }
    }
}

/// No feature may tie the server to the compiler, not even for tests.
#[test]
fn the_server_does_not_know_the_compiler() {
    for kind in ["normal", "dev", "build"] {
        let dependencies = &packages()["skillbundle-server"];
        let found = dependencies
            .iter()
            .any(|d| d.kind == kind && d.name == "skillbundle-compiler");
        assert!(
            !found,
            "skillbundle-server has the compiler as a {kind} dependency"
        );
    }
}

struct Dependency {
    name: String,
    kind: String,
    optional: bool,
}

/// Our packages with their dependencies, as `cargo metadata` has them.
fn packages() -> BTreeMap<String, Vec<Dependency>> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .current_dir(workspace())
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or("normal").to_owned();
    list(&metadata["packages"])
        .iter()
        .map(|package| {
            let dependencies = list(&package["dependencies"])
                .iter()
                .map(|d| Dependency {
                    name: text(&d["name"]),
                    kind: text(&d["kind"]),
                    optional: d["optional"] == true,
                })
                .collect();
            (text(&package["name"]), dependencies)
        })
        .collect()
}

#[test]
fn files_are_short_or_say_why() {
    for (path, text) in rust_files() {
        if is_test(&path) {
            continue;
        }
        let lines = text
            .split("#[cfg(test)]\nmod ")
            .next()
            .unwrap_or_default()
            .lines()
            .count();
        let excused = head(&text).contains("long because");
        assert!(
            lines <= HARD_LIMIT || excused,
            "{path} has {lines} lines (limit {HARD_LIMIT}); split it, or say \"long because …\" in its head"
        );
    }
}

/// Files of tests may be as long as their tables.
fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

#[test]
fn every_file_says_what_it_is_for() {
    for (path, text) in rust_files() {
        let head = head(&text);
        assert!(
            !head.trim().is_empty(),
            "{path} does not begin with a //! head"
        );
    }
}

#[test]
fn no_module_is_called_mod() {
    for (path, _) in rust_files() {
        assert!(
            !path.ends_with("/mod.rs"),
            "{path}: call it foo.rs beside foo/"
        );
    }
}

#[test]
fn unsafe_has_its_homes() {
    for (path, text) in rust_files() {
        assert!(
            !text.lines().any(opens_unsafe) || UNSAFE_HOMES.iter().any(|it| path.starts_with(it)),
            "{path} holds unsafe code; its only homes are {UNSAFE_HOMES:?}"
        );
    }
}

/// Whether the line opens an unsafe block, function or implementation. The word in
/// a string or in the name of a lint does not count.
fn opens_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    code.split("unsafe ").skip(1).any(|rest| {
        ["{", "fn ", "impl ", "extern ", "trait "]
            .iter()
            .any(|what| rest.starts_with(what))
    })
}

#[test]
fn nothing_names_a_machine() {
    // Written in halves, so that this file does not contain what it looks for.
    let places = [
        ["/wo", "rk/main"].concat(),
        ["/wo", "rk/shared"].concat(),
        ["/ho", "me/"].concat() + "runner",
        ["/ro", "ot/.cargo"].concat(),
        ["/tm", "p/contract"].concat(),
    ];
    for path in tracked_files() {
        let Ok(text) = fs::read_to_string(workspace().join(&path)) else {
            continue;
        };
        for place in &places {
            assert!(!text.contains(place.as_str()), "{path} names {place}");
        }
    }
}

#[test]
fn visible_changes_are_written_down() {
    let text = fs::read_to_string(workspace().join("CHANGELOG.md")).expect("CHANGELOG.md exists");
    let version = env!("CARGO_PKG_VERSION");
    assert!(
        text.contains(version) || text.contains("Unreleased"),
        "CHANGELOG.md speaks of neither {version} nor unreleased changes"
    );
}

/// Each promise in the docs names its tests, and they exist.
#[test]
fn promises_name_tests_that_exist() {
    let text = fs::read_to_string(workspace().join("docs/transport.md")).expect("it exists");
    let files = rust_files();
    let rows = text.lines().filter(|line| line.starts_with("| "));
    let cells = rows.filter_map(|row| row.trim_end_matches(" |").rsplit_once(" | "));
    let names = cells.flat_map(|(_, tests)| tests.split('`').skip(1).step_by(2));
    let names: BTreeSet<&str> = names.collect();
    assert!(names.len() > 30, "only {} tests are named", names.len());
    for name in names {
        let (whole, listed) = (format!("fn {name}()"), format!("    {name}\n"));
        let exists = |text: &str| text.contains(&whole) || text.contains(&listed);
        assert!(
            files.iter().any(|(_, text)| exists(text)),
            "docs/transport.md names the test {name}, which does not exist"
        );
    }
}

/// The `//!` lines at the top of a file.
fn head(text: &str) -> String {
    let lines = text.lines().skip_while(|l| l.starts_with("#!"));
    lines
        .take_while(|l| l.starts_with("//!"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Every Rust file of the workspace with its text.
fn rust_files() -> Vec<(String, String)> {
    let files: Vec<_> = tracked_files()
        .into_iter()
        .filter(|path| Path::new(path).extension().is_some_and(|e| e == "rs"))
        .filter_map(|path| Some((fs::read_to_string(workspace().join(&path)).ok()?, path)))
        .map(|(text, path)| (path, text))
        .collect();
    assert!(files.len() > 20, "only {} Rust files found", files.len());
    files
}

/// Files that are or would be committed, from `git`; in a copy without a
/// repository, all files.
fn tracked_files() -> Vec<String> {
    let listed = Command::new("git")
        .args([
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "-z",
        ])
        .current_dir(workspace())
        .output();
    match listed {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout)
            .split('\0')
            .filter(|path| !path.is_empty())
            .map(str::to_owned)
            .collect(),
        _ => {
            let mut files = Vec::new();
            walk(workspace(), "", &mut files);
            files
        }
    }
}

fn walk(dir: &Path, prefix: &str, files: &mut Vec<String>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == "target" || name == ".git" {
            continue;
        }
        let path = format!("{prefix}{name}");
        if entry.path().is_dir() {
            walk(&entry.path(), &format!("{path}/"), files);
        } else {
            files.push(path);
        }
    }
}

/// Who decides by docs/security.md must not be told less than is known.
#[test]
fn docs_say_what_each_isolation_does_not_stop() {
    let page = fs::read_to_string(workspace().join("docs/security.md")).expect("it exists");
    let rows = page
        .lines()
        .skip_while(|it| *it != "| level | a script can still |");
    let rows = rows.skip(2).take_while(|it| it.starts_with('|'));
    let mut said: Vec<(String, String)> = Vec::new();
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let level = match (cells[1], said.last()) {
            ("", Some((above, _))) => above.clone(),
            (level, _) => level.trim_matches('`').to_owned(),
        };
        said.push((level, cells[2].to_owned()));
    }
    let gaps = Isolation::ALL.into_iter().flat_map(|level| {
        let gaps = level.gaps().iter();
        gaps.map(move |gap| (level.to_string(), (*gap).to_owned()))
    });
    assert_eq!(said, gaps.collect::<Vec<_>>());
}
