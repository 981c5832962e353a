//! Rules about the room that skills take: in the context of a model, and in the listings of hosts.

use memchr::memchr_iter;
use skillbundle_format::hosts::LISTED_SKILLS;
use skillbundle_format::{Audience, Dialect};

use crate::diagnostic::{Code, Diagnostic};
use crate::draft::Draft;
use crate::source::Tree;

/// What the Agent Skills specification advises for a `SKILL.md` and its body.
const LINES: usize = 500;
const TOKENS: usize = 5000;

/// Characters of a token in English text, about. In Chinese, Japanese and Korean each is about one.
const TOKEN: usize = 4;

/// The fewest bytes that count as a token: a Chinese character.
const LEAST_TOKEN: usize = 3;

/// Claude Code gives the listing of skills 1 % of a context of 200,000 tokens, and at most this many
/// characters of one description.
const LISTING_TOKENS: usize = 2000;
const LISTED_CHARS: usize = 1536;

/// Checks the length of one skill's text.
pub(super) fn check(draft: &Draft, out: &mut Vec<Diagnostic>) {
    let entry = &draft.entry;
    let Ok(text) = str::from_utf8(&entry.source) else {
        return;
    };
    let ends = memchr_iter(b'\n', text.as_bytes()).count();
    let lines = ends + usize::from(!text.is_empty() && !text.ends_with('\n'));
    let body = text.get(entry.body.clone()).unwrap_or_default();
    if entry.dialect != Dialect::Folder {
        return;
    }
    let message = if lines > LINES {
        format!("the file has {lines} lines; {LINES} are advised")
    } else if body.len() / LEAST_TOKEN <= TOKENS {
        return;
    } else {
        let tokens = tokens(body);
        if tokens <= TOKENS {
            return;
        }
        format!("the text has about {tokens} tokens; {TOKENS} are advised")
    };
    let help = "move details to files in `references/`, and say when to read each";
    let diagnostic = Diagnostic::new(Code::LongText, draft.shown.as_str(), message);
    out.push(diagnostic.help(help));
}

/// Checks what a host lists of all skills together.
pub(super) fn check_all(tree: &Tree, drafts: &[Draft], out: &mut Vec<Diagnostic>) {
    let Some(root) = tree.roots.first() else {
        return;
    };
    let listed = drafts.iter().map(|it| &it.entry);
    let listed = listed.filter(|it| !it.shadowed && it.audience == Audience::Everyone);
    let (mut count, mut text) = (0, String::new());
    for skill in listed {
        count += 1;
        text += &skill.name;
        text.extend(skill.description.chars().take(LISTED_CHARS));
    }
    let report = |code, message: String| Diagnostic::new(code, root.shown(""), message);
    if count > LISTED_SKILLS {
        let message =
            format!("{count} skills are listed; Claude Code takes {LISTED_SKILLS} of a server");
        let help =
            "serve them from several servers, or let agents search: the tools find every skill";
        out.push(report(Code::ManySkills, message).help(help));
    }
    let tokens = tokens(&text);
    if tokens > LISTING_TOKENS {
        let message = format!(
            "the names and descriptions have about {tokens} tokens; Claude Code lists {LISTING_TOKENS}"
        );
        let help = "install fewer skills at once, shorten descriptions, or let agents search";
        out.push(report(Code::LongListing, message).help(help));
    }
}

/// The tokens of a text, about.
fn tokens(text: &str) -> usize {
    let is_wide = |it: &char| {
        matches!(it, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}')
    };
    let all = text.chars().count();
    // Most texts have none, and ASCII need not be looked at.
    if all == text.len() {
        return all / TOKEN;
    }
    let wide = text.chars().filter(is_wide).count();
    wide + (all - wide) / TOKEN
}
