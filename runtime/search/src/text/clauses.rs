//! Splits a description into what the skill is for and what it is not for, and finds the phrases in
//! quotation marks, which are mostly examples of requests.

use super::lower_char;
use super::stop_words::is_unspaced;

/// A part of a description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run<'t> {
    /// Its text.
    pub(crate) text: &'t str,
    /// Whether it says what the skill is not for.
    pub(crate) is_negative: bool,
}

/// What a cue of [`CUES`] excludes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// The rest of the sentence.
    Rest,
    /// The rest of the sentence, if the sentence begins with the cue.
    Start,
    /// The whole sentence: the negation comes last.
    Whole,
    /// The whole sentence, if it ends with the cue.
    End,
}

use Scope::{End, Rest, Start, Whole};

/// Words that say what a skill is not for, in lower case, and what they exclude.
#[rustfmt::skip]
const CUES: &[(&str, Scope)] = &[
    ("avoid", Start), ("do not", Start), ("don't", Start), ("instead of", Start),
    ("never", Start), ("should not", Start), ("skip", Start), ("except", Rest),
    ("excluding", Rest), ("avoid for", Rest), ("avoid using", Rest), ("avoid when", Rest),
    ("do not activate", Rest), ("do not apply", Rest), ("do not invoke", Rest),
    ("do not trigger", Rest), ("do not use", Rest), ("don't activate", Rest),
    ("don't apply", Rest), ("don't invoke", Rest), ("don't trigger", Rest), ("don't use", Rest),
    ("never for", Rest), ("never use", Rest), ("never when", Rest), ("not applicable", Rest),
    ("not for", Rest), ("not if", Rest), ("not intended", Rest), ("not meant", Rest),
    ("not suitable", Rest), ("not suited", Rest), ("not to be used", Rest), ("not when", Rest),
    ("but not", Rest), ("other than", Rest), ("rather than for", Rest), ("does not cover", Rest),
    ("does not handle", Rest), ("does not support", Rest), ("doesn't cover", Rest),
    ("doesn't handle", Rest), ("doesn't support", Rest), ("cannot be used", Rest),
    ("must not be used", Rest), ("should not be used", Rest), ("shouldn't be used", Rest),
    ("instead use", Whole), ("instead, use", Whole), ("out of scope", Whole), ("instead", End),
    // French.
    ("ne convient pas", Rest), ("ne couvre pas", Rest), ("ne pas", Rest), ("ne sert pas", Rest),
    ("ne traite pas", Rest), ("n'utilise pas", Rest), ("n'utilisez pas", Rest),
    ("pas pour", Rest), ("pas adapté", Rest), ("jamais pour", Rest), ("jamais", Start),
    ("sauf", Rest), ("hormis", Rest), ("excepté", Rest), ("à l'exception", Rest),
    ("à l'exclusion", Rest), ("éviter", Start), ("évitez", Start), ("évite", Start),
    ("au lieu de", Start), ("utilise plutôt", Whole), ("utilisez plutôt", Whole),
    ("utiliser plutôt", Whole),
    // Chinese.
    ("不适用", Rest), ("不適用", Rest), ("不适合", Rest), ("不適合", Rest), ("不用于", Rest),
    ("不用於", Rest), ("不用来", Rest), ("不要用", Rest), ("不要使用", Rest), ("不要在", Rest),
    ("不能用", Rest), ("不可用于", Rest), ("不可用於", Rest), ("不得用", Rest), ("不应用", Rest),
    ("不是用", Rest), ("不支持", Rest), ("不支援", Rest), ("不包括", Rest), ("不包含", Rest),
    ("不处理", Rest), ("不處理", Rest), ("不负责", Rest), ("不負責", Rest), ("不涉及", Rest),
    ("请勿", Rest), ("請勿", Rest), ("切勿", Rest), ("勿用", Rest), ("避免用", Rest),
    ("避免在", Rest), ("并非", Rest), ("而非", Rest), ("而不是", Rest), ("除外", Whole),
    // Japanese.
    ("には使わ", Whole), ("に使わない", Whole), ("使わないで", Whole), ("使いません", Whole),
    ("使用しない", Whole), ("使用しません", Whole), ("対象外", Whole), ("を除く", Whole),
    ("用ではあ", Whole), ("対応しません", Whole), ("対応していません", Whole), ("扱いません", Whole),
    ("扱わない", Whole),
];

/// Words before a cue that show that it tells what the skill does: `while excluding noise`.
const DOES: &[&str] = &["by ", "while "];

/// Words that end what a cue excludes, each with the space before it.
const ENDS: &[&str] = &[" but ", " mais "];

/// A sentence that begins with one of these and sends the reader to another skill is negative.
const REDIRECTED: &[&str] = &[
    "for", "if", "prefer", "see", "to", "try", "use", "utilise", "utilisez", "voir", "when",
];

/// Words that send the reader to the skill that is named after them.
const REDIRECTS: &[&str] = &["prefer", "see", "try", "use", "utilise", "utilisez", "voir"];

/// Pairs of opening and closing quotation marks.
const QUOTES: &[(char, char)] = &[
    ('"', '"'),
    ('“', '”'),
    ('`', '`'),
    ('\'', '\''),
    ('«', '»'),
    ('「', '」'),
];

/// The maximum length of a quotation, in characters. In a longer one, the opening mark is probably
/// a stray one.
const LONGEST_QUOTE: usize = 80;

/// A sentence of which one part in so many is quoted, or more, says no more than its quotations.
const MOST_QUOTED: usize = 3;

/// The parts of a description, in order: the longest stretches that say the same, what the skill is
/// for or what it is not for. `is_other` returns whether a name is that of another skill.
pub(crate) fn runs<'t>(text: &'t str, is_other: impl Fn(&str) -> bool) -> Vec<Run<'t>> {
    let mut runs: Vec<Run<'t>> = Vec::new();
    let mut end = 0;
    let mut push = |until: usize, is_negative: bool| {
        let before = runs.last().filter(|run| run.is_negative == is_negative);
        let start = match before {
            Some(run) => end - run.text.len(),
            None => end,
        };
        if until > end {
            if before.is_some() {
                runs.pop();
            }
            let text = &text[start..until];
            runs.push(Run { text, is_negative });
            end = until;
        }
    };
    let (mut start, mut in_list) = (0, false);
    for sentence in sentences(text) {
        let until = start + sentence.len();
        let is_item = in_list && is_item(sentence);
        if is_item || redirects(sentence, &is_other) {
            push(until, true);
        } else if let Some((from, to)) = excluded(sentence) {
            push(start + from, false);
            push(start + to, true);
            push(until, false);
            in_list = sentence.contains([':', '：']);
        } else {
            push(until, false);
            in_list = false;
        }
        start = until;
    }
    runs
}

/// What a description says that the skill is for: the phrases that it quotes, then its sentences,
/// without those that say what the skill is not for or that do little but quote. `is_other` returns
/// whether a name is that of another skill.
pub fn sayings(text: &str, is_other: impl Fn(&str) -> bool) -> Vec<&str> {
    let runs = runs(text, is_other);
    let positive = || runs.iter().filter(|run| !run.is_negative);
    let phrases = positive().flat_map(|run| quoted(run.text));
    let says_more = |sentence: &&str| {
        let quoted: usize = quoted(sentence).iter().map(|it| it.len()).sum();
        quoted * MOST_QUOTED < sentence.len()
    };
    let sentences = positive().flat_map(|run| sentences(run.text).filter(says_more));
    let sayings = phrases.chain(sentences).map(str::trim);
    sayings.filter(|it| !it.is_empty()).collect()
}

/// Splits a text after line ends, before dashes between spaces, and after punctuation that ends a
/// sentence. The parts make up the text.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut chars = rest.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let next = chars.peek().map_or(' ', |(_, next)| *next);
            let is_end = match c {
                '\n' | '。' | '！' | '？' | '；' => true,
                '.' | '!' | '?' | ';' => next.is_whitespace(),
                ' ' => rest[at..].starts_with(" — ") || rest[at..].starts_with(" – "),
                _ => false,
            };
            if is_end {
                let (sentence, tail) = rest.split_at(at + c.len_utf8());
                rest = tail;
                return Some(sentence);
            }
        }
        Some(std::mem::take(&mut rest))
    })
}

/// Whether it is an item of a list.
fn is_item(sentence: &str) -> bool {
    let text = sentence.trim_start();
    let numbered = text.trim_start_matches(|c: char| c == '(' || c.is_ascii_digit());
    text.is_empty()
        || text.starts_with(['-', '*', '•'])
        || (numbered.len() < text.len() && numbered.starts_with([')', '.']))
}

/// The part of a sentence that says what the skill is not for.
fn excluded(sentence: &str) -> Option<(usize, usize)> {
    let begin = sentence.len() - sentence.trim_start().len();
    let content = sentence
        .trim_end_matches(|c: char| !c.is_alphanumeric())
        .len();
    let quoted = quoted(sentence);
    let (mut before, mut first) = ('\0', None);
    for (at, c) in sentence.char_indices() {
        let is_start = !before.is_alphanumeric() || is_unspaced(c);
        before = c;
        let does = |words: &&str| sentence[..at].ends_with(*words);
        if !is_start || is_inside(&quoted, &sentence[at..]) || DOES.iter().any(does) {
            continue;
        }
        // The first letter rules most cues out.
        let initial = lower_char(c).next();
        let begins = |cue: &&(&str, Scope)| cue.0.chars().next() == initial;
        for (cue, scope) in CUES.iter().filter(begins) {
            let Some(length) = spelled(&sentence[at..], cue) else {
                continue;
            };
            match scope {
                Whole => return Some((0, sentence.len())),
                End if at + length == content => return Some((0, sentence.len())),
                Rest => first = first.or(Some(at)),
                Start if at == begin => first = first.or(Some(at)),
                Start | End => {}
            }
        }
    }
    first.map(|from| (from, from + reach(&sentence[from..])))
}

/// Whether a text begins inside one of the phrases, which are parts of the same text.
pub(crate) fn is_inside(phrases: &[&str], text: &str) -> bool {
    let at = text.as_ptr();
    let mut phrases = phrases.iter();
    phrases.any(|phrase| phrase.as_bytes().as_ptr_range().contains(&at))
}

/// How much of the text its cue excludes: up to an [end](ENDS), or the parenthesis that the text is
/// in.
fn reach(text: &str) -> usize {
    let mut open = 0;
    // Not at the start, where `but not` is a cue itself.
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '(' | '（' => open += 1,
            ')' | '）' if open == 0 => return at,
            ')' | '）' => open -= 1,
            ' ' if ENDS.iter().any(|end| spelled(&text[at..], end).is_some()) => {
                let is_cue = excluded(&text[at + 1..]).is_some_and(|(from, _)| from == 0);
                if !is_cue {
                    return at;
                }
            }
            _ => {}
        }
    }
    text.len()
}

/// The length of `cue` at the start of the text, in any case and with any apostrophe, as whole words.
fn spelled(text: &str, cue: &str) -> Option<usize> {
    let mut rest = text.chars();
    for expected in cue.chars() {
        let found = rest.next()?;
        let found = if found == '’' { '\'' } else { found };
        let is_same = if found.is_ascii() {
            found.to_ascii_lowercase() == expected
        } else {
            lower_char(found).eq([expected])
        };
        if !is_same {
            return None;
        }
    }
    let rest = rest.as_str();
    let ends = |c: char| !c.is_alphanumeric() || is_unspaced(c);
    let is_whole = cue.ends_with(' ') || rest.chars().next().is_none_or(ends);
    is_whole.then_some(text.len() - rest.len())
}

/// Whether a sentence sends the reader to another skill: `for CSV files, use the csv-export skill`.
fn redirects(sentence: &str, is_other: impl Fn(&str) -> bool) -> bool {
    let mut words = sentence.split_whitespace().peekable();
    let has = |table: &[&str], word: &str| table.iter().any(|it| it.eq_ignore_ascii_case(word));
    if !words.peek().is_some_and(|first| has(REDIRECTED, first)) {
        return false;
    }
    while let Some(word) = words.next() {
        if has(REDIRECTS, word) {
            words.next_if(|word| matches!(*word, "the" | "le" | "la"));
            let name = words.peek().map_or("", |word| bare(word));
            let is_skill = words
                .clone()
                .nth(1)
                .is_some_and(|word| bare(word) == "skill");
            if (name.contains('-') || is_skill) && is_other(name) {
                return true;
            }
        }
    }
    false
}

/// A word without the marks around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

/// The phrases in quotation marks, without the marks.
pub(crate) fn quoted(text: &str) -> Vec<&str> {
    let mut phrases = Vec::new();
    let mut rest = text;
    let mut before = '\0';
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        // An apostrophe inside a word does not open a quotation.
        let opens = c != '\'' || !before.is_alphanumeric();
        before = c;
        let mark = QUOTES.iter().filter(|(mark, _)| opens && *mark == c);
        let found = mark.map(|(_, close)| (close, phrase(rest, *close))).next();
        if let Some((close, Some(phrase))) = found {
            phrases.push(phrase);
            rest = &rest[phrase.len() + close.len_utf8()..];
        }
    }
    phrases
}

/// The text up to the closing mark, if the mark is near and on the same line.
fn phrase(text: &str, close: char) -> Option<&str> {
    let mut chars = text.char_indices().take(LONGEST_QUOTE + 1);
    let end = chars.find_map(|(at, c)| match c {
        '\n' => Some(None),
        c if c == close => {
            let inside_word = close == '\'' && text[at + 1..].starts_with(char::is_alphanumeric);
            (!inside_word).then_some(Some(at))
        }
        _ => None,
    })??;
    (text[..end].chars().count() >= 2).then_some(&text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Descriptions of the skill `own`; what it is not for is between braces.
    const DESCRIPTIONS: &[&str] = &[
        "",
        "Use for images",
        "Fill forms, v1.2 too. Merge files! Or split — by page",
        "Nevertheless it works. Skipping tests is fine: what is not formatted. Avoidance of traps",
        "Fills forms. {Do not use for images.} Signs them",
        "Fills forms. {NOT for spreadsheets}",
        "Fills forms; {don’t use it in CI}",
        "This is {not for beginners}",
        "Fills forms {but not tables, but not for long} but fast",
        "Fills forms ({not for merging}) and signs them",
        "Fills forms — {never for production }— and signs them",
        "Use for “works, but not always” and \"do not use this\"",
        "Everything {except PDF (and Word) files}",
        "Lists files while excluding noise. All files, {excluding images}",
        "{Avoid for:\n- images\n- tables\n\n}Use it for text",
        "{Do not use for: (1) images.}{ (2) tables.} Signs forms.",
        "Fills forms.{ For tables, use another tool instead.}{ Instead, use a camera.}",
        "Use this instead of paper",
        "Fills forms.{ For tables use the table-maker skill.}{ See `table-maker` for tables.}",
        "Use own-skill for forms. Use docker-compose to start. Works with table-maker output",
        "Remplit des formulaires, {pas pour les tableaux}",
        "Remplit des formulaires. {N’utilisez pas pour les tableaux.} {Évitez les images}",
        "Tous les fichiers {sauf les images. Utilisez plutôt un tableur.}",
        "填写表单，{不适用于表格。}也能签名",
        "润色中文文章{而非翻译；}{请勿用于合同。}",
        "帳票を作る。{画像には使わないでください。}",
    ];

    #[test]
    fn negative_parts_of_descriptions_are_found() {
        for marked in DESCRIPTIONS {
            let text = marked.replace(['{', '}'], "");
            let found = runs(&text, |name| name == "table-maker");
            let shown: String = found.iter().map(shown).collect();
            assert_eq!(shown, marked.replace("}{", ""), "{text:?}");
        }
    }

    #[test]
    fn what_a_description_says_is_phrases_and_then_sentences() {
        let text = "Fills \"PDF\" forms and flattens them. Use for \"sign here\". Do not use for \
            \"tables\".\n\nSigns them";
        let expected = [
            "PDF",
            "sign here",
            "Fills \"PDF\" forms and flattens them.",
            "Signs them",
        ];
        assert_eq!(sayings(text, |_| false), expected);
    }

    fn shown(run: &Run<'_>) -> String {
        if run.is_negative {
            format!("{{{}}}", run.text)
        } else {
            run.text.to_owned()
        }
    }

    #[test]
    fn phrases_are_quoted_in_many_ways() {
        let cases: &[(&str, &[&str])] = &[
            (
                "Use when asked to \"merge files\" or “split them”",
                &["merge files", "split them"],
            ),
            (
                "`git rebase`, 'fix the build' and users' files",
                &["git rebase", "fix the build"],
            ),
            ("don't say 'don't panic'", &["don't panic"]),
            ("a \"x\" b", &[]),
            ("open \" only", &[]),
            ("\"over\ntwo lines\"", &[]),
            ("「合并文件」 «fusionner»", &["合并文件", "fusionner"]),
        ];
        for (text, expected) in cases {
            assert_eq!(quoted(text), *expected, "{text:?}");
        }
        assert!(quoted(&format!("\"{}\"", "é".repeat(81))).is_empty());
        assert_eq!(quoted(&format!("\"{}\"", "é".repeat(80))).len(), 1);
    }
}
