//! The arguments of a tool call, read strictly: each error names the argument, what was expected and
//! what was found. The schemas in the tools' files tell the client the same.

use std::ops::RangeInclusive;

use rmcp::model::JsonObject;
use serde_json::Value;

use super::tool_result::{ToolError, shortened};

/// The arguments of one call.
#[derive(Clone, Copy)]
pub(crate) struct Arguments<'a>(&'a JsonObject);

impl<'a> Arguments<'a> {
    pub(crate) fn new(given: &'a JsonObject) -> Self {
        Self(given)
    }

    /// All of them.
    pub(crate) fn all(self) -> &'a JsonObject {
        self.0
    }

    /// Fails on any argument but these.
    pub(crate) fn only(self, known: &'static [&'static str]) -> Result<Self, ToolError> {
        match self.0.keys().find(|key| !known.contains(&key.as_str())) {
            Some(argument) => Err(ToolError::UnknownArgument {
                argument: shortened(argument),
                known,
            }),
            None => Ok(self),
        }
    }

    /// A text that is required and not empty.
    pub(crate) fn text(self, argument: &'static str) -> Result<&'a str, ToolError> {
        match self.0.get(argument) {
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(text),
            Some(Value::String(_)) => Err(wrong(argument, "a non-empty string", "an empty string")),
            found => Err(wrong(argument, "a string", kind(found))),
        }
    }

    /// A text that is required, under one of these names.
    pub(crate) fn text_by(self, names: &[&'static str]) -> Result<&'a str, ToolError> {
        let mut given = names.iter().filter(|name| self.given(name).is_some());
        let name = *given.next().unwrap_or(&names[0]);
        if let Some(other) = given.find(|other| self.0.get(**other) != self.0.get(name)) {
            return Err(wrong(other, format!("only `{name}`"), "another value"));
        }
        match self.0.get(name) {
            Some(Value::String(text)) => Ok(text),
            found => Err(wrong(name, "a string", kind(found))),
        }
    }

    /// A text that may be left out.
    pub(crate) fn optional_text(
        self,
        argument: &'static str,
    ) -> Result<Option<&'a str>, ToolError> {
        match self.given(argument) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            found => Err(wrong(argument, "a string", kind(found))),
        }
    }

    /// One of some values, named by its word, that may be left out.
    pub(crate) fn choice<T: Copy>(
        self,
        argument: &'static str,
        choices: &[T],
        word: fn(T) -> &'static str,
    ) -> Result<Option<T>, ToolError> {
        let Some(given) = self.optional_text(argument)? else {
            return Ok(None);
        };
        let chosen = choices.iter().find(|choice| word(**choice) == given);
        chosen.copied().map(Some).ok_or_else(|| {
            let words: Vec<&str> = choices.iter().map(|choice| word(*choice)).collect();
            wrong(
                argument,
                words.join(" or "),
                format!("{:?}", shortened(given)),
            )
        })
    }

    /// An object that may be left out.
    pub(crate) fn object(
        self,
        argument: &'static str,
    ) -> Result<Option<&'a JsonObject>, ToolError> {
        match self.given(argument) {
            None => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object)),
            found => Err(wrong(argument, "an object", kind(found))),
        }
    }

    /// A flag, false if it is left out.
    pub(crate) fn flag(self, argument: &'static str) -> Result<bool, ToolError> {
        match self.given(argument) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            found => Err(wrong(argument, "true or false", kind(found))),
        }
    }

    /// A flag that is required.
    pub(crate) fn required_flag(self, argument: &'static str) -> Result<bool, ToolError> {
        match self.0.get(argument) {
            Some(Value::Bool(flag)) => Ok(*flag),
            found => Err(wrong(argument, "true or false", kind(found))),
        }
    }

    /// A whole number in a range, with a default if it is left out.
    pub(crate) fn integer(
        self,
        argument: &'static str,
        range: RangeInclusive<u32>,
        default: u32,
    ) -> Result<u32, ToolError> {
        let expected = || format!("a whole number from {} to {}", range.start(), range.end());
        match self.given(argument) {
            None => Ok(default),
            Some(Value::Number(number)) => {
                let whole = number.as_u64().or_else(|| number.as_f64().and_then(whole));
                let value = whole
                    .and_then(|whole| u32::try_from(whole).ok())
                    .filter(|value| range.contains(value));
                value.ok_or_else(|| wrong(argument, expected(), number.to_string()))
            }
            found => Err(wrong(argument, expected(), kind(found))),
        }
    }

    /// An argument that may be left out: clients with typed optionals send null instead.
    fn given(self, argument: &str) -> Option<&'a Value> {
        self.0.get(argument).filter(|value| !value.is_null())
    }
}

pub(crate) fn wrong(
    argument: &'static str,
    expected: impl Into<String>,
    found: impl Into<String>,
) -> ToolError {
    ToolError::WrongArgument {
        argument,
        expected: expected.into(),
        found: found.into(),
    }
}

/// `10.0` is a whole number to JSON Schema.
fn whole(number: f64) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number from 0 to 2^32"
    )]
    let whole = number as u64;
    (number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number)).then_some(whole)
}

fn kind(value: Option<&Value>) -> &'static str {
    match value {
        None => "nothing",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "true or false",
        Some(Value::Number(_)) => "a number",
        Some(Value::String(_)) => "a string",
        Some(Value::Array(_)) => "an array",
        Some(Value::Object(_)) => "an object",
    }
}
