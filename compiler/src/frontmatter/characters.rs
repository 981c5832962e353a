//! Unwanted characters: control characters and invisible ones. They are reported,
//! never removed, since the bytes of the file are what must be served.

use std::ops::Range;

use super::recover::Edit;
use crate::diagnostic::{Applicability, Code, Diagnostic, Span};

/// A kind of unwanted characters.
struct Class {
    code: Code,
    has: fn(char) -> bool,
    /// What they are, in one noun.
    noun: &'static str,
    help: &'static str,
    /// Whether they have no use anywhere, so that a fix may delete them.
    is_useless: bool,
}

/// Characters of one class that a fix deletes; with more it is not a text with a slip in it.
const MOST_DELETED: usize = 1000;

const CLASSES: [Class; 3] = [
    Class {
        code: Code::ControlCharacter,
        has: is_control,
        noun: "control character",
        help: "delete it; some terminals and YAML parsers fail on it",
        is_useless: true,
    },
    Class {
        code: Code::HiddenCharacter,
        has: is_hidden_text,
        noun: "hidden character",
        help: "delete it; people cannot see it, but a model reads it",
        is_useless: true,
    },
    Class {
        code: Code::InvisibleCharacter,
        has: is_zero_width,
        noun: "invisible character",
        help: "delete it unless it is intended; it makes equal-looking words differ",
        is_useless: false,
    },
];

/// Which of the classes are control characters, and which are hidden text.
const CONTROL: usize = 0;
const HIDDEN: usize = 1;

/// Bytes that an unwanted character can begin with.
const SUSPECT: [bool; 256] = {
    let mut suspect = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        suspect[byte] = !matches!(byte, 0x09 | 0x0A | 0x0D);
        byte += 1;
    }
    let mut at = 0;
    // DEL, then the first bytes of U+0080, U+034F, U+1100, U+2000, U+3164, U+F000 and U+E0000.
    let leads = [0x7F, 0xC2, 0xCD, 0xE1, 0xE2, 0xE3, 0xEF, 0xF3];
    while at < leads.len() {
        suspect[leads[at]] = true;
        at += 1;
    }
    suspect
};

/// Bytes of which most have nothing unusual.
const BLOCK: usize = 64;

/// How many invisible characters in a row, of several kinds, carry data: two kinds spell a letter
/// in eight. Emoji and the scripts that need joiners have one or two.
const LEAST_RUN: usize = 8;

/// Reports each class once, at its first character, with the count. In a file that is no prose,
/// control characters have a use.
pub(crate) fn check(file: &str, text: &str, is_prose: bool, out: &mut Vec<Diagnostic>) {
    if !is_prose && text.is_ascii() {
        return;
    }
    let mut found = [const { Vec::new() }; CLASSES.len()];
    let mut run: Vec<(usize, char)> = Vec::new();
    for at in suspects(text, super::fence::text_start(text)) {
        let Some(character) = text[at..].chars().next() else {
            continue;
        };
        if let Some(class) = CLASSES.iter().position(|class| (class.has)(character)) {
            found[class].push((at, character));
        }
        if run
            .last()
            .is_none_or(|(last, it)| last + it.len_utf8() != at)
        {
            carried(&mut run, &mut found[HIDDEN]);
        }
        if is_invisible(character) {
            run.push((at, character));
        }
    }
    carried(&mut run, &mut found[HIDDEN]);
    found[HIDDEN].sort_unstable();
    found[CONTROL].retain(|_| is_prose);
    for (class, mut hits) in CLASSES.iter().zip(found) {
        if class.code == Code::HiddenCharacter && !hits.is_empty() {
            let unflagged = outside_flags(text);
            hits.retain(|(at, _)| unflagged(*at));
        }
        let Some((at, first)) = hits.first() else {
            continue;
        };
        let more = match hits.len() {
            1 => String::new(),
            many => format!(" (and {} more in this file)", many - 1),
        };
        let message = format!("{} U+{:04X}{more}", class.noun, u32::from(*first));
        let span = |(at, it): &(usize, char)| Span::from(*at..at + it.len_utf8());
        let diagnostic = Diagnostic::new(class.code, file, message)
            .at(span(&(*at, *first)))
            .help(class.help);
        out.push(if class.is_useless && hits.len() <= MOST_DELETED {
            let deletions = hits.iter().map(|hit| (span(hit), String::new()));
            diagnostic.fixed_by(Applicability::Unsafe, deletions)
        } else {
            diagnostic
        });
    }
}

/// The places from `start` on of bytes that an unwanted character can begin with.
fn suspects(text: &str, start: usize) -> impl Iterator<Item = usize> {
    let blocks = text.as_bytes()[start..].chunks(BLOCK);
    let blocks = (start..).step_by(BLOCK).zip(blocks);
    // Numbers, since a search for a truth value would look at one byte after the other.
    let is_unusual = |it: &u8| u8::from(!(b' '..=b'~').contains(it)) & u8::from(*it != b'\n');
    let unusual = blocks.filter(move |(_, bytes)| {
        let found = bytes.iter().fold(0, |found, it| found | is_unusual(it));
        found > 0
    });
    let bytes = unusual.flat_map(|(at, bytes)| (at..).zip(bytes));
    bytes
        .filter(|(_, byte)| SUSPECT[usize::from(**byte)])
        .map(|(at, _)| at)
}

/// Ends a row of invisible characters, which are hidden text if they are many and of several kinds.
fn carried(run: &mut Vec<(usize, char)>, hidden: &mut Vec<(usize, char)>) {
    let is_mixed = run.iter().any(|(_, it)| *it != run[0].1);
    if is_mixed && run.len() >= LEAST_RUN {
        hidden.append(run);
    }
    run.clear();
}

/// Characters without a shape of their own, useful ones among them: joiners, marks of direction, and
/// selectors of a variant.
fn is_invisible(character: char) -> bool {
    is_zero_width(character)
        || matches!(character,
            '\u{200c}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Characters that YAML calls unprintable and refuses.
pub(super) fn is_control(character: char) -> bool {
    matches!(character,
        '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}'
        | '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}')
}

/// Tag characters, which can carry invisible sentences, and marks that reorder text.
fn is_hidden_text(character: char) -> bool {
    matches!(character,
        '\u{e0000}'..='\u{e007f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Characters that do not show and have hardly a use: of zero width, fillers of Hangul and Khmer, soft
/// hyphens. U+200C and U+200D are not among them: some scripts and emoji need them.
fn is_zero_width(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
        | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}')
}

/// The first character of a name that nobody sees as what it is, with the rule that is about it.
pub(crate) fn unseen_in_name(name: &str) -> Option<(Code, char)> {
    let kind = |it: char| match it {
        _ if is_hidden_text(it) => Some((Code::HiddenCharacter, it)),
        _ if is_zero_width(it) || (it.is_whitespace() && !it.is_ascii()) => {
            Some((Code::InvisibleCharacter, it))
        }
        _ => None,
    };
    name.chars().find_map(kind)
}

/// Whether an offset is outside of flag emoji. The flag of Scotland, for example, is
/// a black flag followed by tag characters and a cancel tag.
fn outside_flags(text: &str) -> impl Fn(usize) -> bool {
    const FLAG: char = '\u{1f3f4}';
    let mut flags: Vec<Range<usize>> = Vec::new();
    for (at, _) in text.match_indices(FLAG) {
        let tail = &text[at + FLAG.len_utf8()..];
        let tags = tail
            .find(|it| !matches!(it, '\u{e0020}'..='\u{e007f}'))
            .unwrap_or(tail.len());
        // Real ones have at most six tags, of four bytes each.
        if tail[..tags].ends_with('\u{e007f}') && tags <= 7 * 4 {
            flags.push(at..at + FLAG.len_utf8() + tags);
        }
    }
    move |at| {
        let next = flags.partition_point(|flag| flag.end <= at);
        flags.get(next).is_none_or(|flag| !flag.contains(&at))
    }
}

/// Stand-ins for control characters while YAML is parsed: the base of a block of 256
/// private use characters that the text does not use.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mask(u32);

impl Mask {
    /// The replacements to make in `text[part]`; `None` if it has no control character.
    pub(super) fn of(text: &str, part: &Range<usize>) -> Option<(Self, Vec<Edit>)> {
        let yaml = &text[part.clone()];
        if !yaml.contains(is_control) {
            return None;
        }
        let free = |base: &u32| {
            !yaml
                .chars()
                .any(|it| (*base..*base + 256).contains(&u32::from(it)))
        };
        // Only a text made for it can use all of the 510 blocks within 64 KiB.
        let base = (0xF_0000..0x10_FF00)
            .step_by(256)
            .find(free)
            .unwrap_or(0xF_0000);
        let mask = Self(base);
        let edits = yaml
            .char_indices()
            .filter(|(_, it)| is_control(*it))
            .map(|(at, it)| {
                let range = part.start + at..part.start + at + it.len_utf8();
                let stand_in = char::from_u32(base + (u32::from(it) & 0xFF)).unwrap_or('\u{fffd}');
                (range, stand_in.to_string())
            });
        Some((mask, edits.collect()))
    }

    /// Puts the control characters back.
    pub(super) fn undo(self, text: &str) -> String {
        let original = |it: char| match u32::from(it).checked_sub(self.0) {
            Some(low @ 0xFE..=0xFF) => char::from_u32(0xFF00 + low),
            Some(low @ 0..=0xFD) => char::from_u32(low),
            _ => None,
        };
        text.chars().map(|it| original(it).unwrap_or(it)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Location;

    #[test]
    fn unwanted_characters_are_reported_with_their_position() {
        for (text, expected) in [
            ("plain\ttext\r\n", &[][..]),
            ("a\u{1b}[31mb", &[(Code::ControlCharacter, 1, 2)]),
            ("é\u{80}", &[(Code::ControlCharacter, 1, 2)]),
            ("next line \u{85} is a line end", &[]),
            ("x\ny\u{202e}z", &[(Code::HiddenCharacter, 2, 2)]),
            ("\u{e0041}\u{e0042}", &[(Code::HiddenCharacter, 1, 1)]),
            (
                "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
                &[],
            ),
            (
                "\u{1f3f4}\u{e0067}\u{e0062}",
                &[(Code::HiddenCharacter, 1, 2)],
            ),
            ("👩\u{200d}💻", &[]),
            ("a\u{200b}b", &[(Code::InvisibleCharacter, 1, 2)]),
            ("a\u{3164}b", &[(Code::InvisibleCharacter, 1, 2)]),
            ("a\u{ad}b\u{34f}", &[(Code::InvisibleCharacter, 1, 2)]),
            ("\u{feff}text", &[]),
            (
                "a\u{200c}\u{200d}\u{200c}\u{200d}\u{200c}\u{200d}\u{200c}\u{200d}b",
                &[(Code::HiddenCharacter, 1, 2)],
            ),
            (
                "a\u{200c}\u{200c}\u{200c}\u{200c}\u{200c}\u{200c}\u{200c}\u{200c}b",
                &[],
            ),
            (
                "a\u{200c}\u{200d}b\u{200c}\u{200d}c\u{200c}\u{200d}d\u{200c}\u{200d}",
                &[],
            ),
            (
                "x\u{e0100}\u{e0101}\u{e0102}\u{e0103}\u{e0104}\u{e0105}\u{e0106}\u{fe0f}",
                &[(Code::HiddenCharacter, 1, 2)],
            ),
            ("\u{feff}\u{feff}text", &[(Code::InvisibleCharacter, 1, 1)]),
        ] {
            let mut out = Vec::new();
            check("f", text, true, &mut out);
            let found: Vec<_> = out
                .iter()
                .map(|it| {
                    let at = Location::of(text.as_bytes(), it.span.unwrap());
                    (it.code, at.line, at.column)
                })
                .collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn control_characters_of_a_program_are_no_fault() {
        let mut out = Vec::new();
        check("f", "a\u{c}b\u{1b}é\u{202e}", false, &mut out);
        let codes: Vec<_> = out.iter().map(|it| it.code).collect();
        assert_eq!(codes, [Code::HiddenCharacter]);
    }

    #[test]
    fn every_unwanted_character_begins_with_a_suspect_byte() {
        for character in '\0'..=char::MAX {
            let first = character.encode_utf8(&mut [0; 4]).as_bytes()[0];
            if is_invisible(character) || CLASSES.iter().any(|class| (class.has)(character)) {
                assert!(SUSPECT[usize::from(first)], "{character:?}");
            }
        }
    }

    #[test]
    fn a_mask_can_be_undone() {
        let text = "a\0b\u{9f}c\u{fffe}d\u{f0041}e\u{ffff}";
        let (mask, edits) = Mask::of(text, &(0..text.len())).unwrap();
        let mut masked = text.to_owned();
        for (place, stand_in) in edits.into_iter().rev() {
            masked.replace_range(place, &stand_in);
        }
        assert!(!masked.contains(is_control));
        assert_eq!(mask.undo(&masked), text);
    }
}
