//! A scripted client that lists, searches and loads everything over stdio, and
//! compares each answer with the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::ops::AddAssign;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use skillbundle_format::{Catalog, File, Skill};

use super::disk;
use crate::project::{LEGACY, Session, base64, text_of};

/// What was compared.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Count {
    skills: usize,
    texts_bytes: usize,
    files: usize,
    files_bytes: usize,
    too_large: usize,
    searches: usize,
    pub(super) not_served: usize,
    pub(super) bundle_bytes: usize,
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.skills += other.skills;
        self.texts_bytes += other.texts_bytes;
        self.files += other.files;
        self.files_bytes += other.files_bytes;
        self.too_large += other.too_large;
        self.searches += other.searches;
        self.not_served += other.not_served;
        self.bundle_bytes += other.bundle_bytes;
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} skills ({} bytes of text) and {} files ({} bytes, {} above the size limit) equal \
             to the disk, {} searches equal to the formula, {} skill files named but not served, \
             {} bytes of bundle",
            self.skills,
            self.texts_bytes,
            self.files,
            self.files_bytes,
            self.too_large,
            self.searches,
            self.not_served,
            self.bundle_bytes
        )
    }
}

/// Lists, searches and loads every skill and every file of the bundle.
pub(super) fn ask_everything(
    session: &mut Session,
    catalog: Catalog<'_>,
    folders: &[PathBuf],
) -> Count {
    session.initialize(LEGACY);
    let mut count = Count::default();
    let skills: Vec<Skill<'_>> = catalog.skills().map(|s| s.expect("a skill")).collect();
    check_list(session, &skills);
    check_searches(session, &skills, &mut count);
    for skill in skills {
        let file = folders[skill.root as usize].join(skill.file_path);
        check_text(session, skill, &file, &mut count);
        check_files(session, skill, &file, &mut count);
    }
    count
}

/// `skills_list` names every skill, in order, with its name and description.
fn check_list(session: &mut Session, skills: &[Skill<'_>]) {
    let result = session.tool("skills_list", &json!({}));
    let listed = result["structuredContent"]["skills"]
        .as_array()
        .expect("skills");
    assert_eq!(
        listed.len(),
        skills.len(),
        "the list is as long as the bundle"
    );
    for (entry, skill) in listed.iter().zip(skills) {
        assert_eq!(entry["installName"], skill.install_name());
        assert_eq!(entry["meta"]["name"], skill.name);
        assert_eq!(entry["skillFile"], skill.file_path);
    }
}

/// The first words of each description find the skill, and the hits are those
/// that the rule of specification 4 finds in the texts.
fn check_searches(session: &mut Session, skills: &[Skill<'_>], count: &mut Count) {
    const LIMIT: usize = 25;
    let texts: Vec<String> = skills
        .iter()
        .map(|s| {
            let body = s.body().expect("a body");
            lower(&[s.install_name(), s.name, s.description, &body].join("\n"))
        })
        .collect();
    for (at, skill) in skills.iter().enumerate() {
        let words: Vec<&str> = skill.description.split_ascii_whitespace().take(3).collect();
        let query = words.join(" ");
        let tokens: Vec<String> = words.iter().map(|w| lower(w)).collect();
        let wanted: Vec<usize> = (0..skills.len())
            .filter(|&n| tokens.iter().all(|t| texts[n].contains(t.as_str())))
            .collect();
        assert!(
            wanted.contains(&at),
            "{}: its own words do not find it",
            skill.path
        );
        let result = session.tool("skills_search", &json!({ "query": query, "limit": LIMIT }));
        let found = &result["structuredContent"];
        assert_eq!(found["total"], wanted.len(), "{query:?}");
        let hits = found["results"].as_array().expect("results");
        let paths: Vec<&str> = hits
            .iter()
            .filter_map(|h| h["skillFile"].as_str())
            .collect();
        // The order is that of relevance, which other tests check.
        let right: BTreeSet<&str> = wanted.iter().map(|&n| skills[n].file_path).collect();
        let distinct: BTreeSet<&str> = paths.iter().copied().collect();
        assert!(distinct.is_subset(&right), "{query:?}: {paths:?}");
        assert_eq!(distinct.len(), wanted.len().min(LIMIT), "{query:?}");
        assert_eq!(paths.len(), distinct.len(), "{query:?}");
        count.searches += 1;
    }
}

/// Lower case as the search does it: each character by itself.
fn lower(text: &str) -> String {
    text.chars()
        .flat_map(char::to_lowercase)
        .map(|c| if c == 'ς' { 'σ' } else { c })
        .collect()
}

/// `skill` returns the file's text, without a byte order mark, below two lines.
fn check_text(session: &mut Session, skill: Skill<'_>, file: &Path, count: &mut Count) {
    let name = skill.callable_name().expect("a name to call");
    let answer = session.tool_text("skill", &json!({ "name": name }));
    let disk = fs::read(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let text = disk.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&disk);
    let (head, loaded) = answer
        .split_once("\n\n")
        .expect("two lines, a blank one, the text");
    assert_eq!(
        head.lines().next(),
        Some(format!("Loading: {}", skill.name).as_str())
    );
    assert!(
        loaded.as_bytes() == text,
        "{}: the text differs from {}",
        skill.path,
        file.display()
    );
    assert!(
        *skill.source().expect("its source") == disk,
        "{}: the source differs",
        skill.path
    );
    count.skills += 1;
    count.texts_bytes += text.len();
}

/// `get_asset` returns every file of the skill, and the skill has every file of
/// its folder.
fn check_files(session: &mut Session, skill: Skill<'_>, file: &Path, count: &mut Count) {
    let folder = file.parent().expect("a skill file lies in a folder");
    let disk: BTreeMap<String, PathBuf> = disk::files_of(folder);
    let files = skill.files().expect("its files");
    let bundled: BTreeSet<&str> = files.iter().map(|f| f.path).collect();
    let on_disk: BTreeSet<&str> = disk.keys().map(String::as_str).collect();
    assert_eq!(
        bundled,
        on_disk,
        "{}: files of {}",
        skill.path,
        folder.display()
    );
    for file in files {
        let bytes = fs::read(&disk[file.path]).expect("a file on disk");
        check_file(session, skill, file, &bytes, count);
    }
}

fn check_file(
    session: &mut Session,
    skill: Skill<'_>,
    file: File<'_>,
    disk: &[u8],
    count: &mut Count,
) {
    let at = format!("{} of {}", file.path, skill.path);
    let bytes = file.bytes().expect("readable").expect("on disk");
    assert!(*bytes == *disk, "{at}: the bundle's bytes differ");
    match asset(session, skill, file) {
        Answer::TooLarge(text) => {
            assert!(
                text.contains(&disk.len().to_string()),
                "{at}: no size in {text}"
            );
            assert!(
                disk.len() > 1_048_576,
                "{at}: refused below the limit: {text}"
            );
            count.too_large += 1;
        }
        Answer::Content(reply) => {
            assert_eq!(reply["size_bytes"], disk.len(), "{at}");
            if let Some(text) = reply["content"].as_str() {
                assert!(text.as_bytes() == disk, "{at}: the text differs");
            } else {
                assert_eq!(
                    reply["content_base64"],
                    base64(disk),
                    "{at}: the bytes differ"
                );
            }
        }
    }
    count.files += 1;
    count.files_bytes += disk.len();
}

enum Answer {
    Content(Value),
    TooLarge(String),
}

/// The reply of `get_asset`. The only error possible with the corpus is the size.
fn asset(session: &mut Session, skill: Skill<'_>, file: File<'_>) -> Answer {
    let result = session.tool(
        "get_asset",
        &json!({ "skill_path": skill.path, "file": file.path }),
    );
    let text = text_of(&result);
    if result["isError"] == true {
        return Answer::TooLarge(text);
    }
    Answer::Content(serde_json::from_str(&text).expect("get_asset answers with JSON"))
}
