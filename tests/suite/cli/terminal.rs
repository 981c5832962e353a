//! The binary on a terminal: a pseudo-terminal of a chosen width, on which it
//! has stdin, stdout and stderr. What it says there is aligned, cut, coloured,
//! and free of control characters from skills.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::Command;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::office;
use crate::project::assert_same;

/// Runs the command to its end on a terminal with this many columns, on which
/// nobody types anything but Ctrl-D.
pub(crate) fn on_terminal(command: &mut Command, columns: u16) -> String {
    typing(command, columns, "").0
}

/// The same, typing these lines before Ctrl-D; with the exit code.
fn typing(command: &mut Command, columns: u16, lines: &str) -> (String, Option<i32>) {
    let (ours, theirs) = terminal(columns);
    let mut ours = File::from(ours);
    ours.write_all(format!("{lines}\x04").as_bytes())
        .expect("a terminal takes what is typed");
    let copy = |fd: &OwnedFd| fd.try_clone().expect("a descriptor can be copied");
    command
        .env("TERM", "xterm")
        .stdin(copy(&theirs))
        .stdout(copy(&theirs))
        .stderr(copy(&theirs));
    let mut child = command.spawn().expect("it starts");
    // The command holds copies of its own; the last one must close with the child.
    command
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    drop(theirs);
    let mut said = Vec::new();
    // A terminal whose other side has closed answers with an error, not an end.
    let _ = ours.read_to_end(&mut said);
    let ended = child.wait().expect("it ends");
    let said = String::from_utf8(said).expect("it writes UTF-8");
    (said.replace("\r\n", "\n"), ended.code())
}

fn terminal(columns: u16) -> (OwnedFd, OwnedFd) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal can be had");
    grantpt(&ours)
        .and_then(|()| unlockpt(&ours))
        .expect("a terminal can be opened");
    let name = ptsname(&ours, Vec::new()).expect("a terminal has a name");
    let name = name.to_str().expect("a terminal's name is plain");
    let theirs = File::options()
        .read(true)
        .write(true)
        .open(name)
        .expect("a terminal can be opened");
    let size = Winsize {
        ws_row: 24,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&theirs, size).expect("a terminal can be sized");
    (ours, theirs.into())
}

#[test]
fn a_table_is_aligned_and_cut_to_the_terminal() {
    let project = office();
    let said = on_terminal(
        project
            .command()
            .env("NO_COLOR", "1")
            .args(["list", "--dir", "team"]),
        50,
    );
    let expected = "\
PATH      NAME       DIALECT  DESCRIPTION
docs/pdf  PDF forms  folder   Fill in the fields…
git       git        folder   Commit and push wit…
2 skills (folder) from team
";
    assert_same("list at 50 columns", expected, &said);
}

/// Blocks where the locale says UTF-8, plain signs where it does not.
#[test]
fn a_route_is_drawn_with_bars_and_reasons() {
    let project = office();
    for (locale, long, short) in [
        ("C.UTF-8", "████████████████", "███▍            "),
        ("C", "################", "###             "),
    ] {
        let said = on_terminal(
            project
                .command()
                .env("NO_COLOR", "1")
                .env("LANG", locale)
                .args(["route", "push the PDF forms", "--dir", "team"]),
            64,
        );
        let expected = format!(
            "\
match: docs/pdf, by bm25f/1: confidence 4.54, needs 1.24; lead 79%, needs 12%

{long}   18.59  docs/pdf
                    5.17  pdf       name, description, body
                    5.43  form      name, description
                    1.04  pdf form  adjacent
                    6.94  the name  100% of it

{short}    3.92  git
                    3.92  push  description
"
        );
        assert_same("route at 64 columns", &expected, &said);
    }
}

#[test]
fn a_route_in_a_tree_is_drawn_with_its_keywords() {
    let project = office();
    let said = on_terminal(
        project.command().env("NO_COLOR", "1").args([
            "route",
            "react login",
            "--dir",
            "tree",
            "-n",
            "2",
        ]),
        48,
    );
    let expected = "\
match: ui/react/auth, by keywords: score 0.505, needs 0.2; lead 0.172, needs 0.1

############   0.505  ui/react/auth
               0.500  2 of 4 keywords  react, l…
               0.005  priority 5

########       0.333  ui/react/_index
               0.333  1 of 3 keywords  react
";
    assert_same("route at 48 columns", expected, &said);
}

#[test]
fn a_request_is_not_obeyed_either() {
    let project = office();
    let mut command = project.command();
    let request = "push\u{1b}[31m \u{202e}with\u{7} care";
    command
        .env("NO_COLOR", "1")
        .args(["route", request, "--dir", "team"]);
    let said = on_terminal(&mut command, 80);
    let obeyed = |c: &char| (c.is_control() && *c != '\n') || *c == '\u{202e}';
    assert_eq!(said.chars().find(obeyed), None, "{said}");
}

#[test]
fn colours_are_for_terminals_and_can_be_refused() {
    let project = office();
    let bold = "\u{1b}[1m";
    assert!(on_terminal(project.command().args(["list", "--dir", "team"]), 80).contains(bold));
    assert!(
        !on_terminal(
            project
                .command()
                .env("NO_COLOR", "1")
                .args(["list", "--dir", "team"]),
            80
        )
        .contains('\u{1b}')
    );
    assert!(
        !project
            .run(&["list", "--dir", "team"])
            .stdout
            .contains('\u{1b}')
    );
    let check = ["compile", "--check", "broken"];
    assert!(on_terminal(project.command().args(check), 80).contains('\u{1b}'));
    assert!(
        !on_terminal(project.command().env("NO_COLOR", "1").args(check), 80).contains('\u{1b}')
    );
    assert!(!project.run(&check).stderr.contains('\u{1b}'));
}

#[test]
fn a_search_tells_below_the_hits_which_of_how_many_they_are() {
    let project = office();
    for (page, last) in [
        (
            &["-n", "2"][..],
            Some("hits 1 to 2 of 3; --offset 2 shows more"),
        ),
        (&["-n", "2", "--offset", "2"], Some("hit 3 of 3")),
        (
            &["--offset", "3"],
            Some("no hit after --offset 3; there are 3"),
        ),
        (&[], None),
    ] {
        let mut command = project.command();
        command
            .args(["search", "react", "--dir", "tree"])
            .args(page);
        let said = on_terminal(&mut command, 80);
        let told = said.lines().last().filter(|line| !line.starts_with("ui/"));
        assert_eq!(told.map(str::trim_end), last, "{page:?}: {said}");
    }
}

#[test]
fn a_terminal_obeys_nothing_that_a_skill_says() {
    let project = office();
    project.file(
        "odd/loud.md",
        "---\ndescription: Loud\nkeywords: [\"red\\e[31m\", red]\n---\nBody\n",
    );
    let asked = [
        &["list"][..],
        &["show", "red"],
        &["show", "red", "--raw"],
        &["search", "red"],
        &["route", "red"],
        &["inspect"],
        &["inspect", "--skill", "red"],
    ];
    for arguments in asked {
        let mut command = project.command();
        command
            .env("NO_COLOR", "1")
            .args(arguments)
            .args(["--dir", "odd"]);
        let said = on_terminal(&mut command, 120);
        assert!(said.contains("red"), "{arguments:?}: {said}");
        let obeyed = said
            .chars()
            .find(|c| c.is_control() && !"\n\t".contains(*c));
        assert_eq!(obeyed, None, "{arguments:?}: {said}");
    }
    let mut command = project.command();
    let said = on_terminal(command.args(["show", "red", "--dir", "odd"]), 120);
    assert_same("show", "Body \\u{1b}[2Jcleared\n", &said);
}

#[test]
fn a_binary_file_is_not_poured_onto_a_terminal() {
    let project = office();
    let said = on_terminal(
        project
            .command()
            .env("NO_COLOR", "1")
            .args(["show", "git", "--dir", "team"]),
        80,
    );
    assert_same("a text", "# Git\n\nWrite the message first.\n", &said);
    let said = on_terminal(
        project
            .command()
            .env("NO_COLOR", "1")
            .args(["show", "docs/pdf", "--file", "logo.png", "--dir", "team"]),
        80,
    );
    assert_same(
        "an image",
        "error: `logo.png` is image/png, 10 bytes, which no terminal can show\nhelp: redirect it into a file: `> logo.png`\n",
        &said,
    );
}

#[test]
fn a_bundle_is_not_poured_onto_a_terminal() {
    let project = office();
    let mut command = project.command();
    command.env("NO_COLOR", "1");
    let (said, code) = typing(command.args(["compile", "team", "-o", "-"]), 80, "");
    assert_same(
        "compile -o -",
        "error: a bundle is not for a terminal\nhelp: redirect it, such as `> skills.skb`, or name a file\n",
        &said.replace("^D\u{8}\u{8}", ""),
    );
    assert_eq!(code, Some(2));
}

/// A person is asked again until the answer fits, and can leave.
#[test]
fn a_new_skill_asks_a_person_for_what_is_missing() {
    let project = office();
    let run = |arguments: &[&str], lines: &str| {
        let mut command = project.command();
        command.env("NO_COLOR", "1").arg("new").args(arguments);
        typing(&mut command, 100, lines)
    };
    let (said, code) = run(
        &[],
        "PDF Forms\npdf-forms\n\n  Fills in forms: all of them  \n",
    );
    assert_eq!(code, Some(0), "{said}");
    let asked = |question: &str| said.matches(question).count();
    let expected = [2, 2, 1, 1];
    let found = [
        asked("Name, such as pdf-forms: "),
        asked("Description: "),
        asked("try `pdf-forms`"),
        asked("error: the description is empty"),
    ];
    assert_eq!(found, expected, "{said}");
    let text = std::fs::read_to_string(project.path("pdf-forms/SKILL.md")).expect("made");
    assert!(
        text.contains("name: pdf-forms\ndescription: \"Fills in forms: all of them\"\n"),
        "{text}"
    );
    for (arguments, lines, error) in [
        (&[][..], "", "error: the skill has no name\n"),
        (&[], "git\n", "error: the skill has no description\n"),
        // What was given is not asked for, and not corrected by asking.
        (&["Git"], "git\nIt\n", "error: `Git` is not a name"),
        (
            &["--json"],
            "git\nIt\n",
            "\"message\": \"the skill has no name\"",
        ),
        (
            &[],
            "pdf-forms\n",
            "error: pdf-forms exists already: a directory\n",
        ),
    ] {
        let (said, code) = run(arguments, lines);
        assert!(said.contains(error), "{arguments:?}: {said}");
        assert_eq!(code, Some(2), "{arguments:?}: {said}");
        assert!(!project.path("git").exists(), "{arguments:?}");
    }
}

#[test]
fn a_server_started_by_hand_explains_itself() {
    let project = office();
    let said = on_terminal(
        project.command().args(["serve", "--bundle", "team.skb"]),
        100,
    );
    let file = project.path("team.skb").display().to_string();
    let expected = format!(
        "\
skillbundle {version} serves 2 skills (folder) from {file}
It speaks the Model Context Protocol on stdin and stdout; an agent host starts it. Ctrl-D ends it.
Try in another terminal:
  skillbundle list --bundle {file}
  claude mcp add skills -- skillbundle serve --bundle {file}
",
        version = env!("CARGO_PKG_VERSION"),
    );
    assert_same("serve --bundle", &expected, &said);

    project.skill(".agent/skills/local", "local", "Of this project");
    let said = on_terminal(project.command().arg("serve"), 100);
    assert!(
        said.contains(" serves 1 skill (folder) from ./.agent/skills, this binary\n"),
        "{said}"
    );
}

/// Tables and bars fit, and nothing that an agent wrote is obeyed.
#[test]
#[cfg(feature = "sqlite")]
fn statistics_fit_the_terminal() {
    let project = office();
    crate::stats::write_week(&project.path("week.db"));
    for (locale, columns, bar) in [
        ("C.UTF-8", 100, Some("  ████████████████████")),
        ("C", 100, Some("  ####################")),
        ("C.UTF-8", 76, Some("  █████████")),
        ("C.UTF-8", 66, None),
    ] {
        let mut command = project.command();
        command.env("LANG", locale).env("NO_COLOR", "1");
        command.args(["stats", "team", "--journal", "week.db"]);
        let said = on_terminal(&mut command, columns);
        let widest = said.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(columns.into()), "{columns}:\n{said}");
        let most_used = said
            .lines()
            .find(|it| it.starts_with("docs/pdf"))
            .expect("a row");
        match bar {
            Some(bar) => assert!(most_used.ends_with(bar), "{columns}: {most_used}"),
            None => assert!(most_used.ends_with("2026-01-12"), "{columns}: {most_used}"),
        }
        let obeyed = |c: &char| c.is_control() && *c != '\n';
        assert_eq!(said.chars().find(obeyed), None, "{said}");
    }
    let mut command = project.command();
    let coloured = command.args(["stats", "team", "--journal", "week.db"]);
    assert!(on_terminal(coloured, 80).contains("\u{1b}[1mMost used\u{1b}[0m"));
}
