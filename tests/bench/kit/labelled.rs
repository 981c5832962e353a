//! Labelled requests to real trees of skills, if a folder with them is given.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use skillbundle_compiler::{Options, Root, compile};
use skillbundle_format::SkillSet;

/// The folder with the trees and the requests.
const FOLDER: &str = "SKILLBUNDLE_ROUTING";

/// A labelled request. Skills are named by their files, the tree's name first.
#[derive(Debug, serde::Deserialize)]
pub(crate) struct Request {
    #[serde(rename = "q")]
    pub(crate) text: String,
    /// `pos`: one of `expect` is right; `neg`: none of `not` is; `none`: no skill is.
    pub(crate) label: String,
    repo: String,
    /// `en`, or `cjk` for Chinese, Japanese and Korean.
    pub(crate) lang: String,
    #[serde(default)]
    pub(crate) expect: Vec<String>,
    #[serde(default)]
    pub(crate) not: Vec<String>,
}

/// A tree of skills and the requests to it.
pub(crate) struct Tree {
    pub(crate) name: String,
    pub(crate) skills: SkillSet,
    pub(crate) requests: Vec<Request>,
}

/// The trees by name; `None` if no folder is given.
pub(crate) fn trees() -> Option<Vec<Tree>> {
    let dir = std::env::var_os(FOLDER).map(PathBuf::from)?;
    let mut requests = requests(&dir);
    let mut trees = Vec::new();
    for path in folders(&dir.join("trees")) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let (own, others) = requests.into_iter().partition(|it| it.repo == name);
        requests = others;
        trees.push(Tree {
            name: name.into_owned(),
            skills: skills(&path),
            requests: own,
        });
    }
    assert!(
        requests.is_empty(),
        "a request asks a tree that is not there"
    );
    Some(trees)
}

/// The languages of the requests.
pub(crate) fn languages(trees: &[Tree]) -> BTreeSet<&str> {
    let requests = trees.iter().flat_map(|tree| &tree.requests);
    requests.map(|request| request.lang.as_str()).collect()
}

fn requests(dir: &Path) -> Vec<Request> {
    let text = std::fs::read_to_string(dir.join("dev-pairs.jsonl")).expect("requests can be read");
    let request = |line: &str| serde_json::from_str(line).expect("a labelled request");
    text.lines().map(request).collect()
}

fn folders(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).expect("trees can be listed");
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a tree can be listed").path())
        .collect();
    folders.sort();
    folders
}

fn skills(tree: &Path) -> SkillSet {
    let compiled = compile(&[Root::project(tree)], &Options::default());
    compiled.expect("trees can be read").set
}
