//! By what a repeated input is recognized.

use serde_json::Value;
use skillbundle_format::sha256;

/// SHA-256 of a value whatever the order of its keys. It is stored, so it is taken of what is
/// redacted: from the digest of a password the password could be guessed.
pub(super) fn digest(value: &Value) -> [u8; 32] {
    fn write(value: &Value, out: &mut String) {
        match value {
            Value::Object(map) => {
                let mut members: Vec<_> = map.iter().collect();
                members.sort_by_key(|it| it.0);
                out.push('{');
                for (name, member) in members {
                    out.push_str(&Value::from(name.as_str()).to_string());
                    out.push(':');
                    write(member, out);
                    out.push(',');
                }
                out.push('}');
            }
            Value::Array(items) => {
                out.push('[');
                for item in items {
                    write(item, out);
                    out.push(',');
                }
                out.push(']');
            }
            other => out.push_str(&other.to_string()),
        }
    }
    let mut text = String::new();
    write(value, &mut text);
    sha256(text.as_bytes())
}
