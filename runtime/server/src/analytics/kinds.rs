//! The one table of analytics events: spec 3 §10.2, and two of our own for the tools that it does not
//! have. What sends events, what describes them and what counts them all read it.

/// A kind of analytics event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventType {
    /// Its name, such as `skill_served`.
    pub name: &'static str,
    /// What happened, as a phrase.
    pub meaning: &'static str,
    /// The keys of its `data`, in their order. Every event has all of them; a value that is not known
    /// is null.
    pub fields: &'static [&'static str],
    /// Those of the fields that hold what a person or an agent has written. In events that are sent
    /// they are null, unless the operator has asked for texts (`analytics.texts`).
    pub texts: &'static [&'static str],
    /// An example of its `data`, as JSON.
    pub example: &'static str,
}

/// Every kind of event.
pub static EVENT_TYPES: &[EventType] = &[
    EventType {
        name: "no_match",
        meaning: "`get_skill` found no skill for a request",
        fields: &["context"],
        texts: &["context"],
        example: r#"{"context":"rotate the signing keys"}"#,
    },
    EventType {
        name: "ambiguous",
        meaning: "`get_skill` found several skills that fit equally well",
        fields: &["context", "candidates"],
        texts: &["context"],
        example: r#"{"context":"fill in a form","candidates":["pdf/forms","ui/forms"]}"#,
    },
    EventType {
        name: "skill_served",
        meaning: "`get_skill` answered with a skill",
        fields: &[
            "context",
            "skill_path",
            "score",
            "matched_keywords",
            "was_ambiguous",
        ],
        texts: &["context"],
        example: r#"{"context":"fill in a PDF form","skill_path":"pdf/forms","score":0.8,"matched_keywords":["pdf","form"],"was_ambiguous":false}"#,
    },
    EventType {
        name: "asset_served",
        meaning: "`get_asset` answered with a file of a skill",
        fields: &[
            "skill_path",
            "file",
            "asset_type",
            "is_inherited",
            "size_bytes",
        ],
        texts: &[],
        example: r#"{"skill_path":"pdf/forms","file":"fields.md","asset_type":"template","is_inherited":false,"size_bytes":1840}"#,
    },
    EventType {
        name: "script_executed",
        meaning: "a script of a skill has run, by `run_script` or for an invocation; whether it had arguments, not which",
        fields: &[
            "skill_path",
            "file",
            "execution_mode",
            "success",
            "exit_code",
            "duration_ms",
            "args_provided",
        ],
        texts: &[],
        example: r#"{"skill_path":"pdf/forms","file":"fill.py","execution_mode":"server","success":true,"exit_code":0,"duration_ms":412,"args_provided":true}"#,
    },
    EventType {
        name: "skill_feedback",
        meaning: "`report_usage` said whether a skill was useful",
        fields: &["skill_path", "useful", "comment"],
        texts: &["comment"],
        example: r#"{"skill_path":"pdf/forms","useful":true,"comment":"worked at once"}"#,
    },
    EventType {
        name: "refresh",
        meaning: "`refresh_skills` had the skills read again",
        fields: &[
            "mode",
            "success",
            "commit_hash",
            "files_changed",
            "skills_reindexed",
        ],
        texts: &[],
        example: r#"{"mode":"git","success":true,"commit_hash":"4f2a9c1","files_changed":3,"skills_reindexed":42}"#,
    },
    EventType {
        name: "skill_loaded",
        meaning: "a skill was read by its name: by `skill`, `resources/read` or `prompts/get`",
        fields: &["skill_path", "tool"],
        texts: &[],
        example: r#"{"skill_path":"pdf/forms","tool":"skill"}"#,
    },
    EventType {
        name: "skills_offered",
        meaning: "a search answered with skills to choose from",
        fields: &["context", "tool", "candidates"],
        texts: &["context"],
        example: r#"{"context":"spreadsheets","tool":"skills_search","candidates":["office/xlsx","data/csv"]}"#,
    },
];

impl EventType {
    /// The kind of event with this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        EVENT_TYPES.iter().find(|it| it.name == name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Map, Value};

    use super::*;

    #[test]
    fn examples_have_exactly_the_fields_of_their_type() {
        for it in EVENT_TYPES {
            let example: Map<String, Value> = serde_json::from_str(it.example).unwrap();
            let keys: Vec<&str> = example.keys().map(String::as_str).collect();
            assert_eq!(keys, it.fields, "{}", it.name);
            let mut texts = it.texts.iter();
            assert!(texts.all(|text| example[*text].is_string()), "{}", it.name);
        }
    }

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<&str> = EVENT_TYPES.iter().map(|it| it.name).collect();
        assert_eq!(names.len(), EVENT_TYPES.len());
        assert_eq!(EventType::find("refresh").unwrap().fields[0], "mode");
        assert_eq!(EventType::find("no such"), None);
    }
}
