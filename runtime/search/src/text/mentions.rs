//! Finds the names that a request spells out, and those that it forbids.
//!
//! *Spelled out*: `/name`, `/plugin:name`, `` `name` ``, `name skill`, and words with a hyphen, which
//! are usually names. *Forbidden*: a name directly after a negation, with only words like `use the`
//! between them (`do not use the name skill`, `anything but name`, `sans name`, `不要用 name`), or
//! directly before one (`name is forbidden`, `name を使わないで`). The caller knows the names.

use std::borrow::Cow;
use std::ops::Range;

use super::lower;
use super::stop_words::{is_term_stop_word, is_unspaced};

/// What a request says about names. `T` stands for what has a name.
#[derive(Debug, PartialEq, Eq)]
pub struct Mentions<'r, T> {
    /// Spelled out and not forbidden, without duplicates, in order.
    pub named: Vec<T>,
    /// Forbidden, without duplicates, in order.
    pub forbidden: Vec<T>,
    /// The request without the words that forbid.
    pub text: Cow<'r, str>,
}

/// Words that forbid the name after them, in lower case.
#[rustfmt::skip]
const NEGATIONS: &[&str] = &[
    "cannot", "don't", "dont", "instead of", "mustn't", "neither", "never", "no", "nor", "not",
    "rather than", "shouldn't", "au lieu de", "jamais", "ni", "pas", "plutôt que", "kein", "keine",
    "nicht", "nunca",
];

/// Words that forbid the name after them, unless the clause is negative already: `nothing except
/// name`, `do not skip name`.
#[rustfmt::skip]
const EXCEPTIONS: &[&str] = &[
    "all but", "anything but", "apart from", "avoid", "everything but", "except", "except for",
    "exclude", "excluding", "ignore", "leave out", "leaving out", "other than", "skip", "stop",
    "without", "à part", "autre que", "excepté", "évite", "évitez", "éviter", "hormis", "sans",
    "sauf", "ohne", "sin",
];

/// Words before a negation that make it a suggestion, and words that make an exception the only
/// choice.
const SUGGESTIONS: &[&str] = &["why", "pourquoi", "为什么"];
const NOTHING: &[&str] = &[
    "nobody", "none", "nothing", "only", "rien", "aucun", "aucune",
];

/// Words between a negation and a name.
#[rustfmt::skip]
const FILLERS: &[&str] = &[
    "a", "activate", "again", "an", "any", "apply", "applying", "by", "call", "calling", "choose",
    "choosing", "ever", "for", "from", "help", "invoke", "invoking", "let", "load", "loading", "me",
    "my", "of", "on", "our", "pick", "picking", "please", "rely", "relying", "route", "run",
    "running", "select", "selecting", "skill", "skills", "that", "the", "this", "through", "to",
    "touch", "trigger", "triggering", "try", "trying", "use", "using", "via", "want", "with",
    "your", "à", "appeler", "avec", "compétence", "d", "de", "des", "du", "employer", "l", "la",
    "lancer", "le", "les", "par", "passer", "recours", "un", "une", "utilise", "utiliser",
    "utilisez", "zu", "usar", "der", "die", "das", "den",
];

/// Words that continue a list of forbidden names, and words that may stand before the next name.
const JOINERS: &[&str] = &[
    "&", "and", "et", "ni", "nor", "or", "ou", "和", "或", "与", "以及", "や",
];
const ARTICLES: &[&str] = &["a", "the", "le", "la", "les", "my", "your"];

/// Words after a name that belong to it.
const KINDS: &[&str] = &[
    "compétence",
    "plugin",
    "skill",
    "skills",
    "tool",
    "技能",
    "スキル",
];

/// Words directly after a name that forbid it.
#[rustfmt::skip]
const FORBIDDEN: &[&str] = &[
    "is forbidden", "is not allowed", "is not an option", "is not to be used", "is off limits",
    "isn't allowed", "must not be used", "mustn't be used", "not allowed", "should not be used",
    "shouldn't be used", "excluded", "est interdit", "est exclu", "exclu", "interdit",
];

/// In scripts without spaces: what forbids the name after it, and what forbids the name before it.
#[rustfmt::skip]
const UNSPACED_BEFORE: &[&str] = &[
    "不要使用", "不要调用", "不要用", "不要", "不使用", "不能用", "不许用", "不准用", "不想用",
    "不用", "别使用", "别用", "別用", "请勿使用", "請勿使用", "勿用", "禁止使用", "禁用", "避免使用",
    "而不是", "而不用",
];
#[rustfmt::skip]
const UNSPACED_AFTER: &[&str] = &[
    "を使わ", "は使わ", "を使用しな", "は使用しな", "を使うな", "は使うな", "なしで", "抜きで",
    "以外", "之外", "ではなく", "を除", "を避け", "は禁止", "は不要", "除外",
];

/// Characters between a negation and a name in scripts without spaces: "that", "this", "called".
const UNSPACED_FILLERS: &[char] = &['那', '这', '這', '个', '個', '叫'];

/// Characters that may surround a name without being part of it.
const AROUND: &[char] = &[
    '.', ',', ';', ':', '!', '?', '(', ')', '[', ']', '"', '\'', '“', '”', '*', '`', '。', '，',
    '、', '；', '：', '！', '？', '（', '）', '「', '」', '《', '》', '…',
];

/// Those of [`AROUND`] that end a clause.
const ENDS: &[char] = &[
    '.', ',', ';', ':', '!', '?', ')', '。', '，', '；', '：', '！', '？', '）',
];

/// The maximum number of words in a name that is forbidden, of bytes of one that stands among
/// characters of a script without spaces, and of names after one negation: no request may take time
/// that grows faster than its length.
const LONGEST: usize = 5;
const LONGEST_UNSPACED: usize = 192;
const MOST_LISTED: usize = 16;

/// The words of a request, from the first, in which negations are looked for. People write far
/// fewer; a request may have four million bytes.
const SCANNED: usize = 2000;

/// Longer than every word of the tables, in bytes.
const LONGEST_WORD: usize = 64;

/// Finds the names of a request; `find` returns what has a name.
pub fn mentions<T: Copy + PartialEq>(
    request: &str,
    mut find: impl FnMut(&str) -> Option<T>,
) -> Mentions<'_, T> {
    let words = words(request);
    let mut scan = Scan {
        request,
        words: &words,
        find: &mut find,
        forbidden: Vec::new(),
        spans: Vec::new(),
    };
    scan.run();
    let (forbidden, spans) = (scan.forbidden, scan.spans);
    let text = without(request, spans);
    let mut named = Vec::new();
    let rest = match &text {
        Cow::Borrowed(_) => words,
        Cow::Owned(text) => self::words(text),
    };
    explicit_names(&text, &rest, |name| {
        if let Some(found) = find(name)
            && !named.contains(&found)
            && !forbidden.contains(&found)
        {
            named.push(found);
        }
    });
    Mentions {
        named,
        forbidden,
        text,
    }
}

/// Passes each part of the request that may be a name to `emit`, in order.
fn explicit_names<'a>(request: &'a str, words: &[Word<'a>], mut emit: impl FnMut(&'a str)) {
    let mut parts = request.split('`');
    parts.next();
    // Every second part is between two backticks; the last one may lack its closing backtick.
    while let (Some(inside), Some(_)) = (parts.next(), parts.next()) {
        emit(inside);
    }
    let mut before = "";
    for word in words {
        if let Some(command) = word.text.strip_prefix('/') {
            emit(command);
            // `/plugin:name`, the form in which hosts list the skills of a plug-in.
            if let Some((_, name)) = command.rsplit_once(':') {
                emit(name);
            }
        } else if is_hyphenated(word.text) {
            emit(word.text);
        } else if word.is("skill") && !before.is_empty() {
            emit(before);
        }
        before = word.text;
    }
}

fn is_hyphenated(word: &str) -> bool {
    word.contains('-') && word.trim_matches('-').contains('-')
}

/// The request with a negation in place of each span.
fn without(request: &str, mut spans: Vec<Range<usize>>) -> Cow<'_, str> {
    if spans.is_empty() {
        return request.into();
    }
    spans.sort_unstable_by_key(|span| span.start);
    let (mut text, mut end) = (String::new(), 0);
    for span in spans {
        if span.start >= end {
            text.push_str(&request[end..span.start]);
            text.push_str(" not ");
        }
        end = end.max(span.end);
    }
    text.push_str(&request[end..]);
    text.into()
}

/// A word of a request.
#[derive(Debug, Clone, Copy)]
struct Word<'r> {
    /// Without the characters around it.
    text: &'r str,
    /// Where that begins.
    start: usize,
    /// Whether punctuation after it ends a clause.
    ends_clause: bool,
}

impl Word<'_> {
    fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// Whether it is this lower-case word.
    fn is(&self, word: &str) -> bool {
        if self.text.len() > LONGEST_WORD {
            false
        } else if self.text.is_ascii() {
            self.text.eq_ignore_ascii_case(word)
        } else {
            lower(self.text).replace('’', "'") == word
        }
    }

    fn is_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(word))
    }

    fn is_unspaced(&self) -> bool {
        self.text.starts_with(is_unspaced)
    }
}

/// The words of a request: split at white space and between scripts with spaces and without.
fn words(request: &str) -> Vec<Word<'_>> {
    let mut words: Vec<Word<'_>> = Vec::new();
    for chunk in request.split_whitespace() {
        let mut rest = chunk;
        while let Some(first) = rest.chars().next() {
            let unspaced = is_unspaced(first);
            let changes = |c| is_unspaced(c) != unspaced;
            let end = if rest.is_ascii() {
                None
            } else {
                rest.find(changes)
            };
            let (part, tail) = rest.split_at(end.unwrap_or(rest.len()));
            rest = tail;
            let text = bare(part);
            let start = text.as_ptr().addr() - request.as_ptr().addr();
            let after = &part[(text.as_ptr().addr() - part.as_ptr().addr()) + text.len()..];
            let ends_clause = after.contains(ENDS);
            if !text.is_empty() {
                words.push(Word {
                    text,
                    start,
                    ends_clause,
                });
            } else if let Some(last) = words.last_mut() {
                last.ends_clause |= part.contains(ENDS);
            }
        }
    }
    words
}

/// A word without the characters around it. Usually there are none; checking its two ends is a fast
/// path.
fn bare(word: &str) -> &str {
    match word.as_bytes() {
        [first, .., last] if first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric() => word,
        _ => word.trim_matches(AROUND),
    }
}

/// A search for forbidden names.
struct Scan<'s, 'r, T, F> {
    request: &'r str,
    words: &'s [Word<'r>],
    find: &'s mut F,
    forbidden: Vec<T>,
    /// The words that forbid, with the names.
    spans: Vec<Range<usize>>,
}

impl<T: Copy + PartialEq, F: FnMut(&str) -> Option<T>> Scan<'_, '_, T, F> {
    fn run(&mut self) {
        let mut is_negative = false;
        for at in 0..self.words.len().min(SCANNED) {
            let word = self.words[at];
            if word.is_unspaced() {
                self.unspaced(at);
            } else {
                self.before_name(at, &mut is_negative);
                self.after_name(at);
            }
            is_negative &= !word.ends_clause;
        }
    }

    /// Forbids the names after a negation that begins at this word.
    fn before_name(&mut self, at: usize, is_negative: &mut bool) {
        let negation = self.phrase(at, NEGATIONS);
        let exception = self.phrase(at, EXCEPTIONS).filter(|_| !*is_negative);
        let suggests = || at > 0 && self.words[at - 1].is_any(SUGGESTIONS);
        if let Some(mut next) = negation.or(exception)
            && !suggests()
        {
            while next < self.words.len() && self.words[next].is_any(FILLERS) {
                if self.words[next].ends_clause {
                    break;
                }
                next += 1;
            }
            let is_open = next > at && !self.words[next - 1].ends_clause;
            if is_open && let Some(word) = self.words.get(next) {
                self.names(self.words[at].start, word.start);
            }
        }
        *is_negative |= negation.is_some() || self.words[at].is_any(NOTHING);
    }

    /// Forbids an explicit name that words after it forbid.
    fn after_name(&mut self, at: usize) {
        let word = self.words[at];
        let explicit = word.text.starts_with('/') || is_hyphenated(word.text);
        if !explicit || word.ends_clause {
            return;
        }
        let next = at + 1;
        let next = next + usize::from(self.words.get(next).is_some_and(|it| it.is_any(KINDS)));
        if let Some(end) = self.phrase(next, FORBIDDEN)
            && let Some(found) = self.found(word.text)
        {
            self.forbid(found, word.start..self.words[end - 1].end());
        }
    }

    /// Forbids the names around the negations in a word of a script without spaces.
    fn unspaced(&mut self, at: usize) {
        let word = self.words[at];
        let suggests = SUGGESTIONS.iter().any(|it| word.text.contains(it));
        let before = UNSPACED_BEFORE.iter();
        let before = before.filter_map(|cue| Some((word.text.find(cue)?, cue.len())));
        if let Some((cue, length)) = before.min_by_key(|(cue, length)| (*cue, usize::MAX - length))
            && !suggests
        {
            let end = cue + length;
            let rest = word.text[end..].trim_start_matches(UNSPACED_FILLERS);
            let start = word.end() - rest.len();
            let next = self.words.get(at + 1).filter(|_| !word.ends_clause);
            match next.filter(|_| rest.is_empty()) {
                Some(next) => self.names(word.start + cue, next.start),
                None if !rest.is_empty() => self.names(word.start + cue, start),
                None => {}
            }
        }
        let after = UNSPACED_AFTER.iter();
        if let Some((cue, length)) = after
            .filter_map(|it| Some((word.text.find(it)?, it.len())))
            .min()
        {
            self.names_until(at, word.start + cue, word.start + cue + length);
        }
    }

    /// Forbids the list of names that begins at a byte of the request. `from` is where the words
    /// that forbid begin.
    fn names(&mut self, from: usize, start: usize) {
        let Some((found, mut end)) = self.name_at(start) else {
            return;
        };
        self.forbid(found, from..end);
        // `a, b or c`: the names between commas are forbidden if a joiner follows.
        let mut pending = Vec::new();
        for _ in 1..MOST_LISTED {
            let mut next = self.words.partition_point(|word| word.start < end);
            if self.words.get(next).is_some_and(|word| word.is_any(KINDS)) {
                next += 1;
            }
            let joined = self
                .words
                .get(next)
                .is_some_and(|word| word.is_any(JOINERS));
            next += usize::from(joined);
            if joined
                && self
                    .words
                    .get(next)
                    .is_some_and(|word| word.is_any(ARTICLES))
            {
                next += 1;
            }
            let Some((found, after)) = self.words.get(next).and_then(|it| self.name_at(it.start))
            else {
                return;
            };
            pending.push(found);
            end = after;
            if joined {
                for found in pending.drain(..) {
                    self.forbid(found, from..end);
                }
            }
        }
    }

    /// Forbids the longest name that ends before the cue at `until`, in the word `at` or in words
    /// before it.
    fn names_until(&mut self, at: usize, until: usize, end: usize) {
        let text = self.request[..until].trim_end();
        let text = KINDS
            .iter()
            .find_map(|kind| text.strip_suffix(kind))
            .unwrap_or(text);
        let text = text.trim_end().trim_end_matches(AROUND);
        let word = self.words[at];
        let inside = text.get(word.start..).unwrap_or_default();
        let is_near = |(offset, _): &(usize, char)| inside.len() - offset <= LONGEST_UNSPACED;
        let inside = inside.char_indices().filter(is_near);
        let mut starts: Vec<usize> = inside.map(|(offset, _)| word.start + offset).collect();
        let before = self.words[..at].iter().rev().take(LONGEST);
        let before = before
            .take_while(|word| !word.ends_clause)
            .map(|word| word.start);
        starts.splice(0..0, before.collect::<Vec<_>>().into_iter().rev());
        let longest = starts.into_iter().filter(|start| *start < text.len());
        let found = longest
            .into_iter()
            .find_map(|start| Some((start, self.found(&text[start..])?)));
        if let Some((start, found)) = found {
            self.forbid(found, start..end);
        }
    }

    /// The longest name that begins at a byte of the request, and its end with that of the word
    /// `skill` after it.
    fn name_at(&mut self, start: usize) -> Option<(T, usize)> {
        let first = self.words.partition_point(|word| word.end() <= start);
        let mut ends = Vec::new();
        for word in self.words[first..].iter().take(LONGEST) {
            ends.push(word.end());
            if word.ends_clause {
                break;
            }
        }
        let inside = self.words.get(first).filter(|word| word.is_unspaced());
        if let Some(word) = inside {
            let text = &self.request[start..word.end()];
            let inside = text.char_indices().skip(1).map(|(at, _)| at);
            let inside = inside.take_while(|at| *at <= LONGEST_UNSPACED);
            ends.extend(inside.map(|at| start + at));
        }
        ends.sort_unstable();
        while let Some(end) = ends.pop() {
            let next = self.words.partition_point(|word| word.end() <= end);
            let next = self.words.get(next);
            let is_kind = next.is_some_and(|word| {
                KINDS
                    .iter()
                    .any(|kind| word.is(kind) || self.request[end..].starts_with(kind))
            });
            let spelled = &self.request[start..end];
            let joined = || spelled.split_whitespace().collect::<Vec<_>>().join("-");
            let found = self.found(spelled);
            let found = found.or_else(|| is_kind.then(|| self.found(&joined())).flatten());
            if let Some(found) = found
                && (is_kind || self.is_whole(spelled, end))
            {
                return Some((found, end));
            }
        }
        None
    }

    /// Whether a name that ends here is no part of a longer phrase: it looks like a name, or what
    /// follows is no word of a subject.
    fn is_whole(&self, name: &str, end: usize) -> bool {
        let last = self.words.partition_point(|word| word.end() < end);
        let last = self.words.get(last);
        let ends_clause = last.is_some_and(|word| word.end() == end && word.ends_clause);
        let next = self.words.partition_point(|word| word.start < end);
        let next = self.words.get(next);
        ends_clause
            || name.starts_with(['/', '`', '"'])
            || is_hyphenated(name)
            || name.contains(is_unspaced)
            || next.is_none_or(|word| {
                is_term_stop_word(&lower(word.text)) || word.is_any(JOINERS) || word.is_unspaced()
            })
    }

    /// The number of the word after a phrase of the table that begins at word `at`.
    fn phrase(&self, at: usize, table: &[&str]) -> Option<usize> {
        let matches = |phrase: &&str| {
            let mut next = at;
            for part in phrase.split(' ') {
                let word = self.words.get(next)?;
                let continues = next == at || !self.words[next - 1].ends_clause;
                if !continues || !word.is(part) {
                    return None;
                }
                next += 1;
            }
            Some(next)
        };
        // Most words are told from every phrase by their first byte.
        let first = self.words.get(at)?.text.as_bytes()[0].to_ascii_lowercase();
        let may_begin = |phrase: &&&str| !first.is_ascii() || phrase.as_bytes()[0] == first;
        let phrases = table.iter().filter(may_begin);
        phrases.filter_map(matches).max()
    }

    fn found(&mut self, name: &str) -> Option<T> {
        let name = name.trim_matches(AROUND);
        let command = name.strip_prefix('/').unwrap_or(name);
        let plain = || command.rsplit_once(':').map(|(_, name)| name);
        (self.find)(command).or_else(|| (self.find)(plain()?))
    }

    fn forbid(&mut self, found: T, span: Range<usize>) {
        if !self.forbidden.contains(&found) {
            self.forbidden.push(found);
        }
        self.spans.push(span);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[&str] = &[
        "pdf",
        "pdf-forms",
        "memory-write",
        "code review",
        "team:lint",
        "etc/hosts",
        "charts",
        "合同审查",
        "React组件",
    ];

    /// A request, the names that it spells out, and those that it forbids.
    type Case = (
        &'static str,
        &'static [&'static str],
        &'static [&'static str],
    );

    #[rustfmt::skip]
    const CASES: &[Case] = &[
        ("", &[], &[]),
        ("make me a table with charts", &[], &[]),
        ("/pdf fill this", &["pdf"], &[]),
        ("please run (/team:lint), now", &["team:lint"], &[]),
        ("please run /team:pdf", &["pdf"], &[]),
        ("use `Code Review` and `pdf`", &["code review", "pdf"], &[]),
        ("an `open end", &[], &[]),
        ("use the pdf skill", &["pdf"], &[]),
        ("the Skill", &[], &[]),
        ("do a pdf-forms.", &["pdf-forms"], &[]),
        ("用pdf-forms技能合并", &["pdf-forms"], &[]),
        ("a - b -- c", &[], &[]),
        ("see src/a.rs or /etc/hosts", &["etc/hosts"], &[]),
        // A negation before the name.
        ("do not use the pdf-forms skill, just merge the files", &[], &["pdf-forms"]),
        ("fix the docs, and do not use memory-write", &[], &["memory-write"]),
        ("Don’t ever use the pdf forms skill", &[], &["pdf-forms"]),
        ("never call `memory-write` again", &[], &["memory-write"]),
        ("not /pdf, use /pdf-forms", &["pdf-forms"], &["pdf"]),
        ("anything but pdf-forms", &[], &["pdf-forms"]),
        ("without charts please", &[], &["charts"]),
        ("without code review", &[], &["code review"]),
        ("instead of pdf-forms use memory-write", &["memory-write"], &["pdf-forms"]),
        ("sans utiliser la compétence pdf-forms", &[], &["pdf-forms"]),
        ("n'utilise pas pdf-forms mais memory-write", &["memory-write"], &["pdf-forms"]),
        ("tout sauf pdf-forms", &[], &["pdf-forms"]),
        ("不要用 pdf-forms", &[], &["pdf-forms"]),
        ("不要用pdf-forms技能，直接合并", &[], &["pdf-forms"]),
        ("请不要使用合同审查技能，帮我看看", &[], &["合同审查"]),
        ("不要用那个「合同审查」", &[], &["合同审查"]),
        ("别用 React组件 写", &[], &["React组件"]),
        // Lists.
        ("don't use pdf-forms, memory-write or the charts skill", &[], &["pdf-forms", "memory-write", "charts"]),
        ("don't use pdf-forms, memory-write is better", &["memory-write"], &["pdf-forms"]),
        ("do not use pdf-forms and use memory-write", &["memory-write"], &["pdf-forms"]),
        ("不要用 pdf-forms 和 memory-write", &[], &["pdf-forms", "memory-write"]),
        // A negation after the name.
        ("pdf-forms is forbidden", &[], &["pdf-forms"]),
        ("the memory-write skill must not be used here", &[], &["memory-write"]),
        ("pdf-formsを使わないで合併して", &[], &["pdf-forms"]),
        ("合同审查以外のスキルで", &[], &["合同审查"]),
        ("pdf-forms スキル以外で", &[], &["pdf-forms"]),
        // No name, or no negation of it.
        ("do not use pdf tables", &[], &[]),
        ("don't forget to use pdf-forms", &["pdf-forms"], &[]),
        ("why not use pdf-forms?", &["pdf-forms"], &[]),
        ("nothing but pdf-forms", &["pdf-forms"], &[]),
        ("do not use anything other than pdf-forms", &["pdf-forms"], &[]),
        ("not only charts: use memory-write", &["memory-write"], &[]),
        ("do not skip pdf-forms", &["pdf-forms"], &[]),
        ("if not, pdf-forms will do", &["pdf-forms"], &[]),
        ("merge files, don't fill them, use pdf-forms", &["pdf-forms"], &[]),
    ];

    #[test]
    fn names_are_spelled_out_or_forbidden() {
        for (request, named, forbidden) in CASES {
            let find = |name: &str| {
                NAMES
                    .iter()
                    .copied()
                    .find(|it| *it == lower(name.trim()) || *it == name)
            };
            let found = mentions(request, find);
            assert_eq!(
                (&*found.named, &*found.forbidden),
                (*named, *forbidden),
                "{request:?}"
            );
        }
    }

    #[test]
    fn the_words_that_forbid_are_taken_out_of_the_text() {
        let find = |name: &str| (name == "a-b").then_some(());
        for (request, text) in [
            ("merge files", "merge files"),
            (
                "merge files and do not use the a-b skill, please",
                "merge files and do  not  skill, please",
            ),
            ("a-b is forbidden", " not "),
        ] {
            assert_eq!(mentions(request, find).text, text, "{request:?}");
        }
    }

    /// The bytes that are looked up as names.
    fn looked_up(request: &str) -> usize {
        let mut bytes = 0;
        mentions(request, |name| {
            bytes += name.len();
            NAMES.iter().position(|known| *known == name)
        });
        bytes
    }

    #[test]
    fn the_work_grows_no_faster_than_the_request() {
        for piece in [
            "ni pdf ",
            "nor pdf, ",
            "not the ",
            "not pdf or charts and ",
            "without code review, ",
            "do not use ",
            "pdf is not allowed ",
            "/pdf ",
            "不要",
            "不要用pdf和",
            "pdf 不要用",
            "合同审查以外",
            "以外",
            "é",
            "a-",
        ] {
            let [short, long] = [250, 1000].map(|times| looked_up(&piece.repeat(times)));
            assert!(long <= 5 * short + 1000, "{piece:?}: {short}, {long}");
        }
    }
}
