//! Asks a person at a terminal for what the command line does not say.

use std::io::{self, BufRead, IsTerminal, Write};

use anyhow::Result;

use crate::cli::output;

/// Whether a person can be asked: in a pipe, a question would wait for ever, or eat what is meant for
/// somebody else.
pub(super) fn is_possible() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks until an answer is accepted. `None` if nobody answers.
pub(super) fn ask(question: &str, check: impl Fn(&str) -> Result<()>) -> Result<Option<String>> {
    let mut lines = io::stdin().lock();
    loop {
        write!(io::stderr(), "{question}: ")?;
        io::stderr().flush()?;
        let mut line = String::new();
        if lines.read_line(&mut line)? == 0 {
            output::info("");
            return Ok(None);
        }
        let answer = line.trim();
        match check(answer) {
            Ok(()) => return Ok(Some(answer.to_owned())),
            Err(error) => {
                let (message, help) = output::describe(&error);
                output::error(&message, help);
            }
        }
    }
}
