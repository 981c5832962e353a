//! Schemas that are taken and refused, values that are valid and not, and what is redacted.

use serde_json::{Value, json};

use super::*;

fn problems_of(schema: Value) -> Vec<(String, String)> {
    let problems = Schema::new(schema).err().unwrap_or_default();
    let pairs = problems.into_iter().map(|it| (it.pointer, it.message));
    pairs.collect()
}

fn schema(document: Value) -> Schema {
    Schema::new(document).expect("a schema")
}

#[test]
fn sound_schemas_are_taken() {
    for sound in [
        json!({}),
        json!(true),
        json!({"type": "object", "properties": {"a": {"type": "string", "format": "uuid"}}}),
        json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://x.example/s"}),
        json!({"$defs": {"t": {"properties": {"next": {"$ref": "#/$defs/t"}}}}, "$ref": "#/$defs/t"}),
        json!({"properties": {"a/b~c": {"$ref": "#/$defs/x~1y"}}, "$defs": {"x/y": {}}}),
        json!({"properties": {"a": {"$ref": "#/%24defs/x"}}, "$defs": {"x": false}}),
        // Names of members are no keywords.
        json!({"properties": {"$ref": {"type": "string"}, "$anchor": {}, "$id": {}}}),
        json!({"const": {"$ref": "http://x.example"}, "enum": [{"$anchor": "a"}], "default": {"$id": 1}}),
    ] {
        assert_eq!(problems_of(sound.clone()), [], "{sound}");
    }
}

#[test]
fn what_is_wrong_with_a_schema_has_its_place() {
    for (wrong, pointer, part) in [
        (json!([]), "", "not"),
        (json!({"type": "strin"}), "/type", "unknown type"),
        (
            json!({"properties": {"a": {"minLength": -1}}}),
            "/properties/a/minLength",
            "minimum",
        ),
        (
            json!({"properties": {"a": {"pattern": "(a"}}}),
            "/properties/a/pattern",
            "regex",
        ),
        (
            json!({"properties": {"a": {"pattern": "(?=a)"}}}),
            "/properties/a/pattern",
            "regex",
        ),
        (
            json!({"$ref": "https://x.example/s"}),
            "/$ref",
            "same schema",
        ),
        (json!({"$ref": "other.json#/a"}), "/$ref", "same schema"),
        (
            json!({"items": {"$ref": "file:///etc/passwd"}}),
            "/items/$ref",
            "same schema",
        ),
        (
            json!({"items": {"$ref": "#/$defs/none"}}),
            "/items/$ref",
            "no schema",
        ),
        (
            json!({"items": {"$ref": "#/title"}, "title": "x"}),
            "/items/$ref",
            "no schema",
        ),
        (
            json!({"items": {"$ref": "#name"}}),
            "/items/$ref",
            "no schema",
        ),
        (
            json!({"items": {"$anchor": "a"}}),
            "/items/$anchor",
            "not supported",
        ),
        (
            json!({"$dynamicRef": "#a"}),
            "/$dynamicRef",
            "not supported",
        ),
        (
            json!({"items": {"$id": "https://x.example/"}}),
            "/items/$id",
            "top only",
        ),
        (
            json!({"$schema": "http://json-schema.org/draft-07/schema#"}),
            "/$schema",
            "2020-12",
        ),
        (json!({"$ref": "#"}), "", "without end"),
        (
            json!({"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"not": {"$ref": "#"}}}}),
            "",
            "without end",
        ),
        (
            json!({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}}),
            "/$defs/a",
            "without end",
        ),
        (json!({"description": "x".repeat(MAX_BYTES)}), "", "bytes"),
        (
            json!({"enum": (0..MAX_NODES).collect::<Vec<_>>()}),
            "",
            "values",
        ),
    ] {
        let found = problems_of(wrong.clone());
        let is_meant = |it: &(String, String)| it.0 == pointer && it.1.contains(part);
        assert!(found.iter().any(is_meant), "{wrong}: {found:?}");
    }
    let deep = (0..MAX_DEPTH).fold(json!({}), |deep, _| json!({"items": deep}));
    assert!(problems_of(deep)[0].1.contains("levels"));
}

#[test]
fn values_are_validated_and_never_repeated() {
    let schema = schema(json!({
        "type": "object",
        "properties": {
            "email": {"type": "string", "pattern": "^[^@]+@[^@]+$"},
            "password": {"type": "string", "minLength": 8, "format": "password"},
            "id": {"type": "string", "format": "uuid"},
            "at": {"type": ["string", "null"], "format": "date-time"},
            "kind": {"enum": ["a", "b"]}
        },
        "required": ["email"],
        "additionalProperties": false
    }));
    for sound in [
        json!({"email": "a@b"}),
        json!({"email": "a@b", "at": null, "id": "550e8400-e29b-41d4-a716-446655440000"}),
        json!({"email": "a@b", "at": "2026-01-12T10:00:00Z"}),
    ] {
        assert_eq!(schema.problems(&sound), [], "{sound}");
    }
    for (wrong, pointer) in [
        (json!({}), ""),
        (json!([]), ""),
        (json!({"email": "secretive"}), "/email"),
        (json!({"email": "a@b", "password": "hunter2"}), "/password"),
        (json!({"email": "a@b", "id": "hunter2"}), "/id"),
        (json!({"email": "a@b", "at": "hunter2"}), "/at"),
        (json!({"email": "a@b", "kind": "hunter2"}), "/kind"),
    ] {
        let problems = schema.problems(&wrong);
        assert_eq!(problems[0].pointer, pointer, "{wrong}");
        let text = problems.iter().map(ToString::to_string).collect::<String>();
        assert!(
            !text.contains("hunter2") && !text.contains("secretive"),
            "{text}"
        );
    }
}

/// A schema that doubles at each level of the value.
#[test]
fn values_that_take_too_many_steps_are_refused() {
    let schema = schema(json!({
        "properties": {"x": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}},
        "format": "nothing"
    }));
    let nested = |depth| (0..depth).fold(json!(1), |deep, _| json!({"x": deep}));
    assert_eq!(schema.problems(&nested(10)), []);
    let problems = schema.problems(&nested(60));
    assert!(problems[0].message.contains("too deep"), "{problems:?}");
    assert_eq!(schema.redact(&nested(60)), json!(REDACTED));
    assert_eq!(schema.redact(&nested(10)), nested(10));
}

/// Steps are also what patterns, lists of choices and names of members take.
#[test]
fn small_schemas_that_take_long_are_counted() {
    let patterns: Vec<Value> = (0..500)
        .map(|it| json!({"pattern": format!("a.*{it}$")}))
        .collect();
    let choices: Vec<Value> = (0..1600).map(Value::from).collect();
    let names: serde_json::Map<String, Value> =
        (0..2000).map(|it| (format!("a{it}"), json!(1))).collect();
    for (document, small, large) in [
        (
            json!({"allOf": patterns}),
            json!("b".repeat(1_000)),
            json!("b".repeat(1 << 20)),
        ),
        (
            json!({"items": {"enum": choices}}),
            json!([1, 2, 3]),
            json!(vec![1; 10_000]),
        ),
        (
            json!({"propertyNames": {"allOf": patterns}}),
            json!({"a": 1}),
            Value::Object(names),
        ),
    ] {
        let schema = schema(document);
        let is_refused = |value| {
            let problems = schema.problems(value);
            problems.iter().any(|it| it.message.contains("too large"))
        };
        assert!(!is_refused(&small), "{small}");
        assert!(is_refused(&large));
    }
}

#[test]
fn patterns_take_linear_time() {
    let schema = schema(json!({"type": "string", "pattern": "^(a+)+$"}));
    let value = json!(format!("{}b", "a".repeat(100_000)));
    assert_eq!(schema.problems(&value).len(), 1);
}

#[test]
fn secrets_are_found_in_every_branch() {
    for (document, value, redacted) in [
        (
            json!({"properties": {"p": {"format": "password"}, "q": {"writeOnly": true}, "r": {"writeOnly": false}}}),
            json!({"p": "x", "q": {"deep": [1]}, "r": "y", "s": 1}),
            json!({"p": REDACTED, "q": REDACTED, "r": "y", "s": 1}),
        ),
        (
            json!({"items": {"$ref": "#/$defs/user"}, "$defs": {"user": {"properties": {"p": {"writeOnly": true}}}}}),
            json!([{"p": 1, "n": 2}, {"p": null}]),
            json!([{"p": REDACTED, "n": 2}, {"p": REDACTED}]),
        ),
        (
            json!({"anyOf": [{"properties": {"p": {"writeOnly": true}}}, {}]}),
            json!({"p": 1}),
            json!({"p": REDACTED}),
        ),
        (
            json!({"if": {"properties": {"p": {"format": "password"}}}, "else": {"prefixItems": [{"writeOnly": true}]}}),
            json!(["a", "b"]),
            json!([REDACTED, "b"]),
        ),
        (
            json!({"additionalProperties": {"writeOnly": true}, "properties": {"n": {}}}),
            json!({"n": 1, "other": 2}),
            json!({"n": 1, "other": REDACTED}),
        ),
        (
            json!({"patternProperties": {"^x": {"writeOnly": true}}}),
            json!({"xa": 1}),
            json!({"xa": REDACTED}),
        ),
        (json!({"writeOnly": true}), json!({"a": 1}), json!(REDACTED)),
        (json!(true), json!({"a": 1}), json!({"a": 1})),
    ] {
        assert_eq!(
            schema(document.clone()).redact(&value),
            redacted,
            "{document}"
        );
    }
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-z$#/]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 5, |inner| {
            let keys = prop_oneof![
                "[a-c]".prop_map(|it| it),
                prop::sample::select(vec![
                    "type",
                    "properties",
                    "items",
                    "allOf",
                    "$ref",
                    "$defs",
                    "not",
                    "if",
                    "enum",
                    "pattern",
                    "required",
                    "minLength",
                    "unevaluatedProperties",
                    "format",
                ])
                .prop_map(str::to_owned),
            ];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((keys, inner), 0..5)
                    .prop_map(|it| Value::Object(it.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// Whatever the author and the client write, there is an answer.
        #[test]
        fn no_schema_and_no_value_ends_the_process(document in any_json(), value in any_json()) {
            if let Ok(schema) = Schema::new(document) {
                let _ = schema.problems(&value);
                let _ = schema.redact(&value);
            }
        }
    }
}
