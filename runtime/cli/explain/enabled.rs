//! Runs `skillbundle explain`.

use anyhow::Result;
use skillbundle_compiler::Code;
use skillbundle_search::suggest;

use super::Args;
use crate::Exit;
use crate::cli::json::{self, Envelope};
use crate::cli::output::{Output, with_help};
use crate::cli::table::Table;

/// Prints one rule or all.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let codes = match &args.code {
        Some(name) => vec![find(name)?],
        None => Code::ALL.to_vec(),
    };
    let mut out = Output::new();
    if args.json {
        let rules = codes.into_iter().map(json::Rule::new).collect();
        out.json(&Envelope::new("explain", json::Explanation { rules }))?;
    } else if args.code.is_some() {
        for code in codes {
            out.text(&code.explain())?;
        }
    } else {
        let mut table = Table::new(&["RULE", "SEVERITY", "MEANING"]);
        for code in codes {
            table.row([code.as_str(), code.severity().as_str(), code.meaning()]);
        }
        out.table(&table)?;
    }
    out.finish()?;
    Ok(Exit::Success)
}

fn find(name: &str) -> Result<Code> {
    // As a finding shows it, with its brackets, too.
    let word = name.trim_matches(['[', ']']);
    let code = Code::ALL.iter().find(|it| it.as_str() == word);
    code.copied().ok_or_else(|| {
        let names = Code::ALL.iter().map(|it| it.as_str());
        let help = match suggest(word, names) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "`skillbundle explain` lists all rules".to_owned(),
        };
        with_help(&format!("no rule is called `{word}`"), &help)
    })
}
