//! What the owners of a tree have set for a check of it: for whom, which rules are how severe in which
//! files, and which files are left out. And where a finding's file lies, so that such settings find it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::diagnostic::{Code, Severity};
use crate::profile::Profiles;
use crate::source::{Tree, TreeRoot};

/// Severities by rule; `None` turns a rule off.
pub type Severities = BTreeMap<Code, Option<Severity>>;

/// The settings for a root.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// The real path of the directory that patterns are relative to.
    pub directory: PathBuf,
    /// For whom, if not as for the other roots.
    pub profiles: Option<Profiles>,
    /// Severities that no profile changes.
    pub rules: Severities,
    /// Others for some files; the last that has a rule decides.
    pub overrides: Vec<(Patterns, Severities)>,
    /// Files whose findings are dropped.
    pub ignored: Patterns,
}

impl Policy {
    /// Whether the findings of this file are dropped. The path is a real one, as [`Places`] has it.
    pub fn ignores(&self, path: &Path) -> bool {
        self.ignored.match_path(self.below(path))
    }

    /// The severity that is set for a rule in this file, if one is.
    pub(super) fn rule(&self, code: Code, path: &Path) -> Option<&Option<Severity>> {
        let overrides = self.overrides.iter().rev();
        let mut of_file = overrides.filter(|(_, rules)| rules.contains_key(&code));
        let of_file = of_file.find(|(files, _)| files.match_path(self.below(path)));
        let rules = of_file.map_or(&self.rules, |(_, rules)| rules);
        rules.get(&code)
    }

    fn below<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.directory).unwrap_or(path)
    }
}

/// Patterns of paths below a directory: `*` and `?` stay within a name, `**` does not. What matches
/// stands for everything below it, too.
#[derive(Debug, Clone, Default)]
pub struct Patterns(GlobSet);

/// Bytes of a pattern. The longest names of files have 255.
const PATTERN_BYTES: usize = 1024;

/// Patterns of one set. Each is a part of one automaton.
const MOST_PATTERNS: usize = 1000;

impl Patterns {
    /// These patterns.
    ///
    /// # Errors
    ///
    /// The index of the first that is none, and what is wrong with it.
    pub fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, (usize, String)> {
        let mut set = GlobSetBuilder::new();
        let mut last = 0;
        for (at, pattern) in patterns.into_iter().enumerate() {
            last = at;
            add(&mut set, at, pattern).map_err(|reason| (at, reason))?;
        }
        let set = set.build().map_err(|error| (last, error.to_string()))?;
        Ok(Self(set))
    }

    fn match_path(&self, path: &Path) -> bool {
        self.0.is_match(path)
    }
}

fn add(set: &mut GlobSetBuilder, at: usize, pattern: &str) -> Result<(), String> {
    if at >= MOST_PATTERNS {
        return Err(format!("more than {MOST_PATTERNS} patterns"));
    }
    if pattern.len() > PATTERN_BYTES {
        return Err(format!("a pattern of more than {PATTERN_BYTES} bytes"));
    }
    let plain = pattern.trim_start_matches("./").trim_end_matches('/');
    if plain.is_empty() || plain.starts_with(['/', '!']) || plain.split('/').any(|it| it == "..") {
        return Err("expected a path below the directory of the settings".to_owned());
    }
    for pattern in [plain, &format!("{plain}/**")] {
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .backslash_escape(true)
            .build();
        set.add(glob.map_err(|error| error.kind().to_string())?);
    }
    Ok(())
}

/// Where the files of findings lie.
#[derive(Debug, Clone, Default)]
pub struct Places(Vec<Place>);

/// A root of a tree.
#[derive(Debug, Clone)]
struct Place {
    /// What the names of its files begin with.
    prefix: String,
    /// Its own name.
    name: String,
    root: usize,
    real: PathBuf,
    /// Whether it is the directory around the root, which may have settings for it.
    is_around: bool,
}

impl Places {
    pub(super) fn of(tree: &Tree) -> Self {
        let place = |(at, root): (usize, &TreeRoot)| Place {
            prefix: root.shown("x").trim_end_matches('x').to_owned(),
            name: root.shown(""),
            root: root.within.unwrap_or(at),
            real: root.real.clone(),
            is_around: root.within.is_some(),
        };
        let mut places: Vec<_> = tree.roots.iter().enumerate().map(place).collect();
        // A root in another one is the closer place.
        places.sort_by_key(|it| std::cmp::Reverse(it.prefix.len()));
        Self(places)
    }

    /// The index of the root that a finding's file lies in, and the file's real path but for links
    /// below the root.
    pub fn find(&self, file: &str) -> Option<(usize, PathBuf)> {
        self.0.iter().find_map(|place| {
            if file == place.name {
                return Some((place.root, place.real.clone()));
            }
            let below = file.strip_prefix(&place.prefix)?;
            Some((place.root, place.real.join(below)))
        })
    }

    /// The real path of a root's directory.
    pub fn root(&self, root: usize) -> Option<&Path> {
        let mut places = self.0.iter();
        let place = places.find(|it| it.root == root && !it.is_around)?;
        Some(&place.real)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stand_for_what_is_below_them() {
        for (pattern, path, expected) in [
            ("vendor", "vendor", true),
            ("vendor", "vendor/a/SKILL.md", true),
            ("vendor/**", "vendor/a/SKILL.md", true),
            ("./vendor/", "vendor/a/SKILL.md", true),
            ("vendor", "a/vendor/SKILL.md", false),
            ("**/vendor", "a/vendor/SKILL.md", true),
            ("*/SKILL.md", "a/SKILL.md", true),
            ("*/SKILL.md", "a/b/SKILL.md", false),
            ("a/{b,c}/*.md", "a/c/x.md", true),
            ("a/?", "a/bc", false),
            ("a/[!b]", "a/b", false),
        ] {
            let patterns = Patterns::new([pattern]).expect(pattern);
            let found = patterns.match_path(Path::new(path));
            assert_eq!(found, expected, "{pattern} {path}");
        }
    }

    #[test]
    fn patterns_that_cost_too_much_or_lead_out_are_refused() {
        let deep = "{".repeat(PATTERN_BYTES / 2) + &"}".repeat(PATTERN_BYTES / 2);
        let long = "a".repeat(PATTERN_BYTES + 1);
        for pattern in [
            &deep,
            &long,
            "",
            "/etc",
            "../x",
            "a/../../x",
            "!a",
            "[",
            "{a",
            "a}",
        ] {
            assert!(Patterns::new([pattern]).is_err(), "{pattern}");
        }
        let many: Vec<_> = (0..=MOST_PATTERNS).map(|it| it.to_string()).collect();
        let refused = Patterns::new(many.iter().map(String::as_str)).expect_err("too many");
        assert_eq!(refused.0, MOST_PATTERNS);
    }
}
