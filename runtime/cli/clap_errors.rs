//! Command lines that clap does not accept, as one `error:` and one `help:`
//! line, and help and version, which clap reports as errors as well.

use anyhow::{Result, anyhow};
use clap::error::ErrorKind;

use super::json::{BuildInfo, Envelope};
use super::output::{Output, with_help};
use crate::Exit;

/// Prints help or the version; returns every other error.
pub(crate) fn answer(error: &clap::Error, as_json: bool) -> Result<Exit> {
    match error.kind() {
        ErrorKind::DisplayVersion if as_json => {
            let mut out = Output::new();
            out.json(&Envelope::of(None, BuildInfo::new()?))?;
            out.finish()?;
            Ok(Exit::Success)
        }
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let mut out = Output::new();
            let page = error.render();
            let page = if out.style().color {
                page.ansi().to_string()
            } else {
                page.to_string()
            };
            out.bytes(page.as_bytes())?;
            out.finish()?;
            Ok(Exit::Success)
        }
        ErrorKind::MissingSubcommand => Err(with_help(
            "no command was given",
            "`skillbundle help` lists the commands",
        )),
        _ => {
            let (message, help) = message_and_help(&error.render().to_string());
            Err(if help.is_empty() {
                anyhow!(message)
            } else {
                with_help(&message, &help)
            })
        }
    }
}

/// clap writes paragraphs: the error, tips, the usage, where to find help.
fn message_and_help(page: &str) -> (String, String) {
    let mut message = String::new();
    let mut help = Vec::new();
    for paragraph in page.split("\n\n") {
        let words = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some(text) = words.strip_prefix("error: ") {
            text.clone_into(&mut message);
        } else if let Some(tip) = words.strip_prefix("tip: ") {
            help.push(tip.to_owned());
        } else if let Some(usage) = words.strip_prefix("Usage: ") {
            help.push(format!("usage: {usage}"));
        }
    }
    (message, help.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_becomes_a_message_and_its_help() {
        let page = "error: unexpected argument '--jsn' found\n\n  tip: a similar argument exists: '--json'\n\n\
                    Usage: skillbundle list [OPTIONS]\n\nFor more information, try '--help'.\n";
        let (message, help) = message_and_help(page);
        assert_eq!(message, "unexpected argument '--jsn' found");
        assert_eq!(
            help,
            "a similar argument exists: '--json'; usage: skillbundle list [OPTIONS]"
        );
    }
}
