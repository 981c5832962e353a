//! Real skills against two other YAML parsers. Ignored without a corpus.

use std::path::{Path, PathBuf};

use serde_json::Value;
use skillbundle_testkit::{material, test_with};

use super::super::*;
use crate::report::Location;

fn skills(dir: &Path) -> Vec<PathBuf> {
    walkdir::WalkDir::new(dir)
        .sort_by_file_name()
        .into_iter()
        .filter_map(Result::ok)
        .map(walkdir::DirEntry::into_path)
        .filter(|path| path.extension().is_some_and(|it| it == "md"))
        .collect()
}

/// Equal as values: `1.10` and `1.1` are one number, however written.
fn same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|((ka, a), (kb, b))| ka == kb && same(a, b))
        }
        _ => ours == theirs,
    }
}

#[test_with(corpus)]
#[expect(
    clippy::print_stderr,
    reason = "the counts are what a person runs it for"
)]
fn real_skills_read_as_other_parsers_read_them() {
    let dir = material("corpus");
    let (mut files, mut fenced, mut fixable, mut compared) = (0, 0, 0, [0, 0]);
    for path in skills(&dir) {
        files += 1;
        let source = std::fs::read(&path).unwrap();
        let name = path.strip_prefix(&dir).unwrap().display().to_string();
        let (document, found) = parse(&name, &source);
        let Some(document) = document else {
            eprintln!(
                "not served: {name}: {:?}",
                found.iter().map(|it| &it.message).collect::<Vec<_>>()
            );
            let is_skill = path
                .file_name()
                .is_some_and(|it| it.eq_ignore_ascii_case("skill.md"));
            assert!(!is_skill, "{name}: a skill of the corpus is not served");
            continue;
        };
        if !document.has_frontmatter() {
            continue;
        }
        fenced += 1;
        for it in found.iter().filter(|it| it.code == Code::UnknownKey) {
            eprintln!(
                "{name}: {}; {}",
                it.message,
                it.help.as_deref().unwrap_or_default()
            );
        }
        fixable += usize::from(found.iter().any(|it| it.fix.is_some()));
        for it in found.iter().filter(|it| it.fix.is_some()) {
            eprintln!(
                "fixable: {name}:{}: {}",
                Location::of(&source, it.span.unwrap()).line,
                it.message
            );
        }
        let yaml = &document.head[..document.body.start];
        let yaml = yaml
            .trim_start_matches('\u{feff}')
            .trim_start()
            .trim_start_matches("---");
        let yaml = &yaml[..yaml.trim_end().len() - 3];
        let ours: Value = serde_json::from_str(&document.to_json()).unwrap();
        let theirs = [
            serde_yaml::from_str::<Value>(yaml).ok(),
            serde_saphyr::from_str::<Value>(yaml).ok(),
        ];
        for (at, theirs) in theirs.iter().enumerate() {
            let Some(theirs) = theirs.as_ref().filter(|it| it.is_object()) else {
                continue;
            };
            compared[at] += 1;
            assert!(
                same(&ours, theirs),
                "{name}:\nours   {ours}\ntheirs {theirs}"
            );
        }
    }
    eprintln!(
        "{files} files, {fenced} with frontmatter, {fixable} with a fix; \
         equal to serde_yaml {}, to serde-saphyr {}",
        compared[0], compared[1]
    );
    assert!(compared[0] > 0 || fenced == 0, "nothing was compared");
}
