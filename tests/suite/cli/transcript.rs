//! Transcripts: a file holds command lines after `$ ` and below each what the
//! binary says to a pipe: stdout as it is (but after `\` where it begins with a
//! mark of ours), stderr after `! `, `[exit N]` where
//! N is not 0. Lines after `# ` are for the reader. `UPDATE_GOLDEN=1` writes
//! what was said into the file.

use std::fmt::Write;
use std::fs;

use crate::project::{Project, assert_golden, workspace};

/// What a line of stdout must not begin with in a transcript.
const MARKS: [char; 4] = ['#', '$', '!', '\\'];

/// Runs the commands of `tests/cli/<name>.txt` one after the other in
/// `project` and compares. `mask` takes out what may differ between versions.
pub(crate) fn check(project: &Project, name: &str, mask: impl Fn(&str) -> String) {
    let path = workspace()
        .join("tests/cli")
        .join(name)
        .with_extension("txt");
    let expected = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut actual = String::new();
    for line in expected.lines() {
        if line.starts_with("# ") {
            let gap = if actual.is_empty() { "" } else { "\n" };
            let _ = writeln!(actual, "{gap}{line}");
        } else if let Some(command) = line.strip_prefix("$ ") {
            actual.push_str(&mask(&run(project, command)));
        }
    }
    assert!(
        actual.contains("$ skillbundle"),
        "{} runs nothing",
        path.display()
    );
    assert_golden(&path, &actual);
}

fn run(project: &Project, command: &str) -> String {
    let words = words_of(command);
    let mut words = words.iter().map(String::as_str);
    assert_eq!(
        words.next(),
        Some("skillbundle"),
        "a transcript runs skillbundle: {command}"
    );
    let ran = project.run(&words.collect::<Vec<_>>());
    let mut said = format!("$ {command}\n");
    for line in ran.stdout.split_inclusive('\n') {
        let escape = if line.starts_with(MARKS) { "\\" } else { "" };
        let _ = write!(said, "{escape}{line}");
    }
    if !said.ends_with('\n') {
        said.push_str("\\\n");
    }
    for line in ran.stderr.lines() {
        let _ = writeln!(said, "! {line}");
    }
    if ran.code != Some(0) {
        let _ = writeln!(
            said,
            "[exit {}]",
            ran.code
                .map_or_else(|| "by signal".to_owned(), |code| code.to_string())
        );
    }
    said
}

/// The words of a command line; those in double quotes are one.
fn words_of(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for character in line.chars() {
        match character {
            '"' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            other => words.last_mut().expect("there is a word").push(other),
        }
    }
    words
}

/// Puts `<sha256>` in place of every run of 64 hexadecimal digits, and blanks
/// out numbers that depend on the layout of the archive.
pub(crate) fn without_layout(said: &str) -> String {
    said.lines()
        .map(|line| layout_line(&digests(line)) + "\n")
        .collect()
}

fn digests(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(|c: char| c.is_ascii_hexdigit()) {
        let run = rest[at..]
            .find(|c: char| !c.is_ascii_hexdigit())
            .unwrap_or(rest.len() - at);
        out.push_str(&rest[..at]);
        out.push_str(match run {
            64 => "<sha256>",
            16 => "<fingerprint>",
            _ => &rest[at..at + run],
        });
        rest = &rest[at + run..];
    }
    out + rest
}

/// Lines that tell how long the archive is, or where something lies in it.
fn layout_line(line: &str) -> String {
    const SECTIONS: [&str; 6] = ["PAGES", "INDEX", "KEYWORDS", "WORDS", "BODY", "FILES"];
    const ARCHIVE: [&str; 5] = [
        "size ",
        "  \"bytes\": ",
        "      \"offset\": ",
        "      \"bytes\": ",
        "  bytes ",
    ];
    let first = line.split(' ').next().unwrap_or_default();
    let all = SECTIONS.contains(&first)
        || ARCHIVE.iter().any(|head| line.starts_with(head))
        || line.contains("bundle is cut short");
    let words: Vec<&str> = line.split(' ').collect();
    let masked = words.iter().enumerate().map(|(at, word)| {
        let number = word.trim_end_matches([',', ';']);
        let is_number =
            !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == ',');
        let counts_bytes = words
            .get(at + 1)
            .is_some_and(|next| next.starts_with("bytes"));
        if is_number && (all || (counts_bytes && line.contains("<sha256>"))) {
            word.replace(number, "<n>")
        } else {
            (*word).to_owned()
        }
    });
    let line = masked.collect::<Vec<_>>().join(" ");
    if SECTIONS.contains(&first) {
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    } else {
        line
    }
}
