//! Exact JSON: numbers keep their spelling and their value, objects keep the order of their keys.
//!
//! `serde_json::Value` rounds what does not fit 64 bits; a booth that promises to keep what the model sent may not.

mod number;
mod parse;
mod pointer;
mod print;
mod repair;
mod scan;
mod shared;

use std::{fmt, sync::Arc};

use indexmap::IndexMap;

pub use number::Number;
pub use parse::{ParseError, ParseErrorKind, ParseLimits, parse, parse_shared};
pub use pointer::Pointer;
pub use repair::{Extent, Repaired, TextRepair, parse_repaired};
pub use shared::SharedJson;

/// The members of an object, in the order in which they were sent.
pub type Object = IndexMap<Arc<str>, Json, ahash::RandomState>;

/// A JSON value. Two values are equal if they are the same value: numbers by value, objects in any order of keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Json {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number of any size, as it was spelled.
    Number(Number),
    /// A text.
    String(Arc<str>),
    /// A list.
    Array(Vec<Json>),
    /// Named members. Boxed, so that the other kinds of value are small.
    Object(Box<Object>),
}

/// JSON's six kinds of value; there is no `integer` among them (rule E1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A number.
    Number,
    /// A text.
    String,
    /// A list.
    Array,
    /// Named members.
    Object,
}

impl Kind {
    /// The kind's name in JSON Schema.
    pub fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Json {
    /// An object without members.
    pub fn empty_object() -> Self {
        Object::default().into()
    }

    /// An object of these members, in this order.
    pub fn object<'a>(members: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        members.into_iter().map(|(name, value)| (name.into(), value)).collect::<Object>().into()
    }

    /// What kind of value this is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Null => Kind::Null,
            Self::Bool(_) => Kind::Boolean,
            Self::Number(_) => Kind::Number,
            Self::String(_) => Kind::String,
            Self::Array(_) => Kind::Array,
            Self::Object(_) => Kind::Object,
        }
    }

    /// The members, if this is an object.
    pub fn as_object(&self) -> Option<&Object> {
        if let Self::Object(members) = self { Some(members) } else { None }
    }

    /// The members, if this is an object.
    pub fn as_object_mut(&mut self) -> Option<&mut Object> {
        if let Self::Object(members) = self { Some(members) } else { None }
    }

    /// The items, if this is an array.
    pub fn as_array(&self) -> Option<&[Self]> {
        if let Self::Array(items) = self { Some(items) } else { None }
    }

    /// The text, if this is a string.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// The truth value, if this is a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    /// The number, if this is one.
    pub fn as_number(&self) -> Option<&Number> {
        if let Self::Number(number) = self { Some(number) } else { None }
    }

    /// The member of that name, if this is an object that has it.
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.as_object()?.get(name)
    }

    /// Whether there are more levels of arrays and objects than this; an empty one counts like a scalar. Looks no deeper
    /// than that.
    pub fn is_deeper_than(&self, levels: usize) -> bool {
        let mut nested: Box<dyn Iterator<Item = &Self>> = match self {
            Self::Array(items) => Box::new(items.iter()),
            Self::Object(members) => Box::new(members.values()),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) => return false,
        };
        nested.any(|value| levels == 0 || value.is_deeper_than(levels - 1))
    }

    /// Compact JSON text: nothing between tokens, keys in their order, numbers as they were spelled.
    pub fn to_text(&self) -> String {
        print::compact(self)
    }

    /// JSON text with two spaces of indentation, for people and models.
    pub fn to_pretty_text(&self) -> String {
        print::pretty(self)
    }

    /// As many whole lines of the text for people and models as fit, and how many more there are.
    pub fn to_pretty_lines(&self, max_bytes: usize) -> (String, usize) {
        print::pretty_lines(self, max_bytes, print::Style::Shown)
    }

    /// The same with other texts in the place of some, of keys and values alike.
    pub fn to_pretty_lines_with(&self, max_bytes: usize, other: fn(&str) -> Option<String>) -> (String, usize) {
        print::pretty_lines(self, max_bytes, print::Style::With(other))
    }

    /// The beginning of the compact text as `JSON.stringify(value)` prints it, of which the same holds as of
    /// [`to_text_start`](Self::to_text_start).
    pub fn to_javascript_start(&self, max_bytes: usize) -> String {
        print::compact_start(self, max_bytes, print::Style::JavaScript)
    }

    /// The same lines as `JSON.stringify(value, null, 2)` prints them: numbers in JavaScript's spelling, and fewer escapes.
    pub fn to_javascript_lines(&self, max_bytes: usize) -> (String, usize) {
        print::pretty_lines(self, max_bytes, print::Style::JavaScript)
    }

    /// The compact text, if it has no more bytes than this; else its beginning, which is right up to there and a little longer.
    pub fn to_text_start(&self, max_bytes: usize) -> String {
        print::compact_start(self, max_bytes, print::Style::Exact)
    }

    /// Compact text that is the same for equal values: keys sorted, numbers in one spelling (rule S4).
    pub fn to_canonical_text(&self) -> String {
        print::canonical(self)
    }
}

impl From<Object> for Json {
    fn from(members: Object) -> Self {
        Self::Object(Box::new(members))
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<u32> for Json {
    fn from(number: u32) -> Self {
        Self::Number(Number::from(i64::from(number)))
    }
}

/// Nothing is `null`.
impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<Vec<Json>> for Json {
    fn from(items: Vec<Json>) -> Self {
        Self::Array(items)
    }
}

impl From<&serde_json::Value> for Json {
    fn from(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(value) => Self::Bool(*value),
            serde_json::Value::Number(number) => Self::Number(Number::from(number)),
            serde_json::Value::String(text) => Self::String(text.as_str().into()),
            serde_json::Value::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            serde_json::Value::Object(members) => {
                Self::object(members.iter().map(|(name, value)| (name.as_str(), Self::from(value))))
            }
        }
    }
}
