//! Reads the text of `skillbundle.toml`. Every mistake is an error with line and column.

use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use anyhow::{Error, Result};
use skillbundle_compiler::{Code, Patterns, Policy, Profiles, Severities, Severity};
use skillbundle_search::suggest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::FailOn;
use super::Settings;
use crate::cli::display::escaped;
use crate::cli::output::with_help;

/// The table that everything is in, and its keys.
const CHECK: &str = "check";
const KEYS: &[&str] = &[
    "profile",
    "strict",
    "fail-on",
    "max-warnings",
    "ignore",
    "baseline",
    "rules",
    "overrides",
];
const OVERRIDE_KEYS: &[&str] = &["files", "rules"];

/// What a rule may be set to.
const SEVERITIES: &[(&str, Option<Severity>)] = &[
    ("off", None),
    ("info", Some(Severity::Info)),
    ("warning", Some(Severity::Warning)),
    ("error", Some(Severity::Error)),
];

/// What `fail-on` may be.
const FAIL_ON: &[(&str, FailOn)] = &[
    ("error", FailOn::Error),
    ("warning", FailOn::Warning),
    ("info", FailOn::Info),
    ("never", FailOn::Never),
];

/// Most overrides. Each has patterns of its own.
const MOST_OVERRIDES: usize = 200;

type Value<'a> = Spanned<DeValue<'a>>;

/// The settings in this text.
pub(super) fn parse(file: String, directory: PathBuf, text: &str) -> Result<Settings> {
    let reader = Reader { file: &file, text };
    let root = DeTable::parse(text).map_err(|error| {
        let message = error
            .message()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned();
        reader.fail(&error.span().unwrap_or_default(), &message, super::HELP)
    })?;
    let mut settings = Settings {
        policy: Policy {
            directory,
            ..Policy::default()
        },
        ..Settings::default()
    };
    for (key, value) in root.get_ref() {
        match key.get_ref().as_ref() {
            CHECK => reader.check(value, &mut settings)?,
            _ => return Err(reader.unknown("key", key, [CHECK])),
        }
    }
    Ok(Settings { file, ..settings })
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
}

impl Reader<'_> {
    fn check(&self, value: &Value<'_>, settings: &mut Settings) -> Result<()> {
        let mut is_strict = None;
        for (key, value) in self.table(value)? {
            let policy = &mut settings.policy;
            match key.get_ref().as_ref() {
                "profile" => policy.profiles = Some(self.profiles(value)?),
                "strict" => is_strict = self.boolean(value)?.then(|| key.span()),
                "fail-on" => settings.fail_on = Some(self.one_of(value, FAIL_ON)?),
                "max-warnings" => settings.max_warnings = Some(self.number(value)?),
                "ignore" => policy.ignored = self.patterns(value)?,
                "baseline" => settings.baseline = Some(self.path(value, &policy.directory)?),
                "rules" => policy.rules = self.rules(value)?,
                "overrides" => policy.overrides = self.overrides(value)?,
                _ => return Err(self.unknown("key", key, KEYS.iter().copied())),
            }
        }
        match (is_strict, settings.fail_on) {
            (Some(place), Some(_)) => {
                let message = "`strict` and `fail-on` say the same";
                Err(self.fail(&place, message, "leave one of them out"))
            }
            (Some(_), None) => {
                settings.fail_on = Some(FailOn::Warning);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn profiles(&self, value: &Value<'_>) -> Result<Profiles> {
        let names = self.texts(value)?;
        if names.is_empty() {
            let help = "name one, such as `profile = [\"portable\"]`";
            return Err(self.fail(&value.span(), "no profile is named", help));
        }
        let texts: Vec<&str> = names.iter().map(|it| it.0).collect();
        Profiles::of(&texts).map_err(|unknown| {
            let place = names.iter().find(|it| it.0 == unknown);
            let place = place.map_or(value.span(), |it| it.1.clone());
            self.no_such("profile", unknown, &place, Profiles::names())
        })
    }

    fn overrides(&self, value: &Value<'_>) -> Result<Vec<(Patterns, Severities)>> {
        let list = self.list(value)?;
        if list.len() > MOST_OVERRIDES {
            let message = format!("more than {MOST_OVERRIDES} overrides");
            return Err(self.fail(&value.span(), &message, "give one several `files`"));
        }
        list.iter().map(|it| self.override_of(it)).collect()
    }

    fn override_of(&self, value: &Value<'_>) -> Result<(Patterns, Severities)> {
        let (mut files, mut rules) = (None, None);
        for (key, value) in self.table(value)? {
            match key.get_ref().as_ref() {
                "files" => files = Some(self.patterns(value)?),
                "rules" => rules = Some(self.rules(value)?),
                _ => return Err(self.unknown("key", key, OVERRIDE_KEYS.iter().copied())),
            }
        }
        files.zip(rules).ok_or_else(|| {
            let help = "write `files = [\"a/**\"]` and `rules = { name-mismatch = \"off\" }`";
            let message = "an override needs `files` and `rules`";
            self.fail(&value.span(), message, help)
        })
    }

    fn rules(&self, value: &Value<'_>) -> Result<Severities> {
        let mut rules = Severities::new();
        for (key, value) in self.table(value)? {
            let mut codes = Code::ALL.iter();
            let code = codes.find(|it| it.as_str() == key.get_ref().as_ref());
            let Some(code) = code else {
                let names = Code::ALL.iter().map(|it| it.as_str());
                return Err(self.unknown("rule", key, names));
            };
            rules.insert(*code, self.one_of(value, SEVERITIES)?);
        }
        Ok(rules)
    }

    fn patterns(&self, value: &Value<'_>) -> Result<Patterns> {
        let texts = self.texts(value)?;
        Patterns::new(texts.iter().map(|it| it.0)).map_err(|(at, reason)| {
            let place = texts.get(at).map_or(value.span(), |it| it.1.clone());
            let help = "write patterns such as \"vendor/**\", relative to the file";
            self.fail(&place, &format!("no pattern of files: {reason}"), help)
        })
    }

    /// A path below the directory of the file.
    fn path(&self, value: &Value<'_>, directory: &Path) -> Result<PathBuf> {
        let text = self.text(value)?;
        let path = Path::new(text);
        let mut parts = path.components();
        if text.is_empty()
            || !parts.all(|it| matches!(it, Component::Normal(_) | Component::CurDir))
        {
            let message = "the path leads out of the directory of the settings";
            let help = "write a path relative to the file, without `..`";
            return Err(self.fail(&value.span(), message, help));
        }
        Ok(directory.join(path))
    }

    fn one_of<T: Copy>(&self, value: &Value<'_>, values: &[(&str, T)]) -> Result<T> {
        let text = self.text(value)?;
        let found = values.iter().find(|it| it.0 == text);
        found.map(|it| it.1).ok_or_else(|| {
            let names = values.iter().map(|it| it.0);
            self.no_such("value", text, &value.span(), names)
        })
    }

    /// A text, or a list of texts.
    fn texts<'a>(&self, value: &'a Value<'_>) -> Result<Vec<(&'a str, Range<usize>)>> {
        let text = |it: &'a Value<'_>| Ok((self.text(it)?, it.span()));
        match value.get_ref() {
            DeValue::String(_) => Ok(vec![text(value)?]),
            DeValue::Array(all) => all.iter().map(text).collect(),
            _ => Err(self.mistyped(value, "a text or a list of texts")),
        }
    }

    fn text<'a>(&self, value: &'a Value<'_>) -> Result<&'a str> {
        let text = value.get_ref().as_str();
        text.ok_or_else(|| self.mistyped(value, "a text"))
    }

    fn boolean(&self, value: &Value<'_>) -> Result<bool> {
        let value_of = value.get_ref().as_bool();
        value_of.ok_or_else(|| self.mistyped(value, "`true` or `false`"))
    }

    fn number(&self, value: &Value<'_>) -> Result<usize> {
        const EXPECTED: &str = "a number that is not negative";
        let Some(number) = value.get_ref().as_integer() else {
            return Err(self.mistyped(value, EXPECTED));
        };
        usize::from_str_radix(number.as_str(), number.radix()).map_err(|error| {
            let found = &self.text[value.span()];
            let message = format!("expected {EXPECTED}, found `{found}`: {error}");
            self.fail(&value.span(), &message, super::HELP)
        })
    }

    fn list<'a, 'b>(&self, value: &'a Value<'b>) -> Result<&'a [Value<'b>]> {
        let list = value.get_ref().as_array().map(|it| &it[..]);
        list.ok_or_else(|| self.mistyped(value, "a list"))
    }

    fn table<'a, 'b>(&self, value: &'a Value<'b>) -> Result<&'a DeTable<'b>> {
        let table = value.get_ref().as_table();
        table.ok_or_else(|| self.mistyped(value, "a table"))
    }

    fn mistyped(&self, value: &Value<'_>, expected: &str) -> Error {
        let found = value.get_ref().type_str();
        let message = format!("expected {expected}, found a value of type {found}");
        self.fail(&value.span(), &message, super::HELP)
    }

    fn unknown<'a>(
        &self,
        what: &str,
        key: &Spanned<std::borrow::Cow<'_, str>>,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Error {
        self.no_such(what, key.get_ref(), &key.span(), known)
    }

    fn no_such<'a>(
        &self,
        what: &str,
        name: &str,
        place: &Range<usize>,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Error {
        /// Most names that an error lists; there are more than a hundred rules.
        const MOST_LISTED: usize = 20;
        let known: Vec<&str> = known.into_iter().collect();
        let help = match suggest(name, known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None if known.len() > MOST_LISTED => "`skillbundle explain` lists all rules".to_owned(),
            None => format!("expected one of: {}", known.join(", ")),
        };
        self.fail(place, &format!("no {what} is called `{name}`"), &help)
    }

    fn fail(&self, place: &Range<usize>, message: &str, help: &str) -> Error {
        let mut start = place.start.min(self.text.len());
        while !self.text.is_char_boundary(start) {
            start -= 1;
        }
        let before = &self.text[..start];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default();
        let column = column.chars().count() + 1;
        let message = format!("{}:{line}:{column}: {message}", self.file);
        // A name in the message is whatever stands in the file.
        with_help(&escaped(&message), help)
    }
}
