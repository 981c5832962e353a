//! JSON that every reader takes for one line. JSON allows U+0085, U+2028 and U+2029 in strings as
//! they are, and Python's `splitlines`, newer `readline`s of Node and others end a line there.

use memchr::memmem;

/// The characters that some readers take for a line end, and their escapes.
const LINE_ENDS: [(&[u8], &[u8]); 3] = [
    (b"\xc2\x85", br"\u0085"),
    (b"\xe2\x80\xa8", br"\u2028"),
    (b"\xe2\x80\xa9", br"\u2029"),
];

/// Escapes the line ends beyond ASCII in the JSON that begins at `start`. They can stand in strings
/// alone, so the values stay what they are. JSON without them is searched and not copied. In a line
/// of a log the escapes are shown instead of the characters.
pub fn escape_line_ends(json: &mut Vec<u8>, start: usize) {
    for (raw, escaped) in LINE_ENDS {
        let Some(first) = memmem::find(&json[start..], raw) else {
            continue;
        };
        let finder = memmem::Finder::new(raw);
        let tail = json.split_off(start + first);
        let mut done = 0;
        for at in finder.find_iter(&tail) {
            json.extend_from_slice(&tail[done..at]);
            json.extend_from_slice(escaped);
            done = at + raw.len();
        }
        json.extend_from_slice(&tail[done..]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn values_stay_and_lines_stay_whole(
            texts in proptest::collection::vec("[a\u{85}\u{2028}\u{2029}\"\\\\\u{a9}\u{2019}\u{2000}数]{0,12}", 0..4),
            before in "[\u{2028}x]{0,3}",
        ) {
            let mut json = before.clone().into_bytes();
            serde_json::to_writer(&mut json, &texts).expect("plain texts");
            escape_line_ends(&mut json, before.len());
            let json = String::from_utf8(json).expect("UTF-8");
            let json = json.strip_prefix(&before).expect("what is before stays");
            prop_assert!(!json.contains(['\u{85}', '\u{2028}', '\u{2029}']), "{json}");
            let read: Vec<String> = serde_json::from_str(json).expect("JSON");
            prop_assert_eq!(read, texts);
        }
    }
}
