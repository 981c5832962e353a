//! How people write skills: source trees become a set of skills and findings.
//!
//! [`compile`] is the list of passes, in order. Only `source` touches the
//! disk; every pass after it takes values and returns values and diagnostics.

mod assets;
mod config;
mod diagnostic;
mod dialect;
mod eval;
mod frontmatter;
mod last_good;
mod published;
mod render;
mod resolve;
mod settings;
mod source;

use std::io;
use std::path::PathBuf;

use skillbundle_format::{RootEntry, Scope, SkillSet};

pub use diagnostic::{Code, Diagnostic, Fix, Related, Report, Severity, Span};
pub use eval::{Confusion, Evaluation, Failure, Outcome, Tally, evaluate};

use source::{Concern, Fault, Limits, Tree};

/// A directory that skills are read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Where it lies.
    pub dir: PathBuf,
    /// What people call it, such as `project`.
    pub label: String,
    /// Whom it belongs to.
    pub scope: Scope,
}

impl Root {
    /// A project's own skills, labelled `project`.
    pub fn project(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            label: "project".to_owned(),
            scope: Scope::Project,
        }
    }
}

/// How to compile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Whether a root may be missing or locked. It is left out then, and a
    /// finding says so; a missing one is no error.
    pub optional_roots: bool,
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The skills, ready to be written.
    pub set: SkillSet,
    /// What there is to say about the sources.
    pub report: Report,
    /// Files that were meant as skills and do not load. The report says why.
    pub failed: Vec<Failed>,
}

/// A file that was meant as a skill and does not load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// Index of its root.
    pub root: u32,
    /// The file, relative to the root.
    pub file_path: String,
    /// The path that the skill would have; empty for a root that is itself a
    /// skill, whose path is made of the name that could not be read.
    pub path: String,
}

/// A file of Markdown or YAML is read up to this size. The largest real one has
/// 0.3 MB.
const MAX_TEXT_BYTES: u64 = 4 << 20;

/// How often the tree is read again because it changed meanwhile. Whoever
/// writes for longer than that gets what was there last.
const ATTEMPTS: usize = 3;

/// Compiles roots, highest priority first. It fails only where a root itself
/// cannot be read; whatever is wrong below it is a finding.
pub fn compile(roots: &[Root], options: &Options) -> io::Result<Compiled> {
    recompile(roots, options, &SkillSet::default())
}

/// Compiles roots again. A skill that was good in `previous`, and whose file is
/// still there but does not load any more, keeps its previous version, and a
/// finding says so: an editor saves half a file, and the skill must not vanish
/// for that long. [`Compiled::failed`] names it all the same.
pub fn recompile(roots: &[Root], options: &Options, previous: &SkillSet) -> io::Result<Compiled> {
    for _ in 1..ATTEMPTS {
        let (compiled, before) = passes(roots, options, previous)?;
        if fingerprint(roots)? == before {
            return Ok(compiled);
        }
    }
    passes(roots, options, previous).map(|(compiled, _)| compiled)
}

/// A number that moves when anything below the roots does: names, sizes, times,
/// permissions, targets of links, roots that come and go. No file is opened.
pub fn fingerprint(roots: &[Root]) -> io::Result<u64> {
    Ok(source::walk(roots, Limits::default()).fingerprint())
}

/// Every pass, once, and the fingerprint of what was looked at.
fn passes(roots: &[Root], options: &Options, previous: &SkillSet) -> io::Result<(Compiled, u64)> {
    let mut out = Vec::new();

    let mut tree = source::walk(roots, Limits::default());
    refuse_locked_roots(&tree, options)?;
    let mut layout = dialect::layout(&tree, &mut out);
    tree.read(layout.markdown(), MAX_TEXT_BYTES);
    tree.read(config::files(&tree), MAX_TEXT_BYTES);

    let mut drafts = dialect::drafts(&tree, &mut layout, &mut out);
    last_good::keep(&tree, roots, &layout, &mut drafts, previous, &mut out);

    let dialect::Drafts { drafts, failed } = drafts;
    let mut drafts = resolve::resolve(drafts, &mut out);
    tree.read(assets::wanted(&tree, &drafts), u64::MAX);
    for draft in &mut drafts {
        assets::attach(&tree, draft, &mut out);
    }

    out.extend(source::findings(
        &tree,
        options.optional_roots,
        |root, path| {
            let places = &layout.roots[root].places;
            match dialect::reader(path, false, places) {
                dialect::Reader::Folder | dialect::Reader::Tree => Concern::Skill,
                _ if path == config::CONFIG => Concern::File,
                dialect::Reader::Skill => Concern::File,
                dialect::Reader::Hidden | dialect::Reader::Nobody => Concern::None,
            }
        },
    ));

    let places: Vec<_> = drafts.iter().map(published::Place::of).collect();
    let set = SkillSet {
        settings: config::settings(&tree, &mut out),
        roots: roots.iter().map(root_entry).collect(),
        skills: drafts.into_iter().map(|draft| draft.entry).collect(),
    };
    published::check(&set, &places, &mut out);
    let report = Report::new(out, |file| tree.source_of(file));
    Ok((
        Compiled {
            set,
            report,
            failed,
        },
        tree.fingerprint(),
    ))
}

fn root_entry(root: &Root) -> RootEntry {
    RootEntry {
        label: root.label.clone(),
        scope: root.scope,
    }
}

/// A root that is there and cannot be read is no empty root.
fn refuse_locked_roots(tree: &Tree, options: &Options) -> io::Result<()> {
    for root in tree.roots.iter().filter(|_| !options.optional_roots) {
        if let Some(Fault::Unreadable(error)) = root.fault() {
            return Err(io::Error::other(format!(
                "cannot read {}: {error}",
                root.shown("")
            )));
        }
    }
    Ok(())
}
