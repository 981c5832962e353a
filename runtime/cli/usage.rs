//! How a command line that cannot be understood is answered: with one line
//! that says what is wrong and what the right form is. Help that was asked
//! for is printed whole.

use anyhow::Result;
use clap::error::ErrorKind;

use super::output::{Output, complain};
use crate::Exit;

/// Prints what clap has to say.
pub(crate) fn answer(error: &clap::Error) -> Result<Exit> {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    ) {
        let mut out = Output::new();
        let page = error.render();
        let page = if out.look().color {
            page.ansi().to_string()
        } else {
            page.to_string()
        };
        out.bytes(page.as_bytes())?;
        out.finish()?;
        return Ok(Exit::Fine);
    }
    complain(&in_one_line(&error.render().to_string()));
    Ok(Exit::CouldNotRun)
}

/// clap answers in paragraphs: the fault, tips, the usage, where to find help.
fn in_one_line(page: &str) -> String {
    let mut line = String::new();
    for paragraph in page.split("\n\n") {
        let words = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some(fault) = words.strip_prefix("error: ") {
            line.push_str(fault);
        } else if let Some(tip) = words.strip_prefix("tip: ") {
            line.extend([" (", tip, ")"]);
        } else if let Some(form) = words.strip_prefix("Usage: ") {
            line.extend(["; usage: ", form]);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_becomes_one_line_that_keeps_fault_tip_and_form() {
        let page = "error: unexpected argument '--jsn' found\n\n  tip: a similar argument exists: '--json'\n\n\
                    Usage: skillbundle list [OPTIONS]\n\nFor more information, try '--help'.\n";
        assert_eq!(
            in_one_line(page),
            "unexpected argument '--jsn' found (a similar argument exists: '--json'); usage: skillbundle list [OPTIONS]"
        );
    }
}
