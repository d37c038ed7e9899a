//! Our exact values, as the `jsonschema` crate reads them.

use std::{borrow::Cow, collections::HashSet, sync::Arc};

use jsonschema::{
    JsonType,
    json::{Array, Json as Representation, JsonNumber, Node, NodeIdentity, Object as Members},
};
use serde_json::Value;

use crate::json::{Json, Number, Object};

/// The representation of instances: `&Json`.
#[derive(Debug)]
pub struct Exact;

impl Representation for Exact {
    type Node<'a> = &'a Json;
    type PreparedKey = String;
    type StringBuffer = Json;
    const ACYCLIC: bool = true;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut Json, string: &str, f: impl FnOnce(&Json) -> T) -> T {
        *buffer = Json::from(string);
        f(buffer)
    }
}

impl JsonNumber for &Number {
    fn as_u64(&self) -> Option<u64> {
        Number::as_u64(self)
    }

    fn as_i64(&self) -> Option<i64> {
        Number::as_i64(self)
    }

    fn as_f64(&self) -> Option<f64> {
        Some(self.to_f64())
    }

    fn as_str(&self) -> Cow<'_, str> {
        self.spelling()
    }

    fn to_number(&self) -> Cow<'_, serde_json::Number> {
        Cow::Owned(nearest(self))
    }

    fn is_integer(&self) -> bool {
        Number::is_integer(self)
    }

    fn is_written_as_integer(&self) -> bool {
        self.is_spelled_as_integer()
    }
}

impl<'a> Node<'a, Exact> for &'a Json {
    type Object = &'a Object;
    type Array = &'a [Json];
    type Number = &'a Number;

    fn as_object(&self) -> Option<&'a Object> {
        Json::as_object(self)
    }

    fn as_array(&self) -> Option<&'a [Json]> {
        Json::as_array(self)
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        Json::as_str(self).map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<&'a Number> {
        Json::as_number(self)
    }

    fn as_boolean(&self) -> Option<bool> {
        Json::as_bool(self)
    }

    fn is_null(&self) -> bool {
        matches!(self, Json::Null)
    }

    fn json_type(&self) -> JsonType {
        match self {
            Json::Null => JsonType::Null,
            Json::Bool(_) => JsonType::Boolean,
            Json::Number(_) => JsonType::Number,
            Json::String(_) => JsonType::String,
            Json::Array(_) => JsonType::Array,
            Json::Object(_) => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        **self == Json::from(expected)
    }

    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Owned(rounded(self))
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(std::ptr::from_ref::<Json>(self).addr()))
    }
}

impl<'a> Members<'a, Exact> for &'a Object {
    type Node = &'a Json;
    type MemberName = &'a str;
    type MembersIter =
        std::iter::Map<indexmap::map::Iter<'a, Arc<str>, Json>, fn((&'a Arc<str>, &'a Json)) -> (&'a str, &'a Json)>;

    fn len(&self) -> usize {
        Object::len(self)
    }

    fn get(&self, key: &String) -> Option<&'a Json> {
        Object::get(self, key.as_str())
    }

    fn members(&self) -> Self::MembersIter {
        self.iter().map(|(name, value)| (&**name, value))
    }
}

impl<'a> Array<'a, Exact> for &'a [Json] {
    type Node = &'a Json;
    type ElementsIter = std::slice::Iter<'a, Json>;

    fn len(&self) -> usize {
        <[Json]>::len(self)
    }

    fn elements(&self) -> std::slice::Iter<'a, Json> {
        self.iter()
    }

    fn is_unique(&self) -> bool {
        is_unique(self)
    }
}

/// Items compared pair by pair; above this, their canonical texts are hashed.
const FEW: usize = 8;

/// Whether no two items are equal, by exact value.
pub(super) fn is_unique(items: &[Json]) -> bool {
    if items.len() <= FEW {
        return items
            .iter()
            .enumerate()
            .all(|(position, item)| items.iter().skip(position + 1).all(|other| other != item));
    }
    let mut seen = HashSet::with_capacity(items.len());
    items.iter().all(|item| seen.insert(item.to_canonical_text()))
}

/// The value as the crate's own error type wants it. Numbers may be rounded: nothing is judged by it.
pub(super) fn rounded(value: &Json) -> Value {
    match value {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => Value::Number(nearest(number)),
        Json::String(text) => Value::String(text.to_string()),
        Json::Array(items) => Value::Array(items.iter().map(rounded).collect()),
        Json::Object(members) => {
            Value::Object(members.iter().map(|(name, value)| (name.to_string(), rounded(value))).collect())
        }
    }
}

/// The nearest number that `serde_json` can hold.
pub(super) fn nearest(number: &Number) -> serde_json::Number {
    let spelling = number.spelling();
    if let Ok(int) = spelling.parse::<i64>() {
        return int.into();
    }
    if let Ok(int) = spelling.parse::<u64>() {
        return int.into();
    }
    let double = number.to_f64().clamp(f64::MIN, f64::MAX);
    serde_json::Number::from_f64(double).unwrap_or_else(|| 0.into())
}
