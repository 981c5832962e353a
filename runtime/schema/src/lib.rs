//! JSON Schema (draft 2020-12) for what skills take and return.
//!
//! A schema comes from the author of a skill and a value from a client, and both are validated in
//! the server's process. So a [`Schema`] is bounded: it fetches nothing (`$ref` leads to places in
//! the same schema), its regular expressions run in linear time, it does not recurse without end,
//! and a value that would take too many steps is refused before it is validated.
//!
//! The rules of the draft are those of the crate `jsonschema`; here are the bounds, the positions of
//! what is wrong, and the values that nobody may read in a log.

mod check;
mod walk;

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::Value;

pub use check::{MAX_BYTES, MAX_DEPTH, MAX_NODES};
pub use walk::MAX_STEPS;

/// What stands in place of a value that is redacted.
pub const REDACTED: &str = "[redacted]";

/// Violations that are reported of one value. More would not help to fix it.
const MOST_VIOLATIONS: usize = 8;

/// A schema that has been checked.
#[derive(Debug)]
pub struct Schema {
    document: Value,
    validator: Validator,
}

/// What is wrong with a schema, or with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where, as a JSON Pointer (RFC 6901); empty is the whole.
    pub pointer: String,
    /// What is wrong, without any text of a value.
    pub message: String,
}

impl Schema {
    /// Checks a schema and makes it ready for use.
    ///
    /// # Errors
    /// Everything that is wrong with it: keywords that the draft does not allow there, references
    /// that lead elsewhere or nowhere, recursion that no value ends, regular expressions with
    /// look-around or back references, and what is beyond the bounds.
    pub fn new(document: Value) -> Result<Self, Vec<Problem>> {
        let problems = check::problems(&document);
        if !problems.is_empty() {
            return Err(problems);
        }
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .should_validate_formats(true)
            .with_pattern_options(PatternOptions::regex())
            .build(&document);
        match validator {
            Ok(validator) => Ok(Self {
                document,
                validator,
            }),
            Err(error) => Err(vec![Problem {
                pointer: error.instance_path().to_string(),
                message: error.to_string(),
            }]),
        }
    }

    /// The schema as it was given.
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// What is wrong with a value; empty if it is valid. No message repeats any part of the value.
    pub fn problems(&self, value: &Value) -> Vec<Problem> {
        if let Err(problem) = walk::steps(&self.document, value) {
            return vec![problem];
        }
        let errors = self.validator.iter_errors(value).take(MOST_VIOLATIONS);
        errors
            .map(|error| Problem {
                pointer: error.instance_path().to_string(),
                message: error.masked().to_string(),
            })
            .collect()
    }

    /// The value with [`REDACTED`] in place of everything that the schema marks by `writeOnly: true`
    /// or `format: password`, in any branch of it. A value that would take too many steps is
    /// redacted as a whole.
    pub fn redact(&self, value: &Value) -> Value {
        walk::redact(&self.document, value)
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.pointer.as_str() {
            "" => f.write_str(&self.message),
            pointer => write!(f, "{pointer}: {}", self.message),
        }
    }
}

#[cfg(test)]
mod tests;
