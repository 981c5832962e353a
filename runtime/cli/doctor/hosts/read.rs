//! Reads the configuration files of other programs, which may be anything: only regular files of a
//! bounded size, and what is wrong with them is said without quoting them, since they hold secrets.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use serde_json::Value;

use super::files::Format;

/// The most bytes that are read. `~/.claude.json` also has a history and reaches some megabytes.
const MOST_BYTES: u64 = 32 << 20;

/// A configuration file that was found.
pub(super) enum Content {
    /// It was understood.
    Parsed(Value),
    /// It was not, for this reason. `names_us` tells whether its text mentions the server.
    Faulty { reason: String, names_us: bool },
    /// This build does not understand its format.
    NotSupported { names_us: bool },
}

/// Reads a file. `None` if there is none.
pub(super) fn read(path: &Path, format: Format) -> Option<Content> {
    let bytes = match bytes_of(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            let reason = error.to_string();
            return Some(Content::Faulty {
                reason,
                names_us: false,
            });
        }
    };
    let name = b"skillbundle";
    let names_us = || {
        bytes
            .windows(name.len())
            .any(|it| it.eq_ignore_ascii_case(name))
    };
    Some(match parse(&bytes, format) {
        Ok(Some(value)) => Content::Parsed(value),
        Ok(None) => Content::NotSupported {
            names_us: names_us(),
        },
        Err(reason) => Content::Faulty {
            reason,
            names_us: names_us(),
        },
    })
}

fn bytes_of(path: &Path) -> io::Result<Vec<u8>> {
    let not_a_file = || io::Error::other("it is not a regular file");
    // Before it is opened, since that can have an effect on a device.
    let is_file = fs::metadata(path)?.is_file();
    let file = is_file.then(|| open(path)).ok_or_else(not_a_file)??;
    if !file.metadata()?.is_file() {
        return Err(not_a_file());
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(io::Error::other(format!(
            "it is larger than {} MiB",
            MOST_BYTES >> 20
        )));
    }
    Ok(bytes)
}

/// Opens a file for reading, without waiting for the other end of a pipe.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

/// The value of a text; `None` if this build cannot read the format.
fn parse(bytes: &[u8], format: Format) -> Result<Option<Value>, String> {
    let text = str::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Ok(Some(Value::Null));
    }
    match format {
        Format::Json => json(text)
            .map(Some)
            .map_err(|reason| match json(&plain_json(text)) {
                Ok(_) => format!("{reason}; this host accepts no comments and no trailing commas"),
                Err(_) => reason,
            }),
        Format::Jsonc => json(&plain_json(text)).map(Some),
        Format::Toml => toml(text),
        Format::Yaml => yaml(text),
    }
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text)
        .map_err(|error| format!("line {} is not valid JSON", error.line().max(1)))
}

#[cfg(feature = "compile")]
fn toml(text: &str) -> Result<Option<Value>, String> {
    toml::from_str(text)
        .map(Some)
        .map_err(|error: toml::de::Error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            let line = before.map_or(1, |before| before.matches('\n').count() + 1);
            format!("line {line} is not valid TOML")
        })
}

#[cfg(feature = "compile")]
fn yaml(text: &str) -> Result<Option<Value>, String> {
    let json = skillbundle_compiler::yaml_to_json(text.as_bytes());
    let value = json.and_then(|json| serde_json::from_str(&json).ok());
    value
        .map(Some)
        .ok_or_else(|| "it is not valid YAML".to_owned())
}

#[cfg(not(feature = "compile"))]
#[expect(clippy::unnecessary_wraps, reason = "the other build has errors")]
fn toml(_: &str) -> Result<Option<Value>, String> {
    Ok(None)
}

#[cfg(not(feature = "compile"))]
#[expect(clippy::unnecessary_wraps, reason = "the other build has errors")]
fn yaml(_: &str) -> Result<Option<Value>, String> {
    Ok(None)
}

/// JSON with comments as plain JSON: comments and trailing commas become spaces, so that lines keep
/// their numbers.
fn plain_json(text: &str) -> String {
    let mut out = text.as_bytes().to_vec();
    let mut at = 0;
    // The last comma, if only spaces and comments have come since.
    let mut comma = None;
    while let Some(&byte) = out.get(at) {
        let end = match (byte, out.get(at + 1)) {
            (b'"', _) => string_end(&out, at),
            (b'/', Some(b'/')) => find(&out, at, b"\n"),
            (b'/', Some(b'*')) => find(&out, at + 2, b"*/").saturating_add(2).min(out.len()),
            _ => at + 1,
        };
        match byte {
            b'/' if end > at + 1 => {
                let comment = out[at..end].iter_mut();
                comment.filter(|it| **it != b'\n').for_each(|it| *it = b' ');
            }
            b',' => comma = Some(at),
            b']' | b'}' => {
                if let Some(comma) = comma.take() {
                    out[comma] = b' ';
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        at = end;
    }
    String::from_utf8(out).expect("whole comments were replaced")
}

/// The end of the string that begins at `start`.
fn string_end(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

/// Where `wanted` first occurs from `start` on, or the end.
fn find(text: &[u8], start: usize, wanted: &[u8]) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let found = rest.windows(wanted.len()).position(|it| it == wanted);
    found.map_or(text.len(), |at| start + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_become_spaces() {
        for (text, plain) in [
            ("{}", "{}"),
            ("[1, 2,]", "[1, 2 ]"),
            ("{\"a\": 1, // b\n}", "{\"a\": 1      \n}"),
            ("[1, /* x\ny */ ]", "[1      \n     ]"),
            (
                "[\"//\", \"a,]\", \"\\\"/*\"]",
                "[\"//\", \"a,]\", \"\\\"/*\"]",
            ),
            ("[1,,]", "[1, ]"),
            ("/* open", "       "),
            ("\"open", "\"open"),
            ("\"open\\", "\"open\\"),
            ("// ü\n1", "     \n1"),
            ("/", "/"),
        ] {
            assert_eq!(plain_json(text), plain, "{text}");
        }
    }

    #[test]
    fn a_byte_order_mark_and_an_empty_file_are_accepted() {
        for (text, value) in [
            ("\u{feff}{\"a\": 1}", serde_json::json!({"a": 1})),
            ("", Value::Null),
            ("\u{feff}\n", Value::Null),
        ] {
            assert_eq!(
                parse(text.as_bytes(), Format::Json),
                Ok(Some(value)),
                "{text}"
            );
        }
    }
}
