//! The bearer token: where it may come from, and how it is compared. It is
//! never printed, not even in part.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use hyper::header::HeaderValue;
use subtle::ConstantTimeEq;

use crate::Error;

/// Fewest characters. With 16 random ones guessing over a network is hopeless.
const SHORTEST: usize = 16;

/// Most bytes of a token file. A larger one is another file, named by mistake.
const LONGEST: u64 = 4096;

/// What a request must carry as `Authorization: Bearer …`.
pub struct Token(Box<[u8]>);

impl Token {
    /// Takes the token itself: 16 or more visible ASCII characters.
    pub fn new(text: &str) -> Result<Self, Error> {
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Error::Token(
                "expected visible ASCII characters without spaces in the token".to_owned(),
            ));
        }
        if text.len() < SHORTEST {
            return Err(Error::Token(format!(
                "expected a token of {SHORTEST} characters or more, found {}; \
                 `openssl rand -hex 32` makes a good one",
                text.len()
            )));
        }
        Ok(Self(text.as_bytes().into()))
    }

    /// Reads it from a file that only its owner, who must be us, may read. White
    /// space around it does not count.
    pub fn from_file(path: &Path) -> Result<Self, Error> {
        let blame = |error: &dyn fmt::Display| Error::Token(format!("{}: {error}", path.display()));
        let file = File::open(path).map_err(|error| blame(&error))?;
        // Asked of the open file: the name could lead elsewhere by now.
        let state = file.metadata().map_err(|error| blame(&error))?;
        if let Err(reason) = kept_private(&state) {
            return Err(blame(&reason));
        }
        let mut text = String::new();
        file.take(LONGEST)
            .read_to_string(&mut text)
            .map_err(|error| blame(&error))?;
        Self::new(text.trim()).map_err(|error| blame(&error))
    }

    /// Whether a request shows it. Takes as long for a wrong token as for the
    /// right one of the same length.
    pub(super) fn is_shown_by(&self, authorization: Option<&HeaderValue>) -> bool {
        authorization
            .and_then(|value| value.as_bytes().split_at_checked("Bearer ".len()))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"Bearer "))
            .is_some_and(|(_, shown)| shown.ct_eq(&self.0).into())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(unix)]
fn kept_private(state: &std::fs::Metadata) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt;
    let open = state.mode() & 0o077;
    if open != 0 {
        return Err(format!(
            "expected mode 0600 or stricter, found {:04o}, so others may know the token; \
             mend it with chmod 600 and make a new token",
            state.mode() & 0o7777
        ));
    }
    let us = rustix::process::geteuid().as_raw();
    if state.uid() != us {
        return Err(format!(
            "expected a file of the user who runs this (id {us}), found one of id {}; \
             mend it with chown",
            state.uid()
        ));
    }
    Ok(())
}

/// Who may read a file cannot be told in one number here.
#[cfg(not(unix))]
fn kept_private(_: &std::fs::Metadata) -> Result<(), String> {
    Ok(())
}
