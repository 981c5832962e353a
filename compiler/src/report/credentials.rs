//! Keeps credentials out of every form of a report: the lines that it quotes, and what its findings say.
//! They are looked for in the texts themselves, since a finding about one may be allowed, be turned off,
//! or be one too many.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Span};
use crate::rules::content::credentials;

/// The first characters of a credential, which say what it is.
const UNMASKED: usize = 4;

/// The credentials in the files that are quoted.
#[derive(Debug, Default)]
pub(super) struct Credentials {
    files: BTreeMap<String, File>,
}

/// A file with credentials.
#[derive(Debug)]
struct File {
    /// Its bytes, not masked.
    bytes: Arc<[u8]>,
    /// Where the credentials are, in order.
    spans: Vec<Range<usize>>,
}

/// A credential near a finding.
struct Credential {
    text: String,
    /// Its letters and digits in small letters, since the finding may suggest a text that is made of it.
    letters: String,
}

/// How far from a finding the text may be that its message quotes, in bytes.
const REACH: usize = 256;

/// So much of a credential says that it follows: messages quote the beginning of long words.
const BEGINNING: usize = 8;

impl Credentials {
    /// Masks the credentials of a file, and remembers them.
    pub(super) fn mask(&mut self, file: &str, bytes: &mut Arc<[u8]>) {
        let spans = credentials(bytes);
        if spans.is_empty() {
            return;
        }
        let original = Arc::clone(bytes);
        let masked = Arc::make_mut(bytes);
        for span in &spans {
            mask(&mut masked[span.clone()]);
        }
        let bytes = original;
        self.files.insert(file.to_owned(), File { bytes, spans });
    }

    /// Masks the credentials in what a finding says. Its help or fix goes if it is made of one.
    pub(super) fn redact(&self, it: &mut Diagnostic) {
        let near = self.near(it);
        let is_made_of = |text: &str| {
            let text = letters(text);
            near.iter().any(|it| text.contains(&it.letters))
        };
        let edits = it.fix.iter().flat_map(|fix| &fix.edits);
        let mut written = edits.map(|edit| edit.replacement.as_str());
        if written.any(|it| is_made_of(it) || !credentials(it.as_bytes()).is_empty()) {
            it.fix = None;
        }
        let related = it.related.iter_mut().map(|it| &mut it.message);
        for said in related.chain([&mut it.message]).chain(&mut it.help) {
            mask_text(said);
            for credential in &near {
                mask_beginning(said, &credential.text);
            }
        }
        if it.help.as_deref().is_some_and(is_made_of) {
            it.help = None;
        }
    }

    /// The credentials near a finding.
    fn near(&self, it: &Diagnostic) -> Vec<Credential> {
        let Some(File { bytes, spans }) = self.files.get(&it.file) else {
            return Vec::new();
        };
        let at = it.span.map(Span::range).unwrap_or_default();
        let first = spans.partition_point(|it| it.end + REACH <= at.start);
        let near = spans[first..].iter();
        let near = near.take_while(|it| it.start < at.end + REACH);
        let texts = near.map(|it| String::from_utf8_lossy(&bytes[it.clone()]).into_owned());
        texts
            .map(|text| Credential {
                letters: letters(&text),
                text,
            })
            .collect()
    }
}

fn mask_text(text: &mut String) {
    for span in credentials(text.as_bytes()) {
        let mut bytes = text[span.clone()].as_bytes().to_vec();
        mask(&mut bytes);
        text.replace_range(span, &String::from_utf8_lossy(&bytes));
    }
}

/// Masks what a text has of a credential, if it has its beginning.
fn mask_beginning(text: &mut String, credential: &str) {
    let beginning = credential.get(..BEGINNING).unwrap_or(credential);
    let mut from = 0;
    while let Some(found) = text[from..].find(beginning) {
        let at = from + found;
        let same = text[at..].chars().zip(credential.chars());
        let same = same.take_while(|(one, other)| one == other);
        let length: usize = same.map(|(it, _)| it.len_utf8()).sum();
        let mut bytes = text.as_bytes()[at..at + length].to_vec();
        mask(&mut bytes);
        text.replace_range(at..at + length, &String::from_utf8_lossy(&bytes));
        from = at + length;
    }
}

/// Masks a credential, except for its first characters and for the line `-----BEGIN … KEY-----`.
fn mask(secret: &mut [u8]) {
    let head = if secret.starts_with(b"-----") {
        let end = memchr::memmem::find(&secret[5..], b"-----");
        end.map_or(secret.len(), |end| end + 10)
    } else {
        UNMASKED
    };
    let is_of_secret = |it: &&mut u8| it.is_ascii_graphic();
    for byte in secret.iter_mut().skip(head).filter(is_of_secret) {
        *byte = b'*';
    }
}

/// The letters and digits of a text in small letters.
fn letters(text: &str) -> String {
    let letters = text.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|it| it.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_credential_is_masked_as_far_as_it_is_there() {
        for (text, credential, expected) in [
            ("a `12345678` b", "1234567890", "a `1234****` b"),
            ("a 1234567 b", "1234567890", "a 1234567 b"),
            ("12345678 12345678x", "1234567890", "1234**** 1234****x"),
            // Different letters that begin with the same byte.
            ("12345678\u{ea}", "12345678\u{e9}", "1234****\u{ea}"),
        ] {
            let mut masked = text.to_owned();
            mask_beginning(&mut masked, credential);
            assert_eq!(masked, expected);
        }
    }
}
