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
    files: BTreeMap<String, Vec<Credential>>,
}

/// A credential.
#[derive(Debug)]
struct Credential {
    span: Range<usize>,
    text: String,
    /// Its letters and digits in small letters, since a finding may suggest a text that is made of it.
    letters: String,
}

/// How far from a finding the text may be that its message quotes, in bytes.
const REACH: usize = 256;

/// So much of a credential says that it follows: messages quote the beginning of long words.
const BEGINNING: usize = 8;

impl Credentials {
    /// Masks the credentials of a file, and remembers them.
    pub(super) fn mask(&mut self, file: &str, bytes: &mut Arc<[u8]>) {
        let found = credentials(bytes);
        if found.is_empty() {
            return;
        }
        let bytes = Arc::make_mut(bytes);
        let mask = |span: Range<usize>| {
            let text = String::from_utf8_lossy(&bytes[span.clone()]).into_owned();
            mask(&mut bytes[span.clone()]);
            Credential {
                letters: letters(&text),
                span,
                text,
            }
        };
        let found = found.into_iter().map(mask).collect();
        self.files.insert(file.to_owned(), found);
    }

    /// Masks the credentials in what a finding says. Its help or fix goes if it is made of one.
    pub(super) fn redact(&self, it: &mut Diagnostic) {
        let near: Vec<&Credential> = self.near(it).collect();
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
    fn near(&self, it: &Diagnostic) -> impl Iterator<Item = &Credential> {
        let all = self.files.get(&it.file).map_or(&[][..], Vec::as_slice);
        let at = it.span.map(Span::range).unwrap_or_default();
        all.iter()
            .filter(move |it| it.span.start < at.end + REACH && at.start < it.span.end + REACH)
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
        let same = text[at..].bytes().zip(credential.bytes());
        let length = same.take_while(|(one, other)| one == other).count();
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
