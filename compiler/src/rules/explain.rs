//! The table of rules as text: one row for a terminal, and all of them as the page `docs/rules.md`.

use std::fmt::Write;

use super::{Code, Guide};
use crate::diagnostic::Severity;
use crate::profile::Profile;

/// Begins the line before a file of an example that is not `example/SKILL.md` alone.
const FILE: &str = ">>> ";

impl Code {
    /// The row of the table, for people.
    pub fn explain(self) -> String {
        let guide = self.guide();
        let mut text = format!("{self}: {}\n\n{}\n", self.severities(), self.meaning());
        let _ = write!(text, "{}\n\nBad:\n{}\n", guide.why, example(guide.bad));
        let _ = write!(text, "Good:\n{}\n", example(guide.good));
        let _ = writeln!(text, "Source: {}", guide.source);
        text
    }

    /// `warning; error for spec, gh; info for claude`.
    fn severities(self) -> String {
        let mut text = self.severity().as_str().to_owned();
        for severity in [Severity::Error, Severity::Warning, Severity::Info] {
            let others = self.elsewhere().iter().filter(|it| it.1 == severity);
            let names: Vec<_> = others.map(|it| it.0.as_str()).collect();
            if !names.is_empty() {
                let _ = write!(text, "; {severity} for {}", names.join(", "));
            }
        }
        text
    }
}

/// The page `docs/rules.md`.
pub fn rules_page() -> String {
    let mut page = String::from(BEGIN);
    page += "| profile | stands for | source |\n|---|---|---|\n";
    for profile in Profile::ALL {
        let (name, meaning) = (profile.as_str(), profile.meaning());
        let _ = writeln!(page, "| `{name}` | {meaning} | {} |", profile.source());
    }
    page += "\n## All rules\n\n| rule | severity | meaning |\n|---|---|---|\n";
    for code in Code::ALL {
        let (meaning, severities) = (code.meaning(), code.severities());
        let _ = writeln!(page, "| [`{code}`](#{code}) | {severities} | {meaning} |");
    }
    for code in Code::ALL {
        let Guide {
            why,
            bad,
            good,
            source,
        } = code.guide();
        let severities = code.severities();
        let _ = write!(page, "\n## {code}\n\n{} {why}\n", code.meaning());
        let _ = write!(page, "\nSeverity: {severities}. Source: {source}.\n");
        let _ = write!(
            page,
            "\nBad:\n\n{}\nGood:\n\n{}",
            example(bad),
            example(good)
        );
    }
    page
}

const BEGIN: &str = "\
# Rules

What `skillbundle check` reports. `skillbundle explain RULE` prints one of them. This page is generated
from the table in `compiler/src/rules.rs`.

The first severity is that for this program, what it serves itself. Where a host or another program
takes it differently, its name follows. `portable`, the default, stands for all hosts.

";

/// An example, indented, with escapes for what nobody would see.
fn example(example: &str) -> String {
    let lines = example.lines().map(|line| match line.strip_prefix(FILE) {
        Some(path) => format!("    # file {path}\n"),
        None if line.is_empty() => "\n".to_owned(),
        None => format!("    {}\n", visible(line)),
    });
    lines.collect()
}

/// A line with escapes for what is invisible, cut if it is long.
fn visible(line: &str) -> String {
    const MOST: usize = 100;
    let text = crate::report::escape(line);
    if text.chars().count() > MOST {
        return text.chars().take(MOST).collect::<String>() + "…";
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_page_is_current() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/rules.md");
        let page = rules_page();
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&file, &page).unwrap();
        }
        let found = std::fs::read_to_string(&file).unwrap();
        assert_eq!(found, page, "UPDATE_GOLDEN=1 rewrites it");
    }
}
