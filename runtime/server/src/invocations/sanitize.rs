//! Removes from what a handler reports everything that its caller may not see: secrets of the input,
//! members whose names say that they are secret, absolute paths of this machine, stack traces. What
//! is left is bounded.

use serde_json::{Map, Value};
use skillbundle_schema::REDACTED;

/// Characters of one text.
const MAX_TEXT: usize = 500;
/// Bytes of all details.
const MAX_DETAILS: usize = 8 * 1024;
/// Levels of details.
const MAX_DEPTH: usize = 8;
/// A shorter text is not looked for: it would occur everywhere.
const MIN_SECRET: usize = 4;

/// Parts of names of members that hold secrets.
const SECRET_NAMES: [&str; 10] = [
    "apikey",
    "authorization",
    "cookie",
    "credential",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "secret",
    "token",
];

/// How stack traces of the usual languages begin.
const TRACES: [&str; 5] = [
    "Traceback (most recent call last)",
    "\n    at ",
    "\n\tat ",
    "thread '",
    "goroutine ",
];

/// A secret, and how it looks inside JSON, as a handler may print its input: as it is there, and in
/// ASCII alone.
fn forms(secret: &str, out: &mut Vec<String>) {
    out.push(secret.to_owned());
    let json = Value::from(secret).to_string();
    let json = &json[1..json.len() - 1];
    let mut ascii = String::with_capacity(json.len());
    for it in json.chars() {
        if it.is_ascii() {
            ascii.push(it);
        } else {
            for unit in it.encode_utf16(&mut [0; 2]) {
                let digits = format!("{unit:04x}");
                ascii.extend(["\\u", &digits]);
            }
        }
    }
    out.extend(
        [json.to_owned(), ascii]
            .into_iter()
            .filter(|it| it != secret),
    );
}

/// The texts of a value that are missing from its redacted form.
pub(super) fn secrets(value: &Value, redacted: &Value) -> Vec<String> {
    fn all(value: &Value, out: &mut Vec<String>) {
        match value {
            Value::String(text) if text.chars().count() >= MIN_SECRET => forms(text, out),
            Value::Array(items) => items.iter().for_each(|it| all(it, out)),
            Value::Object(map) => map.values().for_each(|it| all(it, out)),
            Value::Number(number) if number.to_string().len() >= MIN_SECRET => {
                out.push(number.to_string());
            }
            _ => {}
        }
    }
    fn missing(value: &Value, redacted: &Value, out: &mut Vec<String>) {
        match (value, redacted) {
            (Value::Object(value), Value::Object(redacted)) => {
                for (name, member) in value {
                    missing(member, redacted.get(name).unwrap_or(&Value::Null), out);
                }
            }
            (Value::Array(value), Value::Array(redacted)) => {
                for (item, redacted) in value.iter().zip(redacted) {
                    missing(item, redacted, out);
                }
            }
            (value, redacted) if value != redacted => all(value, out),
            _ => {}
        }
    }
    let mut out = Vec::new();
    missing(value, redacted, &mut out);
    // Of two secrets that begin alike the longer one goes first.
    out.sort_by_key(|it| std::cmp::Reverse(it.len()));
    out.dedup();
    out
}

/// The text without these secrets.
pub(super) fn without(text: &str, secrets: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in secrets {
        if text.contains(secret.as_str()) {
            text = text.replace(secret.as_str(), REDACTED);
        }
    }
    text
}

/// A text for the caller.
pub(super) fn text(text: &str, secrets: &[String]) -> String {
    let text = without(text, secrets);
    if TRACES.iter().any(|it| text.contains(it)) {
        return "[stack trace removed]".to_owned();
    }
    cut(&without_paths(&text))
}

/// A text that is not longer than one may be.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The text with `[path]` in place of every absolute path.
fn without_paths(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut before = None;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let path = path_length(before, rest);
        let length = path.unwrap_or(first.len_utf8());
        if path.is_some() {
            clean.push_str("[path]");
        } else {
            clean.push(first);
        }
        let (taken, left) = rest.split_at(length);
        before = taken.chars().next_back();
        rest = left;
    }
    clean
}

/// The length of the absolute path that a text begins with, after this character.
fn path_length(before: Option<char>, text: &str) -> Option<usize> {
    // Not in the middle of a word, a relative path, or what follows the host of an address.
    let is_inside =
        |it: char| it.is_alphanumeric() || matches!(it, '.' | '_' | '-' | '~' | '/' | '\\');
    let is_file = text.starts_with("file://");
    if before.is_some_and(is_inside) {
        return None;
    }
    let ends = |it: char| it.is_whitespace() || it.is_control() || "\"'`<>()[]{}|,;".contains(it);
    let word = &text[..text.find(ends).unwrap_or(text.len())];
    // One ends before the colon of a message, or of the next path of a list.
    let from = if is_file {
        "file://".len()
    } else {
        2.min(word.len())
    };
    let colon = word.get(from..).and_then(|it| it.find(':'));
    let word = colon.map_or(word, |at| &word[..from + at]);
    let word = word.trim_end_matches(['.', '!', '?']);
    // Two or more levels, since `/` alone and `/tasks` are also resources of services.
    let levels = |it: &str| it.contains('/') && !it.starts_with('/');
    let unix = word.strip_prefix("~/").or_else(|| word.strip_prefix('/'));
    let drive = word.as_bytes();
    let is_windows = drive.len() > 2
        && drive[0].is_ascii_alphabetic()
        && drive[1] == b':'
        && matches!(drive[2], b'\\' | b'/');
    let is_path = is_file || unix.is_some_and(levels) || is_windows || word.starts_with("\\\\");
    is_path.then_some(word.len())
}

/// Details for the caller.
pub(super) fn details(details: Map<String, Value>, secrets: &[String]) -> Value {
    let clean = value(Value::Object(details), secrets, MAX_DEPTH);
    if clean.to_string().len() > MAX_DETAILS {
        return serde_json::json!({ "note": "the details were too long and were left out" });
    }
    clean
}

fn value(found: Value, secrets: &[String], levels: usize) -> Value {
    match found {
        Value::Array(_) | Value::Object(_) if levels == 0 => "[too deep]".into(),
        Value::String(found) => text(&found, secrets).into(),
        Value::Array(items) => {
            let items = items.into_iter().map(|it| value(it, secrets, levels - 1));
            items.collect::<Vec<_>>().into()
        }
        Value::Object(members) => {
            let members = members.into_iter().map(|(name, member)| {
                if is_secret_name(&name) {
                    return (text(&name, secrets), REDACTED.into());
                }
                (text(&name, secrets), value(member, secrets, levels - 1))
            });
            members.collect::<Map<_, _>>().into()
        }
        Value::Number(number) if holds_any(&number.to_string(), secrets) => REDACTED.into(),
        other => other,
    }
}

fn holds_any(text: &str, secrets: &[String]) -> bool {
    secrets.iter().any(|it| text.contains(it.as_str()))
}

fn is_secret_name(name: &str) -> bool {
    let name: String = name.chars().filter(|it| it.is_alphanumeric()).collect();
    let name = name.to_lowercase();
    name == "env" || name == "environ" || SECRET_NAMES.iter().any(|it| name.contains(it))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_lose_secrets_paths_and_traces() {
        let secrets = ["hunter22".to_owned()];
        for (found, clean) in [
            ("plain words", "plain words"),
            ("no user hunter22, sorry", "no user [redacted], sorry"),
            (
                "cannot open /var/lib/tasks.db: full",
                "cannot open [path]: full",
            ),
            ("cannot open '/var/lib/tasks.db'", "cannot open '[path]'"),
            (r"see C:\Users\x\tasks.db", "see [path]"),
            (r"see \\host\share", "see [path]"),
            ("~/notes/a is gone", "[path] is gone"),
            ("GET /tasks and /", "GET /tasks and /"),
            ("1/2 and a/b", "1/2 and a/b"),
            ("https://x.example/a/b", "https://x.example/a/b"),
            ("db=/srv/x/tasks.db, full", "db=[path], full"),
            ("open('/srv/x/tasks.db')", "open('[path]')"),
            (r#"{"at":"/srv/tasks.db"}"#, r#"{"at":"[path]"}"#),
            (
                "PATH=/usr/bin:/usr/local/bin:/bin",
                "PATH=[path]:[path]:/bin",
            ),
            ("see file:///srv/x.", "see [path]."),
            ("cannot open:/srv/x/y", "cannot open:[path]"),
            ("[C:/srv/x] \u{e4}/srv/x", "[[path]] \u{e4}/srv/x"),
            ("./a/b ../a/b a/b/c", "./a/b ../a/b a/b/c"),
            ("</a></b> 1/2/2026", "</a></b> 1/2/2026"),
            (
                "Traceback (most recent call last):\n  File x",
                "[stack trace removed]",
            ),
            ("Error: x\n    at f (file.js:1)", "[stack trace removed]"),
        ] {
            assert_eq!(text(found, &secrets), clean, "{found}");
        }
        assert_eq!(text(&"ä".repeat(600), &[]).chars().count(), MAX_TEXT + 1);
    }

    #[test]
    fn details_lose_what_their_names_call_secret() {
        let found = json!({
            "field": "title", "Access-Token": "abc", "nested": [{"api_key": 1, "n": 2}],
            "pin": 12_345_678, "hunter22": "hunter22", "environ": {"HOME": "/root"}
        });
        let Value::Object(found) = found else {
            unreachable!()
        };
        let secrets = ["hunter22".to_owned(), "12345678".to_owned()];
        let clean = details(found, &secrets);
        assert_eq!(
            clean,
            json!({
                "field": "title", "Access-Token": REDACTED, "nested": [{"api_key": REDACTED, "n": 2}],
                "pin": REDACTED, REDACTED: REDACTED, "environ": REDACTED
            })
        );
    }

    #[test]
    fn details_are_bounded() {
        let deep = (0..20).fold(json!(1), |deep, _| json!({ "a": deep }));
        let Value::Object(deep) = deep else {
            unreachable!()
        };
        assert!(details(deep, &[]).to_string().contains("[too deep]"));
        let long = (0..100).map(|it| (it.to_string(), "x".repeat(400).into()));
        let long: Map<_, _> = long.collect();
        assert!(details(long, &[]).to_string().len() < 200);
    }

    #[test]
    fn secrets_are_what_redaction_takes_away() {
        let value =
            json!({"a": "open", "p": "hunter22", "deep": {"list": ["abcdef", "x"], "n": 123_456}});
        let redacted = json!({"a": "open", "p": REDACTED, "deep": REDACTED});
        assert_eq!(secrets(&value, &redacted), ["hunter22", "abcdef", "123456"]);
        assert_eq!(secrets(&value, &value), [""; 0]);
        let value = json!({ "p": "q\"ä😀" });
        let redacted = json!({ "p": REDACTED });
        assert_eq!(
            secrets(&value, &redacted),
            [r#"q\"\u00e4\ud83d\ude00"#, "q\\\"ä😀", "q\"ä😀"]
        );
    }
}
