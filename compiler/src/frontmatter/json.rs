//! The frontmatter as JSON, for hosts that compare it with their own reading.
//!
//! Typing follows the YAML 1.2 core schema: `version: 1.10` is the number
//! `1.10`, written with all its digits; `007` is `7`, `0x1F` is `31`; `on`,
//! `yes` and `2026-01-02` are text. `.inf`, `.nan` and numbers beyond the
//! range of a double become text, since JSON cannot say them.

use super::node::{Kind, Node, Style};
use super::typing::{self, Typed};

/// A value as compact JSON, typed as the head of this file says.
pub(crate) fn to_json(node: &Node) -> String {
    let mut json = String::new();
    write(node, &mut json);
    json
}

fn write(node: &Node, json: &mut String) {
    match &node.kind {
        Kind::Null => json.push_str("null"),
        Kind::Scalar {
            text,
            style: Style::Plain,
        } => write_plain(text, json),
        Kind::Scalar { text, .. } => write_text(text, json),
        Kind::Sequence(items) => {
            json.push('[');
            for (at, item) in items.iter().enumerate() {
                json.push_str(if at == 0 { "" } else { "," });
                write(item, json);
            }
            json.push(']');
        }
        Kind::Mapping(entries) => {
            json.push('{');
            for (at, entry) in entries.iter().enumerate() {
                json.push_str(if at == 0 { "" } else { "," });
                write_text(&entry.key.text, json);
                json.push(':');
                write(&entry.value, json);
            }
            json.push('}');
        }
    }
}

fn write_plain(word: &str, json: &mut String) {
    match typing::resolve(word) {
        Typed::Null => json.push_str("null"),
        Typed::Boolean(value) => json.push_str(if value { "true" } else { "false" }),
        Typed::Number(number) => json.push_str(&number),
        Typed::Unrepresentable | Typed::Text => write_text(word, json),
    }
}

fn write_text(text: &str, json: &mut String) {
    json.push_str(&serde_json::Value::from(text).to_string());
}
