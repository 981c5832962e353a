//! What a handler has answered: its exit code and its stdout, read by the skill's contract. A
//! handler succeeds by exit code 0 and an output that its schema accepts. It fails by another exit
//! code and `{"failure": {"code": …, "message": …, "details": …}}`, with a code that its contract
//! declares. Anything else is an internal error, whose reason only the operator sees.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};
use skillbundle_exec::{Captured, Outcome, Stopped};
use skillbundle_format::FailureCode;

use super::lifecycle::Failure;
use super::sanitize;
use super::schemas::ContractSchemas;

/// Bytes of a handler's stderr that the journal keeps: its end.
const KEPT_STDERR: usize = 4 * 1024;

/// How a handler ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HandlerOutcome<'a> {
    /// What came of its process.
    pub(crate) outcome: &'a Outcome,
    /// The time that it had.
    pub(crate) limit: Duration,
}

/// What that means for the invocation.
#[derive(Debug, PartialEq)]
pub(super) enum End {
    Completed(Map<String, Value>),
    Failed(Failure),
    TimedOut(Duration),
}

/// What a handler writes to report a failure.
#[derive(Deserialize)]
struct Reported {
    failure: ReportedFailure,
}

#[derive(Deserialize)]
struct ReportedFailure {
    code: String,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    details: Option<Map<String, Value>>,
}

pub(super) fn read(
    handler: &HandlerOutcome<'_>,
    schemas: &ContractSchemas,
    declared: &[FailureCode],
    secrets: &[String],
) -> End {
    let outcome = handler.outcome;
    let internal = |reason: &str| {
        let stderr = end_of(&outcome.stderr, secrets);
        let internal = match stderr.as_str() {
            "" => reason.to_owned(),
            stderr => format!("{reason}; stderr: {stderr}"),
        };
        End::Failed(Failure {
            internal: Some(sanitize::without(&internal, secrets)),
            ..Failure::new(FailureCode::InternalError, "")
        })
    };
    match outcome.stopped {
        Some(Stopped::TimedOut) => return End::TimedOut(handler.limit),
        Some(Stopped::Cancelled) => return internal("cancelled by the caller"),
        None => {}
    }
    if outcome.stdout.total > outcome.stdout.head.len() as u64 {
        let total = outcome.stdout.total;
        return internal(&format!(
            "the handler wrote {total} bytes to stdout, more than `scripts.max_output_bytes` allows"
        ));
    }
    let stdout = outcome.stdout.head.as_slice();
    match (outcome.exit_code, outcome.signal) {
        (Some(0), _) => match output(stdout, schemas) {
            Ok(output) => End::Completed(output),
            Err(reason) => internal(&reason),
        },
        (Some(code), _) => match reported(stdout, declared, secrets) {
            Ok(failure) => End::Failed(failure),
            Err(reason) => internal(&format!("exit code {code}: {reason}")),
        },
        (None, signal) => internal(&match signal {
            Some(signal) => format!("the handler was ended by signal {signal}"),
            None => "the handler was ended".to_owned(),
        }),
    }
}

/// The output, if it is what the contract promises.
fn output(stdout: &[u8], schemas: &ContractSchemas) -> Result<Map<String, Value>, String> {
    let value: Value = serde_json::from_slice(stdout)
        .map_err(|error| format!("stdout is not one JSON object: {error}"))?;
    let problems = schemas.output.problems(&value);
    if let Some(first) = problems.first() {
        return Err(format!(
            "the output does not match `output_schema`: {first}"
        ));
    }
    match value {
        Value::Object(output) => Ok(output),
        _ => Err("the output is not an object".to_owned()),
    }
}

/// The failure that a handler reports, if its contract declares it.
fn reported(
    stdout: &[u8],
    declared: &[FailureCode],
    secrets: &[String],
) -> Result<Failure, String> {
    let Reported { failure } = serde_json::from_slice(stdout)
        .map_err(|error| format!("stdout reports no failure: {error}"))?;
    let code = FailureCode::find(&failure.code).filter(|it| declared.contains(it));
    let Some(code) = code else {
        let name = sanitize::without(&failure.code, secrets);
        return Err(format!(
            "it reported the failure {name:?}, which its contract does not declare"
        ));
    };
    let detail = failure.message.unwrap_or_default();
    let detail = match detail.trim() {
        "" => "no details were given".to_owned(),
        detail => sanitize::text(detail, secrets),
    };
    let details = failure.details.map(|it| sanitize::details(it, secrets));
    Ok(Failure {
        details,
        ..Failure::new(code, &detail)
    })
}

/// The end of a stream as text. Secrets are removed before it is cut, since a cut through one would
/// hide it from the search and leave the rest of it.
fn end_of(stream: &Captured, secrets: &[String]) -> String {
    let (head, tail) = (stream.head.as_slice(), stream.tail.as_slice());
    let has_gap = stream.total > (head.len() + tail.len()) as u64;
    let all = if has_gap {
        // The tail may begin in the middle of one.
        let longest = secrets.iter().map(String::len).max().unwrap_or_default();
        tail.get(longest..).unwrap_or_default().to_vec()
    } else {
        [head, tail].concat()
    };
    let all = sanitize::without(&String::from_utf8_lossy(&all), secrets);
    let mut from = all.len().saturating_sub(KEPT_STDERR);
    while !all.is_char_boundary(from) {
        from += 1;
    }
    all[from..].trim().to_owned()
}
