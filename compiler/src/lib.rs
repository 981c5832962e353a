//! The compiler: source trees become a set of skills and a report of diagnostics.
//!
//! `Sources` lists the passes in order. Only `source` reads the disk; every later pass
//! takes values and returns values and diagnostics.

mod assets;
mod check;
mod config;
mod contract;
mod dialect;
mod discover;
mod draft;
mod extension;
mod fix;
mod frontmatter;
mod last_good;
mod resolve;
mod reuse;
mod source;
mod unsettled;

mod diagnostic;
mod profile;
mod report;
mod rules;

mod compare;
mod eval;

mod paths;

#[cfg(test)]
mod testing;

use std::io;
use std::path::PathBuf;

use skillbundle_format::{RootEntry, Scope, SkillSet, arrange};
use skillbundle_search::parallel;

pub use check::{CheckOptions, Checked, Patterns, Places, Policy, Severities, check};
pub use compare::{
    ChangedSkill, Collision, Comparison, Effect, FieldChange, FileChange, HostChange, HostSize,
    Origin, Rerouted, SkillSize, Totals, Version, compare,
};
pub use config::{ConfigValue, read_config};
pub use diagnostic::{Applicability, Code, Diagnostic, Edit, Fix, Related, Severity, Span};
pub use eval::{Confusion, Evaluation, Failure, Outcome, Requests, Tally};
pub use fix::{FileOnDisk, Fixed, FixedFile, Refused, fix};
pub use profile::{ByProfile, Profile, Profiles};
pub use report::{Location, Report, Run, Suppression, github_failure, github_text, sarif_failure};
pub use reuse::{FileStates, Previous};
pub use rules::{Guide, rules_page};

use discover::{Claims, Discovery, FileKind};
use reuse::Reuse;
use rules::checkout;
use source::{Cause, Limits, Relevance, Tree};
use unsettled::Unsettled;

/// A directory that skills are read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Its path on disk.
    pub dir: PathBuf,
    /// Its label, such as `project`.
    pub label: String,
    /// Whether it belongs to a project or to the user.
    pub scope: Scope,
    /// The commit of a git repository that its files are exactly those of, if the caller knows it: it
    /// is noted in the bundle.
    pub commit: Option<String>,
    /// The most files and directories that are read below it, which protects from a root far above
    /// the skills. `None` means 100,000. All files together may then have 4 KiB times this number,
    /// or 1 GiB if that is more.
    pub max_files: Option<usize>,
    /// Files whose names hide them (`.gitignore`, `target/x`) and that its skills declare, by their
    /// paths below it: [`Compiled::declared`] of the last compilation. Changes of other hidden files
    /// are not seen before the next one.
    pub declared: Vec<String>,
}

impl Root {
    /// A project's own skills, labelled `project`.
    pub fn project(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            label: "project".to_owned(),
            scope: Scope::Project,
            commit: None,
            max_files: None,
            declared: Vec::new(),
        }
    }
}

/// How to compile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Whether roots may be missing or unreadable: they are left out and reported,
    /// and a missing one is not an error.
    pub optional_roots: bool,
    /// Whether the rules about quality run as well; otherwise only what decides what is served is
    /// reported.
    pub check: bool,
}

/// The result of a compilation.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The skills, ready to be written to a bundle.
    pub set: SkillSet,
    /// The diagnostics about the sources.
    pub report: Report,
    /// Files that were meant as skills and did not load. The report has the reasons.
    pub failed: Vec<Failed>,
    /// The [`fingerprints`] of what was read.
    pub fingerprints: Vec<u64>,
    /// For each root its [`Root::declared`] from now on.
    pub declared: Vec<Vec<String>>,
    /// What the next compilation of the same roots can use.
    pub states: FileStates,
    /// Whether skills were left as they were, since their files were in the middle of a change.
    /// The fingerprints and the report are not those of the whole then.
    pub is_partial: bool,
}

/// A file that was meant as a skill and did not load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// Index of its root.
    pub root: u32,
    /// The file, relative to the root.
    pub file_path: String,
    /// The path that the skill would have; empty for a root that is itself a skill,
    /// since its path comes from the name that could not be read.
    pub path: String,
}

/// Limit of a Markdown, YAML or JSON file. The largest real one has 0.3 MB.
const MAX_TEXT_BYTES: u64 = 4 << 20;

/// How often the tree is read if it changes while it is read. After that, the last
/// result counts.
const ATTEMPTS: usize = 3;

/// Compiles roots, highest priority first. Fails only if a root itself cannot be read;
/// every problem below it is a diagnostic.
pub fn compile(roots: &[Root], options: &Options) -> io::Result<Compiled> {
    let compiled = recompile(roots, options, &Previous::default(), &|| None)?;
    Ok(compiled.expect("nothing is in the middle of a change"))
}

/// As [`compile`], and reads the requests that lie below the roots from the same walk, so that
/// nothing is read twice.
pub fn compile_with_requests(
    roots: &[Root],
    options: &Options,
) -> io::Result<(Compiled, Requests)> {
    let found = compile_tree(roots, options, &Previous::default(), &|| None)?;
    let (compiled, mut tree) = found.expect("nothing is in the middle of a change");
    let requests = Requests::read(&mut tree);
    Ok((compiled, requests))
}

/// Compiles roots again. Only files that have changed are read; see [`Previous`]. If the
/// file of a skill of `previous` still exists but no longer loads, the previous version is
/// kept and reported: editors save half-written files, and the skill must not vanish
/// meanwhile. [`Compiled::failed`] lists it too.
///
/// `unsettled` is asked once all files are read: which files and directories were in the
/// middle of a change meanwhile. The skills that they belong to are left as they were, and
/// so is everything below a directory; if a whole root or the settings depend on them, or
/// new ones keep coming, the result is `None`. If the answer is `None`, nobody knows; then,
/// and where something could not be read, names, sizes and times are compared with those
/// from before, and everything is read again if they differ.
pub fn recompile(
    roots: &[Root],
    options: &Options,
    previous: &Previous,
    unsettled: &dyn Fn() -> Option<Vec<PathBuf>>,
) -> io::Result<Option<Compiled>> {
    let found = compile_tree(roots, options, previous, unsettled)?;
    Ok(found.map(|(compiled, _)| compiled))
}

/// As [`recompile`]; returns what was walked, too.
fn compile_tree(
    roots: &[Root],
    options: &Options,
    previous: &Previous,
    unsettled: &dyn Fn() -> Option<Vec<PathBuf>>,
) -> io::Result<Option<(Compiled, Tree)>> {
    let mut tree = source::walk(roots, Limits::default());
    let mut held = Unsettled::default();
    let mut attempt = 1;
    loop {
        let reads = tree.reads;
        let sources = Sources::read(tree, roots, options, previous, &held)?;
        if !held.is_empty() && sources.tree.reads == reads {
            return Ok(Some(sources.check(options)));
        }
        let is_last = attempt == ATTEMPTS;
        attempt += 1;
        // No watch reports a read that failed and would not fail again.
        let is_known = |paths: &Vec<PathBuf>| !paths.is_empty() || !sources.tree.has_unreadable();
        if let Some(paths) = unsettled().filter(is_known) {
            let Some(now) = Unsettled::new(&paths, &sources.tree, roots, &previous.set) else {
                return Ok(None);
            };
            if held.includes(&now) {
                return Ok(Some(sources.check(options)));
            }
            if is_last {
                return Ok(None);
            }
            held.extend(now);
            tree = sources.tree;
        } else {
            let declared = sources.tree.declared_paths();
            let roots: Vec<_> = (roots.iter().cloned().zip(declared))
                .map(|(root, declared)| Root { declared, ..root })
                .collect();
            let (now, compiled) =
                parallel::join(|| fingerprints(&roots), || sources.check(options));
            if is_last || now? == compiled.0.fingerprints {
                return Ok(Some(compiled));
            }
            tree = source::walk(&roots, Limits::default());
        }
    }
}

/// For each root a hash that changes when anything below it does: names, sizes, times,
/// permissions, targets of links; or it appears or vanishes itself. Opens no file.
pub fn fingerprints(roots: &[Root]) -> io::Result<Vec<u64>> {
    Ok(source::walk(roots, Limits::default()).fingerprints())
}

/// The places whose changes can move the [`fingerprints`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WalkedPaths {
    /// Directories in which everything matters, but not what lies in their subdirectories.
    pub directories: Vec<PathBuf>,
    /// Single files and directories that may appear, vanish or be replaced: the roots, the
    /// directories above them, and the targets of links.
    pub entries: Vec<PathBuf>,
    /// Single files elsewhere, whose contents matter too: those that links lead to, and the
    /// `config.yaml` around a root.
    pub files: Vec<PathBuf>,
}

/// The places to watch for changes of these roots, as they are now. Opens no file.
pub fn walked_paths(roots: &[Root]) -> WalkedPaths {
    source::walked_paths(&source::walk(roots, Limits::default()))
}

/// A YAML file of another program, such as the configuration of an agent host, as JSON. `None` if
/// it has an error by the rules of frontmatter.
pub fn yaml_to_json(source: &[u8]) -> Option<String> {
    frontmatter::yaml_to_json(source)
}

/// Everything that was read, and the drafts of skills that were made from it.
struct Sources {
    tree: Tree,
    discovered: Vec<Discovery>,
    roots: Vec<RootEntry>,
    drafts: Vec<draft::Draft>,
    failed: Vec<Failed>,
    /// The Markdown files that were looked at.
    files: Vec<(source::FileId, reuse::Traits)>,
    is_partial: bool,
    out: Vec<Diagnostic>,
}

impl Sources {
    /// Runs the passes that read files, except those that are held.
    fn read(
        mut tree: Tree,
        roots: &[Root],
        options: &Options,
        previous: &Previous,
        held: &Unsettled,
    ) -> io::Result<Self> {
        let mut out = Vec::new();
        held.prune(&mut tree);
        refuse_locked_roots(&tree, options)?;
        let mut discovered = discover::discover(&tree, &mut out);
        let reuse = Reuse::new(&tree, roots, &discovered, previous);
        let markdown = discovered.iter().flat_map(Discovery::markdown);
        let markdown: Vec<_> = markdown.filter(|&id| reuse.traits(id).is_none()).collect();
        tree.read(markdown, MAX_TEXT_BYTES);
        tree.read(config::files(&tree), MAX_TEXT_BYTES);

        let mut drafts = draft::drafts(&tree, &mut discovered, &reuse, options.check, &mut out);
        last_good::keep(
            &tree,
            roots,
            &discovered,
            &mut drafts,
            &previous.set,
            &mut out,
        );
        drafts.skills.extend(held.kept(&tree, roots, &previous.set));
        for id in drafts.unneeded(&discovered, &tree, &out) {
            tree.forget(id);
        }

        let roots: Vec<_> = roots.iter().map(root_entry).collect();
        let draft::Drafts {
            skills,
            failed,
            files,
            ..
        } = drafts;
        let mut drafts = resolve::resolve(skills, &roots, &mut out);
        assets::spell_as_on_disk(&tree, &mut drafts);
        let left_out = assets::left_out(&drafts);
        tree.look_at(left_out.iter().cloned());
        tree.read(assets::wanted(&tree, &drafts), u64::MAX);
        for draft in &mut drafts {
            assets::attach(&tree, draft, &mut out);
        }
        if options.check {
            tree.look_at(left_out.iter().cloned().chain(checkout::submodules(&tree)));
            tree.read(checkout::wanted(&tree, &drafts), MAX_TEXT_BYTES);
            rules::check(&tree, &drafts, &mut out);
            tree.look_at(left_out);
        }
        arrange(&mut drafts);
        Ok(Self {
            tree,
            discovered,
            roots,
            drafts,
            failed,
            files,
            is_partial: !held.is_empty(),
            out,
        })
    }

    /// Runs the passes that need no more files. Gives the tree back.
    fn check(self, options: &Options) -> (Compiled, Tree) {
        let (tree, mut out, mut drafts) = (self.tree, self.out, self.drafts);
        out.extend(source::diagnostics(
            &tree,
            options.optional_roots,
            |root, path| relevance(path, &self.discovered[root].claims),
        ));
        let settings = config::settings(&tree, &mut out);
        contract::check(&mut drafts, &settings.agents, &mut out);
        let positions: Vec<_> = drafts.iter().map(extension::Position::of).collect();
        let set = SkillSet {
            settings,
            roots: self.roots,
            skills: drafts.into_iter().map(|draft| draft.entry).collect(),
        };
        extension::check(&set, &positions, &mut out);
        let states = reuse::states(&tree, &self.files, &out);
        let report = Report::new(out, |file| tree.source_of(file));
        let compiled = Compiled {
            set,
            report,
            failed: self.failed,
            fingerprints: tree.fingerprints(),
            declared: tree.declared_paths(),
            states,
            is_partial: self.is_partial,
        };
        (compiled, tree)
    }
}

fn root_entry(root: &Root) -> RootEntry {
    RootEntry {
        label: root.label.clone(),
        scope: root.scope,
        commit: root.commit.clone(),
    }
}

/// What an unread path has to do with skills.
fn relevance(path: &str, claims: &Claims) -> Relevance {
    match discover::classify(path, false, claims) {
        FileKind::SkillFile | FileKind::Page => Relevance::Skill,
        FileKind::Content => Relevance::File,
        _ if path == config::CONFIG => Relevance::Input,
        FileKind::Hidden | FileKind::Other => Relevance::None,
    }
}

/// Fails if a root exists and cannot be read, since it is not an empty root.
fn refuse_locked_roots(tree: &Tree, options: &Options) -> io::Result<()> {
    for root in tree.roots.iter().filter(|_| !options.optional_roots) {
        if let Some(Cause::Unreadable(error)) = root.cause() {
            return Err(io::Error::other(format!(
                "cannot read {}: {error}",
                root.shown("")
            )));
        }
    }
    Ok(())
}
