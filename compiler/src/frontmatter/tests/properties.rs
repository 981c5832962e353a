//! What holds for any input at all.

use proptest::prelude::*;

use super::super::*;

/// Pieces that frontmatter breaks at, so that random files reach the repairs.
const PIECES: &[&str] = &[
    "---",
    "\n",
    "\r\n",
    "\r",
    " ",
    "  ",
    "\t",
    ": ",
    ":",
    "- ",
    "#",
    " # ",
    "\"",
    "'",
    "[",
    "]",
    "{",
    "}",
    ",",
    "|",
    ">",
    "|-\n",
    "&a",
    "*a",
    "<<",
    "!x ",
    "!!str ",
    "%",
    "@",
    "`",
    "?",
    "? ",
    "\\",
    "name",
    "allowed-tools",
    "a",
    "1.0",
    "é",
    "日",
    "\u{feff}",
    "\0",
    "\u{80}",
    "\u{e0041}",
    "...",
    "text of words",
];

fn file() -> impl Strategy<Value = String> {
    let piece = proptest::sample::select(PIECES);
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// What must hold of every answer.
fn check(source: &[u8]) -> Result<(), TestCaseError> {
    let (document, found) = parse("f", source);
    for finding in &found {
        let span = finding.span.unwrap_or(Span::from(0..0));
        prop_assert!(span.end <= source.len() && span.start <= span.end);
        prop_assert!(!finding.message.is_empty());
        if let Some(fix) = &finding.fix {
            let mut edits = fix.edits.iter();
            prop_assert!(edits.all(|it| it.span.end <= source.len()));
        }
    }
    let Some(document) = document else {
        prop_assert!(!found.is_empty(), "what is not served has a reason");
        return Ok(());
    };
    prop_assert!(document.body.start <= document.body.end && document.body.end == source.len());
    prop_assert!(document.text_start <= document.body.start);
    let json: Result<serde_json::Value, _> = serde_json::from_str(&document.to_json());
    prop_assert!(json.is_ok_and(|json| json.is_object()));
    let fields = document.fields();
    for entry in fields.entries() {
        let key = &entry.key.text;
        let mut out = Vec::new();
        fields.text(key, &mut out);
        fields.list(key, &mut out);
        fields.bool(key, &mut out);
        fields.number(key, &mut out);
        fields.tool_list(key, &mut out);
        prop_assert!(fields.value_span(key).is_some());
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_bytes_are_accepted(source in proptest::collection::vec(any::<u8>(), 0..300)) {
        check(&source)?;
    }

    #[test]
    fn any_frontmatter_is_accepted(text in file()) {
        check(text.as_bytes())?;
        check(format!("---\n{text}\n---\nbody").as_bytes())?;
        parse_yaml("f", text.as_bytes());
    }

    #[test]
    fn quoted_text_comes_back(text in any::<String>()) {
        let source = format!("---\nv: {}\n---\n", quote(&text));
        let (document, _) = parse("f", source.as_bytes());
        let value = document.and_then(|it| it.fields().text("v", &mut Vec::new()));
        prop_assert_eq!(value, Some(text));
    }

    #[test]
    fn json_text_is_yaml_text(text in "\\PC{0,60}") {
        let source = format!("---\nv: {}\n---\n", serde_json::Value::from(text.as_str()));
        let (document, _) = parse("f", source.as_bytes());
        let value = document.and_then(|it| it.fields().text("v", &mut Vec::new()));
        prop_assert_eq!(value, Some(text));
    }

    #[test]
    fn an_unquoted_line_loses_nothing(text in "[A-Za-z@*&!%`\"'\\[{(][A-Za-z0-9 :,.'\"(){}\\[\\]*&!@`%|>?/-]{0,60}[a-z.]") {
        // Together they can be an alias with its anchor, which is refused.
        let text = if text.contains('*') { text.replace('&', "+") } else { text };
        let source = format!("---\nbefore: 1\nv: {text}\nallowed-tools: Read\n---\n");
        let (document, found) = parse("f", source.as_bytes());
        prop_assert!(document.is_some(), "{:?}", found);
        let document = document.unwrap();
        prop_assert_eq!(document.fields().tool_list("allowed-tools", &mut Vec::new()), Some(vec!["Read".to_owned()]));
        if !found.is_empty() {
            prop_assert_eq!(document.fields().text("v", &mut Vec::new()), Some(text));
        }
    }
}
