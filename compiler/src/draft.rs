//! Reads every discovered Markdown file with the reader of its dialect and collects
//! drafts, diagnostics, and the files that did not become a skill. A draft knows its
//! own file only: names, parents and files of others come later.

use std::borrow::{Borrow, BorrowMut};
use std::collections::{BTreeMap, BTreeSet, HashSet};

use skillbundle_format::{Dialect, FileEntry, SkillEntry};
use skillbundle_search::parallel;

use crate::assets::Declaration;
use crate::contract::ContractSpans;
use crate::diagnostic::{Code, Diagnostic, Span};
use crate::dialect::{self, MarkdownFile};
use crate::discover::{Claims, Discovery, FileKind, SkillDirectory, classify};
use crate::frontmatter::{self, Document, keys};
use crate::paths::{ancestors, directory, file_name, is_marker, is_skill_file, join, stem};
use crate::reuse::{Reuse, Traits};
use crate::source::{FileId, ReadError, Tree, TreeEntry};
use crate::{Failed, contract};

/// A skill as described by its own file. Parent and files are added later.
#[derive(Debug)]
pub(crate) struct Draft {
    /// What is known so far.
    pub(crate) entry: SkillEntry,
    /// The file, as the user would type it.
    pub(crate) shown: String,
    /// The position of its `name`, if it has one.
    pub(crate) name_span: Option<Span>,
    /// Where its files come from.
    pub(crate) content: FileOrigin,
    /// Where the parts of its contract are.
    pub(crate) contract_spans: ContractSpans,
    /// Whether it is below a dot folder, which puts it last in order.
    pub(crate) in_dot_folder: bool,
}

/// Where a skill's files come from.
#[derive(Debug)]
pub(crate) enum FileOrigin {
    /// Every file below the directory; some may be declared.
    Directory(String, Vec<Declaration>),
    /// The declared files, in the resource directory if it exists.
    Resources(Option<String>, Vec<Declaration>),
    /// The files that an earlier compilation found.
    Kept(Vec<FileEntry>),
}

impl Borrow<SkillEntry> for Draft {
    fn borrow(&self) -> &SkillEntry {
        &self.entry
    }
}

impl BorrowMut<SkillEntry> for Draft {
    fn borrow_mut(&mut self) -> &mut SkillEntry {
        &mut self.entry
    }
}

impl Draft {
    pub(crate) fn new(
        entry: SkillEntry,
        shown: String,
        name_span: Option<Span>,
        content: FileOrigin,
    ) -> Self {
        let in_dot_folder = directory(&entry.file_path)
            .split('/')
            .any(|part| part.starts_with('.'));
        Self {
            entry,
            shown,
            name_span,
            content,
            contract_spans: ContractSpans::default(),
            in_dot_folder,
        }
    }

    /// The directory that its files are in: that of a `SKILL.md`, or the one beside a page.
    pub(crate) fn directory(&self) -> &str {
        match self.entry.dialect {
            Dialect::Folder => directory(&self.entry.file_path),
            Dialect::Tree => stem(&self.entry.file_path),
        }
    }

    /// Adds the contract that the frontmatter has.
    pub(crate) fn with_contract(mut self, document: &Document, out: &mut Vec<Diagnostic>) -> Self {
        if let Some((contract, spans)) = contract::read(document, &self.entry, out) {
            self.entry.contract = Some(contract);
            self.contract_spans = spans;
        }
        self
    }

    /// The files that a page declares, as root and path.
    fn declared_paths(&self) -> impl Iterator<Item = (usize, String)> {
        let (directory, declared) = match &self.content {
            FileOrigin::Resources(Some(directory), declared) => (directory.as_str(), &declared[..]),
            _ => ("", &[][..]),
        };
        declared
            .iter()
            .map(move |it| (self.entry.root as usize, join(directory, &it.path)))
    }
}

/// The result of reading all files.
#[derive(Debug)]
pub(crate) struct Drafts {
    /// Whether the rules about quality run as well.
    check: bool,
    /// The skills, root by root, sorted by their file's path.
    pub(crate) skills: Vec<Draft>,
    /// Files that were meant as skills and did not load.
    pub(crate) failed: Vec<Failed>,
    /// What is known of every file that may hold a skill.
    pub(crate) files: Vec<(FileId, Traits)>,
}

impl Drafts {
    fn new(check: bool) -> Self {
        Self {
            check,
            skills: Vec::new(),
            failed: Vec::new(),
            files: Vec::new(),
        }
    }

    /// The pages whose text is not needed any more: they are no skills, and no diagnostic quotes
    /// them.
    pub(crate) fn unneeded(
        &self,
        discovered: &[Discovery],
        tree: &Tree,
        out: &[Diagnostic],
    ) -> Vec<FileId> {
        let skills = self.skills.iter().map(|it| it.shown.as_str());
        let related = out.iter().flat_map(|it| &it.related);
        let quoted = out.iter().map(|it| it.file.as_str());
        let quoted = quoted.chain(related.filter_map(|it| it.file.as_deref()));
        let needed: HashSet<&str> = skills.chain(quoted).collect();
        let pages = discovered
            .iter()
            .flat_map(|root| root.pages.iter().copied());
        pages
            .filter(|id| !needed.contains(tree.shown(*id).as_str()))
            .collect()
    }
}

/// A parsed file, and its diagnostics; `None` if the file cannot be served.
type ParsedFile = (Option<Document>, Vec<Diagnostic>);

/// Parsed pages.
type Parsed = BTreeMap<FileId, ParsedFile>;

/// Fewer files are parsed faster than a thread starts.
const LEAST: usize = 32;

/// Reads all roots.
pub(crate) fn drafts(
    tree: &Tree,
    discovered: &mut [Discovery],
    reuse: &Reuse<'_>,
    check: bool,
    out: &mut Vec<Diagnostic>,
) -> Drafts {
    let mut parsed = parse_pages(tree, discovered);
    let mut all = Drafts::new(check);
    for root in &mut *discovered {
        skill_files(tree, root, reuse, &mut all, out);
        pages(tree, root, reuse, &mut parsed, &mut all, out);
    }
    out.extend(empty_roots(tree, discovered, &all));
    all
}

/// Reports readable roots in which nothing was meant as a skill.
fn empty_roots<'a>(
    tree: &'a Tree,
    discovered: &'a [Discovery],
    all: &'a Drafts,
) -> impl Iterator<Item = Diagnostic> + 'a {
    let loaded = all.skills.iter().map(|it| it.entry.root);
    let meant: BTreeSet<u32> = loaded.chain(all.failed.iter().map(|it| it.root)).collect();
    let roots = (0u32..).zip(tree.roots.iter().zip(discovered));
    let empty = roots.filter(move |(index, (root, discovery))| {
        let claims = &discovery.claims;
        // An unreadable `SKILL.md` was meant as a skill.
        let unread = |it: &ReadError| classify(&it.path, false, claims) == FileKind::SkillFile;
        root.within.is_none()
            && !meant.contains(index)
            && claims.skills.is_empty()
            && root.cause().is_none()
            && !root.read_errors.iter().any(unread)
    });
    empty.map(move |(_, (root, discovery))| {
        let message = "no skill was found in this root";
        let diagnostic = Diagnostic::new(Code::NoSkills, root.shown(""), message);
        let mut pages = discovery.pages.iter().take(MOST_PAGES);
        match pages.find_map(|id| unread(tree, *id)) {
            Some(page) => {
                let name = file_name(&page.file);
                let help = page.help.unwrap_or_default();
                let help = format!("`{name}` is written like a skill: {help}");
                diagnostic
                    .related_in(page.file, page.span, "this page is written like a skill")
                    .help(help)
            }
            None => diagnostic
                .help("a skill is a folder with a `SKILL.md`, or a page that has `keywords`"),
        }
    })
}

/// Most pages of a root without skills that are read to see whether they were meant as skills.
const MOST_PAGES: usize = 200;

/// Parses every file that can be a page; the rest of a project's Markdown is not looked at.
fn parse_pages(tree: &Tree, discovered: &[Discovery]) -> Parsed {
    let mut wanted: Vec<FileId> = Vec::new();
    for root in discovered {
        let pages = root.pages.iter().copied();
        wanted.extend(pages.filter(|&id| may_be_page(tree.entry(id), &root.claims)));
    }
    let parsed = parallel::map(&wanted, LEAST, |id| Some((*id, parse(tree, *id)?)));
    parsed.into_iter().flatten().collect()
}

/// Parses a file; `None` if it could not be read.
fn parse(tree: &Tree, id: FileId) -> Option<ParsedFile> {
    let bytes = tree.entry(id).bytes.as_ref()?;
    Some(frontmatter::parse(&tree.shown(id), bytes))
}

/// Whether the file is a page by its path, or may be one by its keywords.
fn may_be_page(entry: &TreeEntry, claims: &Claims) -> bool {
    classify(&entry.path, false, claims) == FileKind::Page || mentions_keywords(entry)
}

/// Whether a line near the top begins like the key `keywords`: an approximation for
/// files whose frontmatter is not parsed, or cannot be.
fn mentions_keywords(entry: &TreeEntry) -> bool {
    let Some(bytes) = &entry.bytes else {
        return false;
    };
    let head = &bytes[..bytes.len().min(64 << 10)];
    head.split(|&byte| byte == b'\n').any(|line| {
        let quoted = line.strip_prefix(b"\"").or(line.strip_prefix(b"'"));
        quoted
            .unwrap_or(line)
            .starts_with(keys::KEYWORDS.as_bytes())
    })
}

/// Reads every `SKILL.md` that has changed. They are independent of each other.
fn skill_files(
    tree: &Tree,
    root: &Discovery,
    reuse: &Reuse<'_>,
    all: &mut Drafts,
    out: &mut Vec<Diagnostic>,
) {
    let traits = Traits {
        is_skill: true,
        ..Traits::default()
    };
    let files = root.skills.iter().map(|skill| (skill.file, traits));
    all.files.extend(files);
    let check = all.check;
    let read = parallel::map(&root.skills, LEAST, |skill| {
        if let Some(draft) = reuse.draft(tree, skill.file) {
            return (Some(draft), Vec::new());
        }
        let (document, mut out) = parse(tree, skill.file).unwrap_or_default();
        let draft = with_source(tree, skill.file, document.as_ref(), check, |source| {
            dialect::read_folder(source, &skill.directory, &mut out)
        });
        (draft, out)
    });
    for (skill, (draft, diagnostics)) in root.skills.iter().zip(read) {
        out.extend(diagnostics);
        match draft {
            Some(draft) => all.skills.push(draft),
            None => all.failed.push(failed(tree, skill.file, &skill.directory)),
        }
    }
}

fn pages(
    tree: &Tree,
    root: &mut Discovery,
    reuse: &Reuse<'_>,
    parsed: &mut Parsed,
    all: &mut Drafts,
    out: &mut Vec<Diagnostic>,
) {
    let mut in_resources = Vec::new();
    let beside_skills = if all.check {
        folders_of_skills(root)
    } else {
        BTreeSet::new()
    };
    // In order of paths, `auth.md` comes before everything in `auth/`.
    for &id in &root.pages {
        let entry = tree.entry(id);
        let traits = reuse.traits(id).unwrap_or_else(|| traits(tree, id, parsed));
        let (has_keywords, plain) = (traits.has_keywords, traits.is_plain);
        all.files.push((id, traits));
        match classify(&entry.path, has_keywords, &root.claims) {
            FileKind::Page => {}
            FileKind::Content => {
                in_resources.extend(has_keywords.then_some(id));
                continue;
            }
            _ if is_among(&beside_skills, &entry.path) => {
                // A link to it may be a skill.
                let is_it = |it: &SkillDirectory| tree.entry(it.file).real == entry.real;
                out.extend(unread(tree, id).filter(|_| !root.skills.iter().any(is_it)));
                continue;
            }
            _ => continue,
        }
        if plain && is_about_the_repository(&entry.path) {
            let message = "this page has no frontmatter, so it is not a skill";
            out.push(Diagnostic::new(Code::NotASkill, tree.shown(id), message));
            continue;
        }
        let resources = stem(&entry.path);
        let root_tree = &tree.roots[id.root];
        let has_resources = root_tree.has_directory(resources) || root_tree.ignores(resources);
        if has_resources && (!plain || is_marker(&entry.path)) {
            root.claims.resources.insert(resources.to_owned());
        }
        if let Some((_, traits)) = all.files.last_mut() {
            traits.is_skill = true;
        }
        if let Some(draft) = reuse.draft(tree, id) {
            all.skills.push(draft);
            continue;
        }
        let document = take(parsed, id, out);
        let draft = with_source(tree, id, document.as_ref(), all.check, |source| {
            dialect::read_page(source, has_resources.then_some(resources), out)
        });
        match draft {
            Some(draft) => all.skills.push(draft),
            None => all.failed.push(failed(tree, id, resources)),
        }
    }
    out.extend(misplaced(tree, &in_resources, all));
}

/// Whether a file is beside folders of skills, or in a folder beside them.
fn is_among(beside_skills: &BTreeSet<String>, path: &str) -> bool {
    let folder = directory(path);
    let is_in_folder = || !folder.is_empty() && beside_skills.contains(directory(folder));
    beside_skills.contains(folder) || is_in_folder()
}

/// The folders that directly hold folders of skills.
fn folders_of_skills(root: &Discovery) -> BTreeSet<String> {
    let skills = root.skills.iter().filter(|it| !it.directory.is_empty());
    skills
        .map(|it| directory(&it.directory).to_owned())
        .collect()
}

/// Keys by which a page is something else than a skill: the definition of an agent, a page of a site.
const OF_OTHER_PAGES: &[&str] = &[
    "author",
    "color",
    "date",
    "layout",
    "mode",
    "model",
    "permalink",
    "sidebar_position",
    "slug",
    "title",
    "tools",
];

/// Reports a page beside skills that is written like a skill.
fn unread(tree: &Tree, id: FileId) -> Option<Diagnostic> {
    let path = &tree.entry(id).path;
    // A `SKILL.md.md` was reported by its name.
    if is_about_the_repository(path) || is_skill_file(stem(path)) {
        return None;
    }
    let document = parse(tree, id)?.0?;
    let fields = document.fields();
    let is_skill = fields.has(keys::NAME) && fields.has(keys::DESCRIPTION);
    if !is_skill || OF_OTHER_PAGES.iter().any(|key| fields.has(key)) {
        return None;
    }
    let message = "no program reads this page: a skill is a folder with a `SKILL.md`";
    let (folder, name) = (directory(path), stem(file_name(path)));
    let is_alone = tree.roots[id.root].below(folder).len() == 1;
    let help = if is_alone && !folder.is_empty() || is_called_skill(name) {
        "call it `SKILL.md`".to_owned()
    } else {
        format!("move it to `{name}/SKILL.md`")
    };
    let diagnostic = document.diagnostic(Code::UnreadPage, message);
    Some(diagnostic.at(document.top()).help(help))
}

/// Whether a name without its extension is nearly that of a skill file.
fn is_called_skill(name: &str) -> bool {
    let name = name.to_lowercase();
    matches!(name.as_str(), "skill" | "skills")
}

fn failed(tree: &Tree, id: FileId, path: &str) -> Failed {
    let (root, file_path) = (id.root, tree.entry(id).path.clone());
    Failed {
        root: u32::try_from(root).unwrap_or(u32::MAX),
        file_path,
        path: path.to_owned(),
    }
}

/// Takes the parsed document of a file that counts as a skill, and its diagnostics.
fn take(parsed: &mut Parsed, id: FileId, out: &mut Vec<Diagnostic>) -> Option<Document> {
    let (document, diagnostics) = parsed.remove(&id)?;
    out.extend(diagnostics);
    document
}

fn with_source(
    tree: &Tree,
    id: FileId,
    document: Option<&Document>,
    check: bool,
    read: impl FnOnce(&MarkdownFile<'_>) -> Option<Draft>,
) -> Option<Draft> {
    let (entry, document) = (tree.entry(id), document?);
    let bytes = entry.bytes.as_ref()?;
    let (root, shown) = (&tree.roots[id.root], &tree.shown(id));
    read(&MarkdownFile {
        id,
        root,
        entry,
        shown,
        bytes,
        document,
        check,
    })
}

/// What reading a file has shown.
fn traits(tree: &Tree, id: FileId, parsed: &Parsed) -> Traits {
    let document = parsed.get(&id).map(|(document, _)| document.as_ref());
    Traits {
        is_skill: false,
        has_keywords: match document {
            Some(Some(document)) => document.fields().has(keys::KEYWORDS),
            Some(None) => mentions_keywords(tree.entry(id)),
            None => false,
        },
        is_plain: document.flatten().is_some_and(|it| !it.has_frontmatter()),
    }
}

/// Whether a file is one of those that every repository has.
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
    // `README.fr.md` and `README-fr.md` count too.
    let name = name.split(['.', '-']).next().unwrap_or_default();
    NAMES.contains(&name)
}

/// Reports pages with keywords among another page's files, unless it declares them.
fn misplaced(tree: &Tree, in_resources: &[FileId], all: &Drafts) -> Vec<Diagnostic> {
    let declared: BTreeSet<(usize, String)> =
        all.skills.iter().flat_map(Draft::declared_paths).collect();
    let mut out = Vec::new();
    for &id in in_resources {
        let path = &tree.entry(id).path;
        if declared.contains(&(id.root, path.clone())) {
            continue;
        }
        let owner = ancestors(path).find(|it| tree.roots[id.root].has(&format!("{it}.md")));
        let owner = owner.unwrap_or_default();
        let message = format!("this page is not served: it is among the files of `{owner}.md`");
        let help = format!("move it out of `{owner}/`, or declare it in `{owner}.md`");
        out.push(Diagnostic::new(Code::SkillInResources, tree.shown(id), message).help(help));
    }
    out
}
