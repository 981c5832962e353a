//! One skill: its record as plain fields, its text and files read and checked on demand.
//! Inheritance is in `content.rs`.

use std::borrow::Cow;
use std::collections::HashMap;

use skillbundle_search::text::fold;

use crate::blobs;
use crate::catalog::Catalog;
use crate::error::{Error, corrupt};
use crate::file::File;
use crate::model::{Audience, Dialect, Scope};
use crate::names::holds;
use crate::schema::{ArchivedBlobRow, ArchivedFileRow, ArchivedSkillRow, NONE, flag};

/// A skill of a bundle.
#[derive(Clone, Copy)]
pub struct Skill<'a> {
    /// Its number in listing order.
    pub id: u32,
    /// Its address in the bundle, `/`-separated.
    pub path: &'a str,
    /// The name that a user types.
    pub name: &'a str,
    /// The whole description as written.
    pub description: &'a str,
    /// The description on one line, for listings.
    pub summary: &'a str,
    /// How it was written.
    pub dialect: Dialect,
    /// The owner of its root.
    pub scope: Scope,
    /// Its root's number.
    pub root: u32,
    /// The label of its root.
    pub root_label: &'a str,
    /// The Markdown file, relative to the root.
    pub file_path: &'a str,
    /// Breaks ties between equal matches.
    pub priority: f64,
    /// Whether the skill inherits the text and files of its ancestors.
    pub inherit: bool,
    pub(crate) catalog: Catalog<'a>,
    pub(crate) row: &'a ArchivedSkillRow,
}

impl<'a> Skill<'a> {
    pub(crate) fn new(catalog: Catalog<'a>, id: u32) -> Result<Self, Error> {
        let row = catalog.row(&catalog.index.skills, id as usize)?;
        let root = catalog.root(row.root.to_native() as usize)?;
        let flags = row.flags.to_native();
        Ok(Self {
            id,
            path: catalog.text(&row.path)?,
            name: catalog.text(&row.name)?,
            description: catalog.text(&row.description)?,
            summary: catalog.text(&row.summary)?,
            dialect: if flags & flag::TREE == 0 {
                Dialect::Folder
            } else {
                Dialect::Tree
            },
            scope: root.scope,
            root: row.root.to_native(),
            root_label: root.label,
            file_path: catalog.text(&row.file_path)?,
            priority: row.priority.to_native(),
            inherit: flags & flag::INHERIT != 0,
            catalog,
            row,
        })
    }

    /// Whether it is not offered, because a skill of an earlier root has the same identity.
    pub fn is_shadowed(&self) -> bool {
        self.row.flags.to_native() & flag::SHADOWED != 0
    }

    /// The path in its own root; differs from `path` if another skill has that.
    pub fn own_path(&self) -> &'a str {
        let prefix = self.row.prefix.to_native() as usize;
        self.path.get(prefix..).unwrap_or(self.path)
    }

    /// The skill that is offered instead, if this one is shadowed.
    pub fn shadowed_by(&self) -> Result<Option<Skill<'a>>, Error> {
        if !self.is_shadowed() {
            return Ok(None);
        }
        self.winner(&mut None)
    }

    /// As [`Self::shadowed_by`] of a shadowed skill. `winners` keeps what takes a pass over all
    /// skills and is rarely needed: another skill may have the name as a path, or the path because
    /// the label of its root was put in front of its own.
    pub(crate) fn winner(
        &self,
        winners: &mut Option<HashMap<u32, u32>>,
    ) -> Result<Option<Skill<'a>>, Error> {
        let (likely, is_winner): (_, fn(&Self, &Self) -> bool) = match self.dialect {
            Dialect::Folder => (self.catalog.by_name(self.name)?, |a, b| {
                b.dialect == Dialect::Folder && fold(a.name) == fold(b.name)
            }),
            Dialect::Tree => (self.catalog.by_path(self.own_path())?, |a, b| {
                a.own_path() == b.own_path()
            }),
        };
        let is_winner = |it: &Self| !it.is_shadowed() && it.root < self.root && is_winner(self, it);
        if let Some(winner) = likely.filter(is_winner) {
            return Ok(Some(winner));
        }
        let winners = match winners {
            Some(winners) => winners,
            None => winners.insert(self.catalog.winners()?),
        };
        let winner = winners.get(&self.id).copied();
        winner.map(|id| self.catalog.skill(id)).transpose()
    }

    /// The last segment of its path: spec 4's install name.
    pub fn install_name(&self) -> &'a str {
        self.path.rsplit('/').next().unwrap_or(self.path)
    }

    /// Whether its path is this branch or is below it, by whole segments. `branch` is a result of
    /// [`crate::branch`]; the empty branch contains every skill.
    pub fn lies_in(&self, branch: &str) -> bool {
        holds(branch, self.path)
    }

    /// The name that resolves to exactly this skill: its name, or its path if another skill takes
    /// precedence for that name, or `skill://` and its path if that path is also a name.
    pub fn callable_name(&self) -> Result<&'a str, Error> {
        self.catalog.text(&self.row.callable)
    }

    /// The Markdown file with its frontmatter, without a byte order mark.
    pub fn text(&self) -> Result<Cow<'a, str>, Error> {
        let start = self.row.text_start.to_native() as usize;
        self.part(start, None)
    }

    /// The text after the frontmatter.
    pub fn body(&self) -> Result<Cow<'a, str>, Error> {
        let range = self.body_range();
        self.part(range.start, Some(range.end))
    }

    /// The Markdown file's bytes as they were on disk.
    pub fn source(&self) -> Result<Cow<'a, [u8]>, Error> {
        let bundle = self.catalog.bundle;
        blobs::read(self.source_row()?, bundle)
    }

    /// SHA-256 of [`Self::source`].
    pub fn digest(&self) -> Result<[u8; 32], Error> {
        Ok(self.source_row()?.sha256)
    }

    /// The length of [`Self::source`] in bytes.
    pub fn size(&self) -> Result<u64, Error> {
        Ok(self.source_row()?.len.to_native())
    }

    /// Whether users can call it as a prompt: true unless its frontmatter has
    /// `user-invocable: false`.
    pub fn is_user_invocable(&self) -> bool {
        self.row.flags.to_native() & flag::HIDDEN == 0
    }

    /// Who is shown it.
    pub fn audience(&self) -> Audience {
        let flags = self.row.flags.to_native();
        if flags & flag::NOBODY != 0 {
            Audience::Nobody
        } else if flags & flag::PEOPLE != 0 {
            Audience::People
        } else {
            Audience::Everyone
        }
    }

    /// The names of its prompt arguments, from `arguments` in its frontmatter.
    pub fn arguments(&self) -> Result<Vec<&'a str>, Error> {
        self.catalog.strings(&self.row.arguments)
    }

    /// The hint for all arguments together, from `argument-hint`; may be empty.
    pub fn argument_hint(&self) -> Result<&'a str, Error> {
        self.catalog.text(&self.row.argument_hint)
    }

    /// Tags and keywords of its frontmatter, folded.
    pub(crate) fn labels(&self) -> Result<Vec<&'a str>, Error> {
        self.catalog.strings(&self.row.labels)
    }

    /// Keywords, tags and triggers of its frontmatter, as written.
    pub(crate) fn phrases(&self) -> Result<Vec<&'a str>, Error> {
        self.catalog.strings(&self.row.phrases)
    }

    /// Declared keywords, in the author's order and case.
    pub fn keywords(&self) -> Result<Vec<&'a str>, Error> {
        self.catalog.strings(&self.row.keywords)
    }

    /// The frontmatter as one JSON object, every key, in source order.
    pub fn frontmatter_json(&self) -> Result<&'a str, Error> {
        self.catalog.text(&self.row.frontmatter)
    }

    /// Its own files, sorted by path.
    pub fn files(&self) -> Result<Vec<File<'a>>, Error> {
        let rows = self
            .catalog
            .rows(&self.catalog.index.files, &self.row.files)?;
        rows.iter()
            .map(|row| File::new(self.catalog, row))
            .collect()
    }

    /// Its own file with this path.
    pub fn file(&self, path: &str) -> Result<Option<File<'a>>, Error> {
        let rows = self
            .catalog
            .rows(&self.catalog.index.files, &self.row.files)?;
        let (mut low, mut high) = (0, rows.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            match self.catalog.text(&rows[middle].path)?.cmp(path) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => {
                    return File::new(self.catalog, &rows[middle]).map(Some);
                }
            }
        }
        self.file_in_other_form(path, rows)
    }

    /// The only file whose path outside of ASCII is this one but for its Unicode form and case. Names
    /// in ASCII have one form, and their case matters.
    fn file_in_other_form(
        &self,
        path: &str,
        rows: &'a [ArchivedFileRow],
    ) -> Result<Option<File<'a>>, Error> {
        let mut found = None;
        if !path.is_ascii() && path.trim() == path {
            let wanted = fold(path);
            for row in rows {
                let path = self.catalog.text(&row.path)?;
                if !path.is_ascii() && fold(path) == wanted && found.replace(row).is_some() {
                    return Ok(None);
                }
            }
        }
        found.map(|row| File::new(self.catalog, row)).transpose()
    }

    /// Its nearest ancestor, whether or not the skill inherits.
    pub fn parent(&self) -> Result<Option<Skill<'a>>, Error> {
        match self.row.parent.to_native() {
            NONE => Ok(None),
            id => self.catalog.skill(id).map(Some),
        }
    }

    /// See [`crate::SkillEntry::recovered`].
    pub(crate) fn is_recovered(&self) -> bool {
        self.row.flags.to_native() & flag::RECOVERED != 0
    }

    /// The range of the body in [`Self::source`].
    pub(crate) fn body_range(&self) -> std::ops::Range<usize> {
        self.row.body_start.to_native() as usize..self.row.body_end.to_native() as usize
    }

    fn source_row(&self) -> Result<&'a ArchivedBlobRow, Error> {
        self.catalog.row(
            &self.catalog.index.blobs,
            self.row.source.to_native() as usize,
        )
    }

    fn part(&self, start: usize, end: Option<usize>) -> Result<Cow<'a, str>, Error> {
        const WHERE: Error = corrupt("the body range is outside the file of the skill");
        match self.source()? {
            Cow::Borrowed(bytes) => {
                let bytes = bytes.get(start..end.unwrap_or(bytes.len())).ok_or(WHERE)?;
                std::str::from_utf8(bytes)
                    .map(Cow::Borrowed)
                    .map_err(|_| corrupt("a skill's text is not UTF-8"))
            }
            Cow::Owned(mut bytes) => {
                if start > bytes.len() || end.is_some_and(|end| end < start || end > bytes.len()) {
                    return Err(WHERE);
                }
                bytes.truncate(end.unwrap_or(bytes.len()));
                bytes.drain(..start);
                String::from_utf8(bytes)
                    .map(Cow::Owned)
                    .map_err(|_| corrupt("a skill's text is not UTF-8"))
            }
        }
    }
}

impl std::fmt::Debug for Skill<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Skill")
            .field("path", &self.path)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
