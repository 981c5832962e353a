//! A diagnostic as one JSON object. Lines and columns count from 1; `column`
//! counts characters, `byte_column` counts bytes, `start` and `end` are byte
//! offsets. A key without a value is left out.

use serde_json::{Map, Value, json};

use super::Report;
use crate::diagnostic::{Diagnostic, Edit, Related, Span};

pub(super) fn render(report: &Report, it: &Diagnostic) -> Value {
    let file = it.file.as_str();
    let mut object = Map::new();
    object.insert("code".into(), it.code.as_str().into());
    object.insert("severity".into(), it.severity.as_str().into());
    let profiles = it.profiles.iter().map(|it| it.as_str());
    object.insert("profiles".into(), profiles.collect());
    object.insert("file".into(), file.into());
    insert_span(&mut object, report, file, it.span);
    object.insert("message".into(), it.message.as_str().into());
    if let Some(help) = &it.help {
        object.insert("help".into(), help.as_str().into());
    }
    if !it.related.is_empty() {
        let related = it.related.iter().map(|other| related(report, other, it));
        object.insert("related".into(), related.collect());
    }
    if let Some(fix) = &it.fix {
        let edit = |it: &Edit| edit(report, file, it);
        let fix = json!({
            "applicability": fix.applicability.as_str(),
            "edits": fix.edits.iter().map(edit).collect::<Value>(),
        });
        object.insert("fix".into(), fix);
    }
    object.into()
}

fn edit(report: &Report, file: &str, it: &Edit) -> Value {
    let mut object = Map::new();
    insert_span(&mut object, report, file, Some(it.span));
    object.insert("replacement".into(), it.replacement.as_str().into());
    object.into()
}

fn related(report: &Report, it: &Related, owner: &Diagnostic) -> Value {
    let file = it.file.as_deref().unwrap_or(&owner.file);
    let mut object = Map::new();
    object.insert("file".into(), file.into());
    insert_span(&mut object, report, file, it.span);
    object.insert("message".into(), it.message.as_str().into());
    object.into()
}

fn insert_span(object: &mut Map<String, Value>, report: &Report, file: &str, span: Option<Span>) {
    let Some(span) = span else { return };
    if let Some(at) = report.locate(file, Some(span)) {
        for (key, value) in [
            ("line", at.line),
            ("column", at.column),
            ("byte_column", at.byte_column),
            ("end_line", at.end_line),
            ("end_column", at.end_column),
            ("end_byte_column", at.end_byte_column),
        ] {
            object.insert(key.into(), json!(value));
        }
    }
    object.insert("start".into(), json!(span.start));
    object.insert("end".into(), json!(span.end));
}
