//! A diagnostic as one JSON object. Lines and columns count from 1; `column`
//! counts characters, `byte_column` counts bytes, `start` and `end` are byte
//! offsets. A key without a value is left out.

use serde_json::{Map, Value, json};

use crate::diagnostic::{Diagnostic, Related, Span};

pub(super) fn render(it: &Diagnostic) -> Value {
    let mut object = Map::new();
    object.insert("code".into(), it.code.as_str().into());
    object.insert("severity".into(), it.severity.as_str().into());
    object.insert("file".into(), it.file.as_str().into());
    insert_span(&mut object, it.span.as_ref());
    object.insert("message".into(), it.message.as_str().into());
    if let Some(help) = &it.help {
        object.insert("help".into(), help.as_str().into());
    }
    if !it.related.is_empty() {
        let related = it.related.iter().map(|other| related(other, &it.file));
        object.insert("related".into(), related.collect());
    }
    if let Some(fix) = &it.fix {
        let mut edit = Map::new();
        insert_span(&mut edit, Some(&fix.span));
        edit.insert("replacement".into(), fix.replacement.as_str().into());
        object.insert("fix".into(), edit.into());
    }
    object.into()
}

fn related(it: &Related, own_file: &str) -> Value {
    let mut object = Map::new();
    object.insert("file".into(), it.file.as_deref().unwrap_or(own_file).into());
    insert_span(&mut object, it.span.as_ref());
    object.insert("message".into(), it.message.as_str().into());
    object.into()
}

fn insert_span(object: &mut Map<String, Value>, span: Option<&Span>) {
    let Some(span) = span else { return };
    for (key, value) in [
        ("line", span.line),
        ("column", span.column),
        ("byte_column", span.byte_column),
        ("end_line", span.end_line),
        ("end_column", span.end_column),
        ("end_byte_column", span.end_byte_column),
        ("start", span.start),
        ("end", span.end),
    ] {
        object.insert(key.into(), json!(value));
    }
}
