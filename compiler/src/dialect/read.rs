//! Takes every Markdown file to its reader and collects drafts, findings, and
//! what did not become a draft.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

use super::layout::{Layout, RootLayout};
use super::{
    Draft, Places, Reader, ancestors, file_name, is_marked_name, reader, skill_md, stem, tree,
};
use crate::Failed;
use crate::diagnostic::{Code, Diagnostic};
use crate::frontmatter::{self, Document};
use crate::source::{Entry, FileId, Tree, TreeRoot, Trouble};

/// What all readers made.
#[derive(Debug, Default)]
pub(crate) struct Drafts {
    /// The skills, root by root, sorted by their file's path.
    pub(crate) drafts: Vec<Draft>,
    /// Files that were meant as skills and are none.
    pub(crate) failed: Vec<Failed>,
}

/// A Markdown file as a reader sees it.
pub(super) struct Source<'a> {
    pub(super) id: FileId,
    pub(super) root: &'a TreeRoot,
    pub(super) entry: &'a Entry,
    /// The file as the user would type it.
    pub(super) shown: &'a str,
    pub(super) bytes: &'a Arc<[u8]>,
    pub(super) document: &'a Document,
}

/// Parsed files. One that could not be read has none.
type Parsed = BTreeMap<FileId, (Option<Document>, Vec<Diagnostic>)>;

/// Reads all roots.
pub(crate) fn drafts(tree: &Tree, layout: &mut Layout, out: &mut Vec<Diagnostic>) -> Drafts {
    let mut parsed = parse(tree, layout);
    let mut all = Drafts::default();
    for root in &mut layout.roots {
        folders(tree, root, &mut parsed, &mut all, out);
        pages(tree, root, &mut parsed, &mut all, out);
    }
    out.extend(empty_roots(tree, layout, &all));
    all
}

/// Roots in which nothing was meant as a skill, though they could be read.
fn empty_roots<'a>(
    tree: &'a Tree,
    layout: &'a Layout,
    all: &'a Drafts,
) -> impl Iterator<Item = Diagnostic> + 'a {
    let loaded = all.drafts.iter().map(|it| it.entry.root);
    let meant: BTreeSet<u32> = loaded.chain(all.failed.iter().map(|it| it.root)).collect();
    let roots = (0u32..).zip(tree.roots.iter().zip(&layout.roots));
    let empty = roots.filter(move |(index, (root, layout))| {
        // A `SKILL.md` that could not be read was meant as one.
        let refused = |it: &Trouble| reader(&it.path, false, &layout.places) == Reader::Folder;
        !meant.contains(index)
            && layout.places.skills.is_empty()
            && root.fault().is_none()
            && !root.troubles.iter().any(refused)
    });
    empty.map(|(_, (root, _))| {
        let message = "no skill was found in this root";
        let finding = Diagnostic::new(Code::NoSkills, root.shown(""), message);
        finding.help(
            "a skill is a directory with a `SKILL.md`, or a page whose frontmatter has `keywords`",
        )
    })
}

/// Parses every `SKILL.md`, and those other files that can be pages at all:
/// the rest of a project's Markdown is not looked into.
fn parse(tree: &Tree, layout: &Layout) -> Parsed {
    let mut wanted: Vec<FileId> = Vec::new();
    for root in &layout.roots {
        wanted.extend(root.skills.iter().map(|skill| skill.file));
        wanted.extend(
            root.pages
                .iter()
                .copied()
                .filter(|&id| may_be_page(tree.entry(id), &root.places)),
        );
    }
    let parse = |id: &FileId| {
        let bytes = tree.entry(*id).bytes.as_ref()?;
        Some((*id, frontmatter::parse(&tree.shown(*id), bytes)))
    };
    let work = |ids: &[FileId]| ids.iter().filter_map(parse).collect::<Vec<_>>();
    // Files are parsed apart from each other, so on all processors; so few are
    // done before a thread has started.
    let few = 64;
    if wanted.len() <= few {
        return work(&wanted).into_iter().collect();
    }
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let chunks = wanted.chunks(wanted.len().div_ceil(threads).max(few));
    thread::scope(|scope| {
        let handles: Vec<_> = chunks.map(|ids| scope.spawn(move || work(ids))).collect();
        let join = |it: thread::ScopedJoinHandle<'_, _>| {
            it.join().unwrap_or_else(|panic| resume_unwind(panic))
        };
        handles.into_iter().flat_map(join).collect()
    })
}

/// Whether the file is a page by its place, or could be one by its keywords.
fn may_be_page(entry: &Entry, places: &Places) -> bool {
    reader(&entry.path, false, places) == Reader::Tree || mentions_keywords(entry)
}

/// Whether a line near the top begins like the key `keywords`. It stands in for
/// the parsed frontmatter where that cannot be had.
fn mentions_keywords(entry: &Entry) -> bool {
    let Some(bytes) = &entry.bytes else {
        return false;
    };
    let head = &bytes[..bytes.len().min(64 << 10)];
    let key = |line: &[u8]| {
        let line = line
            .strip_prefix(b"\"")
            .or(line.strip_prefix(b"'"))
            .unwrap_or(line);
        line.starts_with(b"keywords")
    };
    head.split(|&byte| byte == b'\n').any(key)
}

fn folders(
    tree: &Tree,
    root: &RootLayout,
    parsed: &mut Parsed,
    all: &mut Drafts,
    out: &mut Vec<Diagnostic>,
) {
    for skill in &root.skills {
        let document = taken(parsed, skill.file, out);
        let draft = with_source(tree, skill.file, document.as_ref(), |source| {
            skill_md::read(source, &skill.directory, out)
        });
        match draft {
            Some(draft) => all.drafts.push(draft),
            None => all.failed.push(failed(tree, skill.file, &skill.directory)),
        }
    }
}

fn pages(
    tree: &Tree,
    root: &mut RootLayout,
    parsed: &mut Parsed,
    all: &mut Drafts,
    out: &mut Vec<Diagnostic>,
) {
    let mut inside = Vec::new();
    // Sorted by path, `auth.md` comes before everything in `auth/`.
    for &id in &root.pages {
        let entry = tree.entry(id);
        let has_keywords = match parsed.get(&id) {
            Some((Some(document), _)) => document.fields().has("keywords"),
            Some((None, _)) => mentions_keywords(entry),
            None => false,
        };
        match reader(&entry.path, has_keywords, &root.places) {
            Reader::Tree => {}
            Reader::Skill => {
                inside.extend(has_keywords.then_some(id));
                continue;
            }
            _ => continue,
        }
        if is_plain_text(parsed, id) && is_about_the_repository(&entry.path) {
            let message = "this page has no frontmatter, so it is not read as a skill";
            out.push(Diagnostic::new(Code::NotASkill, tree.shown(id), message));
            continue;
        }
        let resources = stem(&entry.path);
        let has_resources = tree.roots[id.root].directory(resources);
        if has_resources && (!is_plain_text(parsed, id) || is_marked_name(&entry.path)) {
            root.places.resources.insert(resources.to_owned());
        }
        let document = taken(parsed, id, out);
        let draft = with_source(tree, id, document.as_ref(), |source| {
            tree::read(source, has_resources.then_some(resources), out)
        });
        match draft {
            Some(draft) => all.drafts.push(draft),
            None => all.failed.push(failed(tree, id, resources)),
        }
    }
    out.extend(misplaced(tree, &inside, all));
}

fn failed(tree: &Tree, id: FileId, path: &str) -> Failed {
    let (root, file_path) = (id.root, tree.entry(id).path.clone());
    Failed {
        root: u32::try_from(root).unwrap_or(u32::MAX),
        file_path,
        path: path.to_owned(),
    }
}

/// Takes what was parsed of a file, and makes its findings count.
fn taken(parsed: &mut Parsed, id: FileId, out: &mut Vec<Diagnostic>) -> Option<Document> {
    let (document, findings) = parsed.remove(&id)?;
    out.extend(findings);
    document
}

fn with_source(
    tree: &Tree,
    id: FileId,
    document: Option<&Document>,
    read: impl FnOnce(&Source<'_>) -> Option<Draft>,
) -> Option<Draft> {
    let (entry, document) = (tree.entry(id), document?);
    let bytes = entry.bytes.as_ref()?;
    let (root, shown) = (&tree.roots[id.root], &tree.shown(id));
    read(&Source {
        id,
        root,
        entry,
        shown,
        bytes,
        document,
    })
}

/// Whether a file was read and has no frontmatter.
fn is_plain_text(parsed: &Parsed, id: FileId) -> bool {
    matches!(parsed.get(&id), Some((Some(document), _)) if !document.has_frontmatter())
}

/// Files that every repository has, and nobody means as skills.
fn is_about_the_repository(path: &str) -> bool {
    const NAMES: &[&str] = &[
        "agents",
        "authors",
        "changelog",
        "claude",
        "code_of_conduct",
        "contributing",
        "gemini",
        "history",
        "license",
        "notice",
        "readme",
        "security",
        "todo",
    ];
    let name = stem(file_name(path)).to_lowercase();
    // `README.fr.md` and `README-fr.md` are no skills either.
    let name = name.split(['.', '-']).next().unwrap_or_default();
    NAMES.contains(&name)
}

/// Pages with keywords among another page's files, unless that page declares them.
fn misplaced(tree: &Tree, inside: &[FileId], all: &Drafts) -> Vec<Diagnostic> {
    let declared: BTreeSet<(usize, String)> =
        all.drafts.iter().flat_map(Draft::declared_paths).collect();
    let mut out = Vec::new();
    for &id in inside {
        let path = &tree.entry(id).path;
        if declared.contains(&(id.root, path.clone())) {
            continue;
        }
        let owner = ancestors(path).find(|it| tree.roots[id.root].has(&format!("{it}.md")));
        let owner = owner.unwrap_or_default();
        let message =
            format!("this page is not served: `{owner}/` holds the files of `{owner}.md`");
        let help =
            format!("move the page out of `{owner}/`, or declare it as a file of `{owner}.md`");
        out.push(Diagnostic::new(Code::SkillInResources, tree.shown(id), message).help(help));
    }
    out
}
