//! The small inputs behind public bug reports, where they lie beside the
//! workspace: each `in/` is compiled in a copy, and what its `expect.json` says
//! is checked as far as a machine can. What was not checked is printed.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use skillbundle_compiler::{Compiled, Related, Severity};
use skillbundle_format::{Catalog, Skill};

use crate::project::{Project, bytes_of, copy_tree, finish, material, open, say, test_with};

/// Cases that need a running server or a repository; `refresh.rs`, `wire.rs` and
/// `repositories.rs` have tests of the same kinds.
const NOT_HERE: [(&str, &str); 3] = [
    ("refresh", "refresh.rs"),
    ("protocol", "refresh.rs"),
    ("sync", "repositories.rs"),
];

/// Expectations that the project meets in another way, and why.
const DECIDED_OTHERWISE: [(&str, &str, &str); 1] = [(
    "17-hint-as-sequence",
    "argument-hint",
    "the compiled frontmatter equals the YAML, as SEP-2640 demands; a finding quotes the text",
)];

#[test_with(public_cases)]
fn public_cases_come_out_as_expected() {
    let mut folders: Vec<_> = fs::read_dir(material("public_cases"))
        .expect("the cases can be read")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.join("expect.json").is_file())
        .collect();
    folders.sort();
    let mut tally = Tally::default();
    for folder in &folders {
        check_case(folder, &mut tally);
    }
    say(&format!(
        "public cases: {} of {} compiled, {} expectations checked",
        tally.compiled,
        folders.len(),
        tally.checked
    ));
    for line in &tally.unchecked {
        say(&format!("  not checked here: {line}"));
    }
    assert!(
        tally.failures.is_empty(),
        "{} expectations failed\n{}",
        tally.failures.len(),
        tally.failures.join("\n")
    );
}

#[derive(Default)]
struct Tally {
    compiled: usize,
    checked: usize,
    unchecked: Vec<String>,
    failures: Vec<String>,
}

fn check_case(folder: &Path, tally: &mut Tally) {
    let name = folder
        .file_name()
        .expect("a case has a name")
        .display()
        .to_string();
    let text = fs::read_to_string(folder.join("expect.json")).expect("expect.json can be read");
    let case: Value = serde_json::from_str(&text).expect("expect.json is JSON");
    let area = case["area"].as_str().unwrap_or_default();
    if let Some((_, place)) = NOT_HERE.iter().find(|(a, _)| *a == area) {
        tally.unchecked.push(format!("{name} ({area}: {place})"));
        return;
    }
    let project = Project::new();
    copy_tree(folder, project.dir());
    restore_links(&project, project.dir());
    if project.path("setup.sh").is_file() {
        let ran = finish(
            Command::new("/bin/sh")
                .arg("setup.sh")
                .current_dir(project.dir()),
        );
        assert_eq!(ran.code, Some(0), "{name}: setup.sh: {ran:?}");
    }
    if area == "discovery" && name.contains("unreadable") && everything_is_readable(&project) {
        tally.unchecked.push(format!(
            "{name} (this user can read everything: refresh.rs)"
        ));
        return;
    }
    let root = ["in/skills", "in/.agents/skills", "in/extra/root", "in"]
        .into_iter()
        .find(|root| project.path(root).is_dir())
        .unwrap_or_else(|| panic!("{name}: no folder to compile"));
    let compiled = project.compile(&[root]);
    let bundle = open(&bytes_of(&compiled));
    let catalog = bundle.catalog().expect("a catalog");
    let served: Vec<Skill<'_>> = catalog.skills().map(|s| s.expect("a skill")).collect();
    tally.compiled += 1;
    let seen = Seen {
        catalog,
        served: &served,
        compiled: &compiled,
    };
    for (key, wanted) in case["expect"].as_object().into_iter().flatten() {
        if let Some((.., why)) = DECIDED_OTHERWISE
            .iter()
            .find(|(n, k, _)| *n == name && k == key)
        {
            assert!(
                !compiled.report.diagnostics().is_empty(),
                "{name}: nothing is found"
            );
            tally
                .unchecked
                .push(format!("{name}: {key} = {wanted} ({why})"));
            continue;
        }
        match seen.check(key, wanted) {
            Some(Ok(())) => tally.checked += 1,
            Some(Err(found)) => {
                tally
                    .failures
                    .push(format!("{name}: {key} should be {wanted}: {found}"));
            }
            None => tally.unchecked.push(format!("{name}: {key} = {wanted}")),
        }
    }
}

/// What came of a case.
struct Seen<'a> {
    catalog: Catalog<'a>,
    served: &'a [Skill<'a>],
    compiled: &'a Compiled,
}

impl Seen<'_> {
    /// Checks one expectation: nothing where no machine can, else whether it
    /// holds, with what was found instead.
    fn check(&self, key: &str, wanted: &Value) -> Option<Result<(), String>> {
        let one = self.served.first();
        let paths: Vec<&str> = self.served.iter().map(|s| s.path).collect();
        let names: Vec<&str> = self.served.iter().map(|s| s.name).collect();
        let report = &self.compiled.report;
        let findings = report.diagnostics();
        let line = |file: &str, span| Some(report.locate(file, span)?.line);
        let holds = |it: bool, found: String| Some(if it { Ok(()) } else { Err(found) });
        let equals = |found: Option<String>| {
            holds(
                found.as_deref() == wanted.as_str(),
                format!("found {found:?}"),
            )
        };
        match key {
            "name" => equals(one.map(|s| s.name.to_owned())),
            "description" => equals(one.map(|s| s.description.to_owned())),
            "listing" => equals(one.map(|s| s.summary.to_owned())),
            "body" => equals(one.map(|s| s.body().expect("a body").into_owned())),
            "description_contains" => {
                let part = wanted.as_str()?;
                holds(
                    one?.description.contains(part),
                    format!("found {}", one?.description),
                )
            }
            "found" => holds(texts(wanted) == names, format!("served {names:?}")),
            "found_at_least" => {
                let all = texts(wanted)
                    .iter()
                    .all(|w| paths.contains(w) || names.contains(w));
                holds(all, format!("served {paths:?}"))
            }
            "loads" | "no_crash" => holds(
                !self.served.is_empty(),
                format!("findings {}", report.render_plain()),
            ),
            "strict" => {
                let is = self.compiled.report.has_errors();
                holds(
                    is == (wanted == "error"),
                    format!("findings {}", report.render_plain()),
                )
            }
            "lenient" => holds(
                !self.served.is_empty() && !findings.is_empty(),
                format!("served {paths:?}, findings {}", report.render_plain()),
            ),
            "line" => holds(
                findings
                    .iter()
                    .any(|d| line(&d.file, d.span).is_some_and(|line| *wanted == line)),
                format!("findings {}", report.render_plain()),
            ),
            "lines" => {
                let mut lines: Vec<usize> = findings
                    .iter()
                    .flat_map(|d| {
                        let file = |r: &'_ Related| r.file.clone().unwrap_or(d.file.clone());
                        let related = d.related.iter().map(|r| line(&file(r), r.span));
                        let own = std::iter::once(line(&d.file, d.span));
                        own.chain(related).flatten().collect::<Vec<_>>()
                    })
                    .collect();
                lines.sort_unstable();
                holds(*wanted == json!(lines), format!("lines {lines:?}"))
            }
            "warn" => {
                let told = findings.iter().any(|d| d.severity != Severity::Info);
                holds(
                    told == (*wanted == true),
                    format!("findings {}", report.render_plain()),
                )
            }
            "warnings" => {
                let told = findings
                    .iter()
                    .filter(|d| d.severity != Severity::Info)
                    .count();
                holds(
                    *wanted == told,
                    format!("findings {}", report.render_plain()),
                )
            }
            "mismatch" => holds(
                !findings
                    .iter()
                    .any(|d| d.code.as_str().contains("mismatch")),
                format!("findings {}", report.render_plain()),
            ),
            "files" => holds(*wanted == self.served.len(), format!("served {paths:?}")),
            "assets" | "manifest" => {
                let files = one.map(files).unwrap_or_default();
                holds(texts(wanted) == files, format!("files {files:?}"))
            }
            "key" => {
                let key = wanted.as_str()?;
                let found = one?.file(key).expect("an answer").is_some();
                holds(found, format!("files {:?}", one.map(files)))
            }
            "served" => {
                let held = one.map(files).unwrap_or_default();
                holds(
                    held.is_empty() && !findings.is_empty(),
                    format!("files {held:?}"),
                )
            }
            "get" => {
                let text = self
                    .catalog
                    .by_name("here")
                    .expect("an answer")
                    .map(|s| s.text());
                holds(text.is_some_and(|t| t.is_ok()), format!("served {paths:?}"))
            }
            "both" | "live" => {
                let found = self.catalog.by_name(key).expect("an answer");
                equals(found.map(|s| s.description.to_owned()))
            }
            "chars" => holds(
                one.is_some_and(|s| *wanted == s.description.chars().count()),
                format!("served {paths:?}, findings {}", report.render_plain()),
            ),
            "argument-hint" => {
                let all: Value =
                    serde_json::from_str(one?.frontmatter_json().expect("frontmatter")).ok()?;
                holds(all[key] == *wanted, format!("found {}", all[key]))
            }
            "hash_equal" => {
                let twice = [
                    one?.digest().expect("a digest"),
                    one?.digest().expect("a digest"),
                ];
                holds(twice[0] == twice[1], "two digests".to_owned())
            }
            _ if key.starts_with("get_asset ") => {
                let mut words = key.split(' ').skip(1);
                let skill = self.catalog.by_path(words.next()?).expect("an answer")?;
                let file = skill.find_file(words.next()?).expect("an answer");
                holds(file.is_none(), "the file is found".to_owned())
            }
            _ => None,
        }
    }
}

/// Turns files back into links that a checkout without links has made of them:
/// one line without an end, and it is a path that exists from there.
fn restore_links(project: &Project, folder: &Path) {
    let entries = fs::read_dir(folder).expect("the copy can be read");
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() {
            restore_links(project, &path);
        } else if let Ok(text) = fs::read_to_string(&path)
            && !text.is_empty()
            && !text.contains('\n')
            && folder.join(&text).exists()
        {
            fs::remove_file(&path).expect("the copy can be changed");
            let relative = path
                .strip_prefix(project.dir())
                .expect("it lies in the copy");
            project.link(&relative.display().to_string(), text);
        }
    }
}

/// Whether modes do not keep this user out: then the case shows nothing.
fn everything_is_readable(project: &Project) -> bool {
    project.file("probe", "x").mode("probe", 0o000);
    fs::read(project.path("probe")).is_ok()
}

fn texts(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

fn files<'a>(skill: &Skill<'a>) -> Vec<&'a str> {
    skill
        .files()
        .expect("its files")
        .iter()
        .map(|f| f.path)
        .collect()
}
