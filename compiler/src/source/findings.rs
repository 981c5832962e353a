//! Says what the disk refused. How much that matters depends on where it is:
//! an error where it costs a skill something, less where no skill is known.

use super::{Fault, LinkFault, Tree, TreeRoot, Trouble};
use crate::diagnostic::{Code, Diagnostic, Severity};

/// What a place has to do with skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Concern {
    /// It would be a skill's own file.
    Skill,
    /// It belongs to a skill.
    File,
    /// No skill is known there.
    None,
}

/// A finding for every trouble. `concern` says what a path of a root has to do
/// with skills; `optional` roots need not exist.
pub(crate) fn findings(
    tree: &Tree,
    optional: bool,
    concern: impl Fn(usize, &str) -> Concern,
) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    for (index, root) in tree.roots.iter().enumerate() {
        for trouble in &root.troubles {
            let finding = finding(root, trouble, concern(index, &trouble.path));
            let expected = optional && trouble.fault == Fault::Missing;
            out.push(if expected {
                finding.severity(Severity::Info)
            } else {
                finding
            });
        }
    }
    out
}

fn finding(root: &TreeRoot, trouble: &Trouble, concern: Concern) -> Diagnostic {
    let severity = severity(trouble, concern);
    let fault = &trouble.fault;
    let cost = match (concern, trouble.is_directory) {
        _ if trouble.path.is_empty() => "nothing of this root is served",
        (Concern::Skill, _) => "this skill is not served",
        (_, true) => "this directory is not searched",
        (_, false) => "this file is left out",
    };
    let message = match fault {
        Fault::Ignored(true) => {
            format!("a skill lies in this directory and is not served: {fault}")
        }
        Fault::Missing => format!("{fault}"),
        _ => format!("{cost}: {fault}"),
    };
    let finding = Diagnostic::new(code(fault), root.shown(&trouble.path), message);
    let finding = match help(fault) {
        Some(help) => finding.help(help),
        None => finding,
    };
    finding.severity(severity)
}

fn code(fault: &Fault) -> Code {
    match fault {
        Fault::Missing => Code::RootMissing,
        Fault::Unreadable(_) => Code::Unreadable,
        Fault::Changed => Code::ChangedWhileRead,
        Fault::NotAFile(_) => Code::NotAFile,
        Fault::Name(_) => Code::UnusableName,
        Fault::TooLarge(..) | Fault::TooMuch(_) => Code::FileTooLarge,
        Fault::TooDeep(_) => Code::DirectoryTooDeep,
        Fault::TooMany(_) => Code::TooManyFiles,
        Fault::Ignored(_) => Code::IgnoredDirectory,
        Fault::Link(_, LinkFault::Broken) => Code::BrokenLink,
        Fault::Link(_, LinkFault::Cycle) => Code::LinkCycle,
        Fault::Link(_, LinkFault::Escapes | LinkFault::Hidden) => Code::LinkEscapes,
    }
}

/// An error where a skill or one of its files is lost, a warning where a
/// directory could have held one, and else worth knowing at most.
fn severity(trouble: &Trouble, concern: Concern) -> Severity {
    let default = code(&trouble.fault).severity();
    match (&trouble.fault, concern) {
        // What is written for a skill and is not a skill's.
        (Fault::Ignored(true), _) => Severity::Warning,
        (Fault::Ignored(false) | Fault::Missing | Fault::TooMany(_), _) => default,
        _ if trouble.path.is_empty() => default,
        (_, Concern::Skill) => Severity::Error,
        // A link that leads nowhere may have been meant as a skill.
        (Fault::Link(_, LinkFault::Broken | LinkFault::Cycle), _)
        | (Fault::Link(..) | Fault::TooDeep(_), Concern::File) => default,
        (Fault::Link(..), Concern::None) if trouble.is_directory => default,
        (_, Concern::File) => Severity::Error,
        (_, Concern::None) if trouble.is_directory => Severity::Warning,
        (_, Concern::None) => Severity::Info,
    }
}

fn help(fault: &Fault) -> Option<&'static str> {
    Some(match fault {
        Fault::Missing => "make the directory, or mend the path",
        Fault::Unreadable(_) => "give the user that compiles the right to read it",
        Fault::Changed => "compile again when nothing writes to it",
        Fault::NotAFile(_) => "put a file in its place",
        Fault::Name(_) => "rename it",
        Fault::TooLarge(..) | Fault::TooMuch(_) => {
            "keep large data elsewhere and let the skill say where"
        }
        Fault::TooDeep(_) => "name a directory further down as a root of its own",
        Fault::TooMany(_) => "name the directory that holds the skills, not one far above it",
        Fault::Ignored(true) => "rename the directory, or name it as a root of its own",
        Fault::Ignored(false) => return None,
        Fault::Link(_, LinkFault::Broken) => "mend the link, or remove it",
        Fault::Link(_, LinkFault::Cycle) => "remove the link",
        Fault::Link(_, LinkFault::Escapes) => {
            "put a copy in place of the link, or name the target's directory as a root"
        }
        Fault::Link(_, LinkFault::Hidden) => "put a copy in place of the link",
    })
}
