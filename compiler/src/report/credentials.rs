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
    /// Its letters and digits in small letters, since a finding may suggest a text that is made of it.
    letters: String,
}

impl Credentials {
    /// Masks the credentials of a file, and remembers them.
    pub(super) fn mask(&mut self, file: &str, bytes: &mut Arc<[u8]>) {
        let found = credentials(bytes);
        if found.is_empty() {
            return;
        }
        let bytes = Arc::make_mut(bytes);
        let mask = |span: Range<usize>| {
            let letters = letters(&String::from_utf8_lossy(&bytes[span.clone()]));
            mask(&mut bytes[span.clone()]);
            Credential { span, letters }
        };
        let found = found.into_iter().map(mask).collect();
        self.files.insert(file.to_owned(), found);
    }

    /// Masks the credentials in what a finding says. Its help or fix goes if it is made of one.
    pub(super) fn redact(&self, it: &mut Diagnostic) {
        let near: Vec<&str> = self.near(it).collect();
        let is_made_of = |text: &str| {
            let text = letters(text);
            near.iter().any(|it| text.contains(it))
        };
        let edits = it.fix.iter().flat_map(|fix| &fix.edits);
        let mut written = edits.map(|edit| edit.replacement.as_str());
        if written.any(|it| is_made_of(it) || !credentials(it.as_bytes()).is_empty()) {
            it.fix = None;
        }
        mask_text(&mut it.message);
        for related in &mut it.related {
            mask_text(&mut related.message);
        }
        if let Some(help) = &mut it.help {
            mask_text(help);
        }
        if it.help.as_deref().is_some_and(is_made_of) {
            it.help = None;
        }
    }

    /// The letters of the credentials where a finding is.
    fn near(&self, it: &Diagnostic) -> impl Iterator<Item = &str> {
        let all = self.files.get(&it.file).map_or(&[][..], Vec::as_slice);
        let at = it.span.map(Span::range).unwrap_or_default();
        let near = all.iter();
        let near = near.filter(move |it| it.span.start < at.end && at.start < it.span.end);
        near.map(|it| it.letters.as_str())
    }
}

fn mask_text(text: &mut String) {
    for span in credentials(text.as_bytes()) {
        let mut bytes = text[span.clone()].as_bytes().to_vec();
        mask(&mut bytes);
        text.replace_range(span, &String::from_utf8_lossy(&bytes));
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
