//! The first pass: a `null` that the schema of an optional property rejects is left out, as if it had not been sent.

use super::{Conversion, Pass, list};
use crate::{
    json::{Json, Object},
    refusal::Repair,
    tools::coercion::{ABSENT, Trail},
};

impl<'s> Conversion<'s> {
    /// Through members and items only: pi looks neither behind references nor into branches.
    pub(super) fn without_nulls(&mut self, keywords: &'s Object, value: &Json, at: Trail<'_>) -> Option<Json> {
        match value {
            Json::Object(members) => self.members(Pass::Nulls, keywords, members, at),
            Json::Array(items) => self.items(Pass::Nulls, keywords, items, at),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => None,
        }
    }

    /// Whether a member counts as one that was not sent.
    pub(super) fn is_absent(&mut self, keywords: &'s Object, name: &str, value: &Json) -> bool {
        let Some(declared) = keywords.get("properties").and_then(|declared| declared.get(name)) else { return false };
        let is_required =
            || list(keywords, "required").is_some_and(|required| required.iter().any(|of| of.as_str() == Some(name)));
        let is_reference = declared.get("$ref").is_some_and(|reference| reference.as_str().is_some());
        *value == Json::Null && !is_reference && !is_required() && !self.accepts(declared, value)
    }

    pub(super) fn record_absent(&mut self, at: Trail<'_>) {
        self.repairs.push(Repair::of_arguments(at.pointer(), "drop_optional_absent", "null", ABSENT));
    }
}
