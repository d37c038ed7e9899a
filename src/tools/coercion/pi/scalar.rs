//! What pi makes of one value where the schema asks for another kind, and what of it is lost.

use super::numeral::{self, Numeral};
use crate::json::{Json, Number};

/// Another value in the place of one.
pub(super) struct Change {
    pub(super) value: Json,
    pub(super) op: &'static str,
    pub(super) lossy: bool,
}

impl Change {
    pub(super) fn new(op: &'static str, value: impl Into<Json>) -> Self {
        Self { value: value.into(), op, lossy: false }
    }

    pub(super) fn lossy(op: &'static str, value: impl Into<Json>) -> Self {
        Self { lossy: true, ..Self::new(op, value) }
    }
}

/// The kinds that a value is converted to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    String,
    Number,
    Integer,
    Boolean,
    Null,
}

impl Target {
    /// The target of a `type`.
    pub(super) fn of_type(name: &str) -> Option<Self> {
        match name {
            "string" => Some(Self::String),
            "number" => Some(Self::Number),
            "integer" => Some(Self::Integer),
            "boolean" => Some(Self::Boolean),
            "null" => Some(Self::Null),
            _ => None,
        }
    }

    /// The target of a `const` or of a member of an `enum`.
    pub(super) fn of_literal(literal: &Json) -> Option<Self> {
        match literal {
            Json::String(_) => Some(Self::String),
            Json::Number(_) => Some(Self::Number),
            Json::Bool(_) => Some(Self::Boolean),
            Json::Null | Json::Array(_) | Json::Object(_) => None,
        }
    }

    /// What the value becomes; `None` if it stays.
    pub(super) fn convert(self, value: &Json) -> Option<Change> {
        match self {
            Self::String => to_string(value, "null"),
            Self::Number => to_number(value),
            Self::Integer => to_integer(value),
            Self::Boolean => to_boolean(value),
            Self::Null => to_null(value),
        }
    }

    /// The narrower conversion of the last pass.
    pub(super) fn coerce(self, value: &Json) -> Option<Change> {
        match (self, value) {
            (Self::String, _) => to_string(value, ""),
            (Self::Number, Json::String(text)) => {
                numeral::plain(text).filter(|_| !numeral::is_blank(text)).map(|number| text_to_number(number, false))
            }
            (Self::Integer, Json::String(text)) => {
                let number = numeral::plain(text).filter(|number| !numeral::is_blank(text) && number.is_integer())?;
                Some(text_to_integer(&number, false))
            }
            (Self::Number, _) => to_number(value),
            (Self::Integer, Json::Null | Json::Bool(_)) => to_integer(value),
            (Self::Boolean, Json::String(text)) => {
                matches!(&**text, "true" | "false").then(|| Change::new("string_to_boolean", &**text == "true"))
            }
            (Self::Boolean, _) => to_boolean(value),
            (Self::Null, Json::String(text)) => text.is_empty().then(|| Change::new("null_text_to_null", Json::Null)),
            (Self::Null, _) => to_null(value),
            (Self::Integer, Json::Number(_) | Json::Array(_) | Json::Object(_)) => None,
        }
    }
}

fn to_string(value: &Json, of_null: &str) -> Option<Change> {
    match value {
        Json::Number(number) => Some(Change::new("number_to_string", &*number.to_ecmascript())),
        Json::Bool(value) => Some(Change::new("boolean_to_string", &*value.to_string())),
        Json::Null => Some(Change::lossy("null_to_string", of_null)),
        Json::String(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

fn to_number(value: &Json) -> Option<Change> {
    match value {
        Json::Bool(value) => Some(Change::lossy("boolean_to_number", u32::from(*value))),
        Json::Null => Some(Change::lossy("null_to_number", 0)),
        Json::String(text) => {
            let Numeral { number, lossy } = Numeral::of(text)?;
            Some(text_to_number(number, lossy))
        }
        Json::Number(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

fn text_to_number(number: Number, lossy: bool) -> Change {
    Change { lossy, ..Change::new("string_to_number", Json::Number(number)) }
}

fn to_integer(value: &Json) -> Option<Change> {
    match value {
        Json::Number(number) if number.is_integer() => None,
        Json::Number(number) => Some(Change::lossy("truncate_to_integer", Json::Number(number.truncated()))),
        Json::Bool(value) => Some(Change::lossy("boolean_to_integer", u32::from(*value))),
        Json::Null => Some(Change::lossy("null_to_integer", 0)),
        Json::String(text) => {
            let Numeral { number, lossy } = Numeral::of(text)?;
            Some(text_to_integer(&number, lossy))
        }
        Json::Array(_) | Json::Object(_) => None,
    }
}

fn text_to_integer(number: &Number, lossy: bool) -> Change {
    let whole = if number.is_spelled_as_integer() { number.clone() } else { number.truncated() };
    let lossy = lossy || !number.is_integer();
    Change { lossy, ..Change::new("string_to_integer", Json::Number(whole)) }
}

fn to_boolean(value: &Json) -> Option<Change> {
    match value {
        Json::Number(number) => {
            let truth = if is(number, 0) { false } else { is(number, 1).then_some(true)? };
            Some(Change::new("number_to_boolean", truth))
        }
        Json::Null => Some(Change::lossy("null_to_boolean", false)),
        Json::String(text) => {
            let truth = match &*text.to_ascii_lowercase() {
                "true" | "1" => true,
                "false" | "0" => false,
                _ => return None,
            };
            Some(Change::new("string_to_boolean", truth))
        }
        Json::Bool(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

/// Zero and `false` were values; a text that spells nothing was none.
fn to_null(value: &Json) -> Option<Change> {
    match value {
        Json::Number(number) => is(number, 0).then(|| Change::lossy("number_to_null", Json::Null)),
        Json::Bool(false) => Some(Change::lossy("boolean_to_null", Json::Null)),
        Json::String(text) => match &*text.to_ascii_lowercase() {
            "" | "null" | "undefined" => Some(Change::new("null_text_to_null", Json::Null)),
            "0" => Some(Change::lossy("string_to_null", Json::Null)),
            _ => None,
        },
        Json::Null | Json::Bool(true) | Json::Array(_) | Json::Object(_) => None,
    }
}

fn is(number: &Number, small: i64) -> bool {
    *number == Number::from(small)
}
