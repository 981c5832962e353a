//! Tests of typed skills that need no client: properties that hold for every schema, input, output
//! and secret.

use proptest::prelude::*;
use serde_json::json;
use skillbundle_exec::{Captured, Isolation, Outcome};
use skillbundle_format::{
    Bundle, Category, ContractEntry, Execution, FileEntry, Role, SkillEntry, write,
};
use skillbundle_schema::Schema;

use super::*;
use crate::scripts::ScriptOptions;
use crate::testing::{file, folder, set};

/// A member of an object: what the schema says of it, and a test of its own for values.
#[derive(Debug, Clone)]
enum Kind {
    Between(i64, i64),
    Text(usize, usize),
    OneOf(Vec<String>),
    Nothing,
}

impl Kind {
    fn schema(&self) -> Value {
        match self {
            Self::Between(least, most) => {
                json!({ "type": "integer", "minimum": least, "maximum": most })
            }
            Self::Text(least, most) => {
                json!({ "type": "string", "minLength": least, "maxLength": most })
            }
            Self::OneOf(words) => json!({ "enum": words }),
            Self::Nothing => json!({ "type": "null" }),
        }
    }

    /// Written without any library of schemas.
    fn takes(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Between(least, most), Value::Number(it)) => {
                it.as_i64().is_some_and(|it| (*least..=*most).contains(&it))
            }
            (Self::Text(least, most), Value::String(it)) => {
                (*least..=*most).contains(&it.chars().count())
            }
            (Self::OneOf(words), Value::String(it)) => words.contains(it),
            (Self::Nothing, Value::Null) => true,
            _ => false,
        }
    }
}

/// The members `a` to `c` of an object, and whether others are allowed.
#[derive(Debug, Clone)]
struct Shape {
    members: Vec<(Kind, bool)>,
    is_open: bool,
}

const NAMES: [&str; 4] = ["a", "b", "c", "other"];

impl Shape {
    fn schema(&self) -> Value {
        let members = NAMES.iter().zip(&self.members);
        let required = members.clone().filter(|it| it.1.1).map(|it| *it.0);
        json!({
            "type": "object",
            "required": required.collect::<Vec<_>>(),
            "properties": members.map(|(name, it)| ((*name).to_owned(), it.0.schema())).collect::<Map<_, _>>(),
            "additionalProperties": self.is_open
        })
    }

    fn takes(&self, value: &Value) -> bool {
        let Value::Object(found) = value else {
            return false;
        };
        let others = found
            .keys()
            .any(|it| !NAMES[..self.members.len()].contains(&it.as_str()));
        (self.is_open || !others)
            && NAMES
                .iter()
                .zip(&self.members)
                .all(|(name, (kind, is_required))| {
                    found.get(*name).map_or(!is_required, |it| kind.takes(it))
                })
    }
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        (-3i64..3, 0i64..4).prop_map(|(least, more)| Kind::Between(least, least + more)),
        (0usize..3, 0usize..3).prop_map(|(least, more)| Kind::Text(least, least + more)),
        prop::collection::vec("[xyä]{0,2}", 1..4).prop_map(Kind::OneOf),
        Just(Kind::Nothing),
    ]
}

fn shape() -> impl Strategy<Value = Shape> {
    let members = prop::collection::vec((kind(), any::<bool>()), 0..=3);
    (members, any::<bool>()).prop_map(|(members, is_open)| Shape { members, is_open })
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-5i64..5).prop_map(Value::from),
        "[xyä]{0,4}".prop_map(Value::from),
    ]
}

fn object() -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::btree_map(prop::sample::select(&NAMES[..]), leaf(), 0..=4).prop_map(|it| {
        it.into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    })
}

fn any_json() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-d]", inner, 0..4)
                .prop_map(|it| Value::Object(it.into_iter().collect())),
        ]
    })
}

/// The same value with the keys of every object the other way round.
fn turned(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(turned).collect(),
        Value::Object(map) => {
            let members = map.iter().rev();
            members
                .map(|(name, it)| (name.clone(), turned(it)))
                .collect::<Map<_, _>>()
                .into()
        }
        other => other.clone(),
    }
}

/// A skill `it` with this input schema.
fn bundle(input: &Value) -> Bundle {
    let contract = ContractEntry {
        category: Category::Execution,
        assigned_to: vec!["A".to_owned()],
        input_schema: input.to_string(),
        output_schema: r#"{"type":"object"}"#.to_owned(),
        success_criteria: Vec::new(),
        failure_modes: Vec::new(),
        timeout_seconds: 30,
        handler: Some("run.sh".to_owned()),
    };
    let script = FileEntry {
        execution: Execution::Server,
        ..file("run.sh", Role::Script, Some(b"true"))
    };
    let skill = SkillEntry {
        contract: Some(contract),
        files: vec![script],
        ..folder("it", "Does it", "Text\n")
    };
    let bytes = write(&set(vec![skill])).expect("consistent");
    Bundle::from_bytes(&bytes).expect("intact")
}

/// Begins an invocation; whether its handler is to run, or the code of its failure.
fn begun(bundle: &Bundle, call: InvocationCall) -> Result<bool, Option<FailureCode>> {
    let invocations = Invocations::new(Scripts::new(ScriptOptions::default()), Journal::off());
    let catalog = bundle.catalog().expect("intact");
    let planned = invocations.plan(catalog, bundle.content_address(), |_| false, call);
    let planned = planned.expect("it can be invoked");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    match runtime
        .block_on(invocations.begin(planned))
        .expect("it begins")
    {
        Begun::Run(..) => Ok(true),
        Begun::Done(result) => Err(result.failure_code()),
    }
}

fn ended(exit_code: i32, stdout: &[u8]) -> Outcome {
    Outcome {
        exit_code: Some(exit_code),
        signal: None,
        stopped: None,
        stdout: Captured {
            head: stdout.to_vec(),
            tail: Vec::new(),
            total: stdout.len() as u64,
        },
        stderr: Captured::default(),
        duration: Duration::ZERO,
        cpu: Duration::ZERO,
        isolation: Isolation::Weak,
        killed: 0,
    }
}

/// What a handler may write.
fn stdout() -> impl Strategy<Value = Vec<u8>> {
    let code = prop::sample::select(&["NOT_FOUND", "TIMEOUT", "not_found", ""][..]);
    prop_oneof![
        4 => object().prop_map(|it| Value::Object(it).to_string().into_bytes()),
        1 => any_json().prop_map(|it| it.to_string().into_bytes()),
        1 => code.prop_map(|code| json!({ "failure": { "code": code } }).to_string().into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..20),
    ]
}

/// Every name and text in a value.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(map) => {
            let names = map.keys().cloned();
            names.chain(map.values().flat_map(texts)).collect()
        }
        Value::String(text) => vec![text.clone()],
        _ => Vec::new(),
    }
}

/// Upper case, so that none is part of what stands in its place.
fn secret() -> impl Strategy<Value = String> {
    "[A-F0-9\"\\\\Ä\n]{4,8}"
}

proptest! {
    #[test]
    fn a_handler_runs_for_what_its_schema_takes_and_for_nothing_else(shape in shape(), input in object()) {
        let bundle = bundle(&shape.schema());
        let takes = shape.takes(&Value::Object(input.clone()));
        for (agent, known) in [("A", None), ("A", Some("A")), ("B", None), ("A", Some("B"))] {
            let call = InvocationCall {
                skill: "it".to_owned(),
                input: input.clone(),
                agent: agent.to_owned(),
                known_agent: known.map(str::to_owned),
                ..InvocationCall::default()
            };
            let may = agent == "A" && known.is_none_or(|it| it == agent);
            let expected = match (may, takes) {
                (true, true) => Ok(true),
                (true, false) => Err(Some(FailureCode::ValidationError)),
                (false, _) => Err(Some(FailureCode::Unauthorized)),
            };
            prop_assert_eq!(begun(&bundle, call), expected);
        }
    }

    #[test]
    fn only_what_the_output_schema_takes_is_a_success(
        shape in shape(), stdout in stdout(), exit_code in prop::sample::select(&[0, 0, 1, 137][..])
    ) {
        let schemas = ContractSchemas {
            input: Schema::new(json!({})).expect("a schema"),
            output: Schema::new(shape.schema()).expect("a schema"),
        };
        let outcome = ended(exit_code, &stdout);
        let handler = HandlerOutcome { outcome: &outcome, limit: Duration::from_secs(1) };
        let written = serde_json::from_slice::<Value>(&stdout).ok();
        match outcome::read(&handler, &schemas, &[FailureCode::NotFound], &[]) {
            outcome::End::Completed(output) => {
                prop_assert_eq!(exit_code, 0);
                prop_assert!(shape.takes(&Value::Object(output.clone())));
                prop_assert_eq!(Some(Value::Object(output)), written);
            }
            outcome::End::Failed(failure) => {
                let is_success = exit_code == 0 && written.is_some_and(|it| shape.takes(&it));
                prop_assert!(!is_success);
                let allowed = [FailureCode::NotFound, FailureCode::InternalError];
                prop_assert!(allowed.contains(&failure.code));
            }
            outcome::End::TimedOut(_) => prop_assert!(false, "nothing timed out"),
        }
    }

    #[test]
    fn a_digest_is_of_the_value_and_not_of_the_order_of_its_keys(one in any_json(), other in any_json()) {
        prop_assert_eq!(digest(&one), digest(&turned(&one)));
        prop_assert_eq!(digest(&one) == digest(&other), one == other);
    }

    #[test]
    fn no_secret_is_left_in_what_a_caller_or_an_operator_reads(
        secrets in prop::collection::vec(secret(), 1..4),
        pieces in prop::collection::vec(("[a-zA-F0-9 /:'\n]{0,6}", 0usize..4), 0..8),
        key in 0usize..4,
        is_printed_as_json in any::<bool>(),
    ) {
        let input = json!({ "user": "ada", "p": secrets });
        let redacted = json!({ "user": "ada", "p": skillbundle_schema::REDACTED });
        let found = sanitize::secrets(&input, &redacted);
        let printed = |it: &String| {
            if is_printed_as_json { Value::from(it.as_str()).to_string() } else { it.clone() }
        };
        let all = pieces.iter().fold(String::new(), |all, (text, at)| {
            all + text + &secrets.get(*at).map(printed).unwrap_or_default()
        });
        let details = json!({
            "a": all, secrets.get(key).cloned().unwrap_or_default(): [all, { "b": all }],
        });
        let Value::Object(details) = details else { unreachable!() };
        let mut outcome = ended(1, b"");
        outcome.stderr.head = format!("{}{all}", "x".repeat(4080)).into_bytes();
        outcome.stderr.total = outcome.stderr.head.len() as u64;
        let schemas = ContractSchemas {
            input: Schema::new(json!({})).expect("a schema"),
            output: Schema::new(json!({})).expect("a schema"),
        };
        let handler = HandlerOutcome { outcome: &outcome, limit: Duration::from_secs(1) };
        let outcome::End::Failed(failure) = outcome::read(&handler, &schemas, &[], &found) else {
            panic!("it failed");
        };
        for read in [
            sanitize::text(&all, &found),
            sanitize::without(&all, &found),
            texts(&sanitize::details(details, &found)).join("\n"),
            failure.internal.unwrap_or_default(),
        ] {
            for secret in &found {
                prop_assert!(!read.contains(secret.as_str()), "{secret:?} in {read:?}");
            }
        }
    }

    /// Whatever a handler reports, what is left of it is bounded, and is left alone a second time.
    #[test]
    fn what_is_removed_stays_removed(text in "[a-z/~.:='\\\\ CäD\n]{0,60}") {
        let once = sanitize::text(&text, &[]);
        prop_assert_eq!(&sanitize::text(&once, &[]), &once);
        prop_assert!(!once.contains(" /a/b"));
    }
}
