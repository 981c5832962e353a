//! Comments in Markdown that address the agent: an agent reads them, and people who read the
//! rendered page do not. A comment about the page itself is nothing of the kind.

use std::ops::Range;

use super::{Findings, MOST_READ, Text, at_most};
use crate::diagnostic::Code;
use crate::rules::blocks;

/// How a comment begins.
pub(super) const OPEN: &str = "<!--";

/// How definitions of links begin that have no link and serve as comments: `[//]: # (text)`.
pub(super) const DEFINITIONS: &[&str] = &["[//]:", "[comment]:"];

const CLOSE: &str = "-->";

/// Phrases that only a text for an agent has.
const PHRASES: &[&str] = &[
    "ai agent",
    "ai agents",
    "ai assistant",
    "as an ai",
    "disregard",
    "do not disclose",
    "do not inform",
    "do not mention",
    "do not reveal",
    "do not show",
    "do not tell",
    "don't disclose",
    "don't inform",
    "don't mention",
    "don't reveal",
    "don't show",
    "don't tell",
    "execute the following",
    "ignore all",
    "ignore any",
    "ignore previous",
    "ignore the above",
    "ignore your",
    "instructions for agents",
    "never mention",
    "never reveal",
    "never tell",
    "run the following",
    "system prompt",
    "that you generate",
    "the agent must",
    "the agent should",
    "the assistant must",
    "the assistant should",
    "the llm",
    "the model must",
    "the model should",
    "without asking",
    "without telling",
    "you are an",
    "you have to",
    "you must",
    "you need to",
    "you should",
];

/// First words of a sentence that tells somebody what to do while a skill is used.
const IMPERATIVES: &[&str] = &[
    "always", "answer", "call", "delete", "download", "execute", "fetch", "ignore", "never",
    "open", "post", "pretend", "read", "remember", "reply", "respond", "run", "send", "upload",
    "use",
];

/// What may precede such a sentence, with a colon.
const LABELS: &[&str] = &[
    "agent",
    "ai",
    "assistant",
    "important",
    "instruction",
    "instructions",
    "prompt",
    "system",
];

/// Fewer words are a label.
const LEAST_WORDS: usize = 6;

/// What comments of tools and for editors of the page begin with.
const OTHERS: &[&str] = &[
    "copyright",
    "cspell",
    "eslint",
    "fixme",
    "licensed",
    "markdownlint",
    "mdlint",
    "prettier",
    "skillbundle",
    "spdx",
    "textlint",
    "todo",
    "vale",
];

/// Reads the comments of a text.
pub(super) struct Comments<'a> {
    file: &'a Text<'a>,
    /// The fenced code of the text, once a comment was found.
    code: Option<Vec<Range<usize>>>,
    /// The end of the last comment.
    done: usize,
    pub(super) findings: Findings<'a>,
}

impl<'a> Comments<'a> {
    pub(super) fn new(file: &'a Text<'a>) -> Self {
        let more = "comments address the agent";
        Self {
            file,
            code: None,
            done: 0,
            findings: Findings::new(Code::HiddenInstruction, file.shown, more),
        }
    }

    /// Reads the comment that begins at an offset. Returns how many bytes that took.
    pub(super) fn read(&mut self, at: usize) -> usize {
        let text = self.file.content;
        if !self.file.is_markdown || at < self.done || is_quoted(&text[..at]) {
            return 0;
        }
        let code = self.code.get_or_insert_with(|| {
            let fenced = blocks::fenced(text).into_iter();
            fenced.map(|it| it.content).collect()
        });
        let next = code.partition_point(|it| it.end <= at);
        if code.get(next).is_some_and(|it| it.contains(&at)) {
            return 0;
        }
        let inner = at_most(&text[at + OPEN.len()..], MOST_READ);
        let (inner, close) = match inner.find(CLOSE) {
            Some(length) => (&inner[..length], CLOSE.len()),
            None => (inner, 0),
        };
        self.done = at + OPEN.len() + inner.len() + close;
        self.report(at, inner);
        self.done - at
    }

    /// Reports a comment from here to the end of what was read, if it addresses the agent.
    fn report(&mut self, at: usize, inner: &str) {
        if is_instruction(inner) {
            let message = "this comment addresses the agent, and the rendered page hides it";
            let help = "write it into the text, where people see it, too";
            self.findings
                .add(at..self.done, || message.to_owned(), help);
        }
    }

    /// Reads the rest of the line of such a definition. Returns how many bytes that took.
    pub(super) fn read_definition(&mut self, at: Range<usize>) -> usize {
        let text = self.file.content;
        let begins_line = text[..at.start].is_empty() || text[..at.start].ends_with('\n');
        if !self.file.is_markdown || at.start < self.done || !begins_line {
            return 0;
        }
        let line = at_most(&text[at.end..], MOST_READ);
        let line = line.lines().next().unwrap_or_default();
        self.done = at.end + line.len();
        let inner = line.trim_matches(|it: char| it.is_whitespace() || "#<>()\"'".contains(it));
        self.report(at.start, inner);
        line.len()
    }
}

/// Whether a comment that follows this text is an example in backticks.
fn is_quoted(before: &str) -> bool {
    before.ends_with(['`', '"', '\''])
}

fn is_instruction(comment: &str) -> bool {
    let comment = comment.to_lowercase();
    let words = comment.split_whitespace();
    let is_label = |it: &&str| it.strip_suffix(':').is_some_and(|it| LABELS.contains(&it));
    let words = words.skip_while(is_label).map(|it| it.trim_matches(':'));
    let words: Vec<&str> = words.collect();
    let Some(first) = words.first() else {
        return false;
    };
    if OTHERS.iter().any(|it| first.starts_with(it)) {
        return false;
    }
    let sentence = words.join(" ");
    (words.len() >= LEAST_WORDS && IMPERATIVES.contains(first))
        || PHRASES.iter().any(|it| has_words(&sentence, it))
}

/// Whether a sentence has a phrase between ends of words.
fn has_words(sentence: &str, phrase: &str) -> bool {
    let is_letter = |it: char| it.is_alphanumeric();
    sentence.match_indices(phrase).any(|(at, _)| {
        let (before, after) = (&sentence[..at], &sentence[at + phrase.len()..]);
        !before.ends_with(is_letter) && !after.starts_with(is_letter)
    })
}
